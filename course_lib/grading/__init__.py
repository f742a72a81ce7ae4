"""Exercises judged: a check takes a learner's function and answers with a verdict that names the likely mistake."""

from course_lib.grading.verdict import Case, Mutant, Verdict, judge

__all__ = ["Case", "Mutant", "Verdict", "judge"]
