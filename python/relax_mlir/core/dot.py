# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graph of a function in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlir import ir

_PREFIX = "relax."
# Attributes that are no part of what an operator computes.
_HIDDEN = ("operandSegmentSizes", "arg_names", "value")
_LONGEST = 40


def to_dot(function: ir.Operation, name: str) -> str:
    """Return the graph of a function: operators, and values between them with their types.

    Parameters
    ----------
    function : mlir.ir.Operation
        With one region, such as a ``relax.func``.
    name : str
        The name of the graph.

    Returns
    -------
    str
        A directed graph, which ``dot -Tsvg`` draws. What a dataflow block, a branch or a closure
        holds is in a frame.
    """
    return "\n".join([f"digraph {_quoted(name)} {{", *_Graph().lines(function), "}", ""])


class _Graph:
    """The nodes and edges of a function, as lines."""

    def __init__(self) -> None:
        self.nodes: dict[ir.Value, str] = {}
        self.edges: list[str] = []
        self.count = 0

    def lines(self, function: ir.Operation) -> Iterator[str]:
        """Yield the lines of the graph."""
        yield '  node [shape=box, fontname="Helvetica"];'
        yield '  edge [fontname="Helvetica", fontsize=10];'
        names = dict(function.attributes.items()).get("arg_names", ())
        for block in function.regions[0].blocks:
            yield from self._block(block, "  ", "output", [name.value for name in names])
        yield from self.edges

    def _new(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def _block(
        self, block: ir.Block, indent: str, end: str, names: Sequence[str] = ()
    ) -> Iterator[str]:
        """Yield the nodes of a block; what it ends with leads to the node `end`."""
        for number, argument in enumerate(block.arguments):
            node = self.nodes[argument] = self._new()
            name = names[number] if number < len(names) else _name_of(argument.location)
            label = _quoted(name or f"argument {number}")
            yield f"{indent}{node} [label={label}, shape=ellipse];"
        for op in block.operations:
            operation = op.operation
            if operation.name in ("relax.return", "relax.yield", "relax.output"):
                yield from self._terminator(operation, indent, end)
            else:
                yield from self._operation(operation, indent)

    def _terminator(self, op: ir.Operation, indent: str, end: str) -> Iterator[str]:
        if end == "output":
            yield f"{indent}output [shape=ellipse];"
        self._connect(op, end)

    def _operation(self, op: ir.Operation, indent: str) -> Iterator[str]:
        node = self._new()
        shape = ", style=dashed" if op.name == "relax.constant" else ""
        if len(op.regions) > 0:
            yield f"{indent}subgraph cluster_{node} {{"
            yield f"{indent}  label={_quoted(_short(op))};"
            for region in op.regions:
                for block in region.blocks:
                    yield from self._block(block, indent + "  ", node)
            yield f'{indent}  {node} [label="", shape=point];'
            yield f"{indent}}}"
        else:
            yield f"{indent}{node} [label={_quoted(_label(op))}{shape}];"
        self._connect(op, node)
        for result in op.results:
            self.nodes[result] = node

    def _connect(self, op: ir.Operation, node: str) -> None:
        """Add an edge for each operand, with its type."""
        for operand in op.operands:
            type_ = _quoted(str(operand.type).removeprefix("!relax."))
            self.edges.append(f"  {self.nodes[operand]} -> {node} [label={type_}];")


def _label(op: ir.Operation) -> str:
    """Return an operator, and its attributes that are short."""
    lines = [_short(op)]
    for attribute in op.attributes:
        name = attribute if isinstance(attribute, str) else attribute.name
        text = str(op.attributes[name])
        if name not in (*_HIDDEN, "callee") and len(text) <= _LONGEST:
            lines.append(f"{name} = {text}")
    return "\n".join(lines)


def _short(op: ir.Operation) -> str:
    """Return the name of an operation, or of the function that it calls."""
    name = op.name.removeprefix(_PREFIX)
    if "callee" in op.attributes:
        return f"{name} {op.attributes['callee']}"
    return name


def _name_of(location: ir.Location) -> str:
    return str(location.name_str) if location.is_a_name() else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
