"""What does a gradient cost, in operations and in memory?"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from course_lib.autograd import Array, Counted, Dual, Tally, Value, checkpoint
from course_lib.ranges import Log, experiment
from course_lib.results import Result
from course_lib.style import BLUE, GREY, LINES, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (2, 4, 8, 16, 32)


def product(x: list) -> Any:
    """x_1 x_2 ... x_n."""
    total = x[0]
    for xi in x[1:]:
        total = total * xi
    return total


def rosenbrock(x: list) -> Any:
    """Sum of 100 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2."""
    terms = [(b - a**2) ** 2 * 100.0 + (1.0 - a) ** 2 for a, b in pairwise(x)]
    return sum(terms[1:], terms[0])


def network(x: list) -> Any:
    """Two layers: four hidden numbers, each a weighted sum of all inputs, squared and added."""
    hidden = []
    for j in range(4):
        terms = [xi * (1.0 / (1 + i + j)) for i, xi in enumerate(x)]
        hidden.append(sum(terms[1:], terms[0]) ** 2)
    return sum(hidden[1:], hidden[0])


FUNCTIONS: dict[str, Callable[[list], Any]] = {f.__name__: f for f in (network, product, rosenbrock)}


@dataclass(frozen=True)
class Costs(Result):
    """Operations counted while they ran, for n = sizes inputs: of f alone, and of its whole gradient either way.

    plain, reverse, forward: (len(sizes),) whole numbers. at: the index of the size asked for.
    """

    function: str
    sizes: np.ndarray
    plain: np.ndarray
    reverse: np.ndarray
    forward: np.ndarray
    at: int

    @property
    def reverse_ratio(self) -> float:
        """Operations of the reverse-mode gradient for each of f alone, at the size asked for."""
        return float(self.reverse[self.at] / self.plain[self.at])

    @property
    def forward_ratio(self) -> float:
        return float(self.forward[self.at] / self.plain[self.at])

    def summary(self) -> str:
        return (
            f"{self.function} of {self.sizes[self.at]} inputs: f costs {self.plain[self.at]} operations, its gradient "
            f"{self.reverse_ratio:.1f} times that in reverse and {self.forward_ratio:.1f} times forward"
        )

    def draw(self, figure: "Figure"):
        """Left: operations against inputs. Right: the same, for each operation of f alone."""
        left, right = figure.subplots(1, 2)
        ticks = (2, 4, 8, 16, 32)
        for ax in (left, right):
            ax.set(xlabel="inputs n", xscale="log", yscale="log", xlim=(1.8, 36))
            ax.set_xticks(ticks, map(str, ticks), minor=False)
            ax.set_xticks([], minor=True)
        left.set(ylabel="operations", ylim=(0.8, 40_000))
        right.set(ylabel="operations / operations of f", ylim=(0.8, 200))
        right.set_yticks((1, 5, 10, 50, 100), ("1", "5", "10", "50", "100"))
        names = ("f alone", "gradient, reverse mode", "gradient, forward mode")
        pairs = [
            [ax.plot([], [], color=c, ls=s, marker=m, ms=4, label=n)[0] for ax in (left, right)]
            for n, (c, s), m in zip(names, LINES, ("o", "s", "^"), strict=False)
        ]
        marks = [ax.axvline(2, color=GREY, lw=1, ls=":") for ax in (left, right)]
        left.legend(loc="upper left")

        def redraw(result: Costs):
            for (count, ratio), operations in zip(pairs, (result.plain, result.reverse, result.forward), strict=True):
                count.set_data(result.sizes, operations)
                ratio.set_data(result.sizes, operations / result.plain)
            for mark in marks:
                mark.set_xdata([result.sizes[result.at]] * 2)
            return [*marks, *(line for pair in pairs for line in pair)]

        redraw(self)
        return redraw


@lru_cache
def _count(function: str, n: int) -> tuple[int, int, int]:
    f, x, operations = FUNCTIONS[function], np.linspace(0.5, 1.5, n).tolist(), []
    tally = Tally()
    f([Counted(v, tally) for v in x])
    operations.append(tally.operations)
    tally = Tally()
    f([Value(Counted(v, tally)) for v in x]).backward(Counted(1.0, tally))
    operations.append(tally.operations)
    tally = Tally()
    for i in range(n):
        f([Dual(Counted(v, tally), Counted(float(i == j), tally)) for j, v in enumerate(x)])
    return operations[0], operations[1], tally.operations


@experiment
def gradient_cost(
    function: Literal["network", "product", "rosenbrock"] = "network", inputs: Annotated[int, Log(2, 32)] = 16
) -> Costs:
    """Count the operations of f, of one backward, and of forward mode with its one pass of dual numbers an input."""
    sizes = sorted({*SIZES, inputs})
    plain, reverse, forward = np.array([_count(function, n) for n in sizes]).T
    return Costs(function, np.array(sizes), plain, reverse, forward, sizes.index(inputs))


@dataclass(frozen=True)
class Memory(Result):
    """Peak number of layer outputs alive at once, and layers evaluated, for each number of segments.

    segments, peak, evaluations: (k,) whole numbers; segments[0] = 1 stands for no checkpoints. at: the one asked for.
    """

    layers: int
    segments: np.ndarray
    peak: np.ndarray
    evaluations: np.ndarray
    at: int

    @property
    def best(self) -> int:
        """The number of segments with the lowest peak."""
        return int(self.segments[self.peak.argmin()])

    def summary(self) -> str:
        return (
            f"{self.layers} layers in {self.segments[self.at]} segments: at most {self.peak[self.at]} outputs alive, "
            f"{self.evaluations[self.at]} layers evaluated; lowest peak {self.peak.min()} at {self.best} segments"
        )

    def draw(self, figure: "Figure"):
        """Outputs alive at the worst moment against the number of segments, beside segments + layers / segments."""
        ax = figure.subplots()
        ax.set(xlabel="segments", ylabel="layer outputs alive at once, at most", xscale="log", yscale="log")
        ax.set(xlim=(0.9, 160), ylim=(1.5, 250))
        ticks = (1, 2, 5, 10, 20, 50, 100)
        ax.set_xticks(ticks, map(str, ticks))
        ax.set_yticks(ticks[1:], map(str, ticks[1:]))
        ax.minorticks_off()
        (plain,) = ax.plot([], [], color=GREY, ls="--", label="no checkpoints: every output")
        (law,) = ax.plot([], [], color=RED, ls=":", label="segments + layers / segments")
        (peak,) = ax.plot([], [], color=BLUE, marker="o", ms=4, label="counted")
        (here,) = ax.plot([], [], "o", ms=11, mfc="none", mec=RED, mew=1.8)
        note = ax.text(0.98, 0.05, "", ha="right", transform=ax.transAxes)
        ax.legend(loc="upper right")

        def redraw(result: Memory):
            n, at = result.layers, result.at
            s = np.geomspace(1, n, 100)
            plain.set_data([0.9, 160], [n, n])
            law.set_data(s, s + n / s)
            peak.set_data(result.segments, result.peak)
            here.set_data([result.segments[at]], [result.peak[at]])
            note.set_text(f"{n} layers, {result.evaluations[at]} evaluations of a layer")
            return plain, law, peak, here, note

        redraw(self)
        return redraw


@lru_cache
def _measure(layers: int, segments: int) -> tuple[int, int]:
    """(peak, evaluations) of one forward and backward pass through a chain of tanh layers."""
    alive, peak, evaluations = 0, 0, 0

    def died(_: Any) -> None:
        nonlocal alive
        alive -= 1

    watching = []

    def layer(x: Array) -> Array:
        nonlocal alive, peak, evaluations
        out = x.tanh()
        watching.append(weakref.ref(out.data, died))
        alive, evaluations = alive + 1, evaluations + 1
        peak = max(peak, alive)
        return out

    def run(count: int) -> Callable[[Array], Array]:
        def through(x: Array) -> Array:
            for _ in range(count):
                x = layer(x)
            return x

        return through

    x = Array(np.full(2, 0.5))
    for count in np.diff(np.linspace(0, layers, segments + 1).round().astype(int)).tolist():
        x = run(count)(x) if segments == 1 else checkpoint(run(count), x)
    x.backward(np.ones(2))
    return peak, evaluations


@experiment
def checkpoint_memory(layers: Annotated[int, Log(4, 144)] = 36, segments: Annotated[int, Log(1, 144)] = 6) -> Memory:
    """Cut a chain of layers into segments, keep only what enters each, and count what is alive and what is redone.

    More segments than layers are as many as layers.
    """
    asked = min(segments, layers)
    tried = sorted({1, asked, layers, *np.geomspace(1, layers, 10).round().astype(int).tolist()})
    peak, evaluations = np.array([_measure(layers, s) for s in tried]).T
    return Memory(layers, np.array(tried), peak, evaluations, tried.index(asked))
