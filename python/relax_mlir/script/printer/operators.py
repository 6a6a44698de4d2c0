# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators as calls of functions of R, found by their definitions.

The names of the operands and attributes of an operation come from its generated class, and the
function from `relax_mlir.op`: an operator that has both needs nothing here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlir import ir

from ...core.expr import known_number
from ...core.ir import TensorStructInfo
from ...op._signatures import is_default, operator_path
from ...op.set import UNIQUE, unique_types
from .types import TypePrinter, entries, quote, sequence

Form = Callable[[], str]

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")
# Attributes that the definition of an operation does not mention, and its call in R has.
_NAMED_IN_CALLS = {"relax.call_tir": ("te_grad_name", "te_grad_kwargs")}
# Defaults that are written nevertheless, as TVM has others: there, an index out of
# range is undefined.
_OTHER_DEFAULTS = {("relax.take", "mode"): "clip"}
_UNIQUE_FLAGS = ("return_index", "return_inverse", "return_counts")


def is_struct_info(type_: ir.Type) -> bool:
    """Say whether a type is one of the dialect."""
    return str(type_).startswith("!relax.")


@functools.cache
def _argument_names(op_class: Any) -> tuple[str, ...]:
    """Return the names of the operands and attributes of a class, in their order."""
    return tuple(
        name
        for name in inspect.signature(op_class.__init__).parameters
        if name not in ("self", "results", "loc", "ip")
    )


def _names_of(view: Any) -> tuple[str, ...]:
    return _argument_names(view.__class__)


class OperatorArguments(Mapping[str, Any]):
    """The operands and attributes of an operation by name; None where one is left out.

    An operand is a value, or a list of values where there may be any number of them.
    """

    def __init__(self, op: ir.Operation) -> None:
        view = op.opview
        names = () if type(view) is ir.OpView else _names_of(view)
        self._values = {name: _argument(getattr(view, name, None)) for name in names}
        known = {*names, *_SEGMENTS, *_NAMED_IN_CALLS.get(op.name, ())}
        # Attributes that the definition of the operation does not mention.
        self.has_others = type(view) is ir.OpView or any(
            name not in known for name, _ in entries(op.attributes)
        )
        for name in _NAMED_IN_CALLS.get(op.name, ()):
            if name in op.attributes:
                self._values[name] = op.attributes[name]
        results = list(op.results)
        self._values = {
            name: value
            for name, value in self._values.items()
            if not any(value is result or value == result for result in results if _is_value(value))
        }

    def __getitem__(self, name: str) -> Any:
        return self._values.get(name)

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _is_value(value: Any) -> bool:
    return isinstance(value, ir.Value)


def _argument(value: Any) -> Any:
    if value is None or isinstance(value, (ir.Value, ir.Attribute)):
        return value
    try:
        return list(value)
    except TypeError:
        return None


def operator_form(
    op: ir.Operation,
    arguments: OperatorArguments,
    value: Callable[[ir.Value], str],
    types: TypePrinter,
) -> Form | None:
    """Return the function that writes an operator; None if no function of R makes the operation."""
    found = operator_path(op.name)
    if found is None:
        return None
    path, signature = found
    params = list(signature.parameters)
    operands: list[Any] = []
    named: dict[str, Any] = {}  # operands that are not at their places
    attributes: dict[str, ir.Attribute] = {}
    for name, argument in arguments.items():
        if isinstance(argument, ir.Attribute):
            is_elsewhere = (op.name, name) in _OTHER_DEFAULTS
            if is_elsewhere or not is_default(op.name, name, argument):
                attributes[name] = argument
        elif (op.name, name) in _OTHER_DEFAULTS:
            attributes[name] = ir.StringAttr.get(_OTHER_DEFAULTS[op.name, name], op.context)
        elif argument is not None:
            is_here = name not in params or params.index(name) == len(operands)
            if is_here and not named:
                operands.append(argument)
            else:
                named[name] = argument
    rest = params[len(operands) :]
    if len(operands) > len(params) or not all(name in rest for name in (*named, *attributes)):
        return None

    def text(operand: Any) -> str:
        if isinstance(operand, list):
            return sequence([value(item) for item in operand])
        return value(operand)

    def form() -> str:
        args = [text(operand) for operand in operands]
        args += [f"{name}={text(operand)}" for name, operand in named.items()]
        args += [f"{name}={types.argument(attr)}" for name, attr in attributes.items()]
        return f"{path}({', '.join(args)})"

    return form


def unique_options(arguments: OperatorArguments) -> list[str] | None:
    """Return the options with which R.unique makes a call; None if it makes no such call."""
    callee, args = arguments["callee"], arguments["args"]
    if callee is None or callee.value != UNIQUE or not args:
        return None
    try:
        *flags, axis = [known_number(arg, "an option") for arg in args[1:]] or [None]
    except TypeError:
        return None
    if isinstance(axis, bool):  # there is none
        flags, axis = [*flags, axis], None
    flags = flags or [False] * len(_UNIQUE_FLAGS)
    if len(flags) != len(_UNIQUE_FLAGS) or not isinstance(args[0].type, TensorStructInfo):
        return None
    has_options = axis is not None or any(flags)
    stated = [item.value for item in arguments["sinfo_args"]]
    if has_options != (len(args) > 1) or stated != unique_types(args[0].type, flags, axis):
        return None
    given = [f"{name}=True" for name, flag in zip(_UNIQUE_FLAGS, flags, strict=True) if flag]
    return given if axis is None else [*given, f"axis={axis}"]


def generic_form(op: ir.Operation, values: Sequence[str], types: TypePrinter, prefix: str) -> str:
    """Return an operation by its name in MLIR, with all its attributes."""
    args = [quote(op.name), *values]
    attrs = entries(op.attributes)
    args += [f"attrs={types.attributes(attrs)}"] if attrs else []
    results = [types.struct_info(result.type) for result in op.results]
    args += [f"types={sequence(results)}"] if results else []
    return f"{prefix}.mlir_op({', '.join(args)})"
