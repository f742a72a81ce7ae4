"""Small real data sets, split so that nothing seen in training can be met again in the test."""

import importlib
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

Part = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Split:
    """x: (n, ...) floating point. y: (n,) labels, int64, or (n, ...) targets, floating point.

    Raises ValueError where x and y differ in length, there are no rows, or a value is NaN or infinite.
    """

    x: Tensor
    y: Tensor

    def __post_init__(self) -> None:
        if self.x.ndim < 2 or not self.x.is_floating_point():
            raise ValueError(f"x must be floating point of shape (n, ...), got {self.x.dtype} {tuple(self.x.shape)}")
        if self.y.ndim < 1 or len(self.y) != len(self.x):
            raise ValueError(
                f"y must have one entry for each of the {len(self.x)} rows of x, got {tuple(self.y.shape)}"
            )
        if len(self.x) == 0:
            raise ValueError("x must have at least one row, got an empty tensor")
        for name, values in (("x", self.x), ("y", self.y)):
            bad = int((~torch.isfinite(values)).sum())
            if bad:
                raise ValueError(f"{name} must be finite, got {bad} NaN or infinite value{'s' * (bad > 1)}")

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Three parts of one classification problem. Labels are 0 ... classes-1; source says where the rows come from.

    Raises ValueError where a label is out of range, rows differ in shape, or one row lies in two parts.
    """

    name: str
    train: Split
    validation: Split
    test: Split
    classes: int
    source: str

    def __post_init__(self) -> None:
        owner: dict[bytes, str] = {}
        for part, split in self.parts().items():
            if split.x.shape[1:] != self.train.x.shape[1:]:
                raise ValueError(
                    f"{self.name}: rows of {part} must have shape {tuple(self.train.x.shape[1:])} as in train, "
                    f"got {tuple(split.x.shape[1:])}"
                )
            if split.y.dtype != torch.int64 or split.y.ndim != 1:
                raise ValueError(f"{self.name}: labels of {part} must be int64 of shape (n,), got {split.y.dtype}")
            if not 0 <= int(split.y.min()) <= int(split.y.max()) < self.classes:
                raise ValueError(
                    f"{self.name}: labels of {part} must be 0 to {self.classes - 1}, "
                    f"got {int(split.y.min())} to {int(split.y.max())}"
                )
            for row in _rows(split.x.numpy(force=True)):
                if owner.setdefault(row, part) != part:
                    raise ValueError(f"{self.name}: {owner[row]} and {part} must not share a row, but they do")

    def parts(self) -> dict[str, Split]:
        return {"train": self.train, "validation": self.validation, "test": self.test}


def minibatches(n: int, size: int, *, generator: torch.Generator, replacement: bool = False) -> tuple[Tensor, ...]:
    """One epoch of row numbers below n, in batches of `size` (the last may be smaller): int64 tensors.

    Without replacement each row comes once, in random order; with it n rows are drawn independently.
    """
    if n < 1 or size < 1:
        raise ValueError(f"minibatches: n and size must be at least 1, got {n=}, {size=}")
    order = torch.randint(n, (n,), generator=generator) if replacement else torch.randperm(n, generator=generator)
    return order.split(size)


def with_label_noise(data: Dataset, share: float, *, seed: int = 0) -> Dataset:
    """The data set with this share of its training labels replaced by random ones, each of which may be the old label.

    Raises ValueError for a share outside [0, 1].
    """
    if not 0 <= share <= 1:
        raise ValueError(f"with_label_noise: share must be from 0 to 1, got {share}")
    generator, y = torch.Generator().manual_seed(seed), data.train.y
    hit = torch.rand(len(y), generator=generator) < share
    random_labels = torch.randint(data.classes, y.shape, generator=generator)
    return replace(data, train=Split(data.train.x, torch.where(hit, random_labels, y)))


def digits(seed: int = 0) -> Dataset:
    """1797 handwritten digits, 8 x 8 pixels: x (n, 64); 1077 rows to train, 360 to validate, 360 to test.

    "Optical Recognition of Handwritten Digits", test part (Alpaydin & Kaynak 1998, UCI), from scikit-learn's wheel.
    No two images are equal, but the same 13 writers are in all three parts: accuracy here is for known hands.
    `seed` draws the division.
    """
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    source = "UCI Optical Recognition of Handwritten Digits (CC BY 4.0), as shipped with scikit-learn"
    return _dataset("digits", *_divide(x, y, (1077, 360, 360), seed), classes=10, source=source)


def mnist1d(seed: int = 0) -> Dataset:
    """MNIST-1D (Greydanus & Kobak 2024): ten shapes shifted, sheared, noised: x (n, 40); 3200 / 800 / 1000 rows.

    The package mnist1d generates them with its own fixed seed, in a few seconds at the first call of a process. The
    test part is the published one; `seed` divides the rest into training and validation. Nothing is downloaded.
    """
    source = "generated by the package mnist1d (Apache-2.0)"
    return _dataset("mnist1d", *_hold_out(*_mnist1d(), 800, seed), classes=10, source=source)


def moons(n: int = 100, noise: float = 0.1, seed: int = 0) -> Dataset:
    """Two interleaved half circles in the plane: x (n, 2), y 0 or 1, half of each; n rows in each of the three parts.

    `noise` is the standard deviation added to each coordinate, where the circles have radius 1.
    """
    if n < 2 or not 0 <= noise < math.inf:
        raise ValueError(f"moons: n must be at least 2 and noise at least 0 and finite, got {n=}, {noise=}")
    rng = np.random.default_rng(seed)

    def part() -> Part:
        y, t = np.arange(n) % 2, rng.uniform(0, np.pi, n)
        upper, lower = np.stack([np.cos(t), np.sin(t)], 1), np.stack([1 - np.cos(t), 0.5 - np.sin(t)], 1)
        return np.where(y[:, None] == 0, upper, lower) + noise * rng.standard_normal((n, 2)), y

    return _dataset("moons", part(), part(), part(), classes=2, source="generated")


def mnist(seed: int = 0, root: str | Path = "~/.cache/course_lib") -> Dataset:
    """MNIST (LeCun et al. 1998) where torchvision and its files under `root` are present: x (n, 1, 28, 28)."""
    return _vision("mnist", "MNIST", seed, root)


def cifar10(seed: int = 0, root: str | Path = "~/.cache/course_lib") -> Dataset:
    """CIFAR-10 (Krizhevsky 2009) where torchvision and its files under `root` are present: x (n, 3, 32, 32)."""
    return _vision("cifar10", "CIFAR10", seed, root)


LOADERS: dict[str, Callable[..., Dataset]] = {f.__name__: f for f in (digits, mnist1d, moons, mnist, cifar10)}


def load(name: str, **arguments: Any) -> Dataset:
    """The data set of that name; `arguments` go to its function. Raises ValueError where there is no such name."""
    if name not in LOADERS:
        raise ValueError(f"data: there is no data set {name!r}; there are {', '.join(LOADERS)}")
    return LOADERS[name](**arguments)


def _dataset(name: str, *parts: Part, classes: int, source: str) -> Dataset:
    """Each feature less its training mean, all divided by one number, the training deviation about those means.

    One divisor for all features, so that a pixel that is almost never inked is not blown up.
    """
    mean = parts[0][0].mean(0)
    scale = (parts[0][0] - mean).std()
    train, validation, test = (
        Split(torch.from_numpy((x - mean) / scale).float(), torch.from_numpy(np.array(y, dtype=np.int64)))
        for x, y in parts
    )
    return Dataset(name, train, validation, test, classes, source)


def _rows(x: np.ndarray) -> list[bytes]:
    """A fingerprint of each row, equal where the rows are equal."""
    return [blake2b(row, digest_size=16).digest() for row in np.ascontiguousarray(x + 0.0)]  # + 0.0: -0 is 0


def _divide(x: np.ndarray, y: np.ndarray, sizes: tuple[int, ...], seed: int) -> list[Part]:
    """Parts of about these sizes. Equal rows stay together: the groups are shuffled and cut, not the rows."""
    first: dict[bytes, int] = {}
    group = np.array([first.setdefault(row, len(first)) for row in _rows(x)])
    rank = np.random.default_rng(seed).permutation(len(first))[group]
    order = np.argsort(rank, kind="stable")
    cuts = [int(np.searchsorted(rank[order], rank[order][cut])) for cut in np.cumsum(sizes)[:-1]]
    return [(x[part], y[part]) for part in np.split(order, cuts)]


def _hold_out(pool: Part, test: Part, validation: int, seed: int) -> list[Part]:
    """Keep a published test part; divide the rest, less the rows that are also in the test."""
    known = set(_rows(test[0]))
    fresh = np.array([row not in known for row in _rows(pool[0])])
    rest = int(fresh.sum()) - validation
    return [*_divide(pool[0][fresh], pool[1][fresh], (rest, validation), seed), test]


@lru_cache(maxsize=1)
def _mnist1d() -> tuple[Part, Part]:
    from mnist1d.data import get_dataset_args, make_dataset

    states = random.getstate(), np.random.get_state()  # noqa: NPY002 - the package seeds the global generators
    try:
        made = make_dataset(get_dataset_args())
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
    return (made["x"], made["y"]), (made["x_test"], made["y_test"])


def _vision(name: str, torchvision_name: str, seed: int, root: str | Path) -> Dataset:
    root = Path(root).expanduser()
    try:
        source = getattr(importlib.import_module("torchvision.datasets"), torchvision_name)
    except (ImportError, RuntimeError):  # RuntimeError: a build for another torch
        raise RuntimeError(
            f"{name} needs torchvision, which is not installed, or not for torch {torch.__version__}: "
            'pip install "course_lib[vision]"'
        ) from None
    try:
        published = [source(root, train=train, download=False) for train in (True, False)]
    except RuntimeError:
        raise RuntimeError(
            f"{name}: its files are not under {root} and are never downloaded here; "
            f"torchvision.datasets.{torchvision_name}({str(root)!r}, download=True) fetches them"
        ) from None
    pool, test = (_images_first(part) for part in published)
    parts = _hold_out(pool, test, len(pool[0]) // 6, seed)
    return _dataset(name, *parts, classes=10, source=f"torchvision.datasets.{torchvision_name}")


def _images_first(part: Any) -> Part:
    """A torchvision data set as (n, channels, height, width) from 0 to 1, and its labels."""
    images = np.asarray(part.data, dtype=np.float32) / 255
    return images[:, None] if images.ndim == 3 else images.transpose(0, 3, 1, 2), np.asarray(part.targets)
