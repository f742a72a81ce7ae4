"""Slow results, kept: the latest in memory, and all of them in the folder `COURSE_RESULTS` where it is set.

A result is found again by its call, which is the function and its arguments, and by a hash of the package: it never
outlives the code that made it. The tests set `COURSE_RESULTS`: what a notebook has computed
once need not be computed again in the browser. The folder is trusted like code, since results are pickled.
"""

import hashlib
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

R = TypeVar("R")

HELD = 32
UNPICKLABLE = (pickle.PicklingError, AttributeError, TypeError)
_held: OrderedDict[str, Any] = OrderedDict()


def recalled(function: Callable[..., R], arguments: Mapping[str, Any]) -> R:
    """`function(**arguments)`, or its earlier result: for functions of the package whose results nobody changes."""
    key = key_of(function, arguments)
    if key is None:
        return function(**arguments)
    result: R = _held.pop(key) if key in _held else stored(key, lambda: function(**arguments))
    _held[key] = result
    if len(_held) > HELD:
        _held.popitem(last=False)
    return result


def key_of(function: Callable[..., Any], arguments: Mapping[str, Any]) -> str | None:
    """A digest of the call and of the package's code.

    None if the function is not the package's, or if a name cannot stand for an argument: a lambda, or something typed
    in a notebook, where the same name may mean something else in the next cell.
    """
    if not function.__module__.startswith("course_lib."):
        return None
    try:
        call = pickle.dumps((function.__module__, function.__qualname__, sorted(arguments.items())))
    except UNPICKLABLE:
        return None
    return None if b"__main__" in call else hashlib.sha256(code_hash() + call).hexdigest()[:32]


def code_hash() -> bytes:
    """Of every source file of the package, as it is now: an edited file counts at once. It takes some milliseconds."""
    digest, folder = hashlib.sha256(), Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.digest()


def stored(key: str, compute: Callable[[], R]) -> R:
    """The result from the folder `COURSE_RESULTS`; computed, and written there, if it holds none."""
    if not (folder := os.environ.get("COURSE_RESULTS")):
        return compute()
    path = Path(folder) / f"{key}.pickle"
    if path.exists():
        result: R = pickle.loads(path.read_bytes())
        return result
    result = compute()
    try:
        kept = pickle.dumps(result)
    except UNPICKLABLE:
        return result
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f"{key}.{os.getpid()}.part")
    half.write_bytes(kept)
    os.replace(half, path)
    return result
