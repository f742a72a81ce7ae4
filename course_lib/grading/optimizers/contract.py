"""What an optimizer must keep to: its shapes and floats, and what belongs to its caller left as it is."""

from typing import Any

import numpy as np
import torch

from course_lib.errors import describe
from course_lib.grading.optimizers.cases import Arrays


class Refusal(Exception):
    """The optimizer broke its contract: one sentence for the learner, and the name of the mistake where it has one."""

    def __init__(self, message: str, mistake: str = ""):
        super().__init__(message)
        self.mistake = mistake


class NotAttempted(Exception):
    """Nothing has been written yet."""


class LrStays(Exception):
    """There is no way to change this optimizer's lr."""


def legal(value: Any, like: np.ndarray, i: int, what: str) -> np.ndarray:
    """A copy as a numpy array of floats, refused where it is none, or has another shape than the parameter."""
    array = value.detach().numpy().copy() if isinstance(value, torch.Tensor) else value
    if not isinstance(array, np.ndarray | np.floating | float):
        raise Refusal(f"The {what} for parameter {i} should be an array of floats, and is {describe(value)}.")
    array = np.array(array)
    if array.shape != like.shape:
        raise Refusal(f"The {what} for parameter {i} has shape {array.shape}, and the parameter has {like.shape}.")
    if array.dtype not in (np.float64, np.float32):
        raise Refusal(f"The {what} for parameter {i} has dtype {array.dtype}: keep to the parameter's float64.")
    return array


def tensors(arrays: Arrays) -> list[torch.Tensor]:
    return [torch.tensor(a) for a in arrays]


def fill(buffers: list, arrays: Arrays) -> None:
    """Write this step's gradients where the last step's were, as a training loop may."""
    for b, a in zip(buffers, arrays, strict=True):
        b[...] = torch.from_numpy(a) if isinstance(b, torch.Tensor) else a


def untouched(buffers: list, arrays: Arrays, what: str) -> None:
    if not all(np.array_equal(np.asarray(b), a) for b, a in zip(buffers, arrays, strict=True)):
        raise Refusal(
            f"Your optimizer changes the {what}, which belong to the caller: work on a copy.", f"{what} changed"
        )


def same(before: Any, after: Any) -> bool:
    """Whether nothing in a nest of tuples, lists, dicts, tensors and arrays has changed."""
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(same(before[k], after[k]) for k in before)
    if isinstance(before, tuple | list):
        return len(before) == len(after) and all(map(same, before, after))
    if isinstance(before, torch.Tensor | np.ndarray):
        return np.array_equal(np.asarray(before), np.asarray(after), equal_nan=True)
    return not isinstance(before, int | float) or bool(before == after) or before != before
