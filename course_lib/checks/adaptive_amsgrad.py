"""The check of lecture 04 for AMSGrad's step, on numpy arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.checks.verdict import Case, Mutant, Verdict, judge


def amsgrad(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    mean = b1 * mean + (1 - b1) * grad
    square = b2 * square + (1 - b2) * grad**2
    peak = np.maximum(peak, square)
    step = lr * mean / (1 - b1**t) / (np.sqrt(peak / (1 - b2**t)) + eps)
    return theta - step, mean, square, peak


def with_peak(climb: Callable, under: Callable = lambda peak, square: peak) -> Callable:
    """An AMSGrad: climb(peak, new square, old square) -> peak; under(peak, square) is what the step divides by."""

    def step(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
        mean = b1 * mean + (1 - b1) * grad
        new = b2 * square + (1 - b2) * grad**2
        peak = climb(peak, new, square)
        root = np.sqrt(under(peak, new) / (1 - b2**t))
        return theta - lr * mean / (1 - b1**t) / (root + eps), mean, new, peak

    return step


def peak_in_place_of_square(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    theta, mean, _, peak = amsgrad(theta, mean, square, peak, grad, t, lr, b1, b2, eps)
    return theta, mean, peak, peak


def uncorrected(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    return amsgrad(theta, mean, square, peak, grad, 10**6, lr, b1, b2, eps)


def corrected_first(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    mean = b1 * mean + (1 - b1) * grad
    square = b2 * square + (1 - b2) * grad**2
    peak = np.maximum(peak, square / (1 - b2**t))
    return theta - lr * mean / (1 - b1**t) / (np.sqrt(peak) + eps), mean, square, peak


AMSGRAD_MUTANTS = (
    Mutant(
        "Adam",
        "The step divides by v itself: the peak is kept and not used, and that is Adam.",
        with_peak(lambda peak, new, old: np.maximum(peak, new), lambda peak, new: new),
    ),
    Mutant(
        "smallest",
        "The smallest v is kept, and so the learning rate can only rise: AMSGrad keeps the largest.",
        with_peak(lambda peak, new, old: np.minimum(peak, new)),
    ),
    Mutant(
        "old square",
        "The peak is taken over the v from before this gradient: update v first.",
        with_peak(lambda peak, new, old: np.maximum(peak, old)),
    ),
    Mutant(
        "peak not kept",
        "The peak is only the larger of the last two v: carry it along, max(peak, v).",
        with_peak(lambda peak, new, old: np.maximum(old, new)),
    ),
    Mutant(
        "one peak for all",
        "One peak is kept for all coordinates: the maximum is taken for each of them, np.maximum, not np.max.",
        with_peak(lambda peak, new, old: np.full_like(new, np.max(np.maximum(peak, new)))),
    ),
    Mutant(
        "v grows with the peak",
        "The peak is returned in place of v: v itself goes on forgetting, and only the peak does not.",
        peak_in_place_of_square,
    ),
    Mutant(
        "no bias correction",
        "m and v started at 0 and are not corrected for it: divide by 1 - b1^t and 1 - b2^t.",
        uncorrected,
    ),
    Mutant(
        "corrected before the maximum",
        "The maximum is taken over corrected v. That variant exists, but is not the one asked for: here, as in torch, "
        "the peak is of v itself, and is corrected where it is used.",
        corrected_first,
    ),
)


def amsgrad_case(title: str, shape: tuple[int, ...], t: int, b1: float, b2: float) -> Case:
    random = np.random.default_rng(len(title) + t)
    theta, grad, mean = (random.normal(size=shape) for _ in range(3))
    square = random.uniform(0.1, 2.0, size=shape)
    peak = square * random.choice([1.0, 1.5], size=shape)
    if t == 1:
        mean, square, peak = np.zeros((3, *shape))
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
        ),
        AMSGRAD_MUTANTS,
        outputs=("theta", "mean", "square", "peak"),
        verified="keeps the largest v of each coordinate, corrects it where it is used, and divides by its root",
        tolerance=1e-10,
    )
