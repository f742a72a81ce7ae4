"""A schedule counted in the wrong unit: stepped per batch instead of per epoch, or by each of N processes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from course_lib.compare import Comparison, compare
from course_lib.controls import Linear, Log, Progress, Show, experiment, silent, unseen
from course_lib.experiments._learning_rate import batches_in, final, train
from course_lib.experiments._stacked import single_threaded
from course_lib.optim import Transform, chain, sgd
from course_lib.schedules import Schedule, cosine, exponential, polynomial, scale_by_schedule, step_decay

Array = NDArray[np.float64]

Kind = Literal["cosine", "linear", "step decay", "exponential"]
NAMES = ("as meant", "stepped per batch", "stepped by each process")


def meant(kind: Kind, epochs: int) -> Schedule:
    """A schedule whose step is one epoch: to 0 over the run, or to a thousandth in three drops, or evenly."""
    return {
        "cosine": cosine(epochs),
        "linear": polynomial(epochs),
        "step decay": step_decay(max(-(-epochs // 4), 1)),
        "exponential": exponential(0.001 ** (1 / epochs)),
    }[kind]


@dataclass(frozen=True)
class UnitCurves:
    """factors: (3, epochs * per_epoch) of each batch's learning rate: as meant, per batch, by each process."""

    factors: Array
    epochs: int
    per_epoch: int
    processes: int

    @property
    def gone(self) -> Array:
        """(3,) epochs until the factor is first below a hundredth; the whole run where it never is."""
        low = self.factors < 0.01
        first = np.where(low.any(axis=1), low.argmax(axis=1), low.shape[1])
        return first / self.per_epoch

    def summary(self) -> str:
        means = ", ".join(f"{name} {row.mean():.3f}" for name, row in zip(NAMES, self.factors, strict=True))
        return f"mean factor over {self.epochs} epochs of {self.per_epoch} batches: {means}"


@experiment
def unit_curves(
    kind: Kind = "cosine",
    epochs: Annotated[int, Linear(3, 30)] = 12,
    per_epoch: Annotated[int, Log(4, 60)] = 20,
    processes: Annotated[int, Linear(2, 8)] = 4,
) -> UnitCurves:
    """The learning rate that each batch gets from a schedule made for epochs. Deterministic.

    As meant it is stepped once an epoch. Stepped after every batch it runs per_epoch times too fast; where each of N
    processes steps the one that all share, N times too fast.
    """
    schedule, t = meant(kind, epochs), torch.arange(epochs * per_epoch)
    epoch = t // per_epoch
    rows = [schedule(count).numpy() for count in (epoch, t, processes * epoch)]
    return UnitCurves(np.stack(rows), epochs, per_epoch, processes)


@dataclass(frozen=True)
class UnitCost:
    """accuracies[kind]: (3, seeds) test accuracy, rows as NAMES. Partial results lack kinds."""

    accuracies: Mapping[str, Array]
    processes: int

    def cost(self, kind: str, mistake: int) -> Comparison:
        """Accuracy as meant less that with the mistake (1 per batch, 2 by each process), paired by seed."""
        rows = self.accuracies[kind]
        return compare(rows[0], rows[mistake], names=(NAMES[0], NAMES[mistake]))

    def summary(self) -> str:
        lost = [f"{k} {', '.join(f'{100 * self.cost(k, m).mean:.1f}' for m in (1, 2))}" for k in self.accuracies]
        return f"points of accuracy lost per batch, and by {self.processes} processes: " + "; ".join(lost)


@experiment
@single_threaded
def unit_cost(
    lr: Annotated[float, Log(0.1, 0.5)] = 0.4,
    epochs: Annotated[int, Linear(4, 10)] = 8,
    processes: Annotated[int, Linear(2, 8)] = 4,
    seeds: Annotated[int, Linear(4, 8)] = 8,
    *,
    seed: int = 0,
    progress: Progress = silent,
    show: Show = unseen,
) -> UnitCost:
    """Train on the digits with SGD, batches of 64, under each schedule counted in three ways; equal seeds pair up."""
    each, per_epoch = range(seed, seed + seeds), batches_in(1, 64)
    units, speeds = (per_epoch, 1, per_epoch), (1, 1, processes)
    found: dict[str, Array] = {}
    for kind in progress(get_args(Kind)):
        schedule = meant(kind, epochs)

        def counted(unit, speed, schedule=schedule) -> Transform:
            return chain(sgd(lr), scale_by_schedule(lambda t: schedule(speed * (t / unit).floor())))

        runs = train(counted, {"unit": units, "speed": speeds}, each, epochs=epochs, batch=64, judge="test")
        found = found | {kind: final(runs, 3, "validation_accuracy")}
        show(UnitCost(found, processes))
    return UnitCost(found, processes)
