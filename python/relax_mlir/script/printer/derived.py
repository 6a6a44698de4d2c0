# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types and attributes that operations derive, which are therefore not written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mlir import ir

from ..._mlir_libs import _relax_mlir as _ext
from ...builder.places import bound_before
from ...core.dtypes import dtype_name
from ...core.struct_info import erase_to_well_defined, unify_struct_info
from .types import entries


def others(op: ir.Operation) -> list[tuple[str, ir.Attribute]]:
    """Return the attributes of an operation that its own definition does not have."""
    return [item for item in entries(op.attributes) if not item[0].endswith("SegmentSizes")]


def type_of_branches(op: ir.Operation, types: Sequence[ir.Type]) -> ir.Type:
    """Return the type that a branch has by default."""
    scope = bound_before(op)
    then_type, else_type = (erase_to_well_defined(type_, scope, scope) for type_ in types)
    return unify_struct_info(then_type, else_type)


def derived_type(op: ir.Operation) -> ir.Type | None:
    """Return the type that an operation derives for its result; None if it derives none."""
    view = op.opview
    if op.name == "relax.global_var":
        parent: Any = op
        while parent.parent is not None:
            parent = parent.parent.operation
        for symbol in parent.regions[0].blocks[0]:
            attributes = symbol.operation.attributes
            if "sym_name" in attributes and attributes["sym_name"].value == view.name.value:
                return _ext.function_struct_info(symbol.operation)
        return None
    if len(op.regions) or len(op.results) != 1:
        return None
    with op.context, ir.Location.unknown():
        try:
            twin: Any = ir.Operation.create(
                op.name,
                operands=list(op.operands),
                attributes=dict(entries(op.attributes)),
                infer_type=True,
                ip=False,
            )
        except (ValueError, ir.MLIRError):
            return None
    type_ = twin.results[0].type
    twin.erase()
    return type_


def has_function(op: ir.Operation) -> bool:
    """Say whether the first operand of a call is the function that is called."""
    return getattr(op.opview, "callee", None) is None


def number_text(attr: ir.Attribute, is_verbose: bool) -> str | None:
    """Return a number with its data type, as the functions of T write it."""
    if isinstance(attr, ir.BoolAttr):
        return f"T.bool({attr.value})"
    try:
        name = dtype_name(attr.type)
    except ValueError:
        return None
    value = attr.value
    if isinstance(attr, ir.IntegerAttr):
        return str(value) if name == "int64" and not is_verbose else f"T.{name}({value})"
    if math.isfinite(value):
        return f"T.{name}({value!r})"
    with attr.context, ir.Location.unknown():
        is_plain = ir.FloatAttr.get(attr.type, value) == attr
    return f'T.{name}("{value}")' if is_plain else None
