"""The gradient sequences an optimizer is judged on: each brings out mistakes that the others let pass."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from course_lib import optim
from course_lib.optim import Transform

Kind = Literal["sgd", "nesterov", "rmsprop", "adam", "adamw"]
Hyper = Mapping[str, float]
Arrays = list[np.ndarray]

DEFAULTS: dict[Kind, dict[str, float]] = {
    "sgd": {"lr": 0.05, "beta": 0.9, "decay": 0.0},
    "nesterov": {"lr": 0.05, "beta": 0.9, "decay": 0.0},
    "rmsprop": {"lr": 0.01, "b2": 0.99, "eps": 1e-8, "decay": 0.0},
    "adam": {"lr": 1e-3, "b1": 0.9, "b2": 0.999, "eps": 1e-8, "decay": 0.0},
    "adamw": {"lr": 1e-3, "b1": 0.9, "b2": 0.999, "eps": 1e-8, "decay": 0.01},
}
BOLD = {"lr": 0.05, "beta": 0.8, "b1": 0.7, "b2": 0.95, "eps": 1e-2}
TWINS = ((3,), (3,))
MIXED = ((4,), (2, 3), ())


def reference(kind: Kind, hyper: Hyper) -> Transform:
    """The course's own optimizer; decay is L2 in the gradient but for adamw. ValueError for an illegal setting."""
    h = dict(hyper)
    if kind == "adamw":
        return optim.adamw(**h)
    decay = optim.add_decay(h.pop("decay"))
    if kind in ("sgd", "nesterov"):
        return optim.chain(decay, optim.sgd(h["lr"], h["beta"], nesterov=kind == "nesterov"))
    if kind == "rmsprop":
        return optim.chain(decay, optim.rmsprop(h["lr"], h["b2"], h["eps"]))
    return optim.chain(decay, optim.adam(**h))


@dataclass(frozen=True, eq=False)
class Sequence:
    """Gradients for several parameters over T steps, float64; lrs (T,) is constant but where its change is the test."""

    title: str
    hyper: Hyper
    lrs: np.ndarray
    start: Arrays
    grads: list[Arrays]

    @property
    def settings(self) -> str:
        return ", ".join(f"{name}={value:g}" for name, value in self.hyper.items())


@lru_cache(maxsize=256)
def joined(case: Sequence) -> Sequence:
    """The same gradients for one parameter, all of them end to end: quicker, and no other to elementwise optimizers."""
    start, *grads = ([np.concatenate([a.ravel() for a in arrays])] for arrays in (case.start, *case.grads))
    return replace(case, start=start, grads=grads)


def sequence(title: str, hyper: Hyper, factors: np.ndarray, *, shapes=TWINS, lr_factors=1.0, sparse=False) -> Sequence:
    """Step t's gradient is factors[t] times a fixed normal draw, or a fresh one where factors[t] is NaN."""
    random = np.random.default_rng(sum(map(ord, title)))
    pattern = [random.normal(size=s) for s in shapes]
    grads = []
    for factor in factors:
        fresh = [np.asarray(random.normal(size=s)) for s in shapes]
        grads.append(fresh if np.isnan(factor) else [np.asarray(factor * p) for p in pattern])
    if sparse:
        for t, step in enumerate(grads):
            for i, g in enumerate(step):
                g[(np.arange(g.size).reshape(g.shape) + t) % 2 == 1] = 0.0
                if (t + i) % 3 == 1:
                    g[...] = 0.0
    start = [np.asarray(random.normal(size=s)) for s in shapes]
    return Sequence(title, hyper, hyper["lr"] * np.broadcast_to(lr_factors, len(factors)), start, grads)


@lru_cache(maxsize=32)
def sequences(
    kind: Kind, fixed: tuple[tuple[str, float], ...], free: bool, decays: bool, lr_moves: bool
) -> tuple[Sequence, ...]:
    """The sequences for one kind of optimizer.

    fixed: the settings asked for, over the defaults. free: the other settings may be changed from case to case.
    decays: the optimizer takes a decay. lr_moves: its lr can be changed under way.
    """
    given = dict(fixed)
    plain = DEFAULTS[kind] | given
    bold = {name: given.get(name, BOLD.get(name, value)) for name, value in plain.items()} if free else plain
    decayed = bold | {"decay": given.get("decay", 0.3)} if free and decays else bold
    fresh = np.full(6, np.nan)
    cases = [
        sequence("a constant gradient", plain, np.ones(6)),
        sequence("random gradients", bold, fresh),
        sequence("gradients of alternating sign", plain, np.array([1.0, -1, 1, -1, 1, -1])),
        sequence("gradients of 0, then huge ones", plain, np.array([0.0, 0, 1e6, 1e6, 0, 0, 1])),
        sequence("tiny gradients, about 1e-12", plain, 1e-12 * np.array([1.0, 2, -1, 3, 0, 1])),
        sequence("growing gradients", bold, 4.0 ** np.arange(-3, 5)),
        sequence("sparse gradients", bold, np.full(8, np.nan), sparse=True),
        sequence("parameters of shapes (4,), (2, 3) and ()", bold, fresh, shapes=MIXED),
        sequence("random gradients over 16 steps", bold, np.full(16, np.nan)),
    ]
    if "eps" in plain:
        around = plain["eps"] * np.array([1.0, -1, 2, 0.5, 0, 3])
        cases.append(sequence("gradients about the size of eps", plain, around))
    if free and decays:
        cases += [
            sequence("random gradients with weight decay", decayed, fresh),
            sequence("gradients of 0 with weight decay", decayed, np.zeros(5)),
        ]
    if lr_moves:
        halved = np.array([1.0, 1, 1, 0.25, 0.25, 0.5])
        cases.append(sequence("an lr that changes under way", bold, fresh, lr_factors=halved))
    return tuple(cases)
