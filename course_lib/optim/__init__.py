"""Optimizers as pairs of pure functions over lists of tensors, in order of difficulty."""

from course_lib.optim.adagrad import adagrad
from course_lib.optim.adam import adam, adamw
from course_lib.optim.clip import clip_norm, clip_value
from course_lib.optim.decay import add_decay
from course_lib.optim.rmsprop import rmsprop
from course_lib.optim.sgd import sgd
from course_lib.optim.stepper import Stepper
from course_lib.optim.transform import Tensors, Transform, chain, descend

__all__ = [
    "Stepper",
    "Tensors",
    "Transform",
    "adagrad",
    "adam",
    "adamw",
    "add_decay",
    "chain",
    "clip_norm",
    "clip_value",
    "descend",
    "rmsprop",
    "sgd",
]
