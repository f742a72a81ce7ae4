"""Splits that cannot overlap, statistics that never see the test, and data sets that refuse to be broken."""

import random
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_moons

from course_lib import data
from course_lib.data import LOADERS, Dataset, Split, digits, load, minibatches, mnist1d, moons

OFFLINE = ("digits", "mnist1d", "moons")


def rows(split: Split) -> set[bytes]:
    return {row.tobytes() for row in split.x.numpy()}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", OFFLINE)
def test_no_row_is_in_two_parts_and_every_part_has_every_class(name, seed):
    dataset = load(name, seed=seed)
    train, validation, test = (rows(s) for s in dataset.parts().values())
    assert not train & validation
    assert not (train | validation) & test
    for split in dataset.parts().values():
        assert split.x.dtype == torch.float32
        assert sorted(split.y.unique().tolist()) == list(range(dataset.classes))


@pytest.mark.parametrize("name", OFFLINE)
def test_the_statistics_are_those_of_the_training_part_alone(name):
    dataset = load(name)
    assert dataset.train.x.mean(0).abs().max() < 1e-5
    assert float(dataset.train.x.var(correction=0)) == pytest.approx(1, abs=1e-4)
    assert dataset.test.x.mean(0).abs().max() > 1e-3


@pytest.mark.parametrize("name", OFFLINE)
def test_the_seed_alone_decides(name):
    torch.manual_seed(1)
    a = load(name, seed=3)
    torch.manual_seed(2)
    b, c = load(name, seed=3), load(name, seed=4)
    assert all(torch.equal(a.parts()[p].x, b.parts()[p].x) for p in a.parts())
    assert not torch.equal(a.train.x, c.train.x)


def test_digits_are_the_whole_of_the_published_images_with_their_labels():
    dataset, (pixels, labels) = digits(), load_digits(return_X_y=True)
    assert [len(s) for s in dataset.parts().values()] == [1077, 360, 360]
    assert len(np.unique(pixels, axis=0)) == len(pixels) == 1797  # no image occurs twice
    raw_mean = torch.cat([s.x for s in dataset.parts().values()])
    gram = np.sort(((pixels - pixels.mean(0)) ** 2).sum(1))  # distances survive shift and scale, in any order
    ours = np.sort(((raw_mean - raw_mean.mean(0)) ** 2).sum(1).numpy())
    np.testing.assert_allclose(ours / ours.mean(), gram / gram.mean(), rtol=1e-4)
    counts = sum(s.y.bincount(minlength=10) for s in dataset.parts().values())
    assert counts.tolist() == np.bincount(labels).tolist()


@pytest.mark.slow
def test_mnist1d_is_the_published_set_made_in_silence_and_leaves_the_global_generators_alone(capsys):
    data._mnist1d.cache_clear()
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    expected = np.random.rand(), random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    dataset = mnist1d()
    assert (np.random.rand(), random.random()) == expected  # noqa: NPY002
    assert [len(s) for s in dataset.parts().values()] == [3200, 800, 1000]
    assert capsys.readouterr() == ("", "")


def test_moons_lie_where_scikit_learns_lie():
    dataset = moons(400, noise=0.0)
    x = torch.cat([s.x for s in dataset.parts().values()]).double()
    reference, labels = make_moons(4000, noise=0.0)
    y = torch.cat([s.y for s in dataset.parts().values()])
    scale, shift = _affine(x, y)
    for label in (0, 1):
        ours, theirs = x[y == label] * scale + shift, torch.from_numpy(reference[labels == label])
        assert torch.cdist(ours, theirs).min(1).values.max() < 0.01


def _affine(x, y):
    """The scale and shift that standardization took away, from the extremes of the upper moon, radius 1 about 0."""
    upper = x[y == 0]
    scale = 2 / (upper[:, 0].max() - upper[:, 0].min())
    shift = torch.stack([-(upper[:, 0].max() + upper[:, 0].min()) / 2, 1 / scale - upper[:, 1].max()]) * scale
    return scale, shift


@settings(max_examples=50, deadline=None)
@given(
    values=st.lists(st.integers(0, 6), min_size=12, max_size=60),
    seed=st.integers(0, 1000),
)
def test_equal_rows_are_never_divided_whatever_the_order(values, seed):
    x = np.array(values, dtype=float)[:, None]
    y = np.arange(len(x))
    parts = data._divide(x, y, (len(x) // 2, len(x) // 4, len(x) - len(x) // 2 - len(x) // 4), seed)
    seen = [set(part.ravel()) for part, _ in parts]
    assert not seen[0] & seen[1]
    assert not (seen[0] | seen[1]) & seen[2]
    assert sorted(np.concatenate([rest for _, rest in parts])) == list(range(len(x)))


def test_a_training_row_that_is_in_the_published_test_part_is_left_out():
    pool = np.arange(20.0)[:, None]
    test = np.array([[3.0], [-0.0], [99.0]])
    train, validation, kept = data._hold_out((pool, pool[:, 0]), (test, test[:, 0]), 5, seed=0)
    assert sorted(np.concatenate([train[0], validation[0]]).ravel()) == [x for x in range(20) if x not in (0, 3)]
    assert len(validation[0]) == 5
    assert kept[0] is test


X, Y = torch.arange(12.0).reshape(6, 2), torch.tensor([0, 1, 0, 1, 0, 1])


def poisoned(value: float) -> torch.Tensor:
    x = X.clone()
    x[2, 1] = value
    return x


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (poisoned(float("nan")), Y, "x must be finite, got 1 NaN or infinite value$"),
        (poisoned(float("inf")), Y, "x must be finite, got 1 NaN or infinite value$"),
        (X, torch.full((6,), float("nan")), "y must be finite, got 6 NaN or infinite values$"),
        (X, Y[:5], r"y must have one entry for each of the 6 rows of x, got \(5,\)"),
        (X[:0], Y[:0], "x must have at least one row, got an empty tensor"),
        (X.long(), Y, r"x must be floating point of shape \(n, ...\), got torch.int64 \(6, 2\)"),
        (X[:, 0], Y, r"x must be floating point of shape \(n, ...\), got torch.float32 \(6,\)"),
    ],
)
def test_a_split_refuses_broken_data_with_one_sentence(x, y, message):
    with pytest.raises(ValueError, match=message):
        Split(x, y)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (Split(X[:2], Y[:2]), "toy: train and test must not share a row, but they do"),
        (Split(X + 100, Y + 5), "toy: labels of test must be 0 to 1, got 5 to 6"),
        (Split(X + 100, Y - 1), "toy: labels of test must be 0 to 1, got -1 to 0"),
        (Split(X + 100, Y.float()), r"toy: labels of test must be int64 of shape \(n,\), got torch.float32"),
        (Split(torch.ones(6, 3), Y), r"toy: rows of test must have shape \(2,\) as in train, got \(3,\)"),
    ],
)
def test_a_dataset_refuses_parts_that_do_not_fit(test, message):
    with pytest.raises(ValueError, match=message):
        Dataset("toy", Split(X, Y), Split(X + 50, Y), test, classes=2, source="made up")


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="no data set 'imagenet'; there are digits, mnist1d, moons, mnist, cifar10"):
        load("imagenet")


@pytest.mark.parametrize("arguments", [{"n": 1}, {"noise": -0.1}, {"noise": float("nan")}])
def test_illegal_moons_are_refused(arguments):
    with pytest.raises(ValueError, match="moons: n must be at least 2 and noise at least 0"):
        moons(**arguments)


# minibatches


@settings(deadline=None)
@given(n=st.integers(1, 200), size=st.integers(1, 250), seed=st.integers(0, 2**31))
def test_without_replacement_each_row_comes_once(n, size, seed):
    batches = minibatches(n, size, generator=torch.Generator().manual_seed(seed))
    assert sorted(torch.cat(batches).tolist()) == list(range(n))
    assert all(len(b) == size for b in batches[:-1])


def test_with_replacement_rows_are_drawn_independently():
    batches = minibatches(10_000, 64, generator=torch.Generator().manual_seed(0), replacement=True)
    drawn = torch.cat(batches)
    assert len(drawn) == 10_000
    assert len(drawn.unique()) / 10_000 == pytest.approx(1 - np.exp(-1), abs=0.02)


@pytest.mark.parametrize(("n", "size"), [(0, 4), (10, 0)])
def test_empty_batches_are_refused(n, size):
    with pytest.raises(ValueError, match=f"n and size must be at least 1, got n={n}, size={size}"):
        minibatches(n, size, generator=torch.Generator())


# What needs torchvision


@pytest.fixture
def torchvision(monkeypatch):
    """Stands in for torchvision: the same call, the same attributes, 60 and 20 random images."""

    def published(shape, wrap):
        def make(root, train, download):
            assert download is False
            if not root.exists():
                raise RuntimeError("Dataset not found. You can use download=True to download it")
            rng = np.random.default_rng(int(train))
            n = 60 if train else 20
            images = rng.integers(0, 256, (n, *shape), dtype=np.uint8)
            return SimpleNamespace(data=wrap(images), targets=wrap(rng.integers(0, 10, n)))

        return make

    module = ModuleType("torchvision.datasets")
    module.MNIST = published((28, 28), torch.from_numpy)
    module.CIFAR10 = published((32, 32, 3), lambda a: a)
    monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
    monkeypatch.setitem(sys.modules, "torchvision.datasets", module)


@pytest.mark.parametrize(("name", "shape"), [("mnist", (1, 28, 28)), ("cifar10", (3, 32, 32))])
@pytest.mark.usefixtures("torchvision")
def test_images_come_channels_first_and_divided(name, shape, tmp_path):
    dataset = load(name, root=tmp_path)
    assert [tuple(s.x.shape) for s in dataset.parts().values()] == [(50, *shape), (10, *shape), (20, *shape)]
    assert float(dataset.train.x.var(correction=0)) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
@pytest.mark.usefixtures("torchvision")
def test_absent_files_are_one_clear_sentence(name, tmp_path):
    with pytest.raises(RuntimeError, match=f"{name}: its files are not under .*nowhere and are never downloaded here"):
        load(name, root=tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_an_absent_torchvision_is_one_clear_sentence(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "torchvision.datasets", None)
    with pytest.raises(RuntimeError, match=f"{name} needs torchvision, which is not installed"):
        load(name)


def test_every_loader_is_tested_here():
    assert set(LOADERS) == {*OFFLINE, "mnist", "cifar10"}
