"""What lecture 06 calls."""

from course_lib.lectures.initialization.angle import angle, rectified
from course_lib.lectures.initialization.default import default
from course_lib.lectures.initialization.fluctuation import fluctuation
from course_lib.lectures.initialization.mean_field import law, moments
from course_lib.lectures.initialization.signal import signal, wide_signal
from course_lib.lectures.initialization.streams import streams

__all__ = ["angle", "default", "fluctuation", "law", "moments", "rectified", "signal", "streams", "wide_signal"]
