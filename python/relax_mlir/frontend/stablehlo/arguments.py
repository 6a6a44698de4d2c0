# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The inputs of a program: their names, and their types with dynamic sizes as shape variables."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core.dtypes import dtype_name
from ...core.expr import Var
from ...core.ir import Dim, TensorStructInfo
from .registry import TensorType, is_token, python_value
from .scope import Dimensions
from .values import Size, Value


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument of ``main``.

    Parameters
    ----------
    value : Var, numpy.ndarray or None
        A parameter, what it is known to be, or None for a token.
    is_kept : bool
        Whether the program of StableHLO has it; JAX leaves those out that are not used.
    """

    value: Value
    is_kept: bool = True


def arguments_of(
    functions: Mapping[str, Any],
    dimensions: Dimensions,
    source: Any,
    info: Sequence[tuple[Sequence[int | str | Dim], str]] | None,
) -> list[Argument]:
    """Return the arguments of ``main``.

    Parameters
    ----------
    functions : mapping of str to jaxlib.mlir.ir.Operation
    dimensions : Dimensions
    source : object
        What is imported; an exported function knows about arguments that are not used.
    info : sequence of (shape, dtype), optional
        What the user says of them.

    Raises
    ------
    ValueError
        If `info` does not agree with the program.
    """
    main = functions["main"]
    attributes = _arg_attributes(main)
    block = main.regions[0].blocks[0]
    names = _names(functions, block)
    found: list[Argument] = []
    stated = None if info is None else list(info)
    count = sum(not _is_given(a, t.type) for a, t in zip(attributes, block.arguments, strict=True))
    if stated is not None and len(stated) != count:
        raise ValueError(f"expected input_info for {count} inputs, but got {len(stated)}")
    for argument, attrs, name in zip(block.arguments, attributes, names, strict=True):
        if is_token(argument.type):
            found.append(Argument(None))
        elif _is_given(attrs, argument.type):
            found.append(Argument(_platform(source)))
        else:
            type_ = TensorType.of(argument.type)
            given = stated.pop(0) if stated else None
            shape = _shape(type_, name, dimensions, given)
            found.append(Argument(Var(name, TensorStructInfo(shape, type_.dtype))))
    return _with_unused(found, source)


def _is_given(attributes: Mapping[str, Any], type_: Any) -> bool:
    return is_token(type_) or attributes.get("jax.global_constant") == "_platform_index"


def _arg_attributes(function: Any) -> list[dict[str, Any]]:
    count = len(function.regions[0].blocks[0].arguments)
    if "arg_attrs" not in function.attributes:
        return [{} for _ in range(count)]
    return [python_value(one) for one in function.attributes["arg_attrs"]]


def global_constants(function: Any) -> list[str]:
    """Return the names of the symbolic dimensions that arguments of a function are, or ""."""
    return [attrs.get("jax.global_constant", "") for attrs in _arg_attributes(function)]


def _platform(source: Any) -> np.ndarray:
    platforms = [str(one).lower() for one in getattr(source, "platforms", ("cpu",))]
    if "cpu" not in platforms:
        raise ValueError(f"expected a program for the platform cpu, but got {platforms}")
    return np.array(platforms.index("cpu"), "int32")


def _shape(
    type_: TensorType, name: str, dimensions: Dimensions, given: tuple[Any, str] | None
) -> list[Size]:
    shape = [
        dimensions.variable(f"{name}_{axis}") if dim is None and given is None else dim
        for axis, dim in enumerate(type_.dims)
    ]
    if given is None:
        return [dim for dim in shape if dim is not None]
    said, dtype = list(given[0]), dtype_name(given[1])
    wanted = [dimensions.variable(dim) if isinstance(dim, str) else dim for dim in said]
    fits = len(wanted) == len(shape) and all(
        a is None or a == b for a, b in zip(shape, wanted, strict=True)
    )
    if not fits or dtype != type_.dtype:
        text = ", ".join(str(dim) for dim in said)
        raise ValueError(
            f"expected input '{name}' of {type_}, as the program states, but got {dtype} and "
            f"shape [{text}] in input_info"
        )
    return wanted


def _names(functions: Mapping[str, Any], block: Any) -> list[str]:
    """Return names for the arguments: those of their locations, or of the function called."""
    found: dict[Any, str] = {argument: _located(argument) for argument in block.arguments}
    for one in block.operations:
        operation = one.operation
        if operation.name == "func.call":
            callee = functions.get(python_value(operation.attributes["callee"]))
            inner = [] if callee is None else callee.regions[0].blocks[0].arguments
            for operand, parameter in zip(operation.operands, inner, strict=False):
                if operand in found and not found[operand]:
                    found[operand] = _located(parameter)
    names: list[str] = []
    for i, argument in enumerate(block.arguments):
        name = found[argument] or f"arg{i}"
        names.append(f"{name}_{i}" if name in names else name)
    return names


def _located(argument: Any) -> str:
    match = re.match(r'loc\("([^"]+)"\)$', str(argument.location))
    name = re.sub(r"\W+", "_", match.group(1)).strip("_") if match else ""
    return name if re.match(r"[A-Za-z]", name) else ""


def _with_unused(found: list[Argument], source: Any) -> list[Argument]:
    """Return arguments with those of an exported function that its program has not."""
    kept = getattr(source, "module_kept_var_idx", None)
    if kept is None:
        return found
    given = [one for one in found if not isinstance(one.value, Var)]
    inputs = iter([one for one in found if isinstance(one.value, Var)])
    result = list(given)
    for i, aval in enumerate(source.in_avals):
        if i in kept:
            result.append(next(inputs))
            continue
        name = f"unused{i}"
        shape = [
            dim if isinstance(dim, int) else Dim(f"{name}_{j}") for j, dim in enumerate(aval.shape)
        ]
        result.append(Argument(Var(name, TensorStructInfo(shape, aval.dtype)), is_kept=False))
    return result
