"""5.3  What does a schedule cost that counts in the wrong unit?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, get_args

import numpy as np

from course_lib.lectures.learning_rate.shapes import NAMES, Kind, meant
from course_lib.lectures.learning_rate.training import batches_in, final, handwriting
from course_lib.optim import Transform, chain, sgd
from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Floats, Result
from course_lib.schedules import scale_by_schedule
from course_lib.style import INK, LINES
from course_lib.trials import Comparison, compare, grid, single_threaded

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class MiscountedSchedule(Result):
    """accuracies[kind]: (3, seeds) test accuracy, rows as NAMES. Partial results lack kinds."""

    accuracies: Mapping[str, Floats]
    processes: int

    def cost(self, kind: str, mistake: int) -> Comparison:
        """Accuracy as meant less that with the mistake (1 per batch, 2 once for each process), paired by seed."""
        rows = self.accuracies[kind]
        return compare(rows[0], rows[mistake], names=(NAMES[0], NAMES[mistake]))

    def summary(self) -> str:
        lost = [f"{k} {', '.join(f'{100 * self.cost(k, m).mean:.1f}' for m in (1, 2))}" for k in self.accuracies]
        return (
            f"points of accuracy lost, stepped per batch and once for each of {self.processes} processes: "
            + "; ".join(lost)
        )

    def draw(self, figure: "Figure"):
        """Test accuracy of each seed, by schedule and by way of counting."""
        kinds = ("cosine", "linear", "step decay", "exponential")
        ax = figure.subplots()
        ax.set(xlabel="schedule", ylabel="test accuracy", xlim=(-0.5, 3.5), ylim=(0, 1))
        ax.set_xticks(range(4), kinds)
        looks = list(zip(LINES, "os^", NAMES, strict=False))
        dots = [ax.plot([], [], mark, color=c, ms=5, alpha=0.7, label=name)[0] for (c, _), mark, name in looks]
        means = [ax.plot([], [], "_", color=INK, ms=22, mew=1.5)[0] for _ in looks]
        figure.legend(handles=dots, loc="outside upper center", ncols=3)

        def redraw(result: MiscountedSchedule):
            for i, (dot, mean) in enumerate(zip(dots, means, strict=True)):
                places, values, middles = [], [], []
                for kind, rows in result.accuracies.items():
                    x = kinds.index(kind) + (i - 1) * 0.26
                    places.append(x + np.linspace(-0.07, 0.07, rows.shape[1]))
                    values.append(rows[i])
                    middles.append((x, rows[i].mean()))
                dot.set_data(np.ravel(places), np.ravel(values))
                mean.set_data(*np.array(middles).reshape(-1, 2).T)
            return *dots, *means

        redraw(self)
        return redraw


@experiment
@single_threaded
def miscounted_schedule(
    lr: Annotated[float, Log(0.1, 0.5)] = 0.4,
    epochs: Annotated[int, Linear(4, 10)] = 8,
    processes: Annotated[int, Linear(2, 8)] = 4,
    seeds: Annotated[int, Linear(4, 8)] = 8,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> MiscountedSchedule:
    """Train on the digits with SGD, batches of 64, under each schedule counted in three ways; equal seeds pair up."""
    each, per_epoch = range(seed, seed + seeds), batches_in(1, 64)
    units, speeds = (per_epoch, 1, per_epoch), (1, 1, processes)
    found: dict[str, Floats] = {}
    for kind in progress(get_args(Kind)):
        schedule = meant(kind, epochs)

        def counted(unit, speed, schedule=schedule) -> Transform:
            return chain(sgd(lr), scale_by_schedule(lambda t: schedule(speed * (t / unit).floor())))

        runs = grid(
            counted, {"unit": units, "speed": speeds}, each, handwriting(), epochs=epochs, batch=64, part="test"
        )
        found = found | {kind: final(runs, 3, "validation_accuracy")}
        preview(MiscountedSchedule(found, processes))
    return MiscountedSchedule(found, processes)
