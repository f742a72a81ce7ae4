"""Checks of lecture 05: a warm-up and then a cosine, and warm restarts, as functions of the step."""

import math
from collections.abc import Callable
from typing import Any

from course_lib.grading.verdict import Case, Mutant, Verdict, judge
from course_lib.lectures.learning_rate.exercises_plateau import check_plateau
from course_lib.lectures.learning_rate.exercises_rules import check_scaled_lr, check_suggest

__all__ = ["check_plateau", "check_scaled_lr", "check_sgdr", "check_suggest", "check_warmup_cosine"]


def half_wave(share: float) -> float:
    return (1 + math.cos(math.pi * share)) / 2


WAVES = (  # what both exercises may have in place of half_wave
    ("not halved", "1 + cos goes from 2 to 0: halve it.", lambda share: 2 * half_wave(share)),
    (
        "cosine alone",
        "The cosine goes from 1 to -1, and a negative learning rate walks uphill: (1 + cos) / 2.",
        lambda share: math.cos(math.pi * share),
    ),
    (
        "whole wave",
        "With 2 pi the cosine is back at 1 at the end: half a wave, pi, goes from 1 to 0.",
        lambda share: half_wave(2 * share),
    ),
    (
        "quarter wave",
        "That is a quarter of a wave, cos from 0 to pi / 2: half a wave is (1 + cos) / 2 from 0 to pi.",
        lambda share: math.sin(math.pi * (1 - share) / 2),
    ),
    ("line", "The factor falls in a straight line: asked for is half a cosine wave.", lambda share: 1 - share),
)


def warmup_cosine(t, warm, total):
    return t / warm if t < warm else half_wave((t - warm) / (total - warm))


def warmed(after: Callable, before: Callable = lambda t, warm, total: t / warm) -> Callable:
    """A solution of the first exercise: before(t, warm, total) up to warm, then after(t, warm, total)."""
    return lambda t, warm, total: (before if t < warm else after)(t, warm, total)


def falling(wave: Callable) -> Callable:
    return warmed(lambda t, warm, total: wave((t - warm) / (total - warm)))


NO_WARMUP = "There is no warm-up: below `warm` the factor is t / warm."

WARMUP_COSINE_MUTANTS = (
    *(Mutant(name, why, falling(wave)) for name, why, wave in WAVES),
    Mutant(
        "cosine not shifted",
        "The cosine runs over the whole training from step 0, so the factor jumps down where the warm-up ends: count "
        "its steps from `warm`, over total - warm.",
        warmed(lambda t, warm, total: half_wave(t / total)),
    ),
    Mutant(
        "cosine too long",
        "The cosine starts at the right step and is `total` steps long: the warm-up has used `warm` of them, and the "
        "factor is not 0 at the end.",
        warmed(lambda t, warm, total: half_wave((t - warm) / total)),
    ),
    Mutant(
        "cosine too early",
        "The cosine has the right length, total - warm, and counts from step 0: it is done `warm` steps too early.",
        warmed(lambda t, warm, total: half_wave(t / (total - warm))),
    ),
    Mutant(
        "warm-up one step ahead",
        "The warm-up is one step ahead: t counts the updates made so far, so the first factor is 0 / warm.",
        warmed(warmup_cosine, lambda t, warm, total: (t + 1) / warm),
    ),
    Mutant(
        "warm-up over the whole training",
        "The warm-up climbs by 1 / total in each step, and has not come to 1 when it ends: divide t by `warm`.",
        warmed(warmup_cosine, lambda t, warm, total: t / total),
    ),
    Mutant(
        "product",
        "That is the warm-up times a cosine over the whole training, whose peak is below 1: one should end where the "
        "other begins.",
        lambda t, warm, total: min(t / warm, 1) * half_wave(t / total),
    ),
    Mutant("no warm-up", NO_WARMUP, warmed(warmup_cosine, lambda t, warm, total: 1.0)),
    Mutant("no warm-up", NO_WARMUP, lambda t, warm, total: half_wave((t - warm) / (total - warm))),
    Mutant("no warm-up", NO_WARMUP, lambda t, warm, total: half_wave(t / total)),
)


def check_warmup_cosine(fn: Any) -> Verdict:
    """Judge fn(t, warm, total) -> the factor of update t: a line to 1, then half a cosine to 0 at `total`."""
    places = [(0, 10, 100), (5, 10, 100), (9, 10, 100), (10, 10, 100), (30, 10, 100), (60, 10, 100), (99, 10, 100)]
    places += [(100, 10, 100), (3, 4, 20), (4, 4, 20), (7, 4, 20), (16, 4, 20)]
    return judge(
        "warm-up, then cosine",
        fn,
        warmup_cosine,
        [Case(f"t = {t}, warm = {w}, total = {n}", {"t": t, "warm": w, "total": n}) for t, w, n in places],
        WARMUP_COSINE_MUTANTS,
        outputs=("factor",),
        verified="rises from 0 in a line, is 1 when the warm-up ends, and falls to 0 on half a cosine of what is left",
        tolerance=1e-9,
    )


def sgdr(t, period, growth):
    while t >= period:
        t, period = t - period, period * growth
    return half_wave(t / period)


def placed(t: int, period: int, growth: int) -> tuple[int, int]:
    """Steps into the cycle that t lies in, and its length."""
    while t >= period:
        t, period = t - period, period * growth
    return t, period


def restarted(wave: Callable) -> Callable:
    """A solution of the second exercise: wave(share of the present cycle that is over)."""

    def factor(t, period, growth):
        t, period = placed(t, period, growth)
        return wave(t / period)

    return factor


def added(t, period, growth):
    while t >= period:
        t, period = t - period, period + growth
    return half_wave(t / period)


def late(t, period, growth):
    while t > period:
        t, period = t - period, period * growth
    return half_wave(t / period)


def first_period_subtracted(t, period, growth):
    length = period
    while t >= length:
        t, length = t - period, length * growth
    return half_wave(t / length)


ONE_AHEAD = "That is the factor of the update after: t counts the updates made so far, and at t = 0 the factor is 1."
START = "The length of a cycle grows, and its start is sought as if all before it were `period` long: those grew, too."

SGDR_MUTANTS = (
    *(Mutant(name, why, restarted(wave)) for name, why, wave in WAVES),
    Mutant(
        "equal cycles",
        "`growth` is not used: each cycle is `growth` times as long as the one before.",
        lambda t, period, growth: half_wave(t % period / period),
    ),
    Mutant(
        "growth added",
        "The period grows by adding `growth`: it is multiplied by it.",
        added,
    ),
    Mutant(
        "grows too early",
        "The first cycle is already `growth` times `period` long: it is `period` long, the second is longer.",
        lambda t, period, growth: sgdr(t, period * growth, growth),
    ),
    Mutant(
        "one step late",
        "At the restart itself the factor is still 0, and it should be 1: a cycle of T steps has t from 0 to T - 1.",
        late,
    ),
    Mutant(
        "count not restarted",
        "The cosine sees the steps since the beginning: in each cycle count from its own start.",
        lambda t, period, growth: half_wave(t / placed(t, period, growth)[1]),
    ),
    Mutant(
        "start by remainder",
        "The place in the cycle is t modulo the present period, and earlier cycles were shorter: subtract them one by "
        "one.",
        lambda t, period, growth: half_wave(t % (p := placed(t, period, growth)[1]) / p),
    ),
    Mutant(
        "climbs again",
        "Without a restart the cosine climbs back smoothly over another period: at the restart it jumps to 1.",
        lambda t, period, growth: half_wave(t / period),
    ),
    Mutant(
        "never restarts",
        "After the first cycle the factor stays at 0: it restarts at 1.",
        lambda t, period, growth: half_wave(min(t / period, 1)),
    ),
    Mutant(
        "length does not grow",
        "The restarts come at the right steps, and the cosine between them is always `period` long: its length grows, "
        "too.",
        lambda t, period, growth: half_wave(placed(t, period, growth)[0] / period),
    ),
    Mutant("start does not grow", START, first_period_subtracted),
    Mutant(
        "start does not grow",
        START,
        lambda t, period, growth: half_wave(t % period / (period * growth ** (t // period))),
    ),
    Mutant("one step ahead", ONE_AHEAD, lambda t, period, growth: sgdr(t + 1, period, growth)),
    Mutant("one step ahead", ONE_AHEAD, lambda t, *cycle: half_wave((placed(t, *cycle)[0] + 1) / placed(t, *cycle)[1])),
)


def check_sgdr(fn: Any) -> Verdict:
    """Judge fn(t, period, growth) -> the factor of update t under warm restarts: T_0 = period, T_mult = growth."""
    places = [(t, 10, 2) for t in (0, 3, 9, 10, 11, 25, 29, 30, 31, 55, 69, 70, 100)]
    places += [(t, 4, 3) for t in (3, 4, 9, 15, 16, 40)] + [(t, 5, 1) for t in (4, 5, 12)]
    return judge(
        "warm restarts",
        fn,
        sgdr,
        [Case(f"t = {t}, period = {p}, growth = {m}", {"t": t, "period": p, "growth": m}) for t, p, m in places],
        SGDR_MUTANTS,
        outputs=("factor",),
        verified="falls from 1 on half a cosine, jumps back to 1, and takes `growth` times as long for each next fall",
        tolerance=1e-9,
    )
