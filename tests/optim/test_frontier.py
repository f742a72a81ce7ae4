"""Muon, Shampoo, SOAP and schedule-free learning: against torch or the paper written out by hand, and against laws."""

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.optim import (
    Stepper,
    adam,
    add_decay,
    apply_steps,
    chain,
    clip_norm,
    decoupled_decay,
    muon,
    orthogonalize,
    partition,
    schedule_free,
    sgd,
    shampoo,
    soap,
)

STEPS = 50
KINDS = {
    "ordinary": lambda t, g: g,
    "zero": lambda t, g: 0 * g,
    "rare": lambda t, g: g * (t % 7 == 0),
    "mostly zero": lambda t, g: g * (g > 1.3),
    "tiny": lambda t, g: 1e-12 * g,
    "huge": lambda t, g: 1e12 * g,
}


def gradients(kind, shapes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [
        [KINDS[kind](t, torch.randn(s, dtype=torch.float64, generator=generator)) for s in shapes] for t in range(STEPS)
    ]


def starts(shapes, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(s, dtype=torch.float64, generator=generator) for s in shapes]


def run(transform, params, stream):
    state = transform.init(params)
    for grads in stream:
        steps, state = transform.update(grads, state, params)
        params = apply_steps(params, steps)
    return params, state


# Muon

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


# split


def test_split_is_torchs_parameter_groups():
    shapes = [(3, 2), (3,), (2, 3), (2,)]
    params, stream = starts(shapes), gradients("ordinary", shapes)
    theirs = [p.clone().requires_grad_() for p in params]
    groups = [{"params": theirs[::2], "weight_decay": 0.1, "lr": 0.2}, {"params": theirs[1::2]}]
    oracle = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
    for grads in stream:
        for p, g in zip(theirs, grads, strict=True):
            p.grad = g.clone()
        oracle.step()
    ours, _ = run(partition(lambda p: p.ndim == 2, chain(add_decay(0.1), sgd(0.2, 0.9)), sgd(0.1, 0.9)), params, stream)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b.detach(), rtol=1e-10, atol=1e-10)


def test_a_side_of_split_that_has_no_parameter_is_not_run():
    params = starts([(3,)])
    (moved,), _ = run(partition(lambda p: p.ndim == 2, chain(clip_norm(1.0), sgd(1.0)), sgd(0.1)), params, [params])
    assert torch.equal(moved, params[0] - 0.1 * params[0])


# Schedule-free


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("beta", "warmup", "decay"), [(0.9, 0, 0.0), (0.5, 7, 0.0), (0.0, 0, 0.1), (0.98, 3, 0.1)])
def test_schedule_free_sgd_is_the_papers_algorithm(kind, beta, warmup, decay):
    shape, lr = (2, 3), 0.2
    (start,), stream = starts([shape]), gradients(kind, [shape])
    x = z = start.numpy()
    total = 0.0
    for t, (g,) in enumerate(stream, start=1):
        y = (1 - beta) * z + beta * x
        rate = lr * min(1, t / warmup) if warmup else lr
        z = z - rate * (g.numpy() + decay * y)
        total += rate**2
        x = (1 - rate**2 / total) * x + rate**2 / total * z
    base = chain(add_decay(decay), sgd(lr))
    (ours,), state = run(schedule_free(base, beta, warmup=warmup), [start], stream)
    np.testing.assert_allclose(ours, (1 - beta) * z + beta * x, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(state.average[0], x, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(state.fast[0], z, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_schedule_free_adamw_is_the_papers_algorithm_with_adams_eps_and_even_weights(kind):
    shape, lr, beta, b2, eps, decay, warmup = (2, 3), 0.02, 0.9, 0.95, 1e-8, 0.1, 4
    (start,), stream = starts([shape]), gradients(kind, [shape])
    x = z = start.numpy()
    v, total = np.zeros(shape), 0.0
    for t, (g,) in enumerate(stream, start=1):
        y = (1 - beta) * z + beta * x
        v = b2 * v + (1 - b2) * g.numpy() ** 2
        rate = lr * min(1, t / warmup)
        z = z - rate * g.numpy() / (np.sqrt(v / (1 - b2**t)) + eps) - rate * decay * y
        total += rate**2
        x = x + rate**2 / total * (z - x)
    transform = schedule_free(chain(adam(lr, 0.0, b2, eps), decoupled_decay(lr * decay)), beta, warmup=warmup)
    (ours,), state = run(transform, [start], stream)
    np.testing.assert_allclose(ours, (1 - beta) * z + beta * x, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(state.average[0], x, rtol=1e-10, atol=1e-10)


def test_schedule_free_at_beta_0_is_gradient_descent_and_the_mean_of_its_path():
    (start,), stream = starts([(4,)]), gradients("ordinary", [(4,)])
    path = [run(sgd(0.3), [start], stream[: t + 1])[0][0] for t in range(STEPS)]
    (ours,), state = run(schedule_free(sgd(0.3), 0.0), [start], stream)
    torch.testing.assert_close(ours, path[-1])
    torch.testing.assert_close(state.average[0], torch.stack(path).mean(0))


def test_the_average_is_quieter_than_descent_at_the_same_rate_on_a_noisy_bowl():
    """f(y) = |y|^2 / 2 with unit noise in the gradient, 200 steps; 10 seeds, each coordinate a run of its own."""
    for seed in range(10):
        generator, ends = torch.Generator().manual_seed(seed), {}
        noise = torch.randn(200, 50, dtype=torch.float64, generator=generator)
        for name, transform in {"plain": sgd(0.3), "free": schedule_free(sgd(0.3))}.items():
            params = [torch.full((50,), 3.0, dtype=torch.float64)]
            state = transform.init(params)
            for n in noise:
                steps, state = transform.update([params[0] + n], state, params)
                params = apply_steps(params, steps)
            ends[name] = float((params if name == "plain" else state.average)[0].square().mean())
        assert ends["free"] < 0.3 * ends["plain"]


def test_schedule_free_drives_a_module_whose_parameters_are_moved_in_place():
    torch.manual_seed(0)
    model, x, y = nn.Linear(3, 1), torch.randn(20, 3), torch.randn(20, 1)
    start = [p.detach().clone() for p in model.parameters()]
    optimizer = Stepper(model.parameters(), schedule_free(sgd(0.1), 0.5))
    first, stream = optimizer.state, []
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        stream.append([p.grad.clone() for p in model.parameters()])
        optimizer.step()
    params, state = run(schedule_free(sgd(0.1), 0.5), start, stream)
    for a, b in zip(model.parameters(), params, strict=True):
        torch.testing.assert_close(a.detach(), b)
    for a, b in zip(optimizer.state.average, state.average, strict=True):
        torch.testing.assert_close(a, b)
    assert all(torch.equal(a, b) for a, b in zip(first.average, start, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(first.fast, start, strict=True))


# Shampoo


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
    """One gradient for ever, of rank 1: the t-th step is its direction over the root of t."""
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


# SOAP


@pytest.mark.parametrize("kind", KINDS)
def test_soap_is_the_papers_algorithm_3_with_bases_renewed_each_step(kind):
    (start,), stream = starts([(4, 3)]), gradients(kind, [(4, 3)])
    w, m, v = start.numpy(), np.zeros((4, 3)), np.zeros((4, 3))
    (left, right), (p, q) = (np.zeros((4, 4)), np.zeros((3, 3))), (np.eye(4), np.eye(3))
    for t, (g,) in enumerate(stream, 1):
        g = g.numpy()
        turned = p.T @ g @ q
        m = 0.9 * m + 0.1 * g
        v = 0.8 * v + 0.2 * turned * turned
        scaled = (p.T @ m @ q / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.8**t)) + 1e-6)
        w = w - 0.1 * p @ scaled @ q.T
        left, right = 0.8 * left + 0.2 * g @ g.T, 0.8 * right + 0.2 * g.T @ g
        p, q = np.linalg.qr(left @ p)[0], np.linalg.qr(right @ q)[0]
    (ours,), _ = run(soap(0.1, 0.9, 0.8, 1e-6), [start], stream)
    np.testing.assert_allclose(ours, w, rtol=1e-9, atol=1e-9)


def test_soap_is_adam_where_the_axes_are_the_eigenvectors_already():
    """Gradients that are diagonal, their largest entries first, so that no basis turns."""
    sizes = torch.diag(torch.tensor([9.0, 4.0, 1.0], dtype=torch.float64))
    stream = [[g * sizes] for (g,) in gradients("ordinary", [(3, 3)])]
    ours, theirs = (run(o(0.1, 0.9, 0.99), starts([(3, 3)]), stream)[0][0] for o in (soap, adam))
    torch.testing.assert_close(ours.diag(), theirs.diag())


def test_soap_finds_the_eigenvectors_of_the_gradients_second_moments():
    generator = torch.Generator().manual_seed(0)
    turn = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64, generator=generator)).Q
    spread = turn * torch.tensor([8.0, 2.0, 0.5], dtype=torch.float64)
    stream = [[spread @ torch.randn(3, 200, dtype=torch.float64, generator=generator)] for _ in range(STEPS)]
    _, state = run(soap(), [torch.zeros(3, 200, dtype=torch.float64)], stream)
    (rows,) = state.chosen.rows
    torch.testing.assert_close((turn.mT @ rows).abs(), torch.eye(3, dtype=torch.float64), rtol=0, atol=0.05)


def test_soap_turned_with_its_bases_goes_the_same_way_turned():
    """U g W^T in place of g, with bases U and W in place of I: its path knows no coordinates but those."""
    generator = torch.Generator().manual_seed(0)
    u, w = (torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, generator=generator)).Q for n in (4, 3))
    plain, turned = torch.zeros(4, 3, dtype=torch.float64), torch.zeros(4, 3, dtype=torch.float64)
    transform = soap(0.1)
    state, other = transform.init([plain]), transform.init([plain])
    other = other._replace(chosen=other.chosen._replace(rows=[u], columns=[w]))
    for (g,) in gradients("ordinary", [(4, 3)]):
        (step,), state = transform.update([g], state, [plain])
        (turned_step,), other = transform.update([u @ g @ w.mT], other, [turned])
        plain, turned = plain + step, turned + turned_step
    torch.testing.assert_close(turned, u @ plain @ w.mT, rtol=1e-8, atol=1e-8)


def test_soap_moves_what_is_no_matrix_with_adam_or_with_rest():
    params, stream = starts([(2,), ()]), gradients("ordinary", [(2,), ()])
    for ours, theirs in ((soap(), adam(3e-3, 0.95, 0.95)), (soap(rest=sgd(0.3)), sgd(0.3))):
        for a, b in zip(run(ours, params, stream)[0], run(theirs, params, stream)[0], strict=True):
            torch.testing.assert_close(a, b)
