"""What values a parameter may take: said once, in an experiment's signature, for callers, tests and sliders alike."""

import functools
import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from course_lib.recall import recalled

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Progress = Callable[[Iterable[T]], Iterable[T]]
Preview = Callable[[Any], object]


def no_progress(steps: Iterable[T]) -> Iterable[T]:
    """The progress hook that shows nothing. A slow experiment loops over `progress(range(n))` and defaults to this one.

    A widget passes a hook that moves a bar and, to stop the run, raises out of the loop.
    """
    return steps


def no_preview(partial: Any) -> None:
    """The preview hook that shows nothing. A slow experiment may take `preview: Preview = no_preview` and call
    preview(partial) now and then with a result of its own type that holds what it knows so far: a widget draws it while
    the rest still runs.
    """


@dataclass(frozen=True)
class Linear:
    """A range walked in equal steps; both ends are legal."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"{type(self).__name__}: low must be below high, both finite, got {self.low}, {self.high}")

    def contains(self, value: object) -> bool:
        return type(value) is not bool and isinstance(value, Real) and self.low <= float(value) <= self.high

    def __str__(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Log(Linear):
    """A positive range walked in equal ratios; both ends are legal."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low <= 0:
            raise ValueError(f"Log: low must be above 0, got {self.low}")


@dataclass(frozen=True)
class Integer:
    """The whole numbers of a range: what an `int` parameter annotated Linear or Log may take."""

    scale: Linear

    def contains(self, value: Any) -> bool:
        return isinstance(value, Integral) and self.scale.contains(value)

    def __str__(self) -> str:
        return f"a whole number from {self.scale.low:g} to {self.scale.high:g}"


@dataclass(frozen=True)
class Choice:
    """One of a few named values."""

    values: tuple

    def contains(self, value: Any) -> bool:
        return any(type(value) is type(v) and value == v for v in self.values)

    def __str__(self) -> str:
        return "one of " + ", ".join(map(repr, self.values))


Control = Linear | Integer | Choice
HOOKS = {"progress", "preview"}


def controls_of(function: Callable) -> dict[str, Control]:
    """The controls that `function`'s annotations declare, in the order of its signature."""
    found: dict[str, Control] = {}
    for name, hint in get_type_hints(function, include_extras=True).items():
        if name == "return":
            continue
        if get_origin(hint) is Annotated:
            kind, *notes = get_args(hint)
            for scale in (note for note in notes if isinstance(note, Linear)):
                found[name] = Integer(scale) if kind is int else scale
        elif get_origin(hint) is Literal:
            found[name] = Choice(get_args(hint))
        elif hint is bool:
            found[name] = Choice((False, True))
    return found


def experiment(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse illegal arguments before the experiment runs. The results of a slow one, which takes `progress`, are kept:
    called again with the same arguments and no hook, it returns what it returned before.

    Raises ValueError naming the parameter, what it may be and what was given.
    """
    signature, controls = inspect.signature(function), controls_of(function)
    slow = "progress" in signature.parameters

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        call = signature.bind(*args, **kwargs)
        given = call.arguments
        for name, control in controls.items():
            if name in given and not control.contains(given[name]):
                raise ValueError(f"{function.__name__}: {name} must be {control}, got {given[name]!r}")
        if slow and not HOOKS & given.keys():
            call.apply_defaults()
            return recalled(function, {name: value for name, value in call.arguments.items() if name not in HOOKS})
        return function(*args, **kwargs)

    return checked
