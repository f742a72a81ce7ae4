"""Every transform against torch's, and the promises of the interface: pure, vmapped, resumable, refusing nonsense."""

import inspect
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import vmap

from course_lib import optim
from course_lib.optim import (
    Stepper,
    Transform,
    adadelta,
    adafactor,
    adagrad,
    adam,
    adamw,
    add_decay,
    amsgrad,
    apply_steps,
    chain,
    clip_norm,
    clip_value,
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

# Those that torch does not have are held to their papers in test_optim_papers.py; the promises below are theirs too.
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


@pytest.fixture
def float64_by_default():
    """torch keeps NAdam's product of momenta in the default dtype."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("float64_by_default")
@pytest.mark.parametrize("name", PAIRS)
def test_equal_to_torch_over_many_steps(name):
    """Every kind of gradient at once, a row of each tensor for each kind: only Adafactor mixes them."""
    params, generator = fresh()
    params = params[:1] + [torch.stack([p] * len(GRADIENTS)) for p in params]
    stream = []
    for t in range(STEPS):
        plain = [torch.randn(s, dtype=torch.float64, generator=generator) for s in SHAPES]
        stream.append(plain[:1] + [torch.stack([kind(t, g) for kind in GRADIENTS.values()]) for g in plain])
    hold_to_torch(name, params, stream)


@pytest.mark.parametrize("kind", GRADIENTS)
@pytest.mark.parametrize("name", [n for n in PAIRS if "adafactor" in n])
def test_adafactor_equals_torch_on_each_kind_by_itself(name, kind):
    params, generator = fresh()
    draw = [[torch.randn(s, dtype=torch.float64, generator=generator) for s in SHAPES] for _ in range(STEPS)]
    hold_to_torch(name, params, [[GRADIENTS[kind](t, g) for g in grads] for t, grads in enumerate(draw)])


def hold_to_torch(name: str, params: list[Tensor], stream: list[list[Tensor]]) -> None:
    transform, oracle_class, arguments = PAIRS[name]
    theirs = [p.clone().requires_grad_() for p in params]
    oracle, state = oracle_class(theirs, **arguments), transform.init(params)
    for t, grads in enumerate(stream):
        for p, g in zip(theirs, grads, strict=True):
            p.grad = g.clone()
        oracle.step()
        steps, state = transform.update(grads, state, params)
        params = apply_steps(params, steps)
        if t % 10 == 0 or t == STEPS - 1:
            assert_same(params, theirs)


@pytest.mark.parametrize("scale", [0.0, 1e-9, 0.1, 1.0, 1e9])
@pytest.mark.parametrize("limit", [0.0, 0.5, 1.0, 50.0])
@pytest.mark.parametrize(
    ("make", "oracle"), [(clip_norm, nn.utils.clip_grad_norm_), (clip_value, nn.utils.clip_grad_value_)]
)
def test_clipping_equals_torch(make, oracle, limit, scale):
    params, generator = fresh()
    grads = [scale * torch.randn(p.shape, dtype=p.dtype, generator=generator) for p in params]
    for p, g in zip(params, grads, strict=True):
        p.grad = g.clone()
    oracle(params, limit)
    clipped, _ = make(limit).update(grads, make(limit).init(params), params)
    assert_same(clipped, [p.grad for p in params])


def test_clip_norm_keeps_the_direction_and_clip_value_does_not():
    grads = [torch.tensor([3.0, 0.0]), torch.tensor([[4.0]])]
    by_norm, _ = clip_norm(1.0).update(grads, clip_norm(1.0).init(grads), grads)
    by_value, _ = clip_value(1.0).update(grads, clip_value(1.0).init(grads), grads)
    torch.testing.assert_close(torch.cat([g.flatten() for g in by_norm]), torch.tensor([0.6, 0.0, 0.8]))
    torch.testing.assert_close(torch.cat([g.flatten() for g in by_value]), torch.tensor([1.0, 0.0, 1.0]))


def test_what_clip_norm_does_with_a_gradient_that_is_not_finite():
    poisoned = [torch.tensor([1.0, float("inf")]), torch.tensor([2.0])]
    clipped, _ = clip_norm(1.0).update(poisoned, clip_norm(1.0).init(poisoned), poisoned)
    assert clipped[0][0] == clipped[1][0] == 0
    assert clipped[0][1].isnan()
    poisoned = [torch.tensor([1.0, float("nan")]), torch.tensor([2.0])]
    assert all(g.isnan().all() for g in clip_norm(1.0).update(poisoned, clip_norm(1.0).init(poisoned), poisoned)[0])


def test_centered_rmsprop_survives_the_constant_gradient_on_which_torch_gives_nan():
    ours, theirs = [torch.zeros(50)], torch.zeros(50, requires_grad=True)
    grad = torch.linspace(0.1, 3, 50)
    transform = rmsprop(0.01, 0.5, centered=True)
    oracle = torch.optim.RMSprop([theirs], lr=0.01, alpha=0.5, centered=True)
    state = transform.init(ours)
    for _ in range(100):
        theirs.grad = grad.clone()
        oracle.step()
        steps, state = transform.update([grad], state, ours)
        ours = apply_steps(ours, steps)
    assert theirs.isnan().any()
    assert ours[0].isfinite().all()


def test_the_first_step_of_adam_is_lr_whatever_the_gradient():
    params, grads = [torch.zeros(4, dtype=torch.float64)], [torch.tensor([1e-3, -1.0, 1e5, -1e9], dtype=torch.float64)]
    steps, _ = adam(0.01).update(grads, adam(0.01).init(params), params)
    torch.testing.assert_close(steps[0], -0.01 * grads[0].sign(), rtol=2e-5, atol=0)


def test_l2_inside_adam_is_not_decay_beside_it():
    params, grads = [torch.tensor([1.0, 1.0])], [torch.tensor([0.0, 5.0])]
    beside, _ = adamw(0.1, decay=0.5).update(grads, adamw(0.1).init(params), params)
    inside = chain(add_decay(0.5), adam(0.1))
    torch.testing.assert_close(beside[0], torch.tensor([-0.05, -0.15]))
    torch.testing.assert_close(inside.update(grads, inside.init(params), params)[0][0], torch.tensor([-0.1, -0.1]))


def test_plain_descent_keeps_no_tensor_of_the_parameters_size():
    params = [torch.zeros(1000)]
    floats = {"gd": sgd(0.1), "momentum": sgd(0.1, 0.9), "adam": adam()}
    kept = {n: sum(t.numel() for t in _flat(f.init(params)) if t.numel() > 1) for n, f in floats.items()}
    assert kept == {"gd": 0, "momentum": 1000, "adam": 2000}


def _flat(state):
    return [state] if isinstance(state, Tensor) else [t for part in state for t in _flat(part)]


class Count(NamedTuple):
    step: Tensor


def scheduled(factor) -> Transform:
    """What a schedule is here: one more transform in the chain, a function of the step."""

    def update(grads, state, params):
        return [factor(state.step) * g for g in grads], Count(state.step + 1)

    return Transform(lambda params: Count(torch.zeros((), dtype=torch.float64)), update)


LINEAR = ["momentum", "nesterov", "adam, betas, eps", "adamw, decay", "rmsprop", "adagrad"]
LINEAR += ["amsgrad, decay beside", "nadam, decay beside", "radam, decay beside", "adadelta"]


@pytest.mark.usefixtures("float64_by_default")
@pytest.mark.parametrize("name", LINEAR)
def test_a_schedule_after_an_optimizer_is_torchs_schedule(name):
    transform, oracle_class, arguments = PAIRS[name]
    transform = chain(transform, scheduled(lambda t: 1 / (1 + 0.3 * t)))
    params, generator = fresh()
    theirs = [p.clone().requires_grad_() for p in params]
    oracle, state = oracle_class(theirs, **arguments), transform.init(params)
    schedule = torch.optim.lr_scheduler.LambdaLR(oracle, lambda t: 1 / (1 + 0.3 * t))
    for _ in range(STEPS):
        grads = [torch.randn(p.shape, dtype=p.dtype, generator=generator) for p in params]
        for p, g in zip(theirs, grads, strict=True):
            p.grad = g.clone()
        oracle.step()
        schedule.step()
        steps, state = transform.update(grads, state, params)
        params = apply_steps(params, steps)
    assert_same(params, theirs)


FAMILIES = {
    "sgd": sgd,
    "momentum": lambda lr: sgd(lr, 0.9),
    "nesterov": lambda lr: sgd(lr, 0.9, nesterov=True),
    "dampened": lambda lr: sgd(lr, 0.9, dampening=0.5),
    "momentum itself": lambda beta: sgd(0.1, beta),
    "dampening itself": lambda d: sgd(0.1, 0.9, dampening=d),
    "adagrad": adagrad,
    "rmsprop": rmsprop,
    "rmsprop centered": lambda lr: rmsprop(lr, centered=True),
    "b2 itself": lambda b2: rmsprop(0.1, b2),
    "adam": adam,
    "b1 itself": lambda b1: adam(0.1, b1),
    "adamw": adamw,
    "decay itself": lambda decay: adamw(0.1, decay=decay),
    "clip_norm": lambda limit: chain(clip_norm(limit), sgd(0.1)),
    "clip_value": lambda limit: chain(clip_value(limit), adam(0.1)),
    "add_decay": lambda decay: chain(add_decay(decay), sgd(0.1)),
    "shrink": lambda rate: chain(sgd(0.1), decoupled_decay(rate)),
    "amsgrad": amsgrad,
    "nadam": nadam,
    "nadam's b1": lambda b1: nadam(0.1, b1),
    "nadam's warmth": lambda warmth: nadam(0.1, warmth=warmth),
    "radam": radam,
    "radam's b2": lambda b2: radam(0.1, b2=b2),
    "adadelta": adadelta,
    "adadelta's rho": lambda rho: adadelta(rho=rho),
    "adadelta's eps": lambda eps: adadelta(eps=eps),
    "lion": lion,
    "lion's b1": lambda b1: lion(0.1, b1),
    "adafactor": adafactor,
    "adafactor's power": lambda power: adafactor(power=power),
    "adafactor's limit": lambda limit: adafactor(limit=1 + limit),
    "adafactor's eps2": lambda eps2: adafactor(eps2=eps2),
    "muon": muon,
    "muon's beta": lambda beta: muon(0.1, beta),
    "schedule_free": lambda lr: schedule_free(sgd(lr)),
    "schedule_free's beta": lambda beta: schedule_free(adam(0.1, 0.0), beta),
    "schedule_free's warmup": lambda warmup: schedule_free(sgd(0.1), warmup=10 * warmup),
    "shampoo": shampoo,
    "soap": soap,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sweep_under_vmap_equals_one_run_after_another(family):
    start, _ = fresh(3)
    target, _ = fresh(4)

    def run(value, *params):
        transform, params = FAMILIES[family](value), list(params)
        state = transform.init(params)
        for _ in range(12):
            grads = [p - c for p, c in zip(params, target, strict=True)]
            steps, state = transform.update(grads, state, params)
            params = apply_steps(params, steps)
        return tuple(params)

    values = torch.tensor([0.01, 0.1, 0.5, 0.9], dtype=torch.float64)
    together = vmap(run, in_dims=(0, *[None] * len(start)))(values, *start)
    for i, value in enumerate(values):
        assert_same([p[i] for p in together], run(value, *start))
        assert_same([p[i] for p in together], run(float(value), *start))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_population_steps_under_vmap_with_its_state_outside(name):
    """What a vmapped training loop does: parameters and state carry a leading axis between calls."""
    transform, members = TRANSFORMS[name], 3
    crowd = [torch.stack([q + i for i in range(members)]) for q in fresh()[0]]
    state = vmap(transform.init)(crowd)
    grads = [p.sin() for p in crowd]
    for _ in range(3):
        steps, state = vmap(transform.update)(grads, state, crowd)
        crowd = apply_steps(crowd, steps)
    for i in range(members):
        alone = [q + i for q in fresh()[0]]
        s, g = transform.init(alone), [q.sin() for q in alone]
        for _ in range(3):
            steps, s = transform.update(g, s, alone)
            alone = apply_steps(alone, steps)
        assert_same([p[i] for p in crowd], alone)


def test_a_trajectory_can_be_differentiated_by_the_learning_rate():
    lr = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    params = [torch.ones((), dtype=torch.float64)]
    transform = sgd(lr)
    for _ in range(5):
        steps, _ = transform.update([2.0 * params[0]], transform.init(params), params)
        params = apply_steps(params, steps)
    (slope,) = torch.autograd.grad(params[0], lr)
    assert float(slope) == pytest.approx(-2 * 5 * 0.8**4)  # of (1 - 2 lr)^5


shapes = st.lists(st.lists(st.integers(0, 3), max_size=4).map(tuple), min_size=1, max_size=3)


@pytest.mark.parametrize("name", TRANSFORMS)
@settings(max_examples=15, deadline=None)
@given(shapes=shapes, seed=st.integers(0, 2**31), dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]))
def test_an_update_keeps_shape_and_dtype_and_changes_nothing_it_was_given(name, shapes, seed, dtype):
    transform, generator = TRANSFORMS[name], torch.Generator().manual_seed(seed)
    params, grads = ([torch.randn(s, generator=generator).to(dtype) for s in shapes] for _ in range(2))
    state = transform.init(params)
    for _ in range(3):
        given = [*params, *grads, *_flat(state)]
        before = [t.clone() for t in given]
        steps, after = transform.update(grads, state, params)
        assert all(torch.equal(a, b) for a, b in zip(given, before, strict=True))
        assert [(s.shape, s.dtype) for s in steps] == [(p.shape, p.dtype) for p in params]
        assert [(s.shape, s.dtype) for s in _flat(after)] == [(s.shape, s.dtype) for s in _flat(state)]
        state = after


@settings(max_examples=30, deadline=None)
@given(shapes=shapes, seed=st.integers(0, 2**31), limit=st.floats(1e-3, 10))
def test_a_clipped_gradient_is_never_longer_than_the_limit(shapes, seed, limit):
    generator = torch.Generator().manual_seed(seed)
    grads = [torch.randn(s, dtype=torch.float64, generator=generator) for s in shapes]
    clipped, _ = clip_norm(limit).update(grads, clip_norm(limit).init(grads), grads)
    assert sum(float((g * g).sum()) for g in clipped) ** 0.5 <= limit * (1 + 1e-12)


REFUSED = [
    (sgd, {"lr": -0.1}, "sgd: lr must be at least 0 and finite, got -0.1"),
    (sgd, {"lr": float("nan")}, "sgd: lr must be at least 0 and finite, got nan"),
    (sgd, {"lr": float("inf")}, "sgd: lr must be at least 0 and finite, got inf"),
    (sgd, {"lr": 0.1, "beta": 1.0}, "sgd: beta must be at least 0 and below 1, got 1.0"),
    (sgd, {"lr": 0.1, "beta": 0.9, "dampening": -1}, "sgd: dampening must be at least 0 and below 1, got -1"),
    (sgd, {"lr": 0.1, "nesterov": True}, "sgd: nesterov needs beta above 0 and no dampening"),
    (sgd, {"lr": 0.1, "beta": 0.9, "nesterov": True, "dampening": 0.1}, "sgd: nesterov needs"),
    (adagrad, {"eps": -1e-8}, "adagrad: eps must be"),
    (adagrad, {"lr": -1}, "adagrad: lr must be"),
    (adagrad, {"initial": -1}, "adagrad: initial must be"),
    (rmsprop, {"lr": -1}, "rmsprop: lr must be"),
    (rmsprop, {"b2": 1.0}, "rmsprop: b2 must be"),
    (rmsprop, {"eps": -1}, "rmsprop: eps must be"),
    (adam, {"lr": -1}, "adam: lr must be"),
    (adam, {"b1": 1.0}, "adam: b1 must be at least 0 and below 1, got 1.0"),
    (adam, {"b2": -0.1}, "adam: b2 must be"),
    (adam, {"eps": -1}, "adam: eps must be"),
    (adamw, {"b2": 1.5}, "b2 must be at least 0 and below 1, got 1.5"),
    (adamw, {"decay": -0.1}, "adamw: decay must be"),
    (add_decay, {"decay": -0.1}, "add_decay: decay must be"),
    (clip_norm, {"limit": -1.0}, "clip_norm: limit must be"),
    (clip_value, {"limit": -1.0}, "clip_value: limit must be"),
    (decoupled_decay, {"rate": -0.1}, "shrink: rate must be"),
    (amsgrad, {"lr": -1}, "amsgrad: lr must be"),
    (amsgrad, {"b1": 1}, "amsgrad: b1 must be"),
    (amsgrad, {"b2": 1}, "amsgrad: b2 must be"),
    (amsgrad, {"eps": -1}, "amsgrad: eps must be"),
    (nadam, {"lr": -1}, "nadam: lr must be"),
    (nadam, {"b1": 1}, "nadam: b1 must be"),
    (nadam, {"b2": 1}, "nadam: b2 must be"),
    (nadam, {"eps": -1}, "nadam: eps must be"),
    (nadam, {"warmth": -1}, "nadam: warmth must be"),
    (radam, {"lr": -1}, "radam: lr must be"),
    (radam, {"b1": 1}, "radam: b1 must be"),
    (radam, {"b2": 1}, "radam: b2 must be"),
    (radam, {"eps": -1}, "radam: eps must be"),
    (adadelta, {"lr": -1}, "adadelta: lr must be"),
    (adadelta, {"rho": 1}, "adadelta: rho must be"),
    (adadelta, {"eps": -1}, "adadelta: eps must be"),
    (lion, {"lr": -1}, "lion: lr must be"),
    (lion, {"b1": 1}, "lion: b1 must be"),
    (lion, {"b2": 1}, "lion: b2 must be"),
    (adafactor, {"lr": -1}, "adafactor: lr must be"),
    (adafactor, {"power": -1}, "adafactor: power must be"),
    (adafactor, {"limit": 0.5}, "adafactor: limit must be at least 1 and finite, got 0.5"),
    (adafactor, {"eps1": -1}, "adafactor: eps1 must be"),
    (adafactor, {"eps2": -1}, "adafactor: eps2 must be"),
    (muon, {"lr": -1}, "muon: lr must be"),
    (muon, {"beta": 1}, "muon: beta must be"),
    (schedule_free, {"base": sgd(0.1), "beta": 1}, "schedule_free: beta must be"),
    (schedule_free, {"base": sgd(0.1), "warmup": -1}, "schedule_free: warmup must be"),
    (shampoo, {"lr": -1}, "shampoo: lr must be"),
    (soap, {"b2": 1.0}, "soap: b2 must be at least 0 and below 1, got 1.0"),
    (shampoo, {"eps": 0.0}, "shampoo: eps must be at least 1e-30 and finite, got 0.0"),
]


@pytest.mark.parametrize(("make", "arguments", "message"), REFUSED)
def test_an_illegal_number_is_refused_by_name(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


@pytest.mark.parametrize("value", ["0.1", None, True])
def test_a_hyper_parameter_that_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="sgd: lr must be a number or a tensor"):
        sgd(value)


PARTS = {"apply_steps", "chain", "negate", "orthogonalize", "partition"}


def test_every_transform_of_the_package_is_in_the_tables_above():
    makers = {n for n in optim.__all__ if inspect.isfunction(getattr(optim, n))} - PARTS
    assert makers == {make.__name__ for make, *_ in REFUSED}


# Stepper


def small(seed: int = 0) -> tuple[nn.Module, Tensor, Tensor]:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)), torch.randn(8, 4), torch.randn(8, 2)


def drive(model, optimizer, x, y, steps) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def test_a_stepper_trains_a_module_as_torch_does():
    (ours, x, y), (theirs, _, _) = small(), small()
    drive(ours, Stepper(ours.parameters(), adamw(0.01)), x, y, 50)
    drive(theirs, torch.optim.AdamW(theirs.parameters(), lr=0.01), x, y, 50)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_run_resumed_from_a_saved_state_is_the_same_run_bit_for_bit(name, tmp_path):
    transform = TRANSFORMS[name]
    model, x, y = small()
    optimizer = Stepper(model.parameters(), transform)
    drive(model, optimizer, x, y, 5)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "run.pt")
    drive(model, optimizer, x, y, 5)

    resumed, _, _ = small(seed=1)
    again = Stepper(resumed.parameters(), transform)
    saved = torch.load(tmp_path / "run.pt", weights_only=True)
    resumed.load_state_dict(saved["model"])
    again.load_state_dict(saved["optimizer"])
    drive(resumed, again, x, y, 5)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), resumed.parameters(), strict=True))


def test_a_state_handed_out_does_not_change_later():
    model, x, y = small()
    optimizer = Stepper(model.parameters(), adam(0.1))
    drive(model, optimizer, x, y, 2)
    handed = optimizer.state_dict()["state"]
    before = [t.clone() for t in handed]
    drive(model, optimizer, x, y, 2)
    assert all(torch.equal(a, b) for a, b in zip(handed, before, strict=True))


def test_a_stepper_leaves_frozen_parameters_alone():
    model, x, y = small()
    model[0].requires_grad_(False)
    before = model[0].weight.clone()
    drive(model, Stepper(model.parameters(), chain(add_decay(0.1), sgd(0.1, 0.9))), x, y, 3)
    assert torch.equal(model[0].weight, before)


def test_a_stepper_refuses_what_it_cannot_drive():
    model, _, _ = small()
    with pytest.raises(ValueError, match="params must hold a tensor that requires a gradient, got none"):
        Stepper([torch.zeros(3)], sgd(0.1))
    with pytest.raises(ValueError, match=r"call backward before step; parameters \[0, 1, 2, 3\] have no gradient"):
        Stepper(model.parameters(), sgd(0.1)).step()
    saved = Stepper(model[0].parameters(), adam()).state_dict()
    with pytest.raises(ValueError, match="the saved state must hold tensors of shapes"):
        Stepper(model.parameters(), adam()).load_state_dict(saved)
