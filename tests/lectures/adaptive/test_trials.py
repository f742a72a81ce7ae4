"""The trials and the frontier of lecture 04, over several sets of seeds."""

from functools import partial

import numpy as np
import pytest

from course_lib import optim
from course_lib.lectures import adaptive as lab
from course_lib.schedules import polynomial, scale_by_schedule
from course_lib.trials import compare, tune

MOMENTUM = partial(optim.sgd, beta=0.9)
PAIR = {"SGD": (MOMENTUM, np.logspace(-4, 0, 9)), "Adam": (optim.adam, np.logspace(-5, -1, 9))}


def test_both_optimizers_get_the_same_budget():
    (_, first), (_, second) = PAIR.values()
    assert len(first) == len(second)
    assert first[-1] / first[0] == pytest.approx(second[-1] / second[0])


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 100])
def test_adam_needs_tuning_and_what_is_true_of_the_saying(seed):
    seeds = range(seed, seed + 4)
    three = PAIR | {"Adam at 0.001": (optim.adam, [1e-3])}
    trials = {name: tune(three, None, epochs=5, seeds=seeds, **task) for name, task in lab.tasks().items()}
    known = {name: trials["digits"].best(name) for name in PAIR}
    fixed = {name: (PAIR[name][0], [lr]) for name, lr in known.items()}
    for name, task in lab.tasks().items():
        trial, carried = trials[name], tune(fixed, None, epochs=5, seeds=seeds, **task)
        assert 0.08 < trial.compare("Adam", "Adam at 0.001").mean < 0.3  # 0.001 costs accuracy on every task
        assert 1 / 4 < trial.width("Adam", 1.3) / trial.width("SGD", 1.3) < 4  # its valley is no wider
        lost = {n: (trial.accuracy[n] - carried.accuracy[n]).mean() for n in PAIR}
        assert abs(lost["Adam"]) < 0.08  # one learning rate serves them all
        assert lost["SGD"] > 0.8 if name == "digits, loss x 100" else abs(lost["SGD"]) < 0.05
    scaled = trials["digits, loss x 100"]
    assert known["SGD"] / scaled.best("SGD") > 20
    assert 0.3 < known["Adam"] / scaled.best("Adam") < 3.5


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("task", "by", "low", "high"),
    [("digits", "loss", -0.02, 0.0), ("MNIST-1D", "loss", 0.01, 0.07), ("MNIST-1D", "accuracy", -0.01, 0.03)],
)
def test_who_generalizes_better_depends_on_the_task_and_on_what_one_chooses_by(task, by, low, high):
    trials = [
        tune(PAIR, None, epochs=14, seeds=range(s, s + 6), by=by, **lab.tasks()[task]) for s in (0, 100, 200, 300)
    ]
    sgd, adam = (np.concatenate([trial.accuracy[name] for trial in trials]) for name in PAIR)
    assert low < compare(sgd, adam).mean < high
    if by == "loss":  # a learning rate below that with the best accuracy
        by_accuracy = tune(PAIR, None, epochs=14, seeds=6, by="accuracy", **lab.tasks()[task])
        assert np.median(trials[0].chosen["Adam"]) <= np.median(by_accuracy.chosen["Adam"])


@pytest.mark.parametrize("seed", [0, 50])
def test_who_minds_when_a_matrix_problem_is_turned(seed):
    result = lab.matrix_race(seed=seed)
    assert all(0 < place < 11 for places in result.place.values() for place in places)
    assert result.loses("Adam") > 50
    assert result.loses("SOAP") < 10
    assert result.loses("momentum") == pytest.approx(1, rel=1e-3)
    assert result.loses("Shampoo") == pytest.approx(1, rel=1e-2)
    assert 0.5 < result.loses("Muon") < 2  # its iteration is steep: rounding shows
    for turned in (False, True):
        others = [result.end(n, turned=turned) for n in ("momentum", "Adam", "Muon", "SOAP")]
        assert 50 * result.end("Shampoo", turned=turned) < min(others)


@pytest.mark.thorough
def test_recent_optimizers_on_the_digits():
    def fall(make):
        return lambda lr: optim.chain(make(lr), scale_by_schedule(polynomial(102)))

    made = {"Adam": fall(optim.adam), "Muon": fall(optim.muon), "SOAP": fall(partial(optim.soap, b1=0.9, b2=0.9))}
    made["schedule-free"] = lambda lr: optim.landing(optim.schedule_free(optim.adam(lr, b1=0.0)), 102)
    lrs = 0.2 * 0.5 ** np.arange(6.0)[::-1]
    grids = made | {"Shampoo": (fall(optim.shampoo), 16 * lrs)}
    data, blocks = lab.tasks()["digits"]["data"], [range(first, first + 8) for first in (0, 50, 100, 150)]
    trials = [tune(grids, lrs, data, epochs=3, batch=32, seeds=block) for block in blocks]
    ratio = {
        name: np.exp(np.mean([np.log(trial.loss[name] / trial.loss["Adam"]).mean() for trial in trials]))
        for name in grids
    }
    assert all(0.7 < ratio[name] < 0.93 for name in ("SOAP", "Shampoo", "schedule-free"))
    assert 0.9 < ratio["Muon"] < 1.1
    assert all(trial.compare(name, "Adam").mean < 0.02 for trial in trials for name in grids)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_effective_learning_rates_of_adagrad_fall_and_those_of_rmsprop_and_adam_rise_again(seed):
    race = lab.digits_race(seed=seed)
    medians = {name: rates[[20, 60, 119], 1] for name, rates in race.effective.items()}
    assert (np.diff(medians["AdaGrad"]) < 0).all()
    for name in ("RMSProp", "Adam"):
        assert medians[name][0] > medians[name][1]
        assert medians[name][2] > 1.1 * medians[name][1]
    assert race.spread("SGD") < 1.001
    assert race.spread("momentum") < 4
