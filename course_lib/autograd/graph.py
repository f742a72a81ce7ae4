"""Where to put the nodes of a computation graph: columns by depth, rows so that few edges cross."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from course_lib.autograd.scalar import Value

LARGEST = 60


@dataclass(frozen=True)
class Node:
    """One number of a graph. column counts from the left, row upwards from a middle at 0, both in places."""

    name: str
    data: float
    grad: float
    leaf: bool
    column: float
    row: float


@dataclass(frozen=True)
class Edge:
    """From nodes[source] to nodes[target]. slope: d target / d source; path: the places it runs through, ends too."""

    source: int
    target: int
    slope: float
    path: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Graph:
    """A graph with values, gradients and places. nodes: in the order of making, the result last."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @property
    def result(self) -> Node:
        return self.nodes[-1]

    def grads(self) -> dict[str, float]:
        """Name of each named leaf -> its gradient."""
        return {node.name: node.grad for node in self.nodes if node.leaf and node.name}

    def summary(self) -> str:
        slopes = ", ".join(f"d/d{name} = {grad:.4g}" for name, grad in self.grads().items())
        return f"result {self.result.data:.4g}; {slopes}"


def graph_of(result: Value) -> Graph:
    """The graph below `result`, with the gradients that a `backward` left in it. At most 60 numbers."""
    values = result.ancestry()
    if len(values) > LARGEST:
        raise ValueError(f"graph_of: a drawing holds at most {LARGEST} numbers, this graph has {len(values)}")
    column = _columns(values)
    index = {value: i for i, value in enumerate(values)}

    # An edge over several columns becomes a chain of stops, so that it gets a place of its own in each of them.
    stops: dict[object, float] = {value: column[value] for value in values}
    chains = []
    for value in values:
        for k, (parent, slope) in enumerate(zip(value.parents, value.slopes, strict=True)):
            between = [(value, k, c) for c in range(column[parent] + 1, column[value])]
            stops |= {stop: stop[2] for stop in between}
            chains.append((parent, value, float(slope), [parent, *between, value]))

    row = _rows(stops, [pair for *_, chain in chains for pair in pairwise(chain)])
    place = {stop: (float(stops[stop]), -row[stop]) for stop in stops}
    nodes = tuple(Node(v.name, float(v.data), float(v.grad), not v.parents, *place[v]) for v in values)
    edges = tuple(Edge(index[a], index[b], slope, tuple(place[s] for s in chain)) for a, b, slope, chain in chains)
    return Graph(nodes, edges)


def _columns(values: list[Value]) -> dict[Value, int]:
    """Longest way from a leaf; a leaf itself stands right before its first use."""
    column: dict[Value, int] = {}
    first_use: dict[Value, int] = {}
    for value in values:
        column[value] = max((column[p] + 1 for p in value.parents), default=0)
        for parent in value.parents:
            first_use[parent] = min(first_use.get(parent, column[value]), column[value])
    return {v: c if v.parents else first_use.get(v, 1) - 1 for v, c in column.items()}


def _rows(stops: Mapping[object, float], links: list, sweeps: int = 12) -> dict:
    """Order each column by the mean row of its neighbors, back and forth (Sugiyama, Tagawa & Toda 1981)."""
    layers: dict[float, list] = {}
    for stop, c in stops.items():
        layers.setdefault(c, []).append(stop)
    neighbors: dict[object, list] = {stop: [] for stop in stops}
    for a, b in links:
        neighbors[a].append(b)
        neighbors[b].append(a)
    row = {stop: i - (len(layer) - 1) / 2 for layer in layers.values() for i, stop in enumerate(layer)}
    for sweep in range(sweeps):
        rightward = sweep % 2 == 0
        for c, layer in sorted(layers.items(), reverse=not rightward):
            pull = {}
            for stop in layer:
                behind = [row[n] for n in neighbors[stop] if (stops[n] < c) == rightward]
                pull[stop] = sum(behind) / len(behind) if behind else row[stop]
            layer.sort(key=pull.__getitem__)
            row |= {stop: i - (len(layer) - 1) / 2 for i, stop in enumerate(layer)}
    return row
