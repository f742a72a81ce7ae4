"""The learning-rate range test on trial: what it suggests, and what training with that costs beside the best."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, get_args

import numpy as np
from torch.nn.functional import cross_entropy

from course_lib.lectures.learning_rate.training import OPTIMIZERS, SIZES, final, geometric_mean, handwriting
from course_lib.models import mlp
from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREEN, GREY, INK, LINES, ORANGE, RED
from course_lib.train import range_test
from course_lib.train.range_test import Rule
from course_lib.trials import Comparison, compare, grid, single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Optimizer = Literal["SGD", "momentum", "Adam"]

GRIDS = {  # 13 learning rates, from far too small to diverging
    "SGD": np.geomspace(0.01, 10.0, 13),
    "momentum": np.geomspace(0.001, 1.0, 13),
    "Adam": np.geomspace(3e-4, 0.3, 13),
}
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True)
class RangeCurves(Result):
    """lrs: (steps,). smooth: (seeds, steps), NaN where a test was stopped. suggested[rule]: (seeds,)."""

    lrs: Floats
    smooth: Floats
    suggested: Mapping[str, Floats]
    optimizer: str

    def spread(self, rule: str) -> float:
        """The largest suggestion over the smallest."""
        return float(self.suggested[rule].max() / self.suggested[rule].min())

    def summary(self) -> str:
        each = [
            f"{rule!r} {np.exp(np.log(s).mean()):.2g} (from {s.min():.2g} to {s.max():.2g})"
            for rule, s in self.suggested.items()
        ]
        return f"{self.optimizer}, seeds: {len(self.smooth)}; suggested: " + ", ".join(each)

    def draw(self, figure: "Figure"):
        """The smoothed loss of every seed against its learning rate, and where the two rules point."""
        ax = figure.subplots()
        ax.set(xlabel=r"learning rate $\eta_t$", ylabel="smoothed loss of the batches (nats)", xscale="log")
        ax.set(xlim=(2e-5, 110), ylim=(0, 6))
        curves = [ax.plot([], [], color=BLUE, lw=0.9, alpha=0.7)[0] for _ in range(16)]
        looks = {"steepest": (ORANGE, "o"), "minimum / 10": (GREEN, "s")}
        dots = {n: ax.plot([], [], m, color=c, mec=INK, mew=0.5, ms=6, label=n)[0] for n, (c, m) in looks.items()}
        name = ax.text(0.02, 0.95, "", transform=ax.transAxes, va="top")
        figure.legend(handles=list(dots.values()), loc="outside upper center", ncols=2)

        def redraw(result: RangeCurves):
            for i, curve in enumerate(curves):
                curve.set_data((result.lrs, result.smooth[i]) if i < len(result.smooth) else ([], []))
            for rule, dot in dots.items():
                lrs = result.suggested[rule]
                at = [np.interp(lr, result.lrs, row) for lr, row in zip(lrs, result.smooth, strict=True)]
                dot.set_data(lrs, at)
            name.set_text(result.optimizer)
            return *curves, *dots.values(), name

        redraw(self)
        return redraw


@experiment
@single_threaded
def range_curves(
    optimizer: Optimizer = "SGD",
    batch: Annotated[int, Log(8, 256)] = 64,
    steps: Annotated[int, Linear(40, 200)] = 100,
    smoothing: Annotated[float, Linear(0.0, 0.98)] = 0.9,
    seeds: Annotated[int, Linear(1, 16)] = 8,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
) -> RangeCurves:
    """A range test for each seed, from a tenth of the lowest learning rate of GRIDS to ten times the highest."""
    grid, each = GRIDS[optimizer], range(seed, seed + seeds)
    result = range_test(
        [mlp(SIZES, seed=s) for s in each],
        cross_entropy,
        OPTIMIZERS[optimizer],
        handwriting().train,
        low=float(grid[0]) / 10,
        high=10 * float(grid[-1]),
        steps=steps,
        batch=batch,
        seeds=each,
        smoothing=smoothing,
        progress=progress,
    )
    suggested: dict[str, Floats] = {rule: result.suggest(rule).numpy() for rule in RULES}
    return RangeCurves(result.lrs.numpy(), result.smooth.numpy(), suggested, optimizer)


class Tried(NamedTuple):
    """lrs, losses: (13,) of the sweep, validation loss. best: its best learning rate. suggested[rule]: (seeds,).

    tested[name]: (seeds,) test loss of new seeds, trained at "best" or at what their own range test suggests.
    """

    lrs: Floats
    losses: Floats
    best: float
    suggested: Mapping[str, Floats]
    tested: Mapping[str, Floats]

    def regret(self, rule: str) -> Comparison:
        """Logarithm of the test loss at the suggestion less that at the best, paired by seed."""
        return compare(np.log(self.tested[rule]), np.log(self.tested["best"]), names=(rule, "best"))

    def ratio(self, rule: str) -> float:
        """How many times higher the test loss is at the suggestion: the geometric mean over seeds."""
        return math.exp(self.regret(rule).mean)

    @property
    def end(self) -> float:
        """The first learning rate above the best where the sweep's loss is more than twice the lowest."""
        return float(self.lrs[(self.lrs > self.best) & (self.losses > 2 * self.losses.min())][0])

    def off(self, rule: str) -> float:
        """The suggestion over the best learning rate, geometric mean over seeds."""
        return float(np.exp(np.log(self.suggested[rule] / self.best).mean()))


@dataclass(frozen=True)
class FinderTrial(Result):
    """tried[optimizer]. Partial results lack optimizers."""

    tried: Mapping[str, Tried]
    batch: int

    def summary(self) -> str:
        each = []
        for name, t in self.tried.items():
            costs = ", ".join(f"{rule} {t.ratio(rule):.2f} times" for rule in RULES)
            each.append(f"{name} {costs}")
        return f"batch {self.batch}, test loss beside that of the best learning rate: " + "; ".join(each)

    def draw(self, figure: "Figure"):
        """For each optimizer the loss by learning rate, above it what each seed's test suggests, a star at the best;
        right how many times higher the loss is at the suggestions, with the interval."""
        axes = figure.subplots(1, 4, width_ratios=(1, 1, 1, 1.25))
        looks = {"steepest": (ORANGE, "o", -0.12), "minimum / 10": (GREEN, "s", 0.12)}
        curves, stars, ticks = {}, {}, {}
        for ax, name, (color, ls) in zip(axes, GRIDS, LINES, strict=False):
            low, high = GRIDS[name][[0, -1]]
            ax.set(
                xlabel=r"$\eta$", ylabel="validation loss (nats)" if ax is axes[0] else " ", xscale="log", yscale="log"
            )
            ax.set(xlim=(low / 2, 2 * high), ylim=(0.05, 100))
            ax.set_title(name)
            curves[name] = ax.plot([], [], color=color, ls=ls)[0]
            stars[name] = ax.plot([], [], "*", color=RED, mec=INK, ms=11)[0]
            for rule, (c, m, _) in looks.items():
                ticks[name, rule] = ax.plot([], [], m, color=c, mec=INK, mew=0.4, ms=5, label=rule)[0]
                ticks[name, rule].set_transform(ax.get_xaxis_transform())
        last = axes[3]
        last.set(xlabel="optimizer", ylabel="test loss / best", yscale="log", xlim=(-0.5, 2.5), ylim=(0.5, 30))
        last.set_xticks(range(3), ["SGD", "mom.", "Adam"])
        last.axhline(1, color=GREY, lw=0.9, ls=":")
        bars = {
            (name, rule): last.plot([], [], m + "-", color=c, mec=INK, mew=0.4, ms=6, lw=2.2, markevery=[1])[0]
            for name in GRIDS
            for rule, (c, m, _) in looks.items()
        }
        handles = [ticks["SGD", rule] for rule in RULES] + [stars["SGD"]]
        figure.legend(handles, ["steepest", "minimum / 10", "best of the sweep"], loc="outside upper center", ncols=3)

        size = last.text(0.95, 0.96, "", transform=last.transAxes, va="top", ha="right")

        def redraw(result: FinderTrial):
            size.set_text(f"batch {result.batch}")
            for name in GRIDS:
                tried = result.tried.get(name)
                curves[name].set_data((GRIDS[name], tried.losses) if tried else ([], []))
                stars[name].set_data(([tried.best], [tried.losses.min()]) if tried else ([], []))
                for rule, (_, _, shift) in looks.items():
                    tick, bar = ticks[name, rule], bars[name, rule]
                    lrs = tried.suggested[rule] if tried else np.empty(0)
                    tick.set_data(lrs, np.full(len(lrs), 0.86 - shift / 3))
                    regret = tried.regret(rule) if tried else None
                    x = list(GRIDS).index(name) + shift
                    ends = [regret.low, regret.mean, regret.high] if regret else []
                    bar.set_data([x] * len(ends), np.exp(ends))
            return *curves.values(), *stars.values(), *ticks.values(), *bars.values(), size

        redraw(self)
        return redraw


@experiment
@single_threaded
def finder_trial(
    batch: Annotated[int, Log(32, 256)] = 64,
    epochs: Annotated[int, Linear(2, 3)] = 3,
    seeds: Annotated[int, Linear(4, 8)] = 8,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> FinderTrial:
    """For SGD, momentum and Adam: sweep 13 learning rates on three seeds, then give new seeds the best of them and,
    one by one, what a range test on their own start and batches suggests by each rule. Constant learning rates.
    """
    fresh, tuning = range(seed, seed + seeds), range(seed + 500, seed + 503)
    tried: dict[str, Tried] = {}
    for name in progress(get_args(Optimizer)):
        lrs, train = GRIDS[name], partial(grid, OPTIMIZERS[name], data=handwriting(), epochs=epochs, batch=batch)
        losses = geometric_mean(final(train({"lr": lrs.tolist()}, tuning), len(lrs)))
        best = float(lrs[losses.argmin()])
        suggested = range_curves(name, batch, seeds=seeds, seed=seed).suggested
        asked = np.concatenate([np.full(seeds, best), *(suggested[rule] for rule in RULES)])
        runs = train({"lr": asked.tolist()}, [*fresh] * 3, part="test", paired=True)
        tested = dict(zip(("best", *RULES), final(runs, 3), strict=True))
        tried = tried | {name: Tried(lrs, losses, best, suggested, tested)}
        preview(FinderTrial(tried, batch))
    return FinderTrial(tried, batch)
