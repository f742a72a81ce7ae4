"""The exercises of lecture 04: AdaGrad's step and AMSGrad's. Adam's and AdamW's belong to the conformance suite.

The references are `course_lib.optim.adagrad` and `course_lib.optim.amsgrad`, from a state that is given; mistakes are
edits of their lines, and of what is returned here.
"""

from itertools import permutations, product

import numpy as np
import torch

from course_lib.grading import Case, Exercise, Mistake
from course_lib.grading.optimizers import check_adam, check_adamw, check_rmsprop
from course_lib.grading.optimizers.adaptive import PEAK, SUM, corrected_kept
from course_lib.grading.optimizers.averages import MEAN, NOT_AVERAGED, NOT_KEPT, SQUARES, betas
from course_lib.grading.optimizers.division import corrections, division
from course_lib.optim import adagrad, amsgrad

__all__ = ["check_adagrad_step", "check_adam", "check_adamw", "check_amsgrad_step", "check_rmsprop"]

THE_STEP = (
    Mistake(
        "sign of the update",
        "The step goes up the gradient: theta moves by minus lr times the direction.",
        ("theta + move", "theta - move"),
    ),
    Mistake("lr left out", "The step is not multiplied by lr.", ("-lr *", "-")),
    Mistake(
        "step returned",
        "The first result is the step alone: return theta after its step.",
        ("theta + move", "move"),
        ("theta + move", "-move"),
    ),
)


def adagrad_step(theta, total, grad, lr, eps):
    """theta, total, grad: arrays of one shape. Returns theta and the sum of squares after the step."""
    step = adagrad(lr, eps).rule.step  # type: ignore[union-attr]
    move, after = step(1, grad, (total,), theta)
    return theta + move, *after


def adagrad_case(title: str, shape: tuple[int, ...], lr: float, eps: float, *, fresh: bool = False) -> Case:
    """fresh: the first step, from a sum of 0, with a gradient that is 0 in its last entry."""
    random = np.random.default_rng(len(title))
    theta, grad = random.normal(size=shape), random.normal(size=shape)
    total = np.zeros(shape) if fresh else random.uniform(0.5, 4.0, size=shape)
    if fresh:
        grad.flat[-1] = 0.0
    return Case(title, {"theta": theta, "total": total, "grad": grad, "lr": lr, "eps": eps})


def adagrad_by_torch(theta, total, grad, lr, eps):
    parameter = torch.tensor(theta, requires_grad=True)
    optimizer = torch.optim.Adagrad([parameter], lr=lr, eps=eps)
    optimizer.state[parameter]["sum"] = torch.tensor(total)
    parameter.grad = torch.tensor(grad)
    optimizer.step()
    return parameter, optimizer.state[parameter]["sum"]


check_adagrad_step = Exercise(
    "AdaGrad step",
    adagrad_step,
    (
        adagrad_case("the first gradient, an entry of it 0, lr 0.1", (4,), 0.1, 1e-3, fresh=True),
        adagrad_case("later, lr 0.1, eps 0.01", (3,), 0.1, 1e-2),
        adagrad_case("a matrix, lr 2, eps 0.5", (4, 2), 2.0, 0.5),
    ),
    (
        *SUM,
        *division("s", "g"),
        *THE_STEP,
        Mistake(
            "results in another order",
            "The results are right, but come in another order: return theta, then total.",
            ("theta + move, *after", "*after, theta + move"),
        ),
        Mistake(
            "sum not kept",
            "The sum that is returned is the old one: what this gradient added is forgotten.",
            (", (s,)", ", row"),
        ),
    ),
    outputs=("theta", "total"),
    verified="adds the square to the coordinate's own sum, then divides by the sum's root, eps outside, any shape",
    tolerance=1e-10,
    oracle=adagrad_by_torch,
    parts=(adagrad,),
)


def amsgrad_step(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    """theta, mean, square, peak, grad: arrays of one shape. t: 1, 2, ... Returns the first four after the step."""
    step = amsgrad(lr, b1, b2, eps).rule.step  # type: ignore[union-attr]
    move, after = step(t, grad, (mean, square, peak), theta)
    return theta + move, *after


def amsgrad_case(title: str, shape: tuple[int, ...], t: int, b1: float, b2: float, *, no_peak: bool = False) -> Case:
    """At t = 1 the state is 0, and so is the gradient's last entry. no_peak: the peak alone is 0."""
    random = np.random.default_rng(len(title) + t)
    theta, grad, mean = (random.normal(size=shape) for _ in range(3))
    square = random.uniform(0.1, 2.0, size=shape)
    peak = np.zeros(shape) if no_peak else square * random.choice([1.0, 1.5], size=shape)
    if t == 1:
        mean, square, peak = np.zeros((3, *shape))
        grad.flat[-1] = 0.0
    state = {"theta": theta, "mean": mean, "square": square, "peak": peak, "grad": grad}
    return Case(title, {**state, "t": t, "lr": 0.1, "b1": b1, "b2": b2, "eps": 1e-3})


def amsgrad_by_torch(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    parameter = torch.tensor(theta, requires_grad=True)
    optimizer = torch.optim.Adam([parameter], lr=lr, betas=(b1, b2), eps=eps, amsgrad=True)
    state = {"exp_avg": mean, "exp_avg_sq": square, "max_exp_avg_sq": peak, "step": np.array(t - 1.0)}
    optimizer.state[parameter] = {name: torch.tensor(value) for name, value in state.items()}
    parameter.grad = torch.tensor(grad)
    optimizer.step()
    after = optimizer.state[parameter]
    return parameter, after["exp_avg"], after["exp_avg_sq"], after["max_exp_avg_sq"]


KEPT, PLACES = "(m, v, u)", ("theta + move", "after[0]", "after[1]", "after[2]")
FROM_THE_STATE = (
    Mistake(
        "smallest",
        "The smallest v is kept, so the learning rate can only rise: AMSGrad keeps the largest.",
        ("maximum(u, v)", "-maximum(-u, -v)"),
    ),
    Mistake(
        "old square",
        "The peak is taken over the v from before this gradient: update v first.",
        ("maximum(u, v)", "maximum(u, row[1])"),
    ),
    Mistake(
        "old peak returned",
        "The step takes the new peak, but the old one is returned: the next step will not know of it.",
        (KEPT, "(m, v, row[2])"),
    ),
    Mistake("old m returned", "The m that is returned is the old one.", (KEPT, "(row[0], v, u)")),
    Mistake("old v returned", "The v that is returned is the old one.", (KEPT, "(m, row[1], u)")),
    corrected_kept(
        *(
            (KEPT, f"({', '.join(kept)})")
            for kept in product(("m", "m_hat"), ("v", "v / (1 - b2**t)"), ("u", "u_hat"))
            if kept != ("m", "v", "u")
        )
    ),
    Mistake(
        "results in another order",
        "The results are right, but come in another order: return theta, mean, square, peak.",
        *(("theta + move, *after", ", ".join(order)) for order in permutations(PLACES) if order != PLACES),
    ),
)

check_amsgrad_step = Exercise(
    "AMSGrad step",
    amsgrad_step,
    (
        amsgrad_case("the first step", (4,), 1, 0.9, 0.99),
        amsgrad_case("the seventh step, b2 0.8", (6,), 7, 0.9, 0.8),
        amsgrad_case("a matrix, b1 0.5, b2 0.6", (4, 3), 3, 0.5, 0.6),
        amsgrad_case("Adam until now, so that there is no peak yet", (5,), 4, 0.8, 0.9, no_peak=True),
    ),
    (
        *PEAK,
        *FROM_THE_STATE,
        *betas("amsgrad"),
        *MEAN,
        *SQUARES,
        NOT_AVERAGED,
        NOT_KEPT,
        *corrections("u", "the peak"),
        *division("u_hat", "m_hat"),
        *THE_STEP,
    ),
    outputs=("theta", "mean", "square", "peak"),
    verified="keeps the largest v of each coordinate, corrects it where it is used, and divides by its root",
    tolerance=1e-10,
    oracle=amsgrad_by_torch,
    parts=(amsgrad,),
)
