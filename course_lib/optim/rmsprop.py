r"""RMSProp: AdaGrad that forgets, so that its learning rates can rise again."""

from typing import NamedTuple

from torch import Tensor, zeros_like

from course_lib.optim.transform import Tensors, Transform, require


class RmspropState(NamedTuple):
    square: list[Tensor]  # v, one for each parameter
    mean: list[Tensor]  # m, one for each parameter; empty unless centered


def rmsprop(
    lr: float | Tensor = 0.01,
    b2: float | Tensor = 0.99,
    eps: float | Tensor = 1e-8,
    *,
    centered: bool = False,
) -> Transform:
    r"""Tieleman & Hinton 2012 (lecture 6.5 of their course), or Graves 2013 (eq. 38-40), which centers the square.

    .. math::
        v_t &= \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2                                        \qquad (1) \\
        m_t &= \beta_2 m_{t-1} + (1 - \beta_2)\, g_t                                          \qquad (2) \\
        \Delta_t &= -\eta\, g_t / (\sqrt{v_t} + \varepsilon)                                  \qquad (3) \\
        \Delta_t &= -\eta\, g_t / (\sqrt{\max(v_t - m_t^2,\, 0)} + \varepsilon) \quad\text{(centered)} \qquad (3')

    Equal to torch.optim.RMSprop, whose `alpha` is our b2; eps is outside the root there and here, inside it in Graves.
    torch has no max in (3'): rounding under a constant gradient can take v - m^2 below 0, and its step is NaN.

    lr >= 0, 0 <= b2 < 1, eps >= 0; each a number, or a () tensor, which is not checked. Raises ValueError otherwise.
    """
    require("rmsprop: lr", lr)
    require("rmsprop: b2", b2, below=1)
    require("rmsprop: eps", eps)

    def init(params: Tensors) -> RmspropState:
        return RmspropState([zeros_like(p) for p in params], [zeros_like(p) for p in params] if centered else [])

    def update(grads: Tensors, state: RmspropState, params: Tensors) -> tuple[list[Tensor], RmspropState]:
        square = [b2 * v + (1 - b2) * g * g for v, g in zip(state.square, grads, strict=True)]  # (1)
        spread, mean = square, state.mean
        if centered:
            mean = [b2 * m + (1 - b2) * g for m, g in zip(mean, grads, strict=True)]  # (2)
            spread = [(v - m * m).clamp_min(0) for v, m in zip(square, mean, strict=True)]
        steps = [-lr * g / (s.sqrt() + eps) for s, g in zip(spread, grads, strict=True)]  # (3) (3')
        return steps, RmspropState(square, mean)

    return Transform(init, update)
