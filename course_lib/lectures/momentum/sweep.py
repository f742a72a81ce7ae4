"""The race with many learning rates, so that each optimizer can be judged at its own best."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import numpy as np

from course_lib.lectures.momentum.race import EDGE, OPTIMIZERS, Factory
from course_lib.optim import Transform, on_numbers
from course_lib.ranges import Linear, Progress, experiment, no_progress
from course_lib.results import Curves, Floats
from course_lib.style import INK
from course_lib.surfaces import SURFACES, Name, Surface

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class LrSweep(Curves):
    """Height above the minimum after `steps` steps by learning rate; infinite where the run diverged."""

    surface: Name
    steps: int

    xlabel = r"learning rate $\eta$"
    ylabel = "height above the minimum at the end"
    scales = ("log", "log")
    limits = ((1e-4, 1), (1e-12, 1e4))

    def best(self, name: str) -> tuple[float, float]:
        """The learning rate that ends lowest, and that height."""
        i = int(self.rows[name].argmin())
        return float(self.x[i]), float(self.rows[name][i])

    @property
    def ranking(self) -> tuple[str, ...]:
        """The names by the lowest end that any learning rate gives them."""
        return tuple(sorted(self.rows, key=lambda name: self.best(name)[1]))

    def summary(self) -> str:
        each = ", ".join("{} {:.2g} at lr {:.2g}".format(n, *reversed(self.best(n))) for n in self.ranking)
        return f"{self.surface}, lowest after {self.steps} steps: {each}"

    def draw(self, figure: "Figure"):
        """The curves, and each one's lowest point."""
        again = super().draw(figure)
        (ax,) = figure.axes
        dots = [ax.plot([], [], "o", color=line.get_color(), ms=7, mec=INK, mew=0.6)[0] for line in [*ax.lines]]

        def redraw(result: LrSweep):
            again(result)
            for dot, name in zip(dots, result.rows, strict=True):
                lr, height = result.best(name)
                dot.set_data([lr], [np.clip(height, 1.3e-12, 7e3)])
            return list(ax.lines)

        redraw(self)
        return redraw


@experiment
def lr_sweep(
    surface: Name = "ravine",
    beta: Annotated[float, Linear(0.0, 0.99)] = 0.9,
    steps: Annotated[int, Linear(10, 300)] = 150,
    noise: Annotated[float, Linear(0.0, 5.0)] = 0.0,
    *,
    optimizers: Mapping[str, Factory] = MappingProxyType(OPTIMIZERS),
    seed: int = 0,
    progress: Progress = no_progress,
) -> LrSweep:
    """Run the race with 81 learning rates from 1e-4 to 1. optimizers: as in `race`, of transforms that have a rule."""
    place, lrs = SURFACES[surface], np.geomspace(1e-4, 1, 81)
    added = noise * np.random.default_rng(seed).standard_normal((steps, 2))
    gaps = {name: _heights(place, optimizers[name](lrs, beta), lrs, added) for name in progress(list(optimizers))}
    return LrSweep(lrs, gaps, surface, steps)


def _heights(place: Surface, transform: Transform, lrs: Floats, noise: Floats) -> Floats:
    x, y = (np.full(len(lrs), coordinate) for coordinate in place.start)
    across, along = on_numbers(transform, x), on_numbers(transform, y)
    alive = np.full(len(lrs), True)
    with np.errstate(all="ignore"):
        for nx, ny in noise:
            gx, gy = place.slope(x, y)
            x, y = x + across(gx + nx), y + along(gy + ny)
            alive &= (np.abs(x) < EDGE) & (np.abs(y) < EDGE)
            x, y = np.where(alive, x, 0.0), np.where(alive, y, 0.0)
    return np.where(alive, place.at(x, y) - place.at(*place.minimum), np.inf)
