"""6.6  Does variance suffice? The angle between two inputs, layer after layer."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch

from course_lib.lectures.initialization.signal import draws
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Curves, Floats


def rectified(cosine: Floats | float) -> Floats | float:
    """The cosine of two signals after a wide ReLU layer, from their cosine c before it.

    c -> (sqrt(1 - c^2) + (pi - arccos c) c) / pi           (Cho & Saul 2009, from memory)
    """
    c = np.clip(cosine, -1, 1)
    return (np.sqrt(1 - c * c) + (np.pi - np.arccos(c)) * c) / np.pi


@dataclass(frozen=True)
class Angle(Curves):
    """The cosine between two inputs at layers 0 to 50: under He's initialization, under torch's default, the law."""

    xlabel = "layer"
    ylabel = "cosine between the two signals"
    limits = ((0, 50), (-1.05, 1.05))
    theory = ("law",)

    def layers_to(self, cosine: float) -> int | None:
        """The first layer where He's cosine is at least this; None if there is none."""
        there = self.rows["He"] >= cosine
        return int(there.argmax()) if there.any() else None

    def summary(self) -> str:
        when, (he, default, expected) = self.layers_to(0.95), (row[-1] for row in self.rows.values())
        reached = "never reach" if when is None else f"reach at layer {when}"
        return (
            f"under He two inputs {reached} a cosine of 0.95; at layer 50 it is {he:.3f} (law {expected:.3f}), "
            f"with torch's default {default:.3f}"
        )


@experiment
def angle(
    start: Annotated[float, Linear(-1.0, 1.0)] = 0.0, width: Annotated[int, Log(16, 140)] = 128, *, seed: int = 0
) -> Angle:
    """Two inputs of equal length and cosine `start`, through 50 ReLU layers; the mean over 16 pairs.

    He: Var W = 2 / n. Torch's default: weights and biases of variance 1 / (3 n).
    """
    generator = torch.Generator().manual_seed(seed)
    a, b = torch.randn(2, 16, width, generator=generator, dtype=torch.float64)
    a = a / a.norm(dim=1, keepdim=True)
    b = b - (a * b).sum(1, keepdim=True) * a
    b = start * a + (1 - start**2) ** 0.5 * b / b.norm(dim=1, keepdim=True)
    biases = torch.randn(50, width, generator=generator, dtype=torch.float64) / (3 * width) ** 0.5
    signals = {"He": torch.stack([a, b]) * width**0.5, "torch's default": torch.stack([a, b]) * width**0.5}
    rows = {name: [_cosine(h)] for name, h in signals.items()}
    expected = [start]
    for weight, bias in zip(draws("normal", 50, width, seed + 1), biases, strict=True):
        signals["He"] = torch.relu(2**0.5 * signals["He"] @ weight.mT)
        signals["torch's default"] = torch.relu(signals["torch's default"] @ weight.mT / 3**0.5 + bias)
        for name, h in signals.items():
            rows[name].append(_cosine(h))
        expected.append(float(rectified(expected[-1])))
    measured = {name: np.array(row) for name, row in rows.items()}
    return Angle(np.arange(51.0), measured | {"law": np.array(expected)})


def _cosine(pair: torch.Tensor) -> float:
    return float(torch.cosine_similarity(pair[0], pair[1], dim=1).mean())
