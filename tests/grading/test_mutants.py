"""Each known mistake in an exercise is named; and what every check says of a blank, a crash and another shape."""

import numpy as np
import pytest

from tests.lectures.adaptive import test_exercises as adaptive

LECTURES = (adaptive,)
ALL = [(check, mutant) for lecture in LECTURES for check, known in lecture.EXERCISES.items() for mutant in known]


@pytest.mark.parametrize(("check", "mutant"), ALL, ids=lambda x: getattr(x, "name", getattr(x, "__name__", "")))
def test_each_mutant_is_named(check, mutant):
    verdict = check(mutant.function)
    assert (verdict.status, verdict.mistake) == ("wrong", mutant.name), verdict
    assert mutant.explanation in verdict.message
    assert verdict.evidence


CHECKS = [check for lecture in LECTURES for check in lecture.EXERCISES]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_not_attempted_wrong_shape_and_no_function(check):
    assert check(...).status == "not attempted"
    assert check(lambda *case: ...).status == "not attempted"
    assert "was given" in check(3.0).message
    wrong = np.zeros((7, 7))
    answers = [wrong, *((wrong,) * outputs for outputs in (2, 3, 4))]  # one of them has as many as the exercise wants
    assert any("has shape (7, 7)" in check(lambda *case, answer=answer: answer).evidence for answer in answers)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_crash_shows_the_learner_s_line(check):
    def mine(*case):
        return case[0].no_such_thing

    verdict = check(mine)
    assert verdict.status == "wrong"
    assert "case[0].no_such_thing" in verdict.evidence
