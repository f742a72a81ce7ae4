"""float32 moments of bfloat16 weights: what they are, and why."""

import pytest
import torch

from course_lib.optim import adam, adamw, apply_steps, in_dtype, muon, sgd, steps_on


@pytest.mark.parametrize("transform", [adam(0.01), adamw(0.01), sgd(0.1, 0.9), muon()])
def test_only_the_steps_are_rounded(transform):
    generator = torch.Generator().manual_seed(0)
    params = [torch.randn(s, generator=generator).bfloat16() for s in [(3, 4), (5,)]]
    wide, state = in_dtype(torch.float32, transform), in_dtype(torch.float32, transform).init(params)
    exact = transform.init([p.float() for p in params])
    for _ in range(5):
        grads = [torch.randn(p.shape, generator=generator).bfloat16() for p in params]
        steps, state = wide.update(grads, state, params)
        wanted, exact = transform.update([g.float() for g in grads], exact, [p.float() for p in params])
        for ours, theirs in zip(steps, wanted, strict=True):
            assert ours.dtype == torch.bfloat16
            assert torch.equal(ours, theirs.bfloat16())
        params = apply_steps(params, steps)


def test_a_bfloat16_mean_of_squares_stops_short_and_a_float32_one_does_not():
    """Beyond 8 bits 0.001 of the way to a constant is rounded away, so the mean never arrives."""
    params, grads = [torch.zeros(1).bfloat16()], [torch.ones(1).bfloat16()]
    arrived = {}
    for name, transform in {"bfloat16": adam(), "float32": in_dtype(torch.float32, adam())}.items():
        state = transform.init(params)
        for _ in range(5000):
            _, state = transform.update(grads, state, params)
        arrived[name] = float(state.square[0])
    assert arrived["bfloat16"] < 0.6
    assert arrived["float32"] > 0.99


def test_the_rule_is_the_same():
    assert steps_on(in_dtype(torch.float32, adam(0.1)), [1.0, -2.0]) == steps_on(adam(0.1), [1.0, -2.0])
