# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs that a program changes: parts of them are written where they lie."""

from __future__ import annotations

from typing import Any

import torch
from mlir import ir
from torch.export.graph_signature import OutputKind

from ... import op
from ...builder.block_builder import BlockBuilder
from ...core.expr import as_value
from ...core.ir import Dim, ShapeExpr, ShapeStructInfo
from .shapes import as_expr, as_shape

_SCATTER = "aten.slice_scatter.default"
_COPY = "aten.copy.default"


def find_updates(program: torch.export.ExportedProgram) -> set[torch.fx.Node]:
    """Return the nodes of slices that are written into inputs.

    Raises
    ------
    NotImplementedError
        If the program changes a buffer, an input in another way, or reads what an input was before
        after it has changed it.
    """
    order = {node: place for place, node in enumerate(program.graph.nodes)}
    by_name = {node.name: node for node in order}
    updates: set[torch.fx.Node] = set()
    for spec in program.graph_signature.output_specs:
        if spec.kind == OutputKind.USER_OUTPUT:
            continue
        node = by_name.get(spec.arg.name) if spec.kind == OutputKind.USER_INPUT_MUTATION else None
        while node is not None and _is_update(node):
            base = node.args[0]
            if any(order[user] > order[node] for user in base.users):
                raise NotImplementedError(
                    f"expected {spec.target!r} not to be read as it was before it is changed, in "
                    f"'{node.name}'"
                )
            updates.add(node)
            node = base
        if node is None or node.op != "placeholder":
            raise NotImplementedError(
                "expected a program without side effects but writing slices of inputs, but "
                f"{spec.target!r} is changed ({spec.kind.name})"
            )
    return updates


def _is_update(node: torch.fx.Node) -> bool:
    # Arguments: tensor, what is written, dimension, begin, end, step.
    return str(node.target) == _SCATTER and (len(node.args) < 6 or node.args[5] == 1)


def is_only_overwritten(node: torch.fx.Node) -> bool:
    """Say whether nothing but the shape of the result of a node is used."""
    return bool(node.users) and all(
        str(user.target) == _COPY and user.args[0] is node and user.args[1] is not node
        for user in node.users
    )


class Updater:
    """Writes slices of tensors where they lie.

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
        kernel = self._kernel(as_value(tensor), as_value(source), axis)
        self._builder.emit(op.call(kernel, source, begin, tensor))

    def _kernel(self, tensor: ir.Value, source: ir.Value, axis: int) -> Any:
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
        text = f"""
func.func private @write_slice(%source: {what}, %begin: i64, %to: {to}) -> {to} {{
  %at = arith.index_cast %begin : i64 to index
  {lines}
  %new = tensor.insert_slice %source into %to[{offsets}][{", ".join(sizes)}][{ones}]
    : {what} into {to}
  return %new : {to}
}}
"""
        if text not in self._kernels:
            name = f"write_slice{len(self._kernels) or ''}"
            self._kernels[text] = self._builder.add_func(text, name)
        return self._kernels[text]


def _kernel_type(value: ir.Value) -> str:
    info = value.struct_info
    dims = ["?" if dim.value is None else str(dim.value) for dim in info.shape]
    element = info.dtype.replace("float", "f").replace("uint", "i").replace("int", "i")
    return f"tensor<{''.join(f'{dim}x' for dim in dims)}{element}>"
