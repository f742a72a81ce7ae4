r"""RAdam: Adam that does not divide by its root before enough gradients have gone into it."""

from typing import NamedTuple

import torch
from torch import Tensor, zeros_like

from course_lib.optim.transform import Tensors, Transform, require


class RadamState(NamedTuple):
    step: Tensor  # () t, float64
    mean: list[Tensor]  # m, one for each parameter
    square: list[Tensor]  # v, one for each parameter


def radam(
    lr: float | Tensor = 1e-3,
    b1: float | Tensor = 0.9,
    b2: float | Tensor = 0.999,
    eps: float | Tensor = 1e-8,
) -> Transform:
    r"""Liu et al. 2020, algorithm 2, with the threshold and the eps of torch.optim.RAdam.

    .. math::
        m_t &= \beta_1 m_{t-1} + (1 - \beta_1)\, g_t, \quad t = 1, 2, \dots            \qquad (1) \\
        v_t &= \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2                                 \qquad (2) \\
        \rho_t &= \rho_\infty - 2 t\, \beta_2^t / (1 - \beta_2^t), \quad
            \rho_\infty = 2 / (1 - \beta_2) - 1                                        \qquad (3) \\
        r_t &= \sqrt{\frac{(\rho_t - 4)(\rho_t - 2)\,\rho_\infty}
            {(\rho_\infty - 4)(\rho_\infty - 2)\,\rho_t}}                              \qquad (4) \\
        \Delta_t &= -\eta\, \hat m_t\, r_t \sqrt{1 - \beta_2^t} / (\sqrt{v_t} + \varepsilon)
            \quad\text{if } \rho_t > 5, \quad \text{else } -\eta\, \hat m_t            \qquad (5)

    with m-hat = m / (1 - b1^t). rho counts the gradients that v effectively averages. The paper turns at rho > 4 and
    has no eps; torch adds it before the correction, where `adam` adds it after. At b2 <= 2/3 rho stays below 5, and
    this is momentum.

    lr, eps >= 0; 0 <= b1, b2 < 1; each a number, or a () tensor, which is not checked. Raises ValueError otherwise.
    """
    require("radam: lr", lr)
    require("radam: b1", b1, below=1)
    require("radam: b2", b2, below=1)
    require("radam: eps", eps)

    def init(params: Tensors) -> RadamState:
        count = torch.zeros((), dtype=torch.float64)
        return RadamState(count, [zeros_like(p) for p in params], [zeros_like(p) for p in params])

    def update(grads: Tensors, state: RadamState, params: Tensors) -> tuple[list[Tensor], RadamState]:
        t = state.step + 1
        bias1, bias2 = 1 - b1**t, 1 - b2**t
        mean = [b1 * m + (1 - b1) * g for m, g in zip(state.mean, grads, strict=True)]  # (1)
        square = [b2 * v + (1 - b2) * g * g for v, g in zip(state.square, grads, strict=True)]  # (2)
        limit = 2 / (1 - b2) - 1
        rho = limit - 2 * t * b2**t / bias2  # (3)
        r = ((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho)).sqrt()  # (4)
        divided = [r * bias2.sqrt() / (v.sqrt() + eps) for v in square]
        factors = [torch.where(rho > 5, d, torch.ones_like(d)) for d in divided]
        steps = [-lr * (m / bias1) * f for m, f in zip(mean, factors, strict=True)]  # (5)
        return [s.to(g.dtype) for s, g in zip(steps, grads, strict=True)], RadamState(t, mean, square)

    return Transform(init, update)
