# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions that are made before there is a program: constants, packed functions, tuples.

An operator takes one as it takes a value. The operation of a leaf is inserted where it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import tvm_ffi
from mlir import ir

from .._arguments import require_str
from ..dialects import relax as _ops
from . import expr
from .constants import elements_attr, scalar_attr
from .context import current_context
from .dtypes import dtype_name
from .ir import (
    Dim,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from .operators import FUNCTIONS, Operators

__all__ = [
    "Constant",
    "DataTypeImm",
    "ExternFunc",
    "PrimValue",
    "StringImm",
    "Tuple",
    "const",
    "extern",
]


class Constant(expr.Leaf, Operators):
    """A constant tensor.

    Parameters
    ----------
    data : array, number or nested sequence of numbers
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional
        As of `relax_mlir.op.const`.

    Attributes
    ----------
    data : numpy.ndarray
    struct_info : TensorStructInfo

    Raises
    ------
    ValueError
        If the value has no data type of the dialect, or is a number that does not fit `dtype`.

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
    >>> one = const(1, "float32")
    >>> one
    Constant(1, !relax.tensor<[], f32>)
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n",), "float32"))
    >>> with bb.function("main", [x]):
    ...     _ = bb.emit_func_output(bb.emit(x + one))
    """

    operations = (_ops.ConstantOp,)

    def __init__(self, data: Any, dtype: Any = None) -> None:
        if isinstance(data, tvm_ffi.Tensor):
            data = np.from_dlpack(data)
        self.data = np.asarray(data)
        with current_context():
            self._elements = elements_attr(data, dtype)
            type_ = self._elements.type
            self.struct_info = TensorStructInfo(type_.shape, type_.element_type)

    def build(self) -> ir.Value:
        """Insert the constant."""
        return expr.as_value(self._elements)

    def __repr__(self) -> str:
        return f"Constant({self.data}, {self.struct_info})"


def const(value: Any, dtype: Any = None) -> Constant:
    """Return a constant tensor, which belongs to no program yet.

    Parameters
    ----------
    value, dtype
        As of `Constant`.

    Examples
    --------
    >>> print(const([[1.0, 2.0]]).struct_info)
    !relax.tensor<[1, 2], f32>
    """
    return Constant(value, dtype)


class PrimValue(expr.Leaf, Operators):
    """A number that is no tensor, or an expression over shape variables.

    Parameters
    ----------
    value : bool, int, float, numpy scalar, str or Dim
        A str is an expression, such as "n + 1".

    Attributes
    ----------
    value : bool, int, float or Dim
    struct_info : PrimStructInfo

    Examples
    --------
    >>> PrimValue(3), PrimValue("n + 1")
    (PrimValue(3), PrimValue(#relax.expr<n + 1>))
    """

    operations = (_ops.PrimValueOp,)

    def __init__(self, value: Any) -> None:
        self.value = Dim(value) if isinstance(value, str) else value
        is_dim = isinstance(self.value, Dim)
        with current_context():
            type_ = None if is_dim else scalar_attr(self.value).type
            self.struct_info = PrimStructInfo("int64" if is_dim else type_)

    def build(self) -> ir.Value:
        """Insert the value."""
        return expr.prim_value(self.value)

    def __repr__(self) -> str:
        return f"PrimValue({self.value})"


@dataclass(frozen=True)
class _Name(expr.Leaf):
    """What a text stands for; its type is `ObjectStructInfo`."""

    value: str

    def __post_init__(self) -> None:
        require_str(f"the value of {type(self).__name__}", self.value)

    @property
    def struct_info(self) -> ir.Type:
        """The type of strings and of data types, `ObjectStructInfo`."""
        return ObjectStructInfo()


class StringImm(_Name):
    """A string.

    Parameters
    ----------
    value : str
    """

    operations = (_ops.StringOp,)

    def build(self) -> ir.Value:
        """Insert the string."""
        return expr.string(self.value)


class DataTypeImm(_Name):
    """A data type.

    Parameters
    ----------
    value : str
    """

    operations = (_ops.DTypeOp,)

    def __post_init__(self) -> None:
        super().__post_init__()
        dtype_name(self.value)

    def build(self) -> ir.Value:
        """Insert the data type."""
        return expr.dtype(self.value)


@dataclass(frozen=True)
class ExternFunc(expr.Leaf):
    """A packed function, by the name under which ``tvm_ffi.register_global_func`` knows it.

    Calling it inserts `relax_mlir.op.call_packed`.

    Parameters
    ----------
    global_symbol : str

    Examples
    --------
    >>> ExternFunc("my.function")
    ExternFunc(global_symbol='my.function')
    """

    operations: ClassVar[Any] = (_ops.ExternFuncOp,)

    global_symbol: str

    def __post_init__(self) -> None:
        require_str("global_symbol", self.global_symbol)

    @property
    def struct_info(self) -> ir.Type:
        """The type of packed functions."""
        return FuncStructInfo(None)

    def build(self) -> ir.Value:
        """Insert the function as a value."""
        value: ir.Value = FUNCTIONS["extern_func"](self.global_symbol)
        return value

    def __call__(self, *args: Any, **keywords: Any) -> ir.Value:
        """Call the function."""
        result: ir.Value = FUNCTIONS["call_packed"](self.global_symbol, *args, **keywords)
        return result


def extern(name: str) -> ExternFunc:
    """Return a packed function by its name, as `ExternFunc` does."""
    return ExternFunc(name)


class Tuple(expr.Leaf, Operators):
    """A tuple of expressions.

    Parameters
    ----------
    fields : sequence
        Values, leaves, and what `relax_mlir.op.tuple` makes values of.

    Attributes
    ----------
    fields : tuple
    """

    operations = (_ops.TupleOp,)

    def __init__(self, fields: Sequence[Any]) -> None:
        self.fields = tuple(fields)

    @property
    def struct_info(self) -> ir.Type:
        """The tuple of the types of the fields, which have types of their own."""
        return TupleStructInfo([field.struct_info for field in self.fields])

    def build(self) -> ir.Value:
        """Insert the tuple."""
        return expr.tuple(*self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, index: Any) -> Any:
        return self.fields[index]

    def __repr__(self) -> str:
        return f"Tuple({list(self.fields)})"
