"""The promises of the interface: pure, vmapped, differentiable, refusing nonsense."""

import inspect

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import vmap

from course_lib import optim
from course_lib.optim import (
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
    radam,
    rmsprop,
    schedule_free,
    sgd,
    shampoo,
    soap,
)
from tests.optim.tables import TRANSFORMS, assert_same, flat, fresh


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
    kept = {n: sum(t.numel() for t in flat(f.init(params)) if t.numel() > 1) for n, f in floats.items()}
    assert kept == {"gd": 0, "momentum": 1000, "adam": 2000}


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
    "decoupled_decay": lambda rate: chain(sgd(0.1), decoupled_decay(rate)),
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
    "shampoo": lambda lr: shampoo(lr, 1.0),
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
        given = [*params, *grads, *flat(state)]
        before = [t.clone() for t in given]
        steps, after = transform.update(grads, state, params)
        assert all(torch.equal(a, b) for a, b in zip(given, before, strict=True))
        assert [(s.shape, s.dtype) for s in steps] == [(p.shape, p.dtype) for p in params]
        assert [(s.shape, s.dtype) for s in flat(after)] == [(s.shape, s.dtype) for s in flat(state)]
        state = after


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
    (decoupled_decay, {"rate": -0.1}, "decoupled_decay: rate must be"),
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
    (adam, {"lr": np.array([0.1, -0.2])}, "adam: lr must be at least 0 and finite, got -0.2"),
    (adam, {"b1": np.array([0.1, np.nan])}, "adam: b1 must be at least 0 and below 1, got nan"),
]


@pytest.mark.parametrize(("make", "arguments", "message"), REFUSED)
def test_an_illegal_number_is_refused_by_name(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


@pytest.mark.parametrize("value", ["0.1", None, True])
def test_a_hyper_parameter_that_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="sgd: lr must be a number or a tensor"):
        sgd(value)


PARTS = {"apply_steps", "chain", "negate", "orthogonalize", "partition", "in_dtype", "landing"}
PARTS |= {"elementwise", "on_numbers", "steps_on", "where", "maximum", "sign", "root"}


def test_every_transform_of_the_package_is_in_the_tables_above():
    makers = {n for n in optim.__all__ if inspect.isfunction(getattr(optim, n))} - PARTS
    assert makers == {make.__name__ for make, *_ in REFUSED}
