"""Optimizers as pairs of pure functions over lists of tensors, in order of difficulty."""

from course_lib.optim.sgd import sgd
from course_lib.optim.transform import Tensors, Transform, chain, descend

__all__ = ["Tensors", "Transform", "chain", "descend", "sgd"]
