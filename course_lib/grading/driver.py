"""How an optimizer is driven over a stream of gradients: the second source whose edits are mistakes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from course_lib.optim.transform import Rule

Arrays = list[np.ndarray]


@dataclass(frozen=True, eq=False)
class GradientStream:
    """Gradients for several parameters over T steps, float64; lrs (T,) is constant but where its change is the test."""

    title: str
    hyper: Mapping[str, float]
    lrs: np.ndarray
    start: Arrays
    grads: list[Arrays]

    @property
    def settings(self) -> str:
        return ", ".join(f"{name}={value:g}" for name, value in self.hyper.items())


def drive(make: Callable[..., Rule], stream: GradientStream, l2: float, decay: float) -> Iterator[Arrays]:
    """The parameters after each step of the rule that `make` makes for an lr.

    l2: weight decay in the gradient. decay: weight decay beside the step.
    """
    theta = list(stream.start)
    start = make(lr=stream.lrs[0]).start
    rows = [start] * len(theta)
    for t, grads in enumerate(stream.grads, start=1):
        lr = stream.lrs[t - 1]
        step = make(lr=lr).step
        for i, p in enumerate(theta):
            g = grads[i] + l2 * p
            move, row = step(t, g, rows[i], p)
            theta[i] = p + move - lr * decay * p
            rows[i] = row
        yield list(theta)
