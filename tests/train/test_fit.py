"""The loop: equal to one written out by hand, repeatable, honest about modes, and refusing what it cannot train on."""

import importlib.util
import json
import sys

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from course_lib.data import Split, digits, moons
from course_lib.log import JsonLines, TensorBoard
from course_lib.models import mlp
from course_lib.optim import Stepper, adam, chain, clip_norm, sgd
from course_lib.ranges import no_progress
from course_lib.train import accuracy, evaluate, fit, train_mode


def started(seed: int = 0, lr: float = 0.1):
    model = mlp([2, 16, 2], "tanh", seed=seed)
    return model, torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)


def test_fit_is_the_loop_one_would_write_by_hand():
    data, losses = moons(100), []
    model, optimizer = started()
    history = fit(model, cross_entropy, optimizer, data.train, epochs=3, batch=16, seed=7)

    by_hand, optimizer = started()
    generator = torch.Generator().manual_seed(7)
    for _ in range(3):
        for rows in torch.randperm(100, generator=generator).split(16):
            optimizer.zero_grad()
            loss = cross_entropy(by_hand(data.train.x[rows]), data.train.y[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    assert torch.equal(history.loss, torch.stack(losses))
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), by_hand.parameters(), strict=True))
    torch.testing.assert_close(history["train_loss"], torch.stack(losses).reshape(3, 7).mean(1))


@pytest.mark.parametrize("seed", range(3))
def test_an_mlp_learns_the_digits(seed):
    data, model = digits(seed), mlp([64, 64, 10], seed=seed)
    optimizer = Stepper(model.parameters(), chain(clip_norm(10.0), adam(3e-3)))
    history = fit(model, cross_entropy, optimizer, data.train, data.validation, epochs=8, seed=seed)
    assert history["validation_accuracy"][-1] > 0.93
    assert evaluate(model, cross_entropy, data.test)["accuracy"] > 0.93
    assert history["train_loss"][-1] < 0.1 * history["train_loss"][0]


def test_a_stepper_and_torch_make_the_same_history():
    data, histories = moons(64), []
    for make in (lambda p: Stepper(p, sgd(0.05, 0.9)), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)):
        model = mlp([2, 8, 2]).double()
        train = Split(data.train.x.double(), data.train.y)
        histories.append(fit(model, cross_entropy, make(model.parameters()), train, epochs=10).loss)
    torch.testing.assert_close(*histories, rtol=1e-10, atol=1e-10)


def test_the_seed_alone_decides_the_order_of_the_batches():
    data, runs = moons(100), []
    for seed in (0, 0, 1):
        torch.manual_seed(len(runs))
        model, optimizer = started()
        runs.append(fit(model, cross_entropy, optimizer, data.train, epochs=2, seed=seed).loss)
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


def test_the_history_holds_a_number_for_each_step_and_each_epoch():
    data = moons(50)
    model, optimizer = started()
    records = []
    history = fit(
        model, cross_entropy, optimizer, data.train, data.validation, epochs=4, batch=20, on_epoch=records.append
    )
    assert history.loss.shape == (4 * 3,)
    assert set(history.epochs) == {"train_loss", "validation_loss", "validation_accuracy"}
    assert all(values.shape == (4,) for values in history.epochs.values())
    assert [(r["epoch"], r["step"]) for r in records] == [(1, 3), (2, 6), (3, 9), (4, 12)]
    assert records[-1]["validation_accuracy"] == pytest.approx(float(history["validation_accuracy"][-1]))
    after = evaluate(model, cross_entropy, data.validation)
    assert after["loss"] == pytest.approx(float(history["validation_loss"][-1]))
    with pytest.raises(KeyError, match="there is no 'accuracy'; there are train_loss"):
        history["accuracy"]


def test_on_step_sees_the_gradients_of_the_step_just_made():
    data, seen = moons(40), []
    model, optimizer = started(lr=0.0)

    def on_step(step, loss):
        seen.append((step, float(loss), float(model[0].weight.grad.norm())))

    history = fit(model, cross_entropy, optimizer, data.train, epochs=2, batch=40, on_step=on_step)
    assert [step for step, *_ in seen] == [1, 2]
    assert [loss for _, loss, _ in seen] == pytest.approx(history.loss.tolist())
    assert all(norm > 0 for *_, norm in seen)


def test_progress_goes_over_the_epochs_and_may_break_off():
    data, told = moons(40), []

    def stopping(epochs):
        for epoch in epochs:
            told.append(epoch)
            if epoch == 3:
                raise KeyboardInterrupt
            yield epoch

    model, optimizer = started()
    model.eval()
    with pytest.raises(KeyboardInterrupt):
        fit(model, cross_entropy, optimizer, data.train, epochs=10, progress=stopping)
    assert told == [1, 2, 3]
    assert not model.training
    assert fit(model, cross_entropy, optimizer, data.train, epochs=1, progress=no_progress).loss.shape == (1,)


def test_every_module_trains_in_train_mode_is_measured_in_eval_mode_and_comes_back_as_it_was():
    class Spy(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = []

        def forward(self, x):
            self.seen.append(self.training)
            return x

    spy, data = Spy(), moons(40)
    frozen = nn.Dropout().eval()
    model = nn.Sequential(nn.Linear(2, 2), spy, frozen)
    fit(model, cross_entropy, torch.optim.SGD(model.parameters(), 0.1), data.train, data.validation, epochs=2, batch=40)
    assert spy.seen == [True, False, True, False]
    assert (model.training, spy.training, frozen.training) == (True, True, False)
    with train_mode(model, training=False):
        assert not any(m.training for m in model.modules())
    assert (model.training, frozen.training) == (True, False)


def test_measuring_leaves_no_trace():
    data = moons(40)
    model = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 2))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    first, again = (evaluate(model, cross_entropy, data.validation) for _ in range(2))
    assert first == again
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


def test_targets_may_be_numbers_and_metrics_ones_own():
    x = torch.linspace(-1, 1, 50)[:, None]
    train, validation = Split(x, 3 * x + 1), Split(x + 0.01, 3 * x + 1.03)
    model = mlp([1, 1])
    history = fit(
        model,
        mse_loss,
        torch.optim.SGD(model.parameters(), 0.2),
        train,
        validation,
        epochs=100,
        metrics={"worst": lambda outputs, y: (outputs - y).abs().max()},
    )
    assert history["validation_worst"][-1] < 1e-3


def test_a_run_that_diverges_is_recorded_to_its_end():
    x = torch.linspace(-1, 1, 50)[:, None]
    model = mlp([1, 1])
    history = fit(model, mse_loss, torch.optim.SGD(model.parameters(), 1e20), Split(x, x), epochs=30, metrics={})
    assert not history.loss[-1].isfinite()
    assert history.loss.shape == (30,)


def test_accuracy_counts():
    outputs = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 1.0], [0.0, 5.0]])
    assert accuracy(outputs, torch.tensor([0, 1, 1, 1])) == 0.75


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epochs": 0}, "fit: epochs and batch must be at least 1, got epochs=0, batch=64"),
        ({"batch": 0}, "fit: epochs and batch must be at least 1, got epochs=10, batch=0"),
    ],
)
def test_illegal_arguments_are_refused(arguments, message):
    model, optimizer = started()
    with pytest.raises(ValueError, match=message):
        fit(model, cross_entropy, optimizer, moons(10).train, **arguments)


@pytest.mark.parametrize("part", ["train", "validation"])
def test_data_that_turned_bad_after_they_were_split_are_refused(part):
    data = moons(10)
    getattr(data, part).x[3, 0] = float("nan")
    model, optimizer = started()
    before = model[0].weight.detach().clone()
    with pytest.raises(ValueError, match=f"fit: {part}.x must be finite, got 1 NaN or infinite value"):
        fit(model, cross_entropy, optimizer, data.train, data.validation)
    assert torch.equal(model[0].weight, before)


def test_what_is_no_split_is_refused():
    data = moons(10)
    model, optimizer = started()
    with pytest.raises(TypeError, match=r"fit: train must be a Split, such as digits\(\).train, got Dataset"):
        fit(model, cross_entropy, optimizer, data)


# Logs


def test_json_lines_holds_a_strict_json_object_for_each_epoch(tmp_path):
    data, path = moons(20), tmp_path / "runs" / "a.jsonl"
    for _ in range(2):  # a second run goes on in the same file
        model, optimizer = started()
        history = fit(model, cross_entropy, optimizer, data.train, data.validation, epochs=3, on_epoch=JsonLines(path))
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [r["epoch"] for r in records] == [1, 2, 3, 1, 2, 3]
    assert [r["train_loss"] for r in records[3:]] == pytest.approx(history["train_loss"].tolist())


def test_json_has_no_nan(tmp_path):
    JsonLines(tmp_path / "a.jsonl")({"step": 1, "train_loss": float("nan"), "validation_loss": float("inf")})
    line = (tmp_path / "a.jsonl").read_text()
    assert json.loads(line, parse_constant=pytest.fail) == {"step": 1, "train_loss": None, "validation_loss": None}


def test_an_absent_tensorboard_is_one_clear_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(RuntimeError, match="the package tensorboard is not installed: pip install"):
        TensorBoard(tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("tensorboard") is None, reason="tensorboard is not installed")
@pytest.mark.filterwarnings("ignore")
def test_tensorboard_holds_the_numbers_over_the_steps(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    data = moons(20)
    model, optimizer = started()
    history = fit(model, cross_entropy, optimizer, data.train, epochs=3, batch=10, on_epoch=TensorBoard(tmp_path))
    scalars = EventAccumulator(str(tmp_path)).Reload().Scalars("train_loss")
    assert [s.step for s in scalars] == [2, 4, 6]
    assert [s.value for s in scalars] == pytest.approx(history["train_loss"].tolist())
