"""5.5  If the batch grows, what must the learning rate do?"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from course_lib.data import digits
from course_lib.optim import adam, sgd
from course_lib.ranges import Linear, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREEN, GREY, INK, RED, legend_above
from course_lib.trials import Comparison, at_the_end, compare, grid, single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BATCHES = 2 ** np.arange(3, 9)
POWERS = {"SGD": 1.0, "Adam": 0.5}


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

    def slope(self, upto: int = 64) -> Comparison:
        """Of log best learning rate against log batch, by least squares over batches up to `upto`: mean over seeds."""
        kept = self.batches <= upto
        slopes = np.polyfit(np.log(self.batches[kept]), np.log(self.best[kept]), 1)[0]
        return compare(slopes, np.zeros_like(slopes), names=("slope", "0"))

    @property
    def followed(self) -> Floats:
        """(batches,) the loss at the rule's learning rate, from the smallest batch's best on, over the grid's lowest.

        Geometric means over seeds, interpolated; infinite beyond the grid.
        """
        means = np.log(self.losses).mean(axis=2)
        start = np.log(self.best[0]).mean()
        rule = start + POWERS[self.optimizer] * np.log(self.batches / self.batches[0])
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
            f"{min(64, self.batches[-1])}; the rule, power {POWERS[self.optimizer]:g}, holds to {self.holds_to}"
        )

    def draw(self, figure: "Figure"):
        """Left each seed's best learning rate by batch size, with the rule; right what following the rule costs."""
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
        legend_above(figure, [dots, means, rule])
        right.axhline(1, color=GREY, lw=0.8, ls=":")
        (cost,) = right.plot([], [], "s-", color=GREEN, ms=5)
        note = right.text(0.04, 0.94, "", transform=right.transAxes, va="top")

        def redraw(result: BatchRule):
            best, power = result.best, POWERS[result.optimizer]
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
    lrs = np.geomspace(0.05, 5.0, 13) if optimizer == "SGD" else np.geomspace(2e-3, 0.2, 13)
    make, losses, each, data = sgd if optimizer == "SGD" else adam, [], range(seed, seed + seeds), digits()
    for i, batch in enumerate(progress(BATCHES.tolist()), start=1):
        runs = grid(make, {"lr": lrs.tolist()}, each, data, epochs=epochs, batch=batch)
        losses.append(at_the_end(runs, len(lrs)).clip(max=100))
        preview(result := BatchRule(BATCHES[:i], lrs, np.array(losses), optimizer))
    return result
