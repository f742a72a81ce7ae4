"""Shampoo against the paper written out by hand, and its laws."""

import numpy as np
import pytest
import torch

from course_lib.optim import (
    shampoo,
)
from tests.optim.streams import KINDS, gradients, run, starts


def root(matrix, order):
    values, vectors = np.linalg.eigh(matrix)
    return vectors @ np.diag(values ** (-1 / order)) @ vectors.T


@pytest.mark.parametrize("kind", KINDS)
def test_shampoo_on_a_matrix_is_the_papers_algorithm_1(kind):
    (start,), stream = starts([(4, 3)]), gradients(kind, [(4, 3)])
    eps = 1e22 if kind == "huge" else 1e-2  # far below g g^T numpy's eigenvalues would be rounding
    w, left, right = start.numpy(), eps * np.eye(4), eps * np.eye(3)
    for (g,) in stream:
        left, right = left + g.numpy() @ g.numpy().T, right + g.numpy().T @ g.numpy()
        w = w - 0.3 * root(left, 4) @ g.numpy() @ root(right, 4)
    (ours,), _ = run(shampoo(0.3, eps), [start], stream)
    np.testing.assert_allclose(ours, w, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_shampoo_on_three_axes_is_the_papers_algorithm_2(kind):
    (start,), stream = starts([(2, 3, 4)]), gradients(kind, [(2, 3, 4)])
    w, a, b, c = start.numpy(), np.eye(2), np.eye(3), np.eye(4)
    for (g,) in stream:
        g = g.numpy()
        a = a + np.einsum("ijk,ljk->il", g, g)
        b = b + np.einsum("ijk,ilk->jl", g, g)
        c = c + np.einsum("ijk,ijl->kl", g, g)
        w = w - 0.1 * np.einsum("ijk,il,jm,kn->lmn", g, root(a, 6), root(b, 6), root(c, 6))
    (ours,), _ = run(shampoo(0.1, 1.0), [start], stream)
    np.testing.assert_allclose(ours, w, rtol=1e-9, atol=1e-9)


def test_shampoo_on_a_number_is_adagrad_with_eps_inside_the_root():
    (start,), stream = starts([()]), gradients("ordinary", [()])
    w, total = float(start), 1e-4
    for (g,) in stream:
        total += float(g) ** 2
        w -= 0.1 * float(g) / total**0.5
    (ours,), _ = run(shampoo(), [start], stream)
    assert float(ours) == pytest.approx(w, rel=1e-12)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_shampoos_first_step_is_the_orthogonal_matrix_that_muon_aims_at(shape):
    (start,), ((g,), *_) = starts([shape]), gradients("ordinary", [shape])
    u, _, vt = torch.linalg.svd(g, full_matrices=False)
    (ours,), _ = run(shampoo(1.0, 1e-12), [start], [[g]])
    torch.testing.assert_close(start - ours, u @ vt, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e12])
def test_shampoo_is_steady_where_eps_is_lost_in_rounding(scale):
    """One gradient forever, of rank 1: the t-th step is its direction over the root of t."""
    u, v = starts([(4, 1), (1, 3)])
    g = scale * u @ v
    params, state, transform = [torch.zeros_like(g)], shampoo(1.0, 1e-30).init([g]), shampoo(1.0, 1e-30)
    for t in range(1, 6):
        (step,), state = transform.update([g], state, params)
        torch.testing.assert_close(step, -g / g.norm() / t**0.5, rtol=1e-5, atol=1e-5)


def test_a_gradient_that_is_not_finite_spoils_its_own_parameter_only():
    params = starts([(3, 2), (2,)])
    bad = [torch.full((3, 2), torch.nan, dtype=torch.float64), params[1]]
    _, state = run(shampoo(), params, [bad])
    (spoiled, sound), _ = shampoo().update(params, state, params)  # though this gradient is finite
    assert spoiled.isnan().all()
    assert sound.isfinite().all()


def test_a_run_that_is_not_finite_spoils_no_other_under_vmap():
    runs = torch.stack([torch.full((3, 2), torch.inf, dtype=torch.float64), *starts([(3, 2), (3, 2)])])
    transform = shampoo()
    (together,), _ = torch.func.vmap(lambda g: transform.update([g], transform.init([g]), [g]))(runs)
    assert together[0].isnan().all()
    for moved, g in zip(together[1:], runs[1:], strict=True):
        torch.testing.assert_close(moved, transform.update([g], transform.init([g]), [g])[0][0])
