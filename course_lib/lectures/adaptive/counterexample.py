"""A convex problem on which Adam goes to the worst point, and AMSGrad does not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from course_lib.optim import Transform, adam, amsgrad, on_numbers, sgd
from course_lib.ranges import Linear, Log, Progress, experiment, no_progress
from course_lib.results import Floats, Result
from course_lib.style import GREY, INK, LINES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Counterexample(Result):
    """x_t on [-1, 1]; the slopes repeat: `large`, then period - 1 times -1. They sum to more than 0: the best is -1.

    paths[name]: (steps+1,).
    """

    paths: Mapping[str, Floats]
    large: float
    period: int
    b1: float
    b2: float

    @property
    def drift(self) -> float:
        """Theory, for b1 = 0: what the slopes over their roots come to in a round; Adam climbs to 1 where below 0."""
        return float(drift(self.large, self.b2, self.period))

    def regret(self, name: str) -> Floats:
        """(steps,) loss above that of staying at -1, a step, averaged over the steps so far."""
        away = self.paths[name][:-1] + 1
        slopes = np.resize([self.large] + [-1.0] * (self.period - 1), len(away))
        return np.cumsum(slopes * away) / np.arange(1, len(away) + 1)

    def summary(self) -> str:
        each = ", ".join(f"{n} at {x[-1]:+.2f}" for n, x in self.paths.items())
        steps = len(self.paths["SGD"]) - 1
        return f"after {steps} steps, best -1, worst +1: {each}; drift of Adam without momentum {self.drift:+.2f}"

    def draw(self, figure: "Figure"):
        """Left the iterate between the best point and the worst; right the average loss above the best so far."""
        left, right = figure.subplots(1, 2)
        left.set(xlabel="step", ylabel="$x$, best at -1", xscale="log", xlim=(1, 6000), ylim=(-1.1, 1.1))
        left.axhline(-1, color=GREY, lw=0.8)
        right.set(xlabel="step", ylabel="average regret a step", xscale="log", yscale="log")
        right.set(xlim=(1, 6000), ylim=(1e-3, 1e3))
        looks = dict(zip(self.paths, LINES, strict=False))
        paths = {n: left.plot([], [], color=c, ls=ls, lw=1.4, label=n)[0] for n, (c, ls) in looks.items()}
        regrets = {n: right.plot([], [], color=c, ls=ls, lw=1.4)[0] for n, (c, ls) in looks.items()}
        figure.legend(handles=list(paths.values()), loc="outside upper center", ncols=3, handlelength=3)

        def redraw(result: Counterexample):
            steps = np.arange(1, len(result.paths["SGD"]))
            for name in paths:
                paths[name].set_data(steps, result.paths[name][1:])
                regrets[name].set_data(steps, np.clip(result.regret(name), 1e-30, None))
            return *paths.values(), *regrets.values()

        redraw(self)
        return redraw


def drift(large: Any, b2: Any, period: int = 3) -> Any:
    r"""What Adam without momentum moves against in a round of slopes C, -1, ..., -1, once v repeats too.

    .. math::
        v_1 &= \frac{(1 - \beta_2)\, C^2 + \beta_2 - \beta_2^n}{1 - \beta_2^n}, \quad
            v_k = \beta_2^{k-1} v_1 + 1 - \beta_2^{k-1}                                  \qquad (1) \\
        D &= C / \sqrt{v_1} - \sum_{k=2}^{n} 1 / \sqrt{v_k}                           \qquad (2)

    Where D > 0 the iterate goes down, as C - (n - 1) > 0 says that it should. Numbers, or arrays that broadcast.
    """
    first = ((1 - b2) * large**2 + b2 - b2**period) / (1 - b2**period)  # (1)
    rest = (1 / np.sqrt(b2**k * first + 1 - b2**k) for k in range(1, period))
    return large / np.sqrt(first) - sum(rest)  # (2)


@experiment
def adam_counterexample(
    excess: Annotated[float, Linear(1.01, 5.0)] = 1.5,
    period: Annotated[int, Linear(3, 101)] = 3,
    b1: Annotated[float, Linear(0.0, 0.9)] = 0.0,
    b2: Annotated[float, Linear(0.0, 0.999)] = 0.1,
    lr: Annotated[float, Log(0.01, 1.0)] = 0.5,
    steps: Annotated[int, Log(300, 6000)] = 1000,
) -> Counterexample:
    """Run SGD, Adam and AMSGrad with lr / sqrt(t), every step clipped to [-1, 1], from 0. Deterministic.

    The large slope is excess (period - 1). Reddi, Kale & Kumar 2018 have in theorem 1 period 3, large slope C, b1 = 0,
    b2 = 1 / (1 + C^2), and in section 5 period 101, excess 1.01, b1 = 0.9, b2 = 0.99.
    """
    large = excess * (period - 1)
    optimizers = {"SGD": sgd(lr), "Adam": adam(lr, b1, b2), "AMSGrad": amsgrad(lr, b1, b2)}
    runs = {name: np.array(_run(optimizer, large, period, steps)) for name, optimizer in optimizers.items()}
    return Counterexample(runs, large, period, b1, b2)


def _run(optimizer: Transform, large: float, period: int, steps: int) -> list[float]:
    x = 0.0
    move, path = on_numbers(optimizer), [x]
    for t in range(steps):
        x = clip(x + move(-1.0 if t % period else large) / (t + 1) ** 0.5)
        path.append(x)
    return path


def clip(x: Any) -> Any:
    return min(1.0, max(-1.0, x)) if isinstance(x, float) else np.clip(x, -1, 1)


@dataclass(frozen=True)
class CounterexampleMap(Result):
    """Where Adam ends, over the large slope and b2. larges: (33,). b2s: (40,). ends: (40, 33), from -1 to 1."""

    larges: Floats
    b2s: Floats
    ends: Floats
    b1: float

    @property
    def predicted(self) -> Floats:
        """(40, 33) the drift, for b1 = 0: where it is negative Adam should end at +1."""
        return drift(self.larges, self.b2s[:, None])

    @property
    def agreement(self) -> float:
        """Share of settings whose end has the sign that the drift says."""
        return float(((self.ends > 0) == (self.predicted < 0)).mean())

    def summary(self) -> str:
        return f"Adam ends on the wrong side in {(self.ends > 0).mean():.0%} of the settings, b1 = {self.b1:.2g}"

    def draw(self, figure: "Figure"):
        """Where Adam ends, over the large slope and b2, and theory's border for Adam without momentum."""
        ax = figure.subplots()
        ax.set(xlabel="the large slope $C$ (the other two are -1)", ylabel=r"$\beta_2$", xlim=(2.1, 10), ylim=(0, 0.99))
        ax.grid(False)
        mesh = ax.pcolormesh(self.larges, self.b2s, self.ends, cmap="cividis", vmin=-1, vmax=1, rasterized=True)
        bar = figure.colorbar(mesh, ax=ax, label="where Adam ends: -1 best, +1 worst")
        bar.ax.set_label("<colorbar>")
        larges, b2s = np.linspace(2.1, 10, 200), np.linspace(0.001, 0.99, 200)
        ax.contour(larges, b2s, drift(larges, b2s[:, None]), levels=[0.0], colors=INK, linewidths=2, linestyles="--")
        (published,) = ax.plot(larges, 1 / (1 + larges**2), color=INK, lw=1.5, ls=":", label=r"published: $1/(1+C^2)$")
        (border,) = ax.plot([], [], color=INK, lw=2, ls="--", label=r"theory at $\beta_1 = 0$")
        figure.legend(handles=[border, published], loc="outside upper center", ncols=2, handlelength=3)

        def redraw(result: CounterexampleMap):
            mesh.set_array(result.ends)
            return (mesh,)

        redraw(self)
        return redraw


@experiment
def counterexample_map(
    b1: Annotated[float, Linear(0.0, 0.9)] = 0.0,
    lr: Annotated[float, Log(0.01, 1.0)] = 0.5,
    *,
    progress: Progress = no_progress,
) -> CounterexampleMap:
    """Run Adam for 3000 steps at 1320 settings of the large slope, 2.1 to 10, and b2, 0 to 0.99. Deterministic."""
    larges, b2s = np.linspace(2.1, 10, 33), np.linspace(0, 0.99, 40)
    x, move = np.zeros((40, 33)), on_numbers(adam(lr, b1, b2s[:, None]))
    for t in progress(range(3000)):
        x = clip(x + move(-1.0 if t % 3 else larges) / (t + 1) ** 0.5)
    return CounterexampleMap(larges, b2s, x, b1)
