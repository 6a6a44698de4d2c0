# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions for external libraries become code of these, and calls of them calls of that code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlir import ir

from .._arguments import shown
from ..core.functions import referred
from ..core.ir import TensorStructInfo, TupleStructInfo
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..dialects import relax as _ops
from ..external import attach, run_codegen
from .composite_functions import remove_unused
from .fuse_ops_by_pattern import find_functions
from .grouping import CODEGEN, COMPOSITE, GLOBAL_SYMBOL, attribute_text
from .python_pass import module_pass


@module_pass(opt_level=0)
class RunCodegen:
    """Have codegens make code of the functions that are for them, and call that code.

    A codegen is called once, with all functions whose attribute ``Codegen`` is its name. Calls of
    these functions become ``call_dps_packed`` of their ``global_symbol``, and the functions are
    removed. The code is in the attribute ``external_mods`` of the module; `relax_mlir.compile`
    links it, and `Executable.save` saves it where the codegen says how.

    Parameters
    ----------
    target_options : mapping of str to mapping, optional
        The options of codegens, by their names.
    entry_functions : sequence of str, optional
        Functions to change, besides those that are not private.

    Raises
    ------
    ValueError
        If there is no codegen of a name, it returns no code for a function, or the shape of a
        result is not known before the call.

    Examples
    --------
    >>> from relax_mlir.backend import register_codegen
    >>> from relax_mlir.dpl import is_op, wildcard
    >>> from relax_mlir.script import from_source
    >>> from relax_mlir.transform import FuseOpsByPattern, Sequential
    >>> @register_codegen("example")
    ... def example(functions, options, constant_names):
    ...     return [{f.attrs["global_symbol"].value: print for f in functions}]
    >>> mod = from_source('''
    ... @I.ir_module
    ... class Module:
    ...     @R.function
    ...     def main(x: R.Tensor(("n", 4), "float32")):
    ...         with R.dataflow():
    ...             y = R.exp(x)
    ...             R.output(y)
    ...         return y
    ... ''')
    >>> patterns = [("example.exp", is_op("relax.exp")(wildcard()))]
    >>> fuse = FuseOpsByPattern(patterns, annotate_codegen=True)
    >>> mod = Sequential([fuse, RunCodegen()])(mod)
    >>> 'relax.call_dps_packed "fused_relax_exp_example"' in str(mod)
    True
    """

    def __init__(
        self,
        target_options: Mapping[str, Mapping[str, Any]] | None = None,
        entry_functions: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(target_options, (Mapping, type(None))):
            raise TypeError(
                f"expected the options of each codegen by its name, but got {shown(target_options)}"
            )
        self._options = dict(target_options or {})
        for name, options in self._options.items():
            if not isinstance(options, Mapping):
                raise TypeError(
                    f"expected the options of '{name}' by name, but got {shown(options)}"
                )
        self._entry_functions = list(entry_functions or ())

    def transform_module(self, mod: IRModule, ctx: Any) -> IRModule:
        """Run the codegens, then replace the calls."""
        find_functions(mod, self._entry_functions)
        external = {
            name: function
            for name, function in mod.functions.items()
            if isinstance(function, _ops.FuncOp)
            and attribute_text(function.operation, CODEGEN) is not None
        }
        if not external:
            return mod
        calls = self._calls(mod, external)
        for call in calls:
            _require_known_result(call)
        symbols = {name: _symbol(name, function) for name, function in external.items()}
        used = {next(referred(call)) for call in calls}
        by_codegen: dict[str, list[Any]] = {}
        for name in (name for name in external if name in used):
            codegen = attribute_text(external[name].operation, CODEGEN) or ""
            by_codegen.setdefault(codegen, []).append(external[name])
        for codegen, originals in by_codegen.items():
            # Codegens may keep values of them, and these are erased.
            functions = list(IRModule({f.sym_name.value: f for f in originals}).functions.values())
            names = _constant_names(codegen, functions)
            made = run_codegen(codegen, functions, self._options.get(codegen, {}), names)
            attach(mod, made)
        for call in calls:
            _replace(call, symbols[next(referred(call))])
        _remove(mod, external)
        return mod

    def _calls(self, mod: IRModule, external: Mapping[str, Any]) -> list[ir.Operation]:
        """Return the calls of functions for codegens."""
        found = []
        for name, function in mod.functions.items():
            is_private = attribute_text(function.operation, "sym_visibility") == "private"
            is_entry = not self._entry_functions or name in self._entry_functions or not is_private
            if isinstance(function, _ops.FuncOp) and name not in external and is_entry:
                found += [
                    op
                    for op in walk(function.operation)
                    if op.name == "relax.call" and next(referred(op), None) in external
                ]
        return found


def _symbol(name: str, function: Any) -> str:
    """Return the symbol of a function, which gets one where it has none."""
    operation = function.operation
    if attribute_text(operation, GLOBAL_SYMBOL) is None:
        operation.attributes[GLOBAL_SYMBOL] = ir.StringAttr.get(name)
    return attribute_text(operation, GLOBAL_SYMBOL) or name


def _constant_names(codegen: str, functions: Sequence[Any]) -> dict[ir.Value, str]:
    """Return a name for each constant of functions."""
    names: dict[ir.Value, str] = {}
    for function in functions:
        symbol = attribute_text(function.operation, GLOBAL_SYMBOL)
        constants = [op for op in walk(function.operation) if op.name == "relax.constant"]
        for index, op in enumerate(constants):
            names[op.results[0]] = f"{symbol}_{codegen}_const_{index}"
    return names


def _require_known_result(call: ir.Operation) -> None:
    """Raise ValueError if the tensors cannot be allocated into which code of a library writes."""
    type_ = call.results[0].type
    fields = list(type_.fields) if isinstance(type_, TupleStructInfo) else [type_]
    for each in fields:
        is_tensor = isinstance(each, TensorStructInfo)
        if not is_tensor or each.shape is None or each.dtype is None:
            raise ValueError(
                f"expected '{next(referred(call))}' to return tensors of known shape and data "
                f"type, into which the code of a library writes, but got {each}: a check of the "
                "pattern can leave such a match out"
            )


def _replace(call: ir.Operation, symbol: str) -> None:
    """Call a packed function in place of a function."""
    with ir.InsertionPoint(call), call.location:
        made = _ops.CallDPSPackedOp(
            call.results[0].type, list(call.operands), callee=ir.StringAttr.get(symbol)
        )
    call.results[0].replace_all_uses_with(made.operation.results[0])
    call.erase()


def _remove(mod: IRModule, external: Mapping[str, Any]) -> None:
    """Remove functions for codegens, and the private ones of patterns that only they have called.

    One that something else refers to stays, as a function like others.
    """
    for function in external.values():
        attributes = function.operation.attributes
        del attributes[CODEGEN], attributes[GLOBAL_SYMBOL]
        attributes["sym_visibility"] = ir.StringAttr.get("private")
    composites = [
        name
        for name, function in mod.functions.items()
        if isinstance(function, _ops.FuncOp) and COMPOSITE in function.operation.attributes
    ]
    remove_unused(mod, [*external, *composites])
