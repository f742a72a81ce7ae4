"""A transform held to its contract at every call: for code that runs an optimizer it has not written."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_lib.errors import ContractError, describe
from course_lib.optim.transform import Tensors, Transform


def checked(transform: Any, name: str) -> Transform:
    """The same transform, watched; not for vmap, since it looks at values.

    Raises ContractError, a ValueError, in one sentence that begins with `name`: at once for anything but a Transform;
    from init and update where the transform raises (with its line), returns anything but (steps, state) with a tensor
    of each parameter's shape, returns NaN though the gradients and all steps before were finite, or changes what it was
    given.
    """
    if not isinstance(transform, Transform):
        raise ContractError(f"{name} must be a Transform, got {describe(transform)}")
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
                raise ContractError(f"{name}: update changes the {what} it was given, which belong to the caller")
        if not isinstance(answer, tuple) or len(answer) != 2:
            told = "nothing" if answer is None else describe(answer)
            raise ContractError(f"{name}: update must return (steps, state), and returns {told}")
        steps, after = answer
        if not isinstance(steps, tuple | list) or len(steps) != len(params):
            raise ContractError(
                f"{name}: update must return {len(params)} steps in a list, and returns {describe(steps)}"
            )
        for i, (step, param) in enumerate(zip(steps, params, strict=True)):
            if not isinstance(step, Tensor) or step.shape != param.shape:
                wanted = f"a tensor of shape {tuple(param.shape)}"
                raise ContractError(f"{name}: step {i} must be {wanted}, and is {describe(step)}")
        if sound and all(bool(g.isfinite().all()) for g in grads) and any(bool(s.isnan().any()) for s in steps):
            raise ContractError(f"{name}: update {calls} returns NaN for finite gradients")
        sound = sound and all(bool(s.isfinite().all()) for s in steps)
        return list(steps), after

    return Transform(init, update)


def _asked(call: Callable[[], Any], what: str) -> Any:
    try:
        return call()
    except Exception as error:
        raise ContractError(f"{what} raised {describe(error)}") from error


def _marks(part: Any) -> Any:
    """Which tensors are in a nest, and how often each has been written to: it costs nothing, and needs no copy."""
    if isinstance(part, Tensor):
        return id(part), part._version
    return [_marks(p) for p in part] if isinstance(part, tuple | list) else part
