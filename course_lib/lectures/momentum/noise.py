"""What does momentum do when gradients are noisy: is training smoother, is it faster? Small networks on the digits."""

import math
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Annotated

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_lib.data import Split, digits
from course_lib.models import mlp
from course_lib.optim import Stepper, sgd
from course_lib.ranges import Linear, Log, Progress, experiment, no_progress
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREEN, GREY, LINES, ORANGE, RED
from course_lib.train import fit
from course_lib.trials import Comparison, at_the_end, compare, grid, single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BETA = 0.9


NAMES = ("plain", "momentum, same effective lr", "momentum, same lr")


@dataclass(frozen=True)
class Smoothness(Result):
    """Three trainings of each seed: plain SGD, momentum with lr (1 - beta), momentum with the same lr; beta is 0.9.

    seen: (3, steps) the batches' losses, and watched: (3, n) the training loss in the last n steps, both of one seed.
    jumps: (3, seeds) mean size of the change from one batch's loss to the next, in nats, over the last n steps.
    rises: (3, seeds) share of the last n steps that raise the training loss. ends: (3, seeds) training loss at the end.
    """

    seen: Floats
    watched: Floats
    jumps: Floats
    rises: Floats
    ends: Floats

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
    runs = [_train(lr, beta, s, batch) for (lr, beta), s in progress(list(product(settings, each)))]
    seen, watched = (np.array(rows).clip(max=100) for rows in zip(*runs, strict=True))
    jumps, rises = np.abs(np.diff(seen[:, -100:], axis=1)).mean(axis=1), (np.diff(watched, axis=1) > 0).mean(axis=1)
    measures = (a.reshape(3, seeds) for a in (jumps, rises, watched[:, -1]))
    return Smoothness(seen[::seeds], watched[::seeds], *measures)


def _train(lr: float, beta: float, seed: int, batch: int, steps: int = 200) -> tuple[Floats, Floats]:
    """(steps,) each batch's loss, and (100,) the training loss on every third row after each of the last 100 steps."""
    part, model = digits().train, tanh_mlp(seed)
    third, watched = Split(part.x[::3], part.y[::3]), []

    @torch.no_grad()
    def watch(step: int, loss: Tensor) -> None:
        if steps - 100 < step <= steps:
            watched.append(float(cross_entropy(model(third.x), third.y)))

    optimizer, epochs = Stepper(model.parameters(), sgd(lr, beta)), math.ceil(steps * batch / len(part))
    history = fit(model, cross_entropy, optimizer, part, epochs=epochs, batch=batch, seed=seed, on_step=watch)
    return history.loss[:steps].double().numpy(), np.array(watched)


def tanh_mlp(seed: int) -> nn.Module:
    """The network of this section, 64-32-10."""
    return mlp((64, 32, 10), "tanh", seed=seed)


@dataclass(frozen=True)
class MomentumGain(Result):
    """Training loss after equal steps, plain SGD and momentum, by effective learning rate lr / (1 - beta).

    effective: (10,). losses: (2, 10) means over three seeds, cut at 100. chosen: the best of each.
    tested: (2, seeds) the loss of new seeds at the chosen ones. comparison: of its logarithm, plain less momentum.
    """

    effective: Floats
    losses: Floats
    chosen: tuple[float, float]
    tested: Floats
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
    """Give plain SGD and momentum (0.9) ten effective learning rates, choose on three seeds, compare on new ones.

    They train for the number of epochs that comes nearest to `steps`."""
    effective, data = np.geomspace(0.1, 51.2, 10), digits()
    epochs = max(1, round(steps * batch / len(data.train)))
    train = partial(grid, data=data, model=tanh_mlp, epochs=epochs, batch=batch, part="train")
    scores, chosen, tested = [], [], []
    for beta in progress((0.0, BETA)):
        make = partial(sgd, beta=beta)
        tuned = train(make, {"lr": (effective * (1 - beta)).tolist()}, range(seed + 500, seed + 503))
        scores.append(at_the_end(tuned, 10).clip(max=100).mean(axis=1))
        chosen.append(float(effective[scores[-1].argmin()]))
        fresh = train(make, {"lr": [chosen[-1] * (1 - beta)]}, range(seed, seed + seeds))
        tested.append(at_the_end(fresh, 1)[0])
    verdict = compare(*np.log(tested), names=("plain", "momentum"))
    return MomentumGain(effective, np.array(scores), (chosen[0], chosen[1]), np.array(tested), verdict, batch)
