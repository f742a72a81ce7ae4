"""Clipping against torch's, and its laws."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib.optim import (
    clip_norm,
    clip_value,
)
from tests.optim.tables import assert_same, fresh


@pytest.mark.parametrize("scale", [0.0, 1e-9, 0.1, 1.0, 1e9])
@pytest.mark.parametrize("limit", [0.0, 0.5, 1.0, 50.0])
@pytest.mark.parametrize(
    ("make", "oracle"), [(clip_norm, nn.utils.clip_grad_norm_), (clip_value, nn.utils.clip_grad_value_)]
)
def test_clipping_equals_torch(make, oracle, limit, scale):
    params, generator = fresh()
    grads = [scale * torch.randn(p.shape, dtype=p.dtype, generator=generator) for p in params]
    for p, g in zip(params, grads, strict=True):
        p.grad = g.clone()
    oracle(params, limit)
    clipped, _ = make(limit).update(grads, make(limit).init(params), params)
    assert_same(clipped, [p.grad for p in params])


def test_clip_norm_keeps_the_direction_and_clip_value_does_not():
    grads = [torch.tensor([3.0, 0.0]), torch.tensor([[4.0]])]
    by_norm, _ = clip_norm(1.0).update(grads, clip_norm(1.0).init(grads), grads)
    by_value, _ = clip_value(1.0).update(grads, clip_value(1.0).init(grads), grads)
    torch.testing.assert_close(torch.cat([g.flatten() for g in by_norm]), torch.tensor([0.6, 0.0, 0.8]))
    torch.testing.assert_close(torch.cat([g.flatten() for g in by_value]), torch.tensor([1.0, 0.0, 1.0]))


def test_what_clip_norm_does_with_a_gradient_that_is_not_finite():
    poisoned = [torch.tensor([1.0, float("inf")]), torch.tensor([2.0])]
    clipped, _ = clip_norm(1.0).update(poisoned, clip_norm(1.0).init(poisoned), poisoned)
    assert clipped[0][0] == clipped[1][0] == 0
    assert clipped[0][1].isnan()
    poisoned = [torch.tensor([1.0, float("nan")]), torch.tensor([2.0])]
    assert all(g.isnan().all() for g in clip_norm(1.0).update(poisoned, clip_norm(1.0).init(poisoned), poisoned)[0])


shapes = st.lists(st.lists(st.integers(0, 3), max_size=4).map(tuple), min_size=1, max_size=3)


@settings(max_examples=30, deadline=None)
@given(shapes=shapes, seed=st.integers(0, 2**31), limit=st.floats(1e-3, 10))
def test_a_clipped_gradient_is_never_longer_than_the_limit(shapes, seed, limit):
    generator = torch.Generator().manual_seed(seed)
    grads = [torch.randn(s, dtype=torch.float64, generator=generator) for s in shapes]
    clipped, _ = clip_norm(limit).update(grads, clip_norm(limit).init(grads), grads)
    assert sum(float((g * g).sum()) for g in clipped) ** 0.5 <= limit * (1 + 1e-12)
