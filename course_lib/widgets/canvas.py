"""A matplotlib figure kept alive and sent as a picture; only what changed is drawn again."""

import struct
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as w
import numpy as np
from isal import isal_zlib
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from traitlets import Unicode

from course_lib.style import INCH, SCALE, style

SIZE = (7.0, 3.4)  # inches

Redraw = Callable[[Any], Sequence[Artist] | None]
Draw = Callable[[Any, Figure], Redraw]


def png(pixels: np.ndarray) -> bytes:
    """Encode (height, width, 4) RGBA bytes losslessly. ISA-L deflates ten times faster than zlib, to a similar size."""

    def chunk(tag: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + tag + data + struct.pack(">I", isal_zlib.crc32(tag + data))

    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 4 * width), np.uint8)  # each row begins with its filter: 0, none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    body = isal_zlib.compress(rows, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


class Canvas:
    """Draws results on one Figure that lives as long as the canvas.

    The frame (axes, ticks, labels, artists that never change) is drawn once and kept as pixels; `render(result)`
    restores it and draws only the artists that the plot's redraw function returned, in that order. Legends are laid
    over them again from the frame's pixels, so that no curve runs through one. A redraw that returns None changed the
    frame itself: then everything is drawn.
    """

    def __init__(self, draw: Draw, size: tuple[float, float] = SIZE) -> None:
        self.draw = draw
        self.figure = Figure(size, dpi=INCH * SCALE, layout="constrained")
        self.agg = FigureCanvasAgg(self.figure)
        self.redraw: Redraw | None = None
        self.moving: list[Artist] = []
        self.frame: list[Any] = []  # pixels: the whole figure, then each legend

    def render(self, result: Any) -> bytes:
        """The picture of `result`, as PNG bytes."""
        with style():
            if self.redraw is None:
                redraw = self.draw(result, self.figure)
                self.agg.draw()
                self.figure.set_layout_engine("none")  # settled by the first draw: the axes never move again
                self.redraw = redraw
            self._update(self.redraw(result))
        return png(np.asarray(self.agg.buffer_rgba()))

    def _update(self, changed: Sequence[Artist] | None) -> None:
        if changed is not None and list(changed) != self.moving:
            self.moving = list(changed)
            for artist in self.moving:
                artist.set_animated(True)  # leaves the frame
        elif changed is not None and self.frame:
            self.agg.restore_region(self.frame[0])
            return self._finish()
        self.agg.draw()
        legends = [legend for ax in self.figure.axes if (legend := ax.get_legend()) and legend not in self.moving]
        boxes = [self.figure.bbox, *(legend.get_window_extent() for legend in legends)]
        self.frame = [self.agg.copy_from_bbox(box) for box in boxes]
        self._finish()

    def _finish(self) -> None:
        renderer = self.agg.get_renderer()
        for artist in self.moving:
            artist.draw(renderer)
        for legend in self.frame[1:]:
            self.agg.restore_region(legend)


class LivePicture(w.Image):
    """A Canvas in the notebook: `show(result)` sends a new picture of the same size."""

    description = Unicode("").tag(sync=True)  # the front end titles only widgets that have one, if empty

    def __init__(self, draw: Draw, size: tuple[float, float] = SIZE) -> None:
        self.canvas = Canvas(draw, size)
        width, height = (int(side * INCH) for side in size)
        layout = w.Layout(max_width="100%", object_fit="contain")
        super().__init__(format="png", width=width, height=height, layout=layout)

    def show(self, result: Any) -> None:
        if self.comm is None:
            return  # closed
        picture = self.canvas.render(result)
        with self.hold_sync():
            self.value = picture
            self.tooltip = result.summary()  # the picture's name for a screen reader

    def close(self) -> None:
        """Free the figure with its pixels."""
        self.__dict__.pop("canvas", None)
        super().close()
