"""Models of one architecture side by side: their weights stacked, one vmapped step and one vmapped measurement."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap
from torch.utils._pytree import tree_leaves, tree_map

from course_lib.data import Split
from course_lib.optim import Transform, apply_steps
from course_lib.train.loop import Loss
from course_lib.train.replay import bytes_made, record

Named = dict[str, Tensor]
CACHED = 2**18
"""Numbers: of more, a vector of all parameters of all runs leaves the cache, and several shorter ones are faster."""


class Training(NamedTuple):
    """n runs at one moment; every tensor begins with a dimension n.

    hyper: what the transform is made of. params: what is trained. buffers: what is not. state: the transform's.
    """

    hyper: Named
    params: Named
    buffers: Named
    state: Any


class Stack:
    """Arguments as in `fit_many`, which says what is raised."""

    def __init__(
        self,
        models: nn.Module | Sequence[nn.Module],
        loss: Loss,
        make_transform: Callable[..., Transform],
        hyper: Mapping[str, Any],
        seeds: int | Sequence[int],
        metrics: Mapping[str, Loss],
    ):
        self.models = [models] if isinstance(models, nn.Module) else list(models)
        _refuse_unlike(self.models)
        swept = {name: values for name, values in hyper.items() if _is_many(values)}
        fixed = {name: value for name, value in hyper.items() if name not in swept}
        self.runs = _common_length(
            {"models": self.models, "seeds": seeds, **{f"hyper[{k!r}]": v for k, v in swept.items()}}
        )
        for i in range(self.runs):
            made = make_transform(**fixed, **{name: _number(values[i]) for name, values in swept.items()})
            if not isinstance(made, Transform):
                raise TypeError(f"fit_many: make_transform must return a Transform, got {type(made).__name__}")
        trained = [p for p in self.models[0].parameters() if p.requires_grad]
        small = self.runs * sum(p.numel() for p in trained) <= CACHED
        self.flat = made.rule is not None and small and len({p.dtype for p in trained}) == 1
        self.shapes = [p.shape for p in trained]
        self.swept = {name: torch.as_tensor(v, dtype=torch.float64) for name, v in swept.items()}
        self.make_transform, self.loss, self.metrics = partial(make_transform, **fixed), loss, {"loss": loss, **metrics}
        self.seeds = seeds
        self.data_dim = None if isinstance(seeds, int) else 0  # batches are the same for all runs, or each run's own
        self.train_net = copy.deepcopy(self.models[0]).to("meta").train()  # only the forward passes are wanted
        self.eval_net = copy.deepcopy(self.train_net).eval()
        self.recorded: dict[tuple[int, ...], Callable[..., tuple[Training, Tensor]]] = {}

    def generators(self, runs: range) -> list[torch.Generator]:
        """Of the order of the batches: one for each run, or the only one."""
        seeds = [self.seeds] if isinstance(self.seeds, int) else [self.seeds[i] for i in runs]
        return [torch.Generator().manual_seed(seed) for seed in seeds]

    def start(self, runs: range) -> Training:
        models = self.models if len(self.models) == 1 else [self.models[i] for i in runs]
        trained, held = [], []
        for model in models:
            named = dict(model.named_parameters())
            trained.append({name: p.detach() for name, p in named.items() if p.requires_grad})
            held.append({name: p.detach() for name, p in named.items() if not p.requires_grad})
            held[-1] |= dict(model.named_buffers())
        hyper = {name: values[runs.start : runs.stop] for name, values in self.swept.items()}
        params, buffers = _stacked(trained, len(runs)), _stacked(held, len(runs))
        state = vmap(lambda h, p: self.make_transform(**h).init(self._packed(p)))(hyper, params)
        device = next(iter(params.values())).device
        return Training(*tree_map(lambda t: t.to(device), (hyper, params, buffers, state)))

    def batch(self, split: Split, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The rows (generators, batch) of a split, as x and y for `step`."""
        shape = rows.shape[1:] if self.data_dim is None else rows.shape
        rows = rows.flatten().to(split.x.device)
        x, y = (part.index_select(0, rows).unflatten(0, shape) for part in (split.x, split.y))
        return x, y

    def step(self, training: Training, x: Tensor, y: Tensor) -> tuple[Training, Tensor]:
        """One update of each run, and (n,) the losses before it. x: (n, batch, ...), or (batch, ...) where shared."""
        shapes = (*tree_leaves(training.params)[0].shape, *x.shape)
        if shapes not in self.recorded:
            self.recorded[shapes] = record(self._step, training, x, y).replay
        return self.recorded[shapes](training, x, y)

    def measure(self, training: Training, split: Split) -> Named:
        """{"loss": (n,), name: (n,)} on all rows of a split, in eval mode."""

        def one(params: Named, buffers: Named) -> Named:
            outputs = functional_call(self.eval_net, {**params, **buffers}, (split.x,))
            return {name: measure(outputs, split.y) for name, measure in self.metrics.items()}

        with torch.no_grad():
            return vmap(one, randomness="different")(training.params, training.buffers)

    def bytes_a_run(self, train: Split, validation: Split | None, batch: int) -> int:
        """An upper bound: a run's state, its batch, and all that a step, or a measurement where that is more, makes."""
        with _values_unseen():
            training = self.start(range(1))
            x, y = self.batch(train, torch.arange(min(batch, len(train)))[None])
            made = bytes_made(self._step, training, x, y)
            if validation is not None:
                made = max(made, bytes_made(self.measure, training, validation))
        return made + sum(t.numel() * t.element_size() for t in tree_leaves((training, x, y)))

    def _step(self, training: Training, x: Tensor, y: Tensor) -> tuple[Training, Tensor]:
        return vmap(self._step_of_one, (0, self.data_dim, self.data_dim), randomness="different")(training, x, y)

    def _step_of_one(self, training: Training, x: Tensor, y: Tensor) -> tuple[Training, Tensor]:
        hyper, params, buffers, state = training

        def objective(params: Named) -> tuple[Tensor, Named]:
            after = {name: b.clone() for name, b in buffers.items()}  # a forward pass may write to them
            error = self.loss(functional_call(self.train_net, {**params, **after}, (x,)), y)
            if error.ndim:
                raise ValueError(f"fit_many: loss must return one number, shape (), got {tuple(error.shape)}")
            return error, after

        grads, (error, buffers) = grad_and_value(objective, has_aux=True)(params)
        before = list(params.values())
        steps, state = self.make_transform(**hyper).update(self._packed(grads), state, self._packed(params))
        moved = [p.to(b.dtype) for p, b in zip(apply_steps(before, self._unpacked(steps)), before, strict=True)]
        return Training(hyper, dict(zip(params, moved, strict=True)), buffers, state), error

    def _packed(self, named: Named) -> list[Tensor]:
        """A run's tensors, joined to one vector where the transform works entry by entry: fewer operations."""
        return [torch.cat([t.flatten() for t in named.values()])] if self.flat else list(named.values())

    def _unpacked(self, steps: list[Tensor]) -> list[Tensor]:
        if not self.flat:
            return steps
        parts = steps[0].split([shape.numel() for shape in self.shapes])
        return [part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)]


def _stacked(parts: Sequence[Named], n: int) -> Named:
    """Each name's tensors as one (n, ...): of n parts, or of a single one n times."""
    return {
        name: torch.stack([part[name] for part in parts]).expand(n, *first.shape).clone()
        for name, first in parts[0].items()
    }


@contextmanager
def _values_unseen() -> Iterator[None]:
    """What vmap says to code that looks at a value, as a sentence that names whose code it is."""
    try:
        yield
    except RuntimeError as error:
        if "vmap" not in str(error):
            raise
        raise ValueError(
            f"fit_many: model, loss, metrics and make_transform must not look at a tensor's value: {error}"
        ) from error


def _is_many(value: Any) -> bool:
    return (isinstance(value, Sequence) and not isinstance(value, str)) or getattr(value, "ndim", 0) == 1


def _number(value: Any) -> Any:
    """The number in an entry of a tensor or an array, so that the transform can check it."""
    return value.item() if hasattr(value, "item") else value


def _common_length(given: Mapping[str, Any]) -> int:
    """The number of runs: that of every sequence given, one model or one seed standing for any number."""
    lengths = {name: len(v) for name, v in given.items() if _is_many(v) and not (name == "models" and len(v) == 1)}
    if len(set(lengths.values())) > 1 or 0 in lengths.values():
        counts = ", ".join(f"{length} in {name}" for name, length in lengths.items())
        raise ValueError(f"fit_many: models, hyper and seeds must agree on the number of runs, got {counts}")
    return next(iter(lengths.values()), 1)


def _refuse_unlike(models: Sequence[nn.Module]) -> None:
    if not models or not all(isinstance(model, nn.Module) for model in models):
        raise TypeError(f"fit_many: models must be a module or a sequence of modules, got {models!r}")

    def build(model: nn.Module) -> tuple[str, dict[str, tuple]]:
        named = [*model.named_parameters(), *model.named_buffers()]
        return repr(model), {name: (t.shape, t.dtype, t.requires_grad) for name, t in named}

    for i, model in enumerate(models):
        if build(model) != build(models[0]):
            raise ValueError(
                f"fit_many: models must be equal but for their weights, but models[{i}] is not as models[0]"
            )
    if not any(p.requires_grad for p in models[0].parameters()):
        raise ValueError("fit_many: models must hold a parameter that requires a gradient, got none")
