# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators whose results have shapes that depend on data, and shapes as tensors.

The sizes are found when the program runs; `match_cast` gives them names.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n", 4), "float32"))
>>> with bb.function("main", [x]):
...     places = op.nonzero(x)
...     print(places.type)
...     named = op.match_cast(places, TensorStructInfo((2, "k"), "int64"))
...     _ = bb.emit_func_output(named)
!relax.tensor<ndim = 2, i64>
"""

from __future__ import annotations

from mlir import ir

from .. import op
from ..core.expr import ShapeLike, TensorLike, as_shape, as_tensor
from ..core.ir import ShapeStructInfo, TensorStructInfo
from .tensors import cast, product, rank_of, shape_of, size_tensor

# Packed functions of the module `packed`.
_NONZERO = "relax_mlir.run.nonzero"
_SLICE = "relax_mlir.run.dynamic_strided_slice"
_TO_SHAPE = "relax_mlir.run.tensor_to_shape"


def nonzero(x: TensorLike) -> ir.Value:
    """Return where the elements of a tensor are that are not 0.

    Parameters
    ----------
    x : tensor, number or array

    Returns
    -------
    mlir.ir.Value
        Of int64: a row for each dimension, a column for each element, in order.
    """
    return op.call_pure_packed(
        _NONZERO, as_tensor(x), sinfo_args=TensorStructInfo(None, "int64", ndim=2)
    )


def dynamic_strided_slice(
    x: TensorLike, begin: TensorLike, end: TensorLike, strides: TensorLike
) -> ir.Value:
    """Return the elements from `begin`, by `strides`, up to `end`, all of which are tensors.

    Parameters
    ----------
    x : tensor, number or array
    begin, end, strides : tensor, number or array
        A number for each dimension of `x`, as in a slice of Python.

    Returns
    -------
    mlir.ir.Value
        Its dimensions are known when the program runs.

    Raises
    ------
    ValueError
        If there are more or fewer numbers than dimensions.
    """
    tensor = as_tensor(x)
    bounds = [cast(as_tensor(one), "int64") for one in (begin, end, strides)]
    rank = rank_of(tensor)
    for name, one in zip(("begin", "end", "strides"), bounds, strict=True):
        if shape_of(one) != [rank]:
            raise ValueError(
                f"expected {name} of {rank} numbers, one for each dimension, but got dimensions "
                f"{[str(dim) for dim in shape_of(one)]}"
            )
    found = TensorStructInfo(None, tensor.type.dtype, ndim=rank)
    return op.call_pure_packed(_SLICE, tensor, *bounds, sinfo_args=found)


def tensor_to_shape(expr: TensorLike) -> ir.Value:
    """Return the elements of a vector as a shape.

    Parameters
    ----------
    expr : tensor, number or array
        Of integers, none of them negative.

    Returns
    -------
    mlir.ir.Value
        Its dimensions are known when the program runs.
    """
    tensor = cast(as_tensor(expr), "int64")
    sizes = shape_of(tensor)
    if len(sizes) != 1:
        raise ValueError(f"expected a vector of sizes, but got a value of type {tensor.type}")
    (count,) = sizes
    rank = count if isinstance(count, int) else -1
    return op.call_pure_packed(_TO_SHAPE, tensor, sinfo_args=ShapeStructInfo(ndim=rank))


def shape_to_tensor(expr: ShapeLike) -> ir.Value:
    """Return the dimensions of a shape as a vector of int64.

    Parameters
    ----------
    expr : shape
        Whose dimensions are known, or shape variables.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    NotImplementedError
        If they are not: a `match_cast` gives them names.
    """
    shape = as_shape(expr)
    dims = shape.type.values
    if dims is None:
        raise NotImplementedError(
            f"expected a shape of known dimensions, but got {shape.type}: name them in a match_cast"
        )
    numbers = [op.reshape(size_tensor(dim if dim.value is None else dim.value), [1])
               for dim in dims]  # fmt: skip
    return op.concat(numbers, 0) if numbers else op.zeros([0], "int64")


def size(expr: TensorLike) -> ir.Value:
    """Return how many elements a tensor has, as a tensor of rank 0 and int64.

    Parameters
    ----------
    expr : tensor, number or array

    Returns
    -------
    mlir.ir.Value
    """
    return size_tensor(product(shape_of(as_tensor(expr))))
