"""What an optimizer did on a stream of gradients, and whether two of them did the same."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from course_lib.errors import ContractError, line_of
from course_lib.grading.driver import Arrays, GradientStream
from course_lib.grading.optimizers.contract import LrStays, NotAttempted

EPS = float(np.finfo(np.float64).eps)


class Run(NamedTuple):
    """What an optimizer did on one stream.

    path: (T, total size), the parameters after each step. precision: eps of its coarsest float. crash: the error that
    ended it; fatal unless that was a division by zero, after which the path goes on as NaN, as it does in arrays.
    """

    path: np.ndarray
    precision: float = EPS
    crash: str = ""
    fatal: bool = False


def run(steps: Iterator[Arrays], stream: GradientStream) -> Run:
    """steps: the parameters after each step; it may raise, and then its error is the run's."""
    path: list[np.ndarray] = []
    precision = EPS
    try:
        with np.errstate(all="ignore"):
            for params in steps:
                precision = max(precision, *(float(np.finfo(p.dtype).eps) for p in params))
                path.append(_flat(params))
    except (ContractError, NotAttempted, LrStays):
        raise
    except Exception as error:
        lost = [np.full(_flat(stream.start).shape, np.nan)] * (len(stream.lrs) - len(path))
        crash = _crash(error, stream, len(path) + 1)
        return Run(np.stack(path + lost), precision, crash, not isinstance(error, ZeroDivisionError))
    return Run(np.stack(path), precision)


def alike(r: Run, path: np.ndarray, stream: GradientStream) -> np.ndarray:
    """Whether the run's steps are those of `path` (..., T, total size)."""
    return np.asarray(_agreement(r, path, stream).all(axis=(-2, -1)))


def difference(r: Run, path: np.ndarray, stream: GradientStream) -> str:
    """The first step that differs, and the entry in which it does so most, in as many digits as tell them apart."""
    apart = ~_agreement(r, path, stream)
    t = int(apart.any(axis=-1).argmax())
    mine, theirs = _steps(r.path, stream)[t], _steps(path, stream)[t]
    with np.errstate(all="ignore"):
        gap = np.where(apart[t], np.nan_to_num(np.abs(mine - theirs), nan=np.inf), -1.0)
    place = int(gap.argmax())
    index, rest = 0, place
    while rest >= stream.start[index].size:
        rest -= stream.start[index].size
        index += 1
    entry = ", ".join(map(str, np.unravel_index(rest, stream.start[index].shape)))
    return (
        f"case: {stream.title} ({stream.settings})\nstep {t + 1}, parameter {index}{f'[{entry}]' if entry else ''} is "
        f"{_versus(r.path[t, place], path[t, place], 8)}: it moved by {_versus(mine[place], theirs[place], 6)}"
    )


def _agreement(r: Run, path: np.ndarray, stream: GradientStream) -> np.ndarray:
    """Where each step of the run is that of `path` (..., T, total size), relative to the entry's largest so far."""

    def largest(x: np.ndarray) -> np.ndarray:
        return np.maximum.accumulate(np.where(np.isfinite(x), np.abs(x), 0.0), axis=-2)

    mine, theirs = _steps(r.path, stream), _steps(path, stream)
    tolerance = max(2e-6, 1e3 * r.precision) * largest(theirs) + 16 * r.precision * largest(path)
    finite = np.isfinite(theirs)
    with np.errstate(all="ignore"):
        return np.where(finite, np.abs(mine - theirs) <= tolerance, ~np.isfinite(mine))


def _steps(path: np.ndarray, stream: GradientStream) -> np.ndarray:
    with np.errstate(all="ignore"):
        begin = np.broadcast_to(_flat(stream.start), path[..., :1, :].shape)
        return path - np.concatenate([begin, path[..., :-1, :]], axis=-2)


def _flat(arrays: Arrays) -> np.ndarray:
    return np.concatenate([np.ravel(a) for a in arrays]).astype(np.float64)


def _versus(mine: float, theirs: float, least: int) -> str:
    """Both numbers in as many digits as it takes to tell them apart, and at least `least` of them."""
    digits = next((d for d in range(least, 17) if f"{mine:.{d}g}" != f"{theirs:.{d}g}"), 17)
    return f"{mine:.{digits}g}, expected {theirs:.{digits}g}"


def _crash(error: Exception, stream: GradientStream, step: int) -> str:
    line = line_of(error)
    case = f"case: {stream.title} ({stream.settings}), step {step}"
    return "\n".join([case, *([f"your {line}"] if line else []), f"{type(error).__name__}: {error}"])
