r"""Climb instead of descend."""

from torch import Tensor

from course_lib.optim.decay import Stateless
from course_lib.optim.transform import Tensors, Transform


def negate() -> Transform:
    r"""Turn the gradient around, so that what follows maximizes.

    .. math::
        g_t \leftarrow -g_t                                                             \qquad (1)

    First in a chain this is torch's `maximize=True`: chain(negate(), add_decay(0.1), adam()). Decay still shrinks.
    """

    def update(grads: Tensors, state: Stateless, params: Tensors) -> tuple[list[Tensor], Stateless]:
        return [-g for g in grads], state  # (1)

    return Transform(lambda params: Stateless(), update)
