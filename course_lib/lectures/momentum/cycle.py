"""A convex function that is not a bowl, and what heavy ball's best setting for bowls does on it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from course_lib.lectures.momentum.recurrence import descend
from course_lib.optim import sgd
from course_lib.ranges import Linear, experiment
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREEN, GREY, INK, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def kinked_slope(x: float) -> float:
    """f'(x) = 25 x below 1, x + 24 up to 2, 25 x - 24 above (Lessard, Recht & Packard 2016)."""
    return 25 * x if x < 1 else x + 24 if x < 2 else 25 * x - 24


def kinked(x: Floats) -> Floats:
    """The f of that slope, convex with its minimum 0 at 0. x and the result: (...)."""
    return np.where(x < 1, 12.5 * x**2, np.where(x < 2, x**2 / 2 + 24 * x - 12, 12.5 * x**2 - 24 * x + 36))


@dataclass(frozen=True)
class Cycle(Result):
    """Both methods on the kinked function, from one start. heavy_ball, nesterov: (121,) x_t."""

    heavy_ball: Floats
    nesterov: Floats

    @property
    def limit(self) -> Floats:
        """(3,) where heavy ball is at the last three steps."""
        return self.heavy_ball[-3:]

    @property
    def cycles(self) -> bool:
        """Whether heavy ball repeats its last three places without having arrived."""
        return bool(np.abs(self.limit - self.heavy_ball[-6:-3]).max() < 1e-6 and np.abs(self.limit).max() > 1e-3)

    def summary(self) -> str:
        places = ", ".join(f"{x:.2f}" for x in self.limit)
        end = "diverges" if abs(self.heavy_ball[-1]) > 1e3 else f"ends at {self.heavy_ball[-1]:.2g}"
        heavy = f"cycles through {places} forever" if self.cycles else end
        return f"heavy ball {heavy}; Nesterov ends at {self.nesterov[-1]:.2g}"

    def draw(self, figure: "Figure"):
        """Left the function and the last places of heavy ball on it, right where both methods are, step by step."""
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.2))
        grid, steps = np.linspace(-4, 4, 300), np.arange(61)
        left.set(xlabel="x", ylabel="f(x)", xlim=(-4, 4), ylim=(-8, 150))
        left.axvspan(1, 2, color=GREEN, alpha=0.15, lw=0, label="curvature 1; elsewhere 25")
        left.plot(grid, kinked(grid), color=INK, lw=1.2)
        (places,) = left.plot([], [], "o-", color=RED, ms=6, lw=1, label="heavy ball, last 3 steps")
        (rest,) = left.plot([], [], "*", color=BLUE, ms=11, label="Nesterov, last step")
        left.legend(loc="upper center")
        right.set(xlabel="step", ylabel="x", xlim=(0, 60), ylim=(-4.2, 4.2))
        right.axhline(0, color=GREY, lw=0.8)
        (heavy,) = right.plot([], [], "o--", color=RED, ms=3, lw=1, label="heavy ball")
        (nesterov,) = right.plot(
            [], [], "s-", color=BLUE, ms=3, lw=1.2, label=r"Nesterov, $\eta = 1/25$, $\beta = 2/3$"
        )
        right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)

        def redraw(result: Cycle):
            loop, end = np.clip([*result.limit, result.limit[0]], -50, 50), result.nesterov[-1:]
            places.set_data(loop, kinked(loop))
            rest.set_data(end, kinked(end))
            heavy.set_data(steps, np.clip(result.heavy_ball[:61], -50, 50))
            nesterov.set_data(steps, result.nesterov[:61])
            return places, rest, heavy, nesterov

        redraw(self)
        return redraw


@experiment
def cycle(
    start: Annotated[float, Linear(-4.0, 4.0)] = 3.3,
    lr: Annotated[float, Linear(0.01, 0.15)] = 1 / 9,
    beta: Annotated[float, Linear(0.0, 0.9)] = 4 / 9,
) -> Cycle:
    """Run heavy ball from rest for 120 steps, and beside it Nesterov at lr 1/25 and beta 2/3, whatever the sliders say.

    For quadratics with curvatures from 1 to 25, lr 1/9 and beta 4/9 are the best that heavy ball has. Nesterov's x is
    its look-ahead point. Deterministic.
    """
    methods = (sgd(lr, beta), sgd(1 / 25, 2 / 3, nesterov=True))
    return Cycle(*(descend(method, kinked_slope, 120, start) for method in methods))
