"""Where the numbers of a run go: a line of JSON an epoch, or TensorBoard. Both are `on_epoch` hooks of `train.fit`."""

import json
import math
from pathlib import Path

from course_lib.train import Record


class JsonLines:
    """fit(..., on_epoch=JsonLines("runs/a.jsonl")) appends one JSON object a record; what the file held stays.

    Folders on the way are made. JSON has no NaN and no infinity: they are written as null.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def __call__(self, record: Record) -> None:
        line = json.dumps({name: value if math.isfinite(value) else None for name, value in record.items()})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


class TensorBoard:
    """fit(..., on_epoch=TensorBoard("runs/a")) writes each number of a record as a scalar over the step.

    Raises RuntimeError where the package tensorboard, the extra `log`, is not installed.
    """

    def __init__(self, folder: str | Path):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise RuntimeError(
                'TensorBoard: the package tensorboard is not installed: pip install "course_lib[log]"'
            ) from None
        self.writer = SummaryWriter(folder)

    def __call__(self, record: Record) -> None:
        for name, value in record.items():
            self.writer.add_scalar(name, value, int(record["step"]))
        self.writer.flush()
