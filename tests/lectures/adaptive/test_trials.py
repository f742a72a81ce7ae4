"""The two trials and the frontier of lecture 04, over several sets of seeds; and what their loops rest on."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from course_lib.lectures.adaptive import frontier as adaptive_frontier
from course_lib.lectures.adaptive.digits_race import digits_race
from course_lib.lectures.adaptive.frontier import CONSTANT, NETWORK, matrix_race, recent_optimizers
from course_lib.lectures.adaptive.tuning import (
    OPTIMIZERS,
    TASKS,
    GeneralizationGap,
    TuningGain,
    generalization_gap,
    picks,
    relabeled,
    trained,
    tuning_gain,
)
from course_lib.models import mlp
from course_lib.optim import Stepper, adam, apply_steps
from course_lib.train import evaluate, fit
from course_lib.trials import compare
from course_lib.trials.stacked import gradient, handwriting, start


def test_a_run_of_the_trial_is_a_run_of_fit():
    task, data = TASKS["digits"], TASKS["digits"].data()
    accuracy, loss = trained(task, "Adam", [1e-3, 1e-2], [5, 6], 2, data.train, data.test)
    for i, (lr, seed) in enumerate([(1e-3, 5), (1e-2, 6)]):
        model = mlp(task.sizes, seed=seed)
        history = fit(model, cross_entropy, Stepper(model.parameters(), adam(lr)), data.train, epochs=2, seed=seed)
        assert accuracy[i] == pytest.approx(evaluate(model, cross_entropy, data.test)["accuracy"], abs=1e-6)
        assert loss[i] == pytest.approx(float(history["train_loss"][-1]), rel=1e-4)


def test_a_run_that_diverges_scores_nothing():
    accuracy, _ = trained(TASKS["digits, loss x 100"], "SGD", [1.0], [0], 1, *[TASKS["digits"].data().train] * 2)
    assert accuracy[0] == 0


def test_each_seed_picks_the_winner_of_its_own_sweep():
    sweep = np.zeros((9, 2))
    sweep[3, 0] = sweep[5, 1] = 1
    np.testing.assert_allclose(picks(sweep, "SGD"), OPTIMIZERS["SGD"][1][[3, 5]])


def test_both_optimizers_get_the_same_budget():
    (_, first), (_, second) = OPTIMIZERS.values()
    assert len(first) == len(second)
    assert first[-1] / first[0] == pytest.approx(second[-1] / second[0])


def test_relabeled_changes_about_the_share_asked_for():
    part = TASKS["digits"].data().train
    noisy = relabeled(part, 0.2, 0)
    assert 0.13 < (noisy.y != part.y).float().mean() < 0.23  # a tenth of the draws hit the old label
    assert torch.equal(noisy.x, part.x)


def test_partial_results_of_a_trial_can_be_read():
    assert "not known yet" in TuningGain({}, {}).summary()
    assert "not known yet" in GeneralizationGap({}, {}, {}, "digits").summary()
    seen = []
    result = generalization_gap(epochs=4, seeds=3, preview=seen.append)
    assert [list(partial.tested) for partial in seen] == [["SGD"], ["SGD", "Adam"]]
    assert "97" not in seen[0].summary() or "Adam" not in seen[0].summary()
    assert result.summary() == seen[-1].summary()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 100])
def test_adam_needs_tuning_and_what_is_true_of_the_saying(seed):
    result = tuning_gain(seed=seed)
    for task in TASKS:
        assert result.regret(task, "Adam", "default").higher == 0, task  # 0.001 costs accuracy on every task
        assert result.regret(task, "Adam", "default").mean > 0.05
        assert result.regret(task, "Adam", "carried").higher is None, task  # one lr serves them all
    wide = {n: np.mean([result.decades(task, n) for task in TASKS]) for n in OPTIMIZERS}
    assert abs(wide["Adam"] - wide["SGD"]) <= 0.5  # no wider
    assert result.moves("Adam") < 4 < 90 < result.moves("SGD")
    assert result.regret("digits, loss x 100", "SGD", "carried").mean > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "epochs", "seeds", "verdict"),
    [
        ("digits", 14, (0, 100, 200), "Adam is higher"),
        ("MNIST-1D", 14, (0, 100, 200, 300, 400, 500), "SGD is higher"),
        ("MNIST-1D", 20, (0, 100, 200), "not distinguishable"),
    ],
)
def test_who_generalizes_better_depends_on_the_task_and_is_a_matter_of_a_point(data, epochs, seeds, verdict):
    results = [generalization_gap(data, epochs=epochs, seed=s) for s in seeds]
    assert results[0].comparison.higher is None  # six seeds cannot tell
    sgd, adam = (np.concatenate([r.tested[name] for r in results]) for name in ("SGD", "Adam"))
    pooled = compare(sgd, adam, names=("SGD", "Adam"))
    assert pooled.verdict == verdict
    assert abs(pooled.mean) < 0.011


def test_newcomers_run_what_torch_runs():
    part = handwriting()[0]
    net = adaptive_frontier._train(CONSTANT[0], [0.01, 0.02], range(3, 5), 5, 32)
    for i, (lr, seed) in enumerate([(0.01, 3), (0.01, 4), (0.02, 3), (0.02, 4)]):
        layers = [p[0].clone().requires_grad_() for p in start([seed])]
        oracle, generator = torch.optim.Adam(layers, lr), torch.Generator().manual_seed(seed)
        for _ in range(5):
            rows = torch.randint(len(part), (32,), generator=generator)
            logits = torch.tanh(part.x[rows] @ layers[0] + layers[1]) @ layers[2] + layers[3]
            oracle.zero_grad()
            cross_entropy(logits, part.y[rows].argmax(1)).backward()
            oracle.step()
        for mine, theirs in zip(net, layers, strict=True):
            torch.testing.assert_close(mine[i], theirs.detach(), rtol=1e-3, atol=1e-5)


def test_schedule_free_is_judged_by_its_average():
    make, part = NETWORK["schedule-free"][0], handwriting()[0]
    net = adaptive_frontier._train(make, [0.05], range(1), 5, 32)
    transform, generator = make(0.05, 5), torch.Generator().manual_seed(0)
    theta = adaptive_frontier._layers(start([0]))
    state = transform.init(theta)
    for _ in range(5):
        rows = torch.randint(len(part), (1, 32), generator=generator)
        grads = gradient(adaptive_frontier._net(theta), part.x[rows], part.y[rows])
        moves, state = transform.update(adaptive_frontier._layers(grads), state, theta)
        theta = apply_steps(theta, moves)
    torch.testing.assert_close(adaptive_frontier._layers(net), state.average, rtol=1e-4, atol=1e-6)
    assert (theta[0] - state.average[0]).abs().max() > 1e-3  # where the gradients are taken is elsewhere


@pytest.mark.parametrize("seed", [0, 50])
def test_who_minds_when_a_matrix_problem_is_turned(seed):
    result = matrix_race(seed=seed)
    assert result.loses("Adam") > 100
    assert result.loses("SOAP") < 6
    assert result.loses("momentum") == pytest.approx(1, rel=1e-3)
    assert result.loses("Shampoo") == pytest.approx(1, rel=1e-2)
    assert 0.7 < result.loses("Muon") < 1.5  # its iteration is steep: rounding shows
    for turned in (False, True):
        others = [result.end(n, turned=turned) for n in ("momentum", "Adam", "Muon", "SOAP")]
        assert (1000 if turned else 100) * result.end("Shampoo", turned=turned) < min(others)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 50])
def test_newcomers_on_the_digits(seed):
    result = recent_optimizers(seed=seed)
    for name in ("Muon", "schedule-free"):
        assert result.against(name).higher == 1, name  # Adam's loss is higher
        assert result.ratio(name) < 0.5
    assert result.ratio("Shampoo") > 0.6
    assert result.against("Adam, constant").higher != 0
    assert result.accuracy_gain("Muon").higher is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_effective_learning_rates_of_adagrad_fall_and_those_of_rmsprop_and_adam_rise_again(seed):
    effective = digits_race(seed=seed).effective
    medians = {name: rates[[20, 60, 119], 1] for name, rates in effective.items()}
    assert (np.diff(medians["AdaGrad"]) < 0).all()
    for name in ("RMSProp", "Adam"):
        assert medians[name][0] > medians[name][1]
        assert medians[name][2] > 1.1 * medians[name][1]
