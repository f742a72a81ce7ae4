"""What a known mistake of an optimizer consists of."""

from typing import NamedTuple

from course_lib.grading.optimizers.cases import Kind

M: tuple[Kind, ...] = ("sgd", "nesterov")
A: tuple[Kind, ...] = ("adam", "adamw")
R: tuple[Kind, ...] = ("rmsprop", *A)
ALL: tuple[Kind, ...] = (*M, *R)
L2: tuple[Kind, ...] = (*M, "rmsprop", "adam")


class Flaw(NamedTuple):
    """One mistake: the switch of `simulate` that makes it, and its name and explanation for the learner."""

    kinds: tuple[Kind, ...]
    slot: str
    value: str
    name: str
    explanation: str


def flaw(kinds: tuple[Kind, ...], switch: str, name: str, explanation: str) -> tuple[Flaw, ...]:
    """`switch` is "slot: value", or several values of one slot with bars between: ways to make the same mistake."""
    slot, values = switch.split(": ")
    return tuple(Flaw(kinds, slot, value, name, explanation) for value in values.split(" | "))
