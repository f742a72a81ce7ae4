"""5.6  What if the schedule looks at the loss? Reduce-on-plateau, and its patience when the loss is noisy."""

import functools
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Curves

EPOCHS = 120
CURVATURES, STARTS = (1.0, 0.004), (4.0, 900.0)  # of the two directions; theta^2 at the start
UPDATES = 10  # in an epoch
LR, FLOOR = 1.0, 1e-4  # the learning rate at the start, and the least that it is reduced to


@dataclass(frozen=True)
class PlateauRun(Curves):
    """x: epochs, 0 the start. Rows: the loss as it was seen, the expected loss, and the learning rate after it."""

    xlabel = "epoch"
    ylabel = r"loss; $\eta$"
    scales = ("linear", "log")
    limits = ((0, EPOCHS), (0.01, 6))
    theory = ("as it was seen",)

    @property
    def reductions(self) -> NDArray[np.int64]:
        """The epochs after which the learning rate was reduced."""
        return np.flatnonzero(np.diff(self.rows["learning rate"]) < 0) + 1

    @property
    def end(self) -> float:
        """The loss after the last epoch."""
        return float(self.rows["loss"][-1])

    def summary(self) -> str:
        first = f", the first after epoch {self.reductions[0]}" if len(self.reductions) else ""
        return f"reductions: {len(self.reductions)}{first}; loss at the end {self.end:.3g}"


@experiment
def plateau(
    patience: Annotated[int, Linear(0, 20)] = 5,
    noise: Annotated[float, Linear(0.0, 0.3)] = 0.1,
    factor: Annotated[float, Linear(0.1, 0.8)] = 0.3,
    threshold: Annotated[float, Log(1e-4, 0.1)] = 1e-4,
    *,
    seed: int = 0,
) -> PlateauRun:
    """SGD on a noisy bowl with a steep and a flat direction; each epoch's loss is seen with relative error `noise`.

    The expected loss is computed, not sampled: the only noise in the picture is the measurement error.
    """
    moments, lr, best, bad = STARTS, LR, np.inf, 0
    path = [(loss_of(moments), loss_of(moments), lr)]
    for error in _errors(seed):
        moments = after_epoch(moments, lr)
        loss = loss_of(moments)
        seen = loss * max(1 + noise * error, 0.01)
        lr, best, bad = observe(lr, best, bad, seen, patience=patience, factor=factor, threshold=threshold)
        path.append((seen, loss, lr))
    rows = dict(zip(("as it was seen", "loss", "learning rate"), np.array(path).T, strict=True))
    return PlateauRun(np.arange(EPOCHS + 1.0), rows)


def observe(lr, best, bad, loss, *, patience, factor, threshold) -> tuple[float, float, int]:
    """The state machine of `course_lib.schedules.reduce_on_plateau`, without cooldown, on floats; floor is FLOOR."""
    if loss < best * (1 - threshold):
        best, bad = loss, 0
    else:
        bad += 1
    return (max(factor * lr, FLOOR), best, 0) if bad > patience else (lr, best, bad)


def loss_of(moments: tuple[float, float]) -> float:
    return sum(curvature * m / 2 for curvature, m in zip(CURVATURES, moments, strict=True))


def after_epoch(moments: tuple[float, float], lr: float) -> tuple[float, float]:
    """E theta^2 of both directions after UPDATES updates with gradient noise of variance 1, by M <- a M + lr^2."""
    after = []
    for curvature, moment in zip(CURVATURES, moments, strict=True):
        a = (1 - lr * curvature) ** 2
        whole = a**UPDATES
        after.append(whole * moment + lr**2 * (1 - whole) / (1 - a))
    return after[0], after[1]


@functools.lru_cache(maxsize=256)
def _errors(seed: int) -> list[float]:
    return np.random.default_rng(seed).standard_normal(EPOCHS).tolist()


@dataclass(frozen=True)
class Patience(Curves):
    """x: the patience, in epochs. Rows: the loss at the end of `plateau`, mean over seeds, by measurement error."""

    xlabel = "patience (epochs)"
    ylabel = "loss at the end"
    scales = ("linear", "log")
    limits = ((-1, 21), (0.05, 3))

    def best(self, name: str) -> int:
        """The patience with the lowest loss at the end."""
        return int(self.x[self.rows[name].argmin()])

    def summary(self) -> str:
        each = [
            f"{name}: {row[0]:.3g} with patience {self.x[0]:g}, {row.min():.3g} with {self.best(name)}, "
            f"{row[-1]:.3g} with {self.x[-1]:g}"
            for name, row in self.rows.items()
        ]
        return "loss at the end, " + "; ".join(each)
