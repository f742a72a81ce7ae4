"""Checks of lecture 03: heavy ball's best setting, and its rate."""

from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.grading.verdict import Case, Mutant, Verdict, judge


def best_setting(mu, L):
    a, b = np.sqrt(mu), np.sqrt(L)
    return 4 / (a + b) ** 2, ((b - a) / (b + a)) ** 2


BEST_MUTANTS = (
    Mutant(
        "not squared",
        "beta is the square of (sqrt(kappa) - 1) / (sqrt(kappa) + 1): the rate is the root of beta, and you gave the "
        "rate. (It is also Nesterov's beta.)",
        lambda mu, L: (best_setting(mu, L)[0], best_setting(mu, L)[1] ** 0.5),
    ),
    Mutant(
        "plain descent's step",
        "2 / (mu + L) is the best learning rate without momentum: with it, longer steps are stable.",
        lambda mu, L: (2 / (mu + L), best_setting(mu, L)[1]),
    ),
    Mutant(
        "1 / L",
        "1 / L is Nesterov's learning rate: heavy ball can go up to almost four times as far.",
        lambda mu, L: (1 / L, best_setting(mu, L)[1]),
    ),
    Mutant(
        "2 instead of 4",
        "The learning rate is half of the best: 4 / (sqrt(L) + sqrt(mu))^2.",
        lambda mu, L: (best_setting(mu, L)[0] / 2, best_setting(mu, L)[1]),
    ),
    Mutant(
        "roots missing",
        "kappa stands in beta without its root: that is the rate of plain descent, squared.",
        lambda mu, L: (best_setting(mu, L)[0], ((L - mu) / (L + mu)) ** 2),
    ),
    Mutant(
        "swapped",
        "The two are returned in the wrong order: the learning rate first, then beta.",
        lambda mu, L: best_setting(mu, L)[::-1],
    ),
    Mutant(
        "no momentum",
        "That is plain descent's best: 2 / (mu + L), without momentum.",
        lambda mu, L: (2 / (mu + L), 0.0),
    ),
    Mutant(
        "square outside",
        "The roots are taken after adding: it is the sum of the roots, squared, not the sum of mu and L.",
        lambda mu, L: (4 / (mu + L), best_setting(mu, L)[1]),
    ),
)


def check_best_setting(fn: Any) -> Verdict:
    """Judge fn(mu, L) -> (lr, beta), heavy ball's best for curvatures from mu to L."""
    ravines = ((1.0, 25.0), (0.04, 1.0), (2.0, 200.0), (3.0, 5.0))
    return judge(
        "best setting",
        fn,
        best_setting,
        [Case(f"curvatures from {mu:g} to {L:g}", {"mu": mu, "L": L}) for mu, L in ravines],
        BEST_MUTANTS,
        outputs=("lr", "beta"),
        verified="finds the learning rate and the beta that Polyak derived, on four ravines",
    )


def rate_from(polynomial: Callable, answer: Callable) -> Callable:
    """A solution of the rate exercise: polynomial(z, beta) -> p, q of r^2 - p r + q; answer(both roots) -> a number."""

    def run(lr, beta, curvature):
        p, q = polynomial(lr * curvature, beta)
        root = np.sqrt(complex(p * p / 4 - q))
        return answer(np.array([p / 2 + root, p / 2 - root]))

    return run


def step_polynomial(z, beta):
    return 1 + beta - z, beta


def largest(roots):
    return np.abs(roots).max()


RATE_MUTANTS = (
    Mutant(
        "real part",
        "That is the largest real part: a complex eigenvalue shrinks by its absolute value, |a + bi|.",
        rate_from(step_polynomial, lambda roots: roots.real.max()),
    ),
    Mutant(
        "largest, not largest in size",
        "That is the largest eigenvalue, and past the stability limit the most negative one rules: compare sizes.",
        rate_from(step_polynomial, lambda roots: abs(roots[0])),
    ),
    Mutant(
        "smaller eigenvalue",
        "That is the eigenvalue that dies first: in the long run the larger one is left.",
        rate_from(step_polynomial, lambda roots: np.abs(roots).min()),
    ),
    Mutant(
        "always sqrt(beta)",
        "sqrt(beta) is the rate only while the eigenvalues are a complex pair, (1 - sqrt(lr curvature))^2 < beta.",
        lambda lr, beta, curvature: beta**0.5,
    ),
    Mutant(
        "determinant",
        "beta is the product of the two eigenvalues: the rate is the size of the larger one.",
        lambda lr, beta, curvature: beta,
    ),
    Mutant(
        "no momentum",
        "|1 - lr curvature| is plain descent's factor: with a velocity a step is a 2 x 2 matrix.",
        lambda lr, beta, curvature: abs(1 - lr * curvature),
    ),
    Mutant(
        "sign of beta",
        "beta has the wrong sign at the older x: x_(t+1) = (1 + beta - lr curvature) x_t - beta x_(t-1).",
        rate_from(lambda z, beta: (1 + beta - z, -beta), largest),
    ),
    Mutant(
        "1 instead of 1 + beta",
        "The trace is 1 + beta - lr curvature: moving on at the old speed adds beta x_t and takes beta x_(t-1).",
        rate_from(lambda z, beta: (1 - z, beta), largest),
    ),
    Mutant(
        "real part",
        "That is the larger size of the real parts: a complex eigenvalue shrinks by its absolute value, |a + bi|.",
        rate_from(step_polynomial, lambda roots: np.abs(roots.real).max()),
    ),
    Mutant(
        "not halved",
        "The roots of r^2 - p r + q are (p +- sqrt(p^2 - 4 q)) / 2: the halving is missing.",
        rate_from(step_polynomial, lambda roots: 2 * largest(roots)),
    ),
    Mutant(
        "cut at 1",
        "The rate is cut at 1: beyond the stability limit it is larger, and says how fast the run diverges.",
        rate_from(step_polynomial, lambda roots: min(1.0, largest(roots))),
    ),
    Mutant(
        "curvature forgotten",
        "The curvature is not used: only its product with the learning rate counts.",
        lambda lr, beta, curvature: rate_from(step_polynomial, largest)(lr, beta, 1.0),
    ),
)


def check_rate(fn: Any) -> Verdict:
    """Judge fn(lr, beta, curvature) -> the spectral radius of a heavy-ball step on curvature x^2 / 2."""
    settings = (
        (0.5, 0.5, 2.0),
        (0.05, 0.5, 2.0),  # complex, lr curvature below 1
        (1.5, 0.9, 2.0),  # and above
        (0.01, 0.8, 0.5),
        (0.3, 0.0, 1.0),
        (0.55, 0.05, 1.0),
        (0.95, 0.1, 2.0),  # real and negative, yet stable
        (0.9, 0.25, 3.0),
        (1.2, 0.8, 4.0),
    )
    return judge(
        "rate",
        fn,
        rate_from(step_polynomial, largest),
        [
            Case(f"lr {lr:g}, beta {b:g}, curvature {c:g}", {"lr": lr, "beta": b, "curvature": c})
            for lr, b, c in settings
        ],
        RATE_MUTANTS,
        outputs=("rate",),
        verified="is the size of the larger eigenvalue, real of either sign, a complex pair, and beyond the limit",
    )
