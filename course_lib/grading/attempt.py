"""What a learner handed in: whether there is anything in it, and how to speak of it."""

import dis
from typing import Any

import numpy as np
import torch


def does_nothing(fn: Any) -> bool:
    """Whether the body is a blank: `...`, `pass` or a docstring alone."""
    if not hasattr(fn, "__code__"):
        return False
    steps = list(dis.get_instructions(fn.__code__))
    idle = {"RESUME", "NOP", "POP_TOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE", "COPY_FREE_VARS"}
    loaded = [step.argval for step in steps if step.opname in ("LOAD_CONST", "RETURN_CONST")]
    return {step.opname for step in steps} <= idle and loaded[-1] in (None, ...)


def brief(thing: Any) -> str:
    """A few words for what was given or returned in place of something else."""
    if isinstance(thing, tuple | list):
        return f"a {type(thing).__name__} of {len(thing)}"
    if isinstance(thing, np.ndarray | torch.Tensor):
        return f"an array of shape {tuple(thing.shape)}"
    text = repr(thing)
    return f"{type(thing).__name__} {text}" if len(text) < 40 else f"an object of type {type(thing).__name__}"
