# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derive functions: what a call of a packed function gives, by the name in its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, overload

from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from .ir import _identifier

DeriveFunc = Callable[[list[ir.Type], list[ir.Type]], ir.Type]
_F = TypeVar("_F", bound=DeriveFunc)


@overload
def register_derive_func(name: str, *, override: bool = ...) -> Callable[[_F], _F]: ...
@overload
def register_derive_func(name: str, function: _F, *, override: bool = ...) -> _F: ...


def register_derive_func(
    name: str, function: _F | None = None, *, override: bool = False
) -> _F | Callable[[_F], _F]:
    """Have the packed functions of type ``!relax.func<derive = @name>`` derive by `function`.

    Parameters
    ----------
    name : str
        An identifier, with dots where wanted. The process has one function of a name.
    function : callable
        Takes the list of the types of the arguments and the list of `sinfo_args` of a call, and
        returns the type of its result. What it raises is reported at the call. Without it, the
        result is a decorator.
    override : bool
        Whether to replace a function of this name.

    Returns
    -------
    callable
        `function`, or a decorator.

    Raises
    ------
    ValueError
        If there is a function of that name, or it is one of the specification's,
        ``default_derive`` or ``empty_derive``.

    Notes
    -----
    A derive function runs whenever a call is built or verified, so it should depend on nothing
    but its arguments. It is not called by MLIR's own threads: a pass on functions that derives
    needs ``context.enable_multithreading(False)``.

    Examples
    --------
    >>> import relax_mlir as relax
    >>> from relax_mlir import FuncStructInfo, TensorStructInfo, analysis
    >>> @relax.register_derive_func("example.like_first")
    ... def like_first(args, sinfo_args):
    ...     return args[0]
    >>> callee = FuncStructInfo(None, derive_func="example.like_first")
    >>> print(analysis.derive_call_result(callee, [TensorStructInfo(("n",), "float32")]))
    !relax.tensor<[n], f32>
    """
    _identifier(name)
    if function is None:
        return lambda decorated: register_derive_func(name, decorated, override=override)
    if not callable(function):
        raise TypeError(f"expected a function, but got {function!r}")
    _ext.register_derive_func(name, function, override)
    return function


def derive_func_names() -> list[str]:
    """Return the names of all derive functions, sorted.

    Examples
    --------
    >>> {"default_derive", "empty_derive"} <= set(derive_func_names())
    True
    """
    return _ext.derive_func_names()
