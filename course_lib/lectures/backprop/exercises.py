"""Checks of lecture 01: four backward passes, written by hand on numpy arrays and compared with torch.autograd.

Here the matrix product; the others are in the two modules imported.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from course_lib.grading.reference import by_torch
from course_lib.grading.verdict import Case, Mutant, Verdict, judge
from course_lib.lectures.backprop.exercises_norms import check_batchnorm, check_layernorm
from course_lib.lectures.backprop.exercises_softmax import check_softmax_cross_entropy

__all__ = ["check_batchnorm", "check_layernorm", "check_matmul", "check_softmax_cross_entropy"]

Numbers = np.ndarray


def flip(x: Numbers) -> Numbers:
    return x.swapaxes(-1, -2)


def fold(g: Numbers, like: Numbers, reduce: Callable = np.sum) -> Numbers:
    """Reduce g over the axes along which `like` was broadcast."""
    extra = g.ndim - like.ndim
    stretched = (i + extra for i, n in enumerate(like.shape) if n != g.shape[i + extra])
    return reduce(g, axis=(*range(extra), *stretched)).reshape(like.shape)


def leading(g: Numbers, like: Numbers) -> Numbers:
    return g.sum(axis=tuple(range(g.ndim - like.ndim)))


def first(g: Numbers, like: Numbers) -> Numbers:
    return g.sum(axis=0) if g.ndim > like.ndim else g


def first_if_unlike(g: Numbers, like: Numbers) -> Numbers:
    return g.sum(axis=0) if g.shape != like.shape else g


def first_then_stretched(g: Numbers, like: Numbers) -> Numbers:
    g = first(g, like)
    return g.sum(axis=tuple(i for i, n in enumerate(like.shape, -like.ndim) if n < g.shape[i]), keepdims=True)


def averaged(g: Numbers, like: Numbers) -> Numbers:
    return fold(g, like, np.mean)


def as_it_is(g: Numbers, like: Numbers) -> Numbers:
    return g


PRODUCTS = {
    "": ("", lambda A, B, dC: dC @ flip(B), lambda A, B, dC: flip(A) @ dC),
    "every axis transposed": (
        "`.T` reverses all axes, the batch's too: transpose the last two alone, with swapaxes(-1, -2).",
        lambda A, B, dC: dC @ B.T,
        lambda A, B, dC: A.T @ dC,
    ),
    "not transposed": (
        "A factor stands as it is where its transpose belongs.",
        lambda A, B, dC: dC @ B,
        lambda A, B, dC: A @ dC,
    ),
    "transposes swapped": (
        "A and B have changed places: dA needs B's transpose, dB needs A's.",
        lambda A, B, dC: dC @ flip(A),
        lambda A, B, dC: flip(B) @ dC,
    ),
    "factors in the wrong order": (
        "The order of the factors is wrong: one gradient has dC on its left, the other on its right.",
        lambda A, B, dC: flip(B) @ dC,
        lambda A, B, dC: dC @ flip(A),
    ),
    "wrong sign": (
        "The sign is turned: C is a sum of products, and nothing in it is subtracted.",
        lambda A, B, dC: -dC @ flip(B),
        lambda A, B, dC: -flip(A) @ dC,
    ),
    "gradients exchanged": (
        "The two gradients come back in the wrong order: dA first, then dB.",
        lambda A, B, dC: flip(A) @ dC,
        lambda A, B, dC: dC @ flip(B),
    ),
}
UNSUMMED = "broadcast axes not summed"
SUMS = {
    UNSUMMED: (
        "Where a factor was broadcast, each of its entries was used many times: sum its gradient over those axes.",
        (as_it_is,),
    ),
    "broadcast axes averaged": (
        "Over broadcast axes the gradient is a sum, not a mean: every use adds its share.",
        (averaged,),
    ),
    "only leading axes summed": (
        "A factor is also broadcast along an axis where its own length is 1: sum over it, and keep it.",
        (leading,),
    ),
    "only the first axis summed": (
        "A factor can be broadcast along several axes, and along others than the first: sum over each of them.",
        (first, first_if_unlike, first_then_stretched),
    ),
}


def matmul_mutants() -> list[Mutant]:
    """Every mistake in dA, in dB and in both; a wrong product also with its broadcast axes left as they are."""
    made = []

    def add(name: str, why: str, product_name: str, reduce: Callable) -> None:
        _, *wrong = PRODUCTS[product_name]
        _, *right = PRODUCTS[""]
        for spoiled in ((0, 1), (0,), (1,)):
            if product_name == "gradients exchanged" and len(spoiled) == 1:
                continue

            def backward(A, B, dC, spoiled=spoiled):
                like = (B, A) if product_name == "gradients exchanged" else (A, B)
                parts = []
                for i in (0, 1):
                    product, sums = (wrong[i], reduce) if i in spoiled else (right[i], fold)
                    parts.append(sums(product(A, B, dC), like[i]))
                return tuple(parts)

            made.append(Mutant(name, why, backward))

    for name, (why, *_) in PRODUCTS.items():
        if name:
            add(name, why, name, fold)
            add(f"{name}; {UNSUMMED}", f"{why} And: {SUMS[UNSUMMED][0]}", name, as_it_is)
    for name, (why, reductions) in SUMS.items():
        for reduce in reductions:
            add(name, why, "", reduce)
    return made


def matmul_case(title: str, a: tuple[int, ...], b: tuple[int, ...]) -> Case:
    random = np.random.default_rng(len(title))
    A, B = random.normal(size=a), random.normal(size=b)
    return Case(title, {"A": A, "B": B, "dC": random.normal(size=(A @ B).shape)})


MATMUL_MUTANTS = matmul_mutants()
MATMUL_CASES = (
    matmul_case("A and B of shape (3, 3)", (3, 3), (3, 3)),
    matmul_case("A (2, 3), B (3, 4)", (2, 3), (3, 4)),
    matmul_case("a batch: A and B of shape (3, 3, 3)", (3, 3, 3), (3, 3, 3)),
    matmul_case("one B for a batch: A (3, 3, 3), B (3, 3)", (3, 3, 3), (3, 3)),
    matmul_case("one A for a batch: A (3, 3), B (3, 3, 3)", (3, 3), (3, 3, 3)),
    matmul_case("one B for a batch: A (5, 2, 3), B (3, 4)", (5, 2, 3), (3, 4)),
    matmul_case("one A for a batch: A (2, 3), B (5, 3, 4)", (2, 3), (5, 3, 4)),
    matmul_case("both broadcast: A (2, 1, 3, 3), B (1, 5, 3, 3)", (2, 1, 3, 3), (1, 5, 3, 3)),
    matmul_case("one B along two axes: A (2, 5, 3, 3), B (3, 3)", (2, 5, 3, 3), (3, 3)),
    matmul_case("one A along two axes: A (3, 3), B (2, 5, 3, 3)", (3, 3), (2, 5, 3, 3)),
    matmul_case("one A along two axes, one of them missing: A (1, 2, 3), B (2, 5, 3, 4)", (1, 2, 3), (2, 5, 3, 4)),
)


def check_matmul(fn: Any) -> Verdict:
    """Judge fn(A, B, dC) -> (dA, dB): gradients of L through C = A @ B, whose batch axes may broadcast."""
    return judge(
        "matmul backward",
        fn,
        lambda A, B, dC: by_torch(torch.matmul, {"A": A, "B": B}, dC),
        MATMUL_CASES,
        MATMUL_MUTANTS,
        outputs=("dA", "dB"),
        verified=f"equal to torch.autograd on {len(MATMUL_CASES)} pairs of shapes, some batched, some broadcast",
    )
