r"""Adam: momentum divided by RMSProp's root, both corrected for having started at zero; and AdamW."""

from typing import NamedTuple

from torch import Tensor

from course_lib.optim.decay import decoupled_decay
from course_lib.optim.elementwise import elementwise, root
from course_lib.optim.transform import Hyper, Numbers, Row, Transform, chain, legal


class AdamState(NamedTuple):
    t: Tensor
    mean: list[Tensor]  # m
    square: list[Tensor]  # v


def adam(lr: Hyper = 1e-3, b1: Hyper = 0.9, b2: Hyper = 0.999, eps: Hyper = 1e-8) -> Transform:
    r"""Kingma & Ba 2015, algorithm 1: eps outside the root, after bias correction. Equal to torch.optim.Adam.

    .. math::
        m_t &= \beta_1 m_{t-1} + (1 - \beta_1)\, g_t, \quad t = 1, 2, \dots            \qquad (1) \\
        v_t &= \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2                                 \qquad (2) \\
        \hat m_t &= m_t / (1 - \beta_1^t)                                              \qquad (3) \\
        \hat v_t &= v_t / (1 - \beta_2^t)                                              \qquad (4) \\
        \Delta_t &= -\eta\, \hat m_t / (\sqrt{\hat v_t} + \varepsilon)                 \qquad (5)

    torch counts t for each parameter, from its first gradient; here all parameters share one count. Its `weight_decay`
    is L2 in the gradient: chain(add_decay(wd), adam(lr)).
    """
    legal("adam", lr=lr, b1=b1, b2=b2, eps=eps)

    def step(t: Numbers, g: Numbers, row: Row, p: Numbers) -> tuple[Numbers, Row]:
        m, v = row
        m = b1 * m + (1 - b1) * g  # (1)
        v = b2 * v + (1 - b2) * g * g  # (2)
        m_hat = m / (1 - b1**t)  # (3)
        v_hat = v / (1 - b2**t)  # (4)
        return -lr * m_hat / (root(v_hat) + eps), (m, v)  # (5)

    return elementwise(AdamState, step)


def adamw(lr: Hyper = 1e-3, b1: Hyper = 0.9, b2: Hyper = 0.999, eps: Hyper = 1e-8, decay: Hyper = 0.01) -> Transform:
    r"""Loshchilov & Hutter 2019, algorithm 2: weight decay beside Adam's step instead of inside its gradient.

    .. math::
        \Delta_t = \Delta_t^{\text{Adam}} - \eta\, \lambda\, \theta_{t-1}              \qquad (6)

    As in torch.optim.AdamW the decay is multiplied by the full lr; the paper multiplies it by the schedule's factor
    only, so its lambda is our lr * decay. torch shrinks theta first and then adds Adam's step: the same sum.
    """
    legal("adamw", lr=lr, decay=decay)
    return chain(adam(lr, b1, b2, eps), decoupled_decay(lr * decay))  # (6)
