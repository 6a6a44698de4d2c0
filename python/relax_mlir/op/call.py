# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls, and operations on tuples and structural information."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from ..analysis import derive_call_result
from ..dialects import relax as _ops
from ..expr import (
    GlobalVar,
    ShapeLike,
    TensorLike,
    Var,
    as_shape,
    as_tensor,
    as_value,
    build,
    struct_info_of,
)
from ..ir import FuncStructInfo, ObjectStructInfo, TupleStructInfo

__all__ = [
    "call",
    "call_dps_packed",
    "call_packed",
    "call_tir",
    "extern_func",
    "get_item",
    "match_cast",
    "shape_of",
]


def _result_type(sinfo: ir.Type | Sequence[ir.Type]) -> ir.Type:
    """Return one type for one output, a tuple for several."""
    if isinstance(sinfo, ir.Type):
        return sinfo
    return sinfo[0] if len(sinfo) == 1 else TupleStructInfo(sinfo)


def _list(args: Any) -> list[Any]:
    return list(args) if isinstance(args, (tuple, list)) else [args]


def call_tir(
    gvar: GlobalVar | str,
    args: TensorLike | Sequence[TensorLike],
    out_sinfo: ir.Type | Sequence[ir.Type],
    tir_vars: ShapeLike | None = None,
) -> ir.Value:
    """Call a kernel of the module, which writes into tensors that are allocated for it.

    Parameters
    ----------
    gvar : GlobalVar or str
        The kernel, a ``func.func`` (see `BlockBuilder.add_func`).
    args : tensor or sequence of tensor
    out_sinfo : TensorStructInfo or sequence of it
        The outputs, of known shape and data type.
    tir_vars : shape, or sequence of int, str or PrimExpr, optional
        Integers that are passed between the arguments and the outputs.

    Returns
    -------
    mlir.ir.Value
        The output, or a tuple of several.
    """
    name = gvar.name if isinstance(gvar, GlobalVar) else gvar
    return build(
        _ops.CallTIROp,
        _result_type(out_sinfo),
        name,
        [as_tensor(arg) for arg in _list(args)],
        packed_ints=None if tir_vars is None else as_shape(tir_vars),
    )


def call_dps_packed(func: str, args: Any, out_sinfo: ir.Type | Sequence[ir.Type]) -> ir.Value:
    """Call a packed function, which writes into tensors that are allocated for it.

    Parameters
    ----------
    func : str
        The name under which it is registered.
    args : value or sequence of value
    out_sinfo : TensorStructInfo or sequence of it
        The outputs, of known shape and data type.

    Returns
    -------
    mlir.ir.Value
        The output, or a tuple of several.
    """
    values = [as_value(arg) for arg in _list(args)]
    return build(_ops.CallDPSPackedOp, _result_type(out_sinfo), values, callee=func)


def call_packed(
    func: str, *args: Any, sinfo_args: ir.Type | Sequence[ir.Type] | None = None
) -> ir.Value:
    """Call a packed function. The call may have side effects, so it cannot be in a dataflow block.

    Parameters
    ----------
    func : str
        The name under which it is registered with ``tvm_ffi.register_global_func``.
    *args
        Any values.
    sinfo_args : StructInfo, optional
        The type of the result, `ObjectStructInfo` by default.

    Returns
    -------
    mlir.ir.Value
    """
    result = ObjectStructInfo() if sinfo_args is None else _result_type(sinfo_args)
    return build(_ops.CallPackedOp, result, func, [as_value(arg) for arg in args])


def call(
    func: GlobalVar | ir.Value | Var, *args: Any, sinfo_args: ir.Type | None = None
) -> ir.Value:
    """Call a function of the module, or a function that is a value.

    Parameters
    ----------
    func : GlobalVar, Var or mlir.ir.Value
        A function of the module, a kernel, which may mutate its arguments, or a value such as a
        closure (`BlockBuilder.closure`).
    *args
        Any values. A GlobalVar passes the function itself.
    sinfo_args : StructInfo, optional
        The type of the result. By default it is derived from the type of the function.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If there is no such function, or the number of arguments is wrong.
    """
    values = [as_value(arg) for arg in args]
    target: dict[str, Any]
    try:
        if isinstance(func, GlobalVar):
            target, callee = {"callee": func.name}, struct_info_of(func)
        else:
            target = {"function": as_value(func)}
            callee = _function_type(target["function"])
        derived = derive_call_result(callee, [value.type for value in values])
    except ValueError as error:
        raise ValueError(f"relax.call: {error}") from None
    return build(_ops.CallOp, derived if sinfo_args is None else sinfo_args, values, **target)


def _function_type(value: ir.Value) -> FuncStructInfo:
    if not isinstance(value.type, FuncStructInfo):
        raise ValueError(f"expected a function, but got a value of type {value.type}")
    return value.type


def extern_func(global_symbol: str) -> ir.Value:
    """Return a packed function as a value.

    Parameters
    ----------
    global_symbol : str
        The name under which it is registered.
    """
    return build(_ops.ExternFuncOp, global_symbol)


def get_item(tuple_value: Any, index: int) -> ir.Value:
    """Return a field of a tuple.

    Parameters
    ----------
    tuple_value : value
    index : int
        From 0.
    """
    return build(_ops.GetItemOp, as_value(tuple_value), index)


def match_cast(value: Any, struct_info: ir.Type) -> ir.Value:
    """Check at run time that a value is of a type; bind the shape variables that are new there.

    Parameters
    ----------
    value : value
    struct_info : StructInfo

    Returns
    -------
    mlir.ir.Value
        The value itself, of that type.
    """
    return build(_ops.MatchCastOp, struct_info, as_value(value))


def shape_of(tensor: TensorLike) -> ir.Value:
    """Return the shape of a tensor as a value."""
    return build(_ops.ShapeOfOp, as_tensor(tensor))
