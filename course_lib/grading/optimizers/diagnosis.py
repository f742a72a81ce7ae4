"""Whether an optimizer's path is the reference's, and if it is not, whose it is among the mistakes known by name."""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from course_lib.errors import line_of
from course_lib.grading.optimizers.cases import Arrays, Kind, Sequence
from course_lib.grading.optimizers.contract import LrStays, NotAttempted, Refusal
from course_lib.grading.optimizers.flaw import Flaw
from course_lib.grading.optimizers.flaws import candidates
from course_lib.grading.optimizers.forms import Form
from course_lib.grading.optimizers.mutants import simulate

Cases = tuple[Sequence, ...]
EPS = float(np.finfo(np.float64).eps)
UNKNOWN = "This differs from the reference, and not in a way the check knows by name."


class Run(NamedTuple):
    """What an optimizer did in one sequence.

    path: (T, total size), the parameters after each step. precision: eps of its coarsest float. crash: the error that
    ended it; fatal unless that was a division by zero, after which the path goes on as NaN, as it does in arrays.
    """

    path: np.ndarray
    precision: float = EPS
    crash: str = ""
    fatal: bool = False


def run(form: Form, case: Sequence) -> Run:
    path, precision = [], EPS
    try:
        with np.errstate(all="ignore"):
            step = form.start([p.copy() for p in case.start], case.hyper)
            for grads, lr in zip(case.grads, case.lrs, strict=True):
                params = step(grads, float(lr))
                precision = max(precision, *(float(np.finfo(p.dtype).eps) for p in params))
                path.append(flat(params))
    except (Refusal, NotAttempted, LrStays):
        raise
    except Exception as error:
        lost = [np.full(flat(case.start).shape, np.nan)] * (len(case.lrs) - len(path))
        crash = crash_of(error, case, len(path) + 1)
        return Run(np.stack(path + lost), precision, crash, not isinstance(error, ZeroDivisionError))
    return Run(np.stack(path), precision)


def diagnose(kind: Kind, cases: Cases, runs: list[Run]) -> tuple[str, str, str] | None:
    """(message, evidence, mistake) of a wrong optimizer; None for a right one."""
    right = [wrong_path(kind, case, ()) for case in cases]
    wrong = [i for i, r in enumerate(runs) if r.crash or not alike(r, right[i], cases[i])]
    if not wrong:
        return None
    first = next((i for i in wrong if runs[i].crash), wrong[0])
    evidence = runs[first].crash or difference(runs[first], right[first], cases[first])
    for size in (1, 2):
        found = {tuple(f.name for f in flaws): flaws for flaws in matching(kind, cases, runs, size)}
        if len(found) == 1:
            flaws = next(iter(found.values()))
            opening = "Two mistakes at once. " if size == 2 else ""
            return opening + " ".join(f.explanation for f in flaws), evidence, "; ".join(f.name for f in flaws)
        if found:
            choice = " or ".join(f"({' and '.join(names)})" for names in sorted(found))
            return f"These numbers have more than one explanation: {choice}.", evidence, ""
    if runs[first].crash:
        return "Your optimizer stopped with an error.", evidence, ""
    if not np.isfinite(runs[first].path[np.isfinite(right[first])]).all():
        return "Your optimizer gives NaN or infinity where the reference is finite.", evidence, ""
    return UNKNOWN, evidence, ""


def matching(kind: Kind, cases: Cases, runs: list[Run], size: int) -> list[tuple[Flaw, ...]]:
    """The mistakes, or sets of two, whose numbers are these in every sequence."""
    suspects = candidates(kind, size)
    telling = max(range(len(cases)), key=lambda i: (cases[i].hyper["decay"], cases[i].grads[0][0].any(), i))
    brief, start = shortened(cases[telling]), runs[telling]
    fits = alike(start._replace(path=start.path[:2]), openings(kind, brief, size), brief)
    suspects = tuple(flaws for flaws, fit in zip(suspects, fits, strict=True) if fit)
    for case, r in zip(cases, runs, strict=True):
        if r.fatal:
            shapes = {p.shape for p in case.start}
            suspects = tuple(s for s in suspects if len(shapes) > 1 and any(f.slot == "sharing" for f in s))
        else:
            suspects = tuple(s for s in suspects if alike(r, wrong_path(kind, case, s), case))
    return list(suspects)


@lru_cache(maxsize=64)
def shortened(case: Sequence) -> Sequence:
    return replace(case, lrs=case.lrs[:2], grads=case.grads[:2])


@lru_cache(maxsize=64)
def openings(kind: Kind, brief: Sequence, size: int) -> np.ndarray:
    """Two steps of every suspect, (suspects, 2, total size): enough to be rid of most."""
    return np.stack([wrong_path(kind, brief, flaws) for flaws in candidates(kind, size)])


@lru_cache(maxsize=20_000)
def wrong_path(kind: Kind, case: Sequence, flaws: tuple[Flaw, ...]) -> np.ndarray:
    return simulate(kind, case, {f.slot: f.value for f in flaws})


def flat(arrays: Arrays) -> np.ndarray:
    return np.concatenate([a.ravel() for a in arrays]).astype(np.float64)


def steps_of(path: np.ndarray, case: Sequence) -> np.ndarray:
    with np.errstate(all="ignore"):
        begin = np.broadcast_to(flat(case.start), path[..., :1, :].shape)
        return path - np.concatenate([begin, path[..., :-1, :]], axis=-2)


def agreement(r: Run, path: np.ndarray, case: Sequence) -> np.ndarray:
    """Where each step of the run is that of `path` (..., T, total size), measured by the entry's largest so far."""

    def largest(x: np.ndarray) -> np.ndarray:
        return np.maximum.accumulate(np.where(np.isfinite(x), np.abs(x), 0.0), axis=-2)

    mine, theirs = steps_of(r.path, case), steps_of(path, case)
    tolerance = max(2e-6, 1e3 * r.precision) * largest(theirs) + 16 * r.precision * largest(path)
    finite = np.isfinite(theirs)
    with np.errstate(all="ignore"):
        return np.where(finite, np.abs(mine - theirs) <= tolerance, ~np.isfinite(mine))


def alike(r: Run, path: np.ndarray, case: Sequence) -> np.ndarray:
    return np.asarray(agreement(r, path, case).all(axis=(-2, -1)))


def difference(r: Run, path: np.ndarray, case: Sequence) -> str:
    """The first step that differs, and the entry in which it does so most, in as many digits as tell them apart."""
    apart = ~agreement(r, path, case)
    t = int(apart.any(axis=-1).argmax())
    mine, theirs = steps_of(r.path, case)[t], steps_of(path, case)[t]
    with np.errstate(all="ignore"):
        gap = np.where(apart[t], np.nan_to_num(np.abs(mine - theirs), nan=np.inf), -1.0)
    place = int(gap.argmax())
    index, rest = 0, place
    while rest >= case.start[index].size:
        rest -= case.start[index].size
        index += 1
    entry = ", ".join(map(str, np.unravel_index(rest, case.start[index].shape)))
    return (
        f"case: {case.title} ({case.settings})\nstep {t + 1}, parameter {index}{f'[{entry}]' if entry else ''} is "
        f"{versus(r.path[t, place], path[t, place], 8)}: it moved by {versus(mine[place], theirs[place], 6)}"
    )


def versus(mine: float, theirs: float, least: int) -> str:
    """Both numbers in as many digits as it takes to tell them apart, and `least` of them at least."""
    digits = next((d for d in range(least, 17) if f"{mine:.{d}g}" != f"{theirs:.{d}g}"), 17)
    return f"{mine:.{digits}g}, expected {theirs:.{digits}g}"


def crash_of(error: Exception, case: Sequence, step: int) -> str:
    line = line_of(error)
    case_line = f"case: {case.title} ({case.settings}), step {step}"
    return "\n".join([case_line, *([f"your {line}"] if line else []), f"{type(error).__name__}: {error}"])
