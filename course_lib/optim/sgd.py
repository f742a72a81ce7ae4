r"""Gradient descent, with or without momentum, in torch.optim.SGD's convention: lr stays outside the velocity."""

from typing import NamedTuple

from torch import Tensor

from course_lib.optim.elementwise import elementwise, stateless, where
from course_lib.optim.transform import Hyper, Numbers, Row, Transform, is_zero, legal


class SgdState(NamedTuple):
    t: Tensor
    velocity: list[Tensor]  # v


def sgd(lr: Hyper, beta: Hyper = 0.0, *, nesterov: bool = False, dampening: Hyper = 0.0) -> Transform:
    r"""Heavy ball (Polyak 1964), or Nesterov's variant (Sutskever et al. 2013, eq. 3 and 4) in torch's variables.

    .. math::
        v_1 &= g_1, \quad v_t = \beta v_{t-1} + (1 - d)\, g_t              \qquad (1) \\
        \Delta_t &= -\eta\, v_t                                          \qquad (2) \\
        \Delta_t &= -\eta\, (g_t + \beta v_t) \quad\text{(Nesterov)}     \qquad (2')

    with dampening d, which spares the first gradient. Equal to torch.optim.SGD. Polyak and Sutskever put lr inside the
    velocity: the same iteration until lr changes; in (2') theta is their look-ahead point. At beta = 0 this is plain
    gradient descent, and keeps no velocity.

    Raises ValueError also where Nesterov is asked for without momentum or with dampening.

    >>> import torch
    >>> opt, p = sgd(lr=0.5), [torch.tensor([2.0])]
    >>> opt.update([torch.tensor([1.0])], opt.init(p), p)[0]
    [tensor([-0.5000])]
    """
    legal("sgd", lr=lr, beta=beta, dampening=dampening)
    undamped = is_zero(dampening)
    if nesterov and not (undamped and not is_zero(beta)):
        raise ValueError(f"sgd: nesterov needs beta above 0 and no dampening, got {beta=}, {dampening=}")
    if is_zero(beta):
        return stateless(lambda g, p: -lr * g)  # (2) with v = g

    def step(t: Numbers, g: Numbers, row: Row, p: Numbers) -> tuple[Numbers, Row]:
        (v,) = row
        v = beta * v + (g if undamped else where(t == 1, g, (1 - dampening) * g))  # (1)
        return -lr * (g + beta * v if nesterov else v), (v,)  # (2') (2)

    return elementwise(SgdState, step)
