"""Commit to an answer before the run: a number, a choice, an ordering or a drawn curve, and how sure you are of it.

What was predicted, and how it turned out, is kept in one private file on the learner's own machine; `reveal` reads the
calibration off it: of the answers given with 90 % confidence, how many were right?
"""

import html
import json
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ipywidgets as w

from course_lib import __version__
from course_lib.ranges import Choice, Linear, Log
from course_lib.widgets.sketch_pad import SketchPad
from course_lib.widgets.sliders import control_widget, rounded

VERSION = 1  # of the record's lines
CONFIDENCE = (("a guess (50 %)", 0.5), ("fairly sure (70 %)", 0.7), ("sure (90 %)", 0.9))


@dataclass(frozen=True)
class Order:
    """An ordering of a few names, first to last."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        if len(set(names)) != len(names) or len(names) < 2:
            raise ValueError(f"Order: names must be at least two, all different, got {names}")
        object.__setattr__(self, "names", names)

    def __str__(self) -> str:
        return "an ordering of " + ", ".join(self.names)


@dataclass(frozen=True)
class Curve:
    """A curve drawn with the mouse over x, y ranges; measured curves are sequences of (x, y) points."""

    xlabel: str
    ylabel: str
    x: tuple[float, float] = (0.0, 1.0)
    y: tuple[float, float] = (0.0, 1.0)

    def __str__(self) -> str:
        return f"a curve of {self.ylabel} against {self.xlabel}"


Kind = Linear | Log | Choice | Order | Curve


def near(kind: Kind, guess: Any, measured: Any) -> bool:
    """Does the guess count as right? Log: within a factor of 2. Linear: within a tenth of the range. Curve: on average
    within a tenth of the height. Choice and Order: equal."""
    if isinstance(kind, Log):
        return measured > 0 and abs(math.log2(guess / measured)) <= 1
    if isinstance(kind, Linear):
        return abs(guess - measured) <= 0.1 * (kind.high - kind.low)
    if isinstance(kind, Curve):
        return curve_gap(guess, measured) <= 0.1 * abs(kind.y[1] - kind.y[0])
    if isinstance(kind, Order):
        return tuple(guess) == tuple(measured)
    return guess == measured


def curve_gap(guess: Sequence[tuple[float, float]], measured: Sequence[tuple[float, float]]) -> float:
    """Mean vertical distance from the drawn points to the measured curve, interpolated."""
    known = sorted((float(x), float(y)) for x, y in measured)

    def at(x: float) -> float:
        right = next((i for i, (known_x, _) in enumerate(known) if known_x >= x), len(known) - 1)
        (x0, y0), (x1, y1) = known[max(right - 1, 0)], known[right]
        return y1 if x1 == x0 else y0 + (y1 - y0) * (min(max(x, x0), x1) - x0) / (x1 - x0)

    return sum(abs(y - at(x)) for x, y in guess) / len(guess)


def in_words(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list | tuple):
        return " > ".join(map(str, value)) if all(isinstance(v, str) for v in value) else "the curve"
    return str(value)


class Record:
    """The learner's own file of predictions: one JSON object a line, appended to and never rewritten.

    A line holds the version of this format, the edition of the course, when it was written, and the answer: lecture,
    id, question, guess, measured, sure, right.
    """

    def __init__(self, path: Path | None = None) -> None:
        home = Path(os.environ.get("COURSE_LIB_HOME", Path.home() / ".course_lib"))
        self.path = path or home / "predictions.jsonl"

    def add(self, **answer: Any) -> None:
        """Append one answer. Raises OSError if the file cannot be written."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        when = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {"version": VERSION, "edition": __version__, "when": when, **answer}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def calibration(self) -> str:
        """How often each confidence was right, over every prediction so far; damaged lines are skipped."""
        tally: dict[float, list[bool]] = {}
        for line in self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []:
            try:
                entry = json.loads(line)
                tally.setdefault(float(entry["sure"]), []).append(bool(entry["right"]))
            except (ValueError, KeyError, TypeError):
                continue
        parts = [f"{sum(t)} of {len(t)} at {sure:.0%}" for sure, t in sorted(tally.items())]
        return "Your record: " + ", ".join(parts) + "." if parts else "No predictions on record yet."


class Prediction(w.VBox):
    """A question with room for the learner's answer; `reveal(measured)` compares, once the learner has committed."""

    def __init__(self, question: str, kind: Kind, record: Record, id: str = "") -> None:
        self.question, self.kind, self.record, self.id = question, kind, record, id
        self.value: Any = None
        self.measured: Any = None
        self.entry, self._read = self._room()
        self.sure = w.Dropdown(options=CONFIDENCE, value=0.7, description="I am", layout={"width": "19em"})
        self.commit = w.Button(description="Commit", button_style="primary", layout={"width": "8em"})
        self.commit.on_click(lambda _: self._commit())
        self.note, self.answer = w.HTML(), w.HTML()
        row = w.HBox([self.sure, self.commit, self.note], layout={"flex_flow": "row wrap"})
        super().__init__([w.HTML(f"<b>{html.escape(question)}</b>"), self.entry, row])

    def _room(self) -> tuple[w.Widget, Callable[[], Any]]:
        """The widget to answer with, and how its answer is read."""
        kind = self.kind
        if isinstance(kind, Curve):
            pad = SketchPad(xlabel=kind.xlabel, ylabel=kind.ylabel, x=list(kind.x), y=list(kind.y))
            return pad, lambda: [tuple(point) for point in pad.drawn]
        if isinstance(kind, Order):
            ranks = range(1, len(kind.names) + 1)
            places = [w.Dropdown(options=kind.names, value=None, description=f"{rank}.") for rank in ranks]
            return w.VBox(places), lambda: tuple(place.value for place in places)
        if isinstance(kind, Choice):
            buttons = w.RadioButtons(options=kind.values, value=None, layout={"width": "max-content"})
            return buttons, lambda: buttons.value
        middle = math.sqrt(kind.low * kind.high) if isinstance(kind, Log) else (kind.low + kind.high) / 2
        slider = control_widget(kind, middle)
        return slider, lambda: rounded(kind, slider.value)

    def _commit(self) -> None:
        value = self._read()
        if isinstance(self.kind, Order) and sorted(map(str, value)) != sorted(self.kind.names):
            self.note.value = "Give each place a different name first."
        elif value is None or value == []:
            self.note.value = "Answer first, then commit."
        else:
            self.value = value
            self.commit.disabled = True
            self.note.value = f"Committed: {html.escape(in_words(value))}. Now run on."
            if self.measured is not None:
                self._score()

    def reveal(self, measured: Any) -> w.HTML:
        """Show `measured` beside the committed answer, and keep the score; without an answer, wait for one.

        `measured` is a number (Linear, Log), one of the choices, an ordering of names, or (x, y) points (Curve).
        """
        self.measured = [tuple(map(float, p)) for p in measured] if isinstance(self.kind, Curve) else measured
        if self.value is None:
            self.answer.value = "Commit your prediction above to see how close it was; or read on."
        else:
            self._score()
        return self.answer

    def _score(self) -> None:
        if isinstance(self.kind, Curve):
            self.entry.measured = [list(point) for point in self.measured]
        right = near(self.kind, self.value, self.measured)
        try:
            self.record.add(
                lecture=self.id.partition(".")[0],
                id=self.id,
                question=self.question,
                guess=self.value,
                measured=self.measured,
                sure=self.sure.value,
                right=right,
            )
            score = self.record.calibration()
        except OSError as error:
            score = f"The record could not be kept: {error.strerror} ({self.record.path})."
        exact = isinstance(self.kind, Choice | Order)
        verdict = ("right" if exact else "close enough") if right else "not this time"
        self.answer.value = html.escape(
            f"You said {in_words(self.value)}; measured: {in_words(self.measured)} - {verdict}. {score}"
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> dict:
        bundle = super()._repr_mimebundle_(**kwargs) or {}
        return bundle | {"text/plain": f"Predict: {self.question} (answer: {self.kind})"}


def predict(question: str, kind: Kind, *, id: str = "") -> Prediction:
    """Ask for an answer of `kind` (Linear, Log, Choice, Order or Curve) before the run.

    id: under which the answer is recorded, lecture and section, as in "04.2"; "" for a question of your own.

    >>> guess = predict("By what factor does the loss fall?", Log(1, 1000), id="02.1")
    >>> answer = guess.reveal(37.0)

    Raises TypeError if `kind` is none of these, ValueError if `id` is not of this form.
    """
    if not isinstance(kind, Linear | Choice | Order | Curve):
        raise TypeError(f"predict: kind must be Linear, Log, Choice, Order or Curve, got {kind!r}")
    if id and not re.fullmatch(r"\d\d\.\d+", id):
        raise ValueError(f'predict: id must be lecture and section, as in "04.2", got {id!r}')
    return Prediction(question, kind, Record(), id)
