"""Predictions: committed before the answer, compared after it, kept on the learner's own machine."""

import json

import pytest

from course_lib import __version__
from course_lib.ranges import Choice, Linear, Log
from course_lib.widgets import Curve, Order, predict
from course_lib.widgets.predict import Record, curve_gap, near


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_LIB_HOME", str(tmp_path))
    return tmp_path


def committed(kind, answer, confidence=0.9):
    guess = predict("how much?", kind)
    answer(guess.entry)
    guess.sure.value = confidence
    guess.commit.click()
    return guess


def place(*names):
    def fill(entry):
        for menu, name in zip(entry.children, names, strict=True):
            menu.value = name

    return fill


@pytest.mark.parametrize(
    ("kind", "answer", "value", "close", "far"),
    [
        (Linear(0, 10), lambda e: setattr(e, "value", 5.0), 5.0, 5.9, 6.1),
        (Log(1, 100), lambda e: setattr(e, "value", 10.0), 10.0, 19.0, 21.0),
        (Choice(("up", "down")), lambda e: setattr(e, "value", "up"), "up", "up", "down"),
        (Order("a", "b", "c"), place("b", "a", "c"), ("b", "a", "c"), ("b", "a", "c"), ("a", "b", "c")),
        (
            Curve("x", "y"),
            lambda e: setattr(e, "drawn", [[0.0, 0.0], [1.0, 1.0]]),
            [(0.0, 0.0), (1.0, 1.0)],
            [(0.0, 0.05), (1.0, 1.05)],
            [(0.0, 1.0), (1.0, 0.0)],
        ),
    ],
    ids=["linear", "log", "choice", "order", "curve"],
)
def test_an_answer_is_committed_then_compared(kind, answer, value, close, far, home):
    guess = committed(kind, answer)
    assert guess.value == value
    assert guess.commit.disabled
    assert "not this time" not in guess.reveal(close).value
    assert "not this time" in committed(kind, answer).reveal(far).value
    entries = [json.loads(line) for line in (home / "predictions.jsonl").read_text().splitlines()]
    assert [entry["right"] for entry in entries] == [True, False]
    assert Record().calibration() == "Your record: 1 of 2 at 90%."


def test_the_answer_waits_for_the_commitment():
    guess = predict("how much?", Linear(0, 1))
    answer = guess.reveal(0.5)
    assert "0.5" not in answer.value
    guess.commit.click()
    assert "measured: 0.5" in answer.value


def test_an_empty_answer_is_not_committed():
    guess = predict("which?", Choice(("up", "down")))
    guess.commit.click()
    assert guess.value is None
    assert guess.note.value == "Answer first, then commit."
    order = predict("which first?", Order("a", "b"))
    place("a", "a")(order.entry)
    order.commit.click()
    assert order.note.value == "Give each place a different name first."


def test_a_drawn_curve_gets_the_measured_one_laid_over_it():
    guess = committed(Curve("x", "y"), lambda e: setattr(e, "drawn", [[0.0, 0.0], [1.0, 1.0]]))
    guess.reveal([(0, 0), (1, 1)])
    assert guess.entry.measured == [[0.0, 0.0], [1.0, 1.0]]


def test_a_record_that_cannot_be_written_loses_no_answer(home):
    (home / "predictions.jsonl").mkdir()
    guess = committed(Linear(0, 1), lambda e: None)
    text = guess.reveal(0.5).value
    assert "measured: 0.5" in text
    assert "could not be kept" in text


def test_an_answer_is_recorded_under_its_id(home):
    guess = predict("how much?", Linear(0, 1), id="04.10")
    guess.commit.click()
    guess.reveal(0.5)
    (entry,) = map(json.loads, (home / "predictions.jsonl").read_text().splitlines())
    assert entry.pop("when")
    assert entry == {
        "version": 1, "edition": __version__, "lecture": "04", "id": "04.10", "question": "how much?",
        "guess": 0.5, "measured": 0.5, "sure": 0.7, "right": True,
    }  # fmt: skip


def test_a_line_with_fields_of_another_version_is_counted_and_kept(home):
    line = '{"version": 2, "sure": 0.9, "right": false, "mood": "bold"}\n'
    (home / "predictions.jsonl").write_text(line)
    committed(Linear(0, 1), lambda e: None).reveal(0.5)
    assert (home / "predictions.jsonl").read_text().startswith(line)
    assert Record().calibration() == "Your record: 1 of 2 at 90%."


def test_a_damaged_line_does_not_hide_the_others(tmp_path):
    path = tmp_path / "r.jsonl"
    record = Record(path)
    assert record.calibration() == "No predictions on record yet."
    record.add(question="q", guess=1.0, measured=1.0, sure=0.7, right=True)
    path.write_text('{"half a li\n[]\n' + path.read_text())
    assert record.calibration() == "Your record: 1 of 1 at 70%."


def test_gap_is_the_mean_vertical_distance():
    assert curve_gap([(0.5, 1.0), (1.5, 0.0)], [(0, 0), (1, 1), (2, 0)]) == pytest.approx(0.5)
    assert not near(Curve("x", "y", y=(0, 1)), [(0.0, 1.0)], [(0, 0.5), (1, 0.5)])


def test_illegal_kinds_are_refused():
    with pytest.raises(TypeError, match="kind must be Linear, Log, Choice, Order or Curve, got 'number'"):
        predict("how much?", "number")
    with pytest.raises(ValueError, match="id must be lecture and section"):
        predict("how much?", Linear(0, 1), id="4.2")
    with pytest.raises(ValueError, match="at least two, all different"):
        Order("a", "a")


def test_without_a_front_end_the_question_is_read():
    data = predict("How much?", Linear(0, 1))._repr_mimebundle_()
    assert data["text/plain"] == "Predict: How much? (answer: a number from 0 to 1)"
