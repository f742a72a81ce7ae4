"""Write the notebooks from their sources: a learner's edition, solutions blank, a solved one, and its exercises alone.

    python -m tools.notebooks            write notebooks/, build/solved/ and build/exercises/, an NN_topic.ipynb each
    python -m tools.notebooks --check    write build/ only; fail where a learner's edition differs from its source

The tests run a learner's edition whole. Of the solved one they run what it adds, `build/exercises`: the exercises and
their checks, after the imports and the cells that an exercise needs.

A learner's edition carries a stamp of its own cells. A file that no longer matches its stamp was edited and is never
written over: the new edition goes beside it. Exit status: 0 all written or equal, 1 an edited copy or a difference, 2 a
broken source.
"""

import argparse
import copy
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.source import SourceError, read_source, sources, tags_of

KEPT = {"needed", "exercise", "exercise-check"}
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
MARK_LINE = re.compile(r"^\s*### (BEGIN|END) (SOLUTION|HIDDEN TESTS)\n?", flags=re.MULTILINE)


def stamp_of(notebook: NotebookNode) -> str:
    """A hash of what a learner may have typed: the kind and the text of every cell, not outputs or metadata."""
    typed = json.dumps([[cell.cell_type, cell.source] for cell in notebook.cells])
    return hashlib.sha256(typed.encode()).hexdigest()[:16]


def bare(notebook: NotebookNode) -> NotebookNode:
    """The notebook with nothing but sources and tags: fixed ids, the standard kernel, no outputs."""
    cells, seen = [], set()
    for cell in notebook.cells:
        name = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        while name in seen:
            name = hashlib.sha256(name.encode()).hexdigest()[:8]
        seen.add(name)
        kept = {"tags": list(cell.metadata["tags"])} if cell.metadata.get("tags") else {}
        make = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}[cell.cell_type]
        cells.append(make(cell.source, id=name, metadata=kept))
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": dict(KERNEL)})


def learner_edition(notebook: NotebookNode) -> NotebookNode:
    """Solutions replaced by `...` and hidden tests removed, by nbgrader's own preprocessors; stamped."""
    from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions

    edition = bare(copy.deepcopy(notebook))
    edition, _ = ClearSolutions(code_stub={"python": "..."}, enforce_metadata=False).preprocess(edition, {})
    edition, _ = ClearHiddenTests(enforce_metadata=False).preprocess(edition, {})
    edition.metadata["course"] = {"stamp": stamp_of(edition)}
    return edition


def solved_edition(notebook: NotebookNode) -> NotebookNode:
    """Solutions and tests in place, without the marks around them."""
    edition = bare(notebook)
    for cell in edition.cells:
        cell.source = MARK_LINE.sub("", cell.source).rstrip("\n")
    return edition


def exercises_edition(notebook: NotebookNode) -> NotebookNode:
    """Of the solved edition the first code cell, the cells tagged "needed", and the exercises with their checks."""
    edition = solved_edition(notebook)
    edition.cells = exercise_cells(edition.cells)
    return edition


def exercise_cells(cells: list[NotebookNode]) -> list[NotebookNode]:
    code = [cell for cell in cells if cell.cell_type == "code"]
    return [cell for k, cell in enumerate(code) if k == 0 or KEPT & set(tags_of(cell))]


def text_of(notebook: NotebookNode) -> str:
    nbformat.validate(notebook)
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"


def edited(path: Path) -> bool:
    """Whether the file holds anything but what this tool wrote: its stamp is missing or does not match its cells."""
    try:
        notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
        return notebook.metadata.get("course", {}).get("stamp") != stamp_of(notebook)
    except (ValueError, AttributeError, nbformat.ValidationError, nbformat.reader.NotJSONError):
        return True


def write(path: Path, text: str) -> None:
    """All or nothing: a stop halfway leaves the old file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".part")
    half.write_text(text, encoding="utf-8", newline="\n")
    os.replace(half, path)


def write_learner(path: Path, text: str) -> Path:
    """Write `text` to `path`, or beside it where an edited copy stands; return where it went."""
    names = [path, path.with_suffix(".new.ipynb"), *(path.with_suffix(f".new{n}.ipynb") for n in range(2, 1000))]
    place = next(name for name in names if not name.exists() or not edited(name))
    write(place, text)
    return place


def build(root: Path, *, check: bool = False) -> list[str]:
    """Build every edition under `root`; return what went against the rules, a sentence each."""
    problems, known = [], set()
    for source in sources(root / "notebooks/source"):
        notebook, name = read_source(source), f"{source.stem}.ipynb"
        known.add(name)
        write(root / "build/solved" / name, text_of(solved_edition(notebook)))
        write(root / "build/exercises" / name, text_of(exercises_edition(notebook)))
        learner, text = root / "notebooks" / name, text_of(learner_edition(notebook))
        if not check:
            place = write_learner(learner, text)
            if place != learner:
                problems.append(f"{learner} holds your edits and was left as it is; the new edition is {place}.")
        elif not learner.exists() or learner.read_text(encoding="utf-8") != text:
            problems.append(f"{learner} is not what {source} generates; run: make notebooks")
    if check:
        problems += orphans(root, known)
    return problems


def orphans(root: Path, known: Iterable[str]) -> list[str]:
    found = (path for path in sorted((root / "notebooks").glob("*.ipynb")) if ".new" not in path.name)
    return [f"{path} has no source in notebooks/source; delete it" for path in found if path.name not in set(known)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.notebooks", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write no learner's edition; fail where one differs")
    options = parser.parse_args(arguments)
    try:
        problems = build(Path(), check=options.check)
    except SourceError as error:
        print(error, file=sys.stderr)
        return 2
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
