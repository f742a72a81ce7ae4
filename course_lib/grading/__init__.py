"""Exercises judged: a check takes a learner's function and answers with a verdict that names the likely mistake."""

from course_lib.grading.exercise import Exercise
from course_lib.grading.mistake import Case, Convention, Mistake
from course_lib.grading.mutate import mutate
from course_lib.grading.verdict import Verdict

__all__ = ["Case", "Convention", "Exercise", "Mistake", "Verdict", "mutate"]
