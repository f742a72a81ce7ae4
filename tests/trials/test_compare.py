"""The interval covers as often as it says, and "cannot tell" is an answer."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from course_lib.trials import compare

RUNS = 4000


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("n", [3, 5, 20])
def test_where_nothing_differs_a_winner_is_named_as_seldom_as_promised(n, level):
    rng = np.random.default_rng(n)
    seeds = rng.normal(0, 5, (RUNS, n, 1))  # what a seed does to both
    results = seeds + rng.normal(0, 1, (RUNS, n, 2))
    wrong = np.mean([compare(*r.T, level=level).higher is not None for r in results])
    error = np.sqrt(level * (1 - level) / RUNS)
    assert abs(wrong - (1 - level)) < 4 * error


@pytest.mark.parametrize("n", [3, 10])
def test_the_interval_holds_the_true_difference_as_often_as_it_says(n):
    rng = np.random.default_rng(100 + n)
    held = []
    for _ in range(RUNS):
        result = compare(rng.normal(2.0, 1, n), rng.normal(1.5, 1, n))
        held.append(result.low <= 0.5 <= result.high)
    assert abs(np.mean(held) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / RUNS)


def test_pairing_sees_a_difference_that_the_spread_over_seeds_would_hide():
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 10, 8)
    a, b = shared + 0.5 + rng.normal(0, 0.1, 8), shared + rng.normal(0, 0.1, 8)
    assert compare(a, b).verdict == "a is higher"
    assert stats.ttest_ind(a, b).pvalue > 0.5


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=3, max_size=12))
def test_swapping_the_two_swaps_the_verdict(pairs):
    a, b = zip(*pairs, strict=True)
    there, back = compare(a, b), compare(b, a)
    assert (there.mean, there.low, there.high) == (-back.mean, -back.high, -back.low)
    assert there.higher == {None: None, 0: 1, 1: 0}[back.higher]


def test_the_interval_is_the_textbook_one():
    a, b = [1.0, 2.0, 4.0, 3.5], [0.5, 1.0, 3.0, 3.6]
    result = compare(a, b, level=0.9)
    textbook = stats.ttest_rel(a, b).confidence_interval(0.9)
    assert (result.low, result.high) == pytest.approx((textbook.low, textbook.high))


def test_results_may_be_tensors_and_the_summary_names_them():
    a, b = torch.tensor([0.97, 0.96, 0.98]), torch.tensor([0.90, 0.91, 0.93])
    result = compare(a, b, names=("adam", "sgd"))
    assert result.verdict == "adam is higher"
    assert result.summary() == "adam is higher: adam - sgd = 0.0567, 95% interval [0.028, 0.0854], 3 pairs"
    assert compare(b, a, names=("sgd", "adam")).verdict == "adam is higher"


def test_equal_results_are_not_distinguishable_and_a_constant_gap_is():
    assert compare([1, 2, 3], [1, 2, 3]).verdict == "not distinguishable"
    assert compare([2, 3, 4], [1, 2, 3]).verdict == "a is higher"


@pytest.mark.parametrize(
    ("a", "b", "level", "message"),
    [
        ([1, 2], [1, 2], 0.95, "at least 3 pairs, got 2"),
        ([1, 2, 3], [1, 2], 0.95, r"lists of one length, got shapes \(3,\) and \(2,\)"),
        ([[1, 2, 3]], [[1, 2, 3]], 0.95, "lists of one length"),
        ([1, 2, float("nan"), float("inf")], [1, 2, 3, 4], 0.95, "2 of the 4 runs of a diverged"),
        ([1, 2, 3], [1, 2, float("-inf")], 0.95, "1 of the 3 runs of b diverged"),
        ([1, 2, 3], [1, 2, 3], 1.0, r"level must be above 0 and below 1, got 1\.0"),
    ],
)
def test_what_cannot_be_compared_is_refused(a, b, level, message):
    with pytest.raises(ValueError, match=message):
        compare(a, b, level=level)


def test_a_margin_is_the_near_end_in_widths_of_the_interval():
    apart = compare([2.0, 2.1, 2.2], [1.0, 1.0, 1.0])
    assert apart.margin == pytest.approx(apart.low / (apart.high - apart.low))
    assert compare([1.0, 1.0, 1.0], [2.0, 2.1, 2.2]).margin == pytest.approx(apart.margin)
    level = compare([1.0, 2.0, 3.0], [1.1, 1.9, 3.0])
    assert level.margin < 0 < level.largest == pytest.approx(max(-level.low, level.high))
    same = compare([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert (same.largest, same.higher) == (0.0, None)
