# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffers of tensor programs: their types, views of them, and stores to them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from ....tir import expr as tir
from ....tir import stmt as st
from ... import tir_statements as T  # noqa: N812 (as programs call it)
from ... import vectors
from .expressions import describe_value, distance
from .statements import StatementParser


class BufferParser(StatementParser):
    """Makes buffers, and stores to them."""

    # The parameters, and by their ids the positions of those that are not matched to a buffer yet.
    _params: list[Any]
    _handles: dict[int, int]

    # -- types --------------------------------------------------------------------------------

    def buffer(self, node: ast.AST, name: str, type_: T.BufferType) -> st.Buffer:
        """Return a new buffer of a type."""
        shape = [self._dimension(node, dim) for dim in type_.shape]
        return st.Buffer(name, shape, type_.dtype, type_.scope)

    def _dimension(self, node: ast.AST, dim: Any) -> tir.PrimExpr:
        """Return a dimension; a string names a variable, which is new the first time."""
        if isinstance(dim, str):
            if not dim.isidentifier():
                raise self.error(node, f"expected the name of a variable, but got {dim!r}")
            if self.env.bound(dim) is None:
                self.env.bind(dim, tir.Var(dim, "int64"))
            dim = self.env.bound(dim)
        if isinstance(dim, bool) or not isinstance(dim, int | tir.PrimExpr):
            message = f"expected an integer as dimension, but got {describe_value(dim)}"
            raise self.error(node, message)
        if isinstance(dim, int):
            dim = tir.const(dim, "int64" if dim >= 2**31 else "int32")
        if not tir.is_integer(dim.dtype):
            raise self.error(node, f"expected an integer as dimension, but got {dim.dtype}")
        return dim

    # -- new buffers --------------------------------------------------------------------------

    def scalar(self, node: ast.AST, name: str, dtype: str) -> st.Buffer:
        """Make a variable that can be assigned to."""
        buffer = st.Buffer(name, (), dtype, "local")
        self.emit(st.Alloc(buffer), node)
        self.env.bind(name, T.Scalar(buffer))
        return buffer

    def _allocate(self, node: ast.AST, name: str, value: T.Allocation) -> None:
        buffer = self.buffer(node, name, value.type)
        self.emit(st.Alloc(buffer), node)
        self.env.bind(name, buffer)

    def _match_buffer(self, node: ast.AST, name: str, match: T.MatchBuffer) -> None:
        """Say which buffer a parameter is, or a part of a buffer."""
        if isinstance(match.param, T.Region | st.Buffer | tir.BufferLoad):
            self._view(node, name, match)
            return
        index = self._handles.pop(id(match.param), None)
        if index is None:
            raise self.error(
                node,
                "expected T.match_buffer of a parameter of type T.handle that is not matched yet, "
                f"but got {describe_value(match.param)}",
            )
        buffer = self.buffer(node, name, match.type)
        self._params[index] = buffer
        self.env.bind(name, buffer)

    def _view(self, node: ast.AST, name: str, match: T.MatchBuffer) -> None:
        """Name a part of a buffer."""
        part = match.param
        if isinstance(part, st.Buffer):
            source, indices = part, (slice(None),) * part.ndim
        else:
            source, indices = part.buffer, tuple(part.indices)
        region = [
            self._extent(node, index, size)
            for index, size in zip(indices, source.shape, strict=True)
        ]
        buffer = self.buffer(node, name, match.type)
        axes = list(range(source.ndim))
        if buffer.ndim != source.ndim:
            axes = [axis for axis in axes if isinstance(indices[axis], slice)]
        if buffer.ndim != len(axes):
            message = f"expected a shape of {len(axes)} dimensions, but got {buffer.ndim}"
            raise self.error(node, message)
        self._require_dtype(node, source, buffer)
        for axis, size in zip(axes, buffer.shape, strict=True):
            extent = region[axis][1]
            if _differ(extent, size):
                raise self.error(node, f"expected the size {extent} of the part, but got {size}")
        self._name_view(node, source, buffer, region, axes)

    def _require_dtype(self, node: ast.AST, source: st.Buffer, buffer: st.Buffer) -> None:
        if buffer.dtype != source.dtype:
            raise self.error(
                node, f"expected the data type {source.dtype} of the buffer, but got {buffer.dtype}"
            )

    def _name_view(self, node: ast.AST, source: st.Buffer, made: st.Buffer, *part: Any) -> None:
        buffer = st.Buffer(made.name, made.shape, made.dtype, source.scope())
        self.emit(st.View(buffer, source, *part), node)
        self.env.bind(made.name, buffer)

    def _extent(
        self, node: ast.AST, index: Any, size: tir.PrimExpr
    ) -> tuple[tir.PrimExpr, tir.PrimExpr]:
        """Return where an index begins, and how far it goes."""
        if not isinstance(index, slice):
            return self.as_expr(node, index), tir.const(1, "int32")
        if index.step is not None:
            raise self.error(node, "expected a part without a step")
        start = self.as_expr(node, 0 if index.start is None else index.start)
        stop = size if index.stop is None else self.as_expr(node, index.stop)
        return start, self.apply(node, distance, start, stop)

    def _reshape(self, node: ast.AST, name: str, made: T.Reshape) -> None:
        """Name all elements of a buffer in another shape."""
        buffer, source = self.buffer(node, name, made.type), made.source
        self._require_dtype(node, source, buffer)
        if 1 not in (buffer.ndim, source.ndim):
            raise self.error(
                node, "expected one dimension in the old shape or in the new one, but got others"
            )
        count, known = buffer.size, source.size
        if _differ(count, known):
            raise self.error(node, f"expected a shape of {known} elements, but got {count}")
        self._name_view(node, source, buffer)

    # -- stores -------------------------------------------------------------------------------

    def store(
        self,
        node: ast.AST,
        buffer: Any,
        indices: Sequence[Any],
        value: Any,
        statement: ast.AST | None = None,
    ) -> None:
        """Store a number or a vector to a buffer.

        Parameters
        ----------
        node : ast.AST
            What is stored to.
        buffer, indices, value
        statement : ast.AST, optional
            The whole statement.
        """
        if isinstance(buffer, T.Scalar):
            buffer = buffer.buffer
        if not isinstance(buffer, st.Buffer):
            raise self.error(node, f"expected a buffer, but got {describe_value(buffer)}")
        if isinstance(value, T.Region):
            value = self.vector(node, value)
        if any(isinstance(each, T.Vector | slice) for each in (value, *indices)):
            self._store_vector(node, buffer, indices, value, statement or node)
            return
        checked = self.check_indices(node, buffer, indices)
        place = getattr(statement, "value", None) or node
        expr = self.as_expr(place, value, buffer.dtype)
        expr = self.cast(node, expr, buffer.dtype)
        self.emit(st.BufferStore(buffer, expr, checked), statement or node)

    def _store_vector(
        self, node: ast.AST, buffer: st.Buffer, indices: Sequence[Any], value: Any, place: ast.AST
    ) -> None:
        """Store a vector, lane by lane."""
        indices = [self.lanes_of(node, index) for index in indices]
        lanes = self.apply(node, vectors.common_lanes, [*indices, value])
        if not any(isinstance(index, T.Vector) for index in indices):
            raise self.error(node, f"expected {lanes} elements, but got one, to store a vector to")
        is_read = isinstance(value, T.Vector) and any(
            load.buffer is buffer for load in value.loads()
        )
        if is_read:  # all of it is loaded before any of it is stored
            copy = st.Buffer("lanes", (lanes,), buffer.dtype, "local")
            self.emit(st.Alloc(copy), place)
            self._each_lane(node, copy, [vectors.Ramp(0, 1, lanes)], value, lanes, place)
            value = self.load_vector(node, copy, [vectors.Ramp(0, 1, lanes)])
        self._each_lane(node, buffer, indices, value, lanes, place)

    def _each_lane(
        self,
        node: ast.AST,
        buffer: st.Buffer,
        indices: Sequence[Any],
        value: Any,
        lanes: int,
        place: ast.AST,
    ) -> None:
        lane = tir.Var("lane", "int32")
        zero, end = (tir.const(number, "int32") for number in (0, lanes))
        loop = st.For(lane, zero, end, [], kind="vectorized")
        self.emit(loop, place)
        with self.body(loop.body):
            places = [vectors.part(index, lane) for index in indices]
            self.store(node, buffer, places, vectors.part(value, lane), place)


def _differ(a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
    """Say whether two sizes are known to differ."""
    return isinstance(a, tir.IntImm) and isinstance(b, tir.IntImm) and a.value != b.value
