"""Checks of lecture 02: a step and the best fixed step, on numpy arrays."""

from dataclasses import replace
from typing import Any

import numpy as np

from course_lib.grading.verdict import Case, Mutant, Verdict, judge
from course_lib.lectures.gradient_descent.exercises_noise import check_minibatch_gradient, check_noise_scale
from course_lib.lectures.gradient_descent.exercises_sharpness import check_sharpness

__all__ = [
    "check_best_step",
    "check_gradient_step",
    "check_minibatch_gradient",
    "check_noise_scale",
    "check_sharpness",
]

STEP_MUTANTS = (
    Mutant(
        "uphill",
        "The sign is turned: the gradient points uphill, and the step goes against it.",
        lambda theta, grad, lr: theta + lr * grad,
    ),
    Mutant(
        "learning rate forgotten",
        "The gradient is taken off whole: multiply it by the learning rate first.",
        lambda theta, grad, lr: theta - grad,
    ),
    Mutant(
        "learning rate on the parameters",
        "The learning rate multiplies theta, and should multiply the gradient.",
        lambda theta, grad, lr: lr * theta - grad,
    ),
    Mutant(
        "learning rate on everything",
        "The learning rate multiplies the difference: put the brackets away, it scales the gradient alone.",
        lambda theta, grad, lr: lr * (theta - grad),
    ),
    Mutant(
        "divided by the learning rate",
        "The gradient is divided by the learning rate, and should be multiplied by it.",
        lambda theta, grad, lr: theta - grad / lr,
    ),
    Mutant(
        "step returned",
        "That is the step alone: add it to theta and return where the step leads.",
        lambda theta, grad, lr: -lr * grad,
    ),
    Mutant(
        "gradient normalized",
        "The gradient is divided by its length: a plain step is long where the slope is steep.",
        lambda theta, grad, lr: theta - lr * grad / np.linalg.norm(grad),
    ),
)


def step_case(title: str, shape: tuple[int, ...], lr: float) -> Case:
    random = np.random.default_rng(len(title))
    return Case(title, {"theta": random.normal(size=shape), "grad": random.normal(size=shape), "lr": lr})


def check_gradient_step(fn: Any) -> Verdict:
    """Judge fn(theta, grad, lr) -> theta - lr grad, a new array; theta and grad of any one shape."""
    cases = (step_case("three parameters, lr 0.1", (3,), 0.1), step_case("a matrix of them, lr 2.5", (4, 3), 2.5))
    return judge(
        "gradient step",
        fn,
        lambda theta, grad, lr: theta - lr * grad,
        cases,
        STEP_MUTANTS,
        outputs=("theta",),
        verified="goes downhill by lr times the gradient, in any shape, and leaves its arguments alone",
        tolerance=1e-12,
    )


BEST_STEP_MUTANTS = (
    Mutant(
        "1 / largest",
        "1 / lambda_max is safe and down to half as fast: it kills the steepest direction and favors no other.",
        lambda e: 1 / e.max(),
    ),
    Mutant(
        "the threshold",
        "2 / lambda_max is where the steepest direction stops shrinking: the edge of divergence, not the best step.",
        lambda e: 2 / e.max(),
    ),
    Mutant(
        "half of it",
        "A factor 2 is missing: solve 1 - eta lambda_min = eta lambda_max - 1 for eta.",
        lambda e: 1 / (e.min() + e.max()),
    ),
    Mutant(
        "first and last",
        "The eigenvalues come in no order: take the smallest and the largest, not the first and the last.",
        lambda e: 2 / (e[0] + e[-1]),
    ),
    Mutant(
        "all eigenvalues",
        "Only the two extreme eigenvalues count: those between shrink faster than both, whatever they are.",
        lambda e: 2 / e.sum(),
    ),
    Mutant(
        "1 / mean",
        "The mean of all eigenvalues is not the middle between the extremes, and only those two count.",
        lambda e: 1 / e.mean(),
    ),
    Mutant(
        "the step for momentum",
        "That is the best step of momentum (lecture 03): plain gradient descent has no square roots.",
        lambda e: 4 / (np.sqrt(e.min()) + np.sqrt(e.max())) ** 2,
    ),
)
SPECTRA = (
    Case("eigenvalues 2, 10, 1, 5", {"eigenvalues": np.array([2.0, 10.0, 1.0, 5.0])}),
    Case("eigenvalues 0.3, 0.01, 4", {"eigenvalues": np.array([0.3, 0.01, 4.0])}),
    Case("one eigenvalue, 4", {"eigenvalues": np.array([4.0])}),
)


CLOSE = "Close, within one part in a hundred, but the answer is exact: a formula in lambda_min and lambda_max."


def check_best_step(fn: Any) -> Verdict:
    """Judge fn(eigenvalues) -> the best fixed learning rate; eigenvalues (n,), in no order."""

    def best(e):
        return 2 / (e.min() + e.max())

    exercise, verified = "best fixed step", "balances the flattest against the steepest direction on three spectra"
    verdict = judge(exercise, fn, best, SPECTRA, BEST_STEP_MUTANTS, outputs=("lr",), verified=verified)
    if verdict.status == "wrong" and not verdict.mistake:
        loose = judge(exercise, fn, best, SPECTRA, outputs=("lr",), verified=verified, tolerance=0.01)
        if loose.passed:
            return replace(verdict, message=CLOSE, mistake="approximate")
    return verdict
