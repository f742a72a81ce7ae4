r"""Weight decay as a transform of its own: its place in the chain decides what it is."""

from course_lib.optim.elementwise import stateless
from course_lib.optim.transform import Hyper, Transform, legal


def add_decay(decay: Hyper) -> Transform:
    r"""Add the gradient of an L2 penalty, lambda/2 |theta|^2.

    .. math::
        g_t \leftarrow g_t + \lambda\, \theta_{t-1}                                     \qquad (1)

    Put before an optimizer this is torch's `weight_decay` in SGD, RMSprop, Adagrad and Adam: what the optimizer does to
    gradients it also does to the decay. For decay beside the step see `decoupled_decay`, and `adamw`.
    """
    legal("add_decay", decay=decay)
    return stateless(lambda g, p: g + decay * p)  # (1)


def decoupled_decay(rate: Hyper) -> Transform:
    r"""Weight decay beside the optimizer's step (Loshchilov & Hutter 2019): each step also scales theta by 1 - rate.

    .. math::
        \Delta_t \leftarrow \Delta_t - \rho\, \theta_{t-1}                              \qquad (1)

    Put after an optimizer, with rate = lr * decay, this is torch's decay in AdamW, in Adafactor and Muon, and in Adam,
    NAdam and RAdam under `decoupled_weight_decay`: adamw is chain(adam(lr), decoupled_decay(lr * decay)).
    """
    legal("decoupled_decay", rate=rate)
    return stateless(lambda step, p: step - rate * p)  # (1)
