"""Optimizers as pairs of pure functions over lists of tensors.

A hyper-parameter is a number or a () tensor, or a numpy array where a rule is run on numbers. b1, b2, beta, rho and
dampening are at least 0 and below 1, all others at least 0 and finite, unless more is said: anything else raises a
ValueError that names it. What a tensor holds is not looked at, so that a sweep can be vmapped.
"""

from course_lib.optim.adadelta import adadelta
from course_lib.optim.adafactor import adafactor
from course_lib.optim.adagrad import adagrad
from course_lib.optim.adam import adam, adamw
from course_lib.optim.amsgrad import amsgrad
from course_lib.optim.clip import clip_norm, clip_value
from course_lib.optim.decay import add_decay, decoupled_decay
from course_lib.optim.elementwise import elementwise, maximum, on_numbers, root, sign, steps_on, where
from course_lib.optim.lion import lion
from course_lib.optim.muon import muon, orthogonalize
from course_lib.optim.nadam import nadam
from course_lib.optim.negate import negate
from course_lib.optim.partition import partition
from course_lib.optim.precision import in_dtype
from course_lib.optim.radam import radam
from course_lib.optim.rmsprop import rmsprop
from course_lib.optim.schedule_free import landing, schedule_free
from course_lib.optim.sgd import sgd
from course_lib.optim.shampoo import shampoo
from course_lib.optim.soap import soap
from course_lib.optim.stepper import Stepper
from course_lib.optim.transform import Rule, Tensors, Transform, apply_steps, chain

__all__ = [
    "Rule",
    "Stepper",
    "Tensors",
    "Transform",
    "adadelta",
    "adafactor",
    "adagrad",
    "adam",
    "adamw",
    "add_decay",
    "amsgrad",
    "apply_steps",
    "chain",
    "clip_norm",
    "clip_value",
    "decoupled_decay",
    "elementwise",
    "in_dtype",
    "landing",
    "lion",
    "maximum",
    "muon",
    "nadam",
    "negate",
    "on_numbers",
    "orthogonalize",
    "partition",
    "radam",
    "rmsprop",
    "root",
    "schedule_free",
    "sgd",
    "shampoo",
    "sign",
    "soap",
    "steps_on",
    "where",
]
