"""How must the learning rate follow the batch, and must a schedule know how long the run will be?"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from course_lib.lectures.learning_rate.training import (
    OPTIMIZERS,
    batches_in,
    final,
    geometric_mean,
    handwriting,
    one_of,
)
from course_lib.optim import Transform, chain, landing, schedule_free, sgd
from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Floats, Result
from course_lib.schedules import constant, cosine, polynomial, scale_by_schedule, warmup_stable_decay
from course_lib.style import BLUE, GREEN, GREY, INK, LINES, RED
from course_lib.trials import Comparison, compare, grid, single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure


BATCHES = 2 ** np.arange(3, 9)
RULES = {"SGD": 1.0, "Adam": 0.5}


@dataclass(frozen=True)
class BatchRule(Result):
    """batches: (6,). lrs: (13,). losses: (6, 13, seeds) validation loss. Partial results have fewer batches."""

    batches: NDArray[np.int64]
    lrs: Floats
    losses: Floats
    optimizer: str

    @property
    def best(self) -> Floats:
        """(batches, seeds) each seed's best learning rate: the bottom of a parabola through the lowest three points."""
        x, y = np.log(self.lrs), np.log(self.losses)
        place = y.argmin(axis=1).clip(1, len(x) - 2)
        low, mid, high = (np.take_along_axis(y, (place + i)[:, None], axis=1)[:, 0] for i in (-1, 0, 1))
        bend = low - 2 * mid + high
        shift = np.where(bend > 0, (low - high) / 2 / np.where(bend > 0, bend, 1), 0).clip(-1, 1)
        return np.exp(x[place] + shift * (x[1] - x[0]))

    def slopes(self, upto: int = 64) -> Floats:
        """(seeds,) of log best learning rate against log batch, by least squares over the batches up to `upto`."""
        kept = self.batches <= upto
        return np.polyfit(np.log(self.batches[kept]), np.log(self.best[kept]), 1)[0]

    def slope(self, upto: int = 64) -> Comparison:
        """Mean slope over the seeds, with its interval."""
        slopes = self.slopes(upto)
        return compare(slopes, np.zeros_like(slopes), names=("slope", "0"))

    @property
    def followed(self) -> Floats:
        """(batches,) what the rule costs: the loss at its learning rate over that at the best of the grid.

        The rule is counted from the smallest batch's best. Means over seeds, interpolated; infinite beyond the grid."""
        means = np.log(geometric_mean(self.losses))
        start = np.log(self.best[0]).mean()
        rule = start + RULES[self.optimizer] * np.log(self.batches / self.batches[0])
        at = [np.interp(lr, np.log(self.lrs), row, right=np.inf) for lr, row in zip(rule, means, strict=True)]
        return np.exp(np.array(at) - means.min(axis=1))

    @property
    def holds_to(self) -> int:
        """The largest batch up to which following the rule costs at most a quarter more loss than the best."""
        bad = self.followed > 1.25
        return int(self.batches[max(int(bad.argmax()) - 1, 0)] if bad.any() else self.batches[-1])

    def summary(self) -> str:
        if len(self.batches) < 2:
            return f"{self.optimizer}: batch {self.batches[0]} done"
        s = self.slope()
        return (
            f"{self.optimizer}: best lr grows as batch to the {s.mean:.2f} [{s.low:.2f}, {s.high:.2f}] up to "
            f"{min(64, self.batches[-1])}; the rule, power {RULES[self.optimizer]:g}, holds to {self.holds_to}"
        )

    def draw(self, figure: "Figure"):
        """Left each seed's best learning rate by batch size, with the rule; right the loss at the rule's over the
        best."""
        left, right = figure.subplots(1, 2)
        left.set(xlabel="batch size", ylabel=r"best learning rate $\eta$", xscale="log", yscale="log", xlim=(6, 340))
        left.set_ylim(2e-3, 6)
        right.set(xlabel="batch size", ylabel="loss at the rule's learning rate / best", xscale="log", yscale="log")
        right.set(xlim=(6, 340), ylim=(0.8, 100))
        for ax in (left, right):
            ax.set_xticks([8, 16, 32, 64, 128, 256], ["8", "16", "32", "64", "128", "256"], minor=False)
            ax.minorticks_off()
        (dots,) = left.plot([], [], "o", color=BLUE, ms=4, alpha=0.5, label="each seed")
        (means,) = left.plot([], [], "D", color=BLUE, mec=INK, ms=7, label="mean")
        (rule,) = left.plot([], [], color=RED, ls="--", label="the rule, from batch 8")
        left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1)
        right.axhline(1, color=GREY, lw=0.8, ls=":")
        (cost,) = right.plot([], [], "s-", color=GREEN, ms=5)
        note = right.text(0.04, 0.94, "", transform=right.transAxes, va="top")

        def redraw(result: BatchRule):
            best, power = result.best, RULES[result.optimizer]
            dots.set_data(np.repeat(result.batches, best.shape[1]), best.ravel())
            middle = np.exp(np.log(best).mean(axis=1))
            means.set_data(result.batches, middle)
            ends = np.array([8, 256])
            rule.set_data(ends, middle[0] * (ends / 8) ** power)
            cost.set_data(result.batches, result.followed.clip(max=1e6))
            note.set_text(f"{result.optimizer}: " + (r"$\eta \propto B$" if power == 1 else r"$\eta \propto \sqrt{B}$"))
            return dots, means, rule, cost, note

        redraw(self)
        return redraw


@experiment
@single_threaded
def batch_rule(
    optimizer: Literal["SGD", "Adam"] = "SGD",
    epochs: Annotated[int, Linear(1, 2)] = 2,
    seeds: Annotated[int, Linear(4, 6)] = 6,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> BatchRule:
    """Train for equal epochs with batches from 8 to 256 at 13 learning rates, and find each batch's best."""
    low, high = {"SGD": (0.05, 5.0), "Adam": (2e-3, 0.2)}[optimizer]
    lrs, losses, each = np.geomspace(low, high, 13), [], range(seed, seed + seeds)
    for i, batch in enumerate(progress(BATCHES.tolist()), start=1):
        runs = grid(OPTIMIZERS[optimizer], {"lr": lrs.tolist()}, each, handwriting(), epochs=epochs, batch=batch)
        losses.append(final(runs, len(lrs)))
        preview(BatchRule(BATCHES[:i], lrs, np.array(losses), optimizer))
    return BatchRule(BATCHES, lrs, np.array(losses), optimizer)


HORIZONS = np.array([1, 2, 4])  # epochs
METHODS = ("constant", "cosine", "linear", "stable, decay", "schedule-free")


def scheduled(steps: int) -> Callable[..., Transform]:
    """(lr, kind) -> SGD for a run of `steps` updates under the schedule METHODS[kind]; kind may be a () tensor.

    Stable, decay: the last fifth is a line to 0.
    """
    late = steps // 5
    pick = one_of(constant(), cosine(steps), polynomial(steps), warmup_stable_decay(0, steps - late, late))
    return lambda lr, kind: chain(sgd(lr), scale_by_schedule(pick(kind)))


def averaged(steps: int) -> Callable[..., Transform]:
    """lr -> schedule-free SGD whose model is its average after `steps` updates."""
    return lambda lr: landing(schedule_free(sgd(lr), 0.9), steps)


@dataclass(frozen=True)
class Horizons(Result):
    """epochs: (3,) the horizons. tested[method]: (3, seeds) test loss. lrs[method]: chosen at 4 epochs, used at all.

    Partial results have fewer horizons.
    """

    epochs: NDArray[np.int64]
    tested: Mapping[str, Floats]
    lrs: Mapping[str, float]

    def against_cosine(self, method: str, horizon: int) -> Comparison:
        """Logarithm of the test loss less that of the cosine made for this horizon, paired by seed."""
        a, b = (np.log(self.tested[name][horizon]) for name in (method, "cosine"))
        return compare(a, b, names=(method, "cosine"))

    def ratio(self, method: str) -> Floats:
        """(3,) test loss over the cosine's, geometric mean over seeds."""
        return np.array([math.exp(self.against_cosine(method, i).mean) for i in range(len(self.epochs))])

    @property
    def price(self) -> tuple[int, float]:
        """Epochs for a model at every horizon: a cosine anew for each; one stable run with decays branched off."""
        return int(self.epochs.sum()), float(self.epochs[-1] + self.epochs[:-1].sum() / 5)

    def summary(self) -> str:
        each = [
            f"{m} {', '.join(f'{x:.3f}' for x in geometric_mean(t))} (lr {self.lrs[m]:.2g})"
            for m, t in self.tested.items()
        ]
        return f"test loss after {', '.join(map(str, self.epochs))} epochs: " + "; ".join(each)

    def draw(self, figure: "Figure"):
        """Left the test loss by horizon, right the same over that of the cosine made for it, with intervals."""
        left, right = figure.subplots(1, 2)
        for ax, label in ((left, "test loss (nats)"), (right, "test loss / cosine's")):
            ax.set(xlabel="epochs", ylabel=label, xscale="log", xlim=(0.8, 5))
            ax.set_xticks([1, 2, 4], ["1", "2", "4"])
            ax.minorticks_off()
        left.set(yscale="log", ylim=(0.05, 2))
        right.set(ylim=(0.6, 1.8))
        right.axhline(1, color=GREY, lw=0.9)
        looks = dict(zip(METHODS, zip(LINES, "osD^v", strict=False), strict=True))
        curves = {n: left.plot([], [], m, color=c, ls=ls, ms=5, label=n)[0] for n, ((c, ls), m) in looks.items()}
        bars = {n: right.plot([], [], color=c, lw=1.2)[0] for n, ((c, _), _) in looks.items()}
        dots = {n: right.plot([], [], m, color=c, ms=5)[0] for n, ((c, _), m) in looks.items()}
        figure.legend(handles=list(curves.values()), loc="outside upper center", ncols=5, handlelength=3)

        def redraw(result: Horizons):
            for i, name in enumerate(METHODS):
                curves[name].set_data(result.epochs, geometric_mean(result.tested[name]))
                cells = [result.against_cosine(name, k) for k in range(len(result.epochs)) if name != "cosine"]
                x = result.epochs[: len(cells)] * 1.06 ** (i - 2)
                dots[name].set_data(x, np.exp([c.mean for c in cells]))
                ends = np.exp([[c.low, c.high, np.nan] for c in cells]).ravel()
                bars[name].set_data(np.repeat(x, 3), ends)
            return *curves.values(), *bars.values(), *dots.values()

        redraw(self)
        return redraw


@experiment
@single_threaded
def horizons(
    label_noise: Annotated[float, Linear(0.0, 0.4)] = 0.2,
    batch: Annotated[int, Log(32, 64)] = 32,
    seeds: Annotated[int, Linear(4, 8)] = 8,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> Horizons:
    """Train SGD for 1, 2 and 4 epochs by five plans, each with the one learning rate of six that is best at 4.

    A share `label_noise` of the training labels is redrawn at random. Constant, stable-decay and schedule-free runs
    of different lengths share their path until a decay begins: one long run would have done.
    """
    lrs, fresh, tuning = np.geomspace(0.1, 1.0, 6), range(seed, seed + seeds), range(seed + 500, seed + 503)
    train = partial(grid, data=handwriting(label_noise), batch=batch)
    steps, kinds = batches_in(4, batch), range(len(METHODS) - 1)
    pairs = {"lr": [*lrs.tolist()] * len(kinds), "kind": [k for k in kinds for _ in lrs]}
    runs = train(scheduled(steps), pairs, tuning, epochs=4)
    losses = [*geometric_mean(final(runs, len(kinds) * len(lrs))).reshape(len(kinds), -1)]
    free_runs = train(averaged(steps), {"lr": lrs.tolist()}, tuning, epochs=4)
    losses.append(geometric_mean(final(free_runs, len(lrs))))
    best = {method: float(lrs[row.argmin()]) for method, row in zip(METHODS, losses, strict=True)}
    *decaying, free = best.values()
    tested: dict[str, Floats] = {}
    for i, epochs in enumerate(progress(HORIZONS.tolist()), start=1):
        steps, rows = batches_in(epochs, batch), []
        for make, hyper in ((scheduled(steps), {"lr": decaying, "kind": kinds}), (averaged(steps), {"lr": [free]})):
            runs = train(make, hyper, fresh, epochs=epochs, part="test")
            rows += [*final(runs, len(hyper["lr"]))]
        tested = {
            m: np.vstack([tested.get(m, row[:0].reshape(0, seeds)), row]) for m, row in zip(METHODS, rows, strict=True)
        }
        preview(Horizons(HORIZONS[:i], tested, best))
    return Horizons(HORIZONS, tested, best)
