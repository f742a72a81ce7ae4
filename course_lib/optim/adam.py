r"""Adam: momentum divided by RMSProp's root, both corrected for having started at zero; and AdamW."""

from typing import NamedTuple

import torch
from torch import Tensor, zeros_like

from course_lib.optim.transform import Tensors, Transform, require


class AdamState(NamedTuple):
    step: Tensor  # () t, float64: b1 ** t keeps its digits whatever the parameters' dtype
    mean: list[Tensor]  # m, one for each parameter
    square: list[Tensor]  # v, one for each parameter


def adam(
    lr: float | Tensor = 1e-3,
    b1: float | Tensor = 0.9,
    b2: float | Tensor = 0.999,
    eps: float | Tensor = 1e-8,
) -> Transform:
    r"""Kingma & Ba 2015, algorithm 1: eps outside the root, after bias correction. Equal to torch.optim.Adam.

    .. math::
        m_t &= \beta_1 m_{t-1} + (1 - \beta_1)\, g_t, \quad t = 1, 2, \dots            \qquad (1) \\
        v_t &= \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2                                 \qquad (2) \\
        \hat m_t &= m_t / (1 - \beta_1^t)                                              \qquad (3) \\
        \hat v_t &= v_t / (1 - \beta_2^t)                                              \qquad (4) \\
        \Delta_t &= -\eta\, \hat m_t / (\sqrt{\hat v_t} + \varepsilon)                 \qquad (5)

    torch counts t for each parameter, from its first gradient; here all parameters share one count. Its `weight_decay`
    is L2 in the gradient: chain(add_decay(wd), adam(lr)).

    lr, eps >= 0; 0 <= b1, b2 < 1; each a number, or a () tensor, which is not checked. Raises ValueError otherwise.
    """
    require("adam: lr", lr)
    require("adam: b1", b1, below=1)
    require("adam: b2", b2, below=1)
    require("adam: eps", eps)

    def init(params: Tensors) -> AdamState:
        count = torch.zeros((), dtype=torch.float64)
        return AdamState(count, [zeros_like(p) for p in params], [zeros_like(p) for p in params])

    def update(grads: Tensors, state: AdamState, params: Tensors) -> tuple[list[Tensor], AdamState]:
        t = state.step + 1
        bias1, bias2 = 1 - b1**t, 1 - b2**t
        mean = [b1 * m + (1 - b1) * g for m, g in zip(state.mean, grads, strict=True)]  # (1)
        square = [b2 * v + (1 - b2) * g * g for v, g in zip(state.square, grads, strict=True)]  # (2)
        mean_hat = [m / bias1 for m in mean]  # (3)
        square_hat = [v / bias2 for v in square]  # (4)
        steps = [-lr * m / (v.sqrt() + eps) for m, v in zip(mean_hat, square_hat, strict=True)]  # (5)
        return [s.to(g.dtype) for s, g in zip(steps, grads, strict=True)], AdamState(t, mean, square)

    return Transform(init, update)


def adamw(
    lr: float | Tensor = 1e-3,
    b1: float | Tensor = 0.9,
    b2: float | Tensor = 0.999,
    eps: float | Tensor = 1e-8,
    decay: float | Tensor = 0.01,
) -> Transform:
    r"""Loshchilov & Hutter 2019, algorithm 2: weight decay beside Adam's step instead of inside its gradient.

    .. math::
        \Delta_t = \Delta_t^{\text{Adam}} - \eta\, \lambda\, \theta_{t-1}              \qquad (6)

    As in torch.optim.AdamW the decay is multiplied by the full lr; the paper multiplies it by the schedule's factor
    only, so its lambda is our lr * decay. torch shrinks theta first and then adds Adam's step: the same sum.

    decay >= 0, the rest as in `adam`. Raises ValueError otherwise.
    """
    require("adamw: decay", decay)
    inner = adam(lr, b1, b2, eps)

    def update(grads: Tensors, state: AdamState, params: Tensors) -> tuple[list[Tensor], AdamState]:
        steps, state = inner.update(grads, state, params)
        return [s - lr * decay * p for s, p in zip(steps, params, strict=True)], state  # (6)

    return Transform(inner.init, update)
