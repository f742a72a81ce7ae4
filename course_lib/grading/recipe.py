"""A step written line by line, so that a wrong version of it is the right one with a line changed."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

Line = Callable[[SimpleNamespace], Any]


def recipe(*arguments: str, **lines: Line) -> Callable[..., Callable[..., Any]]:
    """A maker of functions of `arguments`, by position.

    The function works out each line in turn from the arguments and the lines before it, all of them there by name, and
    returns the last. The maker takes the lines that are to be others; TypeError for one that the recipe has not.
    """

    def but(**changed: Line) -> Callable[..., Any]:
        if unknown := changed.keys() - lines.keys():
            raise TypeError(f"recipe: lines must be among {', '.join(lines)}, got {min(unknown)!r}")

        def step(*values: Any) -> Any:
            so_far = SimpleNamespace(**dict(zip(arguments, values, strict=True)))
            for name, line in (lines | changed).items():
                result = line(so_far)
                setattr(so_far, name, result)
            return result

        return step

    return but
