r"""Reverse-mode differentiation on numpy arrays: the scalar engine's idea, with one node for a whole array.

A slope is now a linear map, too large to store; each parent gets a *pull* instead, the function that takes the gradient
of the result, :math:`\bar z`, to that parent's share of it (the transposed Jacobian times :math:`\bar z`):

.. math::
    \bar L &= 1                                                               \qquad (1) \\
    \bar a &\leftarrow \bar a + J_a^{\top} \bar z                             \qquad (2)

Where numpy broadcast a parent, one entry of it was used many times, so its shares are summed (3).
"""

from collections.abc import Callable
from itertools import count
from numbers import Real
from operator import attrgetter
from typing import Any

import numpy as np

Pull = Callable[[np.ndarray], np.ndarray]
_clock = count().__next__
_born = attrgetter("born")


class Array:
    """A numpy array that remembers how it was made. Plain arrays and numbers beside it are constants.

    data is the numpy array (a copy of what was given; whole numbers become float64). grad is an array of its shape, or
    None before a `backward` reached it; a leaf's grad adds up over calls until it is set to None.

    >>> w = Array([1.0, 2.0])
    >>> (w * w).sum().backward()
    >>> w.grad
    array([2., 4.])
    """

    __slots__ = ("born", "data", "edges", "grad", "name")
    __array_ufunc__ = None  # so that `numpy_array * Array` comes here

    def __init__(self, data: Any, name: str = ""):
        data = np.array(data)
        if data.dtype.kind not in "fiub":
            raise TypeError(f"Array: data must be an array of real numbers, got dtype {data.dtype}")
        self.data = data if data.dtype.kind == "f" else data.astype(np.float64)
        self.edges: tuple[tuple[Array, Pull], ...] = ()
        self.grad: Any = None
        self.name = name
        self.born = _clock()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    def __add__(self, other: Any) -> "Array":
        return node("+", self.data + value(other), (self, lambda g: g), (other, lambda g: g))

    def __sub__(self, other: Any) -> "Array":
        return node("-", self.data - value(other), (self, lambda g: g), (other, lambda g: -g))

    def __mul__(self, other: Any) -> "Array":
        a, b = self.data, value(other)
        return node("*", a * b, (self, lambda g: g * b), (other, lambda g: g * a))

    def __truediv__(self, other: Any) -> "Array":
        a, b = self.data, value(other)
        return node("/", a / b, (self, lambda g: g / b), (other, lambda g: -g * a / (b * b)))

    def __matmul__(self, other: Any) -> "Array":
        a, b = matrices(self, other)
        return node("@", a @ b, (self, lambda g: g @ b.swapaxes(-1, -2)), (other, lambda g: a.swapaxes(-1, -2) @ g))

    def __pow__(self, n: Any) -> "Array":
        a = self.data
        if not isinstance(n, Real):
            raise TypeError(f"Array ** n: n must be a number, got {type(n).__name__}")
        return node(f"**{n:g}", a**n, (self, lambda g: g * (n * a ** (n - 1) if n else 0.0)))

    def exp(self) -> "Array":
        e = np.exp(self.data)
        return node("exp", e, (self, lambda g: g * e))

    def log(self) -> "Array":
        a = self.data
        return node("log", np.log(a), (self, lambda g: g / a))

    def sqrt(self) -> "Array":
        r = np.sqrt(self.data)
        return node("sqrt", r, (self, lambda g: g * (0.5 / r)))

    def sin(self) -> "Array":
        a = self.data
        return node("sin", np.sin(a), (self, lambda g: g * np.cos(a)))

    def tanh(self) -> "Array":
        t = np.tanh(self.data)
        return node("tanh", t, (self, lambda g: g * (1 - t * t)))

    def sigmoid(self) -> "Array":
        s = 0.5 * (1 + np.tanh(0.5 * self.data))
        return node("sigmoid", s, (self, lambda g: g * (s * (1 - s))))

    def relu(self) -> "Array":
        r = np.maximum(self.data, 0)
        return node("relu", r, (self, lambda g: g * (r > 0)))

    def sum(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> "Array":
        a = self.data

        def spread(g: np.ndarray) -> np.ndarray:
            g = g if keepdims or axis is None else np.expand_dims(g, axis)
            return np.broadcast_to(g, a.shape)

        return node("sum", a.sum(axis=axis, keepdims=keepdims), (self, spread))

    def mean(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> "Array":
        total = self.sum(axis, keepdims)
        return total / (self.data.size / max(total.data.size, 1))

    def reshape(self, *shape: int) -> "Array":
        a = self.data
        return node("reshape", a.reshape(*shape), (self, lambda g: g.reshape(a.shape)))

    def swapaxes(self, i: int = -1, j: int = -2) -> "Array":
        return node("swapaxes", self.data.swapaxes(i, j), (self, lambda g: g.swapaxes(i, j)))

    def __getitem__(self, index: Any) -> "Array":
        a = self.data

        def put(g: np.ndarray) -> np.ndarray:
            into = np.zeros_like(a)
            np.add.at(into, index, g)  # an entry taken twice gets both shares
            return into

        return node("[]", a[index], (self, put))

    def __neg__(self) -> "Array":
        return node("-", -self.data, (self, lambda g: -g))

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> "Array":
        return Array(other) - self

    def __rtruediv__(self, other: Any) -> "Array":
        return Array(other) / self

    def __rmatmul__(self, other: Any) -> "Array":
        a, b = matrices(other, self)
        return node("@", a @ b, (self, lambda g: a.swapaxes(-1, -2) @ g))

    def backward(self, grad: np.ndarray | None = None) -> None:
        """Add to every leaf below its gradient; inner arrays get theirs afresh.

        grad, of this array's shape, is where to start from; without it this array must hold a single number.
        """
        if grad is None and self.data.size != 1:
            raise ValueError(f"backward: start from a single number or give grad; this array has shape {self.shape}")
        if grad is not None and np.shape(grad) != self.shape:
            raise ValueError(f"backward: grad must have the array's shape {self.shape}, got {np.shape(grad)}")
        nodes = self.ancestry()
        for array in nodes:
            if array.edges:
                array.grad = None
        self._take(np.ones_like(self.data) if grad is None else np.asarray(grad))  # (1)
        for array in reversed(nodes):
            for parent, pull in array.edges:
                parent._take(pull(array.grad))  # (2)

    def _take(self, share: np.ndarray) -> None:
        if share.shape != self.data.shape:
            share = unbroadcast(share, self.data.shape)  # (3)
        if self.grad is not None:
            self.grad = self.grad + share
        else:
            self.grad = share if self.edges else share.copy()  # a leaf's gradient is the caller's to change

    def ancestry(self) -> list["Array"]:
        """Every array this one was made from, and itself, in the order of making."""
        found, stack = {self}, [self]
        while stack:
            for parent, _ in stack.pop().edges:
                if parent not in found:
                    found.add(parent)
                    stack.append(parent)
        return sorted(found, key=_born)

    def __repr__(self) -> str:
        return f"Array({np.array2string(self.data, precision=4, threshold=20)})"


def node(name: str, data: np.ndarray, *edges: tuple[Any, Pull]) -> Array:
    """The result of an operation: its data, and a (parent, pull) pair for each operand that is an Array.

    >>> x = Array([0.0, 1.0])
    >>> node("cos", np.cos(x.data), (x, lambda g: -g * np.sin(x.data))).shape
    (2,)
    """
    array = object.__new__(Array)
    array.data, array.grad, array.name = data, None, name
    array.edges = tuple(edge for edge in edges if isinstance(edge[0], Array))
    array.born = _clock()
    return array


def value(operand: Any) -> Any:
    """What an operand holds: an Array's data, or the constant itself."""
    return operand.data if isinstance(operand, Array) else operand


def matrices(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.asarray(value(a)), np.asarray(value(b))
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError(f"a @ b: both need two axes or more, got shapes {a.shape} and {b.shape}")
    return a, b


def unbroadcast(g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum g over the axes along which an array of this shape was broadcast.

    >>> unbroadcast(np.ones((4, 3)), (1, 3))
    array([[4., 4., 4.]])
    """
    extra = g.ndim - len(shape)
    stretched = [i + extra for i, n in enumerate(shape) if n == 1]
    return g.sum(axis=(*range(extra), *stretched)).reshape(shape)


def where(condition: np.ndarray, a: Any, b: Any) -> Array:
    """a where condition holds, else b. Both were computed, and both get a gradient: 0 times it where not chosen."""
    condition = np.asarray(condition, dtype=bool)
    return node(
        "where", np.where(condition, value(a), value(b)), (a, lambda g: g * condition), (b, lambda g: g * ~condition)
    )
