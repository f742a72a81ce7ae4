"""The exercises of lecture 05: two schedules, reduce-on-plateau, a range test, and the batch-size rules."""

import itertools
import math

import numpy as np

from course_lib.grading import Case, Exercise, Mistake

WAVE = "(1 + math.cos(math.pi * share)) / 2"
WAVES = (
    Mistake("not halved", "1 + cos goes from 2 to 0: halve it.", (WAVE, "1 + math.cos(math.pi * share)")),
    Mistake(
        "cosine alone",
        "The cosine goes from 1 to -1, and a negative learning rate walks uphill: (1 + cos) / 2.",
        (WAVE, "math.cos(math.pi * share)"),
    ),
    Mistake(
        "whole wave",
        "With 2 pi the cosine is back at 1 at the end: half a wave, pi, goes from 1 to 0.",
        (WAVE, "(1 + math.cos(2 * math.pi * share)) / 2"),
    ),
    Mistake(
        "quarter wave",
        "That is a quarter of a wave, cos from 0 to pi / 2: half a wave is (1 + cos) / 2 from 0 to pi.",
        (WAVE, "math.sin(math.pi * (1 - share) / 2)"),
    ),
    Mistake("line", "The factor falls in a straight line: half a cosine wave is wanted.", (WAVE, "1 - share")),
)


def warmup_cosine(t, warm, total):
    """Returns the factor of update t: a line from 0 to 1 at `warm`, then half a cosine to 0 at `total`."""
    if t < warm:
        return t / warm
    share = (t - warm) / (total - warm)
    return (1 + math.cos(math.pi * share)) / 2


SHARE = "(t - warm) / (total - warm)"
check_warmup_cosine = Exercise(
    "warm-up, then cosine",
    warmup_cosine,
    [
        Case(f"t = {t}, warm = {warm}, total = {total}", {"t": t, "warm": warm, "total": total})
        for warm, total, steps in ((10, 100, (0, 5, 9, 10, 30, 60, 99, 100)), (4, 20, (3, 4, 7, 16)))
        for t in steps
    ],
    (
        *WAVES,
        Mistake(
            "cosine not shifted",
            "The cosine runs over the whole training from step 0, so the factor jumps down where the warm-up ends: "
            "count its steps from `warm`, over total - warm.",
            (SHARE, "t / total"),
        ),
        Mistake(
            "cosine too long",
            "The cosine starts at the right step and is `total` steps long: the warm-up has used `warm` of them, and "
            "the factor is not 0 at the end.",
            ("(total - warm)", "total"),
        ),
        Mistake(
            "cosine too early",
            "The cosine has the right length, total - warm, but counts from step 0: it is done `warm` steps too early.",
            ("(t - warm)", "t"),
        ),
        Mistake(
            "warm-up one step ahead",
            "The warm-up is one step ahead: t counts the updates made so far, so the first factor is 0 / warm.",
            ("return t / warm", "return (t + 1) / warm"),
        ),
        Mistake(
            "warm-up over the whole training",
            "The warm-up climbs by 1 / total in each step, and has not reached 1 when it ends: divide t by `warm`.",
            ("return t / warm", "return t / total"),
        ),
        Mistake(
            "product",
            "That is the warm-up times a cosine over the whole training, whose peak is below 1: one should end where "
            "the other begins.",
            [("return t / warm", "return t / warm * (1 + math.cos(math.pi * t / total)) / 2"), (SHARE, "t / total")],
        ),
        Mistake(
            "no warm-up",
            "There is no warm-up: below `warm` the factor is t / warm.",
            ("return t / warm", "return 1.0"),
            ("t < warm", "False"),
            [("t < warm", "False"), (SHARE, "t / total")],
        ),
    ),
    outputs=("factor",),
    verified="rises from 0 in a line, is 1 when the warm-up ends, and falls to 0 on half a cosine of what is left",
    tolerance=1e-9,
)


def sgdr(t, period, growth):
    """Returns the factor of update t under warm restarts (Loshchilov & Hutter 2017): T_0 = period, T_mult = growth."""
    while t >= period:
        t, period = t - period, period * growth
    share = t / period
    return (1 + math.cos(math.pi * share)) / 2


NO_LOOP = ("t >= period", "False")
check_sgdr = Exercise(
    "warm restarts",
    sgdr,
    [
        Case(f"t = {t}, period = {period}, growth = {growth}", {"t": t, "period": period, "growth": growth})
        for period, growth, steps in (
            (10, 2, (0, 3, 9, 10, 11, 25, 29, 30, 31, 55, 69, 70, 100)),
            (4, 3, (3, 4, 9, 15, 16, 40)),
            (5, 1, (4, 5, 12)),
        )
        for t in steps
    ],
    (
        *WAVES,
        Mistake(
            "equal cycles",
            "`growth` is not used: each cycle is `growth` times as long as the one before.",
            ("period * growth", "period"),
        ),
        Mistake(
            "growth added",
            "The period grows by adding `growth`: multiply by it.",
            ("period * growth", "period + growth"),
        ),
        Mistake(
            "grows too early",
            "The first cycle is already `growth` times `period` long: it is `period` long, the second is longer.",
            ("while t", "period *= growth\n    while t"),
        ),
        Mistake(
            "one step late",
            "At the restart itself the factor is still 0, not 1: a cycle of T steps has t from 0 to T - 1.",
            (">=", ">"),
        ),
        Mistake(
            "count not restarted",
            "The cosine sees the steps since the beginning: in each cycle count from its own start.",
            [("while t", "n = t\n    while t"), ("t / period", "n / period")],
        ),
        Mistake(
            "start by remainder",
            "The place in the cycle is t modulo the present period, but earlier cycles were shorter: subtract them one "
            "by one.",
            [("while t", "n = t\n    while t"), ("t / period", "n % period / period")],
        ),
        Mistake(
            "climbs again",
            "Without a restart the cosine climbs back smoothly over another period: at the restart it jumps to 1.",
            NO_LOOP,
        ),
        Mistake(
            "never restarts",
            "After the first cycle the factor stays at 0: it restarts at 1.",
            [NO_LOOP, ("t / period", "min(t / period, 1)")],
        ),
        Mistake(
            "length does not grow",
            "The restarts come at the right steps, but the cosine between them is always `period` long: its length "
            "grows, too.",
            [("while t", "first = period\n    while t"), ("t / period", "t / first")],
        ),
        Mistake(
            "start does not grow",
            "The length of a cycle grows, but its start is looked for as if all before it were `period` long: they "
            "grew, too.",
            [("while t", "first = period\n    while t"), ("t - period", "t - first")],
            [NO_LOOP, ("t / period", "t % period / (period * growth ** (t // period))")],
        ),
        Mistake(
            "one step ahead",
            "That is the factor of the next update: t counts the updates made so far, and at t = 0 the factor is 1.",
            ("while t", "t += 1\n    while t"),
            ("t / period", "(t + 1) / period"),
        ),
    ),
    outputs=("factor",),
    verified="falls from 1 on half a cosine, jumps back to 1, and takes `growth` times as long for each next fall",
    tolerance=1e-9,
)


def plateau(lr, best, bad, loss, factor, patience):
    """One observation of reduce-on-plateau. best: the lowest loss so far. bad: those since. Returns the three."""
    if loss < best:
        best, bad = loss, 0
    else:
        bad = bad + 1
    if bad > patience:
        lr, bad = factor * lr, 0
    return lr, best, bad


CLEARED, REDUCED = "best, bad = loss, 0", "lr, bad = factor * lr, 0"
check_plateau = Exercise(
    "reduce on plateau",
    plateau,
    [
        Case(title, dict(zip(("lr", "best", "bad", "loss", "factor", "patience"), values, strict=True)))
        for title, *values in (
            ("the first loss", 0.1, math.inf, 0, 2.0, 0.1, 3),
            ("better, after two bad ones", 0.1, 1.0, 2, 0.9, 0.1, 3),
            ("barely better", 0.1, 1.0, 1, 0.999999, 0.5, 3),
            ("worse, patience left", 0.1, 1.0, 0, 1.2, 0.1, 3),
            ("worse, the last that is tolerated", 0.1, 1.0, 2, 1.2, 0.5, 3),
            ("worse, one too many", 0.1, 1.0, 3, 1.2, 0.5, 3),
            ("equal to the best", 0.1, 1.0, 1, 1.0, 0.5, 3),
            ("worse, patience 0", 0.2, 0.5, 0, 0.6, 0.3, 0),
            ("better, patience 0", 0.2, 0.5, 0, 0.4, 0.3, 0),
        )
    ],
    (
        Mistake(
            "one epoch early",
            "The learning rate falls one observation too early: `patience` bad ones are tolerated, one more is not.",
            ("bad > patience", "bad >= patience"),
        ),
        Mistake(
            "count not cleared by a reduction",
            "After a reduction `bad` starts at 0 again: otherwise the very next bad observation reduces once more.",
            (REDUCED, "lr = factor * lr"),
        ),
        Mistake(
            "count not cleared by a better loss",
            "A better loss sets `bad` to 0: what is counted are observations in a row.",
            (CLEARED, "best = loss"),
        ),
        Mistake(
            "compares with the last loss",
            "`best` becomes the last loss, whether it is better or not: it is the lowest ever seen.",
            ("bad = bad + 1", "best, bad = loss, bad + 1"),
        ),
        Mistake(
            "keeps the highest loss",
            "`best` becomes the higher of the two losses: it is the lowest ever seen.",
            [(CLEARED, "bad = 0"), ("bad = bad + 1", "best, bad = loss, bad + 1")],
        ),
        Mistake(
            "best updated too early",
            "`best` is updated before the loss is compared with it, so no loss is ever below it: compare first.",
            ("if loss", "best = min(best, loss)\n    if loss"),
        ),
        Mistake("best never updated", "`best` stays as it was: a lower loss takes its place.", (CLEARED, "bad = 0")),
        Mistake(
            "divides",
            "The learning rate is divided by `factor`, which is below 1, so it grows: multiply.",
            ("factor * lr", "lr / factor"),
        ),
        Mistake(
            "falls by the factor",
            "The learning rate is multiplied by 1 - factor: `factor` is what is left of it.",
            ("factor * lr", "(1 - factor) * lr"),
        ),
        Mistake(
            "no reduction",
            "The observation that takes `bad` above `patience` reduces nothing: count it first, then compare, then "
            "multiply `lr` by `factor` and set `bad` to 0.",
            ("bad > patience", "False"),
        ),
        Mistake(
            "learning rate not reduced",
            "`bad` is cleared at the right time, but `lr` stays as it was: multiply it by `factor`.",
            (REDUCED, "bad = 0"),
        ),
        Mistake(
            "best forgotten at a reduction",
            "A reduction does not forget the best loss: `best` stays.",
            (REDUCED, "lr, best, bad = factor * lr, loss, 0"),
        ),
        Mistake(
            "equal is better",
            "A loss equal to the best counts as better: it must be lower, or a loss that has stopped looks like "
            "progress.",
            ("loss < best", "loss <= best"),
        ),
        Mistake(
            "threshold",
            "A loss only just below `best` does not count as better here, but every loss below it should: torch has a "
            "threshold, this machine has none.",
            ("loss < best", "loss < best * (1 - 1e-4)"),
        ),
        Mistake(
            "comparison reversed",
            "A loss above `best` counts as better: better is lower.",
            ("loss < best", "loss > best"),
        ),
        Mistake(
            "patience reversed",
            "It reduces while `bad` is below `patience`: patience is at its end when `bad` is above it.",
            ("bad > patience", "bad < patience"),
        ),
        Mistake(
            "reduces at every bad loss",
            "`patience` is not used: the learning rate falls at the first loss that is no better.",
            ("bad > patience", "bad > 0"),
        ),
        Mistake(
            "bad not counted", "`bad` never grows: each loss that is no better adds 1 to it.", ("bad = bad + 1", "pass")
        ),
        Mistake(
            "outputs in another order",
            "The three numbers are right, but returned in another order: `lr, best, bad`.",
            *(
                ("return lr, best, bad", f"return {', '.join(order)}")
                for order in itertools.permutations(("lr", "best", "bad"))
                if order != ("lr", "best", "bad")
            ),
        ),
    ),
    outputs=("lr", "best", "bad"),
    verified="keeps the lowest loss, counts bad ones in a row, tolerates `patience` of them, then reduces",
    tolerance=1e-9,
)


def suggest(lrs, losses, smoothing):
    """lrs, losses: (n,). Returns a tenth of the learning rate at which the smoothed loss is lowest."""
    mean, curve = 0.0, []
    for t, loss in enumerate(losses, start=1):
        mean = smoothing * mean + (1 - smoothing) * loss
        curve.append(mean / (1 - smoothing**t))
    return lrs[np.argmin(curve)] / 10


def steepest(lrs, slopes, skip, inside):
    """Where the slopes are lowest, the first share `skip` left out, and `inside` of them at both ends."""
    first = int(skip * len(lrs)) + inside
    return lrs[first + slopes[first : len(slopes) - inside].argmin()]


def range_test(seed: int, smoothing: float, turn: float, first: float = 0.0) -> Case:
    """Losses that fall up to a learning rate of about `turn`, then rise; with noise, and `first` added to the first."""
    random, lrs = np.random.default_rng(seed), np.geomspace(1e-4, 10, 60)
    losses = 2.3 - 1.6 / (1 + (0.05 * turn / lrs)) + 0.5 * (lrs / turn) ** 2 + 0.25 * random.standard_normal(60)
    losses[0] += first
    title = f"a minimum near {turn:g}, smoothing {smoothing:g}"
    return Case(title, {"lrs": lrs, "losses": losses, "smoothing": smoothing})


ANSWER = "lrs[np.argmin(curve)] / 10"
check_suggest = Exercise(
    "range-test suggestion",
    suggest,
    (
        range_test(0, 0.9, 1.0),
        range_test(1, 0.8, 0.05),
        range_test(2, 0.95, 3.0),
        range_test(3, 0.95, 0.02, first=20.0),
        range_test(3, 0.95, 0.02, first=60.0),  # even without correction its minimum is not at the start
        range_test(4, 0.9, 3e-4),  # with correction its minimum is at the start
    ),
    (
        Mistake(
            "no bias correction",
            "The mean starts at 0 and is not corrected, so the curve begins far too low: divide by 1 - smoothing^t.",
            (" / (1 - smoothing**t)", ""),
        ),
        Mistake(
            "not smoothed",
            "The lowest single loss is the luck of a batch: smooth first.",
            ("mean / (1 - smoothing**t)", "loss"),
        ),
        Mistake(
            "weights exchanged",
            "`smoothing` multiplies the new loss: it is what the mean keeps of itself.",
            ("mean, curve = 0.0, []", "mean, curve, smoothing = 0.0, [], 1 - smoothing"),
        ),
        Mistake(
            "not divided by 10",
            "That is the learning rate at the minimum itself, where the loss is about to rise: return a tenth of it.",
            (" / 10", ""),
        ),
        Mistake(
            "loss instead of learning rate",
            "That is a tenth of the lowest loss: return the learning rate at which it was met.",
            ("lrs[np.argmin(curve)]", "min(curve)"),
        ),
        Mistake(
            "position instead of learning rate",
            "That is the position of the minimum: look the learning rate up there.",
            (ANSWER, "np.argmin(curve)"),
        ),
        Mistake("maximum", "That is read where the loss is highest.", ("argmin", "argmax")),
        Mistake(
            "steepest descent",
            "That is the other rule, where the curve falls fastest: return a tenth of where it is lowest.",
            *(
                (ANSWER, f"{share} * steepest(lrs, np.{slope}(curve), {skip}, {inside})")
                for slope, share, skip, inside in itertools.product(("gradient", "diff"), (1, 0.1), (0, 0.1), (0, 1))
            ),
        ),
        Mistake(
            "steps counted from 0",
            "The correction counts t from 0, so the first loss is divided by 1 - smoothing^0 = 0, and all are "
            "corrected by a step too little: t = 1, 2, ...",
            ("start=1", "start=0"),
        ),
        Mistake(
            "steps counted from 2",
            "The correction counts t from 2 and is too weak, most of all for the first loss: t = 1, 2, ...",
            ("start=1", "start=2"),
        ),
        Mistake(
            "lowest learning rate",
            "That is a tenth of the lowest learning rate of all, whatever the losses: return the one at which the "
            "smoothed loss is lowest.",
            ("lrs[np.argmin(curve)]", "min(lrs)"),
        ),
        Mistake(
            "started at the first loss",
            "The mean starts at the first loss, which then weighs as much as all before it would: start at 0 and "
            "correct.",
            [("= 0.0, []", "= losses[0], []"), (" / (1 - smoothing**t)", "")],
        ),
    ),
    outputs=("learning rate",),
    verified="smooths with bias correction and returns a tenth of the learning rate where that curve is lowest",
    tolerance=1e-9,
)


def scaled_lr(lr, batch, new_batch, optimizer):
    """optimizer: "sgd" or "adam". Returns the learning rate for new_batch."""
    power = 1 if optimizer == "sgd" else 0.5
    return lr * (new_batch / batch) ** power


check_scaled_lr = Exercise(
    "learning rate for a batch",
    scaled_lr,
    [
        Case(f"{o}, lr {lr:g}, batch {b} to {n}", {"lr": lr, "batch": b, "new_batch": n, "optimizer": o})
        for lr, b, n, o in (
            (0.1, 32, 128, "sgd"),
            (0.001, 32, 128, "adam"),
            (0.4, 256, 64, "sgd"),
            (0.003, 100, 50, "adam"),
        )
    ],
    (
        Mistake(
            "always linear",
            'For "adam", too, this is linear. Adam divides by the size of the noise, so each update already grows with '
            "the square root of the batch: to move as far per epoch lr grows with the other square root.",
            ("else 0.5", "else 1"),
        ),
        Mistake(
            "always root",
            'For "sgd", too, this is the square root. SGD is scaled linearly: half as many updates need twice the '
            "learning rate to move as far per epoch.",
            ("1 if", "0.5 if"),
        ),
        Mistake(
            "rules exchanged",
            "The two rules are exchanged: linear for SGD, square root for Adam.",
            [("1 if", "0.5 if"), ("else 0.5", "else 1")],
        ),
        Mistake(
            "upside down",
            "The ratio is upside down: a larger batch has less noise and takes a larger learning rate.",
            ("new_batch / batch", "batch / new_batch"),
        ),
        Mistake(
            "upside down for SGD",
            "The ratio is upside down for SGD: a larger batch takes a larger learning rate.",
            ("1 if", "-1 if"),
        ),
        Mistake(
            "upside down for Adam",
            "The ratio is upside down for Adam: a larger batch takes a larger learning rate.",
            ("else 0.5", "else -0.5"),
        ),
        Mistake("unchanged", "The learning rate stays as it was: that is neither rule.", ("** power", "** 0")),
        Mistake(
            "SGD unchanged",
            "SGD's learning rate stays as it was: it follows the batch linearly.",
            ("1 if", "0 if"),
        ),
        Mistake(
            "Adam unchanged",
            "Adam's learning rate stays as it was: it follows the batch with the square root.",
            ("else 0.5", "else 0"),
        ),
        Mistake(
            "squared for Adam", "The ratio is squared for Adam: its square root is wanted.", ("else 0.5", "else 2")
        ),
        Mistake(
            "old batch forgotten",
            "The factor is the new batch alone: it is the ratio of the new batch to the old one.",
            (" / batch", ""),
        ),
    ),
    outputs=("learning rate",),
    verified="follows the batch linearly for SGD and with its square root for Adam, up and down",
    tolerance=1e-9,
)
