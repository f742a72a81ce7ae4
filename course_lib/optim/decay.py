r"""Weight decay as a transform of its own: where it stands in the chain decides what it is."""

from typing import NamedTuple

from torch import Tensor

from course_lib.optim.transform import Tensors, Transform, check


class Stateless(NamedTuple):
    """Nothing to remember."""


def add_decay(decay: float | Tensor) -> Transform:
    r"""Add the gradient of an L2 penalty, lambda/2 |theta|^2.

    .. math::
        g_t \leftarrow g_t + \lambda\, \theta_{t-1}                                     \qquad (1)

    Put before an optimizer this is torch's `weight_decay` in SGD, RMSprop, Adagrad and Adam: what the optimizer does to
    gradients it also does to the decay. For decay beside Adam's step see `adamw`.

    decay >= 0; a number, or a () tensor, which is not checked. Raises ValueError otherwise.
    """
    check("add_decay: decay", decay)

    def init(params: Tensors) -> Stateless:
        return Stateless()

    def update(grads: Tensors, state: Stateless, params: Tensors) -> tuple[list[Tensor], Stateless]:
        return [g + decay * p for g, p in zip(grads, params, strict=True)], state  # (1)

    return Transform(init, update)
