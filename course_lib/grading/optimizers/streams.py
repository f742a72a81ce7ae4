"""The streams of gradients an optimizer is judged on: each brings out mistakes that the others let pass."""

from collections.abc import Mapping, Sequence

import numpy as np

from course_lib.grading.driver import GradientStream

BOLD = {"lr": 0.05, "beta": 0.8, "b1": 0.7, "b2": 0.95, "eps": 1e-2}
TWINS = ((3,), (3,))
MIXED = ((4,), (2, 3), ())


def stream(
    title: str,
    hyper: Mapping[str, float],
    factors: np.ndarray,
    *,
    shapes: Sequence[tuple[int, ...]] = TWINS,
    lr_factors: np.ndarray | float = 1.0,
    sparse: bool = False,
) -> GradientStream:
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
    return GradientStream(title, hyper, hyper["lr"] * np.broadcast_to(lr_factors, len(factors)), start, grads)


def streams(
    defaults: Mapping[str, float], given: Mapping[str, float], free: bool, decays: bool, lr_moves: bool
) -> tuple[GradientStream, ...]:
    """The streams for one optimizer.

    given: the settings asked for, over the defaults. free: the other settings may be changed from stream to stream.
    decays: the optimizer takes a decay. lr_moves: its lr can be changed between steps.
    """
    plain = {**defaults, **given}
    bold = {name: given.get(name, BOLD.get(name, value)) for name, value in plain.items()} if free else plain
    decayed = bold | {"decay": given.get("decay", 0.3)} if free and decays else bold
    fresh = np.full(6, np.nan)
    every = [
        stream("a constant gradient", plain, np.ones(6)),
        stream("random gradients", bold, fresh),
        stream("gradients of alternating sign", plain, np.array([1.0, -1, 1, -1, 1, -1])),
        stream("gradients of 0, then huge ones", plain, np.array([0.0, 0, 1e6, 1e6, 0, 0, 1])),
        stream("tiny gradients, about 1e-12", plain, 1e-12 * np.array([1.0, 2, -1, 3, 0, 1])),
        stream("growing gradients", bold, 4.0 ** np.arange(-3, 5)),
        stream("sparse gradients", bold, np.full(8, np.nan), sparse=True),
        stream("parameters of shapes (4,), (2, 3) and ()", bold, fresh, shapes=MIXED),
        stream("random gradients over 16 steps", bold, np.full(16, np.nan)),
    ]
    if "eps" in plain:
        around = plain["eps"] * np.array([1.0, -1, 2, 0.5, 0, 3])
        every.append(stream("gradients about the size of eps", plain, around))
    if free and decays:
        every += [
            stream("random gradients with weight decay", decayed, fresh),
            stream("gradients of 0 with weight decay", decayed, np.zeros(5)),
        ]
    if lr_moves:
        halved = np.array([1.0, 1, 1, 0.25, 0.25, 0.5])
        every.append(stream("an lr that changes between steps", bold, fresh, lr_factors=halved))
    return tuple(every)
