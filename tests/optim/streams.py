"""Streams of gradients of several kinds, and a run of a transform on one."""

import torch

from course_lib.optim import (
    apply_steps,
)

STEPS = 50
KINDS = {
    "ordinary": lambda t, g: g,
    "zero": lambda t, g: 0 * g,
    "rare": lambda t, g: g * (t % 7 == 0),
    "mostly zero": lambda t, g: g * (g > 1.3),
    "tiny": lambda t, g: 1e-12 * g,
    "huge": lambda t, g: 1e12 * g,
}


def gradients(kind, shapes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [
        [KINDS[kind](t, torch.randn(s, dtype=torch.float64, generator=generator)) for s in shapes] for t in range(STEPS)
    ]


def starts(shapes, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(s, dtype=torch.float64, generator=generator) for s in shapes]


def run(transform, params, stream):
    state = transform.init(params)
    for grads in stream:
        steps, state = transform.update(grads, state, params)
        params = apply_steps(params, steps)
    return params, state
