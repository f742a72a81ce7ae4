"""The mistakes known by name in Adam's and RMSProp's averages, their corrections and the division.

They are edits of `course_lib.optim.adam` and `course_lib.optim.rmsprop`.
"""

from course_lib.grading.exercise import Mistake
from course_lib.grading.optimizers.shared import COUNT_ALL, COUPLED_DECAY, FORGETS, NO_DECAY, NO_L2, SHARED, late

KEPT, SQUARE = "b2 * v + ", "(1 - b2) * g * g"
TAKES_DECAY = [  # the rule itself is told the decay
    ("1e-8", "1e-8, decay: Hyper = 0.0"),
    ("(lr=lr)", "(lr=lr, decay=l2 + decay)"),
    NO_L2,
    NO_DECAY,
]


def averages(betas: str, complement: str, first: str) -> tuple[Mistake, ...]:
    """The mistakes in the running mean of squares.

    betas: the line that sees b1 and b2 before the rule does. complement: what exchanges b and 1 - b there. first: the
    row that starts at the first gradient.
    """
    return (
        Mistake(
            "b and 1 - b exchanged",
            "The old average got the weight 1 - b, and the new value b: b is what is kept.",
            (betas, complement),
        ),
        Mistake(
            "state started at the first gradient",
            "The averages start at the first gradient and its square: they start at 0.",
            ("rows[i], p)", f"rows[i] if t > 1 else {first}, p)"),
        ),
        Mistake("v started at one", "v starts at 1: it starts at 0.", ("State, step", "State, step, square=1.0")),
        Mistake(
            "square not weighted by 1 - b2",
            "v = b2 v + (1 - b2) g^2: 1 - b2 is missing.",
            ("(1 - b2) * g * g", "g * g"),
        ),
        Mistake(
            "v never decays",
            "v adds up all the squares, as AdaGrad's does: v = b2 v + (1 - b2) g^2.",
            (KEPT + SQUARE, "v + g * g"),
            (KEPT, "v + "),
        ),
        Mistake(
            "square not averaged",
            "v is the last g^2 itself: it is a running mean of the squares.",
            (KEPT + SQUARE, "g * g"),
        ),
        Mistake(
            "one square for a whole parameter",
            "v is one number for a whole parameter, from all its entries: each entry has its own, from its own g^2.",
            (SQUARE, "(1 - b2) * (g * g).mean()"),
            (SQUARE, "(1 - b2) * (g * g).sum()"),
        ),
        Mistake(
            "norm in place of the squares",
            "v averages the norm of the whole gradient, one number: it averages g^2, entry by entry.",
            (SQUARE, "(1 - b2) * (g * g).sum() ** 0.5"),
        ),
        Mistake(
            "gradient not squared",
            "v averages g or |g|: it averages g^2.",
            (SQUARE, "(1 - b2) * abs(g)"),
            (SQUARE, "(1 - b2) * g"),
        ),
    )


def division(v: str, top: str) -> tuple[Mistake, ...]:
    """The mistakes in the division of `top` by the root of v."""
    below = f"(root({v}) + eps)"
    return (
        Mistake(
            "eps inside the root",
            "eps is inside the root, sqrt(v + eps): it belongs outside, sqrt(v) + eps.",
            (f"root({v}) + eps", f"root({v} + eps)"),
        ),
        Mistake("eps left out", "eps is missing: an entry whose gradients are 0 gets 0 / 0.", (below, f"root({v})")),
        Mistake(
            "eps as a floor",
            "The root is kept above eps: eps is added to it.",
            (below, f"root({v}).clip(eps)"),
        ),
        Mistake(
            "missing parentheses",
            "eps is added to the whole fraction, not to the root below it: put parentheses around (root + eps).",
            (below, f"root({v}) - eps"),
            (below, f"root({v}) + eps"),
            (below, f"(lr / (lr / root({v}) + eps))"),
        ),
        Mistake(
            "missing root",
            "The step is divided by v, and should be divided by its square root.",
            (f"root({v})", v),
        ),
        Mistake(
            "multiplied by the root",
            "The step is multiplied by the root: divide by it.",
            (f"{top} / {below}", f"{top} * {below}"),
        ),
    )


MEAN = (
    Mistake("gradient not weighted by 1 - b1", "m = b1 m + (1 - b1) g: 1 - b1 is missing.", ("(1 - b1) * g", "g")),
    Mistake("m never decays", "m adds up the gradients: the old m must be multiplied by b1.", ("b1 * m + ", "m + ")),
    Mistake(
        "m not accumulated",
        "m holds the last gradient alone: the old m is forgotten, or multiplied by 0.",
        ("b1 * m + ", ""),
    ),
    Mistake("gradient in place of its mean", "The step uses g where m, its mean, belongs.", ("m_hat / (", "g / (")),
    Mistake(
        "v not accumulated",
        "v holds the last square alone: the old v is forgotten, or multiplied by 0.",
        (KEPT, ""),
    ),
    Mistake(
        "square of the mean",
        "v is the square of a running mean: it is a running mean of the squares, which no longer differ in sign.",
        [(SQUARE, "(1 - b2) * g"), ("v_hat = v / ", "v_hat = v * v / ")],
    ),
    Mistake(
        "m squared in place of g",
        "v averages m^2: it averages g^2, the square of the gradient itself.",
        ("g * g", "m * m"),
    ),
)

BETAS = 'legal("adam", lr=lr, b1=b1, b2=b2, eps=eps)'
SHARED_BETAS = (
    Mistake(
        "b1 and b2 exchanged", "b1 and b2 have changed places: m decays by b1, v by b2.", (BETAS, "b1, b2 = b2, b1")
    ),
    Mistake(
        "b1 used for both averages",
        "v decays by b1, as m does: it has a b of its own, b2.",
        (BETAS, "b2 = b1"),
        (KEPT + "(1 - b2)", "b1 * v + (1 - b1)"),
    ),
    Mistake(
        "b2 used for both averages",
        "m decays by b2, as v does: it has a b of its own, b1.",
        (BETAS, "b1 = b2"),
        ("b1 * m + (1 - b1)", "b2 * m + (1 - b2)"),
    ),
)

CORRECTION = (
    Mistake(
        "no bias correction",
        "m and v start at 0, and are too small at first: divide them by 1 - b1^t and 1 - b2^t.",
        [(" / (1 - b1**t)", ""), (" / (1 - b2**t)", "")],
    ),
    Mistake(
        "bias correction of m alone",
        "m is corrected and v is not: divide v by 1 - b2^t as well.",
        (" / (1 - b2**t)", ""),
    ),
    Mistake(
        "bias correction of v alone",
        "v is corrected and m is not: divide m by 1 - b1^t as well.",
        (" / (1 - b1**t)", ""),
    ),
    Mistake(
        "bias correction multiplied",
        "m and v are multiplied by 1 - b^t: divide by it, for they are too small.",
        [("/ (1 - b1**t)", "* (1 - b1**t)"), ("/ (1 - b2**t)", "* (1 - b2**t)")],
    ),
    Mistake(
        "bias corrections exchanged",
        "m was divided by 1 - b2^t and v by 1 - b1^t: each average has its own b.",
        [("b1**t", "b2**t"), ("b2**t", "b1**t")],
    ),
    Mistake("b1 in both corrections", "v is corrected with b1: divide it by 1 - b2^t.", ("b2**t", "b1**t")),
    Mistake("b2 in both corrections", "m is corrected with b2: divide it by 1 - b1^t.", ("b1**t", "b2**t")),
    Mistake(
        "bias correction outside the root",
        "lr (1 - b2^t) / (1 - b1^t) needs the root of 1 - b2^t: it belongs under v's root.",
        ("(1 - b2**t)", "(1 - b2**t) ** 2"),
    ),
    Mistake(
        "corrected averages kept in the state",
        "The corrected m and v go back into the state, and are corrected again: keep the uncorrected ones.",
        ("(m, v)", "(m_hat, v_hat)"),
    ),
    Mistake(
        "b t in place of b^t",
        "The correction is 1 - b^t, a power: not 1 - b t.",
        [("b1**t", "b1 * t"), ("b2**t", "b2 * t")],
    ),
    Mistake(
        "bias correction without the power",
        "m and v are divided by 1 - b at every step: the correction is 1 - b^t, and fades (has t stayed at 1?).",
        [("b1**t", "b1"), ("b2**t", "b2")],
    ),
    Mistake(
        "t starts at 0",
        "t is one behind: it is 1 in the first step, where 1 - b^0 = 0 divides by zero. Count before use.",
        ("step(t, ", "step(t - 1, "),
    ),
    Mistake("t starts at 2", "t is one ahead: it is 1 in the first step.", ("step(t, ", "step(t + 1, ")),
    Mistake(
        "t counts parameters",
        "t goes up once for each parameter: it counts steps, and all parameters of a step share it.",
        COUNT_ALL,
    ),
    Mistake(
        "eps added before the bias correction",
        "eps was added to the root of the uncorrected v, and is scaled by the correction: correct v first.",
        [
            ("v_hat = v / (1 - b2**t)", "v_hat = v"),
            ("(root(v_hat) + eps)", "((root(v_hat) + eps) / (1 - b2**t) ** 0.5)"),
        ],
    ),
    Mistake(
        "eps inside the root, before the bias correction",
        "eps was added to v inside the root and before its correction: sqrt(v / (1 - b2^t)) + eps.",
        [("v_hat = v / (", "v_hat = (v + eps) / ("), ("(root(v_hat) + eps)", "root(v_hat)")],
    ),
)

DECAY_IN_THE_DIVISION = Mistake(
    "decay inside the division",
    "The decay was added to m and then divided by the root: it belongs outside the fraction.",
    [*TAKES_DECAY, ("m_hat / (", "(m_hat + decay * p) / (")],
)


def decay_not_squared(*edits: tuple[str, str]) -> Mistake:
    return Mistake(
        "decay left out of the square",
        "The decay is in the numerator only: L2 changes the gradient before it is squared, too.",
        [*TAKES_DECAY, *edits],
    )


BOTH_ADAMS = (
    *SHARED,
    FORGETS,
    late(("m / (1", "row[0] / (1"), ("v / (1", "row[1] / (1")),
    *SHARED_BETAS,
    *averages(BETAS, "b1, b2 = 1 - b1, 1 - b2", "(g, g * g)"),
    *MEAN,
    *CORRECTION,
    *division("v_hat", "m_hat"),
    DECAY_IN_THE_DIVISION,
)

ADAM = (*BOTH_ADAMS, *COUPLED_DECAY, decay_not_squared(("(1 - b1) * g", "(1 - b1) * (g + decay * p)")))

ADAMW = (
    *BOTH_ADAMS,
    Mistake(
        "decay applied twice",
        "The decay is beside the step and in the gradient as well: AdamW has it beside the step alone.",
        ("l2 * p", "decay * p"),
    ),
    Mistake(
        "coupled decay",
        "The decay was added to the gradient (L2), and is divided by the root: AdamW has it beside the step.",
        [("l2 * p", "decay * p"), NO_DECAY],
    ),
    Mistake(
        "decay multiplied by lr twice",
        "The decay is lr^2 lambda theta: one lr is enough.",
        ("lr * decay", "lr**2 * decay"),
    ),
)

RMSPROP = (
    *SHARED,
    FORGETS,
    late(("root(v)", "root(row[0])")),
    *averages('legal("rmsprop", lr=lr, b2=b2, eps=eps)', "b2 = 1 - b2", "(g * g,)"),
    Mistake(
        "square of the mean",
        "v is the square of a running mean: it is a running mean of the squares, which no longer differ in sign.",
        [(SQUARE, "(1 - b2) * g"), ("root(v)", "root(v * v)")],
    ),
    Mistake(
        "centered",
        "The mean's square is subtracted from v: this is the centered form.",
        ("centered: bool = False", "centered: bool = True"),
    ),
    Mistake(
        "bias correction where there is none",
        "v is divided by 1 - b2^t, as Adam's is: RMSProp does not correct it.",
        ("root(v)", "root(v / (1 - b2**t))"),
    ),
    *division("v", "g"),
    *COUPLED_DECAY,
    decay_not_squared(("-lr * g /", "-lr * (g + decay * p) /")),
)
