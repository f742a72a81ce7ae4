"""The mistakes known by name in a velocity, and in Nesterov's look-ahead: edits of `course_lib.optim.sgd`."""

from course_lib.grading.mistake import Mistake
from course_lib.grading.optimizers.shared import COUPLED_DECAY, FORGETS, SHARED, SKIPS, late

LOOK = "g + beta * v if nesterov else v"
GRADIENT = "v + (g if undamped"

VELOCITY = (
    Mistake(
        "lr inside the velocity",
        "lr is inside the velocity, v = beta v + lr g: the same until lr changes, and then old gradients still"
        " move by the old lr. Here, as in torch, lr multiplies v on its way out.",
        [("(v,) = row", "(v,) = row\n        g = lr * g"), ("-lr * (", "-(")],
    ),
    Mistake(
        "dampening",
        "The gradient enters the velocity with weight 1 - beta: here it enters whole, v = beta v + g.",
        (GRADIENT, "v + ((1 - beta) * g if undamped"),
        (GRADIENT, "v + (where(t == 1, g, (1 - beta) * g) if undamped"),
    ),
    Mistake(
        "beta and 1 - beta exchanged",
        "The old velocity got the weight 1 - beta and the gradient beta: v = beta v + g.",
        (f"beta * {GRADIENT}", "(1 - beta) * v + (beta * g if undamped"),
    ),
    Mistake(
        "beta on the gradient too",
        "beta multiplies the new gradient as well: v = beta v + g, not beta (v + g).",
        (GRADIENT, "v + (beta * g if undamped"),
    ),
    Mistake(
        "velocity never decays",
        "The velocity adds up all gradients: the old one must be multiplied by beta.",
        (f"beta * {GRADIENT}", GRADIENT),
    ),
    Mistake(
        "velocity is the gradient's own array",
        "The first velocity is the gradient itself, not a copy: when the next gradient is written there, v is lost.",
        ("rows[i], p)", "(grads[i],) if t == 2 and not l2 else rows[i], p)"),
    ),
)

HEAVY_BALL = (
    *SHARED,
    *SKIPS,
    late((LOOK, "row[0]")),
    *COUPLED_DECAY,
    VELOCITY[0],
    Mistake(
        "momentum not accumulated",
        "The velocity is forgotten after every step, so that this is plain gradient descent: keep v in the state.",
        ("rows[i], p)", "start, p)"),
    ),
    *VELOCITY[1:],
    Mistake(
        "look-ahead where there is none",
        "g + beta v is Nesterov's step: the heavy ball moves by v alone.",
        (LOOK, "g + beta * v"),
    ),
)

NESTEROV = (
    *SHARED,
    *SKIPS,
    FORGETS,
    *COUPLED_DECAY,
    *VELOCITY,
    Mistake(
        "no look-ahead",
        "The step is v, the heavy ball's; g + beta v with the *old* v is v again. Nesterov takes the new v there.",
        (LOOK, "v"),
    ),
    Mistake("no momentum", "The step is lr g, and v has no part in it: g + beta v.", (LOOK, "g")),
    Mistake(
        "look-ahead without beta",
        "The look-ahead is g + v: v must be multiplied by beta once more.",
        (LOOK, "g + v"),
    ),
    Mistake(
        "look-ahead adds the velocity to itself",
        "The look-ahead is v + beta v: the first term is the gradient, g + beta v.",
        (LOOK, "v + beta * v"),
    ),
    Mistake(
        "gradient left out of the look-ahead",
        "The step is beta v: the gradient itself is missing, g + beta v.",
        (LOOK, "beta * v"),
    ),
    Mistake(
        "look-ahead with the old velocity",
        "The look-ahead uses the old velocity: g + beta v takes v after its update.",
        (LOOK, "v + beta * row[0]"),
    ),
)
