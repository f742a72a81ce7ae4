"""The check of lecture 05's state machine: one observation of reduce-on-plateau."""

import math
from collections.abc import Callable
from typing import Any

from course_lib.checks.verdict import Case, Mutant, Verdict, judge


def plateau(lr, best, bad, loss, factor, patience):
    best, bad = (loss, 0) if loss < best else (best, bad + 1)
    return (factor * lr, best, 0) if bad > patience else (lr, best, bad)


def machine(better: Callable, worse: Callable, tired: Callable, reduce: Callable) -> Callable:
    """The same in four parts: better(best, bad, loss) and worse(...) -> best, bad; tired(bad, patience);
    reduce(lr, best, bad, loss, factor) -> lr, best, bad."""

    def step(lr, best, bad, loss, factor, patience):
        best, bad = (better if loss < best else worse)(best, bad, loss)
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
        "reduces at every bad loss",
        "`patience` is not used: the learning rate falls at the first loss that is no better.",
        machine(right_better, right_worse, lambda bad, patience: bad > 0, right_reduce),
    ),
    Mutant(
        "bad not counted",
        "`bad` never grows: each loss that is no better adds 1 to it.",
        machine(right_better, lambda best, bad, loss: (best, bad), right_tired, right_reduce),
    ),
)


def check_plateau(fn: Any) -> Verdict:
    """Judge fn(lr, best, bad, loss, factor, patience) -> (lr, best, bad), one observation of reduce-on-plateau."""
    seen = (
        ("the first loss", 0.1, math.inf, 0, 2.0, 0.1, 3),
        ("better, after two bad ones", 0.1, 1.0, 2, 0.9, 0.1, 3),
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
