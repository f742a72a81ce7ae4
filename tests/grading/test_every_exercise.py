"""What every exercise of the course keeps: its mistakes are named, its reference is right, and its manners are good."""

import importlib
import pkgutil

import numpy as np
import pytest

import course_lib.lectures
from course_lib.grading import Exercise
from course_lib.grading.outputs import arrays

EXERCISES = {}
for topic in pkgutil.iter_modules(course_lib.lectures.__path__):
    lecture = importlib.import_module(f"course_lib.lectures.{topic.name}")
    EXERCISES |= {f"{topic.name}.{n}": e for n, e in vars(lecture).items() if isinstance(e, Exercise)}

WAYS = [(name, mistake, i) for name, e in EXERCISES.items() for mistake in e.mistakes for i in range(len(mistake.ways))]


@pytest.mark.parametrize(("name", "mistake", "way"), WAYS, ids=lambda x: getattr(x, "name", x))
def test_each_way_to_make_a_mistake_is_named(name, mistake, way):
    check, made = EXERCISES[name], mistake.ways[way]
    verdict = check(made if callable(made) else check.versions.edited(*made))
    assert (verdict.status, verdict.mistake) == ("wrong", mistake.name), verdict
    assert mistake.explanation in verdict.message
    assert verdict.evidence


@pytest.mark.parametrize("name", EXERCISES)
def test_the_reference_passes_and_is_the_oracle_s(name):
    check = EXERCISES[name]
    assert check(check.versions.edited()).passed
    if check.oracle is not None:
        for case, right in zip(check.cases, check.versions.right, strict=True):
            wanted = arrays(check.oracle(*case.arguments.values()), check.outputs)
            for mine, theirs in zip(right, wanted, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", EXERCISES)
def test_not_attempted_wrong_shape_and_no_function(name):
    check = EXERCISES[name]
    assert check(...).status == "not attempted"
    assert check(lambda *case: ...).status == "not attempted"
    assert check(check.reference).status == "not attempted"
    assert "was given" in check(3.0).message
    wrong = np.zeros((7, 7))
    answer = (wrong,) * len(check.outputs) if len(check.outputs) > 1 else wrong
    assert "has shape (7, 7)" in check(lambda *case: answer).evidence


@pytest.mark.parametrize("name", EXERCISES)
def test_a_crash_shows_the_learner_s_line(name):
    def mine(*case):
        return case[0].no_such_thing

    verdict = EXERCISES[name](mine)
    assert verdict.status == "wrong"
    assert "case[0].no_such_thing" in verdict.evidence
