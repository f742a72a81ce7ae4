"""Each house rule has a lecture that keeps it and one that breaks it; a notebook's budget stops what oversteps."""

from pathlib import Path

import nbformat
import pytest

from tools import lint, notebook_budget, notebooks
from tools.source import read_source

ROOT = Path(__file__).parents[2]

pytest_plugins = ["pytester"]

SETUP = """# %% [markdown]
# # 7  A lecture

# %%
from math import sqrt
"""

SECTION = """
# %% [markdown]
# ## 7.{k}  {title}
#
# The setting.

# %% [markdown] tags=["predict"]
# **Predict.** More or less?

# %%
root = sqrt({k})

# %%
round(root, 3)

# %%
%time root * 2

# %% tags=["check"]
assert root**2 - {k} < 1e-9
"""

END = """
# %% [markdown]
# ## Summary

# %% [markdown]
# ## Exercises

# %% tags=["exercise"]
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION

# %% tags=["exercise-check"]
verdict = double(2) == 4
### BEGIN HIDDEN TESTS
assert verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# ## Interview questions

# %%
sqrt(16)

# %% [markdown]
# ## References
"""

TITLES = ["What is a root?", "Is it small?", "Is it real?", "Does it stop?", "Folklore on trial: roots are hard"]
GOOD = SETUP + "".join(SECTION.format(k=k, title=title) for k, title in enumerate(TITLES, start=1)) + END


def findings(folder, source):
    path = folder / "07_lecture.py"
    path.write_text(source)
    return lint.lint(str(path), read_source(path))


def test_a_lecture_that_keeps_the_rules_is_left_in_peace(tmp_path):
    assert findings(tmp_path, GOOD) == []


def without(*cut):
    source = GOOD
    for part in cut:
        assert part in source
        source = source.replace(part, "", 1)
    return source


def instead(old, new):
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def added(code):
    return instead("round(root, 3)\n", f"{code}\n")


BROKEN = {
    "syntax": added("root ="),
    "length": added("\n".join(f"x{n} = {n}" for n in range(21))),
    "count": SETUP + SECTION.format(k=1, title="Is it?") + SECTION.format(k=2, title="Folklore on trial: x") + END,
    "title": instead("# # 7  A lecture", "# # 8  A lecture"),
    "setup": instead("from math import sqrt", "from math import sqrt\nsqrt(2)"),
    "sections": instead("## 7.3  ", "## 7.4  "),
    "question": instead("Is it small?", "It is small"),
    "ending": without("\n# %% [markdown]\n# ## References\n"),
    "folklore": instead("Folklore on trial: roots are hard", "Are roots hard?"),
    "run": without("\n# %%\nroot = sqrt(1)\n", "\n# %%\nround(root, 3)\n", "\n# %%\n%time root * 2\n"),
    "predict": without('# %% [markdown] tags=["predict"]\n# **Predict.** More or less?\n'),
    "check": without(' tags=["check"]'),
    "assert": instead("assert root**2 - 1 < 1e-9", "root**2 - 1 < 1e-9"),
    "asks": instead("**Predict.** More", "More"),
    "exercise": instead('# %% tags=["exercise-check"]', '# %% [markdown]\n# A remark.\n\n# %% tags=["exercise-check"]'),
    "star": added("from math import *"),
    "path": added("import sys\nsys.path.insert(0, '..')"),
    "definition": added("def helper():\n    return 1"),
    "magic": added("%no_such_magic"),
    "shell": added("!ls"),
}


@pytest.mark.parametrize(("rule", "source"), BROKEN.items(), ids=BROKEN.keys())
def test_each_rule_catches_a_lecture_that_breaks_it(tmp_path, rule, source):
    found = findings(tmp_path, source)
    assert rule in {finding.rule for finding in found if not finding.note}
    assert all(str(finding).startswith(str(tmp_path / "07_lecture.py")) for finding in found)


VARIANTS = {
    "a cell magic": ("magic", added("%%no_such_cell\nroot")),
    "a magic in an assignment": ("magic", added("x = %no_such_magic")),
    "pip": ("shell", added("%pip install numpy")),
    "bash": ("shell", added("%%bash\nls")),
    "an exclamation mark in an assignment": ("shell", added("files = !ls")),
    "os.system": ("shell", added("import os\nos.system('ls')")),
    "chdir": ("path", added("import os\nos.chdir('..')")),
    "a class": ("definition", added("class Helper:\n    pass")),
    "a section of no kind": ("sections", instead("## Summary", "## Afterthoughts")),
    "a prediction after the run": (
        "predict",
        without('# %% [markdown] tags=["predict"]\n# **Predict.** More or less?\n').replace(
            '# %% tags=["check"]', '# %% [markdown] tags=["predict"]\n# **Predict.** Late.\n\n# %% tags=["check"]', 1
        ),
    ),
    "a check before the exercise": (
        "exercise",
        without(
            '# %% tags=["exercise"]\ndef double(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION\n'
        ),
    ),
}


@pytest.mark.parametrize(("rule", "source"), VARIANTS.values(), ids=VARIANTS.keys())
def test_other_ways_to_break_a_rule_are_caught(tmp_path, rule, source):
    assert rule in {finding.rule for finding in findings(tmp_path, source)}


def test_building_is_allowed_where_it_is_the_lesson(tmp_path):
    built = instead("# %%\nround(root, 3)", '# %% tags=["build"]\ndef helper():\n    return 1')
    assert findings(tmp_path, built) == []


def test_known_magics_pass_and_a_longish_cell_is_only_noted(tmp_path):
    assert findings(tmp_path, added("%matplotlib inline\n%timeit -n1 -r1 root")) == []
    (note,) = findings(tmp_path, added("\n".join(f"x{n} = {n}" for n in range(10))))
    assert note.note
    assert "got 10" in note.message


def test_a_committed_notebook_holds_no_outputs_and_no_stray_metadata(tmp_path):
    path = tmp_path / "07_lecture.py"
    path.write_text(GOOD)
    notebook = notebooks.learner_edition(read_source(path))
    assert lint.lint_file("07_lecture.ipynb", notebook) == []
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="hello")]
    notebook.cells[3].metadata["collapsed"] = True
    assert [finding.rule for finding in lint.lint_file("07_lecture.ipynb", notebook)] == [
        "metadata",
        "outputs",
        "metadata",
    ]


def test_the_command_names_file_cell_and_rule(tmp_path, capsys):
    (tmp_path / "source").mkdir()
    path = tmp_path / "source/07_lecture.py"
    path.write_text(BROKEN["star"])
    assert lint.main([str(path)]) == 1
    assert f"{path}: cell 6 (from math import *): star: name what is imported from math" in capsys.readouterr().out
    path.write_text("no notebook")
    assert lint.main([str(path)]) == 1
    assert "source: " in capsys.readouterr().out
    path.write_text(GOOD)
    assert lint.main([str(path)]) == 0


# The budget, measured on real kernels.


@pytest.mark.slow
def test_a_notebook_is_measured_bounded_and_cut_off_from_the_network(pytester, monkeypatch):
    network = "import urllib.request\nurllib.request.urlopen('http://192.0.2.1', timeout=5)"
    code = [nbformat.v4.new_code_cell(cell) for cell in ("a = 1", network, "b = bytearray(300_000_000)", "del b")]
    pytester.makefile(".ipynb", small=nbformat.writes(nbformat.v4.new_notebook(cells=code)))
    pytester.makeini("[pytest]\nfilterwarnings = error")
    pytester.makeconftest("from tools import notebook_budget\nnotebook_budget.MEGABYTES = 250")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    plugins = ["-p", "no:playwright", "-p", "tools.notebook_budget", "-n1", "--dist=loadscope"]
    result = pytester.runpytest_subprocess(*plugins, "--nbval-lax", "--nbval-current-env", timeout=100)
    result.assert_outcomes(passed=2, failed=2)
    said = result.stdout.str()
    assert "no network here: a connection to 192.0.2.1 was refused" in said
    assert "small.ipynb::Cell 2: the notebook's kernel has held" in said
    line = next(line for line in result.outlines if line.startswith("small.ipynb "))
    seconds, busy, megabytes = (float(line.split()[n]) for n in (1, 6, 9))
    assert 0 < busy < 60
    assert seconds > 0
    assert 300 < megabytes < 700


def test_the_bounds_of_a_notebook():
    assert notebook_budget.overrun(59, 800) is None
    assert notebook_budget.overrun(119, 800) is None
    assert "has computed for 121 s up to here; 120 s is" in str(notebook_budget.overrun(121, 800))
    assert "has held 2049 MB" in str(notebook_budget.overrun(10, 2049))
