"""Reduce-on-plateau: the schedule that looks at the loss, and what its patience does when the loss is noisy."""

import functools
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from course_lib.controls import Linear, Log, Progress, Show, experiment, silent, unseen

Array = NDArray[np.float64]

EPOCHS = 120
CURVATURES, STARTS = (1.0, 0.004), (4.0, 900.0)  # of the two directions; theta^2 at the start
UPDATES = 10  # in an epoch
LR, FLOOR = 1.0, 1e-4  # the learning rate at the start, and the least that it is reduced to


@dataclass(frozen=True)
class PlateauRun:
    """loss, observed: (121,) expected loss after each epoch, 0 the start, and as it was seen. lrs: (121,) after it."""

    loss: Array
    observed: Array
    lrs: Array
    patience: int

    @property
    def reductions(self) -> NDArray[np.int64]:
        """The epochs after which the learning rate was reduced."""
        return np.flatnonzero(np.diff(self.lrs) < 0) + 1

    def summary(self) -> str:
        first = f", the first after epoch {self.reductions[0]}" if len(self.reductions) else ""
        return f"reductions: {len(self.reductions)}{first}; loss at the end {self.loss[-1]:.3g}"


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

    The expected loss is computed, not sampled: the only noise in the picture is that of looking.
    """
    errors = _errors(seed)
    moments: tuple[float, ...] = STARTS
    lr, best, bad = LR, np.inf, 0
    start = loss_of(moments)
    losses, observed, lrs = [start], [start], [lr]
    for epoch in range(EPOCHS):
        moments = after_epoch(moments, lr)
        losses.append(loss_of(moments))
        seen = losses[-1] * max(1 + noise * errors[epoch], 0.01)
        observed.append(seen)
        lr, best, bad = observe(lr, best, bad, seen, patience=patience, factor=factor, threshold=threshold)
        lrs.append(lr)
    return PlateauRun(np.array(losses), np.array(observed), np.array(lrs), patience)


def observe(lr, best, bad, loss, *, patience, factor, threshold) -> tuple[float, float, int]:
    """The state machine of `course_lib.schedules.reduce_on_plateau`, without cooldown, on floats; floor is FLOOR."""
    if loss < best * (1 - threshold):
        best, bad = loss, 0
    else:
        bad += 1
    return (max(factor * lr, FLOOR), best, 0) if bad > patience else (lr, best, bad)


def loss_of(moments: tuple[float, ...]) -> float:
    return sum(curvature * m / 2 for curvature, m in zip(CURVATURES, moments, strict=True))


def after_epoch(moments: tuple[float, ...], lr: float) -> tuple[float, ...]:
    """E theta^2 of both directions after UPDATES updates with gradient noise of variance 1, by M <- a M + lr^2."""
    after = []
    for curvature, moment in zip(CURVATURES, moments, strict=True):
        a = (1 - lr * curvature) ** 2
        whole = a**UPDATES
        after.append(whole * moment + lr**2 * (1 - whole) / (1 - a))
    return tuple(after)


@functools.lru_cache(maxsize=256)
def _errors(seed: int) -> list[float]:
    return np.random.default_rng(seed).standard_normal(EPOCHS).tolist()


@dataclass(frozen=True)
class PatienceSweep:
    """patiences: (21,). ends, first: (21, seeds) loss at the end, and epoch of the first reduction (120 if none)."""

    patiences: NDArray[np.int64]
    ends: Array
    first: Array
    noise: float

    @property
    def best(self) -> int:
        """The patience with the lowest mean loss at the end."""
        return int(self.patiences[self.ends.mean(axis=1).argmin()])

    def summary(self) -> str:
        means = self.ends.mean(axis=1)
        return (
            f"error of looking {100 * self.noise:.0f} %: loss at the end {means[0]:.3g} with patience 0, "
            f"{means.min():.3g} with {self.best}, {means[-1]:.3g} with {self.patiences[len(means) - 1]}"
        )


@experiment
def patience_sweep(
    noise: Annotated[float, Linear(0.0, 0.3)] = 0.1,
    factor: Annotated[float, Linear(0.1, 0.8)] = 0.3,
    seeds: Annotated[int, Linear(4, 40)] = 20,
    *,
    seed: int = 0,
    progress: Progress = silent,
    show: Show = unseen,
) -> PatienceSweep:
    """Run `plateau` with every patience from 0 to 20, on the same errors of looking for each."""
    patiences, ends, first = np.arange(21), [], []
    for patience in progress(range(21)):
        runs = [plateau(patience, noise, factor, seed=s) for s in range(seed, seed + seeds)]
        ends.append([run.loss[-1] for run in runs])
        first.append([run.reductions[0] if len(run.reductions) else EPOCHS for run in runs])
        show(PatienceSweep(patiences[: len(ends)], np.array(ends), np.array(first, dtype=np.float64), noise))
    return PatienceSweep(patiences, np.array(ends), np.array(first, dtype=np.float64), noise)
