r"""Weight decay as a transform of its own: where it stands in the chain decides what it is."""

from typing import NamedTuple

from torch import Tensor

from course_lib.optim.transform import Tensors, Transform, require


class Stateless(NamedTuple):
    """Nothing to remember."""


def add_decay(decay: float | Tensor) -> Transform:
    r"""Add the gradient of an L2 penalty, lambda/2 |theta|^2.

    .. math::
        g_t \leftarrow g_t + \lambda\, \theta_{t-1}                                     \qquad (1)

    Put before an optimizer this is torch's `weight_decay` in SGD, RMSprop, Adagrad and Adam: what the optimizer does to
    gradients it also does to the decay. For decay beside the step see `shrink`, and `adamw`.

    decay >= 0; a number, or a () tensor, which is not checked. Raises ValueError otherwise.
    """
    require("add_decay: decay", decay)

    def init(params: Tensors) -> Stateless:
        return Stateless()

    def update(grads: Tensors, state: Stateless, params: Tensors) -> tuple[list[Tensor], Stateless]:
        return [g + decay * p for g, p in zip(grads, params, strict=True)], state  # (1)

    return Transform(init, update)


def decoupled_decay(rate: float | Tensor) -> Transform:
    r"""Weight decay beside the optimizer's step (Loshchilov & Hutter 2019): each step also scales theta by 1 - rate.

    .. math::
        \Delta_t \leftarrow \Delta_t - \rho\, \theta_{t-1}                              \qquad (1)

    Put after an optimizer, with rate = lr * decay, this is torch's decay in AdamW, and in NAdam and RAdam under
    `decoupled_weight_decay`, in Adafactor and in Muon: chain(adam(lr), shrink(lr * decay)) is adamw(lr, decay=decay).

    rate >= 0; a number, or a () tensor, which is not checked. Raises ValueError otherwise.
    """
    require("shrink: rate", rate)

    def update(grads: Tensors, state: Stateless, params: Tensors) -> tuple[list[Tensor], Stateless]:
        return [g - rate * p for g, p in zip(grads, params, strict=True)], state  # (1)

    return Transform(lambda params: Stateless(), update)
