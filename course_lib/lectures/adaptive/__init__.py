"""What lecture 04 calls."""

from course_lib.lectures.adaptive.adam_step import first_steps, longest_after_a_rise, memory, rescaled
from course_lib.lectures.adaptive.counterexample import adam_counterexample, counterexample_map
from course_lib.lectures.adaptive.digits_race import digits_race
from course_lib.lectures.adaptive.exercises import (
    check_adagrad_step,
    check_adam,
    check_adamw,
    check_amsgrad_step,
    check_rmsprop,
)
from course_lib.lectures.adaptive.frontier import matrix_race
from course_lib.lectures.adaptive.rare_features import rare_features
from course_lib.lectures.adaptive.tuning import tasks
from course_lib.lectures.adaptive.variants import early_steps, state_bytes
from course_lib.lectures.adaptive.weight_decay import shrinkage

__all__ = [
    "adam_counterexample",
    "check_adagrad_step",
    "check_adam",
    "check_adamw",
    "check_amsgrad_step",
    "check_rmsprop",
    "counterexample_map",
    "digits_race",
    "early_steps",
    "first_steps",
    "longest_after_a_rise",
    "matrix_race",
    "memory",
    "rare_features",
    "rescaled",
    "shrinkage",
    "state_bytes",
    "tasks",
]
