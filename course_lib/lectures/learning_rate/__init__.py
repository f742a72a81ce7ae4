"""What lecture 05 calls."""

from course_lib.lectures.learning_rate.counting import miscounted_schedule
from course_lib.lectures.learning_rate.exercises import (
    check_plateau,
    check_scaled_lr,
    check_sgdr,
    check_suggest,
    check_warmup_cosine,
)
from course_lib.lectures.learning_rate.lr_finder import finder_trial, range_curves
from course_lib.lectures.learning_rate.plateau import patience_sweep, plateau
from course_lib.lectures.learning_rate.restarts import restarts
from course_lib.lectures.learning_rate.scaling import batch_rule, horizons
from course_lib.lectures.learning_rate.shapes import decaying, gallery, noise_floor, unit_curves
from course_lib.lectures.learning_rate.warmup import early_steps, warmup_gain

__all__ = [
    "batch_rule",
    "check_plateau",
    "check_scaled_lr",
    "check_sgdr",
    "check_suggest",
    "check_warmup_cosine",
    "decaying",
    "early_steps",
    "finder_trial",
    "gallery",
    "horizons",
    "miscounted_schedule",
    "noise_floor",
    "patience_sweep",
    "plateau",
    "range_curves",
    "restarts",
    "unit_curves",
    "warmup_gain",
]
