"""Closed forms against autograd, and the few facts a surface states about itself."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.surfaces import SURFACES, noisy_gradient, quadratic, ravine, surface

ALL = [*SURFACES.values(), ravine(1.0), ravine(1000.0, 0.7), ravine(50.0, -2.0)]


@pytest.mark.parametrize("s", ALL, ids=lambda s: s.name)
@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=5))
def test_the_gradient_is_autograds(s, points):
    p = torch.tensor(points, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(s.value(p).sum(), p)
    torch.testing.assert_close(s.gradient(p.detach()), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("s", ALL, ids=lambda s: s.name)
def test_floats_arrays_and_tensors_of_any_leading_shape_agree(s):
    rng = np.random.default_rng(0)
    points = rng.uniform(-2, 2, (3, 4, 2))
    value, gradient = s.value(points), s.gradient(points)
    assert value.shape == (3, 4)
    assert gradient.shape == (3, 4, 2)
    tensor = torch.from_numpy(points)
    np.testing.assert_allclose(s.value(tensor).numpy(), value, rtol=1e-12)
    np.testing.assert_allclose(s.gradient(tensor).numpy(), gradient, rtol=1e-12)
    x, y = map(float, points[1, 2])
    assert s.at(x, y) == pytest.approx(value[1, 2])
    assert s.slope(x, y) == pytest.approx(tuple(gradient[1, 2]))
    torch.testing.assert_close(s.gradient_at(tensor[1, 2]), s.gradient(tensor[1, 2]))


@pytest.mark.parametrize("s", ALL, ids=lambda s: s.name)
def test_the_minimum_is_where_it_is_said_and_the_start_and_it_are_in_the_window(s):
    left, right, bottom, top = s.window
    for x, y in (s.start, s.minimum):
        assert left < x < right
        assert bottom < y < top
    assert s.slope(*s.minimum) == pytest.approx((0, 0), abs=1e-12)
    grid = np.stack(np.meshgrid(np.linspace(left, right, 201), np.linspace(bottom, top, 201)), -1)
    assert s.at(*s.minimum) <= s.value(grid).min()


@pytest.mark.parametrize("s", ALL, ids=lambda s: s.name)
def test_leaving_for_infinity_is_quiet_with_floats_and_tensors(s):
    far = torch.tensor([1e200, -1e200], dtype=torch.float64)
    for number in (*s.slope(*far.tolist()), s.at(*far.tolist()), *s.gradient(far), s.value(far)):
        assert abs(float(number)) > 1e100 or np.isnan(float(number))


@pytest.mark.parametrize("angle", [0.0, 0.4, 2.0])
@pytest.mark.parametrize("kappa", [1.0, 20.0, 1e4])
def test_a_ravine_has_curvature_one_and_kappa(kappa, angle):
    s = ravine(kappa, angle)
    columns = [s.slope(1.0, 0.0), s.slope(0.0, 1.0)]
    np.testing.assert_allclose(np.linalg.eigvalsh(np.array(columns)), [1, kappa], rtol=1e-9)
    flat = np.array([np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(s.gradient(flat), flat, atol=1e-9)


def test_the_saddle_is_one():
    s = SURFACES["saddle"]
    assert s.slope(0.0, 0.0) == (0, 0)
    assert s.at(0.0, 0.1) < s.at(0.0, 0.0) < s.at(0.1, 0.0)


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_a_quadratic_has_the_spectrum_it_was_given(seed):
    spectrum = [0.1, 1.0, 3.0, 10.0, 10.0]
    q = quadratic(spectrum, seed=seed)
    torch.testing.assert_close(torch.linalg.eigvalsh(q.hessian), torch.tensor(spectrum, dtype=torch.float64))
    torch.testing.assert_close(q.hessian @ q.directions, q.directions * q.eigenvalues)
    torch.testing.assert_close(q.directions.T @ q.start, torch.ones(5, dtype=torch.float64))
    points = torch.randn(7, 2, 5, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(q.value(points).sum(), points)
    torch.testing.assert_close(q.gradient(points.detach()), expected)
    assert q.value(torch.zeros(5, dtype=torch.float64)) == 0


def test_the_seed_turns_the_axes():
    assert torch.equal(quadratic([1.0, 2.0]).directions, torch.eye(2, dtype=torch.float64))
    a, b, c = (quadratic([1.0, 2.0], seed=s).directions for s in (0, 0, 1))
    assert torch.equal(a, b)
    assert not torch.allclose(a, c)


def test_turned_axes_favor_no_direction():
    firsts = torch.stack([quadratic([1.0, 2.0, 3.0], seed=s).directions[:, 0] for s in range(500)])
    assert firsts.mean(0).abs().max() < 4 * (1 / 3 / 500) ** 0.5
    torch.testing.assert_close(firsts.T @ firsts / 500, torch.eye(3).double() / 3, rtol=0, atol=0.06)


@pytest.mark.parametrize("s", [SURFACES["beale"], quadratic([1.0, 4.0], seed=0)], ids=["surface", "quadratic"])
def test_noise_is_centered_on_the_gradient_with_the_given_deviation(s):
    points = torch.tensor([1.0, 0.5], dtype=torch.float64).expand(40_000, 2)
    noisy = noisy_gradient(s, points, 0.3, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(noisy.mean(0), s.gradient(points)[0], rtol=0, atol=4 * 0.3 / 200)
    torch.testing.assert_close(noisy.std(0), torch.full((2,), 0.3, dtype=torch.float64), rtol=0.02, atol=0)


@pytest.mark.parametrize("kappa", [0.5, -1.0, float("inf"), float("nan")])
def test_an_illegal_condition_number_is_refused(kappa):
    with pytest.raises(ValueError, match=f"ravine: kappa must be at least 1 and finite, got {kappa}"):
        ravine(kappa)


@pytest.mark.parametrize("spectrum", [[], [1.0, float("nan")], [[1.0]], [float("inf")]])
def test_an_illegal_spectrum_is_refused(spectrum):
    with pytest.raises(ValueError, match="quadratic: eigenvalues must be finite numbers, at least one, got"):
        quadratic(spectrum)


def test_an_unknown_surface_is_refused_with_the_known_ones():
    assert surface("beale").name == "beale"
    with pytest.raises(ValueError, match="no surface 'bowl'; there are ravine, turned ravine, rosenbrock"):
        surface("bowl")
