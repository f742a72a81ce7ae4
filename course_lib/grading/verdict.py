"""How an exercise is judged: run the learner's function beside the reference and beside named wrong versions of it.

A mistake is named only when the learner's numbers *are* the numbers of that mistake, in every case and in every output
that is wrong; where two mistakes give one output alike, the one that gives the others alike too. Everything else is
reported as what it is: which output differs, where, and by how much.
"""

import copy
import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from course_lib.errors import describe, line_of
from course_lib.grading.blank import does_nothing

Outputs = tuple[np.ndarray, ...]


Status = Literal["passed", "passed under another convention", "not attempted", "wrong"]
COLORS: dict[Status, str] = {"not attempted": "#7F7F7F", "wrong": "#D55E00"}


@dataclass(frozen=True, repr=False)
class Verdict:
    """The answer to an attempt: `evidence` is what was seen, `mistake` the name of the mistake that does the same."""

    status: Status
    exercise: str
    message: str
    evidence: str = ""
    mistake: str = ""

    @property
    def passed(self) -> bool:
        return self.status.startswith("passed")

    def __str__(self) -> str:
        return "\n".join(line for line in (f"{self.exercise}: {self.status}. {self.message}", self.evidence) if line)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        color = COLORS.get(self.status, "#009E73")
        evidence = f"<pre style='margin:.4em 0 0'>{html.escape(self.evidence)}</pre>" if self.evidence else ""
        return (
            f"<div style='border-left:4px solid {color};padding:.3em .8em'><b>{html.escape(self.exercise)}: "
            f"{self.status}.</b> {html.escape(self.message)}{evidence}</div>"
        )


class Mutant(NamedTuple):
    """A wrong version of the solution: `explanation` tells the learner, in a sentence or two, what it does wrong.

    Several mutants may share a name, where one mistake can be made in several places.
    """

    name: str
    explanation: str
    function: Callable[..., Any]


class Case(NamedTuple):
    """One set of arguments, by name and in the order of the call."""

    title: str
    arguments: Mapping[str, Any]


class _Crash(NamedTuple):
    kind: type[Exception]
    evidence: str


def judge(
    exercise: str,
    fn: Any,
    reference: Callable[..., Any],
    cases: Sequence[Case],
    mutants: Sequence[Mutant] = (),
    *,
    outputs: Sequence[str],
    verified: str,
    tolerance: float = 1e-5,
) -> Verdict:
    """Call `fn` on a copy of every case's arguments and compare its outputs with those of `reference`.

    outputs names what the function returns, in order: one name for a single array, more for a tuple. verified is what a
    passing attempt has been shown to do. Two arrays are the same when their shapes are, and their largest difference
    is at most `tolerance` times the reference's largest entry. Numbers, lists, numpy arrays and torch tensors are all
    welcome.
    """

    def say(status, message, evidence="", mistake=""):
        return Verdict(status, exercise, message, evidence, mistake)

    not_yet = say("not attempted", "Write the function, run its cell, then run this one.")
    if fn is ... or fn is None or does_nothing(fn):
        return not_yet
    if not callable(fn):
        return say("wrong", f"The check needs your function itself, and was given {describe(fn)}.")

    wanted = [_arrays(reference(*copy.deepcopy(list(case.arguments.values()))), outputs) for case in cases]
    got: list[Outputs | _Crash] = []
    for case in cases:
        arguments = copy.deepcopy(list(case.arguments.values()))
        try:
            with np.errstate(all="ignore"):
                answer = fn(*arguments)
        except Exception as error:
            got.append(_Crash(type(error), _where(error, case)))
            continue
        if answer is ...:
            return not_yet
        if answer is None:
            return say("wrong", "Your function returns nothing: is a `return` missing?", f"case: {case.title}")
        for name, before, after in zip(case.arguments, case.arguments.values(), arguments, strict=True):
            if not _same_input(before, after):
                return say(
                    "wrong",
                    f"Your function changes its argument `{name}`, which belongs to the caller: work on a copy.",
                    f"case: {case.title}",
                    "changes its input",
                )
        try:
            got.append(_arrays(answer, outputs))
        except (TypeError, ValueError) as error:
            return say("wrong", str(error), f"case: {case.title}")

    ran = [(g, w) for g, w in zip(got, wanted, strict=True) if not isinstance(g, _Crash)]
    wrong = [i for i in range(len(outputs)) if any(not _same(g[i], w[i], tolerance) for g, w in ran)]
    if not wrong and len(ran) == len(cases):
        return say("passed", f"Verified: {verified}.")

    evidence = _difference(got, wanted, cases, outputs, tolerance)
    fits = np.array([_fits(m, got, cases, outputs, tolerance) for m in mutants]).reshape(-1, len(outputs))
    named: dict[str, str] = {}
    for i in wrong:
        score = fits.sum(axis=1) * fits[:, i]
        suspects = {m.name: m.explanation for m, n in zip(mutants, score, strict=True) if n == max(score) > 0}
        if len(suspects) != 1:
            break
        named |= suspects
    else:
        if named:
            return say("wrong", " ".join(named.values()), evidence, "; ".join(named))
    if len(ran) < len(cases):
        first = next(g.evidence for g in got if isinstance(g, _Crash))
        return say("wrong", "Your function stopped with an error.", first)
    return say("wrong", _plainly(got, wanted, outputs), evidence)


def _fits(mutant, got, cases, outputs, tolerance) -> np.ndarray:
    """For each output: is the mutant's the learner's in every case, an error where the learner's is an error?"""
    fits = np.ones(len(outputs), dtype=bool)
    for g, case in zip(got, cases, strict=True):
        try:
            with np.errstate(all="ignore"):
                theirs = _arrays(mutant.function(*copy.deepcopy(list(case.arguments.values()))), outputs)
        except Exception as error:
            fits &= isinstance(g, _Crash) and g.kind is type(error)
        else:
            fits &= not isinstance(g, _Crash) and [_same(a, b, tolerance) for a, b in zip(g, theirs, strict=True)]
        if not fits.any():
            break
    return fits


def _plainly(got, wanted, outputs) -> str:
    """What can be said of a difference that has no name."""
    for i, name in enumerate(outputs):
        if any(g[i].shape != w[i].shape for g, w in zip(got, wanted, strict=True)):
            return f"`{name}` has another shape than it should."
        if any((np.isnan(g[i]) & ~np.isnan(w[i])).any() for g, w in zip(got, wanted, strict=True)):
            return f"`{name}` becomes NaN: look for the root of a negative number, 0 / 0 or inf - inf."
    return "This differs from the reference, and not in a way the check knows by name."


def _difference(got, wanted, cases, outputs, tolerance) -> str:
    """The first case that differs, in words."""
    for g, w, case in zip(got, wanted, cases, strict=True):
        if isinstance(g, _Crash):
            return g.evidence
        for name, mine, right in zip(outputs, g, w, strict=True):
            if mine.shape != right.shape:
                return f"case: {case.title}\n{name} has shape {mine.shape}, expected {right.shape}"
            if not _same(mine, right, tolerance):
                with np.errstate(invalid="ignore"):
                    gap = np.nan_to_num(np.abs(mine - right), nan=np.inf)
                worst = np.unravel_index(np.argmax(gap), right.shape)
                place = f"[{', '.join(map(str, worst))}]" if worst else ""
                digits = next((d for d in (6, 9, 12) if f"{mine[worst]:.{d}g}" != f"{right[worst]:.{d}g}"), 17)
                shown = f"{name}{place} is {mine[worst]:.{digits}g}, expected {right[worst]:.{digits}g}"
                return f"case: {case.title}\n{shown}" + (" (was it rounded to float32?)" if digits > 6 else "")
    return ""


def _where(error: Exception, case: Case) -> str:
    line = line_of(error)
    return "\n".join([f"case: {case.title}", *([f"your {line}"] if line else []), f"{type(error).__name__}: {error}"])


def _arrays(answer: Any, outputs: Sequence[str]) -> Outputs:
    """The answer as numpy arrays, one for each name; one sentence where it is something else."""
    parts = (answer,) if len(outputs) == 1 and not (isinstance(answer, tuple) and len(answer) == 1) else answer
    wanted = f"{len(outputs)} arrays ({', '.join(outputs)})" if len(outputs) > 1 else f"one array ({outputs[0]})"
    if len(outputs) > 1 and isinstance(parts, np.ndarray) and parts.ndim:
        parts = tuple(parts)
    if not isinstance(parts, tuple | list) or len(parts) != len(outputs):
        raise TypeError(f"Your function should return {wanted}, and returns {describe(answer)}.")
    found = []
    for name, part in zip(outputs, parts, strict=True):
        part = part.numpy(force=True) if isinstance(part, torch.Tensor) else part
        try:
            if part is None or np.asarray(part).dtype.kind in "US":  # numpy would read the number in a text
                raise TypeError
            found.append(np.array(part, dtype=np.float64))
        except (TypeError, ValueError):
            raise TypeError(f"`{name}` should be an array of real numbers, and is {describe(part)}.") from None
    return tuple(found)


def _same(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    if a.shape != b.shape:
        return False
    scale = np.max(np.abs(b[np.isfinite(b)]), initial=0.0) or 1.0
    return bool(np.allclose(a, b, rtol=0.0, atol=tolerance * scale, equal_nan=True))


def _same_input(before: Any, after: Any) -> bool:
    if isinstance(before, Mapping):
        return before.keys() == after.keys() and all(_same_input(before[k], after[k]) for k in before)
    if isinstance(before, tuple | list):
        return len(before) == len(after) and all(map(_same_input, before, after))
    if isinstance(before, torch.Tensor):
        return before.shape == after.shape and bool(torch.equal(before.detach(), after.detach()))
    if isinstance(before, np.ndarray):
        return before.shape == after.shape and np.array_equal(before, after)
    return True
