"""Checks of lecture 04: AdaGrad's step, on numpy arrays; AMSGrad's is beside it, in a file of its own.

Adam and AdamW are judged by the conformance suite, `course_lib.grading.optimizers`.
"""

from typing import Any

import numpy as np

from course_lib.grading.optimizers.suite import check_adam, check_adamw, check_rmsprop
from course_lib.grading.recipe import recipe
from course_lib.grading.verdict import Case, Mutant, Verdict, judge
from course_lib.lectures.adaptive.exercises_amsgrad import check_amsgrad_step

__all__ = ["check_adagrad_step", "check_adam", "check_adamw", "check_amsgrad_step", "check_rmsprop"]


def adagrad(theta, total, grad, lr, eps):
    total = total + grad**2
    return theta - lr * grad / (np.sqrt(total) + eps), total


adagrad_but = recipe(
    *("theta", "total", "grad", "lr", "eps"),
    s=lambda a: a.total + a.grad**2,
    below=lambda a: np.sqrt(a.s) + a.eps,
    new=lambda a: a.theta - a.lr * a.grad / a.below,
    out=lambda a: (a.new, a.s),
)

FORGETS = (
    "The squares are averaged, with 0.9 and 0.1, and so forgotten: that is RMSProp. AdaGrad adds them up for ever."
)
DROPPED = "The old sum is dropped, and the step divides by |g| alone: add this gradient's square to the sum."
UNROOTED = "The step is divided by the sum of the squares, and not by its root: it depends on the gradient's units."
INSIDE = "eps stands inside the root: there it counts as its own root. Here, as in torch, it is added after the root."
OLD = "The step divides by the sum from before this gradient: add its square first. The very first step divides by eps."
SIZES = "The sum is of the gradients themselves or of their sizes, not of their squares."
WHOLE = (
    "One sum is kept for all coordinates, from the whole gradient. AdaGrad has a sum for each coordinate, and that is "
    "the point of it."
)
PARENTHESES = "eps is added to the whole fraction, not to the root below it: put parentheses around (root + eps)."
RETURNED = "What comes back first is the step alone: return theta after its step."

ADAGRAD_MUTANTS = (
    Mutant("forgets", FORGETS, adagrad_but(s=lambda a: 0.9 * a.total + 0.1 * a.grad**2)),
    Mutant("old sum dropped", DROPPED, adagrad_but(s=lambda a: a.grad**2)),
    Mutant("no root", UNROOTED, adagrad_but(below=lambda a: a.s + a.eps)),
    Mutant(
        "multiplied by the root",
        "The step is multiplied by the root: divide by it.",
        adagrad_but(below=lambda a: 1 / (np.sqrt(a.s) + a.eps)),
    ),
    Mutant("eps inside the root", INSIDE, adagrad_but(below=lambda a: np.sqrt(a.s + a.eps))),
    Mutant(
        "eps left out",
        "eps is missing: an entry whose gradients were all 0 gets 0 / 0.",
        adagrad_but(below=lambda a: np.sqrt(a.s)),
    ),
    Mutant(
        "eps as a floor",
        "The root is kept above eps: eps is added to it.",
        adagrad_but(below=lambda a: np.maximum(np.sqrt(a.s), a.eps)),
    ),
    *(
        Mutant("missing parentheses", PARENTHESES, adagrad_but(new=new))
        for new in (
            lambda a: a.theta - (a.lr * a.grad / np.sqrt(a.s) + a.eps),
            lambda a: a.theta - a.lr * a.grad / np.sqrt(a.s) + a.eps,
            lambda a: a.theta - (a.lr / np.sqrt(a.s) + a.eps) * a.grad,
        )
    ),
    Mutant("old sum", OLD, adagrad_but(below=lambda a: np.sqrt(a.total) + a.eps)),
    Mutant("not squared", SIZES, adagrad_but(s=lambda a: a.total + np.abs(a.grad))),
    Mutant("not squared", SIZES, adagrad_but(s=lambda a: a.total + a.grad)),
    Mutant("one sum for all", WHOLE, adagrad_but(s=lambda a: a.total + np.sum(a.grad**2))),
    Mutant("one sum for all", WHOLE, adagrad_but(s=lambda a: a.total + np.mean(a.grad**2))),
    Mutant(
        "uphill",
        "The sign is turned: the step goes up the slope.",
        adagrad_but(new=lambda a: a.theta + a.lr * a.grad / a.below),
    ),
    Mutant(
        "lr left out",
        "The step is not multiplied by lr.",
        adagrad_but(new=lambda a: a.theta - a.grad / a.below),
    ),
    Mutant("step returned", RETURNED, adagrad_but(new=lambda a: a.lr * a.grad / a.below)),
    Mutant("step returned", RETURNED, adagrad_but(new=lambda a: -a.lr * a.grad / a.below)),
    Mutant(
        "results in another order",
        "The results are right, and come in another order: return theta, then total.",
        adagrad_but(out=lambda a: (a.s, a.new)),
    ),
    Mutant(
        "sum not kept",
        "The sum that is returned is the old one: what this gradient added is forgotten.",
        adagrad_but(out=lambda a: (a.new, a.total)),
    ),
)


def adagrad_case(title: str, shape: tuple[int, ...], lr: float, eps: float, *, fresh: bool = False) -> Case:
    """fresh: the first step, from a sum of 0, with a gradient that is 0 in its last entry."""
    random = np.random.default_rng(len(title))
    theta, grad = random.normal(size=shape), random.normal(size=shape)
    total = np.zeros(shape) if fresh else random.uniform(0.5, 4.0, size=shape)
    if fresh:
        grad.flat[-1] = 0.0
    return Case(title, {"theta": theta, "total": total, "grad": grad, "lr": lr, "eps": eps})


def check_adagrad_step(fn: Any) -> Verdict:
    """Judge fn(theta, total, grad, lr, eps) -> (theta, total), new arrays; eps outside the root."""
    return judge(
        "AdaGrad step",
        fn,
        adagrad,
        (
            adagrad_case("the first gradient, an entry of it 0, lr 0.1", (4,), 0.1, 1e-3, fresh=True),
            adagrad_case("later, lr 0.1, eps 0.01", (3,), 0.1, 1e-2),
            adagrad_case("a matrix, lr 2, eps 0.5", (4, 2), 2.0, 0.5),
        ),
        ADAGRAD_MUTANTS,
        outputs=("theta", "total"),
        verified="adds the square to the coordinate's own sum, then divides by the sum's root, eps outside, any shape",
        tolerance=1e-10,
    )
