# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changing a dataflow block binding by binding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from ..core.expr import as_value
from ..core.ir_module import FreeFunction, IRModule, ModuleLike, as_module
from ..core.variables import bound_vars, defining_op, walk
from ..dialects import relax as _ops
from .base import MLIRPass

_MARK = "relax.rewritten_block"


class DataflowBlockRewrite:
    """Changes a dataflow block of a copy of its function.

    Parameters
    ----------
    dfb : relax.DataflowOp
    root_fn : relax.FuncOp or Function
        The function that the block is in, which is in a module.

    Attributes
    ----------
    dfb : relax.DataflowOp
        The block as it is now.
    root_fn : Function
        The function as it is now, in a copy of its module.

    Notes
    -----
    Wherever a method takes a variable, it may be a value of the function that was given or of the
    one that is changed; of an output, the value inside of the block or the result of the block.

    Examples
    --------
    >>> from relax_mlir import IRModule, op
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    ...     %a = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...     %b = relax.negative %a : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...     relax.output %b : !relax.tensor<[n], f32>
    ...   }
    ...   relax.return %0 : !relax.tensor<[n], f32>
    ... }''')
    >>> block = mod["main"].body.blocks[0].operations[0]
    >>> exp, negative, _ = block.body.blocks[0].operations
    >>> rewrite = DataflowBlockRewrite(block, mod["main"])
    >>> x = exp.operation.operands[0]
    >>> square = rewrite.add(lambda: op.multiply(rewrite[x], rewrite[x]), "square", is_dfvar=True)
    >>> rewrite.replace_all_uses(exp.result, square)
    >>> rewrite.remove_unused(exp.result)
    >>> new = rewrite.mutate_irmodule(mod)
    >>> [inner.operation.name for inner in rewrite.dfb.body.blocks[0].operations]
    ['relax.multiply', 'relax.negative', 'relax.output']
    """

    def __init__(self, dfb: ir.OpView, root_fn: ir.OpView | FreeFunction) -> None:
        if not isinstance(dfb, _ops.DataflowOp):
            raise TypeError(f"expected a dataflow block, but got {dfb!r}")
        function = root_fn.operation
        parent = function.parent
        if parent is None or parent.operation.name != "builtin.module":
            raise ValueError("expected a function in a module")
        places = [place for place, op in enumerate(walk(function)) if op == dfb.operation]
        if not places:
            raise ValueError("expected a dataflow block of the function")
        self._given = root_fn  # its values are the keys of _copies
        name = function.attributes["sym_name"].value
        self.root_fn = FreeFunction(IRModule(_ext.copy_as_module(parent.operation)), name)
        copies = list(walk(self.root_fn.operation))
        self.dfb = copies[places[0]].opview
        pairs = zip(bound_vars(function), bound_vars(self.root_fn), strict=True)
        self._copies: dict[ir.Value, ir.Value] = dict(pairs)
        self._given_of = {copy: given for given, copy in self._copies.items()}
        self._bound = set(self._copies)
        self._temporaries: int | None = None

    @property
    def _block(self) -> ir.Block:
        return self.dfb.operation.regions[0].blocks[0]

    @property
    def _output(self) -> ir.Operation:
        output: ir.OpView = ir.InsertionPoint.at_block_terminator(self._block).ref_operation
        return output.operation

    def __getitem__(self, var: ir.Value) -> ir.Value:
        """Return a value of the function that was given in the one that is changed.

        For operators that `add` inserts. Of an output it is the value inside.
        """
        value = self._copies.get(var, var)
        if _is_made_by(value, self.dfb.operation):
            value = self._output.operands[ir.OpResult(value).result_number]
        return value

    def _result_of(self, value: ir.Value) -> Iterator[ir.Value]:
        """Yield the results of the block by which others know a value."""
        for operand, result in zip(self._output.operands, self.dfb.operation.results, strict=True):
            if operand == value:
                yield result

    def replace_all_uses(self, old_var: ir.Value, new_var: ir.Value) -> None:
        """Have a variable used in the place of another one, inside of the block and after it.

        Parameters
        ----------
        old_var, new_var : mlir.ir.Value
            The new one is bound before all uses of the old one, or is moved there.

        Raises
        ------
        ValueError
            If their types differ.
        """
        old, new = self[old_var], self[new_var]
        if old.type != new.type:
            raise ValueError(f"expected a variable of type {old.type}, but got {new.type}")
        made = defining_op(new)
        if made is None:
            old.replace_all_uses_with(new)
        else:  # which may be computed of the old one
            old.replace_all_uses_except(new, made)
        self._move_before_uses(new)

    def _move_before_uses(self, value: ir.Value) -> None:
        """Move what computes a value, and what it is computed of, before its first use."""
        op = defining_op(value)
        if op is None or op.block != self._block:
            return
        first: ir.Operation | None = None
        for use in value.uses:
            user = use.owner.operation
            if user.block == self._block and (first is None or user.is_before_in_block(first)):
                first = user
        if first is None or op.is_before_in_block(first):
            return
        op.move_before(first)
        for operand in op.operands:
            self._move_before_uses(operand)

    def add(
        self,
        expr: Callable[[], Any] | ir.OpView | ir.Operation,
        name: str | None = None,
        is_dfvar: bool = False,
    ) -> ir.Value:
        """Add a binding at the end of the block.

        Parameters
        ----------
        expr : callable, or operation
            A function that calls operators, and returns a value; or an operation that is in no
            block yet.
        name : str, optional
            By default "tmp" and a number.
        is_dfvar : bool
            Whether the variable is a DataflowVar; otherwise it is an output of the block.

        Returns
        -------
        mlir.ir.Value
            The variable, inside of the block. What is added as an output is the last result of
            `dfb`, too.
        """
        if name is None:
            if self._temporaries is None:
                self._temporaries = sum(1 for op in walk(self.dfb.operation) if _is_temporary(op))
            name = f"tmp{self._temporaries}"
            self._temporaries += 1
        output = self._output
        place = self.dfb.operation.location
        with self.dfb.operation.context, ir.InsertionPoint(output), place:
            if isinstance(expr, (ir.OpView, ir.Operation)):
                ir.InsertionPoint.current.insert(expr)
                value = expr.operation.results[0]
            else:
                value = as_value(expr())
            made = defining_op(value)
            if made is not None and made.block == self._block:
                made.location = ir.Location.name(name, childLoc=made.location)
        if not is_dfvar:
            self._set_outputs([*self._output.operands, value])
        return value

    add_binding = add

    def _set_outputs(self, values: list[ir.Value]) -> None:
        """Give the block other outputs; results of values that stay are replaced."""
        old = self.dfb.operation
        kept = {operand: list(self._result_of(operand)) for operand in self._output.operands}
        with old.context, ir.InsertionPoint(old), old.location:
            new = _ops.DataflowOp([value.type for value in values])
            body = self._block
            output = self._output
            with ir.InsertionPoint(output):
                _ops.OutputOp(values)
            output.erase()
            body.append_to(new.operation.regions[0])
        replaced: dict[ir.Value, ir.Value] = {}
        for value, result in zip(values, new.operation.results, strict=True):
            for before in kept.get(value, ()):
                before.replace_all_uses_with(result)
                replaced[before] = result
        for result in old.results:
            given = self._given_of.pop(result, None)
            if given is not None:
                del self._copies[given]
            if given is not None and result in replaced:
                self._copies[given] = replaced[result]
                self._given_of[replaced[result]] = given
        old.erase()
        self.dfb = new

    def remove_unused(self, var: ir.Value, allow_undef: bool = False) -> None:
        """Remove the binding of a variable that is not used.

        Parameters
        ----------
        var : mlir.ir.Value
        allow_undef : bool
            Whether it may be a variable that the block does not bind, or not any more.

        Raises
        ------
        ValueError
            If it is used, or is not bound in the block.
        """
        value = self[var]
        op = defining_op(value)
        is_gone = value in self._bound and value not in self._copies
        if is_gone or op is None or op.block != self._block:
            if not allow_undef:
                raise ValueError("expected a variable that the block binds")
            return
        results = list(self._result_of(value))
        if any(_is_used(result) for result in results) or any(
            use.owner.operation != self._output for use in value.uses
        ):
            raise ValueError("expected a variable that is not used")
        if results:
            self._set_outputs([operand for operand in self._output.operands if operand != value])
        for result in op.results:
            given = self._given_of.pop(result, None)
            if given is not None:
                del self._copies[given]
        op.erase()

    def remove_all_unused(self) -> None:
        """Remove all variables that are not used, in other blocks of the function, too.

        Variables of the function that was given do not stand for those of the one that is changed
        from here on.
        """
        with self.dfb.operation.context:
            self.dfb.operation.attributes[_MARK] = ir.UnitAttr.get()
        clean = MLIRPass("relax.func(relax-dead-code-elimination)", "remove_all_unused")
        self.root_fn = FreeFunction(clean(self.root_fn.module), self.root_fn.name)
        found = [op for op in walk(self.root_fn.operation) if _MARK in op.attributes]
        if not found:
            raise ValueError("the block is gone, since nobody uses its outputs")
        del found[0].attributes[_MARK]
        self.dfb = found[0].opview
        self._copies, self._given_of = {}, {}

    def mutated_dfb(self) -> ir.OpView:
        """Return the block as it is now."""
        return self.dfb

    def mutated_root_fn(self) -> FreeFunction:
        """Return the function as it is now, in a copy of its module."""
        return self.root_fn

    def mutate_irmodule(self, irmodule: ModuleLike) -> IRModule:
        """Return a module with the function as it is now in the place of the old one.

        Parameters
        ----------
        irmodule : IRModule, mlir.ir.Module, str or BlockBuilder
            It is not changed.

        Returns
        -------
        IRModule

        Raises
        ------
        mlir.ir.MLIRError
            If it is not valid.
        """
        module = as_module(irmodule).clone()
        module[self.root_fn.name] = self.root_fn
        module.verify()
        return module


def _is_made_by(value: ir.Value, op: ir.Operation) -> bool:
    made = defining_op(value)
    return made is not None and made == op


def _is_used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None


def _is_temporary(op: ir.Operation) -> bool:
    return op.location.is_a_name() and op.location.name_str.startswith("tmp")
