"""Laws of momentum: on quadratics against theory, on the kinked function, on the handwritten digits over seeds."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.data import digits
from course_lib.lectures.momentum import (
    contraction,
    conventions,
    cycle,
    growth,
    own_phase,
    phase,
    smoothness,
    tanh_mlp,
    tuning,
    two_forms,
)
from course_lib.lectures.momentum.cycle import kinked, kinked_slope
from course_lib.lectures.momentum.recurrence import eigenvalues, fitted_rate, oscillates, run, spectral_radius, tuned
from course_lib.lectures.momentum.your_optimizer import KNOWN
from course_lib.optim import sgd
from course_lib.trials import at_the_end, grid, tune

METHODS = ("heavy ball", "Nesterov")


@pytest.mark.parametrize("method", METHODS)
def test_the_fast_recurrence_is_the_library_s_transform_and_torch(method):
    rng = np.random.default_rng(0)
    lr, beta = rng.uniform(0.01, 1.5, 30), rng.uniform(0.01, 0.95, 30)
    path = run(lr, beta, method, 60, 0.8)
    for i in range(30):
        mine = torch.ones(1, dtype=torch.float64)
        theirs = torch.ones(1, dtype=torch.float64, requires_grad=True)
        transform = sgd(float(lr[i]), float(beta[i]), nesterov=method == "Nesterov")
        oracle = torch.optim.SGD([theirs], lr=float(lr[i]), momentum=float(beta[i]), nesterov=method == "Nesterov")
        state = transform.init([mine])
        for t in range(60):
            steps, state = transform.update([0.8 * mine], state, [mine])
            mine = mine + steps[0]
            theirs.grad = 0.8 * theirs.detach()
            oracle.step()
            assert path[t + 1, i] == pytest.approx(float(mine), rel=1e-9, abs=1e-12)
        assert path[-1, i] == pytest.approx(float(theirs.detach()), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
@given(lr=st.floats(1e-3, 5), beta=st.floats(0, 0.99))
@settings(max_examples=50, deadline=None)
def test_the_eigenvalues_are_those_of_the_step_as_a_matrix(method, lr, beta):
    basis = np.eye(2)
    columns = []
    for x, v in basis:  # one step of torch's form on (x, v), column by column
        after = beta * v + x
        columns.append([x - lr * (after if method == "heavy ball" else x + beta * after), after])
    want = np.sort_complex(np.linalg.eigvals(np.array(columns).T))
    np.testing.assert_allclose(np.sort_complex(eigenvalues(lr, beta, method)), want, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@given(beta=st.floats(0, 0.99))
@settings(max_examples=50, deadline=None)
def test_stable_exactly_below_the_limit(method, beta):
    edge = 2 * (1 + beta) / (1 if method == "heavy ball" else 1 + 2 * beta)
    assert spectral_radius(0.999 * edge, beta, method) < 1 < spectral_radius(1.001 * edge, beta, method)


@given(lr=st.floats(1e-3, 5), beta=st.floats(0.01, 0.99))
@settings(max_examples=100, deadline=None)
def test_heavy_ball_oscillates_exactly_where_the_law_says_and_then_lr_does_not_matter(lr, beta):
    gap = beta - (1 - lr**0.5) ** 2
    if abs(gap) > 1e-9:
        assert bool(oscillates(lr, beta)) == (gap > 0)
    if gap > 1e-9:
        assert spectral_radius(lr, beta) == pytest.approx(beta**0.5, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_the_measured_phase_diagram_is_the_theory_s(method):
    result = phase(method=method)
    assert result.error < 0.02
    clear = np.abs(result.predicted - 1) > 0.01
    assert ((result.rates > 1) == (result.predicted > 1))[clear].all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("lr", "beta"), [(0.05, 0.0), (0.3, 0.5), (0.9, 0.9), (0.02, 0.95), (1.6, 0.2)])
def test_measured_rate_is_the_spectral_radius(method, lr, beta):
    result = contraction(lr, beta, steps=200, method=method)
    assert result.measured == pytest.approx(result.rate, abs=0.012)
    assert (result.crossings > 1) == (result.oscillates or lr > 1)


def test_fitted_rate_of_known_paths():
    t = np.arange(151)
    for rate in (0.2, 0.9, 0.99, 1.3):
        assert fitted_rate(rate**t) == pytest.approx(rate, rel=1e-6)
        assert fitted_rate(rate**t * np.cos(0.7 * t)) == pytest.approx(rate, rel=0.03)
    assert fitted_rate(np.eye(30)[0]) == 0.0


@pytest.mark.parametrize("kappa", [5.0, 30.0, 100.0])
def test_the_best_setting_of_heavy_ball_and_its_rate_are_those_of_theory(kappa):
    result = tuning(kappa)
    (lr, beta, rate), (lr_, beta_, rate_) = result.best, result.predicted
    assert rate == pytest.approx(rate_, abs=0.02)
    assert lr == pytest.approx(lr_, abs=0.25)
    assert beta == pytest.approx(beta_, abs=0.03)
    assert result.plain == pytest.approx((kappa - 1) / (kappa + 1), abs=0.02)
    assert np.log(result.plain) / np.log(rate) < 3 / kappa**0.5  # a step is worth about sqrt(kappa) / 2 plain ones


@given(kappa=st.floats(1.5, 1000))
@settings(max_examples=30, deadline=None)
def test_the_tuned_rates_hold_for_every_curvature_of_the_ravine_and_are_reached_at_its_end(kappa):
    spectrum = np.geomspace(1 / kappa, 1, 50)
    for method in METHODS:
        lr, beta, rate = tuned(kappa, method)
        rates = spectral_radius(lr * spectrum, beta, method)
        assert rates.max() == pytest.approx(rate, abs=1e-5)


@pytest.mark.parametrize("worst", [200.0, 1000.0])
def test_steps_grow_like_kappa_without_and_like_its_root_with_momentum(worst):
    result = growth(worst)
    assert result.slope("gradient descent") == pytest.approx(1, abs=0.03)
    assert result.slope("heavy ball") == pytest.approx(0.5, abs=0.1)
    assert result.slope("Nesterov") == pytest.approx(0.5, abs=0.1)
    assert (result.rows["heavy ball"] < result.rows["Nesterov"]).all()


def test_the_kinked_function_has_the_slope_that_is_claimed_and_is_convex():
    grid = np.linspace(-4, 4, 8001)
    slopes = np.array([kinked_slope(x) for x in grid])
    np.testing.assert_allclose(np.gradient(kinked(grid), grid)[1:-1], slopes[1:-1], atol=0.02)
    assert (np.diff(slopes) > 0).all()
    assert kinked_slope(0.0) == 0 == kinked(np.zeros(1))[0]


def test_heavy_ball_cycles_forever_where_nesterov_converges():
    result = cycle()
    assert result.cycles
    np.testing.assert_allclose(sorted(result.limit), [-1.80, 0.65, 2.12], atol=0.005)
    assert abs(result.nesterov[-1]) < 1e-12
    assert not cycle(start=0.5).cycles  # within curvature 25 it is a quadratic, and heavy ball arrives
    assert abs(cycle(start=0.5).heavy_ball[-1]) < 1e-6


def test_the_cycle_catches_a_share_of_the_starts_and_nesterov_none():
    runs = [cycle(float(s)) for s in np.linspace(-4, 4, 81)]
    assert not any(cycle(float(s), lr=0.105).cycles for s in np.linspace(-4, 4, 81))
    assert 5 <= sum(r.cycles for r in runs) <= 20
    assert max(abs(r.nesterov[-1]) for r in runs) < 1e-6


@pytest.mark.parametrize("surface", ["ravine", "rosenbrock", "saddle", "beale"])
@pytest.mark.parametrize(("lr", "beta"), [(1e-3, 0.9), (5e-4, 0.5), (2e-3, 0.0)])
def test_nesterov_s_two_forms_are_one_iteration(surface, lr, beta):
    result = two_forms(surface, lr, beta, 100)
    assert result.apart.max() < 1e-9
    assert (result.between.max() > 1e-4) == (beta > 0)


@pytest.mark.parametrize(("beta", "lr", "factor"), [(0.9, 0.02, 0.1), (0.5, 0.02, 0.1), (0.8, 0.05, 3.0)])
def test_lr_inside_or_outside_is_the_same_until_it_changes(beta, lr, factor):
    result = conventions(lr, beta, factor, 40)
    same, parted = result.apart
    assert same < 1e-12
    assert parted > 1e-4
    assert result.steps["outside"][39] == pytest.approx(lr / (1 - beta), rel=0.02)
    np.testing.assert_allclose(result.steps["dampened"][:40], lr)  # dampening beta: the effective lr is lr itself


def test_after_a_drop_the_inside_form_goes_on_with_the_old_steps():
    result = conventions()
    assert result.settling("outside") == 0
    assert result.settling("inside") > 30


def heavy_ball(theta, velocity, grad, lr, beta):
    velocity = beta * velocity + grad
    return theta - lr * velocity, velocity


def averaged(theta, velocity, grad, lr, beta):
    velocity = beta * velocity + (1 - beta) * grad
    return theta - lr * velocity, velocity


def forgetful(theta, velocity, grad, lr, beta):
    return theta - lr * (beta * velocity + grad), velocity


def stale(theta, velocity, grad, lr, beta):
    return theta - lr * velocity, beta * velocity + grad


def with_a_state(theta, grad, state, lr, beta):
    velocity = beta * state.get("velocity", 0.0) + grad
    return theta - lr * velocity, {"velocity": velocity}


class OwnNesterov:
    def __init__(self, params, lr, beta):
        self.params, self.lr, self.beta = list(params), lr, beta
        self.velocity = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        for p, v in zip(self.params, self.velocity, strict=True):
            v.mul_(self.beta).add_(p.grad)
            p.sub_(self.lr * (p.grad + self.beta * v))

    def zero_grad(self):
        for p in self.params:
            p.grad = None


@pytest.mark.parametrize(
    ("optimizer", "known"),
    [
        (heavy_ball, "heavy ball"),
        (averaged, "heavy ball at eta (1 - beta)"),
        (forgetful, "plain descent"),
        (stale, None),
        (OwnNesterov, "Nesterov"),
        (with_a_state, "heavy ball"),
        (lambda lr, beta: sgd(lr, beta, dampening=beta), "heavy ball at eta (1 - beta)"),
    ],
)
def test_an_own_optimizer_of_any_kind_is_told_by_its_phase_diagram(optimizer, known):
    assert own_phase(optimizer).behaves_as == known


@pytest.mark.slow
def test_torch_s_own_class_is_heavy_ball():
    assert own_phase(torch.optim.SGD).behaves_as == "heavy ball"


def test_own_phase_is_read_in_a_line():
    assert repr(own_phase(heavy_ball)).startswith("heavy_ball behaves as heavy ball; it converges at ")


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"lr": 0.05}, "complex pair: oscillates; crosses"),
        ({"lr": 0.001}, "real eigenvalues; crosses the minimum 0 times"),
        ({"lr": 1.9, "beta": 0.0}, "real eigenvalues, the larger negative: changes sides every step; crosses"),
        (
            {"lr": 4.0, "beta": 0.9},
            "real eigenvalues, the larger negative: changes sides every step, diverges; crosses",
        ),
    ],
)
def test_a_contraction_is_told_for_what_it_is(setting, told):
    assert contraction(**setting).summary().startswith(told)


def test_the_known_theories_differ_from_each_other():
    result = own_phase(heavy_ball)
    assert sum(result.distance(name) < 0.02 for name in KNOWN) == 1


def spoils(theta, velocity, grad, lr, beta):
    grad *= 2
    return heavy_ball(theta, velocity, grad, lr, beta)


def keeps_in_place(theta, velocity, grad, lr, beta):
    velocity *= beta
    velocity += grad
    return theta - lr * velocity, velocity


def moves_in_place(theta, velocity, grad, lr, beta):
    velocity = beta * velocity + grad
    theta -= lr * velocity
    return theta, velocity


class BadShapes(OwnNesterov):
    @torch.no_grad()
    def step(self):
        for p in self.params:
            p.sub_(p.grad @ p.view(1, 1, 1).expand(1, 3, 1))


class NoStep:
    def __init__(self, params, lr, momentum):
        pass


@pytest.mark.parametrize(
    ("optimizer", "sentence"),
    [
        (3, "Hand in your optimizer itself, not int 3"),
        (lambda a, b, c: None, r"yours takes \(a, b, c\)"),
        (lambda lr, beta: None, "still to be written"),
        (lambda lr, beta: 5, r"should make a Transform\(init, update\), and makes int 5"),
        (NoStep, "has no method `step`"),
        (lambda t, v, g, lr, beta: None, "returns nothing: is a `return` missing"),
        (lambda t, v, g, lr, beta: t, r"should return \(theta, v\), and returns an array"),
        (lambda t, v, g, lr, beta: (t.sum(), v), r"The new theta for parameter 0 has shape \(\)"),
        (lambda t, v, g, lr, beta: ([float(t[0])], v), "should be an array of floats, and is a list of 1"),
        (lambda t, v, g, lr, beta: (t, v[None]), r"The new v for parameter 0 has shape \(1, 1\)"),
        (torch.optim.Adam, "should take `beta`"),
        (lambda t, v, g, lr, beta: (t * float("nan"), v), "returns NaN at step 1 .*lr="),
        (lambda t, v, g, lr, beta: t.no_such_thing, r"raised AttributeError: .* \(line .*no_such_thing"),
        (lambda t, v, g, lr, beta: t @ np.eye(3), r"raised ValueError: .* \(line .*np.eye"),
        (BadShapes, r"raised RuntimeError: .* \(line .*p.grad @ p"),
        (spoils, "changes the gradients, which belong to the caller"),
        (keeps_in_place, "changes `velocity` in place"),
        (moves_in_place, "changes theta in place"),
    ],
)
def test_an_optimizer_that_misbehaves_is_told_so_in_a_sentence(optimizer, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        own_phase(optimizer)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(100, marks=pytest.mark.thorough)])
def test_what_momentum_smooths_and_what_it_does_not(seed):
    result = smoothness(seed=seed)
    for measure in ("jumps", "ends"):  # the curve of batch losses is as rough as before, and ends as high
        plain = getattr(result, measure)[0].mean()
        assert result.against_plain(measure, 1).largest < 0.2 * plain
    assert result.against_plain("rises", 1).margin > 0.5  # but fewer steps raise the training loss
    assert result.rises[0].mean() > 2 * result.rises[1].mean()
    for measure in ("jumps", "rises", "ends"):  # at the same lr it is rougher, in all three
        assert result.against_plain(measure, 2).mean > 0
        assert result.against_plain(measure, 2).margin > 0.5


EFFECTIVE = 0.1 * 2 ** np.arange(10.0)
BOTH = {"plain": sgd, "momentum": lambda lr: sgd((1 - 0.9) * lr, beta=0.9)}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [100, 200])
def test_momentum_is_worth_little_with_small_batches_and_much_with_large_ones(seed):
    for batch, epochs, low, high in ((8, 1, 0.8, 1.4), (256, 28, 2, 6)):
        how = {"model": tanh_mlp, "batch": batch, "epochs": epochs, "part": "train"}
        runs = [grid(make, {"lr": EFFECTIVE}, range(seed, seed + 8), digits(), **how) for make in BOTH.values()]
        plain, momentum = (np.exp(np.log(at_the_end(r, 10)).mean(axis=1)) for r in runs)
        assert low < plain.min() / momentum.min() < high
        np.testing.assert_allclose(plain[:2], momentum[:2], rtol=0.15)
        assert EFFECTIVE[momentum.argmin()] < 2.1 * EFFECTIVE[plain.argmin()]  # more progress, not longer steps


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [8, 100])
def test_on_held_out_images_momentum_s_lead_with_large_batches_is_gone(seed):
    for batch, epochs, low, high in ((8, 1, -0.01, 0.04), (256, 28, -0.03, -0.01)):
        how = {"model": tanh_mlp, "batch": batch, "epochs": epochs, "part": "test"}
        runs = [grid(make, {"lr": EFFECTIVE}, range(seed, seed + 8), digits(), **how) for make in BOTH.values()]
        plain, momentum = (at_the_end(r, 10).mean(axis=1).min() for r in runs)
        assert low < plain - momentum < high


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 100])
def test_the_lower_training_loss_is_not_a_higher_test_accuracy(seed):
    how = {"model": tanh_mlp, "batch": 256, "epochs": 28}
    trial = tune(BOTH, EFFECTIVE, digits(), seeds=range(seed, seed + 8), **how)
    assert trial.compare("plain", "momentum").largest < 0.02


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: contraction(lr=0.0), "lr"),
        (lambda: contraction(beta=1.0), "beta"),
        (lambda: phase(method="Adam"), "method"),
        (lambda: tuning(kappa=1.0), "kappa"),
        (lambda: cycle(start=9.0), "start"),
        (lambda: conventions(factor=0.0), "factor"),
        (lambda: smoothness(batch=3), "batch"),
    ],
)
def test_an_illegal_value_is_refused_by_name(call, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        call()
