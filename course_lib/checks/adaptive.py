"""Checks of lecture 04: AdaGrad's step, on numpy arrays; AMSGrad's is beside it, in a file of its own.

Adam and AdamW are judged by the conformance suite, `course_lib.checks.optimizers`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.checks.adaptive_amsgrad import check_amsgrad_step
from course_lib.checks.optimizers import check_adam, check_adamw, check_rmsprop
from course_lib.checks.verdict import Case, Mutant, Verdict, judge

__all__ = ["check_adagrad_step", "check_adam", "check_adamw", "check_amsgrad_step", "check_rmsprop"]


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
