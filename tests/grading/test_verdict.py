"""A verdict says what is so: the learner's line, the right name, or honestly none."""

import numpy as np
import pytest
import torch

from course_lib.grading import Case, Mutant, Verdict, judge

X = np.array([1.0, -2.0, 3.0])
CASES = (Case("three numbers", {"x": X, "k": 2.0}), Case("a matrix", {"x": X * np.ones((2, 1)), "k": 3.0}))
MUTANTS = (
    Mutant("not squared", "Square it.", lambda x, k: (k * x, 2 * k * x)),
    Mutant("k left out", "Multiply by k.", lambda x, k: (x * x, 2 * k * x)),
    Mutant("slope of x", "That is the slope of k x.", lambda x, k: (k * x * x, k + 0 * x)),
    Mutant("explodes", "It raises.", lambda x, k: (k * x * x * 5, {3: 2 * k * x}[x.size])),
)


def verdict(fn) -> Verdict:
    return judge(
        "square",
        fn,
        lambda x, k: (k * x * x, 2 * k * x),
        CASES,
        MUTANTS,
        outputs=("y", "slope"),
        verified="two shapes",
    )


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, k: (k * x**2, k * x + x * k),
        lambda x, k: [k * x**2, 2 * k * x],
        lambda x, k: tuple(torch.tensor(v, requires_grad=True) for v in (k * x**2, 2 * k * x)),
        lambda x, k: ((k * x**2).tolist(), 2 * k * x),
        lambda *case: (case[1] * case[0] ** 2, (2 * case[1] * case[0].astype(np.float32))),
    ],
)
def test_correct_variants_pass(fn):
    assert verdict(fn).passed, verdict(fn)
    assert "Verified: two shapes." in str(verdict(fn))


def test_correct_in_place_work_on_an_own_copy_passes():
    def own(x, k):
        x = x.copy()
        x *= x
        x *= k
        return x, 2 * k * np.sqrt(x / k) * np.sign(X)

    assert verdict(own).passed


@pytest.mark.parametrize("mutant", MUTANTS[:3], ids=lambda m: m.name)
def test_each_mutant_is_named(mutant):
    found = verdict(mutant.function)
    assert (found.status, found.mistake, found.message) == ("wrong", mutant.name, mutant.explanation)
    assert "case: three numbers" in found.evidence


def test_a_mutant_may_be_a_crash_where_it_crashes_alike():
    assert verdict(MUTANTS[3].function).mistake == "explodes"


def test_two_mistakes_in_two_outputs_are_both_named():
    assert verdict(lambda x, k: (k * x, k + 0 * x)).mistake == "not squared; slope of x"


def test_two_mistakes_in_one_output_get_no_name():
    found = verdict(lambda x, k: (x, 2 * k * x))
    assert (found.status, found.mistake) == ("wrong", "")
    assert "not in a way the check knows" in found.message
    assert "y[2] is 3, expected 18" in found.evidence


def test_a_mistake_that_two_names_would_fit_gets_none():
    twins = [Mutant(name, name, lambda x: x) for name in ("one", "other")]
    cases = [Case("three numbers", {"x": X})]
    found = judge("square", lambda x: x, lambda x: x * x, cases, twins, outputs=("y",), verified="it")
    assert (found.status, found.mistake) == ("wrong", "")


def test_of_two_mistakes_alike_in_one_output_the_one_alike_in_the_others_is_named():
    exchanged = Mutant("exchanged", "The other way round.", lambda x, k: (2 * k * x, k * x * x))
    doubled = Mutant("slope twice", "The slope stands for y too.", lambda x, k: (2 * k * x, 2 * k * x))
    right = lambda x, k: (k * x * x, 2 * k * x)  # noqa: E731
    for mutant in (exchanged, doubled):
        found = judge(
            "square", mutant.function, right, CASES, (exchanged, doubled), outputs=("y", "slope"), verified="it"
        )
        assert found.mistake == mutant.name


def test_one_known_and_one_unknown_mistake_get_no_name():
    assert verdict(lambda x, k: (k * x, 7 * x)).mistake == ""


def test_right_on_one_case_and_a_known_mistake_on_the_other_is_not_named():
    assert verdict(lambda x, k: (k * x * (x if x.ndim == 1 else 1), 2 * k * x)).mistake == ""


def test_the_learners_own_line_is_shown():
    def mine(x, k):
        y = k * x * x
        return y, np.linalg.inv(y)

    found = verdict(mine)
    assert (found.status, found.mistake) == ("wrong", "")
    assert "stopped with an error" in found.message
    assert "in mine: return y, np.linalg.inv(y)" in found.evidence
    assert "LinAlgError" in found.evidence


def test_the_line_is_shown_although_an_earlier_case_is_wrong_in_numbers():
    def mine(x, k):
        return (x, x) if x.ndim == 1 else x.no_such_thing

    assert "in mine: return (x, x) if x.ndim == 1 else x.no_such_thing" in verdict(mine).evidence


def test_an_error_in_a_helper_beside_the_function_shows_the_helpers_line():
    def helper(x):
        return {}["missing"]

    assert 'in helper: return {}["missing"]' in verdict(lambda x, k: helper(x)).evidence


def blank(x, k):
    """Square it."""
    ...


def unfinished(x, k):
    return ...


@pytest.mark.parametrize("fn", [..., None, blank, unfinished, lambda x, k: None])
def test_blank_exercises_are_not_attempted(fn):
    assert verdict(fn).status == "not attempted"


def forgot(x, k):
    y = k * x * x
    y, 2 * k * x


def mutates(x, k):
    x *= x
    return k * x, 2 * k * x


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (3.0, "needs your function itself, and was given float 3.0"),
        (forgot, "is a `return` missing?"),
        (mutates, "changes its argument `x`"),
        (lambda x, k: k * x, "should return 2 arrays (y, slope), and returns an array of shape (3,)"),
        (lambda x, k: (k * x * x,), "should return 2 arrays (y, slope), and returns a tuple of 1"),
        (lambda x, k: (k * x * x, None), "`slope` should be an array of real numbers, and is NoneType None"),
        (lambda x, k: (k * x * x, "2kx"), "`slope` should be an array of real numbers, and is str '2kx'"),
        (lambda x, k: (k * x * x, "0.1"), "`slope` should be an array of real numbers, and is str '0.1'"),
        (lambda x: x, "stopped with an error"),
    ],
)
def test_bad_answers_get_one_clear_sentence(fn, says):
    found = verdict(fn)
    assert found.status == "wrong"
    assert says in found.message


def test_a_wrong_shape_is_told_with_both_shapes():
    found = verdict(lambda x, k: (k * x * x, 2 * k * x.sum(-1)))
    assert "slope has shape (), expected (3,)" in found.evidence


def test_nan_is_an_answer_too():
    assert "y[0] is nan, expected 2" in verdict(lambda x, k: (k * x * np.nan, 2 * k * x)).evidence


def test_arguments_inside_containers_are_guarded():
    def changes(state):
        state["m"][0] += 1.0
        return state["m"]

    cases = [Case("a state", {"state": {"m": [torch.zeros(2)]}})]
    found = judge("momentum", changes, lambda s: s["m"][0] + 1, cases, outputs=("m",), verified="it")
    assert "changes its argument `state`" in found.message


def test_the_page_shows_the_learners_text_as_text():
    found = verdict(lambda x, k: {}["<script>"])
    assert "<script>" not in found._repr_html_()
    assert "wrong" in found._repr_html_()
