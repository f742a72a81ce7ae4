"""What an optimizer's rule costs when it is run on floats, as in races and phase diagrams, beside a loop by hand."""

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import Line, alternate
from course_lib.optim import adam, on_numbers

GRADIENTS = np.random.default_rng(0).normal(size=20_000).tolist()


def lines() -> Iterator[Line]:
    by_hand, rule = alternate(lambda: _run(_adam(0.01)), lambda: _run(on_numbers(adam(0.01))), repeats=9)
    yield Line(f"adam's rule, {1e6 * rule / len(GRADIENTS):.2f} us a step / by hand", rule / by_hand, 2.0, "x")


def _run(step: Callable[[float], float]) -> None:
    for g in GRADIENTS:
        step(g)


def _adam(lr: float, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Callable[[float], float]:
    """As fast as plain Python does it: no row, no parameter, powers as running products."""
    m = v = 0.0
    left1 = left2 = 1.0

    def step(g: float) -> float:
        nonlocal m, v, left1, left2
        left1, left2 = left1 * b1, left2 * b2
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        return -lr * m / (1 - left1) / ((v / (1 - left2)) ** 0.5 + eps)

    return step
