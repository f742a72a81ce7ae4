"""The engines against torch.autograd, over random graphs; and the laws they obey."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.autograd import (
    Array,
    Counted,
    Dual,
    Tally,
    Value,
    central_difference,
    checkpoint,
    cross_entropy,
    draw_weights,
    forward_gradient,
    gradient_gaps,
    graph_of,
    node,
    on_arrays,
    on_scalars,
    scalar_layers,
    where,
)

BINARY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / (b * b + 1.0),
    "1-": lambda a, b: 1.0 - a * 2.0 + b,
    "1/": lambda a, b: b - 1.0 / (a * a + 2.0),
}
UNARY = {
    "tanh": lambda a: a.tanh(),
    "sigmoid": lambda a: a.sigmoid(),
    "relu": lambda a: a.relu(),
    "exp": lambda a: a.tanh().exp(),
    "log": lambda a: (a * a + 1.0).log(),
    "pow": lambda a: a.tanh() ** 3,
    "root": lambda a: (a * a + 0.5) ** 0.5,
    "neg": lambda a: -a,
}
NUMBERS = st.floats(-2, 2).filter(lambda x: abs(x) > 1e-3)
STEPS = st.lists(
    st.tuples(st.sampled_from([*BINARY, *UNARY]), st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=30
)


def build(leaves, steps):
    """A random graph: every step combines nodes made earlier; every third is squashed, to keep numbers moderate."""
    nodes = list(leaves)
    for op, i, j in steps:
        a, b = nodes[i % len(nodes)], nodes[j % len(nodes)]
        made = BINARY[op](a, b) if op in BINARY else UNARY[op](a)
        nodes.append(made.tanh() if len(nodes) % 3 == 0 else made)
    return nodes


def close(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return ours.shape == theirs.shape and np.all(np.abs(ours - theirs) <= 1e-10 * np.maximum(1, np.abs(theirs)))


@settings(max_examples=150, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=5), STEPS)
def test_scalar_gradients_are_torchs(numbers, steps):
    ours = [Value(x) for x in numbers]
    theirs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in numbers]
    mine, its = build(ours, steps)[-1], build(theirs, steps)[-1]
    mine.backward()
    its.backward()
    assert close(mine.data, its.detach())
    for a, b in zip(ours, theirs, strict=True):
        assert close(a.grad, 0.0 if b.grad is None else b.grad)


SHAPES = st.lists(
    st.sampled_from([(), (1,), (3,), (1, 3), (4, 1), (4, 3), (2, 4, 3), (2, 1, 1)]), min_size=1, max_size=4
)


@settings(max_examples=150, deadline=None)
@given(SHAPES, STEPS, st.integers(0, 2**32 - 1))
def test_array_gradients_are_torchs_with_broadcasting(shapes, steps, seed):
    data = [np.random.default_rng(seed).uniform(-2, 2, shape) for shape in shapes]
    ours, theirs = [Array(x) for x in data], [torch.tensor(x, requires_grad=True) for x in data]
    mine, its = build(ours, steps)[-1].sum(), build(theirs, steps)[-1].sum()
    mine.backward()
    its.backward()
    for a, b in zip(ours, theirs, strict=True):
        assert close(np.zeros(a.shape) if a.grad is None else a.grad, torch.zeros_like(b) if b.grad is None else b.grad)


OPERATIONS = {
    "matmul": lambda a, b: a @ b,
    "matmul broadcasting its batch": lambda a, b: (a.reshape(2, 1, 3, 4) @ b).sum(),
    "constant on the left": lambda a, b: torch_or_numpy(a, np.ones((5, 3))) @ a[0] @ b,
    "sum over one axis": lambda a, b: a.sum(1) * a.sum(1).exp(),
    "sum over two, kept": lambda a, b: a.sum((0, 2), keepdims=True) * a,
    "mean": lambda a, b: a.mean() * b.mean(0),
    "mean, kept": lambda a, b: ((a - a.mean(-1, keepdims=True)) ** 2).mean(-1).sqrt(),
    "reshape": lambda a, b: a.reshape(4, 6) @ a.reshape(6, 4),
    "swapaxes": lambda a, b: a @ a.swapaxes(-1, -2),
    "slice": lambda a, b: a[:, 1:] * a[:, :1],
    "repeated index": lambda a, b: a[torch_or_numpy(a, np.array([0, 1, 0]))] * 2,
    "sine": lambda a, b: a.sin() * b.sum(),
}


def torch_or_numpy(like, constant):
    return torch.tensor(constant) if isinstance(like, torch.Tensor) else constant


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_against_torch(name):
    random = np.random.default_rng(0)
    data = [random.normal(size=(2, 3, 4)), random.normal(size=(4, 5))]
    ours, theirs = [Array(x) for x in data], [torch.tensor(x, requires_grad=True) for x in data]
    mine, its = OPERATIONS[name](*ours), OPERATIONS[name](*theirs)
    assert close(mine.data, its.detach())
    (mine * mine).sum().backward()
    (its * its).sum().backward()
    for a, b in zip(ours, theirs, strict=True):
        assert (a.grad is None) == (b.grad is None)
        assert a.grad is None or close(a.grad, b.grad)


def test_where_keeps_the_chosen_side_and_cross_entropy_is_torchs():
    random = np.random.default_rng(1)
    data, labels = random.normal(size=(6, 4)) * 3, np.array([0, 3, 1, 1, 2, 0])
    ours, theirs = Array(data), torch.tensor(data, requires_grad=True)
    (where(data > 0, ours.exp(), ours * 3) + cross_entropy(ours, labels) * 2).sum().backward()
    (
        torch.where(theirs > 0, theirs.exp(), theirs * 3)
        + torch.nn.functional.cross_entropy(theirs, torch.tensor(labels)) * 2
    ).sum().backward()
    assert close(ours.grad, theirs.grad)


def test_a_value_used_twice_accumulates():
    x = Value(3.0)
    (x * x + x).backward()
    assert x.grad == 7.0
    a = Array([3.0])
    (a * a + a).sum().backward()
    assert a.grad == [7.0]


@pytest.mark.parametrize("calls", [1, 2, 5])
def test_leaves_add_up_over_calls_and_inner_numbers_do_not(calls):
    x = Value(0.3)
    inner = x.tanh()
    y = (inner * 2.0).exp()
    a = Array([0.3])
    b = (a.tanh() * 2.0).exp().sum()
    for _ in range(calls):
        y.backward()
        b.backward()
    once = 2 * y.data * (1 - math.tanh(0.3) ** 2)
    assert x.grad == pytest.approx(calls * once)
    assert a.grad == pytest.approx(calls * once)
    assert inner.grad == pytest.approx(2 * y.data)


def test_deep_chains_need_no_recursion():
    x = Value(1.0)
    y = x
    for _ in range(50_000):
        y = y + 1.0
    y.backward()
    assert (y.data, x.grad) == (50_001.0, 1.0)
    a = Array(1.0)
    b = a
    for _ in range(20_000):
        b = b + 1.0
    b.backward()
    assert a.grad == 1.0
    del y, b


def test_a_leaf_owns_its_gradient():
    a, b = Array(np.ones(3)), Array(np.ones(3))
    (a + b).sum().backward()
    a.grad *= 5
    assert b.grad.tolist() == [1, 1, 1]


def test_float32_stays_float32():
    w = Array(np.ones((2, 2), dtype=np.float32))
    loss = ((np.ones((3, 2), dtype=np.float32) @ w) * 0.5).tanh().mean()
    loss.backward()
    assert loss.data.dtype == w.grad.dtype == np.float32


def test_the_callers_array_is_not_touched():
    given = np.ones(2)
    w = Array(given)
    w.data -= 5
    assert given.tolist() == [1, 1]


@pytest.mark.parametrize("seed", range(3))
def test_checkpoint_changes_nothing_but_memory(seed):
    weights = [[Array(w) for w, _ in draw_weights([4, 4, 4], seed)] for _ in range(2)]
    start = [Array(np.random.default_rng(seed).normal(size=(5, 4))) for _ in range(2)]

    def layers(ws):
        return lambda x: ((x @ ws[0]).tanh() @ ws[1]).tanh()

    (layers(weights[0])(start[0]) ** 2).sum().backward()
    (checkpoint(layers(weights[1]), start[1]) ** 2).sum().backward()
    for a, b in zip([start[0], *weights[0]], [start[1], *weights[1]], strict=True):
        assert np.array_equal(a.grad, b.grad)


def test_checkpoint_of_what_ignores_its_input():
    x, w = Array([1.0]), Array([2.0])
    checkpoint(lambda x: w * 3, x).sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([0.0], [3.0])


@settings(max_examples=50, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=4))
def test_forward_mode_is_reverse_mode(numbers):
    def f(x):
        total = 1.0 - x[0]
        for a, b in zip(x, x[1:] + x[:1], strict=True):
            total = total + (a * b).tanh() * 2 - (-a).exp() + (3.0 - b) ** 3
        return total

    leaves = [Value(x) for x in numbers]
    f(leaves).backward()
    assert np.allclose(forward_gradient(f, numbers), [v.grad for v in leaves], rtol=1e-12, atol=1e-12)


def test_a_dual_number_carries_many_directions_at_once():
    x, y = Dual(2.0, np.array([1.0, 0.0])), Dual(3.0, np.array([0.0, 1.0]))
    assert (x * y + y).tangent.tolist() == [3.0, 3.0]


def test_counting_numbers_count():
    tally = Tally()
    x = Counted(3.0, tally)
    y = 2.0 * x + x / 4.0 - (-x) ** 2
    assert (float(y), tally.operations) == (6.0 + 0.75 - 9.0, 6)


def test_both_engines_give_the_same_network_and_gradients():
    weights, x = draw_weights([3, 5, 4, 2], seed=2), np.random.default_rng(0).normal(size=(1, 3))
    arrays = [(Array(w), Array(b)) for w, b in weights]
    scalars = scalar_layers(weights, Value)
    out, outs = on_arrays(arrays, x), on_scalars(scalars, x[0].tolist())
    (out * out).sum().backward()
    sum((o * o for o in outs), Value(0.0)).backward()
    for (w, b), (columns, biases) in zip(arrays, scalars, strict=True):
        assert np.allclose(w.grad.T, [[v.grad for v in column] for column in columns], rtol=1e-12, atol=1e-14)
        assert np.allclose(b.grad, [v.grad for v in biases], rtol=1e-12, atol=1e-14)


def test_gradient_check_finds_a_wrong_pull_and_passes_a_right_one():
    x = np.random.default_rng(0).normal(size=(3, 2))

    def cube(slope):
        return lambda a: node("cube", a.data**3, (a, lambda g: g * slope * a.data**2)).sum()

    assert max(gradient_gaps(cube(3.0), [x])) < 1e-8
    assert min(gradient_gaps(cube(2.0), [x])) > 0.1


def test_central_difference_of_each_dtype():
    for dtype, bound in ((np.float32, 1e-3), (np.float64, 1e-9)):
        slope = central_difference(lambda x: float(np.exp(x).sum()), np.array([0.5], dtype=dtype))
        assert slope == pytest.approx(math.exp(0.5), rel=bound)


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (lambda: Value("3"), TypeError, "data must be a number, got str"),
        (lambda: Value(1.0) + "3", TypeError, "data must be a number, got str"),
        (lambda: Value(-1.0).log(), ValueError, "must be above 0, got -1.0"),
        (lambda: Value(-1.0) ** 0.5, ValueError, "whole where the base is negative, got 0.5"),
        (lambda: Value(2.0) ** Value(2.0), ValueError, "n must be a number"),
        (lambda: Array(["a"]), TypeError, "data must be an array of real numbers"),
        (lambda: Array(np.ones(3)).backward(), ValueError, "start from a single number or give grad"),
        (lambda: Array(np.ones(3)).backward(np.ones(2)), ValueError, "must have the array's shape"),
        (lambda: Array(np.ones(3)) @ np.ones((3, 2)), ValueError, "two axes or more, got shapes"),
        (lambda: np.ones(3) @ Array(np.ones((3, 2))), ValueError, "two axes or more, got shapes"),
        (lambda: Array(np.ones(3)) ** "2", TypeError, "n must be a number, got str"),
        (lambda: draw_weights([3]), ValueError, "two or more positive numbers"),
        (lambda: central_difference(np.sum, np.ones(2), h=0.0), ValueError, "h must be above 0"),
        (lambda: graph_of(sum((Value(1.0) for _ in range(60)), Value(0.0))), ValueError, "at most 60 numbers"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(wrong, error, says):
    with pytest.raises(error, match=says):
        wrong()


def test_the_graph_has_the_values_gradients_and_slopes():
    a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    result = (a * b + a).relu() + a
    result.backward()
    graph = graph_of(result)
    assert [n.name for n in graph.nodes] == ["a", "b", "*", "+", "relu", "+"]
    assert graph.grads() == {"a": 1.0, "b": 0.0}
    assert {(e.source, e.target): e.slope for e in graph.edges}[(0, 2)] == -3.0
    assert "d/da = 1" in graph.summary()


@settings(max_examples=60, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=4), STEPS)
def test_every_node_of_a_graph_has_a_place_of_its_own(numbers, steps):
    result = build([Value(x) for x in numbers], steps[:8])[-1]
    graph = graph_of(result)
    places = [(n.column, n.row) for n in graph.nodes]
    assert len(set(places)) == len(places)
    taken = set(places)
    for edge in graph.edges:
        assert edge.path[0] == places[edge.source]
        assert edge.path[-1] == places[edge.target]
        assert all(b[0] - a[0] == 1 for a, b in zip(edge.path[:-1], edge.path[1:], strict=True))
        assert not taken & set(edge.path[1:-1]), "an edge runs through a node"


def test_drawing_order_leaves_no_needless_crossing():
    a, b, c, d = (Value(1.0, name=n) for n in "abcd")
    graph = graph_of((a * c) + (b * d))
    row = {n.name: n.row for n in graph.nodes if n.leaf}
    assert abs(row["a"] - row["c"]) == 1
    assert abs(row["b"] - row["d"]) == 1
