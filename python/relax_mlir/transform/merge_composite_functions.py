# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of patterns that depend on each other become one function for their codegen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mlir import ir

from ..core.functions import referred
from ..core.ir import TensorStructInfo, TupleStructInfo
from ..core.ir_module import IRModule
from ..core.lifetimes import key_of
from ..core.variables import defining_op, unnamed
from ..dialects import relax as _ops
from .composite_functions import bound_names, call_as_closure, codegen_attributes, remove_unused
from .grouping import (
    CODEGEN,
    COMPOSITE,
    Group,
    Outliner,
    Signature,
    attribute_text,
    codegen_of,
    copy_operation,
    dataflow_blocks,
    is_entry,
    make_function,
    result_type,
    return_outputs,
    write_ops,
)
from .python_pass import module_pass


@module_pass(opt_level=0)
class MergeCompositeFunctions:
    """Make one function of calls of `FuseOpsByPattern`'s functions that are for the same codegen.

    A call joins those whose results it uses, unless a path through other operations leads from
    these to it: the merged functions would need each other. Tuples and fields between calls are
    merged, too. A merged function has the attributes ``Codegen`` and ``global_symbol``, and calls
    the functions of the patterns as closures.

    Raises
    ------
    ValueError
        If the name of a pattern does not begin with a codegen and a dot.

    Examples
    --------
    >>> from relax_mlir.dpl import is_op, wildcard
    >>> from relax_mlir.script import from_source
    >>> from relax_mlir.transform import FuseOpsByPattern
    >>> mod = from_source('''
    ... @I.ir_module
    ... class Module:
    ...     @R.function
    ...     def main(x: R.Tensor(("n", 4), "float32")):
    ...         with R.dataflow():
    ...             y = R.exp(x)
    ...             z = R.exp(y)
    ...             R.output(z)
    ...         return z
    ... ''')
    >>> fused = FuseOpsByPattern([("my.exp", is_op("relax.exp")(wildcard()))])(mod)
    >>> [gvar.name for gvar in fused.get_global_vars()]
    ['main', 'fused_relax_exp']
    >>> [gvar.name for gvar in MergeCompositeFunctions()(fused).get_global_vars()]
    ['main', 'fused_relax_exp_relax_exp_my']
    """

    def transform_module(self, mod: IRModule, ctx: Any) -> IRModule:
        """Merge in the dataflow blocks of each function that is not merged itself."""
        functions = mod.functions
        composites = {
            name: function.operation
            for name, function in functions.items()
            if isinstance(function, _ops.FuncOp) and COMPOSITE in function.operation.attributes
        }
        codegens = {
            name: codegen_of(attribute_text(op, COMPOSITE) or "") for name, op in composites.items()
        }
        outliner = _RegionOutliner(mod.module, composites)
        for function in filter(is_entry, functions.values()):
            for block in dataflow_blocks(function.operation):
                outliner.outline(block, _Regions(block, codegens).groups())
        remove_unused(mod, composites)
        return mod


class _RegionOutliner(Outliner):
    """Writes merged functions: closures of the functions of patterns, and calls of these."""

    def __init__(self, module: ir.Module, composites: dict[str, ir.Operation]) -> None:
        super().__init__(module, bind_constants=False)
        self._composites = composites

    def choose_name(self, group: Group) -> str:
        """Return a name that ends with that of the codegen."""
        codegen = _codegen_name(group)
        return self.names.unique(f"{super().choose_name(group)}_{codegen}")

    def write(self, group: Group, signature: Signature, name: str) -> None:
        """Write a merged function."""
        result = result_type(group.outputs)
        attributes = codegen_attributes(_codegen_name(group), name)
        block = make_function(self.module, name, signature, result, attributes, private=False)
        outside = bound_names(block)
        calls: dict[Any, ir.Operation] = {}

        def write(op: ir.Operation, known: dict[Any, ir.Value]) -> None:
            callee = next(referred(op), None)
            if op.name != "relax.call" or callee not in self._composites:
                copy_operation(op, known)
                return
            args = [known[value] for value in op.operands]
            key = callee, *(arg.type for arg in args)
            if key in calls:
                known[op.results[0]] = _call_again(calls[key], args, op.location)
                return
            made = call_as_closure(self._composites[callee], args, outside, op.location)
            known[op.results[0]], calls[key] = made, made.owner.operation

        with ir.InsertionPoint(block):
            known = write_ops(group, signature, block, write)
            outputs = [known[value] for value in group.outputs]
            return_outputs(outputs, unnamed(group.ops[-1].location))


def _call_again(call: ir.Operation, args: Sequence[ir.Value], location: ir.Location) -> ir.Value:
    """Write a call of the closure that is called already, of values of the same types."""
    result = call.results[0].type
    value: ir.Value = _ops.CallOp(result, args, function=call.operands[0], loc=location).result
    return value


def _codegen_name(group: Group) -> str:
    """Return the codegen that a group is for."""
    return str(group.attributes[CODEGEN].value)


# ---------------------------------------------------------------------------------------------
# Which calls are merged
# ---------------------------------------------------------------------------------------------


class _Regions:
    """The groups of calls of a dataflow block that become functions.

    Each operation is in one group; groups of other operations have one member. What a group depends
    on, directly or through others, is a set of groups, kept as the bits of an integer.

    Parameters
    ----------
    block : mlir.ir.Block
    codegens : dict of str to str
        The codegen of each function of a pattern.
    """

    def __init__(self, block: ir.Block, codegens: dict[str, str]) -> None:
        self._codegens = codegens
        self._owner: dict[int, int] = {}
        self._members: list[list[ir.Operation]] = []
        self._kinds: list[str | None] = []
        self._needs: list[int] = []
        self._parent: list[int] = []
        for op in block.operations:
            self._visit(op.operation)

    def groups(self) -> list[Group]:
        """Return the groups that have a codegen."""
        place = {key: index for index, key in enumerate(self._owner)}
        found = []
        for members, codegen in zip(self._members, self._kinds, strict=True):
            if codegen is not None and members:
                ops = sorted(members, key=lambda op: place[key_of(op)])
                found.append(Group(ops, {CODEGEN: ir.StringAttr.get(codegen)}, self._name(ops)))
        return found

    def _name(self, ops: Iterable[ir.Operation]) -> str:
        callees = [next(referred(op)) for op in ops if op.name == "relax.call"]
        return "_".join(["fused", *(name.removeprefix("fused_") for name in callees)])

    def _root(self, number: int) -> int:
        while self._parent[number] != number:
            number = self._parent[number]
        return number

    def _visit(self, op: ir.Operation) -> None:
        sources = self._sources(op)
        codegen = self._codegen(op)
        if codegen is not None:
            joined = self._mergeable(codegen, sources)
        elif op.name in ("relax.tuple", "relax.get_item"):
            joined = self._absorbing(op, sources)
        else:
            joined = []
        if not joined:
            self._add(op, codegen, sources)
            return
        first, *others = joined
        for other in others:
            self._merge(other, first)
        self._members[first].append(op)
        self._owner[key_of(op)] = first
        self._require(first, {self._root(source) for source in sources} - {first})

    def _codegen(self, op: ir.Operation) -> str | None:
        if op.name != "relax.call":
            return None
        callee = next(referred(op), None)
        return None if callee is None else self._codegens.get(callee)

    def _sources(self, op: ir.Operation) -> list[int]:
        """Return the groups that make the operands, each once."""
        makers = [maker for maker in map(defining_op, op.operands) if maker is not None]
        found = [self._owner[key_of(op)] for op in makers if key_of(op) in self._owner]
        return list(dict.fromkeys(map(self._root, found)))

    def _mergeable(self, codegen: str, sources: Sequence[int]) -> list[int]:
        """Return the groups of a codegen on which no other of some groups depends."""
        needed = 0
        for source in sources:
            needed |= self._needs[source]
        return [
            source
            for source in sources
            if self._kinds[source] == codegen and not needed >> source & 1
        ]

    def _absorbing(self, op: ir.Operation, sources: Sequence[int]) -> list[int]:
        """Return the group that a tuple or field between calls joins, if any."""
        tuple_ = op.results[0] if op.name == "relax.tuple" else op.operands[0]
        makers = list(map(defining_op, op.operands))
        is_inside = all(maker is not None and key_of(maker) in self._owner for maker in makers)
        if not is_inside or len(sources) != 1 or not _has_fields_only(tuple_):
            return []
        (source,) = sources
        return [source] if self._kinds[source] is not None else []

    def _add(self, op: ir.Operation, codegen: str | None, sources: Sequence[int]) -> None:
        number = len(self._members)
        self._owner[key_of(op)] = number
        self._members.append([op])
        self._kinds.append(codegen)
        self._parent.append(number)
        self._needs.append(self._closure(sources))

    def _closure(self, groups: Iterable[int]) -> int:
        """Return some groups with all that they depend on."""
        found = 0
        for group in groups:
            found |= self._needs[group] | 1 << group
        return found

    def _require(self, group: int, others: Iterable[int]) -> None:
        """Note that a group depends on others, and with it all that depend on it."""
        new = self._closure(others) & ~self._needs[group]
        if not new:
            return
        self._needs[group] |= new
        for number, needs in enumerate(self._needs):
            if needs >> group & 1:
                self._needs[number] = needs | new

    def _merge(self, source: int, target: int) -> None:
        """Make one group of two that do not depend on each other."""
        self._members[target] += self._members[source]
        self._members[source] = []
        self._parent[source] = target
        needs = self._needs[target] | self._needs[source]
        for number, each in enumerate(self._needs):
            if each >> source & 1 or each >> target & 1:
                self._needs[number] = each | needs | 1 << target
        self._needs[target] = needs


def _has_fields_only(value: ir.Value) -> bool:
    """Say whether a value is a tuple of tensors, of which only fields are used."""
    type_ = value.type
    if not isinstance(type_, TupleStructInfo) or not len(type_.fields):
        return False
    if not all(isinstance(each, TensorStructInfo) for each in type_.fields):
        return False
    users = [use.owner.operation for use in value.uses]
    return bool(users) and all(user.name == "relax.get_item" for user in users)
