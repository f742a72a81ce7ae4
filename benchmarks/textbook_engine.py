"""The scalar engine as textbooks write it: an object and a closure for every number, a recursive sort of the graph.

It stands here to be compared with; any class with the same few operations can stand in its place.
"""

import sys

sys.setrecursionlimit(100_000)


class Number:
    """A number with its gradient. `pass_on` hands the gradient to the numbers it was made from."""

    def __init__(self, data, sources=()):
        self.data = data
        self.grad = 0.0
        self.sources = set(sources)
        self.pass_on = lambda: None

    def __add__(self, other):
        other = other if isinstance(other, Number) else Number(other)
        result = Number(self.data + other.data, (self, other))

        def pass_on():
            self.grad += result.grad
            other.grad += result.grad

        result.pass_on = pass_on
        return result

    def __mul__(self, other):
        other = other if isinstance(other, Number) else Number(other)
        result = Number(self.data * other.data, (self, other))

        def pass_on():
            self.grad += other.data * result.grad
            other.grad += self.data * result.grad

        result.pass_on = pass_on
        return result

    def relu(self):
        result = Number(max(self.data, 0.0), (self,))

        def pass_on():
            self.grad += (result.data > 0) * result.grad

        result.pass_on = pass_on
        return result

    __radd__, __rmul__ = __add__, __mul__

    def backward(self):
        order, seen = [], set()

        def visit(number):
            if number not in seen:
                seen.add(number)
                for source in number.sources:
                    visit(source)
                order.append(number)

        visit(self)
        self.grad = 1.0
        for number in reversed(order):
            number.pass_on()
