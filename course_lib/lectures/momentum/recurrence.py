"""Momentum on one direction of a quadratic, as arithmetic: the theory of a step, and running it."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from course_lib.optim import Transform, on_numbers, sgd
from course_lib.results import Floats

Method = Literal["heavy ball", "Nesterov"]


def polynomial(lr: Any, beta: Any, method: str) -> tuple[Any, Any]:
    r"""Trace p and determinant q of a step on curvature 1: its eigenvalues are the roots of r^2 - p r + q.

    .. math::
        x_{t+1} &= x_t - \eta\, x_t + \beta\, (x_t - x_{t-1}) &&\text{heavy ball (Polyak 1964)}    \qquad (1) \\
        x_{t+1} &= (1 - \eta) \bigl(x_t + \beta\, (x_t - x_{t-1})\bigr) &&\text{Nesterov (1983)}   \qquad (2)

    On curvature lambda eta is eta lambda. Numbers or arrays that broadcast.
    """
    if method == "heavy ball":
        return 1 + beta - lr, beta + 0 * lr  # (1)
    return (1 - lr) * (1 + beta), (1 - lr) * beta  # (2)


def eigenvalues(lr: Any, beta: Any, method: str = "heavy ball") -> NDArray[np.complex128]:
    """(2, ...) both eigenvalues of a step on curvature 1."""
    p, q = polynomial(lr, beta, method)
    root = np.sqrt(np.asarray(p * p / 4 - q, dtype=np.complex128))
    return np.stack([p / 2 + root, p / 2 - root])


def spectral_radius(lr: Any, beta: Any, method: str = "heavy ball") -> Any:
    """What a step leaves of the distance in the long run: the larger size of the two eigenvalues."""
    return np.abs(eigenvalues(lr, beta, method)).max(axis=0)


def oscillates(lr: Any, beta: Any, method: str = "heavy ball") -> Any:
    """Whether the eigenvalues are a complex pair; for heavy ball, where (1 - sqrt(eta lambda))^2 < beta."""
    p, q = polynomial(lr, beta, method)
    return p * p < 4 * q


def tuned(kappa: Any, method: str = "heavy ball") -> tuple[Any, Any, Any]:
    """eta, beta and contraction factor that suit a quadratic with curvatures from 1/kappa to 1 best.

    Heavy ball: Polyak 1964. Nesterov: the textbook's eta = 1/L (Nesterov 2004, 2.2.1), not the best for quadratics.
    """
    s = np.sqrt(kappa)
    if method == "heavy ball":
        return 4 / (1 + 1 / s) ** 2, ((s - 1) / (s + 1)) ** 2, (s - 1) / (s + 1)
    return 1 + 0 * s, (s - 1) / (s + 1), 1 - 1 / s


def descend(transform: Transform, slope: Callable[[Any], Any], steps: int, start: Any = 1.0) -> Floats:
    """(steps+1, ...) x_t from `start`, a number or an array, on the function with that slope."""
    move, x, path = on_numbers(transform, start), start, [start]
    for _ in range(steps):
        x = x + move(slope(x))
        path.append(x)
    return np.array(path)


def run(lr: Any, beta: Any, method: str, steps: int, curvature: Any = 1.0) -> Floats:
    """(steps+1, ...) x_t on curvature x^2 / 2 from 1, as torch counts: for Nesterov x is the look-ahead point.

    lr, beta and curvature are numbers, or arrays that broadcast: a run for each element.
    """
    lr, beta, curvature = (np.asarray(a, dtype=np.float64) for a in (lr, beta, curvature))
    ones = np.ones(np.broadcast_shapes(lr.shape, beta.shape, curvature.shape))
    return descend(sgd(lr, beta, nesterov=method == "Nesterov"), lambda x: curvature * x, steps, ones)


def fitted_rate(path: Floats) -> Floats:
    """(...) the factor by which |x| changes a step: its mean over the last third of a path against the third before.

    path: (steps+1, ...). Means over many steps, so that a zero crossing does not count as progress.
    """
    third = len(path) // 3
    before, after = np.abs(path[-2 * third : -third]).mean(axis=0), np.abs(path[-third:]).mean(axis=0)
    return np.divide(after, before, out=np.zeros_like(before), where=before > 0) ** (1 / third)
