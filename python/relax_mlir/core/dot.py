# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graph of a function in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from mlir import ir

from .graph import Node, Scope, graph_of

# Longer attributes are left out.
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
    return "\n".join([f"digraph {_quoted(name)} {{", *_lines(graph_of(function)), "}", ""])


def _lines(nodes: list[Node]) -> Iterator[str]:
    """Yield the lines of nodes, in frames, and then those of the edges between them."""
    yield '  node [shape=box, fontname="Helvetica"];'
    yield '  edge [fontname="Helvetica", fontsize=10];'
    names: dict[Node, str] = {}
    frames = _Frames()
    for node in nodes:
        names[node] = "output" if node.kind == "output" else f"n{len(names) + 1}"
        yield from frames.enter(node.scope)
        yield f"{frames.indent}{names[node]} [{_looks(node)}];"
    yield from frames.enter(None)
    for node in nodes:
        for edge in node.inputs:
            ends = f"{names[edge.source]} -> {names[node]}"
            yield f"  {ends} [label={_quoted(edge.type)}];"


def _looks(node: Node) -> str:
    """Return the attributes that Graphviz draws a node by."""
    if node.kind == "output":
        return "shape=ellipse"
    if node.kind == "results":
        return 'label="", shape=point'
    label = _quoted("\n".join([node.label, *_short_attributes(node)]))
    looks = {"argument": ", shape=ellipse", "constant": ", style=dashed"}
    return f"label={label}{looks.get(node.kind, '')}"


def _short_attributes(node: Node) -> Iterator[str]:
    for name, text in node.attributes.items():
        if len(text) <= _LONGEST:
            yield text if node.kind == "constant" else f"{name} = {text}"


class _Frames:
    """The frame that lines are written into, and those around it."""

    def __init__(self) -> None:
        self.current: Scope | None = None
        self.count = 0

    @property
    def depth(self) -> int:
        return 0 if self.current is None else self.current.depth

    @property
    def indent(self) -> str:
        return "  " * (self.depth + 1)

    def enter(self, scope: Scope | None) -> Iterator[str]:
        """Yield the lines that close frames, and open others, up to that of a scope."""
        inner: list[Scope] = []
        while scope is not self.current:
            depth = 0 if scope is None else scope.depth
            if self.current is not None and self.depth >= depth:
                self.current = self.current.parent
                yield f"{self.indent}}}"
            if scope is not None and depth > self.depth:
                inner.append(scope)
                scope = scope.parent
        for one in reversed(inner):
            self.count += 1
            yield f"{self.indent}subgraph cluster_{self.count} {{"
            self.current = one
            yield f"{self.indent}label={_quoted(one.label)};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
