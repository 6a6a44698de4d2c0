# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions and modules without bindings that nobody uses."""

from __future__ import annotations

from typing import Any

from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from ..core.ir_module import FreeFunction, IRModule
from ..core.variables import operation_of
from ..dialects import relax as _ops
from ..transform import MLIRPass


def remove_all_unused(func: Any) -> Any:
    """Return a copy of a function, or of a module, without bindings that nobody uses.

    Parameters
    ----------
    func : relax.FuncOp, Function or IRModule

    Returns
    -------
    Function or IRModule
        The result of `relax_mlir.transform.DeadCodeElimination` on a copy. A function
        is one of a copy of its module.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   %a = relax.tuple %x : !relax.object
    ...   relax.return %x : !relax.object
    ... }''')
    >>> from relax_mlir.analysis import bound_vars
    >>> len(bound_vars(mod["main"])), len(bound_vars(remove_all_unused(mod["main"])))
    (2, 1)
    """
    clean = MLIRPass("relax.func(relax-dead-code-elimination)", "remove_all_unused")
    if isinstance(func, (IRModule, ir.Module)):
        return clean(func)
    if isinstance(func, FreeFunction):
        return FreeFunction(clean(func.module), func.name)
    root = operation_of(func)
    if root is None or not isinstance(root.opview, _ops.FuncOp):
        raise TypeError(f"expected a Relax function or a module, but got {func!r}")
    if root.parent is None or root.parent.operation.name != "builtin.module":
        raise ValueError("expected a function in a module")
    copy = IRModule(_ext.copy_as_module(root.parent.operation))
    return FreeFunction(clean(copy), root.attributes["sym_name"].value)
