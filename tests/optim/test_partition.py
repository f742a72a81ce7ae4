"""Two transforms side by side against torch's parameter groups."""

import torch

from course_lib.optim import (
    add_decay,
    chain,
    clip_norm,
    partition,
    sgd,
)
from tests.optim.streams import gradients, run, starts


def test_partition_is_torchs_parameter_groups():
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


def test_a_side_of_partition_that_has_no_parameter_is_not_run():
    params = starts([(3,)])
    (moved,), _ = run(partition(lambda p: p.ndim == 2, chain(clip_norm(1.0), sgd(1.0)), sgd(0.1)), params, [params])
    assert torch.equal(moved, params[0] - 0.1 * params[0])
