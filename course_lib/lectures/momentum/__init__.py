"""What lecture 03 calls."""

from course_lib.lectures.momentum.conventions import conventions, cycle, two_forms
from course_lib.lectures.momentum.exercises import (
    check_best_setting,
    check_heavy_ball_step,
    check_nesterov_step,
    check_rate,
)
from course_lib.lectures.momentum.noise import momentum_gain, smoothness
from course_lib.lectures.momentum.phase_diagram import contraction, growth, phase, tuning
from course_lib.lectures.momentum.race import lr_sweep, race
from course_lib.lectures.momentum.your_optimizer import own_phase

__all__ = [
    "check_best_setting",
    "check_heavy_ball_step",
    "check_nesterov_step",
    "check_rate",
    "contraction",
    "conventions",
    "cycle",
    "growth",
    "lr_sweep",
    "momentum_gain",
    "own_phase",
    "phase",
    "race",
    "smoothness",
    "tuning",
    "two_forms",
]
