"""What an optimizer must keep to: its shapes and floats, and what belongs to its caller left as it is."""

from typing import Any

import numpy as np
import torch

from course_lib.errors import ContractError, describe
from course_lib.grading.driver import Arrays


class NotAttempted(Exception):
    """Nothing has been written yet."""


class LrStays(Exception):
    """There is no way to change this optimizer's lr."""


def legal(value: Any, like: np.ndarray, i: int, what: str) -> np.ndarray:
    """A copy as a numpy array of floats, refused where it is not one, or does not have the parameter's shape."""
    array = value.detach().numpy().copy() if isinstance(value, torch.Tensor) else value
    if not isinstance(array, np.ndarray | np.floating | float):
        raise ContractError(f"The {what} for parameter {i} should be an array of floats, and is {describe(value)}.")
    array = np.array(array)
    if array.shape != like.shape:
        raise ContractError(
            f"The {what} for parameter {i} has shape {array.shape}, and the parameter has {like.shape}."
        )
    if array.dtype not in (np.float64, np.float32):
        raise ContractError(f"The {what} for parameter {i} has dtype {array.dtype}: keep to the parameter's float64.")
    return array


def tensors(arrays: Arrays) -> list[torch.Tensor]:
    return [torch.tensor(a) for a in arrays]


def fill(buffers: list, arrays: Arrays) -> None:
    """Write this step's gradients where the last step's were, as a training loop may."""
    for b, a in zip(buffers, arrays, strict=True):
        b[...] = torch.from_numpy(a) if isinstance(b, torch.Tensor) else a


def untouched(buffers: list, arrays: Arrays, what: str) -> None:
    if not all(np.array_equal(np.asarray(b), a) for b, a in zip(buffers, arrays, strict=True)):
        raise ContractError(
            f"Your optimizer changes the {what}, which belong to the caller: work on a copy.", f"{what} changed"
        )
