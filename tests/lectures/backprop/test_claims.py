"""What lecture 01 says, at more settings than its notebook shows."""

import numpy as np
import pytest

from course_lib.lectures import backprop as lab


@pytest.mark.parametrize(("dtype", "cube_root"), [("float32", 4.9e-3), ("float64", 6.1e-6)])
def test_the_best_step_of_a_central_difference_is_near_the_cube_root_of_eps(dtype, cube_root):
    measured = lab.difference_error("exp", dtype)
    assert cube_root / 4 < measured.best_step < cube_root * 4
    assert measured.best_error < 4 * measured.eps ** (2 / 3)


@pytest.mark.parametrize("function", ["network", "product", "rosenbrock"])
def test_a_gradient_in_reverse_costs_at_most_five_functions_and_forward_two_to_four_an_input(function):
    cost = lab.gradient_cost(function, 32)
    assert (cost.reverse <= 5 * cost.plain + 1).all()
    assert 2 * 32 <= cost.forward_ratio <= 4 * 32


@pytest.mark.parametrize("start", np.linspace(-2, 2, 9).tolist())
def test_no_sigmoid_passes_on_more_than_a_quarter(start):
    assert lab.chain_shrinkage("sigmoid", depth=20, start=start).ratios.max() <= 0.25


@pytest.mark.parametrize("parts", [2, 4, 60])
@pytest.mark.parametrize("seed", [0, 1])
def test_accumulated_parts_add_up_to_the_whole_batch(parts, seed):
    assert lab.split_batch(parts, seed=seed).gap < 1e-12


@pytest.mark.parametrize(("layers", "root"), [(16, 4), (36, 6), (144, 12)])
def test_checkpoints_at_the_root_keep_twice_the_root_and_evaluate_twice(layers, root):
    counted = lab.checkpoint_memory(layers, root)
    assert counted.peak.min() == counted.peak[counted.at] == 2 * root
    assert counted.evaluations[counted.at] == 2 * layers
    assert lab.checkpoint_memory(layers, 1).peak[0] == layers


def test_the_trap_in_where_gives_nan_and_values_that_look_right():
    assert np.isfinite(lab.where_trap().values).all()
    assert (lab.where_trap().nans, lab.where_trap(guarded=True).nans) == (101, 0)


def test_one_call_at_depth_one_is_kept_once_and_two_twice():
    np.testing.assert_allclose(lab.repeated_backward(calls=2, depth=1).kept, [1, 2])
