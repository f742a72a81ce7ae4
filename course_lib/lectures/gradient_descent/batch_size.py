"""How large a batch is worth its price, and what must happen to the learning rate when it grows?"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from course_lib.data import Split, digits
from course_lib.lectures.gradient_descent.network import handwriting, losses, noise_and_signal, start, step
from course_lib.models import mlp
from course_lib.optim import sgd
from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREEN, GREY, INK, ORANGE, RED
from course_lib.trials import at_the_end, grid, single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class BatchSweep(Result):
    """Steps of SGD until the mean training loss of three seeds is below `target`, at the best of ten learning rates.

    batches, steps, lrs: (9,). noise_scale: tr(Sigma) / |G|^2, averaged over the steps of a run that gets there.
    """

    batches: NDArray[np.int64]
    steps: NDArray[np.int64]
    lrs: Floats
    target: float
    noise_scale: float

    @property
    def fit(self) -> tuple[float, float]:
        """S_min and B_crit of S = S_min (1 + B_crit / B) (McCandlish et al. 2018), by least relative squares."""
        rows = np.stack([1 / self.steps, 1 / (self.batches * self.steps)], axis=1)
        fewest, product = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
        return float(fewest), float(product / fewest)

    @property
    def examples(self) -> NDArray[np.int64]:
        """(9,) examples processed to reach the target: the price."""
        return self.steps * self.batches

    def summary(self) -> str:
        fewest, critical = self.fit
        return (
            f"{self.steps[0]} steps at batch {self.batches[0]}, {self.steps[-1]} at {self.batches[-1]}; fit: "
            f"{fewest:.1f} steps at least, critical batch {critical:.0f}; noise scale on the way {self.noise_scale:.0f}"
        )

    def draw(self, figure: "Figure"):
        """Left steps to the target against the batch, right the learning rate that got there first."""
        left, right = figure.subplots(1, 2)
        left.set(xlabel="batch size $B$", ylabel="steps to the target", xscale="log", yscale="log")
        left.set(xlim=(1.5, 700), ylim=(1, 5000))
        (measured,) = left.plot([], [], "o", color=BLUE, label="measured")
        (fitted,) = left.plot([], [], color=ORANGE, label=r"fit, $S_{\min}(1 + B_{\mathrm{crit}}/B)$")
        (critical,) = left.plot([], [], color=RED, ls="--", lw=1.2, label=r"$B_{\mathrm{crit}}$")
        (noise,) = left.plot([], [], color=GREEN, ls=":", label="noise scale")
        left.legend(loc="upper right")
        right.set(xlabel="batch size $B$", ylabel="best learning rate of the grid", xscale="log", yscale="log")
        right.set(xlim=(1.5, 700), ylim=(0.02, 20))
        (lrs,) = right.plot([], [], "o", color=BLUE, label="measured")
        (linear,) = right.plot([], [], color=GREY, ls="--", label=r"proportional to $B$")
        right.legend(loc="lower right")
        grid = np.geomspace(1.5, 700, 100)

        def redraw(result: BatchSweep):
            fewest, crit = result.fit
            measured.set_data(result.batches, result.steps)
            fitted.set_data(grid, np.clip(fewest * (1 + crit / grid), 1e-3, None))
            critical.set_data([crit, crit], [1, 5000])
            noise.set_data([result.noise_scale] * 2, [1, 5000])
            lrs.set_data(result.batches, result.lrs)
            first = np.exp(np.log(result.lrs[:4] / result.batches[:4]).mean())
            linear.set_data(grid, first * grid)
            return measured, fitted, critical, noise, lrs, linear

        redraw(self)
        return redraw


@experiment
@single_threaded
def batch_sweep(
    target: Annotated[float, Log(0.1, 0.5)] = 0.15, *, seed: int = 0, progress: Progress = no_progress
) -> BatchSweep:
    """For batches from 2 to 512, race 30 networks (ten learning rates, three seeds) to a training loss of `target`.

    The loss is that of every third row of the training part, looked at whenever the run has grown by 5 %.
    """
    seeds = range(seed, seed + 3)
    lrs = 0.04 * 2.0 ** np.arange(10, dtype=np.float64)
    batches, steps, best = 2 ** np.arange(1, 10), [], []
    for batch in progress(batches):
        taken, winner = _race(int(batch), lrs, seeds, target)
        steps.append(taken)
        best.append(lrs[winner])
    return BatchSweep(batches, np.array(steps), np.array(best), target, _scale_on_the_way(seeds, target))


def _race(batch: int, lrs: Floats, seeds: range, target: float) -> tuple[int, int]:
    """Steps until the first learning rate's mean loss over the seeds is below target, and its place among them."""
    part, generator = handwriting()[0], torch.Generator().manual_seed(1000 * seeds[0] + batch)
    watched = Split(part.x[::3], part.y[::3])
    net = start([s for _ in lrs for s in seeds])
    rates = torch.from_numpy(np.repeat(lrs, len(seeds))).float()[:, None, None]
    taken = 0
    while True:
        for _ in range(max(1, taken // 20)):
            rows = torch.randint(len(part), (len(rates), batch), generator=generator)
            net = step(net, part.x[rows], part.y[rows], rates)
            taken += 1
        means = losses(net, watched).view(len(lrs), -1).mean(dim=1).nan_to_num(math.inf)
        if means.min() < target:
            return taken, int(means.argmin())


def _scale_on_the_way(seeds: range, target: float) -> float:
    part, generator = handwriting()[0], torch.Generator().manual_seed(seeds[0])
    net, lrs, scales = start(seeds), torch.full((len(seeds), 1, 1), 0.5), []
    while losses(net, part).mean() > target:
        noise, signal = noise_and_signal(net, part)
        scales.append(float((noise / signal).mean()))
        rows = torch.randint(len(part), (len(seeds), 16), generator=generator)
        net = step(net, part.x[rows], part.y[rows], lrs)
    return float(np.mean(scales))


@dataclass(frozen=True)
class LinearScaling(Result):
    """Training loss after equal epochs, mean over the seeds, cut at 100, for the batches tried so far, at last ten.

    batches, fixed, scaled: (k,), the learning rate kept, and proportional to the batch.
    """

    batches: NDArray[np.int64]
    fixed: Floats
    scaled: Floats
    base_lr: float

    @property
    def holds_to(self) -> int:
        """The largest batch whose scaled loss is within half as much again of that of batch 1."""
        return int(self.batches[self.scaled <= 1.5 * self.scaled[0]].max())

    def summary(self) -> str:
        top = self.base_lr * self.holds_to
        return f"scaling the learning rate with the batch holds to batch {self.holds_to}, where it is {top:.2g}"

    def draw(self, figure: "Figure"):
        """Training loss after equal epochs against the batch size: learning rate kept, and scaled with the batch."""
        ax = figure.subplots()
        ax.set(xlabel="batch size $B$", ylabel="training loss after equal epochs (nats)", xscale="log", yscale="log")
        ax.set(xlim=(0.8, 700), ylim=(1e-2, 150))
        (fixed,) = ax.plot([], [], "s--", color=ORANGE, ms=4, label="same learning rate for every batch")
        (scaled,) = ax.plot([], [], "o-", color=BLUE, ms=5, label="learning rate proportional to the batch")
        ax.axhline(np.log(10), color=INK, lw=0.8, ls=":")
        ax.text(0.9, np.log(10) * 1.08, "guessing, ln 10", fontsize=8)
        ax.legend(loc="upper left")

        def redraw(result: LinearScaling):
            fixed.set_data(result.batches, result.fixed)
            scaled.set_data(result.batches, result.scaled)
            return fixed, scaled

        redraw(self)
        return redraw


@experiment
@single_threaded
def linear_scaling(
    base_lr: Annotated[float, Log(0.005, 0.08)] = 0.04,
    epochs: Annotated[int, Linear(1, 3)] = 3,
    seeds: Annotated[int, Linear(2, 4)] = 3,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> LinearScaling:
    """Train with batches from 1 to 512 for equal epochs, the learning rate base_lr, and base_lr times the batch."""
    batches, rows, data = 2 ** np.arange(10), [], digits()
    for batch in progress(batches.tolist()):
        lrs, each = [base_lr, base_lr * batch], range(seed, seed + seeds)
        runs = grid(sgd, {"lr": lrs}, each, data, model=tanh_mlp, epochs=epochs, batch=batch, part="train")
        rows.append(at_the_end(runs, 2).clip(max=100).mean(axis=1))
        fixed, scaled = np.array(rows).T
        preview(result := LinearScaling(batches[: len(rows)], fixed, scaled, base_lr))
    return result


def tanh_mlp(seed: int) -> nn.Module:
    """The network of this lecture, 64-32-10."""
    return mlp((64, 32, 10), "tanh", seed=seed)
