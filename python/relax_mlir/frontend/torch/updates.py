# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs and buffers that a program changes: they are written where they lie."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import torch
from mlir import ir
from torch.export.graph_signature import ExportGraphSignature, InputKind, OutputKind

from ... import op
from ...builder.block_builder import BlockBuilder
from ...core.expr import as_value
from ...core.ir import Dim, ShapeExpr, ShapeStructInfo, TensorStructInfo
from .shapes import as_expr, as_shape

_SCATTER = "aten.slice_scatter.default"
_COPY = "aten.copy.default"
_CHANGES = {
    OutputKind.USER_INPUT_MUTATION,
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
}

RESULTS = {
    OutputKind.USER_OUTPUT,
    OutputKind.LOSS_OUTPUT,
    OutputKind.GRADIENT_TO_PARAMETER,
    OutputKind.GRADIENT_TO_USER_INPUT,
}


class _Program(Protocol):
    graph: torch.fx.Graph
    graph_signature: ExportGraphSignature


@dataclasses.dataclass(frozen=True)
class Updates:
    """What a program changes.

    Attributes
    ----------
    slices : set of torch.fx.Node
        Writing slices into arguments, each at its place in the program.
    copies : dict of torch.fx.Node to torch.fx.Node
        By argument what it is after the program, if that is not written slice by slice.
    """

    slices: set[torch.fx.Node]
    copies: dict[torch.fx.Node, torch.fx.Node]

    def __bool__(self) -> bool:
        return bool(self.slices or self.copies)


def find_updates(program: _Program) -> Updates:
    """Return what a program changes.

    Raises
    ------
    NotImplementedError
        If that is neither a buffer nor an input.
    """
    order = {node: place for place, node in enumerate(program.graph.nodes)}
    by_name = {node.name: node for node in order}
    changed = changed_arguments(program)
    updates = Updates(set(), {})
    for spec in program.graph_signature.output_specs:
        if spec.kind in RESULTS:
            continue
        if spec.kind not in _CHANGES or spec.target not in changed:
            raise NotImplementedError(
                f"expected a program without side effects but changing inputs and buffers, but "
                f"{spec.target!r} is changed ({spec.kind.name})"
            )
        target, value = changed[spec.target], by_name[spec.arg.name]
        slices = _slices(value, target, order)
        if slices is None:
            updates.copies[target] = value
        else:
            updates.slices.update(slices)
    return updates


def changed_arguments(program: _Program) -> dict[str, torch.fx.Node]:
    """Return the arguments that a program changes, by the names of inputs and buffers."""
    signature = program.graph_signature
    targets = {spec.target for spec in signature.output_specs if spec.kind in _CHANGES}
    nodes = (node for node in program.graph.nodes if node.op == "placeholder")
    names = (
        spec.arg.name if spec.kind == InputKind.USER_INPUT else spec.target
        for spec in signature.input_specs
    )
    return {name: node for name, node in zip(names, nodes, strict=True) if name in targets}


def _slices(
    value: torch.fx.Node, target: torch.fx.Node, order: dict[torch.fx.Node, int]
) -> list[torch.fx.Node] | None:
    """Return the slices that are written into an argument, None if these are not all it takes.

    They are not if the program reads afterwards what the argument was before.
    """
    slices = []
    while _is_update(value):
        base = value.args[0]
        if any(order[user] > order[value] for user in base.users):
            return None
        slices.append(value)
        value = base
    return slices if value is target else None


def _is_update(node: torch.fx.Node) -> bool:
    # Arguments: tensor, what is written, dimension, begin, end, step.
    return str(node.target) == _SCATTER and (len(node.args) < 6 or node.args[5] == 1)


def is_only_overwritten(node: torch.fx.Node) -> bool:
    """Say whether nothing but the shape of the result of a node is used."""
    return bool(node.users) and all(
        str(user.target) == _COPY and user.args[0] is node and user.args[1] is not node
        for user in node.users
    )


# Operations whose results are names of what their operands are, or may be.
_NAMES = {
    "relax.call", "relax.dataflow", "relax.get_item", "relax.if", "relax.match_cast", "relax.tuple",
}  # fmt: skip


def is_name_of(value: ir.Value, argument: ir.Value) -> bool:
    """Say whether a value may be an argument under another name, and no tensor of its own."""
    if value == argument:
        return True
    if isinstance(value.owner, ir.Block) or value.owner.name not in _NAMES:
        return False
    operands = [*value.owner.operands]
    for region in value.owner.regions:
        operands += [one for block in region for one in block.operations[-1].operands]
    return any(is_name_of(one, argument) for one in operands)


class Updater:
    """Writes tensors, and slices of them, where they lie.

    Parameters
    ----------
    builder : BlockBuilder
    """

    def __init__(self, builder: BlockBuilder) -> None:
        self._builder = builder
        self._kernels: dict[str, Any] = {}

    def write(self, node: torch.fx.Node, tensor: Any, source: Any, start: Any) -> None:
        """Write a slice of a tensor, outside of dataflow blocks.

        Parameters
        ----------
        node : torch.fx.Node
            A slice_scatter.
        tensor, source : Var or mlir.ir.Value
        start : int or Dim, optional
            The first place; negative ones count from the end.
        """
        dims = as_shape(node.meta["val"].shape)
        axis = (node.args[2] if len(node.args) > 2 else 0) % len(dims)
        sizes = as_shape(node.args[1].meta["val"].shape)
        size, length = dims[axis], sizes[axis]
        begin = as_expr(start or 0) if not isinstance(start, Dim) else start
        if begin.value is None or begin.value < 0:
            begin = (begin + size if begin.value is not None else begin).max(0)
        # torch.export knows, but does not state, that nothing is written beyond the end.
        end = begin + length
        self._builder.match_cast(ShapeExpr([end.min(size)]), ShapeStructInfo([end]))
        kernel = self._slice_kernel(as_value(tensor), as_value(source), axis)
        self._builder.emit(op.call(kernel, source, begin, tensor))

    def overwrite(self, tensor: Any, source: Any) -> None:
        """Write all elements of a tensor, outside of dataflow blocks.

        Parameters
        ----------
        tensor, source : Var or mlir.ir.Value
        """
        self._builder.emit(op.call(self._copy_kernel(as_value(source)), source, tensor))

    def copied(self, source: ir.Value) -> ir.Value:
        """Return a tensor with the elements of another one, in memory of its own."""
        info = source.struct_info
        result = TensorStructInfo(info.shape, info.dtype)
        return op.call_tir(self._copy_kernel(source), [source], result)

    def _slice_kernel(self, tensor: ir.Value, source: ir.Value, axis: int) -> Any:
        to, what = (_kernel_type(value) for value in (tensor, source))
        rank = tensor.struct_info.ndim
        body = []
        sizes = []
        for i, dim in enumerate(source.struct_info.shape):
            if dim.value is not None:
                sizes.append(str(dim.value))
                continue
            body += [f"%c{i} = arith.constant {i} : index"]
            body += [f"%d{i} = tensor.dim %source, %c{i} : {what}"]
            sizes.append(f"%d{i}")
        offsets = ", ".join("%at" if i == axis else "0" for i in range(rank))
        ones = ", ".join("1" for _ in range(rank))
        lines = "\n  ".join(body)
        return self._kernel(
            "write_slice",
            f"""
func.func private @write_slice(%source: {what}, %begin: i64, %to: {to}) -> {to} {{
  %at = arith.index_cast %begin : i64 to index
  {lines}
  %new = tensor.insert_slice %source into %to[{offsets}][{", ".join(sizes)}][{ones}]
    : {what} into {to}
  return %new : {to}
}}
""",
        )

    def _copy_kernel(self, source: ir.Value) -> Any:
        what = _kernel_type(source)
        return self._kernel(
            "copy_tensor",
            f"""
func.func private @copy_tensor(%source: {what}, %to: {what}) -> {what} {{
  %new = linalg.copy ins(%source : {what}) outs(%to : {what}) -> {what}
  return %new : {what}
}}
""",
        )

    def _kernel(self, name: str, text: str) -> Any:
        """Return a function of the module, which is written once."""
        if text not in self._kernels:
            count = sum(f"@{name}(" in other for other in self._kernels)
            self._kernels[text] = self._builder.add_func(text, f"{name}{count or ''}")
        return self._kernels[text]


def _kernel_type(value: ir.Value) -> str:
    info = value.struct_info
    dims = ["?" if dim.value is None else str(dim.value) for dim in info.shape]
    element = info.dtype.replace("float", "f").replace("uint", "i").replace("int", "i")
    return f"tensor<{''.join(f'{dim}x' for dim in dims)}{element}>"
