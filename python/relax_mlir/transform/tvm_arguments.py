# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes that take the arguments that TVM has for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mlir import ir

from .._warnings import warn
from ..core.expr import as_value
from ..core.struct_info import facts_at, is_subtype
from ..core.variables import walk
from ..core.violations import _place
from ..dialects import relax as _ops
from ..expr_functor import PyExprMutator
from ..op._ops_gen import OPERATORS
from ..op._signatures import find_operation
from ._passes_gen import DeadCodeElimination as _DeadCodeElimination
from ._passes_gen import EliminateCommonSubexpr as _EliminateCommonSubexpr
from ._passes_gen import LegalizeOps as _LegalizeOps
from .base import run_pipeline
from .pass_context import PassContext

LegalizeFunc = Callable[[Any, Any], Any]

# Tells the pass to leave an operator as it is.
_KEEP = "relax.keep"


class LegalizationWarning(UserWarning):
    """An operator has no kernel, and stays."""


class LegalizeOps(_LegalizeOps):
    """Lower operators to calls of kernels.

    Parameters
    ----------
    customize_legalize_map : mapping of str to callable, optional
        For operators by name, in the dialect or in TVM, ``legalize(builder, call)``: it gets a
        `BlockBuilder`, whose `call_te` makes kernels, and the operation, and returns the value in
        place of it. What it makes of operators is lowered as by default.
    skip_ops : sequence of str, optional
        The operators that stay.
    enable_warning : bool
        Whether to warn of operators without a kernel.

    Raises
    ------
    ValueError
        When it runs, if a function returns a value of another type than the operation.

    Warns
    -----
    LegalizationWarning
        Where `enable_warning` says so.

    Examples
    --------
    >>> from relax_mlir import te
    >>> from relax_mlir.script import from_source
    >>> func = from_source('''
    ... @R.function
    ... def main(x: R.Tensor(("n",), "float32")):
    ...     return R.exp(R.nn.relu(x))
    ... ''')
    >>> def relu(builder, call):
    ...     def clip(A):
    ...         return te.compute(A.shape, lambda *i: te.max(A(*i), 0.0), name="clip")
    ...     return builder.call_te(clip, call.x)
    >>> mod = LegalizeOps({"relax.nn.relu": relu}, skip_ops=["relax.exp"])(func.module)
    >>> [op.operation.name for op in mod["main"].body.blocks[0].operations]
    ['relax.call_tir', 'relax.exp', 'relax.return']
    """

    def __init__(
        self,
        customize_legalize_map: Mapping[str, LegalizeFunc] | None = None,
        skip_ops: Sequence[str] | None = None,
        enable_warning: bool = False,
    ) -> None:
        super().__init__()
        custom = dict(customize_legalize_map or {})
        for name, legalize in custom.items():
            if not callable(legalize):
                raise TypeError(f"expected a function that legalizes {name}, but got {legalize!r}")
        self._custom = {find_operation(name): legalize for name, legalize in custom.items()}
        self._skipped = frozenset(map(find_operation, skip_ops or ()))
        self._warns = enable_warning

    def run_on_module(self, module: ir.Module, ctx: PassContext) -> ir.Module:
        """Lower the operators of a module."""
        custom = {name: f for name, f in self._custom.items() if name not in self._skipped}
        if custom:
            module = _customized(module, custom)
        kept = [op for op in _operations(module) if op.name in self._skipped]
        with module.context:
            for op in kept:
                op.attributes[_KEEP] = ir.UnitAttr.get()
        try:
            run_pipeline(self.pipeline(ctx), module, self.info.name)
        finally:
            for op in _operations(module) if kept else ():
                if _KEEP in op.attributes:
                    del op.attributes[_KEEP]
        if self._warns:
            self._warn(module)
        return module

    def _warn(self, module: ir.Module) -> None:
        for op in _operations(module):
            if op.name in OPERATORS and op.name not in self._skipped:
                message = f"{_place(op.location)}: there is no kernel for {op.name}, so it stays"
                warn(message, LegalizationWarning)

    def __repr__(self) -> str:
        return "LegalizeOps()"


def _operations(module: ir.Module) -> Iterator[ir.Operation]:
    """Yield the operations of the Relax functions of a module."""
    for function in module.body.operations:
        if isinstance(function, _ops.FuncOp):
            yield from walk(function.operation)


class _Custom(PyExprMutator):
    """Replaces operators by what functions return."""

    def __init__(self, module: ir.Module, custom: Mapping[str, LegalizeFunc]) -> None:
        super().__init__(module)
        self._custom = custom

    def visit_call_(self, op: ir.OpView) -> Any:
        """Replace a call."""
        call = self.visit_expr_post_order(op)
        legalize = self._custom.get(op.operation.name)
        if legalize is None or not isinstance(call, ir.OpView):
            return call
        value = as_value(legalize(self.builder_, call))
        _check_type(call.operation, value.type)
        return value


def _check_type(op: ir.Operation, type_: ir.Type) -> None:
    """Raise ValueError where a type is not that of an operation, or a subtype."""
    old = op.results[0].type
    if not is_subtype(type_, old) and not is_subtype(type_, old, facts_at(op)):
        raise ValueError(
            f"{_place(op.location)}: expected a replacement of the type of '{op.name}', {old}, or "
            f"a subtype of it, but got {type_}"
        )


def _customized(module: ir.Module, custom: Mapping[str, LegalizeFunc]) -> ir.Module:
    mutator = _Custom(module, custom)
    for function in list(mutator.builder_._module.body.operations):
        if isinstance(function, _ops.FuncOp) and len(function.operation.regions[0].blocks):
            name = function.operation.attributes["sym_name"].value
            mutator.builder_.update_func(name, mutator.visit_expr(function))
    return mutator.builder_.get().module


class DeadCodeElimination(_DeadCodeElimination):
    """Remove bindings that nobody uses, and private functions that nobody calls.

    Parameters
    ----------
    entry_functions : sequence of str, optional
        Functions that stay besides the public ones, and what they call.

    Raises
    ------
    ValueError
        When it runs, if the module has no such function.

    Examples
    --------
    >>> from relax_mlir.script import from_source
    >>> mod = from_source('''
    ... @I.ir_module
    ... class Module:
    ...     @R.function(private=True)
    ...     def unused(x: R.Object):
    ...         return x
    ...     @R.function
    ...     def main(x: R.Tensor(("n",), "float32")):
    ...         with R.dataflow():
    ...             y = R.exp(x)
    ...             z = R.negative(x)
    ...             R.output(z)
    ...         return z
    ... ''')
    >>> [gvar.name for gvar in DeadCodeElimination()(mod).get_global_vars()]
    ['main']
    >>> sorted(gvar.name for gvar in DeadCodeElimination(["unused"])(mod).get_global_vars())
    ['main', 'unused']
    """

    def __init__(self, entry_functions: Sequence[str] | None = None) -> None:
        super().__init__()
        if isinstance(entry_functions, str):
            raise TypeError(f"expected a list of names, but got {entry_functions!r}")
        self._entries = tuple(entry_functions or ())

    def pipeline(self, ctx: PassContext | None = None) -> str:
        """Return the pass as the text of a pipeline on a module; it has no entry functions."""
        return f"symbol-dce,{super().pipeline(ctx)},symbol-dce"

    def run_on_module(self, module: ir.Module, ctx: PassContext) -> ir.Module:
        """Remove what a module does not use."""
        functions = {
            op.operation.attributes["sym_name"].value: op.operation
            for op in module.body.operations
            if "sym_name" in op.operation.attributes
        }
        for name in self._entries:
            if name not in functions:
                raise ValueError(f"expected a function of the module, but got '{name}'")
        hidden = {
            name: functions[name].attributes["sym_visibility"]
            for name in self._entries
            if "sym_visibility" in functions[name].attributes
            and list(functions[name].regions[0].blocks)
        }
        for name in hidden:
            del functions[name].attributes["sym_visibility"]
        try:
            return super().run_on_module(module, ctx)
        finally:
            for name, visibility in hidden.items():
                functions[name].attributes["sym_visibility"] = visibility

    def __repr__(self) -> str:
        given = f"entry_functions={list(self._entries)!r}" if self._entries else ""
        return f"DeadCodeElimination({given})"


class EliminateCommonSubexpr(_EliminateCommonSubexpr):
    """Compute equal expressions once.

    Parameters
    ----------
    call_only : bool
        Whether to leave tuples, their fields and casts alone.

    Examples
    --------
    >>> from relax_mlir.script import from_source
    >>> func = from_source('''
    ... @R.function
    ... def main(x: R.Tensor(("n",), "float32")):
    ...     return R.add(R.exp(x), R.exp(x))
    ... ''')
    >>> str(EliminateCommonSubexpr()(func.module)).count("relax.exp")
    1
    """

    def __init__(self, call_only: bool = False) -> None:
        super().__init__(call_only=call_only)
