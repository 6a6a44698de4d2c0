# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters from operators of ATen to Relax.

A converter is called with the node and with the arguments of the operator, tensors as values and
sizes as expressions. The sizes of the result are in the node, so what an operator says about shapes
is not computed again.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from mlir import ir

from ... import op
from ...core.dtypes import dtype_name
from ...core.expr import const
from ...core.ir import Dim
from .shapes import as_shape

Converter = Callable[..., Any]

CONVERTERS: dict[str, Converter] = {}


@dataclasses.dataclass(frozen=True)
class Graph:
    """A node of the graph, as a converter sees it.

    Attributes
    ----------
    node : torch.fx.Node
    """

    node: torch.fx.Node

    @property
    def shape(self) -> list[Dim]:
        """The shape of the result."""
        return as_shape(self.node.meta["val"].shape)

    @property
    def dtype(self) -> str:
        """The data type of the result, of the first one where there are several."""
        value = self.node.meta["val"]
        return dtype_name((value[0] if isinstance(value, (tuple, list)) else value).dtype)

    def shape_of(self, argument: int) -> list[Dim]:
        """Return the shape of a tensor among the arguments."""
        return as_shape(self._meta(argument).shape)

    def rank_of(self, argument: int) -> int:
        """Return the number of dimensions of a tensor among the arguments."""
        return self._meta(argument).dim()

    def _meta(self, argument: int) -> torch.Tensor:
        return self.node.args[argument].meta["val"]


def converts(*names: str) -> Callable[[Converter], Converter]:
    """Register the converter of some operators."""

    def register(converter: Converter) -> Converter:
        for name in names:
            CONVERTERS[f"aten.{name}"] = converter
        return converter

    return register


def cast(value: Any, dtype: str) -> ir.Value:
    """Return a tensor, or a number, as one of a data type."""
    if not isinstance(value, ir.Value) and not hasattr(value, "struct_info"):
        if isinstance(value, Dim):
            raise NotImplementedError("sizes as elements of tensors")
        return const(value, dtype)
    return op.astype(value, dtype)


# -- elementwise --------------------------------------------------------------------------------

_UNARY: dict[str, Converter] = {
    "abs": op.abs,
    "ceil": op.ceil,
    "cos": op.cos,
    "erf": op.erf,
    "exp": op.exp,
    "floor": op.floor,
    "log": op.log,
    "logical_not": op.logical_not,
    "neg": op.negative,
    "relu": op.nn.relu,
    "round": op.round,
    "rsqrt": op.rsqrt,
    "sigmoid": op.sigmoid,
    "sign": op.sign,
    "silu": op.nn.silu,
    "sin": op.sin,
    "sqrt": op.sqrt,
    "tanh": op.tanh,
}
_BINARY: dict[str, Converter] = {
    "div": op.divide,
    "maximum": op.maximum,
    "minimum": op.minimum,
    "mul": op.multiply,
    "pow": op.power,
    "logical_and": op.logical_and,
    "logical_or": op.logical_or,
}
_COMPARISONS: dict[str, Converter] = {
    "eq": op.equal,
    "ge": op.greater_equal,
    "gt": op.greater,
    "le": op.less_equal,
    "lt": op.less,
    "ne": op.not_equal,
}


def _unary(operator: Converter) -> Converter:
    def convert(graph: Graph, x: ir.Value) -> ir.Value:
        return operator(cast(x, graph.dtype))

    return convert


def _binary(operator: Converter) -> Converter:
    def convert(graph: Graph, x: Any, y: Any, **options: Any) -> ir.Value:
        if any(option is not None for option in options.values()):
            raise NotImplementedError(f"options {options}")
        return operator(cast(x, graph.dtype), cast(y, graph.dtype))

    return convert


def _comparison(operator: Converter) -> Converter:
    def convert(graph: Graph, x: Any, y: Any) -> ir.Value:
        values = [
            node.meta["val"] if isinstance(node, torch.fx.Node) else node
            for node in graph.node.args
        ]
        dtype = dtype_name(torch.result_type(*values))
        return operator(cast(x, dtype), cast(y, dtype))

    return convert


for _name, _operator in _UNARY.items():
    converts(f"{_name}.default", f"{_name}_.default")(_unary(_operator))
for _name, _operator in _BINARY.items():
    for _kind in ("Tensor", "Scalar", "Tensor_Tensor", "Tensor_Scalar", "default"):
        converts(f"{_name}.{_kind}")(_binary(_operator))
for _name, _operator in _COMPARISONS.items():
    converts(f"{_name}.Tensor", f"{_name}.Scalar")(_comparison(_operator))


@converts("add.Tensor", "add.Scalar", "add_.Tensor", "sub.Tensor", "sub.Scalar", "rsub.Scalar")
def _add(graph: Graph, x: Any, y: Any, alpha: float = 1) -> ir.Value:
    x, y = cast(x, graph.dtype), cast(y, graph.dtype)
    kind = str(graph.node.target).split(".")[1]
    if kind == "rsub":
        x, y = y, x
    if alpha != 1:
        y = op.multiply(y, const(alpha, graph.dtype))
    return op.add(x, y) if kind.startswith("add") else op.subtract(x, y)


@converts("reciprocal.default")
def _reciprocal(graph: Graph, x: ir.Value) -> ir.Value:
    return op.divide(const(1, graph.dtype), cast(x, graph.dtype))


@converts("square.default")
def _square(graph: Graph, x: ir.Value) -> ir.Value:
    return op.multiply(x, x)


@converts("gelu.default")
def _gelu(graph: Graph, x: ir.Value, approximate: str = "none") -> ir.Value:
    return op.nn.gelu(x) if approximate == "none" else op.nn.gelu_tanh(x)


@converts("clamp.default", "hardtanh.default")
def _clamp(graph: Graph, x: ir.Value, low: Any = None, high: Any = None) -> ir.Value:
    x = cast(x, graph.dtype)
    if low is not None:
        x = op.maximum(x, const(low, graph.dtype))
    return x if high is None else op.minimum(x, const(high, graph.dtype))


@converts("clamp_min.default")
def _clamp_min(graph: Graph, x: ir.Value, low: Any) -> ir.Value:
    return _clamp(graph, x, low)


@converts("leaky_relu.default")
def _leaky_relu(graph: Graph, x: ir.Value, slope: float = 0.01) -> ir.Value:
    return op.where(
        op.greater(x, const(0, graph.dtype)), x, op.multiply(x, const(slope, graph.dtype))
    )


@converts("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _where(graph: Graph, condition: ir.Value, x: Any, y: Any) -> ir.Value:
    return op.where(condition, cast(x, graph.dtype), cast(y, graph.dtype))


@converts("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(graph: Graph, x: ir.Value, mask: ir.Value, value: Any) -> ir.Value:
    return op.where(mask, cast(value, graph.dtype), x)


@converts(
    "_to_copy.default", "to.dtype", "to.dtype_layout", "type_as.default", "float.default",
    "half.default",
)  # fmt: skip
def _astype(graph: Graph, x: ir.Value, *_: Any, **__: Any) -> ir.Value:
    return cast(x, graph.dtype)


@converts(
    "alias.default", "clone.default", "contiguous.default", "detach.default", "dropout.default",
    "lift_fresh_copy.default", "detach_.default",
)  # fmt: skip
def _identity(graph: Graph, x: ir.Value, *arguments: Any, **_: Any) -> Any:
    if "dropout" in str(graph.node.target) and arguments[-1]:
        raise NotImplementedError("dropout in training: export the model after model.eval()")
    return x


# -- reductions ---------------------------------------------------------------------------------


def _reduction(operator: Converter) -> Converter:
    def convert(
        graph: Graph, x: ir.Value, axis: Any = None, keepdims: bool = False, dtype: Any = None
    ) -> ir.Value:
        return operator(cast(x, graph.dtype), axis if axis != [] else None, keepdims)

    return convert


_REDUCTIONS: dict[str, Converter] = {"sum": op.sum, "mean": op.mean, "amax": op.max, "amin": op.min}
for _name, _operator in _REDUCTIONS.items():
    _convert = _reduction(_operator)
    converts(f"{_name}.default", f"{_name}.dim", f"{_name}.dim_IntList")(_convert)


@converts("softmax.int", "_softmax.default")
def _softmax(graph: Graph, x: ir.Value, axis: int, *_: Any, **__: Any) -> ir.Value:
    return op.nn.softmax(cast(x, graph.dtype), axis)


@converts("log_softmax.int", "_log_softmax.default")
def _log_softmax(graph: Graph, x: ir.Value, axis: int, *_: Any, **__: Any) -> ir.Value:
    return op.nn.log_softmax(cast(x, graph.dtype), axis)


@converts("layer_norm.default")
def _layer_norm(
    graph: Graph, x: ir.Value, normalized: Sequence[Any], weight: Any = None, bias: Any = None,
    epsilon: float = 1e-5, *_: Any,
) -> ir.Value:  # fmt: skip
    axes = list(range(-len(normalized), 0))
    sizes = graph.shape[-len(normalized) :]
    gamma = op.ones(sizes, graph.dtype) if weight is None else weight
    beta = op.zeros(sizes, graph.dtype) if bias is None else bias
    return op.nn.layer_norm(x, gamma, beta, axes, epsilon)


@converts("batch_norm.default")
def _batch_norm(
    graph: Graph, x: ir.Value, weight: Any, bias: Any, mean: ir.Value, variance: ir.Value,
    training: bool, momentum: float, epsilon: float, *_: Any,
) -> ir.Value:  # fmt: skip
    if training:
        raise NotImplementedError("batch_norm in training: export the model after model.eval()")
    rank = graph.rank_of(0)

    def along_channels(value: ir.Value) -> ir.Value:
        return op.expand_dims(value, list(range(1, rank - 1))) if rank > 2 else value

    scale = op.rsqrt(op.add(variance, const(epsilon, graph.dtype)))
    if weight is not None:
        scale = op.multiply(scale, weight)
    shift = op.negative(op.multiply(mean, scale))
    if bias is not None:
        shift = op.add(shift, bias)
    return op.add(op.multiply(x, along_channels(scale)), along_channels(shift))


@converts("_native_batch_norm_legit_no_training.default")
def _native_batch_norm(
    graph: Graph, x: ir.Value, weight: Any, bias: Any, mean: ir.Value, variance: ir.Value,
    momentum: float, epsilon: float,
) -> list[Any]:  # fmt: skip
    return [_batch_norm(graph, x, weight, bias, mean, variance, False, momentum, epsilon)]


# -- linear algebra -----------------------------------------------------------------------------


@converts("linear.default")
def _linear(graph: Graph, x: ir.Value, weight: ir.Value, bias: Any = None) -> ir.Value:
    result = op.matmul(x, op.permute_dims(weight))
    return result if bias is None else op.add(result, bias)


@converts("matmul.default", "mm.default", "bmm.default", "mv.default", "dot.default")
def _matmul(graph: Graph, x: ir.Value, y: ir.Value) -> ir.Value:
    return op.matmul(x, y)


@converts("addmm.default", "baddbmm.default")
def _addmm(
    graph: Graph, bias: ir.Value, x: ir.Value, y: ir.Value, beta: float = 1, alpha: float = 1
) -> ir.Value:
    product = op.matmul(x, y)
    if alpha != 1:
        product = op.multiply(product, const(alpha, graph.dtype))
    if beta != 1:
        bias = op.multiply(bias, const(beta, graph.dtype))
    return op.add(product, bias)


@converts("scaled_dot_product_attention.default")
def _attention(
    graph: Graph, query: ir.Value, key: ir.Value, value: ir.Value, mask: Any = None,
    dropout: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
    enable_gqa: bool = False,
) -> ir.Value:  # fmt: skip
    if dropout:
        raise NotImplementedError("attention with dropout: decompose it")
    rank = graph.rank_of(0)
    if mask is not None and mask.struct_info.dtype == "bool":
        mask = op.where(mask, const(0, graph.dtype), const(float("-inf"), graph.dtype))
    if is_causal or enable_gqa:
        if rank != 4 or mask is not None:
            raise NotImplementedError(
                "attention that is causal or grouped, with a mask or not of rank 4: decompose it"
            )
        axes = [0, 2, 1, 3]
        query, key, value = (op.permute_dims(x, axes) for x in (query, key, value))
        causal = "TopLeft" if is_causal else None
        attended = op.nn.attention(query, key, value, scale=scale, causal_mask=causal)
        return op.permute_dims(attended, axes)
    if scale is None:
        width = graph.shape_of(0)[-1].value
        if width is None:
            raise NotImplementedError("attention over a dynamic width without a scale")
        scale = width**-0.5
    order = [*range(rank - 2), rank - 1, rank - 2]
    scores = op.matmul(op.multiply(query, const(scale, graph.dtype)), op.permute_dims(key, order))
    if mask is not None:
        scores = op.add(scores, mask)
    return op.matmul(op.nn.softmax(scores, -1), value)


# -- shapes -------------------------------------------------------------------------------------


@converts(
    "view.default", "reshape.default", "_unsafe_view.default", "flatten.using_ints",
    "unflatten.int", "squeeze.default", "squeeze.dim", "squeeze.dims", "unsqueeze.default",
)  # fmt: skip
def _reshape(graph: Graph, x: ir.Value, *_: Any) -> ir.Value:
    return op.reshape(x, graph.shape)


@converts("permute.default")
def _permute(graph: Graph, x: ir.Value, axes: Sequence[int]) -> ir.Value:
    return op.permute_dims(x, axes)


@converts("transpose.int")
def _transpose(graph: Graph, x: ir.Value, first: int, second: int) -> ir.Value:
    axes = list(range(graph.rank_of(0)))
    axes[first], axes[second] = axes[second], axes[first]
    return op.permute_dims(x, axes)


@converts("t.default", "numpy_T.default")
def _t(graph: Graph, x: ir.Value) -> ir.Value:
    return op.permute_dims(x)


@converts("expand.default", "expand_as.default")
def _expand(graph: Graph, x: ir.Value, *_: Any, **__: Any) -> ir.Value:
    return op.broadcast_to(x, graph.shape)


@converts("copy.default")
def _copy(graph: Graph, _: Any, source: ir.Value, non_blocking: bool = False) -> ir.Value:
    source = cast(source, graph.dtype)
    same = list(map(str, graph.shape_of(1))) == list(map(str, graph.shape))
    return source if same else op.broadcast_to(source, graph.shape)


@converts("slice_scatter.default")
def _slice_scatter(graph: Graph, *_: Any) -> ir.Value:
    raise NotImplementedError("a slice that is not written into an input")


@converts("cat.default")
def _cat(graph: Graph, tensors: Sequence[ir.Value], axis: int = 0) -> ir.Value:
    return op.concat([cast(tensor, graph.dtype) for tensor in tensors], axis)


@converts("stack.default")
def _stack(graph: Graph, tensors: Sequence[ir.Value], axis: int = 0) -> ir.Value:
    axis += len(graph.shape) if axis < 0 else 0
    return op.concat([op.expand_dims(tensor, axis) for tensor in tensors], axis)


@converts("chunk.default", "split.Tensor", "split_with_sizes.default", "split.default")
def _split(graph: Graph, x: ir.Value, parts: Any, axis: int = 0) -> list[ir.Value]:
    axis += graph.rank_of(0) if axis < 0 else 0
    sizes = [as_shape(part.shape)[axis].value for part in graph.node.meta["val"]]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        raise NotImplementedError("parts of dynamic size")
    places = list(itertools.accumulate(known))[:-1]
    if not places:
        return [x]
    pieces = op.split(x, places, axis)
    return [pieces[i] for i in range(len(sizes))]


@converts("embedding.default")
def _embedding(graph: Graph, weight: ir.Value, indices: ir.Value, *_: Any) -> ir.Value:
    flat = op.reshape(indices, [functools.reduce(lambda a, b: a * b, graph.shape[:-1], Dim(1))])
    return op.reshape(op.take(weight, flat, axis=0), graph.shape)


@converts("full.default", "full_like.default")
def _full(graph: Graph, _: Any, value: Any, **__: Any) -> ir.Value:
    return op.full(graph.shape, const(value, graph.dtype), graph.dtype)


@converts("zeros.default", "zeros_like.default")
def _zeros(graph: Graph, *_: Any, **__: Any) -> ir.Value:
    return op.zeros(graph.shape, graph.dtype)


@converts("ones.default", "ones_like.default")
def _ones(graph: Graph, *_: Any, **__: Any) -> ir.Value:
    return op.ones(graph.shape, graph.dtype)
