"""A recording does what its function does, without running it again."""

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from course_lib.train.replay import bytes_made, record

A, B = (torch.randn(3, 4, generator=torch.Generator().manual_seed(i)) for i in range(2))
WEIGHT = torch.tensor([1.0, 2.0, 3.0, 4.0])


def wrote_in_place(a, b):
    out = torch.zeros_like(a)
    view = out[1:]
    view.add_(b[1:])
    out.mul_(a)
    return out, view


FUNCTIONS = {
    "sums": lambda a, b: (a + b, a * b + 1),
    "an argument handed on": lambda a, b: {"same": a, "sum": a + b},
    "in place": wrote_in_place,
    "views": lambda a, b: (a.expand(3, 4) @ b.T.contiguous(), (a @ b.T).view(9).view(3, 3)[1], a.reshape(2, 6)[1]),
    "several results": lambda a, b: (*torch.max(a, dim=1), *b.split(2, dim=1), torch.topk(a, 2)),
    "lists": lambda a, b: torch.cat([a, torch.stack([b[0], b[1], a[2]])]),
    "a constant": lambda a, b: a * WEIGHT + torch.tensor([0.5, 1.0, 1.5, 2.0]),
    "overwriting": lambda a, b: -(((a * b) * (a * b)).sqrt() - b) / (a * 2 + b * 2).clamp_min(0.1),
    "read again": lambda a, b: (s := a * b, s * 2, (s + 1) * s, v := (a - b)[0], (a - b) * 3, v + 1),
    "broadcast": lambda a, b: (a[0] * 2 + b, (a[:, :1] * 2) * b, (a * 2).double() + b),
    "twice": lambda a, b: (a + b) * (a + b),
    "a gradient": grad(lambda a, b: (torch.tanh(a @ b.T).softmax(-1) * a.exp().sum()).sum()),
    "mapped gradients": vmap(grad(lambda a, b: torch.log_softmax(a * b, 0)[0] + a.norm())),
    "out of sight": lambda a, b: torch.from_numpy((a * 2).numpy()) + b,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_replay_gives_what_the_function_gives_for_other_arguments(name):
    function = FUNCTIONS[name]
    recording = record(function, A, B)
    for a, b in [(A, B), (B + 2, A), (torch.randn(4, 3).T, torch.randn(3, 8)[:, ::2])]:
        kept = a.clone(), b.clone()
        torch.testing.assert_close(recording.replay(a, b), function(a, b), rtol=0, atol=1e-6)
        assert torch.equal(a, kept[0])
        assert torch.equal(b, kept[1])


def test_a_result_that_nothing_else_reads_is_overwritten():
    graph = record(lambda a, b: ((a * b + 1).sqrt() / 2, (s := a - b) * 2, s), A, B).graph
    made = [node.target.overloadpacket.__name__ for node in graph.nodes if node.op == "call_function"]
    assert made == ["mul", "add_", "sqrt_", "div_", "sub", "mul"]


def test_python_runs_once():
    calls = []

    def function(a):
        calls.append(1)
        return a + len(calls)

    recording = record(function, A)
    assert torch.equal(recording.replay(B), recording.replay(B))
    assert len(calls) == 1


def test_one_tensor_given_twice_is_two_arguments():
    assert torch.equal(record(lambda a, b: a - b, A, A).replay(A, B), A - B)


def test_what_is_found_outside_is_seen_as_it_is_now():
    outside = torch.ones(3, 4)
    recording = record(lambda a: a * outside, A)
    outside.fill_(5.0)
    assert torch.equal(recording.replay(A), 5 * A)


def test_random_numbers_are_drawn_anew_and_follow_the_seed():
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    params = {name: p.detach() for name, p in net.named_parameters()}

    def masked(params, x):
        return vmap(lambda x: functional_call(net, params, (x,)), randomness="different")(x)

    recording = record(masked, params, A)
    assert not torch.equal(recording.replay(params, A), recording.replay(params, A))
    torch.manual_seed(1)
    want = masked(params, A)
    torch.manual_seed(1)
    assert torch.equal(recording.replay(params, A), want)


def test_the_bytes_are_those_of_the_tensors_made():
    assert bytes_made(lambda a: ((a + 1).view(12) * 2, a.T, a.split(1)), A) == 2 * 12 * 4
    assert bytes_made(lambda a: a, A) == 0


def test_an_error_comes_through_and_leaves_no_recorder_behind():
    with pytest.raises(ZeroDivisionError):
        record(lambda a: a / (1 / 0), A)
    assert torch.equal(record(lambda a: a + 1, A).replay(B), B + 1)
