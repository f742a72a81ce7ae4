"""What does momentum do when gradients are noisy: is training smoother, is it faster? Small networks on the digits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from course_lib.data import Split
from course_lib.ranges import Linear, Log, Progress, experiment, no_progress
from course_lib.results import Result
from course_lib.style import BLUE, GREEN, GREY, LINES, ORANGE, RED
from course_lib.trials import single_threaded
from course_lib.trials.compare import Comparison, compare
from course_lib.trials.stacked import Net, forward, gradient, handwriting, losses, start

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
BETA = 0.9


@dataclass(frozen=True)
class Training:
    """What a training left. net: the copies. seen: (steps, S) each batch's loss before its step.

    watched: (n, S) the training loss, on every third row, after each of the last n steps.
    """

    net: Net
    seen: Tensor
    watched: Tensor


def train(
    runs: Sequence[tuple[float, float, int]],
    steps: int,
    batch: int,
    *,
    watch: int = 0,
    draw: int = 0,
    progress: Progress = no_progress,
) -> Training:
    """Train a copy for each (lr, beta, seed), heavy ball in torch's form; equal seeds share start and batches.

    Batches are drawn without replacement, from a new shuffle every epoch; `draw` decides the shuffles of all seeds.
    """
    part, generator = handwriting()[0], torch.Generator().manual_seed(draw)
    third = Split(part.x[::3], part.y[::3])
    lrs, betas = (torch.tensor([r[i] for r in runs])[:, None, None] for i in (0, 1))
    seeds = sorted({seed for _, _, seed in runs})
    place = [seeds.index(seed) for _, _, seed in runs]
    net = start([seed for _, _, seed in runs])
    velocity = Net(*(torch.zeros_like(p) for p in net))
    seen, watched, per_epoch = [], [losses(net, third)], len(part) // batch
    for t in progress(range(steps)):
        if t % per_epoch == 0:
            order = torch.rand(len(seeds), len(part), generator=generator).argsort(dim=1)
        rows = order[:, t % per_epoch * batch :][:, :batch][place]
        x, y = part.x[rows], part.y[rows]
        seen.append(-(torch.log_softmax(forward(net, x)[1], dim=-1) * y).sum(dim=-1).mean(dim=-1))
        velocity = Net(*(betas * v + g for v, g in zip(velocity, gradient(net, x, y), strict=True)))
        net = Net(*(p - lrs * v for p, v in zip(net, velocity, strict=True)))
        if t >= steps - watch:
            watched.append(losses(net, third))
    return Training(net, torch.stack(seen), torch.stack(watched[1:] or watched))


NAMES = ("plain", "momentum, same effective lr", "momentum, same lr")


@dataclass(frozen=True)
class Smoothness(Result):
    """Three trainings of each seed: plain SGD, momentum with lr (1 - beta), momentum with the same lr; beta is 0.9.

    seen: (3, steps) the batches' losses, and watched: (3, n) the training loss in the last n steps, both of one seed.
    jumps: (3, seeds) mean size of the change from one batch's loss to the next, in nats, over the last n steps.
    rises: (3, seeds) share of the last n steps that raise the training loss. ends: (3, seeds) training loss at the end.
    """

    seen: Array
    watched: Array
    jumps: Array
    rises: Array
    ends: Array

    def against_plain(self, measure: str, kind: int) -> Comparison:
        """Momentum (1: same effective lr, 2: same lr) less plain, of "jumps", "rises" or "ends", paired by seed."""
        rows = getattr(self, measure)
        return compare(rows[kind], rows[0], names=(NAMES[kind], NAMES[0]))

    def summary(self) -> str:
        rises = ", ".join(f"{n} {r:.0%}" for n, r in zip(NAMES, self.rises.mean(axis=1), strict=True))
        jumps = self.against_plain("jumps", 1).verdict
        return f"steps that raise the training loss: {rises}; jumps of the batch loss at one effective lr: {jumps}"

    def draw(self, figure: "Figure"):
        """Left the batch losses of one seed, middle the training loss of its last steps, right how often that rises."""
        left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 0.85))
        left.set(xlabel="step", ylabel="loss of the batch (nats)", yscale="log", xlim=(0, 200), ylim=(1e-3, 10))
        middle.set(xlabel="step", ylabel="training loss (nats)", yscale="log", xlim=(100, 200), ylim=(1e-2, 10))
        right.set(ylabel="share of steps that raise the\ntraining loss, each seed", xlim=(-0.5, 2.5), ylim=(0, 0.8))
        right.set_xticks([0, 1, 2], ["plain", "same\neff.", "same\n$\\eta$"])
        right.set_xlabel("training")
        looks = LINES[:3]
        curves = [left.plot([], [], color=c, ls=ls, lw=0.9)[0] for c, ls in looks]
        watched = [
            middle.plot([], [], color=c, ls=ls, lw=1.4, label=n)[0] for (c, ls), n in zip(looks, NAMES, strict=True)
        ]
        dots = [right.plot([], [], "o", color=c, ms=4, alpha=0.6)[0] for c, _ in looks]
        means = [right.plot([], [], "D", color=c, ms=9, mec="black", mew=0.6)[0] for c, _ in looks]
        figure.legend(handles=watched, loc="outside upper center", ncols=3)

        def redraw(result: Smoothness):
            for i in range(3):
                curves[i].set_data(np.arange(result.seen.shape[1]), result.seen[i].clip(1e-6))
                watched[i].set_data(100 + np.arange(1, result.watched.shape[1] + 1), result.watched[i].clip(1e-6))
                seeds = len(result.rises[i])
                dots[i].set_data(i + np.linspace(-0.2, 0.2, seeds), result.rises[i])
                means[i].set_data([i], [result.rises[i].mean()])
            return *curves, *watched, *dots, *means

        redraw(self)
        return redraw


@experiment
@single_threaded
def smoothness(
    lr: Annotated[float, Log(0.05, 0.4)] = 0.3,
    batch: Annotated[int, Log(8, 64)] = 16,
    seeds: Annotated[int, Linear(4, 16)] = 12,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Smoothness:
    """Train each seed for 200 steps three times, on the same batches, and watch the last 100 steps."""
    settings, each = ((lr, 0.0), (lr * (1 - BETA), BETA), (lr, BETA)), range(seed, seed + seeds)
    runs = [(*setting, s) for setting in settings for s in each]
    result = train(runs, 200, batch, watch=100, draw=seed, progress=progress)
    seen, watched = (a.nan_to_num(100).clamp(max=100).double().numpy() for a in (result.seen, result.watched))
    jumps, rises = np.abs(np.diff(seen[-100:], axis=0)).mean(axis=0), (np.diff(watched, axis=0) > 0).mean(axis=0)
    return Smoothness(
        seen[:, ::seeds].T, watched[:, ::seeds].T, *(a.reshape(3, seeds) for a in (jumps, rises, watched[-1]))
    )


@dataclass(frozen=True)
class MomentumGain(Result):
    """Training loss after equal steps, plain SGD and momentum, by effective learning rate lr / (1 - beta).

    effective: (10,). losses: (2, 10) means over three seeds, cut at 100. chosen: the best of each.
    tested: (2, seeds) the loss of new seeds at the chosen ones. comparison: of its logarithm, plain less momentum.
    """

    effective: Array
    losses: Array
    chosen: tuple[float, float]
    tested: Array
    comparison: Comparison
    batch: int

    @property
    def gain(self) -> float:
        """How many times lower momentum's loss is, each at its best: the geometric mean over the new seeds."""
        return math.exp(self.comparison.mean)

    def summary(self) -> str:
        at = "effective lr {:.3g} plain, {:.3g} with momentum".format(*self.chosen)
        ratio = f"plain's loss is {self.gain:.2f} times momentum's"
        return f"batch {self.batch}, best {at}; {ratio}: {self.comparison.verdict}"

    def draw(self, figure: "Figure"):
        """Left the loss against the effective learning rate, right the loss of new seeds at the best of each."""
        left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
        left.set(xlabel=r"effective learning rate $\eta / (1 - \beta)$", ylabel="training loss at the end (nats)")
        left.set(xscale="log", yscale="log", xlim=(0.08, 70), ylim=(1e-4, 150))
        left.axhline(np.log(10), color=GREY, lw=0.8, ls=":")
        left.text(0.09, np.log(10) * 1.15, "guessing, ln 10", fontsize=8)
        marks = ((BLUE, "o-", "plain"), (RED, "s--", r"momentum, $\beta = 0.9$"))
        lines = [left.plot([], [], mark, color=c, ms=5, label=name)[0] for c, mark, name in marks]
        left.legend(loc="upper left")
        right.set(
            xlabel="method", ylabel="loss of new seeds at the best", yscale="log", xlim=(-0.5, 1.5), ylim=(1e-4, 1)
        )
        right.set_xticks([0, 1], ["plain", "momentum"])
        pairs = [right.plot([], [], "o-", color=GREEN, lw=0.8, ms=4)[0] for _ in range(12)]
        (means,) = right.plot([], [], "D", color=ORANGE, ms=9, mec="black", mew=0.6)

        def redraw(result: MomentumGain):
            for line, row in zip(lines, result.losses, strict=True):
                line.set_data(result.effective, row)
            for i, pair in enumerate(pairs):
                pair.set_data([0, 1], result.tested[:, i] if i < result.tested.shape[1] else [np.nan, np.nan])
            means.set_data([0, 1], np.exp(np.log(result.tested).mean(axis=1)))
            return *lines, *pairs, means

        redraw(self)
        return redraw


@experiment
@single_threaded
def momentum_gain(
    batch: Annotated[int, Log(4, 256)] = 8,
    steps: Annotated[int, Log(50, 200)] = 120,
    seeds: Annotated[int, Linear(4, 12)] = 8,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
) -> MomentumGain:
    """Give plain SGD and momentum (0.9) ten effective learning rates, choose on three seeds, compare on new ones."""
    effective, scores, chosen, tested = np.geomspace(0.1, 51.2, 10), [], [], []
    tuning, fresh, part = range(seed + 500, seed + 503), range(seed, seed + seeds), handwriting()[0]
    for beta in (0.0, BETA):
        runs = [(float(e) * (1 - beta), beta, s) for e in effective for s in tuning]
        net = train(runs, steps, batch, draw=seed, progress=progress).net
        means = losses(net, part).view(10, -1).mean(dim=1).nan_to_num(100).clamp(max=100)
        scores.append(means.double().numpy())
        chosen.append(float(effective[int(means.argmin())]))
        final = train([(chosen[-1] * (1 - beta), beta, s) for s in fresh], steps, batch, draw=seed + 1).net
        tested.append(losses(final, part).double().numpy())
    logs: Array = np.log(tested)
    verdict = compare(logs[0], logs[1], names=("plain", "momentum"))
    return MomentumGain(effective, np.array(scores), (chosen[0], chosen[1]), np.exp(logs), verdict, batch)
