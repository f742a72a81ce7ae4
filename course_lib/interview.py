"""The interview bank: questions as data, each with evidence that can be run.

One file a lecture, `data/interview/NN_topic.toml`:

    lecture = "01_backprop"                 # the file's own name
    uses = ["gradient_descent"]             # optional: further lectures whose names evidence may call

    [[question]]
    id = "backprop-accumulate"              # unique in the whole bank
    level = "easy"                          # easy, medium or hard
    prompt = 'Markdown with $\\LaTeX$'
    answer = ["a point that a strong answer makes", "another"]
    wrong_turns = ["a common mistake"]
    follow_ups = ["what to ask next"]
    measured = ["what the course's own runs showed"]    # optional: no interviewer has those runs
    evidence = { call = "chain_shrinkage(depth=20)", expect = "result.largest_ratio <= 0.25" }

`call` is a Python expression over the public names of the lecture (`course_lib.lectures.backprop`, and those in
`uses`), `math`, `np`, `torch`, `optim`, `schedules`, `scale_by_schedule`, `tune`, `grid`, `at_the_end`, `digits`,
`with_label_noise` and `mlp`; `expect` is one over `result` as well, and must come out true.
"""

import ast
import importlib
import math
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LEVELS = ("easy", "medium", "hard")
LISTS = ("answer", "wrong_turns", "follow_ups")
FIELDS = ("id", "level", "prompt", *LISTS, "evidence")
OPTIONAL = ("measured",)


class QuestionError(ValueError):
    """A broken question file, or evidence that does not hold: one sentence naming file, question and field."""


@dataclass(frozen=True)
class Question:
    """One question. `call` and `expect` are Python expressions; `modules` are the lectures whose names they may use."""

    id: str
    level: str
    prompt: str
    answer: tuple[str, ...]
    wrong_turns: tuple[str, ...]
    follow_ups: tuple[str, ...]
    call: str
    expect: str
    lecture: str
    modules: tuple[str, ...]
    measured: tuple[str, ...] = ()


def folder() -> Path:
    """Where the bank is: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    installed = package / "_data/interview"
    return installed if installed.is_dir() else package.parent / "data/interview"


def lectures(bank: Path | None = None) -> list[str]:
    """The names that `load` takes."""
    return sorted(path.stem for path in (bank or folder()).glob("*.toml"))


def load(lecture: str, bank: Path | None = None) -> tuple[Question, ...]:
    """The questions of a lecture, in the file's order.

    Raises ValueError for an unknown lecture and QuestionError for a file against the schema above.
    """
    bank = bank or folder()
    if lecture not in lectures(bank):
        raise ValueError(
            f"no questions for lecture {lecture!r}; there are some for {', '.join(lectures(bank)) or 'none'}"
        )
    return parse((bank / f"{lecture}.toml").read_text(encoding="utf-8"), f"{lecture}.toml")


def load_all(bank: Path | None = None) -> tuple[Question, ...]:
    """The whole bank, lecture by lecture. Raises QuestionError as `load` does, and where two lectures share an id."""
    questions = [question for lecture in lectures(bank) for question in load(lecture, bank)]
    owners: dict[str, str] = {}
    for question in questions:
        if question.id in owners:
            both = f"{owners[question.id]}.toml and {question.lecture}.toml"
            raise QuestionError(f"{both}: id must be unique in the bank, got {question.id!r} in both")
        owners[question.id] = question.lecture
    return tuple(questions)


def parse(text: str, name: str) -> tuple[Question, ...]:
    """The questions in the text of a file called `name` (`01_backprop.toml`), checked against the schema."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise QuestionError(f"{name}: is not valid TOML: {error}") from None
    lecture, uses, tables = content.pop("lecture", None), content.pop("uses", []), content.pop("question", None)
    if lecture != name.removesuffix(".toml"):
        raise QuestionError(f"{name}: lecture must be {name.removesuffix('.toml')!r}, the file's name, got {lecture!r}")
    if content:
        raise QuestionError(f"{name}: the head may hold lecture and uses, got {', '.join(content)}")
    if not (isinstance(uses, list) and all(isinstance(use, str) and use.isidentifier() for use in uses)):
        raise QuestionError(f"{name}: uses must be a list of lectures, got {uses!r}")
    if not (isinstance(tables, list) and tables and all(isinstance(table, dict) for table in tables)):
        raise QuestionError(f"{name}: needs at least one [[question]] table")
    modules = (re.sub(r"^\d+_", "", lecture), *uses)
    questions = [
        question_of(table, f"{name}, question {n}", lecture, modules) for n, table in enumerate(tables, start=1)
    ]
    for n, question in enumerate(questions):
        if question.id in {earlier.id for earlier in questions[:n]}:
            raise QuestionError(f"{name}, question {n + 1}: id must be unique in the bank, got {question.id!r} again")
    return tuple(questions)


def question_of(table: dict, place: str, lecture: str, modules: tuple[str, ...]) -> Question:
    if isinstance(table.get("id"), str):
        place += f" ({table['id']})"

    def demand(holds: bool, field: str, legal: str, given: Any) -> None:
        if not holds:
            raise QuestionError(f"{place}: {field} must be {legal}, got {given!r}")

    for field in FIELDS:
        if field not in table:
            raise QuestionError(f"{place}: {field} is missing; a question has {', '.join(FIELDS)}")
    for field in table:
        if field not in FIELDS + OPTIONAL:
            known = ", ".join(FIELDS + OPTIONAL)
            raise QuestionError(f"{place}: {field} is not a field of a question; those are {known}")
    slug = isinstance(table["id"], str) and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", table["id"])
    demand(bool(slug), "id", "lower-case words joined by -", table["id"])
    demand(table["level"] in LEVELS, "level", f"one of {', '.join(LEVELS)}", table["level"])
    demand(filled(table["prompt"]), "prompt", "a text", table["prompt"])
    lists = [field for field in (*LISTS, *OPTIONAL) if field in table]
    for field in lists:
        points = table[field]
        demand(
            isinstance(points, list) and bool(points) and all(map(filled, points)),
            field,
            "a list of texts, at least one",
            points,
        )
    evidence = table["evidence"]
    legal = isinstance(evidence, dict) and set(evidence) == {"call", "expect"}
    demand(legal, "evidence", "a table of call and expect", evidence)
    for part, source in evidence.items():
        demand(filled(source) and is_expression(source), f"evidence.{part}", "a Python expression", source)
    points = {field: tuple(table[field]) for field in lists}
    return Question(
        table["id"], table["level"], table["prompt"].strip(), **points, **evidence, lecture=lecture, modules=modules
    )


def filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_expression(source: str) -> bool:
    try:
        ast.parse(source.strip(), mode="eval")
    except SyntaxError:
        return False
    return True


def run_evidence(question: Question) -> Any:
    """Evaluate `call`, then `expect` over its result; return the result.

    Raises QuestionError where a module is missing, either expression raises, or `expect` is not true.
    """
    place = f"{question.lecture}.toml ({question.id})"
    try:
        import numpy as np
        import torch

        from course_lib import data, models, optim, schedules
        from course_lib.trials import at_the_end, grid, tune

        names: dict[str, Any] = {"math": math, "np": np, "torch": torch, "optim": optim}
        names |= {"tune": tune, "grid": grid, "at_the_end": at_the_end, "digits": data.digits}
        names |= {"with_label_noise": data.with_label_noise, "mlp": models.mlp}
        names |= {"schedules": schedules, "scale_by_schedule": schedules.scale_by_schedule}
        for module in question.modules:
            found = vars(importlib.import_module(f"course_lib.lectures.{module}"))
            names |= {name: value for name, value in found.items() if not name.startswith("_")}
        result = names["result"] = eval(question.call.strip(), names)
        holds = eval(question.expect.strip(), names)
    except Exception as error:
        raise QuestionError(f"{place}: the evidence raised {type(error).__name__}: {error}") from error
    if not holds:
        raise QuestionError(f"{place}: evidence.expect must be true, got {holds!r} from {question.expect}")
    return result


CODE_OR_MATH = re.compile(r"(`[^`]+`|\$\$.+?\$\$|\$[^$]+\$)", re.DOTALL)


def escaped(text: str) -> str:
    """Markdown whose `&` and `<` mean themselves, also outside code and formulas, where Markdown keeps them anyway."""
    parts = CODE_OR_MATH.split(text.strip())
    return "".join(p if n % 2 else p.replace("&", "&amp;").replace("<", "&lt;") for n, p in enumerate(parts))


def bullets(title: str, points: Iterable[str]) -> str:
    lines = ["- " + escaped(point).replace("\n", "\n  ") for point in points]
    return f"**{title}**\n\n" + "\n".join(lines)


def render(questions: Iterable[Question]) -> str:
    """The questions as Markdown, answers folded in `<details>`; formulas stay as they are for the page to typeset."""
    blocks = []
    for n, question in enumerate(questions, start=1):
        answer = [
            bullets("A strong answer says", question.answer),
            bullets("Common wrong turns", question.wrong_turns),
            bullets("Follow-ups, left open on purpose", question.follow_ups),
            *([bullets("Measured in this course", question.measured)] if question.measured else []),
            f"**Evidence.** `{question.call.strip()}` satisfies `{question.expect.strip()}`.",
        ]
        folded = ["<details>", "<summary>Answer</summary>", *answer, "</details>"]
        blocks += [f"**{n}. ({question.level})** {escaped(question.prompt)}", *folded]
    return "\n\n".join(blocks) + "\n"
