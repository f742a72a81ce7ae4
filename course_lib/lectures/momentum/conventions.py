"""Where the learning rate belongs: inside the velocity, outside of it, and with dampening."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from course_lib.lectures.momentum.recurrence import descend
from course_lib.optim import chain, sgd
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Floats, Result
from course_lib.schedules import scale_by_schedule
from course_lib.style import GREY, INK, legend_above, lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {
    "outside": r"$\eta$ outside the velocity",
    "inside": r"$\eta$ inside",
    "dampened": r"outside, dampening $\beta$",
}


@dataclass(frozen=True)
class Conventions(Result):
    """Step lengths on a slope of 1, and distances on a bowl of curvature 1; lr is multiplied by `factor` at step `at`.

    steps[name]: (100,). distances[name]: (101,), from 1. The names: "outside" (torch: the velocity sums gradients, lr
    multiplies it), "inside" (Polyak, Sutskever: the velocity sums steps), "dampened" (torch with dampening beta).
    """

    steps: Mapping[str, Floats]
    distances: Mapping[str, Floats]
    lr: float
    beta: float
    factor: float
    at: int

    @property
    def apart(self) -> tuple[float, float]:
        """The largest difference of outside and inside on the bowl, up to the change of lr and after it."""
        gap = np.abs(self.distances["outside"] - self.distances["inside"])
        return float(gap[: self.at + 1].max()), float(gap[self.at + 1 :].max())

    @property
    def cruising(self) -> float:
        """Theory: the step on a slope of 1 in the long run, lr / (1 - beta): the effective learning rate."""
        return self.lr / (1 - self.beta)

    def settling(self, name: str) -> int:
        """Steps after the change until the step on the slope is within a tenth of its new length."""
        after = self.steps[name][self.at :]
        return int((np.abs(after / (self.factor * self.cruising) - 1) < 0.1).argmax())

    def summary(self) -> str:
        before, after = self.apart
        speed = f"step on the slope {self.steps['outside'][self.at - 1]:.3g}, lr / (1 - beta) = {self.cruising:.3g}"
        return f"{speed}; on the bowl the two forms differ by {before:.1g} before lr changes and {after:.2g} after"

    def draw(self, figure: "Figure"):
        """Left the step on a constant slope of 1, right the distance on a bowl; the line is where lr changes."""
        left, right = figure.subplots(1, 2)
        left.set(xlabel="step", ylabel="length of the step on a slope of 1", yscale="log")
        left.set(xlim=(0, 100), ylim=(1e-4, 1e2))
        right.set(xlabel="step", ylabel="distance on a bowl of curvature 1", yscale="log")
        right.set(xlim=(0, 100), ylim=(1e-6, 1e2))
        steps, distances = (lines(ax, LABELS.values()) for ax in (left, right))
        (cruise,) = left.plot([], [], color=INK, ls=":", lw=1.2, label=r"$\eta\,/\,(1 - \beta)$")
        changes = [ax.plot([], [], color=GREY, lw=1)[0] for ax in (left, right)]
        legend_above(figure, [*steps.values(), cruise])

        def redraw(result: Conventions):
            for name, label in LABELS.items():
                steps[label].set_data(np.arange(1, 101), np.clip(result.steps[name], 1e-30, 1e30))
                distances[label].set_data(np.arange(101), np.clip(result.distances[name], 1e-30, 1e30))
            low = result.factor * result.cruising
            cruise.set_data([0, result.at, result.at, 100], [result.cruising, result.cruising, low, low])
            for line in changes:
                line.set_data([result.at, result.at], [1e-6, 1e2])
            return *steps.values(), *distances.values(), cruise, *changes

        redraw(self)
        return redraw


@experiment
def conventions(
    lr: Annotated[float, Log(1e-3, 0.5)] = 0.02,
    beta: Annotated[float, Linear(0.0, 0.95)] = 0.9,
    factor: Annotated[float, Log(0.01, 10.0)] = 0.1,
    at: Annotated[int, Linear(5, 80)] = 45,
) -> Conventions:
    """Run three conventions of heavy ball for 100 steps, on a slope and on a bowl. Deterministic."""
    times_lr = scale_by_schedule(lambda t: lr * factor if t >= at else lr)
    forms = {
        "outside": chain(sgd(1.0, beta), times_lr),
        "inside": chain(times_lr, sgd(1.0, beta)),
        "dampened": chain(sgd(1.0, beta, dampening=beta), times_lr),
    }
    slope = {name: np.abs(np.diff(descend(form, lambda x: 1.0, 100))) for name, form in forms.items()}
    bowl = {name: np.abs(descend(form, lambda x: x, 100)) for name, form in forms.items()}
    return Conventions(slope, bowl, lr, beta, factor, at)
