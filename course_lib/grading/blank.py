"""What a learner handed in: whether there is anything in it."""

import dis
from typing import Any


def does_nothing(fn: Any) -> bool:
    """Whether the body is a blank: `...`, `pass` or a docstring alone."""
    if not hasattr(fn, "__code__"):
        return False
    steps = list(dis.get_instructions(fn.__code__))
    idle = {"RESUME", "NOP", "POP_TOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE", "COPY_FREE_VARS"}
    loaded = [step.argval for step in steps if step.opname in ("LOAD_CONST", "RETURN_CONST")]
    return {step.opname for step in steps} <= idle and loaded[-1] in (None, ...)
