"""Training: `fit`, the one visible loop, and `fit_many`, which runs N of them at once."""

from course_lib.train.loop import CLASSIFICATION, History, Loss, Optimizer, Record, accuracy, evaluate, fit, mode
from course_lib.train.many import Runs, bytes_a_run, fit_many

__all__ = [
    "CLASSIFICATION",
    "History",
    "Loss",
    "Optimizer",
    "Record",
    "Runs",
    "accuracy",
    "bytes_a_run",
    "evaluate",
    "fit",
    "fit_many",
    "mode",
]
