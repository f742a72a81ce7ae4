r"""AMSGrad: Adam whose learning rate for a coordinate never rises again."""

from typing import NamedTuple

import torch
from torch import Tensor, zeros_like

from course_lib.optim.transform import Tensors, Transform, require


class AmsgradState(NamedTuple):
    step: Tensor  # () t, float64
    mean: list[Tensor]  # m, one for each parameter
    square: list[Tensor]  # v, one for each parameter
    peak: list[Tensor]  # u, the largest v so far


def amsgrad(
    lr: float | Tensor = 1e-3,
    b1: float | Tensor = 0.9,
    b2: float | Tensor = 0.999,
    eps: float | Tensor = 1e-8,
) -> Transform:
    r"""Reddi, Kale & Kumar 2018, algorithm 2, with Adam's bias corrections as in torch.optim.Adam(amsgrad=True).

    .. math::
        m_t &= \beta_1 m_{t-1} + (1 - \beta_1)\, g_t, \quad t = 1, 2, \dots            \qquad (1) \\
        v_t &= \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2                                 \qquad (2) \\
        u_t &= \max(u_{t-1},\, v_t)                                                    \qquad (3) \\
        \Delta_t &= -\eta\, \frac{m_t}{1 - \beta_1^t} \Big/
            \Bigl(\sqrt{u_t / (1 - \beta_2^t)} + \varepsilon\Bigr)                     \qquad (4)

    The paper has neither the corrections nor eps. The maximum is taken before the correction (some take it after), so
    that the divisor can still fall while 1 - b2^t grows. Decay as with `adam`: add_decay before it or `shrink` after.

    lr, eps >= 0; 0 <= b1, b2 < 1; each a number, or a () tensor, which is not checked. Raises ValueError otherwise.
    """
    require("amsgrad: lr", lr)
    require("amsgrad: b1", b1, below=1)
    require("amsgrad: b2", b2, below=1)
    require("amsgrad: eps", eps)

    def init(params: Tensors) -> AmsgradState:
        m, v, u = ([zeros_like(p) for p in params] for _ in range(3))
        return AmsgradState(torch.zeros((), dtype=torch.float64), m, v, u)

    def update(grads: Tensors, state: AmsgradState, params: Tensors) -> tuple[list[Tensor], AmsgradState]:
        t = state.step + 1
        bias1, bias2 = 1 - b1**t, 1 - b2**t
        mean = [b1 * m + (1 - b1) * g for m, g in zip(state.mean, grads, strict=True)]  # (1)
        square = [b2 * v + (1 - b2) * g * g for v, g in zip(state.square, grads, strict=True)]  # (2)
        peak = [torch.maximum(u, v) for u, v in zip(state.peak, square, strict=True)]  # (3)
        steps = [-lr * (m / bias1) / ((u / bias2).sqrt() + eps) for m, u in zip(mean, peak, strict=True)]  # (4)
        return [s.to(g.dtype) for s, g in zip(steps, grads, strict=True)], AmsgradState(t, mean, square, peak)

    return Transform(init, update)
