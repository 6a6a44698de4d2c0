# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of functions in a module and outside of it."""

from __future__ import annotations

from collections.abc import Mapping

from mlir import ir

from ..builder.function_bodies import Names
from ..core.ir_module import IRModule
from ..core.variables import blocks_of
from .pass_context import PassContext
from .python_pass import module_pass
from .signatures import is_private, name_of

_GLOBAL_SYMBOL = "global_symbol"
_PREFIX = "system_lib_prefix"


@module_pass(opt_level=0)
class AttachGlobalSymbol:
    """Make all functions and kernels of a module visible outside of it.

    A Relax function is visible under its name. A kernel gets the attribute ``global_symbol``, and
    the prefix that the attribute ``system_lib_prefix`` of the module states is put before its name.

    Examples
    --------
    >>> from relax_mlir.transform import AttachGlobalSymbol
    >>> print(AttachGlobalSymbol()('''
    ... relax.func private @id(%x: !relax.object) -> !relax.object {
    ...   relax.return %x : !relax.object
    ... }'''))
    module {
      relax.func @id(%x: !relax.object) -> !relax.object {
        relax.return %x : !relax.object
      }
    }
    <BLANKLINE>
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change the functions."""
        stated = mod.attrs.get(_PREFIX)
        prefix = str(ir.StringAttr(stated).value) if stated is not None else ""
        functions = {name: op for name, op in _functions(mod).items() if _may_be_public(op)}
        kernels = {name: op for name, op in functions.items() if op.name != "relax.func"}
        names = {
            name: prefix + name
            for name, op in kernels.items()
            if not (name.startswith(prefix) and _symbol_of(op) == name)
        }
        _rename(mod, names)
        for name, op in functions.items():
            if "sym_visibility" in op.attributes:
                del op.attributes["sym_visibility"]
            if name in kernels:
                op.attributes[_GLOBAL_SYMBOL] = ir.StringAttr.get(name_of(op), mod.context)
        return mod


@module_pass(opt_level=0)
class NormalizeGlobalVar:
    """Give each function that is visible outside of its module the name of its ``global_symbol``.

    A private function that has this name gets another one, and so do references to both.

    Raises
    ------
    ValueError
        If two functions that are visible outside state the same name.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> from relax_mlir.transform import NormalizeGlobalVar
    >>> mod = IRModule('''
    ... relax.func @f1(%x: !relax.object) -> !relax.object {
    ...   relax.return %x : !relax.object
    ... }''')
    >>> mod["f1"] = mod["f1"].with_attr("global_symbol", "f")
    >>> list(NormalizeGlobalVar()(mod))
    ['f']
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Rename the functions."""
        functions = _functions(mod)
        wanted: dict[str, str] = {}
        for name, op in functions.items():
            if is_private(op):
                continue
            symbol = _symbol_of(op) or name
            if symbol in wanted.values():
                raise _twice(symbol)
            wanted[name] = symbol
        taken = set(wanted.values())
        names = {name: symbol for name, symbol in wanted.items() if name != symbol}
        for name, op in functions.items():
            if is_private(op) and name in taken:
                names[name] = Names(taken | set(functions) | set(names.values())).unique(name)
        _rename(mod, names)
        return mod


def _may_be_public(op: ir.Operation) -> bool:
    """Say whether it is a function of this module, and none that a closure has become."""
    is_function = op.name in ("relax.func", "func.func") and len(blocks_of(op)) > 0
    return is_function and "relax.captures" not in op.attributes


def _functions(mod: IRModule) -> dict[str, ir.Operation]:
    return {name: op.operation for name, op in mod.functions.items()}


def _symbol_of(function: ir.Operation) -> str:
    """Return the attribute ``global_symbol`` of a function; nothing where it has none."""
    attributes = function.attributes
    return str(attributes[_GLOBAL_SYMBOL].value) if _GLOBAL_SYMBOL in attributes else ""


def _twice(name: str) -> ValueError:
    return ValueError(f"expected functions with distinct names, but got '{name}' twice")


def _rename(mod: IRModule, names: Mapping[str, str]) -> None:
    """Rename functions, all at once, with the references to them."""
    changed = {old: new for old, new in names.items() if old != new}
    functions = _functions(mod)
    for new in changed.values():
        if new in functions and new not in changed:
            raise _twice(new)
    # Names may be exchanged, so each function has a name of its own for a while.
    steps = [(old, f"{old}.renamed") for old in changed]
    steps += [(f"{old}.renamed", new) for old, new in changed.items()]
    for old, new in steps:
        function = functions.pop(old)
        ir.SymbolTable.set_symbol_name(function, new)
        ir.SymbolTable.replace_all_symbol_uses(old, new, mod.operation)
        functions[new] = function
