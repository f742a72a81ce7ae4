"""Rules of balance: how much of a lecture builds, how much claims, and how long its texts are."""

import ast
import re
from collections.abc import Iterator

from tools.rules.lecture import CLAIMS, Finding, Lecture, calls, code_lines
from tools.source import tags_of

WORDS, RARELY = (20, 80), 5
CLAIMS_A_SECTION = 3


def words(text: str) -> int:
    """The words of a text cell: each formula in a line is one, and headings, tables, displays and code are none."""
    text = re.sub(r"^```.*?^```|\$\$.*?\$\$", " ", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\$[^$]+\$", "formula", text)
    text = re.sub(r"^(\s*\||#).*$", " ", text, flags=re.MULTILINE)
    return len(re.findall(r"[\w'-]*\w[\w'.%-]*", text))


KINDS = {
    "exercise": {"exercise", "exercise-check"},
    "building": {"build", "run"},
    "claiming": CLAIMS,
    "rest": set(),
}


def lines_by_kind(lecture: Lecture) -> dict[str, int]:
    """The code lines of a lecture by what they are for, told by the tags of their cells."""
    lines = dict.fromkeys(KINDS, 0)
    for _, cell in lecture.code:
        tags = set(tags_of(cell))
        lines[next((kind for kind, marks in KINDS.items() if tags & marks), "rest")] += code_lines(cell)
    return lines


def rule_shares(lecture: Lecture) -> Iterator[Finding]:
    """Of the code outside the exercises, which are the learner's: how much is work to read, how much is claims."""
    lines = lines_by_kind(lecture)
    total = sum(lines.values()) - lines["exercise"]
    if 3 * lines["building"] < total:
        message = 'a third of the code lines build or run something to read, in cells tagged "build" or "run"'
        yield Finding("building", lecture.name, f"{message}; got {lines['building']} of {total}")
    if 5 * lines["claiming"] > total:
        message = f"at most a fifth of the code lines are claims, got {lines['claiming']} of {total}"
        yield Finding("claiming", lecture.name, message)


def rule_claims(lecture: Lecture) -> Iterator[Finding]:
    for n, cell in lecture.code:
        if CLAIMS & set(tags_of(cell)) and (tree := lecture.trees.get(n)):
            called = any(name == "claim" for name, _ in calls(tree))
            if not called or any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
                yield Finding(
                    "claims", lecture.place(n), 'a cell tagged "claim" calls claim(...) and asserts nothing by itself'
                )
    for section in lecture.sections:
        trees = [lecture.trees[n] for n, _ in section.cells if n in lecture.trees]
        made = sum(name == "claim" for tree in trees for name, _ in calls(tree))
        if made > CLAIMS_A_SECTION:
            message = f"a section makes one to {CLAIMS_A_SECTION} claims, got {made}; what else must hold is a test"
            yield Finding("claims", lecture.place(section.heading), message)


def rule_results(lecture: Lecture) -> Iterator[Finding]:
    """A reader moves a widget's sliders, and with them its `.result`: a claim would be about another setting."""
    for n, tree in lecture.trees.items():
        claims = bool(CLAIMS & set(tags_of(lecture.cells[n - 1][1])))
        for node in ast.walk(tree):
            judges = isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and ast.unparse(node.func) == "claim")
            if (claims or judges) and any(isinstance(k, ast.Attribute) and k.attr == "result" for k in ast.walk(node)):
                message = "the numbers of a claim come from a call of the experiment, never from a widget's .result"
                yield Finding("result", lecture.place(n), message)
                break


def rule_words(lecture: Lecture) -> Iterator[Finding]:
    """The text cells of the numbered sections, predictions aside."""
    low, high = WORDS
    outside = []
    for section in (section for section in lecture.sections if section.numbered):
        for n, cell in section.cells:
            if cell.cell_type == "markdown" and "predict" not in tags_of(cell):
                count = words(cell.source)
                if not low <= count <= high:
                    outside.append((n, count))
    if len(outside) > RARELY:
        for n, count in outside:
            message = f"a text cell has {low} to {high} words, with {RARELY} exceptions a lecture; got {count}"
            yield Finding("words", lecture.place(n), message)
