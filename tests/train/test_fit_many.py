"""N runs at once are N runs of `fit`, whatever differs between them; a run lost is reported and touches no other."""

import copy
import inspect
import math

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from course_lib import optim
from course_lib.data import Split, moons
from course_lib.models import mlp
from course_lib.optim import Stepper, adam, adamw, chain, clip_norm, rmsprop, sgd
from course_lib.schedules import cosine, join, scale_by_schedule, warmup
from course_lib.train import bytes_a_run, fit, fit_many, stack

DATA = moons(100, noise=0.2)
X = torch.linspace(-1, 1, 70)[:, None]
LINE = Split(X, torch.sin(3 * X))


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def nets(n, sizes=(2, 12, 2), activation="tanh"):
    return [mlp(sizes, activation, seed=seed) for seed in range(n)]


def seeded(build):
    """Two models of this build, their weights drawn from two seeds."""
    made = []
    for seed in range(2):
        torch.manual_seed(seed)
        made.append(build())
    return made


def with_norm():
    return nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))


def with_convolution():
    layers = nn.Unflatten(1, (1, 2)), nn.Conv1d(1, 4, 2, padding=1), nn.GELU(), nn.Flatten(), nn.LayerNorm(12)
    return nn.Sequential(*layers, nn.Linear(12, 2))


def half_frozen():
    net = mlp([2, 12, 2])
    net[0].weight.requires_grad_(False)
    return net


def warmed(lr, steps):
    return chain(
        clip_norm(1.0), adamw(lr, decay=0.1), scale_by_schedule(join(warmup(steps, 0.1), cosine(30), at=steps))
    )


SETTINGS = {
    "learning rates": (mlp([2, 12, 2]), sgd, {"lr": [0.01, 0.1, 1.0], "beta": 0.9}, 3),
    "learning rates as an array": (mlp([2, 12, 2]), sgd, {"lr": torch.logspace(-2, 0, 4).numpy()}, 3),
    "betas": (mlp([2, 12, 2]), adam, {"lr": 0.02, "b1": torch.tensor([0.5, 0.9]), "b2": [0.9, 0.999]}, 3),
    "starts": (nets(3), rmsprop, {"lr": 0.005}, 3),
    "orders": (mlp([2, 12, 2], "sigmoid"), lambda: adam(0.01), {}, [4, 5, 6]),
    "everything": (nets(3), adam, {"lr": [0.01, 0.03, 0.1]}, range(3)),
    "clipped, decayed, scheduled": (nets(3), warmed, {"lr": [0.01, 0.02, 0.03], "steps": [0, 5, 10]}, [1, 1, 2]),
    "Nesterov": (nets(2), lambda lr: sgd(lr, 0.9, nesterov=True), {"lr": [0.01, 0.1]}, 0),
    "batch norm": (seeded(with_norm), sgd, {"lr": [0.05, 0.1]}, [0, 1]),
    "convolution": (seeded(with_convolution), adam, {"lr": [0.01, 0.02]}, [0, 1]),
    "half frozen": (half_frozen(), adam, {"lr": [0.01, 0.02]}, 0),
    "one run": (mlp([2, 12, 2]), adam, {"lr": 0.01}, 0),
    "one run in a list": (nets(1), adam, {"lr": [0.01]}, [7]),
}


def pick(value, run):
    many = isinstance(value, list | range) or getattr(value, "ndim", 0)
    return (value[run] if len(value) > 1 else value[0]) if many else value


def alone(models, make_transform, hyper, seeds, run, loss=cross_entropy, data=DATA, **arguments):
    model = copy.deepcopy(pick(models, run))
    transform = make_transform(
        **{name: v.item() if hasattr(v := pick(value, run), "item") else v for name, value in hyper.items()}
    )
    optimizer = Stepper(model.parameters(), transform)
    return model, fit(model, loss, optimizer, data.train, data.validation, seed=pick(seeds, run), **arguments)


def assert_run_is(runs, run, model, history, tolerance=1e-5):
    torch.testing.assert_close(runs.loss[run], history.loss, rtol=tolerance, atol=tolerance)
    ours = runs.history(run)
    assert set(ours.epochs) == set(history.epochs)
    for name, values in history.epochs.items():
        torch.testing.assert_close(ours[name], values, rtol=1e-5, atol=1e-5)
    got, want = runs.model(run).state_dict(), model.state_dict()
    for name, values in want.items():
        torch.testing.assert_close(got[name], values, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", SETTINGS)
def test_many_runs_equal_separate_runs(name):
    setting, arguments = SETTINGS[name], {"epochs": 3, "batch": 16}
    models, make_transform, hyper, seeds = setting
    before = copy.deepcopy(models)
    runs = fit_many(
        models, cross_entropy, make_transform, DATA.train, DATA.validation, hyper=hyper, seeds=seeds, **arguments
    )
    for run in range(len(runs)):
        assert_run_is(runs, run, *alone(*setting, run, **arguments))
    assert runs.loss.shape == (len(runs), 3 * 7)
    assert not runs.diverged_at.any()
    for a, b in zip(
        nn.ModuleList(models).parameters() if isinstance(models, list) else models.parameters(),
        nn.ModuleList(before).parameters() if isinstance(before, list) else before.parameters(),
        strict=True,
    ):
        assert torch.equal(a, b)


OPTIMIZERS = [
    name
    for name in optim.__all__
    if inspect.isfunction(f := getattr(optim, name)) and "lr" in inspect.signature(f).parameters
]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_runs_many_times_as_it_runs_alone(name):
    """Square layers in float64: in a direction without gradient, as a wide layer has, SOAP divides noise by noise."""
    data = Split(DATA.train.x.double(), DATA.train.y)
    model, make, arguments = mlp([2, 2, 2]).double(), getattr(optim, name), {"epochs": 3, "batch": 25}
    runs = fit_many(model, cross_entropy, make, data, hyper={"lr": [0.01, 0.02]}, **arguments)
    for run, lr in enumerate([0.01, 0.02]):
        one = copy.deepcopy(model)
        history = fit(one, cross_entropy, Stepper(one.parameters(), make(lr=lr)), data, **arguments)
        torch.testing.assert_close(runs.loss[run], history.loss, rtol=1e-7, atol=1e-7)
        torch.testing.assert_close(runs.model(run).state_dict(), one.state_dict(), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("cached", [0, 2**18])
@pytest.mark.parametrize("make", [adamw, lambda lr: chain(adam(lr), scale_by_schedule(cosine(50)))])
def test_parameters_joined_to_one_vector_or_not_train_alike(monkeypatch, cached, make):
    monkeypatch.setattr(stack, "CACHED", cached)
    assert stack.Stack(half_frozen(), cross_entropy, make, {"lr": [0.1]}, 0, {}).flat == bool(cached)
    setting = (half_frozen(), make, {"lr": [0.01, 0.02]}, 0)
    runs = fit_many(setting[0], cross_entropy, make, DATA.train, DATA.validation, hyper=setting[2], epochs=3, batch=25)
    for run in range(2):
        assert_run_is(runs, run, *alone(*setting, run, epochs=3, batch=25))


def test_only_what_works_entry_by_entry_is_joined():
    mixed = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double())
    for model, make in ((mlp([2, 2]), lambda lr: chain(clip_norm(1.0), sgd(lr))), (mixed, sgd)):
        assert not stack.Stack(model, cross_entropy, make, {"lr": [0.1]}, 0, {}).flat


def test_a_regression_in_float64_without_validation_agrees_to_rounding():
    data = Split(LINE.x.double(), LINE.y.double())
    models = [net.double() for net in nets(3, (1, 8, 1))]
    runs = fit_many(models, mse_loss, adam, data, hyper={"lr": [0.01, 0.02, 0.04]}, seeds=range(3), epochs=10)
    for run, lr in enumerate([0.01, 0.02, 0.04]):
        model = copy.deepcopy(models[run])
        history = fit(model, mse_loss, Stepper(model.parameters(), adam(lr)), data, epochs=10, seed=run)
        assert_run_is(runs, run, model, history, tolerance=1e-11)
    assert set(runs.epochs) == {"train_loss"}


def test_a_run_that_diverges_is_reported_and_touches_no_other():
    data, lrs = Split(X, X), [0.1, 1e20, 0.2, 3.0]

    def go(lrs):
        return fit_many(mlp([1, 4, 1]), mse_loss, sgd, data, hyper={"lr": lrs}, epochs=15, batch=35)

    runs, sound = go(lrs), go([0.1, 0.2])
    assert torch.equal(runs.loss[[0, 2]], sound.loss)
    for name, values in runs.weights.items():
        assert torch.equal(values[[0, 2]], sound.weights[name])
    assert runs.diverged_at[[0, 2]].tolist() == [0, 0]
    for run in (1, 3):
        model = mlp([1, 4, 1])
        losses = fit(
            model, mse_loss, Stepper(model.parameters(), sgd(lrs[run])), data, epochs=15, batch=35, metrics={}
        ).loss
        lost = (~losses.isfinite()).nonzero()
        assert runs.diverged_at[run] == (lost[0, 0] + 1 if len(lost) else 0)
        assert torch.equal(runs.loss[run].isfinite(), losses.isfinite())
    assert runs.diverged_at[1] > 0


def test_a_run_lost_in_its_last_step_is_reported_too():
    runs = fit_many(mlp([1, 1]), mse_loss, sgd, Split(X, 1e3 * X), hyper={"lr": [1e38, 0.1]}, epochs=1, batch=70)
    assert runs.loss.isfinite().all()
    assert runs.diverged_at.tolist() == [1, 0]


def test_dropout_draws_for_each_run_and_follows_torch_s_seed():
    net = nn.Sequential(nn.Linear(2, 64), nn.Dropout(0.5), nn.Linear(64, 2))

    def go():
        torch.manual_seed(3)
        return fit_many([net] * 3, cross_entropy, adam, DATA.train, DATA.validation, hyper={"lr": 0.01}, epochs=4)

    runs = go()
    assert torch.equal(runs.loss, go().loss)
    assert len(set(runs.loss[:, 0].tolist())) == 3
    assert runs.loss.diff(dim=1).abs().min() > 0
    history = fit(net, cross_entropy, Stepper(net.parameters(), adam(0.01)), DATA.train, epochs=4)
    assert float(runs["train_loss"][:, -1].mean()) == pytest.approx(float(history["train_loss"][-1]), rel=0.15)
    with torch.no_grad():
        measured = cross_entropy(runs.model(1).eval()(DATA.validation.x), DATA.validation.y)
    assert float(runs["validation_loss"][1, -1]) == pytest.approx(float(measured), rel=1e-5)


def test_chunks_change_nothing_but_the_memory():
    def go(limit, **hooks):
        return fit_many(
            nets(5),
            cross_entropy,
            adam,
            DATA.train,
            DATA.validation,
            hyper={"lr": [0.01, 0.02, 0.03, 0.04, 0.05]},
            seeds=range(5),
            epochs=2,
            limit=limit,
            **hooks,
        )

    need = bytes_a_run(
        nets(5), cross_entropy, adam, DATA.train, DATA.validation, hyper={"lr": [0.01] * 5}, seeds=range(5)
    )
    whole, seen, ticks = go(2**30), [], []

    def progress(steps):
        ticks.append(len(steps))
        yield from steps
        ticks.append("end")

    one = go(1)
    parts = go(2.5 * need, on_epoch=lambda runs, record: seen.append((runs, record)), progress=progress)
    assert (whole.chunk, whole.bytes) == (5, 5 * need)
    assert (parts.chunk, parts.bytes) == (2, 2 * need)
    assert one.chunk == 1
    torch.testing.assert_close(parts.loss, whole.loss)
    torch.testing.assert_close(one.loss, whole.loss)
    torch.testing.assert_close(parts["validation_accuracy"], whole["validation_accuracy"])
    torch.testing.assert_close(parts.model(4).state_dict(), whole.model(4).state_dict())
    assert ticks == [3 * 2, "end"]
    assert [runs for runs, _ in seen] == [range(0, 1)] * 2 + [range(1, 3)] * 2 + [range(3, 5)] * 2
    assert [(int(r["epoch"]), int(r["step"])) for _, r in seen] == [(1, 2), (2, 4)] * 3
    assert torch.equal(seen[-1][1]["validation_loss"], parts["validation_loss"][3:, -1])


def test_a_hook_may_break_off():
    def stopping(steps):
        for step in steps:
            if step == 2:
                raise KeyboardInterrupt
            yield step

    with pytest.raises(KeyboardInterrupt):
        fit_many(nets(2), cross_entropy, lambda: sgd(0.1), DATA.train, progress=stopping)


def peak_bytes(function):
    """The most bytes that torch's allocator held at one time during a call, beyond those before it."""
    with torch.profiler.profile(profile_memory=True) as profile:
        function()
    held = highest = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            highest = max(highest, held)
    return highest


@pytest.mark.parametrize("width", [8, 128])
def test_the_stated_memory_is_an_upper_bound_and_not_a_wild_one(width):
    models, hyper = nets(6, (2, width, width, 2)), {"lr": [0.01] * 6}
    arguments = (models, cross_entropy, adam, DATA.train)
    stated = bytes_a_run(*arguments, hyper=hyper)
    fit_many(*arguments, hyper=hyper, epochs=1)
    used = peak_bytes(lambda: fit_many(*arguments, hyper=hyper, epochs=2))
    assert used < 6 * stated < 4 * used


def looks(lr):
    transform = sgd(lr)
    return transform._replace(init=lambda params: transform.init([p for p in params if p.sum() > -1e9]))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"epochs": 0}, ValueError, "fit_many: epochs and batch must be at least 1, got epochs=0, batch=64"),
        ({"train": LINE.x}, TypeError, r"fit_many: train must be a Split, such as digits\(\).train, got Tensor"),
        ({"models": []}, TypeError, r"fit_many: models must be a module or a sequence of modules, got \[\]"),
        ({"models": [1]}, TypeError, r"fit_many: models must be a module or a sequence of modules, got \[1\]"),
        ({"models": nets(3)}, ValueError, "must agree on the number of runs, got 3 in models, 2 in hyper"),
        ({"seeds": [1, 2, 3]}, ValueError, r"number of runs, got 2 in models, 3 in seeds, 2 in hyper\['lr'\]"),
        ({"hyper": {"lr": []}}, ValueError, r"number of runs, got 2 in models, 0 in hyper\['lr'\]"),
        (
            {"models": [mlp([2, 12, 2]), mlp([2, 13, 2])]},
            ValueError,
            r"models must be equal but for their weights, but models\[1\] is not as models\[0\]",
        ),
        ({"models": [nn.Sequential(nn.Dropout(p), nn.Linear(2, 2)) for p in (0.1, 0.2)]}, ValueError, r"models\[1\]"),
        ({"models": mlp([2, 2]).requires_grad_(False)}, ValueError, "a parameter that requires a gradient, got none"),
        ({"hyper": {"lr": [0.1, -1.0]}}, ValueError, "sgd: lr must be at least 0 and finite, got -1.0"),
        ({"hyper": {"lr": [0.1, math.nan]}}, ValueError, "sgd: lr must be at least 0 and finite, got nan"),
        ({"hyper": {"rate": [0.1, 0.2]}}, TypeError, "unexpected keyword argument 'rate'"),
        ({"make_transform": lambda lr: lr}, TypeError, "make_transform must return a Transform, got float"),
        ({"loss": lambda o, y: cross_entropy(o, y, reduction="none")}, ValueError, r"shape \(\), got \(64,\)"),
        ({"loss": lambda o, y: o.sum() if o.sum() > 0 else -o.sum()}, ValueError, "must not look at a tensor's value"),
        ({"loss": lambda o, y: o.sum() * o.max().item()}, ValueError, "must not look at a tensor's value"),
        ({"make_transform": looks}, ValueError, "must not look at a tensor's value"),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(changes, error, message):
    given = {"models": nets(2), "loss": cross_entropy, "make_transform": sgd, "train": DATA.train}
    with pytest.raises(error, match=message):
        fit_many(**(given | {"hyper": {"lr": [0.1, 0.2]}} | changes))


def test_names_and_lengths():
    runs = fit_many(nets(2), cross_entropy, lambda: sgd(0.1), DATA.train, epochs=1)
    assert len(runs) == 2
    with pytest.raises(KeyError, match="there is no 'accuracy'; there are train_loss"):
        runs["accuracy"]
