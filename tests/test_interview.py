"""The interview bank: every question is well formed and its evidence true; a broken file gets one sentence."""

import re
import sys
from types import ModuleType

import pytest

from course_lib import interview
from course_lib.interview import QuestionError, load, load_all, parse, render, run_evidence
from course_lib.widgets.questions import questions

BANK = load_all()

GOOD = """lecture = "07_trial"

[[question]]
id = "trial-first"
level = "easy"
prompt = 'Is $a<b$ when `a < b` & a < b?'
answer = ["yes, $x_1$", "by definition"]
wrong_turns = ["no"]
follow_ups = ["why?"]
evidence = { call = "halve(4)", expect = "result == 2" }
"""


@pytest.fixture(autouse=True)
def trial(monkeypatch):
    """An experiments module for the questions of this file."""
    module = ModuleType("course_lib.lectures.trial")
    module.halve = lambda x: x / 2
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.slow
@pytest.mark.parametrize("question", BANK, ids=[question.id for question in BANK])
def test_evidence_is_true(question):
    run_evidence(question)


@pytest.mark.parametrize("lecture", interview.lectures())
def test_every_lecture_has_eight_questions_of_every_level(lecture):
    asked = load(lecture)
    assert len(asked) >= 8
    assert {question.level for question in asked} == set(interview.LEVELS)


@pytest.mark.parametrize("question", BANK, ids=[question.id for question in BANK])
def test_what_the_course_measured_is_marked_as_such(question):
    points = (*question.answer, *question.wrong_turns, *question.follow_ups)
    assert not [
        point for point in points if re.search(r"(?i)measured here|on the digits|th(is|e) (course|lecture)", point)
    ]


def test_a_good_file_gives_its_questions():
    (question,) = parse(GOOD, "07_trial.toml")
    assert (question.id, question.level, question.lecture) == ("trial-first", "easy", "07_trial")
    assert question.answer == ("yes, $x_1$", "by definition")
    assert run_evidence(question) == 2


def instead(old, new):
    assert old in GOOD
    return GOOD.replace(old, new)


BROKEN = {
    "no TOML": (instead('"easy"', "easy"), r"^07_trial.toml: is not valid TOML: .*line 5"),
    "another lecture": (instead("07_trial", "08_other"), "lecture must be '07_trial', the file's name, got '08_other'"),
    "no lecture": (instead('lecture = "07_trial"', ""), "lecture must be '07_trial', the file's name, got None"),
    "a stray key": (
        instead('"07_trial"', '"07_trial"\nauthor = "me"'),
        "the head may hold lecture and uses, got author",
    ),
    "uses no list": (instead('"07_trial"', '"07_trial"\nuses = "x"'), "uses must be a list of lectures.*got 'x'"),
    "no questions": ('lecture = "07_trial"', r"needs at least one \[\[question\]\] table"),
    "a missing field": (
        instead("level", "# level"),
        r"question 1 \(trial-first\): level is missing; a question has id, ",
    ),
    "an unknown field": (instead("level", 'hint = "x"\nlevel'), "hint is not a field of a question; those are id, "),
    "a bad level": (instead('"easy"', '"simple"'), "level must be one of easy, medium, hard, got 'simple'"),
    "a level that is a list": (instead('"easy"', '["easy"]'), "level must be one of easy, medium, hard, got "),
    "a bad id": (instead("trial-first", "Trial first"), "id must be lower-case words joined by -, got 'Trial first'"),
    "an id that is a number": (instead('"trial-first"', "3"), "question 1: id must be lower-case words .* got 3"),
    "an empty prompt": (instead("'Is $a<b$ when `a < b` & a < b?'", "' '"), "prompt must be a text, got ' '"),
    "no list": (instead('["no"]', '"no"'), "wrong_turns must be a list of texts, at least one, got 'no'"),
    "an empty list": (instead('["no"]', "[]"), r"wrong_turns must be a list of texts, at least one, got \[\]"),
    "an empty point": (instead('["no"]', '[""]'), r"wrong_turns must be a list of texts, at least one, got \[''\]"),
    "nothing measured": (
        instead("follow_ups", "measured = []\nfollow_ups"),
        "measured must be a list of texts, at least",
    ),
    "half the evidence": (instead(', expect = "result == 2"', ""), "evidence must be a table of call and expect, got "),
    "evidence that does not parse": (instead("halve(4)", "halve(4"), "evidence.call must be a Python expression, got"),
    "evidence that is a statement": (instead("result == 2", "a = 2"), "evidence.expect must be a Python expression"),
    "a duplicate": (GOOD + GOOD.partition("\n")[2], r"question 2: id must be unique in the bank, got 'trial-first'"),
}


@pytest.mark.parametrize(("text", "sentence"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_gets_one_sentence(text, sentence):
    with pytest.raises(QuestionError, match=sentence) as refused:
        parse(text, "07_trial.toml")
    assert str(refused.value).startswith("07_trial.toml")
    assert "\n" not in str(refused.value)


FALSE = {
    "false": ("result == 2", "result == 3", "evidence.expect must be true, got False from result == 3"),
    "raises": ("halve(4)", "halve(None)", "the evidence raised TypeError: unsupported operand"),
    "names nothing": ("halve(4)", "double(4)", "the evidence raised NameError: name 'double' is not defined"),
    "expect raises": ("result == 2", "result.rate < 1", "the evidence raised AttributeError"),
}


@pytest.mark.parametrize(("old", "new", "sentence"), FALSE.values(), ids=FALSE.keys())
def test_evidence_that_does_not_hold_names_the_question(old, new, sentence):
    (question,) = parse(instead(old, new), "07_trial.toml")
    with pytest.raises(QuestionError, match=rf"^07_trial.toml \(trial-first\): {sentence}"):
        run_evidence(question)


def test_evidence_of_a_lecture_without_experiments_is_refused():
    (question,) = parse(instead("07_trial", "07_nowhere"), "07_nowhere.toml")
    with pytest.raises(QuestionError, match="the evidence raised ModuleNotFoundError"):
        run_evidence(question)


def test_evidence_may_use_the_experiments_of_another_lecture():
    text = instead('lecture = "07_trial"', 'lecture = "08_next"\nuses = ["trial"]')
    sys.modules["course_lib.lectures.next"] = ModuleType("course_lib.lectures.next")
    try:
        assert run_evidence(parse(text, "08_next.toml")[0]) == 2
    finally:
        del sys.modules["course_lib.lectures.next"]


def test_two_lectures_cannot_share_an_id(tmp_path):
    (tmp_path / "07_trial.toml").write_text(GOOD)
    (tmp_path / "08_next.toml").write_text(instead("07_trial", "08_next"))
    assert len(load("08_next", tmp_path)) == 1
    with pytest.raises(
        QuestionError, match=r"07_trial.toml and 08_next.toml: id must be unique .* 'trial-first' in both"
    ):
        load_all(tmp_path)


@pytest.mark.parametrize("name", ["99_nothing", "../secrets", ""])
def test_an_unknown_lecture_is_refused(name):
    with pytest.raises(ValueError, match=f"no questions for lecture '{name}'; there are some for"):
        questions(name)


def test_the_page_folds_answers_and_keeps_formulas():
    page = render(parse(GOOD, "07_trial.toml"))
    assert page.startswith(
        "**1. (easy)** Is $a<b$ when `a < b` &amp; a &lt; b?\n\n<details>\n\n<summary>Answer</summary>"
    )
    assert "\n- yes, $x_1$\n- by definition\n" in page
    assert "**Evidence.** `halve(4)` satisfies `result == 2`." in page
    assert "**Follow-ups, left open on purpose**\n\n- why?" in page
    assert page.count("<details>") == page.count("</details>") == 1


def test_the_page_shows_what_the_course_measured_below_the_answer():
    page = render(parse(instead("follow_ups", 'measured = ["half of 4 is 2"]\nfollow_ups'), "07_trial.toml"))
    assert "**Measured in this course**\n\n- half of 4 is 2\n\n**Evidence.**" in page
    assert "Measured" not in render(parse(GOOD, "07_trial.toml"))


def test_the_notebook_shows_the_bank_of_its_lecture(tmp_path, monkeypatch):
    (tmp_path / "07_trial.toml").write_text(GOOD)
    monkeypatch.setattr(interview, "folder", lambda: tmp_path)
    shown = questions("07_trial")
    assert shown._repr_markdown_() == render(load("07_trial"))
    assert repr(shown) == "1. (easy) Is $a<b$ when `a < b` & a < b?"
