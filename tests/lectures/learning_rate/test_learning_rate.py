"""Lecture 05's live experiments: schedules, noise floors, units, Adam's first updates, reduce-on-plateau."""

from typing import get_args

import numpy as np
import pytest
import torch

from course_lib import schedules
from course_lib.lectures.learning_rate.counting import Kind, UnitCurves, unit_curves
from course_lib.lectures.learning_rate.gallery import Gallery, Shape, gallery
from course_lib.lectures.learning_rate.noise_floor import Decay, NoiseFloor, _noise, decaying, noise_floor
from course_lib.lectures.learning_rate.plateau import EPOCHS, FLOOR, LR, Patience, PlateauRun, after_epoch, plateau
from course_lib.lectures.learning_rate.warmup import EarlySteps, _met, correction, early_steps
from course_lib.lectures.learning_rate.warmup import _noise as drawn
from course_lib.optim import adam, chain, sgd
from course_lib.ranges import controls_of
from course_lib.schedules import reduce_on_plateau, scale_by_schedule
from course_lib.widgets.canvas import Canvas

SHAPES = get_args(Shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("setting", [{}, {"warmup_steps": 0, "drops": 4, "growth": 2.0, "floor": 0.2, "power": 2.0}])
def test_the_code_that_is_shown_makes_the_schedule(shape, setting):
    result = gallery(shape, **setting)
    shown = eval(result.code, dict(vars(schedules)))
    np.testing.assert_allclose(shown(torch.arange(200)).numpy(), result.factors, atol=0.03)
    assert 0 < result.peak[1] <= 1
    assert result.area == pytest.approx(result.factors.mean())


def test_area_peak_and_end_are_what_is_known():
    assert gallery("cosine", 200, 0).area == pytest.approx(0.5, abs=0.01)
    assert gallery("polynomial", 200, 0).area == pytest.approx(0.5, abs=0.01)
    assert gallery("polynomial", 200, 0, power=3.0).area == pytest.approx(1 / 4, abs=0.01)
    assert gallery("polynomial", 200, 20).area == pytest.approx(0.5, abs=0.01)
    assert gallery("cosine", 200, 40).area == pytest.approx(0.5, abs=0.01)
    assert gallery("cosine", 200, 20).peak == (20, 1.0)
    assert gallery("constant", 100, 0).area == gallery("constant", 100, 0).end == 1
    assert gallery("warm-up, stable, decay", 200, 20).area > 0.8
    assert gallery("cosine", 200, 0, floor=0.5).area == pytest.approx(0.75, abs=0.01)
    restarts = gallery("warm restarts", 400, 0, drops=3, growth=2.0).factors
    assert np.flatnonzero(np.diff(restarts) > 0.5).tolist() == [57, 173]


@pytest.mark.parametrize("decay", get_args(Decay))
def test_the_noisy_walk_is_the_library_s_sgd_under_its_schedule(decay):
    result = noise_floor(decay, 0.7, 90, 0.4, seed=3)
    theta = torch.full((256,), 10.0, dtype=torch.float64)
    transform = chain(sgd(0.7), scale_by_schedule(decaying(decay, 90)))
    state, noise = transform.init([theta]), torch.from_numpy(_noise(3))
    for t in range(90):
        steps, state = transform.update([0.4 * theta + noise[t]], state, [theta])
        theta = theta + steps[0]
        assert result.rows["measured"][t + 1] == pytest.approx(float(0.4 * (theta**2).mean() / 2), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("lr", [0.1, 0.5, 1.5])
def test_the_walk_settles_on_the_floor_and_decay_goes_below_it(lr, seed):
    kept = noise_floor("constant", lr, 300, seed=seed).rows
    assert kept["floor"][0] == pytest.approx(lr / (2 * (2 - lr)))
    assert kept["theory"][-1] == pytest.approx(kept["floor"][0], rel=1e-6)
    assert kept["measured"][-100:].mean() == pytest.approx(kept["floor"][0], rel=0.15)
    for decay in ("step", "cosine", "linear"):
        result = noise_floor(decay, lr, 300, seed=seed)
        assert result.rows["measured"][-1] == pytest.approx(result.rows["theory"][-1], rel=0.3)
        assert result.gain > 5


def test_the_loss_follows_the_floor_until_forgetting_takes_longer_than_is_left():
    ratios = [(r := noise_floor("cosine", 0.5, 200, c).rows)["theory"] / r["floor"] for c in (1.0, 0.5, 0.2, 0.1)]
    assert 0.95 < ratios[0][20:150].min() < ratios[0][20:150].max() < 1.3
    assert ratios[0][-1] > 100
    left = [60 + int((ratio[60:] > 2).argmax()) for ratio in ratios]  # the flatter, the earlier
    assert left == sorted(left, reverse=True)
    assert left[0] - left[-1] > 20


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize(("epochs", "per_epoch", "processes"), [(12, 20, 4), (5, 7, 3)])
def test_the_three_curves_are_torch_s_schedulers_stepped_rightly_and_wrongly(kind, epochs, per_epoch, processes):
    result = unit_curves(kind, epochs, per_epoch, processes)

    def scheduler(optimizer):
        make = torch.optim.lr_scheduler
        return {
            "cosine": lambda: make.CosineAnnealingLR(optimizer, T_max=epochs),
            "linear": lambda: make.PolynomialLR(optimizer, total_iters=epochs, power=1.0),
            "step decay": lambda: make.StepLR(optimizer, step_size=-(-epochs // 4)),
            "exponential": lambda: make.ExponentialLR(optimizer, gamma=0.001 ** (1 / epochs)),
        }[kind]()

    def run(each_batch, each_epoch):
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        steps, seen = scheduler(optimizer), []
        for _ in range(epochs):
            for _ in range(per_epoch):
                seen.append(optimizer.param_groups[0]["lr"])
                optimizer.step()
                for _ in range(each_batch):
                    steps.step()
            for _ in range(each_epoch):
                steps.step()
        return seen

    for row, (each_batch, each_epoch) in zip(result.rows.values(), [(0, 1), (1, 0), (0, processes)], strict=True):
        np.testing.assert_allclose(row, run(each_batch, each_epoch), atol=1e-6)


def test_a_cosine_comes_back_and_the_others_are_gone_after_an_epoch_s_worth_of_batches():
    cosine = unit_curves("cosine").rows["per batch"]
    assert cosine.mean() == pytest.approx(0.5, abs=0.02)
    assert np.flatnonzero((cosine > 0.99) & (np.arange(240) > 0)).tolist() == list(range(24, 240, 24))
    for kind in ("linear", "step decay", "exponential"):
        epoch, batch, processes = map(unit_curves(kind).gone, ("per epoch", "per batch", "once for each process"))
        assert batch <= 12 / 20
        assert epoch > 2 * processes > 4 * batch


@pytest.mark.parametrize(("gradients", "source"), [("noise", drawn), ("digits", _met)])
@pytest.mark.parametrize("b2", [0.9, 0.99, 0.999])
def test_the_sizes_are_those_of_the_library_s_adam(gradients, source, b2):
    result, g = early_steps(gradients, 15, b2, seed=1).rows, torch.from_numpy(source(1))
    transform, p = adam(1.0, 0.9, b2), [torch.zeros(g.shape[1], dtype=torch.float64)]
    state = transform.init(p)
    for t in range(60):
        steps, state = transform.update([g[t]], state, p)
        raw = state.mean[0] / (state.square[0].sqrt() + 1e-20)
        assert result["Adam"][t] == pytest.approx(float((steps[0] ** 2).mean().sqrt()), rel=1e-6)
        assert result["without bias correction"][t] == pytest.approx(float((raw**2).mean().sqrt()), rel=0.02)  # eps
        assert result["Adam, warm-up"][t] == pytest.approx(result["Adam"][t] * min((t + 1) / 15, 1))


@pytest.mark.parametrize("seed", range(4))
def test_the_first_update_is_lr_and_in_noise_later_ones_are_a_quarter_of_it(seed):
    result = early_steps(seed=seed)
    size, noise = result.rows["Adam"], result.rows["theory for pure noise"]
    assert size[0] == pytest.approx(1, abs=1e-6)
    assert result.rows["without bias correction"][0] == pytest.approx(0.1 / 0.001**0.5, rel=1e-6)
    np.testing.assert_allclose(size, noise, rtol=0.12)
    assert noise[-1] == pytest.approx((0.1 / 1.9) ** 0.5, rel=0.01) == pytest.approx(0.23, abs=0.005)
    place, factor = result.peak
    assert place == 12
    assert factor == pytest.approx(correction(12)) == pytest.approx(6.57, abs=0.01)
    real = early_steps("digits", seed=seed).rows["Adam"]
    assert real[0] == pytest.approx(1, abs=2e-3)
    assert 0.25 < real[-20:].mean() < 0.45
    assert (real[5:] > noise[5:]).all()  # real gradients agree with each other a little


@pytest.mark.parametrize("patience", [0, 3, 10])
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("threshold", [1e-4, 0.1])
def test_the_state_machine_is_the_library_s_and_torch_s(patience, noise, threshold):
    result = plateau(patience, noise, 0.5, threshold, seed=2).rows
    library = reduce_on_plateau(0.5, patience, threshold=threshold, floor=FLOOR / LR)
    state = library.transform.init([])
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=LR)
    oracle = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=patience, threshold=threshold, min_lr=FLOOR
    )
    for epoch in range(1, EPOCHS + 1):
        state = library.observe(state, float(result["as it was seen"][epoch]))
        oracle.step(float(result["as it was seen"][epoch]))
        assert result["learning rate"][epoch] == pytest.approx(LR * float(state.scale), rel=1e-12)
        assert result["learning rate"][epoch] == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12)


def test_an_epoch_is_ten_updates_of_the_moment():
    moment, lr = np.array([4.0, 9.0]), 0.3
    for _ in range(10):
        moment = (1 - lr * np.array([1.0, 0.004])) ** 2 * moment + lr**2
    np.testing.assert_allclose(after_epoch((4.0, 9.0), lr), moment)


@pytest.mark.parametrize("seed", [100, 200])
def test_the_noisier_the_loss_the_more_patience_is_best(seed):
    def runs(patience, noise):
        return [plateau(patience, noise, seed=s) for s in range(seed, seed + 20)]

    def ends(noise):
        return np.array([np.mean([run.end for run in runs(patience, noise)]) for patience in range(21)])

    swept = Patience(np.arange(21), {str(noise): ends(noise) for noise in (0.0, 0.1, 0.2)})
    assert swept.best("0.0") == 0
    assert 6 < swept.best("0.1") < 13 < swept.best("0.2")
    assert swept.rows["0.1"][0] > 6 * swept.rows["0.1"].min()
    assert swept.rows["0.1"][20] > 1.2 * swept.rows["0.1"].min()
    assert np.mean([run.reductions[0] for run in runs(0, 0.1)]) < 6
    assert min(run.reductions[0] if len(run.reductions) else EPOCHS for run in runs(20, 0.1)) > 25
    assert plateau(0, 0.0).reductions[0] == 93


@pytest.mark.parametrize(
    ("experiment", "draw", "settings"),
    [
        (gallery, Gallery.draw, [{"shape": s} for s in SHAPES]),
        (noise_floor, NoiseFloor.draw, [{"decay": d} for d in get_args(Decay)]),
        (unit_curves, UnitCurves.draw, [{"kind": k} for k in get_args(Kind)]),
        (early_steps, EarlySteps.draw, [{"gradients": "noise"}, {"gradients": "digits"}, {"warmup_steps": 50}]),
        (plateau, PlateauRun.draw, [{"patience": p} for p in (0, 5, 20)]),
    ],
)
def test_the_pictures_follow_their_results(experiment, draw, settings):
    canvas = Canvas(draw)
    seen = [canvas.render(experiment(**setting)) for setting in settings]
    assert len(set(seen)) == len(seen)
    assert canvas.render(experiment(**settings[0])) == seen[0]


@pytest.mark.parametrize("experiment", [gallery, noise_floor, unit_curves, early_steps, plateau])
def test_what_is_not_legal_is_refused_by_name(experiment):
    for name in controls_of(experiment):
        with pytest.raises(ValueError, match=f"{experiment.__name__}: {name} must be"):
            experiment(**{name: -7})
