"""Two sayings about Adam before the court: it needs no tuning, and it generalizes worse than SGD. Equal budgets."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from course_lib.data import Dataset, Split, digits, mnist1d
from course_lib.models import mlp
from course_lib.optim import Transform, adam, sgd
from course_lib.ranges import Linear, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Result
from course_lib.style import BLUE, GREEN, GREY, INK, RED
from course_lib.train import fit_many
from course_lib.trials import single_threaded
from course_lib.trials.compare import Comparison, compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


class Task(NamedTuple):
    """loss_scale: what the loss is multiplied by, which changes nothing but its units."""

    data: Callable[[], Dataset]
    sizes: tuple[int, ...]
    batch: int
    loss_scale: float = 1.0


def momentum(lr: float | Tensor) -> Transform:
    return sgd(lr, 0.9)


OPTIMIZERS: dict[str, tuple[Callable[..., Transform], Array]] = {
    "SGD": (momentum, np.logspace(-4, 0, 9)),
    "Adam": (adam, np.logspace(-5, -1, 9)),
}
"""name -> (lr -> transform, the 9 learning rates that it may try, over four decades). SGD has momentum 0.9."""
DEFAULT = 1e-3  # Adam's lr in the paper, and in every library
_digits = functools.cache(digits)


@functools.cache
def _mnist1d() -> Dataset:
    """The first 1000 of its training rows: few enough to be learned by heart."""
    whole = mnist1d()
    return replace(whole, train=Split(whole.train.x[:1000], whole.train.y[:1000]))


TASKS: dict[str, Task] = {
    "digits": Task(_digits, (64, 32, 10), 64),
    "digits, deep": Task(_digits, (64, 32, 32, 32, 32, 10), 64),
    "digits, loss x 100": Task(_digits, (64, 32, 10), 64, 100.0),
    "MNIST-1D": Task(_mnist1d, (40, 64, 10), 64),
}


def trained(
    task: Task, name: str, lrs: Sequence[float] | Array, seeds: Sequence[int], epochs: int, train: Split, judge: Split
) -> tuple[Array, Array]:
    """(runs,) accuracy on `judge` at the end, 0 where the run diverged, and the last epoch's training loss.

    Run i has learning rate lrs[i]; seeds[i] decides its start and its batches, for both optimizers alike.
    """
    runs = fit_many(
        [mlp(task.sizes, seed=seed) for seed in seeds],
        lambda outputs, labels: task.loss_scale * cross_entropy(outputs, labels),
        OPTIMIZERS[name][0],
        train,
        judge,
        hyper={"lr": list(lrs)},
        seeds=list(seeds),
        epochs=epochs,
        batch=task.batch,
    )
    lost = runs.diverged_at > 0
    accuracy = torch.where(lost, 0.0, runs["validation_accuracy"][:, -1])
    loss = torch.where(lost, torch.nan, runs["train_loss"][:, -1] / task.loss_scale)
    return accuracy.double().numpy(), loss.double().numpy()


def swept(task: Task, name: str, seeds: Sequence[int], epochs: int, train: Split) -> Array:
    """(9, seeds) validation accuracy of every learning rate that the optimizer may try."""
    grid = OPTIMIZERS[name][1]
    lrs, each = np.repeat(grid, len(seeds)), [*seeds] * len(grid)
    return trained(task, name, lrs, each, epochs, train, task.data().validation)[0].reshape(len(grid), -1)


def picks(sweep: Array, name: str) -> Array:
    """(seeds,) the learning rate that won each seed's sweep of nine runs."""
    return OPTIMIZERS[name][1][sweep.argmax(axis=0)]


@dataclass(frozen=True)
class TuningGain(Result):
    """Accuracy by learning rate on four tasks. sweeps[task, optimizer]: (9, seeds) on validation.

    tested[task, optimizer, which]: (seeds,) test accuracy of a fresh run for each seed, at the learning rate which was
    "tuned": won the seed's sweep on this task; "carried": won it on the task digits; "default": Adam's 0.001.
    """

    sweeps: Mapping[tuple[str, str], Array]
    tested: Mapping[tuple[str, str, str], Array]

    size: ClassVar[tuple[float, float]] = (7.0, 4.6)

    def best(self, task: str, name: str) -> float:
        """The learning rate with the best mean."""
        return float(OPTIMIZERS[name][1][self.sweeps[task, name].mean(axis=1).argmax()])

    def decades(self, task: str, name: str, within: float = 0.02) -> float:
        """How many decades of learning rates come within `within` of the best mean accuracy, half a one for each."""
        sweep = self.sweeps[task, name].mean(axis=1)
        return float((sweep >= sweep.max() - within).sum() / 2)

    def moves(self, name: str) -> float:
        """The largest over the smallest best learning rate of the tasks."""
        best = [self.best(task, other) for task, other in self.sweeps if other == name]
        return max(best) / min(best)

    def regret(self, task: str, name: str, which: str) -> Comparison:
        """Test accuracy with tuning, less that with the other learning rate, paired by seed."""
        return compare(self.tested[task, name, "tuned"], self.tested[task, name, which], names=("tuned", which))

    def summary(self) -> str:
        each = []
        for task in TASKS:
            if (task, "Adam", "default") in self.tested:
                r = self.regret(task, "Adam", "default")
                each.append(f"{task} {100 * r.mean:+.1f} points [{100 * r.low:+.1f}, {100 * r.high:+.1f}]")
        return "what tuning Adam's learning rate wins over 0.001: " + (", ".join(each) or "not known yet")

    def draw(self, figure: "Figure"):
        """A panel a task: validation accuracy against the learning rate, mean of the seeds, the best marked."""
        axes = dict(zip(TASKS, figure.subplots(2, 2).ravel(), strict=True))
        parts = {}
        for task, ax in axes.items():
            ax.set(xlabel=r"learning rate $\eta$", ylabel="validation\naccuracy", xscale="log")
            ax.set(xlim=(5e-6, 2), ylim=(0, 1.05), title=task)
            default = ax.axvline(DEFAULT, color=GREY, ls=":", lw=1.5, label="Adam's default, 0.001")
            for name, (color, line, mark) in LOOKS.items():
                (curve,) = ax.plot([], [], color=color, ls=line, marker=mark, ms=3.5, lw=1.4, label=name)
                (best,) = ax.plot([], [], mark, color=color, ms=9, mec=INK, mew=0.8)
                parts[task, name] = curve, best
        handles = [parts["digits", name][0] for name in LOOKS]
        figure.legend(handles=[*handles, default], loc="outside upper center", ncols=3, handlelength=3)

        def redraw(result: TuningGain):
            for (task, name), (curve, best) in parts.items():
                if (task, name) in result.sweeps:
                    sweep = result.sweeps[task, name].mean(axis=1)
                    curve.set_data(OPTIMIZERS[name][1], sweep)
                    best.set_data([result.best(task, name)], [sweep.max()])
                else:
                    curve.set_data([], [])
                    best.set_data([], [])
            return [artist for pair in parts.values() for artist in pair]

        redraw(self)
        return redraw


@experiment
@single_threaded
def tuning_gain(
    epochs: Annotated[int, Linear(2, 6)] = 5,
    seeds: Annotated[int, Linear(3, 5)] = 4,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> TuningGain:
    """Tune both optimizers on every task: 9 runs for each of `seeds` seeds. Then test what was chosen on fresh runs.

    A tuning is one seed's, as in practice, so that the interval holds the luck of tuning as well as that of testing.
    """
    sweeps: dict[tuple[str, str], Array] = {}
    tested: dict[tuple[str, str, str], Array] = {}
    tuning, fresh = range(seed + 500, seed + 500 + seeds), range(seed, seed + seeds)
    for task, name in progress([(task, name) for task in TASKS for name in OPTIMIZERS]):
        setting, data = TASKS[task], TASKS[task].data()
        sweeps[task, name] = swept(setting, name, tuning, epochs, data.train)
        lrs = {"tuned": picks(sweeps[task, name], name), "carried": picks(sweeps["digits", name], name)}
        lrs |= {"default": np.full(seeds, DEFAULT)} if name == "Adam" else {}
        every, each = np.concatenate([*lrs.values()]), [*fresh] * len(lrs)
        rows = trained(setting, name, every, each, epochs, data.train, data.test)[0].reshape(len(lrs), seeds)
        tested |= {(task, name, which): row for which, row in zip(lrs, rows, strict=True)}
        preview(TuningGain(dict(sweeps), dict(tested)))
    return TuningGain(sweeps, tested)


@dataclass(frozen=True)
class GeneralizationGap(Result):
    """Each optimizer at learning rates that it chose on validation. sweeps[name]: (9, seeds) validation accuracy.

    tested[name]: (seeds,) test accuracy of a fresh run at the one that won the seed's sweep. losses[name]: (seeds,)
    training loss in its last epoch.
    """

    sweeps: Mapping[str, Array]
    tested: Mapping[str, Array]
    losses: Mapping[str, Array]
    data: str

    @property
    def comparison(self) -> Comparison:
        """SGD's test accuracy less Adam's, paired by seed."""
        return compare(self.tested["SGD"], self.tested["Adam"], names=("SGD", "Adam"))

    @property
    def difference(self) -> str:
        """SGD less Adam in percentage points, with its interval."""
        c = self.comparison
        return f"{100 * c.mean:+.2f} points, interval [{100 * c.low:+.2f}, {100 * c.high:+.2f}]"

    def summary(self) -> str:
        scores = ", ".join(f"{name} {100 * a.mean():.2f} %" for name, a in self.tested.items()) or "not known yet"
        verdict = f"; SGD - Adam {self.difference}: {self.comparison.verdict}" if len(self.tested) > 1 else ""
        return f"{self.data}, test accuracy: {scores}{verdict}"

    def draw(self, figure: "Figure"):
        """Left the sweeps on validation; right the test accuracy of fresh runs, a line for each seed."""
        left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
        left.set(
            xlabel=r"learning rate $\eta$", ylabel="validation accuracy", xscale="log", xlim=(5e-6, 2), ylim=(0, 1.05)
        )
        curves = {
            name: left.plot([], [], color=c, ls=line, marker=mark, ms=3.5, lw=1.4, label=name)[0]
            for name, (c, line, mark) in LOOKS.items()
        }
        figure.legend(handles=list(curves.values()), loc="outside upper center", ncols=2, handlelength=3)
        right.set(xlabel="optimizer, tuned", ylabel="test accuracy", xlim=(-0.5, 1.5))
        right.set_xticks([0, 1], list(LOOKS))
        pairs = [right.plot([], [], "o-", color=GREEN, lw=0.8, ms=4)[0] for _ in range(12)]
        (means,) = right.plot([], [], "D", color=GREY, ms=9, mec=INK, mew=0.6)

        def redraw(result: GeneralizationGap):
            for name, curve in curves.items():
                known = name in result.sweeps
                curve.set_data(OPTIMIZERS[name][1] if known else [], result.sweeps[name].mean(axis=1) if known else [])
            tested = list(result.tested.values())
            for i, pair in enumerate(pairs):
                rows = [row[i] for row in tested if i < len(row)]
                pair.set_data(range(len(rows)), rows)
            means.set_data(range(len(tested)), [row.mean() for row in tested])
            if tested:
                low, high = min(row.min() for row in tested), max(row.max() for row in tested)
                right.set_ylim(low - 0.1 * (high - low) - 0.002, high + 0.1 * (high - low) + 0.002)
            return None

        redraw(self)
        return redraw


@experiment
@single_threaded
def generalization_gap(
    data: Literal["digits", "noisy digits", "MNIST-1D"] = "digits",
    epochs: Annotated[int, Linear(4, 20)] = 14,
    seeds: Annotated[int, Linear(3, 8)] = 6,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> GeneralizationGap:
    """For each seed, choose each optimizer's learning rate of nine on validation, then test a fresh run.

    Of noisy digits a fifth of the training labels are drawn anew, at random.
    """
    task = TASKS["MNIST-1D" if data == "MNIST-1D" else "digits"]
    parts = task.data()
    train = parts.train if data != "noisy digits" else relabeled(parts.train, 0.2, seed)
    tuning, fresh = range(seed + 500, seed + 500 + seeds), range(seed, seed + seeds)
    sweeps, tested, losses = {}, {}, {}
    for name in progress(list(OPTIMIZERS)):
        sweeps[name] = swept(task, name, tuning, epochs, train)
        lrs = picks(sweeps[name], name)
        tested[name], losses[name] = trained(task, name, lrs, fresh, epochs, train, parts.test)
        preview(GeneralizationGap(dict(sweeps), dict(tested), dict(losses), data))
    return GeneralizationGap(sweeps, tested, losses, data)


def relabeled(part: Split, share: float, seed: int) -> Split:
    """The split with this share of its rows given a label drawn at random, which may be the old one."""
    generator = torch.Generator().manual_seed(seed)
    hit = torch.rand(len(part), generator=generator) < share
    return Split(part.x, torch.where(hit, torch.randint(10, (len(part),), generator=generator), part.y))


LOOKS = {"SGD": (RED, "--", "s"), "Adam": (BLUE, "-", "o")}
