"""What is a gradient made of, is it right, and what becomes of it on the way down a chain?"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import torch

from course_lib.autograd import (
    Array,
    Value,
    draw_weights,
    on_arrays,
)
from course_lib.data import moons
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Result
from course_lib.style import BLUE, GREEN, GREY, LINES, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Agreement:
    """gaps: (graphs,) the largest difference of a gradient from torch's, relative where it is above 1. sizes: nodes."""

    gaps: np.ndarray
    sizes: np.ndarray

    @property
    def worst(self) -> float:
        return float(self.gaps.max())

    def summary(self) -> str:
        nodes = f"{self.sizes.min()} to {self.sizes.max()} nodes"
        return f"{len(self.gaps)} random graphs of {nodes}: largest difference {self.worst:.1e}"


def _grow(leaves: Sequence[Any], steps: Sequence[tuple[str, int, int]]) -> Any:
    """Combine earlier nodes step by step; works on Value and on torch tensors alike."""
    made = list(leaves)
    for operation, i, j in steps:
        x, y = made[i % len(made)], made[j % len(made)]
        match operation:
            case "add":
                made.append(x + y)
            case "multiply":
                made.append((x * y).tanh())
            case "divide":
                made.append(x / (y * y + 1.0))
            case "power":
                made.append(x.sigmoid() ** 3)
            case "exp":
                made.append((-(x * x)).exp())
            case "log":
                made.append((x * x + 1.0).log())
            case "relu":
                made.append(x.relu() - y)
    return made[-1]


@experiment
def torch_agreement(graphs: Annotated[int, Log(1, 300)] = 20, *, seed: int = 0) -> Agreement:
    """Differentiate random graphs with the scalar engine and with torch.autograd, both in float64."""
    draw = random.Random(seed)
    names = ("add", "multiply", "divide", "power", "exp", "log", "relu")
    gaps, sizes = [], []
    for _ in range(graphs):
        numbers = [draw.uniform(-2, 2) for _ in range(draw.randint(1, 5))]
        steps = [(draw.choice(names), draw.randrange(999), draw.randrange(999)) for _ in range(draw.randint(5, 20))]
        ours = [Value(x) for x in numbers]
        theirs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in numbers]
        mine, its = _grow(ours, steps), _grow(theirs, steps)
        mine.backward()
        grads = torch.autograd.grad(its, theirs, allow_unused=True)
        pairs = [(v.grad, 0.0 if g is None else float(g)) for v, g in zip(ours, grads, strict=True)]
        gaps.append(max(abs(a - b) / max(1.0, abs(b)) for a, b in pairs))
        sizes.append(len(mine.ancestry()))
    return Agreement(np.array(gaps), np.array(sizes))


@dataclass(frozen=True)
class Chain(Result):
    """gradients: (depth+1,) |d h_depth / d h_l| for layer l = 0 ... depth; the last is 1.

    inputs, slopes: (depth,) what each activation was given, and its derivative there.
    """

    activation: str
    weight: float
    gradients: np.ndarray
    inputs: np.ndarray
    slopes: np.ndarray

    @property
    def ratios(self) -> np.ndarray:
        """(depth,) what the way through each layer multiplies the gradient by, layer 1 first; NaN below a zero."""
        with np.errstate(invalid="ignore"):
            return self.gradients[:-1] / self.gradients[1:]

    @property
    def total(self) -> float:
        """What is left of the gradient at the input."""
        return float(self.gradients[0])

    def summary(self) -> str:
        depth = len(self.gradients) - 1
        return f"{depth} {self.activation} layers, weight {self.weight:g}: {self.total:.2g} of the gradient arrives"

    def draw(self, figure: "Figure"):
        """Left: the gradient on its way down. Right: the activation's slope, and where on it each layer stands."""
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        low, high = 1e-26, 1e26
        left.set(xlabel="layers below the output", ylabel="|gradient|, 1 at the output", yscale="log")
        left.set(xlim=(0, 40), ylim=(low, high))
        right.set(xlabel="input of the activation", ylabel="its slope there", xlim=(-8.2, 8.2), ylim=(-0.05, 1.08))
        (bound,) = left.plot([], [], color=GREY, ls="--", label="(weight × largest slope) a layer")
        (fall,) = left.plot([], [], color=BLUE, marker="o", ms=3, label="measured")
        left.legend(loc="upper left")
        (slope,) = right.plot([], [], color=GREEN)
        (dots,) = right.plot([], [], "o", color=RED, ms=5, alpha=0.6)
        z = np.linspace(-8.2, 8.2, 401)

        def redraw(result: Chain):
            curve = SLOPES[result.activation](z)
            k = np.arange(len(result.gradients))
            fall.set_data(k, np.clip(result.gradients[::-1], low, high))
            bound.set_data(
                k, np.clip((result.weight * (0.25 if result.activation == "sigmoid" else 1.0)) ** k, low, high)
            )
            slope.set_data(z, curve)
            dots.set_data(np.clip(result.inputs, -8, 8), result.slopes)
            return bound, fall, slope, dots

        redraw(self)
        return redraw


@experiment
def chain_shrinkage(
    activation: Literal["sigmoid", "tanh", "relu"] = "sigmoid",
    depth: Annotated[int, Linear(1, 40)] = 20,
    weight: Annotated[float, Log(0.25, 4.0)] = 1.0,
    start: Annotated[float, Linear(-2.0, 2.0)] = 0.5,
) -> Chain:
    """h_l = activation(weight * h_{l-1}), one number a layer, differentiated from the last layer to the first."""
    layers = [Value(start)]
    for _ in range(depth):
        layers.append(getattr(layers[-1] * weight, activation)())
    layers[-1].backward()
    gradients, (inputs, slopes) = (
        [abs(h.grad) for h in layers],
        zip(*((h.parents[0].data, h.slopes[0]) for h in layers[1:]), strict=True),
    )
    return Chain(activation, weight, np.array(gradients), np.array(inputs), np.array(slopes))


@dataclass(frozen=True)
class Repeats(Result):
    """A leaf's gradient after 1, 2, ... calls of backward, as a multiple of the first: (calls,) each.

    engine: ours; torch: torch.autograd, graph retained; kept: an engine that does not clear its inner gradients.
    """

    engine: np.ndarray
    torch: np.ndarray
    kept: np.ndarray

    def summary(self) -> str:
        n = len(self.engine)
        return f"after {n} calls: engine {self.engine[-1]:g}x, torch {self.torch[-1]:g}x, inner kept {self.kept[-1]:g}x"

    def draw(self, figure: "Figure"):
        """The leaf's gradient, as a multiple of the first, call after call."""
        ax = figure.subplots()
        ax.set(xlabel="calls of backward", ylabel="gradient of the leaf / after one call", yscale="log")
        ax.set(xlim=(0.8, 8.2), ylim=(0.8, 3000))
        names = ("this engine", "torch, graph retained", "inner gradients kept: a bug")
        looks = zip(names, LINES, ("o", "x", "s"), (8, 7, 5), strict=False)
        lines = [ax.plot([], [], color=c, ls=s, marker=m, ms=size, label=n)[0] for n, (c, s), m, size in looks]
        ax.legend(loc="upper left")

        def redraw(result: Repeats):
            for line, values in zip(lines, (result.engine, result.torch, result.kept), strict=True):
                line.set_data(np.arange(1, len(values) + 1), values)
            return lines

        redraw(self)
        return redraw


@experiment
def repeated_backward(calls: Annotated[int, Linear(1, 8)] = 4, depth: Annotated[int, Linear(1, 6)] = 3) -> Repeats:
    """Call backward again and again on one chain of `depth` operations, its leaf's gradient never set to zero."""

    def chain(x: Any) -> Any:
        for _ in range(depth):
            x = x.tanh()
        return x

    ours, theirs, kept = Value(0.5), torch.tensor(0.5, dtype=torch.float64, requires_grad=True), Value(0.5)
    mine, its, bug = chain(ours), chain(theirs), chain(kept)
    rows = []
    for _ in range(calls):
        mine.backward()
        its.backward(retain_graph=True)
        bug.grad = 1.0
        for node in reversed(bug.ancestry()):
            for parent, slope in zip(node.parents, node.slopes, strict=True):
                parent.grad += slope * node.grad
        assert theirs.grad is not None
        rows.append((ours.grad, float(theirs.grad), kept.grad))
    grads = np.array(rows).T
    return Repeats(*(grads / grads[:, :1]))


@dataclass(frozen=True)
class Split:
    """The gradient of a mean loss, whole and as `parts` calls that accumulate. gap: largest relative difference."""

    parts: int
    gap: float

    def summary(self) -> str:
        return f"{self.parts} accumulated calls against one: the gradients differ by {self.gap:.1e}"


@experiment
def split_batch(parts: Annotated[int, Linear(1, 60)] = 4, *, seed: int = 0) -> Split:
    """Sixty points of two-moons at once, or in parts with one backward each and no zeroing in between."""
    data = moons(n=60, seed=seed).train
    x, y = data.x.double().numpy(), data.y[:, None].double().numpy()
    whole, split = ([(Array(w), Array(b)) for w, b in draw_weights([2, 16, 1], seed)] for _ in range(2))
    ((on_arrays(whole, x) - y) ** 2).mean().backward()
    for rows in np.array_split(np.arange(60), parts):
        (((on_arrays(split, x[rows]) - y[rows]) ** 2).sum() / 60).backward()
    pairs = [(a.grad, b.grad) for one, two in zip(whole, split, strict=True) for a, b in zip(one, two, strict=True)]
    return Split(parts, float(max(np.abs(a - b).max() / np.abs(a).max() for a, b in pairs)))


SLOPES = {
    "sigmoid": lambda z: 0.25 / np.cosh(z / 2) ** 2,
    "tanh": lambda z: 1 / np.cosh(z) ** 2,
    "relu": lambda z: (z > 0) * 1.0,
}
