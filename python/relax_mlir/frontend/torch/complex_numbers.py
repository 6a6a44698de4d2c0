# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ATen on complex numbers.

A tensor of complex numbers is a `Complex` inside of a program, a pair of tensors. Operators that
move elements, or are linear, are converted once for each part; the others are here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from mlir import ir

from ... import op
from ...composites import complex_numbers as numbers
from ...composites import fourier
from ...composites.complex_numbers import Complex
from ...core.ir import Dim
from .constants import as_constant
from .registry import (
    CONVERTERS,
    Converter,
    Graph,
    cast,
    converts,
    dtype_of,
    fitted,
    is_float,
    is_tensor,
    number,
)

_CONVERTERS: dict[str, Converter] = {}

# Operators that can be applied to real and imaginary parts, by their names without overloads.
_BY_PART = {
    "_reshape_copy", "_unsafe_index", "_unsafe_index_put", "_unsafe_view", "alias", "as_strided",
    "as_strided_copy", "broadcast_to", "cat", "chunk", "clone", "concat", "concatenate",
    "constant_pad_nd", "contiguous", "copy", "cumsum", "detach", "diagonal", "empty",
    "empty_like", "empty_permuted", "expand", "expand_as", "fill", "flatten", "flip",
    "full", "full_like", "gather", "index", "index_put", "index_select", "lift_fresh",
    "lift_fresh_copy", "masked_fill", "masked_scatter", "mean", "narrow", "narrow_copy", "neg",
    "new_empty", "new_full", "new_zeros", "numpy_T", "pad", "permute", "permute_copy",
    "pixel_shuffle", "pixel_unshuffle", "positive", "put", "reflection_pad1d", "reflection_pad2d",
    "repeat", "repeat_interleave", "replication_pad1d", "replication_pad2d", "reshape",
    "reshape_as", "roll", "scalar_tensor", "scatter", "scatter_add", "select", "select_scatter",
    "slice", "slice_scatter", "split", "split_with_sizes", "squeeze", "stack", "sum", "t", "take",
    "tile", "transpose", "tril", "triu", "unbind", "unbind_copy", "unflatten", "unfold",
    "unsqueeze", "view", "view_as", "view_copy", "where", "zero", "zeros", "zeros_like",
}  # fmt: skip


def _of_complex(*names: str) -> Callable[[Converter], Converter]:
    """Register the converter of operators where an argument or the result is complex."""

    def register(converter: Converter) -> Converter:
        _CONVERTERS.update((f"aten.{name}", converter) for name in names)
        return converter

    return register


def only_complex(*names: str) -> Callable[[Converter], Converter]:
    """Register the converter of operators that exist for complex numbers only."""

    def register(converter: Converter) -> Converter:
        return converts(*names)(_of_complex(*names)(converter))

    return register


def constant_of(tensor: torch.Tensor) -> ir.Value | Complex:
    """Return a tensor of PyTorch, which may be complex, as constants."""
    if not tensor.is_complex():
        return as_constant(tensor)
    pairs = real_view(tensor.detach())
    return Complex(as_constant(pairs[..., 0]), as_constant(pairs[..., 1]))


def is_complex(value: Any) -> bool:
    """Say whether a value of PyTorch is a tensor of complex numbers."""
    return isinstance(value, torch.Tensor) and value.is_complex()


def real_view(value: Any) -> Any:
    """Return a tensor of complex numbers as pairs, other values as they are."""
    return torch.view_as_real(value.resolve_conj()) if is_complex(value) else value


def as_pairs(value: Any) -> Any:
    """Return complex numbers as parameters and results have them, other values as they are."""
    return numbers.pairs_of(value) if isinstance(value, Complex) else value


def is_of_complex(graph: Graph, arguments: Iterable[Any]) -> bool:
    """Say whether a node has complex numbers as arguments or as a result."""
    return graph.is_complex or any(map(_has_complex, arguments))


def _has_complex(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_complex, value))
    return isinstance(value, (Complex, complex))


def convert_complex(graph: Graph, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
    """Convert an operator on complex numbers, with the converter of real ones where it will do.

    Raises
    ------
    NotImplementedError
        If there is no conversion of the operator for complex numbers.
    """
    name = str(graph.node.target)
    if name in _CONVERTERS:
        return _CONVERTERS[name](graph, *arguments, **named)
    if graph.kind not in _BY_PART:
        raise NotImplementedError("it is not converted for complex numbers")
    parts = [_split(graph, i, one) for i, one in enumerate(arguments)]
    results = [
        CONVERTERS[name](graph, *(_part(one, which) for one in parts), **named)
        for which in ("real", "imag")
    ]
    if not graph.is_complex:  # as of zeros_like with a data type
        return results[0]
    if isinstance(results[0], list):
        return [Complex(*parts) for parts in zip(*results, strict=True)]
    return Complex(*results)


def _split(graph: Graph, place: int, value: Any) -> Any:
    """Return an argument, whose numbers are complex if they are elements of tensors."""
    if isinstance(value, (list, tuple)):
        return [_split(graph, place, one) for one in value]
    if is_tensor(value):
        return numbers.of_real(value) if is_float(dtype_of(value)) else value
    kind = str(graph.node.target._schema.arguments[place].type)
    is_element = isinstance(value, (int, float)) and ("number" in kind or "float" in kind)
    return complex(value) if is_element else value


def _part(value: Any, name: str) -> Any:
    """Return the real or imaginary parts of an argument, what has none as it is."""
    if isinstance(value, list):
        return [_part(one, name) for one in value]
    return getattr(value, name) if isinstance(value, (Complex, complex)) else value


def _operand(graph: Graph, value: Any) -> Any:
    """Return an operand of an operator on elements, complex or real, with parts of one type."""
    if isinstance(value, complex):
        return numbers.of_number(value, graph.dtype)
    if isinstance(value, Complex):
        return value.map(lambda part: fitted(cast(part, graph.dtype), graph.shape))
    return fitted(cast(value, graph.dtype), graph.shape)


def _whole(value: Any) -> Complex:
    """Return an operand as complex numbers."""
    return value if isinstance(value, Complex) else numbers.of_real(value)


# -- parts --------------------------------------------------------------------------------------


@only_complex("complex.default")
def _complex(graph: Graph, real: ir.Value, imag: ir.Value) -> Complex:
    dims = graph.shape
    return Complex(*(op.broadcast_to(fitted(part, dims), dims) for part in (real, imag)))


@only_complex("polar.default")
def _polar(graph: Graph, absolute: ir.Value, angle: ir.Value) -> Complex:
    return numbers.of_polar(fitted(absolute, graph.shape), fitted(angle, graph.shape))


@only_complex("view_as_complex.default")
def _view_as_complex(graph: Graph, pairs: ir.Value) -> Complex:
    return numbers.of_pairs(fitted(pairs, [*graph.shape, Dim(2)]))


@only_complex("view_as_real.default")
def _view_as_real(graph: Graph, x: Complex) -> ir.Value:
    return numbers.pairs_of(x)


@only_complex("real.default")
def _real_part(graph: Graph, x: Any) -> ir.Value:
    return x.real if isinstance(x, Complex) else x


@only_complex("imag.default")
def _imaginary_part(graph: Graph, x: Complex) -> ir.Value:
    return x.imag


@only_complex("_conj.default", "_conj_physical.default", "conj_physical.default",
              "_neg_view.default", "resolve_conj.default", "resolve_neg.default")  # fmt: skip
def _conjugate(graph: Graph, x: Any) -> Any:
    if graph.kind.startswith("resolve") or not isinstance(x, Complex):
        return x
    return x.map(op.negative) if graph.kind == "_neg_view" else numbers.conjugate(x)


@_of_complex("_to_copy.default", "to.dtype", "type_as.default")
def _converted(graph: Graph, x: Any, *_: Any, **__: Any) -> Any:
    if not graph.is_complex:  # PyTorch drops imaginary parts, with a warning
        return cast(x.real, graph.dtype)
    return _whole(x).map(lambda part: cast(part, graph.dtype))


@_of_complex("eye.default", "eye.m", "new_ones.default", "ones.default", "ones_like.default")
def _of_ones(graph: Graph, *arguments: Any, **named: Any) -> Any:
    real = CONVERTERS[str(graph.node.target)](graph, *arguments, **named)
    return numbers.of_real(real) if graph.is_complex else real


# -- arithmetic ---------------------------------------------------------------------------------


@_of_complex("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar", "rsub.Scalar", "rsub.Tensor")
def _add(graph: Graph, x: Any, y: Any, alpha: Any = 1) -> Complex:
    x, y = _operand(graph, x), _operand(graph, y)
    if graph.kind == "rsub":
        x, y = y, x
    if alpha != 1:
        y = _times(y, _operand(graph, alpha))
    if graph.kind != "add":
        y = y.map(op.negative) if isinstance(y, Complex) else op.negative(y)
    return numbers.add(x, y) if isinstance(x, Complex) else numbers.add(_whole(y), x)


def _times(x: Any, y: Any) -> Complex:
    return numbers.multiply(x, y) if isinstance(x, Complex) else numbers.multiply(_whole(y), x)


@_of_complex("mul.Tensor", "mul.Scalar")
def _multiply(graph: Graph, x: Any, y: Any) -> Complex:
    return _times(_operand(graph, x), _operand(graph, y))


@_of_complex("div.Tensor", "div.Scalar", "true_divide.Tensor")
def _divide(graph: Graph, x: Any, y: Any) -> Complex:
    return numbers.divide(_whole(_operand(graph, x)), _operand(graph, y))


@_of_complex("reciprocal.default")
def _reciprocal(graph: Graph, x: Complex) -> Complex:
    return numbers.divide(numbers.of_number(1, graph.dtype), x)


@_of_complex("pow.Tensor_Scalar")
def _power(graph: Graph, x: Complex, exponent: Any) -> Complex:
    if exponent == 0.5:
        return numbers.sqrt(x)
    if not isinstance(exponent, (int, float)) or exponent != math.floor(exponent) or exponent < 1:
        raise NotImplementedError(
            f"expected an exponent of complex numbers that is 0.5 or a whole number from 1, but "
            f"got {exponent}"
        )
    return numbers.power(x, int(exponent))


@_of_complex("abs.default")
def _absolute(graph: Graph, x: Complex) -> ir.Value:
    return numbers.absolute(x)


@converts("angle.default")
def _angle_of_real(graph: Graph, x: ir.Value) -> ir.Value:
    x = cast(x, graph.dtype)
    is_negative = op.less(x, number(0, graph.dtype))
    angle = op.where(is_negative, number(math.pi, graph.dtype), number(0, graph.dtype))
    return op.where(op.isnan(x), x, angle)


@_of_complex("angle.default")
def _angle(graph: Graph, x: Complex) -> ir.Value:
    return numbers.angle(x)


@_of_complex("sgn.default")
def _sign(graph: Graph, x: Complex) -> Complex:
    length = numbers.absolute(x)
    is_zero = op.equal(length, number(0, x.dtype))
    return numbers.divide(x, op.where(is_zero, number(1, x.dtype), length))


_FUNCTIONS = {
    "cos": numbers.cos, "cosh": numbers.cosh, "exp": numbers.exp, "log": numbers.log,
    "sin": numbers.sin, "sinh": numbers.sinh, "sqrt": numbers.sqrt, "tan": numbers.tan,
    "tanh": numbers.tanh,
}  # fmt: skip


@_of_complex(*(f"{name}.default" for name in _FUNCTIONS))
def _function(graph: Graph, x: Complex) -> Complex:
    return _FUNCTIONS[graph.kind](x)


@_of_complex("square.default")
def _square(graph: Graph, x: Complex) -> Complex:
    return numbers.multiply(x, x)


@_of_complex("isfinite.default", "isinf.default", "isnan.default")
def _test(graph: Graph, x: Complex) -> ir.Value:
    test = {"isfinite": op.isfinite, "isinf": op.isinf, "isnan": op.isnan}[graph.kind]
    join = op.logical_and if graph.kind == "isfinite" else op.logical_or
    return join(test(x.real), test(x.imag))


@_of_complex("eq.Tensor", "eq.Scalar", "ne.Tensor", "ne.Scalar")
def _equal(graph: Graph, x: Any, y: Any) -> ir.Value:
    x, y = (
        _whole(one) if is_tensor(one) or isinstance(one, Complex) else complex(one)
        for one in (x, y)
    )
    dtype = x.dtype
    y = numbers.of_number(y, dtype) if isinstance(y, complex) else y
    is_equal = op.logical_and(op.equal(x.real, y.real), op.equal(x.imag, y.imag))
    return is_equal if graph.kind == "eq" else op.logical_not(is_equal)


# -- reductions ---------------------------------------------------------------------------------


@_of_complex("linalg_vector_norm.default", "norm.Scalar", "norm.ScalarOpt_dim")
def _norm(graph: Graph, x: Complex, *arguments: Any, **named: Any) -> ir.Value:
    return CONVERTERS[str(graph.node.target)](graph, numbers.absolute(x), *arguments, **named)


@_of_complex("var.correction", "std.correction")
def _variance(graph: Graph, x: Complex, *arguments: Any, **named: Any) -> ir.Value:
    """Return the variance, which is the sum of those of the parts, or its root."""
    convert = CONVERTERS[str(graph.node.target)]
    parts = x.map(lambda part: convert(graph, part, *arguments, **named))
    is_root = graph.kind == "std"
    return numbers.absolute(parts) if is_root else op.add(parts.real, parts.imag)


# -- products -----------------------------------------------------------------------------------


@_of_complex("matmul.default", "mm.default", "bmm.default", "mv.default", "dot.default",
             "vdot.default")  # fmt: skip
def _product(graph: Graph, x: Any, y: Any) -> Complex:
    def times(first: ir.Value, second: ir.Value) -> ir.Value:
        return CONVERTERS[str(graph.node.target)](graph, first, second)

    if not isinstance(x, Complex):
        return y.map(lambda part: times(x, part))
    return numbers.product(numbers.conjugate(x) if graph.kind == "vdot" else x, y, times)


@_of_complex("linear.default")
def _linear(graph: Graph, x: Any, weight: Any, bias: Any = None) -> Complex:
    result = numbers.product(
        _whole(x), weight, lambda first, second: op.matmul(first, op.permute_dims(second))
    )
    return result if bias is None else numbers.add(result, bias)


@_of_complex("addmm.default", "baddbmm.default", "addmv.default")
def _add_product(graph: Graph, bias: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Complex:
    result = numbers.product(_whole(x), y, op.matmul)
    if alpha != 1:
        result = _times(result, _operand(graph, alpha))
    if beta == 0:  # even NaN does not count
        return result
    return numbers.add(result, _times(_operand(graph, bias), _operand(graph, beta)))


@_of_complex(
    "conv1d.default", "conv2d.default", "conv3d.default", "conv1d.padding", "conv2d.padding",
    "conv3d.padding", "conv_transpose1d.default", "conv_transpose2d.input",
    "conv_transpose3d.input", "convolution.default",
)  # fmt: skip
def _convolution(
    graph: Graph, x: Any, weight: Any, bias: Any = None, *arguments: Any, **named: Any
) -> Complex:
    def convolve(first: ir.Value, second: ir.Value) -> ir.Value:
        return CONVERTERS[str(graph.node.target)](graph, first, second, None, *arguments, **named)

    result = numbers.product(_whole(x), weight, convolve)
    if bias is None:
        return result
    spatial = graph.rank_of(1) - 2
    axes = list(range(1, spatial + 1))
    return numbers.add(
        result, fourier.each(bias, lambda part: op.expand_dims(part, axes) if axes else part)
    )
