"""What an experiment returns. A result knows its numbers, its sentence and its picture."""

import base64
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


class Result:
    """A subclass says `summary()`, one sentence, and `draw(figure)`, which draws once and returns `redraw(result)`.

    size: of its picture, in inches.
    """

    size: ClassVar[tuple[float, float]] = (7.0, 3.4)

    def summary(self) -> str:
        raise NotImplementedError

    def draw(self, figure: "Figure") -> Any:
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        from course_lib.widgets.canvas import INCH, Canvas

        summary, (width, height) = self.summary(), self.size
        picture = Canvas(type(self).draw, self.size).render(self)
        shown = {"width": int(width * INCH), "height": int(height * INCH), "alt": summary}
        return {"image/png": base64.b64encode(picture).decode(), "text/plain": summary}, {"image/png": shown}
