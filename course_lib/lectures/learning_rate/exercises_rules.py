"""Checks of lecture 05: what a range test suggests, and how the learning rate follows the batch."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.grading.verdict import Case, Mutant, Verdict, judge


def running(losses, smoothing, start: float = 0.0) -> np.ndarray:
    mean, means = start, []
    for loss in losses:
        mean = smoothing * mean + (1 - smoothing) * loss
        means.append(mean)
    return np.array(means)


def corrected(losses, smoothing, start: int = 1) -> np.ndarray:
    return running(losses, smoothing) / (1 - smoothing ** np.arange(start, len(losses) + start))


def read(smooth: Callable, answer: Callable = lambda lrs, curve: lrs[curve.argmin()] / 10) -> Callable:
    """A solution of the exercise: smooth(losses, smoothing) -> curve; answer(lrs, curve) -> a number."""
    return lambda lrs, losses, smoothing: answer(np.asarray(lrs), smooth(np.asarray(losses), smoothing))


suggest = read(corrected)


def steepest(lrs, curve, slope: Callable, share: float, skip: float, inside: int) -> float:
    """share times the learning rate where the curve falls fastest, its first `skip` left out, and `inside` of it at
    both ends."""
    slopes, first = slope(curve), int(skip * len(curve)) + inside
    return share * lrs[first + slopes[first : len(slopes) - inside].argmin()]


STEEPEST = "That is the other rule, where the curve falls fastest: asked for is a tenth of where it is lowest."

SUGGEST_MUTANTS = (
    Mutant(
        "no bias correction",
        "The mean starts at 0 and is not corrected, so the curve begins far too low: divide by 1 - smoothing^t.",
        read(running),
    ),
    Mutant(
        "not smoothed",
        "The lowest single loss is the luck of a batch: smooth first.",
        read(lambda losses, smoothing: losses),
    ),
    Mutant(
        "weights exchanged",
        "`smoothing` multiplies the new loss: it is what the mean keeps of itself.",
        read(lambda losses, smoothing: corrected(losses, 1 - smoothing)),
    ),
    Mutant(
        "not divided by 10",
        "That is the learning rate at the minimum itself, where the loss is about to rise: a tenth of it is asked for.",
        read(corrected, lambda lrs, curve: lrs[curve.argmin()]),
    ),
    Mutant(
        "loss instead of learning rate",
        "That is a tenth of the lowest loss: asked for is the learning rate at which it was met.",
        read(corrected, lambda lrs, curve: curve.min() / 10),
    ),
    Mutant(
        "position instead of learning rate",
        "That is the position of the minimum: look the learning rate up there.",
        read(corrected, lambda lrs, curve: curve.argmin()),
    ),
    Mutant(
        "maximum",
        "That is read where the loss is highest.",
        read(corrected, lambda lrs, curve: lrs[curve.argmax()] / 10),
    ),
    *(
        Mutant("steepest descent", STEEPEST, read(corrected, lambda lrs, curve, how=how: steepest(lrs, curve, *how)))
        for how in itertools.product((np.gradient, np.diff), (1.0, 0.1), (0.0, 0.1), (0, 1))
    ),
    Mutant(
        "steps counted from 0",
        "The correction counts t from 0, so the first loss is divided by 1 - smoothing^0 = 0, and all are corrected by "
        "a step too little: t = 1, 2, ...",
        read(lambda losses, smoothing: corrected(losses, smoothing, start=0)),
    ),
    Mutant(
        "steps counted from 2",
        "The correction counts t from 2 and is too weak, most of all for the first loss: t = 1, 2, ...",
        read(lambda losses, smoothing: corrected(losses, smoothing, start=2)),
    ),
    Mutant(
        "lowest learning rate",
        "That is a tenth of the lowest learning rate of all, whatever the losses: asked for is the one at which the "
        "smoothed loss is lowest.",
        lambda lrs, losses, smoothing: min(lrs) / 10,
    ),
    Mutant(
        "started at the first loss",
        "The mean starts at the first loss, which then weighs as much as all before it would: start at 0 and correct.",
        read(lambda losses, smoothing: running(losses, smoothing, start=losses[0])),
    ),
)


def curve(seed: int, smoothing: float, turn: float, first: float = 0.0) -> Case:
    """Losses that fall up to a learning rate of about `turn`, then rise; with noise, and `first` added to the first."""
    random, lrs = np.random.default_rng(seed), np.geomspace(1e-4, 10, 60)
    losses = 2.3 - 1.6 / (1 + (0.05 * turn / lrs)) + 0.5 * (lrs / turn) ** 2 + 0.25 * random.standard_normal(60)
    losses[0] += first
    return Case(
        f"a minimum near {turn:g}, smoothing {smoothing:g}", {"lrs": lrs, "losses": losses, "smoothing": smoothing}
    )


SUGGEST_CASES = (
    curve(0, 0.9, 1.0),
    curve(1, 0.8, 0.05),
    curve(2, 0.95, 3.0),
    curve(3, 0.95, 0.02, first=20.0),
    curve(3, 0.95, 0.02, first=60.0),  # even without correction its minimum is not at the start
    curve(4, 0.9, 3e-4),  # with correction its minimum is at the start
)


def check_suggest(fn: Any) -> Verdict:
    """Judge fn(lrs, losses, smoothing) -> a tenth of the learning rate at which the smoothed loss is lowest."""
    return judge(
        "range-test suggestion",
        fn,
        suggest,
        SUGGEST_CASES,
        SUGGEST_MUTANTS,
        outputs=("learning rate",),
        verified="smooths with bias correction and returns a tenth of the learning rate where that curve is lowest",
        tolerance=1e-9,
    )


def scaled_lr(lr, batch, new_batch, optimizer):
    return lr * (new_batch / batch) ** (1.0 if optimizer == "sgd" else 0.5)


def powers(sgd: float, adam: float) -> Callable:
    """lr times the ratio of the batches to these powers."""
    return lambda lr, batch, new_batch, optimizer: lr * (new_batch / batch) ** (sgd if optimizer == "sgd" else adam)


SCALED_LR_MUTANTS = (
    Mutant(
        "always linear",
        'For "adam", too, this is linear. Adam divides by the size of the noise, so each update already grows with the '
        "square root of the batch: for the same way per epoch the learning rate grows with the other square root only.",
        powers(1, 1),
    ),
    Mutant(
        "always root",
        'For "sgd", too, this is the square root. SGD is scaled linearly: half as many updates need twice the learning '
        "rate for the same way per epoch.",
        powers(0.5, 0.5),
    ),
    Mutant(
        "rules exchanged",
        "The two rules are exchanged: linear for SGD, square root for Adam.",
        powers(0.5, 1),
    ),
    Mutant(
        "upside down",
        "The ratio is upside down: a larger batch has less noise and takes a larger learning rate.",
        powers(-1, -0.5),
    ),
    Mutant(
        "upside down for SGD",
        "The ratio is upside down for SGD: a larger batch takes a larger learning rate.",
        powers(-1, 0.5),
    ),
    Mutant(
        "upside down for Adam",
        "The ratio is upside down for Adam: a larger batch takes a larger learning rate.",
        powers(1, -0.5),
    ),
    Mutant("unchanged", "The learning rate stays as it was: that is neither rule.", powers(0, 0)),
    Mutant("SGD unchanged", "SGD's learning rate stays as it was: it follows the batch linearly.", powers(0, 0.5)),
    Mutant(
        "Adam unchanged",
        "Adam's learning rate stays as it was: it follows the batch with the square root.",
        powers(1, 0),
    ),
    Mutant("squared for Adam", "The ratio is squared for Adam: its square root is asked for.", powers(1, 2)),
    Mutant(
        "old batch forgotten",
        "The factor is the new batch alone: it is the ratio of the new batch to the old one.",
        lambda lr, batch, new_batch, optimizer: scaled_lr(lr, 1, new_batch, optimizer),
    ),
)


def check_scaled_lr(fn: Any) -> Verdict:
    """Judge fn(lr, batch, new_batch, optimizer) -> the learning rate for new_batch; optimizer is "sgd" or "adam"."""
    asked = ((0.1, 32, 128, "sgd"), (0.001, 32, 128, "adam"), (0.4, 256, 64, "sgd"), (0.003, 100, 50, "adam"))
    names = ("lr", "batch", "new_batch", "optimizer")
    return judge(
        "learning rate for a batch",
        fn,
        scaled_lr,
        [
            Case(f"{o}, lr {lr:g}, batch {b} to {n}", dict(zip(names, (lr, b, n, o), strict=True)))
            for lr, b, n, o in asked
        ],
        SCALED_LR_MUTANTS,
        outputs=("learning rate",),
        verified="follows the batch linearly for SGD and with its square root for Adam, up and down",
        tolerance=1e-9,
    )
