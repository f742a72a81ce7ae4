"""5.7  Folklore on trial: "the LR finder gives you the learning rate". What it suggests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import numpy as np
from torch.nn.functional import cross_entropy

from course_lib.data import digits
from course_lib.models import mlp
from course_lib.optim import Transform, adam, sgd
from course_lib.ranges import Linear, Log, Progress, experiment, no_progress
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREEN, INK, ORANGE, legend_above
from course_lib.train import range_test
from course_lib.train.range_test import Rule
from course_lib.trials import single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OPTIMIZERS: dict[str, tuple[Callable[..., Transform], Floats]] = {  # 13 learning rates, from far too small to diverging
    "SGD": (sgd, np.geomspace(0.01, 10.0, 13)),
    "momentum": (partial(sgd, beta=0.9), np.geomspace(0.001, 1.0, 13)),
    "Adam": (adam, np.geomspace(3e-4, 0.3, 13)),
}


@dataclass(frozen=True)
class RangeCurves(Result):
    """lrs: (steps,). smooth: (seeds, steps), NaN where a test was stopped. suggested[rule]: (seeds,)."""

    lrs: Floats
    smooth: Floats
    suggested: Mapping[str, Floats]
    optimizer: str

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
        legend_above(figure, dots.values())

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
    optimizer: Literal["SGD", "momentum", "Adam"] = "SGD",
    batch: Annotated[int, Log(8, 256)] = 64,
    steps: Annotated[int, Linear(40, 200)] = 100,
    smoothing: Annotated[float, Linear(0.0, 0.98)] = 0.9,
    seeds: Annotated[int, Linear(1, 16)] = 8,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
) -> RangeCurves:
    """A range test for each seed, from a tenth of the lowest learning rate of OPTIMIZERS to ten times the highest."""
    (make, lrs), each = OPTIMIZERS[optimizer], range(seed, seed + seeds)
    result = range_test(
        [mlp((64, 32, 10), seed=s) for s in each],
        cross_entropy,
        make,
        digits().train,
        low=float(lrs[0]) / 10,
        high=10 * float(lrs[-1]),
        steps=steps,
        batch=batch,
        seeds=each,
        smoothing=smoothing,
        progress=progress,
    )
    suggested: dict[str, Floats] = {rule: result.suggest(rule).numpy() for rule in get_args(Rule)}
    return RangeCurves(result.lrs.numpy(), result.smooth.numpy(), suggested, optimizer)
