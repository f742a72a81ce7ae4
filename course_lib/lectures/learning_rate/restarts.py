"""5.8  Folklore on trial: "warm restarts escape local minima". Do they leave the basin, and end better?"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.functional import cross_entropy

from course_lib.data import Split, digits, with_label_noise
from course_lib.models import mlp
from course_lib.optim import Transform, chain, sgd
from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Floats, Result
from course_lib.schedules import cosine, scale_by_schedule
from course_lib.style import BLUE, GREY, LINES, ORANGE, legend_above
from course_lib.train import Runs, fit_many
from course_lib.trials import Comparison, at_the_end, compare, grid, single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Weights = dict[str, Tensor]

SIZES, BATCH = (64, 32, 10), 16
POINTS = 21  # along a line between two networks, both ends included


@dataclass(frozen=True)
class Restarts(Result):
    """epochs, once: (cycles * length,) test loss after each epoch with restarts and in one cosine, mean over seeds.

    lines: (cycles - 1, 21, seeds) training loss along the line from the end of one cycle to the end of the next.
    strangers: (21, seeds) along the line between the ends of two seeds. restarted, single: (seeds,) test accuracy.
    Partial results have fewer cycles.
    """

    epochs: Floats
    once: Floats
    lines: Floats
    strangers: Floats
    restarted: Floats
    single: Floats

    @property
    def barriers(self) -> Floats:
        """(cycles - 1, seeds) how far the loss rises above the straight line between the two ends' losses."""
        return barrier(self.lines)

    @property
    def stranger_barriers(self) -> Floats:
        return barrier(self.strangers[None])[0]

    @property
    def gain(self) -> Comparison:
        """Test accuracy, restarts less single cosine, paired by seed."""
        return compare(self.restarted, self.single, names=("restarts", "single cosine"))

    def summary(self) -> str:
        highest = f"{self.barriers.max():.3f}" if self.barriers.size else "not known yet"
        return (
            f"highest barrier between cycles {highest}, between seeds {self.stranger_barriers.mean():.2f} on average; "
            f"accuracy {100 * self.gain.mean:+.2f} points: {self.gain.verdict}"
        )

    def draw(self, figure: "Figure"):
        """Left the test loss by epoch, right the training loss along the lines between ends of cycles and of seeds."""
        left, right = figure.subplots(1, 2)
        left.set(xlabel="share of the run", ylabel="test loss (nats)", yscale="log", xlim=(0, 1.03), ylim=(0.05, 2))
        (cycles,) = left.plot([], [], "o-", color=BLUE, ms=3.5, lw=1.3, label="restarts")
        (once,) = left.plot([], [], "s--", color=ORANGE, ms=3.5, lw=1.3, label="a single cosine")
        right.set(xlabel="share of the way from one network to the other", ylabel="training loss (nats)", yscale="log")
        right.set(xlim=(0, 1), ylim=(1e-3, 4))
        (strangers,) = right.plot([], [], color=GREY, lw=1, label="between two seeds")
        paths = [
            right.plot([], [], color=c, ls=ls, lw=1, label=f"cycle {i + 1} to {i + 2}")[0]
            for i, (c, ls) in enumerate(LINES[:3])
        ]
        legend_above(figure, [cycles, once, strangers, *paths])

        def joined(lines):
            """All seeds of one kind as a single line with gaps."""
            gap = np.full((1, lines.shape[1]), np.nan)
            share = np.append(np.linspace(0, 1, len(lines)), np.nan)
            return np.tile(share, lines.shape[1]), np.concatenate([lines, gap]).T.ravel().clip(1e-6)

        def redraw(result: Restarts):
            total = len(result.once)
            cycles.set_data(np.arange(1, len(result.epochs) + 1) / total, result.epochs)
            once.set_data(np.arange(1, total + 1) / total, result.once)
            strangers.set_data(*joined(result.strangers))
            for i, path in enumerate(paths):
                path.set_data(*(joined(result.lines[i]) if i < len(result.lines) else ([], [])))
            return cycles, once, strangers, *paths

        redraw(self)
        return redraw


def barrier(lines: Floats) -> Floats:
    """(n, seeds) of lines (n, 21, seeds): the largest height above the chord; 0 where the loss never rises above it."""
    share = np.linspace(0, 1, lines.shape[1])[:, None]
    chord = (1 - share) * lines[:, :1] + share * lines[:, -1:]
    return (lines - chord).max(axis=1)


@experiment
@single_threaded
def restarts(
    lr: Annotated[float, Log(0.1, 1.0)] = 0.6,
    cycles: Annotated[int, Linear(2, 4)] = 4,
    length: Annotated[int, Linear(1, 3)] = 3,
    label_noise: Annotated[float, Linear(0.0, 0.4)] = 0.0,
    seeds: Annotated[int, Linear(4, 8)] = 8,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> Restarts:
    """SGD in batches of 16: `cycles` cosines of `length` epochs each, one after the other, and one cosine as long.

    A share `label_noise` of the training labels is redrawn at random. Each cycle starts where the last one ended:
    that is training under warm_restarts.
    """
    data, each, total = with_label_noise(digits(), label_noise), range(seed, seed + seeds), cycles * length
    per_epoch = math.ceil(len(data.train) / BATCH)
    whole = grid(_cosine(total * per_epoch), {"lr": [lr]}, each, data, epochs=total, batch=BATCH, part="test")
    once, single = _mean(whole), at_the_end(whole, 1, "validation_accuracy")[0]
    models: list[nn.Module] = [mlp(SIZES, seed=s) for s in each]
    curves, lines = [], []
    before: Weights = {}
    for cycle in progress(range(cycles)):
        runs = fit_many(
            models,
            cross_entropy,
            _cosine(length * per_epoch),
            data.train,
            data.test,
            hyper={"lr": [lr] * seeds},
            seeds=[1000 * cycle + s for s in each],
            epochs=length,
            batch=BATCH,
        )
        models, after = [runs.model(i) for i in range(seeds)], dict(runs.weights)
        curves.append(_mean(runs))
        if before:
            lines.append(between(before, after, data.train))
        strangers = between(after, {name: w.roll(1, 0) for name, w in after.items()}, data.train)
        restarted, known = at_the_end(runs, 1, "validation_accuracy")[0], np.array(lines).reshape(-1, POINTS, seeds)
        preview(result := Restarts(np.concatenate(curves), once, known, strangers, restarted, single))
        before = after
    return result


def _cosine(steps: int):
    def made(lr) -> Transform:
        return chain(sgd(lr), scale_by_schedule(cosine(steps)))

    return made


def _mean(runs: Runs) -> Floats:
    """(epochs,) loss, mean over seeds."""
    return _cut(runs["validation_loss"]).mean(axis=0)


@torch.no_grad()
def between(a: Weights, b: Weights, part: Split) -> Floats:
    """(21, seeds) loss on `part` along the straight lines from the networks a to the networks b, seed by seed."""
    net = mlp(SIZES)

    def loss(weights: Weights) -> Tensor:
        return cross_entropy(functional_call(net, weights, (part.x,)), part.y)

    shares = torch.linspace(0, 1, POINTS).tolist()
    return _cut(torch.stack([vmap(loss)({name: torch.lerp(a[name], b[name], s) for name in a}) for s in shares]))


def _cut(losses: Tensor) -> Floats:
    return losses.double().nan_to_num(100.0, 100.0).clamp(max=100.0).numpy()
