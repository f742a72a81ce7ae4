"""What lecture 01 calls."""

from course_lib.lectures.backprop.costs import checkpoint_memory, gradient_cost, network
from course_lib.lectures.backprop.engine import digits_training, two_engines
from course_lib.lectures.backprop.exercises import (
    check_batchnorm,
    check_layernorm,
    check_matmul,
    check_softmax_cross_entropy,
)
from course_lib.lectures.backprop.expression_graph import expression_graph
from course_lib.lectures.backprop.gradient_check import difference_error, where_trap
from course_lib.lectures.backprop.graph import (
    chain_shrinkage,
    repeated_backward,
    split_batch,
    torch_agreement,
)

__all__ = [
    "chain_shrinkage",
    "check_batchnorm",
    "check_layernorm",
    "check_matmul",
    "check_softmax_cross_entropy",
    "checkpoint_memory",
    "difference_error",
    "digits_training",
    "expression_graph",
    "gradient_cost",
    "network",
    "repeated_backward",
    "split_batch",
    "torch_agreement",
    "two_engines",
    "where_trap",
]
