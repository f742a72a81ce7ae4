"""What is a decaying learning rate worth on the digits, and what does one that counts in the wrong unit cost?"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from course_lib.compare import Comparison, compare
from course_lib.controls import Linear, Log, Progress, Show, experiment, silent, unseen
from course_lib.experiments._learning_rate import batches_in, final, geometric_mean, one_of, train
from course_lib.experiments._stacked import single_threaded
from course_lib.experiments.learning_rate import NAMES, Decay, Kind, decaying, meant
from course_lib.optim import Transform, chain, sgd
from course_lib.schedules import scale_by_schedule

Array = NDArray[np.float64]


class Tried(NamedTuple):
    """losses: (7,) validation loss by learning rate. lr: the best. tested, accuracies: (seeds,) test loss, accuracy."""

    losses: Array
    lr: float
    tested: Array
    accuracies: Array


@dataclass(frozen=True)
class DecayWorth:
    """lrs: (7,). tried[schedule]: its sweep, and new seeds at its best. Partial results lack the new seeds."""

    lrs: Array
    tried: Mapping[str, Tried]
    wrong: float

    def against_constant(self, name: str) -> Comparison:
        """Logarithm of the test loss, constant less this schedule, each at its own best, paired by seed."""
        a, b = (np.log(self.tried[n].tested) for n in ("constant", name))
        return compare(a, b, names=("constant", name))

    def ratio(self, name: str) -> float:
        """The constant learning rate's test loss over this schedule's: the geometric mean over seeds."""
        return math.exp(self.against_constant(name).mean)

    def points(self, name: str) -> float:
        """Points of test accuracy that this schedule is above the constant learning rate."""
        return float(100 * (self.tried[name].accuracies - self.tried["constant"].accuracies).mean())

    def summary(self) -> str:
        each = []
        for name, t in self.tried.items():
            known = f"{t.tested.mean():.3f} ({100 * t.accuracies.mean():.1f} %) " if len(t.tested) else ""
            each.append(f"{name} {known}at lr {t.lr:.2g}")
        return f"{100 * self.wrong:.0f} % of the labels drawn anew; test loss {'; '.join(each)}"


@experiment
@single_threaded
def decay_worth(
    wrong: Annotated[float, Linear(0.0, 0.4)] = 0.2,
    epochs: Annotated[int, Linear(2, 4)] = 4,
    seeds: Annotated[int, Linear(4, 8)] = 8,
    *,
    seed: int = 0,
    progress: Progress = silent,
    show: Show = unseen,
) -> DecayWorth:
    """SGD with batches of 32 under four schedules: each gets the best of seven learning rates, then new seeds.

    A share `wrong` of the training labels is drawn anew. Learning rates are chosen by validation loss on three seeds of
    their own; the new seeds are measured on the test part.
    """
    lrs, steps = np.geomspace(0.1, 1.6, 7), batches_in(epochs, 32)
    fresh, tuning, names = range(seed, seed + seeds), range(seed + 500, seed + 503), get_args(Decay)
    pick, kinds = one_of(*(decaying(name, steps) for name in names)), range(len(names))

    def made(lr, kind) -> Transform:
        return chain(sgd(lr), scale_by_schedule(pick(kind)))

    for stage in progress(("choose", "test")):
        if stage == "choose":
            pairs = {"lr": [*lrs.tolist()] * len(kinds), "kind": [kind for kind in kinds for _ in lrs]}
            runs = train(made, pairs, tuning, epochs=epochs, batch=32, wrong=wrong)
            losses = geometric_mean(final(runs, len(kinds) * len(lrs))).reshape(len(kinds), -1)
            best = [float(lrs[row.argmin()]) for row in losses]
            tested = accuracies = np.empty((len(kinds), 0))
        else:
            runs = train(made, {"lr": best, "kind": kinds}, fresh, epochs=epochs, batch=32, wrong=wrong, judge="test")
            tested, accuracies = final(runs, len(kinds)), final(runs, len(kinds), "validation_accuracy")
        tried = {name: Tried(losses[k], best[k], tested[k], accuracies[k]) for k, name in enumerate(names)}
        show(DecayWorth(lrs, tried, wrong))
    return DecayWorth(lrs, tried, wrong)


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
