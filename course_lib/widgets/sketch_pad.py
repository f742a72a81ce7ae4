"""A pad to draw a curve on, in the browser."""

from pathlib import Path

import anywidget
import traitlets as t


class SketchPad(anywidget.AnyWidget):
    """`drawn`: [(x, y), ...] by the learner, x ascending; `measured`: the points laid over them in the end."""

    _esm = Path(__file__).with_suffix(".js")

    xlabel = t.Unicode().tag(sync=True)
    ylabel = t.Unicode().tag(sync=True)
    x = t.List(t.Float(), [0.0, 1.0]).tag(sync=True)
    y = t.List(t.Float(), [0.0, 1.0]).tag(sync=True)
    drawn: t.List = t.List().tag(sync=True)
    measured: t.List = t.List().tag(sync=True)
