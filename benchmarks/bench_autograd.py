"""The array engine against the scalar one, the scalar one against a textbook's, and the time to read digits.

The textbook's engine may be any class: `AUTOGRAD_RIVAL=module:Class python -m benchmarks autograd`. The class wraps a
number, and has `data`, `grad`, `+`, `*`, `relu()` and `backward()`.
"""

import gc
import importlib
import os
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import CannotRun, Line, alternate
from course_lib.autograd import Array, Value, draw_weights, on_arrays, on_scalars, scalar_layers
from course_lib.data import digits, moons
from course_lib.lectures.backprop.engine import digits_training

SIZES, POINTS, LR = [2, 16, 16, 1], 100, 0.05
RIVAL = "benchmarks.textbook_engine:Number"


def rival() -> type:
    """The class to compare the scalar engine with. Raises CannotRun where it cannot be imported."""
    name = os.environ.get("AUTOGRAD_RIVAL", RIVAL)
    try:
        module, _, attribute = name.partition(":")
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise CannotRun(f"AUTOGRAD_RIVAL must be module:Class, got {name!r}: {error}") from None


def problem() -> tuple[np.ndarray, np.ndarray]:
    data = moons(n=POINTS, seed=0).train
    return data.x.double().numpy(), data.y[:, None].double().numpy()


def array_step() -> Callable[[], float]:
    """One step of gradient descent on the mean squared error, by the array engine."""
    x, y = problem()
    layers = [(Array(w), Array(b)) for w, b in draw_weights(SIZES)]
    parameters = [p for layer in layers for p in layer]

    def step() -> float:
        error = on_arrays(layers, x) - y
        loss = (error * error).mean()
        for p in parameters:
            p.grad = None
        loss.backward()
        for p in parameters:
            p.data -= LR * p.grad
        return float(loss.data)

    return step


def scalar_step(make: Callable[[float], Any]) -> Callable[[], float]:
    """The same step with one object of class `make` for every number."""
    x, y = (values.tolist() for values in problem())
    layers = scalar_layers(draw_weights(SIZES), make)
    parameters = [p for columns, biases in layers for p in [v for column in columns for v in column] + biases]

    def step() -> float:
        total = make(0.0)
        for point, (target,) in zip(x, y, strict=True):
            error = on_scalars(layers, [make(v) for v in point])[0] + -target
            total = total + error * error
        loss = total * (1 / POINTS)
        for p in parameters:
            p.grad = 0.0
        loss.backward()
        for p in parameters:
            p.data -= LR * p.grad
        return loss.data

    return step


def many(step: Callable[[], float], times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            step()

    return run


def agree(steps: Iterable[Callable[[], float]]) -> None:
    """Three steps of each must give the same losses: what is timed is the same work."""
    losses = np.array([[step() for _ in range(3)] for step in steps])
    if not np.allclose(losses, losses[0], rtol=1e-9):
        raise AssertionError(f"the engines differ on the same problem: losses {losses[:, -1]}")


def lines() -> Iterable[Line]:
    other = rival()
    steps = [array_step(), scalar_step(Value), scalar_step(other)]
    agree(steps)
    gc.collect()
    gc.freeze()  # so that the collector looks at the engines' own objects, not at those of every library imported
    arrays, scalars, theirs = alternate(many(steps[0], 100), *steps[1:])
    gc.unfreeze()
    name = f"{other.__module__}.{other.__qualname__}"
    yield Line("two-moons step, scalar engine / array engine", scalars / (arrays / 100), 200, "x", better="above")
    yield Line(f"two-moons step, {name} / scalar engine", theirs / scalars, 1, "x", better="above")

    digits()  # scikit-learn's import is not the engine's
    start = perf_counter()
    result = digits_training()
    yield Line("array engine on digits, 20 epochs", perf_counter() - start, 10, "s")
    yield Line("array engine on digits, test accuracy", 100 * result.accuracy, 95, "%", better="above")
