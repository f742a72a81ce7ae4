"""Small experiments for the tests of the widgets."""

import math
import time
from dataclasses import dataclass
from typing import Annotated, Literal

from matplotlib.figure import Figure

from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Result


@dataclass(frozen=True)
class Swing(Result):
    """xs, ys: the points of a damped swing."""

    xs: list[float]
    ys: list[float]
    damping: float

    def summary(self) -> str:
        return f"damping {self.damping:g}, ends at {self.ys[-1]:.3f} < 1"

    def draw(self, figure: Figure):
        ax = figure.subplots()
        ax.set(xlabel="time [s]", ylabel="angle [rad]", xlim=(0, 20), ylim=(-1.1, 1.1))
        (line,) = ax.plot([], [], label="angle")
        ax.legend(loc="upper right")

        def redraw(result: Swing):
            line.set_data(result.xs, result.ys)
            return [line]

        redraw(self)
        return redraw


@experiment
def swing(
    damping: Annotated[float, Log(0.01, 1.0)] = 0.1,
    phase: Annotated[float, Linear(0.0, 3.0)] = 0.0,
    points: Annotated[int, Linear(10, 500)] = 200,
    shape: Literal["cosine", "sine"] = "cosine",
    flip: bool = False,
    *,
    seed: int = 0,
) -> Swing:
    """A damped swing."""
    wave, sign = (math.cos if shape == "cosine" else math.sin), -1 if flip else 1
    xs = [20 * k / (points - 1) for k in range(points)]
    return Swing(xs, [sign * math.exp(-damping * x) * wave(x + phase) for x in xs], damping)


@experiment
def slow_swing(
    damping: Annotated[float, Log(0.01, 1.0)] = 0.1,
    delay: Annotated[float, Linear(0.0, 5.0)] = 0.0,
    *,
    progress: Progress = no_progress,
) -> Swing:
    """The same swing, `delay` seconds late."""
    if damping == 1.0:
        raise ArithmeticError("the swing broke")
    for _ in progress(range(100)):
        time.sleep(delay / 100)
    return swing(damping)


@experiment
def gradual_swing(
    damping: Annotated[float, Log(0.01, 1.0)] = 0.1,
    delay: Annotated[float, Linear(0.0, 5.0)] = 0.0,
    *,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> Swing:
    """The same swing, `delay` seconds late, shown as it comes."""
    whole = swing(damping)
    for n in progress(range(2, 201)):
        time.sleep(delay / 200)
        preview(Swing(whole.xs[:n], whole.ys[:n], damping))
    return whole
