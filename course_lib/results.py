"""What an experiment returns. A result knows its numbers, its sentence and its picture."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from course_lib import style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Redraw = Callable[[Any], "Sequence[Artist] | None"]
Limits = tuple[float, float] | None


class Result:
    """A frozen dataclass of numbers that shows itself in a notebook: its picture, with its sentence as the alt text.

    size: of the picture, in inches.
    """

    size: ClassVar[tuple[float, float]] = (7.0, 3.4)

    def summary(self) -> str:
        """The finding, in one sentence."""
        raise NotImplementedError

    def draw(self, figure: "Figure") -> Redraw:
        """Draw on an empty figure; return redraw(result), which draws another result of this kind in its place.

        `redraw` returns the artists that it moves, always the same ones, or None where it changed the frame itself.
        """
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        summary, (width, height) = self.summary(), self.size
        shown = {"width": int(width * style.INCH), "height": int(height * style.INCH), "alt": summary}
        picture = base64.b64encode(style.still(self.draw, self.size)).decode()
        return {"image/png": picture, "text/plain": summary}, {"image/png": shown}


@dataclass(frozen=True)
class Curves(Result):
    """Named curves over one axis. x: (n,). rows[name]: (n,), drawn in this order; NaN leaves a gap.

    A subclass says its labels, scales, limits and theory once, and its `summary`. theory: the names that are drawn as
    thin dotted lines, on top.
    """

    x: Floats
    rows: Mapping[str, Floats]

    xlabel: ClassVar[str] = "step"
    ylabel: ClassVar[str] = ""
    scales: ClassVar[tuple[str, str]] = ("linear", "linear")
    limits: ClassVar[tuple[Limits, Limits]] = (None, None)
    theory: ClassVar[tuple[str, ...]] = ()

    def draw(self, figure: "Figure") -> Redraw:
        ax = figure.subplots()
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, xscale=self.scales[0], yscale=self.scales[1])
        ax.set(**{f"{axis}lim": limit for axis, limit in zip("xy", self.limits, strict=True) if limit})
        lines = style.lines(ax, self.rows, theory=self.theory)
        style.legend_above(figure, lines.values())

        def redraw(result: "Curves") -> list["Artist"]:
            for name, line in lines.items():
                line.set_data(result.x, result.rows[name])
            return list(lines.values())

        redraw(self)
        if None in self.limits:
            ax.relim()
            ax.autoscale_view()
        return redraw


@dataclass(frozen=True)
class Field(Result):
    """A plane of values. x: (n,). y: (m,). values: (m, n), drawn as colors; NaN is left blank.

    A subclass says its labels, scales and the range of its colors once, and its `summary`.
    """

    x: Floats
    y: Floats
    values: Floats

    xlabel: ClassVar[str] = ""
    ylabel: ClassVar[str] = ""
    scales: ClassVar[tuple[str, str]] = ("linear", "linear")
    bar: ClassVar[str] = ""
    colors: ClassVar[str] = "cividis"
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def draw(self, figure: "Figure") -> Redraw:
        ax = figure.subplots()
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, xscale=self.scales[0], yscale=self.scales[1])
        low, high = self.span
        mesh = ax.pcolormesh(self.x, self.y, self.values, cmap=self.colors, vmin=low, vmax=high, shading="nearest")
        figure.colorbar(mesh, label=self.bar)

        def redraw(result: "Field") -> list["Artist"]:
            mesh.set_array(result.values)
            return [mesh]

        return redraw
