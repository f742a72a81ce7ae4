r"""Lion: the sign of a momentum, so that every coordinate moves by exactly lr."""

from typing import NamedTuple

from torch import Tensor, zeros_like

from course_lib.optim.transform import Tensors, Transform, require


class LionState(NamedTuple):
    mean: list[Tensor]  # m, one for each parameter


def lion(lr: float | Tensor = 1e-4, b1: float | Tensor = 0.9, b2: float | Tensor = 0.99) -> Transform:
    r"""Chen et al. 2023, algorithm 2, without its decay: chain(lion(lr), shrink(lr * decay)). Not in torch.optim.

    .. math::
        c_t &= \beta_1 m_{t-1} + (1 - \beta_1)\, g_t                                   \qquad (1) \\
        \Delta_t &= -\eta\, \operatorname{sign}(c_t)                                   \qquad (2) \\
        m_t &= \beta_2 m_{t-1} + (1 - \beta_2)\, g_t                                   \qquad (3)

    A coordinate with c = 0 stays. The step's size has nothing to do with the gradient's, and the paper takes an
    lr 3 to 10 times smaller than AdamW's, with a decay as many times larger.

    lr >= 0; 0 <= b1, b2 < 1; each a number, or a () tensor, which is not checked. Raises ValueError otherwise.
    """
    require("lion: lr", lr)
    require("lion: b1", b1, below=1)
    require("lion: b2", b2, below=1)

    def init(params: Tensors) -> LionState:
        return LionState([zeros_like(p) for p in params])

    def update(grads: Tensors, state: LionState, params: Tensors) -> tuple[list[Tensor], LionState]:
        ahead = [b1 * m + (1 - b1) * g for m, g in zip(state.mean, grads, strict=True)]  # (1)
        mean = [b2 * m + (1 - b2) * g for m, g in zip(state.mean, grads, strict=True)]  # (3)
        return [-lr * c.sign() for c in ahead], LionState(mean)  # (2)

    return Transform(init, update)
