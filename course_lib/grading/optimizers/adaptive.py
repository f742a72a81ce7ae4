"""The mistakes known by name in the optimizers that divide by a root, each as edits of its own source."""

from course_lib.grading.mistake import Mistake
from course_lib.grading.mutate import Edit
from course_lib.grading.optimizers.averages import MEAN, NOT_AVERAGED, NOT_KEPT, SQUARE, SQUARES, betas, started
from course_lib.grading.optimizers.division import corrections, division
from course_lib.grading.optimizers.shared import COUNT_ALL, COUPLED_DECAY, FORGETS, NO_DECAY, NO_L2, SHARED, SKIPS, late

TAKES_DECAY = [  # the rule itself is told the decay
    ("eps: Hyper = ", "decay: Hyper = 0.0, eps: Hyper = "),
    ("(lr=lr)", "(lr=lr, decay=l2 + decay)"),
    NO_L2,
    NO_DECAY,
]
U = "maximum(u, v)"


def squared_mean(*edits: Edit) -> Mistake:
    return Mistake(
        "square of the mean",
        "v is the square of a running mean: it is a running mean of the squares, which no longer differ in sign.",
        [(SQUARE, "(1 - b2) * g"), *edits],
    )


def decay_not_squared(*edits: Edit) -> Mistake:
    return Mistake(
        "decay left out of the square",
        "The decay is in the numerator only: L2 changes the gradient before it is squared, too.",
        [*TAKES_DECAY, *edits],
    )


def corrected_kept(*edits: Edit) -> Mistake:
    return Mistake(
        "corrected averages kept in the state",
        "The corrected averages go back into the state, and are corrected again: keep the uncorrected ones.",
        *edits,
    )


T_COUNTS = Mistake(
    "t counts parameters",
    "t goes up once for each parameter: it counts steps, and all parameters of a step share it.",
    COUNT_ALL,
)
DECAY_DIVIDED = Mistake(
    "decay inside the division",
    "The decay was added to m and then divided by the root: it belongs outside the fraction.",
    [*TAKES_DECAY, ("m_hat / (", "(m_hat + decay * p) / (")],
)

BOTH_ADAMS = (
    *SHARED,
    *SKIPS,
    FORGETS,
    late(("m / (1", "row[0] / (1"), ("v / (1", "row[1] / (1")),
    *betas("adam"),
    *started("(g, g * g)"),
    *MEAN,
    *SQUARES,
    NOT_AVERAGED,
    NOT_KEPT,
    squared_mean(("v_hat = v / ", "v_hat = v * v / ")),
    *corrections(),
    corrected_kept(("(m, v)", "(m_hat, v_hat)")),
    T_COUNTS,
    *division("v_hat", "m_hat"),
    DECAY_DIVIDED,
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
    *SKIPS,
    FORGETS,
    late(("root(v)", "root(row[0])")),
    Mistake(
        "b and 1 - b exchanged",
        "The old average got the weight 1 - b, and the new value b: b is what is kept.",
        ('legal("rmsprop", lr=lr, b2=b2, eps=eps)', "b2 = 1 - b2"),
    ),
    *started("(g * g,)"),
    *SQUARES,
    NOT_AVERAGED,
    squared_mean(("root(v)", "root(v * v)")),
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

SUM = (
    Mistake(
        "forgets",
        "The squares are averaged, with 0.9 and 0.1, and so forgotten: that is RMSProp. AdaGrad adds them up and "
        "never forgets.",
        ("s + g * g", "0.9 * s + 0.1 * g * g"),
    ),
    Mistake(
        "old sum dropped",
        "The old sum is dropped, and the step divides by |g| alone: add this gradient's square to the sum.",
        ("s + g * g", "g * g"),
    ),
    Mistake(
        "not squared",
        "The sum is of the gradients themselves or of their sizes, not of their squares.",
        ("g * g", "abs(g)"),
        ("g * g", "g"),
    ),
    Mistake(
        "one sum for all",
        "One sum is kept for all coordinates, from the whole gradient. AdaGrad has a sum for each coordinate, and "
        "that is the point of it.",
        ("g * g", "(g * g).sum()"),
        ("g * g", "(g * g).mean()"),
    ),
    Mistake(
        "old sum",
        "The step divides by the sum from before this gradient: add its square first. The very first step divides "
        "by eps.",
        ("root(s)", "root(row[0])"),
    ),
)
ADAGRAD = (
    *SHARED,
    *SUM,
    *division("s", "g"),
    *COUPLED_DECAY,
    decay_not_squared(("-lr * g /", "-lr * (g + decay * p) /")),
)

PEAK = (
    Mistake(
        "Adam",
        "The step divides by v itself: the peak is not kept or not used, and that is Adam.",
        ("u_hat = u /", "u_hat = v /"),
    ),
    Mistake(
        "peak never raised",
        "The peak stays what it was, in the step and in what is kept: it is max(peak, v), with the new v.",
        (U, "u"),
    ),
    Mistake(
        "old peak used",
        "The step divides by the peak from before this gradient: raise the peak first, then use it.",
        ("u_hat = u /", "u_hat = row[2] /"),
    ),
    Mistake(
        "peak not kept",
        "The peak is only the larger of the last two v: carry it along, max(peak, v).",
        (U, "maximum(row[1], v)"),
    ),
    Mistake(
        "one peak for all",
        "One peak is kept for all coordinates: the maximum is taken for each of them, np.maximum, not np.max.",
        (U, "0 * v + maximum(u, v).max()"),
    ),
    Mistake(
        "peak of the squares",
        "The maximum is taken over g^2, this gradient's square: it is taken over v, their running mean.",
        (U, "maximum(u, g * g)"),
    ),
    Mistake(
        "v grows with the peak",
        "The peak is kept in place of v: v itself goes on forgetting, and only the peak does not.",
        ("(m, v, u)", "(m, u, u)"),
    ),
    Mistake(
        "corrected before the maximum",
        "The maximum is taken over corrected v. That variant exists, but is not the one asked for: here, as in torch, "
        "the peak is of v itself, and is corrected where it is used.",
        [(U, "maximum(u, v / (1 - b2**t))"), ("u_hat = u / (1 - b2**t)", "u_hat = u")],
    ),
    Mistake(
        "corrected twice",
        "v is corrected before the maximum is taken, and the peak once more: correct the peak alone, where it is used.",
        (U, "maximum(u, v / (1 - b2**t))"),
    ),
)
AMSGRAD = (
    *SHARED,
    *SKIPS,
    FORGETS,
    late(("m / (1", "row[0] / (1"), ("u / (1", "row[2] / (1")),
    *PEAK,
    *betas("amsgrad"),
    *started("(g, g * g, g * g)"),
    *MEAN,
    *SQUARES,
    NOT_KEPT,
    *corrections("u", "the peak"),
    corrected_kept(("(m, v, u)", "(m_hat, v / (1 - b2**t), u_hat)"), ("(m, v, u)", "(m_hat, v, u_hat)")),
    T_COUNTS,
    *division("u_hat", "m_hat"),
    *COUPLED_DECAY,
    DECAY_DIVIDED,
    decay_not_squared(("(1 - b1) * g", "(1 - b1) * (g + decay * p)")),
)
