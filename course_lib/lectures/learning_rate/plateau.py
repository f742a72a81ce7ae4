"""Reduce-on-plateau: the schedule that looks at the loss, and what its patience does when the loss is noisy."""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREEN, GREY, INK, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


EPOCHS = 120
CURVATURES, STARTS = (1.0, 0.004), (4.0, 900.0)  # of the two directions; theta^2 at the start
UPDATES = 10  # in an epoch
LR, FLOOR = 1.0, 1e-4  # the learning rate at the start, and the least that it is reduced to


@dataclass(frozen=True)
class PlateauRun(Result):
    """loss, observed: (121,) expected loss after each epoch, 0 the start, and as it was seen. lrs: (121,) after it."""

    loss: Floats
    observed: Floats
    lrs: Floats
    patience: int

    @property
    def reductions(self) -> NDArray[np.int64]:
        """The epochs after which the learning rate was reduced."""
        return np.flatnonzero(np.diff(self.lrs) < 0) + 1

    def summary(self) -> str:
        first = f", the first after epoch {self.reductions[0]}" if len(self.reductions) else ""
        return f"reductions: {len(self.reductions)}{first}; loss at the end {self.loss[-1]:.3g}"

    def draw(self, figure: "Figure"):
        """Above the loss and what was seen of it, below the learning rate, each reduction marked."""
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
        top.set(ylabel="loss", yscale="log", xlim=(0, 120), ylim=(0.005, 6))
        top.set_xlabel("epoch")
        (seen,) = top.plot([], [], ".", color=GREY, ms=4, label="as it was seen")
        (loss,) = top.plot([], [], color=BLUE, label="loss")
        (marks,) = top.plot([], [], "v", color=RED, ms=7, label="reduction")
        figure.legend(handles=[loss, seen, marks], loc="outside upper center", ncols=3)
        bottom.set(xlabel="epoch", ylabel=r"$\eta$", yscale="log", ylim=(5e-5, 3))
        (lr,) = bottom.plot([], [], color=GREEN, drawstyle="steps-post")

        def redraw(result: PlateauRun):
            epochs = np.arange(len(result.loss))
            seen.set_data(epochs, result.observed.clip(1e-6))
            loss.set_data(epochs, result.loss)
            marks.set_data(result.reductions, result.loss[result.reductions])
            lr.set_data(epochs, result.lrs.clip(1e-12))
            return seen, loss, marks, lr

        redraw(self)
        return redraw


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
class PatienceSweep(Result):
    """patiences: (21,). ends, first: (21, seeds) loss at the end, and epoch of the first reduction (120 if none)."""

    patiences: NDArray[np.int64]
    ends: Floats
    first: Floats
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

    def draw(self, figure: "Figure"):
        """Left the loss at the end, right the epoch of the first reduction, against the patience; dots are seeds."""
        axes = figure.subplots(1, 2)
        axes[0].set(xlabel="patience (epochs)", ylabel="loss at the end", yscale="log", xlim=(-1, 21), ylim=(0.005, 6))
        axes[1].set(xlabel="patience (epochs)", ylabel="epoch of the first reduction", xlim=(-1, 21), ylim=(0, 125))
        dots = [ax.plot([], [], "o", color=c, ms=3, alpha=0.4)[0] for ax, c in zip(axes, (BLUE, GREEN), strict=True)]
        means = [ax.plot([], [], color=INK, lw=1.4)[0] for ax in axes]

        def redraw(result: PatienceSweep):
            for dot, mean, rows in zip(dots, means, (result.ends, result.first), strict=True):
                known = result.patiences[: len(rows)]
                dot.set_data(np.repeat(known, rows.shape[1]), rows.ravel())
                mean.set_data(known, rows.mean(axis=1))
            return *dots, *means

        redraw(self)
        return redraw


@experiment
def patience_sweep(
    noise: Annotated[float, Linear(0.0, 0.3)] = 0.1,
    factor: Annotated[float, Linear(0.1, 0.8)] = 0.3,
    seeds: Annotated[int, Linear(4, 40)] = 20,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> PatienceSweep:
    """Run `plateau` with every patience from 0 to 20, on the same errors of looking for each."""
    patiences, ends, first = np.arange(21), [], []
    for patience in progress(range(21)):
        runs = [plateau(patience, noise, factor, seed=s) for s in range(seed, seed + seeds)]
        ends.append([run.loss[-1] for run in runs])
        first.append([run.reductions[0] if len(run.reductions) else EPOCHS for run in runs])
        preview(PatienceSweep(patiences[: len(ends)], np.array(ends), np.array(first, dtype=np.float64), noise))
    return PatienceSweep(patiences, np.array(ends), np.array(first, dtype=np.float64), noise)
