"""From a source to the learner's edition and the solved one; what a learner typed is never written over."""

import json
from pathlib import Path

import nbformat
import pytest

from tools import notebooks
from tools.source import SourceError, read_source

SOURCE = '''# %% [markdown]
# # 7  A lecture

# %%
from math import sqrt

# %% [markdown] tags=["predict"]
# **Predict.** Is $\\sqrt 2 < 1.5$?

# %% tags=["exercise"]
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION

# %% tags=["exercise-check"]
verdict = double(2) == 4
### BEGIN HIDDEN TESTS
assert verdict, "solved"
### END HIDDEN TESTS
verdict
'''


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A checkout with one lecture, and the working directory in it."""
    (tmp_path / "notebooks/source").mkdir(parents=True)
    (tmp_path / "notebooks/source/07_lecture.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(path):
    return nbformat.read(path, as_version=4)


def change(path, edit):
    notebook = read(path)
    edit(notebook)
    nbformat.write(notebook, path)
    return path.read_text()


def test_the_learners_edition_has_stubs_and_no_hidden_tests(course):
    assert notebooks.main([]) == 0
    exercise, check = read(course / "notebooks/07_lecture.ipynb").cells[3:]
    assert exercise.source == 'def double(x):\n    """Twice x."""\n    ...'
    assert check.source == "verdict = double(2) == 4\nverdict"


def test_the_solved_edition_has_solutions_and_tests_without_marks(course):
    notebooks.main([])
    exercise, check = read(course / "build/solved/07_lecture.ipynb").cells[3:]
    assert exercise.source == 'def double(x):\n    """Twice x."""\n    return 2 * x'
    assert check.source == 'verdict = double(2) == 4\nassert verdict, "solved"\nverdict'


def test_the_exercises_edition_has_the_imports_what_is_needed_and_the_exercises(course):
    source = course / "notebooks/source/07_lecture.py"
    two = '# %% tags=["build", "needed"]\ntwo = 2\n\n# %%\nsqrt(2)\n\n'
    source.write_text(SOURCE.replace('# %% tags=["exercise"]', two + '# %% tags=["exercise"]'))
    notebooks.main([])
    cells = read(course / "build/exercises/07_lecture.ipynb").cells
    solved = read(course / "build/solved/07_lecture.ipynb").cells
    assert [cell.source for cell in cells] == [
        "from math import sqrt",
        "two = 2",
        *(cell.source for cell in solved[-2:]),
    ]


def test_editions_are_the_same_every_time_and_bare(course):
    notebooks.main([])
    first = (course / "notebooks/07_lecture.ipynb").read_text()
    notebooks.main([])
    assert (course / "notebooks/07_lecture.ipynb").read_text() == first
    written = json.loads(first)
    assert written["metadata"]["kernelspec"]["name"] == "python3"
    assert set(written["metadata"]) == {"kernelspec", "course"}
    assert [cell["metadata"] for cell in written["cells"]][2:4] == [{"tags": ["predict"]}, {"tags": ["exercise"]}]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in written["cells"])
    assert len({cell["id"] for cell in written["cells"]}) == len(written["cells"])


def test_cells_with_the_same_text_get_different_ids(course):
    source = course / "notebooks/source/07_lecture.py"
    source.write_text(SOURCE + "\n# %%\nsqrt(2)\n\n# %%\nsqrt(2)\n")
    notebooks.main([])
    ids = [cell.id for cell in read(course / "notebooks/07_lecture.ipynb").cells]
    assert len(set(ids)) == len(ids)


def test_check_passes_on_what_was_built_and_names_what_drifted(course, capsys):
    notebooks.main([])
    assert notebooks.main(["--check"]) == 0
    source = course / "notebooks/source/07_lecture.py"
    source.write_text(SOURCE.replace("Twice x", "x times two"))
    assert notebooks.main(["--check"]) == 1
    said = capsys.readouterr().err
    assert (
        "notebooks/07_lecture.ipynb is not what notebooks/source/07_lecture.py generates; run: make notebooks" in said
    )
    assert "Twice x" in (course / "notebooks/07_lecture.ipynb").read_text()


def test_check_names_a_missing_notebook_and_one_without_source(course, capsys):
    notebooks.main([])
    Path("notebooks/07_lecture.ipynb").rename("notebooks/08_other.ipynb")
    assert notebooks.main(["--check"]) == 1
    said = capsys.readouterr().err
    assert "07_lecture.ipynb is not what" in said
    assert "08_other.ipynb has no source" in said


def add_outputs(notebook):
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="hello")]
    notebook.cells[1].execution_count = 3
    notebook.metadata["language_info"] = {"name": "python", "version": "3.13.0"}


def test_a_notebook_that_was_only_run_is_renewed(course):
    notebooks.main([])
    place = course / "notebooks/07_lecture.ipynb"
    before = place.read_text()
    change(place, add_outputs)
    assert notebooks.main([]) == 0
    assert place.read_text() == before


EDITS = {
    "an answer": lambda notebook: notebook.cells[3].update(source="def double(x):\n    return x + x"),
    "a new cell": lambda notebook: notebook.cells.append(nbformat.v4.new_code_cell("1 + 1")),
    "a note": lambda notebook: notebook.cells[0].update(source="# 7  A lecture\n\nmy note"),
    "a cell deleted": lambda notebook: notebook.cells.pop(),
    "no stamp": lambda notebook: notebook.metadata.pop("course"),
    "a false stamp": lambda notebook: notebook.metadata.update(course={"stamp": "0" * 16}),
    "a broken stamp": lambda notebook: notebook.metadata.update(course="mine"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_an_edited_copy_is_left_alone_and_the_new_edition_goes_beside_it(course, capsys, edit):
    notebooks.main([])
    fresh = (course / "notebooks/07_lecture.ipynb").read_text()
    theirs = change(course / "notebooks/07_lecture.ipynb", edit)
    assert notebooks.main([]) == 1
    assert (course / "notebooks/07_lecture.ipynb").read_text() == theirs
    assert (course / "notebooks/07_lecture.new.ipynb").read_text() == fresh
    assert capsys.readouterr().err.strip().endswith("left as it is; the new edition is notebooks/07_lecture.new.ipynb.")


def test_a_file_that_is_no_notebook_is_left_alone(course):
    Path("notebooks/07_lecture.ipynb").write_text("my notes")
    assert notebooks.main([]) == 1
    assert Path("notebooks/07_lecture.ipynb").read_text() == "my notes"


def test_work_in_the_new_edition_is_kept_as_well(course):
    notebooks.main([])
    change(course / "notebooks/07_lecture.ipynb", EDITS["an answer"])
    notebooks.main([])
    theirs = change(course / "notebooks/07_lecture.new.ipynb", EDITS["a new cell"])
    assert notebooks.main([]) == 1
    assert (course / "notebooks/07_lecture.new.ipynb").read_text() == theirs
    assert (course / "notebooks/07_lecture.new2.ipynb").exists()


BROKEN = {
    "no cells": ("", "no cells: a cell begins with"),
    "text before the first cell": ("# A lecture\n" + SOURCE, ":1: the first line must be a cell marker"),
    "a misspelled marker": (SOURCE.replace("[markdown]\n# # 7", "[markdwn]\n# # 7"), ":1: a cell begins with `# %%`"),
    "a bare line of text": (
        SOURCE.replace("# # 7  A", "# 7  A\nlecture"),
        ":3: a line of a text cell must begin with `#`",
    ),
    "broken tags": (SOURCE.replace('["predict"]', "[predict]"), "tags are written like"),
    "an unknown tag": (SOURCE.replace('"predict"', '"guess"'), "a tag is one of .*got 'guess'"),
    "no solution": (
        SOURCE.replace("    ### BEGIN SOLUTION\n", "").replace("    ### END SOLUTION\n", ""),
        r"cell 4 \(def double\(x\):\): is tagged 'exercise' but has no `### BEGIN SOLUTION`",
    ),
    "no end": (SOURCE.replace("    ### END SOLUTION\n", ""), "needs its `### END SOLUTION`"),
    "ends first": (SOURCE.replace("BEGIN", "X").replace("END", "BEGIN").replace("X", "END"), "in that order"),
    "a mark in a line of code": (SOURCE.replace("x\n    ### END", "x  ### END"), "a mark stands alone on its line"),
    "no hidden tests": (
        SOURCE.replace("### BEGIN HIDDEN TESTS\n", "").replace("### END HIDDEN TESTS\n", ""),
        "cell 5 .* is tagged 'exercise-check' but has no",
    ),
    "a solution outside an exercise": (SOURCE.replace('tags=["exercise"]', ""), 'is not tagged "exercise"'),
}


@pytest.mark.parametrize(("source", "sentence"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_source_gets_one_sentence(course, capsys, source, sentence):
    path = Path("notebooks/source/07_lecture.py")
    path.write_text(source)
    with pytest.raises(SourceError, match=sentence):
        read_source(path)
    assert notebooks.main([]) == 2
    said = capsys.readouterr().err
    assert said.startswith("notebooks/source/07_lecture.py")
    assert said.count("\n") == 1
    assert not Path("notebooks/07_lecture.ipynb").exists()
