"""Adam's relatives: what each remembers for a parameter, and how long its first steps are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from course_lib.optim import (
    Transform,
    adadelta,
    adafactor,
    adagrad,
    adam,
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
    steps_on,
)
from course_lib.optim.radam import rectification
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Floats, Result
from course_lib.style import BLUE, INK, LINES, ORANGE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = 300
MEMBERS: dict[str, Transform] = {
    "SGD": sgd(0.1),
    "momentum": sgd(0.1, 0.9),
    "AdaGrad": adagrad(),
    "RMSProp": rmsprop(),
    "AdaDelta": adadelta(),
    "Adam": adam(),
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
class StateBytes(Result):
    """Bytes of optimizer state for one rows x columns matrix of float32, counted on the tensors themselves.

    bytes[name]: of everything that grows with the matrix; single numbers such as a step count are left out.
    """

    bytes: Mapping[str, int]
    rows: int
    columns: int

    size: ClassVar[tuple[float, float]] = (7.0, 4.0)

    def per_parameter(self, name: str) -> float:
        return self.bytes[name] / (self.rows * self.columns)

    def summary(self) -> str:
        each = ", ".join(f"{n} {self.per_parameter(n):.3g}" for n in self.bytes)
        return f"state of a {self.rows} x {self.columns} matrix, bytes a parameter: {each}"

    def draw(self, figure: "Figure"):
        """Bytes of state for each float32 parameter of a matrix, a row for each optimizer."""
        ax = figure.subplots()
        ax.set(xlabel="bytes of state a parameter, float32", ylabel="optimizer", xscale="log", xlim=(1e-3, 1e5))
        ax.set(ylim=(len(MEMBERS) - 0.4, -0.9))
        ax.set_yticks(range(len(MEMBERS)), MEMBERS)
        ax.axvline(4, color=ORANGE, ls="--", lw=1.2)
        ax.text(4.6, -0.25, "the parameter itself", color=INK, fontsize=8)
        (dots,) = ax.plot([], [], "D", color=BLUE, ms=6)
        notes = [ax.text(1e-3, i, "", va="center", fontsize=8, color=INK) for i in range(len(MEMBERS))]

        def redraw(result: StateBytes):
            values = [result.per_parameter(name) for name in MEMBERS]
            dots.set_data([value or np.nan for value in values], range(len(MEMBERS)))
            for note, value in zip(notes, values, strict=True):
                note.set_text(f"{value:.3g}" if value else "nothing")
                note.set_x(1.5 * max(value, 1e-3))
            return dots, *notes

        redraw(self)
        return redraw


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
class EarlySteps(Result):
    """The first 300 steps of 60 coordinates whose gradients are noise about a mean. sizes[name]: (300,), root mean
    square over the coordinates, over lr. rectified: (300,) RAdam's factor. warmed: (300,) a linear warm-up's."""

    sizes: Mapping[str, Floats]
    rectified: Floats
    warmed: Floats
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

    def draw(self, figure: "Figure"):
        """Left the size of the steps over lr; right the factor of RAdam and that of a linear warm-up."""
        left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
        left.set(xlabel="step", ylabel="root mean square step / lr", xscale="log", yscale="log")
        left.set(xlim=(1, STEPS), ylim=(1e-4, 1e3))
        right.set(xlabel="step", ylabel="factor on Adam's step", xscale="log", xlim=(1, STEPS), ylim=(0, 1.05))
        looks = dict(zip(self.sizes, LINES, strict=False))
        lines = {n: left.plot([], [], color=c, ls=ls, lw=1.4, label=n)[0] for n, (c, ls) in looks.items()}
        (rectified,) = right.plot([], [], color=looks["RAdam"][0], ls=looks["RAdam"][1])
        (warmed,) = right.plot([], [], color=looks["Adam, warmed up"][0], ls=looks["Adam, warmed up"][1])
        figure.legend(
            handles=list(lines.values()), loc="outside upper center", ncols=6, handlelength=2.4, columnspacing=1.2
        )
        steps = np.arange(1, STEPS + 1)

        def redraw(result: EarlySteps):
            for name, line in lines.items():
                line.set_data(steps, result.sizes[name])
            divides = result.rectified > 0
            rectified.set_data(steps[divides], result.rectified[divides])
            warmed.set_data(steps, result.warmed)
            return *lines.values(), rectified, warmed

        redraw(self)
        return redraw


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
    moves, t = family(grads, b2), np.arange(1.0, STEPS + 1)
    warmed = np.minimum(1, t * (1 - b2) / 2)
    moves["Adam, warmed up"] = moves["Adam"] * warmed[:, None]
    sizes = {name: np.sqrt((move**2).mean(axis=1)) for name, move in moves.items()}
    return EarlySteps(sizes, factor(t, b2), warmed, signal)


def family(grads: Floats, b2: float) -> dict[str, Floats]:
    """(steps, n) each the steps of Adam and its relatives, lr 1, on these gradients; Lion keeps its own betas."""
    members = {
        "Adam": adam(1.0, b2=b2),
        "AMSGrad": amsgrad(1.0, b2=b2),
        "NAdam": nadam(1.0, b2=b2),
        "RAdam": radam(1.0, b2=b2),
        "Lion": lion(1.0),
    }
    return {name: np.array(steps_on(member, list(grads))) for name, member in members.items()}


def factor(t: Floats, b2: float) -> Floats:
    """RAdam's r_t; 0 while it does not divide by its root (rho_t <= 5)."""
    rho, r = rectification(t, b2)
    return np.where(rho > 5, r, 0.0)
