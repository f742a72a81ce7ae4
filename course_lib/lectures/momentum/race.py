"""Five optimizers start together on a surface in the plane: who gets down first, and how long are their steps?"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch

from course_lib.optim import Transform, adam, apply_steps, on_numbers, rmsprop, sgd
from course_lib.optim.contract import checked
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Floats, Result
from course_lib.style import INK, legend_above, level_curves, lines
from course_lib.surfaces import SURFACES, Name, Surface

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Factory = Callable[[Any, float], Transform]
EDGE = 1e4  # a run that leaves the square |x|, |y| < EDGE has diverged, and stays where it left


OPTIMIZERS: dict[str, Factory] = {
    "SGD": lambda lr, beta: sgd(lr),
    "momentum": lambda lr, beta: sgd(lr, beta),
    "Nesterov": lambda lr, beta: sgd(lr, beta, nesterov=beta > 0),
    "RMSProp": lambda lr, beta: rmsprop(lr),
    "Adam": lambda lr, beta: adam(lr, beta),
}
"""name -> (lr, beta) -> the library's transform; beta is Adam's b1, and SGD and RMSProp have none."""


@dataclass(frozen=True)
class Race(Result):
    """Runs on one surface. paths[name]: (steps+1, 2), row 0 the start. gradients[name]: (steps, 2), what each step was
    given, noise included. A run that diverged stays where it left the square |x|, |y| < 1e4."""

    surface: Name
    paths: Mapping[str, Floats]
    gradients: Mapping[str, Floats]
    lr: float

    def gap(self, name: str) -> Floats:
        """(steps+1,) height above the lowest point of the surface."""
        place = SURFACES[self.surface]
        return place.value(self.paths[name]) - place.at(*place.minimum)

    def velocity(self, name: str) -> Floats:
        """(steps, 2) the steps taken."""
        return np.diff(self.paths[name], axis=0)

    def effective(self, name: str) -> Floats:
        """(steps,) the step's length over the gradient's: the learning rate of the SGD that steps as far; NaN at 0."""
        length, slope = (np.linalg.norm(a, axis=1) for a in (self.velocity(name), self.gradients[name]))
        return np.divide(length, slope, out=np.full_like(length, np.nan), where=slope > 0)

    def diverged(self, name: str) -> bool:
        """Whether the run left the square |x|, |y| < 1e4."""
        return bool(np.abs(self.paths[name][-1]).max() >= EDGE)

    @property
    def ranking(self) -> tuple[str, ...]:
        """The names by the height at which they end, lowest first, those that diverged last."""
        return tuple(sorted(self.paths, key=lambda name: np.inf if self.diverged(name) else self.gap(name)[-1]))

    def summary(self) -> str:
        ends = [f"{n} {'diverged' if self.diverged(n) else format(self.gap(n)[-1], '.2g')}" for n in self.ranking]
        steps = len(next(iter(self.gradients.values())))
        return f"{self.surface}, learning rate {self.lr:.3g}, height after {steps} steps: {', '.join(ends)}"

    def draw(self, figure: "Figure"):
        """Left the paths over level curves, a dot at each end with its latest step as an arrow; right the height above
        the minimum and the effective learning rate, |step| / |gradient|, against the step."""
        left, high, low = figure.subplot_mosaic([["map", "height"], ["map", "rate"]], width_ratios=(1.1, 1)).values()
        left.set(xlabel="x", ylabel="y")
        left.grid(False)
        high.set(xlabel="step", ylabel="height above\nthe minimum", yscale="log", xlim=(0, 300), ylim=(1e-8, 1e4))
        low.set(xlabel="step", ylabel="effective $\\eta$,\n|step| / |gradient|", yscale="log")
        low.set(xlim=(0, 300), ylim=(1e-5, 1e3))
        paths, heights, rates = (lines(ax, self.paths, lw=1.4) for ax in (left, high, low))
        color, zeros = [line.get_color() for line in paths.values()], np.zeros(len(paths))
        (goal,) = left.plot([], [], "*", color=INK, ms=11)
        ends = left.scatter(zeros, zeros, c=color, s=26, edgecolors=INK, linewidths=0.6, zorder=4)
        arrows = left.quiver(*[zeros] * 4, color=color, angles="xy", scale_units="xy", scale=0.3, width=0.008, zorder=3)
        legend_above(figure, paths.values())
        shown: list[Any] = []  # the surface whose level curves are drawn, and the curves

        def redraw(result: Race):
            place = SURFACES[result.surface]
            for name, line in paths.items():
                path = np.clip(result.paths[name], -100, 100)
                line.set_data(*path.T)
                heights[name].set_data(np.arange(len(path)), np.clip(result.gap(name), 1e-30, 1e30))
                rates[name].set_data(np.arange(1, len(path)), np.clip(result.effective(name), 1e-30, 1e30))
            last = np.clip([result.paths[name][-1] for name in paths], -100, 100)
            ends.set_offsets(last)
            arrows.set_offsets(last)
            arrows.set_UVC(*np.clip([result.velocity(name)[-1] for name in paths], -100, 100).T)
            goal.set_data(*([c] for c in place.minimum))
            if shown and shown[0] == result.surface:
                return *paths.values(), arrows, ends, goal, *heights.values(), *rates.values()
            if shown:
                shown[1].remove()
            shown[:] = result.surface, level_curves(left, place)
            return None

        redraw(self)
        return redraw


@experiment
def race(
    surface: Name = "ravine",
    lr: Annotated[float, Log(1e-4, 1.0)] = 0.02,
    beta: Annotated[float, Linear(0.0, 0.99)] = 0.9,
    steps: Annotated[int, Linear(1, 300)] = 80,
    noise: Annotated[float, Linear(0.0, 5.0)] = 0.0,
    *,
    optimizers: Mapping[str, Factory] = MappingProxyType(OPTIMIZERS),
    seed: int = 0,
) -> Race:
    """Run each optimizer from the surface's start, all with one learning rate and one beta.

    optimizers: name -> (lr, beta) -> Transform, such as {"AdamW": lambda lr, beta: adamw(lr, beta)}. noise: standard
    deviation of the normal noise that is added to each coordinate of each gradient; step t has the same noise for all.
    Raises ValueError for no optimizer at all, and what `checked` raises for a Transform.
    """
    if not optimizers:
        raise ValueError("race: optimizers must name at least one")
    place, added = SURFACES[surface], noise * np.random.default_rng(seed).standard_normal((steps, 2))
    runs = {name: _run(place, _mover(make(lr, beta), name, place.start), added) for name, make in optimizers.items()}
    return Race(surface, {n: path for n, (path, _) in runs.items()}, {n: g for n, (_, g) in runs.items()}, lr)


Mover = Callable[[float, float, float, float], tuple[float, float]]


def _mover(transform: Any, name: str, start: tuple[float, float]) -> Mover:
    """(gradient, position) -> step, each as two floats: by the rule itself where there is one, else by tensors."""
    if isinstance(transform, Transform) and transform.rule:
        across, along = (on_numbers(transform, coordinate) for coordinate in start)
        return lambda gx, gy, x, y: (across(gx), along(gy))
    guarded = checked(transform, f"race: {name}")
    state = guarded.init([torch.zeros(2, dtype=torch.float64)])

    def move(gx: float, gy: float, x: float, y: float) -> tuple[float, float]:
        nonlocal state
        gradient, here = (torch.tensor(pair, dtype=torch.float64) for pair in ((gx, gy), (x, y)))
        steps, state = guarded.update([gradient], state, [here])
        there = apply_steps([here], steps)[0].tolist()
        return there[0] - x, there[1] - y

    return move


def _run(place: Surface, move: Mover, noise: Floats) -> tuple[Floats, Floats]:
    x, y = place.start
    path, gradients = [(x, y)], []
    for nx, ny in noise.tolist():
        gx, gy = place.slope(x, y)
        gx, gy = gx + nx, gy + ny
        if abs(x) < EDGE and abs(y) < EDGE:
            dx, dy = move(gx, gy, x, y)
            x, y = max(-EDGE, min(EDGE, x + dx)), max(-EDGE, min(EDGE, y + dy))
        path.append((x, y))
        gradients.append((gx, gy))
    return np.array(path), np.array(gradients)
