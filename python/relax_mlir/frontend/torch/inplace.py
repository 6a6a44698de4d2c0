# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that change a tensor which nothing else refers to, as operators that return it.

PyTorch's own decomposition replaces them, too, but traces the whole program anew, which takes
longer than all of the import.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import torch

# Operators that PyTorch makes of others, and whose results are new memory in any case. Others of
# this kind may return their input, as `aten.dropout` and `aten.contiguous` do.
_NEW = {
    "aten.adaptive_avg_pool1d",
    "aten.adaptive_avg_pool2d",
    "aten.adaptive_avg_pool3d",
    "aten.avg_pool1d",
    "aten.batch_norm",
    "aten.conv1d",
    "aten.conv2d",
    "aten.conv3d",
    "aten.conv_transpose1d",
    "aten.conv_transpose2d",
    "aten.conv_transpose3d",
    "aten.group_norm",
    "aten.instance_norm",
    "aten.layer_norm",
    "aten.linear",
    "aten.matmul",
    "aten.max_pool1d",
    "aten.max_pool2d",
    "aten.max_pool3d",
    "aten.softmax",
    "aten.upsample_bilinear2d",
    "aten.upsample_nearest2d",
}
# Their results are Boolean where they are not in place.
_COMPARISONS = re.compile(r"aten\.(eq|ne|lt|le|gt|ge|greater|less|not_equal|logical)(_\w+)?_$")


def without_inplace(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """Return a program whose operators change no tensor, where nothing else refers to it.

    Others stay as they are: those that change inputs, or a tensor that has views.
    """
    if not any(_functional(node) for node in program.graph.nodes):
        return program
    graph = copy.deepcopy(program.graph)
    for node, copied in zip(program.graph.nodes, graph.nodes, strict=True):
        copied.name = node.name  # which the signature has; one as `input` is changed in a copy
    for names in _changed_tensors(graph):
        for i, node in enumerate(names[1:], 1):
            functional = _functional(node)
            assert functional is not None
            node.target = functional
            for name in names[:i]:
                name.replace_all_uses_with(node, delete_user_cb=node.__lt__)
    return torch.export.ExportedProgram(
        program.graph_module,
        graph,
        program.graph_signature,
        program.state_dict,
        program.range_constraints,
        program.module_call_graph,
        program.example_inputs,
        program.constants,
        verifiers=program.verifiers,
    )


def _changed_tensors(graph: torch.fx.Graph) -> list[list[torch.fx.Node]]:
    """Return tensors to which only operators refer that change them, or read them.

    Returns
    -------
    list of list of torch.fx.Node
        Of each tensor the nodes that are it: the first makes it, the others change it.
    """
    names: dict[torch.fx.Node, list[torch.fx.Node]] = {}  # by each of them
    for node in graph.nodes:
        changed = node.args[0] if node.args else None
        if _functional(node) is not None and isinstance(changed, torch.fx.Node):
            names[node] = names.setdefault(changed, [changed])
            names[node].append(node)
    found = {id(tensor): tensor for tensor in names.values()}.values()
    return [tensor for tensor in found if _is_new(tensor[0]) and not _is_kept(tensor)]


def _functional(node: torch.fx.Node) -> torch._ops.OpOverload | None:
    """Return the operator that returns what this one makes of its first argument.

    None where there is none, or where its result were of another data type.
    """
    packet, _, overload = str(node.target).rpartition(".")
    schema = getattr(node.target, "_schema", None)
    if schema is None or not packet.startswith("aten.") or not packet.endswith("_"):
        return None
    functional = getattr(getattr(torch.ops.aten, packet[5:-1], None), overload, None)
    if functional is None or _arguments(schema) != _arguments(functional._schema):
        return None
    if any(argument.alias_info is not None for argument in schema.arguments[1:]):
        return None
    tensors = [meta for meta in map(_meta, node.all_input_nodes) if meta is not None]
    dtypes = {meta.dtype for meta in tensors}
    if len(dtypes) != 1 or (_COMPARISONS.match(packet) and dtypes != {torch.bool}):
        return None
    return functional


def _arguments(schema: Any) -> list[str]:
    return [argument.name for argument in schema.arguments]


def _meta(node: torch.fx.Node) -> torch.Tensor | None:
    value = node.meta.get("val")
    return value if isinstance(value, torch.Tensor) else None


def _is_new(node: torch.fx.Node) -> bool:
    """Say whether a result is memory of its own."""
    target = node.target
    if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
        return False
    if any(value.alias_info is not None for value in target._schema.returns):
        return False
    if not target.name().startswith("aten::"):
        return False
    is_composite = target.has_kernel_for_dispatch_key(
        torch._C.DispatchKey.CompositeImplicitAutograd
    )
    return str(target).rpartition(".")[0] in _NEW or not is_composite


def _is_kept(names: list[torch.fx.Node]) -> bool:
    """Say whether something may refer to a tensor before it has changed for the last time."""
    *before, last = names
    return any(
        user.op == "output" or (user < last and user not in names and not _reads(user, name))
        for name in before
        for user in name.users
    )


def _reads(user: torch.fx.Node, tensor: torch.fx.Node) -> bool:
    """Say whether an operator only reads a tensor, so that its result is no other name of it."""
    return _is_new(user) or (_functional(user) is not None and user.args[0] is not tensor)
