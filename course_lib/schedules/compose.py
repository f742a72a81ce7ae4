r"""What all schedules have in common: a step that may be a number or a tensor, joining, a place after an optimizer."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import torch
from torch import Tensor

from course_lib.optim import Tensors, Transform
from course_lib.optim.transform import Numbers, Row, Rule, require, scalar

Number = float | Tensor
Schedule = Callable[[Any], Any]


def schedule(formula: Callable[[Tensor], Tensor]) -> Schedule:
    """The formula, which sees a float64 tensor, as a function of a step that may be a number or a tensor."""

    def factor(t: int | Tensor) -> Any:
        if isinstance(t, Tensor):
            return formula(t.double())
        require("schedule: the step", t)
        return float(formula(torch.tensor(t, dtype=torch.float64)))

    return factor


def join(first: Schedule, second: Schedule, at: int | Tensor) -> Schedule:
    r"""first(t) for t < at, afterwards second(t - at): warm-up then cosine is join(warmup(10), cosine(90), at=10).

    Equal to torch's SequentialLR.
    """
    check_whole("join: at", at, 0)
    return schedule(lambda t: torch.where(t < at, first(t), second((t - at).clamp_min(0))))


def product(*schedules: Schedule) -> Schedule:
    """The product of schedules that all see the same t."""

    def formula(t: Tensor) -> Tensor:
        product = torch.ones_like(t)
        for s in schedules:
            product = product * s(t)
        return product

    return schedule(formula)


class ScheduleState(NamedTuple):
    t: Tensor  # () int64: the number of updates made so far


def scale_by_schedule(schedule: Schedule) -> Transform:
    r"""Multiply step t + 1 by schedule(t). After an optimizer whose steps are linear in lr, this schedules its lr.

    chain(adam(0.01), scale_by_schedule(join(warmup(10), cosine(90), at=10))). A schedule of your own is given a ()
    int64 tensor, whose value it may not look at under vmap: torch.cos(t), not math.cos(t).
    """

    def update(grads: Tensors, state: ScheduleState, params: Tensors) -> tuple[list[Tensor], ScheduleState]:
        factor = schedule(state.t)
        return [(factor * g).to(g.dtype) for g in grads], ScheduleState(state.t + 1)

    def step(t: Numbers, g: Numbers, row: Row, p: Numbers) -> tuple[Numbers, Row]:
        return schedule((t - 1).long() if isinstance(t, Tensor) else int(t) - 1) * g, row

    return Transform(lambda params: ScheduleState(scalar(params, dtype=torch.int64)), update, Rule((), step))


def check_whole(name: str, value: Any, low: int) -> None:
    if isinstance(value, Tensor):
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number or a tensor, got {value!r}")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value!r}")
