"""Rules of form: cells, sections, the rhythm of a section, exercises and their checks."""

import ast
import re
from collections.abc import Iterator

from tools.rules.lecture import CLAIMS, Finding, Lecture, calls, code_lines
from tools.source import tags_of

LONG, LONGISH, FIRST, CELLS, SECTIONS = 15, 8, 8, (20, 70), 10
ENDINGS = ("Summary", "Exercises", "Interview questions", "References")
UNASKED = ("Folklore on trial", "Frontier")
WORKING = {"exercise", "build"}


def rule_syntax(lecture: Lecture) -> Iterator[Finding]:
    for n, _ in lecture.code:
        if n not in lecture.trees:
            yield Finding("syntax", lecture.place(n), "does not parse as Python")


def rule_length(lecture: Lecture) -> Iterator[Finding]:
    for n, cell in lecture.code:
        lines = code_lines(cell)
        if lines > LONG and n != lecture.code[0][0]:
            yield Finding("length", lecture.place(n), f"a code cell has at most {LONG} lines, got {lines}")
        elif LONGISH < lines <= LONG and n != lecture.code[0][0] and not WORKING & set(tags_of(cell)):
            yield Finding("length", lecture.place(n), f"a code cell has 2 to {LONGISH} lines, got {lines}", note=True)


def rule_count(lecture: Lecture) -> Iterator[Finding]:
    low, high = CELLS
    if not low <= len(lecture.code) <= high:
        yield Finding("count", lecture.name, f"a lecture has {low} to {high} code cells, got {len(lecture.code)}")


def rule_title(lecture: Lecture) -> Iterator[Finding]:
    first = lecture.cells[0][1]
    if first.cell_type != "markdown" or not re.match(rf"# +{lecture.number} +\S", first.source):
        yield Finding("title", lecture.place(1), f"a lecture begins with `# {lecture.number}  Title`")


def rule_setup(lecture: Lecture) -> Iterator[Finding]:
    n, _ = lecture.code[0] if lecture.code else (1, None)
    body = lecture.trees[n].body if n in lecture.trees else []
    if not body or not all(isinstance(line, ast.Import | ast.ImportFrom) for line in body):
        yield Finding("setup", lecture.place(n), "the first code cell holds the imports and nothing else")
    lines = code_lines(lecture.code[0][1]) if lecture.code else 0
    if lines > FIRST:
        yield Finding("first", lecture.place(n), f"the first code cell has at most {FIRST} lines, got {lines}")


def rule_sections(lecture: Lecture) -> Iterator[Finding]:
    """Numbered questions in order, then the four closing sections."""
    expected = 1
    for section in lecture.sections:
        place, title = lecture.place(section.heading), section.title
        numbered = re.match(r"(\d+)\.(\d+) +(.+)", title)
        if not numbered:
            if not title.startswith((*ENDINGS, "Frontier")):
                yield Finding(
                    "sections", place, f"a section is `## {lecture.number}.k  Question?` or one of {', '.join(ENDINGS)}"
                )
            continue
        if (int(numbered[1]), int(numbered[2])) != (lecture.number, expected):
            yield Finding("sections", place, f"sections are counted: `## {lecture.number}.{expected}` is next")
        expected = int(numbered[2]) + 1
        if not numbered[3].endswith("?") and not numbered[3].startswith(UNASKED):
            yield Finding("question", place, "the title of a section is a question and ends with a question mark")
    if expected - 1 > SECTIONS:
        yield Finding("many", lecture.name, f"a lecture has at most {SECTIONS} numbered sections, got {expected - 1}")
    closing = [section.title for section in lecture.sections][-len(ENDINGS) :]
    if closing != list(ENDINGS):
        yield Finding("ending", lecture.name, f"a lecture ends with the sections {', '.join(ENDINGS)}, got {closing}")
    if not any("Folklore on trial" in section.title for section in lecture.sections):
        yield Finding("folklore", lecture.name, "a lecture has a section `Folklore on trial: ...`")


def rule_rhythm(lecture: Lecture) -> Iterator[Finding]:
    """In each numbered section: predict, run, look, claim."""
    for section in lecture.sections:
        if not section.numbered:
            continue
        place = lecture.place(section.heading)
        predicts = [n for n, cell in section.cells if "predict" in tags_of(cell)]
        runs = [n for n, c in section.cells if c.cell_type == "code" and not {"predict", *CLAIMS} & set(tags_of(c))]
        claims = [n for n, cell in section.cells if CLAIMS & set(tags_of(cell))]
        if not runs:
            yield Finding("run", place, "a section runs something between its prediction and its claim")
        if not predicts or (runs and predicts[0] > runs[0]):
            yield Finding("predict", place, 'a section has a cell tagged "predict" before its first run')
        if not claims or (runs and claims[-1] < runs[0]):
            yield Finding("claim", place, 'a section has a cell tagged "claim" after its run')


def rule_tags(lecture: Lecture) -> Iterator[Finding]:
    """A prediction asks."""
    for n, cell in lecture.cells:
        tree, tags = lecture.trees.get(n), tags_of(cell)
        asks = any(name == "predict" for name, _ in calls(tree)) if tree else cell.source.startswith("**Predict.**")
        if "predict" in tags and not asks:
            yield Finding(
                "asks", lecture.place(n), 'a cell tagged "predict" calls predict(...) or begins with **Predict.**'
            )


def rule_exercises(lecture: Lecture) -> Iterator[Finding]:
    tags = [tags_of(cell) for _, cell in lecture.cells]
    for n, tagged in enumerate(tags, start=1):
        if "exercise" in tagged and "exercise-check" not in (tags[n] if n < len(tags) else []):
            yield Finding("exercise", lecture.place(n), 'an exercise is followed by its cell tagged "exercise-check"')
        if "exercise-check" in tagged and (n < 2 or "exercise" not in tags[n - 2]):
            yield Finding("exercise", lecture.place(n), 'a cell tagged "exercise-check" follows its exercise')
