r"""Climb instead of descend."""

from course_lib.optim.elementwise import stateless
from course_lib.optim.transform import Transform


def negate() -> Transform:
    r"""Turn the gradient around, so that what follows maximizes.

    .. math::
        g_t \leftarrow -g_t                                                             \qquad (1)

    First in a chain this is torch's `maximize=True`: chain(negate(), add_decay(0.1), adam()). Decay still shrinks.
    """
    return stateless(lambda g, p: -g)  # (1)
