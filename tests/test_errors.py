"""What is said of a thing or an error: short, and with the learner's own line."""

import numpy as np
import pytest
import torch

from course_lib.errors import ContractError, describe, line_of
from course_lib.optim import adam


def caught(run):
    try:
        run()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_the_line_is_the_learners_even_where_a_library_raises():
    error = caught(lambda: torch.zeros(3) @ torch.zeros(4))
    assert line_of(error).startswith("line ")
    assert line_of(error).endswith("in <lambda>: error = caught(lambda: torch.zeros(3) @ torch.zeros(4))")


def test_an_error_that_came_by_no_line_of_the_learners_has_none():
    assert line_of(ValueError("never raised")) == ""
    assert describe(ValueError("never raised")) == "ValueError: never raised"


def test_lines_of_the_package_are_passed_over():
    assert ": error = caught(lambda: adam(lr=-1))" in line_of(error := caught(lambda: adam(lr=-1)))
    assert describe(error).startswith("ValueError: adam: lr must be at least 0 and finite, got -1 (line ")


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        ([1, 2], "a list of 2"),
        ((), "a tuple of 0"),
        (np.zeros((2, 3)), "an array of shape (2, 3)"),
        (torch.zeros(4), "an array of shape (4,)"),
        (0.5, "float 0.5"),
        (None, "NoneType None"),
        ({i: i for i in range(20)}, "an object of type dict"),
        (ContractError("two\n  lines"), "ContractError: two lines"),
    ],
)
def test_a_thing_is_described_in_a_few_words(thing, words):
    assert describe(thing) == words
