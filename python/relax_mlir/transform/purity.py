# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that promise to be pure, whatever they call."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ..core.ir import FuncStructInfo
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..dialects import relax as _ops
from .pass_context import PassContext
from .python_pass import module_pass
from .signatures import relax_functions, run_on_function

_FORCE_PURE = "relax.force_pure"
# Calls for which the program vouches that they are pure.
_VOUCHED = ("relax.call_pure_packed", "relax.call_inplace_packed")


@module_pass(opt_level=0)
class RemovePurityChecking:
    """Have pure functions promise that they are pure, and make ordinary calls in them.

    Pure functions and closures get the attribute ``relax.force_pure``. ``call_pure_packed`` and
    ``call_inplace_packed`` become ``call_packed``; where they are in a dataflow block, which has no
    such calls, the dataflow blocks of the function are inlined first.

    Compilation does not need this pass: purity is known to its end.

    Examples
    --------
    >>> from relax_mlir.transform import RemovePurityChecking
    >>> mod = RemovePurityChecking()('''
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   %0 = relax.call_pure_packed "my.copy"(%x) : (!relax.object) -> !relax.object
    ...   relax.return %0 : !relax.object
    ... }''')
    >>> [op.operation.name for op in mod["main"].body.blocks[0].operations]
    ['relax.call_packed', 'relax.return']
    >>> print(mod["main"].attrs["relax.force_pure"])
    true
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change the functions."""
        for function in relax_functions(mod.module):
            vouched = [op for op in walk(function) if op.name in _VOUCHED]
            if any(op.parent.operation.name == "relax.dataflow" for op in vouched):
                run_on_function("relax-to-non-dataflow", function)
                vouched = [op for op in walk(function) if op.name in _VOUCHED]
            for op in vouched:
                _call(op)
            for op in walk(function):
                if _is_pure(op):
                    op.attributes[_FORCE_PURE] = ir.BoolAttr.get(True, context=mod.context)
        return mod


def _is_pure(op: ir.Operation) -> bool:
    if op.name == "relax.closure":
        return FuncStructInfo(op.results[0].type).is_pure
    if op.name != "relax.func":
        return False
    return "is_pure" not in op.attributes or bool(op.attributes["is_pure"].value)


def _call(vouched: ir.Operation) -> None:
    """Put an ordinary call in the place of one that is vouched for."""
    view: Any = vouched.opview
    attributes = vouched.attributes
    given = {"sinfo_args": attributes.get("sinfo_args")}
    type_ = vouched.results[0].type
    with ir.InsertionPoint(vouched), vouched.location:
        if "callee" in attributes:
            new = _ops.CallPackedOp(type_, attributes["callee"], list(view.args), **given)
        else:
            new = _ops.CallOp(type_, list(view.args), function=view.function, **given)
    vouched.results[0].replace_all_uses_with(new.result)
    vouched.erase()
