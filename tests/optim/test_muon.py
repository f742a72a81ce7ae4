"""Muon against torch, and its laws."""

import numpy as np
import pytest
import torch

from course_lib.optim import (
    adam,
    apply_steps,
    chain,
    decoupled_decay,
    muon,
    orthogonalize,
    sgd,
)
from tests.optim.streams import KINDS, gradients, run, starts

MATRICES = [(3, 3), (5, 2), (2, 6), (1, 4), (1, 1)]


@pytest.fixture
def torch_keeps_float64(monkeypatch):
    """torch.optim.Muon casts to bfloat16 before it iterates; here its code runs in the dtype it is given."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda self: self.clone())


@pytest.mark.usefixtures("torch_keeps_float64")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("ours", "arguments"),
    [
        (chain(muon(1e-3), decoupled_decay(1e-3 * 0.1)), {}),
        (muon(0.1, 0.8, nesterov=False), {"lr": 0.1, "momentum": 0.8, "nesterov": False, "weight_decay": 0}),
        (muon(0.1, match_rms=True), {"lr": 0.1, "weight_decay": 0, "adjust_lr_fn": "match_rms_adamw"}),
        (muon(0.1, 0.0), {"lr": 0.1, "momentum": 0, "weight_decay": 0, "adjust_lr_fn": "original"}),
    ],
)
def test_muon_equals_torch_on_matrices(ours, arguments, kind):
    params, stream = starts(MATRICES), gradients(kind, MATRICES)
    theirs = [p.clone().requires_grad_() for p in params]
    oracle = torch.optim.Muon(theirs, **arguments)
    state = ours.init(params)
    for grads in stream:
        for p, g in zip(theirs, grads, strict=True):
            p.grad = g.clone()
        oracle.step()
        steps, state = ours.update(grads, state, params)
        params = apply_steps(params, steps)
        for a, b in zip(params, theirs, strict=True):
            torch.testing.assert_close(a, b.detach(), rtol=1e-10, atol=1e-10)


def test_muon_as_torch_runs_it_differs_by_bfloat16_only():
    (start,), stream = starts([(8, 5)]), gradients("ordinary", [(8, 5)])
    theirs = start.clone().requires_grad_()
    oracle = torch.optim.Muon([theirs], lr=0.02, weight_decay=0)
    for (g,) in stream:
        theirs.grad = g.clone()
        oracle.step()
    (ours,), _ = run(muon(0.02), [start], stream)
    moved = (ours - start).norm()
    assert 1e-6 * moved < (ours - theirs.detach()).norm() < 0.02 * moved


@pytest.mark.parametrize("shape", [(20, 20), (30, 10), (10, 30)])
@pytest.mark.parametrize("seed", range(5))
def test_orthogonalize_keeps_the_singular_vectors_and_brings_the_values_near_1(shape, seed):
    matrix = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    u, s, vt = torch.linalg.svd(matrix, full_matrices=False)
    inside = u.mT @ orthogonalize(matrix) @ vt.mT
    torch.testing.assert_close(inside, torch.diag(inside.diagonal()), rtol=0, atol=1e-8)
    held = s > 0.002 * matrix.norm()
    assert held.sum() >= 0.9 * len(s)
    assert ((inside.diagonal()[held] > 0.68) & (inside.diagonal()[held] < 1.21)).all()


def test_the_iteration_never_settles_on_1_but_stays_within_what_its_docstring_says():
    values = torch.logspace(np.log10(0.002), 0, 10_000, dtype=torch.float64)
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    assert 0.68 < float(values.min()) < 0.69
    assert 1.20 < float(values.max()) < 1.21


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_muons_step_does_not_depend_on_the_gradients_size(scale):
    params, stream = starts([(4, 3)]), gradients("ordinary", [(4, 3)])
    (a,), _ = run(muon(), params, stream)
    (b,), _ = run(muon(), params, [[scale * g for g in grads] for grads in stream])
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def test_muon_leaves_what_is_no_matrix_to_adam_or_to_the_transform_it_is_given():
    shapes = [(3,), (4, 3), (), (2, 2, 2)]
    params, stream = starts(shapes), gradients("ordinary", shapes)
    for ours, rest in ((muon(0.03), adam(0.03)), (muon(0.03, rest=sgd(0.1, 0.9)), sgd(0.1, 0.9))):
        moved, _ = run(ours, params, stream)
        pick = [0, 2, 3]
        alone, _ = run(rest, [params[i] for i in pick], [[g[i] for i in pick] for g in stream])
        assert all(torch.equal(moved[i], a) for i, a in zip(pick, alone, strict=True))
        (matrix,), _ = run(muon(0.03), [params[1]], [[g[1]] for g in stream])
        assert torch.equal(moved[1], matrix)
