# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Relay as modules: what can be given, and what can be said of the inputs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.ir_module import IRModule
from ...core.struct_info import StructInfoWarning
from . import ast
from .ast import ANY, Expr, Function, Module, RelayError, TensorType, Type, Var
from .normal_form import normalized
from .saved.json_nodes import load_json
from .text.parser import parse
from .translator import Translator
from .unification import MismatchError, type_text, unify, with_holes


def from_relay(
    program: Module | Expr | str | Path,
    params: Mapping[str, Any] | None = None,
    *,
    shape_dict: Mapping[str, Sequence[int | None]] | None = None,
    dtype_dict: Mapping[str, str] | str = "float32",
) -> IRModule:
    """Return a program of Relay as a module of Relax.

    Operators become operators of Relax. The functions of a module that ``main`` needs are
    translated, or all functions without type parameters where there is no ``main``; a function or
    another expression becomes ``main``.

    Parameters
    ----------
    program : Module, Expr, str or Path
        A module, a function or another expression; or its text, TVM's JSON of it, or a file with
        one of them.
    params : mapping of str to array, optional
        Parameters that become constants, by name.
    shape_dict : mapping of str to sequence of int or None, optional
        The shapes of parameters that state no type; None is a dimension that is known when the
        program runs.
    dtype_dict : mapping of str to str, or str
        The data types of these parameters, or that of all of them.

    Returns
    -------
    IRModule

    Raises
    ------
    RelayError
        If the program is wrong. The message has its place.
    NotImplementedError
        If an operator has no converter, or a construct no counterpart: references.
    ValueError
        If a parameter is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> mod = from_relay('''#[version = "0.0.5"]
    ... def @main(%x: Tensor[(?, 3), float32], %w: Tensor[(2, 3), float32]) {
    ...   %0 = nn.dense(%x, %w, units=2);
    ...   nn.relu(%0)
    ... }''', params={"w": np.ones((2, 3), "float32")})
    >>> main = relax.VirtualMachine(relax.compile(mod))["main"]
    >>> print(main(np.array([[1, 2, 3], [-4, 1, 1]], "float32")).numpy())
    [[6. 6.]
     [0. 0.]]
    """
    module = as_module(program)
    entries = _entries(module)
    arrays = {name: np.asarray(array) for name, array in (params or {}).items()}
    known = {param.name: param for name in entries for param in module.functions[name].params}
    for name in (*arrays, *(shape_dict or {})):
        if name not in known:
            raise ValueError(f"expected one of the parameters {sorted(known)}, but got '{name}'")
    types = {
        id(param): _param_type(param, (shape_dict or {}).get(param.name), arrays, dtype_dict)
        for param in known.values()
    }
    with warnings.catch_warnings():
        # That a ? may be another number is what the program says.
        warnings.simplefilter("ignore", StructInfoWarning)
        return Translator(normalized(module), entries, types, arrays).run()


# A text that is the name of a file, most likely.
_FILE = re.compile(r"[/.~]\S*|\S+\.\w{1,8}")


def as_module(program: Module | Expr | str | Path) -> Module:
    """Return a program as a module: an expression is the function ``main``.

    Parameters
    ----------
    program : Module, Expr, str or Path
        A str is text or JSON, a Path a file with either.

    Raises
    ------
    RelayError
        If the text is wrong.
    """
    if isinstance(program, (str, Path)):
        program = _read(program)
    if isinstance(program, Module):
        return program
    if not isinstance(program, Function):
        program = Function(ast.free_vars(program), program)
    return Module({"main": program})


def _read(program: str | Path) -> Module | Expr:
    source = str(program) if isinstance(program, Path) else "<relay>"
    text = program.read_text() if isinstance(program, Path) else program
    if isinstance(program, str) and _FILE.fullmatch(text):
        raise ValueError(
            f"expected a program of Relay, but got {text!r}; if it is a file: Path({text!r})"
        )
    return load_json(text) if text.lstrip().startswith("{") else parse(text, source)


def _entries(module: Module) -> list[str]:
    if "main" in module.functions:
        main = module.functions["main"]
        if main.type_params:
            raise RelayError("expected '@main' without type parameters", main.span)
        return ["main"]
    entries = [name for name, one in module.functions.items() if not one.type_params]
    if not entries:
        raise RelayError("expected a function without type parameters, but there is none")
    return entries


def _param_type(
    param: Var,
    shape: Sequence[int | None] | None,
    arrays: Mapping[str, np.ndarray],
    dtypes: Mapping[str, str] | str,
) -> Type | None:
    """Return the type of a parameter: what the program states, or what is said of it.

    Raises
    ------
    ValueError
        If they are different.
    """
    said: Type | None = None
    if param.name in arrays:
        said = TensorType(arrays[param.name].shape, arrays[param.name].dtype.name)
    elif shape is not None:
        dtype = dtypes if isinstance(dtypes, str) else dtypes.get(param.name, "float32")
        said = TensorType(tuple(ANY if dim is None else dim for dim in shape), dtype)
    if said is None or param.type is None:
        return said or param.type
    try:
        unify(with_holes(param.type), said)
        _check_dims(param.type, said)
    except MismatchError:
        raise ValueError(
            f"expected parameter '{param.name}' of type {type_text(param.type)}, but got "
            f"{type_text(said)}"
        ) from None
    return said


def _check_dims(stated: Type, said: Type) -> None:
    """Raise MismatchError if two tensors of one rank have different dimensions that are known."""
    if isinstance(stated, TensorType) and isinstance(said, TensorType):
        for one, other in zip(stated.shape, said.shape, strict=True):
            if isinstance(one, int) and isinstance(other, int) and one != other:
                raise MismatchError
