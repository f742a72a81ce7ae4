"""Adaptive optimizers on numbers and arrays: what each does is what the transform of that name does.

A live picture cannot wait for tensors; a test holds each equal to course_lib.optim, where the formulas stand. A Rule
takes a gradient, a number or an array with a coordinate for each entry, and returns the step.
"""

from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.lectures.momentum.race import RULES as RACERS
from course_lib.lectures.momentum.race import Rule

Array = NDArray[np.float64]


def running(x: Array, beta: float) -> Array:
    """(steps, ...) the running mean a_t = beta a_(t-1) + (1 - beta) x_t, from a_0 = 0, without bias correction."""
    rows = x.tolist() if x.ndim == 1 else x
    return np.array(list(accumulate(rows, lambda a, g: beta * a + (1 - beta) * g, initial=0.0 * x[0]))[1:])


def adagrad(lr: Any, eps: float = 1e-10) -> Rule:
    total: Any = 0.0

    def step(g: Any) -> Any:
        nonlocal total
        total = total + g * g
        return -lr * g / (total**0.5 + eps)

    return step


def rmsprop(lr: Any, b2: float = 0.99, eps: float = 1e-8) -> Rule:
    return RACERS["RMSProp"](lr, 0.0, b2, eps)


def adadelta(lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6) -> Rule:
    square: Any = 0.0
    moved: Any = 0.0

    def step(g: Any) -> Any:
        nonlocal square, moved
        square = rho * square + (1 - rho) * g * g
        d = g * ((moved + eps) / (square + eps)) ** 0.5
        moved = rho * moved + (1 - rho) * d * d
        return -lr * d

    return step


def adam(lr: Any, b1: Any = 0.9, b2: Any = 0.999, eps: float = 1e-8) -> Rule:
    return RACERS["Adam"](lr, b1, b2, eps)


def sgd(lr: Any) -> Rule:
    return RACERS["SGD"](lr, 0.0)


def rectification(t: Any, b2: float = 0.999) -> Any:
    """RAdam's factor r_t at step t = 1, 2, ...; 0 while it does not divide by its root (rho_t <= 5)."""
    limit = 2 / (1 - b2) - 1
    rho = limit - 2 * t * b2**t / (1 - b2**t)
    ratio = (rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho)
    return np.where(rho > 5, np.sqrt(np.maximum(ratio, 0)), 0.0)


def family(grads: Array, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> dict[str, Array]:
    """(steps, n) each the steps of Adam and its relatives, lr 1, on gradients (steps, n) that are known beforehand.

    NAdam's warmth is 4e-3, and Lion's betas are 0.9 and 0.99 whatever is given.
    """
    t = np.arange(1.0, len(grads) + 1)[:, None]
    bias1, bias2 = 1 - b1**t, 1 - b2**t
    m, v, slow = running(grads, b1), running(grads**2, b2), running(grads, 0.99)
    root, peak = np.sqrt(v / bias2), np.sqrt(np.maximum.accumulate(v) / bias2)
    mu, ahead = (b1 * (1 - 0.5 * 0.96 ** (4e-3 * k)) for k in (t, t + 1))
    product = np.cumprod(mu)[:, None]
    blend = ahead * m / (1 - product * ahead) + (1 - mu) * grads / (1 - product)
    r = rectification(t, b2)
    rectified = np.where(r > 0, r * np.sqrt(bias2) / (np.sqrt(v) + eps), 1.0)
    before = np.concatenate([np.zeros_like(slow[:1]), slow[:-1]])
    return {
        "Adam": -m / bias1 / (root + eps),
        "AMSGrad": -m / bias1 / (peak + eps),
        "NAdam": -blend / (root + eps),
        "RAdam": -m / bias1 * rectified,
        "Lion": -np.sign(0.9 * before + 0.1 * grads),
    }
