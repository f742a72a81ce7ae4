"""The house rules of a lecture, a function each: what `python -m tools.lint` checks."""

from tools.rules.balance import rule_claims, rule_results, rule_shares, rule_words
from tools.rules.code import rule_definitions, rule_imports, rule_magics
from tools.rules.exercises import rule_answered, rule_needed
from tools.rules.form import (
    rule_count,
    rule_exercises,
    rule_length,
    rule_rhythm,
    rule_sections,
    rule_setup,
    rule_syntax,
    rule_tags,
    rule_title,
)
from tools.rules.lecture import Finding, Lecture, Rule

__all__ = ["RULES", "Finding", "Lecture"]

RULES: list[Rule] = [
    rule_syntax, rule_length, rule_count, rule_title, rule_setup, rule_sections, rule_rhythm, rule_tags, rule_exercises,
    rule_imports, rule_definitions, rule_magics, rule_shares, rule_claims, rule_results, rule_words, rule_needed,
    rule_answered,
]  # fmt: skip
