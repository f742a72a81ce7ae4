"""Laws of gradient descent, measured: on quadratics against theory, on the handwritten digits over seeds."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.data import digits
from course_lib.lectures.gradient_descent import network as _stacked
from course_lib.lectures.gradient_descent.batch_size import batch_sweep, linear_scaling, tanh_mlp
from course_lib.lectures.gradient_descent.edge_of_stability import edge_of_stability, landscape, sharpness
from course_lib.lectures.gradient_descent.gradient_noise import gradient_variance, noise_ball, noise_scale, replacement
from course_lib.lectures.gradient_descent.quadratics import bowl, contraction, iterations, step_sweep, trajectory
from course_lib.optim import sgd
from course_lib.surfaces import surface
from course_lib.trials import compare, single_threaded, tune


@given(lr=st.floats(0.05, 2.5), kappa=st.floats(2, 1000), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_each_eigendirection_contracts_by_one_minus_lr_times_eigenvalue(lr, kappa, seed):
    result = contraction(lr, kappa, 60, seed=seed)
    np.testing.assert_allclose(result.measured, result.factors, rtol=1e-6, atol=1e-7)


@given(kappa=st.floats(1, 100))
@settings(max_examples=30, deadline=None)
def test_divergence_sets_in_exactly_above_two_over_the_largest_eigenvalue(kappa):
    assert not bowl(0.999 * 2 / kappa, kappa, 100).diverges
    assert bowl(1.001 * 2 / kappa, kappa, 100).diverges
    fates = [bowl(share * 2 / kappa, kappa).summary() for share in (0.999, 1.0, 1.001)]
    assert ["converges" in fates[0], "forever" in fates[1], "diverges" in fates[2]] == [True] * 3
    assert bowl(kappa=kappa).threshold == pytest.approx(2 / kappa)


@pytest.mark.parametrize("kappa", [1.5, 5.0, 20.0, 100.0])
def test_best_fixed_learning_rate_and_its_rate_are_those_of_theory(kappa):
    result = step_sweep(kappa)
    (lr, rate), (lr_, rate_) = result.best, result.best_predicted
    assert lr == pytest.approx(lr_, abs=0.006)  # the grid's step is 0.0055
    assert rate == pytest.approx(rate_, abs=0.006)
    np.testing.assert_allclose(result.rates, result.predicted, atol=0.01)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_iterations_grow_like_the_condition_number(tolerance):
    result = iterations(300.0, tolerance)
    assert result.slope == pytest.approx(1, abs=0.02)
    assert np.all(np.abs(result.best - result.predicted) <= 1.5)
    assert 1.8 < result.safe[-1] / result.best[-1] < 2.01  # towards 2 as the tolerance falls


def test_a_walk_is_torch_sgd_on_the_same_surface():
    ground, theta = surface("beale"), torch.tensor([1.0, 1.5], dtype=torch.float64, requires_grad=True)
    oracle = torch.optim.SGD([theta], lr=0.01)
    for _ in range(50):
        oracle.zero_grad()
        ground.value(theta).backward()
        oracle.step()
    np.testing.assert_allclose(trajectory("beale", 0.01, 50).path[-1], theta.detach().numpy(), rtol=0, atol=1e-10)


def test_the_saddle_holds_a_run_back_and_lets_it_go():
    result = trajectory("saddle", 0.1, 200)
    assert trajectory().name == "saddle"  # the lecture asks about it, and opens on it
    plateau = np.flatnonzero(np.abs(result.gap - 0.25) < 0.01)  # the saddle is 1/4 above the two minima
    assert len(plateau) > 25
    assert result.steps_to(1e-6) > plateau[-1]


def test_the_ravine_ends_a_run_above_its_threshold_and_the_walk_says_so():
    assert trajectory("ravine", 0.099, 600).gap[-1] < 1e-2
    assert "left for infinity" in trajectory("ravine", 0.11, 600).summary()
    assert trajectory("rosenbrock", 1e-4, 10).steps_to(1e-9) is None


@pytest.mark.parametrize(("lr", "batch", "curvature"), [(0.1, 1, 1.0), (0.5, 16, 0.5), (1.5, 4, 1.0), (1.9, 64, 0.8)])
def test_stationary_variance_is_that_of_theory(lr, batch, curvature):
    ratios = [r.measured / r.predicted for r in (noise_ball(lr, batch, curvature, seed=s) for s in range(3))]
    assert np.mean(ratios) == pytest.approx(1, abs=0.04)


def test_noise_follows_theory_step_by_step_and_never_settles_above_the_threshold():
    result = noise_ball(0.05, 2, 0.4)
    np.testing.assert_allclose(result.second_moment, result.expected, rtol=0.5)
    assert np.isinf(noise_ball(2.5).predicted)
    assert "never settles" in noise_ball(2.0, 1, 1.0).summary()


@pytest.fixture(scope="module")
def net():
    part = _stacked.handwriting()[0]
    copies, rows = _stacked.start([3, 4]), torch.arange(20).view(2, 10)
    return copies, part.x[rows], part.y[rows]


def test_the_stacked_network_has_autograd_s_gradient(net):
    weights, x, y = net
    ours = _stacked.gradient(weights, x, y)
    free = [p.clone().requires_grad_() for p in weights]
    logits = torch.tanh(x @ free[0] + free[1]) @ free[2] + free[3]
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten(0, 1).argmax(1), reduction="sum") / 10
    for mine, theirs in zip(ours, torch.autograd.grad(loss, free), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


def test_noise_and_signal_are_those_of_the_examples_own_gradients(net):
    weights, x, y = net
    part = _stacked.Split(x[0], y[0])
    each = [
        _stacked.gradient(weights, a.expand(2, 1, 64), b) for a, b in zip(x[0][:, None], y[0][:, None], strict=True)
    ]
    flat = torch.stack([torch.cat([p.flatten(1) for p in g], dim=1) for g in each])
    noise, signal = _stacked.noise_and_signal(weights, part)
    torch.testing.assert_close(signal, (flat.mean(0) ** 2).sum(1), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(noise, ((flat - flat.mean(0)) ** 2).sum(2).mean(0), rtol=1e-4, atol=1e-5)


def test_the_thread_setting_is_put_back_even_after_an_error():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(ZeroDivisionError):
            single_threaded(lambda: 1 / 0)()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_variance_falls_as_one_over_the_batch(seed):
    result = gradient_variance(seed=seed)
    assert result.slope == pytest.approx(-1, abs=0.03)
    np.testing.assert_allclose(result.independent, result.example / result.batches, rtol=0.25)
    np.testing.assert_allclose(result.distinct, result.predicted_distinct, rtol=0.25)
    assert result.distinct[-1] < 0.7 * result.independent[-1]


@pytest.mark.parametrize("seed", [0, 100])
def test_sampling_without_replacement_beats_with(seed):
    result = replacement(seed=seed)
    assert result.comparison.low > 0.003
    assert result.independent.mean() > 1.15 * result.distinct.mean()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_two_batch_sizes_estimate_the_noise_scale_and_one_cannot(seed):
    result = noise_scale(seed=seed)
    np.testing.assert_allclose(result.estimated[:6], result.exact[:6], rtol=0.3)
    np.testing.assert_allclose(result.estimated[6:], result.exact[6:], rtol=0.8)  # late the signal drowns
    assert result.growth > 20
    assert result.naive.max() <= 8.5  # stuck at the small batch's own size


@pytest.fixture(scope="module")
def sweep():
    return batch_sweep()


@pytest.mark.slow
def test_steps_follow_the_law_of_the_critical_batch(sweep):
    fewest, critical = sweep.fit
    np.testing.assert_allclose(sweep.steps, fewest * (1 + critical / sweep.batches), rtol=0.4)
    assert 90 < critical < 300
    assert 0.5 < sweep.noise_scale / critical < 2
    assert sweep.examples[:5].max() < 1.6 * sweep.examples[:5].min()  # below it a larger batch costs no more examples
    assert sweep.examples[-1] > 2.5 * sweep.examples[0]  # above it, it does


@pytest.mark.slow
def test_the_best_learning_rate_grows_with_the_batch_until_it_does_not(sweep):
    early = np.polyfit(np.log(sweep.batches[:6]), np.log(sweep.lrs[:6]), 1)[0]
    assert early == pytest.approx(1, abs=0.25)
    assert sweep.lrs[-1] <= 2 * sweep.lrs[5]
    assert 0.04 < sweep.lrs.min() < sweep.lrs.max() < 20  # inside the grid: neither end is the grid's


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, pytest.param(50, marks=pytest.mark.thorough), pytest.param(100, marks=pytest.mark.thorough)]
)
def test_linear_scaling_holds_until_it_breaks(seed):
    result = linear_scaling(seed=seed)
    assert result.fixed[0] == pytest.approx(result.scaled[0], rel=1e-4)  # one run: equal starts, shuffles and rates
    assert result.scaled[6] < 2 * result.scaled[0]
    assert result.scaled[8] > 3 * result.scaled[0]
    assert result.scaled[9] > 10 * result.scaled[0]
    assert result.fixed[9] > 30 * result.fixed[0]
    assert result.holds_to in (32, 64, 128)


@pytest.mark.thorough
def test_smaller_batches_win_at_equal_epochs_and_not_at_equal_steps():
    def trial(batch, epochs, seed):
        grid = 0.08 * 2.0 ** np.arange(8)
        how = {"model": tanh_mlp, "batch": batch, "epochs": epochs, "seeds": range(seed, seed + 12), "choose": "mean"}
        return tune({"SGD": sgd}, grid, digits(), **how).accuracy["SGD"]

    small, large, longer = (
        np.concatenate([trial(*plan, seed) for seed in (0, 50, 100)]) for plan in ((8, 6), (128, 6), (128, 96))
    )
    assert compare(small, large).margin > 0.3
    assert 0.001 < compare(small, large).mean < 0.012
    assert -0.008 < compare(small, longer).mean < 0.002


def test_power_iteration_finds_the_hessian_s_largest_eigenvalue():
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(30, 3, generator=generator).double(), torch.randn(30, 1, generator=generator).double()
    flat = torch.randn(8, generator=generator).double()

    def loss(p):
        return ((torch.tanh(x @ p[:6].view(3, 2)) @ p[6:].view(2, 1) - y) ** 2).mean()

    free = flat.clone().requires_grad_()
    slope = torch.autograd.grad(loss(free), [free], create_graph=True)
    found, _ = sharpness(slope, [free], [torch.ones(8).double()], rounds=300)
    eigenvalues = torch.linalg.eigvalsh(torch.autograd.functional.hessian(loss, flat))
    assert found == pytest.approx(float(eigenvalues[eigenvalues.abs().argmax()]), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("lr", "seed"), [(0.4, 0), (0.5, 1), (0.7, 2), (1.0, 3)])
def test_full_batch_descent_drives_the_sharpness_to_the_edge_and_hovers(lr, seed):
    result = edge_of_stability(lr, 500, seed=seed)
    assert result.arrival is not None
    assert 0.95 < result.hover < 1.12
    assert 0.15 < result.rises < 0.65  # the loss no longer falls at every step ...
    assert result.wave > 1.2  # ... nor does it zigzag: the rises come in waves ...
    assert result.losses[-1] < 0.5 * result.losses[result.arrival]  # ... and yet falls
    assert 1.1 < result.peak[1] / result.threshold < 2  # it overshoots before it settles
    assert result.arrival < result.peak[0] < 300
    np.testing.assert_allclose(result.sharpness[result.moments >= 300] / result.threshold, 1, atol=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_small_learning_rate_falls_at_every_step_into_a_sharper_place(seed):
    small, large = edge_of_stability(0.2, 800, seed=seed), edge_of_stability(0.5, 800, seed=seed)
    assert small.arrival is None
    assert np.all(np.diff(small.losses) < 0)
    assert small.sharpness[-1] > 1.5 * large.sharpness[-20:].mean()


@pytest.mark.parametrize("seed", [0, 1])
def test_the_filter_normalized_plane_does_not_see_a_rescaling_and_the_raw_one_does(seed):
    plain, rescaled = landscape(seed=seed), landscape(rescale=5.0, seed=seed)
    np.testing.assert_allclose(rescaled.losses, plain.losses, rtol=1e-3)
    raw, raw_rescaled = (landscape(r, normalized=False, seed=seed) for r in (1.0, 5.0))
    assert raw_rescaled.center == pytest.approx(raw.center, rel=1e-4)
    assert raw_rescaled.rise > 5 * raw.rise


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: bowl(lr=0.0), "lr"),
        (lambda: contraction(kappa=1.0), "kappa"),
        (lambda: trajectory("cliff"), "name"),
        (lambda: noise_ball(batch=0), "batch"),
        (lambda: edge_of_stability(lr=3.0), "lr"),
        (lambda: landscape(normalized=1), "normalized"),
    ],
)
def test_an_illegal_value_is_refused_by_name(call, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        call()
