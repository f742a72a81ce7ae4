"""How does gradient descent move on a bowl: direction by direction, at what speed, and when not at all?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREEN, GREY, INK, LINES, ORANGE, RED, level_curves
from course_lib.surfaces import quadratic, ravine, surface

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Bowl(Result):
    """Gradient descent on f(theta) = (theta_1^2 + kappa theta_2^2) / 2.

    path: (steps+1, 2), row 0 is the start. eigenvalues: (2,) 1 and kappa, by coordinate.
    """

    path: Floats
    eigenvalues: Floats
    lr: float

    @property
    def losses(self) -> Floats:
        """(steps+1,) f along the path."""
        return self.path**2 @ self.eigenvalues / 2

    @property
    def threshold(self) -> float:
        """The learning rate above which some direction grows: 2 / lambda_max."""
        return float(2 / self.eigenvalues.max())

    @property
    def best_lr(self) -> float:
        """The fixed learning rate whose slowest direction is fastest: 2 / (lambda_min + lambda_max)."""
        return float(2 / (self.eigenvalues.min() + self.eigenvalues.max()))

    @property
    def factors(self) -> Floats:
        """(2,) what theory multiplies each coordinate's size by, a step: |1 - lr lambda|."""
        return np.abs(1 - self.lr * self.eigenvalues)

    @property
    def diverges(self) -> bool:
        """Measured: the steep coordinate ends farther from the minimum than it began."""
        return bool(abs(self.path[-1, 1]) > abs(self.path[0, 1]))

    def summary(self) -> str:
        rate = round(self.factors.max(), 9)
        fate = "above it: diverges" if rate > 1 else "below it: converges" if rate < 1 else "at it: jumps forever"
        sizes = "a step leaves {:.3f} of the flat coordinate's size and {:.3f} of the steep one's".format(*self.factors)
        return f"learning rate {self.lr:.3g}, threshold {self.threshold:.3g}, {fate}; {sizes}"

    def draw(self, figure: "Figure"):
        """Left the path over level curves, right what a step multiplies each coordinate by, against the learning
        rate."""
        left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
        left.set(xlabel=r"$\theta_1$ (flat direction)", ylabel=r"$\theta_2$ (steep direction)")
        left.set(xlim=(-2.2, 2.2), ylim=(-1.1, 1.1))
        left.grid(False)
        levels = [left.plot([], [], color=GREY, lw=0.8)[0] for _ in range(7)]
        (path,) = left.plot([], [], "o-", color=BLUE, ms=3, lw=1.2)
        left.plot(0, 0, "+", color=INK, ms=10)

        grid = np.geomspace(0.005, 3, 400)
        right.set(xlabel=r"learning rate $\eta$", ylabel="size after a step / size before", xscale="log")
        right.set(xlim=(0.005, 3), ylim=(0, 2))
        right.axhspan(1, 2, color=RED, alpha=0.08, lw=0)
        right.text(0.006, 1.9, "grows", color=RED, va="top")
        (flat,) = right.plot(grid, np.abs(1 - grid), color=GREEN, ls="-.", label=r"flat, $|1 - \eta\lambda_{\min}|$")
        (steep,) = right.plot([], [], color=ORANGE, ls="-", label=r"steep, $|1 - \eta\lambda_{\max}|$")
        (edge,) = right.plot([], [], color=RED, ls="--", lw=1.2, label=r"threshold $2 / \lambda_{\max}$")
        (here,) = right.plot([], [], "o", color=BLUE, label="this learning rate")
        right.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=2)

        def redraw(result: Bowl):
            start = result.path[0] ** 2 @ result.eigenvalues
            for line, share in zip(levels, (0.02, 0.1, 0.3, 0.6, 1.0, 1.6, 2.4), strict=True):
                line.set_data(*(CIRCLE * np.sqrt(share * start / result.eigenvalues)[:, None]))
            path.set_data(*np.clip(result.path, -50, 50).T)
            steep.set_data(grid, np.minimum(np.abs(1 - grid * result.eigenvalues[1]), 10))
            edge.set_data([result.threshold] * 2, [0, 2])
            here.set_data([result.lr] * 2, np.minimum(result.factors, 1.98))
            return [*levels, path, steep, flat, edge, here]

        redraw(self)
        return redraw


@experiment
def bowl(
    lr: Annotated[float, Log(0.005, 3.0)] = 0.15,
    kappa: Annotated[float, Log(1.0, 100.0)] = 10.0,
    steps: Annotated[int, Linear(2, 100)] = 30,
) -> Bowl:
    """Run gradient descent on a two-dimensional bowl of condition number kappa, from (-1.8, 0.6). Deterministic."""
    bottom = ravine(kappa)
    return Bowl(_follow(bottom.slope, bottom.start, lr, steps), np.array([1.0, kappa]), lr)


def _follow(slope: Callable, start: tuple[float, float], lr: float, steps: int) -> Floats:
    """The path of theta <- theta - lr g, (steps+1, 2); a run that has left for 1e9 stays there."""
    x, y = start
    path = [(x, y)]
    for _ in range(steps):
        if abs(x) < 1e9 and abs(y) < 1e9:
            dx, dy = slope(x, y)
            x, y = x - lr * dx, y - lr * dy
        path.append((x, y))
    return np.array(path)


@dataclass(frozen=True)
class Trajectory(Result):
    """Gradient descent on a surface in the plane. path: (steps+1, 2). losses: (steps+1,). name: the surface's."""

    name: str
    path: Floats
    losses: Floats
    lr: float

    @property
    def gap(self) -> Floats:
        """(steps+1,) height above the lowest point of the surface."""
        bottom = surface(self.name)
        return self.losses - bottom.at(*bottom.minimum)

    def steps_to(self, gap: float) -> int | None:
        """The first step at which the height above the minimum is below `gap`; None if it never is."""
        low = self.gap < gap
        return int(low.argmax()) if low.any() else None

    def summary(self) -> str:
        fate = "left for infinity" if np.abs(self.path[-1]).max() > 1e3 else f"{self.gap[-1]:.2g} above the minimum"
        return f"{self.name}, learning rate {self.lr:.3g}: after {len(self.path) - 1} steps {fate}"

    def draw(self, figure: "Figure"):
        """Left the path over the surface's level curves, right the height above the minimum against the step."""
        left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
        left.set(xlabel="x", ylabel="y", title="darker is lower")
        left.grid(False)
        (path,) = left.plot([], [], "o-", color=RED, ms=2.5, lw=1.2)
        (goal,) = left.plot([], [], "*", color=INK, ms=11)
        right.set(xlabel="step", ylabel="height above the minimum", yscale="log", xlim=(0, 1000), ylim=(1e-8, 1e4))
        (height,) = right.plot([], [], color=BLUE)
        shown: list[Any] = []  # the name of the surface whose level curves stand, and the curves

        def redraw(result: Trajectory):
            place = surface(result.name)
            path.set_data(*np.clip(result.path, -1e3, 1e3).T)
            goal.set_data(*([c] for c in place.minimum))
            height.set_data(np.arange(len(result.gap)), np.clip(result.gap, 1e-30, 1e30))
            if shown and shown[0] == result.name:
                return path, goal, height
            if shown:
                shown[1].remove()
            shown[:] = result.name, level_curves(left, place, "Blues_r")
            return None

        redraw(self)
        return redraw


@experiment
def trajectory(
    name: Literal["saddle", "ravine", "rosenbrock", "beale"] = "saddle",
    lr: Annotated[float, Log(1e-4, 1.0)] = 0.02,
    steps: Annotated[int, Linear(10, 1000)] = 600,
) -> Trajectory:
    """Run gradient descent on one of four surfaces from its usual start. Deterministic."""
    place = surface(name)
    path = _follow(place.slope, place.start, lr, steps)
    return Trajectory(name, path, place.value(path), lr)


@dataclass(frozen=True)
class Contraction(Result):
    """Gradient descent on f(theta) = theta^T H theta / 2, seen along the eigenvectors of H.

    eigenvalues: (n,) rising from 1/kappa to 1. components: (steps+1, n), the part of theta along each eigenvector.
    """

    eigenvalues: Floats
    components: Floats
    lr: float

    @property
    def factors(self) -> Floats:
        """(n,) what theory multiplies each component's size by, a step: |1 - lr lambda|."""
        return np.abs(1 - self.lr * self.eigenvalues)

    @property
    def measured(self) -> Floats:
        """(n,) the geometric mean shrinkage a step, up to where a component sinks into the rounding of the largest."""
        size = np.abs(self.components)
        floor = 1e-9 * np.maximum.accumulate(size.max(axis=1))
        clear = np.logical_and.accumulate(size > floor[:, None], axis=0)
        last = np.maximum(clear.sum(axis=0) - 1, 1)
        return (size[last, np.arange(len(last))] / size[0]) ** (1 / last)

    def summary(self) -> str:
        listed = ", ".join(f"{e:.3g}: {m:.3f}" for e, m in zip(self.eigenvalues, self.measured, strict=True))
        return f"{'di' if self.factors.max() > 1 else 'con'}verges; measured factor a step by eigenvalue: {listed}"

    def draw(self, figure: "Figure"):
        """The size of each eigen-component against the step, and the slopes that theory predicts."""
        ax = figure.subplots()
        ax.set(xlabel="step", ylabel="component along the eigenvector", yscale="log", xlim=(0, 100), ylim=(1e-8, 1e4))
        lines = [ax.plot([], [], color=color, ls=style)[0] for color, style in LINES[:5]]
        (theory,) = ax.plot([], [], ".", color=INK, ms=2.5)
        for line, name in zip(lines, ("1$ (flattest)", "2$", "3$", "4$", "5$ (steepest)"), strict=True):
            line.set_label(r"$\lambda_" + name)
        theory.set_label(r"theory, $|1 - \eta\lambda|^t$")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=6)

        def redraw(result: Contraction):
            steps = np.arange(len(result.components))
            for line, sizes in zip(lines, np.abs(result.components).T, strict=True):
                line.set_data(steps, np.clip(sizes, 1e-30, 1e30))
            every = steps[::4]
            predicted = np.clip(result.factors[:, None], 1e-30, None) ** every
            theory.set_data(np.tile(every, len(predicted)), np.clip(predicted, 1e-30, 1e30).ravel())
            return [*lines, theory]

        redraw(self)
        return redraw


@experiment
def contraction(
    lr: Annotated[float, Log(0.05, 2.5)] = 1.0,
    kappa: Annotated[float, Log(2.0, 1000.0)] = 30.0,
    steps: Annotated[int, Linear(10, 100)] = 60,
    *,
    seed: int = 0,
) -> Contraction:
    """Run gradient descent on a five-dimensional quadratic whose eigenvectors are the axes, randomly rotated by `seed`.

    The eigenvalues are evenly spaced in ratio from 1/kappa to 1; theta starts at distance 1 along every eigenvector.
    """
    eigenvalues = np.geomspace(1 / kappa, 1, 5)
    turned = quadratic(eigenvalues.tolist(), seed=seed)
    hessian, path = turned.hessian.numpy(), [turned.start.numpy()]
    for _ in range(steps):
        path.append(path[-1] - lr * hessian @ path[-1])
    return Contraction(eigenvalues, np.array(path) @ turned.directions.numpy(), lr)


@dataclass(frozen=True)
class StepSweep(Result):
    """lrs, rates: (400,) the measured rate is what a step leaves of the error, late in a run."""

    kappa: float
    lrs: Floats
    rates: Floats

    @property
    def predicted(self) -> Floats:
        """(400,) the slowest direction's factor, max |1 - lr lambda| over the spectrum."""
        return np.maximum(np.abs(1 - self.lrs / self.kappa), np.abs(1 - self.lrs))

    @property
    def best(self) -> tuple[float, float]:
        """The learning rate with the smallest measured rate, and that rate."""
        i = int(self.rates.argmin())
        return float(self.lrs[i]), float(self.rates[i])

    @property
    def best_predicted(self) -> tuple[float, float]:
        """2 / (lambda_min + lambda_max) and (kappa - 1) / (kappa + 1) (Polyak 1987, ch. 1)."""
        return 2 / (1 / self.kappa + 1), (self.kappa - 1) / (self.kappa + 1)

    def summary(self) -> str:
        best, theory = ("{:.3f} leaves {:.4f} of the error a step".format(*p) for p in (self.best, self.best_predicted))
        return f"best learning rate {best}; in theory {theory}"

    def draw(self, figure: "Figure"):
        """Measured rate of convergence against the learning rate, over the theory."""
        ax = figure.subplots()
        ax.set(
            xlabel=r"learning rate $\eta$, in units of $1 / \lambda_{\max}$", ylabel="error left after a step / before"
        )
        ax.set(xlim=(0, 2.2), ylim=(0, 1.3))
        ax.axhline(1, color=RED, lw=1, ls="--")
        ax.text(0.02, 1.02, "diverges above this line", color=RED, va="bottom")
        (predicted,) = ax.plot([], [], color=ORANGE, lw=4, alpha=0.5, label=r"theory, $\max_i |1 - \eta\lambda_i|$")
        (measured,) = ax.plot([], [], color=BLUE, ls="--", lw=1.2, label="measured")
        (best,) = ax.plot([], [], "o", color=GREEN, label=r"$\eta = 2/(\lambda_{\min} + \lambda_{\max})$")
        ax.legend(loc="lower left")

        def redraw(result: StepSweep):
            predicted.set_data(result.lrs, result.predicted)
            measured.set_data(result.lrs, result.rates)
            best.set_data(*([value] for value in result.best_predicted))
            return predicted, measured, best

        redraw(self)
        return redraw


@experiment
def step_sweep(kappa: Annotated[float, Log(1.5, 100.0)] = 10.0) -> StepSweep:
    """Run gradient descent with 400 learning rates on a quadratic with eigenvalues from 1/kappa to 1. Deterministic."""
    lrs, spectrum = np.linspace(0.01, 2.2, 400), np.geomspace(1 / kappa, 1, 4)
    theta, steps = np.ones((400, 4)), 200
    for t in range(steps):
        theta = theta - lrs[:, None] * spectrum * theta
        if t + 1 == steps // 2:
            halfway = np.linalg.norm(theta, axis=1)
    return StepSweep(kappa, lrs, (np.linalg.norm(theta, axis=1) / halfway) ** (2 / steps))


@dataclass(frozen=True)
class Iterations(Result):
    """Steps until the error is below `tolerance` of its start, for condition numbers kappas: (12,).

    best, safe: (12,) counts at the learning rates 2 / (lambda_min + lambda_max) and 1 / lambda_max.
    """

    kappas: Floats
    best: NDArray[np.int64]
    safe: NDArray[np.int64]
    tolerance: float

    @property
    def predicted(self) -> Floats:
        """(12,) ln(tolerance) / ln((kappa-1)/(kappa+1)), near kappa/2 ln(1/tolerance)."""
        return np.log(self.tolerance) / np.log((self.kappas - 1) / (self.kappas + 1))

    @property
    def slope(self) -> float:
        """The exponent p of best ~ kappa^p, by least squares on the upper half of the log-log curve."""
        return float(np.polyfit(np.log(self.kappas[6:]), np.log(self.best[6:]), 1)[0])

    def summary(self) -> str:
        ends = (f"{self.best[i]} at kappa {self.kappas[i]:.0f}" for i in (0, -1))
        return f"steps grow like kappa^{self.slope:.2f}: {', '.join(ends)}"

    def draw(self, figure: "Figure"):
        """Steps to the tolerance against the condition number, both axes logarithmic."""
        ax = figure.subplots()
        ax.set(xlabel=r"condition number $\kappa$", ylabel="steps to the tolerance", xscale="log", yscale="log")
        ax.set(xlim=(1.8, 330), ylim=(1, 6000))
        (safe,) = ax.plot([], [], "s--", color=ORANGE, ms=4, label=r"measured, $\eta = 1/\lambda_{\max}$")
        (best,) = ax.plot(
            [], [], "o-", color=BLUE, ms=4, label=r"measured, $\eta = 2/(\lambda_{\min} + \lambda_{\max})$"
        )
        (theory,) = ax.plot([], [], color=INK, ls=":", label=r"theory for the best $\eta$")
        ax.legend(loc="upper left")

        def redraw(result: Iterations):
            safe.set_data(result.kappas, result.safe)
            best.set_data(result.kappas, result.best)
            theory.set_data(result.kappas, result.predicted)
            return safe, best, theory

        redraw(self)
        return redraw


@experiment
def iterations(
    worst: Annotated[float, Log(20.0, 300.0)] = 100.0, tolerance: Annotated[float, Log(1e-6, 0.1)] = 1e-3
) -> Iterations:
    """Count gradient descent's steps on twelve quadratics with condition numbers from 2 to `worst`. Deterministic."""
    kappas = np.geomspace(2, worst, 12)
    spectrum = np.stack([1 / kappas, np.ones(12)], axis=1)
    lrs = np.stack([2 / (1 + 1 / kappas), np.ones(12)])
    factors = 1 - lrs[:, :, None] * spectrum
    error, counts = np.ones((2, 12, 2)), np.zeros((2, 12), dtype=np.int64)
    while (running := (error**2).sum(axis=2) > 2 * tolerance**2).any():
        counts += running
        error = factors * error
    return Iterations(kappas, counts[0], counts[1], tolerance)


CIRCLE = np.stack([np.cos(np.linspace(0, 2 * np.pi, 200)), np.sin(np.linspace(0, 2 * np.pi, 200))])
