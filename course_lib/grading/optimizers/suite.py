"""The conformance suite for optimizers: it runs yours beside the course's, and names the mistake where they part.

Each check takes an optimizer in any of four forms:

- a course_lib Transform, or a function (lr, ...) that makes one;
- a class (params, lr, ...) with step() and zero_grad(), as in torch.optim, or a torch.optim class itself;
- a function step(theta, grad, state, lr, ...) -> (theta, state) on one numpy array; state is {} before the first step,
  or the function's default;
- the same with arrays for its state, (theta, velocity, grad, lr, ...) -> (theta, velocity), 0 at first.

Settings are passed by name: lr; beta (or momentum); b1, b2 (or betas); eps; decay (or weight_decay), optional except
for AdamW. A mistake is named only where your numbers are those of the mistake in every stream; two are named only where
those of the two together are. A finished Transform is judged at the settings given to the check, by default
course_lib's (for sgd lr 0.05, beta 0.9), and its lr is not changed between steps.
"""

from course_lib import optim
from course_lib.grading.optimizers.adaptive import ADAGRAD, ADAM, ADAMW, AMSGRAD, RMSPROP
from course_lib.grading.optimizers.conformance import Conformance
from course_lib.grading.optimizers.momentum import HEAVY_BALL, NESTEROV

VELOCITY = {"lr": 0.05, "beta": 0.9, "decay": 0.0}
AVERAGES = {"lr": 1e-3, "b1": 0.9, "b2": 0.999, "eps": 1e-8}

check_sgd_momentum = Conformance("SGD with momentum", optim.sgd, VELOCITY, HEAVY_BALL)
check_nesterov = Conformance("Nesterov momentum", optim.sgd, VELOCITY, NESTEROV, fixed={"nesterov": True})
check_adagrad = Conformance("AdaGrad", optim.adagrad, {"lr": 0.01, "eps": 1e-10, "decay": 0.0}, ADAGRAD)
check_rmsprop = Conformance("RMSProp", optim.rmsprop, {"lr": 0.01, "b2": 0.99, "eps": 1e-8, "decay": 0.0}, RMSPROP)
check_adam = Conformance("Adam", optim.adam, {**AVERAGES, "decay": 0.0}, ADAM)
check_adamw = Conformance("AdamW", optim.adam, {**AVERAGES, "decay": 0.01}, ADAMW, coupled=False)
check_amsgrad = Conformance("AMSGrad", optim.amsgrad, {**AVERAGES, "decay": 0.0}, AMSGRAD)
