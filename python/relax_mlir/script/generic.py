# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generic forms of operations, types, attributes and functions that TVMScript has no words for.

The printer writes them, and the parser reads them, as calls in the namespace ``I``:

- ``I.mlir_op("relax.builtin.dim", x, attrs={"index": 1}, types=(I.mlir_type("i64"),))``, an
  operation by its name in MLIR;
- ``I.mlir_type("i64")`` and ``I.mlir_attr("unit")``, a type and an attribute as text of MLIR;
- ``I.mlir(text)`` in a module, functions and other operations as text of MLIR;
- ``I.metadata(text)``, the constants that ``metadata["relax.expr.Constant"]`` lists. The text is
  one of MLIR, or the JSON that TVM prints as ``tvm.ir.load_json(text)``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mlir import ir

from ..core.context import current_context, current_location
from ..core.diagnostics import parse_module, reason
from ..core.expr import as_value
from ..tir.attributes import attribute
from .tvm_json import CONSTANT, load_json

METADATA_KEY = CONSTANT
_METADATA = "builtin.metadata"
# Stands between the texts of several functions.
_MARK = "relax_mlir.end_of_text"


def mlir_type(text: str) -> ir.Type:
    """Return a type from text of MLIR.

    Raises
    ------
    ValueError
        If it is none; the message says why.

    Examples
    --------
    >>> print(mlir_type("!relax.object"))
    !relax.object
    """
    try:
        return ir.Type.parse(text, context=current_context())
    except ir.MLIRError as error:
        raise ValueError(f"expected a type of MLIR, but got {text!r}: {reason(error)}") from None


def mlir_attr(text: str) -> ir.Attribute:
    """Return an attribute from text of MLIR.

    Raises
    ------
    ValueError
        If it is none; the message says why.

    Examples
    --------
    >>> print(mlir_attr("3 : i32"))
    3 : i32
    """
    try:
        return ir.Attribute.parse(text, context=current_context())
    except ir.MLIRError as error:
        message = f"expected an attribute of MLIR, but got {text!r}: {reason(error)}"
        raise ValueError(message) from None


def mlir_op(
    name: str,
    *operands: Any,
    attrs: Mapping[str, Any] | None = None,
    types: Sequence[ir.Type] = (),
) -> Any:
    """Insert an operation at the current place.

    Parameters
    ----------
    name : str
        The name of the operation in MLIR, with that of its dialect.
    *operands : value
    attrs : mapping of str to value, optional
        Its attributes, as of `attribute`.
    types : sequence of mlir.ir.Type
        The types of its results.

    Returns
    -------
    mlir.ir.Value, tuple of it or None
        Its results.

    Raises
    ------
    ValueError
        If the operation is not valid.
    """
    attributes = {key: attribute(key, value) for key, value in (attrs or {}).items()}
    try:
        op = ir.Operation.create(
            name,
            results=list(types),
            operands=[as_value(operand) for operand in operands],
            attributes=attributes,
            loc=current_location(),
        )
    except ir.MLIRError as error:
        raise ValueError(f"{name}: {reason(error)}") from None
    results = list(op.results)
    if not results:
        return None
    return results[0] if len(results) == 1 else tuple(results)


class TextError(ValueError):
    """A text of MLIR is wrong.

    Attributes
    ----------
    index : int
        Which one it is of the texts that are parsed together.
    """

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


def _text_error(texts: Sequence[str], error: ir.MLIRError) -> TextError:
    """Return an error of texts that follow the first line, each with a line after it."""
    message = f"expected functions as text of MLIR: {reason(error)}"
    places = [str(each.location) for each in error.error_diagnostics]
    found = re.search(r'"-":(\d+):', places[0] if places else "")
    line = int(found[1]) - 1 if found else 1
    for index, text in enumerate(texts):
        count = text.count("\n") + 1
        if line <= count:
            return TextError(f"{message} (line {line} of it)" if count > 1 else message, index)
        line -= count + 1
    return TextError(message, 0)


def mlir_functions(module: ir.Module, texts: Sequence[str]) -> list[list[ir.Operation]]:
    """Add the operations of texts of MLIR to the end of a module.

    Parameters
    ----------
    module : mlir.ir.Module
        The texts may call the functions that are in it already.
    texts : sequence of str
        Each text holds whole operations, such as functions. All are added at once, so that they
        may call each other.

    Returns
    -------
    list of list of mlir.ir.Operation
        The operations of each text.

    Raises
    ------
    TextError
        If a text is not valid.

    Examples
    --------
    >>> module = ir.Module.parse("module {}", context=current_context())
    >>> added = mlir_functions(module, ["func.func private @f()", "func.func private @g()"])
    >>> [len(operations) for operations in added]
    [1, 1]
    """
    context = module.context
    known = [_declaration(op.operation) for op in module.body.operations]
    own = module.operation.attributes
    attributes = ir.DictAttr.get({name: own[name] for name in own}, context=context)
    parts = [part for text in texts for part in (text, f"module @{_MARK} {{}}")]
    header = f"attributes {attributes} " if len(attributes) else ""
    with context, ir.Location.unknown():
        try:
            source = "\n".join([*parts, *known])
            # Names of its own for each mark, as symbols are unique.
            for number in range(len(texts)):
                source = source.replace(f"@{_MARK} {{", f"@{_MARK}.{number} {{", 1)
            parsed = parse_module(f"module {header}{{\n{source}\n}}", context)
        except ir.MLIRError as error:
            raise _text_error(texts, error) from None
    result: list[list[ir.Operation]] = [[]]
    for op in [view.operation for view in parsed.body.operations]:
        name = op.attributes["sym_name"].value if "sym_name" in op.attributes else ""
        if name.startswith(_MARK):
            result.append([])
        elif len(result) <= len(texts):
            op.detach_from_parent()
            module.body.append(op)
            result[-1].append(op)
    return result[: len(texts)]


def _declaration(op: ir.Operation) -> str:
    """Return the text of a function without its body, or of any other operation."""
    if op.name not in ("relax.func", "func.func"):
        return str(op)
    name = ir.FlatSymbolRefAttr.get(op.attributes["sym_name"].value, context=op.context)
    type_ = ir.FunctionType(op.attributes["function_type"].value)
    inputs = ", ".join(str(item) for item in type_.inputs)
    results = ", ".join(str(item) for item in type_.results)
    results = results if op.name == "relax.func" else f"({results})"
    is_pure = "is_pure" not in op.attributes or op.attributes["is_pure"].value
    purity = " impure" if op.name == "relax.func" and not is_pure else ""
    return f"{op.name} private{purity} {name}({inputs}) -> {results}"


def metadata_text(attrs: Sequence[ir.Attribute]) -> str:
    """Return constants as text of MLIR, for `metadata`."""
    context = attrs[0].context
    with context, ir.Location.unknown():
        module = ir.Module.create()
        listed = ir.DictAttr.get({METADATA_KEY: ir.ArrayAttr.get(list(attrs))})
        module.operation.attributes[_METADATA] = listed
        return str(module).strip()


def metadata(text: str) -> dict[str, list[Any]]:
    """Return the content of the text of `metadata_text` or TVM: lists of constants by kind.

    Parameters
    ----------
    text : str
        Of MLIR, or in JSON.

    Raises
    ------
    ValueError
        If the text is not valid.

    Examples
    --------
    >>> attr = mlir_attr("dense<1.0> : tensor<2x3xf32>")
    >>> metadata(metadata_text([attr]))[METADATA_KEY][0] == attr
    True
    """
    if text.lstrip().startswith("{"):
        return load_json(text)
    with current_context(), ir.Location.unknown():
        try:
            module = parse_module(text)
        except ir.MLIRError as error:
            raise ValueError(f"expected metadata as text of MLIR: {reason(error)}") from None
    attributes = module.operation.attributes
    if _METADATA not in attributes or not isinstance(attributes[_METADATA], ir.DictAttr):
        raise ValueError(f"expected metadata: a module with the attribute '{_METADATA}'")
    kinds = attributes[_METADATA]
    return {kinds[index].name: list(kinds[index].attr) for index in range(len(kinds))}
