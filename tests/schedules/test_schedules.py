"""Every schedule against torch's over two periods and more; under vmap; behind an optimizer; refusing nonsense."""

import math

import pytest
import torch
from torch import Tensor
from torch.func import vmap
from torch.optim import lr_scheduler as oracle

from course_lib.optim import Stepper, adam, adamw, apply_steps, chain, sgd
from course_lib.schedules import (
    PlateauState,
    constant,
    cosine,
    exponential,
    inverse_sqrt,
    join,
    one_cycle,
    polynomial,
    product,
    reduce_on_plateau,
    scale_by_schedule,
    step_decay,
    warm_restarts,
    warmup,
    warmup_stable_decay,
)

LR = 0.3


def sequence(o):
    return oracle.SequentialLR(o, [oracle.LinearLR(o, 0.1, 1, 10), oracle.CosineAnnealingLR(o, 40)], [10])


def three_parts(o):
    parts = [oracle.LinearLR(o, 0.2, 1, 6), oracle.ConstantLR(o, 1, 9), oracle.LinearLR(o, 1, 0.05, 15)]
    return oracle.SequentialLR(o, parts, [6, 15])


PAIRS = {  # ours, torch's, steps compared
    "constant": (constant(0.5), lambda o: oracle.ConstantLR(o, 0.5, 100), 50),
    "step": (step_decay(7, 0.5), lambda o: oracle.StepLR(o, 7, 0.5), 50),
    "step, default": (step_decay(10), lambda o: oracle.StepLR(o, 10), 50),
    "step every": (step_decay(1, 0.9), lambda o: oracle.StepLR(o, 1, 0.9), 50),
    "exponential": (exponential(0.9), lambda o: oracle.ExponentialLR(o, 0.9), 100),
    "exponential, rising": (exponential(1.1), lambda o: oracle.ExponentialLR(o, 1.1), 100),
    "linear": (polynomial(20), lambda o: oracle.PolynomialLR(o, 20), 50),
    "polynomial": (polynomial(20, 2.5), lambda o: oracle.PolynomialLR(o, 20, 2.5), 50),
    "linear, floor": (polynomial(20, floor=0.1), lambda o: oracle.LinearLR(o, 1, 0.1, 20), 50),
    "warmup": (warmup(20, 0.2), lambda o: oracle.LinearLR(o, 0.2, 1, 20), 50),
    "cosine": (cosine(20), lambda o: oracle.CosineAnnealingLR(o, 20), 90),
    "cosine, floor": (cosine(13, 0.1), lambda o: oracle.CosineAnnealingLR(o, 13, 0.1 * LR), 90),
    "cosine, one step": (cosine(1), lambda o: oracle.CosineAnnealingLR(o, 1), 9),
    "restarts": (warm_restarts(7), lambda o: oracle.CosineAnnealingWarmRestarts(o, 7), 50),
    "restarts x 2": (
        warm_restarts(7, 2, 0.1),
        lambda o: oracle.CosineAnnealingWarmRestarts(o, 7, 2, 0.1 * LR),
        7 * 127 + 2,
    ),
    "restarts x 3": (warm_restarts(5, 3), lambda o: oracle.CosineAnnealingWarmRestarts(o, 5, 3), 5 * 121 + 2),
    "one cycle": (one_cycle(50), lambda o: oracle.OneCycleLR(o, LR, 50), 50),
    "one cycle, linear": (
        one_cycle(33, 0.41, 0.1, 0.001, "linear"),
        lambda o: oracle.OneCycleLR(
            o, LR, 33, pct_start=0.41, anneal_strategy="linear", div_factor=10, final_div_factor=100
        ),
        33,
    ),
    "warmup, cosine": (join(warmup(10, 0.1), cosine(40), at=10), sequence, 130),
    "warmup, stable, decay": (warmup_stable_decay(6, 9, 15, 0.2, 0.05), three_parts, 70),
    "product": (
        product(warmup(10, 0.5), exponential(0.97)),
        lambda o: oracle.ChainedScheduler([oracle.LinearLR(o, 0.5, 1, 10), oracle.ExponentialLR(o, 0.97)], o),
        50,
    ),
}


def torch_curve(make, steps: int) -> Tensor:
    """What torch's scheduler multiplies the peak lr by, at each of these steps."""
    optimizer = torch.optim.SGD([torch.zeros((), requires_grad=True)], lr=LR)
    scheduler, curve = make(optimizer), []
    for _ in range(steps):
        curve.append(optimizer.param_groups[0]["lr"] / LR)
        optimizer.step()
        if len(curve) < steps:
            scheduler.step()
    return torch.tensor(curve, dtype=torch.float64)


@pytest.mark.filterwarnings("ignore:The epoch parameter in:UserWarning")
@pytest.mark.parametrize("name", PAIRS)
def test_equal_to_torch_at_every_step(name):
    schedule, make, steps = PAIRS[name]
    want = torch_curve(make, steps)
    torch.testing.assert_close(schedule(torch.arange(steps)), want, rtol=1e-12, atol=1e-12)
    assert [schedule(t) for t in range(steps)] == pytest.approx(want.tolist(), rel=1e-12, abs=1e-12)
    assert isinstance(schedule(0), float)


def test_inverse_sqrt_with_warmup_is_vaswani_s():
    t, w = torch.arange(1, 200, dtype=torch.float64), 30
    want = torch.minimum(t**-0.5, t * w**-1.5) * w**0.5
    torch.testing.assert_close(product(warmup(w), inverse_sqrt(w))(t), want)
    assert inverse_sqrt(w)(3) == inverse_sqrt(w)(w) == 1
    assert inverse_sqrt(w)(4 * w) == pytest.approx(0.5)


@pytest.mark.parametrize(("period", "growth"), [(1, 1), (3, 1), (1, 2), (7, 2), (10, 3), (6, 7)])
def test_restarts_fall_on_the_step_even_after_millions(period, growth):
    schedule, start, length = warm_restarts(period, growth), 0, period
    while start + length < 10**8 and length < 10**6 * period:
        assert schedule(start) == 1
        if length > 1:
            assert schedule(start + length - 1) < 0.51
        start, length = start + length, length * growth
        if growth == 1:
            start += 10**5 * period


def test_restarts_may_grow_by_a_fraction():
    schedule = warm_restarts(10, 1.5)
    assert schedule(10) == schedule(25) == 1
    assert schedule(24) < 0.02


def test_no_warmup_is_none():
    assert warmup(0)(0) == warmup(0)(5) == 1
    assert warmup_stable_decay(0, 0, 4)(torch.arange(6)).tolist() == [1, 0.75, 0.5, 0.25, 0, 0]
    curve = join(warmup(0), cosine(10), at=0)(torch.arange(30))
    assert torch.equal(curve, cosine(10)(torch.arange(30)))


def test_one_cycle_may_begin_at_its_peak_and_stays_at_its_end():
    assert one_cycle(10, 0.1)(0) == 1  # where torch divides by zero
    assert one_cycle(20, end=0.01)(torch.tensor([19, 20, 500])).tolist() == pytest.approx([0.01] * 3)


def test_then_nests():
    schedule = join(constant(0.5), join(constant(0.2), constant(0.1), at=3), at=2)
    assert schedule(torch.arange(7)).tolist() == pytest.approx([0.5] * 2 + [0.2] * 3 + [0.1] * 2)


SWEPT = {  # a schedule of one hyper-parameter, and values for it
    "constant": (constant, [0.1, 1.0, 2.0]),
    "step": (lambda v: step_decay(v, 0.5), [1, 5, 9]),
    "step, factor": (lambda v: step_decay(4, v), [0.1, 0.5, 1.0]),
    "exponential": (exponential, [0.5, 0.9, 1.0]),
    "polynomial": (lambda v: polynomial(20, v), [0.5, 1.0, 3.0]),
    "inverse_sqrt": (inverse_sqrt, [1, 7, 30]),
    "warmup": (warmup, [0, 1, 10]),
    "cosine": (cosine, [1, 10, 25]),
    "cosine, floor": (lambda v: cosine(10, v), [0.0, 0.1, 1.0]),
    "restarts": (lambda v: warm_restarts(v, 2), [1, 5, 8]),
    "restarts, growth": (lambda v: warm_restarts(4, v), [1.5, 2.0, 3.0]),
    "one_cycle": (lambda v: one_cycle(40, v), [0.1, 0.3, 0.9]),
    "one_cycle, steps": (one_cycle, [10, 20, 30]),
    "warmup, stable, decay": (lambda v: warmup_stable_decay(v, v, 10), [0, 3, 9]),
    "then": (lambda v: join(warmup(v), cosine(20), at=v), [0, 4, 9]),
    "times": (lambda v: product(warmup(v), inverse_sqrt(5)), [0, 4, 9]),
}


@pytest.mark.parametrize("name", SWEPT)
def test_hyper_parameters_may_be_tensors_under_vmap(name):
    make, values = SWEPT[name]
    t = torch.arange(40)
    many = vmap(lambda value: vmap(make(value))(t))(torch.tensor(values, dtype=torch.float64))
    torch.testing.assert_close(many, torch.stack([make(v)(t) for v in values]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_behind_an_optimizer_it_is_torch_with_a_scheduler(dtype):
    schedule = join(warmup(5, 0.2), cosine(15, 0.1), at=5)
    ours = [torch.randn(s, dtype=dtype, generator=torch.Generator().manual_seed(1)) for s in ((), (3, 2))]
    cases = [
        (adamw(0.1, decay=0.2), lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.2)),
        (sgd(0.1, 0.9), lambda p: torch.optim.SGD(p, 0.1, 0.9)),
    ]
    for transform, reference in cases:
        transform, params = chain(transform, scale_by_schedule(schedule)), ours
        theirs = [p.clone().requires_grad_() for p in ours]
        optimizer = reference(theirs)
        scheduler = oracle.LambdaLR(optimizer, schedule)
        state = transform.init(params)
        for _ in range(40):
            optimizer.zero_grad()
            sum((p**4).sum() + p.sum() for p in theirs).backward()
            optimizer.step()
            scheduler.step()
            steps, state = transform.update([4 * p**3 + 1 for p in params], state, params)
            params = apply_steps(params, steps)
        assert [p.dtype for p in params] == [dtype] * 2
        for a, b in zip(params, theirs, strict=True):
            torch.testing.assert_close(
                a, b.detach(), rtol=10 * torch.finfo(dtype).eps, atol=10 * torch.finfo(dtype).eps
            )


def test_a_stepper_goes_on_in_the_middle_of_a_schedule():
    def started():
        p = torch.tensor([3.0, -2.0], requires_grad=True)
        return p, Stepper([p], chain(adam(0.1), scale_by_schedule(warm_restarts(4, 2))))

    def go(p, stepper, steps):
        for _ in range(steps):
            stepper.zero_grad()
            (p**2).sum().backward()
            stepper.step()

    whole, stepper = started()
    go(whole, stepper, 20)
    half, stepper = started()
    go(half, stepper, 9)
    rest, later = started()
    rest.data.copy_(half.data)
    later.load_state_dict(stepper.state_dict())
    go(rest, later, 11)
    assert torch.equal(whole, rest)


PLATEAUS = {
    "default": {},
    "impatient": {"factor": 0.5, "patience": 0},
    "cooled": {"factor": 0.5, "patience": 2, "cooldown": 3},
    "floor": {"factor": 0.3, "patience": 1, "floor": 0.02},
    "demanding": {"factor": 0.7, "patience": 1, "threshold": 0.2},
}


@pytest.mark.parametrize("losses", ["noisy", "falling", "NaN"])
@pytest.mark.parametrize("name", PLATEAUS)
def test_reduce_on_plateau_equals_torch(name, losses):
    arguments = PLATEAUS[name]
    floor = arguments.get("floor", 0.0)
    optimizer = torch.optim.SGD([torch.zeros((), requires_grad=True)], lr=LR)
    theirs = {k: v for k, v in arguments.items() if k != "floor"} | {"min_lr": floor * LR, "eps": 0.0}
    scheduler = oracle.ReduceLROnPlateau(optimizer, **theirs)
    plateau = reduce_on_plateau(**arguments)
    state = plateau.transform.init([])
    values = torch.rand(120, generator=torch.Generator().manual_seed(3), dtype=torch.float64) + 1
    if losses == "falling":
        values = values.sort(descending=True).values
    if losses == "NaN":
        values[40:] = math.nan
    for loss in values:
        scheduler.step(float(loss))
        state = plateau.observe(state, loss)
        assert float(state.scale) * LR == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12)
    if losses == "NaN":
        assert state.scale < 0.05


def test_a_plateau_finds_its_state_inside_a_chain_and_scales_the_steps():
    plateau = reduce_on_plateau(0.5, patience=0)
    p = torch.tensor([1.0], requires_grad=True)
    stepper = Stepper([p], chain(sgd(0.1, 0.9), chain(plateau.transform)))
    for loss in (1.0, 2.0):
        stepper.state = plateau.observe(stepper.state, loss)
    p.grad = torch.tensor([2.0])
    stepper.step()
    torch.testing.assert_close(p.detach(), torch.tensor([0.9]))
    assert isinstance(stepper.state[1][0], PlateauState)


def test_many_plateaus_run_under_vmap():
    losses = torch.tensor([[3.0, 2.0, 2.0, 2.0, 2.0], [3.0, 2.0, 1.0, 0.5, 0.5]])

    def run(series, factor):
        plateau = reduce_on_plateau(factor, patience=1)
        state = plateau.transform.init([])
        for loss in series:
            state = plateau.observe(state, loss)
        return state.scale

    assert vmap(run)(losses, torch.tensor([0.1, 0.2])).tolist() == pytest.approx([0.1, 1.0])


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: constant(-1), ValueError, "constant: factor must be at least 0 and finite, got -1"),
        (lambda: step_decay(0), ValueError, "step_decay: every must be at least 1, got 0"),
        (lambda: step_decay(2.5), TypeError, "step_decay: every must be a whole number or a tensor, got 2.5"),
        (lambda: step_decay(2, math.inf), ValueError, "step_decay: factor must be at least 0 and finite, got inf"),
        (lambda: exponential(-0.5), ValueError, "exponential: rate must be at least 0"),
        (lambda: polynomial(-1), ValueError, "polynomial: steps must be at least 0, got -1"),
        (lambda: polynomial(5, -1), ValueError, "polynomial: power must be at least 0"),
        (lambda: inverse_sqrt(0), ValueError, "inverse_sqrt: steps must be at least 1, got 0"),
        (lambda: warmup(-5), ValueError, "warmup: steps must be at least 0, got -5"),
        (lambda: warmup(True), TypeError, "warmup: steps must be a whole number or a tensor, got True"),
        (lambda: warmup(5, "a"), TypeError, "warmup: start must be a number or a tensor, got 'a'"),
        (lambda: cosine(0), ValueError, "cosine: steps must be at least 1, got 0"),
        (lambda: cosine(5, math.nan), ValueError, "cosine: floor must be at least 0 and finite, got nan"),
        (lambda: warm_restarts(0), ValueError, "warm_restarts: period must be at least 1, got 0"),
        (lambda: warm_restarts(5, 0.5), ValueError, "warm_restarts: growth must be at least 1 and finite, got 0.5"),
        (lambda: one_cycle(1), ValueError, "one_cycle: steps must be at least 2, got 1"),
        (lambda: one_cycle(10, 1.0), ValueError, "one_cycle: rise must be at least 0 and below 1, got 1.0"),
        (lambda: one_cycle(10, 0.05), ValueError, r"one_cycle: rise \* steps must be at least 1, got rise=0.05"),
        (lambda: one_cycle(10, shape="cos"), ValueError, "one_cycle: shape must be 'cosine' or 'linear', got 'cos'"),
        (lambda: warmup_stable_decay(1, -2, 3), ValueError, "warmup_stable_decay: stable must be at least 0, got -2"),
        (lambda: join(constant(), constant(), at=-1), ValueError, "join: at must be at least 0, got -1"),
        (lambda: cosine(5)(-1), ValueError, "schedule: the step must be at least 0 and finite, got -1"),
        (lambda: cosine(5)("a"), TypeError, "schedule: the step must be a number or a tensor, got 'a'"),
        (lambda: reduce_on_plateau(1.0), ValueError, "reduce_on_plateau: factor must be at least 0 and below 1"),
        (lambda: reduce_on_plateau(patience=-1), ValueError, "reduce_on_plateau: patience must be at least 0, got -1"),
        (lambda: reduce_on_plateau(cooldown=0.5), TypeError, "reduce_on_plateau: cooldown must be a whole number"),
    ],
)
def test_illegal_values_are_refused_by_name(build, error, message):
    with pytest.raises(error, match=message):
        build()
