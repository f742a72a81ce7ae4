"""Each house rule has a lecture that keeps it and one that breaks it."""

import nbformat
import pytest

from tools import lint, notebooks
from tools.rules import exceptions
from tools.rules.balance import words
from tools.rules.lecture import Finding
from tools.source import read_source

SETUP = """# %% [markdown]
# # 7  A lecture

# %%
from math import sqrt

from course_lib.widgets import claim
"""

SECTION = """
# %% [markdown]
# ## 7.{k}  {title}
#
# The setting of the section, told in a few plain sentences: what is asked, what is measured, and why $x^2$ has anything
# to do with it.

# %% [markdown] tags=["predict"]
# **Predict.** More or less?

# %% tags=["build"]
def root_of(x):
    return sqrt(x)


root = root_of({k})

# %%
round(root, 3)

# %%
%time root * 2

# %% tags=["claim"]
claim("The square of the root is the number.", root**2, near={k}, within=1e-9)
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


BUILD = """
# %% tags=["build"]
def root_of(x):
    return sqrt(x)


root = root_of({k})
"""
ANSWER = """
# %% tags=["build"]
def twofold(number):
    return number * 2 + (1 - number) * number

"""
SECTIONS_END = "\n# %% [markdown]\n# ## Summary\n"
FUNCTIONS = ("cos", "sin", "tan", "exp", "log", "sinh", "cosh", "tanh", "sqrt")


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
    "length": added("\n".join(f"x{n} = {n}" for n in range(16))),
    "count": SETUP + SECTION.format(k=1, title="Is it?") + SECTION.format(k=2, title="Folklore on trial: x") + END,
    "title": instead("# # 7  A lecture", "# # 8  A lecture"),
    "setup": instead("from math import sqrt", "from math import sqrt\nsqrt(2)"),
    "sections": instead("## 7.3  ", "## 7.4  "),
    "question": instead("Is it small?", "It is small"),
    "ending": without("\n# %% [markdown]\n# ## References\n"),
    "folklore": instead("Folklore on trial: roots are hard", "Are roots hard?"),
    "run": without(BUILD.format(k=1), "\n# %%\nround(root, 3)\n", "\n# %%\n%time root * 2\n"),
    "predict": without('# %% [markdown] tags=["predict"]\n# **Predict.** More or less?\n'),
    "claim": without(' tags=["claim"]'),
    "claims": instead('claim("The square of the root is the number.", root**2, near=1, within=1e-9)', "assert root"),
    "result": instead("root**2, near=1", "explorer.result.root, near=1"),
    "building": GOOD.replace('tags=["build"]', 'tags=["needed"]'),
    "claiming": instead("near=1, within=1e-9)", "near=1, within=1e-9)" + "\nroot**2" * 13),
    "many": SETUP + "".join(SECTION.format(k=k, title="Is it?") for k in range(1, 12)) + END,
    "first": instead("from math import sqrt", "\n".join(f"from math import {name}" for name in FUNCTIONS)),
    "words": added("root\n" + "\n# %% [markdown]\n# Too short.\n" * 6 + "\n# %%\nroot"),
    "answered": instead("return 2 * x", "return x * 2 + (1 - x) * x").replace(SECTIONS_END, ANSWER + SECTIONS_END),
    "needed": instead("return 2 * x", "return 2 * x * root"),
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
            '# %% tags=["claim"]', '# %% [markdown] tags=["predict"]\n# **Predict.** Late.\n\n# %% tags=["claim"]', 1
        ),
    ),
    "an assert beside a claim": ("claims", instead("near=1, within=1e-9)", "near=1, within=1e-9)\nassert root")),
    "four claims in a section": (
        "claims",
        instead("near=1, within=1e-9)", "near=1, within=1e-9)" + "\nclaim(1, 1)" * 3),
    ),
    "a widget's result under a name": ("result", instead("near=1, within=1e-9)", "near=explorer.result, within=1)")),
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


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Three plain words.", 3),
        ("# A heading\n\nand **two** more", 3),
        ("At $x^2 + 1$ a formula is a word.", 7),
        ("Before\n\n$$\na + b\n$$\n\nafter", 2),
        ("| a | table |\n|---|---|\n| b | c |", 0),
        ("A well-known 0.5 isn't four words.", 6),
    ],
)
def test_the_words_of_a_text(text, count):
    assert words(text) == count


def test_an_exercise_may_ask_for_the_next_step(tmp_path):
    asked = instead("return 2 * x", "y = x * 2 + (1 - x) * x\n    return (y - x) / (1 + y)")
    assert findings(tmp_path, asked.replace(SECTIONS_END, ANSWER + SECTIONS_END)) == []


def test_a_cell_tagged_needed_goes_with_the_exercises(tmp_path):
    needed = instead('# %% tags=["build"]', '# %% tags=["build", "needed"]')
    assert findings(tmp_path, needed.replace("return 2 * x", "return 2 * x * root")) == []


BAD = [Finding("length", "cell 1", "too long"), Finding("length", "cell 2", "too long")]


@pytest.mark.parametrize(("most", "said"), [(1, ["length"] * 2), (2, []), (3, ["exceptions"])])
def test_an_older_lecture_may_break_a_rule_as_often_as_it_did(most, said):
    found = exceptions.excuse("07_lecture", BAD, {"07_lecture": {"length": most}})
    assert [finding.rule for finding in found] == said


def test_an_exception_that_is_no_longer_needed_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(exceptions, "FILE", tmp_path / "exceptions.toml")
    allowed = {"07_lecture": {"length": 3, "words": 1}, "08_other": {"count": 1}}
    stale = [f for f in exceptions.excuse("07_lecture", BAD, allowed) if not f.note]
    assert [str(f) for f in stale] == [
        "07_lecture: exceptions: 1 exceptions for words, 0 needed; run: python -m tools.lint --shrink"
    ]
    exceptions.shrink({"07_lecture": exceptions.counts(BAD)}, allowed)
    assert exceptions.read() == {"07_lecture": {"length": 2}, "08_other": {"count": 1}}


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
