"""Adam's relatives: what each remembers for a parameter, and how long its first steps are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils._pytree import tree_leaves

from course_lib.controls import Linear, Log, experiment
from course_lib.experiments._adaptive_rules import family, rectification
from course_lib.optim import (
    Transform,
    adadelta,
    adafactor,
    adagrad,
    adamw,
    amsgrad,
    lion,
    muon,
    nadam,
    radam,
    rmsprop,
    schedule_free,
    sgd,
    shampoo,
    soap,
)
from course_lib.optim import adam as adam_transform

Array = NDArray[np.float64]
STEPS = 300
MEMBERS: dict[str, Transform] = {
    "SGD": sgd(0.1),
    "momentum": sgd(0.1, 0.9),
    "AdaGrad": adagrad(),
    "RMSProp": rmsprop(),
    "AdaDelta": adadelta(),
    "Adam": adam_transform(),
    "AdamW": adamw(),
    "AMSGrad": amsgrad(),
    "NAdam": nadam(),
    "RAdam": radam(),
    "Lion": lion(),
    "Adafactor": adafactor(),
    "Muon": muon(),
    "Shampoo": shampoo(),
    "SOAP": soap(),
    "schedule-free": schedule_free(sgd(0.1)),
}


@dataclass(frozen=True)
class StateBytes:
    """Bytes of optimizer state for one rows x columns matrix of float32, counted on the tensors themselves.

    bytes[name]: of everything that grows with the matrix; single numbers such as a step count are left out.
    """

    bytes: Mapping[str, int]
    rows: int
    columns: int

    def per_parameter(self, name: str) -> float:
        return self.bytes[name] / (self.rows * self.columns)

    def summary(self) -> str:
        each = ", ".join(f"{n} {self.per_parameter(n):.3g}" for n in self.bytes)
        return f"state of a {self.rows} x {self.columns} matrix, bytes a parameter: {each}"


@experiment
def state_bytes(
    rows: Annotated[int, Log(2, 2048)] = 512,
    columns: Annotated[int, Log(2, 2048)] = 128,
) -> StateBytes:
    """Make every optimizer's state for one matrix and add up its tensors. No memory is used: the tensors are meta."""
    matrix = [torch.zeros(rows, columns, device="meta")]
    return StateBytes({name: _bytes(member, matrix) for name, member in MEMBERS.items()}, rows, columns)


def _bytes(member: Transform, params: list[torch.Tensor]) -> int:
    with torch.device("meta"):
        leaves = tree_leaves(member.init(params))
    return sum(t.numel() * t.element_size() for t in leaves if t.ndim > 0)


@dataclass(frozen=True)
class EarlySteps:
    """The first 300 steps of 60 coordinates whose gradients are noise about a mean. sizes[name]: (300,), root mean
    square over the coordinates, over lr. rectified: (300,) RAdam's factor. warmed: (300,) a linear warm-up's."""

    sizes: Mapping[str, Array]
    rectified: Array
    warmed: Array
    signal: float

    @property
    def waits(self) -> int:
        """Steps that RAdam takes as plain momentum, before it divides by its root."""
        return int((self.rectified == 0).sum())

    @property
    def gap(self) -> float:
        """The largest difference between RAdam's factor and the warm-up's, once RAdam divides."""
        return float(np.abs(self.rectified - self.warmed)[self.rectified > 0].max())

    def settled(self, name: str) -> float:
        """Mean size over the last 100 steps."""
        return float(self.sizes[name][-100:].mean())

    def summary(self) -> str:
        each = ", ".join(f"{n} {s[0]:.2g} then {self.settled(n):.2g}" for n, s in self.sizes.items())
        return f"step over lr, the first and in the end: {each}; RAdam divides from step {self.waits + 1} on"


@experiment
def early_steps(
    signal: Annotated[float, Linear(0.0, 3.0)] = 0.1,
    scale: Annotated[float, Log(1e-3, 1e3)] = 0.1,
    b2: Annotated[float, Linear(0.9, 0.9995)] = 0.99,
    *,
    seed: int = 0,
) -> EarlySteps:
    """Gradients scale (signal + noise), the noise standard normal, anew for each step and coordinate.

    The warm-up is the untuned one of Ma & Yarats 2021: linear over 2 / (1 - b2) steps.
    """
    grads = scale * (signal + np.random.default_rng(seed).standard_normal((STEPS, 60)))
    moves, t = family(grads, b2=b2), np.arange(1, STEPS + 1)
    warmed = np.minimum(1, t * (1 - b2) / 2)
    moves["Adam, warmed up"] = moves["Adam"] * warmed[:, None]
    sizes = {name: np.sqrt((move**2).mean(axis=1)) for name, move in moves.items()}
    return EarlySteps(sizes, rectification(t, b2), warmed, signal)
