"""What does momentum do when gradients are noisy: is training smoother, is it faster? Small networks on the digits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from course_lib.compare import Comparison, compare
from course_lib.controls import Linear, Log, Progress, experiment, silent
from course_lib.data import Split
from course_lib.experiments._stacked import Net, forward, gradient, handwriting, losses, single_threaded, start

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
    progress: Progress = silent,
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
class Smoothness:
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


@experiment
@single_threaded
def smoothness(
    lr: Annotated[float, Log(0.05, 0.4)] = 0.3,
    batch: Annotated[int, Log(8, 64)] = 16,
    seeds: Annotated[int, Linear(4, 16)] = 12,
    *,
    seed: int = 0,
    progress: Progress = silent,
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
class Worth:
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


@experiment
@single_threaded
def worth(
    batch: Annotated[int, Log(4, 256)] = 8,
    steps: Annotated[int, Log(50, 200)] = 120,
    seeds: Annotated[int, Linear(4, 12)] = 8,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> Worth:
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
    return Worth(effective, np.array(scores), (chosen[0], chosen[1]), np.exp(logs), verdict, batch)
