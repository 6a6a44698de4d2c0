# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators as a program calls them: TVM's names, and arguments as a program writes them."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from mlir import ir
from relax_runtime.near_misses import did_you_mean

from .. import op as _op
from .. import tir
from ..core.dtypes import is_numpy
from ..core.expr import Leaf, build, scalar_tensor
from ..core.ir import Dim, PrimStructInfo, ShapeExpr, TupleStructInfo
from ..dialects import relax as _ops
from .annotations import Annotation, Kind, as_dim
from .tvm_operators import TVM_OPERATORS

# Names that changed from one version of TVM to the next.
_SAME = {"out_ty": "out_sinfo", "ty_args": "sinfo_args"}


# The names of parameters that are tensors.
_TENSORS = ("condition", "data", "fill_value", "indices", "x", "x1", "x2")


# Operations that make a value of what is written, and do nothing else.
_LEAVES = (
    _ops.DTypeOp,
    _ops.ExternFuncOp,
    _ops.PrimValueOp,
    _ops.ShapeOp,
    _ops.StringOp,
    _ops.TupleOp,
)

# Attributes that an operator takes as they are; others are constants.
_PLAIN = (Dim, ShapeExpr, ir.AffineMapAttr, ir.FloatAttr, ir.IntegerAttr)


class MissingOperatorError(AttributeError):
    """A program uses an operator that is not one of the dialect."""


def missing(name: str) -> MissingOperatorError:
    """Return the error that TVM has an operator and the dialect has not."""
    return MissingOperatorError(f"R.{name} is not an operator of the dialect yet")


def unknown(name: str, others: Iterable[str] = ()) -> MissingOperatorError:
    """Return the error that neither TVM nor the dialect has an operator, with what may be meant.

    Parameters
    ----------
    name : str
    others : iterable of str
        What may be meant besides operators.

    Examples
    --------
    >>> unknown("nn.sofmax").args[0]
    "expected something that R has, but got R.nn.sofmax; did you mean 'R.nn.softmax'?"
    """
    own = (key for key in dir(_op) if not key.startswith("_"))
    hint = did_you_mean(name, {*TVM_OPERATORS, *own, *others}, owner="R", cutoff=0.75)
    return MissingOperatorError(f"expected something that R has, but got R.{name}{hint}")


def argument(value: Any) -> Any:
    """Return an argument of an operator for what a program has written."""
    if isinstance(value, (Annotation, Kind)):
        return (value() if isinstance(value, Kind) else value).struct_info()
    if isinstance(value, (list, tuple)):
        return type(value)(argument(item) for item in value)
    if isinstance(value, typing.TypeVar):
        return Dim(value.__name__)
    if isinstance(value, ir.Attribute) and not isinstance(value, _PLAIN):
        return build(_ops.ConstantOp, value)  # one that the metadata of a program lists
    if isinstance(value, tir.PrimExpr):
        return _scalar(value)
    if isinstance(value, Leaf):
        return value.build()
    return value


def _scalar(expr: tir.PrimExpr) -> Any:
    """Return a scalar expression as a number of its data type, or as a dimension."""
    if isinstance(expr, (tir.IntImm, tir.FloatImm)):
        if is_numpy(expr.dtype):
            return np.dtype(expr.dtype).type(expr.value)
        return _op.prim_value(expr.value, expr.dtype)
    if isinstance(expr, tir.StringImm):
        return expr.value
    return truth(expr) if expr.dtype == "bool" else as_dim(expr)


def fields(value: Any) -> list[Any]:
    """Return the fields of what a program gives as a tuple of arguments.

    They are those of a Python tuple or list, or of a tuple of the program; another value stands
    for a tuple of it alone.
    """
    if isinstance(value, (list, tuple)):
        return list(value)
    if not isinstance(value, ir.Value) or not isinstance(value.type, TupleStructInfo):
        return [value]
    owner = value.owner
    if not isinstance(owner, _ops.TupleOp):
        return [_op.get_item(value, index) for index in range(len(value.type.fields))]
    operands = list(owner.operation.operands)
    is_named = owner.location.is_a_name()
    if not is_named and not any(True for _ in value.uses):
        owner.operation.erase()
    return operands


def _find(name: str) -> Callable[..., Any] | None:
    """Return the function that makes an operator of the dialect, or None."""
    place: Any = _op
    for part in name.split("."):
        place = getattr(place, part, None)
    return place if callable(place) else None


@functools.cache
def operator(name: str) -> Callable[..., Any]:
    """Return an operator by its name after ``R.``.

    Raises
    ------
    MissingOperatorError
        If the dialect does not have it.
    """
    function = _find(name)
    if function is None:
        raise missing(name)
    own = list(inspect.signature(function).parameters)
    names = TVM_OPERATORS.get(name, ())

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        given = {
            _own_name(name, key, own, names): _operand(key, argument(value))
            for key, value in keywords.items()
        }
        labels = [*names, *("" for _ in range(len(args) - len(names)))]
        operands = [
            _operand(label, argument(arg)) for label, arg in zip(labels, args, strict=False)
        ]
        for label, value in (*zip(labels, operands, strict=False), *given.items()):
            _check_window(name, label, value)
        result = function(*operands, **given)
        _erase_unused([*operands, *given.values()])
        return result

    return call


def _erase_unused(operands: Sequence[Any]) -> None:
    """Erase ``R.prim_value(3)`` and the like where an operator took it as an attribute."""
    for value in operands:
        if isinstance(value, (list, tuple)):
            _erase_unused(value)
        elif isinstance(value, ir.Value) and isinstance(value.owner, _LEAVES):
            owner = value.owner
            if not owner.location.is_a_name() and not any(True for _ in value.uses):
                owner.operation.erase()


def _check_window(name: str, label: str, value: Any) -> None:
    """Refuse a number of windows that is found when the program runs."""
    if label == "output_size":
        for size in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(size, Dim) and size.value is None:
                raise missing(f"{name} with a symbolic {label}")


def _operand(name: str, value: Any) -> Any:
    """Return an operand; a scalar becomes a tensor where an operator takes tensors."""
    is_value = isinstance(value, ir.Value) and isinstance(value.type, PrimStructInfo)
    return scalar_tensor(value) if is_value and name in _TENSORS else value


def truth(value: Any) -> ir.Value:
    """Return a condition over shape variables as a primitive value."""
    result = PrimStructInfo("bool")
    number = _op.prim_value(as_dim(value))
    return _op.call_pure_packed("relax_mlir.run.truth", number, sinfo_args=result)


def _own_name(operator_name: str, key: str, own: Sequence[str], names: Sequence[str]) -> str:
    """Return the name that a keyword has here."""
    key = _SAME.get(key, key)
    if key in own:
        return key
    if key not in names:
        known = ", ".join(names or own)
        raise TypeError(
            f"expected an argument that R.{operator_name} has ({known}), but got '{key}'"
        )
    position = names.index(key)
    if position < len(own) and own[position] not in names:
        return own[position]
    raise MissingOperatorError(
        f"R.{operator_name} with {key} is not an operator of the dialect yet"
    )


class Namespace:
    """Operators with a prefix, such as ``R.nn``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return an operator."""
        full = f"{self._name}.{name}"
        if name.startswith("__") or (full not in TVM_OPERATORS and _find(full) is None):
            raise unknown(full)
        return operator(full)
