r"""AdaGrad: a learning rate for each coordinate, falling with all the gradient that the coordinate has seen."""

from typing import NamedTuple

import torch
from torch import Tensor

from course_lib.optim.transform import Tensors, Transform, require


class AdagradState(NamedTuple):
    total: list[Tensor]  # s, one for each parameter


def adagrad(lr: float | Tensor = 0.01, eps: float | Tensor = 1e-10, *, initial: float = 0.0) -> Transform:
    r"""The diagonal form of Duchi, Hazan & Singer 2011, with eps outside the root as in torch.optim.Adagrad.

    .. math::
        s_0 &= \text{initial}, \quad s_t = s_{t-1} + g_t^2           \qquad (1) \\
        \Delta_t &= -\eta\, g_t / (\sqrt{s_t} + \varepsilon)         \qquad (2)

    Our eps is the paper's delta. torch's `lr_decay` is not in the paper: it is a schedule.

    lr >= 0, eps >= 0, initial >= 0; lr and eps may be () tensors, which are not checked. Raises ValueError otherwise.
    """
    require("adagrad: lr", lr)
    require("adagrad: eps", eps)
    require("adagrad: initial", initial)

    def init(params: Tensors) -> AdagradState:
        return AdagradState([torch.full_like(p, initial) for p in params])

    def update(grads: Tensors, state: AdagradState, params: Tensors) -> tuple[list[Tensor], AdagradState]:
        total = [s + g * g for s, g in zip(state.total, grads, strict=True)]  # (1)
        steps = [-lr * g / (s.sqrt() + eps) for s, g in zip(total, grads, strict=True)]  # (2)
        return steps, AdagradState(total)

    return Transform(init, update)
