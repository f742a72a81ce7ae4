"""Five optimizers start together on a surface in the plane: who gets down first, and how long are their steps?"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import torch

from course_lib.optim import Transform, adam, apply_steps, on_numbers, rmsprop, sgd
from course_lib.optim.contract import checked
from course_lib.ranges import Linear, Log, Progress, experiment, no_progress
from course_lib.results import Floats, Result
from course_lib.style import INK, LINES
from course_lib.surfaces import SURFACES, Surface, ravine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Factory = Callable[[Any, float], Transform]
Ground = Literal["ravine", "turned ravine", "rosenbrock", "saddle", "beale"]
GROUNDS: dict[str, Surface] = {**SURFACES, "turned ravine": ravine(20.0, np.pi / 4)}
EDGE = 1e4  # a run that leaves the square |x|, |y| < EDGE is lost, and stays where it left


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
    """Runs on one ground. paths[name]: (steps+1, 2), row 0 the start. slopes[name]: (steps, 2), the gradient that each
    step was given, noise included. A lost run stays where it left the square |x|, |y| < 1e4."""

    ground: str
    paths: Mapping[str, Floats]
    slopes: Mapping[str, Floats]
    lr: float
    beta: float

    def gap(self, name: str) -> Floats:
        """(steps+1,) height above the lowest point of the surface."""
        place = GROUNDS[self.ground]
        return place.value(self.paths[name]) - place.at(*place.minimum)

    def velocity(self, name: str) -> Floats:
        """(steps, 2) the steps taken."""
        return np.diff(self.paths[name], axis=0)

    def effective(self, name: str) -> Floats:
        """(steps,) the step's length over the gradient's: the learning rate of the SGD that steps as far; NaN at 0."""
        length, slope = (np.linalg.norm(a, axis=1) for a in (self.velocity(name), self.slopes[name]))
        return np.divide(length, slope, out=np.full_like(length, np.nan), where=slope > 0)

    def lost(self, name: str) -> bool:
        """Whether the run left the square |x|, |y| < 1e4."""
        return bool(np.abs(self.paths[name][-1]).max() >= EDGE)

    def steps_to(self, name: str, gap: float) -> int | None:
        """The first step at which the height above the minimum is below `gap`; None if it never is."""
        low = self.gap(name) < gap
        return int(low.argmax()) if low.any() else None

    @property
    def ranking(self) -> tuple[str, ...]:
        """The names by the height at which they end, lowest first, the lost ones last."""
        return tuple(sorted(self.paths, key=lambda name: np.inf if self.lost(name) else self.gap(name)[-1]))

    def summary(self) -> str:
        ends = [f"{n} {'lost' if self.lost(n) else format(self.gap(n)[-1], '.2g')}" for n in self.ranking]
        steps = len(next(iter(self.slopes.values())))
        return f"{self.ground}, learning rate {self.lr:.3g}, height after {steps} steps: {', '.join(ends)}"

    def draw(self, figure: "Figure"):
        """Left the paths over level curves, a dot at each end with its latest step as an arrow; right the height above
        the minimum and the effective learning rate, |step| / |gradient|, against the step."""
        left, high, low = figure.subplot_mosaic([["map", "height"], ["map", "rate"]], width_ratios=(1.1, 1)).values()
        left.set(xlabel="x", ylabel="y")
        left.grid(False)
        high.set(ylabel="height above\nthe minimum", yscale="log", xlim=(0, 300), ylim=(1e-8, 1e4))
        high.set_xlabel("step")
        low.set(
            xlabel="step",
            ylabel="effective $\\eta$,\n|step| / |gradient|",
            yscale="log",
            xlim=(0, 300),
            ylim=(1e-5, 1e3),
        )
        looks = dict(zip(self.paths, LINES, strict=False))
        color = [look[0] for look in looks.values()]
        paths, heights, rates = (
            {name: ax.plot([], [], color=c, ls=ls, lw=1.4, label=name)[0] for name, (c, ls) in looks.items()}
            for ax in (left, high, low)
        )
        (goal,) = left.plot([], [], "*", color=INK, ms=11)
        ends = left.scatter(
            [0.0] * len(color), [0.0] * len(color), c=color, s=26, edgecolors=INK, linewidths=0.6, zorder=4
        )
        arrows = left.quiver(
            *np.zeros((4, len(color))), color=color, angles="xy", scale_units="xy", scale=0.3, width=0.008, zorder=3
        )
        figure.legend(handles=list(paths.values()), loc="outside upper center", ncols=len(looks), handlelength=3)
        shown: list[Any] = []  # the name of the ground whose level curves stand, and the curves

        def redraw(result: Race):
            place = GROUNDS[result.ground]
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
            if shown and shown[0] == result.ground:
                return *paths.values(), arrows, ends, goal, *heights.values(), *rates.values()
            if shown:
                shown[1].remove()
            x0, x1, y0, y1 = place.window
            x, y = np.meshgrid(np.linspace(x0, x1, 160), np.linspace(y0, y1, 160))
            relief = np.log10(place.at(x, y) - place.at(*place.minimum) + 1e-2)
            shown[:] = result.ground, left.contourf(x, y, relief, levels=18, cmap="Greys_r", zorder=0)
            left.set(xlim=(x0, x1), ylim=(y0, y1))
            return None

        redraw(self)
        return redraw


@experiment
def race(
    ground: Ground = "ravine",
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
    deviation of the normal noise that is added to each coordinate of each gradient; step t has the same
    noise for all. Raises ValueError for none at all, and what `checked` raises for a Transform.
    """
    if not optimizers:
        raise ValueError("race: optimizers must name at least one")
    place = GROUNDS[ground]
    added = noise * np.random.default_rng(seed).standard_normal((steps, 2)) if noise else np.zeros((steps, 2))
    runs = {name: _run(place, _mover(optimizers[name](lr, beta), name, place.start), added) for name in optimizers}
    return Race(ground, {n: path for n, (path, _) in runs.items()}, {n: g for n, (_, g) in runs.items()}, lr, beta)


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
        slope, here = (torch.tensor(pair, dtype=torch.float64) for pair in ((gx, gy), (x, y)))
        steps, state = guarded.update([slope], state, [here])
        there = apply_steps([here], steps)[0].tolist()
        return there[0] - x, there[1] - y

    return move


def _run(place: Surface, move: Mover, noise: Floats) -> tuple[Floats, Floats]:
    x, y = place.start
    path, slopes = [(x, y)], []
    for nx, ny in noise.tolist():
        gx, gy = place.slope(x, y)
        gx, gy = gx + nx, gy + ny
        if abs(x) < EDGE and abs(y) < EDGE:
            dx, dy = move(gx, gy, x, y)
            x, y = max(-EDGE, min(EDGE, x + dx)), max(-EDGE, min(EDGE, y + dy))
        path.append((x, y))
        slopes.append((gx, gy))
    return np.array(path), np.array(slopes)


@dataclass(frozen=True)
class LrSweep(Result):
    """Height above the minimum after `steps` steps by learning rate. lrs: (k,). gaps[name]: (k,), inf where lost."""

    ground: str
    lrs: Floats
    gaps: Mapping[str, Floats]
    steps: int

    def best(self, name: str) -> tuple[float, float]:
        """The learning rate that ends lowest, and that height."""
        i = int(self.gaps[name].argmin())
        return float(self.lrs[i]), float(self.gaps[name][i])

    @property
    def ranking(self) -> tuple[str, ...]:
        """The names by the lowest end that any learning rate gives them."""
        return tuple(sorted(self.gaps, key=lambda name: self.best(name)[1]))

    def summary(self) -> str:
        each = ", ".join("{} {:.2g} at lr {:.2g}".format(n, *reversed(self.best(n))) for n in self.ranking)
        return f"{self.ground}, lowest after {self.steps} steps: {each}"

    def draw(self, figure: "Figure"):
        """Height above the minimum at the end of the race against the learning rate, and each one's lowest point."""
        ax = figure.subplots()
        ax.set(xlabel=r"learning rate $\eta$", ylabel="height above the minimum at the end", xscale="log", yscale="log")
        ax.set(xlim=(1e-4, 1), ylim=(1e-12, 1e4))
        looks = dict(zip(self.gaps, LINES, strict=False))
        lines = {name: ax.plot([], [], color=c, ls=ls, label=name)[0] for name, (c, ls) in looks.items()}
        dots = {name: ax.plot([], [], "o", color=c, ms=7, mec=INK, mew=0.6)[0] for name, (c, _) in looks.items()}
        figure.legend(handles=list(lines.values()), loc="outside upper center", ncols=len(looks), handlelength=3)

        def redraw(result: LrSweep):
            for name, gaps in result.gaps.items():
                shown = np.clip(gaps, 1.3e-12, 1e9)
                lines[name].set_data(result.lrs, shown)
                best = int(gaps.argmin())
                dots[name].set_data([result.lrs[best]], [min(shown[best], 7e3)])
            return *lines.values(), *dots.values()

        redraw(self)
        return redraw


@experiment
def lr_sweep(
    ground: Ground = "ravine",
    beta: Annotated[float, Linear(0.0, 0.99)] = 0.9,
    steps: Annotated[int, Linear(10, 300)] = 150,
    noise: Annotated[float, Linear(0.0, 5.0)] = 0.0,
    *,
    optimizers: Mapping[str, Factory] = MappingProxyType(OPTIMIZERS),
    seed: int = 0,
    progress: Progress = no_progress,
) -> LrSweep:
    """Run the same race with 81 learning rates from 1e-4 to 1, so that each optimizer can be judged at its own
    best. optimizers: as in `race`, of transforms that have a rule."""
    place, lrs = GROUNDS[ground], np.geomspace(1e-4, 1, 81)
    added = noise * np.random.default_rng(seed).standard_normal((steps, 2))
    gaps = {name: _heights(place, optimizers[name](lrs, beta), lrs, added) for name in progress(list(optimizers))}
    return LrSweep(ground, lrs, gaps, steps)


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
