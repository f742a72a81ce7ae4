r"""Schedule-free learning: an average over the whole run takes the place of the schedule's decay."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from course_lib.optim.transform import Tensors, Transform, legal, scalar


class ScheduleFreeState(NamedTuple):
    t: Tensor
    weight: Tensor  # () sum of the s^2 so far
    fast: list[Tensor]  # z, one for each parameter: where the base optimizer is
    average: list[Tensor]  # x, one for each parameter: the model to evaluate and keep
    base: Any


def schedule_free(base: Transform, beta: float | Tensor = 0.9, *, warmup: float | Tensor = 0) -> Transform:
    r"""Defazio et al. 2024, eq. 1-3 around any optimizer, with the weights of their algorithm 1. Not in torch.optim.

    The parameters are y, where the gradient is taken; test the model with `state.average`, x.

    .. math::
        s_t &= \min(1,\, t / T), \quad t = 1, 2, \dots                                       \qquad (1) \\
        z_t &= z_{t-1} + s_t\, \Delta^{\text{base}}_t                                        \qquad (2) \\
        x_t &= (1 - c_t)\, x_{t-1} + c_t\, z_t, \quad
            c_t = s_t^2 / \textstyle\sum_{i \le t} s_i^2                                     \qquad (3) \\
        y_t &= (1 - \beta)\, z_t + \beta\, x_t                                               \qquad (4)

    with a warm-up over T steps; without one c_t = 1/t, and x is the mean of all z. Schedule-free SGD is
    schedule_free(sgd(lr)); schedule-free AdamW is schedule_free(chain(adam(lr, b1=0.0), decoupled_decay(lr * decay))),
    beta taking momentum's place: their algorithm 1 but for the place of eps, and for s, which there contains Adam's
    sqrt(1 - b2^t). What comes before it in a chain works on gradients; nothing may come after it, since its steps lead
    to a point, (4).
    """
    legal("schedule_free", beta=beta, warmup=warmup)

    def init(params: Tensors) -> ScheduleFreeState:
        fast, average = ([p.clone() for p in params] for _ in range(2))
        return ScheduleFreeState(scalar(params), scalar(params), fast, average, base.init(params))

    def update(grads: Tensors, state: ScheduleFreeState, params: Tensors) -> tuple[list[Tensor], ScheduleFreeState]:
        t = state.t + 1
        s = 1 / (warmup / t).clamp_min(1)  # (1)
        weight = state.weight + s * s
        c = s * s / weight
        moves, inner = base.update(grads, state.base, params)
        fast = [(z + s * d).to(z.dtype) for z, d in zip(state.fast, moves, strict=True)]  # (2)
        average = [((1 - c) * x + c * z).to(z.dtype) for x, z in zip(state.average, fast, strict=True)]  # (3)
        targets = [(1 - beta) * z + beta * x for z, x in zip(fast, average, strict=True)]  # (4)
        steps = [y - p for y, p in zip(targets, params, strict=True)]
        return steps, ScheduleFreeState(t, weight, fast, average, inner)

    return Transform(init, update)


def landing(base: Transform, steps: int) -> Transform:
    """A `schedule_free` whose update number `steps` goes to the average, x: the model that is to be tested."""

    def update(grads: Tensors, state: ScheduleFreeState, params: Tensors) -> tuple[list[Tensor], ScheduleFreeState]:
        moves, state = base.update(grads, state, params)
        last = state.t == steps
        return [torch.where(last, x - p, m) for m, x, p in zip(moves, state.average, params, strict=True)], state

    return Transform(base.init, update)
