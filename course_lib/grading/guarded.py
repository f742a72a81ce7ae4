"""A transform held to its contract at every call, for whoever lets a stranger's optimizer run."""

import traceback
from typing import Any

from torch import Tensor

from course_lib.grading.attempt import brief
from course_lib.optim import Tensors, Transform


class BrokenContract(ValueError):
    """An optimizer does what no Transform may; the message is a sentence."""


def guarded(transform: Any, name: str) -> Transform:
    """The same transform, watched; not for vmap, since it looks at values.

    Raises BrokenContract, a ValueError, in one sentence that begins with `name`: at once where it is no Transform; from
    init and update where the transform raises (with its line), returns anything but (steps, state) with a tensor of
    each parameter's shape, returns NaN though the gradients and all steps before were finite, or changes what it was
    given.
    """
    if not isinstance(transform, Transform):
        raise BrokenContract(f"{name} must be a Transform, got {brief(transform)}")
    calls, sound = 0, True

    def init(params: Tensors) -> Any:
        return _asked(lambda: transform.init(params), f"{name}: init")

    def update(grads: Tensors, state: Any, params: Tensors) -> tuple[list[Tensor], Any]:
        nonlocal calls, sound
        calls += 1
        given = {"gradients": grads, "state": state, "parameters": params}
        kept = {what: _marks(part) for what, part in given.items()}
        answer = _asked(lambda: transform.update(grads, state, params), f"{name}: update")
        for what, part in given.items():
            if kept[what] != _marks(part):
                raise BrokenContract(f"{name}: update changes the {what} it was given, which belong to the caller")
        if not isinstance(answer, tuple) or len(answer) != 2:
            told = "nothing" if answer is None else brief(answer)
            raise BrokenContract(f"{name}: update must return (steps, state), and returns {told}")
        steps, after = answer
        if not isinstance(steps, tuple | list) or len(steps) != len(params):
            raise BrokenContract(
                f"{name}: update must return {len(params)} steps in a list, and returns {brief(steps)}"
            )
        for i, (step, param) in enumerate(zip(steps, params, strict=True)):
            if not isinstance(step, Tensor) or step.shape != param.shape:
                wanted = f"a tensor of shape {tuple(param.shape)}"
                raise BrokenContract(f"{name}: step {i} must be {wanted}, and is {brief(step)}")
        if sound and all(bool(g.isfinite().all()) for g in grads) and any(bool(s.isnan().any()) for s in steps):
            raise BrokenContract(f"{name}: update {calls} returns NaN for finite gradients")
        sound = sound and all(bool(s.isfinite().all()) for s in steps)
        return list(steps), after

    return Transform(init, update)


def line_of(error: BaseException) -> str:
    """The line on which an error rose, outside the installed packages: "in line 3: x = y @ z"."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "site-packages" not in f.filename]
    return f"in line {frames[-1].lineno}: {frames[-1].line}"


def _asked(call: Any, what: str) -> Any:
    try:
        return call()
    except Exception as error:
        told = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise BrokenContract(f"{what} raised {told}, {line_of(error)}") from error


def _marks(part: Any) -> Any:
    """Which tensors are in a nest, and how often each has been written to: it costs nothing, and needs no copy."""
    if isinstance(part, Tensor):
        return id(part), part._version
    return [_marks(p) for p in part] if isinstance(part, tuple | list) else part
