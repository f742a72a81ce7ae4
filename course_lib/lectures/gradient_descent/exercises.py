"""The exercises of lecture 02: a step, the best fixed step, a batch's gradient, the sharpness, the noise scale."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.grading import Case, Exercise, Mistake

Numbers = np.ndarray


def gradient_step(theta, grad, lr):
    """theta and grad of any one shape. Returns theta after the step, a new array."""
    return theta - lr * grad


def step_case(title: str, shape: tuple[int, ...], lr: float) -> Case:
    random = np.random.default_rng(len(title))
    return Case(title, {"theta": random.normal(size=shape), "grad": random.normal(size=shape), "lr": lr})


check_gradient_step = Exercise(
    "gradient step",
    gradient_step,
    (step_case("three parameters, lr 0.1", (3,), 0.1), step_case("a matrix of them, lr 2.5", (4, 3), 2.5)),
    (
        Mistake(
            "uphill",
            "The sign is wrong: the gradient points uphill, and the step goes against it.",
            ("theta - ", "theta + "),
        ),
        Mistake(
            "learning rate forgotten",
            "The whole gradient is subtracted: multiply it by the learning rate first.",
            ("lr * grad", "grad"),
        ),
        Mistake(
            "learning rate on the parameters",
            "The learning rate multiplies theta, and should multiply the gradient.",
            ("theta - lr * grad", "lr * theta - grad"),
        ),
        Mistake(
            "learning rate on everything",
            "The learning rate multiplies the difference: drop the parentheses, it scales the gradient alone.",
            ("theta - lr * grad", "lr * (theta - grad)"),
        ),
        Mistake(
            "divided by the learning rate",
            "The gradient is divided by the learning rate, and should be multiplied by it.",
            ("lr * grad", "grad / lr"),
        ),
        Mistake(
            "step returned",
            "That is the step alone: add it to theta and return where the step leads.",
            ("theta - ", "-"),
        ),
        Mistake(
            "gradient normalized",
            "The gradient is divided by its length: a plain step is long where the slope is steep.",
            ("lr * grad", "lr * grad / np.linalg.norm(grad)"),
        ),
    ),
    outputs=("theta",),
    verified="goes downhill by lr times the gradient, in any shape, and leaves its arguments alone",
    tolerance=1e-12,
)


def best_step(eigenvalues):
    """eigenvalues: (n,), in no order. Returns the best fixed learning rate."""
    e = eigenvalues
    return 2 / (e.min() + e.max())


BEST = "2 / (e.min() + e.max())"
check_best_step = Exercise(
    "best fixed step",
    best_step,
    (
        Case("eigenvalues 2, 10, 1, 5", {"eigenvalues": np.array([2.0, 10.0, 1.0, 5.0])}),
        Case("eigenvalues 0.3, 0.01, 4", {"eigenvalues": np.array([0.3, 0.01, 4.0])}),
        Case("one eigenvalue, 4", {"eigenvalues": np.array([4.0])}),
    ),
    (
        Mistake(
            "1 / largest",
            "1 / lambda_max is safe, but can be half as fast: it removes the steepest direction and helps no other.",
            (BEST, "1 / e.max()"),
        ),
        Mistake(
            "the threshold",
            "2 / lambda_max is where the steepest direction stops shrinking: the edge of divergence, no more.",
            (BEST, "2 / e.max()"),
        ),
        Mistake(
            "half of it",
            "A factor 2 is missing: solve 1 - eta lambda_min = eta lambda_max - 1 for eta.",
            (BEST, "1 / (e.min() + e.max())"),
        ),
        Mistake(
            "first and last",
            "The eigenvalues come in no order: take the smallest and the largest, not the first and the last.",
            (BEST, "2 / (e[0] + e[-1])"),
        ),
        Mistake(
            "all eigenvalues",
            "Only the two extreme eigenvalues count: those between shrink faster than both, whatever they are.",
            (BEST, "2 / e.sum()"),
        ),
        Mistake(
            "1 / mean",
            "The mean of all eigenvalues is not the middle between the extremes, and only those two count.",
            (BEST, "1 / e.mean()"),
        ),
        Mistake(
            "the step for momentum",
            "That is the best step of momentum (lecture 03): plain gradient descent has no square roots.",
            (BEST, "4 / (np.sqrt(e.min()) + np.sqrt(e.max())) ** 2"),
        ),
    ),
    outputs=("lr",),
    verified="balances the flattest against the steepest direction on three spectra",
)


def minibatch_gradient(X, y, w, rows):
    """X: (n, d). y: (n,). w: (d,). rows: (B,). Returns (d,), the gradient of the rows' mean (x . w - y)^2 / 2."""
    x, t = X[rows], y[rows]
    residual = x @ w - t
    return x.T @ residual / len(rows)


def batch_case(title: str, rows: list[int]) -> Case:
    random = np.random.default_rng(7)
    X, y, w = random.normal(size=(12, 3)), random.normal(size=12), random.normal(size=3)
    return Case(title, {"X": X, "y": y, "w": w, "rows": np.array(rows)})


MEAN = "x.T @ residual / len(rows)"
check_minibatch_gradient = Exercise(
    "minibatch gradient",
    minibatch_gradient,
    (
        batch_case("four rows of twelve", [3, 0, 8, 5]),
        batch_case("a batch with one row twice", [2, 2, 7]),
        batch_case("a single row", [11]),
    ),
    (
        Mistake(
            "sum, not mean",
            "The examples' gradients are added and not averaged: the step would grow with the batch.",
            (" / len(rows)", ""),
        ),
        Mistake(
            "divided by the whole data set",
            "Divide by the number of rows in the batch, not by the number in the data set.",
            ("len(rows)", "len(X)"),
        ),
        Mistake(
            "whole data set",
            "That is the full gradient: only the chosen rows belong to the batch.",
            [("X[rows], y[rows]", "X, y"), ("len(rows)", "len(X)")],
        ),
        Mistake(
            "wrong sign",
            "The sign is wrong: the residual is the prediction less the target, X w - y.",
            ("x @ w - t", "t - x @ w"),
        ),
        Mistake(
            "factor 2",
            "A factor 2 too many: the loss is half the squared residual, which cancels the 2 of the square.",
            ("return x.T", "return 2 * x.T"),
        ),
        Mistake(
            "repeated rows dropped",
            "A row that was drawn twice counts twice: no set of the rows, and m[rows] += 1 counts it once.",
            ("x, t = X", "rows = np.unique(rows); x, t = X"),
        ),
        Mistake(
            "repeated rows counted once",
            "You divide by all B rows, but add a row drawn twice only once: m[rows] += 1, for one, counts it once.",
            ("X[rows], y[rows]", "X[np.unique(rows)], y[np.unique(rows)]"),
        ),
        Mistake(
            "one gradient an example",
            "That is a gradient for each example, (B, d): the batch's is their mean, (d,).",
            (MEAN, "x * residual[:, None]"),
            (MEAN, "x * residual[:, None] / len(rows)"),
            (MEAN, "(x * residual[:, None]).T"),
        ),
        Mistake(
            "residual forgotten",
            "That is the mean of the rows themselves: each is weighted with its residual, x . w - y.",
            (MEAN, "x.mean(axis=0)"),
        ),
        Mistake("target forgotten", "The residual is x . w - y, and yours is the prediction alone.", (" - t", "")),
    ),
    outputs=("gradient",),
    verified="the mean over the batch's rows, repeated ones included",
)


@dataclass
class Product:
    """v -> H v, for as many calls as power iteration needs.

    H is (n, n), or (n,) if it is diagonal. Raises RuntimeError at the call after `limit`.
    """

    hessian: Numbers
    limit: int
    calls: int = 0

    def __call__(self, v: Any) -> Numbers:
        self.calls += 1
        if self.calls > self.limit:
            raise RuntimeError(
                f"hvp was called {self.calls} times: power iteration needs one call a round and one more"
            )
        return self.hessian * v if self.hessian.ndim == 1 else self.hessian @ v


def sharpness(hvp: Callable[[Numbers], Numbers], v: Numbers, rounds: int) -> float:
    """hvp(v) is H v. v: (n,), the start. Returns the eigenvalue of largest size."""
    for _ in range(rounds):
        u = hvp(v)
        v = u / np.linalg.norm(u)
    return v @ hvp(v)


def hessian_case(title: str, eigenvalues: Sequence[float], *, turned: bool = True) -> Case:
    """300 rounds, at most five calls a round; the eigenvectors are randomly rotated, or are the axes."""
    random = np.random.default_rng(len(title))
    n, hessian = len(eigenvalues), np.array(eigenvalues)
    if turned:
        turn = np.linalg.qr(random.normal(size=(n, n)))[0]
        hessian = turn * hessian @ turn.T
    return Case(title, {"hvp": Product(hessian, limit=1500), "v": random.normal(size=n), "rounds": 300})


check_sharpness = Exercise(
    "sharpness",
    sharpness,
    (
        hessian_case("eigenvalues 5, 2, 1, 0.1", [5.0, 2.0, 1.0, 0.1]),
        hessian_case("a saddle: eigenvalues -4, 3, 1", [-4.0, 3.0, 1.0]),
        hessian_case("a sharp one: eigenvalues 80, 40, 1", [80.0, 40.0, 1.0]),
        hessian_case("2000 parameters, eigenvalues -1 to 6 and 9", [*np.linspace(-1, 6, 1999), 9.0], turned=False),
    ),
    (
        Mistake(
            "not normalized",
            "The vector is never normalized: H v grows or shrinks by the eigenvalue every round, until it overflows.",
            ("u / np.linalg.norm(u)", "u"),
        ),
        Mistake(
            "normalized only at the end",
            "The vector is normalized only at the end: until then each round multiplies it by the eigenvalue.",
            [("u / np.linalg.norm(u)", "u"), ("v @ hvp(v)", "v @ hvp(v) / (v @ v)")],
        ),
        Mistake(
            "sign lost",
            "A length or an absolute value has no sign, and the eigenvalue has one: take v . H v.",
            ("v @ hvp(v)", "np.linalg.norm(hvp(v))"),
        ),
        Mistake(
            "vector not updated",
            "v stays what it was at the start: feed H v, normalized, into the next round.",
            [("u = hvp(v)", "u = v")],
            [("v = u / np.linalg.norm(u)", "pass")],
            [("for _ in range(rounds):", "for _ in range(1):")],
        ),
        Mistake("vector returned", "That is the eigenvector: return its eigenvalue, v . H v.", ("v @ hvp(v)", "v")),
        Mistake(
            "wrong norm",
            "v is divided by the sum of its sizes: v . H v is the eigenvalue only where v has Euclidean length 1.",
            ("np.linalg.norm(u)", "np.abs(u).sum()"),
        ),
        Mistake(
            "largest entry for length",
            "v is divided by its largest entry, so its length is not 1: v . H v is the eigenvalue times v . v.",
            ("np.linalg.norm(u)", "np.abs(u).max()"),
        ),
        Mistake(
            "largest, not largest in size",
            "Of -4 and 3 the larger is 3, but -4 is larger in size: a direction that curves down counts as well.",
            ("return v @ hvp(v)", "return np.linalg.eigvalsh(np.stack([hvp(c) for c in np.eye(len(v))])).max()"),
        ),
    ),
    outputs=("eigenvalue",),
    verified="finds the eigenvalue of largest size, its sign included, without overflow and without rebuilding H",
)


def noise_scale(small, big, norm_small, norm_big):
    """norm_small, norm_big: the mean |g|^2 of batches of small and of big examples. Returns tr(Sigma) / |G|^2."""
    signal = (big * norm_big - small * norm_small) / (big - small)
    trace = (norm_small - norm_big) / (1 / small - 1 / big)
    return trace / signal


def norms_case(small: int, big: int, g2: float, noise: float) -> Case:
    title = f"batches of {small} and {big}"
    return Case(title, {"small": small, "big": big, "norm_small": g2 + noise / small, "norm_big": g2 + noise / big})


check_noise_scale = Exercise(
    "noise scale",
    noise_scale,
    (norms_case(8, 128, 0.5, 40.0), norms_case(1, 16, 2.0, 30.0), norms_case(32, 1024, 0.01, 9.0)),
    (
        Mistake(
            "the big batch's own norm",
            "|g|^2 of the big batch still holds noise, tr(Sigma) / B of it, so it is too large: use both sizes.",
            ("trace / signal", "trace / norm_big"),
        ),
        Mistake(
            "the small batch's own norm",
            "|g|^2 of the small batch is mostly noise: for |G|^2, take the noise out by combining both batch sizes.",
            ("trace / signal", "trace / norm_small"),
        ),
        Mistake(
            "upside down",
            "That is |G|^2 / tr(Sigma): the noise scale is the noise over the signal.",
            ("trace / signal", "signal / trace"),
        ),
        Mistake(
            "noise alone",
            "That is tr(Sigma), in the units of a squared gradient: divide by |G|^2 to get a number of examples.",
            ("trace / signal", "trace"),
        ),
        Mistake("signal alone", "That is |G|^2, the signal: divide tr(Sigma) by it.", ("trace / signal", "signal")),
        Mistake(
            "size and norm do not belong together",
            "|G|^2 is |g|^2 less tr(Sigma) / B for the same B: small goes with norm_small, big with norm_big.",
            ("trace / signal", "trace / (norm_small - trace / big)"),
            ("trace / signal", "trace / (norm_big - trace / small)"),
        ),
        Mistake(
            "sizes in place of their inverses",
            "The noise falls as 1 / B, so the norms differ by tr(Sigma) (1/small - 1/big): sizes alone do not do.",
            ("(1 / small - 1 / big)", "(big - small)"),
        ),
        Mistake(
            "norms exchanged",
            "The two norms have changed places in |G|^2: the big batch's size goes with the big batch's norm.",
            ("(big * norm_big - small * norm_small)", "(big * norm_small - small * norm_big)"),
        ),
        Mistake(
            "wrong sign",
            "A variance came out negative: the small batch has the larger norm, so it comes first in the difference.",
            ("(norm_small - norm_big)", "(norm_big - norm_small)"),
        ),
    ),
    outputs=("noise scale",),
    verified="takes the noise out of both norms at three pairs of batch sizes",
)
