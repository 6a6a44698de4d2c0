# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graph of a function: nodes, values between them, and the scopes that hold nodes.

`dot` and `relax_mlir.model_explorer` draw it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mlir import ir

from .._mlir_libs import _relax_mlir as _ext

_PREFIX = "relax."
_ENDS = ("relax.return", "relax.yield", "relax.output")
# Attributes that are no part of what an operator computes, or that labels show.
_HIDDEN = ("operandSegmentSizes", "arg_names", "callee", "value")
_BRANCHES = ("then", "else")
# Constants with more elements are elided, unless all of them are equal.
_SMALL = 16
_ELEMENTS = re.compile(r"dense<(.*)> : ")
_FLOAT = re.compile(r"-?\d+\.\d+(?:[eE][+-]?\d+)?")
# A generator that yields those to run to their ends before it goes on.
_Steps: TypeAlias = "Iterator[_Steps]"

Kind: TypeAlias = Literal["argument", "operator", "constant", "results", "output"]


@dataclass(eq=False)
class Scope:
    """What holds nodes: a dataflow block, a branch, a sequence, or a closure.

    Attributes
    ----------
    label : str
        Such as "dataflow", or the name of a closure.
    parent : Scope or None
        What it is in; None for the body of the function.
    """

    label: str
    parent: Scope | None
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        self.depth = 1 if self.parent is None else self.parent.depth + 1


@dataclass(frozen=True)
class Edge:
    """A value that a node uses.

    Attributes
    ----------
    source : Node
    output : int
        Which result of the source it is.
    type : str
    """

    source: Node
    output: int
    type: str


@dataclass(eq=False)
class Node:
    """A parameter, an operator or constant, the results of a scope, or what a function returns.

    Attributes
    ----------
    kind : str
        "argument", "operator", "constant", "results" or "output".
    label : str
        The name of a parameter, or of an operator with the function that it calls.
    scope : Scope or None
        None in the body of the function.
    types : tuple of str
        Of its results.
    op : mlir.ir.Operation or None
        None for parameters and for what the function returns.
    attributes : dict of str to str
    inputs : list of Edge
        The values that it uses, in the order of operands.
    """

    kind: Kind
    label: str
    scope: Scope | None
    types: tuple[str, ...] = ()
    op: ir.Operation | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    inputs: list[Edge] = field(default_factory=list)


def graph_of(function: ir.Operation) -> list[Node]:
    """Return the nodes of a function, in the order of the program.

    Parameters
    ----------
    function : mlir.ir.Operation
        With one region, such as a ``relax.func``.

    Returns
    -------
    list of Node
        The results of a scope come after the nodes in it.
    """
    return _Walk(function).nodes


def callee_of(op: ir.Operation) -> str:
    """Return the name of the function that an operation calls by its name; else an empty text."""
    return str(op.attributes["callee"].value) if "callee" in op.attributes else ""


def name_of(location: ir.Location) -> str:
    """Return the name that a program gives a value; else an empty text."""
    return str(location.name_str) if location.is_a_name() else ""


def module_of(location: ir.Location) -> str:
    """Return the module of an imported model that a place is in; else an empty text."""
    return _ext.find_module(location)


class _Walk:
    """The nodes of a function, and those that make each value."""

    def __init__(self, function: ir.Operation) -> None:
        self.nodes: list[Node] = []
        self.sources: dict[ir.Value, tuple[Node, int]] = {}
        # Scopes are generators on a stack, so that programs nest as deep as they like.
        pending = [self._function(function)]
        while pending:
            inner = next(pending[-1], None)
            if inner is None:
                pending.pop()
            else:
                pending.append(inner)

    def _function(self, function: ir.Operation) -> _Steps:
        names = dict(function.attributes.items()).get("arg_names", ())
        output = Node("output", "output", None)
        for block in function.regions[0].blocks:
            yield self._block(block, None, output, [name.value for name in names])
        if output.inputs:
            self.nodes.append(output)

    def _block(
        self, block: ir.Block, scope: Scope | None, end: Node, names: Sequence[str] = ()
    ) -> _Steps:
        """Add the nodes of a block; what it ends with are inputs of the node `end`."""
        for number, argument in enumerate(block.arguments):
            name = names[number] if number < len(names) else name_of(argument.location)
            node = Node("argument", name or f"argument {number}", scope)
            self._define(node, [argument])
            self.nodes.append(node)
        for view in block.operations:
            op = view.operation
            if op.name in _ENDS:
                self._connect(op, end)
            elif len(op.regions) > 0:
                yield self._scope(op, scope)
            else:
                kind: Kind = "constant" if op.name == "relax.constant" else "operator"
                node = Node(kind, _label(op), scope, op=op, attributes=_attributes(op))
                self._connect(op, node)
                self._define(node, op.results)
                self.nodes.append(node)

    def _scope(self, op: ir.Operation, parent: Scope | None) -> _Steps:
        """Add the nodes of an operation with regions, and the one that its results come from."""
        scope = Scope(_label(op), parent)
        node = Node("results", "results", scope, op=op, attributes=_attributes(op))
        self._connect(op, node)
        for number, region in enumerate(op.regions):
            inner = Scope(_BRANCHES[number], scope) if op.name == "relax.if" else scope
            for block in region.blocks:
                yield self._block(block, inner, node)
        self._define(node, op.results)
        self.nodes.append(node)

    def _connect(self, op: ir.Operation, node: Node) -> None:
        for operand in op.operands:
            node.inputs.append(Edge(*self.sources[operand], type_of(operand)))

    def _define(self, node: Node, values: Sequence[ir.Value]) -> None:
        node.types = tuple(map(type_of, values))
        self.sources.update((value, (node, number)) for number, value in enumerate(values))


def type_of(value: ir.Value) -> str:
    """Return the type of a value, without the name of the dialect."""
    return str(value.type).replace("!relax.", "")


def _label(op: ir.Operation) -> str:
    """Return the name of an operation, or of the function that it calls."""
    name = op.name.removeprefix(_PREFIX)
    if callee := callee_of(op):
        return f"{name} @{callee}"
    if op.name == "relax.closure":
        return name_of(op.location) or name
    return name


def _attributes(op: ir.Operation) -> dict[str, str]:
    """Return the attributes of an operator, and the value of a small constant."""
    found = {name: str(value) for name, value in op.attributes.items() if name not in _HIDDEN}
    if op.name == "relax.constant" and (text := _elements(op.attributes["value"])):
        found["value"] = text
    return found


def _elements(value: ir.Attribute) -> str:
    """Return the elements of a constant as text; empty if there are many."""
    if not isinstance(value, ir.DenseElementsAttr):
        return ""
    if not value.is_splat and math.prod(ir.ShapedType(value.type).shape) > _SMALL:
        return ""
    match = _ELEMENTS.match(str(value))
    return _FLOAT.sub(lambda number: repr(float(number[0])), match[1]) if match else ""
