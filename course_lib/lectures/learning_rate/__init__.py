"""What lecture 05 calls."""

from course_lib.lectures.learning_rate.batch_rule import batch_rule
from course_lib.lectures.learning_rate.counting import by_epoch, unit_curves
from course_lib.lectures.learning_rate.exercises import (
    check_plateau,
    check_scaled_lr,
    check_sgdr,
    check_suggest,
    check_warmup_cosine,
)
from course_lib.lectures.learning_rate.gallery import gallery
from course_lib.lectures.learning_rate.noise_floor import decaying, noise_floor
from course_lib.lectures.learning_rate.plateau import Patience, plateau
from course_lib.lectures.learning_rate.range_curves import OPTIMIZERS, range_curves
from course_lib.lectures.learning_rate.restarts import restarts
from course_lib.lectures.learning_rate.warmup import correction, early_steps

__all__ = [
    "OPTIMIZERS",
    "Patience",
    "batch_rule",
    "by_epoch",
    "check_plateau",
    "check_scaled_lr",
    "check_sgdr",
    "check_suggest",
    "check_warmup_cosine",
    "correction",
    "decaying",
    "early_steps",
    "gallery",
    "noise_floor",
    "plateau",
    "range_curves",
    "restarts",
    "unit_curves",
]
