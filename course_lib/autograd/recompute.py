"""Activation checkpointing: spend a second forward pass, save the memory of the first."""

from collections.abc import Callable

import numpy as np

from course_lib.autograd.array import Array, node


def checkpoint(f: Callable[[Array], Array], x: Array) -> Array:
    """f(x), keeping no array made on the way: the backward pass makes them again (Chen et al. 2016, section 4).

    Leaves that f uses besides x get their gradients as well. f must give the same result when it is called again.
    """

    def pull(g: np.ndarray) -> np.ndarray:
        again = Array(x.data)
        f(again).backward(g)
        return np.zeros_like(x.data) if again.grad is None else again.grad

    return node("checkpoint", f(Array(x.data)).data, (x, pull))
