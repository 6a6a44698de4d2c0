# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of kernels: what a program leaves open is taken from the parameters, and checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlir import ir

from .. import op as _op
from ..core.dtypes import dtype_name
from ..core.expr import GlobalVar
from ..core.ir import ObjectStructInfo, TensorStructInfo, TupleStructInfo
from . import state
from .operators import argument, fields


def call_fitting(
    callee: Any, make: Callable[..., ir.Value], args: Any, outputs: Any, inplace: Any = None
) -> ir.Value:
    """Call a kernel with arguments and outputs that fit its parameters.

    Parameters
    ----------
    callee : GlobalVar or str
    make : callable
        Makes the call, given the name of the kernel, the arguments and the types of the outputs.
    args : tuple of values
    outputs : StructInfo or list of it
    inplace : int or sequence of int, optional
        The argument that each output is written to, -1 for a new tensor.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    TypeError
        If the callee is no kernel of the module.
    """
    name = callee.name if isinstance(callee, GlobalVar) else callee
    if not isinstance(name, str):
        raise TypeError(f"expected a kernel of the module, but got {callee!r}")
    given = _fitting(name, [argument(arg) for arg in fields(args)])
    declared = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    fitting = _fitting_outputs(name, declared, inplace)
    if fitting == declared:
        return make(name, given, outputs)
    value = make(name, given, fitting)
    is_one = len(declared) == 1
    return _op.match_cast(value, declared[0] if is_one else TupleStructInfo(declared))


def _fitting_outputs(name: str, outputs: list[Any], inplace: Any) -> list[Any]:
    """Return outputs with the dimensions that the kernel states where the call leaves them open.

    They are checked against what the call says afterwards.
    """
    params = state.current("a call").kernel_params(name)
    # Integers may come after the outputs in the text.
    while params and not isinstance(params[-1], ir.ShapedType):
        params.pop()
    indices = [-1] * len(outputs) if inplace is None else inplace
    indices = [indices] if isinstance(indices, int) else list(indices)
    allocated = [index for index, position in enumerate(indices) if position == -1]
    fitting = list(outputs)
    for index, param in zip(reversed(allocated), reversed(params), strict=False):
        if index < len(fitting):
            fitting[index] = _fit_output(fitting[index], param)
    return fitting


def _fit_output(type_: Any, param: ir.Type) -> Any:
    if not isinstance(type_, TensorStructInfo) or not isinstance(param, ir.ShapedType):
        return type_
    if type_.shape is None or not param.has_rank or len(type_.shape.dims) != param.rank:
        return type_
    dims = [
        dim if param.is_dynamic_dim(index) or dim.value is not None else param.get_dim_size(index)
        for index, dim in enumerate(type_.shape.dims)
    ]
    if dims == list(type_.shape.dims):
        return type_
    return TensorStructInfo(dims, type_.dtype, vdevice=type_.vdevice)


def _fitting(name: str, args: list[Any]) -> list[Any]:
    """Return arguments of a kernel; what is known less of them than it needs is checked first."""
    params = state.current("a call").kernel_params(name)
    return [
        _fit(arg, params[index]) if index < len(params) else arg for index, arg in enumerate(args)
    ]


def _fit(arg: Any, param: ir.Type) -> Any:
    if not isinstance(arg, ir.Value) or not isinstance(param, ir.ShapedType):
        return arg
    type_ = arg.type
    is_tensor = isinstance(type_, TensorStructInfo)
    if not is_tensor and not isinstance(type_, ObjectStructInfo):
        return arg
    rank = param.rank
    dims: Any = type_.shape.dims if is_tensor and type_.shape is not None else [None] * rank
    if len(dims) != rank or (is_tensor and type_.dtype not in (None, _dtype_of(param))):
        return arg
    parser = state.current("a call")
    wanted = [
        _fit_dim(dim, None if param.is_dynamic_dim(index) else param.get_dim_size(index), parser)
        for index, dim in enumerate(dims)
    ]
    if is_tensor and type_.dtype is not None and wanted == list(dims):
        return arg
    device = type_.vdevice if is_tensor else None
    return _op.match_cast(arg, TensorStructInfo(wanted, _dtype_of(param), vdevice=device))


def _fit_dim(dim: Any, size: int | None, parser: Any) -> Any:
    if size is not None and (dim is None or dim.value is None):
        return size
    return parser.new_shape_name() if dim is None else dim


def _dtype_of(param: Any) -> str:
    return dtype_name(param.element_type)
