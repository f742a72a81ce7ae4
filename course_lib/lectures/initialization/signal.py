"""6.1, 6.2, 6.4  Where does the signal go? Its second moment, and the gradient's, at every layer of a stack."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor

from course_lib.lectures.initialization.mean_field import ACTIVATIONS, Activation, law
from course_lib.ranges import Linear, Log, Progress, experiment, no_progress
from course_lib.results import Curves

Draw = Literal["normal", "orthogonal"]
INPUTS = 32


@dataclass(frozen=True)
class Signal(Curves):
    """Second moments at layers 0 (the input) to depth, each relative to the end where it begins: rows "signal",
    "gradient" and the law of each."""

    xlabel = "layer"
    ylabel = "second moment"
    scales = ("linear", "log")
    limits = ((0, 100), (1e-12, 1e12))
    theory = ("law of the signal", "law of the gradient")

    @property
    def error(self) -> float:
        """The largest factor by which a measured moment and its law differ, in either direction."""
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = [
                np.abs(np.log(self.rows[name] / self.rows[f"law of the {name}"])) for name in ("signal", "gradient")
            ]
        return float(np.exp(np.nanmax(apart)))

    @property
    def ends(self) -> tuple[float, float]:
        """The signal at the last layer and the gradient at the input."""
        return float(self.rows["signal"][-1]), float(self.rows["gradient"][0])

    def summary(self) -> str:
        depth, (signal, gradient) = len(self.x) - 1, self.ends
        return (
            f"after {depth} layers the signal's second moment is {signal:.3g} of what came in, the gradient's "
            f"{gradient:.3g}; measured and law differ by a factor of at most {self.error:.3g}"
        )


@experiment
def signal(
    depth: Annotated[int, Log(1, 100)] = 50,
    width: Annotated[int, Log(8, 140)] = 128,
    gain: Annotated[float, Linear(0.5, 2.5)] = 2**0.5,
    activation: Activation = "relu",
    init: Draw = "normal",
    *,
    seed: int = 0,
) -> Signal:
    """Send 32 normal inputs through `depth` layers of `width` units, and a normal gradient back.

    Weights have variance gain^2 / width, so He is gain sqrt(2) and Xavier gain 1. `gain` only scales one draw of them.
    """
    return _stack(draws(init, depth, width, seed + 1), gain, activation, seed, no_progress)


@experiment
def wide_signal(
    depth: Annotated[int, Log(1, 100)] = 50,
    width: Annotated[int, Log(128, 1024)] = 512,
    gain: Annotated[float, Linear(0.5, 2.5)] = 2**0.5,
    activation: Activation = "relu",
    init: Draw = "normal",
    *,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Signal:
    """`signal` at widths that take longer than a slider may."""
    return _stack(square(init, depth, width, seed + 1), gain, activation, seed, progress)


def _stack(weights: list[Tensor], gain: float, activation: Activation, seed: int, progress: Progress) -> Signal:
    generator = torch.Generator().manual_seed(seed)
    h, d = torch.randn(2, INPUTS, len(weights[0]), generator=generator, dtype=torch.float64)
    phi, signals, slopes = ACTIVATIONS[activation], [_square(h)], []
    for weight in progress(weights):
        z = (gain * h @ weight.mT).requires_grad_()
        h = phi(z)
        slopes.append(torch.autograd.grad(h.sum(), z)[0])
        h = h.detach()
        signals.append(_square(h))
    gradients = [_square(d)]
    for weight, slope in zip(reversed(weights), reversed(slopes), strict=True):
        d = gain * (d * slope) @ weight
        gradients.append(_square(d))
    of_signal, of_gradient = law(activation, gain, len(weights))
    rows = {
        "signal": np.array(signals) / signals[0],
        "gradient": np.array(gradients[::-1]) / gradients[0],
        "law of the signal": of_signal,
        "law of the gradient": of_gradient,
    }
    return Signal(np.arange(len(weights) + 1.0), rows)


def _square(values: Tensor) -> float:
    return float(values.square().mean())


def square(init: Draw, depth: int, width: int, seed: int) -> list[Tensor]:
    """`depth` square matrices (width, width) of variance 1 / width: normal, or orthogonal."""
    generator = torch.Generator().manual_seed(seed)
    make = {"normal": _normal, "orthogonal": _orthogonal}[init]
    return [make(width, generator) for _ in range(depth)]


draws = lru_cache(maxsize=1)(square)


def _normal(width: int, generator: torch.Generator) -> Tensor:
    return torch.randn(width, width, generator=generator, dtype=torch.float64) / width**0.5


def _orthogonal(width: int, generator: torch.Generator) -> Tensor:
    q, r = torch.linalg.qr(_normal(width, generator))
    return q * r.diagonal().sign()  # without the signs q is not uniform (Mezzadri 2007, from memory)
