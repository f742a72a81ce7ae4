"""6.8  How does a residual stream grow? The second moment of x + branch(x), block after block."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from course_lib.lectures.initialization.signal import draws
from course_lib.ranges import Log, experiment
from course_lib.results import Curves, Floats


@dataclass(frozen=True)
class Streams(Curves):
    """The stream's second moment after 0 to `branches` branches, relative to the input, by the kind of branch."""

    xlabel = "branches passed"
    ylabel = "second moment of the stream"
    scales = ("linear", "log")
    limits = ((0, 100), (0.5, 1e12))
    theory = ("2^l", "1 + l")

    def summary(self) -> str:
        ends = ", ".join(f"{name} {row[-1]:.3g}" for name, row in self.rows.items() if name not in self.theory)
        return f"the stream after {len(self.x) - 1} branches, relative to the input: {ends}"


@experiment
def streams(
    branches: Annotated[int, Log(2, 100)] = 24, width: Annotated[int, Log(16, 140)] = 128, *, seed: int = 0
) -> Streams:
    """Send 32 normal inputs through x <- x + c V relu(W f(x)), whose branch keeps the second moment of f(x).

    Var W = 2 / n, Var V = 1 / n. c is 1, or 1 / sqrt(branches) where scaled; f does nothing, or divides x by its root
    mean square (pre-norm).
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(32, width, generator=generator, dtype=torch.float64)
    drawn, scaled = draws("normal", 2 * branches, width, seed + 1), branches**-0.5
    weights = [(2**0.5 * w, v) for w, v in zip(drawn[::2], drawn[1::2], strict=True)]
    rows = {
        "plain": _stream(x, weights, 1.0, norm=False),
        "scaled": _stream(x, weights, scaled, norm=False),
        "pre-norm": _stream(x, weights, 1.0, norm=True),
        "pre-norm, scaled": _stream(x, weights, scaled, norm=True),
    }
    passed = np.arange(branches + 1.0)
    return Streams(passed, rows | {"2^l": 2.0**passed, "1 + l": 1 + passed})


def _stream(x: Tensor, weights: list[tuple[Tensor, Tensor]], scale: float, *, norm: bool) -> Floats:
    squares = [float(x.square().mean())]
    for w, v in weights:
        normed = x / x.square().mean(1, keepdim=True).sqrt() if norm else x
        x = x + scale * torch.relu(normed @ w.mT) @ v.mT
        squares.append(float(x.square().mean()))
    return np.array(squares) / squares[0]
