"""Trials over settings and seeds: run, choose, compare."""

from course_lib.trials.compare import Comparison, compare
from course_lib.trials.threads import single_threaded

__all__ = ["Comparison", "compare", "single_threaded"]
