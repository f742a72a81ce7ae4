r"""NAdam: Adam that looks ahead, as Nesterov's momentum does, with a momentum that warms up."""

from typing import NamedTuple

import torch
from torch import Tensor, zeros_like

from course_lib.optim.transform import Tensors, Transform, require


class NadamState(NamedTuple):
    step: Tensor  # () t, float64
    product: Tensor  # () mu_1 mu_2 ... mu_t, float64
    mean: list[Tensor]  # m, one for each parameter
    square: list[Tensor]  # v, one for each parameter


def nadam(
    lr: float | Tensor = 2e-3,
    b1: float | Tensor = 0.9,
    b2: float | Tensor = 0.999,
    eps: float | Tensor = 1e-8,
    warmth: float | Tensor = 4e-3,
) -> Transform:
    r"""Dozat 2016, algorithm 2, as in torch.optim.NAdam, whose `momentum_decay` is our warmth.

    .. math::
        \mu_t &= \beta_1 (1 - \tfrac12\, 0.96^{\psi t}), \quad t = 1, 2, \dots         \qquad (1) \\
        m_t &= \beta_1 m_{t-1} + (1 - \beta_1)\, g_t                                   \qquad (2) \\
        v_t &= \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2                                 \qquad (3) \\
        \hat m_t &= \frac{\mu_{t+1}\, m_t}{1 - \mu_1 \cdots \mu_{t+1}}
            + \frac{(1 - \mu_t)\, g_t}{1 - \mu_1 \cdots \mu_t}                         \qquad (4) \\
        \Delta_t &= -\eta\, \hat m_t / \bigl(\sqrt{v_t / (1 - \beta_2^t)} + \varepsilon\bigr) \qquad (5)

    with warmth psi: mu climbs from b1 / 2 to b1. The paper has mu_t for b1 in (2) too; torch, and we, have b1.
    torch keeps the product of the mu in float32 unless float64 is the default dtype; we keep it in float64.

    lr, eps, warmth >= 0; 0 <= b1, b2 < 1; each a number, or a () tensor, which is not checked. Raises ValueError
    otherwise.
    """
    require("nadam: lr", lr)
    require("nadam: b1", b1, below=1)
    require("nadam: b2", b2, below=1)
    require("nadam: eps", eps)
    require("nadam: warmth", warmth)

    def init(params: Tensors) -> NadamState:
        count, product = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)
        return NadamState(count, product, [zeros_like(p) for p in params], [zeros_like(p) for p in params])

    def update(grads: Tensors, state: NadamState, params: Tensors) -> tuple[list[Tensor], NadamState]:
        t = state.step + 1
        mu, ahead = (b1 * (1 - 0.5 * 0.96 ** (warmth * k)) for k in (t, t + 1))  # (1)
        product = state.product * mu
        mean = [b1 * m + (1 - b1) * g for m, g in zip(state.mean, grads, strict=True)]  # (2)
        square = [b2 * v + (1 - b2) * g * g for v, g in zip(state.square, grads, strict=True)]  # (3)
        share, fresh = ahead / (1 - product * ahead), (1 - mu) / (1 - product)
        mean_hat = [share * m + fresh * g for m, g in zip(mean, grads, strict=True)]  # (4)
        root = [(v / (1 - b2**t)).sqrt() for v in square]
        steps = [-lr * m / (r + eps) for m, r in zip(mean_hat, root, strict=True)]  # (5)
        return [s.to(g.dtype) for s, g in zip(steps, grads, strict=True)], NadamState(t, product, mean, square)

    return Transform(init, update)
