# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules in MLIR's transform dialect."""

from __future__ import annotations

from mlir import ir
from mlir.dialects.transform import interpreter

from ..core.context import current_context
from ..core.diagnostics import parse_module
from .base import Pass, PassError, verify
from .pass_context import KNOWN_PASSES, PassContext, PassInfo

_ENTRY = "__transform_main"


class ApplySchedule(Pass):
    """Change a module as operations of the transform dialect say.

    Parameters
    ----------
    schedule : str or mlir.ir.Module
        A module, or its text, with ``transform.named_sequence @__transform_main``, which is given
        the module that is to be changed. `relax_mlir.dialects.transform` builds one.
    name : str

    Raises
    ------
    mlir.ir.MLIRError
        If the text is not valid.
    ValueError
        If it has no such sequence.

    See Also
    --------
    MLIRPass : ``transform-interpreter`` runs a sequence that is part of the module itself.

    Examples
    --------
    >>> from relax_mlir.transform import ApplySchedule
    >>> mark = ApplySchedule('''
    ... module attributes {transform.with_named_sequence} {
    ...   transform.named_sequence @__transform_main(%module: !transform.any_op) {
    ...     %0 = transform.relax.match_calls in %module {dims = "symbolic"}
    ...         : (!transform.any_op) -> !transform.any_op
    ...     transform.annotate %0 "symbolic" : !transform.any_op
    ...     transform.yield
    ...   }
    ... }''')
    >>> mod = mark('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   relax.return %0 : !relax.tensor<[n], f32>
    ... }''')
    >>> "relax.exp %x {symbolic}" in str(mod)
    True
    """

    def __init__(self, schedule: str | ir.Module, name: str = "ApplySchedule") -> None:
        self._schedule = schedule if isinstance(schedule, str) else str(schedule)
        self.info = PassInfo(0, name)
        KNOWN_PASSES.add(name)
        _find_entry(parse_module(self._schedule, current_context()))

    def run_on_module(self, module: ir.Module, ctx: PassContext) -> ir.Module:
        """Run the sequence on a module, which it changes."""
        schedule = parse_module(self._schedule, module.context)
        entry = _find_entry(schedule)
        try:
            interpreter.apply_named_sequence(module.operation, entry, schedule.operation)
        except ValueError as error:  # with the reports of MLIR, from the second line on
            _, _, found = str(error).partition("\n")
            reason = found.replace("Diagnostic message at ", "")
            raise PassError(self.info.name, ir.MLIRError(reason, []), reason) from None
        verify(module, self.info.name)
        return module


def _find_entry(schedule: ir.Module) -> ir.Operation:
    """Return the sequence that is run."""
    for op in schedule.body.operations:
        operation = op.operation
        if (
            operation.name == "transform.named_sequence"
            and ir.StringAttr(operation.attributes["sym_name"]).value == _ENTRY
        ):
            return operation
    raise ValueError(f"expected a module with transform.named_sequence @{_ENTRY}, but got none")


__all__ = ["ApplySchedule"]
