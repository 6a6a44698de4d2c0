# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations by their kind."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ..core.lifetimes import keep, module_of
from ..core.variables import Expr, operation_of, walk


def find(root: Expr, *kinds: Any) -> list[ir.OpView]:
    """Return the operations of some kinds that an operation holds.

    Parameters
    ----------
    root : mlir.ir.Operation, mlir.ir.OpView, IRModule or Function
    *kinds : type or str
        Classes of operations, such as ``relax.ExpOp``, or their names, such as "relax.exp".

    Returns
    -------
    list of mlir.ir.OpView
        In their order. They may be erased one by one, and keep their module alive.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   %a = relax.tuple %x : !relax.object
    ...   relax.return %x : !relax.object
    ... }''')
    >>> [op.operation.name for op in find(mod, "relax.tuple", "relax.return")]
    ['relax.tuple', 'relax.return']
    """
    names = {kind if isinstance(kind, str) else kind.OPERATION_NAME for kind in kinds}
    operation = operation_of(root)
    if operation is None:
        raise TypeError(f"expected an operation, a function or a module, but got {root!r}")
    module = module_of(operation)
    return [keep(op.opview, module) for op in walk(operation) if op.name in names]
