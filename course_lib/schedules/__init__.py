r"""Learning-rate schedules: functions of the step, multiplied onto the learning rate.

A schedule s maps t = 0, 1, 2, ..., the number of updates made so far, to the factor by which update t + 1 multiplies
the optimizer's own lr; its peak is 1. s(10) is a float, s(torch.arange(100)) a float64 tensor: one formula serves a
plot and, inside `chain`, a training under `torch.func.vmap`, where lengths and factors may be () tensors, which are not
checked. torch's schedulers hold lr itself: floor = eta_min / lr.

Lengths are whole numbers of at least 0, or 1 where that is said; factors, floors and powers are at least 0 and finite.
Otherwise, and for a step below 0, ValueError or TypeError is raised.
"""

from course_lib.schedules.compose import Number, Schedule, ScheduleState, join, product, scale_by_schedule
from course_lib.schedules.functions import (
    constant,
    cosine,
    exponential,
    inverse_sqrt,
    one_cycle,
    polynomial,
    step_decay,
    warm_restarts,
    warmup,
    warmup_stable_decay,
)
from course_lib.schedules.plateau import Plateau, PlateauState, reduce_on_plateau

__all__ = [
    "Number",
    "Plateau",
    "PlateauState",
    "Schedule",
    "ScheduleState",
    "constant",
    "cosine",
    "exponential",
    "inverse_sqrt",
    "join",
    "one_cycle",
    "polynomial",
    "product",
    "reduce_on_plateau",
    "scale_by_schedule",
    "step_decay",
    "warm_restarts",
    "warmup",
    "warmup_stable_decay",
]
