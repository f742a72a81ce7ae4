"""What is a decaying learning rate worth on the digits, and what does one that counts in the wrong unit cost?"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from course_lib.lectures.learning_rate.shapes import NAMES, Decay, Kind, decaying, meant
from course_lib.lectures.learning_rate.training import batches_in, final, geometric_mean, one_of, train
from course_lib.optim import Transform, chain, sgd
from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Result
from course_lib.schedules import scale_by_schedule
from course_lib.style import INK, LINES
from course_lib.trials import single_threaded
from course_lib.trials.compare import Comparison, compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


class Tried(NamedTuple):
    """losses: (7,) validation loss by learning rate. lr: the best. tested, accuracies: (seeds,) test loss, accuracy."""

    losses: Array
    lr: float
    tested: Array
    accuracies: Array


@dataclass(frozen=True)
class DecayGain(Result):
    """lrs: (7,). tried[schedule]: its sweep, and new seeds at its best. Partial results lack the new seeds."""

    lrs: Array
    tried: Mapping[str, Tried]
    label_noise: float

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
        return f"{100 * self.label_noise:.0f} % of the labels drawn anew; test loss {'; '.join(each)}"

    def draw(self, figure: "Figure"):
        """Left the validation loss by learning rate, right the test loss of new seeds at the best of each schedule."""
        left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
        left.set(xlabel=r"learning rate $\eta$", ylabel="validation loss (nats)", xscale="log", yscale="log")
        left.set(xlim=(0.09, 1.8), ylim=(0.06, 3))
        right.set(
            xlabel="schedule", ylabel="test loss of new seeds (nats)", yscale="log", xlim=(-0.5, 3.5), ylim=(0.05, 3)
        )
        right.set_xticks(range(4), SCHEDULES)
        looks = dict(zip(SCHEDULES, zip(LINES, "os^D", strict=False), strict=True))
        curves = {n: left.plot([], [], m, color=c, ls=ls, ms=4, label=n)[0] for n, ((c, ls), m) in looks.items()}
        dots = {n: right.plot([], [], m, color=c, ms=4, alpha=0.7)[0] for n, ((c, _), m) in looks.items()}
        means = {n: right.plot([], [], "_", color=INK, ms=26, mew=1.6)[0] for n in SCHEDULES}
        figure.legend(handles=list(curves.values()), loc="outside upper center", ncols=4, handlelength=3)

        share = left.text(0.03, 0.95, "", transform=left.transAxes, va="top")

        def redraw(result: DecayGain):
            share.set_text(f"{100 * result.label_noise:.0f} % of the labels drawn anew")
            for i, name in enumerate(SCHEDULES):
                losses, _, tested, _ = result.tried[name]
                curves[name].set_data(result.lrs, losses)
                dots[name].set_data(i + np.linspace(-0.15, 0.15, len(tested)), tested)
                means[name].set_data(([i], [np.exp(np.log(tested).mean())]) if len(tested) else ([], []))
            return *curves.values(), *dots.values(), *means.values(), share

        redraw(self)
        return redraw


@experiment
@single_threaded
def decay_gain(
    label_noise: Annotated[float, Linear(0.0, 0.4)] = 0.2,
    epochs: Annotated[int, Linear(2, 4)] = 4,
    seeds: Annotated[int, Linear(4, 8)] = 8,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> DecayGain:
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
            runs = train(made, pairs, tuning, epochs=epochs, batch=32, label_noise=label_noise)
            losses = geometric_mean(final(runs, len(kinds) * len(lrs))).reshape(len(kinds), -1)
            best = [float(lrs[row.argmin()]) for row in losses]
            tested = accuracies = np.empty((len(kinds), 0))
        else:
            runs = train(
                made, {"lr": best, "kind": kinds}, fresh, epochs=epochs, batch=32, label_noise=label_noise, judge="test"
            )
            tested, accuracies = final(runs, len(kinds)), final(runs, len(kinds), "validation_accuracy")
        tried = {name: Tried(losses[k], best[k], tested[k], accuracies[k]) for k, name in enumerate(names)}
        preview(DecayGain(lrs, tried, label_noise))
    return DecayGain(lrs, tried, label_noise)


@dataclass(frozen=True)
class MiscountedSchedule(Result):
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

    def draw(self, figure: "Figure"):
        """Test accuracy of each seed, by schedule and by way of counting."""
        kinds = ("cosine", "linear", "step decay", "exponential")
        ax = figure.subplots()
        ax.set(xlabel="schedule", ylabel="test accuracy", xlim=(-0.5, 3.5), ylim=(0, 1))
        ax.set_xticks(range(4), kinds)
        looks = list(zip(LINES, "os^", NAMES, strict=False))
        dots = [ax.plot([], [], mark, color=c, ms=5, alpha=0.7, label=name)[0] for (c, _), mark, name in looks]
        means = [ax.plot([], [], "_", color=INK, ms=22, mew=1.5)[0] for _ in looks]
        figure.legend(handles=dots, loc="outside upper center", ncols=3)

        def redraw(result: MiscountedSchedule):
            for i, (dot, mean) in enumerate(zip(dots, means, strict=True)):
                places, values, middles = [], [], []
                for kind, rows in result.accuracies.items():
                    x = kinds.index(kind) + (i - 1) * 0.26
                    places.append(x + np.linspace(-0.07, 0.07, rows.shape[1]))
                    values.append(rows[i])
                    middles.append((x, rows[i].mean()))
                dot.set_data(np.ravel(places), np.ravel(values))
                mean.set_data(*np.array(middles).reshape(-1, 2).T)
            return *dots, *means

        redraw(self)
        return redraw


@experiment
@single_threaded
def miscounted_schedule(
    lr: Annotated[float, Log(0.1, 0.5)] = 0.4,
    epochs: Annotated[int, Linear(4, 10)] = 8,
    processes: Annotated[int, Linear(2, 8)] = 4,
    seeds: Annotated[int, Linear(4, 8)] = 8,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> MiscountedSchedule:
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
        preview(MiscountedSchedule(found, processes))
    return MiscountedSchedule(found, processes)


SCHEDULES = ("constant", "step", "cosine", "linear")
