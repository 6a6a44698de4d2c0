# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Idioms in kernels: several operations that together compute one function."""

from __future__ import annotations

from mlir import ir


def owner_of(value: ir.Value) -> ir.Operation | None:
    """Return the operation that makes a value, None for an argument."""
    return value.owner if isinstance(value, ir.OpResult) else None


def made_by(value: ir.Value, *names: str) -> ir.Operation | None:
    """Return the operation that makes a value, if it has one of some names."""
    op = owner_of(value)
    return op if op is not None and op.name in names else None


def constant_of(value: ir.Value) -> int | float | None:
    """Return the number that a value is known to be, or None."""
    op = made_by(value, "arith.constant")
    if op is None:
        return None
    attr = op.attributes["value"]
    return attr.value if isinstance(attr, ir.IntegerAttr | ir.FloatAttr | ir.BoolAttr) else None


def _equals(value: ir.Value, number: int) -> bool:
    known = constant_of(value)
    return known is not None and known == number


def _select(value: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value] | None:
    op = made_by(value, "arith.select")
    return None if op is None else tuple(op.operands)


_Division = tuple[ir.Value, ir.Value, bool]  # dividend, divisor, whether they are unsigned


def match_div(value: ir.Value) -> _Division | None:
    """Return the operands of a quotient of integers rounded towards zero."""
    op = made_by(value, "arith.divsi", "arith.divui")
    if op is not None:
        return op.operands[0], op.operands[1], op.name == "arith.divui"
    outer = _select(value)
    if outer is None or not _equals(outer[1], 0):
        return None
    inner = outer[2]
    around_negated = _select(inner)
    if around_negated is not None:
        inner = around_negated[2]
    op = made_by(inner, "arith.divsi", "arith.divui")
    safe = None if op is None else _select(op.operands[1])
    if op is None or safe is None or not _equals(safe[1], 1):
        return None
    return op.operands[0], safe[2], op.name == "arith.divui"


def match_rem(value: ir.Value) -> _Division | None:
    """Return the operands of a remainder with the sign of the dividend."""
    op = made_by(value, "arith.remsi", "arith.remui")
    if op is not None:
        return op.operands[0], op.operands[1], op.name == "arith.remui"
    outer = _select(value)
    if outer is None or not _equals(outer[1], 0):
        return None
    difference = made_by(outer[2], "arith.subi")
    product = None if difference is None else made_by(difference.operands[1], "arith.muli")
    if product is None:
        return None
    operands = match_div(product.operands[0])
    return operands if operands is not None and operands[1] == product.operands[1] else None


def match_floor_div(value: ir.Value) -> _Division | None:
    """Return the operands of a quotient of integers rounded down."""
    parts = _select(value)
    below = None if parts is None else made_by(parts[1], "arith.subi")
    if parts is None or below is None or below.operands[0] != parts[2]:
        return None
    return match_div(parts[2]) if _equals(below.operands[1], 1) else None


def match_floor_mod(value: ir.Value) -> _Division | None:
    """Return the operands of a remainder with the sign of the divisor."""
    parts = _select(value)
    above = None if parts is None else made_by(parts[1], "arith.addi")
    if parts is None or above is None or above.operands[0] != parts[2]:
        return None
    operands = match_rem(parts[2])
    return operands if operands is not None and operands[1] == above.operands[1] else None


def match_float_to_int(value: ir.Value) -> tuple[ir.Value, bool] | None:
    """Return the float that becomes an integer, and whether that is signed."""
    narrow = made_by(value, "arith.trunci")
    if narrow is not None:
        return _match_clamped(narrow.operands[0])
    outer = _select(value)
    inner = None if outer is None else _select(outer[2])
    op = None if inner is None else made_by(inner[2], "arith.fptosi", "arith.fptoui")
    safe = None if op is None else _select(op.operands[0])
    if op is None or safe is None:
        return None
    return safe[1], op.name == "arith.fptosi"


def _match_clamped(wide: ir.Value) -> tuple[ir.Value, bool] | None:
    """Return the float that is clamped to integers of 8 or 16 bits, and whether they are signed."""
    op = made_by(wide, "arith.fptosi")
    below = None if op is None else _select(op.operands[0])
    if below is not None and _is_number(below[0]):  # or else 0
        below = _select(below[1])
    above = None if below is None else _select(below[1])
    low = None if above is None else constant_of(above[2])
    return None if above is None or low is None else (above[1], low < 0)


def _is_number(condition: ir.Value) -> bool:
    """Say whether a condition compares a float with itself."""
    op = made_by(condition, "arith.cmpf")
    return op is not None and op.operands[0] == op.operands[1]


def match_sigmoid(value: ir.Value) -> ir.Value | None:
    """Return the operand of 1 / (1 + exp(-x))."""
    op = made_by(value, "arith.divf")
    if op is None or not _equals(op.operands[0], 1):
        return None
    total = made_by(op.operands[1], "arith.addf")
    power = None if total is None else made_by(total.operands[1], "math.exp")
    negated = None if power is None else made_by(power.operands[0], "arith.negf")
    return None if negated is None else negated.operands[0]


def match_shift(value: ir.Value) -> tuple[str, ir.Value, ir.Value] | None:
    """Return the name and the operands of a shift by an amount that is not known."""
    outer = _select(value)
    if outer is not None and _equals(outer[1], 0):
        op = made_by(outer[2], "arith.shli", "arith.shrui")
    else:
        op = made_by(value, "arith.shrsi")
    if op is None:
        return None
    limited = _select(op.operands[1])
    if limited is None or constant_of(limited[1]) is None:
        return None
    name = "shift_left" if op.name == "arith.shli" else "shift_right"
    return name, op.operands[0], limited[2]
