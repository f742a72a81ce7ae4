"""A verdict says what is so: the learner's line, the right name, or honestly none."""

import time

import numpy as np
import pytest
import torch

from course_lib.grading import Case, Convention, Exercise, Mistake, mutate
from course_lib.grading.mutate import Overlap

X = np.array([1.0, -2.0, 3.0])


def square(x, k):
    y = k * x * x
    slope = 2 * k * x
    return y, slope


CASES = (Case("three numbers", {"x": X, "k": 2.0}), Case("a matrix", {"x": X * np.ones((2, 1)), "k": 3.0}))
NOT_SQUARED = Mistake("not squared", "Square it.", ("k * x * x", "k * x"))
check = Exercise(
    "square",
    square,
    CASES,
    (
        NOT_SQUARED,
        Mistake("k left out", "Multiply by k.", ("k * x * x", "x * x"), ("k * x * x", "np.square(x)")),
        Mistake("slope of x", "That is the slope of k x.", ("2 * k * x", "k + 0 * x")),
        Mistake("wrong sign", "The sign is wrong.", [("y = k", "y = -k"), ("slope = 2", "slope = -2")]),
        Mistake("explodes", "It raises.", lambda x, k: (k * x * x * 5, {3: 2 * k * x}[x.size])),
    ),
    outputs=("y", "slope"),
    verified="two shapes",
    conventions=[
        Convention(
            "half the square", "an older book", "by the factor 1/2", [("k * x * x", "k * x * x / 2"), ("2 * k", "k")]
        )
    ],
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
    assert check(fn).passed, check(fn)
    assert "Verified: two shapes." in str(check(fn))


def test_correct_in_place_work_on_an_own_copy_passes():
    def own(x, k):
        x = x.copy()
        x *= x
        x *= k
        return x, 2 * k * np.sqrt(x / k) * np.sign(X)

    assert check(own).passed


def test_another_convention_passes_and_is_told():
    verdict = check(lambda x, k: (k * x * x / 2, k * x))
    assert verdict.passed
    assert verdict.status == "passed under another convention"
    assert "half the square, as an older book does it; it differs by the factor 1/2." in verdict.message


@pytest.mark.parametrize("mistake", check.mistakes, ids=lambda m: m.name)
def test_each_way_to_make_a_mistake_is_named(mistake):
    for way in mistake.ways:
        verdict = check(way if callable(way) else mutate(square, *way))
        assert (verdict.status, verdict.mistake, verdict.message) == ("wrong", mistake.name, mistake.explanation)
        assert verdict.evidence.startswith("case: ")


def test_two_mistakes_in_two_outputs_are_both_named():
    assert check(lambda x, k: (k * x, k + 0 * x)).mistake == "not squared; slope of x"


def test_two_edits_that_give_these_numbers_together_are_both_named():
    pair = Exercise(
        "line",
        line,
        (Case("x", {"x": X, "a": 2.0}),),
        (Mistake("no slope", "a.", ("a * x", "x")), Mistake("no offset", "1.", (" + 1", ""))),
        outputs=("y",),
        verified="it",
    )
    verdict = pair(lambda x, a: x)
    assert (verdict.mistake, verdict.message) == ("no slope; no offset", "a. 1.")


def line(x, a):
    return a * x + 1


def test_a_mistake_that_two_names_would_fit_is_told_with_both():
    twins = [Mistake(name, name, ("a * x + 1", "x")) for name in ("one", "other")]
    verdict = Exercise("line", line, (Case("x", {"x": X, "a": 2.0}),), twins, outputs=("y",), verified="it")(
        lambda x, a: x
    )
    assert (verdict.status, verdict.mistake) == ("wrong", "")
    assert "more than one explanation: one or other" in verdict.message


def test_of_two_mistakes_alike_in_one_output_the_one_alike_in_the_others_is_named():
    mistakes = (
        Mistake("exchanged", "The other way round.", ("return y, slope", "return slope, y")),
        Mistake("slope twice", "The slope stands for y too.", ("return y, slope", "return slope, slope")),
    )
    exercise = Exercise("square", square, CASES, mistakes, outputs=("y", "slope"), verified="it")
    for mistake in mistakes:
        assert exercise(mutate(square, *mistake.ways[0])).mistake == mistake.name


def test_what_no_name_explains_gets_none():
    verdict = check(lambda x, k: (x, 2 * k * x))
    assert (verdict.status, verdict.mistake) == ("wrong", "")
    assert "not in a way that this check knows" in verdict.message
    assert "y[2] is 3, expected 18" in verdict.evidence
    assert check(lambda x, k: (k * x, 7 * x)).mistake == ""  # one known, one unknown
    assert check(lambda x, k: (k * x * (x if x.ndim == 1 else 1), 2 * k * x)).mistake == ""  # in one case only


def test_an_approximation_is_said_to_be_close():
    assert check(lambda x, k: (k * x * x * 1.001, 2 * k * x)).mistake == "approximate"


def test_the_learners_own_line_is_shown():
    def mine(x, k):
        y = k * x * x
        return y, np.linalg.inv(y)

    verdict = check(mine)
    assert (verdict.status, verdict.mistake) == ("wrong", "")
    assert "stopped with an error" in verdict.message
    assert "in mine: return y, np.linalg.inv(y)" in verdict.evidence
    assert "LinAlgError" in verdict.evidence


def test_the_line_is_shown_although_an_earlier_case_is_wrong_in_numbers():
    def mine(x, k):
        return (x, x) if x.ndim == 1 else x.no_such_thing

    assert "in mine: return (x, x) if x.ndim == 1 else x.no_such_thing" in check(mine).evidence


def test_an_error_in_a_helper_shows_the_helpers_line():
    def helper(x):
        return {}["missing"]

    assert 'in helper: return {}["missing"]' in check(lambda x, k: helper(x)).evidence


def blank(x, k):
    """Square it."""
    ...


def unfinished(x, k):
    return ...


@pytest.mark.parametrize("fn", [..., None, blank, unfinished, lambda x, k: None])
def test_blank_exercises_are_not_attempted(fn):
    assert check(fn).status == "not attempted"


def test_the_library_s_own_function_is_said_to_be_that():
    verdict = check(mutate)
    assert verdict.status == "not attempted"
    assert "the library's own function" in verdict.message


def forgot(x, k):
    y = k * x * x
    y, 2 * k * x


def changes(x, k):
    x *= x
    return k * x, 2 * k * x


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (3.0, "needs your function itself, and was given float 3.0"),
        (forgot, "is a `return` missing?"),
        (changes, "changes its argument `x`"),
        (lambda x, k: k * x, "should return 2 arrays (y, slope), and returns an array of shape (3,)"),
        (lambda x, k: (k * x * x,), "should return 2 arrays (y, slope), and returns a tuple of 1"),
        (lambda x, k: (k * x * x, None), "`slope` should be an array of real numbers, and is NoneType None"),
        (lambda x, k: (k * x * x, "2kx"), "`slope` should be an array of real numbers, and is str '2kx'"),
        (lambda x, k: (k * x * x, "0.1"), "`slope` should be an array of real numbers, and is str '0.1'"),
        (lambda x: x, "stopped with an error"),
        (lambda x, k: (k * x * np.nan, 2 * k * x), "`y` becomes NaN"),
    ],
)
def test_bad_answers_get_one_clear_sentence(fn, says):
    verdict = check(fn)
    assert verdict.status == "wrong"
    assert says in verdict.message


def test_a_wrong_shape_is_told_with_both_shapes():
    assert "slope has shape (), expected (3,)" in check(lambda x, k: (k * x * x, 2 * k * x.sum(-1))).evidence


def test_nan_is_an_answer_too():
    assert "y[0] is nan, expected 2" in check(lambda x, k: (k * x * np.nan, 2 * k * x)).evidence


def momentum(state):
    return state["m"][0] + 1


def test_arguments_inside_containers_are_guarded():
    def changes(state):
        state["m"][0] += 1.0
        return state["m"]

    cases = [Case("a state", {"state": {"m": [torch.zeros(2)]}})]
    found = Exercise("momentum", momentum, cases, (), outputs=("m",), verified="it")(changes)
    assert "changes its argument `state`" in found.message


def test_the_page_shows_the_learners_text_as_text():
    found = check(lambda x, k: {}["<script>"])
    assert "<script>" not in found._repr_html_()
    assert "wrong" in found._repr_html_()


def test_edits_are_made_on_the_original_text_all_at_once():
    exchanged = mutate(
        square, ("return y, slope", "return slope, y"), ("k * x * x", "slope"), ("slope = 2", "slope = k; slope = 2")
    )
    with pytest.raises(UnboundLocalError):
        exchanged(X, 1.0)
    assert exchanged.__module__ == "mutated"


@pytest.mark.parametrize("old", ["k * z", "k"])
def test_an_edit_must_find_its_text_exactly_once(old):
    with pytest.raises(ValueError, match="exactly once, got"):
        mutate(square, (old, "1"))


def test_edits_of_one_place_cannot_be_combined():
    with pytest.raises(Overlap):
        mutate(square, ("k * x * x", "x"), ("x * x", "x"))


def half(x):
    return x / 2


def halved_twice(x):
    return half(half(x))


def test_the_functions_that_a_reference_calls_are_edited_with_it():
    wrong = mutate(halved_twice, ("x / 2", "x / 4"), ("half(half(x))", "half(x)"), parts=[half])
    assert wrong(8.0) == 2.0
    assert halved_twice(4.0) == 1.0


def test_the_first_verdict_is_quick_and_the_later_ones_quicker():
    fresh = Exercise("square", square, CASES, check.mistakes, outputs=("y", "slope"), verified="it")
    times = []
    for _ in range(3):
        start = time.thread_time()
        fresh(lambda x, k: (x, x))
        times.append(time.thread_time() - start)
    assert times[0] < 0.5
    assert min(times[1:]) < 0.05
