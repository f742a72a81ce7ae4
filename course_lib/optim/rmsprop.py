r"""RMSProp: AdaGrad that forgets, so that its learning rates can rise again."""

from typing import NamedTuple

from torch import Tensor

from course_lib.optim.elementwise import elementwise, maximum, root
from course_lib.optim.transform import Hyper, Numbers, Row, Transform, legal


class RmspropState(NamedTuple):
    t: Tensor
    square: list[Tensor]  # v


class CenteredState(NamedTuple):
    t: Tensor
    square: list[Tensor]  # v
    mean: list[Tensor]  # m


def rmsprop(lr: Hyper = 0.01, b2: Hyper = 0.99, eps: Hyper = 1e-8, *, centered: bool = False) -> Transform:
    r"""Tieleman & Hinton 2012 (lecture 6.5 of their course), or Graves 2013 (eq. 38-40), which centers the square.

    .. math::
        v_t &= \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2                                        \qquad (1) \\
        m_t &= \beta_2 m_{t-1} + (1 - \beta_2)\, g_t                                          \qquad (2) \\
        \Delta_t &= -\eta\, g_t / (\sqrt{v_t} + \varepsilon)                                  \qquad (3) \\
        \Delta_t &= -\eta\, g_t / (\sqrt{\max(v_t - m_t^2,\, 0)} + \varepsilon) \quad\text{(centered)} \qquad (3')

    Equal to torch.optim.RMSprop, whose `alpha` is our b2; eps is outside the root in both, and inside it in Graves.
    torch has no max in (3'): rounding under a constant gradient can take v - m^2 below 0, and its step is NaN.
    """
    legal("rmsprop", lr=lr, b2=b2, eps=eps)
    if centered:
        return _around_mean(lr, b2, eps)

    def step(t: Numbers, g: Numbers, row: Row, p: Numbers) -> tuple[Numbers, Row]:
        (v,) = row
        v = b2 * v + (1 - b2) * g * g  # (1)
        return -lr * g / (root(v) + eps), (v,)  # (3)

    return elementwise(RmspropState, step)


def _around_mean(lr: Hyper, b2: Hyper, eps: Hyper) -> Transform:
    def step(t: Numbers, g: Numbers, row: Row, p: Numbers) -> tuple[Numbers, Row]:
        v, m = row
        v = b2 * v + (1 - b2) * g * g  # (1)
        m = b2 * m + (1 - b2) * g  # (2)
        return -lr * g / (root(maximum(v - m * m, 0.0)) + eps), (v, m)  # (3')

    return elementwise(CenteredState, step)
