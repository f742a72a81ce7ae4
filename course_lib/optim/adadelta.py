r"""AdaDelta: steps in the parameters' own units, from a running root of the steps over one of the gradients."""

from typing import NamedTuple

from torch import Tensor, zeros_like

from course_lib.optim.transform import Tensors, Transform, require


class AdadeltaState(NamedTuple):
    square: list[Tensor]  # v, of the gradients, one for each parameter
    moved: list[Tensor]  # u, of the steps before lr, one for each parameter


def adadelta(lr: float | Tensor = 1.0, rho: float | Tensor = 0.9, eps: float | Tensor = 1e-6) -> Transform:
    r"""Zeiler 2012, algorithm 1. Equal to torch.optim.Adadelta; the paper has no lr, and is lr = 1.

    .. math::
        v_t &= \rho\, v_{t-1} + (1 - \rho)\, g_t^2                                     \qquad (1) \\
        d_t &= g_t \sqrt{u_{t-1} + \varepsilon} \big/ \sqrt{v_t + \varepsilon}         \qquad (2) \\
        u_t &= \rho\, u_{t-1} + (1 - \rho)\, d_t^2                                     \qquad (3) \\
        \Delta_t &= -\eta\, d_t                                                        \qquad (4)

    eps stands inside both roots, and sets the size of the first step: sqrt(eps / (1 - rho)) in every coordinate.

    lr >= 0, 0 <= rho < 1, eps >= 0; each a number, or a () tensor, which is not checked. Raises ValueError otherwise.
    With eps 0 nothing ever moves, and a gradient of 0 gives NaN, there and here.
    """
    require("adadelta: lr", lr)
    require("adadelta: rho", rho, below=1)
    require("adadelta: eps", eps)

    def init(params: Tensors) -> AdadeltaState:
        return AdadeltaState([zeros_like(p) for p in params], [zeros_like(p) for p in params])

    def update(grads: Tensors, state: AdadeltaState, params: Tensors) -> tuple[list[Tensor], AdadeltaState]:
        square = [rho * v + (1 - rho) * g * g for v, g in zip(state.square, grads, strict=True)]  # (1)
        roots = [(u + eps).sqrt() / (v + eps).sqrt() for u, v in zip(state.moved, square, strict=True)]
        deltas = [r * g for r, g in zip(roots, grads, strict=True)]  # (2)
        moved = [rho * u + (1 - rho) * d * d for u, d in zip(state.moved, deltas, strict=True)]  # (3)
        return [-lr * d for d in deltas], AdadeltaState(square, moved)  # (4)

    return Transform(init, update)
