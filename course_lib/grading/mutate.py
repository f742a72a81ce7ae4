"""A wrong version of a function: its own source with a few words exchanged."""

import inspect
import linecache
import textwrap
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

Edit = tuple[str, str]  # what is in the source, what replaces it


class Overlap(ValueError):
    """Two edits change the same place, so they cannot be made together."""


def edited(source: str, edits: Sequence[Edit]) -> str:
    """The source with all edits made at once, each on a span of the original text.

    Raises ValueError where an edit does not find its text exactly once, Overlap where two spans share a character.
    """
    spans = []
    for old, new in edits:
        if source.count(old) != 1:
            raise ValueError(f"an edit must find its text exactly once, got {source.count(old)} times {old!r}")
        spans.append((source.index(old), source.index(old) + len(old), new))
    spans.sort()
    for (_, end, _), (start, _, _) in pairwise(spans):
        if end > start:
            raise Overlap(f"two edits change {source[start:end]!r}")
    for start, end, new in reversed(spans):
        source = source[:start] + new + source[end:]
    return source


def mutate(function: Callable[..., Any], *edits: Edit, parts: Sequence[Callable[..., Any]] = ()) -> Callable[..., Any]:
    """A copy of a module-level function (or factory), compiled from its source after these edits.

    parts: other functions that it calls by name, whose source is edited with its own. The copy sees the names of their
    modules. Raises what `edited` raises, and SyntaxError where the edits leave no Python.
    """
    every = (*parts, function)
    source = edited("\n".join(map(source_of, every)), edits)
    place = f"<{function.__name__} with {list(edits)}>"
    linecache.cache[place] = len(source), None, source.splitlines(keepends=True), place
    names = {name: value for part in every for name, value in part.__globals__.items()} | {"__name__": "mutated"}
    exec(compile(source, place, "exec"), names)
    return names[function.__name__]


@lru_cache
def source_of(function: Callable[..., Any]) -> str:
    """The source of a function, at the margin."""
    return textwrap.dedent(inspect.getsource(function))
