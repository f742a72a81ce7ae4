"""The check of lecture 05's state machine: one observation of reduce-on-plateau."""

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

from course_lib.grading.verdict import Case, Mutant, Verdict, judge


def plateau(lr, best, bad, loss, factor, patience):
    best, bad = (loss, 0) if loss < best else (best, bad + 1)
    return (factor * lr, best, 0) if bad > patience else (lr, best, bad)


def machine(
    better: Callable, worse: Callable, tired: Callable, reduce: Callable, *, lower: Callable = operator.lt
) -> Callable:
    """The same in parts: better(best, bad, loss) if lower(loss, best), else worse(...) -> best, bad;
    tired(bad, patience); reduce(lr, best, bad, loss, factor) -> lr, best, bad."""

    def step(lr, best, bad, loss, factor, patience):
        best, bad = (better if lower(loss, best) else worse)(best, bad, loss)
        return reduce(lr, best, bad, loss, factor) if tired(bad, patience) else (lr, best, bad)

    return step


def right_better(best, bad, loss):
    return loss, 0


def right_worse(best, bad, loss):
    return best, bad + 1


def right_tired(bad, patience):
    return bad > patience


def right_reduce(lr, best, bad, loss, factor):
    return factor * lr, best, 0


PLATEAU_MUTANTS = (
    Mutant(
        "one epoch early",
        "The learning rate falls one observation too early: `patience` bad ones are borne, the next is too many.",
        machine(right_better, right_worse, lambda bad, patience: bad >= patience, right_reduce),
    ),
    Mutant(
        "count not cleared by a reduction",
        "After a reduction `bad` starts at 0 again: otherwise the very next bad observation reduces once more.",
        machine(right_better, right_worse, right_tired, lambda lr, best, bad, loss, factor: (factor * lr, best, bad)),
    ),
    Mutant(
        "count not cleared by a better loss",
        "A better loss sets `bad` to 0: what is counted are observations in a row.",
        machine(lambda best, bad, loss: (loss, bad), right_worse, right_tired, right_reduce),
    ),
    Mutant(
        "compares with the last loss",
        "`best` becomes the last loss, whether it is better or not: it is the lowest ever seen.",
        machine(right_better, lambda best, bad, loss: (loss, bad + 1), right_tired, right_reduce),
    ),
    Mutant(
        "keeps the highest loss",
        "`best` becomes the higher of the two losses: it is the lowest ever seen.",
        machine(lambda best, bad, loss: (best, 0), lambda best, bad, loss: (loss, bad + 1), right_tired, right_reduce),
    ),
    Mutant(
        "best updated too early",
        "`best` is updated before the loss is compared with it, so no loss is ever below it: compare first.",
        lambda lr, best, bad, loss, *rest: plateau(lr, min(best, loss), bad, loss, *rest),
    ),
    Mutant(
        "best never updated",
        "`best` stays as it was: a lower loss takes its place.",
        machine(lambda best, bad, loss: (best, 0), right_worse, right_tired, right_reduce),
    ),
    Mutant(
        "divides",
        "The learning rate is divided by `factor`, which is below 1, and so it grows: multiply.",
        machine(right_better, right_worse, right_tired, lambda lr, best, bad, loss, factor: (lr / factor, best, 0)),
    ),
    Mutant(
        "falls by the factor",
        "The learning rate is multiplied by 1 - factor: `factor` is what is left of it.",
        machine(right_better, right_worse, right_tired, lambda lr, best, bad, loss, f: ((1 - f) * lr, best, 0)),
    ),
    Mutant(
        "no reduction",
        "The observation that takes `bad` above `patience` reduces nothing: count it first, then compare, then "
        "multiply `lr` by `factor` and set `bad` to 0.",
        machine(right_better, right_worse, lambda bad, patience: False, right_reduce),
    ),
    Mutant(
        "learning rate not reduced",
        "`bad` is cleared at the right time, and `lr` stays as it was: multiply it by `factor`.",
        machine(right_better, right_worse, right_tired, lambda lr, best, bad, loss, factor: (lr, best, 0)),
    ),
    Mutant(
        "best forgotten at a reduction",
        "A reduction does not forget the best loss: `best` stays.",
        machine(right_better, right_worse, right_tired, lambda lr, best, bad, loss, factor: (factor * lr, loss, 0)),
    ),
    Mutant(
        "equal is better",
        "A loss equal to the best counts as better: it must be lower, or a loss that has stopped looks like progress.",
        lambda lr, best, bad, loss, *rest: (lr, best, 0) if loss == best else plateau(lr, best, bad, loss, *rest),
    ),
    Mutant(
        "threshold",
        "A loss only just below `best` is not taken for better, and every loss below it is: torch has a threshold, "
        "this machine has none.",
        lambda lr, best, bad, loss, *rest: plateau(lr, best, bad, loss if loss < best * (1 - 1e-4) else best, *rest),
    ),
    Mutant(
        "comparison reversed",
        "A loss above `best` is taken for better: better is lower.",
        machine(right_better, right_worse, right_tired, right_reduce, lower=operator.gt),
    ),
    Mutant(
        "patience reversed",
        "It reduces while `bad` is below `patience`: above it is when patience is at its end.",
        machine(right_better, right_worse, lambda bad, patience: bad < patience, right_reduce),
    ),
    Mutant(
        "reduces at every bad loss",
        "`patience` is not used: the learning rate falls at the first loss that is no better.",
        machine(right_better, right_worse, lambda bad, patience: bad > 0, right_reduce),
    ),
    Mutant(
        "bad not counted",
        "`bad` never grows: each loss that is no better adds 1 to it.",
        machine(right_better, lambda best, bad, loss: (best, bad), right_tired, right_reduce),
    ),
    *(
        Mutant(
            "outputs in another order",
            "The three numbers are right, and returned in another order: `lr, best, bad`.",
            lambda *case, order=order: tuple(plateau(*case)[i] for i in order),
        )
        for order in itertools.permutations(range(3))
        if order != (0, 1, 2)
    ),
)


def check_plateau(fn: Any) -> Verdict:
    """Judge fn(lr, best, bad, loss, factor, patience) -> (lr, best, bad), one observation of reduce-on-plateau."""
    seen = (
        ("the first loss", 0.1, math.inf, 0, 2.0, 0.1, 3),
        ("better, after two bad ones", 0.1, 1.0, 2, 0.9, 0.1, 3),
        ("barely better", 0.1, 1.0, 1, 0.999999, 0.5, 3),
        ("worse, patience left", 0.1, 1.0, 0, 1.2, 0.1, 3),
        ("worse, the last that is borne", 0.1, 1.0, 2, 1.2, 0.5, 3),
        ("worse, one too many", 0.1, 1.0, 3, 1.2, 0.5, 3),
        ("equal to the best", 0.1, 1.0, 1, 1.0, 0.5, 3),
        ("worse, patience 0", 0.2, 0.5, 0, 0.6, 0.3, 0),
        ("better, patience 0", 0.2, 0.5, 0, 0.4, 0.3, 0),
    )
    names = ("lr", "best", "bad", "loss", "factor", "patience")
    return judge(
        "reduce on plateau",
        fn,
        plateau,
        [Case(title, dict(zip(names, values, strict=True))) for title, *values in seen],
        PLATEAU_MUTANTS,
        outputs=names[:3],
        verified="keeps the lowest loss, counts bad ones in a row, bears `patience` of them, then reduces",
        tolerance=1e-9,
    )
