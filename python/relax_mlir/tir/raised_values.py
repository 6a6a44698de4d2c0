# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of kernels as expressions: their data types follow from what is around them."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ..core.dtypes import dtype_name
from . import expr as _expr
from .expr import FloatImm, IntImm, PrimExpr


class NotRaisableError(ValueError):
    """A function has no counterpart as tensor program."""


class KernelName(_expr.StringImm):
    """The name of a function of the module that a kernel calls."""


def is_kernel(name: str, op: ir.Operation) -> bool:
    """Say whether the module of an operation defines a function of a name."""
    module: Any = op.parent
    if module is None:
        return False
    return any(
        each.operation.name == "func.func"
        and each.operation.attributes["sym_name"].value == name
        and len(each.operation.regions[0].blocks)
        for each in module.operation.regions[0].blocks[0].operations
    )


def from_attribute(attr: ir.Attribute) -> Any:
    """Return an attribute as a value of ``T.func_attr``.

    Raises
    ------
    NotRaisableError
        If there is none.
    """
    if isinstance(attr, ir.BoolAttr):
        return attr.value
    if isinstance(attr, ir.IntegerAttr):
        if not isinstance(attr.type, ir.IntegerType):
            raise NotRaisableError(f"the attribute {attr}")
        if attr.type == ir.IntegerType.get_signless(64, attr.context):
            return attr.value
        return IntImm(dtype_name(attr.type), attr.value)
    if isinstance(attr, ir.FloatAttr):
        if isinstance(attr.type, ir.F64Type):
            return attr.value
        return FloatImm(dtype_name(attr.type), attr.value)
    if isinstance(attr, ir.StringAttr):
        if not isinstance(attr.type, ir.NoneType):
            raise NotRaisableError(f"the attribute {attr}")
        return attr.value
    if isinstance(attr, ir.UnitAttr):
        return None
    if isinstance(attr, ir.ArrayAttr):
        return [from_attribute(element) for element in attr]
    if isinstance(attr, ir.DictAttr):
        return {item.name: from_attribute(item.attr) for item in attr}
    raise NotRaisableError(f"the attribute {attr}")


class Open(PrimExpr):
    """A constant whose data type follows from what is around it."""

    def __init__(self, value: int | float, dtype: str) -> None:
        self.value, self.dtype = value, dtype


def fix(expr: PrimExpr, dtype: str) -> PrimExpr:
    """Return an expression as one of a data type that is held in the same way."""
    if isinstance(expr, Open):
        if _expr.is_float(dtype):
            return FloatImm(dtype, expr.value)
        width = _expr.bits(dtype)
        value = int(expr.value) % 2**width
        if _expr.is_int(dtype) and value >= 2 ** (width - 1):
            value -= 2**width
        return IntImm(dtype, value)
    if expr.dtype == dtype:
        return expr
    if isinstance(expr, _expr.Cast) and _resizes(expr):
        return _expr.Cast(dtype, expr.value)
    return _expr.Cast(dtype, expr)


def _resizes(expr: _expr.Cast) -> bool:
    """Say whether a cast is one of integers that means the same for the result of either sign."""
    source = expr.value.dtype
    integers = all(_expr.is_integer(dtype) for dtype in (source, expr.dtype))
    return source == "bool" or (integers and _expr.bits(source) != _expr.bits(expr.dtype))


def close(expr: PrimExpr) -> PrimExpr:
    """Return an expression whose data type is settled."""
    return fix(expr, expr.dtype) if isinstance(expr, Open) else expr


def join(a: PrimExpr, b: PrimExpr, sign: str = "any") -> tuple[PrimExpr, PrimExpr]:
    """Return two operands with one data type."""
    if isinstance(a, Open) and not isinstance(b, Open):
        dtype = _dtype_with(a, b)
    elif isinstance(b, Open) and not isinstance(a, Open):
        dtype = _dtype_with(b, a)
    elif a.dtype == b.dtype:
        dtype = a.dtype
    else:
        dtype = _expr.promote(a.dtype, b.dtype)
    dtype = signed_dtype(dtype, sign)
    return fix(a, dtype), fix(b, dtype)


def _dtype_with(constant: Open, other: PrimExpr) -> str:
    """Return the data type of a constant that is computed with another value."""
    dtype = other.dtype
    if _expr.is_float(dtype) and _expr.bits(dtype) == 16:
        value = float(constant.value)
        # It is held as f32: a number that is not rounded is one of that type.
        if FloatImm(dtype, value).value != value and value == value:
            return constant.dtype
    return dtype


def signed_dtype(dtype: str, sign: str) -> str:
    """Return an integer data type with or without a sign."""
    if sign == "signed" and _expr.is_uint(dtype):
        return dtype.removeprefix("u")
    if sign == "unsigned" and _expr.is_int(dtype):
        return "u" + dtype
    return dtype


def rounded_down(node: Any) -> Any:
    """Return the division that is the same one for integers that are not negative."""
    return {_expr.Div: _expr.FloorDiv, _expr.Mod: _expr.FloorMod}.get(node, node)


def is_natural(expr: PrimExpr) -> bool:
    """Say whether an integer is known not to be negative."""
    return expr.value >= 0 if isinstance(expr, Open) else _expr.is_non_negative(expr)


def scalar_dtype(type_: ir.Type) -> str:
    """Return the data type of the numbers of a type."""
    if isinstance(type_, ir.IndexType):
        raise NotRaisableError("an index as a number")
    return element_dtype(type_)


def element_dtype(type_: ir.Type) -> str:
    """Return the data type of the elements of a buffer."""
    try:
        return dtype_name(type_)
    except (ValueError, TypeError):
        raise NotRaisableError(f"the type {type_}") from None
