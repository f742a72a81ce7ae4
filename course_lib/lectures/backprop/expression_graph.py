"""1.1  What is the graph of an expression, and what does one backward pass write on it?"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from course_lib import style
from course_lib.autograd import Graph, Value, graph_of
from course_lib.ranges import Linear, experiment
from course_lib.results import Result
from course_lib.style import BLUE, GREY, INK, PALE, RED

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

EXPRESSIONS: dict[str, Callable[[Value, Value, Value], Value]] = {
    "a*b + c": lambda a, b, c: a * b + c,
    "a*a + a*b": lambda a, b, c: a * a + a * b,
    "(a + b)*(b + c)": lambda a, b, c: (a + b) * (b + c),
    "tanh(a*b + c)": lambda a, b, c: (a * b + c).tanh(),
    "relu(a*b) + c*c": lambda a, b, c: (a * b).relu() + c * c,
    "log(1 + exp(-a*b))": lambda a, b, c: (1.0 + (-(a * b)).exp()).log(),
}


BOX = np.array([0.62, 0.58])  # of a node, in inches
GAP = np.array([0.2, 0.1])  # around a slope, in inches


class ExpressionGraph(Graph, Result):
    """A graph that draws itself; see `course_lib.autograd.Graph`."""

    def draw(self, figure: "Figure"):
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
            now = (
                *((n.name, n.leaf, n.column, n.row) for n in graph.nodes),
                *((e.source, e.target) for e in graph.edges),
            )
            if now != shape:
                for artist in drawn:
                    artist.remove()
                shape = now
                drawn, moving, update = _lay_out(ax, graph, width, height)
            update(graph)
            return moving

        redraw(self)
        return redraw


@experiment
def expression_graph(
    expression: Literal[
        "a*b + c", "a*a + a*b", "(a + b)*(b + c)", "tanh(a*b + c)", "relu(a*b) + c*c", "log(1 + exp(-a*b))"
    ] = "a*b + c",
    a: Annotated[float, Linear(-3.0, 3.0)] = 2.0,
    b: Annotated[float, Linear(-3.0, 3.0)] = -1.5,
    c: Annotated[float, Linear(-3.0, 3.0)] = 0.5,
) -> ExpressionGraph:
    """The graph of an expression, with every value, and every gradient after one backward pass."""
    result = EXPRESSIONS[expression](Value(a, name="a"), Value(b, name="b"), Value(c, name="c"))
    result.backward()
    graph = graph_of(result)
    return ExpressionGraph(graph.nodes, graph.edges)


def _lay_out(ax: "Axes", graph: Graph, width: float, height: float):
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
        still.append(ax.add_patch(style.box((x - w / 2, y - h / 2), w, h, fc="white", ec=color, lw=1.4)))
        look = {"weight": "bold", "size": 9} if node.name else {"size": 7}
        still.append(ax.text(x, y + 0.29 * h, node.name or "constant", color=color, ha="center", va="center", **look))
    key = (
        "black: value    below it: its gradient, dL/d(value)    on an edge: slope; the thicker, the more gradient flows"
    )
    still.append(ax.text(columns / 2, -top - 0.72, key, size=7.5, color=GREY, ha="center", va="center"))
    slopes, values, grads = (style.writing(color) for color in (INK, INK, RED))
    for patch in (slopes, values, grads):
        ax.add_patch(patch)
    at = np.array([(node.column, node.row) for node in graph.nodes])

    def update(graph: Graph) -> None:
        for line, edge in zip(edges, graph.edges, strict=True):
            flow = abs(edge.slope * graph.nodes[edge.target].grad)
            line.set(linewidth=0.8 + 1.2 * np.log1p(flow), color=GREY if flow else PALE)
        slopes.set_path(style.numerals(["×" + _short(e.slope, 2) for e in graph.edges], middles, 7.5, inch))
        values.set_path(style.numerals([_short(n.data) for n in graph.nodes], at, 8.5, inch))
        grads.set_path(style.numerals([_short(n.grad) for n in graph.nodes], at - (0, 0.29 * h), 8.5, inch))

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
