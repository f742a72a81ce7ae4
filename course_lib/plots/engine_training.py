"""Drawing of a training run on the digits."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.experiments.engine_training import Training
from course_lib.plots.style import BLUE, GREY, LINES


def draw_digits_training(result: Training, figure: Figure):
    """Left: the loss of every minibatch. Right: the accuracy after every epoch."""
    left, right = figure.subplots(1, 2)
    left.set(xlabel="epoch", ylabel="cross-entropy of a minibatch [nats]", yscale="log", xlim=(0, 40), ylim=(1e-4, 100))
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

    redraw(result)
    return redraw
