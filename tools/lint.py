"""The house rules of a lecture, checked: `python -m tools.lint [notebooks/source/NN_topic.py ...]`.

Prints a line for each broken rule - file, cell, rule, what to do - and exits with 1; a `note` is advice and fails
nothing. The rules are in `tools/rules`, and in its `exceptions.toml` what older lectures may still break; `--shrink`
lowers the numbers there to what is needed.
"""

import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.rules import RULES, Finding, Lecture, exceptions
from tools.source import SourceError, read_source, sources, where


def lint(name: str, notebook: NotebookNode) -> list[Finding]:
    """What `notebook`, solutions in place, does against the rules; its file's name begins with its number."""
    lecture = Lecture(name, notebook)
    return [finding for rule in RULES for finding in rule(lecture)]


def lint_file(name: str, notebook: NotebookNode) -> list[Finding]:
    """The rules for a committed .ipynb: no outputs, and no metadata but the kernel, the stamp and the tags."""
    found = []
    extra = set(notebook.metadata) - {"kernelspec", "course"}
    if extra:
        found.append(Finding("metadata", name, f"metadata beyond kernelspec and course: {', '.join(sorted(extra))}"))
    for number, cell in enumerate(notebook.cells, start=1):
        place = f"{name}: {where(number, cell)}"
        if set(cell.metadata) - {"tags"}:
            found.append(
                Finding("metadata", place, f"metadata beyond tags: {', '.join(sorted(set(cell.metadata) - {'tags'}))}")
            )
        if cell.get("outputs") or cell.get("execution_count"):
            found.append(Finding("outputs", place, "a committed notebook holds no outputs; run: make notebooks"))
    return found


def main(arguments: list[str]) -> int:
    findings: list[Finding] = []
    found, allowed = {}, exceptions.read()
    for source in [Path(a) for a in arguments if a != "--shrink"] or sources():
        try:
            broken = lint(str(source), read_source(source))
            found[source.stem] = exceptions.counts(broken)
            findings += exceptions.excuse(source.stem, broken, allowed)
        except SourceError as error:
            findings.append(Finding("source", str(source), str(error)))
        committed = source.parent.parent / f"{source.stem}.ipynb"
        if committed.exists():
            findings += lint_file(str(committed), nbformat.read(committed, as_version=4))
    if "--shrink" in arguments:
        exceptions.shrink(found, allowed)
        return 0
    for finding in findings:
        print(finding)
    return any(not finding.note for finding in findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
