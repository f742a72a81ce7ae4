"""How does gradient descent move on a bowl: direction by direction, at what speed, and when not at all?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from course_lib.controls import Linear, Log, experiment
from course_lib.surfaces import quadratic, ravine, surface

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Bowl:
    """Gradient descent on f(theta) = (theta_1^2 + kappa theta_2^2) / 2.

    path: (steps+1, 2), row 0 is the start. eigenvalues: (2,) 1 and kappa, by coordinate.
    """

    path: Array
    eigenvalues: Array
    lr: float

    @property
    def losses(self) -> Array:
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
    def factors(self) -> Array:
        """(2,) what theory multiplies each coordinate's size by, a step: |1 - lr lambda|."""
        return np.abs(1 - self.lr * self.eigenvalues)

    @property
    def diverges(self) -> bool:
        """Measured: the steep coordinate ends farther from the minimum than it began."""
        return bool(abs(self.path[-1, 1]) > abs(self.path[0, 1]))

    def summary(self) -> str:
        rate = round(self.factors.max(), 9)
        fate = "above it: diverges" if rate > 1 else "below it: converges" if rate < 1 else "at it: jumps for ever"
        sizes = "a step leaves {:.3f} of the flat coordinate's size and {:.3f} of the steep one's".format(*self.factors)
        return f"learning rate {self.lr:.3g}, threshold {self.threshold:.3g}, {fate}; {sizes}"


@experiment
def bowl(
    lr: Annotated[float, Log(0.005, 3.0)] = 0.15,
    kappa: Annotated[float, Log(1.0, 100.0)] = 10.0,
    steps: Annotated[int, Linear(2, 100)] = 30,
) -> Bowl:
    """Run gradient descent on a two-dimensional bowl of condition number kappa, from (-1.8, 0.6). Deterministic."""
    bottom = ravine(kappa)
    return Bowl(_follow(bottom.slope, bottom.start, lr, steps), np.array([1.0, kappa]), lr)


def _follow(slope: Callable, start: tuple[float, float], lr: float, steps: int) -> Array:
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
class Walk:
    """Gradient descent on a surface in the plane. path: (steps+1, 2). losses: (steps+1,). name: the surface's."""

    name: str
    path: Array
    losses: Array
    lr: float

    @property
    def gap(self) -> Array:
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


@experiment
def walk(
    name: Literal["saddle", "ravine", "rosenbrock", "beale"] = "saddle",
    lr: Annotated[float, Log(1e-4, 1.0)] = 0.02,
    steps: Annotated[int, Linear(10, 1000)] = 600,
) -> Walk:
    """Run gradient descent on one of four surfaces from its usual start. Deterministic."""
    ground = surface(name)
    path = _follow(ground.slope, ground.start, lr, steps)
    return Walk(name, path, ground.value(path), lr)


@dataclass(frozen=True)
class Contraction:
    """Gradient descent on f(theta) = theta^T H theta / 2, seen along the eigenvectors of H.

    eigenvalues: (n,) rising from 1/kappa to 1. components: (steps+1, n), the part of theta along each eigenvector.
    """

    eigenvalues: Array
    components: Array
    lr: float

    @property
    def factors(self) -> Array:
        """(n,) what theory multiplies each component's size by, a step: |1 - lr lambda|."""
        return np.abs(1 - self.lr * self.eigenvalues)

    @property
    def measured(self) -> Array:
        """(n,) the geometric mean shrinkage a step, up to where a component sinks into the rounding of the largest."""
        size = np.abs(self.components)
        floor = 1e-9 * np.maximum.accumulate(size.max(axis=1))
        clear = np.logical_and.accumulate(size > floor[:, None], axis=0)
        last = np.maximum(clear.sum(axis=0) - 1, 1)
        return (size[last, np.arange(len(last))] / size[0]) ** (1 / last)

    def summary(self) -> str:
        listed = ", ".join(f"{e:.3g}: {m:.3f}" for e, m in zip(self.eigenvalues, self.measured, strict=True))
        return f"{'di' if self.factors.max() > 1 else 'con'}verges; measured factor a step by eigenvalue: {listed}"


@experiment
def contraction(
    lr: Annotated[float, Log(0.05, 2.5)] = 1.0,
    kappa: Annotated[float, Log(2.0, 1000.0)] = 30.0,
    steps: Annotated[int, Linear(10, 100)] = 60,
    *,
    seed: int = 0,
) -> Contraction:
    """Run gradient descent on a five-dimensional quadratic whose eigenvectors are the axes, turned at random by `seed`.

    The eigenvalues are evenly spaced in ratio from 1/kappa to 1; theta starts at distance 1 along every eigenvector.
    """
    eigenvalues = np.geomspace(1 / kappa, 1, 5)
    turned = quadratic(eigenvalues.tolist(), seed=seed)
    hessian, path = turned.hessian.numpy(), [turned.start.numpy()]
    for _ in range(steps):
        path.append(path[-1] - lr * hessian @ path[-1])
    return Contraction(eigenvalues, np.array(path) @ turned.directions.numpy(), lr)


@dataclass(frozen=True)
class StepSweep:
    """lrs, rates: (400,) the measured rate is what a step leaves of the error, late in a run."""

    kappa: float
    lrs: Array
    rates: Array

    @property
    def predicted(self) -> Array:
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
class Iterations:
    """Steps until the error is below `tolerance` of its start, for condition numbers kappas: (12,).

    best, safe: (12,) counts at the learning rates 2 / (lambda_min + lambda_max) and 1 / lambda_max.
    """

    kappas: Array
    best: NDArray[np.int64]
    safe: NDArray[np.int64]
    tolerance: float

    @property
    def predicted(self) -> Array:
        """(12,) ln(tolerance) / ln((kappa-1)/(kappa+1)), near kappa/2 ln(1/tolerance)."""
        return np.log(self.tolerance) / np.log((self.kappas - 1) / (self.kappas + 1))

    @property
    def slope(self) -> float:
        """The exponent p of best ~ kappa^p, by least squares on the upper half of the log-log curve."""
        return float(np.polyfit(np.log(self.kappas[6:]), np.log(self.best[6:]), 1)[0])

    def summary(self) -> str:
        ends = (f"{self.best[i]} at kappa {self.kappas[i]:.0f}" for i in (0, -1))
        return f"steps grow like kappa^{self.slope:.2f}: {', '.join(ends)}"


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
