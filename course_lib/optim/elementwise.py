"""A rule on one array, lifted to lists of tensors: an elementwise optimizer is written once, for floats and tensors."""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, get_origin, get_type_hints

import numpy as np
import torch
from torch import Tensor

from course_lib.errors import ContractError, describe
from course_lib.optim.transform import Numbers, Row, Rule, Stateless, Tensors, Transform, scalar

Step = Callable[[Numbers, Numbers, Row, Numbers], tuple[Numbers, Row]]


def elementwise(State: Any, step: Step, **start: float) -> Transform:
    """Lift a rule step(t, g, row, p) -> (change, row) on one array, and count, zip, keep dtypes and devices for it.

    State is a NamedTuple by column: the count `t`, then further () numbers annotated `Tensor`, then the slots annotated
    `list[Tensor]`, with an entry for each parameter. A row is the tuple of the fields after t, for one parameter. Each
    starts at 0 unless `start` says otherwise; a slot has its parameter's dtype and device, a () number is float64.

        class VelocityState(NamedTuple):
            t: Tensor
            velocity: list[Tensor]

        def step(t, g, row, p):
            (v,) = row
            v = 0.9 * v + g
            return -0.1 * v, (v,)

        momentum = elementwise(VelocityState, step)

    A rule uses + - * / ** and `where, maximum, sign, root`. Raises TypeError in init for complex or integer parameters.
    """
    numbers, slots = _fields(State)
    begin = tuple(start.get(name, 0.0) for name in State._fields[1:])

    @torch.no_grad()
    def init(params: Tensors) -> Any:
        for p in params:
            if not p.is_floating_point():
                raise TypeError(f"init: parameters must be real floating-point tensors, got one of {p.dtype}")
        counters = [scalar(params), *(scalar(params, start.get(name, 0.0)) for name in numbers)]
        return State(*counters, *([torch.full_like(p, start.get(name, 0.0)) for p in params] for name in slots))

    def update(grads: Tensors, state: Any, params: Tensors) -> tuple[list[Tensor], Any]:
        t, shared, columns = state.t + 1, state[1 : 1 + len(numbers)], state[1 + len(numbers) :]
        changes, rows = [], []
        for g, p, *own in zip(grads, params, *columns, strict=True):
            before = (*shared, *own)
            change, after = step(t.to(g.device), g, before, p)
            if len(after) != len(before):
                raise ContractError(f"elementwise: step must return a row of {len(before)}, got {describe(after)}")
            changes.append(_like(g, change))
            rows.append([_like(old, new) for old, new in zip(before, after, strict=True)])
        if not rows:
            return [], state._replace(t=t)
        fields = [list(field) for field in zip(*rows, strict=True)]
        return changes, State(t, *(field[0] for field in fields[: len(numbers)]), *fields[len(numbers) :])

    return Transform(init, update, Rule(begin, step))


@lru_cache
def _fields(State: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the () numbers after t, and of the slots."""
    hints = get_type_hints(State)
    slots = tuple(name for name in State._fields[1:] if get_origin(hints[name]) is list)
    return tuple(name for name in State._fields[1:] if name not in slots), slots


def stateless(formula: Callable[[Numbers, Numbers], Numbers]) -> Transform:
    """Lift a formula (g, p) -> change that remembers nothing."""

    def update(grads: Tensors, state: Stateless, params: Tensors) -> tuple[list[Tensor], Stateless]:
        return [_like(g, formula(g, p)) for g, p in zip(grads, params, strict=True)], state

    return Transform(lambda params: Stateless(), update, Rule((), lambda t, g, row, p: (formula(g, p), row)))


def _like(old: Tensor, new: Tensor) -> Tensor:
    return new if new.dtype == old.dtype else new.to(old.dtype)  # .to costs a microsecond even where it does nothing


def on_numbers(transform: Transform, p: Numbers = 0.0) -> Callable[[Numbers], Numbers]:
    """Drive a rule by hand: a function g -> change that counts, remembers, and follows the parameter from p on.

    g, p and the hyper-parameters may be floats, numpy arrays or tensors that broadcast: with lr an array it is a sweep.
    Where Python would raise, as for 1 / 0, a float becomes inf or NaN. Raises TypeError for a transform without a rule.
    """
    if not (isinstance(transform, Transform) and transform.rule):
        raise TypeError(f"on_numbers: transform must work entry by entry, as adam does, got {describe(transform)}")
    t, (row, step) = 0.0, transform.rule

    def advance(g: Numbers) -> Numbers:
        nonlocal t, row, p
        t += 1.0
        try:
            change, row = step(t, g, row, p)
        except (ZeroDivisionError, OverflowError):
            with np.errstate(all="ignore"):
                change, row = _as(float, np.float64, step(*_as(np.float64, float, (t, g, row, p))))
        p = p + change
        return change

    return advance


def _as(new: type, old: type, thing: Any) -> Any:
    """The same nest with every number of one type turned into the other."""
    if isinstance(thing, tuple):
        return tuple(_as(new, old, part) for part in thing)
    return new(thing) if isinstance(thing, old) else thing


def steps_on(transform: Transform, gradients: Iterable[Numbers], p: Numbers = 0.0) -> list[Numbers]:
    """The change for each of the gradients, floats or arrays, by the rule itself. Raises what `on_numbers` raises."""
    advance = on_numbers(transform, p)
    floats = gradients.tolist() if isinstance(gradients, np.ndarray) and gradients.ndim == 1 else gradients
    return [advance(g) for g in floats]


def where(condition: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """a where the condition holds, else b."""
    if isinstance(condition, bool):
        return a if condition else b
    return torch.where(condition, a, b) if isinstance(condition, Tensor) else np.where(condition, a, b)


def maximum(a: Numbers, b: Numbers) -> Numbers:
    """The larger of the two; NaN where either is."""
    if type(a) is type(b) is float:
        return a if a > b or a != a else b
    if isinstance(a, Tensor):
        return a.clamp_min(b)
    return b.clamp_min(a) if isinstance(b, Tensor) else np.maximum(a, b)


def sign(x: Numbers) -> Numbers:
    """-1, 0 or 1; 0 for NaN, as in torch."""
    return x.sign() if isinstance(x, Tensor) else (x > 0) * 1.0 - (x < 0)


def root(x: Numbers) -> Numbers:
    """The square root; NaN below 0."""
    if type(x) is float:
        return math.sqrt(x) if x >= 0 else math.nan
    return x.sqrt() if isinstance(x, Tensor) else np.sqrt(np.where(x >= 0, x, math.nan))
