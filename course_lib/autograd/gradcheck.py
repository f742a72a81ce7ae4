r"""Checking a gradient against the function itself, by central differences.

.. math::
    \frac{\partial f}{\partial x_i} = \frac{f(x + h e_i) - f(x - h e_i)}{2h} + O(h^2) + O(\epsilon / h)      \qquad (1)

The first error falls with h, the second (rounding; :math:`\epsilon` is the machine's) grows as h falls: they balance
near :math:`h = \epsilon^{1/3}`, where the error is about :math:`\epsilon^{2/3}` (Dennis & Schnabel 1983, section 5.6).
"""

from collections.abc import Callable, Sequence

import numpy as np

from course_lib.autograd.array import Array


def central_difference(f: Callable[[np.ndarray], float], x: np.ndarray, h: float | None = None) -> np.ndarray:
    """The gradient of f at x, of x's shape, from two calls of f an entry. h: the step; default eps^(1/3) of x's dtype.

    >>> central_difference(lambda x: (x**2).sum(), np.array([1.0, -3.0])).round(6)
    array([ 2., -6.])
    """
    x = np.array(x, dtype=np.result_type(x, np.float16))
    h = float(np.finfo(x.dtype).eps ** (1 / 3)) if h is None else h
    if not h > 0:
        raise ValueError(f"central_difference: h must be above 0, got {h}")
    gradient = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = h
        gradient[i] = (f(x + step) - f(x - step)) / (2 * h)  # (1)
    return gradient


def gradient_gaps(f: Callable[..., Array], inputs: Sequence[np.ndarray], h: float | None = None) -> list[float]:
    """For each input, the largest difference between the engine's gradient and (1), relative to the largest entry.

    f takes one Array for each input and returns an Array that holds a single number.

    >>> max(gradient_gaps(lambda a, b: (a @ b).tanh().sum(), [np.eye(2), np.ones((2, 3))])) < 1e-9
    True
    """
    leaves = [Array(x) for x in inputs]
    f(*leaves).backward()

    def gap(k: int) -> float:
        def alone(x: Array) -> float:
            return float(f(*(x if i == k else leaf.data for i, leaf in enumerate(leaves))).data)

        exact = np.zeros(leaves[k].shape) if leaves[k].grad is None else leaves[k].grad
        numeric = central_difference(lambda x: alone(Array(x)), leaves[k].data, h)
        return float(np.max(np.abs(numeric - exact), initial=0.0) / max(np.max(np.abs(numeric), initial=0.0), 1e-30))

    return [gap(k) for k in range(len(leaves))]
