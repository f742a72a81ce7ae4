"""Every transform against torch's over many steps, alone and behind a schedule."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from course_lib.optim import (
    Transform,
    apply_steps,
    chain,
    rmsprop,
)
from tests.optim.tables import GRADIENTS, PAIRS, SHAPES, STEPS, assert_same, fresh


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
