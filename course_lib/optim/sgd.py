r"""Gradient descent, with or without momentum, in torch.optim.SGD's convention: lr stays outside the velocity."""

from typing import NamedTuple

import torch
from torch import Tensor, zeros_like

from course_lib.optim.transform import Tensors, Transform, is_zero, require


class SgdState(NamedTuple):
    velocity: list[Tensor]  # v, one for each parameter; empty where beta is the number 0
    first: Tensor  # () bool: the next gradient is the first


def sgd(
    lr: float | Tensor,
    beta: float | Tensor = 0.0,
    *,
    nesterov: bool = False,
    dampening: float | Tensor = 0.0,
) -> Transform:
    r"""Heavy ball (Polyak 1964), or Nesterov's variant (Sutskever et al. 2013, eq. 3 and 4) in torch's variables.

    .. math::
        v_1 &= g_1, \quad v_t = \beta v_{t-1} + (1 - d)\, g_t              \qquad (1) \\
        \Delta_t &= -\eta\, v_t                                          \qquad (2) \\
        \Delta_t &= -\eta\, (g_t + \beta v_t) \quad\text{(Nesterov)}     \qquad (2')

    with dampening d, which spares the first gradient. Equal to torch.optim.SGD. Polyak and Sutskever put lr inside the
    velocity: the same iteration until lr changes; in (2') theta is their look-ahead point. At beta = 0 this is plain
    gradient descent, and keeps no velocity.

    lr >= 0, 0 <= beta < 1, 0 <= dampening < 1; each a number, or a () tensor, which is not checked. Raises ValueError
    for a number out of range, and where Nesterov is asked for without momentum or with dampening.

    >>> opt, p = sgd(lr=0.5), [torch.tensor([2.0])]
    >>> opt.update([torch.tensor([1.0])], opt.init(p), p)[0]
    [tensor([-0.5000])]
    """
    require("sgd: lr", lr)
    require("sgd: beta", beta, below=1)
    require("sgd: dampening", dampening, below=1)
    plain, undamped = is_zero(beta), is_zero(dampening)
    if nesterov and not (undamped and not plain):
        raise ValueError(f"sgd: nesterov needs beta above 0 and no dampening, got {beta=}, {dampening=}")

    def init(params: Tensors) -> SgdState:
        return SgdState([] if plain else [zeros_like(p) for p in params], torch.tensor(True))

    def update(grads: Tensors, state: SgdState, params: Tensors) -> tuple[list[Tensor], SgdState]:
        if plain:
            return [-lr * g for g in grads], state  # (2) with v = g
        fresh = grads if undamped else [torch.where(state.first, g, (1 - dampening) * g) for g in grads]
        velocity = [beta * v + g for v, g in zip(state.velocity, fresh, strict=True)]  # (1)
        if nesterov:
            steps = [-lr * (g + beta * v) for v, g in zip(velocity, grads, strict=True)]  # (2')
        else:
            steps = [-lr * v for v in velocity]  # (2)
        return steps, SgdState(velocity, torch.zeros_like(state.first))

    return Transform(init, update)
