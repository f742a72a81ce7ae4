"""How must the learning rate grow with the batch: linearly for SGD, with the square root for Adam?"""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from course_lib.compare import Comparison, compare
from course_lib.controls import Linear, Progress, Show, experiment, silent, unseen
from course_lib.experiments._learning_rate import OPTIMIZERS, final, geometric_mean, train
from course_lib.experiments._stacked import single_threaded

Array = NDArray[np.float64]

BATCHES = 2 ** np.arange(3, 9)
RULES = {"SGD": 1.0, "Adam": 0.5}


@dataclass(frozen=True)
class BatchRule:
    """batches: (6,). lrs: (13,). losses: (6, 13, seeds) validation loss. Partial results have fewer batches."""

    batches: NDArray[np.int64]
    lrs: Array
    losses: Array
    optimizer: str

    @property
    def best(self) -> Array:
        """(batches, seeds) each seed's best learning rate: the bottom of a parabola through the lowest three points."""
        x, y = np.log(self.lrs), np.log(self.losses)
        place = y.argmin(axis=1).clip(1, len(x) - 2)
        low, mid, high = (np.take_along_axis(y, (place + i)[:, None], axis=1)[:, 0] for i in (-1, 0, 1))
        bend = low - 2 * mid + high
        shift = np.where(bend > 0, (low - high) / 2 / np.where(bend > 0, bend, 1), 0).clip(-1, 1)
        return np.exp(x[place] + shift * (x[1] - x[0]))

    def slopes(self, upto: int = 64) -> Array:
        """(seeds,) of log best learning rate against log batch, by least squares over the batches up to `upto`."""
        kept = self.batches <= upto
        return np.polyfit(np.log(self.batches[kept]), np.log(self.best[kept]), 1)[0]

    def slope(self, upto: int = 64) -> Comparison:
        """Mean slope over the seeds, with its interval."""
        slopes = self.slopes(upto)
        return compare(slopes, np.zeros_like(slopes), names=("slope", "0"))

    @property
    def followed(self) -> Array:
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


@experiment
@single_threaded
def batch_rule(
    optimizer: Literal["SGD", "Adam"] = "SGD",
    epochs: Annotated[int, Linear(1, 2)] = 2,
    seeds: Annotated[int, Linear(4, 6)] = 6,
    *,
    seed: int = 0,
    progress: Progress = silent,
    show: Show = unseen,
) -> BatchRule:
    """Train for equal epochs with batches from 8 to 256 at 13 learning rates, and find each batch's best."""
    low, high = {"SGD": (0.05, 5.0), "Adam": (2e-3, 0.2)}[optimizer]
    lrs, losses = np.geomspace(low, high, 13), []
    for i, batch in enumerate(progress(BATCHES.tolist()), start=1):
        runs = train(OPTIMIZERS[optimizer], {"lr": lrs.tolist()}, range(seed, seed + seeds), epochs=epochs, batch=batch)
        losses.append(final(runs, len(lrs)))
        show(BatchRule(BATCHES[:i], lrs, np.array(losses), optimizer))
    return BatchRule(BATCHES, lrs, np.array(losses), optimizer)
