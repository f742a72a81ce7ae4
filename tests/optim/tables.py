"""Every optimizer of the package with torch's, the kinds of gradients they are tried on, and what the tests share."""

import torch
from torch import Tensor

from course_lib.optim import (
    adadelta,
    adafactor,
    adagrad,
    adam,
    adamw,
    add_decay,
    amsgrad,
    chain,
    decoupled_decay,
    lion,
    muon,
    nadam,
    negate,
    partition,
    radam,
    rmsprop,
    schedule_free,
    sgd,
    shampoo,
    soap,
)

SHAPES = [(), (3,), (2, 3), (2, 1, 3), (2, 2, 1, 2)]
STEPS = 50

PAIRS = {
    "gd": (sgd(0.1), torch.optim.SGD, {"lr": 0.1}),
    "gd still": (sgd(0.0), torch.optim.SGD, {"lr": 0.0}),
    "momentum": (sgd(0.1, 0.9), torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    "heavy momentum": (sgd(0.01, 0.99), torch.optim.SGD, {"lr": 0.01, "momentum": 0.99}),
    "dampened": (
        sgd(0.1, 0.9, dampening=0.3),
        torch.optim.SGD,
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
    ),
    "nesterov": (sgd(0.1, 0.8, nesterov=True), torch.optim.SGD, {"lr": 0.1, "momentum": 0.8, "nesterov": True}),
    "momentum, decay": (
        chain(add_decay(0.05), sgd(0.1, 0.9)),
        torch.optim.SGD,
        {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.05},
    ),
    "adagrad": (adagrad(), torch.optim.Adagrad, {}),
    "adagrad, eps, initial": (
        adagrad(0.5, 1e-3, initial=0.1),
        torch.optim.Adagrad,
        {"lr": 0.5, "eps": 1e-3, "initial_accumulator_value": 0.1},
    ),
    "rmsprop": (rmsprop(), torch.optim.RMSprop, {}),
    "rmsprop, b2, eps": (rmsprop(0.1, 0.9, 1e-3), torch.optim.RMSprop, {"lr": 0.1, "alpha": 0.9, "eps": 1e-3}),
    "rmsprop centered": (
        rmsprop(0.02, 0.95, 1e-4, centered=True),
        torch.optim.RMSprop,
        {"lr": 0.02, "alpha": 0.95, "eps": 1e-4, "centered": True},
    ),
    "adam": (adam(), torch.optim.Adam, {}),
    "adam, betas, eps": (
        adam(0.05, 0.7, 0.95, 1e-3),
        torch.optim.Adam,
        {"lr": 0.05, "betas": (0.7, 0.95), "eps": 1e-3},
    ),
    "adam without momentum": (adam(0.01, 0.0, 0.99), torch.optim.Adam, {"lr": 0.01, "betas": (0.0, 0.99)}),
    "adam, L2": (chain(add_decay(0.1), adam(0.01)), torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.1}),
    "adamw": (adamw(), torch.optim.AdamW, {}),
    "adamw, decay": (
        adamw(0.03, 0.8, 0.99, 1e-6, 0.2),
        torch.optim.AdamW,
        {"lr": 0.03, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.2},
    ),
    "amsgrad": (amsgrad(), torch.optim.Adam, {"amsgrad": True}),
    "amsgrad, betas, eps, L2": (
        chain(add_decay(0.1), amsgrad(0.05, 0.7, 0.9, 1e-3)),
        torch.optim.Adam,
        {"lr": 0.05, "betas": (0.7, 0.9), "eps": 1e-3, "weight_decay": 0.1, "amsgrad": True},
    ),
    "amsgrad, decay beside": (
        chain(amsgrad(0.02, b2=0.9), decoupled_decay(0.02 * 0.3)),
        torch.optim.AdamW,
        {"lr": 0.02, "betas": (0.9, 0.9), "weight_decay": 0.3, "amsgrad": True},
    ),
    "nadam": (nadam(), torch.optim.NAdam, {}),
    "nadam, betas, eps, warmth": (
        nadam(0.05, 0.7, 0.95, 1e-3, 0.3),
        torch.optim.NAdam,
        {"lr": 0.05, "betas": (0.7, 0.95), "eps": 1e-3, "momentum_decay": 0.3},
    ),
    "nadam, L2": (chain(add_decay(0.1), nadam()), torch.optim.NAdam, {"weight_decay": 0.1}),
    "nadam, decay beside": (
        chain(nadam(0.02), decoupled_decay(0.02 * 0.3)),
        torch.optim.NAdam,
        {"lr": 0.02, "weight_decay": 0.3, "decoupled_weight_decay": True},
    ),
    "radam": (radam(), torch.optim.RAdam, {}),
    "radam, betas, eps": (
        radam(0.05, 0.7, 0.95, 1e-3),
        torch.optim.RAdam,
        {"lr": 0.05, "betas": (0.7, 0.95), "eps": 1e-3},
    ),
    "radam that never divides": (radam(0.05, 0.9, 0.6), torch.optim.RAdam, {"lr": 0.05, "betas": (0.9, 0.6)}),
    "radam, L2": (chain(add_decay(0.1), radam(0.01)), torch.optim.RAdam, {"lr": 0.01, "weight_decay": 0.1}),
    "radam, decay beside": (
        chain(radam(0.02), decoupled_decay(0.02 * 0.3)),
        torch.optim.RAdam,
        {"lr": 0.02, "weight_decay": 0.3, "decoupled_weight_decay": True},
    ),
    "adadelta": (adadelta(), torch.optim.Adadelta, {}),
    "adadelta, rho, eps, L2": (
        chain(add_decay(0.1), adadelta(0.3, 0.7, 1e-3)),
        torch.optim.Adadelta,
        {"lr": 0.3, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.1},
    ),
    "climbing with momentum and L2": (
        chain(negate(), add_decay(0.05), sgd(0.1, 0.9)),
        torch.optim.SGD,
        {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.05, "maximize": True},
    ),
    "climbing with amsgrad": (
        chain(negate(), amsgrad(0.01), decoupled_decay(0.01 * 0.1)),
        torch.optim.AdamW,
        {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True, "maximize": True},
    ),
    "climbing with nadam": (chain(negate(), nadam()), torch.optim.NAdam, {"maximize": True}),
    "climbing with radam": (chain(negate(), radam()), torch.optim.RAdam, {"maximize": True}),
    "climbing with adadelta": (chain(negate(), adadelta()), torch.optim.Adadelta, {"maximize": True}),
    "adafactor": (adafactor(), torch.optim.Adafactor, {}),
    "adafactor, power, limit, eps, decay": (
        chain(negate(), adafactor(0.3, 0.5, 2.0, eps1=1e-4, eps2=0.1), decoupled_decay(0.3 * 0.2)),
        torch.optim.Adafactor,
        {"lr": 0.3, "beta2_decay": -0.5, "d": 2.0, "eps": (1e-4, 0.1), "weight_decay": 0.2, "maximize": True},
    ),
}

# Those that torch does not have are held to their papers in test_papers.py; the promises below are theirs too.
TRANSFORMS = {name: transform for name, (transform, *_) in PAIRS.items()} | {
    "lion": chain(lion(0.01), decoupled_decay(0.01)),
    "muon": muon(),
    "muon among others": partition(
        lambda p: p.ndim == 3, sgd(0.1), muon(0.1, nesterov=False, match_rms=True, rest=lion())
    ),
    "schedule-free SGD": schedule_free(sgd(0.1)),
    "schedule-free AdamW": schedule_free(chain(adam(0.1, 0.0), decoupled_decay(0.01)), warmup=5),
    "shampoo": shampoo(),
    "soap": soap(),
}

GRADIENTS = {
    "ordinary": lambda t, g: g,
    "pulled": lambda t, g: g + 3,
    "zero": lambda t, g: 0 * g,
    "zero at first": lambda t, g: g * (t >= 10),
    "rare": lambda t, g: g * (t % 7 == 0),
    "mostly zero": lambda t, g: g * (g > 1.3),
    "tiny": lambda t, g: 1e-12 * g,
    "underflowing": lambda t, g: 1e-200 * g,
    "huge": lambda t, g: 1e12 * g,
    "one spike": lambda t, g: g * (1e8 if t == 20 else 1),
}


def fresh(seed: int = 0) -> tuple[list[Tensor], torch.Generator]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(s, dtype=torch.float64, generator=generator) for s in SHAPES], generator


def assert_same(ours: list[Tensor], theirs: list[Tensor]) -> None:
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b.detach(), rtol=1e-10, atol=1e-10)


def flat(state):
    """All tensors of a state."""
    return [state] if isinstance(state, Tensor) else [t for part in state for t in flat(part)]
