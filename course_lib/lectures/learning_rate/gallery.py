"""5.1  What is a schedule? A function of the update, with an area, a peak and an end."""

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import torch

from course_lib import schedules
from course_lib.ranges import Linear, experiment
from course_lib.results import Floats, Result
from course_lib.schedules import Schedule
from course_lib.style import BLUE, GREEN, GREY, INK, ORANGE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Shape = Literal[
    "constant",
    "step decay",
    "exponential",
    "polynomial",
    "inverse square root",
    "cosine",
    "warm restarts",
    "one cycle",
    "warm-up, stable, decay",
]


@dataclass(frozen=True)
class Gallery(Result):
    """factors: (steps,) what each update's learning rate is multiplied by. code: the call that makes the schedule."""

    factors: Floats
    code: str

    @property
    def area(self) -> float:
        """The mean factor: how far the run may walk, beside one at the constant peak."""
        return float(self.factors.mean())

    @property
    def peak(self) -> tuple[int, float]:
        """The update with the largest factor, counted from 0, and that factor."""
        place = int(self.factors.argmax())
        return place, float(self.factors[place])

    @property
    def end(self) -> float:
        """The last update's factor."""
        return float(self.factors[-1])

    def summary(self) -> str:
        place, peak = self.peak
        return f"{self.code}: mean factor {self.area:.3f}, peak {peak:.3g} at update {place}, last {self.end:.3g}"

    def draw(self, figure: "Figure"):
        """Left the factor at each update, right the sum of the factors so far, beside that of a constant 1."""
        left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
        left.set(xlabel="update", ylabel="factor on the learning rate", xlim=(0, 400), ylim=(0, 1.3))
        (curve,) = left.plot([], [], color=BLUE)
        (peak,) = left.plot([], [], "o", color=ORANGE, mec=INK, ms=7)
        code = left.text(0.02, 0.97, "", transform=left.transAxes, va="top", family="monospace", fontsize=7.5)
        right.set(xlabel="update", ylabel="sum of the factors so far", xlim=(0, 400), ylim=(0, 400))
        right.plot([0, 400], [0, 400], color=GREY, ls=":", lw=1.2, label="constant 1")
        (area,) = right.plot([], [], color=GREEN, ls="--", label="this schedule")
        right.legend(loc="upper left")

        def redraw(result: Gallery):
            steps = np.arange(len(result.factors))
            curve.set_data(steps, result.factors)
            peak.set_data([result.peak[0]], [result.peak[1]])
            area.set_data(steps + 1, result.factors.cumsum())
            code.set_text(textwrap.fill(result.code, 44, subsequent_indent="  "))
            return curve, peak, area, code

        redraw(self)
        return redraw


@experiment
def gallery(
    shape: Shape = "cosine",
    steps: Annotated[int, Linear(50, 400)] = 200,
    warmup_steps: Annotated[int, Linear(0, 40)] = 20,
    floor: Annotated[float, Linear(0.0, 0.5)] = 0.0,
    drops: Annotated[int, Linear(1, 5)] = 3,
    growth: Annotated[float, Linear(1.0, 3.0)] = 1.0,
    power: Annotated[float, Linear(0.5, 4.0)] = 1.0,
) -> Gallery:
    """Make a schedule over `steps` updates, the first `warmup_steps` of them a line from 0. Deterministic.

    floor: where polynomial, cosine, restarts and the last decay end. drops: plateaus of step decay, each 0.3 of the
    one before, or cosines of warm restarts, each `growth` times as long. power: of the polynomial. Exponential falls to
    a hundredth; inverse square root starts to fall after a tenth; stable ends where the last fifth begins.
    """
    rest = steps - warmup_steps
    pieces = sum(growth**i for i in range(drops))
    late = rest // 5
    name, arguments = {
        "constant": ("constant", {}),
        "step decay": ("step_decay", {"every": -(-rest // drops), "factor": 0.3}),
        "exponential": ("exponential", {"rate": 0.01 ** (1 / rest)}),
        "polynomial": ("polynomial", {"steps": rest, "power": power, "floor": floor}),
        "inverse square root": ("inverse_sqrt", {"steps": max(rest // 10, 1)}),
        "cosine": ("cosine", {"steps": rest, "floor": floor}),
        "warm restarts": ("warm_restarts", {"period": math.ceil(rest / pieces), "growth": growth, "floor": floor}),
        "one cycle": ("one_cycle", {"steps": steps, "rise": max(warmup_steps, 1) / steps}),
        "warm-up, stable, decay": (
            "warmup_stable_decay",
            {"warm": 0, "stable": rest - late, "decay": late, "floor": floor},
        ),
    }[shape]
    after, code = _called(name, arguments)
    if warmup_steps and shape == "warm-up, stable, decay":
        after, code = _called(name, arguments | {"warm": warmup_steps})
    elif warmup_steps and shape != "one cycle":  # which rises by itself
        after, code = (
            schedules.join(schedules.warmup(warmup_steps), after, at=warmup_steps),
            f"join(warmup({warmup_steps}), {code}, at={warmup_steps})",
        )
    return Gallery(after(torch.arange(steps)).numpy(), code)


def _called(name: str, arguments: dict[str, Any]) -> tuple[Schedule, str]:
    """The schedule of that name, and the call that makes it, as text."""
    listed = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in arguments.items())
    return getattr(schedules, name)(**arguments), f"{name}({listed})"
