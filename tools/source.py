"""Read a lecture's source, `notebooks/source/NN_topic.py` in jupytext's py:percent format, strictly."""

import json
import re
from pathlib import Path

import jupytext
from nbformat import NotebookNode

SOURCES = Path("notebooks/source")
TAGS = {"predict", "build", "run", "claim", "exercise", "exercise-check", "needed", "raises-exception"}
"""`needed`: an exercise uses what the cell defines. `check` is the old name of `claim`."""
MARKS = {"exercise": "SOLUTION", "exercise-check": "HIDDEN TESTS"}
CELL = re.compile(r"# %%(?P<markdown> \[markdown\])?(?: tags=(?P<tags>\[.*\]))?\s*")


class SourceError(ValueError):
    """A source that cannot become a notebook: one sentence with the file, the place, and what is wrong."""


def sources(folder: Path = SOURCES) -> list[Path]:
    return sorted(folder.glob("[0-9][0-9]_*.py"))


def where(number: int, cell: NotebookNode) -> str:
    """How messages name a cell: its number, from 1, and how it begins."""
    first = next((line.strip() for line in cell.source.splitlines() if line.strip()), "empty")
    return f"cell {number} ({first[:50]})"


def tags_of(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def read_source(path: Path) -> NotebookNode:
    """The notebook that `path` describes, solutions in place.

    Raises SourceError for a line before the first cell, a cell marker that jupytext would misread, an uncommented line
    in a text cell, an unknown tag, and solution marks that are missing, unbalanced or in the wrong cell.
    """
    text = path.read_text(encoding="utf-8")
    check_markers(path, text)
    notebook = jupytext.reads(text, fmt="py:percent")
    for number, cell in enumerate(notebook.cells, start=1):
        check_marks(path, number, cell)
    return notebook


def check_markers(path: Path, text: str) -> None:
    markdown: bool | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("# %%") or line.startswith("#%%"):
            marker = CELL.fullmatch(line)
            if not marker:
                raise SourceError(
                    f"{path}:{number}: a cell begins with `# %%` or `# %% [markdown]`, then perhaps "
                    f'` tags=["claim"]`, got `{line}`'
                )
            markdown = bool(marker["markdown"])
            check_tags(path, number, marker["tags"])
        elif line.strip() and markdown is None:
            raise SourceError(f"{path}:{number}: the first line must be a cell marker such as `# %%`, got `{line}`")
        elif line.strip() and markdown and not line.startswith("#"):
            raise SourceError(f"{path}:{number}: a line of a text cell must begin with `#`, got `{line}`")
    if markdown is None:
        raise SourceError(f"{path}: no cells: a cell begins with `# %%` or `# %% [markdown]`")


def check_tags(path: Path, number: int, written: str | None) -> None:
    try:
        tags = json.loads(written or "[]")
    except json.JSONDecodeError:
        raise SourceError(f'{path}:{number}: tags are written like tags=["claim"], got tags={written}') from None
    for tag in tags:
        if tag not in TAGS:
            raise SourceError(f"{path}:{number}: a tag is one of {', '.join(sorted(TAGS))}, got {tag!r}")


def check_marks(path: Path, number: int, cell: NotebookNode) -> None:
    """An exercise hides its solution, an exercise-check its tests, and no other cell hides anything."""
    for tag, name in MARKS.items():
        found = re.findall(rf"^\s*### (BEGIN|END) {name}$", cell.source, flags=re.MULTILINE)
        spelled = re.findall(rf"(?:BEGIN|END) {name}", cell.source)
        place = f"{path}: {where(number, cell)}"
        if len(found) != len(spelled):
            raise SourceError(f"{place}: a mark stands alone on its line as `### BEGIN {name}` or `### END {name}`")
        if found != ["BEGIN", "END"] * (len(found) // 2):
            raise SourceError(f"{place}: each `### BEGIN {name}` needs its `### END {name}`, in that order")
        if found and tag not in tags_of(cell):
            raise SourceError(f'{place}: hides a part between {name} marks but is not tagged "{tag}"')
        if tag in tags_of(cell) and not found:
            raise SourceError(f"{place}: is tagged {tag!r} but has no `### BEGIN {name}` ... `### END {name}`")
