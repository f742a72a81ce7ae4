"""The claims of lecture 01, over seeds and sizes; and its pictures."""

import math
import tracemalloc
from itertools import product

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from course_lib.autograd import Array, checkpoint
from course_lib.lectures.backprop.costs import FUNCTIONS, checkpoint_memory, gradient_cost
from course_lib.lectures.backprop.engine import digits_training, two_engines
from course_lib.lectures.backprop.expression_graph import EXPRESSIONS, expression_graph
from course_lib.lectures.backprop.gradient_check import HALVES, difference_error, where_trap
from course_lib.lectures.backprop.graph import chain_shrinkage, repeated_backward, split_batch, torch_agreement
from course_lib.style import numerals


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_graphs_gradients_are_torchs(expression):
    leaves = {
        name: torch.tensor(x, dtype=torch.float64, requires_grad=True)
        for name, x in {"a": 1.5, "b": 0.4, "c": -2.0}.items()
    }
    functions = {name: getattr(torch, name) for name in ("exp", "log", "tanh", "relu")}
    result = eval(expression, functions | leaves)
    result.backward()
    graph = expression_graph(expression, a=1.5, b=0.4, c=-2.0)
    assert graph.result.data == pytest.approx(result.item(), abs=1e-14)
    for name, grad in graph.grads().items():
        assert grad == pytest.approx(leaves[name].grad.item(), abs=1e-14)
    assert {name for name, leaf in leaves.items() if leaf.grad is not None} == set(graph.grads())


@pytest.mark.parametrize("seed", range(5))
def test_random_graphs_agree_with_torch(seed):
    assert torch_agreement(40, seed=seed).worst < 1e-10


@pytest.mark.parametrize("seed", range(3))
def test_two_engines_one_gradient(seed):
    result = two_engines(points=7, seed=seed)
    assert result.gap < 1e-10
    assert result.scalar_nodes > 200 * result.array_nodes


@pytest.mark.parametrize(("calls", "depth"), list(product((1, 2, 5, 8), (1, 2, 3, 6))))
def test_leaves_count_calls_and_the_bug_counts_paths(calls, depth):
    result = repeated_backward(calls, depth)
    counts = np.arange(1, calls + 1)
    assert np.allclose(result.engine, counts)
    assert np.allclose(result.torch, counts)
    assert np.allclose(result.kept, [math.comb(k + depth - 1, depth) for k in counts])


@pytest.mark.parametrize(("parts", "seed"), list(product((1, 2, 7, 60), range(2))))
def test_accumulated_parts_are_the_whole(parts, seed):
    assert split_batch(parts, seed=seed).gap < 1e-12


@pytest.mark.parametrize(("weight", "start"), list(product((0.25, 0.5, 1.0), (-2.0, -0.3, 0.0, 1.1, 2.0))))
def test_sigmoid_chains_shrink_fourfold_a_layer(weight, start):
    chain = chain_shrinkage("sigmoid", depth=30, weight=weight, start=start)
    assert chain.ratios.max() <= weight / 4 + 1e-15
    assert chain.total <= 4.0**-30


def test_other_chains_need_not_shrink():
    assert chain_shrinkage("relu", weight=1.0, start=1.0).total == 1.0
    assert chain_shrinkage("relu", weight=2.0, depth=10, start=1.0).total == pytest.approx(1024)
    assert chain_shrinkage("relu", start=-1.0).total == 0.0
    assert chain_shrinkage("tanh", depth=20).total > 1e10 * chain_shrinkage("sigmoid", depth=20).total


@pytest.mark.parametrize("function", FUNCTIONS)
def test_reverse_mode_costs_a_constant_and_forward_mode_grows_with_the_inputs(function):
    costs = gradient_cost(function)
    assert (costs.reverse <= 5 * costs.plain + 1).all()
    ratio = costs.forward / costs.plain
    assert np.allclose(ratio[1:] / ratio[:-1], 2, rtol=0.45 if function == "rosenbrock" else 0.15)
    assert ratio[-1] / costs.sizes[-1] >= 2
    assert ratio[-1] / costs.sizes[-1] <= 4


def test_counts_are_those_of_a_pencil():
    costs = gradient_cost("product", 4)
    assert (costs.plain[costs.at], costs.reverse[costs.at], costs.forward[costs.at]) == (3, 3 + 3 * 4 + 1, 4 * 3 * 4)


@pytest.mark.parametrize(("layers", "root"), [(16, 4), (36, 6), (64, 8), (144, 12)])
def test_checkpoints_keep_twice_the_root_for_one_more_forward_pass(layers, root):
    memory = checkpoint_memory(layers, root)
    assert memory.peak[0] == layers
    assert memory.evaluations[0] == layers
    assert memory.peak[memory.at] == 2 * root
    assert memory.peak.min() == 2 * root
    assert (memory.evaluations[1:] == 2 * layers).all()


def test_checkpoints_save_bytes_too():
    def peak(segments):
        x = Array(np.full((100, 1000), 0.5))
        tracemalloc.start()
        for count in [36 // segments] * segments:

            def run(x, count=count):
                for _ in range(count):
                    x = x.tanh()
                return x

            x = run(x) if segments == 1 else checkpoint(run, x)
        x.backward(np.ones((100, 1000)))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most / 8e5

    assert peak(6) < 0.5 * peak(1)


@pytest.mark.parametrize(
    ("function", "dtype", "x"), list(product(("exp", "sin", "cube"), ("float32", "float64"), (0.7, 1.0, 1.3)))
)
def test_the_best_step_is_near_the_cube_root_of_eps(function, dtype, x):
    check = difference_error(function, dtype, x=x)
    assert check.eps ** (1 / 3) == pytest.approx({"float32": 4.9e-3, "float64": 6.06e-6}[dtype], rel=0.01)
    assert 1 / 4 < check.best_step / check.eps ** (1 / 3) < 4
    assert 1 / 20 < check.best_error / check.eps ** (2 / 3) < 4
    tiny, huge = check.errors[check.steps < 1e-8], check.errors[check.steps > 0.3]
    assert min(tiny.max(), huge.max()) > 1000 * check.best_error


def test_a_kink_breaks_the_check_for_every_step():
    at_kink = difference_error("relu", x=0.0)
    assert np.allclose(at_kink.errors, 0.5)
    beside = difference_error("relu", x=0.1)
    assert beside.errors[beside.steps < 0.09].max() < 1e-3
    assert beside.errors[beside.steps > 0.2].min() > 0.2


@pytest.mark.parametrize("half", HALVES)
def test_where_is_trapped_and_the_guard_cures_it(half):
    trapped, cured = where_trap(half), where_trap(half, guarded=True)
    assert np.isfinite(trapped.values).all()
    assert np.array_equal(trapped.values, cured.values)
    assert trapped.nans == (1 if half == "1/x" else 101)
    assert cured.nans == 0
    assert (cured.gradients[cured.x <= 0] == 0).all()
    assert np.array_equal(cured.gradients[cured.x > 0], trapped.gradients[trapped.x > 0])


def test_torch_falls_into_the_same_trap():
    x = torch.tensor(where_trap().x, requires_grad=True)
    torch.where(x > 0, x.sqrt(), 0.0).sum().backward()
    assert np.array_equal(np.isnan(x.grad.numpy()), np.isnan(where_trap().gradients))


@pytest.mark.parametrize("seed", range(5))
def test_the_array_engine_reads_digits(seed):
    result = digits_training(seed=seed)
    assert 0.965 <= result.accuracy <= 0.995
    assert result.test[5] >= 0.95
    assert result.losses[0] > 1.5
    assert len(result.test) == 21


def test_a_diverging_run_is_a_result():
    result = digits_training(lr=10.0, hidden=2, epochs=1, batch=8)
    assert 0 <= result.accuracy <= 1


def test_same_seed_same_run_and_progress_is_asked_every_epoch():
    asked = []
    one = digits_training(epochs=2, progress=lambda steps: asked.extend(steps) or steps)
    assert asked == [0, 1]
    assert np.array_equal(one.losses, digits_training(epochs=2).losses)
    assert not np.array_equal(one.losses, digits_training(epochs=2, seed=1).losses)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: expression_graph("a*c"), "expression must be one of"),
        (lambda: chain_shrinkage(depth=0), "depth must be a whole number from 1 to 40, got 0"),
        (lambda: difference_error(h=0.0), "h must be a number from 1e-12 to 1, got 0.0"),
        (lambda: gradient_cost(inputs=1), "inputs must be a whole number from 2 to 32"),
        (lambda: two_engines(points=0), "points must be a whole number"),
    ],
)
def test_illegal_settings_are_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_the_graph_keeps_its_artists_while_the_numbers_move():
    redraw = expression_graph().draw(Figure((7, 3.4)))
    first, second = redraw(expression_graph(a=1.0)), redraw(expression_graph(a=-2.0))
    assert first is second
    assert redraw(expression_graph("a*a + a*b")) is not first


def test_numerals_stand_where_they_are_put():
    path = numerals(["1.5", "−20"], np.array([[0.0, 0.0], [10.0, 5.0]]), size=72, inch=np.array([1.0, 2.0]))
    left, right = path.vertices[path.vertices[:, 0] < 5], path.vertices[path.vertices[:, 0] >= 5]
    assert abs(left[:, 0].min() + left[:, 0].max()) < 0.2
    assert abs((right[:, 1].min() + right[:, 1].max()) / 2 - 5) < 0.1
    assert 1.3 < np.ptp(left[:, 1]) < 1.6
