"""What does an array engine buy, and is it enough to train a network on real data?"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from course_lib.autograd import Array, Value, cross_entropy, draw_weights, on_arrays, on_scalars, scalar_layers
from course_lib.data import digits, moons
from course_lib.ranges import Linear, Log, Preview, Progress, experiment, no_preview, no_progress
from course_lib.results import Result
from course_lib.style import BLUE, GREY, LINES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Engines:
    """How many nodes each engine made for one loss and its gradient, and the largest relative gap between the two."""

    scalar_nodes: int
    array_nodes: int
    gap: float

    def summary(self) -> str:
        return f"{self.scalar_nodes:,} numbers against {self.array_nodes} arrays; gradients differ by {self.gap:.1e}"


@experiment
def two_engines(
    points: Annotated[int, Log(1, 100)] = 30, *, seed: int = 0, progress: Progress = no_progress
) -> Engines:
    """One step's gradient of an MLP 2-16-16-1 on two-moons, mean squared error, by both engines."""
    data = moons(n=max(points, 2), seed=seed).train
    x, y = data.x[:points].double().numpy(), data.y[:points, None].double().numpy()
    weights = draw_weights([2, 16, 16, 1], seed)
    arrays = [(Array(w), Array(b)) for w, b in weights]
    loss = ((on_arrays(arrays, x) - y) ** 2).mean()
    loss.backward()

    scalars = scalar_layers(weights, Value)
    total = Value(0.0)
    for i in progress(range(points)):
        total = total + (on_scalars(scalars, [Value(v) for v in x[i].tolist()])[0] - float(y[i, 0])) ** 2
    total = total / points
    total.backward()

    theirs = np.concatenate([np.append(w.grad.T, b.grad) for w, b in arrays])
    ours = np.concatenate([np.append([[v.grad for v in c] for c in cs], [v.grad for v in bs]) for cs, bs in scalars])
    gap = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    return Engines(len(total.ancestry()), len(loss.ancestry()), gap)


@dataclass(frozen=True)
class Training(Result):
    """losses: (steps,) of each minibatch. train, test: (epochs+1,) accuracies, before training and after each epoch."""

    losses: np.ndarray
    train: np.ndarray
    test: np.ndarray

    @property
    def accuracy(self) -> float:
        """On the test images, after the last epoch."""
        return float(self.test[-1])

    def summary(self) -> str:
        return (
            f"after {len(self.test) - 1} epochs: train accuracy {self.train[-1]:.1%}, test accuracy {self.accuracy:.1%}"
        )

    def draw(self, figure: "Figure"):
        """Left: the loss of every minibatch. Right: the accuracy after every epoch."""
        left, right = figure.subplots(1, 2)
        left.set(
            xlabel="epoch", ylabel="cross-entropy of a minibatch [nats]", yscale="log", xlim=(0, 40), ylim=(1e-4, 100)
        )
        right.set(xlabel="epoch", ylabel="accuracy", xlim=(0, 40), ylim=(0, 1.02))
        (loss,) = left.plot([], [], color=BLUE, lw=0.8)
        guess = left.axhline(np.log(10), color=GREY, ls=":", lw=1.2, label="ln 10: guessing")
        left.legend(handles=[guess], loc="upper right")
        names = zip(("train", "test"), LINES, strict=False)
        train, test = (right.plot([], [], color=c, ls=s, label=n)[0] for n, (c, s) in names)
        goal = right.axhline(0.95, color=GREY, ls=":", lw=1.2, label="95 %")
        right.legend(handles=[train, test, goal], loc="lower right")

        def redraw(result: Training):
            epochs = len(result.test) - 1
            steps = np.arange(1, len(result.losses) + 1) * epochs / len(result.losses)
            loss.set_data(steps, np.clip(np.nan_to_num(result.losses, nan=100.0), 1e-4, 100))
            for line, accuracy in ((train, result.train), (test, result.test)):
                line.set_data(np.arange(epochs + 1), accuracy)
            return loss, train, test

        redraw(self)
        return redraw


@experiment
def digits_training(
    lr: Annotated[float, Log(1e-3, 10.0)] = 0.2,
    hidden: Annotated[int, Log(2, 256)] = 64,
    batch: Annotated[int, Log(8, 256)] = 32,
    epochs: Annotated[int, Linear(1, 40)] = 20,
    *,
    seed: int = 0,
    progress: Progress = no_progress,
    preview: Preview = no_preview,
) -> Training:
    """Train an MLP 64-hidden-10 on handwritten digits with the array engine alone: plain minibatch SGD, float32."""
    data, order = digits(seed), np.random.default_rng(seed)
    x, y = data.train.x.numpy(), data.train.y.numpy()
    x_test, y_test = data.test.x.numpy(), data.test.y.numpy()
    weights = draw_weights([64, hidden, 10], seed)
    layers = [(Array(w.astype(np.float32)), Array(b.astype(np.float32))) for w, b in weights]
    parameters = [p for layer in layers for p in layer]

    def accuracies() -> tuple[float, float]:
        score = lambda x, y: float((on_arrays(layers, x).data.argmax(1) == y).mean())  # noqa: E731
        return score(x, y), score(x_test, y_test)

    losses: list[float] = []
    seen = [accuracies()]

    def reached() -> Training:
        train, test = np.array(seen).T
        return Training(np.array(losses), train, test)

    with np.errstate(over="ignore", invalid="ignore"):
        for _ in progress(range(epochs)):
            for rows in np.split(order.permutation(len(x)), range(batch, len(x), batch)):
                loss = cross_entropy(on_arrays(layers, x[rows]), y[rows])
                for p in parameters:
                    p.grad = None
                loss.backward()
                for p in parameters:
                    p.data -= lr * p.grad
                losses.append(float(loss.data))
            seen.append(accuracies())
            preview(reached())
    return reached()
