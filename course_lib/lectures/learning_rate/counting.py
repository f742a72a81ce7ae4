"""5.3  What if the schedule counts the wrong thing?"""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch

from course_lib import schedules
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Curves
from course_lib.schedules import Schedule

Kind = Literal["cosine", "linear", "step decay", "exponential"]


def by_epoch(kind: Kind, epochs: int) -> Schedule:
    """A schedule whose step is one epoch: to 0 over the run, or to a thousandth in three drops, or evenly."""
    return {
        "cosine": schedules.cosine(epochs),
        "linear": schedules.polynomial(epochs),
        "step decay": schedules.step_decay(max(-(-epochs // 4), 1)),
        "exponential": schedules.exponential(0.001 ** (1 / epochs)),
    }[kind]


@dataclass(frozen=True)
class UnitCurves(Curves):
    """x: share of the run. Rows: the factor on each batch's learning rate, by what the schedule was stepped for."""

    epochs: int
    per_epoch: int

    xlabel = "share of the run"
    ylabel = "factor on the learning rate"
    limits = ((0, 1), (-0.02, 1.05))

    def gone(self, name: str) -> float:
        """Epochs until the factor is first below a hundredth; the whole run where it never is."""
        low = self.rows[name] < 0.01
        return float(low.argmax() / self.per_epoch) if low.any() else float(self.epochs)

    def summary(self) -> str:
        means = ", ".join(f"{name} {row.mean():.3f}" for name, row in self.rows.items())
        return f"mean factor over {self.epochs} epochs of {self.per_epoch} batches: stepped {means}"


@experiment
def unit_curves(
    kind: Kind = "cosine",
    epochs: Annotated[int, Linear(3, 30)] = 12,
    per_epoch: Annotated[int, Log(4, 60)] = 20,
    processes: Annotated[int, Linear(2, 8)] = 4,
) -> UnitCurves:
    """The learning rate that each batch gets from a schedule made for epochs. Deterministic.

    As meant it is stepped once an epoch. Stepped after every batch it runs per_epoch times too fast; advanced once for
    each of N processes at every step, as Accelerate does, N times too fast.
    """
    schedule, t = by_epoch(kind, epochs), torch.arange(epochs * per_epoch)
    counts = {"per epoch": t // per_epoch, "per batch": t, "once for each process": processes * (t // per_epoch)}
    rows = {name: schedule(count).numpy() for name, count in counts.items()}
    return UnitCurves(np.arange(len(t)) / len(t), rows, epochs, per_epoch)
