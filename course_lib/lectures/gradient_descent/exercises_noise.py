"""Checks of lecture 02, continued: a batch's gradient and the gradient noise scale, on numpy arrays."""

from typing import Any

import numpy as np

from course_lib.grading.verdict import Case, Mutant, Verdict, judge

Numbers = np.ndarray


def residual_gradient(X: Numbers, y: Numbers, w: Numbers) -> Numbers:
    return X.T @ (X @ w - y)


def per_example(X: Numbers, y: Numbers, w: Numbers) -> Numbers:
    return X * (X @ w - y)[:, None]


PER_EXAMPLE = "one gradient an example", "That is a gradient for each example, (B, d): the batch's is their mean, (d,)."
MINIBATCH_MUTANTS = (
    Mutant(
        "sum, not mean",
        "The examples' gradients are added and not averaged: the step would grow with the batch.",
        lambda X, y, w, rows: residual_gradient(X[rows], y[rows], w),
    ),
    Mutant(
        "divided by the whole data set",
        "Divide by the number of rows in the batch, not by the number in the data set.",
        lambda X, y, w, rows: residual_gradient(X[rows], y[rows], w) / len(X),
    ),
    Mutant(
        "whole data set",
        "That is the full gradient: only the chosen rows belong to the batch.",
        lambda X, y, w, rows: residual_gradient(X, y, w) / len(X),
    ),
    Mutant(
        "wrong sign",
        "The sign is turned: the residual is the prediction less the target, X w - y.",
        lambda X, y, w, rows: -residual_gradient(X[rows], y[rows], w) / len(rows),
    ),
    Mutant(
        "factor 2",
        "A factor 2 too many: the loss is half the squared residual, so the 2 of the square is gone.",
        lambda X, y, w, rows: 2 * residual_gradient(X[rows], y[rows], w) / len(rows),
    ),
    Mutant(
        "repeated rows dropped",
        "A row that was drawn twice counts twice: no set of the rows, and m[rows] += 1 counts it once.",
        lambda X, y, w, rows: residual_gradient(X[np.unique(rows)], y[np.unique(rows)], w) / len(np.unique(rows)),
    ),
    Mutant(
        "repeated rows counted once",
        "You divide by all B rows, but a row drawn twice is added once only: m[rows] += 1, for one, counts it once.",
        lambda X, y, w, rows: residual_gradient(X[np.unique(rows)], y[np.unique(rows)], w) / len(rows),
    ),
    Mutant(PER_EXAMPLE[0], PER_EXAMPLE[1], lambda X, y, w, rows: per_example(X[rows], y[rows], w)),
    Mutant(PER_EXAMPLE[0], PER_EXAMPLE[1], lambda X, y, w, rows: per_example(X[rows], y[rows], w) / len(rows)),
    Mutant(PER_EXAMPLE[0], PER_EXAMPLE[1], lambda X, y, w, rows: per_example(X[rows], y[rows], w).T),
    Mutant(
        "residual forgotten",
        "That is the mean of the rows themselves: each is weighted with its residual, x . w - y.",
        lambda X, y, w, rows: X[rows].mean(axis=0),
    ),
    Mutant(
        "target forgotten",
        "The residual is x . w - y, and yours is the prediction alone.",
        lambda X, y, w, rows: X[rows].T @ (X[rows] @ w) / len(rows),
    ),
)


def batch_case(title: str, rows: list[int]) -> Case:
    random = np.random.default_rng(7)
    X, y, w = random.normal(size=(12, 3)), random.normal(size=12), random.normal(size=3)
    return Case(title, {"X": X, "y": y, "w": w, "rows": np.array(rows)})


def check_minibatch_gradient(fn: Any) -> Verdict:
    """Judge fn(X, y, w, rows) -> (d,), the gradient of the rows' mean (x.w - y)^2 / 2; X (n, d), rows (B,)."""
    cases = (
        batch_case("four rows of twelve", [3, 0, 8, 5]),
        batch_case("a batch with one row twice", [2, 2, 7]),
        batch_case("a single row", [11]),
    )
    return judge(
        "minibatch gradient",
        fn,
        lambda X, y, w, rows: residual_gradient(X[rows], y[rows], w) / len(rows),
        cases,
        MINIBATCH_MUTANTS,
        outputs=("gradient",),
        verified="the mean over the batch's rows, repeated ones included",
    )


def signal(small: int, big: int, norm_small: float, norm_big: float) -> float:
    return (big * norm_big - small * norm_small) / (big - small)


def trace(small: int, big: int, norm_small: float, norm_big: float) -> float:
    return (norm_small - norm_big) / (1 / small - 1 / big)


NOISE_SCALE_MUTANTS = (
    Mutant(
        "the big batch's own norm",
        "|g|^2 of the big batch still holds noise, tr(Sigma) / B of it, so it is too large for |G|^2: combine both.",
        lambda *case: trace(*case) / case[3],
    ),
    Mutant(
        "the small batch's own norm",
        "|g|^2 of the small batch is mostly noise: for |G|^2, take the noise out by combining both batch sizes.",
        lambda *case: trace(*case) / case[2],
    ),
    Mutant(
        "upside down",
        "That is |G|^2 / tr(Sigma): the noise scale is the noise over the signal.",
        lambda *case: signal(*case) / trace(*case),
    ),
    Mutant(
        "noise alone",
        "That is tr(Sigma), in the units of a squared gradient: divide by |G|^2 to get a number of examples.",
        lambda *case: trace(*case),
    ),
    Mutant(
        "signal alone",
        "That is |G|^2, the signal: divide tr(Sigma) by it.",
        signal,
    ),
    Mutant(
        "size and norm do not belong together",
        "|G|^2 is a batch's |g|^2 less tr(Sigma) / B for that same B: small goes with norm_small, big with norm_big.",
        lambda *case: trace(*case) / (case[2] - trace(*case) / case[1]),
    ),
    Mutant(
        "size and norm do not belong together",
        "|G|^2 is a batch's |g|^2 less tr(Sigma) / B for that same B: small goes with norm_small, big with norm_big.",
        lambda *case: trace(*case) / (case[3] - trace(*case) / case[0]),
    ),
    Mutant(
        "sizes in place of their inverses",
        "The noise falls as 1 / B, so the norms differ by tr(Sigma) (1/small - 1/big): sizes alone do not do.",
        lambda small, big, *norms: (norms[0] - norms[1]) / (big - small) / signal(small, big, *norms),
    ),
    Mutant(
        "norms exchanged",
        "The two norms have changed places in |G|^2: the big batch's size goes with the big batch's norm.",
        lambda small, big, a, b: trace(small, big, a, b) / ((big * a - small * b) / (big - small)),
    ),
    Mutant(
        "wrong sign",
        "A variance came out negative: the small batch has the larger norm, so it comes first in the difference.",
        lambda *case: -trace(*case) / signal(*case),
    ),
)


def norms_case(small: int, big: int, g2: float, noise: float) -> Case:
    title = f"batches of {small} and {big}"
    return Case(title, {"small": small, "big": big, "norm_small": g2 + noise / small, "norm_big": g2 + noise / big})


def check_noise_scale(fn: Any) -> Verdict:
    """Judge fn(small, big, norm_small, norm_big) -> tr(Sigma) / |G|^2, from the mean |g|^2 at two batch sizes."""
    return judge(
        "noise scale",
        fn,
        lambda *case: trace(*case) / signal(*case),
        (norms_case(8, 128, 0.5, 40.0), norms_case(1, 16, 2.0, 30.0), norms_case(32, 1024, 0.01, 9.0)),
        NOISE_SCALE_MUTANTS,
        outputs=("noise scale",),
        verified="takes the noise out of both norms at three pairs of batch sizes",
    )
