"""The house rules of a lecture, a function each: what `python -m tools.lint` checks."""

import ast
import functools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from tools.source import tags_of, where

LONG, LONGISH, CELLS = 20, 8, (20, 40)
ENDINGS = ("Summary", "Exercises", "Interview questions", "References")
UNASKED = ("Folklore on trial", "Frontier")
WORKING = {"exercise", "build"}
SHELLS = {"!", "sx", "sc", "system", "script", "bash", "sh", "run", "cd", "pushd", "popd"}
INSTALLERS = {"pip", "conda", "mamba", "micromamba", "uv"}


@dataclass(frozen=True)
class Finding:
    rule: str
    place: str
    message: str
    note: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {'note, ' if self.note else ''}{self.rule}: {self.message}"


Rule = Callable[["Lecture"], Iterator[Finding]]


@dataclass(frozen=True)
class Section:
    title: str
    heading: int
    cells: list[tuple[int, NotebookNode]]


class Lecture:
    """A notebook with what the rules ask of it: numbered cells, sections, syntax trees."""

    def __init__(self, name: str, notebook: NotebookNode):
        self.name = name
        self.cells = list(enumerate(notebook.cells, start=1))
        self.code = [(n, cell) for n, cell in self.cells if cell.cell_type == "code"]
        self.trees = {n: tree for n, cell in self.code if (tree := parse(cell.source)) is not None}
        self.sections = self.split()

    def split(self) -> list[Section]:
        found: list[Section] = []
        for n, cell in self.cells:
            heading = re.match(r"## +(.+)", cell.source) if cell.cell_type == "markdown" else None
            if heading:
                found.append(Section(heading[1].strip(), n, []))
            if found:
                found[-1].cells.append((n, cell))
        return found

    def place(self, number: int) -> str:
        return f"{self.name}: {where(number, self.cells[number - 1][1])}"


def parse(source: str) -> ast.Module | None:
    """The cell as IPython would run it; None where it does not parse."""
    try:
        return ast.parse(TransformerManager().transform_cell(source))
    except SyntaxError:
        return None


def dotted(node: ast.AST) -> str:
    """`sys.path.insert` for the nodes that spell it, else an empty string."""
    return ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name) else ""


def calls(tree: ast.Module) -> Iterator[tuple[str, list]]:
    """Every call by its dotted name with its literal arguments, among them the ones IPython makes of `%` and `!`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), [arg.value for arg in node.args if isinstance(arg, ast.Constant)]


ASK_IPYTHON = """
import json
from IPython.core.interactiveshell import InteractiveShell
from ipykernel.zmqshell import KernelMagics
shell = InteractiveShell()
shell.register_magics(KernelMagics)
print(json.dumps({kind: list(magics) for kind, magics in shell.magics_manager.lsmagic().items()}))
"""


@functools.cache
def known_magics() -> dict[str, list[str]]:
    """The magics of a kernel just started, by kind ("line", "cell"); asked of IPython in a process of its own."""
    answer = subprocess.run([sys.executable, "-c", ASK_IPYTHON], capture_output=True, text=True, check=True).stdout
    return json.loads(answer.splitlines()[-1])


def rule_syntax(lecture: Lecture) -> Iterator[Finding]:
    for n, _ in lecture.code:
        if n not in lecture.trees:
            yield Finding("syntax", lecture.place(n), "does not parse as Python")


def rule_length(lecture: Lecture) -> Iterator[Finding]:
    for n, cell in lecture.code:
        lines = sum(bool(line.strip()) and "### " not in line for line in cell.source.splitlines())
        if lines > LONG:
            yield Finding("length", lecture.place(n), f"a code cell has at most {LONG} lines, got {lines}")
        elif lines > LONGISH and n != lecture.code[0][0] and not WORKING & set(tags_of(cell)):
            yield Finding("length", lecture.place(n), f"a code cell has 2 to {LONGISH} lines, got {lines}", note=True)


def rule_count(lecture: Lecture) -> Iterator[Finding]:
    low, high = CELLS
    if not low <= len(lecture.code) <= high:
        yield Finding("count", lecture.name, f"a lecture has {low} to {high} code cells, got {len(lecture.code)}")


def rule_title(lecture: Lecture) -> Iterator[Finding]:
    number = int(re.match(r"\d+", Path(lecture.name).name)[0])  # type: ignore[index]
    first = lecture.cells[0][1]
    if first.cell_type != "markdown" or not re.match(rf"# +{number} +\S", first.source):
        yield Finding("title", lecture.place(1), f"a lecture begins with `# {number}  Title`")


def rule_setup(lecture: Lecture) -> Iterator[Finding]:
    n, _ = lecture.code[0] if lecture.code else (1, None)
    body = lecture.trees[n].body if n in lecture.trees else []
    if not body or not all(isinstance(line, ast.Import | ast.ImportFrom) for line in body):
        yield Finding("setup", lecture.place(n), "the first code cell holds the imports and nothing else")


def rule_sections(lecture: Lecture) -> Iterator[Finding]:
    """Numbered questions in order, then the four closing sections."""
    number = int(re.match(r"\d+", Path(lecture.name).name)[0])  # type: ignore[index]
    expected = 1
    for section in lecture.sections:
        place, title = lecture.place(section.heading), section.title
        numbered = re.match(r"(\d+)\.(\d+) +(.+)", title)
        if not numbered:
            if not title.startswith((*ENDINGS, "Frontier")):
                yield Finding(
                    "sections", place, f"a section is `## {number}.k  Question?` or one of {', '.join(ENDINGS)}"
                )
            continue
        if (int(numbered[1]), int(numbered[2])) != (number, expected):
            yield Finding("sections", place, f"sections are counted: `## {number}.{expected}` is next")
        expected = int(numbered[2]) + 1
        if not numbered[3].endswith("?") and not numbered[3].startswith(UNASKED):
            yield Finding("question", place, "the title of a section is a question and ends with a question mark")
    closing = [section.title for section in lecture.sections][-len(ENDINGS) :]
    if closing != list(ENDINGS):
        yield Finding("ending", lecture.name, f"a lecture ends with the sections {', '.join(ENDINGS)}, got {closing}")
    if not any("Folklore on trial" in section.title for section in lecture.sections):
        yield Finding("folklore", lecture.name, "a lecture has a section `Folklore on trial: ...`")


def rule_rhythm(lecture: Lecture) -> Iterator[Finding]:
    """In each numbered section: predict, run, look, check."""
    for section in lecture.sections:
        if not re.match(r"\d", section.title):
            continue
        place = lecture.place(section.heading)
        predicts = [n for n, cell in section.cells if "predict" in tags_of(cell)]
        runs = [n for n, c in section.cells if c.cell_type == "code" and not {"predict", "check"} & set(tags_of(c))]
        checks = [n for n, cell in section.cells if "check" in tags_of(cell)]
        if not runs:
            yield Finding("run", place, "a section runs something between its prediction and its check")
        if not predicts or (runs and predicts[0] > runs[0]):
            yield Finding("predict", place, 'a section has a cell tagged "predict" before its first run')
        if not checks or (runs and checks[-1] < runs[0]):
            yield Finding("check", place, 'a section has a cell tagged "check" after its run')


def rule_tags(lecture: Lecture) -> Iterator[Finding]:
    """A check asserts; a prediction asks."""
    for n, cell in lecture.cells:
        tree, tags = lecture.trees.get(n), tags_of(cell)
        if "check" in tags and not (tree and any(isinstance(node, ast.Assert) for node in ast.walk(tree))):
            yield Finding("assert", lecture.place(n), 'a cell tagged "check" holds an assert')
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


def rule_imports(lecture: Lecture) -> Iterator[Finding]:
    for n, tree in lecture.trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
                yield Finding("star", lecture.place(n), f"name what is imported from {node.module} instead of *")
        used = {dotted(node) for node in ast.walk(tree)} | {name for name, _ in calls(tree)}
        for hack in sorted(
            used & {"sys.path", "os.chdir", "site.addsitedir", "importlib.util.spec_from_file_location"}
        ):
            yield Finding("path", lecture.place(n), f"no path hacks: {hack}; the package is installed")


def rule_definitions(lecture: Lecture) -> Iterator[Finding]:
    for n, cell in lecture.code:
        defined = [
            node.name for node in ast.walk(lecture.trees.get(n, ast.Module([], []))) if isinstance(node, DEFINES)
        ]
        if defined and not WORKING & set(tags_of(cell)):
            message = f'{defined[0]} belongs in the package, or in a cell tagged "exercise" or "build"'
            yield Finding("definition", lecture.place(n), message)


DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def rule_magics(lecture: Lecture) -> Iterator[Finding]:
    known = known_magics()
    for n, tree in lecture.trees.items():
        for name, given in calls(tree):
            kind = {"get_ipython().run_line_magic": "line", "get_ipython().run_cell_magic": "cell"}.get(name)
            if name in ("get_ipython().system", "get_ipython().getoutput", "os.system") or name.startswith(
                "subprocess."
            ):
                yield Finding("shell", lecture.place(n), "no shell commands in a lecture")
            elif kind and given and given[0] in SHELLS | INSTALLERS:
                yield Finding("shell", lecture.place(n), f"no %{given[0]} in a lecture")
            elif kind and given and given[0] not in known[kind]:
                percent = "%" if kind == "line" else "%%"
                yield Finding("magic", lecture.place(n), f"{percent}{given[0]} is no magic of IPython")


RULES: list[Rule] = [
    rule_syntax, rule_length, rule_count, rule_title, rule_setup, rule_sections, rule_rhythm, rule_tags, rule_exercises,
    rule_imports, rule_definitions, rule_magics,
]  # fmt: skip
