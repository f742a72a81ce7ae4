"""Checks of lecture 01: four backward passes, written by hand on numpy arrays and compared with torch.autograd."""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch

from course_lib.checks.backprop_norms import check_batchnorm, check_layernorm
from course_lib.checks.reference import by_torch
from course_lib.checks.verdict import Case, Mutant, Verdict, judge

__all__ = ["check_batchnorm", "check_layernorm", "check_matmul", "check_softmax_cross_entropy"]

Numbers = np.ndarray


def flip(x: Numbers) -> Numbers:
    return x.swapaxes(-1, -2)


def fold(g: Numbers, like: Numbers, reduce: Callable = np.sum) -> Numbers:
    """Reduce g over the axes along which `like` was broadcast."""
    extra = g.ndim - like.ndim
    stretched = (i + extra for i, n in enumerate(like.shape) if n != g.shape[i + extra])
    return reduce(g, axis=(*range(extra), *stretched)).reshape(like.shape)


def fold_leading(g: Numbers, like: Numbers) -> Numbers:
    return g.sum(axis=tuple(range(g.ndim - like.ndim)))


def matmul_mutants() -> list[Mutant]:
    """Every mistake in dA, in dB and in both."""

    def right_a(A, B, dC):
        return fold(dC @ flip(B), A)

    def right_b(A, B, dC):
        return fold(flip(A) @ dC, B)

    mistakes = {
        "every axis transposed": (
            "`.T` reverses all axes, the batch's too: transpose the last two alone, with swapaxes(-1, -2).",
            lambda A, B, dC: fold(dC @ B.T, A),
            lambda A, B, dC: fold(A.T @ dC, B),
        ),
        "not transposed": (
            "A factor stands as it is where its transpose belongs: dA = dC Bᵀ, dB = Aᵀ dC.",
            lambda A, B, dC: fold(dC @ B, A),
            lambda A, B, dC: fold(A @ dC, B),
        ),
        "transposes swapped": (
            "A and B have changed places: dA needs B's transpose, dB needs A's.",
            lambda A, B, dC: fold(dC @ flip(A), A),
            lambda A, B, dC: fold(flip(B) @ dC, B),
        ),
        "factors in the wrong order": (
            "The order of the factors is wrong: dC is the left one in dA = dC Bᵀ and the right one in dB = Aᵀ dC.",
            lambda A, B, dC: fold(flip(B) @ dC, A),
            lambda A, B, dC: fold(dC @ flip(A), B),
        ),
        "broadcast axes not summed": (
            "Where a factor was broadcast, each of its entries was used many times: sum its gradient over those axes.",
            lambda A, B, dC: dC @ flip(B),
            lambda A, B, dC: flip(A) @ dC,
        ),
        "broadcast axes averaged": (
            "Over broadcast axes the gradient is a sum, not a mean: every use adds its share.",
            lambda A, B, dC: fold(dC @ flip(B), A, np.mean),
            lambda A, B, dC: fold(flip(A) @ dC, B, np.mean),
        ),
        "only leading axes summed": (
            "A factor is also broadcast along an axis where its own length is 1: sum over it, and keep it.",
            lambda A, B, dC: fold_leading(dC @ flip(B), A),
            lambda A, B, dC: fold_leading(flip(A) @ dC, B),
        ),
    }
    made = [
        Mutant(name, why, lambda *case, a=a, b=b: (a(*case), b(*case)))
        for name, (why, wrong_a, wrong_b) in mistakes.items()
        for a, b in list(product((wrong_a, right_a), (wrong_b, right_b)))[:3]
    ]
    swapped = "The two gradients come back in the wrong order: dA first, then dB."
    return [*made, Mutant("gradients exchanged", swapped, lambda *case: (right_b(*case), right_a(*case)))]


def matmul_case(title: str, a: tuple[int, ...], b: tuple[int, ...]) -> Case:
    random = np.random.default_rng(len(title))
    A, B = random.normal(size=a), random.normal(size=b)
    return Case(title, {"A": A, "B": B, "dC": random.normal(size=(A @ B).shape)})


MATMUL_MUTANTS = matmul_mutants()
MATMUL_CASES = (
    matmul_case("A and B of shape (3, 3)", (3, 3), (3, 3)),
    matmul_case("A (2, 3), B (3, 4)", (2, 3), (3, 4)),
    matmul_case("a batch: A and B of shape (3, 3, 3)", (3, 3, 3), (3, 3, 3)),
    matmul_case("one B for a batch: A (5, 2, 3), B (3, 4)", (5, 2, 3), (3, 4)),
    matmul_case("one A for a batch: A (2, 3), B (5, 3, 4)", (2, 3), (5, 3, 4)),
    matmul_case("both broadcast: A (2, 1, 3, 3), B (1, 5, 3, 3)", (2, 1, 3, 3), (1, 5, 3, 3)),
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


def softmax(z: Numbers, axis: int = 1) -> Numbers:
    e = np.exp(z - z.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def one_hot(z: Numbers, labels: Numbers) -> Numbers:
    return np.eye(z.shape[1])[labels]


def naive_softmax(z: Numbers) -> Numbers:
    return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)


SOFTMAX_MUTANTS = (
    Mutant(
        "one-hot not subtracted",
        "That is the softmax alone: subtract 1 at each row's label.",
        lambda z, y: softmax(z) / len(z),
    ),
    Mutant(
        "not divided by the batch",
        "The loss is the mean over the rows, so each row's share of the gradient is divided by their number.",
        lambda z, y: softmax(z) - one_hot(z, y),
    ),
    Mutant(
        "wrong sign",
        "The sign is turned: it is softmax minus one-hot.",
        lambda z, y: (one_hot(z, y) - softmax(z)) / len(z),
    ),
    Mutant(
        "divided by every entry",
        "The mean is over the rows, not over rows times classes.",
        lambda z, y: (softmax(z) - one_hot(z, y)) / z.size,
    ),
    Mutant(
        "softmax over the batch",
        "The softmax runs along the wrong axis: each row is one distribution over the classes.",
        lambda z, y: (softmax(z, axis=0) - one_hot(z, y)) / len(z),
    ),
    Mutant(
        "softmax applied twice",
        "The softmax is taken of numbers that are probabilities already.",
        lambda z, y: (softmax(softmax(z)) - one_hot(z, y)) / len(z),
    ),
    Mutant(
        "logits instead of probabilities",
        "One-hot is subtracted from the logits themselves: take their softmax first.",
        lambda z, y: (z - one_hot(z, y)) / len(z),
    ),
    Mutant(
        "gradient of the probabilities",
        "That is the gradient with respect to the probabilities, -1/p at the label: carry it on through the softmax.",
        lambda z, y: -one_hot(z, y) / softmax(z) / len(z),
    ),
    Mutant(
        "only the diagonal of the softmax's Jacobian",
        "Every logit moves every probability of its row: off the label the gradient is p, not 0.",
        lambda z, y: -one_hot(z, y) * (1 - softmax(z)) / len(z),
    ),
    Mutant(
        "exponentials overflow",
        "Large logits overflow in exp: subtract each row's largest logit first, which changes nothing else.",
        lambda z, y: (naive_softmax(z) - one_hot(z, y)) / len(z),
    ),
)


def softmax_case(title: str, rows: int, classes: int, shift: float = 0.0) -> Case:
    random = np.random.default_rng(rows)
    logits = random.normal(size=(rows, classes)) * 2 + shift
    return Case(title, {"logits": logits, "labels": random.integers(0, classes, rows)})


SOFTMAX_CASES = (
    softmax_case("4 rows, 4 classes", 4, 4),
    softmax_case("6 rows, 3 classes", 6, 3),
    softmax_case("one row, 5 classes", 1, 5),
    softmax_case("logits near 1000", 3, 4, shift=1000.0),
)


def check_softmax_cross_entropy(fn: Any) -> Verdict:
    """Judge fn(logits, labels) -> dlogits, for the mean over the rows of -log softmax(logits)[label]."""

    def reference(logits, labels):
        loss = partial(torch.nn.functional.cross_entropy, target=torch.as_tensor(labels))
        return by_torch(loss, {"logits": logits}, np.ones(()))[0]

    return judge(
        "softmax + cross-entropy backward",
        fn,
        reference,
        SOFTMAX_CASES,
        SOFTMAX_MUTANTS,
        outputs=("dlogits",),
        verified=f"equal to torch.autograd on {len(SOFTMAX_CASES)} batches, also with logits near 1000",
    )
