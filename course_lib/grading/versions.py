"""The right and the wrong versions of a function, compiled when they are asked for, and their answers to the cases."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from course_lib.grading.mistake import Case, Mistake, Way
from course_lib.grading.mutate import Edit, Overlap, mutate
from course_lib.grading.outputs import Outputs, arrays, same


class Crash(NamedTuple):
    kind: type[Exception]
    evidence: str


class Version(NamedTuple):
    mistakes: tuple[Mistake, ...]
    way: Way
    function: Callable[..., Any]


Answer = Outputs | Crash


@dataclass(frozen=True, eq=False)
class Versions:
    """The versions of a reference that an exercise compares an attempt with."""

    reference: Callable[..., Any]
    parts: Sequence[Callable[..., Any]]
    cases: Sequence[Case]
    mistakes: Sequence[Mistake]
    outputs: Sequence[str]
    tolerance: float

    def edited(self, *edits: Edit) -> Callable[..., Any]:
        """The reference after these edits."""
        return mutate(self.reference, *edits, parts=self.parts)

    @cached_property
    def right(self) -> list[Answer]:
        """The reference's outputs in every case."""
        return self.answers(self.reference)

    @cached_property
    def singles(self) -> list[Version]:
        return [
            Version((mistake,), way, way if callable(way) else self.edited(*way))
            for mistake in self.mistakes
            for way in mistake.ways
        ]

    @cached_property
    def _changed(self) -> list[np.ndarray]:
        """For each of the singles: which outputs it changes."""
        return [~self.fits(version, self.right) for version in self.singles]

    def doubles(self, got: list[Answer], wrong: list[int]) -> Iterator[Version]:
        """Two mistakes at once that change all the wrong outputs and no other.

        Of each mistake the first three ways; edits of one place exclude each other, and functions cannot be combined.
        """
        kept = np.isin(np.arange(len(self.outputs)), wrong) | any(isinstance(answer, Crash) for answer in got)
        suspects = [
            (version, changed)
            for version, changed in zip(self.singles, self._changed, strict=True)
            if not callable(version.way) and version.way in version.mistakes[0].ways[:3] and kept[changed].all()
        ]
        for (a, changed_by_a), (b, changed_by_b) in combinations(suspects, 2):
            if a.mistakes != b.mistakes and (changed_by_a | changed_by_b)[wrong].all() and (both := self._both(a, b)):
                yield both

    def _both(self, a: Version, b: Version) -> Version | None:
        """The two mistakes at once, compiled when they are first asked for."""
        key = a.function, b.function
        if key not in self._pairs:
            try:
                function = self.edited(*a.way, *b.way)  # type: ignore[misc]
                self._pairs[key] = Version(a.mistakes + b.mistakes, (*a.way, *b.way), function)  # type: ignore[misc]
            except (Overlap, SyntaxError):
                self._pairs[key] = None
        return self._pairs[key]

    @cached_property
    def _pairs(self) -> dict[tuple[Callable[..., Any], Callable[..., Any]], Version | None]:
        return {}

    @cached_property
    def _known(self) -> dict[tuple[Callable[..., Any], int], Answer]:
        return {}

    def _answer(self, function: Callable[..., Any], number: int) -> Answer:
        """What a version of the reference answers to case `number`, worked out once."""
        key = function, number
        if key not in self._known:
            try:
                with np.errstate(all="ignore"):
                    answer = function(*copy.deepcopy(list(self.cases[number].arguments.values())))
                self._known[key] = arrays(answer, self.outputs)
            except Exception as error:
                self._known[key] = Crash(type(error), str(error))
        return self._known[key]

    def answers(self, function: Callable[..., Any]) -> list[Answer]:
        return [self._answer(function, number) for number in range(len(self.cases))]

    def same(self, a: np.ndarray, b: np.ndarray) -> bool:
        return same(a, b, self.tolerance)

    def all_same(self, got: list[Answer], other: list[Answer], tolerance: float | None = None) -> bool:
        close = self.tolerance if tolerance is None else tolerance
        return all(
            not isinstance(a, Crash)
            and not isinstance(b, Crash)
            and all(same(x, y, close) for x, y in zip(a, b, strict=True))
            for a, b in zip(got, other, strict=True)
        )

    def differs(self, got: list[Answer], i: int) -> bool:
        """Whether output i is wrong in a case that did not end in an error."""
        return any(
            not isinstance(mine, Crash) and not isinstance(right, Crash) and not self.same(mine[i], right[i])
            for mine, right in zip(got, self.right, strict=True)
        )

    def fits(self, version: Version, got: list[Answer]) -> np.ndarray:
        """For each output: is the version's the learner's in every case, an error where the learner's is an error?"""
        fits = np.ones(len(self.outputs), dtype=bool)
        for number, mine in enumerate(got):
            theirs = self._answer(version.function, number)
            if isinstance(mine, Crash) or isinstance(theirs, Crash):
                fits &= isinstance(mine, Crash) and isinstance(theirs, Crash) and mine.kind is theirs.kind
            else:
                fits &= [self.same(a, b) for a, b in zip(mine, theirs, strict=True)]
            if not fits.any():
                break
        return fits

    def matches(self, version: Version, got: list[Answer]) -> bool:
        """Whether all outputs of the version are the learner's in every case."""
        for number, mine in enumerate(got):
            theirs = self._answer(version.function, number)
            if isinstance(mine, Crash) or isinstance(theirs, Crash):
                if not (isinstance(mine, Crash) and isinstance(theirs, Crash) and mine.kind is theirs.kind):
                    return False
            elif not all(map(self.same, mine, theirs)):
                return False
        return True
