"""Parameters say what they may be, and illegal values are refused by name."""

import math
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.ranges import Choice, Integer, Linear, Log, controls_of, experiment, no_progress


@experiment
def sample(
    lr: Annotated[float, Log(1e-3, 1.0)] = 0.1,
    beta: Annotated[float, Linear(0.0, 0.99)] = 0.9,
    steps: Annotated[int, Linear(1, 300)] = 80,
    surface: Literal["ravine", "saddle"] = "ravine",
    nesterov: bool = False,
    *,
    seed: int = 0,
) -> str:
    return f"{lr} {beta} {steps} {surface} {nesterov} {seed}"


def test_controls_are_read_from_the_signature_in_order():
    assert controls_of(sample) == {
        "lr": Log(1e-3, 1.0),
        "beta": Linear(0.0, 0.99),
        "steps": Integer(Linear(1, 300)),
        "surface": Choice(("ravine", "saddle")),
        "nesterov": Choice((False, True)),
    }


@pytest.mark.parametrize(
    ("illegal", "message"),
    [
        ({"lr": 0.0}, r"sample: lr must be a number from 0.001 to 1, got 0.0"),
        ({"beta": 1.5}, r"sample: beta must be a number from 0 to 0.99, got 1.5"),
        ({"beta": math.nan}, r"beta must be a number"),
        ({"beta": "0.9"}, r"beta must be a number from 0 to 0.99, got '0.9'"),
        ({"beta": True}, r"beta must be a number"),
        ({"steps": 2.5}, r"steps must be a whole number from 1 to 300, got 2.5"),
        ({"surface": "hill"}, r"surface must be one of 'ravine', 'saddle', got 'hill'"),
        ({"nesterov": 1}, r"nesterov must be one of False, True, got 1"),
    ],
)
def test_an_illegal_value_is_refused_by_name(illegal, message):
    with pytest.raises(ValueError, match=message):
        sample(**illegal)


def test_positions_and_unknown_names_are_python_s_business():
    with pytest.raises(ValueError, match="beta"):
        sample(0.1, 2.0)
    with pytest.raises(TypeError, match="momentum"):
        sample(momentum=0.9)


@given(st.floats(1e-3, 1.0), st.integers(1, 300))
def test_every_legal_value_passes(lr, steps):
    assert sample(lr, steps=steps) == f"{lr} 0.9 {steps} ravine False 0"


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0), (0.0, math.inf), (math.nan, 1.0)])
def test_a_range_needs_two_ends(ends):
    with pytest.raises(ValueError, match="low must be below high"):
        Linear(*ends)


def test_ratios_need_a_positive_start():
    with pytest.raises(ValueError, match="low must be above 0"):
        Log(0.0, 1.0)


def test_silent_changes_nothing():
    assert list(no_progress(range(3))) == [0, 1, 2]
