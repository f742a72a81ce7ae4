"""Rules of code: what a cell may import, define, and ask of the shell."""

import ast
import functools
import json
import subprocess
import sys
from collections.abc import Iterator

from tools.rules.form import WORKING
from tools.rules.lecture import Finding, Lecture, calls, dotted
from tools.source import tags_of

SHELLS = {"!", "sx", "sc", "system", "script", "bash", "sh", "run", "cd", "pushd", "popd"}
INSTALLERS = {"pip", "conda", "mamba", "micromamba", "uv"}
DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


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
