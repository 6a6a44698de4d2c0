# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of a kernel that are free, and dimensions that are the same."""

from __future__ import annotations

import contextlib
import keyword
from collections.abc import Iterator

from mlir import ir

from .expr import Var
from .idioms import constant_of, made_by


class FreeNames:
    """Names that are not taken."""

    def __init__(self) -> None:
        self.taken = {"T", "I", "R", "range", *_KEYWORDS}

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Free the names that are taken in the body of ``with``, after it."""
        saved = set(self.taken)
        try:
            yield
        finally:
            self.taken = saved

    def take(self, name: str) -> None:
        """Have a name be taken."""
        self.taken.add(name)

    def new(self, name: str) -> str:
        """Return a name that is not taken, and take it."""
        name = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "x"
        if not name.isidentifier():
            name = f"x{name}"
        result, count = name, 0
        while result in self.taken:
            count += 1
            result = f"{name}_{count}"
        self.taken.add(result)
        return result


_KEYWORDS = frozenset(keyword.kwlist)


class Dims:
    """Dimensions of tensors that structured operations make equal.

    Parameters
    ----------
    entry : mlir.ir.Block
    """

    def __init__(self, entry: ir.Block) -> None:
        self._parents: dict[tuple[ir.Value, int], tuple[ir.Value, int]] = {}
        self.variables: dict[tuple[ir.Value, int], Var] = {}
        for op in entry.operations:
            name = op.operation.name
            if name in ("linalg.generic", "linalg.fill"):
                outputs = list(op.operation.operands)[-max(len(op.operation.results), 1) :]
                for result, output in zip(op.operation.results, outputs, strict=False):
                    for axis in range(len(output.type.shape)):
                        self._join((output, axis), (result, axis))
            if name == "linalg.generic":
                self._join_loops(op.operation)
            elif name == "tensor.empty":
                self._join_sizes(op.operation)
            elif name == "tensor.extract_slice":
                self._join_slice(op.operation)
            elif name == "tensor.insert_slice":
                whole = op.operation.operands[1]
                for axis in range(len(whole.type.shape)):
                    self._join((whole, axis), (op.operation.results[0], axis))

    def find(self, dim: tuple[ir.Value, int]) -> tuple[ir.Value, int]:
        """Return the dimension that stands for all that are the same as one."""
        while dim in self._parents:
            dim = self._parents[dim]
        return dim

    def _join(self, a: tuple[ir.Value, int], b: tuple[ir.Value, int]) -> None:
        a, b = self.find(a), self.find(b)
        if a != b:
            self._parents[b] = a

    def _join_loops(self, op: ir.Operation) -> None:
        loops: dict[int, tuple[ir.Value, int]] = {}
        for attr, operand in zip(op.attributes["indexing_maps"], op.operands, strict=True):
            for axis, expr in enumerate(attr.value.results):
                if isinstance(expr, ir.AffineDimExpr):
                    self._join(loops.setdefault(expr.position, (operand, axis)), (operand, axis))

    def _join_slice(self, op: ir.Operation) -> None:
        dynamic = ir.ShapedType.get_dynamic_size()
        sizes = list(op.attributes["static_sizes"])
        if len(sizes) != len(op.results[0].type.shape):
            return
        first = 1 + sum(item == dynamic for item in op.attributes["static_offsets"])
        axes = [axis for axis, size in enumerate(sizes) if size == dynamic]
        for axis, size in zip(axes, list(op.operands)[first:], strict=False):
            self._join_size(size, (op.results[0], axis))

    def _join_size(self, size: ir.Value, to: tuple[ir.Value, int]) -> None:
        dim = made_by(size, "tensor.dim")
        known = None if dim is None else constant_of(dim.operands[1])
        if dim is not None and isinstance(known, int):
            self._join((dim.operands[0], known), to)

    def _join_sizes(self, op: ir.Operation) -> None:
        dynamic = ir.ShapedType.get_dynamic_size()
        axes = [i for i, size in enumerate(op.results[0].type.shape) if size == dynamic]
        for axis, size in zip(axes, op.operands, strict=True):
            self._join_size(size, (op.results[0], axis))
