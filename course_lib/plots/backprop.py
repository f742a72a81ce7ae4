"""Drawings of the backprop experiments: the graph, repeated backward passes, a chain's gradient."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path
from matplotlib.textpath import TextPath, text_to_path

from course_lib.autograd import Graph
from course_lib.experiments.backprop import Chain, Repeats
from course_lib.plots.style import BLUE, GREEN, GREY, INK, LINES, PALE, RED

BOX = np.array([0.62, 0.58])  # of a node, in inches
GAP = np.array([0.2, 0.1])  # around a slope, in inches
POINTS = 72  # in an inch
MIDDLE = 0.36  # of a digit's height above the line, in units of the font's size


def draw_expression_graph(graph: Graph, figure: Figure):
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


def draw_repeated_backward(result: Repeats, figure: Figure):
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

    redraw(result)
    return redraw


SLOPES = {
    "sigmoid": lambda z: 0.25 / np.cosh(z / 2) ** 2,
    "tanh": lambda z: 1 / np.cosh(z) ** 2,
    "relu": lambda z: (z > 0) * 1.0,
}


def draw_chain_shrinkage(result: Chain, figure: Figure):
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
        bound.set_data(k, np.clip((result.weight * (0.25 if result.activation == "sigmoid" else 1.0)) ** k, low, high))
        slope.set_data(z, curve)
        dots.set_data(np.clip(result.inputs, -8, 8), result.slopes)
        return bound, fall, slope, dots

    redraw(result)
    return redraw
