"""Training: `fit`, the one visible loop, `fit_many`, which runs N of them at once, and the learning-rate range test."""

from course_lib.train.loop import CLASSIFICATION, History, Loss, Optimizer, Record, accuracy, evaluate, fit, train_mode
from course_lib.train.many import Runs, bytes_a_run, fit_many
from course_lib.train.range_test import RangeTest, range_test, smoothed, suggestion

__all__ = [
    "CLASSIFICATION",
    "History",
    "Loss",
    "Optimizer",
    "RangeTest",
    "Record",
    "Runs",
    "accuracy",
    "bytes_a_run",
    "evaluate",
    "fit",
    "fit_many",
    "range_test",
    "smoothed",
    "suggestion",
    "train_mode",
]
