"""Checks of lecture 01, continued: the backward passes of LayerNorm and BatchNorm, which differ in one axis."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from course_lib.checks.reference import by_torch
from course_lib.checks.verdict import Case, Mutant, Verdict, judge

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


def mutants(axis: int) -> tuple[Mutant, ...]:
    one, other = ("a row's features", "the batch") if axis == -1 else ("the batch", "a row's features")

    def mutant(name: str, explanation: str, **part: Any) -> Mutant:
        return Mutant(name, explanation, partial(backward, **{"axis": axis, **part}))

    shared = (
        mutant(
            "mean treated as a constant",
            "The mean depends on x as well: subtract the mean of dxhat.",
            dx=lambda dy, gamma, xhat, s, axis: (dy * gamma - xhat * (dy * gamma * xhat).mean(axis, keepdims=True)) / s,
        ),
        mutant(
            "variance treated as a constant",
            "The variance depends on x as well: subtract xhat times the mean of dxhat * xhat.",
            dx=lambda dy, gamma, xhat, s, axis: (dy * gamma - (dy * gamma).mean(axis, keepdims=True)) / s,
        ),
        mutant(
            "mean and variance treated as constants",
            "Both statistics depend on x: their two paths back to it are missing.",
            dx=lambda dy, gamma, xhat, s, axis: dy * gamma / s,
        ),
        mutant(
            "sums instead of means",
            "Each entry has a 1/n share in a statistic: the corrections are means of dxhat and of dxhat * xhat.",
            dx=lambda dy, gamma, xhat, s, axis: (
                (
                    dy * gamma
                    - (dy * gamma).sum(axis, keepdims=True)
                    - xhat * (dy * gamma * xhat).sum(axis, keepdims=True)
                )
                / s
            ),
        ),
        mutant(
            "gamma left out of dx",
            "dx starts from dxhat = dy * gamma, not from dy.",
            dx=lambda dy, gamma, xhat, s, axis: project(dy, xhat, axis) / s,
        ),
        mutant(
            "not divided by the standard deviation",
            "xhat was x - mean divided by the standard deviation, so dx is divided by it as well.",
            dx=lambda dy, gamma, xhat, s, axis: project(dy * gamma, xhat, axis),
        ),
        mutant(
            "divided by the variance",
            "dx is divided by the standard deviation once, not by the variance.",
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
            "unbiased variance",
            f"The variance divides by n, not n - 1 (ddof=1): n is the length of {one}.",
            std=lambda x, eps, axis: np.sqrt(x.var(axis, keepdims=True, ddof=1) + eps),
        ),
        mutant(
            "statistics over the wrong axis",
            f"The statistics run over {one}, not over {other}: the axis is wrong.",
            axis=-1 - axis,
        ),
        mutant(
            "dgamma from x",
            "y = gamma * xhat + beta: dgamma collects dy * xhat, not dy * x.",
            dgamma=lambda dy, x, xhat: (dy * x).sum(0),
        ),
        mutant(
            "xhat left out of dgamma",
            "y = gamma * xhat + beta: dgamma collects dy * xhat; dy alone is dbeta.",
            dgamma=lambda dy, x, xhat: dy.sum(0),
        ),
    )
    reductions = {
        "parameters' gradients averaged": (
            "gamma and beta are used once in every row: their gradients are sums over the batch, not means.",
            lambda d: d.mean(0),
        ),
        "parameters' gradients not summed": (
            "gamma and beta are broadcast over the batch: sum their gradients over it, to their shape (d,).",
            lambda d: d,
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
    only_layer = mutant(
        "gamma applied after the projection",
        "gamma differs along a row, so it goes in before the row's means are taken: start from dxhat = dy * gamma.",
        dx=lambda dy, gamma, xhat, s, axis: gamma * project(dy, xhat, axis) / s,
    )
    return (*shared, *wrong_sums, *([only_layer] if axis == -1 else []))


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
