"""AMSGrad's step as a recipe, and its mistakes that can be made in Adam too, called as Adam's check calls them."""

import numpy as np

from course_lib.grading.recipe import recipe
from course_lib.grading.verdict import Mutant

amsgrad_but = recipe(
    *("theta", "mean", "square", "peak", "grad", "t", "lr", "b1", "b2", "eps"),
    keep1=lambda a: a.b1,
    keep2=lambda a: a.b2,
    m=lambda a: a.keep1 * a.mean + (1 - a.keep1) * a.grad,
    v=lambda a: a.keep2 * a.square + (1 - a.keep2) * a.grad**2,
    clock=lambda a: a.t,
    fix1=lambda a: 1 - np.float64(a.keep1) ** a.clock,
    fix2=lambda a: 1 - np.float64(a.keep2) ** a.clock,
    u=lambda a: np.maximum(a.peak, a.v),
    m_hat=lambda a: a.m / a.fix1,
    u_hat=lambda a: a.u / a.fix2,
    below=lambda a: np.sqrt(a.u_hat) + a.eps,
    new=lambda a: a.theta - a.lr * a.m_hat / a.below,
    out=lambda a: (a.new, a.m, a.v, a.u),
)


def known(name: str, explanation: str, *ways: dict) -> tuple[Mutant, ...]:
    """Each way to make this mistake: the lines of the recipe that are others."""
    return tuple(Mutant(name, explanation, amsgrad_but(**way)) for way in ways)


AVERAGES = (
    *known(
        "b1 and b2 exchanged",
        "b1 and b2 have changed places: m decays by b1, v by b2.",
        {"keep1": lambda a: a.b2, "keep2": lambda a: a.b1},
    ),
    *known(
        "b1 used for both averages",
        "v decays by b1, as m does: it has a b of its own, b2.",
        {"keep2": lambda a: a.b1},
        {"v": lambda a: a.b1 * a.square + (1 - a.b1) * a.grad**2},
    ),
    *known(
        "b2 used for both averages",
        "m decays by b2, as v does: it has a b of its own, b1.",
        {"keep1": lambda a: a.b2},
        {"m": lambda a: a.b2 * a.mean + (1 - a.b2) * a.grad},
    ),
    *known(
        "b and 1 - b exchanged",
        "The old average got the weight 1 - b, and the new value b: b is what is kept.",
        {
            "m": lambda a: (1 - a.b1) * a.mean + a.b1 * a.grad,
            "v": lambda a: (1 - a.b2) * a.square + a.b2 * a.grad**2,
        },
    ),
    *known(
        "gradient not weighted by 1 - b1",
        "m = b1 m + (1 - b1) g: 1 - b1 is missing.",
        {"m": lambda a: a.b1 * a.mean + a.grad},
    ),
    *known(
        "square not weighted by 1 - b2",
        "v = b2 v + (1 - b2) g^2: 1 - b2 is missing.",
        {"v": lambda a: a.b2 * a.square + a.grad**2},
    ),
    *known(
        "gradient not squared",
        "v averages g or |g|: it averages g^2.",
        {"v": lambda a: a.b2 * a.square + (1 - a.b2) * np.abs(a.grad)},
        {"v": lambda a: a.b2 * a.square + (1 - a.b2) * a.grad},
    ),
    *known(
        "gradient in place of its mean",
        "The step takes g where m, its mean, belongs.",
        {"m_hat": lambda a: a.grad},
        {"m_hat": lambda a: a.grad / a.fix1},
    ),
)

CORRECTIONS = (
    *known(
        "no bias correction",
        "m and v started at 0 and are not corrected for it: divide by 1 - b1^t and 1 - b2^t.",
        {"m_hat": lambda a: a.m, "u_hat": lambda a: a.u},
    ),
    *known(
        "bias correction of m alone",
        "m is corrected and the peak is not: divide the peak by 1 - b2^t where it is used.",
        {"u_hat": lambda a: a.u},
    ),
    *known(
        "bias correction of v alone",
        "The peak is corrected and m is not: divide m by 1 - b1^t as well.",
        {"m_hat": lambda a: a.m},
    ),
    *known(
        "bias correction multiplied",
        "m and the peak are multiplied by 1 - b^t: divide by it, for they are too small.",
        {"m_hat": lambda a: a.m * a.fix1, "u_hat": lambda a: a.u * a.fix2},
    ),
    *known(
        "bias corrections exchanged",
        "m was divided by 1 - b2^t and the peak by 1 - b1^t: each has its own b.",
        {"m_hat": lambda a: a.m / a.fix2, "u_hat": lambda a: a.u / a.fix1},
    ),
    *known(
        "bias correction outside the root",
        "1 - b2^t stands outside the root: it stands under it, with the peak.",
        {"below": lambda a: np.sqrt(a.u) / a.fix2 + a.eps},
        {"below": lambda a: (np.sqrt(a.u) + a.eps) / a.fix2},
    ),
    *known(
        "bias correction without the power",
        "m and the peak are divided by 1 - b at every step: the correction is 1 - b^t, and fades.",
        {"clock": lambda a: 1},
    ),
    *known(
        "b t in place of b^t",
        "The correction is 1 - b^t, a power: not 1 - b t.",
        {"fix1": lambda a: 1 - a.b1 * a.t, "fix2": lambda a: 1 - a.b2 * a.t},
    ),
    *known("t starts at 2", "t is raised once more: it is 1 in the first step already.", {"clock": lambda a: a.t + 1}),
    *known(
        "t starts at 0", "t is lowered by one: it is 1 in the first step, as b^t asks.", {"clock": lambda a: a.t - 1}
    ),
    *known(
        "corrected averages kept in the state",
        "A corrected m, v or peak is returned, and will be corrected again: return the uncorrected ones.",
        *(
            {"out": lambda a, m=m, v=v, u=u: (a.new, m(a), v(a), u(a))}
            for m in (lambda a: a.m, lambda a: a.m_hat)
            for v in (lambda a: a.v, lambda a: a.v / a.fix2)
            for u in (lambda a: a.u, lambda a: a.u_hat)
        ),
    )[1:],
)

STEP = (
    *known(
        "eps inside the root",
        "eps stands inside the root, sqrt(u + eps): it belongs outside, sqrt(u) + eps.",
        {"below": lambda a: np.sqrt(a.u_hat + a.eps)},
    ),
    *known(
        "eps added before the bias correction",
        "eps was added to the root of the uncorrected peak, and is scaled by the correction: correct the peak first.",
        {"below": lambda a: (np.sqrt(a.u) + a.eps) / np.sqrt(a.fix2)},
    ),
    *known(
        "eps inside the root, before the bias correction",
        "eps was added to the peak inside the root and before its correction: sqrt(u / (1 - b2^t)) + eps.",
        {"below": lambda a: np.sqrt((a.u + a.eps) / a.fix2)},
    ),
    *known(
        "eps left out",
        "eps is missing: an entry whose gradients are 0 gets 0 / 0.",
        {"below": lambda a: np.sqrt(a.u_hat)},
    ),
    *known(
        "eps as a floor",
        "The root is kept above eps: eps is added to it.",
        {"below": lambda a: np.maximum(np.sqrt(a.u_hat), a.eps)},
    ),
    *known(
        "missing parentheses",
        "eps is added to the whole fraction, not to the root below it: put parentheses around (root + eps).",
        {"new": lambda a: a.theta - (a.lr * a.m_hat / np.sqrt(a.u_hat) + a.eps)},
        {"new": lambda a: a.theta - a.lr * a.m_hat / np.sqrt(a.u_hat) + a.eps},
        {"new": lambda a: a.theta - (a.lr / np.sqrt(a.u_hat) + a.eps) * a.m_hat},
    ),
    *known(
        "missing root",
        "The step is divided by the peak, and should be divided by its square root.",
        {"below": lambda a: a.u_hat + a.eps},
    ),
    *known(
        "sign of the update",
        "The step goes up the gradient: theta moves by minus lr times the direction.",
        {"new": lambda a: a.theta + a.lr * a.m_hat / a.below},
    ),
    *known("lr left out", "The step is not multiplied by lr.", {"new": lambda a: a.theta - a.m_hat / a.below}),
)

ADAM_MUTANTS = (*AVERAGES, *CORRECTIONS, *STEP)
