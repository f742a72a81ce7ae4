"""Trials: many settings and seeds at once, chosen on validation, tested afresh, compared with an interval."""

from course_lib.trials.compare import Comparison, compare
from course_lib.trials.grid import at_the_end, grid
from course_lib.trials.threads import single_threaded
from course_lib.trials.tune import Trial, tune

__all__ = ["Comparison", "Trial", "at_the_end", "compare", "grid", "single_threaded", "tune"]
