# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kinds of expressions that TVM Relax has as classes, for `isinstance`.

An expression is an operation of MLIR here, and its value. Both are of the kind of the operation: of
``y = op.add(x, x)`` both ``isinstance(y, Call)`` and ``isinstance(y.owner, Call)`` hold. Operands
and attributes are those of the operation. `relax_mlir.core.leaves` has the kinds that are made
outside of programs, too.
"""

from __future__ import annotations

from typing import Any

from mlir import ir

from ..dialects import relax as _ops
from .expr import Kind, opview_of
from .variables import is_dataflow_var

__all__ = ["Call", "DataflowBlock", "DataflowVar", "If", "MatchCast", "SeqExpr", "TupleGetItem"]


class _Checked(Kind):
    """The class of classes that have no objects of their own."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        raise TypeError(f"expected a BlockBuilder to make a {self.__name__}, not its class")


class If(metaclass=_Checked):
    """A choice of two branches, which `BlockBuilder.if_` makes."""

    operations = (_ops.IfOp,)


class SeqExpr(metaclass=_Checked):
    """Bindings and the value of their scope."""

    operations = (_ops.SeqOp,)


class MatchCast(metaclass=_Checked):
    """A cast that is checked when the program runs: `BlockBuilder.match_cast`."""

    operations = (_ops.MatchCastOp,)


class TupleGetItem(metaclass=_Checked):
    """A field of a tuple, which its index makes: ``pair[0]``."""

    operations = (_ops.GetItemOp,)


class DataflowBlock(metaclass=_Checked):
    """A block of bindings without side effects: `BlockBuilder.dataflow`."""

    operations = (_ops.DataflowOp,)


# The operations that are no calls.
_OTHERS = (
    _ops.ClosureOp,
    _ops.ConstantOp,
    _ops.DTypeOp,
    _ops.DataflowOp,
    _ops.ExternFuncOp,
    _ops.FuncOp,
    _ops.GetItemOp,
    _ops.GlobalVarOp,
    _ops.IfOp,
    _ops.MatchCastOp,
    _ops.NullValueOp,
    _ops.OutputOp,
    _ops.PrimValueOp,
    _ops.ReturnOp,
    _ops.SeqOp,
    _ops.ShapeOp,
    _ops.StringOp,
    _ops.TupleOp,
    _ops.YieldOp,
)


class _CallKind(_Checked):
    def __instancecheck__(self, value: Any) -> bool:
        op = opview_of(value)
        is_ours = op is not None and op.operation.name.startswith("relax.")
        return is_ours and not isinstance(op, _OTHERS)


class Call(metaclass=_CallKind):
    """A call: of an operator, a function, a kernel or a packed function."""


class _DataflowVarKind(_Checked):
    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, ir.Value) and is_dataflow_var(value)


class DataflowVar(metaclass=_DataflowVarKind):
    """A value that only its dataflow block knows."""
