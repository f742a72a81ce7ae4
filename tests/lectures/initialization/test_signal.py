"""Laws of lecture 06: what a stack does to signal and gradient before any training."""

import math

import numpy as np
import pytest
import torch

import course_lib.lectures.initialization as lab
from course_lib.lectures.initialization.mean_field import ACTIVATIONS
from course_lib.lectures.initialization.signal import draws

SEEDS = range(4)


def logs(result, name, at):
    """The logarithm of a measured moment over that of its law."""
    return math.log(result.rows[name][at] / result.rows[f"law of the {name}"][at])


@pytest.mark.parametrize(
    ("activation", "square"),
    [("linear", 1.0), ("relu", 0.5), ("gelu", 1 / 2.352), ("silu", 1 / 2.811), ("elu", 1 / 1.551), ("tanh", 1 / 2.536)],
)
def test_the_moments_of_the_textbook(activation, square):
    assert lab.moments(activation, 1.0)[0] == pytest.approx(square, rel=5e-4)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("variance", [0.3, 1.0, 4.0])
def test_the_integrals_are_what_sampling_gives(activation, variance):
    z = torch.randn(400_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * variance**0.5
    z.requires_grad_()
    h = ACTIVATIONS[activation](z)
    (slope,) = torch.autograd.grad(h.sum(), z)
    sampled = float(h.detach().square().mean()), float(slope.square().mean())
    assert lab.moments(activation, variance) == pytest.approx(sampled, rel=0.02)


@pytest.mark.parametrize("gain", [1.0, 2**0.5, 2.0])
def test_a_rectifier_multiplies_by_half_the_squared_gain_both_ways(gain):
    signal, gradient = lab.law("relu", gain, 20)
    np.testing.assert_allclose(signal, (gain**2 / 2) ** np.arange(21), rtol=1e-6)
    np.testing.assert_allclose(gradient, signal[::-1], rtol=1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_wide_stack_follows_the_law(activation):
    """Every network strays from it; their mean logarithm over four does not stray far."""
    runs = [lab.signal(10, 140, 1.2, activation, seed=seed) for seed in SEEDS]
    assert np.mean([logs(run, "signal", -1) for run in runs]) == pytest.approx(0, abs=0.4)
    assert np.mean([logs(run, "gradient", 0) for run in runs]) == pytest.approx(0, abs=0.4)


def test_gain_only_scales_one_draw():
    one, two = lab.signal(20, 64, 1.0), lab.signal(20, 64, 2.0)
    np.testing.assert_allclose(two.rows["signal"], one.rows["signal"] * 4.0 ** np.arange(21), rtol=1e-9)


def test_orthogonal_matrices_keep_every_length():
    run = lab.signal(100, 64, 1.0, "linear", "orthogonal")
    np.testing.assert_allclose(run.rows["signal"], 1, rtol=1e-12)
    np.testing.assert_allclose(run.rows["gradient"], 1, rtol=1e-12)
    assert run.error == pytest.approx(1, abs=1e-9)
    factors = draws("orthogonal", 3, 16, 0)
    torch.testing.assert_close(factors[1] @ factors[1].mT, torch.eye(16, dtype=torch.float64))


def test_the_same_product_of_normal_matrices_crushes_nearly_all_directions():
    product = torch.linalg.multi_dot(draws("normal", 50, 64, 0))
    values = torch.linalg.svdvals(product)
    assert values[0] / values[32] > 1e4


def test_tanh_decays_like_one_over_twice_the_depth_and_at_5_3_its_gradient_grows():
    signal, _ = lab.law("tanh", 1.0, 100)
    assert signal[100] == pytest.approx(1 / 200, rel=0.1)
    signal, gradient = lab.law("tanh", 5 / 3, 50)
    assert signal[50] == pytest.approx(0.4243, abs=1e-3)
    assert (gradient[40] / gradient[50]) ** (1 / 10) == pytest.approx(1.21, abs=0.005)


def test_a_sigmoid_under_xavier_loses_16_times_of_the_gradient_in_a_layer():
    signal, gradient = lab.law("sigmoid", 1.0, 30)
    assert signal[-1] == pytest.approx(0.267, abs=0.003)
    assert gradient[0] ** (1 / 30) < 1 / 16


def test_torchs_default_stops_at_its_biases():
    run = lab.default(30, 160)
    assert run.rows["signal"][-1] == pytest.approx(0.2 / 160, rel=0.4)
    assert run.rows["gradient"][0] ** (1 / 30) == pytest.approx(1 / 6, rel=0.1)
    state = torch.get_rng_state()
    lab.default()
    assert torch.equal(state, torch.get_rng_state())


def test_two_inputs_become_one():
    np.testing.assert_allclose([lab.rectified(c) for c in (0.0, 1.0, -1.0)], [1 / np.pi, 1, 0], atol=1e-12)
    late = [lab.angle(seed=seed).rows for seed in SEEDS]
    he = np.mean([rows["He"] for rows in late], axis=0)
    assert np.abs(he - late[0]["law"]).max() < 0.12
    assert all(rows["torch's default"][10:].min() > 0.97 for rows in late)
    assert lab.angle(start=1.0).layers_to(0.95) == 0


def test_one_network_is_not_the_mean_of_networks():
    for width, depth in ((128, 20), (512, 100)):
        end = lab.fluctuation(depth, width).ends
        assert end["log of the mean"] == pytest.approx(0, abs=0.2)
        assert end["variance of log"] == pytest.approx(end["5 l / n"], rel=0.2)
        assert end["mean of log"] == pytest.approx(end["-5 l / 2n"], rel=0.2)


def test_the_short_cut_for_one_input_is_what_matrices_do():
    generator, logs_ = torch.Generator().manual_seed(0), []
    for _ in range(300):
        h = torch.ones(32, dtype=torch.float64)
        for _ in range(10):
            h = torch.relu(torch.randn(32, 32, generator=generator, dtype=torch.float64) @ h * (2 / 32) ** 0.5)
        logs_.append(float((h.square().sum() / 32).log()))
    end = lab.fluctuation(10, 32).ends
    assert np.var(logs_) == pytest.approx(end["variance of log"], rel=0.35)
    assert np.mean(logs_) == pytest.approx(end["mean of log"], abs=0.3)


def test_streams():
    """Doubled by each branch; below e where scaled; 1 + l under pre-norm; 2 with both."""
    runs = [lab.streams(50, 140, seed=seed) for seed in SEEDS]
    ends = {name: np.exp(np.mean([math.log(run.rows[name][-1]) for run in runs])) for name in runs[0].rows}
    assert math.log2(ends["plain"]) == pytest.approx(50, abs=3)
    assert ends["scaled"] == pytest.approx((1 + 1 / 50) ** 50, rel=0.15)
    assert ends["pre-norm"] == pytest.approx(51, rel=0.1)
    assert ends["pre-norm, scaled"] == pytest.approx(2, rel=0.1)
