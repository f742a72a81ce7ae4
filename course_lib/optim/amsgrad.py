r"""AMSGrad: Adam whose learning rate for a coordinate never rises again."""

from typing import NamedTuple

from torch import Tensor

from course_lib.optim.elementwise import elementwise, maximum, root
from course_lib.optim.transform import Hyper, Numbers, Row, Transform, legal


class AmsgradState(NamedTuple):
    t: Tensor
    mean: list[Tensor]  # m
    square: list[Tensor]  # v
    peak: list[Tensor]  # u, the largest v so far


def amsgrad(lr: Hyper = 1e-3, b1: Hyper = 0.9, b2: Hyper = 0.999, eps: Hyper = 1e-8) -> Transform:
    r"""Reddi, Kale & Kumar 2018, algorithm 2, with Adam's bias corrections as in torch.optim.Adam(amsgrad=True).

    .. math::
        m_t &= \beta_1 m_{t-1} + (1 - \beta_1)\, g_t, \quad t = 1, 2, \dots            \qquad (1) \\
        v_t &= \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2                                 \qquad (2) \\
        u_t &= \max(u_{t-1},\, v_t)                                                    \qquad (3) \\
        \hat m_t &= m_t / (1 - \beta_1^t)                                              \qquad (4) \\
        \hat u_t &= u_t / (1 - \beta_2^t)                                              \qquad (5) \\
        \Delta_t &= -\eta\, \hat m_t / (\sqrt{\hat u_t} + \varepsilon)                 \qquad (6)

    The paper has neither the corrections nor eps. The maximum is taken before the correction (some take it after), so
    the divisor can still fall while 1 - b2^t grows. Decay as with `adam`: add_decay before or decoupled_decay after it.
    """
    legal("amsgrad", lr=lr, b1=b1, b2=b2, eps=eps)

    def step(t: Numbers, g: Numbers, row: Row, p: Numbers) -> tuple[Numbers, Row]:
        m, v, u = row
        m = b1 * m + (1 - b1) * g  # (1)
        v = b2 * v + (1 - b2) * g * g  # (2)
        u = maximum(u, v)  # (3)
        m_hat = m / (1 - b1**t)  # (4)
        u_hat = u / (1 - b2**t)  # (5)
        return -lr * m_hat / (root(u_hat) + eps), (m, v, u)  # (6)

    return elementwise(AmsgradState, step)
