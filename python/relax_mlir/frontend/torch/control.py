# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control flow: ``torch.cond``, ``while_loop``, ``map`` and ``scan``.

Each becomes a private function, which the place of the operator calls: a branch, a function that
ends in a call of itself, or one that splits a range of steps in halves. Its parameters are the
operands, then the sizes that its graphs use and no operand has as a dimension.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import torch
from mlir import ir
from torch._higher_order_ops.map import map_impl
from torch._higher_order_ops.scan import scan_op
from torch._higher_order_ops.while_loop import while_loop_op

from ... import op
from ...builder.block_builder import BlockBuilder
from ...composites.tensors import fields_of
from ...core.expr import GlobalVar, Var, as_value
from ...core.ir import (
    Dim,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from .registry import number, part
from .selection import sizes_found
from .shapes import as_expr, as_struct_info, symbol_name

_COND = torch.ops.higher_order.cond


class Importer(Protocol):
    """What writes graphs."""

    builder: BlockBuilder

    def module(self, node: torch.fx.Node) -> torch.fx.GraphModule:
        """Return the graph that a node stands for."""

    def subgraph(self, module: torch.fx.GraphModule, inputs: Sequence[Any]) -> list[Any]:
        """Write a graph at the current place, in a dataflow block; return its results."""


@dataclasses.dataclass(frozen=True)
class Function:
    """A function that stands for an operator.

    Parameters
    ----------
    function : GlobalVar
    first : tuple of Dim
        Arguments in front of the operands.
    operands : tuple of torch.fx.Node
    sizes : tuple of Dim
    """

    function: GlobalVar
    first: tuple[Dim, ...]
    operands: tuple[torch.fx.Node, ...]
    sizes: tuple[Dim, ...]

    def call(
        self, builder: BlockBuilder, value_of: Callable[[torch.fx.Node], Any]
    ) -> list[ir.Value]:
        """Call it with the values of the operands, and return its results."""
        operands = [as_value(value_of(node)) for node in self.operands]
        length = self.first[1:]
        if length and length[0].value is None:
            # PyTorch refuses to run no step at all.
            least = ShapeExpr([length[0].max(1)])
            builder.match_cast(least, ShapeStructInfo(list(length)))
        return fields_of(op.call(self.function, *self.first, *operands, *self.sizes))


def is_control_flow(target: Any) -> bool:
    """Say whether an operator is one that this module converts."""
    return target in _WRITERS


def write_function(importer: Importer, node: torch.fx.Node, name: str) -> Function:
    """Write the function that stands for an operator, outside of other functions.

    Parameters
    ----------
    importer : Importer
    node : torch.fx.Node
    name : str
        That of the function, which no other one of the module has.

    Returns
    -------
    Function

    Raises
    ------
    NotImplementedError
        If sizes of its results depend on data, or it carries numbers.
    """
    return _WRITERS[node.target](importer, node, name)


# -- parameters ---------------------------------------------------------------------------------


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.fx.Node) and isinstance(value.meta.get("val"), torch.Tensor)


def _symbols(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the variables of the sizes of tensors, and of sizes."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _symbols(value)
        elif isinstance(value, torch.Tensor):
            yield from _symbols(list(value.shape))
        elif isinstance(value, torch.SymInt):
            yield from sorted(value.node.expr.free_symbols, key=str)


def _metas(module: torch.fx.GraphModule) -> Iterator[Any]:
    """Yield what PyTorch describes values of a graph, and of those inside of it, as."""
    for inner in module.modules():
        if isinstance(inner, torch.fx.GraphModule):
            yield from (node.meta.get("val") for node in inner.graph.nodes)


def _found_in(module: torch.fx.GraphModule) -> set[str]:
    """Return the variables of sizes that a graph finds out itself."""
    inner = [one for one in module.modules() if isinstance(one, torch.fx.GraphModule)]
    return sizes_found([one.graph for one in inner])


class _Parameters:
    """The parameters of a function: tensors among operands, then sizes.

    Parameters
    ----------
    importer : Importer
    node : torch.fx.Node
        The operator.
    operands : sequence of torch.fx.Node or object
        Other operands than tensors are known where the function is written.

    Attributes
    ----------
    operands : tuple of torch.fx.Node
        The tensors.
    sizes : tuple of Dim
    all : list of Var
    """

    def __init__(self, importer: Importer, node: torch.fx.Node, operands: Sequence[Any]) -> None:
        self.operands = tuple(one for one in operands if _is_tensor(one))
        variables = [
            Var(f"{one.name}_{place}", as_struct_info(one.meta["val"]))
            for place, one in enumerate(self.operands)
        ]
        self._given = operands
        self.sizes = self._sizes(importer, node)
        sizes = [Var(str(size), PrimStructInfo("int64", value=size)) for size in self.sizes]
        self.all = [*variables, *sizes]

    def enter(self) -> list[Any]:
        """Return what each operand is, where the function is being written."""
        variables = iter(self.all)
        return [_inside(one, variables) for one in self._given]

    def _sizes(self, importer: Importer, node: torch.fx.Node) -> tuple[Dim, ...]:
        """Return variables that graphs use and no operand has as a dimension."""
        tensors = [one.meta["val"] for one in self.operands]
        bound = {
            symbol_name(size.node.expr)
            for tensor in tensors
            for size in tensor.shape
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol
        }
        graphs = [
            importer.module(one)
            for one in node.args
            if isinstance(one, torch.fx.Node) and one.op == "get_attr"
        ]
        metas = [one.meta["val"] for one in self._given if isinstance(one, torch.fx.Node)]
        metas += [meta for graph in graphs for meta in _metas(graph)]
        names = dict.fromkeys(symbol_name(symbol) for symbol in _symbols(metas))
        bound |= {name for graph in graphs for name in _found_in(graph)}
        return tuple(Dim(name) for name in names if name not in bound)


def _inside(operand: Any, variables: Iterator[Var]) -> Any:
    if _is_tensor(operand):
        return as_value(next(variables))
    return as_expr(operand.meta["val"]) if isinstance(operand, torch.fx.Node) else operand


def _check_carried(node: torch.fx.Node, operands: Sequence[Any]) -> None:
    for operand in operands:
        if not _is_tensor(operand):
            raise NotImplementedError(
                f"expected tensors as what {node.target} carries from step to step, but got "
                f"{operand}: write torch.tensor(...) for a number"
            )


def _result_type(node: torch.fx.Node) -> ir.Type:
    return TupleStructInfo([as_struct_info(value) for value in node.meta["val"]])


# -- operators ----------------------------------------------------------------------------------


def _write_cond(importer: Importer, node: torch.fx.Node, name: str) -> Function:
    condition, then, otherwise, operands = node.args
    if not _is_tensor(condition):
        raise NotImplementedError(f"expected a tensor as a condition, but got {condition}")
    parameters, builder = _Parameters(importer, node, [condition, *operands]), importer.builder
    info = _result_type(node)
    with builder.function(name, parameters.all, private=True, ret_struct_info=info):
        truth, *inside = parameters.enter()

        def branch(graph: torch.fx.Node) -> Callable[[], ir.Value]:
            return lambda: op.tuple(*importer.subgraph(importer.module(graph), inside))

        taken = builder.if_(op.reshape(truth, []), branch(then), branch(otherwise))
        builder.emit_func_output(taken)
    return Function(GlobalVar(name), (), parameters.operands, parameters.sizes)


def _write_while(importer: Importer, node: torch.fx.Node, name: str) -> Function:
    condition, body, carried, others = node.args
    _check_carried(node, carried)
    parameters, builder = _Parameters(importer, node, [*carried, *others]), importer.builder
    info = _result_type(node)
    with builder.function(name, parameters.all, private=True, ret_struct_info=info):
        inside = parameters.enter()
        state, rest = inside[: len(carried)], inside[len(carried) :]
        tensors = [one for one in rest if isinstance(one, ir.Value)]

        def step() -> ir.Value:
            new = importer.subgraph(importer.module(body), inside)
            return op.call(GlobalVar(name), *new, *tensors, *parameters.sizes)

        (goes_on,) = importer.subgraph(importer.module(condition), inside)
        last = builder.if_(op.reshape(goes_on, []), step, lambda: op.tuple(*state))
        builder.emit_func_output(last)
    return Function(GlobalVar(name), (), parameters.operands, parameters.sizes)


def _write_map(importer: Importer, node: torch.fx.Node, name: str) -> Function:
    body, rows, others = node.args
    return _write_steps(importer, node, name, body, ([], rows, others))


def _write_scan(importer: Importer, node: torch.fx.Node, name: str) -> Function:
    body, carried, rows, others = node.args
    _check_carried(node, carried)
    return _write_steps(importer, node, name, body, (carried, rows, others))


def _write_steps(
    importer: Importer,
    node: torch.fx.Node,
    name: str,
    body: torch.fx.Node,
    operands: tuple[Sequence[Any], Sequence[Any], Sequence[Any]],
) -> Function:
    """Write a function of a range of steps: of one step, or of its halves, one after the other."""
    carried, rows, others = operands
    parameters, builder = _Parameters(importer, node, [*carried, *rows, *others]), importer.builder
    begin, end = Dim(f"{name}_begin"), Dim(f"{name}_end")
    places = [Var(str(one), PrimStructInfo("int64", value=one)) for one in (begin, end)]
    info, count = _steps_type(node, len(carried), end - begin), len(carried)
    with builder.function(name, [*places, *parameters.all], private=True, ret_struct_info=info):
        inside = parameters.enter()
        state, rest = inside[:count], inside[count:]
        tensors = [one for one in rest if isinstance(one, ir.Value)]

        def steps(first: Dim, last: Dim, state: Sequence[ir.Value]) -> list[ir.Value]:
            called = op.call(GlobalVar(name), first, last, *state, *tensors, *parameters.sizes)
            return fields_of(called)

        def halves() -> ir.Value:
            middle = begin + (end - begin) // 2
            one = steps(begin, middle, state)
            two = steps(middle, end, one[:count])
            pairs = zip(one[count:], two[count:], strict=True)
            return op.tuple(*two[:count], *(op.concat(list(pair), 0) for pair in pairs))

        def step() -> ir.Value:
            sliced = [op.squeeze(part(x, 0, begin, begin + 1), [0]) for x in rest[: len(rows)]]
            graph = importer.module(body)
            results = importer.subgraph(graph, [*state, *sliced, *rest[len(rows) :]])
            stacked = (op.expand_dims(x, [0]) for x in results[count:])
            return op.tuple(*results[:count], *stacked)

        is_one = op.less_equal(number(end - begin, "int64"), number(1, "int64"))
        builder.emit_func_output(builder.if_(is_one, step, halves))
    length = as_expr(rows[0].meta["val"].shape[0])
    return Function(GlobalVar(name), (Dim(0), length), parameters.operands, parameters.sizes)


def _steps_type(node: torch.fx.Node, carried: int, length: Dim) -> ir.Type:
    """Return the type of what is carried, and of what some steps give."""
    fields = [as_struct_info(value) for value in node.meta["val"]]
    stacked = [
        TensorStructInfo([length, *list(info.shape)[1:]], info.dtype) for info in fields[carried:]
    ]
    return TupleStructInfo([*fields[:carried], *stacked])


_WRITERS: dict[Any, Callable[[Importer, torch.fx.Node, str], Function]] = {
    _COND: _write_cond,
    while_loop_op: _write_while,
    map_impl: _write_map,
    scan_op: _write_scan,
}
