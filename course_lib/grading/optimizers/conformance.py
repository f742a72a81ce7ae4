"""An exercise whose attempt is an optimizer: its path over streams of gradients is compared with the course's.

A mistake is an edit of the rule's source or of the driver's; the two are edited separately, so that the mistakes of one
compose with those of the other.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import chain, combinations, product
from typing import Any, NamedTuple

import numpy as np

from course_lib.errors import ContractError
from course_lib.grading.blank import does_nothing
from course_lib.grading.driver import GradientStream, drive
from course_lib.grading.mistake import Mistake
from course_lib.grading.mutate import Edit, Overlap, mutate, source_of
from course_lib.grading.optimizers.contract import LrStays, NotAttempted
from course_lib.grading.optimizers.forms import Form, form_of
from course_lib.grading.optimizers.runs import EPS, Run, alike, difference, run
from course_lib.grading.optimizers.streams import streams
from course_lib.grading.verdict import Status, Verdict
from course_lib.optim import Transform, add_decay
from course_lib.optim.transform import Rule

Streams = tuple[GradientStream, ...]
Edits = tuple[Edit, ...]
UNKNOWN = "This differs from the reference, but not in a way that this check knows by name."


class Version(NamedTuple):
    mistakes: tuple[Mistake, ...]
    edits: Edits


@dataclass(frozen=True, eq=False, repr=False)
class Conformance:
    """Called with the learner's optimizer it returns a Verdict.

    rule: the course's optimizer, called with `fixed` and the settings, whose names and defaults are `defaults`; one of
    them is decay, which is L2 in the gradient where `coupled`, and else beside the step.
    """

    title: str
    rule: Callable[..., Transform]
    defaults: Mapping[str, float]
    mistakes: Sequence[Mistake]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    coupled: bool = True

    def __repr__(self) -> str:
        return f"the check of {self.title}: hand it your optimizer"

    def __call__(self, optimizer: Any, **settings: float) -> Verdict:
        """Settings are kept in every stream, the others vary.

        Raises TypeError for a setting that this optimizer does not have, ValueError for an illegal value.
        """
        self._require(settings)
        not_yet = self._say("not attempted", "Write the optimizer, run its cell, then run this one.")
        if optimizer is None or optimizer is ... or does_nothing(optimizer):
            return not_yet
        if does_nothing(getattr(optimizer, "step", None)) or does_nothing(getattr(optimizer, "update", None)):
            return not_yet
        if str(getattr(optimizer, "__module__", "")).startswith("course_lib.") and not isinstance(optimizer, Transform):
            message = "That is the library's own optimizer: write yours, and hand that in."
            return self._say("not attempted", message)
        stream, runs = None, []
        try:
            form = form_of(optimizer, tuple(self.defaults), () if self.defaults["decay"] else ("decay",), self.fixed)
            every = streams_for(self, tuple(sorted(settings.items())), form.free, form.decays, form.lr_moves)
            for stream in every:
                try:
                    runs.append(run(_driven(form, stream), stream))
                except LrStays:
                    every = tuple(s for s in every if s is not stream)
            again = run(_driven(form, every[0]), every[0])
        except NotAttempted:
            return not_yet
        except ContractError as error:
            return self._say("wrong", str(error), f"case: {stream.title}" if stream else "", error.mistake)
        if not alike(runs[0], again.path, every[0]):
            return self._say(
                "wrong",
                "Two runs over the same gradients, each from a fresh start, come out differently: keep the state in "
                "the optimizer, not in a global, a class attribute or a default argument.",
                difference(again, runs[0].path, every[0]),
                "state survives from run to run",
            )
        return self.diagnose(every, runs) or self._say("passed", f"Verified: {_verified(every, runs)}.")

    def _require(self, settings: Mapping[str, float]) -> None:
        if unknown := settings.keys() - self.defaults.keys():
            raise TypeError(f"{self.title} has the settings {', '.join(self.defaults)}, got {min(unknown)!r}")
        others = {**self.defaults, **settings}
        add_decay(others.pop("decay"))
        self.rule(**others, **self.fixed)

    def _say(self, status: Status, message: str, evidence: str = "", mistake: str = "") -> Verdict:
        return Verdict(status, self.title, message, evidence, mistake)

    def diagnose(self, every: Streams, runs: Sequence[Run]) -> Verdict | None:
        """The verdict on a wrong optimizer; None for a right one."""
        right = [path_of(self, (), stream).path for stream in every]
        wrong = [i for i, r in enumerate(runs) if r.crash or not alike(r, right[i], every[i])]
        if not wrong:
            return None
        first = next((i for i in wrong if runs[i].crash), wrong[0])
        evidence = runs[first].crash or difference(runs[first], right[first], every[first])
        for size in (1, 2):
            found = {tuple(m.name for m in v.mistakes): v.mistakes for v in self._matching(every, runs, size)}
            if len(found) == 1:
                ((names, mistakes),) = found.items()
                opening = "Two mistakes at once. " if size == 2 else ""
                message = opening + " ".join(mistake.explanation for mistake in mistakes)
                return self._say("wrong", message, evidence, "; ".join(names))
            if found:
                choice = " or ".join(f"({' and '.join(names)})" for names in sorted(found))
                return self._say("wrong", f"These numbers have more than one explanation: {choice}.", evidence)
        if runs[first].crash:
            return self._say("wrong", "Your optimizer stopped with an error.", evidence)
        if not np.isfinite(runs[first].path[np.isfinite(right[first])]).all():
            message = "Your optimizer gives NaN or infinity where the reference is finite."
            return self._say("wrong", message, evidence)
        return self._say("wrong", UNKNOWN, evidence)

    def _matching(self, every: Streams, runs: Sequence[Run], size: int) -> list[Version]:
        """The versions with `size` mistakes whose numbers are these in every stream."""
        suspects = versions(self, size)
        telling = max(range(len(every)), key=lambda i: (every[i].hyper["decay"], every[i].grads[0][0].any(), i))
        brief, start = _shortened(every[telling]), runs[telling]
        fits = alike(start._replace(path=start.path[:1]), _openings(self, brief, size), brief)
        left = [version for version, fit in zip(suspects, fits, strict=True) if fit]
        for stream, r in zip(every, runs, strict=True):
            left = [version for version in left if _same(r, path_of(self, version.edits, stream), stream)]
        return left


def _same(mine: Run, theirs: Run, stream: GradientStream) -> bool:
    return theirs.fatal if mine.fatal else bool(alike(mine, theirs.path, stream))


def _driven(form: Form, stream: GradientStream) -> Iterator[list[np.ndarray]]:
    step = form.start([p.copy() for p in stream.start], stream.hyper)
    for grads, lr in zip(stream.grads, stream.lrs, strict=True):
        yield step(grads, float(lr))


@lru_cache(maxsize=32)
def streams_for(check: Conformance, given: tuple[tuple[str, float], ...], *form: bool) -> Streams:
    return streams(check.defaults, dict(given), *form)


@cache
def versions(check: Conformance, size: int) -> tuple[Version, ...]:
    """The ways to make `size` mistakes at once; of two, the first three of each.

    Edits of the same place exclude each other.
    """
    found = []
    for mistakes in combinations(check.mistakes, size):
        for ways in product(*(mistake.ways if size == 1 else mistake.ways[:3] for mistake in mistakes)):
            version = Version(mistakes, tuple(chain.from_iterable(ways)))  # type: ignore[arg-type]
            try:
                _made(check.rule, version.edits)
            except (Overlap, SyntaxError):
                if size == 1:
                    raise
            else:
                found.append(version)
    return tuple(found)


def _made(rule: Callable[..., Transform], edits: Edits) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The rule and the driver after these edits, each of which finds its text in one of the two sources."""
    of_rule = tuple(edit for edit in edits if edit[0] in source_of(rule))
    of_driver = tuple(edit for edit in edits if edit not in of_rule)
    if twice := [old for old, _ in of_rule if old in source_of(drive)]:
        raise ValueError(f"an edit must find its text in the rule or in the driver, got {twice[0]!r}, which is in both")
    return _mutated(rule, of_rule), _mutated(drive, of_driver)


@cache
def _mutated(function: Callable[..., Any], edits: Edits) -> Callable[..., Any]:
    return mutate(function, *edits)


@lru_cache(maxsize=20_000)
def path_of(check: Conformance, edits: Edits, stream: GradientStream) -> Run:
    rule, driver = _made(check.rule, edits)
    decay = stream.hyper["decay"]
    make = _maker(check, rule, stream)
    return run(driver(make, stream, *((decay, 0.0) if check.coupled else (0.0, decay))), stream)


@lru_cache(maxsize=20_000)
def _maker(check: Conformance, rule: Callable[..., Any], stream: GradientStream) -> Callable[..., Rule]:
    """lr -> the rule at a stream's settings, made once for each lr."""
    hyper = {name: value for name, value in stream.hyper.items() if name not in ("lr", "decay")}
    return cache(lambda **lr: rule(**hyper, **check.fixed, **lr).rule)


@lru_cache(maxsize=64)
def _shortened(stream: GradientStream) -> GradientStream:
    return replace(stream, lrs=stream.lrs[:1], grads=stream.grads[:1])


@lru_cache(maxsize=64)
def _openings(check: Conformance, brief: GradientStream, size: int) -> np.ndarray:
    """Two steps of every version, (versions, 2, total size): enough to rule out most."""
    return np.stack([path_of(check, version.edits, brief).path for version in versions(check, size)])


def _verified(every: Streams, runs: Sequence[Run]) -> str:
    """What a passing optimizer has been shown to do, and what was not tried."""
    digits = "float32's digits" if max(r.precision for r in runs) > EPS else "five digits and more"
    decay = "with weight decay" if any(s.hyper["decay"] for s in every) else "without weight decay"
    lr = "with an lr that changes" if any(s.lrs.min() < s.lrs.max() for s in every) else "at one lr"
    return (
        f"each step is the reference's, to {digits}, on {len(every)} streams of gradients (tiny, huge, sparse, zero, "
        f"of changing sign), {decay}, {lr}"
    )
