"""The conformance suite for optimizers: it runs yours beside the course's, and names the mistake where they part.

check_sgd_momentum, check_nesterov, check_rmsprop, check_adam and check_adamw take an optimizer in any of three forms:

- a course_lib Transform, or a function (lr, ...) that makes one;
- a class (params, lr, ...) with step() and zero_grad(), as in torch.optim, or a torch.optim class itself;
- a function step(theta, grad, state, lr, ...) -> (theta, state) on one numpy array; state is {} before the first step,
  or what the function has for a default.

Settings go by name: lr; beta (or momentum); b1, b2 (or betas); eps; decay (or weight_decay), optional but for AdamW.
A mistake is named only where your numbers are those of the mistake in every sequence; two are named only where those of
the two together are. A Transform that is made already is judged at the settings given to the check, by default
course_lib's (for sgd lr 0.05, beta 0.9), and its lr is not changed under way.
"""

from typing import Any

from course_lib.grading.blank import does_nothing
from course_lib.grading.optimizers.cases import DEFAULTS, Kind, Sequence, reference, sequences
from course_lib.grading.optimizers.contract import LrStays, NotAttempted, Refusal
from course_lib.grading.optimizers.diagnosis import EPS, Run, alike, diagnose, difference, run
from course_lib.grading.optimizers.forms import form_of
from course_lib.grading.verdict import Verdict

TITLES: dict[Kind, str] = {
    "sgd": "SGD with momentum",
    "nesterov": "Nesterov momentum",
    "rmsprop": "RMSProp",
    "adam": "Adam",
    "adamw": "AdamW",
}


def check_sgd_momentum(optimizer: Any, **settings: float) -> Verdict:
    """Judge v = beta v + g, theta = theta - lr v, with decay as L2; settings: lr, beta, decay."""
    return check_optimizer(optimizer, "sgd", **settings)


def check_nesterov(optimizer: Any, **settings: float) -> Verdict:
    """Judge v = beta v + g, theta = theta - lr (g + beta v), with decay as L2; settings: lr, beta, decay."""
    return check_optimizer(optimizer, "nesterov", **settings)


def check_rmsprop(optimizer: Any, **settings: float) -> Verdict:
    """Judge `course_lib.optim.rmsprop`'s (1) and (3), with decay as L2; settings: lr, b2, eps, decay."""
    return check_optimizer(optimizer, "rmsprop", **settings)


def check_adam(optimizer: Any, **settings: float) -> Verdict:
    """Judge `course_lib.optim.adam`'s (1)-(5), with decay as L2; settings: lr, b1, b2, eps, decay."""
    return check_optimizer(optimizer, "adam", **settings)


def check_adamw(optimizer: Any, **settings: float) -> Verdict:
    """Judge `course_lib.optim.adamw`'s (6): lr * decay * theta beside Adam's step; settings: lr, b1, b2, eps, decay."""
    return check_optimizer(optimizer, "adamw", **settings)


def check_optimizer(optimizer: Any, kind: Kind, **settings: float) -> Verdict:
    """Judge an optimizer of one kind; `settings` are kept in every sequence, the others vary.

    Raises ValueError for a kind that is none and for an illegal setting, TypeError for a setting that the kind has not.
    """
    if kind not in DEFAULTS:
        raise ValueError(f"check_optimizer: kind must be one of {', '.join(DEFAULTS)}, got {kind!r}")
    if unknown := settings.keys() - DEFAULTS[kind].keys():
        raise TypeError(f"check_optimizer: {kind} has the settings {', '.join(DEFAULTS[kind])}, got {min(unknown)!r}")
    reference(kind, DEFAULTS[kind] | settings)

    def say(status, message, evidence="", mistake=""):
        return Verdict(status, TITLES[kind], message, evidence, mistake)

    not_yet = say("not attempted", "Write the optimizer, run its cell, then run this one.")
    if optimizer is None or optimizer is ... or does_nothing(optimizer):
        return not_yet
    if does_nothing(getattr(optimizer, "step", None)) or does_nothing(getattr(optimizer, "update", None)):
        return not_yet
    case, runs = None, []
    try:
        form = form_of(optimizer, kind)
        cases = sequences(kind, tuple(sorted(settings.items())), form.free, form.decays, form.lr_moves)
        for case in cases:
            try:
                runs.append(run(form, case))
            except LrStays:
                cases = tuple(c for c in cases if c is not case)
        again = run(form, cases[0])
    except NotAttempted:
        return not_yet
    except Refusal as refusal:
        return say("wrong", str(refusal), f"case: {case.title}" if case else "", refusal.mistake)
    if not alike(runs[0], again.path, cases[0]):
        return say(
            "wrong",
            "Two runs over the same gradients, each from a fresh start, come out differently: keep the state in the "
            "optimizer, not in a global, a class attribute or a default argument.",
            difference(again, runs[0].path, cases[0]),
            "state survives from run to run",
        )
    if found := diagnose(kind, cases, runs):
        return say("wrong", *found)
    return say("passed", f"Verified: {verified(cases, runs)}.")


def verified(cases: tuple[Sequence, ...], runs: list[Run]) -> str:
    """What a passing optimizer has been shown to do, and what was not tried."""
    digits = "float32's digits" if max(r.precision for r in runs) > EPS else "five digits and more"
    decay = "with weight decay" if any(c.hyper["decay"] for c in cases) else "without weight decay"
    lr = "with an lr that changes" if any(c.lrs.min() < c.lrs.max() for c in cases) else "at one lr"
    return (
        f"each step is the reference's, to {digits}, on {len(cases)} sequences of gradients (tiny, huge, sparse, zero, "
        f"of changing sign), {decay}, {lr}"
    )
