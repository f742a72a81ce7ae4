"""What is a gradient made of, is it right, and what becomes of it on the way down a chain?"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path
from matplotlib.textpath import TextPath, text_to_path

from course_lib.autograd import (
    Array,
    Graph,
    Value,
    draw_weights,
    graph_of,
    on_arrays,
)
from course_lib.data import moons
from course_lib.ranges import Linear, Log, experiment
from course_lib.results import Result
from course_lib.style import BLUE, GREEN, GREY, INK, LINES, PALE, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXPRESSIONS: dict[str, Callable[[Value, Value, Value], Value]] = {
    "a*b + c": lambda a, b, c: a * b + c,
    "a*a + a*b": lambda a, b, c: a * a + a * b,
    "(a + b)*(b + c)": lambda a, b, c: (a + b) * (b + c),
    "tanh(a*b + c)": lambda a, b, c: (a * b + c).tanh(),
    "relu(a*b) + c*c": lambda a, b, c: (a * b).relu() + c * c,
    "log(1 + exp(-a*b))": lambda a, b, c: (1.0 + (-(a * b)).exp()).log(),
}


@experiment
def expression_graph(
    expression: Literal[
        "a*b + c", "a*a + a*b", "(a + b)*(b + c)", "tanh(a*b + c)", "relu(a*b) + c*c", "log(1 + exp(-a*b))"
    ] = "a*b + c",
    a: Annotated[float, Linear(-3.0, 3.0)] = 2.0,
    b: Annotated[float, Linear(-3.0, 3.0)] = -1.5,
    c: Annotated[float, Linear(-3.0, 3.0)] = 0.5,
) -> Graph:
    """The graph of an expression, with every value, and every gradient after one backward pass."""
    result = EXPRESSIONS[expression](Value(a, name="a"), Value(b, name="b"), Value(c, name="c"))
    result.backward()
    return graph_of(result)


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


BOX = np.array([0.62, 0.58])  # of a node, in inches


GAP = np.array([0.2, 0.1])  # around a slope, in inches


POINTS = 72  # in an inch


MIDDLE = 0.36  # of a digit's height above the line, in units of the font's size


def draw_expression_graph(graph: Graph, figure: "Figure"):
    """Boxes with a value and a gradient each; on every edge its slope; thicker where more gradient flows."""
    ax = figure.subplots()
    ax.set_axis_off()
    width, height = figure.get_size_inches()
    drawn: list[Artist] = []
    moving: list[Artist] = []
    shape: tuple = ()
    update: Callable[[Graph], None] = print

    def redraw(graph: Graph):
        nonlocal drawn, moving, shape, update
        now = (*((n.name, n.leaf, n.column, n.row) for n in graph.nodes), *((e.source, e.target) for e in graph.edges))
        if now != shape:
            for artist in drawn:
                artist.remove()
            shape = now
            drawn, moving, update = _lay_out(ax, graph, width, height)
        update(graph)
        return moving

    redraw(graph)
    return redraw


def _lay_out(ax: Axes, graph: Graph, width: float, height: float):
    """All artists for a graph of this shape, those that change, and what writes a graph's numbers into them."""
    columns = max(n.column for n in graph.nodes)
    top = max(*(abs(n.row) for n in graph.nodes), *(abs(y) for e in graph.edges for _, y in e.path), 0.7)
    ax.set(xlim=(-0.5, columns + 0.5), ylim=(-top - 0.8, top + 0.5))
    inch = np.array([(columns + 1) / width, (2 * top + 1.3) / height])  # of the figure, in places
    w, h = BOX * inch
    still: list[Artist] = []
    edges: list[Line2D] = []
    middles = np.empty((len(graph.edges), 2))
    ends = [(e.source, e.target) for e in graph.edges]
    for k, edge in enumerate(graph.edges):
        twins, nth = ends.count(ends[k]), ends[:k].count(ends[k])
        places = _route(edge.path, w / 2, (nth - (twins - 1) / 2) * 0.55)
        middles[k] = places[20]  # halfway through the first column
        places[np.hypot(*((places - middles[k]) / inch / GAP).T) < 1] = np.nan
        edges += ax.plot(*places.T, color=GREY, marker=">", markevery=[-1], markersize=5)
    for node in graph.nodes:
        x, y = node.column, node.row
        color = INK if not node.leaf else BLUE if node.name else GREY
        corner, shape = (x - w / 2, y - h / 2), "round,pad=0,rounding_size=0.06"
        still.append(ax.add_patch(FancyBboxPatch(corner, w, h, boxstyle=shape, fc="white", ec=color, lw=1.4)))
        look = {"weight": "bold", "size": 9} if node.name else {"size": 7}
        still.append(ax.text(x, y + 0.29 * h, node.name or "constant", color=color, ha="center", va="center", **look))
    key = (
        "black: value    below it: its gradient, dL/d(value)    on an edge: slope; the thicker, the more gradient flows"
    )
    still.append(ax.text(columns / 2, -top - 0.72, key, size=7.5, color=GREY, ha="center", va="center"))
    slopes, values, grads = (PathPatch(Path(np.zeros((1, 2))), fc=color, lw=0) for color in (INK, INK, RED))
    for patch in (slopes, values, grads):
        ax.add_patch(patch)
    at = np.array([(node.column, node.row) for node in graph.nodes])

    def update(graph: Graph) -> None:
        for line, edge in zip(edges, graph.edges, strict=True):
            flow = abs(edge.slope * graph.nodes[edge.target].grad)
            line.set(linewidth=0.8 + 1.2 * np.log1p(flow), color=GREY if flow else PALE)
        slopes.set_path(numerals(["×" + _short(e.slope, 2) for e in graph.edges], middles, 7.5, inch))
        values.set_path(numerals([_short(n.data) for n in graph.nodes], at, 8.5, inch))
        grads.set_path(numerals([_short(n.grad) for n in graph.nodes], at - (0, 0.29 * h), 8.5, inch))

    moving = [*edges, slopes, values, grads]
    return [*still, *moving], moving, update


def _short(number: float, digits: int = 3) -> str:
    return f"{number:.{digits}g}".replace("-", "−")


def _route(path: Sequence[tuple[float, float]], margin: float, bow: float) -> np.ndarray:
    """(41 a column, 2) from box to box, level at every stop; bow lifts the middle, to part two edges of one pair."""
    pieces = []
    t = np.linspace(0, 1, 41)
    for k, ((x0, y0), (x1, y1)) in enumerate(pairwise(path)):
        left = x0 + (margin if k == 0 else 0)
        right = x1 - (margin * 1.12 if k == len(path) - 2 else 0)
        pieces.append((left + (right - left) * t, y0 + (y1 - y0) * t * t * (3 - 2 * t) + bow * np.sin(np.pi * t)))
    return np.concatenate(pieces, axis=1).T


@lru_cache
def glyph(character: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Vertices (n, 2), path codes (n,) and width of a character of size 1, on a line at 0."""
    font = FontProperties(family="DejaVu Sans", size=1)
    path = TextPath((0, 0), character, prop=font)
    return path.vertices, path.codes, text_to_path.get_text_width_height_descent(character, font, ismath=False)[0]


def numerals(texts: Sequence[str], places: np.ndarray, size: float, inch: np.ndarray) -> Path:
    """The outline of each text centered on its place (n, 2), as one path: far faster than a Text each.

    size: points; inch: (2,) in data units.
    """
    vertices, codes = [np.empty((0, 2))], [np.empty(0, dtype=np.uint8)]
    for text, place in zip(texts, places, strict=True):
        glyphs = [glyph(character) for character in text]
        x = -sum(width for *_, width in glyphs) / 2
        for outline, code, width in glyphs:
            vertices.append((outline + np.array([x, -MIDDLE])) * (size / POINTS) * inch + place)
            codes.append(code)
            x += width
    return Path(np.concatenate(vertices), np.concatenate(codes))


SLOPES = {
    "sigmoid": lambda z: 0.25 / np.cosh(z / 2) ** 2,
    "tanh": lambda z: 1 / np.cosh(z) ** 2,
    "relu": lambda z: (z > 0) * 1.0,
}
