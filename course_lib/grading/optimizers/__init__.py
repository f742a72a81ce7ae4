"""The conformance suite for optimizers: it runs yours beside the course's, and names the mistake where they part."""

from course_lib.grading.optimizers.suite import (
    check_adagrad,
    check_adam,
    check_adamw,
    check_amsgrad,
    check_nesterov,
    check_rmsprop,
    check_sgd_momentum,
)

__all__ = [
    "check_adagrad",
    "check_adam",
    "check_adamw",
    "check_amsgrad",
    "check_nesterov",
    "check_rmsprop",
    "check_sgd_momentum",
]
