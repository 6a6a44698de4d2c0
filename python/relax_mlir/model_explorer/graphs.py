# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graphs of a module as Model Explorer reads them: dictionaries of its JSON format."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from mlir import ir

from ..core.graph import Node, Scope, callee_of, graph_of, module_of, name_of
from ..core.ir_module import ModuleLike, as_module

# Longer attributes are cut.
_LONGEST = 1000
# How the importer of ONNX writes places, whose names have folders if they come from modules.
_ONNX_NODE = re.compile(r"node '(.*)', ")


def graphs_of(module: ModuleLike) -> list[dict[str, Any]]:
    """Return the graphs of a module, one for each function with a body.

    Parameters
    ----------
    module : IRModule, mlir.ir.Module, str or BlockBuilder

    Returns
    -------
    list of dict
        Graphs in the JSON format of Model Explorer. Layers of a graph are dataflow blocks, branches
        and closures, and modules of the model if it was imported from PyTorch or ONNX. A node that
        calls another function leads to the graph of it.

    Raises
    ------
    ValueError
        If the module has no function of Relax with a body.
    TypeError
        If it is no module.

    Examples
    --------
    >>> mod = as_module('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   relax.return %0 : !relax.tensor<[n], f32>
    ... }''')
    >>> [graph] = graphs_of(mod)
    >>> [node["label"] for node in graph["nodes"]]
    ['x', 'exp', 'output']
    """
    mod = as_module(module)
    functions = {
        name: view.operation
        for name, view in mod.functions.items()
        if view.operation.name == "relax.func" and len(view.operation.regions[0].blocks) > 0
    }
    if not functions:
        raise ValueError(
            "expected a function of Relax to show, but the module has "
            f"{', '.join(mod.functions) or 'none'}"
        )
    first = sorted(functions, key=lambda name: name != "main")
    return [_Writer(functions).graph(name) for name in first]


class _Writer:
    """The graph of one function of several."""

    def __init__(self, functions: dict[str, ir.Operation]) -> None:
        self.functions = functions
        self.ids: dict[Node, str] = {}
        self.layers: dict[Scope | None, str] = {None: ""}
        self.counts: Counter[str] = Counter()

    def graph(self, name: str) -> dict[str, Any]:
        """Return the graph of a function."""
        nodes = graph_of(self.functions[name])
        self.ids = {node: str(number) for number, node in enumerate(nodes)}
        return {"id": name, "nodes": [self._node(node) for node in nodes]}

    def _node(self, node: Node) -> dict[str, Any]:
        callee = "" if node.op is None else callee_of(node.op)
        attributes = dict(node.attributes)
        folders = ""
        if node.op is not None:
            name, place = name_of(node.op.location), _place(node.op.location)
            module = module_of(node.op.location)
            folders = module.replace(".", "/") or _folders(place)
            texts = {"name": name, "place": place, "module": module}
            attributes |= {key: text for key, text in texts.items() if text}
        if node.kind == "constant" and "value" in attributes:
            attributes["__value"] = attributes.pop("value")  # which can be shown on the node
        return {
            "id": self.ids[node],
            "label": node.label,
            "namespace": "/".join(filter(None, [self._layer(node.scope), folders])),
            "subgraphIds": [callee] if callee in self.functions else [],
            "attrs": _pairs(attributes),
            "incomingEdges": [
                {
                    "sourceNodeId": self.ids[edge.source],
                    "sourceNodeOutputId": str(edge.output),
                    "targetNodeInputId": str(number),
                }
                for number, edge in enumerate(node.inputs)
            ],
            "outputsMetadata": [
                {"id": str(number), "attrs": _pairs({"tensor_shape": type_})}
                for number, type_ in enumerate(node.types)
            ],
        }

    def _layer(self, scope: Scope | None) -> str:
        """Return the namespace of a scope; each has its own."""
        missing: list[Scope] = []
        while scope is not None and scope not in self.layers:
            missing.append(scope)
            scope = scope.parent
        layer = self.layers[scope]
        for one in reversed(missing):
            layer = f"{layer}/{one.label.replace('/', '_')}".lstrip("/")
            self.counts[layer] += 1
            if (count := self.counts[layer]) > 1:
                layer = f"{layer} {count}"
            self.layers[one] = layer
        return layer


def _pairs(attributes: dict[str, str]) -> list[dict[str, str]]:
    cut = {
        name: text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        for name, text in attributes.items()
    }
    return [{"key": name, "value": text} for name, text in cut.items()]


def _place(location: ir.Location) -> str:
    """Return where an operation comes from: a file and line, or a node of a model."""
    if location.is_a_name():
        location = location.child_loc
    if location.is_a_fused():
        location = location.locations[0]
    if not location.is_a_file():
        return ""
    line = location.start_line
    return f"{location.filename}:{line}" if line else str(location.filename)


def _folders(place: str) -> str:
    """Return the modules that a node of ONNX is of, which its name may begin with."""
    match = _ONNX_NODE.match(place)
    return match[1].strip("/").rpartition("/")[0] if match else ""
