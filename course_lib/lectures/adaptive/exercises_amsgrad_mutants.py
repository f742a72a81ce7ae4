"""The mistakes known by name in AMSGrad's step: those with the peak and with what is returned, and then Adam's."""

from itertools import permutations

import numpy as np

from course_lib.lectures.adaptive.exercises_amsgrad_adam import ADAM_MUTANTS, known

PEAK = (
    *known(
        "Adam",
        "The step divides by v itself: the peak is kept and not used, and that is Adam.",
        {"u_hat": lambda a: a.v / a.fix2},
    ),
    *known(
        "smallest",
        "The smallest v is kept, and so the learning rate can only rise: AMSGrad keeps the largest.",
        {"u": lambda a: np.minimum(a.peak, a.v)},
    ),
    *known(
        "old square",
        "The peak is taken over the v from before this gradient: update v first.",
        {"u": lambda a: np.maximum(a.peak, a.square)},
    ),
    *known(
        "peak never raised",
        "The peak stays what it was, in the step and in what is returned: it is max(peak, v), with the new v.",
        {"u": lambda a: a.peak},
    ),
    *known(
        "old peak used",
        "The step divides by the peak from before this gradient: raise the peak first, then use it.",
        {"u_hat": lambda a: a.peak / a.fix2},
    ),
    *known(
        "old peak returned",
        "The step takes the new peak, and the old one is returned: the next step will not know of it.",
        {"out": lambda a: (a.new, a.m, a.v, a.peak)},
    ),
    *known(
        "peak not kept",
        "The peak is only the larger of the last two v: carry it along, max(peak, v).",
        {"u": lambda a: np.maximum(a.square, a.v)},
    ),
    *known(
        "one peak for all",
        "One peak is kept for all coordinates: the maximum is taken for each of them, np.maximum, not np.max.",
        {"u": lambda a: np.full_like(a.v, np.max(np.maximum(a.peak, a.v)))},
    ),
    *known(
        "peak of the squares",
        "The maximum is taken over g^2, this gradient's square: it is taken over v, their running mean.",
        {"u": lambda a: np.maximum(a.peak, a.grad**2)},
    ),
    *known(
        "v grows with the peak",
        "The peak is returned in place of v: v itself goes on forgetting, and only the peak does not.",
        {"out": lambda a: (a.new, a.m, a.u, a.u)},
    ),
    *known(
        "corrected before the maximum",
        "The maximum is taken over corrected v. That variant exists, but is not the one asked for: here, as in torch, "
        "the peak is of v itself, and is corrected where it is used.",
        {"u": lambda a: np.maximum(a.peak, a.v / a.fix2), "u_hat": lambda a: a.u},
    ),
    *known(
        "corrected twice",
        "v is corrected before the maximum is taken, and the peak once more: correct the peak alone, where it is used.",
        {"u": lambda a: np.maximum(a.peak, a.v / a.fix2)},
    ),
)

RETURNED = (
    *known(
        "step returned",
        "What comes back first is the step alone: return theta after its step.",
        {"new": lambda a: a.lr * a.m_hat / a.below},
        {"new": lambda a: -a.lr * a.m_hat / a.below},
    ),
    *known("old m returned", "The m that is returned is the old one.", {"out": lambda a: (a.new, a.mean, a.v, a.u)}),
    *known("old v returned", "The v that is returned is the old one.", {"out": lambda a: (a.new, a.m, a.square, a.u)}),
    *known(
        "results in another order",
        "The results are right, and come in another order: return theta, mean, square, peak.",
        *({"out": lambda a, o=o: tuple((a.new, a.m, a.v, a.u)[i] for i in o)} for o in permutations(range(4))),
    )[1:],
)

AMSGRAD_MUTANTS = (*PEAK, *RETURNED, *ADAM_MUTANTS)
