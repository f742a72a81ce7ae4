"""Checks of lecture 04: AdaGrad's step, and the factor that bias correction takes away.

Adam and AdamW are judged by the conformance suite, `course_lib.checks.optimizers`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.checks.adaptive_amsgrad import check_amsgrad_step
from course_lib.checks.optimizers import check_adam, check_adamw, check_rmsprop
from course_lib.checks.verdict import Case, Mutant, Verdict, judge

__all__ = ["check_adagrad_step", "check_adam", "check_adamw", "check_amsgrad_step", "check_overshoot", "check_rmsprop"]


def adagrad(theta, total, grad, lr, eps):
    total = total + grad**2
    return theta - lr * grad / (np.sqrt(total) + eps), total


def by_parts(gather: Callable, divide: Callable) -> Callable:
    """An AdaGrad: gather(total, grad) -> total, then divide(grad, new, old, lr, eps) -> what theta loses."""

    def step(theta, total, grad, lr, eps):
        new = gather(total, grad)
        return theta - divide(grad, new, total, lr, eps), new

    return step


def summed(total, grad):
    return total + grad**2


def rooted(grad, new, old, lr, eps):
    return lr * grad / (np.sqrt(new) + eps)


ADAGRAD_MUTANTS = (
    Mutant(
        "forgets",
        "The squares are averaged, with 0.9 and 0.1, and so forgotten: that is RMSProp. AdaGrad adds them up for ever.",
        by_parts(lambda s, g: 0.9 * s + 0.1 * g**2, rooted),
    ),
    Mutant(
        "no root",
        "The step is divided by the sum of the squares, and not by its root: it depends on the gradient's units.",
        by_parts(summed, lambda g, new, old, lr, eps: lr * g / (new + eps)),
    ),
    Mutant(
        "eps inside the root",
        "eps stands inside the root: there it counts as its own root. Here, as in torch, it is added after the root.",
        by_parts(summed, lambda g, new, old, lr, eps: lr * g / np.sqrt(new + eps)),
    ),
    Mutant(
        "old sum",
        "The step divides by the sum from before this gradient: add its square first. The very first step divides by "
        "eps alone.",
        by_parts(summed, lambda g, new, old, lr, eps: lr * g / (np.sqrt(old) + eps)),
    ),
    Mutant(
        "not squared",
        "The sum is of the gradients' sizes, not of their squares.",
        by_parts(lambda s, g: s + np.abs(g), rooted),
    ),
    Mutant(
        "one sum for all",
        "One sum is kept for all coordinates: the norm of the whole gradient. AdaGrad has a sum for each coordinate, "
        "and that is the point of it.",
        by_parts(lambda s, g: s + np.sum(g**2), rooted),
    ),
    Mutant(
        "uphill",
        "The sign is turned: the step goes up the slope.",
        by_parts(summed, lambda g, new, old, lr, eps: -lr * g / (np.sqrt(new) + eps)),
    ),
    Mutant(
        "sum not kept",
        "The sum that is returned is the old one: what this gradient added is forgotten.",
        lambda theta, s, g, lr, eps: (theta - lr * g / (np.sqrt(s + g**2) + eps), s),
    ),
)


def adagrad_case(title: str, shape: tuple[int, ...], lr: float, eps: float, *, fresh: bool = False) -> Case:
    random = np.random.default_rng(len(title))
    theta, grad = random.normal(size=shape), random.normal(size=shape)
    total = np.zeros(shape) if fresh else random.uniform(0.5, 4.0, size=shape)
    return Case(title, {"theta": theta, "total": total, "grad": grad, "lr": lr, "eps": eps})


def check_adagrad_step(fn: Any) -> Verdict:
    """Judge fn(theta, total, grad, lr, eps) -> (theta, total), new arrays; eps outside the root."""
    return judge(
        "AdaGrad step",
        fn,
        adagrad,
        (
            adagrad_case("the first gradient, lr 0.1", (3,), 0.1, 1e-3, fresh=True),
            adagrad_case("later, lr 0.1, eps 0.01", (3,), 0.1, 1e-2),
            adagrad_case("a matrix, lr 2, eps 0.5", (4, 2), 2.0, 0.5),
        ),
        ADAGRAD_MUTANTS,
        outputs=("theta", "total"),
        verified="adds the square to the coordinate's own sum, then divides by the sum's root, eps outside, any shape",
        tolerance=1e-10,
    )


def overshoot(t, b1, b2):
    return (1 - b1**t) / np.sqrt(1 - b2**t)


OVERSHOOT_MUTANTS = (
    Mutant(
        "upside down",
        "That is the corrected step over the uncorrected one: the quotient is upside down.",
        lambda t, b1, b2: 1 / overshoot(t, b1, b2),
    ),
    Mutant(
        "no root",
        "v is divided by 1 - b2^t, but the step divides by its root: a square root is missing.",
        lambda t, b1, b2: (1 - b1**t) / (1 - b2**t),
    ),
    Mutant(
        "first step only",
        "That is the factor of the first step, at every t: the corrections are 1 - b1^t and 1 - b2^t.",
        lambda t, b1, b2: overshoot(1, b1, b2),
    ),
    Mutant(
        "t off by one",
        "The count is one behind or ahead: the first step is t = 1.",
        lambda t, b1, b2: overshoot(t + 1, b1, b2),
    ),
    Mutant(
        "t off by one",
        "The count is one behind or ahead: the first step is t = 1.",
        lambda t, b1, b2: (1 - b1 ** (t - 1)) / np.sqrt(max(1 - b2 ** (t - 1), 1e-300)),
    ),
    Mutant(
        "only v",
        "That is the effect of v alone: m, too, starts at 0, which makes the step smaller by 1 - b1^t.",
        lambda t, b1, b2: 1 / np.sqrt(1 - b2**t),
    ),
    Mutant(
        "only m",
        "That is the effect of m alone: v, too, starts at 0, and its root stands under the step.",
        lambda t, b1, b2: 1 - b1**t,
    ),
    Mutant(
        "betas exchanged",
        "b1 and b2 have changed places: b1 belongs to m, above, and b2 to v, below.",
        lambda t, b1, b2: overshoot(t, b2, b1),
    ),
)


def check_overshoot(fn: Any) -> Verdict:
    """Judge fn(t, b1, b2) -> how many times too long Adam's t-th step is without bias correction, eps 0."""
    settings = ((1, 0.9, 0.999), (12, 0.9, 0.999), (300, 0.9, 0.99), (2, 0.5, 0.8), (5, 0.0, 0.95))
    return judge(
        "overshoot",
        fn,
        overshoot,
        [Case(f"t {t}, b1 {b1:g}, b2 {b2:g}", {"t": t, "b1": b1, "b2": b2}) for t, b1, b2 in settings],
        OVERSHOOT_MUTANTS,
        outputs=("factor",),
        verified="is (1 - b1^t) / sqrt(1 - b2^t), at the first step and later, with and without momentum",
    )
