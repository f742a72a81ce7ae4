"""How long is a step of Adam, and what does it depend on?"""

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated

import numpy as np

from course_lib.optim import Transform, adadelta, adagrad, adam, on_numbers, rmsprop, sgd, steps_on
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Floats, Result
from course_lib.style import BLUE, GREEN, GREY, LINES, ORANGE, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = 3000
SIZES = np.geomspace(1e-12, 1e6, 91)


def running(x: Floats, beta: float) -> Floats:
    """(steps,) the running mean a_t = beta a_(t-1) + (1 - beta) x_t, from a_0 = 0, without bias correction."""
    return np.array(list(accumulate(x.tolist(), lambda a, g: beta * a + (1 - beta) * g, initial=0.0))[1:])


@dataclass(frozen=True)
class FirstSteps(Result):
    """Steps of one coordinate over lr, on a gradient of one sign. adam, uncorrected: (3000,), step 1 first.

    corrected and first: (91,) the first step over lr, by the gradient's size in SIZES.
    """

    adam: Floats
    uncorrected: Floats
    first: Floats
    scale: float
    b1: float
    b2: float
    eps: float

    @property
    def factor(self) -> Floats:
        """(3000,) how many times longer the uncorrected step is than the corrected one."""
        return self.uncorrected / self.adam

    @property
    def theory(self) -> Floats:
        """(3000,) the same by formula, where eps is nothing beside the root: (1 - b1^t) / sqrt(1 - b2^t)."""
        t = np.arange(1, STEPS + 1)
        return (1 - self.b1**t) / np.sqrt(1 - self.b2**t)

    @property
    def worst(self) -> tuple[int, float]:
        """The step at which the factor is largest, and the factor there."""
        i = int(self.factor.argmax())
        return i + 1, float(self.factor[i])

    def steps_above(self, factor: float) -> int:
        """The last step at which the uncorrected step is more than `factor` times the corrected one; 0 if none is."""
        above = np.flatnonzero(self.factor > factor)
        return int(above[-1]) + 1 if len(above) else 0

    def summary(self) -> str:
        step, worst = self.worst
        start = f"first step {self.adam[0]:.3g} lr, without bias correction {self.uncorrected[0]:.3g} lr"
        return f"{start}; the correction is worth most at step {step}, a factor of {worst:.3g}"

    def draw(self, figure: "Figure"):
        """Left the step over lr against the step's number, with and without bias correction; right the first step
        against the size of the gradient, and where this gradient stands."""
        left, right = figure.subplots(1, 2)
        left.set(xlabel="step $t$", ylabel="|step| / lr", xscale="log", yscale="log", xlim=(1, STEPS), ylim=(1e-2, 40))
        left.axhline(1, color=GREY, lw=0.8)
        (plain,) = left.plot([], [], color=RED, ls="--", lw=1.5, label="no bias correction")
        (theory,) = left.plot([], [], color=ORANGE, ls=":", lw=2.2, label=r"$(1-\beta_1^t)/\sqrt{1-\beta_2^t}$")
        (adam,) = left.plot([], [], color=BLUE, lw=1.5, label="Adam")
        left.legend(loc="lower left")
        right.set(xlabel="size of the gradient $|g|$", ylabel="first step / lr", xscale="log", yscale="log")
        right.set(xlim=(1e-12, 1e6), ylim=(1e-7, 1e7))
        (first,) = right.plot([], [], color=BLUE, label="Adam")
        right.plot(SIZES, SIZES, color=GREEN, ls="-.", label="SGD")
        edge = right.axvline(1e-8, color=GREY, ls=":", lw=1.5, label=r"$|g| = \varepsilon$")
        (here,) = right.plot([], [], "o", color=ORANGE, mec="black", mew=0.6, ms=8)
        right.legend(loc="upper left")
        steps = np.arange(1, STEPS + 1)

        def redraw(result: FirstSteps):
            for line, values in ((plain, result.uncorrected), (theory, result.theory), (adam, result.adam)):
                line.set_data(steps, np.clip(values, 1e-30, None))
            first.set_data(SIZES, result.first)
            edge.set_xdata([result.eps, result.eps])
            here.set_data([result.scale], [result.scale / (result.scale + result.eps)])
            return plain, theory, adam, first, edge, here

        redraw(self)
        return redraw


@experiment
def first_steps(
    scale: Annotated[float, Log(1e-12, 1e6)] = 1.0,
    b1: Annotated[float, Linear(0.0, 0.99)] = 0.9,
    b2: Annotated[float, Linear(0.9, 0.9995)] = 0.999,
    eps: Annotated[float, Log(1e-12, 1e-1)] = 1e-8,
    noise: Annotated[float, Linear(0.0, 2.0)] = 0.0,
    *,
    seed: int = 0,
) -> FirstSteps:
    """Give Adam gradients of size `scale`, one coordinate, with normal noise of `noise` times their size, but the
    first, which is `scale` itself."""
    added = noise * np.random.default_rng(seed).standard_normal(STEPS) if noise else np.zeros(STEPS)
    added[0] = 0.0
    grads = scale * (1 + added)
    corrected = -np.array(steps_on(adam(1.0, b1, b2, eps), grads))
    return FirstSteps(
        corrected,
        running(grads, b1) / (np.sqrt(running(grads**2, b2)) + eps),
        SIZES / (SIZES + eps),
        scale,
        b1,
        b2,
        eps,
    )


def longest_after_a_rise(size: float, b1: float = 0.9, b2: float = 0.999) -> float:
    """The longest step of Adam over lr where, after 3000 gradients of 1, all are `size`; one coordinate, no eps."""
    grads = np.append(np.ones(STEPS), np.full(STEPS, size))
    return -min(steps_on(adam(1.0, b1, b2, eps=0.0), grads))


@dataclass(frozen=True)
class Rescaled(Result):
    """The same problem in other units: a noisy bowl whose value is multiplied by c. scales: (61,) the c.

    ends[name]: (61,) the value at the end over the value at the start, in the bowl's own units, so that it should not
    depend on c; cut at 1e6 where a run diverged.
    """

    scales: Floats
    ends: dict[str, Floats]
    lr: float
    eps: float

    def spread(self, name: str, low: float, high: float) -> float:
        """Largest over smallest end for c from low to high."""
        inside = self.ends[name][(self.scales >= low * 0.999) & (self.scales <= high * 1.001)]
        return float(inside.max() / inside.min())

    def works(self, name: str) -> tuple[float, float] | None:
        """The smallest and the largest c at which the end is below a tenth of the start; None if there is none."""
        good = self.scales[self.ends[name] < 0.1]
        return (float(good[0]), float(good[-1])) if len(good) else None

    def summary(self) -> str:
        def said(name: str) -> str:
            reach = self.works(name)
            return f"{name} from {reach[0]:.0e} to {reach[1]:.0e}" if reach else f"{name} nowhere"

        return "value falls tenfold, by what it is multiplied with: " + ", ".join(map(said, self.ends))

    def draw(self, figure: "Figure"):
        """What is left of the value after 60 steps, against the number that the whole problem is multiplied by."""
        ax = figure.subplots()
        ax.set(xlabel="what the loss is multiplied by, $c$", ylabel="value at the end / at the start")
        ax.set(xscale="log", yscale="log", xlim=(1e-12, 1e6), ylim=(1e-6, 1e3))
        ax.axhline(1, color=GREY, lw=0.8)
        looks = zip(self.ends, LINES, strict=False)
        lines = {name: ax.plot([], [], color=c, ls=ls, label=name)[0] for name, (c, ls) in looks}
        edge = ax.axvline(1e-8, color=GREY, ls=":", lw=1.5, label=r"$c = \varepsilon$")
        ax.legend(loc="upper left")

        def redraw(result: Rescaled):
            for name, line in lines.items():
                line.set_data(result.scales, np.clip(result.ends[name], 1e-30, None))
            edge.set_xdata([result.eps, result.eps])
            return *lines.values(), edge

        redraw(self)
        return redraw


@experiment
def rescaled(
    lr: Annotated[float, Log(3e-3, 0.3)] = 0.05,
    eps: Annotated[float, Log(1e-12, 1.0)] = 1e-8,
    noise: Annotated[float, Linear(0.0, 2.0)] = 0.5,
    *,
    seed: int = 0,
) -> Rescaled:
    """Minimize c (10 x^2 + y^2 / 2) from (1, 1) for 60 steps with 61 values of c; noise is added to the gradient."""
    scales = np.geomspace(1e-12, 1e6, 61)
    curvature = np.array([[20.0], [1.0]])
    added = noise * np.random.default_rng(seed).standard_normal((60, 2, 1))
    optimizers = {"SGD": sgd(lr), "RMSProp": rmsprop(lr, eps=eps), "Adam": adam(lr, eps=eps)}
    return Rescaled(scales, {n: _ends(o, curvature, scales, added) for n, o in optimizers.items()}, lr, eps)


def _ends(optimizer: Transform, curvature: Floats, scales: Floats, noise: Floats) -> Floats:
    theta = np.ones((2, len(scales)))
    move = on_numbers(optimizer, theta)
    for extra in noise:
        theta = np.clip(theta + move(scales * (curvature * theta + extra)), -1e9, 1e9)
    return np.minimum((curvature * theta**2).sum(axis=0) / curvature.sum(), 1e6)


@dataclass(frozen=True)
class Memory(Result):
    """Effective learning rates under a burst of large gradients, each over its value before. rates[name]: (600,).

    grads: (600,) the sizes of the gradients, 1 but for the burst. burst: its first step and the first after it.
    """

    grads: Floats
    rates: dict[str, Floats]
    burst: tuple[int, int]

    def recovers(self, name: str, share: float = 0.5) -> int | None:
        """Steps after the burst until the rate is `share` of what it was before; None within the run if never."""
        back = np.flatnonzero(self.rates[name][self.burst[1] :] >= share)
        return int(back[0]) if len(back) else None

    def summary(self) -> str:
        def said(name: str) -> str:
            steps = self.recovers(name)
            if self.rates[name][self.burst[1] - 1 :].min() >= 0.5:
                return f"{name} never fell below it"
            return f"{name} {'not within this run' if steps is None else f'after {steps} steps'}"

        return "half of the old effective learning rate is back: " + ", ".join(map(said, self.rates))

    def draw(self, figure: "Figure"):
        """Above the size of the gradients, below the effective learning rates over what they were before the burst."""
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 2))
        above.set(ylabel="size of the\ngradient", xlabel="step", yscale="log", xlim=(0, 600), ylim=(0.5, 2000))
        below.set(xlabel="step", ylabel="effective learning rate,\n1 before the burst", yscale="log", ylim=(1e-4, 20))
        above.xaxis.label.set_visible(False)
        (grads,) = above.plot([], [], color=GREY)
        looks = zip(self.rates, LINES, strict=False)
        lines = {name: below.plot([], [], color=c, ls=ls, label=name)[0] for name, (c, ls) in looks}
        below.legend(loc="upper right", ncols=3)

        def redraw(result: Memory):
            steps = np.arange(1, len(result.grads) + 1)
            grads.set_data(steps, result.grads)
            for name, line in lines.items():
                line.set_data(steps, np.clip(result.rates[name], 1e-30, None))
            return grads, *lines.values()

        redraw(self)
        return redraw


@experiment
def memory(
    size: Annotated[float, Log(1.0, 1000.0)] = 30.0,
    length: Annotated[int, Linear(1, 50)] = 10,
    b2: Annotated[float, Linear(0.5, 0.995)] = 0.95,
) -> Memory:
    """Gradients of size 1, then `length` of `size` from step 101 on, then of size 1 again. b2 is AdaDelta's rho too.

    The rate is the step over the gradient, over its value at step 100. Deterministic.
    """
    grads = np.ones(600)
    grads[100 : 100 + length] = size
    optimizers = {"AdaGrad": adagrad(1.0), "RMSProp": rmsprop(1.0, b2), "AdaDelta": adadelta(rho=b2)}
    rates = {name: -np.array(steps_on(optimizer, grads)) / grads for name, optimizer in optimizers.items()}
    return Memory(grads, {n: rate / rate[99] for n, rate in rates.items()}, (100, 100 + length))
