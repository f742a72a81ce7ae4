"""An exercise: a reference in readable source, cases, and named mistakes written as edits of that source.

A mistake is named only when the learner's numbers *are* the numbers of that mistake, in every case and in every output
that is wrong. Two mistakes at once are named where each explains outputs of its own, or where the two edits together
give these numbers. Everything else is reported as what it is: which output differs, where, and by how much.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from course_lib.errors import describe, line_of
from course_lib.grading.blank import does_nothing
from course_lib.grading.mistake import Case, Convention, Mistake
from course_lib.grading.outputs import arrays, gap, plainly, unchanged
from course_lib.grading.verdict import Status, Verdict
from course_lib.grading.versions import Answer, Crash, Versions


@dataclass(frozen=True, eq=False, repr=False)
class Exercise:
    """Called with the learner's function it returns a Verdict.

    reference: a module-level function, to be read beside the mistakes; parts: functions it calls, whose lines mistakes
    edit too. outputs: what it returns, in order, one name for a single array, more for a tuple. verified: what a
    passing attempt has been shown to do. Two arrays are the same when their shapes are, and their largest difference is
    at most `tolerance` times the reference's largest entry. oracle: an independent function of the same arguments,
    which a test compares with the reference.
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

    @cached_property
    def versions(self) -> Versions:
        return Versions(self.reference, self.parts, self.cases, self.mistakes, self.outputs, self.tolerance)

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
        if self.versions.all_same(got, self.versions.right):
            return self._say("passed", f"Verified: {self.verified}.")
        for convention, function in self._conventions:
            if self.versions.all_same(got, self.versions.answers(function)):
                message = f"{convention.name}, as {convention.who} does it; it differs {convention.parts}."
                return self._say("passed under another convention", message)
        return self._diagnosis(got)

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
            return Crash(type(error), "\n".join(evidence))
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
        if crashes := [answer for answer in got if isinstance(answer, Crash)]:
            return self._say("wrong", "Your function stopped with an error.", crashes[0].evidence)
        if self.versions.all_same(got, self.versions.right, tolerance=0.01):
            close = (
                "Close, within one part in a hundred, but not equal: this is an approximation, or misses a small term."
            )
            return self._say("wrong", close, evidence, "approximate")
        return self._say("wrong", plainly(list(zip(got, self.versions.right, strict=True)), self.outputs), evidence)  # type: ignore[arg-type]

    def _named(self, got: list[Answer]) -> tuple[tuple[Mistake, ...], str]:
        """The mistakes that explain every wrong output, or none and the names that compete."""
        versions = self.versions
        wrong = [i for i in range(len(self.outputs)) if versions.differs(got, i)]
        fits = np.array([versions.fits(single, got) for single in versions.singles]).reshape(-1, len(self.outputs))
        found: dict[str, Mistake] = {}
        for i in wrong:
            score = fits.sum(axis=1) * fits[:, i]
            best = [v.mistakes[0] for v, n in zip(versions.singles, score, strict=True) if n == max(score) > 0]
            suspects = {mistake.name: mistake for mistake in best}
            if len(suspects) > 1:
                return (), " or ".join(sorted(suspects))
            if not suspects:
                break
            found |= suspects
        else:
            if found:
                return tuple(found.values()), ""
        doubles = [version for version in versions.doubles(got, wrong) if versions.matches(version, got)]
        both = {tuple(mistake.name for mistake in v.mistakes): v.mistakes for v in doubles}
        if len(both) == 1:
            return next(iter(both.values())), ""
        return (), " or ".join(f"({' and '.join(names)})" for names in sorted(both))

    @cached_property
    def _conventions(self) -> list[tuple[Convention, Callable[..., Any]]]:
        return [(convention, self.versions.edited(*convention.edits)) for convention in self.conventions]

    def _evidence(self, got: list[Answer]) -> str:
        """The first case that differs, in words."""
        for mine, right, case in zip(got, self.versions.right, self.cases, strict=True):
            if isinstance(mine, Crash) or isinstance(right, Crash):
                return mine.evidence if isinstance(mine, Crash) else ""
            for name, a, b in zip(self.outputs, mine, right, strict=True):
                if not self.versions.same(a, b):
                    return f"case: {case.title}\n{gap(name, a, b)}"
        return ""
