"""How to speak of what was handed in, and of where it failed."""

import sysconfig
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import torch

LIBRARIES = (str(Path(__file__).parent), *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


class ContractError(ValueError):
    """An optimizer breaks the contract of its interface; the message is one sentence that says how.

    mistake: its name, where it has one.
    """

    def __init__(self, message: str, mistake: str = ""):
        super().__init__(message)
        self.mistake = mistake


def describe(thing: Any) -> str:
    """A few words for what was given or returned; for an error its message and the learner's line."""
    if isinstance(thing, BaseException):
        told, line = f"{type(thing).__name__}: {' '.join(str(thing).split())}", line_of(thing)
        return f"{told} ({line})" if line else told
    if isinstance(thing, tuple | list):
        return f"a {type(thing).__name__} of {len(thing)}"
    if isinstance(thing, np.ndarray | torch.Tensor):
        return f"an array of shape {tuple(thing.shape)}"
    text = repr(thing)
    return f"{type(thing).__name__} {text}" if len(text) < 40 else f"an object of type {type(thing).__name__}"


def line_of(error: BaseException) -> str:
    """The innermost of the learner's own lines that led to an error: "line 3, in step: x = y @ z", or "" for none.

    Lines of this package, of Python's library and of installed packages are not the learner's.
    """
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.lineno and not frame.filename.startswith((*LIBRARIES, "<frozen")):
            return f"line {frame.lineno}, in {frame.name}: {frame.line}"
    return ""
