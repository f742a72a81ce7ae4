"""Record the tensor operations of a pure function once; run them again with no autograd or vmap in between."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

aten = torch.ops.aten
IN_PLACE = {
    aten.add.Tensor: aten.add_.Tensor,
    aten.sub.Tensor: aten.sub_.Tensor,
    aten.mul.Tensor: aten.mul_.Tensor,
    aten.div.Tensor: aten.div_.Tensor,
    aten.neg.default: aten.neg_.default,
    aten.sqrt.default: aten.sqrt_.default,
    aten.clamp_min.default: aten.clamp_min_.default,
}
OWNED = {*IN_PLACE, aten.bmm.default, aten.threshold_backward.default}
"""Operations whose result shares its memory with nothing."""


class Recording(NamedTuple):
    """replay(*args): what the function does, for arguments of the recorded shapes. graph: its operations, in order."""

    replay: Callable[..., Any]
    graph: fx.Graph


def record(function: Callable[..., Any], *args: Any) -> Recording:
    """Run function(*args), any nesting of tensors in and out, and keep what it does below autograd and vmap.

    A recording knows nothing of Python: branches, shapes and other numbers stay what they were. Random operations draw
    again. Tensors found outside the arguments are seen as they are at the time of a replay. Where the function makes a
    view that the dispatcher does not see, as by way of numpy, replay is the function itself.
    """
    leaves, nesting = tree_flatten(args)
    inputs = [leaf.detach().contiguous() for leaf in leaves]  # one tensor given twice is two arguments
    recorder = _Recorder(inputs)
    with torch.no_grad(), recorder:
        result = function(*tree_unflatten(inputs, nesting))
    outputs, shape = tree_flatten(result)
    recorder.graph.output([recorder.node(t) for t in outputs])
    recorder.graph.eliminate_dead_code()
    _overwrite(recorder.graph)
    run = fx.GraphModule(recorder.constants, recorder.graph)

    @torch.no_grad()
    def replay(*args: Any) -> Any:
        return tree_unflatten(run(*[leaf.contiguous() for leaf in tree_leaves(args)]), shape)

    return Recording(function if recorder.blind else replay, recorder.graph)


def bytes_made(function: Callable[..., Any], *args: Any) -> int:
    """Of all the tensors that function(*args) makes: what recording it holds at one time, and a replay at most."""
    with torch.no_grad(), _Counter([a for a in tree_leaves(args) if isinstance(a, Tensor)]) as counter:
        function(*args)
    return counter.made


class _Counter(TorchDispatchMode):
    """Adds up the memory behind the results of operations; holds them, so that no address comes twice."""

    def __init__(self, inputs: Sequence[Tensor]):
        super().__init__()
        self.seen = {_storage(t): t for t in inputs}
        self.made = 0

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = operation(*args, **(kwargs or {}))
        for t in [out] if isinstance(out, Tensor) else out:
            if isinstance(t, Tensor) and _storage(t) not in self.seen:
                self.seen[_storage(t)] = t
                self.made += t.untyped_storage().nbytes()
        return out


class _Recorder(TorchDispatchMode):
    """Adds each operation on plain tensors to a graph. A tensor is known by its identity, so every one is kept."""

    def __init__(self, inputs: Sequence[Tensor]):
        super().__init__()
        self.graph = fx.Graph()
        self.nodes = {id(t): self.graph.placeholder(f"input_{i}") for i, t in enumerate(inputs)}
        self.kept = list(inputs)
        self.storages = {_storage(t) for t in inputs}
        self.constants: dict[str, Tensor] = {}
        self.blind = False

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        nodes = fx.node.map_aggregate((args, kwargs), lambda a: self.node(a) if isinstance(a, Tensor) else a)
        out = operation(*args, **kwargs)
        if isinstance(out, Tensor) and not operation._schema.is_mutable and _same_view(out, args):
            self._keep(out, nodes[0][0])
            return out
        node = self.graph.call_function(operation, *nodes)
        if isinstance(out, Tensor):
            node.meta["owned"] = (out.shape, out.stride(), out.dtype) if operation in OWNED else None
            self._keep(out, node)
        else:
            for i, part in enumerate(out):
                self._keep(part, self.graph.call_function(operator.getitem, (node, i)))
        return out

    def node(self, t: Tensor) -> fx.Node:
        """Where in the graph this tensor comes from; one not seen before is a constant."""
        if id(t) not in self.nodes:
            self.blind |= t.numel() > 0 and _storage(t) in self.storages
            name = f"constant_{len(self.constants)}"
            self.constants[name] = t
            self.nodes[id(t)] = self.graph.get_attr(name)
        return self.nodes[id(t)]

    def _keep(self, t: Any, node: fx.Node) -> None:
        if isinstance(t, Tensor) and id(t) not in self.nodes:
            self.nodes[id(t)] = node
            self.kept.append(t)
            self.storages.add(_storage(t))


def _overwrite(graph: fx.Graph) -> None:
    """Let an operation write into an argument that nothing reads after it: the same numbers, in less memory."""
    for node in graph.nodes:
        if node.target not in IN_PLACE:
            continue
        commutes = node.target in (aten.add.Tensor, aten.mul.Tensor) and not node.kwargs
        for args in (node.args, node.args[::-1]) if commutes else (node.args,):
            first = args[0]
            free = isinstance(first, fx.Node) and len(first.users) == 1
            if free and first.meta.get("owned") == node.meta["owned"]:
                node.target, node.args = IN_PLACE[node.target], args
                break


def _storage(t: Tensor) -> int:
    return t.untyped_storage().data_ptr()


def _same_view(out: Tensor, args: Sequence[Any]) -> bool:
    """Whether an operation has handed out its first argument as it was, as a view of the same shape does."""
    first = args[0] if args else None
    return isinstance(first, Tensor) and first.dtype == out.dtype and out.is_set_to(first)
