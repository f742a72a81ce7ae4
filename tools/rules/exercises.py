"""Rules of exercises: solvable from what the cut edition keeps, and not answered by a cell above."""

import ast
import copy
import re
import subprocess
import sys
from collections.abc import Iterator

from tools.notebooks import MARK_LINE, exercise_cells
from tools.rules.lecture import Finding, Lecture, parse

SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)\s*### END SOLUTION", flags=re.DOTALL)
UNBOUND = ["ruff", "check", "--isolated", "--quiet", "--select=F821", "--output-format=concise"]
GIVEN = ["--config", 'builtins = ["get_ipython", "display"]']
WEIGHT, SHARE = 6, 0.75


def rule_needed(lecture: Lecture) -> Iterator[Finding]:
    """The exercises run without the rest of the lecture: what they use is imported first or tagged "needed"."""
    kept = exercise_cells([cell for _, cell in lecture.cells])
    trees = [tree for cell in kept if (tree := parse(MARK_LINE.sub("", cell.source)))]
    code = "\n".join(ast.unparse(tree) for tree in trees)
    found = subprocess.run([sys.executable, "-m", *UNBOUND, *GIVEN, "-"], input=code, capture_output=True, text=True)
    for name in dict.fromkeys(re.findall(r"Undefined name `(\w+)`", found.stdout)):
        message = f'an exercise uses {name}: tag the cell that makes it "needed"'
        yield Finding("needed", lecture.name, message)


def rule_answered(lecture: Lecture) -> Iterator[Finding]:
    """No build cell holds most of what an exercise asks for, whatever its variables are called."""
    built = {n: work(tree) for n, _ in lecture.tagged("build") if (tree := lecture.trees.get(n))}
    for n, cell in lecture.tagged("exercise"):
        asked = work(solution(cell.source))
        for m, shown in built.items():
            if m < n and asked and len(asked & shown) >= SHARE * len(asked):
                message = (
                    f"cell {m} shows what this exercise asks for: make that cell the exercise, or ask the next step"
                )
                yield Finding("answered", lecture.place(n), message)


def solution(source: str) -> ast.AST:
    """The lines between the marks."""
    lines = "\n".join(SOLUTION.findall(source))
    indent = min((len(line) - len(line.lstrip()) for line in lines.splitlines() if line.strip()), default=0)
    return parse("def solution():\n" + "\n".join(f"    {line[indent:]}" for line in lines.splitlines())) or ast.Module(
        [], []
    )


def work(tree: ast.AST) -> set[str]:
    """The expressions of a size that counts, one for each statement, with names in order of appearance."""
    found = set()
    for node in ast.walk(tree):
        value = (
            getattr(node, "value", None)
            if isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Expr)
            else None
        )
        if isinstance(value, ast.AST) and sum(1 for _ in ast.walk(value)) >= WEIGHT and not text(value):
            found.add(shape(value))
    return found


def text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def shape(expression: ast.AST) -> str:
    """The expression without its names: `b * m + (1 - b) * g` and `beta * v + (1 - beta) * grad` have one shape."""
    names: dict[str, str] = {}
    copied = copy.deepcopy(expression)
    for node in ast.walk(copied):
        if isinstance(node, ast.Name):
            node.id = names.setdefault(node.id, f"x{len(names)}")
    return ast.dump(copied)
