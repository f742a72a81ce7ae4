"""Automatic differentiation, from one number to whole arrays. Read `scalar`, then `dual`, then `array`."""

from course_lib.autograd.array import Array, node, where
from course_lib.autograd.counted import Counted, Tally
from course_lib.autograd.dual import Dual, forward_gradient
from course_lib.autograd.gradcheck import central_difference, gradient_gaps
from course_lib.autograd.graph import Graph, graph_of
from course_lib.autograd.network import cross_entropy, draw_weights, on_arrays, on_scalars, scalar_layers
from course_lib.autograd.recompute import checkpoint
from course_lib.autograd.scalar import Value

__all__ = [
    "Array",
    "Counted",
    "Dual",
    "Graph",
    "Tally",
    "Value",
    "central_difference",
    "checkpoint",
    "cross_entropy",
    "draw_weights",
    "forward_gradient",
    "gradient_gaps",
    "graph_of",
    "node",
    "on_arrays",
    "on_scalars",
    "scalar_layers",
    "where",
]
