r"""Reverse-mode differentiation on single numbers: the whole idea, one operation and its derivative at a time.

An operation :math:`z = f(a, b)` stores its parents and, beside them, its local slopes. The backward pass then needs one
rule, :math:`L` being the number it starts from and :math:`\bar v = \partial L / \partial v`:

.. math::
    \bar L &= 1                                                                    \qquad (1) \\
    \bar a &\leftarrow \bar a + \frac{\partial z}{\partial a}\, \bar z             \qquad (2)

for every operation, latest first (Linnainmaa 1970; Griewank & Walther 2008, section 3.2).
"""

import math
from itertools import count
from numbers import Real
from operator import attrgetter
from typing import Any

_clock = count().__next__
_born = attrgetter("born")


class Value:
    """A number that remembers how it was made.

    data is the number. grad is the derivative, with respect to it, of what `backward` started from; a leaf's (a number
    made from nothing) adds up over calls until it is set to 0. name is the operation's symbol, or the leaf's own name.

    >>> a, b = Value(3.0), Value(2.0)
    >>> (a * b + a).backward()
    >>> a.grad, b.grad
    (3.0, 3.0)
    """

    __slots__ = ("born", "data", "grad", "name", "parents", "slopes")

    def __init__(self, data: Any, parents: tuple["Value", ...] = (), slopes: tuple = (), name: str = ""):
        if not parents and not isinstance(data, Real):
            raise TypeError(f"Value: data must be a number, got {type(data).__name__}")
        self.data, self.grad, self.name = data, 0.0, name
        self.parents, self.slopes = parents, slopes
        self.born = _clock()

    def __add__(self, other: Any) -> "Value":
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, (self, other), (1.0, 1.0), "+")

    def __sub__(self, other: Any) -> "Value":
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data - other.data, (self, other), (1.0, -1.0), "-")

    def __mul__(self, other: Any) -> "Value":
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data), "*")

    def __truediv__(self, other: Any) -> "Value":
        other = other if isinstance(other, Value) else Value(other)
        ratio = self.data / other.data
        return Value(ratio, (self, other), (1 / other.data, -ratio / other.data), "/")

    def __pow__(self, n: Any) -> "Value":
        if not isinstance(n, Real) or (self.data < 0 and n % 1):
            raise ValueError(f"Value ** n: n must be a number, and whole where the base is negative, got {n!r}")
        return Value(self.data**n, (self,), (n * self.data ** (n - 1) if n else 0.0,), f"**{n:g}")

    def exp(self) -> "Value":
        e = math.exp(self.data)
        return Value(e, (self,), (e,), "exp")

    def log(self) -> "Value":
        if self.data <= 0:
            raise ValueError(f"Value.log: the number must be above 0, got {self.data}")
        return Value(math.log(self.data), (self,), (1 / self.data,), "log")

    def tanh(self) -> "Value":
        t = math.tanh(self.data)
        return Value(t, (self,), (1 - t * t,), "tanh")

    def sigmoid(self) -> "Value":
        s = 0.5 * (1 + math.tanh(0.5 * self.data))
        return Value(s, (self,), (s * (1 - s),), "sigmoid")

    def relu(self) -> "Value":
        on = self.data > 0
        return Value(self.data if on else 0.0, (self,), (1.0 if on else 0.0,), "relu")

    def __neg__(self) -> "Value":
        return Value(-self.data, (self,), (-1.0,), "-")

    def __radd__(self, other: Any) -> "Value":
        return Value(other) + self

    def __rsub__(self, other: Any) -> "Value":
        return Value(other) - self

    def __rmul__(self, other: Any) -> "Value":
        return Value(other) * self

    def __rtruediv__(self, other: Any) -> "Value":
        return Value(other) / self

    def backward(self, grad: Any = 1.0) -> None:
        """Add to every leaf below its derivative, times grad; inner numbers get theirs afresh.

        A number is made after its parents, so the order of making, reversed, is the order in which to walk.
        """
        nodes = self.ancestry()
        for node in nodes:
            if node.parents:
                node.grad = 0.0
        self.grad += grad  # (1)
        for node in reversed(nodes):
            g = node.grad
            for parent, slope in zip(node.parents, node.slopes):  # noqa: B905 - twice as slow with strict=True
                parent.grad += slope * g  # (2)

    def ancestry(self) -> list["Value"]:
        """Every number this one was made from, and itself, in the order of making. No recursion: chains may be deep."""
        found, stack = {self}, [self]
        while stack:
            for parent in stack.pop().parents:
                if parent not in found:
                    found.add(parent)
                    stack.append(parent)
        return sorted(found, key=_born)

    def __repr__(self) -> str:
        return f"Value({self.data:.6g}, grad={self.grad:.6g})"
