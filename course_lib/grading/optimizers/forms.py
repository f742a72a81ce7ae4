"""The forms in which an optimizer can be handed in, brought to one: start(params, hyper), then step(grads, lr).

A Transform, or a function that makes one; a class of (params, ...) with step and zero_grad, as in torch; a function
step(theta, grad, state, ...) -> (theta, state) on one numpy array at a time, those three by position under any name,
whose state is {} before the first step, or what it has for a default; or one that has arrays for its state, with the
gradient after them, (theta, velocity, grad, ...) -> (theta, velocity), which are 0 before the first step. If it takes
t, that is 1 in the first step.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from course_lib.errors import ContractError, describe
from course_lib.grading.driver import Arrays
from course_lib.grading.optimizers.starts import (
    Hyper,
    Step,
    start_class,
    start_columns,
    start_function,
    start_made,
    start_transform,
)
from course_lib.optim import Transform

NAMES = {
    "lr": ("lr", "learning_rate", "eta"),
    "beta": ("beta", "momentum", "mu", "b"),
    "b1": ("b1", "beta1", "beta_1"),
    "b2": ("b2", "beta2", "beta_2", "alpha", "rho"),
    "eps": ("eps", "epsilon"),
    "decay": ("decay", "weight_decay", "wd", "lam", "lambda_"),
}

GRADIENTS = ("grad", "g", "gradient")


@dataclass(frozen=True)
class Form:
    """start(params, hyper) makes step(grads, lr) -> params. free: its settings are not made yet."""

    start: Callable[[Arrays, Hyper], Step]
    free: bool = True
    decays: bool = False
    lr_moves: bool = False


def form_of(
    attempt: Any, settings: tuple[str, ...], optional: tuple[str, ...] = (), fixed: Mapping[str, Any] | None = None
) -> Form:
    """Which form this is, from its type and the names of its arguments.

    settings: what it must take, but for the `optional` of them. fixed: what it is given as well, if it takes that.

    Raises ContractError where it is none of the forms.
    """
    if isinstance(attempt, Transform):
        return Form(partial(start_transform, lambda hyper: attempt), free=False)
    if not callable(attempt):
        raise ContractError(f"Hand in your optimizer itself, not {describe(attempt)}.")
    if inspect.isclass(attempt) and not (callable(getattr(attempt, "step", None))):
        raise ContractError(f"Your class {attempt.__name__} has no method `step`.")
    try:
        parameters = inspect.signature(attempt).parameters
    except (TypeError, ValueError):
        raise ContractError(
            "The names of your optimizer's arguments cannot be read: hand in a Python function."
        ) from None

    words = {name: next((n for n in aliases(name, settings) if n in parameters), "") for name in settings}
    if "betas" in parameters:
        words |= {"b1": "betas", "b2": "betas"}
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    missing = [name for name, word in words.items() if not word and name not in optional and not anything]
    words = {name: word or (name if anything else "") for name, word in words.items()}
    places = [
        p
        for p in parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in words.values()
    ]
    required = sum(p.default is p.empty for p in places)
    initial: Any = {}
    if required == 2 and len(places) > 2 and may_be_state(places[2]):
        required, initial = 3, places[2].default
    if any(p.kind is p.VAR_POSITIONAL for p in parameters.values()) and not required:
        required = 3
    rows = [p.name for p in places[1:required] if p.name != "t"]
    if len(rows) > 1 and rows[-1] in GRADIENTS:
        makers: dict[int, Callable] = {required: partial(start_columns, rows[:-1], "t" in [p.name for p in places[1:]])}
    else:
        makers = {0: start_made, 1: start_class, 3: partial(start_function, initial)}
    if required not in makers:
        lacking = f", and none of these is {' or '.join(f'`{m}`' for m in missing)}" if missing else ""
        raise ContractError(
            f"Hand in a Transform or its maker ({', '.join(settings)}), a class (params, {settings[0]}, ...), or a "
            f"function step(theta, grad, state, {settings[0]}, ...): yours takes ({', '.join(parameters)}){lacking}."
        )
    if missing:
        raise ContractError(f"Your optimizer should take {' and '.join(f'`{m}`' for m in missing)}: it is set by name.")

    def translate(hyper: Hyper) -> dict[str, Any]:
        given: dict[str, Any] = {words[n]: v for n, v in hyper.items() if words[n] not in ("", "betas")}
        if "betas" in parameters:
            given["betas"] = (hyper["b1"], hyper["b2"])
        asked = {
            n: v for n, v in (fixed or {}).items() if n in parameters and n not in getattr(attempt, "keywords", {})
        }
        return given | asked

    make = lambda *args, hyper, **more: attempt(*args, **translate(hyper), **more)  # noqa: E731
    return Form(partial(makers[required], make), decays=bool(words.get("decay")), lr_moves=True)


def aliases(name: str, settings: tuple[str, ...]) -> tuple[str, ...]:
    return (*NAMES[name], "beta") if name == "b2" and "b1" not in settings else NAMES[name]


def may_be_state(parameter: inspect.Parameter) -> bool:
    """Whether the third of a function's arguments, which has a default, is the state before the first step."""
    return parameter.name == "state" or isinstance(parameter.default, dict | tuple | list | None)
