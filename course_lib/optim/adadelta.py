r"""AdaDelta: steps in the parameters' own units, from a running root of the steps over one of the gradients."""

from typing import NamedTuple

from torch import Tensor

from course_lib.optim.elementwise import elementwise, root
from course_lib.optim.transform import Hyper, Numbers, Row, Transform, legal


class AdadeltaState(NamedTuple):
    t: Tensor
    square: list[Tensor]  # v, of the gradients
    moved: list[Tensor]  # u, of the steps before lr


def adadelta(lr: Hyper = 1.0, rho: Hyper = 0.9, eps: Hyper = 1e-6) -> Transform:
    r"""Zeiler 2012, algorithm 1. Equal to torch.optim.Adadelta; the paper has no lr, and is lr = 1.

    .. math::
        v_t &= \rho\, v_{t-1} + (1 - \rho)\, g_t^2                                     \qquad (1) \\
        d_t &= g_t \sqrt{u_{t-1} + \varepsilon} \big/ \sqrt{v_t + \varepsilon}         \qquad (2) \\
        u_t &= \rho\, u_{t-1} + (1 - \rho)\, d_t^2                                     \qquad (3) \\
        \Delta_t &= -\eta\, d_t                                                        \qquad (4)

    eps is inside both roots, and sets the size of the first step: sqrt(eps / (1 - rho)) in every coordinate. With eps 0
    nothing ever moves, and a gradient of 0 gives NaN, as in torch.
    """
    legal("adadelta", lr=lr, rho=rho, eps=eps)

    def step(t: Numbers, g: Numbers, row: Row, p: Numbers) -> tuple[Numbers, Row]:
        v, u = row
        v = rho * v + (1 - rho) * g * g  # (1)
        d = root(u + eps) / root(v + eps) * g  # (2)
        u = rho * u + (1 - rho) * d * d  # (3)
        return -lr * d, (v, u)  # (4)

    return elementwise(AdadeltaState, step)
