"""SOAP against the paper written out by hand, and its laws."""

import numpy as np
import pytest
import torch

from course_lib.optim import (
    adam,
    sgd,
    soap,
)
from tests.optim.streams import KINDS, STEPS, gradients, run, starts


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
