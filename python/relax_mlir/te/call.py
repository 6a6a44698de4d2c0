# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of tensor expressions that are called with values of a program."""

from __future__ import annotations

import dataclasses
import functools
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from mlir import ir
from mlir.dialects import func as _func

from ..core import expr as _relax
from ..core import ir as _ir
from ..op import get_item
from ..tir import expr as _expr
from ..tir.attributes import attribute
from ..tir.dims import from_dim, to_dim
from ..tir.expr import PrimExpr
from .lower import build_kernel, unbound_vars
from .operation import kernel_name
from .operation import placeholder as make_placeholder
from .tensor import Tensor


@dataclasses.dataclass
class KernelCall:
    """A kernel, and how it is called.

    Attributes
    ----------
    kernel : mlir.dialects.func.FuncOp
        Outside of any module.
    name : str
        The name that is wanted for it.
    args : list of mlir.ir.Value
    out_sinfo : list of mlir.ir.Type
    tir_vars : list of relax_mlir.Dim
        The integers that no argument gives.
    """

    kernel: _func.FuncOp
    name: str
    args: list[ir.Value]
    out_sinfo: list[ir.Type]
    tir_vars: list[_ir.Dim]

    def variables(self) -> list[str]:
        """Return the shape variables that the integers and the types of the outputs use."""
        dims = list(self.tir_vars)
        for type_ in self.out_sinfo:
            shape = getattr(type_, "shape", None)
            dims += shape.dims if shape is not None else []
        return sorted({name for dim in dims for name in dim.variables})


def _value_name(value: ir.Value, number: int) -> str:
    """Return the name that a value has, or else a letter."""
    owner = value.owner
    location = value.location if isinstance(owner, ir.Block) else owner.location
    if location.is_a_name():
        return location.name_str
    letters = string.ascii_uppercase
    return letters[number] if number < len(letters) else f"tensor_input_{number}"


class _Arguments:
    """Turns values of a program into what a function of tensor expressions takes."""

    def __init__(self) -> None:
        self.values: list[ir.Value] = []
        self.placeholders: list[Tensor] = []
        self.vdevice: str | None = None

    def convert(self, arg: Any) -> Any:
        """Return an argument for a function of tensor expressions."""
        if isinstance(arg, _relax.Var):
            return self._value(arg.value, arg.name)
        if isinstance(arg, np.ndarray):
            return self._value(_relax.const(arg))
        if isinstance(arg, (ir.Value, _relax.Leaf, ir.OpView, ir.Operation)):
            return self._value(_relax.as_value(arg))
        if isinstance(arg, _ir.ShapeExpr):
            return [from_dim(dim) for dim in arg.dims]
        if isinstance(arg, _ir.Dim):
            return from_dim(arg)
        if isinstance(arg, list):
            return [self.convert(each) for each in arg]
        if isinstance(arg, tuple):
            return tuple(self.convert(each) for each in arg)
        if isinstance(arg, Mapping):
            return self._mapping(arg)
        kinds = (PrimExpr, Tensor, bool, int, float, str, np.generic, np.dtype, type, ir.Type)
        if arg is None or isinstance(arg, (*kinds, ir.Attribute)):
            return arg
        raise TypeError(
            "expected values of the program, numbers, strings, types, attributes, or lists, tuples "
            f"and dicts of them, but got {arg!r}"
        )

    def _mapping(self, arg: Mapping[Any, Any]) -> dict[str, Any]:
        for key in arg:
            if not isinstance(key, str):
                raise TypeError(f"expected dicts with strings as keys, but got {key!r}")
        return {key: self.convert(value) for key, value in arg.items()}

    def _value(self, value: ir.Value, name: str | None = None) -> Any:
        type_ = value.type
        if isinstance(type_, _ir.TensorStructInfo):
            return self._tensor(value, type_, name)
        if isinstance(type_, _ir.ShapeStructInfo) and type_.values is not None:
            return [from_dim(dim) for dim in type_.values.dims]
        if isinstance(type_, _ir.PrimStructInfo) and type_.value is not None:
            expr = from_dim(type_.value)
            return expr if type_.dtype == "int64" else _expr.cast(type_.dtype, expr)
        if isinstance(type_, _ir.TupleStructInfo):
            fields = range(len(type_.fields))
            return tuple(self._value(get_item(value, index)) for index in fields)
        raise TypeError(
            "expected a tensor, or a shape or primitive value of known value, but got a value of "
            f"type {type_}"
        )

    def _tensor(self, value: ir.Value, type_: _ir.TensorStructInfo, name: str | None) -> Tensor:
        if type_.shape is None or type_.dtype is None:
            raise ValueError(
                f"expected a tensor of known shape and data type, but got one of type {type_}; "
                "match_cast gives it them"
            )
        made = make_placeholder(
            type_.shape, type_.dtype, name or _value_name(value, len(self.placeholders))
        )
        self.values.append(value)
        self.placeholders.append(made)
        if self.vdevice is None:
            self.vdevice = type_.vdevice
        return made


def function_name(function: Callable[..., Any]) -> str:
    """Return the name of a function, for a kernel."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


def _outputs(result: Any, name: str) -> list[Tensor]:
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    if not outputs or not all(isinstance(each, Tensor) for each in outputs):
        raise TypeError(
            f"expected '{name}' to return a tensor, or a list or tuple of them, but got {result!r}"
        )
    return outputs


def call_kernel(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> KernelCall:
    """Call a function of tensor expressions with values of a program.

    Parameters
    ----------
    function : callable
        Takes a `Tensor` for each tensor, a list of expressions for each shape, and anything else
        as it is; returns a `Tensor`, or a list or tuple of them.
    args : sequence of value
    kwargs : mapping of str to value
        Besides, ``primfunc_name_hint`` is the name of the kernel, ``primfunc_attrs`` its
        attributes, and ``ty_args`` or ``sinfo_args`` the types of the outputs.

    Returns
    -------
    KernelCall
    """
    named = dict(kwargs)
    name = named.pop("primfunc_name_hint", None) or function_name(function)
    attrs = named.pop("primfunc_attrs", None) or {}
    stated = [
        types for types in (named.pop("ty_args", None), named.pop("sinfo_args", None)) if types
    ]
    arguments = _Arguments()
    positional = [arguments.convert(arg) for arg in args]
    result = function(*positional, **{key: arguments.convert(arg) for key, arg in named.items()})
    outputs = _outputs(result, name)
    inputs = arguments.placeholders
    ints = unbound_vars(inputs, outputs, by_name=True)
    attributes = {key: attribute(key, value) for key, value in attrs.items()}
    kernel = build_kernel(inputs, outputs, name, ints, attributes, by_name=True)
    types = _types(outputs, stated, arguments.vdevice)
    return KernelCall(
        kernel, kernel_name(name), arguments.values, types, [to_dim(each) for each in ints]
    )


def _types(outputs: Sequence[Tensor], stated: Sequence[Any], vdevice: str | None) -> list[ir.Type]:
    if stated:
        types = [stated[0]] if isinstance(stated[0], ir.Type) else list(stated[0])
        if len(types) != len(outputs):
            raise ValueError(
                f"expected {len(outputs)} types of outputs, but got {len(types)} as sinfo_args"
            )
        return types
    return [
        _ir.TensorStructInfo([to_dim(dim) for dim in each.shape], each.dtype, vdevice=vdevice)
        for each in outputs
    ]
