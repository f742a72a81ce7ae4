"""The check of lecture 04 for AMSGrad's step, on numpy arrays; the mistakes it knows are in a file beside it."""

from typing import Any

import numpy as np

from course_lib.grading.verdict import Case, Verdict, judge
from course_lib.lectures.adaptive.exercises_amsgrad_mutants import AMSGRAD_MUTANTS


def amsgrad(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    mean = b1 * mean + (1 - b1) * grad
    square = b2 * square + (1 - b2) * grad**2
    peak = np.maximum(peak, square)
    step = lr * mean / (1 - b1**t) / (np.sqrt(peak / (1 - b2**t)) + eps)
    return theta - step, mean, square, peak


def amsgrad_case(title: str, shape: tuple[int, ...], t: int, b1: float, b2: float, *, no_peak: bool = False) -> Case:
    """At t = 1 the state is 0, and so is the gradient's last entry. no_peak: the peak alone is 0."""
    random = np.random.default_rng(len(title) + t)
    theta, grad, mean = (random.normal(size=shape) for _ in range(3))
    square = random.uniform(0.1, 2.0, size=shape)
    peak = np.zeros(shape) if no_peak else square * random.choice([1.0, 1.5], size=shape)
    if t == 1:
        mean, square, peak = np.zeros((3, *shape))
        grad.flat[-1] = 0.0
    state = {"theta": theta, "mean": mean, "square": square, "peak": peak, "grad": grad}
    return Case(title, {**state, "t": t, "lr": 0.1, "b1": b1, "b2": b2, "eps": 1e-3})


def check_amsgrad_step(fn: Any) -> Verdict:
    """Judge fn(theta, mean, square, peak, grad, t, lr, b1, b2, eps) -> (theta, mean, square, peak), new arrays."""
    return judge(
        "AMSGrad step",
        fn,
        amsgrad,
        (
            amsgrad_case("the first step", (4,), 1, 0.9, 0.99),
            amsgrad_case("the seventh step, b2 0.8", (6,), 7, 0.9, 0.8),
            amsgrad_case("a matrix, b1 0.5, b2 0.6", (4, 3), 3, 0.5, 0.6),
            amsgrad_case("Adam until now, so that there is no peak yet", (5,), 4, 0.8, 0.9, no_peak=True),
        ),
        AMSGRAD_MUTANTS,
        outputs=("theta", "mean", "square", "peak"),
        verified="keeps the largest v of each coordinate, corrects it where it is used, and divides by its root",
        tolerance=1e-10,
    )
