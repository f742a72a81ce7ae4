"""Momentum beyond one bowl: Nesterov's two forms, a cycle that never ends, and where the learning rate stands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from course_lib.controls import Linear, Log, experiment
from course_lib.experiments.race import GROUNDS, Ground

Array = NDArray[np.float64]


def kinked_slope(x: float) -> float:
    """f'(x) = 25 x below 1, x + 24 up to 2, 25 x - 24 above (Lessard, Recht & Packard 2016)."""
    return 25 * x if x < 1 else x + 24 if x < 2 else 25 * x - 24


def kinked(x: Array) -> Array:
    """The f of that slope, convex with its minimum 0 at 0. x and the result: (...)."""
    return np.where(x < 1, 12.5 * x**2, np.where(x < 2, x**2 / 2 + 24 * x - 12, 12.5 * x**2 - 24 * x + 36))


@dataclass(frozen=True)
class Cycle:
    """Both methods on the kinked function, from one start. heavy_ball, nesterov: (121,) x_t."""

    heavy_ball: Array
    nesterov: Array
    lr: float
    beta: float

    @property
    def limit(self) -> Array:
        """(3,) where heavy ball is at the last three steps."""
        return self.heavy_ball[-3:]

    @property
    def cycles(self) -> bool:
        """Whether heavy ball repeats its last three places without having arrived."""
        last, before = self.heavy_ball[-3:], self.heavy_ball[-6:-3]
        return bool(np.abs(last - before).max() < 1e-6 and np.abs(last).max() > 1e-3)

    def summary(self) -> str:
        places = ", ".join(f"{x:.2f}" for x in self.limit)
        end = "diverges" if abs(self.heavy_ball[-1]) > 1e3 else f"ends at {self.heavy_ball[-1]:.2g}"
        heavy = f"goes round {places} for ever" if self.cycles else end
        return f"heavy ball {heavy}; Nesterov ends at {self.nesterov[-1]:.2g}"


@experiment
def cycle(
    start: Annotated[float, Linear(-4.0, 4.0)] = 3.3,
    lr: Annotated[float, Linear(0.01, 0.15)] = 1 / 9,
    beta: Annotated[float, Linear(0.0, 0.9)] = 4 / 9,
) -> Cycle:
    """Run heavy ball from rest for 120 steps, and beside it Nesterov at lr 1/25 and beta 2/3, whatever the sliders say.

    For quadratics with curvatures from 1 to 25, lr 1/9 and beta 4/9 are the best that heavy ball has. Deterministic.
    """
    heavy, ahead = [start, start], [start, start]
    for _ in range(120):
        x, old = heavy[-1], heavy[-2]
        heavy.append(max(-1e6, min(1e6, x + beta * (x - old) - lr * kinked_slope(x))))
        y = ahead[-1] + 2 / 3 * (ahead[-1] - ahead[-2])
        ahead.append(y - kinked_slope(y) / 25)
    return Cycle(np.array(heavy[1:]), np.array(ahead[1:]), lr, beta)


@dataclass(frozen=True)
class TwoForms:
    """Nesterov's method twice on one ground. Both (steps+1, 2), row 0 the start.

    plain: theta in Sutskever's form. ahead: theta + beta v there, where it looks. torch: theta in torch's form.
    """

    ground: str
    plain: Array
    ahead: Array
    torch: Array

    @property
    def apart(self) -> Array:
        """(steps+1,) the distance of torch's theta from the look-ahead point, over the latter's size."""
        return np.linalg.norm(self.torch - self.ahead, axis=1) / np.linalg.norm(self.ahead, axis=1).clip(1e-9)

    @property
    def between(self) -> Array:
        """(steps+1,) the distance of torch's theta from Sutskever's."""
        return np.linalg.norm(self.torch - self.plain, axis=1)

    def summary(self) -> str:
        far = f"torch's theta is up to {self.between.max():.2g} from the look-ahead form's theta"
        return f"{self.ground}: {far}, and up to {self.apart.max():.1g} of its size from theta + beta v there"


@experiment
def two_forms(
    ground: Ground = "rosenbrock",
    lr: Annotated[float, Log(1e-4, 0.02)] = 1e-3,
    beta: Annotated[float, Linear(0.0, 0.95)] = 0.9,
    steps: Annotated[int, Linear(2, 200)] = 60,
) -> TwoForms:
    r"""Run Nesterov's method as it is explained and as torch writes it, both from rest. Deterministic.

    .. math::
        v_t &= \beta v_{t-1} - \eta\, \nabla f(\theta_{t-1} + \beta v_{t-1}), \quad
            \theta_t = \theta_{t-1} + v_t                                                 \qquad (1) \\
        v_t &= \beta v_{t-1} + \nabla f(\theta_{t-1}), \quad
            \theta_t = \theta_{t-1} - \eta\, (\nabla f(\theta_{t-1}) + \beta v_t) \qquad (2)

    (1) Sutskever et al. 2013, eq. 3 and 4; (2) torch.optim.SGD. A run that leaves |x|, |y| < 100 stops there.
    """
    place = GROUNDS[ground]
    theta, v = np.array(place.start), np.zeros(2)
    moved, w = theta, v
    plain, ahead, torch = [theta], [theta], [moved]
    for _ in range(steps):
        if np.abs(moved).max() < 100:
            v = beta * v - lr * place.gradient(theta + beta * v)  # (1)
            theta = theta + v
            g = place.gradient(moved)  # (2)
            w = beta * w + g
            moved = moved - lr * (g + beta * w)
        plain.append(theta)
        ahead.append(theta + beta * v)
        torch.append(moved)
    return TwoForms(ground, np.array(plain), np.array(ahead), np.array(torch))


@dataclass(frozen=True)
class Conventions:
    """Step lengths on a slope of 1, and distances on a bowl of curvature 1; lr is multiplied by `factor` at step `at`.

    steps[name]: (100,). distances[name]: (101,), from 1. The names: "outside" (torch: the velocity sums gradients, lr
    multiplies it), "inside" (Polyak, Sutskever: the velocity sums steps), "dampened" (torch with dampening beta).
    """

    steps: Mapping[str, Array]
    distances: Mapping[str, Array]
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


@experiment
def conventions(
    lr: Annotated[float, Log(1e-3, 0.5)] = 0.02,
    beta: Annotated[float, Linear(0.0, 0.95)] = 0.9,
    factor: Annotated[float, Log(0.01, 10.0)] = 0.1,
    at: Annotated[int, Linear(5, 80)] = 45,
) -> Conventions:
    """Run three conventions of heavy ball for 100 steps, on a slope and on a bowl. Deterministic."""
    lrs = [lr * (factor if t >= at else 1.0) for t in range(100)]
    names = ("outside", "inside", "dampened")
    slope = {name: np.abs(np.diff(_convention(name, lrs, beta, lambda x: 1.0))) for name in names}
    bowl = {name: np.abs(_convention(name, lrs, beta, lambda x: x)) for name in names}
    return Conventions(slope, bowl, lr, beta, factor, at)


def _convention(name: str, lrs: list[float], beta: float, slope: Callable[[float], float]) -> Array:
    x, v, path = 1.0, 0.0, [1.0]
    for t, lr in enumerate(lrs):
        g = slope(x)
        if name == "inside":
            v = beta * v + lr * g
            x = x - v
        else:
            v = beta * v + (1 - beta if name == "dampened" and t else 1.0) * g  # torch spares the first gradient
            x = x - lr * v
        x = max(-1e9, min(1e9, x))
        path.append(x)
    return np.array(path)
