r"""NAdam: Adam that looks ahead, as Nesterov's momentum does, with a momentum that warms up."""

from typing import NamedTuple

from torch import Tensor

from course_lib.optim.elementwise import elementwise, root
from course_lib.optim.transform import Hyper, Numbers, Row, Transform, legal


class NadamState(NamedTuple):
    t: Tensor
    product: Tensor  # mu_1 mu_2 ... mu_t
    mean: list[Tensor]  # m
    square: list[Tensor]  # v


def nadam(lr: Hyper = 2e-3, b1: Hyper = 0.9, b2: Hyper = 0.999, eps: Hyper = 1e-8, warmth: Hyper = 4e-3) -> Transform:
    r"""Dozat 2016, algorithm 2, as in torch.optim.NAdam, whose `momentum_decay` is our warmth.

    .. math::
        \mu_t &= \beta_1 (1 - \tfrac12\, 0.96^{\psi t}), \quad t = 1, 2, \dots         \qquad (1) \\
        m_t &= \beta_1 m_{t-1} + (1 - \beta_1)\, g_t                                   \qquad (2) \\
        v_t &= \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2                                 \qquad (3) \\
        \hat m_t &= \frac{\mu_{t+1}\, m_t}{1 - \mu_1 \cdots \mu_{t+1}}
            + \frac{(1 - \mu_t)\, g_t}{1 - \mu_1 \cdots \mu_t}                         \qquad (4) \\
        \Delta_t &= -\eta\, \hat m_t / \bigl(\sqrt{v_t / (1 - \beta_2^t)} + \varepsilon\bigr) \qquad (5)

    with warmth psi: mu climbs from b1 / 2 to b1. The paper has mu_t for b1 in (2), among other differences. torch keeps
    the product of the mu in float32 unless float64 is the default dtype; here it is always float64.
    """
    legal("nadam", lr=lr, b1=b1, b2=b2, eps=eps, warmth=warmth)

    def step(t: Numbers, g: Numbers, row: Row, p: Numbers) -> tuple[Numbers, Row]:
        product, m, v = row
        mu, ahead = (b1 * (1 - 0.5 * 0.96 ** (warmth * k)) for k in (t, t + 1))  # (1)
        product = product * mu
        m = b1 * m + (1 - b1) * g  # (2)
        v = b2 * v + (1 - b2) * g * g  # (3)
        m_hat = ahead / (1 - product * ahead) * m + (1 - mu) / (1 - product) * g  # (4)
        return -lr * m_hat / (root(v / (1 - b2**t)) + eps), (product, m, v)  # (5)

    return elementwise(NadamState, step, product=1.0)
