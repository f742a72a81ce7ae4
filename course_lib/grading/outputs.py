"""What a function returned, as arrays that can be compared; and in words, where two of them differ."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from course_lib.errors import describe

Outputs = tuple[np.ndarray, ...]


def arrays(answer: Any, names: Sequence[str]) -> Outputs:
    """The answer as float64 arrays, one for each name. Raises TypeError, in a sentence, where it is something else."""
    parts = (answer,) if len(names) == 1 and not (isinstance(answer, tuple) and len(answer) == 1) else answer
    if len(names) > 1 and isinstance(parts, np.ndarray) and parts.ndim:
        parts = tuple(parts)
    if not isinstance(parts, tuple | list) or len(parts) != len(names):
        wanted = f"{len(names)} arrays ({', '.join(names)})" if len(names) > 1 else f"one array ({names[0]})"
        raise TypeError(f"Your function should return {wanted}, and returns {describe(answer)}.")
    return tuple(_array(part, name) for part, name in zip(parts, names, strict=True))


def _array(part: Any, name: str) -> np.ndarray:
    part = part.numpy(force=True) if isinstance(part, torch.Tensor) else part
    try:
        if part is None or np.asarray(part).dtype.kind in "US":  # numpy would read the number in a text
            raise TypeError
        return np.array(part, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` should be an array of real numbers, and is {describe(part)}.") from None


def same(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    """Equal in shape, and nowhere further apart than `tolerance` times the largest finite entry of b."""
    if a.shape != b.shape:
        return False
    finite = np.isfinite(b)
    scale = np.max(np.abs(b), where=finite, initial=0.0) or 1.0
    with np.errstate(invalid="ignore"):
        close = np.abs(a - b) <= tolerance * scale
    return bool((close | (a == b) | (np.isnan(a) & np.isnan(b))).all())


def snapshot(thing: Any) -> Any:
    """A copy of what `unchanged` looks at."""
    if isinstance(thing, Mapping):
        return {key: snapshot(value) for key, value in thing.items()}
    if isinstance(thing, tuple | list):
        return [snapshot(part) for part in thing]
    if isinstance(thing, torch.Tensor):
        return thing.detach().clone()
    return thing.copy() if isinstance(thing, np.ndarray) else thing


def unchanged(before: Any, after: Any) -> bool:
    """Whether an argument is what it was, looking into dicts, lists, arrays, tensors and numbers."""
    if isinstance(before, Mapping):
        return before.keys() == after.keys() and all(unchanged(before[k], after[k]) for k in before)
    if isinstance(before, tuple | list):
        return len(before) == len(after) and all(map(unchanged, before, after))
    if isinstance(before, torch.Tensor):
        same_shape = before.shape == after.shape
        return same_shape and (
            torch.equal(before, after) or bool(((before == after) | before.isnan() & after.isnan()).all())
        )
    if isinstance(before, np.ndarray):
        return np.array_equal(before, after, equal_nan=before.dtype.kind in "fc")
    return not isinstance(before, int | float) or bool(before == after) or before != before


def gap(name: str, mine: np.ndarray, right: np.ndarray) -> str:
    """Where two arrays are furthest apart, in as many digits as tell them apart; or their shapes."""
    if mine.shape != right.shape:
        return f"{name} has shape {mine.shape}, expected {right.shape}"
    with np.errstate(invalid="ignore"):
        apart = np.nan_to_num(np.abs(mine - right), nan=np.inf)
    worst = np.unravel_index(np.argmax(apart), right.shape)
    place = f"[{', '.join(map(str, worst))}]" if worst else ""
    digits = next((d for d in (6, 9, 12) if f"{mine[worst]:.{d}g}" != f"{right[worst]:.{d}g}"), 17)
    rounded = " (was it rounded to float32?)" if digits > 6 else ""
    return f"{name}{place} is {mine[worst]:.{digits}g}, expected {right[worst]:.{digits}g}{rounded}"


def plainly(pairs: Sequence[tuple[Outputs, Outputs]], names: Sequence[str]) -> str:
    """What can be said of a difference that has no name. pairs: (mine, right) of every case."""
    for i, name in enumerate(names):
        if any(mine[i].shape != right[i].shape for mine, right in pairs):
            return f"`{name}` does not have the shape it should have."
        if any((np.isnan(mine[i]) & ~np.isnan(right[i])).any() for mine, right in pairs):
            return f"`{name}` becomes NaN: look for the root of a negative number, 0 / 0 or inf - inf."
    return "This differs from the reference, but not in a way that this check knows by name."
