"""Tuning: chosen on validation alone, tested afresh, equal to a plain loop, and honest about the ends of its grid."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from torch.nn.functional import cross_entropy

from course_lib.data import moons, with_label_noise
from course_lib.models import mlp
from course_lib.optim import Stepper, adam, sgd
from course_lib.train import evaluate, fit
from course_lib.trials import at_the_end, grid, tune

DATA = moons(40, seed=1)
LRS = [0.01, 0.1, 1.0]
MODEL = lambda seed: mlp((2, 8, 2), seed=seed)  # noqa: E731


@pytest.fixture(scope="module")
def trial():
    return tune({"SGD": sgd, "Adam": (adam, [1e-3, 1e-2])}, LRS, DATA, model=MODEL, seeds=3, epochs=3, batch=16)


def alone(make, lr, seed, part, batch=16):
    model = MODEL(seed)
    fit(model, cross_entropy, Stepper(model.parameters(), make(lr)), DATA.train, epochs=3, batch=batch, seed=seed)
    return evaluate(model, cross_entropy, part)


@pytest.mark.parametrize(("name", "make"), [("SGD", sgd), ("Adam", adam)])
def test_it_is_a_plain_loop_over_fit(trial, name, make):
    for k in range(3):
        losses = [alone(make, lr, 500 + k, DATA.validation)["loss"] for lr in trial.lrs[name]]
        np.testing.assert_allclose(trial.losses[name][:, k], losses, rtol=1e-4)
        assert trial.chosen[name][k] == trial.lrs[name][np.argmin(losses)]
        tested = alone(make, trial.chosen[name][k], k, DATA.test)
        assert trial.loss[name][k] == pytest.approx(tested["loss"], rel=1e-4)
        assert trial.accuracy[name][k] == pytest.approx(tested["accuracy"])


def test_a_winner_at_the_end_of_its_grid_is_reported(trial):
    assert trial.at_an_end("Adam") == 1.0
    assert "at an end of the grid" in trial.summary()
    assert "100 % of Adam's choices" in trial.summary()


def test_of_equal_losses_the_smaller_learning_rate_wins_and_diverged_runs_lose():
    still = lambda lr: sgd(0.0 * lr)  # noqa: E731
    assert set(tune({"still": still}, LRS, DATA, model=MODEL, seeds=3, epochs=1).chosen["still"]) == {0.01}
    wild = tune({"SGD": sgd}, [0.1, 1e30], DATA, model=MODEL, seeds=3, epochs=2)
    assert np.isinf(wild.losses["SGD"][1]).all()
    assert set(wild.chosen["SGD"]) == {0.1}
    assert np.isnan(tune({"SGD": sgd}, [1e29, 1e30], DATA, model=MODEL, seeds=3, epochs=2).width("SGD"))


def test_one_learning_rate_for_all_seeds_is_the_best_mean():
    trial = tune({"SGD": sgd}, LRS, DATA, model=MODEL, seeds=4, epochs=2, choose="mean")
    assert set(trial.chosen["SGD"]) == {trial.best("SGD")}


def test_it_is_drawn_with_a_line_for_each_seed_and_redrawn_from_part(trial):
    figure = Figure()
    redraw = trial.draw(figure)
    right = figure.axes[1]
    lines = [line.get_xydata() for line in right.lines if len(line.get_xydata()) == 2]
    assert [tuple(line[:, 1]) for line in lines] == list(zip(*trial.accuracy.values(), strict=True))
    redraw(replace(trial, accuracy={"SGD": trial.accuracy["SGD"]}))
    assert np.isfinite([*right.get_ylim(), *figure.axes[0].get_ylim()]).all()
    assert "image/png" in trial._repr_mimebundle_()[0]


def test_what_is_chosen_by_can_be_the_accuracy():
    trial = tune({"SGD": sgd}, LRS, DATA, model=MODEL, seeds=3, epochs=3, by="accuracy")
    for k in range(3):
        scores = [alone(sgd, lr, 500 + k, DATA.validation, batch=64)["accuracy"] for lr in LRS]
        assert trial.chosen["SGD"][k] == LRS[int(np.argmax(scores))]


def test_an_optimizer_with_one_learning_rate_is_not_at_an_end():
    assert tune({"SGD": (sgd, [0.1])}, None, DATA, model=MODEL, seeds=3, epochs=1).at_an_end("SGD") == 0.0


def test_the_numbers_of_a_trial(trial):
    lead = trial.compare("SGD", "Adam", "loss")
    assert lead.mean == pytest.approx(np.mean(trial.loss["SGD"] - trial.loss["Adam"]))
    assert trial.mean_loss("SGD").shape == (3,)
    assert trial.width("SGD", within=1e9) == pytest.approx(100.0)


def test_it_is_seen_as_it_comes_and_can_be_stopped():
    seen, asked = [], []

    def progress(names):
        for name in names:
            asked.append(name)
            if name == "Adam":
                raise KeyboardInterrupt
            yield name

    with pytest.raises(KeyboardInterrupt):
        tune({"SGD": sgd, "Adam": adam}, LRS, DATA, seeds=3, epochs=1, progress=progress, preview=seen.append)
    assert asked == ["SGD", "Adam"]
    assert [list(trial.accuracy) for trial in seen] == [["SGD"]]
    assert seen[0].summary()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"optimizers": {}}, "optimizers must hold at least one"),
        ({"seeds": 2}, "seeds must be at least 3, got 2"),
        ({"lrs": [0.1, 0.01]}, "lrs of SGD must be positive numbers in ascending order"),
        ({"by": "time"}, "by must be one of loss, accuracy, got 'time'"),
        ({"lrs": None}, "lrs of SGD must be positive numbers in ascending order, got None"),
        ({"lrs": [0.0, 0.1]}, "lrs of SGD must be positive"),
        ({"choose": "best"}, "choose must be one of seed, mean, got 'best'"),
    ],
)
def test_what_is_not_legal_is_named(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        tune(**({"optimizers": {"SGD": sgd}, "lrs": LRS, "data": DATA, "epochs": 1} | change))


def test_a_grid_runs_each_setting_with_each_seed():
    runs = grid(
        partial(sgd, nesterov=True), {"lr": [0.1, 0.2], "beta": [0.5, 0.9]}, [3, 4, 5], DATA, model=MODEL, epochs=1
    )
    assert at_the_end(runs, 2).shape == (2, 3)
    model = MODEL(4)
    make = sgd(0.2, 0.9, nesterov=True)
    fit(model, cross_entropy, Stepper(model.parameters(), make), DATA.train, epochs=1, batch=64, seed=4)
    torch.testing.assert_close(runs.model(4).state_dict(), model.state_dict(), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="one value for each setting"):
        grid(sgd, {"lr": [0.1], "beta": [0.5, 0.9]}, [1], DATA)
    with pytest.raises(ValueError, match="as many settings as seeds"):
        grid(sgd, {"lr": [0.1]}, [1, 2], DATA, paired=True)
    with pytest.raises(ValueError, match="part must be one of"):
        grid(sgd, {"lr": [0.1]}, [1], DATA, part="tests")


def test_label_noise_replaces_a_share_of_the_training_labels():
    noisy = with_label_noise(DATA, 0.5)
    changed = float((noisy.train.y != DATA.train.y).float().mean())
    assert 0.1 < changed < 0.4  # of two classes half of the random labels are the old ones
    assert torch.equal(noisy.test.y, DATA.test.y)
    assert torch.equal(with_label_noise(DATA, 0.0).train.y, DATA.train.y)
    with pytest.raises(ValueError, match="share must be from 0 to 1"):
        with_label_noise(DATA, 1.5)
