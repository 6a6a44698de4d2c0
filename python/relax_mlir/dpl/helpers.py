# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Short names for patterns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.leaves import ExternFunc
from .expressions import find_op
from .pattern import (
    ConstantPattern,
    DataflowVarPattern,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    GlobalVarPattern,
    VarPattern,
    WildcardPattern,
)
from .restriction import AttrPattern, DataTypePattern, PrimArrPattern
from .structure import (
    CallPattern,
    NotPattern,
    TupleGetItemPattern,
    TuplePattern,
    UnorderedTuplePattern,
)


def wildcard() -> WildcardPattern:
    """Return the pattern of anything."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """Return the pattern of a variable, see `VarPattern`; of any name by default."""
    return VarPattern(name)


def is_dfv(name: str = "") -> DataflowVarPattern:
    """Return the pattern of a variable that only its dataflow block sees."""
    return DataflowVarPattern(name)


def is_gv(name: str = "") -> GlobalVarPattern:
    """Return the pattern of a function of the module by its name; of any by default."""
    return GlobalVarPattern(name)


def is_const() -> ConstantPattern:
    """Return the pattern of a constant tensor."""
    return ConstantPattern()


def is_expr(expr: Any) -> ExprPattern:
    """Return the pattern of a certain expression; see `ExprPattern`."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """Return the pattern of an operator, which is called to get that of its calls.

    Parameters
    ----------
    op_name : str
        Its name in the dialect or in TVM, such as "relax.add" or "relax.nn.relu".

    Raises
    ------
    ValueError
        If the dialect has no such operator.

    Examples
    --------
    >>> is_op("relax.nn.relu")(wildcard())
    relax.relu(*)
    """
    return ExprPattern(find_op(op_name))


def is_tuple(
    fields: Sequence[DFPattern], unordered: bool = False
) -> TuplePattern | UnorderedTuplePattern:
    """Return the pattern of a tuple that the program makes.

    Parameters
    ----------
    fields : sequence of DFPattern
    unordered : bool
        Whether the fields may be in any order.
    """
    if not isinstance(fields, (list, tuple)):
        raise ValueError(f"expected a list of patterns as fields, but got {fields!r}")
    return UnorderedTuplePattern(fields) if unordered else TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Return the pattern of a field that is taken from a tuple; of any field by default."""
    return TupleGetItemPattern(tuple_value, index)


def is_shape(shape: Sequence[Any]) -> PrimArrPattern:
    """Return the pattern of a shape; `DFPattern.has_shape` is that of a tensor."""
    return PrimArrPattern(shape)


def has_dtype(dtype: Any, pattern: DFPattern | None = None) -> DataTypePattern:
    """Return the pattern of a tensor of a data type."""
    return DataTypePattern(WildcardPattern() if pattern is None else pattern, dtype)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """Return the pattern of what has attributes; see `AttrPattern`."""
    return AttrPattern(WildcardPattern() if pattern is None else pattern, attrs)


def reject(pattern: DFPattern) -> NotPattern:
    """Return the pattern of what another pattern does not match."""
    return NotPattern(pattern)


def _arguments(args: Sequence[DFPattern] | DFPattern | None) -> DFPattern:
    if args is None:
        return WildcardPattern()
    return args if isinstance(args, DFPattern) else TuplePattern(args)


def is_call_tir(
    func_name: str,
    args: Sequence[DFPattern] | DFPattern | None = None,
    tir_vars: DFPattern | None = None,
) -> CallPattern:
    """Return the pattern of a call of a kernel with ``R.call_tir``.

    Parameters
    ----------
    func_name : str
        The name of the kernel; empty for any.
    args : sequence of DFPattern, or the pattern of their tuple, optional
        Any by default.
    tir_vars : DFPattern, optional
        The integers that are passed besides; without it the call passes none.
    """
    callee = is_op("relax.call_tir")
    given = [GlobalVarPattern(func_name), _arguments(args), *([tir_vars] if tir_vars else [])]
    return callee(*given, add_constraint=False)


def is_call_dps_packed(
    func_name: str, args: Sequence[DFPattern] | DFPattern | None = None
) -> CallPattern:
    """Return the pattern of a call of a packed function with ``R.call_dps_packed``.

    Parameters
    ----------
    func_name : str
        The name of the function; empty for any.
    args : sequence of DFPattern, or the pattern of their tuple, optional
        Any by default.
    """
    given = (ExternFuncPattern(func_name), _arguments(args))
    return is_op("relax.call_dps_packed")(*given, add_constraint=False)


def is_call_packed(func_name: str, args: Sequence[DFPattern] | None = None) -> CallPattern:
    """Return the pattern of a call of a packed function with ``R.call_packed``.

    Parameters
    ----------
    func_name : str
        The name of the function; empty for any.
    args : sequence of DFPattern, optional
        Any by default.
    """
    callee = ExternFuncPattern(func_name)
    if args is None:
        return callee(varg_default_wildcard=True, add_constraint=False)
    return callee(*args)


def make_fused_bias_activation_pattern(
    op_name: str,
    with_bias: bool = False,
    activation: str | None = None,
    allow_reshape: bool = False,
) -> DFPattern:
    """Return the pattern of an operator of two operands, then a bias, then an activation.

    Parameters
    ----------
    op_name : str
        Such as "relax.matmul".
    with_bias : bool
        Whether a bias is added.
    activation : str, optional
        The name of a unary operator, such as "relax.nn.relu".
    allow_reshape : bool
        Whether the bias is one that is reshaped.

    Examples
    --------
    >>> make_fused_bias_activation_pattern("relax.matmul", True, "relax.nn.relu")
    relax.relu(relax.add(relax.matmul(*, *), *))
    """
    root = is_op(op_name)(wildcard(), wildcard())
    bias = wildcard() if with_bias else None
    return bias_and_activation(root, bias, activation or None, allow_reshape)


def bias_and_activation(
    root: DFPattern, bias: DFPattern | None, activation: str | None, allow_reshape: bool = False
) -> DFPattern:
    """Return the pattern of an operation, then a bias, then an activation, where they are given."""
    out = root
    if bias is not None:
        added = is_op("relax.reshape")(bias, wildcard()) if allow_reshape else bias
        out = is_op("relax.add")(out, added)
    return out if activation is None else is_op(activation)(out)


__all__ = [
    "ExternFunc",
    "has_attr",
    "has_dtype",
    "is_call_dps_packed",
    "is_call_packed",
    "is_call_tir",
    "is_const",
    "is_dfv",
    "is_expr",
    "is_gv",
    "is_op",
    "is_shape",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "make_fused_bias_activation_pattern",
    "reject",
    "wildcard",
]
