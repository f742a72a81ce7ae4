"""The mistakes known by name in a velocity, and in Nesterov's look-ahead."""

from course_lib.grading.optimizers.flaw import Flaw, M, flaw

MOMENTUM_FLAWS: tuple[Flaw, ...] = (
    *flaw(
        M,
        "lr: inside",
        "lr inside the velocity",
        "lr stands inside the velocity, v = beta v + lr g: the same until lr changes, and then old gradients still"
        " move by the old lr. Here, as in torch, lr multiplies v on its way out.",
    ),
    *flaw(
        ("sgd",),
        "memory: anew",
        "momentum not accumulated",
        "The velocity is forgotten after every step, so that this is plain gradient descent: keep v in the state.",
    ),
    *flaw(
        M,
        "velocity: dampened | dampened after the first",
        "dampening",
        "The gradient enters the velocity with weight 1 - beta: here it enters whole, v = beta v + g.",
    ),
    *flaw(
        M,
        "velocity: complement",
        "beta and 1 - beta exchanged",
        "The old velocity got the weight 1 - beta and the gradient beta: v = beta v + g.",
    ),
    *flaw(
        M,
        "velocity: beta on both",
        "beta on the gradient too",
        "beta multiplies the new gradient as well: v = beta v + g, not beta (v + g).",
    ),
    *flaw(
        M,
        "velocity: beta missing",
        "velocity never decays",
        "The velocity adds up all gradients: the old one must be multiplied by beta.",
    ),
    *flaw(
        M,
        "start: gradient's own array",
        "velocity is the gradient's own array",
        "The first velocity is the gradient itself, not a copy: when the next gradient is written there, v goes.",
    ),
    *flaw(
        ("sgd",),
        "look: ",
        "look-ahead where there is none",
        "g + beta v is Nesterov's step: the heavy ball moves by v alone.",
    ),
    *flaw(
        ("nesterov",),
        "look: none",
        "no look-ahead",
        "The step is v, the heavy ball's; g + beta v with the *old* v is v again. Nesterov takes the new v there.",
    ),
    *flaw(("nesterov",), "look: plain", "no momentum", "The step is lr g, and v has no part in it: g + beta v."),
    *flaw(
        ("nesterov",),
        "look: beta missing",
        "look-ahead without beta",
        "The look-ahead is g + v: v must be multiplied by beta once more.",
    ),
    *flaw(
        ("nesterov",),
        "look: velocity twice",
        "look-ahead adds the velocity to itself",
        "The look-ahead is v + beta v: the first term is the gradient, g + beta v.",
    ),
    *flaw(
        ("nesterov",),
        "look: gradient left out",
        "gradient left out of the look-ahead",
        "The step is beta v: the gradient itself is missing, g + beta v.",
    ),
    *flaw(
        ("nesterov",),
        "look: old velocity",
        "look-ahead with the old velocity",
        "The old velocity stands in the look-ahead: g + beta v takes v after its update.",
    ),
)
