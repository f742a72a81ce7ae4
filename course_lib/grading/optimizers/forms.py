"""The forms in which an optimizer can be handed in, brought to one: start(params, hyper), then step(grads, lr).

A Transform, or a function that makes one; a class of (params, ...) with step and zero_grad, as in torch; a function
step(theta, grad, state, ...) -> (theta, state) on one numpy array at a time, those three by position under any name,
whose state is {} before the first step, or what it has for a default; or one that has arrays for its state, with the
gradient after them, (theta, velocity, grad, ...) -> (theta, velocity), which are 0 before the first step. If it takes
t, that is 1 in the first step.
"""

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from course_lib.errors import ContractError, describe
from course_lib.grading.blank import does_nothing
from course_lib.grading.driver import Arrays
from course_lib.grading.optimizers.contract import LrStays, NotAttempted, fill, legal, tensors, untouched
from course_lib.grading.outputs import snapshot, unchanged
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

Hyper = Mapping[str, float]
Step = Callable[[Arrays, float], Arrays]


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


def start_made(make: Callable, params: Arrays, hyper: Hyper) -> Step:
    """A function of the settings, which makes a Transform; for another lr it makes another, around the same state."""
    return start_transform(lambda h: make(hyper=h), params, hyper)


def start_transform(make: Callable[[Hyper], Any], params: Arrays, hyper: Hyper) -> Step:
    def transform(h: Hyper) -> Transform:
        made = make(h)
        if made is ... or made is None:
            raise NotAttempted
        if not isinstance(made, Transform):
            raise ContractError(f"Your function should make a Transform(init, update), and makes {describe(made)}.")
        return made

    theta = tensors(params)
    current, state = transform(hyper), None
    state = current.init(tensors(params))
    buffers = [torch.empty_like(p) for p in theta]

    def step(grads: Arrays, lr: float) -> Arrays:
        nonlocal theta, state, current
        if lr != hyper["lr"]:
            current = transform(dict(hyper) | {"lr": lr})
        fill(buffers, grads)
        kept = snapshot((state, theta))
        answer: Any = current.update(buffers, state, theta)
        if answer is ... or (answer is None and does_nothing(current.update)):
            raise NotAttempted
        if answer is None:
            raise ContractError("`update` returns nothing: is a `return` missing?")
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ContractError(f"`update` should return (steps, state), and returns {describe(answer)}.")
        untouched(buffers, grads, "gradients")
        for what, before, after in zip(("state", "parameters"), kept, (state, theta), strict=True):
            if not unchanged(before, after):
                raise ContractError(
                    f"`update` changes the {what} it was given, which belongs to the caller: make new tensors.",
                    f"{what} changed in place",
                )
        steps, state = answer
        if not isinstance(steps, tuple | list) or len(steps) != len(theta):
            raise ContractError(
                f"`update` should return {len(theta)} steps, one for each parameter: it has {describe(steps)}."
            )
        moves = [np.asarray(legal(s, p, i, "step")) for i, (s, p) in enumerate(zip(steps, params, strict=True))]
        theta = [p + torch.tensor(m) for p, m in zip(theta, moves, strict=True)]
        return [p.numpy() for p in theta]

    return step


def start_class(make: Callable, params: Arrays, hyper: Hyper) -> Step:
    """A torch-style optimizer. Its lr is changed where torch's schedulers change it, or in the attribute lr."""
    theta = [torch.nn.Parameter(p) for p in tensors(params)]
    optimizer = make(list(theta), hyper=hyper)
    if optimizer is ... or optimizer is None:
        raise NotAttempted
    for method in ("step", "zero_grad"):
        if not callable(getattr(optimizer, method, None)):
            raise ContractError(f"Your optimizer, {describe(optimizer)}, has no method `{method}`.")
    buffers = [torch.empty_like(p) for p in tensors(params)]

    def step(grads: Arrays, lr: float) -> Arrays:
        groups = getattr(optimizer, "param_groups", [])
        if lr != hyper["lr"]:
            for group in groups:
                group["lr"] = lr
            if "lr" in vars(optimizer):
                optimizer.lr = lr
            elif not groups:
                raise LrStays
        fill(buffers, grads)
        for p, b in zip(theta, buffers, strict=True):
            p.grad = b
        optimizer.step()
        untouched(buffers, grads, "gradients")
        now = [legal(p, start, i, "parameter") for i, (p, start) in enumerate(zip(theta, params, strict=True))]
        optimizer.zero_grad()
        if any(p.grad is not None and bool(p.grad.ne(0).any()) for p in theta):
            raise ContractError(
                "After `zero_grad` there are gradients left: set each to None, or fill it with 0.", "zero_grad"
            )
        return now

    return step


def start_function(initial: Any, make: Callable, params: Arrays, hyper: Hyper) -> Step:
    theta = [p.copy() for p in params]
    states = [copy.copy(initial) for _ in params]
    buffers = [np.empty_like(p) for p in params]

    def step(grads: Arrays, lr: float) -> Arrays:
        fill(buffers, grads)
        for i, start in enumerate(params):
            before = theta[i].copy()
            answer = make(theta[i], buffers[i], states[i], hyper=dict(hyper) | {"lr": lr})
            if answer is ...:
                raise NotAttempted
            if answer is None:
                raise ContractError("Your function returns nothing: is a `return` missing?")
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise ContractError(f"Your function should return (theta, state), and returns {describe(answer)}.")
            untouched(buffers, grads, "gradients")
            if not np.array_equal(before, theta[i], equal_nan=True):
                raise ContractError(
                    "Your function changes theta in place, which belongs to the caller: return a new array.",
                    "parameters changed in place",
                )
            theta[i], states[i] = legal(answer[0], start, i, "new theta"), answer[1]
        return [p.copy() for p in theta]

    return step


def start_columns(rows: list[str], counts: bool, make: Callable, params: Arrays, hyper: Hyper) -> Step:
    """A function that has arrays for its state, as one with a state."""

    def step(theta: np.ndarray, grad: np.ndarray, state: Any, *, hyper: Hyper) -> Any:
        t, kept = state or (1, [np.zeros_like(theta) for _ in rows])
        before = snapshot(kept)
        answer = make(theta, *kept, grad, hyper=hyper, **({"t": t} if counts else {}))
        if answer is None or answer is ...:
            return answer
        for name, old, new in zip(rows, before, kept, strict=True):
            if not unchanged(old, new):
                message = f"Your function changes `{name}` in place, which belongs to the caller: return a new array."
                raise ContractError(message, "state changed in place")
        if not isinstance(answer, tuple | list) or len(answer) != 1 + len(rows):
            wanted = ", ".join(("theta", *rows))
            raise ContractError(f"Your function should return ({wanted}), and returns {describe(answer)}.")
        return answer[0], (
            t + 1,
            [legal(row, theta, 0, f"new {name}") for name, row in zip(rows, answer[1:], strict=True)],
        )

    return start_function(None, step, params, hyper)
