"""A lecture as the rules see it: numbered cells, sections, syntax trees."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from tools.source import tags_of, where

CLAIMS = {"claim"}


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

    @property
    def numbered(self) -> bool:
        return bool(re.match(r"\d", self.title))


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

    @property
    def number(self) -> int:
        return int(re.match(r"\d+", Path(self.name).name)[0])  # type: ignore[index]

    def tagged(self, *tags: str) -> list[tuple[int, NotebookNode]]:
        return [(n, cell) for n, cell in self.cells if set(tags) & set(tags_of(cell))]

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


def code_lines(cell: NotebookNode) -> int:
    """Lines of code: no blank ones, no comments, and with them no marks around a solution."""
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in cell.source.splitlines())
