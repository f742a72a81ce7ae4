"""The mistakes known by name that any optimizer can have: most are edits of the driver."""

from course_lib.grading.mistake import Mistake
from course_lib.grading.mutate import Edit

NO_L2, NO_DECAY = (" + l2 * p", ""), (" - lr * decay * p", "")
COUNT_ALL = ("step(t, ", "step((t - 1) * len(theta) + i + 1, ")
SKIP = "if not grads[i].any():\n                continue\n            "
LAZY = "rows[i] = tuple(np.where(grads[i] == 0, old, new) for old, new in zip(rows[i], row))"

SHARED = (
    Mistake(
        "sign of the update",
        "The step goes up the gradient: theta moves by minus lr times the direction.",
        ("p + move", "p - move"),
        [("p + move", "p - move"), ("- lr * decay", "+ lr * decay")],
    ),
    Mistake(
        "parameters never move",
        "The parameters stay where they are: `p = p - ...` names a new tensor, p.sub_(...) moves the old one.",
        ("p + move - lr * decay * p", "p"),
    ),
    Mistake(
        "returns the parameters, not the steps",
        "What comes back is added to the parameters: return the steps alone, not the new parameters.",
        ("p + move", "p + p + move"),
    ),
    Mistake(
        "returns the steps, not the parameters",
        "What comes back is taken for the new parameters: return theta after its step, not the step alone.",
        ("p + move", "move"),
    ),
    Mistake(
        "lr left out",
        "The step is not multiplied by lr.",
        ("= stream.lrs[t - 1]", "= 1.0"),
        ("make(lr=lr)", "make(lr=1.0)"),
    ),
    Mistake("lr applied twice", "lr multiplies the step twice.", ("stream.lrs[t - 1]", "stream.lrs[t - 1] ** 2")),
    Mistake(
        "a changed lr is ignored",
        "lr was changed between two steps, as a schedule does, and yours went on with the first one.",
        ("stream.lrs[t - 1]", "stream.lrs[0]"),
    ),
    Mistake(
        "state shared between parameters",
        "One state serves all the parameters: each needs its own.",
        [("rows[i], p)", "rows[0], p)"), ("rows[i] = row", "rows[0] = row")],
        [("rows[i], p)", "rows[0], p)"), ("rows[i] = row", "rows[0] = row"), COUNT_ALL],
    ),
    Mistake("weight decay ignored", "The weight decay that was asked for does nothing.", [NO_L2, NO_DECAY]),
    Mistake(
        "sign of the decay",
        "The weight decay makes the weights grow: its sign is wrong.",
        [("+ l2", "- l2"), ("- lr * decay", "+ lr * decay")],
    ),
    Mistake(
        "decay doubled",
        "The decay is twice what was asked for: lambda theta, without a 2.",
        [("l2 * p", "2 * l2 * p"), ("lr * decay", "2 * lr * decay")],
    ),
    Mistake(
        "decay not multiplied by lr",
        "The decay beside the step, or after it, is lambda theta: multiply it by lr.",
        [NO_L2, ("lr * decay", "(l2 + decay)")],
        [NO_L2, ("p + move - lr * decay * p", "(p + move) * (1 - (l2 + decay))")],
    ),
    Mistake(
        "decay after the step",
        "The decay shrinks theta after its step: use theta from before the step.",
        [NO_L2, ("p + move - lr * decay * p", "(p + move) * (1 - lr * (l2 + decay))")],
    ),
)

SKIPS = (
    Mistake(
        "zero gradients skipped",
        "A parameter whose gradient is 0 is passed over: its state must still decay, its momentum still move it.",
        ("g = grads[i]", SKIP + "g = grads[i]"),
        [
            ("theta = list(stream.start)", "theta, own = list(stream.start), [0] * len(stream.start)"),
            ("g = grads[i]", SKIP + "own[i] += 1\n            g = grads[i]"),
            ("step(t, ", "step(own[i], "),
        ],
    ),
    Mistake(
        "entries of zero gradient skipped",
        "Entries whose gradient is 0 are passed over, as in a lazy optimizer: their state must still decay.",
        ("rows[i] = row", f"{LAZY}\n            theta[i] = np.where(grads[i] == 0, p, theta[i])"),
    ),
)

COUPLED_DECAY = (
    Mistake(
        "decoupled decay",
        "The decay is applied beside the step, as in AdamW: here it is L2, part of the gradient from the start.",
        [NO_L2, ("lr * decay", "lr * l2")],
    ),
    Mistake(
        "decay applied twice",
        "The decay is in the gradient and beside the step as well: here it belongs in the gradient alone.",
        ("lr * decay", "lr * l2"),
    ),
)

FORGETS = Mistake(
    "state started anew at every step",
    "The state starts from zero at every step: make it once, and keep what the last step left in it.",
    ("rows[i], p)", "start, p)"),
    [("rows[i], p)", "start, p)"), ("step(t, ", "step(1, ")],
)


def late(*edits: Edit) -> Mistake:
    return Mistake(
        "step taken before the state is updated",
        "The step is made from the state of the step before: first update the state, then use it.",
        edits,
    )
