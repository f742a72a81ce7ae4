"""The exercises of lecture 04: AdaGrad's step and AMSGrad's. Adam's and AdamW's belong to the conformance suite."""

from itertools import permutations, product

import numpy as np
import torch

from course_lib.grading import Case, Exercise, Mistake
from course_lib.grading.optimizers import check_adam, check_adamw, check_rmsprop

__all__ = ["check_adagrad_step", "check_adam", "check_adamw", "check_amsgrad_step", "check_rmsprop"]


def adagrad_step(theta, total, grad, lr, eps):
    """theta, total, grad: arrays of one shape. Returns theta and the sum of squares after the step."""
    s = total + grad**2
    new = theta - lr * grad / (np.sqrt(s) + eps)
    return new, s


def adagrad_case(title: str, shape: tuple[int, ...], lr: float, eps: float, *, fresh: bool = False) -> Case:
    """fresh: the first step, from a sum of 0, with a gradient that is 0 in its last entry."""
    random = np.random.default_rng(len(title))
    theta, grad = random.normal(size=shape), random.normal(size=shape)
    total = np.zeros(shape) if fresh else random.uniform(0.5, 4.0, size=shape)
    if fresh:
        grad.flat[-1] = 0.0
    return Case(title, {"theta": theta, "total": total, "grad": grad, "lr": lr, "eps": eps})


def adagrad_by_torch(theta, total, grad, lr, eps):
    parameter = torch.tensor(theta, requires_grad=True)
    optimizer = torch.optim.Adagrad([parameter], lr=lr, eps=eps)
    optimizer.state[parameter]["sum"] = torch.tensor(total)
    parameter.grad = torch.tensor(grad)
    optimizer.step()
    return parameter, optimizer.state[parameter]["sum"]


FRACTION = "lr * grad / (np.sqrt(s) + eps)"
check_adagrad_step = Exercise(
    "AdaGrad step",
    adagrad_step,
    (
        adagrad_case("the first gradient, an entry of it 0, lr 0.1", (4,), 0.1, 1e-3, fresh=True),
        adagrad_case("later, lr 0.1, eps 0.01", (3,), 0.1, 1e-2),
        adagrad_case("a matrix, lr 2, eps 0.5", (4, 2), 2.0, 0.5),
    ),
    (
        Mistake(
            "forgets",
            "The squares are averaged, with 0.9 and 0.1, and so forgotten: that is RMSProp. AdaGrad adds them up and "
            "never forgets.",
            ("total + grad**2", "0.9 * total + 0.1 * grad**2"),
        ),
        Mistake(
            "old sum dropped",
            "The old sum is dropped, and the step divides by |g| alone: add this gradient's square to the sum.",
            ("total + grad**2", "grad**2"),
        ),
        Mistake(
            "not squared",
            "The sum is of the gradients themselves or of their sizes, not of their squares.",
            ("grad**2", "np.abs(grad)"),
            ("grad**2", "grad"),
        ),
        Mistake(
            "one sum for all",
            "One sum is kept for all coordinates, from the whole gradient. AdaGrad has a sum for each coordinate, and "
            "that is the point of it.",
            ("grad**2", "np.sum(grad**2)"),
            ("grad**2", "np.mean(grad**2)"),
        ),
        Mistake(
            "no root",
            "The step is divided by the sum of the squares, not by its root: it depends on the gradient's units.",
            ("np.sqrt(s)", "s"),
        ),
        Mistake(
            "multiplied by the root",
            "The step is multiplied by the root: divide by it.",
            ("grad / (", "grad * ("),
        ),
        Mistake(
            "old sum",
            "The step divides by the sum from before this gradient: add its square first. The very first step divides "
            "by eps.",
            ("np.sqrt(s)", "np.sqrt(total)"),
        ),
        Mistake(
            "eps inside the root",
            "eps is inside the root, where it counts as its own root. Here, as in torch, it is added after the root.",
            ("np.sqrt(s) + eps", "np.sqrt(s + eps)"),
        ),
        Mistake("eps left out", "eps is missing: an entry whose gradients were all 0 gets 0 / 0.", (" + eps", "")),
        Mistake(
            "eps as a floor",
            "The root is kept above eps: eps is added to it.",
            ("np.sqrt(s) + eps", "np.maximum(np.sqrt(s), eps)"),
        ),
        Mistake(
            "missing parentheses",
            "eps is added to the whole fraction, not to the root below it: put parentheses around (root + eps).",
            (FRACTION, "(lr * grad / np.sqrt(s) + eps)"),
            (FRACTION, "lr * grad / np.sqrt(s) + eps"),
            (FRACTION, "(lr / np.sqrt(s) + eps) * grad"),
        ),
        Mistake("uphill", "The sign is wrong: the step goes up the slope.", ("theta - ", "theta + ")),
        Mistake("lr left out", "The step is not multiplied by lr.", ("lr * grad", "grad")),
        Mistake(
            "step returned",
            "What comes back first is the step alone: return theta after its step.",
            ("theta - ", ""),
            ("theta - ", "-"),
        ),
        Mistake(
            "results in another order",
            "The results are right, but come in another order: return theta, then total.",
            ("return new, s", "return s, new"),
        ),
        Mistake(
            "sum not kept",
            "The sum that is returned is the old one: what this gradient added is forgotten.",
            ("new, s", "new, total"),
        ),
    ),
    outputs=("theta", "total"),
    verified="adds the square to the coordinate's own sum, then divides by the sum's root, eps outside, any shape",
    tolerance=1e-10,
    oracle=adagrad_by_torch,
)


def amsgrad_step(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    """theta, mean, square, peak, grad: arrays of one shape. t: 1, 2, ... Returns the first four after the step."""
    m = b1 * mean + (1 - b1) * grad
    v = b2 * square + (1 - b2) * grad**2
    u = np.maximum(peak, v)
    fix1, fix2 = 1 - b1**t, 1 - b2**t
    m_hat, u_hat = m / fix1, u / fix2
    step = lr * m_hat / (np.sqrt(u_hat) + eps)
    return theta - step, m, v, u


def amsgrad_case(title: str, shape: tuple[int, ...], t: int, b1: float, b2: float, *, no_peak: bool = False) -> Case:
    """At t = 1 the state is 0, and so is the gradient's last entry. no_peak: the peak alone is 0."""
    random = np.random.default_rng(len(title) + t)
    theta, grad, mean = (random.normal(size=shape) for _ in range(3))
    square = random.uniform(0.1, 2.0, size=shape)
    peak = np.zeros(shape) if no_peak else square * random.choice([1.0, 1.5], size=shape)
    if t == 1:
        mean, square, peak = np.zeros((3, *shape))
        grad.flat[-1] = 0.0
    state = {"theta": theta, "mean": mean, "square": square, "peak": peak, "grad": grad}
    return Case(title, {**state, "t": t, "lr": 0.1, "b1": b1, "b2": b2, "eps": 1e-3})


def amsgrad_by_torch(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    parameter = torch.tensor(theta, requires_grad=True)
    optimizer = torch.optim.Adam([parameter], lr=lr, betas=(b1, b2), eps=eps, amsgrad=True)
    state = {"exp_avg": mean, "exp_avg_sq": square, "max_exp_avg_sq": peak, "step": np.array(t - 1.0)}
    optimizer.state[parameter] = {name: torch.tensor(value) for name, value in state.items()}
    parameter.grad = torch.tensor(grad)
    optimizer.step()
    after = optimizer.state[parameter]
    return parameter, after["exp_avg"], after["exp_avg_sq"], after["max_exp_avg_sq"]


M, V, U = "b1 * mean + (1 - b1) * grad\n", "b2 * square + (1 - b2) * grad**2", "np.maximum(peak, v)"
FIX, HATS, RETURN = "1 - b1**t, 1 - b2**t", "m / fix1, u / fix2", "theta - step, m, v, u"
BELOW = "(np.sqrt(u_hat) + eps)"

WITH_THE_PEAK = (
    Mistake(
        "Adam",
        "The step divides by v itself: the peak is kept but not used, and that is Adam.",
        ("u / fix2", "v / fix2"),
    ),
    Mistake(
        "smallest",
        "The smallest v is kept, so the learning rate can only rise: AMSGrad keeps the largest.",
        ("np.maximum", "np.minimum"),
    ),
    Mistake(
        "old square",
        "The peak is taken over the v from before this gradient: update v first.",
        (U, "np.maximum(peak, square)"),
    ),
    Mistake(
        "peak never raised",
        "The peak stays what it was, in the step and in what is returned: it is max(peak, v), with the new v.",
        (U, "peak"),
    ),
    Mistake(
        "old peak used",
        "The step divides by the peak from before this gradient: raise the peak first, then use it.",
        ("u / fix2", "peak / fix2"),
    ),
    Mistake(
        "old peak returned",
        "The step takes the new peak, but the old one is returned: the next step will not know of it.",
        ("m, v, u", "m, v, peak"),
    ),
    Mistake(
        "peak not kept",
        "The peak is only the larger of the last two v: carry it along, max(peak, v).",
        (U, "np.maximum(square, v)"),
    ),
    Mistake(
        "one peak for all",
        "One peak is kept for all coordinates: the maximum is taken for each of them, np.maximum, not np.max.",
        (U, "np.full_like(v, np.max(np.maximum(peak, v)))"),
    ),
    Mistake(
        "peak of the squares",
        "The maximum is taken over g^2, this gradient's square: it is taken over v, their running mean.",
        (U, "np.maximum(peak, grad**2)"),
    ),
    Mistake(
        "v grows with the peak",
        "The peak is returned in place of v: v itself goes on forgetting, and only the peak does not.",
        ("m, v, u", "m, u, u"),
    ),
    Mistake(
        "corrected before the maximum",
        "The maximum is taken over corrected v. That variant exists, but is not the one asked for: here, as in torch, "
        "the peak is of v itself, and is corrected where it is used.",
        [(U, "np.maximum(peak, v / (1 - b2**t))"), ("u / fix2", "u")],
    ),
    Mistake(
        "corrected twice",
        "v is corrected before the maximum is taken, and the peak once more: correct the peak alone, where it is used.",
        (U, "np.maximum(peak, v / (1 - b2**t))"),
    ),
)
RETURNED = (
    Mistake(
        "step returned",
        "What comes back first is the step alone: return theta after its step.",
        ("theta - step", "step"),
        ("theta - step", "-step"),
    ),
    Mistake("old m returned", "The m that is returned is the old one.", (", m, v", ", mean, v")),
    Mistake("old v returned", "The v that is returned is the old one.", ("m, v, u", "m, square, u")),
    Mistake(
        "corrected averages kept in the state",
        "A corrected m, v or peak is returned, and will be corrected again: return the uncorrected ones.",
        *(
            (RETURN, ", ".join(("theta - step", *kept)))
            for kept in product(("m", "m_hat"), ("v", "v / fix2"), ("u", "u_hat"))
            if kept != ("m", "v", "u")
        ),
    ),
    Mistake(
        "results in another order",
        "The results are right, but come in another order: return theta, mean, square, peak.",
        *(
            (RETURN, ", ".join(order))
            for order in permutations(("theta - step", "m", "v", "u"))
            if order != ("theta - step", "m", "v", "u")
        ),
    ),
)
AVERAGES = (
    Mistake(
        "b1 and b2 exchanged",
        "b1 and b2 have changed places: m decays by b1, v by b2.",
        ("lr, b1, b2, eps", "lr, b2, b1, eps"),
    ),
    Mistake(
        "b1 used for both averages",
        "v decays by b1, as m does: it has a b of its own, b2.",
        (V, "b1 * square + (1 - b1) * grad**2"),
        [(V, "b1 * square + (1 - b1) * grad**2"), ("1 - b2**t", "1 - b1**t")],
    ),
    Mistake(
        "b2 used for both averages",
        "m decays by b2, as v does: it has a b of its own, b1.",
        (M, "b2 * mean + (1 - b2) * grad\n"),
        [(M, "b2 * mean + (1 - b2) * grad\n"), ("1 - b1**t", "1 - b2**t")],
    ),
    Mistake(
        "b and 1 - b exchanged",
        "The old average got the weight 1 - b, and the new value b: b is what is kept.",
        [(M, "(1 - b1) * mean + b1 * grad\n"), (V, "(1 - b2) * square + b2 * grad**2")],
    ),
    Mistake(
        "gradient not weighted by 1 - b1",
        "m = b1 m + (1 - b1) g: 1 - b1 is missing.",
        ("(1 - b1) * grad", "grad"),
    ),
    Mistake(
        "square not weighted by 1 - b2",
        "v = b2 v + (1 - b2) g^2: 1 - b2 is missing.",
        ("(1 - b2) * grad**2", "grad**2"),
    ),
    Mistake(
        "gradient not squared",
        "v averages g or |g|: it averages g^2.",
        ("grad**2", "np.abs(grad)"),
        ("grad**2", "grad"),
    ),
    Mistake(
        "gradient in place of its mean",
        "The step takes g where m, its mean, belongs.",
        ("m / fix1", "grad"),
        ("m / fix1", "grad / fix1"),
    ),
)
CORRECTIONS = (
    Mistake(
        "no bias correction",
        "m and v started at 0 and are not corrected for it: divide by 1 - b1^t and 1 - b2^t.",
        (HATS, "m, u"),
    ),
    Mistake(
        "bias correction of m alone",
        "m is corrected but the peak is not: divide the peak by 1 - b2^t where it is used.",
        ("u / fix2", "u"),
    ),
    Mistake(
        "bias correction of v alone",
        "The peak is corrected but m is not: divide m by 1 - b1^t as well.",
        ("m / fix1", "m"),
    ),
    Mistake(
        "bias correction multiplied",
        "m and the peak are multiplied by 1 - b^t: divide by it, for they are too small.",
        (HATS, "m * fix1, u * fix2"),
    ),
    Mistake(
        "bias corrections exchanged",
        "m was divided by 1 - b2^t and the peak by 1 - b1^t: each has its own b.",
        (HATS, "m / fix2, u / fix1"),
    ),
    Mistake(
        "bias correction outside the root",
        "1 - b2^t is outside the root: it belongs under it, with the peak.",
        (BELOW, "(np.sqrt(u) / fix2 + eps)"),
        (BELOW, "((np.sqrt(u) + eps) / fix2)"),
    ),
    Mistake(
        "bias correction without the power",
        "m and the peak are divided by 1 - b at every step: the correction is 1 - b^t, and fades.",
        (FIX, "1 - b1, 1 - b2"),
    ),
    Mistake("b t in place of b^t", "The correction is 1 - b^t, a power: not 1 - b t.", (FIX, "1 - b1 * t, 1 - b2 * t")),
    Mistake(
        "t starts at 2",
        "t is raised once more: it is 1 in the first step already.",
        ("m = b1", "t = t + 1; m = b1"),
    ),
    Mistake(
        "t starts at 0",
        "t is lowered by one: it is 1 in the first step, as b^t asks.",
        ("m = b1", "t = t - 1; m = b1"),
    ),
)
STEP = (
    Mistake(
        "eps inside the root",
        "eps is inside the root, sqrt(u + eps): it belongs outside, sqrt(u) + eps.",
        (BELOW, "np.sqrt(u_hat + eps)"),
    ),
    Mistake(
        "eps added before the bias correction",
        "eps was added to the root of the uncorrected peak, and is scaled by the correction: correct the peak first.",
        (BELOW, "((np.sqrt(u) + eps) / np.sqrt(fix2))"),
    ),
    Mistake(
        "eps inside the root, before the bias correction",
        "eps was added to the peak inside the root and before its correction: sqrt(u / (1 - b2^t)) + eps.",
        (BELOW, "np.sqrt((u + eps) / fix2)"),
    ),
    Mistake("eps left out", "eps is missing: an entry whose gradients are 0 gets 0 / 0.", (" + eps", "")),
    Mistake(
        "eps as a floor",
        "The root is kept above eps: eps is added to it.",
        (BELOW, "np.maximum(np.sqrt(u_hat), eps)"),
    ),
    Mistake(
        "missing parentheses",
        "eps is added to the whole fraction, not to the root below it: put parentheses around (root + eps).",
        (BELOW, "np.sqrt(u_hat) + eps"),
        (BELOW, "np.sqrt(u_hat) - eps"),
        (f"lr * m_hat / {BELOW}", "(lr / np.sqrt(u_hat) + eps) * m_hat"),
    ),
    Mistake(
        "missing root",
        "The step is divided by the peak, and should be divided by its square root.",
        ("np.sqrt(u_hat)", "u_hat"),
    ),
    Mistake(
        "sign of the update",
        "The step goes up the gradient: theta moves by minus lr times the direction.",
        ("theta - step", "theta + step"),
    ),
    Mistake("lr left out", "The step is not multiplied by lr.", ("lr * m_hat", "m_hat")),
)

check_amsgrad_step = Exercise(
    "AMSGrad step",
    amsgrad_step,
    (
        amsgrad_case("the first step", (4,), 1, 0.9, 0.99),
        amsgrad_case("the seventh step, b2 0.8", (6,), 7, 0.9, 0.8),
        amsgrad_case("a matrix, b1 0.5, b2 0.6", (4, 3), 3, 0.5, 0.6),
        amsgrad_case("Adam until now, so that there is no peak yet", (5,), 4, 0.8, 0.9, no_peak=True),
    ),
    (*WITH_THE_PEAK, *RETURNED, *AVERAGES, *CORRECTIONS, *STEP),
    outputs=("theta", "mean", "square", "peak"),
    verified="keeps the largest v of each coordinate, corrects it where it is used, and divides by its root",
    tolerance=1e-10,
    oracle=amsgrad_by_torch,
)
