"""Checks of lecture 01, continued: the backward passes of LayerNorm and BatchNorm, which differ in one axis."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from course_lib.grading.reference import by_torch
from course_lib.grading.verdict import Case, Mutant, Verdict, judge

Numbers = np.ndarray


def project(d: Numbers, xhat: Numbers, axis: int) -> Numbers:
    """What the mean and the variance leave of d: its parts along 1 and along xhat go."""
    return d - d.mean(axis, keepdims=True) - xhat * (d * xhat).mean(axis, keepdims=True)


def backward(
    x: Numbers,
    gamma: Numbers,
    eps: float,
    dy: Numbers,
    *,
    axis: int,
    std: Callable = lambda x, eps, axis: np.sqrt(x.var(axis, keepdims=True) + eps),
    dx: Callable = lambda dy, gamma, xhat, s, axis: project(dy * gamma, xhat, axis) / s,
    dgamma: Callable = lambda dy, x, xhat: (dy * xhat).sum(0),
    dbeta: Callable = lambda dy: dy.sum(0),
) -> tuple[Numbers, Numbers, Numbers]:
    """(dx, dgamma, dbeta) of y = gamma xhat + beta; a mutant exchanges one part. axis: -1 LayerNorm, 0 BatchNorm."""
    s = std(x, eps, axis)
    xhat = (x - x.mean(axis, keepdims=True)) / s
    return dx(dy, gamma, xhat, s, axis), dgamma(dy, x, xhat), dbeta(dy)


def paths(mean: float | Callable = 1, variance: float | Callable = 1) -> Callable:
    """dx with its path through the mean and its path through the variance multiplied by a wrong factor."""

    def dx(dy, gamma, xhat, s, axis):
        d = dy * gamma
        m, v = (f(xhat, axis) if callable(f) else f for f in (mean, variance))
        return (d - m * d.mean(axis, keepdims=True) - v * xhat * (d * xhat).mean(axis, keepdims=True)) / s

    return dx


FACTOR = "A factor is wrong in the path through the variance: a square brings a 2, a root a half, each once."


def mutants(axis: int) -> tuple[Mutant, ...]:
    n, one, other = ("d", "a row's features", "the batch") if axis == -1 else ("n", "the batch", "a row's features")

    def mutant(name: str, explanation: str, **part: Any) -> Mutant:
        return Mutant(name, explanation, partial(backward, **{"axis": axis, **part}))

    shared = (
        mutant(
            "mean treated as a constant",
            "The mean depends on x as well: its path back to x is missing.",
            dx=paths(mean=0),
        ),
        mutant(
            "variance treated as a constant",
            "The variance depends on x as well: its path back to x is missing.",
            dx=paths(variance=0),
        ),
        mutant(
            "mean and variance treated as constants",
            "Both statistics depend on x: their two paths back to it are missing.",
            dx=paths(mean=0, variance=0),
        ),
        mutant(
            "sign of the mean's path",
            "The path through the mean has the wrong sign: a larger mean makes xhat smaller.",
            dx=paths(mean=-1),
        ),
        mutant(
            "sign of the variance's path",
            "The path through the variance has the wrong sign: a larger v brings xhat nearer to 0.",
            dx=paths(variance=-1),
        ),
        mutant(
            "signs of both paths",
            "The paths through the mean and through the variance both have the wrong sign.",
            dx=paths(mean=-1, variance=-1),
        ),
        mutant("factor in the variance's path", FACTOR, dx=paths(variance=2)),
        mutant("factor in the variance's path", FACTOR, dx=paths(variance=0.5)),
        mutant(
            "gamma left out of dx",
            "dx starts from y, and gamma lies between y and xhat: it is missing on the way.",
            dx=lambda dy, gamma, xhat, s, axis: project(dy, xhat, axis) / s,
        ),
        mutant(
            "not divided by the standard deviation",
            "On its way back to x everything passes the division by the root: it is missing.",
            dx=lambda dy, gamma, xhat, s, axis: project(dy * gamma, xhat, axis),
        ),
        mutant(
            "divided by the variance",
            "dx is divided by the root of v + eps once too often.",
            dx=lambda dy, gamma, xhat, s, axis: project(dy * gamma, xhat, axis) / s**2,
        ),
        mutant(
            "eps outside the root",
            "eps belongs under the root: sqrt(var + eps), not sqrt(var) + eps.",
            std=lambda x, eps, axis: x.std(axis, keepdims=True) + eps,
        ),
        mutant(
            "eps left out",
            "The forward pass divides by sqrt(var + eps): eps is missing.",
            std=lambda x, eps, axis: x.std(axis, keepdims=True),
        ),
        mutant(
            "root left out",
            "The forward pass divides by the root of v + eps, not by v + eps.",
            std=lambda x, eps, axis: x.var(axis, keepdims=True) + eps,
        ),
        mutant(
            "unbiased variance",
            f"The variance divides by {n}, not {n} - 1 (ddof=1).",
            std=lambda x, eps, axis: np.sqrt(x.var(axis, keepdims=True, ddof=1) + eps),
        ),
        mutant(
            "statistics over the wrong axis",
            f"The statistics run over {one}, not over {other}: the axis is wrong.",
            axis=-1 - axis,
        ),
        mutant(
            "dgamma from x",
            "In y = gamma * xhat + beta it is xhat that stands beside gamma: dgamma was made with x.",
            dgamma=lambda dy, x, xhat: (dy * x).sum(0),
        ),
        mutant(
            "xhat left out of dgamma",
            "That is beta's gradient: what stands beside gamma in y is missing in dgamma.",
            dgamma=lambda dy, x, xhat: dy.sum(0),
        ),
    )

    def length(xhat: Numbers, axis: int) -> float:
        return xhat.shape[axis]

    def length_ratio(xhat: Numbers, axis: int) -> float:
        return xhat.shape[axis] / xhat.shape[-1 - axis]

    weights = [
        mutant(name, why, dx=paths(**dict.fromkeys(where, factor)))
        for name, why, factor in (
            (
                "sums instead of means",
                f"Each entry has a share of 1/{n} in a statistic: a sum stands where a mean belongs.",
                length,
            ),
            (
                "divided by the wrong length",
                f"The statistics are over {one}: their sums are divided by {n}, and by nothing else.",
                length_ratio,
            ),
        )
        for where in (("mean", "variance"), ("mean",), ("variance",))
    ]
    reductions = {
        "parameters' gradients with the wrong sign": (
            "The sign is turned: gamma and beta enter y with a plus.",
            lambda d: -d.sum(0),
        ),
        "parameters' gradients averaged": (
            "gamma and beta are used once in every row: their gradients are sums over the batch, not means.",
            lambda d: d.mean(0),
        ),
        "parameters' gradients not summed": (
            "gamma and beta are broadcast over the batch: sum their gradients over it, to their shape (d,).",
            lambda d: d,
        ),
        "parameters' gradients summed over the features": (
            "gamma and beta have an entry for each feature: sum over the batch, axis 0, not over the features.",
            lambda d: d.sum(1),
        ),
        "parameters' gradients with an axis too many": (
            "dgamma and dbeta have the shape of gamma, (d,): leave keepdims=True out.",
            lambda d: d.sum(0, keepdims=True),
        ),
    }
    wrong_sums = [
        mutant(
            name,
            why,
            dgamma=lambda dy, x, xhat, f=f: f(dy * xhat),
            dbeta=lambda dy, f=f: f(dy),
        )
        for name, (why, f) in reductions.items()
    ]
    exchanged = Mutant(
        "dgamma and dbeta exchanged",
        "dgamma and dbeta come back in the wrong order: dx, dgamma, dbeta.",
        lambda *case: tuple(backward(*case, axis=axis)[i] for i in (0, 2, 1)),
    )
    only_layer = mutant(
        "gamma applied after the projection",
        "gamma differs along a row, so it must go in before the row's means are taken, not after.",
        dx=lambda dy, gamma, xhat, s, axis: gamma * project(dy, xhat, axis) / s,
    )
    return (*shared, *weights, *wrong_sums, exchanged, *([only_layer] if axis == -1 else []))


LAYERNORM_MUTANTS, BATCHNORM_MUTANTS = mutants(-1), mutants(0)


def norm_case(title: str, rows: int, features: int, eps: float, spread: float = 1.0) -> Case:
    random = np.random.default_rng(rows * 10 + features)
    x = random.normal(size=(rows, features)) * spread + random.normal(size=features)
    gamma, dy = random.uniform(0.5, 2, features), random.normal(size=(rows, features))
    return Case(title, {"x": x, "gamma": gamma, "eps": eps, "dy": dy})


NORM_CASES = (
    norm_case("x (4, 4), eps 1e-5", 4, 4, 1e-5),
    norm_case("x (3, 6), eps 0.1", 3, 6, 0.1),
    norm_case("x (8, 5), eps 1e-5, offset and narrow", 8, 5, 1e-5, spread=0.05),
)


def check_norm(name: str, fn: Any, axis: int, wrong: tuple[Mutant, ...]) -> Verdict:
    def reference(x, gamma, eps, dy):
        def forward(x, gamma, beta):
            centered = x - x.mean(axis, keepdim=True)
            return centered / (centered.square().mean(axis, keepdim=True) + eps).sqrt() * gamma + beta

        return by_torch(forward, {"x": x, "gamma": gamma, "beta": np.zeros_like(gamma)}, dy)

    verified = f"equal to torch.autograd on {len(NORM_CASES)} batches, with small and large eps"
    return judge(name, fn, reference, NORM_CASES, wrong, outputs=("dx", "dgamma", "dbeta"), verified=verified)


def check_layernorm(fn: Any) -> Verdict:
    """Judge fn(x, gamma, eps, dy) -> (dx, dgamma, dbeta): each row of x (n, d) normalized over its d features."""
    return check_norm("LayerNorm backward", fn, -1, LAYERNORM_MUTANTS)


def check_batchnorm(fn: Any) -> Verdict:
    """Judge fn(x, gamma, eps, dy) -> (dx, dgamma, dbeta): each feature of x (n, d) normalized over the n rows."""
    return check_norm("BatchNorm backward", fn, 0, BATCHNORM_MUTANTS)
