r"""Lion: the sign of a momentum, so that every coordinate moves by exactly lr."""

from typing import NamedTuple

from torch import Tensor

from course_lib.optim.elementwise import elementwise, sign
from course_lib.optim.transform import Hyper, Numbers, Row, Transform, legal


class LionState(NamedTuple):
    t: Tensor
    mean: list[Tensor]  # m


def lion(lr: Hyper = 1e-4, b1: Hyper = 0.9, b2: Hyper = 0.99) -> Transform:
    r"""Chen et al. 2023, algorithm 2, without its decay: chain(lion(lr), decoupled_decay(lr * decay)). Not in torch.

    .. math::
        c_t &= \beta_1 m_{t-1} + (1 - \beta_1)\, g_t                                   \qquad (1) \\
        \Delta_t &= -\eta\, \operatorname{sign}(c_t)                                   \qquad (2) \\
        m_t &= \beta_2 m_{t-1} + (1 - \beta_2)\, g_t                                   \qquad (3)

    A coordinate with c = 0 stays. The step's size has nothing to do with the gradient's, and the paper takes an
    lr 3 to 10 times smaller than AdamW's, with a decay as many times larger.
    """
    legal("lion", lr=lr, b1=b1, b2=b2)

    def step(t: Numbers, g: Numbers, row: Row, p: Numbers) -> tuple[Numbers, Row]:
        (m,) = row
        c = b1 * m + (1 - b1) * g  # (1)
        m = b2 * m + (1 - b2) * g  # (3)
        return -lr * sign(c), (m,)  # (2)

    return elementwise(LionState, step)
