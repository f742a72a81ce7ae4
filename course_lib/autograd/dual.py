r"""Forward-mode differentiation: every number carries its own derivative along.

With :math:`\delta^2 = 0`, arithmetic on :math:`a + \dot a\,\delta` is the chain rule (Wengert 1964):

.. math::
    (a + \dot a \delta) + (b + \dot b \delta) &= (a + b) + (\dot a + \dot b)\,\delta   \qquad (1) \\
    (a + \dot a \delta)\,(b + \dot b \delta) &= ab + (\dot a b + a \dot b)\,\delta     \qquad (2) \\
    f(a + \dot a \delta) &= f(a) + f'(a)\,\dot a\,\delta                                    \qquad (3)
"""

import math
from collections.abc import Callable, Sequence
from typing import Any


class Dual:
    """value and tangent: a number, and its derivative in the direction asked for.

    The tangent may be a numpy array: that many directions at once.

    >>> x = Dual(3.0, 1.0)
    >>> (x * x + 2 * x).tangent
    8.0
    """

    __slots__ = ("tangent", "value")

    def __init__(self, value: Any, tangent: Any = 0.0):
        self.value, self.tangent = value, tangent

    def __add__(self, other: Any) -> "Dual":
        if not isinstance(other, Dual):
            return Dual(self.value + other, self.tangent)
        return Dual(self.value + other.value, self.tangent + other.tangent)  # (1)

    def __mul__(self, other: Any) -> "Dual":
        if not isinstance(other, Dual):
            return Dual(self.value * other, self.tangent * other)
        return Dual(self.value * other.value, self.tangent * other.value + self.value * other.tangent)  # (2)

    def __sub__(self, other: Any) -> "Dual":
        if not isinstance(other, Dual):
            return Dual(self.value - other, self.tangent)
        return Dual(self.value - other.value, self.tangent - other.tangent)  # (1)

    def __pow__(self, n: Any) -> "Dual":
        return Dual(self.value**n, n * self.value ** (n - 1) * self.tangent)  # (3)

    def exp(self) -> "Dual":
        e = math.exp(self.value)
        return Dual(e, e * self.tangent)  # (3)

    def tanh(self) -> "Dual":
        t = math.tanh(self.value)
        return Dual(t, (1 - t * t) * self.tangent)  # (3)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> "Dual":
        return Dual(-self.value, -self.tangent)

    def __rsub__(self, other: Any) -> "Dual":
        return Dual(other - self.value, -self.tangent)

    def __repr__(self) -> str:
        return f"Dual({self.value}, {self.tangent})"


def forward_gradient(f: Callable[[list[Dual]], Dual], x: Sequence[Any]) -> list[Any]:
    """All of f's n partial derivatives at x, one pass of f for each."""
    return [f([Dual(v, 1.0 if i == j else 0.0) for j, v in enumerate(x)]).tangent for i in range(len(x))]
