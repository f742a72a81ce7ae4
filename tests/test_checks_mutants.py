"""Each known mistake in an exercise is named, with its explanation and evidence."""

import pytest

from tests import (
    test_checks_adaptive,
    test_checks_backprop,
    test_checks_gradient_descent,
    test_checks_learning_rate,
    test_checks_momentum,
)

LECTURES = (
    test_checks_backprop,
    test_checks_gradient_descent,
    test_checks_momentum,
    test_checks_adaptive,
    test_checks_learning_rate,
)
ALL = [(check, mutant) for lecture in LECTURES for check, known in lecture.EXERCISES.items() for mutant in known]


@pytest.mark.parametrize(("check", "mutant"), ALL, ids=lambda x: getattr(x, "name", getattr(x, "__name__", "")))
def test_each_mutant_is_named(check, mutant):
    verdict = check(mutant.function)
    assert (verdict.status, verdict.mistake) == ("wrong", mutant.name), verdict
    assert mutant.explanation in verdict.message
    assert verdict.evidence
