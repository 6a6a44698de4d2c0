# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls, and casts to structural information."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from .._warnings import warn
from ..core.expr import (
    GlobalVar,
    Leaf,
    ShapeLike,
    TensorLike,
    Var,
    as_shape,
    as_tensor,
    as_value,
    build,
    prim_value,
    struct_info_of,
)
from ..core.ir import Dim, FuncStructInfo, ObjectStructInfo, PrimStructInfo, TupleStructInfo
from ..core.struct_info import StructInfoWarning, cast_always_fails, derive_call_result
from ..dialects import relax as _ops
from ._ops_gen import get_item as get_item  # for the result of a call

__all__ = [
    "call",
    "call_dps_packed",
    "call_inplace_packed",
    "call_packed",
    "call_pure_packed",
    "call_tir",
    "call_tir_inplace",
    "match_cast",
]


PackedFunc: TypeAlias = str | ir.Value | Var
StructInfos: TypeAlias = ir.Type | Sequence[ir.Type]


def _result_type(sinfo: ir.Type | Sequence[ir.Type]) -> ir.Type:
    """Return one type for one output, a tuple for several."""
    if isinstance(sinfo, ir.Type):
        return sinfo
    return sinfo[0] if len(sinfo) == 1 else TupleStructInfo(sinfo)


def _list(args: Any) -> list[Any]:
    return list(args) if isinstance(args, (tuple, list)) else [args]


def _kernel_args(name: str, args: Sequence[Any]) -> list[ir.Value]:
    """Return the operands of a kernel that are values: tensors and scalars."""
    params: Sequence[ir.Type] = []
    if any(isinstance(arg, (bool, int, float, np.generic)) for arg in args):
        with contextlib.suppress(ValueError):  # the call says that there is no such kernel
            params = struct_info_of(GlobalVar(name)).params or []
    return [
        _kernel_arg(arg, params[index] if index < len(params) else None)
        for index, arg in enumerate(args)
    ]


def _kernel_arg(arg: Any, param: ir.Type | None) -> ir.Value:
    is_value = isinstance(arg, (ir.Value, Var, Leaf, ir.OpView, ir.Operation))
    if is_value and isinstance(as_value(arg).type, PrimStructInfo):
        return as_value(arg)
    if isinstance(arg, Dim):
        return prim_value(arg)
    if isinstance(param, PrimStructInfo) and isinstance(arg, (bool, int, float, np.generic)):
        # A number of NumPy says of what data type it is.
        return prim_value(arg, None if isinstance(arg, np.generic) else param.dtype)
    return as_tensor(arg)


def _call_kernel(
    op: Any,
    gvar: GlobalVar | str,
    args: TensorLike | Sequence[TensorLike],
    out_sinfo: StructInfos,
    *attributes: ir.Attribute,
    tir_vars: ShapeLike | None = None,
) -> ir.Value:
    """Build one of the operations that call a kernel."""
    name = gvar.name if isinstance(gvar, GlobalVar) else gvar
    return build(
        op,
        _result_type(out_sinfo),
        name,
        _kernel_args(name, _list(args)),
        *attributes,
        packed_ints=None if tir_vars is None else as_shape(tir_vars),
    )


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
    args : tensor or scalar, or sequence of them
        A number becomes a scalar of the data type that the kernel takes in its place, or else a
        constant tensor.
    out_sinfo : TensorStructInfo or sequence of it
        The outputs, of known shape and data type.
    tir_vars : shape, or sequence of int, str or Dim, optional
        Integers that are passed between the arguments and the outputs.

    Returns
    -------
    mlir.ir.Value
        The output, or a tuple of several.
    """
    return _call_kernel(_ops.CallTIROp, gvar, args, out_sinfo, tir_vars=tir_vars)


def call_tir_local_view(
    gvar: GlobalVar | str,
    args: TensorLike | Sequence[TensorLike],
    out_sinfo: ir.Type | Sequence[ir.Type],
) -> ir.Value:
    """Call a kernel of the module on the parts that each worker has of distributed tensors.

    Parameters
    ----------
    gvar : GlobalVar or str
        The kernel, whose tensors are the parts.
    args : tensor or scalar, or sequence of them
        As of `call_tir`.
    out_sinfo : DTensorStructInfo or sequence of it
        The whole outputs, of known shape and data type.

    Returns
    -------
    mlir.ir.Value
        The output, or a tuple of several.
    """
    return _call_kernel(_ops.CallTIRLocalViewOp, gvar, args, out_sinfo)


def call_tir_inplace(
    gvar: GlobalVar | str,
    args: TensorLike | Sequence[TensorLike],
    inplace_indices: int | Sequence[int],
    out_sinfo: StructInfos,
    tir_vars: ShapeLike | None = None,
) -> ir.Value:
    """Call a kernel of the module, which updates some of its arguments.

    Parameters
    ----------
    gvar, args, out_sinfo, tir_vars
        As of `call_tir`. The kernel's parameters are the arguments, the integers, and the outputs
        that are allocated. One on memrefs writes into them; one on tensors returns a tensor for
        each output, in the order of the outputs.
    inplace_indices : int or sequence of int
        For each output the position of the argument that is updated and that is the output, or
        -1 for one that is allocated. Nothing that may be the same tensor can be used afterwards.

    Returns
    -------
    mlir.ir.Value
        As of `call_tir`.

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
    >>> bb = BlockBuilder()
    >>> relu = bb.add_func('''func.func @relu(%x: tensor<?xf32>) -> tensor<?xf32> {
    ...   %zero = arith.constant dense<0.0> : tensor<f32>
    ...   %y = linalg.map { arith.maximumf } ins(%x, %x : tensor<?xf32>, tensor<?xf32>)
    ...     outs(%x : tensor<?xf32>)
    ...   return %y : tensor<?xf32>
    ... }''')
    >>> x = Var("x", TensorStructInfo(("n",), "float32"))
    >>> with bb.function("main", [x]):
    ...     y = op.negative(x)
    ...     _ = bb.emit_func_output(op.call_tir_inplace(relu, [y], 0, y.type))
    >>> "inplace [0]" in str(bb.get())
    True
    """
    indices = _indices(inplace_indices)
    return _call_kernel(_ops.CallTIRInplaceOp, gvar, args, out_sinfo, indices, tir_vars=tir_vars)


def _indices(indices: int | Sequence[int]) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get([indices] if isinstance(indices, int) else list(indices))


def _callee(func: PackedFunc) -> dict[str, Any]:
    """Return the name of a packed function, or the value that it is, as an operand."""
    return {"callee": func} if isinstance(func, str) else {"function": as_value(func)}


def _list_of_types(sinfo_args: StructInfos | None) -> list[ir.Type]:
    if sinfo_args is None:
        return []
    return [sinfo_args] if isinstance(sinfo_args, ir.Type) else list(sinfo_args)


def _struct_info_args(sinfo_args: StructInfos | None) -> ir.Attribute | None:
    if sinfo_args is None:
        return None
    types = _list_of_types(sinfo_args)
    if not types:
        raise ValueError("expected at least one StructInfo as sinfo_args, but got none")
    return ir.ArrayAttr.get([ir.TypeAttr.get(type_) for type_ in types])


def call_dps_packed(func: PackedFunc, args: Any, out_sinfo: StructInfos) -> ir.Value:
    """Call a packed function, which writes into tensors that are allocated for it.

    Parameters
    ----------
    func
        As of `call_packed`.
    args : value or sequence of value
    out_sinfo
        As of `call_tir`.

    Returns
    -------
    mlir.ir.Value
        As of `call_tir`.
    """
    values = [as_value(arg) for arg in _list(args)]
    return build(_ops.CallDPSPackedOp, _result_type(out_sinfo), values, **_callee(func))


def call_packed(func: PackedFunc, *args: Any, sinfo_args: StructInfos | None = None) -> ir.Value:
    """Call a packed function. The call may have side effects, so it cannot be in a dataflow block.

    Parameters
    ----------
    func : str, or a value
        The name under which it is registered with ``tvm_ffi.register_global_func``, or a packed
        function (see `extern_func`).
    *args
        Any values.
    sinfo_args : StructInfo or sequence of it, optional
        The type of the result, or those of the fields of a tuple; `ObjectStructInfo` by default.

    Returns
    -------
    mlir.ir.Value
    """
    if not isinstance(func, str):
        return call(func, *args, sinfo_args=sinfo_args)
    result = ObjectStructInfo() if sinfo_args is None else _result_type(sinfo_args)
    return build(
        _ops.CallPackedOp,
        result,
        func,
        [as_value(arg) for arg in args],
        sinfo_args=_struct_info_args(sinfo_args),
    )


def call_pure_packed(func: PackedFunc, *args: Any, sinfo_args: StructInfos) -> ir.Value:
    """Call a packed function of which you know that it has no visible side effects.

    The call may be removed, moved or repeated; it can be in a dataflow block.

    Parameters
    ----------
    func, *args, sinfo_args
        As of `call_packed`; there has to be one in `sinfo_args`.

    Returns
    -------
    mlir.ir.Value

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, PrimStructInfo, TensorStructInfo, Var
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n",), "float32"))
    >>> with bb.function("main", [x]):
    ...     rows = call_pure_packed("my.rows", x, sinfo_args=PrimStructInfo("int64"))
    ...     print(rows.type)
    ...     _ = bb.emit_func_output(rows)
    !relax.prim<i64>
    """
    return build(
        _ops.CallPurePackedOp,
        _result_type(sinfo_args),
        [as_value(arg) for arg in args],
        sinfo_args=_struct_info_args(sinfo_args),
        **_callee(func),
    )


def call_inplace_packed(
    func: PackedFunc,
    *args: Any,
    inplace_indices: int | Sequence[int],
    sinfo_args: StructInfos,
) -> ir.Value:
    """Call a packed function that mutates some of its arguments, and has no other side effect.

    Parameters
    ----------
    func, *args, sinfo_args
        As of `call_packed`; there has to be one in `sinfo_args`.
    inplace_indices : int or sequence of int
        The positions of the arguments that are mutated, tensors or objects; -1 stands for an
        output of its own. Nothing that may be the same tensor can be used afterwards.

    Returns
    -------
    mlir.ir.Value

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n",), "float32"))
    >>> with bb.function("main", [x]):
    ...     y = op.exp(x)
    ...     z = op.call_inplace_packed("my.relu", y, inplace_indices=0, sinfo_args=y.type)
    ...     _ = bb.emit_func_output(z)
    >>> "inplace [0]" in str(bb.get())
    True
    """
    return build(
        _ops.CallInplacePackedOp,
        _result_type(sinfo_args),
        [as_value(arg) for arg in args],
        _indices(inplace_indices),
        sinfo_args=_struct_info_args(sinfo_args),
        **_callee(func),
    )


def call(
    func: GlobalVar | ir.Value | Var, *args: Any, sinfo_args: StructInfos | None = None
) -> ir.Value:
    """Call a function of the module, or a function that is a value.

    Parameters
    ----------
    func : GlobalVar, Var or mlir.ir.Value
        A function of the module, a kernel, which may mutate its arguments, or a value such as a
        closure (`BlockBuilder.closure`).
    *args
        Any values. A GlobalVar passes the function itself.
    sinfo_args : StructInfo or sequence of it, optional
        The type of the result, or those of the fields of a tuple. By default it is derived from
        the type of the function.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If there is no such function, the number of arguments is wrong, or one is incompatible
        with the parameter.

    Warns
    -----
    StructInfoWarning
        If an argument may or may not be of the type of the parameter: the function checks it
        when it is called.
    """
    values = [as_value(arg) for arg in args]
    target: dict[str, Any]
    try:
        if isinstance(func, GlobalVar):
            target, callee = {"callee": func.name}, struct_info_of(func)
        else:
            target = {"function": as_value(func)}
            callee = _function_type(target["function"])
        types = [value.type for value in values]
        if callee.derive is None:
            derived, unproven = _ext.derive_call_result(callee, types)
        else:
            derived = derive_call_result(callee, types, _list_of_types(sinfo_args))
            unproven = []
    except ValueError as error:
        raise ValueError(f"relax.call: {error}") from None
    for index, expected in unproven:
        warn(
            f"relax.call: argument {index} of type {values[index].type} may not be of type "
            f"{expected}: match_cast would check it here, or else the function does",
            StructInfoWarning,
        )
    given = _struct_info_args(sinfo_args)
    if sinfo_args is not None and callee.derive is None:
        derived = _result_type(sinfo_args)
    return build(_ops.CallOp, derived, values, sinfo_args=given, **target)


def _function_type(value: ir.Value) -> FuncStructInfo:
    if not isinstance(value.type, FuncStructInfo):
        raise ValueError(f"expected a function, but got a value of type {value.type}")
    return value.type


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

    Warns
    -----
    StructInfoWarning
        If no value of the type of `value` is of that type, so that the check always fails.
    """
    operand = as_value(value)
    result = build(_ops.MatchCastOp, struct_info, operand)
    if cast_always_fails(operand.type, struct_info):
        warn(
            f"relax.match_cast: this cast from {operand.type} to {struct_info} always fails",
            StructInfoWarning,
        )
    return result
