"""How an optimizer of each form is started and driven: start(params, hyper) -> step(grads, lr) -> params.

A step refuses, with a ContractError, whatever breaks the form's contract.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from course_lib.errors import ContractError, describe
from course_lib.grading.blank import does_nothing
from course_lib.grading.driver import Arrays
from course_lib.grading.optimizers.contract import LrStays, NotAttempted, fill, legal, tensors, untouched
from course_lib.grading.outputs import snapshot, unchanged
from course_lib.optim import Transform

Hyper = Mapping[str, float]
Step = Callable[[Arrays, float], Arrays]


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
