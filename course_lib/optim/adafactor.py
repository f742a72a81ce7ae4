r"""Adafactor: Adam's square kept as one number a row and one a column, with steps relative to the parameters."""

from typing import NamedTuple

import torch
from torch import Tensor, zeros_like

from course_lib.optim.transform import Tensors, Transform, legal, require, scalar


class AdafactorState(NamedTuple):
    t: Tensor
    rows: list[Tensor]  # R (..., n, 1), one for each parameter; the whole v where it has fewer than two axes
    columns: list[Tensor]  # C (..., 1, m); empty where the parameter has fewer than two axes


def adafactor(
    lr: float | Tensor = 1e-2,
    power: float | Tensor = 0.8,
    limit: float | Tensor = 1.0,
    *,
    eps1: float | None = None,
    eps2: float | Tensor = 1e-3,
) -> Transform:
    r"""Shazeer & Stern 2018, algorithms 4 and 5 without momentum, as in torch.optim.Adafactor.

    .. math::
        \beta_t &= 1 - t^{-p}, \quad \rho_t = \min(\eta,\, 1 / \sqrt t), \quad t = 1, 2, \dots          \qquad (1) \\
        R_t &= \beta_t R_{t-1} + (1 - \beta_t) \operatorname{mean}_{\text{row}}(g_t^2), \quad
            C_t \text{ likewise by column}                                                     \qquad (2) \\
        V_t &= R_t C_t / \max(\operatorname{mean}(R_t),\, \varepsilon_1)                       \qquad (3) \\
        v_t &= \beta_t v_{t-1} + (1 - \beta_t)\, g_t^2 = V_t
            \quad\text{(fewer than two axes)}                                                  \qquad (3') \\
        U_t &= g_t / \max(\sqrt{V_t},\, \varepsilon_1)                                         \qquad (4) \\
        \Delta_t &= -\rho_t \max(\varepsilon_2,\, \operatorname{rms}(\theta_{t-1}))\,
            U_t / \max(1,\, \operatorname{rms}(U_t) / d)                                       \qquad (5)

    with power p and limit d; tensors are factored along their last two axes. The paper adds its eps1 of 1e-30 to g^2 in
    (2); torch has (3) and (4), with eps1 the dtype's machine epsilon unless given, and calls -p beta2_decay. lr is
    inside (1), so a schedule after this is not torch's: it multiplies rho. torch's decay is decoupled_decay(lr * decay)
    after it. limit >= 1; eps1 may not be a tensor.
    """
    legal("adafactor", lr=lr, power=power, eps1=0.0 if eps1 is None else eps1, eps2=eps2)
    require("adafactor: limit", limit, low=1.0)

    def init(params: Tensors) -> AdafactorState:
        rows = [zeros_like(p if p.ndim < 2 else p.sum(-1, keepdim=True)) for p in params]
        columns = [p.new_zeros(0) if p.ndim < 2 else zeros_like(p.sum(-2, keepdim=True)) for p in params]
        return AdafactorState(scalar(params), rows, columns)

    def update(grads: Tensors, state: AdafactorState, params: Tensors) -> tuple[list[Tensor], AdafactorState]:
        t = state.t + 1
        b2, rate = 1 - t**-power, t.rsqrt().clamp_max(lr)  # (1)
        steps, rows, columns = [], [], []
        for g, p, r, c in zip(grads, params, state.rows, state.columns, strict=True):
            least = torch.finfo(g.dtype).eps if eps1 is None else eps1
            if g.ndim < 2:
                r = v = (b2 * r + (1 - b2) * g * g).to(g.dtype)  # (3')
            else:
                r = b2 * r + (1 - b2) * _mean(g * g, -1)  # (2)
                c = b2 * c + (1 - b2) * _mean(g * g, -2)
                v = r @ c / _mean(r, -2).clamp_min(least)  # (3)
            u = g / v.sqrt().clamp_min(least)  # (4)
            step = -rate * _rms(p).clamp_min(eps2) * u / (_rms(u) / limit).clamp_min(1)  # (5)
            steps.append(step.to(g.dtype))
            rows.append(r)
            columns.append(c)
        return steps, AdafactorState(t, rows, columns)

    return Transform(init, update)


def _mean(x: Tensor, axis: int) -> Tensor:
    return x.sum(axis, keepdim=True) / max(x.shape[axis], 1)


def _rms(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x) / max(x.numel(), 1) ** 0.5
