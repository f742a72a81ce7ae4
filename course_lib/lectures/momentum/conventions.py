"""Momentum beyond one bowl: Nesterov's two forms, a cycle that never ends, and where the learning rate stands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from course_lib.lectures.momentum.race import GROUNDS, Ground
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED

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
    lr: float
    beta: float

    @property
    def limit(self) -> Floats:
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
        heavy = f"cycles through {places} forever" if self.cycles else end
        return f"heavy ball {heavy}; Nesterov ends at {self.nesterov[-1]:.2g}"

    def draw(self, figure: "Figure"):
        """Left the function and the last places of heavy ball on it, right where both methods are, step by step."""
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.2))
        grid = np.linspace(-4, 4, 300)
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
            loop = np.clip([*result.limit, result.limit[0]], -50, 50)
            places.set_data(loop, kinked(loop))
            end = result.nesterov[-1:]
            rest.set_data(end, kinked(end))
            steps = np.arange(61)
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
class TwoForms(Result):
    """Nesterov's method twice on one ground. Both (steps+1, 2), row 0 the start.

    plain: theta in Sutskever's form. ahead: theta + beta v there, where it looks. torch: theta in torch's form.
    """

    ground: str
    plain: Floats
    ahead: Floats
    torch: Floats

    @property
    def apart(self) -> Floats:
        """(steps+1,) the distance of torch's theta from the look-ahead point, over the latter's size."""
        return np.linalg.norm(self.torch - self.ahead, axis=1) / np.linalg.norm(self.ahead, axis=1).clip(1e-9)

    @property
    def between(self) -> Floats:
        """(steps+1,) the distance of torch's theta from Sutskever's."""
        return np.linalg.norm(self.torch - self.plain, axis=1)

    def summary(self) -> str:
        far = f"torch's theta is up to {self.between.max():.2g} from the look-ahead form's theta"
        return f"{self.ground}: {far}, and up to {self.apart.max():.1g} of its size from theta + beta v there"

    def draw(self, figure: "Figure"):
        """Left the paths of both forms, right how far torch's theta is from the other's theta and from its look-
        ahead."""
        left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
        left.set(xlabel="x", ylabel="y")
        left.grid(False)
        (plain,) = left.plot([], [], "o-", color=BLUE, ms=3, lw=1, label=r"$\theta$, look-ahead form")
        (ahead,) = left.plot([], [], "s", color=ORANGE, ms=5, mec=INK, mew=0.5, label=r"$\theta + \beta v$ there")
        (torch,) = left.plot([], [], "x", color=RED, ms=5, label=r"$\theta$, torch's form")
        left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1, handletextpad=0.4)
        right.set(xlabel="step", ylabel=r"distance of torch's $\theta$", yscale="log", xlim=(0, 200), ylim=(1e-18, 1e2))
        (between,) = right.plot([], [], color=BLUE, label=r"from $\theta$, look-ahead form")
        (apart,) = right.plot([], [], color=ORANGE, ls="--", label=r"from $\theta + \beta v$, over its size")
        right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
        shown: list[Any] = []

        def redraw(result: TwoForms):
            for line, path in ((plain, result.plain), (ahead, result.ahead), (torch, result.torch)):
                line.set_data(*np.clip(path, -100, 100).T)
            steps = np.arange(len(result.plain))
            between.set_data(steps, np.clip(result.between, 1e-17, 1e9))
            apart.set_data(steps, np.clip(result.apart, 1e-17, 1e9))
            if shown and shown[0] == result.ground:
                return plain, ahead, torch, between, apart
            if shown:
                shown[1].remove()
            place = GROUNDS[result.ground]
            x0, x1, y0, y1 = place.window
            x, y = np.meshgrid(np.linspace(x0, x1, 160), np.linspace(y0, y1, 160))
            relief = np.log10(place.at(x, y) - place.at(*place.minimum) + 1e-2)
            shown[:] = result.ground, left.contourf(x, y, relief, levels=18, cmap="Greys_r", zorder=0)
            left.set(xlim=(x0, x1), ylim=(y0, y1))
            return None

        redraw(self)
        return redraw


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
        left.set(
            xlabel="step", ylabel="length of the step on a slope of 1", yscale="log", xlim=(0, 100), ylim=(1e-4, 1e2)
        )
        right.set(
            xlabel="step", ylabel="distance on a bowl of curvature 1", yscale="log", xlim=(0, 100), ylim=(1e-6, 1e2)
        )
        looks = {"outside": (BLUE, "-"), "inside": (RED, "--"), "dampened": (PURPLE, "-.")}
        labels = {
            "outside": r"$\eta$ outside the velocity",
            "inside": r"$\eta$ inside",
            "dampened": r"outside, dampening $\beta$",
        }
        steps = {n: left.plot([], [], color=c, ls=ls, label=labels[n])[0] for n, (c, ls) in looks.items()}
        distances = {n: right.plot([], [], color=c, ls=ls)[0] for n, (c, ls) in looks.items()}
        (cruise,) = left.plot([], [], color=INK, ls=":", lw=1.2, label=r"$\eta\,/\,(1 - \beta)$")
        changes = [ax.plot([], [], color=GREY, lw=1)[0] for ax in (left, right)]
        figure.legend(handles=[*steps.values(), cruise], loc="outside upper center", ncols=4)

        def redraw(result: Conventions):
            for name, line in steps.items():
                line.set_data(np.arange(1, 101), np.clip(result.steps[name], 1e-30, 1e30))
                distances[name].set_data(np.arange(101), np.clip(result.distances[name], 1e-30, 1e30))
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
    lrs = [lr * (factor if t >= at else 1.0) for t in range(100)]
    names = ("outside", "inside", "dampened")
    slope = {name: np.abs(np.diff(_convention(name, lrs, beta, lambda x: 1.0))) for name in names}
    bowl = {name: np.abs(_convention(name, lrs, beta, lambda x: x)) for name in names}
    return Conventions(slope, bowl, lr, beta, factor, at)


def _convention(name: str, lrs: list[float], beta: float, slope: Callable[[float], float]) -> Floats:
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
