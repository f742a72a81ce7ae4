r"""AdaGrad: a learning rate for each coordinate that falls with all the gradient the coordinate has seen."""

from typing import NamedTuple

from torch import Tensor

from course_lib.optim.elementwise import elementwise, root
from course_lib.optim.transform import Hyper, Numbers, Row, Transform, legal


class AdagradState(NamedTuple):
    t: Tensor
    total: list[Tensor]  # s


def adagrad(lr: Hyper = 0.01, eps: Hyper = 1e-10, *, initial: float = 0.0) -> Transform:
    r"""The diagonal form of Duchi, Hazan & Singer 2011, with eps outside the root as in torch.optim.Adagrad.

    .. math::
        s_0 &= \text{initial}, \quad s_t = s_{t-1} + g_t^2           \qquad (1) \\
        \Delta_t &= -\eta\, g_t / (\sqrt{s_t} + \varepsilon)         \qquad (2)

    Our eps is the paper's delta. torch's `lr_decay` is not in the paper: it is a schedule.
    """
    legal("adagrad", lr=lr, eps=eps, initial=initial)

    def step(t: Numbers, g: Numbers, row: Row, p: Numbers) -> tuple[Numbers, Row]:
        (s,) = row
        s = s + g * g  # (1)
        return -lr * g / (root(s) + eps), (s,)  # (2)

    return elementwise(AdagradState, step, total=initial)
