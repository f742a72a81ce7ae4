"""The learning-rate range test on trial: what it suggests, and what training with that costs beside the best."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from course_lib.compare import Comparison, compare
from course_lib.controls import Linear, Log, Progress, Show, experiment, silent, unseen
from course_lib.experiments._learning_rate import OPTIMIZERS, SIZES, final, handwriting, sweep, train
from course_lib.experiments._stacked import single_threaded
from course_lib.models import mlp
from course_lib.train import range_test
from course_lib.train.range_test import Rule

Array = NDArray[np.float64]
Optimizer = Literal["SGD", "momentum", "Adam"]

GRIDS = {  # 13 learning rates, from far too small to diverging
    "SGD": np.geomspace(0.01, 10.0, 13),
    "momentum": np.geomspace(0.001, 1.0, 13),
    "Adam": np.geomspace(3e-4, 0.3, 13),
}
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True)
class RangeCurves:
    """lrs: (steps,). smooth: (seeds, steps), NaN where a test was stopped. suggested[rule]: (seeds,)."""

    lrs: Array
    smooth: Array
    suggested: Mapping[str, Array]
    optimizer: str

    def spread(self, rule: str) -> float:
        """The largest suggestion over the smallest."""
        return float(self.suggested[rule].max() / self.suggested[rule].min())

    def summary(self) -> str:
        each = [
            f"{rule!r} {np.exp(np.log(s).mean()):.2g} (from {s.min():.2g} to {s.max():.2g})"
            for rule, s in self.suggested.items()
        ]
        return f"{self.optimizer}, seeds: {len(self.smooth)}; suggested: " + ", ".join(each)


@experiment
@single_threaded
def range_curves(
    optimizer: Optimizer = "SGD",
    batch: Annotated[int, Log(8, 256)] = 64,
    steps: Annotated[int, Linear(40, 200)] = 100,
    smoothing: Annotated[float, Linear(0.0, 0.98)] = 0.9,
    seeds: Annotated[int, Linear(1, 16)] = 8,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> RangeCurves:
    """A range test for each seed, from a tenth of the lowest learning rate of GRIDS to ten times the highest."""
    grid, each = GRIDS[optimizer], range(seed, seed + seeds)
    result = range_test(
        [mlp(SIZES, seed=s) for s in each],
        cross_entropy,
        OPTIMIZERS[optimizer],
        handwriting().train,
        low=float(grid[0]) / 10,
        high=10 * float(grid[-1]),
        steps=steps,
        batch=batch,
        seeds=each,
        smoothing=smoothing,
        progress=progress,
    )
    suggested: dict[str, Array] = {rule: result.suggest(rule).numpy() for rule in RULES}
    return RangeCurves(result.lrs.numpy(), result.smooth.numpy(), suggested, optimizer)


class Tried(NamedTuple):
    """lrs, losses: (13,) of the sweep, validation loss. best: its best learning rate. suggested[rule]: (seeds,).

    tested[name]: (seeds,) test loss of new seeds, trained at "best" or at what their own range test suggests.
    """

    lrs: Array
    losses: Array
    best: float
    suggested: Mapping[str, Array]
    tested: Mapping[str, Array]

    def regret(self, rule: str) -> Comparison:
        """Logarithm of the test loss at the suggestion less that at the best, paired by seed."""
        return compare(np.log(self.tested[rule]), np.log(self.tested["best"]), names=(rule, "best"))

    def ratio(self, rule: str) -> float:
        """How many times higher the test loss is at the suggestion: the geometric mean over seeds."""
        return math.exp(self.regret(rule).mean)

    @property
    def end(self) -> float:
        """The first learning rate above the best where the sweep's loss is more than twice the lowest."""
        return float(self.lrs[(self.lrs > self.best) & (self.losses > 2 * self.losses.min())][0])

    def off(self, rule: str) -> float:
        """The suggestion over the best learning rate, geometric mean over seeds."""
        return float(np.exp(np.log(self.suggested[rule] / self.best).mean()))


@dataclass(frozen=True)
class FinderTrial:
    """tried[optimizer]. Partial results lack optimizers."""

    tried: Mapping[str, Tried]
    batch: int

    def summary(self) -> str:
        each = []
        for name, t in self.tried.items():
            costs = ", ".join(f"{rule} {t.ratio(rule):.2f} times" for rule in RULES)
            each.append(f"{name} {costs}")
        return f"batch {self.batch}, test loss beside that of the best learning rate: " + "; ".join(each)


@experiment
@single_threaded
def finder_trial(
    batch: Annotated[int, Log(32, 256)] = 64,
    epochs: Annotated[int, Linear(2, 3)] = 3,
    seeds: Annotated[int, Linear(4, 8)] = 8,
    *,
    seed: int = 0,
    progress: Progress = silent,
    show: Show = unseen,
) -> FinderTrial:
    """For SGD, momentum and Adam: sweep 13 learning rates on three seeds, then give new seeds the best of them and,
    one by one, what a range test on their own start and batches suggests by each rule. Constant learning rates.
    """
    fresh, tuning = range(seed, seed + seeds), range(seed + 500, seed + 503)
    tried: dict[str, Tried] = {}
    for name in progress(get_args(Optimizer)):
        grid, make = GRIDS[name], OPTIMIZERS[name]
        losses = sweep(make, grid, tuning, epochs=epochs, batch=batch)
        best = float(grid[losses.argmin()])
        suggested = range_curves(name, batch, seeds=seeds, seed=seed).suggested
        lrs = np.concatenate([np.full(seeds, best), *(suggested[rule] for rule in RULES)])
        runs = train(make, {"lr": lrs.tolist()}, [*fresh] * 3, epochs=epochs, batch=batch, judge="test", paired=True)
        tested = dict(zip(("best", *RULES), final(runs, 3), strict=True))
        tried = tried | {name: Tried(grid, losses, best, suggested, tested)}
        show(FinderTrial(tried, batch))
    return FinderTrial(tried, batch)
