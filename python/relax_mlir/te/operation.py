# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Making tensors: inputs, and what is computed from others."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._arguments import require_str, shown
from ..core import ir as _ir
from ..tir import expr as _expr
from ..tir.dims import from_dim
from ..tir.expr import (
    IterVar,
    PrimExpr,
    Range,
    Reduce,
    SizeVar,
    Var,
    convert,
    dtype_of,
)
from .tag import resolve
from .tensor import ComputeOp, PlaceholderOp, ScanOp, Tensor

Shape = Any  # a sequence of dimensions, or one dimension


def var(name: str = "tindex", dtype: Any = "int32") -> Var:
    """Return a new variable, for instance for a dimension.

    Parameters
    ----------
    name : str
    dtype : str or numpy.dtype
    """
    return Var(name, dtype)


def size_var(name: str = "size", dtype: Any = "int32") -> Var:
    """Return a new variable that is not negative.

    Parameters
    ----------
    name : str
    dtype : str or numpy.dtype
    """
    return SizeVar(name, dtype)


def _dim(value: Any) -> PrimExpr:
    if isinstance(value, (str, _ir.Dim)):
        return from_dim(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    expr = convert(value)
    if not _expr.is_integer(expr.dtype):
        raise TypeError(f"expected an integer as dimension, but got {expr} of type {expr.dtype}")
    if isinstance(expr, _expr.IntImm) and expr.value < 0:
        raise ValueError(f"expected a dimension that is not negative, but got {expr.value}")
    return expr


def as_shape(shape: Shape) -> tuple[PrimExpr, ...]:
    """Return dimensions as expressions: of numbers, names, dimensions of the dialect."""
    if isinstance(shape, (_ir.ShapeExpr, list, tuple)) or not (
        isinstance(shape, str) or _expr.is_scalar(shape)
    ):
        if not (hasattr(shape, "__iter__") or hasattr(shape, "__getitem__")):
            raise TypeError(f"expected a shape, such as (2, 'n'), but got {shown(shape)}")
        dims = tuple(_dim(dim) for dim in shape)
    else:
        dims = (_dim(shape),)
    size = math.prod(dim.value for dim in dims if isinstance(dim, _expr.IntImm) and dim.value)
    if size >= 2**63:
        raise ValueError(f"expected a shape of less than 2**63 elements, but got {list(dims)}")
    return dims


def placeholder(shape: Shape, dtype: Any = "float32", name: str = "placeholder") -> Tensor:
    """Return a tensor that is an input.

    Parameters
    ----------
    shape : sequence of int, str, PrimExpr or relax_mlir.Dim
        A name stands for the shape variable of that name.
    dtype : str or numpy.dtype
    name : str

    Examples
    --------
    >>> placeholder(("n", 4), "float16", name="A")
    Tensor(A, shape=(n, 4), dtype=float16)
    """
    require_str("name", name)
    return PlaceholderOp(name, "", {}, as_shape(shape), dtype_of(dtype or "float32")).output(0)


def _axis_names(
    fcompute: Callable[..., Any], count: int, varargs: Sequence[str] | None
) -> list[str]:
    """Return the names of the indices that a function takes."""
    params = inspect.signature(fcompute).parameters.values()
    kinds = inspect.Parameter
    if any(p.kind in (kinds.KEYWORD_ONLY, kinds.VAR_KEYWORD) for p in params):
        raise TypeError("expected fcompute to take indices only, but it takes keyword arguments")
    names = [p.name for p in params if p.kind != kinds.VAR_POSITIONAL and p.default is kinds.empty]
    optional = [p.name for p in params if p.default is not kinds.empty]
    is_open = any(p.kind == kinds.VAR_POSITIONAL for p in params)
    if optional:
        raise TypeError(f"expected fcompute to take indices only, but '{optional[0]}' is optional")
    if is_open:
        rest = count - len(names)
        if varargs is not None and len(varargs) != rest:
            raise ValueError(f"expected {rest} varargs_names, but got {len(varargs)}")
        names += list(varargs or [f"i{i}" for i in range(rest)])
    if len(names) != count:
        raise ValueError(
            f"expected fcompute to take {count} indices, one for each dimension, but it takes "
            f"{len(names)}"
        )
    return names


def _checked_body(body: Any, name: str) -> tuple[PrimExpr, ...]:
    exprs = tuple(convert(expr) for expr in (body if isinstance(body, (list, tuple)) else [body]))
    if not exprs:
        raise ValueError(f"expected a value of fcompute of '{name}', but got none")
    reductions = [expr for expr in exprs if isinstance(expr, Reduce)]
    if reductions and (
        len(reductions) != len(exprs) or any(expr.axis != reductions[0].axis for expr in reductions)
    ):
        raise ValueError(f"expected all outputs of '{name}' to be reductions over the same axes")
    free = [var.name for expr in exprs for var in _expr.undefined_vars(expr) if var.is_reduced]
    if free:
        raise ValueError(
            f"expected '{name}' to use '{free[0]}' in a reduction over it, such as te.sum(..., "
            f"axis={free[0]})"
        )
    for expr in exprs:
        parts = expr.operands() if isinstance(expr, Reduce) else (expr,)
        for part in parts:
            _expr.post_order_visit(part, _refuse_reduction)
    return exprs


def _refuse_reduction(node: PrimExpr) -> None:
    if isinstance(node, Reduce):
        raise ValueError(
            f"expected a reduction to be all that fcompute returns, but got it inside: {node}; "
            "compute it as a tensor of its own"
        )


def compute(
    shape: Shape,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """Return a tensor each of whose elements is computed from its indices.

    Parameters
    ----------
    shape : sequence of int, str, PrimExpr or relax_mlir.Dim
    fcompute : callable
        Takes the indices, and returns an expression, a reduction (`sum` and others), or a tuple of
        such for several tensors. ``*indices`` stands for any number.
    name : str
    tag : str
        The kind of computation.
    attrs : mapping of str to object, optional
    varargs_names : sequence of str, optional
        The names of the indices that ``*indices`` stands for.

    Returns
    -------
    Tensor or tuple of Tensor

    Examples
    --------
    >>> from relax_mlir import te
    >>> A, B = (te.placeholder(("n", "n"), name=name) for name in "AB")
    >>> k = te.reduce_axis((0, A.shape[1]), name="k")
    >>> te.compute(A.shape, lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    Tensor(C, shape=(n, n), dtype=float32)
    """
    require_str("name", name)
    dims = as_shape(shape)
    names = _axis_names(fcompute, len(dims), varargs_names)
    axis = tuple(
        IterVar(Range(dim), SizeVar(each, dim.dtype)) for dim, each in zip(dims, names, strict=True)
    )
    body = _checked_body(fcompute(*(each.var for each in axis)), name)
    outputs = ComputeOp(name, resolve(tag), dict(attrs or {}), axis, body).outputs
    return outputs[0] if len(outputs) == 1 else outputs


def _list(tensors: Any) -> list[Tensor]:
    if tensors is not None and not isinstance(tensors, (Tensor, list, tuple)):
        raise TypeError(f"expected a tensor or a list of tensors, but got {shown(tensors)}")
    return [tensors] if isinstance(tensors, Tensor) else list(tensors or [])


def scan(
    init: Any,
    update: Any,
    state_placeholder: Any,
    inputs: Any = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Return a tensor whose rows are computed one after the other from those before.

    Parameters
    ----------
    init : Tensor or sequence of Tensor
        The first rows.
    update : Tensor or sequence of Tensor
        The computation of a row. Its first index is the row; it reads earlier rows of the state.
    state_placeholder : Tensor or sequence of Tensor
        The placeholder of the result in `update`.
    inputs : Tensor or sequence of Tensor, optional
        Not needed: what `update` reads is known.
    name : str
    tag : str
    attrs : mapping of str to object, optional

    Returns
    -------
    Tensor or list of Tensor

    Examples
    --------
    The sums of rows up to each one:

    >>> from relax_mlir import te
    >>> X = te.placeholder(("m", "n"), name="X")
    >>> state = te.placeholder(("m", "n"))
    >>> init = te.compute((1, "n"), lambda _, i: X[0, i])
    >>> update = te.compute(("m", "n"), lambda t, i: state[t - 1, i] + X[t, i])
    >>> te.scan(init, update, state, inputs=[X])
    Tensor(scan, shape=(m, n), dtype=float32)
    """
    inits, updates, states = _list(init), _list(update), _list(state_placeholder)
    if not len(inits) == len(updates) == len(states):
        raise ValueError(
            f"expected as many of init, update and state_placeholder, but got {len(inits)}, "
            f"{len(updates)} and {len(states)}"
        )
    for first, row, state in zip(inits, updates, states, strict=True):
        if not first.ndim == row.ndim == state.ndim or state.ndim == 0:
            raise ValueError(f"expected init, update and state of one rank from 1 on in '{name}'")
        if not first.dtype == row.dtype == state.dtype:
            raise TypeError(
                f"expected one data type, but got {first.dtype}, {row.dtype} and {state.dtype}"
            )
        if not isinstance(state.op, PlaceholderOp) or not isinstance(row.op, ComputeOp):
            raise TypeError("expected a placeholder as state and a computed tensor as update")
    begin, end = _expr.match_types(inits[0].shape[0], updates[0].shape[0])
    axis = IterVar(Range(begin, end), Var(f"{name}.idx", end.dtype), "Ordered")
    op = ScanOp(
        name,
        resolve(tag),
        dict(attrs or {}),
        axis,
        tuple(inits),
        tuple(updates),
        tuple(states),
        tuple(_list(inputs)),
    )
    return op.output(0) if op.num_outputs == 1 else list(op.outputs)


def kernel_name(name: str) -> str:
    """Return a name as one that a function of a module may have."""
    return re.sub(r"\W", "_", name, flags=re.ASCII) or "kernel"
