"""The mistakes known by name: those that any optimizer can have here, with those of the two families."""

from functools import lru_cache
from itertools import combinations

from course_lib.grading.optimizers.cases import Kind
from course_lib.grading.optimizers.flaw import ALL, L2, Flaw, R, flaw
from course_lib.grading.optimizers.flaws_adaptive import ADAPTIVE_FLAWS
from course_lib.grading.optimizers.flaws_momentum import MOMENTUM_FLAWS

SHARED_FLAWS: tuple[Flaw, ...] = (
    *flaw(
        ALL,
        "sign: step | everything",
        "sign of the update",
        "The step goes up the gradient: theta moves by minus lr times the direction.",
    ),
    *flaw(
        ALL,
        "moves: never",
        "parameters never move",
        "The parameters stay where they are: `p = p - ...` names a new tensor, p.sub_(...) moves the old one.",
    ),
    *flaw(
        ALL,
        "moves: parameters returned",
        "returns the parameters, not the steps",
        "What comes back is added to the parameters: return the steps alone, not the new parameters.",
    ),
    *flaw(
        ALL,
        "moves: step returned",
        "returns the steps, not the parameters",
        "What comes back is taken for the new parameters: return theta after its step, not the step alone.",
    ),
    *flaw(ALL, "lr: missing", "lr left out", "The step is not multiplied by lr."),
    *flaw(ALL, "lr: twice", "lr applied twice", "lr multiplies the step twice."),
    *flaw(
        ALL,
        "lr: frozen",
        "a changed lr is ignored",
        "lr was changed between two steps, as a schedule does, and yours went on with the first one.",
    ),
    *flaw(
        ALL,
        "sharing: one for all | t too",
        "state shared between parameters",
        "One state serves all the parameters: each needs its own.",
    ),
    *flaw(
        ("nesterov", "rmsprop"),
        "memory: anew",
        "state started anew at every step",
        "The state starts from zero at every step: make it once, and keep what the last step left in it.",
    ),
    *flaw(
        ALL,
        "zeros: parameter",
        "zero gradients skipped",
        "A parameter whose gradient is 0 is passed over: its state must still decay, its momentum still move it.",
    ),
    *flaw(
        ALL,
        "zeros: entries",
        "entries of zero gradient skipped",
        "Entries whose gradient is 0 are passed over, as in a lazy optimizer: their state must still decay.",
    ),
    *flaw(
        ("sgd", *R),
        "order: old",
        "step taken before the state is updated",
        "The step is made from the state of the step before: first update the state, then use it.",
    ),
    *flaw(ALL, "decay: ignored", "weight decay ignored", "The weight decay that was asked for does nothing."),
    *flaw(ALL, "decay: sign", "sign of the decay", "The weight decay makes the weights grow: its sign is wrong."),
    *flaw(ALL, "decay: doubled", "decay doubled", "The decay is twice what was asked for: lambda theta, without a 2."),
    *flaw(
        L2,
        "decay: beside",
        "decoupled decay",
        "The decay stands beside the step, as in AdamW: here it is L2, part of the gradient from the start.",
    ),
    *flaw(
        L2,
        "decay: both",
        "decay applied twice",
        "The decay is in the gradient and beside the step as well: here it belongs in the gradient alone.",
    ),
    *flaw(
        ALL,
        "decay: without lr",
        "decay not multiplied by lr",
        "The decay beside the step is lambda theta: multiply it by lr.",
    ),
    *flaw(
        ALL,
        "decay: after without lr",
        "decay not multiplied by lr",
        "The decay after the step is lambda theta: multiply it by lr.",
    ),
    *flaw(
        ALL,
        "decay: after",
        "decay after the step",
        "The decay shrinks theta after its step: it takes theta as it was before.",
    ),
)


def mistakes(kind: Kind) -> tuple[Flaw, ...]:
    """Every mistake that can be made in this kind of optimizer."""
    return tuple(f for f in (*SHARED_FLAWS, *MOMENTUM_FLAWS, *ADAPTIVE_FLAWS) if kind in f.kinds)


@lru_cache
def candidates(kind: Kind, size: int) -> tuple[tuple[Flaw, ...], ...]:
    """Every set of `size` mistakes that can be made together: one in a slot, none in what another leaves out."""
    return tuple(flaws for flaws in combinations(mistakes(kind), size) if size == 1 or possible(flaws))


def possible(flaws: tuple[Flaw, ...]) -> bool:
    made = {f.slot: f.value for f in flaws}
    uncorrected = made.get("bias") in ("none", "only mean")
    return len(made) == len(flaws) and not (uncorrected and "before correction" in made.get("root", ""))
