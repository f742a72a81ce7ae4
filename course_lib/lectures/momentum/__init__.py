"""What lecture 03 calls."""

from course_lib.lectures.momentum.contraction import contraction
from course_lib.lectures.momentum.conventions import conventions
from course_lib.lectures.momentum.cycle import cycle
from course_lib.lectures.momentum.exercises import (
    check_best_setting,
    check_heavy_ball_step,
    check_nesterov_step,
    check_rate,
)
from course_lib.lectures.momentum.nesterov import two_forms
from course_lib.lectures.momentum.noise import LossByRate, smoothness, tanh_mlp
from course_lib.lectures.momentum.phase import phase
from course_lib.lectures.momentum.race import race
from course_lib.lectures.momentum.ravine import growth, tuning
from course_lib.lectures.momentum.sweep import lr_sweep
from course_lib.lectures.momentum.your_optimizer import own_phase

__all__ = [
    "LossByRate",
    "check_best_setting",
    "check_heavy_ball_step",
    "check_nesterov_step",
    "check_rate",
    "contraction",
    "conventions",
    "cycle",
    "growth",
    "lr_sweep",
    "own_phase",
    "phase",
    "race",
    "smoothness",
    "tanh_mlp",
    "tuning",
    "two_forms",
]
