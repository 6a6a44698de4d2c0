# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Analyses of functions: references, recursion, purity, values known at compile time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from ..dialects import relax as _ops
from .expr import GlobalVar
from .ir_module import ModuleLike, as_module
from .struct_info import binding_vars
from .variables import Expr, free_symbolic_vars, free_vars, operation_of, walk

# The attributes in which operations name functions of the module.
_SYMBOLS = ("callee", "name")


def referred(op: ir.Operation) -> Iterator[str]:
    """Yield the functions of the module that an operation names itself."""
    for attribute in _SYMBOLS:
        if attribute in op.attributes:
            value = op.attributes[attribute]
            if isinstance(value, ir.FlatSymbolRefAttr):
                yield value.value


def all_global_vars(expr: Expr) -> list[GlobalVar]:
    """Return the functions of the module, kernels among them, that an expression refers to.

    Parameters
    ----------
    expr : mlir.ir.Value, mlir.ir.Operation, mlir.ir.OpView, IRModule or Function

    Returns
    -------
    list of GlobalVar
        Each once, in the order of their first use.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   %0 = relax.call @main(%x) : (!relax.object) -> !relax.object
    ...   relax.return %0 : !relax.object
    ... }''')
    >>> all_global_vars(mod["main"])
    [GlobalVar(name='main')]
    """
    root = operation_of(expr)
    names = (name for op in walk(root) for name in referred(op)) if root is not None else ()
    return [GlobalVar(name) for name in dict.fromkeys(names)]


# ---------------------------------------------------------------------------------------------
# Recursion
# ---------------------------------------------------------------------------------------------


def detect_recursion(mod: ModuleLike) -> list[list[GlobalVar]]:
    """Return the groups of functions that refer to each other in a circle.

    Parameters
    ----------
    mod : IRModule, mlir.ir.Module, str or BlockBuilder

    Returns
    -------
    list of list of GlobalVar
        A function that refers to itself and to no other of a group is a group of its own. A
        reference counts that is no call, too. In the order of the module.

    Examples
    --------
    >>> detect_recursion('''
    ... relax.func @f(%x: !relax.object) -> !relax.object {
    ...   %0 = relax.call @g(%x) : (!relax.object) -> !relax.object
    ...   relax.return %0 : !relax.object
    ... }
    ... relax.func @g(%x: !relax.object) -> !relax.object {
    ...   %0 = relax.call @f(%x) : (!relax.object) -> !relax.object
    ...   relax.return %0 : !relax.object
    ... }
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   %0 = relax.call @f(%x) : (!relax.object) -> !relax.object
    ...   relax.return %0 : !relax.object
    ... }''')
    [[GlobalVar(name='f'), GlobalVar(name='g')]]
    """
    module = as_module(mod)  # which keeps its functions alive
    functions = module.functions
    graph = {
        name: [ref.name for ref in all_global_vars(op) if ref.name in functions]
        for name, op in functions.items()
    }
    order = {name: place for place, name in enumerate(graph)}
    groups = [
        sorted(group, key=order.__getitem__)
        for group in _components(graph)
        if len(group) > 1 or group[0] in graph[group[0]]
    ]
    groups.sort(key=lambda group: order[group[0]])
    return [[GlobalVar(name) for name in group] for group in groups]


def _components(graph: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """Yield the strongly connected components: Tarjan's algorithm, without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: dict[str, None] = {}
    for start in graph:
        work = [(start, iter(graph[start]))] if start not in index else []
        while work:
            node, successors = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                path[node] = None
            following = next((s for s in successors if s not in index or s in path), None)
            if following is None:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component = [node]
                    while (last := path.popitem()[0]) != node:
                        component.append(last)
                    yield component
            elif following in path:
                low[node] = min(low[node], index[following])
            else:
                work.append((following, iter(graph[following])))


# ---------------------------------------------------------------------------------------------
# Purity
# ---------------------------------------------------------------------------------------------


def contains_impure_call(expr: Expr, own_name: GlobalVar | ir.Value | str | None = None) -> bool:
    """Say whether an expression has a call with a visible side effect.

    Parameters
    ----------
    expr : mlir.ir.Value, mlir.ir.Operation, mlir.ir.OpView, IRModule or Function
    own_name : GlobalVar, str or mlir.ir.Value, optional
        A function, or closure, whose calls do not count: the one that is being looked at, if it
        is recursive.

    Returns
    -------
    bool
        The effects of a closure count where it is called only.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func impure @main(%x: !relax.object) -> !relax.object {
    ...   %0 = relax.call_packed "my.print"(%x) : (!relax.object) -> !relax.object
    ...   %1 = relax.call @main(%x) : (!relax.object) -> !relax.object
    ...   relax.return %1 : !relax.object
    ... }''')
    >>> print_, call, _ = mod["main"].body.blocks[0].operations
    >>> contains_impure_call(print_), contains_impure_call(call, "main")
    (True, False)
    """
    root = operation_of(expr)
    return root is not None and any(
        not _ext.is_pure(op) and not _calls(op, own_name) for op in walk(root, skip=_is_closure)
    )


def _is_closure(op: ir.Operation) -> bool:
    return op.name == _ops.ClosureOp.OPERATION_NAME


def _calls(op: ir.Operation, callee: GlobalVar | ir.Value | str | None) -> bool:
    if op.name != _ops.CallOp.OPERATION_NAME or callee is None:
        return False
    if isinstance(callee, ir.Value):
        return "callee" not in op.attributes and op.operands[0] == callee
    name = callee if isinstance(callee, str) else callee.name
    return name in referred(op)


# ---------------------------------------------------------------------------------------------
# Values that are known at compile time
# ---------------------------------------------------------------------------------------------


def computable_at_compile_time(func: Any) -> list[ir.Value]:
    """Return the values of a function that can be computed before it runs.

    Parameters
    ----------
    func : relax.FuncOp or Function
        The attribute `num_input` says how many of its first parameters are given when it runs. All
        others may be known before; without the attribute none is.

    Returns
    -------
    list of mlir.ir.Value
        The parameters that are known, then what is computed of them alone, in order. Impure
        operations are no part of it, nor are dimensions that only a later parameter binds.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], f32>)
    ...     -> !relax.tensor<[4], f32> attributes {num_input = 1 : i64} {
    ...   %0 = relax.exp %w : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
    ...   %1 = relax.add %x, %0
    ...     : (!relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
    ...   relax.return %1 : !relax.tensor<[4], f32>
    ... }''')
    >>> from relax_mlir.analysis import var_name
    >>> [var_name(value) for value in computable_at_compile_time(mod["main"])]
    ['w', '0']
    """
    root = operation_of(func)
    if root is None or not isinstance(root.opview, _ops.FuncOp):
        raise TypeError(f"expected a Relax function, but got {func!r}")
    known: dict[ir.Value, None] = {}
    names: set[str] = set()

    def mark(values: Iterable[ir.Value]) -> None:
        for value in values:
            known[value] = None
            names.update(binding_vars(value.type) if _ext.is_struct_info(value.type) else ())

    params = list(root.regions[0].blocks[0].arguments)
    if "num_input" in root.attributes:
        mark(params[root.attributes["num_input"].value :])

    def is_known(op: ir.Operation) -> bool:
        if not all(value in known for value in free_vars(op)) or contains_impure_call(op):
            return False
        if isinstance(op.opview, _ops.MatchCastOp):  # it binds them
            return True
        return all(variable.name in names for variable in free_symbolic_vars(op))

    def visit(block: ir.Block) -> None:
        for inner in block.operations:
            op = inner.operation
            if isinstance(inner, _ops.DataflowOp):
                body = inner.body.blocks[0]
                visit(body)
                *_, output = body.operations
                pairs = zip(op.results, output.operation.operands, strict=True)
                mark(result for result, value in pairs if value in known)
            elif len(op.results) > 0 and is_known(op):
                mark(op.results)

    visit(root.regions[0].blocks[0])
    return list(known)
