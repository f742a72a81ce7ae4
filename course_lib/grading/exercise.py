"""An exercise: a reference in readable source, cases, and named mistakes written as edits of that source.

A mistake is named only when the learner's numbers *are* the numbers of that mistake, in every case and in every output
that is wrong. Two mistakes at once are named where each explains outputs of its own, or where the two edits together
give these numbers. Everything else is reported as what it is: which output differs, where, and by how much.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from course_lib.errors import describe, line_of
from course_lib.grading.blank import does_nothing
from course_lib.grading.mutate import Edit, Overlap, mutate
from course_lib.grading.outputs import Outputs, arrays, gap, plainly, same, unchanged
from course_lib.grading.verdict import Status, Verdict

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


class _Crash(NamedTuple):
    kind: type[Exception]
    evidence: str


class _Version(NamedTuple):
    mistakes: tuple[Mistake, ...]
    way: Way
    function: Callable[..., Any]


Answer = Outputs | _Crash


@dataclass(frozen=True, eq=False, repr=False)
class Exercise:
    """Called with the learner's function it returns a Verdict.

    reference: a module-level function, to be read beside the mistakes; parts: functions it calls, whose lines mistakes
    edit too. outputs: what it returns, in order, one name for
    a single array, more for a tuple. verified: what a passing attempt has been shown to do. Two arrays are the same
    when their shapes are, and their largest difference is at most `tolerance` times the reference's largest entry.
    oracle: an independent function of the same arguments, which a test compares with the reference.
    """

    title: str
    reference: Callable[..., Any]
    cases: Sequence[Case]
    mistakes: Sequence[Mistake]
    outputs: Sequence[str]
    verified: str
    tolerance: float = 1e-5
    conventions: Sequence[Convention] = ()
    oracle: Callable[..., Any] | None = None
    parts: Sequence[Callable[..., Any]] = ()

    def __repr__(self) -> str:
        return f"the check of {self.title}: hand it your function"

    def __call__(self, fn: Any) -> Verdict:
        if fn is ... or fn is None or does_nothing(fn):
            return self._say("not attempted", "Write the function, run its cell, then run this one.")
        if str(getattr(fn, "__module__", "")).startswith("course_lib."):
            return self._say("not attempted", "That is the library's own function: write yours, and hand that in.")
        if not callable(fn):
            return self._say("wrong", f"The check needs your function itself, and was given {describe(fn)}.")
        got: list[Answer] = []
        for case in self.cases:
            answer = self._attempt(fn, case)
            if isinstance(answer, Verdict):
                return answer
            got.append(answer)
        if self._all_same(got, self.right):
            return self._say("passed", f"Verified: {self.verified}.")
        for convention, function in self._conventions:
            if self._all_same(got, self._answers(function)):
                message = f"{convention.name}, as {convention.who} does it; it differs {convention.parts}."
                return self._say("passed under another convention", message)
        return self._diagnosis(got)

    def edited(self, *edits: Edit) -> Callable[..., Any]:
        """The reference after these edits."""
        return mutate(self.reference, *edits, parts=self.parts)

    def _say(self, status: Status, message: str, evidence: str = "", mistake: str = "") -> Verdict:
        return Verdict(status, self.title, message, evidence, mistake)

    def _attempt(self, fn: Callable[..., Any], case: Case) -> Answer | Verdict:
        """The learner's answer to one case, or the verdict on one that cannot be compared."""
        arguments = copy.deepcopy(list(case.arguments.values()))
        place = f"case: {case.title}"
        try:
            with np.errstate(all="ignore"):
                answer = fn(*arguments)
        except Exception as error:
            line = line_of(error)
            evidence = [place, *([f"your {line}"] if line else []), f"{type(error).__name__}: {error}"]
            return _Crash(type(error), "\n".join(evidence))
        if answer is ...:
            return self._say("not attempted", "Write the function, run its cell, then run this one.")
        if answer is None:
            return self._say("wrong", "Your function returns nothing: is a `return` missing?", place)
        for (name, before), after in zip(case.arguments.items(), arguments, strict=True):
            if not unchanged(before, after):
                message = f"Your function changes its argument `{name}`, which belongs to the caller: work on a copy."
                return self._say("wrong", message, place, "changes its input")
        try:
            return arrays(answer, self.outputs)
        except (TypeError, ValueError) as error:
            return self._say("wrong", str(error), place)

    def _diagnosis(self, got: list[Answer]) -> Verdict:
        evidence = self._evidence(got)
        found, several = self._named(got)
        if found:
            message = " ".join(mistake.explanation for mistake in found)
            return self._say("wrong", message, evidence, "; ".join(mistake.name for mistake in found))
        if several:
            return self._say("wrong", f"These numbers have more than one explanation: {several}.", evidence)
        if crashes := [answer for answer in got if isinstance(answer, _Crash)]:
            return self._say("wrong", "Your function stopped with an error.", crashes[0].evidence)
        if self._all_same(got, self.right, tolerance=0.01):
            close = (
                "Close, within one part in a hundred, but not equal: this is an approximation, or misses a small term."
            )
            return self._say("wrong", close, evidence, "approximate")
        return self._say("wrong", plainly(list(zip(got, self.right, strict=True)), self.outputs), evidence)  # type: ignore[arg-type]

    def _named(self, got: list[Answer]) -> tuple[tuple[Mistake, ...], str]:
        """The mistakes that explain every wrong output, or none and the names that compete."""
        wrong = [i for i in range(len(self.outputs)) if self._differs(got, i)]
        fits = np.array([self._fits(version, got) for version in self._singles]).reshape(-1, len(self.outputs))
        found: dict[str, Mistake] = {}
        for i in wrong:
            score = fits.sum(axis=1) * fits[:, i]
            best = [v.mistakes[0] for v, n in zip(self._singles, score, strict=True) if n == max(score, default=0) > 0]
            suspects = {mistake.name: mistake for mistake in best}
            if len(suspects) > 1:
                return (), " or ".join(sorted(suspects))
            if not suspects:
                break
            found |= suspects
        else:
            if found:
                return tuple(found.values()), ""
        both = {tuple(m.name for m in v.mistakes): v.mistakes for v in self._doubles(got, wrong) if self._is(v, got)}
        if len(both) == 1:
            return next(iter(both.values())), ""
        return (), " or ".join(f"({' and '.join(names)})" for names in sorted(both))

    @cached_property
    def right(self) -> list[Answer]:
        """The reference's outputs in every case."""
        return self._answers(self.reference)

    @cached_property
    def _conventions(self) -> list[tuple[Convention, Callable[..., Any]]]:
        return [(convention, self.edited(*convention.edits)) for convention in self.conventions]

    @cached_property
    def _singles(self) -> list[_Version]:
        return [
            _Version((mistake,), way, way if callable(way) else self.edited(*way))
            for mistake in self.mistakes
            for way in mistake.ways
        ]

    @cached_property
    def _changed(self) -> list[np.ndarray]:
        """For each of the singles: which outputs it changes."""
        return [~self._fits(version, self.right) for version in self._singles]

    def _doubles(self, got: list[Answer], wrong: list[int]) -> Iterator[_Version]:
        """Two mistakes at once that change all the wrong outputs and no other.

        Of each mistake the first three ways; edits of one place exclude each other, and functions cannot be combined.
        """
        kept = np.isin(np.arange(len(self.outputs)), wrong) | any(isinstance(answer, _Crash) for answer in got)
        suspects = [
            (version, changed)
            for version, changed in zip(self._singles, self._changed, strict=True)
            if not callable(version.way) and version.way in version.mistakes[0].ways[:3] and kept[changed].all()
        ]
        for (a, changed_by_a), (b, changed_by_b) in combinations(suspects, 2):
            if a.mistakes != b.mistakes and (changed_by_a | changed_by_b)[wrong].all() and (both := self._both(a, b)):
                yield both

    def _both(self, a: _Version, b: _Version) -> _Version | None:
        """The two mistakes at once, compiled when they are first asked for."""
        key = a.function, b.function
        if key not in self._pairs:
            try:
                function = self.edited(*a.way, *b.way)  # type: ignore[misc]
                self._pairs[key] = _Version(a.mistakes + b.mistakes, (*a.way, *b.way), function)  # type: ignore[misc]
            except (Overlap, SyntaxError):
                self._pairs[key] = None
        return self._pairs[key]

    @cached_property
    def _pairs(self) -> dict[tuple[Callable[..., Any], Callable[..., Any]], _Version | None]:
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
                self._known[key] = _Crash(type(error), str(error))
        return self._known[key]

    def _answers(self, function: Callable[..., Any]) -> list[Answer]:
        return [self._answer(function, number) for number in range(len(self.cases))]

    def _same(self, a: np.ndarray, b: np.ndarray) -> bool:
        return same(a, b, self.tolerance)

    def _all_same(self, got: list[Answer], other: list[Answer], tolerance: float | None = None) -> bool:
        close = self.tolerance if tolerance is None else tolerance
        return all(
            not isinstance(a, _Crash)
            and not isinstance(b, _Crash)
            and all(same(x, y, close) for x, y in zip(a, b, strict=True))
            for a, b in zip(got, other, strict=True)
        )

    def _differs(self, got: list[Answer], i: int) -> bool:
        """Whether output i is wrong in a case that did not end in an error."""
        return any(
            not isinstance(mine, _Crash) and not isinstance(right, _Crash) and not self._same(mine[i], right[i])
            for mine, right in zip(got, self.right, strict=True)
        )

    def _fits(self, version: _Version, got: list[Answer]) -> np.ndarray:
        """For each output: is the version's the learner's in every case, an error where the learner's is an error?"""
        fits = np.ones(len(self.outputs), dtype=bool)
        for number, mine in enumerate(got):
            theirs = self._answer(version.function, number)
            if isinstance(mine, _Crash) or isinstance(theirs, _Crash):
                fits &= isinstance(mine, _Crash) and isinstance(theirs, _Crash) and mine.kind is theirs.kind
            else:
                fits &= [self._same(a, b) for a, b in zip(mine, theirs, strict=True)]
            if not fits.any():
                break
        return fits

    def _is(self, version: _Version, got: list[Answer]) -> bool:
        """Whether all outputs of the version are the learner's in every case."""
        for number, mine in enumerate(got):
            theirs = self._answer(version.function, number)
            if isinstance(mine, _Crash) or isinstance(theirs, _Crash):
                if not (isinstance(mine, _Crash) and isinstance(theirs, _Crash) and mine.kind is theirs.kind):
                    return False
            elif not all(map(self._same, mine, theirs)):
                return False
        return True

    def _evidence(self, got: list[Answer]) -> str:
        """The first case that differs, in words."""
        for mine, right, case in zip(got, self.right, self.cases, strict=True):
            if isinstance(mine, _Crash) or isinstance(right, _Crash):
                return mine.evidence if isinstance(mine, _Crash) else ""
            for name, a, b in zip(self.outputs, mine, right, strict=True):
                if not self._same(a, b):
                    return f"case: {case.title}\n{gap(name, a, b)}"
        return ""
