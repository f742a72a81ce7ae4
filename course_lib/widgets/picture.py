"""A picture that stays as it is."""

from typing import Any

from IPython.display import Image

from course_lib.widgets.canvas import INCH, SIZE, Canvas, Draw


def picture(result: Any, draw: Draw, size: tuple[float, float] = SIZE) -> Image:
    """Show `result` as `draw` draws it, once. `size` is in inches; an inch is 100 pixels on the page."""
    return Image(
        Canvas(draw, size).render(result),
        format="png",
        width=int(size[0] * INCH),
        height=int(size[1] * INCH),
        alt=result.summary(),
    )
