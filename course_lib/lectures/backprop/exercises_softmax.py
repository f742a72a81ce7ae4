"""Checks of lecture 01, continued: the gradient of cross-entropy after a softmax, for logits of any size."""

from functools import partial
from typing import Any

import numpy as np
import torch

from course_lib.grading.reference import by_torch
from course_lib.grading.verdict import Case, Mutant, Verdict, judge

Numbers = np.ndarray


def softmax(z: Numbers, axis: int = 1, *, top: Numbers | None = None, keepdims: bool = True) -> Numbers:
    e = np.exp(z - (z.max(axis=axis, keepdims=True) if top is None else top))
    return e / e.sum(axis=axis, keepdims=keepdims)


def one_hot(z: Numbers, labels: Numbers) -> Numbers:
    return np.eye(z.shape[1])[labels]


def of_rows(z: Numbers) -> Numbers:
    return np.exp(z - z.max(axis=1, keepdims=True))


def naive_softmax(z: Numbers) -> Numbers:
    return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)


def by_logs(z: Numbers, top: Numbers) -> Numbers:
    return np.exp(z - top - np.log(np.exp(z - top).sum(axis=1, keepdims=True)))


def whole_rows(z: Numbers, labels: Numbers) -> Numbers:
    p = softmax(z)
    p[labels] -= 1
    return p / len(z)


def by_the_jacobian(z: Numbers, labels: Numbers) -> Numbers:
    p = softmax(z)
    dp = -one_hot(z, labels) / p
    return p * (dp - (dp * p).sum(axis=1, keepdims=True)) / len(z)


MEAN = "The loss is the mean over the rows, so each row's share of the gradient is divided by their number."
OVERFLOW = "Large logits overflow in exp: subtract each row's largest logit first, which changes nothing else."
ONE_MAXIMUM = (
    "Subtract each row's own largest logit, not the whole array's: beside it, exp of a lower row is 0, all of it."
)
KEEPDIMS = "A maximum or a sum over a row needs keepdims=True, or it is matched with the columns."

SOFTMAX_MUTANTS = (
    Mutant(
        "one-hot not subtracted",
        "That is the softmax alone: subtract 1 at each row's label.",
        lambda z, y: softmax(z) / len(z),
    ),
    Mutant(
        "not divided by the batch",
        MEAN,
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
    *(
        Mutant(
            "normalized by another sum",
            "Each row is one distribution: divide its exponentials by that row's own sum.",
            lambda z, y, axis=axis: (of_rows(z) / of_rows(z).sum(axis=axis) - one_hot(z, y)) / len(z),
        )
        for axis in (None, 0)
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
        OVERFLOW,
        lambda z, y: (naive_softmax(z) - one_hot(z, y)) / len(z),
    ),
    Mutant(
        "exponentials overflow; not divided by the batch",
        f"{OVERFLOW} And: {MEAN}",
        lambda z, y: naive_softmax(z) - one_hot(z, y),
    ),
    Mutant("one maximum for all rows", ONE_MAXIMUM, lambda z, y: (softmax(z, top=z.max()) - one_hot(z, y)) / len(z)),
    Mutant("one maximum for all rows", ONE_MAXIMUM, lambda z, y: (by_logs(z, z.max()) - one_hot(z, y)) / len(z)),
    Mutant(
        "one maximum for all rows; not divided by the batch",
        f"{ONE_MAXIMUM} And: {MEAN}",
        lambda z, y: softmax(z, top=z.max()) - one_hot(z, y),
    ),
    Mutant(
        "each column's largest subtracted",
        "Subtract each row's own largest logit, not each column's: only a number that a row shares leaves its softmax.",
        lambda z, y: (softmax(z, top=z.max(axis=0)) - one_hot(z, y)) / len(z),
    ),
    Mutant("keepdims left out", KEEPDIMS, lambda z, y: (softmax(z, top=z.max(axis=1)) - one_hot(z, y)) / len(z)),
    Mutant("keepdims left out", KEEPDIMS, lambda z, y: (softmax(z, keepdims=False) - one_hot(z, y)) / len(z)),
    Mutant(
        "keepdims left out",
        KEEPDIMS,
        lambda z, y: (softmax(z, top=z.max(axis=1), keepdims=False) - one_hot(z, y)) / len(z),
    ),
    Mutant(
        "1 subtracted from whole columns",
        "`p[:, labels]` means those columns in every row: pair each row with its own label, p[np.arange(n), labels].",
        lambda z, y: (softmax(z) - one_hot(z, y).any(axis=0)) / len(z),
    ),
    Mutant(
        "1 subtracted from whole rows",
        "`p[labels]` means whole rows: pair each row with its own label, p[np.arange(n), labels].",
        whole_rows,
    ),
    Mutant(
        "divided by the classes",
        "The loss is a mean over the rows: divide by their number, not by that of the classes.",
        lambda z, y: (softmax(z) - one_hot(z, y)) / z.shape[1],
    ),
    Mutant(
        "divided by a probability of 0",
        "At the label p can be too small for a float, and then 1/p is infinite: let the two cancel on paper first.",
        by_the_jacobian,
    ),
)


def softmax_case(title: str, rows: int, classes: int, shift: float = 0.0) -> Case:
    random = np.random.default_rng(rows)
    logits = random.normal(size=(rows, classes)) * 2 + shift
    return Case(title, {"logits": logits, "labels": random.integers(0, classes, rows)})


LEVELS = softmax_case("rows at different levels: logits near 0, 1000, -1000", 3, 4)
LEVELS.arguments["logits"][:] += [[0.0], [1000.0], [-1000.0]]
SURPRISE = Case("a label whose p is 0 to every digit", {"logits": np.array([[900.0, 0.0]]), "labels": np.array([1])})
SOFTMAX_CASES = (
    softmax_case("4 rows, 4 classes", 4, 4),
    softmax_case("6 rows, 3 classes", 6, 3),
    softmax_case("one row, 5 classes", 1, 5),
    softmax_case("logits near 1000", 3, 4, shift=1000.0),
    LEVELS,
    SURPRISE,
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
        verified=f"equal to torch.autograd on {len(SOFTMAX_CASES)} batches, also with rows near 1000 and -1000 at once",
    )
