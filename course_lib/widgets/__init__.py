"""The course's few widgets: explore an experiment, predict before it runs, fold out questions."""

from course_lib.widgets.claim import Claim, claim
from course_lib.widgets.explorer import Explorer, explore
from course_lib.widgets.predict import Curve, Order, predict
from course_lib.widgets.questions import questions

__all__ = ["Claim", "Curve", "Explorer", "Order", "claim", "explore", "predict", "questions"]
