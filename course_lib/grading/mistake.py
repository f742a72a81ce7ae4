"""What an exercise is made of: its cases, its named mistakes, and other right answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from course_lib.grading.mutate import Edit

Way = Sequence[Edit] | Callable[..., Any]  # edits of the reference; a function where no edit makes the mistake


class Case(NamedTuple):
    """One set of arguments, by name and in the order of the call."""

    title: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, init=False)
class Mistake:
    """A mistake and what it does, said to the learner in a sentence or two; each way to make it is one or more edits.

    Mistake("eps inside the root", "Add eps after the root.", ("np.sqrt(v) + eps", "np.sqrt(v + eps)"))
    """

    name: str
    explanation: str
    ways: tuple[Way, ...]

    def __init__(self, name: str, explanation: str, *ways: Edit | Way):
        every = tuple([way] if isinstance(way, tuple) and isinstance(way[0], str) else way for way in ways)
        for field, value in (("name", name), ("explanation", explanation), ("ways", every)):
            object.__setattr__(self, field, value)


@dataclass(frozen=True)
class Convention:
    """Another right answer: `who` has it, and it parts from the reference where `parts` says."""

    name: str
    who: str
    parts: str
    edits: Sequence[Edit]
