"""The mistakes known by name in the running means of gradients and squares: edits of a rule's own lines."""

from course_lib.grading.mistake import Mistake

M, V = "b1 * m + (1 - b1)", "b2 * v + (1 - b2)"
KEPT, SQUARE = "b2 * v + ", "(1 - b2) * g * g"

MEAN = (
    Mistake("gradient not weighted by 1 - b1", "m = b1 m + (1 - b1) g: 1 - b1 is missing.", ("(1 - b1) * g", "g")),
    Mistake("m never decays", "m adds up the gradients: the old m must be multiplied by b1.", ("b1 * m + ", "m + ")),
    Mistake(
        "m not accumulated",
        "m holds the last gradient alone: the old m is forgotten, or multiplied by 0.",
        ("b1 * m + ", ""),
    ),
    Mistake(
        "gradient in place of its mean",
        "The step uses g where m, its mean, belongs.",
        ("m_hat / (", "g / ("),
        ("m_hat = m", "m_hat = g"),
    ),
    Mistake(
        "m squared in place of g",
        "v averages m^2: it averages g^2, the square of the gradient itself.",
        ("g * g", "m * m"),
    ),
)

SQUARES = (
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

NOT_AVERAGED = Mistake(
    "square not averaged",
    "v is the last g^2 itself: it is a running mean of the squares.",
    (KEPT + SQUARE, "g * g"),
)

NOT_KEPT = Mistake(
    "v not accumulated",
    "v holds the last square alone: the old v is forgotten, or multiplied by 0.",
    (KEPT, ""),
)


def betas(who: str) -> tuple[Mistake, ...]:
    """b1 and b2 in each other's place, from the line on that checks the settings, or in an average alone."""
    line = f'legal("{who}", lr=lr, b1=b1, b2=b2, eps=eps)'
    return (
        Mistake(
            "b1 and b2 exchanged", "b1 and b2 have changed places: m decays by b1, v by b2.", (line, "b1, b2 = b2, b1")
        ),
        Mistake(
            "b1 used for both averages",
            "v decays by b1, as m does: it has a b of its own, b2.",
            (V, "b1 * v + (1 - b1)"),
            (line, "b2 = b1"),
        ),
        Mistake(
            "b2 used for both averages",
            "m decays by b2, as v does: it has a b of its own, b1.",
            (M, "b2 * m + (1 - b2)"),
            (line, "b1 = b2"),
        ),
        Mistake(
            "b and 1 - b exchanged",
            "The old average got the weight 1 - b, and the new value b: b is what is kept.",
            (line, "b1, b2 = 1 - b1, 1 - b2"),
            [(M, "(1 - b1) * m + b1"), (V, "(1 - b2) * v + b2")],
        ),
    )


def started(row: str) -> tuple[Mistake, ...]:
    """A state that does not start at 0; `row` is what it starts at, of the first gradient."""
    return (
        Mistake(
            "state started at the first gradient",
            "The averages start at the first gradient and its square: they start at 0.",
            ("rows[i], p)", f"rows[i] if t > 1 else {row}, p)"),
        ),
        Mistake("v started at one", "v starts at 1: it starts at 0.", ("State, step", "State, step, square=1.0")),
    )
