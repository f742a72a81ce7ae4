"""What does momentum do when gradients are noisy: is training smoother, is it faster? Small networks on the digits."""

import math
from dataclasses import dataclass
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
from course_lib.results import Curves, Floats, Result
from course_lib.style import legend_above, lines
from course_lib.train import fit
from course_lib.trials import Comparison, compare, single_threaded

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
        jumps = self.against_plain("jumps", 1).largest / self.jumps[0].mean()
        return (
            f"steps that raise the training loss: {rises}; jumps of the batch loss at one effective lr: "
            f"apart by at most {jumps:.0%}"
        )

    def draw(self, figure: "Figure"):
        """Left the batch losses of one seed, middle the training loss of its last steps, right how often that rises."""
        left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 0.85))
        left.set(xlabel="step", ylabel="loss of the batch (nats)", yscale="log", xlim=(0, 200), ylim=(1e-3, 10))
        middle.set(xlabel="step", ylabel="training loss (nats)", yscale="log", xlim=(100, 200), ylim=(1e-2, 10))
        right.set(ylabel="share of steps that raise the\ntraining loss, each seed", xlim=(-0.5, 2.5), ylim=(0, 0.8))
        right.set_xticks([0, 1, 2], ["plain", "same\neff.", "same\n$\\eta$"])
        right.set_xlabel("training")
        curves, watched = (list(lines(ax, NAMES, lw=lw).values()) for ax, lw in ((left, 0.9), (middle, 1.4)))
        colors = [line.get_color() for line in curves]
        dots = [right.plot([], [], "o", color=color, ms=4, alpha=0.6)[0] for color in colors]
        means = [right.plot([], [], "D", color=color, ms=9, mec="black", mew=0.6)[0] for color in colors]
        legend_above(figure, watched)

        def redraw(result: Smoothness):
            aside = np.linspace(-0.2, 0.2, result.rises.shape[1])
            for i in range(3):
                curves[i].set_data(np.arange(result.seen.shape[1]), result.seen[i].clip(1e-6))
                watched[i].set_data(100 + np.arange(1, result.watched.shape[1] + 1), result.watched[i].clip(1e-6))
                dots[i].set_data(i + aside, result.rises[i])
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
    """The network of these sections, 64-32-10."""
    return mlp((64, 32, 10), "tanh", seed=seed)


@dataclass(frozen=True)
class LossByRate(Curves):
    """Training loss at the end by effective learning rate, "plain" and "momentum": geometric means over seeds."""

    xlabel = r"effective learning rate $\eta / (1 - \beta)$"
    ylabel = "training loss at the end (nats)"
    scales = ("log", "log")
    limits = ((0.08, 70), (1e-4, 150))

    def best(self, name: str) -> float:
        """The effective learning rate with the lowest loss."""
        return float(self.x[self.rows[name].argmin()])

    @property
    def gain(self) -> float:
        """How many times lower momentum's loss is, each at its best."""
        return float(self.rows["plain"].min() / self.rows["momentum"].min())

    def summary(self) -> str:
        at = f"effective lr {self.best('plain'):.3g} plain, {self.best('momentum'):.3g} with momentum"
        return f"best {at}; each at its best, plain's loss is {self.gain:.2f} times momentum's"
