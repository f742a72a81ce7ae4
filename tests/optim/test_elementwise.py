"""One formula for floats, arrays and tensors: a rule run by hand takes the steps of the transform made of it."""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from course_lib.errors import ContractError
from course_lib.optim import (
    adadelta,
    adam,
    adamw,
    amsgrad,
    apply_steps,
    chain,
    clip_norm,
    clip_value,
    decoupled_decay,
    elementwise,
    lion,
    maximum,
    muon,
    on_numbers,
    partition,
    radam,
    rmsprop,
    root,
    sgd,
    sign,
    steps_on,
    where,
)
from course_lib.schedules import cosine, scale_by_schedule
from tests.optim.tables import TRANSFORMS, flat

NAN, INF = float("nan"), float("inf")
RULES = {name: t for name, t in TRANSFORMS.items() if t.rule}
RULES["clipped, decayed, scheduled"] = chain(
    clip_value(0.5), adam(0.1), decoupled_decay(0.01), scale_by_schedule(cosine(30))
)


def path(transform, start, gradients):
    """The changes that the transform makes of float64 tensors, (steps, ...)."""
    params = [torch.as_tensor(start, dtype=torch.float64)]
    state, changes = transform.init(params), []
    for g in gradients:
        steps, state = transform.update([torch.as_tensor(g)], state, params)
        params = apply_steps(params, steps)
        changes.append(steps[0])
    return torch.stack(changes).numpy()


def stream(*shape):
    """40 gradients of every size, some of them 0."""
    generator = np.random.default_rng(0)
    return (
        generator.normal(size=(40, *shape))
        * 10.0 ** generator.integers(-3, 3, 40).reshape(-1, *[1] * len(shape))
        * (generator.random((40, *shape)) < 0.8)
    )


# One formula


def test_all_that_work_entry_by_entry_have_a_rule_and_no_others():
    without = {"adafactor", "adafactor, power, limit, eps, decay", "muon", "muon among others", "shampoo", "soap"}
    assert TRANSFORMS.keys() - RULES.keys() == without | {"schedule-free SGD", "schedule-free AdamW"}
    assert clip_norm(1.0).rule is None
    assert partition(lambda p: True, sgd(0.1), adam()).rule is None


@pytest.mark.parametrize("name", RULES)
def test_floats_take_the_steps_of_tensors(name):
    gradients = stream()
    by_hand = steps_on(RULES[name], gradients, 0.7)
    assert {type(change) for change in by_hand} == {float}
    np.testing.assert_allclose(by_hand, path(RULES[name], 0.7, gradients), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("name", RULES)
def test_arrays_take_the_steps_of_tensors(name):
    gradients, start = stream(3, 2), np.linspace(-1, 1, 6).reshape(3, 2)
    by_hand = np.stack(steps_on(RULES[name], gradients, start))
    np.testing.assert_allclose(by_hand, path(RULES[name], start, gradients), rtol=1e-9, atol=1e-13)


def test_a_rule_follows_the_parameter_where_gradients_depend_on_it():
    step, p = on_numbers(adamw(0.1, decay=0.5), 3.0), 3.0
    params = [torch.tensor(3.0, dtype=torch.float64)]
    state = adamw(0.1, decay=0.5).init(params)
    for _ in range(50):
        p += step(2 * p)
        steps, state = adamw(0.1, decay=0.5).update([2 * params[0]], state, params)
        params = apply_steps(params, steps)
    assert p == pytest.approx(float(params[0]), rel=1e-9)


@pytest.mark.parametrize("make", [sgd, adam, rmsprop, adadelta, amsgrad, lion, lambda lr: radam(lr, b2=0.9)])
def test_an_array_of_learning_rates_is_a_sweep(make):
    lrs = np.array([0.01, 0.1, 1.0])
    together = np.stack(steps_on(make(lrs), stream()))
    for i, lr in enumerate(lrs):
        np.testing.assert_allclose(together[:, i], steps_on(make(float(lr)), stream()), rtol=1e-9, atol=1e-13)
    tensors = torch.stack(steps_on(make(torch.as_tensor(lrs)), torch.as_tensor(stream())))
    np.testing.assert_allclose(tensors, together, rtol=1e-9, atol=1e-13)


def test_a_schedule_in_a_chain_counts_from_0_on_floats_too():
    halved = chain(sgd(1.0), scale_by_schedule(lambda t: 0.5**t))
    assert steps_on(halved, [1.0, 1.0, 1.0]) == [-1.0, -0.5, -0.25]


def test_where_python_would_raise_a_float_becomes_nan_and_the_run_goes_on():
    changes = steps_on(adam(0.1, eps=0.0), [0.0, 1.0, 1.0])
    np.testing.assert_allclose(changes, path(adam(0.1, eps=0.0), 0.0, np.array([0.0, 1.0, 1.0])))
    assert np.isnan(changes[0])
    assert np.isfinite(changes[1:]).all()
    np.testing.assert_allclose(steps_on(radam(0.1, b2=0.6), [1.0] * 5), [-0.1] * 5)  # (4) divides by 0


@pytest.mark.parametrize("transform", [clip_norm(1.0), muon(), chain(clip_norm(1.0), adam()), None])
def test_a_transform_that_mixes_entries_is_refused_by_name(transform):
    with pytest.raises(TypeError, match="on_numbers: transform must work entry by entry, as adam does, got"):
        steps_on(transform, [1.0])


# Lifting


class CoastState(NamedTuple):
    t: Tensor
    fuel: Tensor
    velocity: list[Tensor]
    best: list[Tensor]


def coast(t, g, row, p):
    fuel, velocity, best = row
    velocity = fuel * velocity - g
    return velocity * t, (fuel * 0.5, velocity, maximum(best, velocity))


def test_a_rule_of_ones_own_is_counted_zipped_and_started():
    transform, params = elementwise(CoastState, coast, fuel=0.8, best=-1.0), [torch.ones(2), torch.ones(())]
    state = transform.init(params)
    assert [leaf.tolist() for leaf in flat(state)] == [0.0, 0.8, [0.0, 0.0], 0.0, [-1.0, -1.0], -1.0]
    steps, state = transform.update([torch.tensor([3.0, -2.0]), torch.tensor(0.0)], state, params)
    assert [s.tolist() for s in steps] == [[-3.0, 2.0], 0.0]
    assert [leaf.tolist() for leaf in flat(state)] == [1.0, 0.4, [-3.0, 2.0], 0.0, [-1.0, 2.0], 0.0]
    assert steps_on(transform, [-2.0, 1.0]) == pytest.approx([2.0, -0.4])
    assert transform.update([], transform.init([]), [])[1].t == 1


def test_a_row_of_the_wrong_length_is_named():
    wrong, params = elementwise(CoastState, lambda t, g, row, p: (g, row[:1])), [torch.ones(1)]
    with pytest.raises(ContractError, match="elementwise: step must return a row of 3, got a tuple of 1"):
        wrong.update(params, wrong.init(params), params)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.int64])
def test_parameters_without_an_order_or_without_fractions_are_refused(dtype):
    with pytest.raises(TypeError, match=f"parameters must be real floating-point tensors, got one of {dtype}"):
        adam().init([torch.ones(2), torch.ones(2, dtype=dtype)])


def test_slots_need_no_gradient_even_where_the_parameters_do():
    state = adam().init([torch.ones(2, requires_grad=True)])
    assert not any(leaf.requires_grad for leaf in flat(state))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_state_is_on_the_device_of_the_parameters(name):
    """ "meta" stands for a second device: it refuses to compute with tensors of another, as CUDA does."""
    params = [torch.ones(s, device="meta") for s in [(3, 2), (4,), (2, 2, 2)]]
    state = TRANSFORMS[name].init(params)
    for _ in range(2):
        steps, state = TRANSFORMS[name].update(params, state, params)
    assert {leaf.device.type for leaf in [*flat(state), *steps]} == {"meta"}


# Helpers

VALUES = [-INF, -2.0, -0.0, 0.0, 0.25, 3.0, INF, NAN]


@pytest.mark.parametrize("x", VALUES)
def test_the_helpers_say_the_same_of_floats_arrays_and_tensors(x):
    helpers = [
        sign,
        root,
        *(lambda a, y=y: maximum(a, y) for y in VALUES),
        *(lambda a, y=y: maximum(y, a) for y in VALUES),
    ]
    helpers += [lambda a: where(a > 0.1, a, 2.0 * a)]
    for helper in helpers:
        number, array, tensor = helper(x), helper(np.array([x])), helper(torch.tensor([x], dtype=torch.float64))
        assert isinstance(number, float)
        np.testing.assert_array_equal(array, [number])
        np.testing.assert_array_equal(tensor, [number])
        np.testing.assert_array_equal(helper(np.float64(x)), number)
