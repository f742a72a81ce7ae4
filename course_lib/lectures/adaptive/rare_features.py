"""Rare features: a weight whose gradient is mostly zero needs long steps when it is not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from course_lib.optim import Transform, adadelta, adagrad, adam, on_numbers, rmsprop, sgd
from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Floats, Result
from course_lib.style import GREY, INK, LINES
from course_lib.trials import Comparison, compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEATURES = 40
LEARNERS: dict[str, tuple[Callable[[Any], Transform], float]] = {
    "SGD": (sgd, 2.0),
    "AdaGrad": (adagrad, 2.0),
    "RMSProp": (rmsprop, 0.5),
    "AdaDelta": (adadelta, 500.0),
    "Adam": (adam, 0.5),
}
"""name -> optimizer, and the largest of its nine learning rates, each half of the one above."""


@dataclass(frozen=True)
class RareFeatures(Result):
    """Online regression on features that are rare or frequent, each optimizer at its best of nine learning rates.

    frequency: (40,) share of examples that have the feature, rare ones last. errors[name]: (seeds, 40) |w - w*| at the
    end, where |w*| = 1 and w starts at 0. losses[name]: (seeds,) expected squared error of a prediction, in excess of
    the noise. lrs[name]: the learning rate that did best on three other seeds.
    """

    frequency: Floats
    errors: Mapping[str, Floats]
    losses: Mapping[str, Floats]
    lrs: Mapping[str, float]
    examples: int

    def rare_error(self, name: str) -> Floats:
        """(seeds,) mean error of the eight rarest features."""
        return self.errors[name][:, -8:].mean(axis=1)

    def against(self, a: str, b: str) -> Comparison:
        """The rare features' error of a less that of b, paired by seed."""
        return compare(self.rare_error(a), self.rare_error(b), names=(a, b))

    def summary(self) -> str:
        each = ", ".join(f"{n} {self.rare_error(n).mean():.2f}" for n in self.errors)
        return f"error of the rarest features after {self.examples} examples, of 1 at the start: {each}"

    def draw(self, figure: "Figure"):
        """Left the error of a weight against how often its feature is there; right that of the eight rarest, each
        seed."""
        left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
        left.set(xlabel="share of examples that have the feature", ylabel="error of its weight, 1 at the start")
        left.set(xscale="log", xlim=(1e-3, 0.6), ylim=(0, 1.15))
        left.axhline(1, color=GREY, lw=0.8)
        right.set(xlabel="optimizer", ylabel="error of the eight rarest", xlim=(-0.5, 4.5), ylim=(0, 1.15))
        right.set_xticks(range(len(LEARNERS)), LEARNERS, rotation=30)
        right.axhline(1, color=GREY, lw=0.8)
        looks = dict(zip(LEARNERS, LINES, strict=False))
        lines = {n: left.plot([], [], color=c, ls=ls, lw=1.5, label=n)[0] for n, (c, ls) in looks.items()}
        dots = {n: right.plot([], [], "o", color=c, ms=4, alpha=0.6)[0] for n, (c, _) in looks.items()}
        means = {n: right.plot([], [], "D", color=c, ms=9, mec=INK, mew=0.6)[0] for n, (c, _) in looks.items()}
        figure.legend(handles=list(lines.values()), loc="outside upper center", ncols=5, handlelength=3)

        def redraw(result: RareFeatures):
            for place, name in enumerate(LEARNERS):
                if name not in result.errors:
                    for artists in (lines, dots, means):
                        artists[name].set_data([], [])
                    continue
                rare = result.rare_error(name)
                lines[name].set_data(result.frequency, result.errors[name].mean(axis=0))
                dots[name].set_data([place] * len(rare), rare)
                means[name].set_data([place], [rare.mean()])
            return *lines.values(), *dots.values(), *means.values()

        redraw(self)
        return redraw


@experiment
def rare_features(
    rarest: Annotated[float, Log(0.001, 0.3)] = 0.003,
    examples: Annotated[int, Log(500, 5000)] = 3000,
    noise: Annotated[float, Linear(0.0, 1.0)] = 0.3,
    seeds: Annotated[int, Linear(3, 12)] = 8,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> RareFeatures:
    """One example a step: x_j is 1 with its feature's frequency, from 1/2 to `rarest`, else 0; y = w* x + noise."""
    frequency = np.geomspace(0.5, rarest, FEATURES)
    tuning, fresh = range(seed + 500, seed + 503), range(seed, seed + seeds)
    errors: dict[str, Floats] = {}
    losses: dict[str, Floats] = {}
    chosen: dict[str, float] = {}
    for name in progress(list(LEARNERS)):
        make, top = LEARNERS[name]
        grid = top * 0.5 ** np.arange(9.0)
        tried = _learn(make, grid, tuning, frequency, examples, noise)
        chosen[name] = float(grid[_excess(tried, frequency).mean(axis=1).argmin()])
        learned = _learn(make, np.array([chosen[name]]), fresh, frequency, examples, noise)
        errors[name], losses[name] = np.abs(learned[0]), _excess(learned, frequency)[0]
        preview(RareFeatures(frequency, dict(errors), dict(losses), dict(chosen), examples))
    return RareFeatures(frequency, errors, losses, chosen, examples)


def _learn(
    make: Callable[[Any], Transform], lrs: Floats, seeds: range, frequency: Floats, examples: int, noise: float
) -> Floats:
    """(lrs, seeds, 40) w - w* at the end; equal seeds see equal examples."""
    dice = [np.random.default_rng(seed) for seed in seeds]
    off = -np.array([rng.choice([-1.0, 1.0], FEATURES) for rng in dice]) + np.zeros((len(lrs), 1, 1))
    present = np.array([rng.random((examples, FEATURES)) < frequency for rng in dice]).astype(float).swapaxes(0, 1)
    extra = noise * np.array([rng.standard_normal(examples) for rng in dice]).T
    step = on_numbers(make(lrs[:, None, None]), off)
    with np.errstate(all="ignore"):
        for x, e in zip(present, extra, strict=True):
            miss = (off * x).sum(axis=-1, keepdims=True) - e[:, None]
            off = off + step(miss * x)
    return np.clip(np.nan_to_num(off, nan=1e6), -1e6, 1e6)


def _excess(off: Floats, frequency: Floats) -> Floats:
    """The expected square of (w - w*) x: a variance for each feature, and the square of the mean."""
    return (off**2 * frequency * (1 - frequency)).sum(axis=-1) + (off * frequency).sum(axis=-1) ** 2
