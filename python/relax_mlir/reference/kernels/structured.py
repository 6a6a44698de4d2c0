# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""linalg.generic: a body for each point of an iteration space.

Where the body has no effects and each output has a place for each point of the parallel loops, the
body is evaluated for all these at once, once for each point of the reduction loops. Otherwise it is
evaluated point by point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from mlir import ir

from ...core.variables import walk
from .affine import affine_map
from .prepare import Body, Env, Preparation, Step, step
from .types import scalar_type

# Whose bodies read and choose, without loops and effects.
_PLAIN = ("arith.", "math.", "tensor.extract", "memref.load", "linalg.index", "scf.if", "scf.yield")


@step("linalg.index")
def _index(preparation: Preparation, op: Any) -> Step:
    dim, result = op.attributes["dim"].value, preparation.place(op.results[0])
    points = preparation.place(point_of(op))

    def run(env: Env) -> None:
        env[result] = env[points][dim]

    return run


def point_of(op: Any) -> Any:
    """Return the key for the point of the iteration space around an operation."""
    parent = op.operation.parent
    while parent.name != "linalg.generic":
        parent = parent.parent
    return parent.operation


@step("linalg.generic")
def _generic(preparation: Preparation, op: Any) -> Step:
    return Generic(preparation, op).run


class Generic:
    """A ``linalg.generic`` that is prepared."""

    def __init__(self, preparation: Preparation, op: Any) -> None:
        attributes = op.attributes
        self.kernel = preparation.name
        self.points = preparation.place(op.operation)
        self.body: Body = preparation.region(op)
        maps = [attr.value for attr in attributes["indexing_maps"]]
        self.maps = [affine_map(map_) for map_ in maps]
        self.results_of_maps = [list(map_.results) for map_ in maps]
        kinds = [str(kind) for kind in attributes["iterator_types"]]
        self.is_parallel = ["parallel" in kind for kind in kinds]
        self.operands = preparation.places(op.operands)
        self.input_count = attributes["operandSegmentSizes"][0]
        self.results = preparation.places(op.results)
        self.types = [scalar_type(operand.type) for operand in op.operands]
        self.is_array = [isinstance(operand.type, ir.ShapedType) for operand in op.operands]
        self.is_plain = _is_plain(op.operation) and self._has_a_place_for_each_point()

    def _has_a_place_for_each_point(self) -> bool:
        """Whether the places of each output differ at all points of the parallel loops."""
        wanted = {dim for dim, is_parallel in enumerate(self.is_parallel) if is_parallel}
        return all(
            wanted <= {expr.position for expr in results if isinstance(expr, ir.AffineDimExpr)}
            for results in self.results_of_maps[self.input_count :]
        )

    def run(self, env: Env) -> None:
        """Compute the outputs: new tensors, or in place."""
        arrays = [env[place] for place in self.operands]
        shape = self._shape(arrays)
        if self.results:
            arrays[self.input_count :] = [array.copy() for array in arrays[self.input_count :]]
        self._check(arrays, shape)
        for points in self._points(shape):
            self._run_at(env, arrays, points, shape)
        for place, array in zip(self.results, arrays[self.input_count :], strict=False):
            env[place] = array

    def _shape(self, arrays: Sequence[Any]) -> list[int]:
        """Return the sizes of the loops, by the operands where they stand alone."""
        sizes: dict[int, int] = {}
        for array, results in zip(arrays, self.results_of_maps, strict=True):
            for axis, expr in enumerate(results):
                if isinstance(expr, ir.AffineDimExpr):
                    sizes.setdefault(expr.position, array.shape[axis])
        return [sizes[dim] for dim in range(len(self.is_parallel))]

    def _check(self, arrays: Sequence[Any], shape: Sequence[int]) -> None:
        """Check that each operand has a place for the first and the last point."""
        if 0 in shape:
            return
        for array, places in zip(arrays, self.maps, strict=True):
            for corner in ([0] * len(shape), [size - 1 for size in shape]):
                for place, size in zip(places(corner), np.shape(array), strict=True):
                    if not 0 <= place < size:
                        raise IndexError(
                            f"kernel {self.kernel!r}: expected a place in an array of shape "
                            f"{np.shape(array)}, but got {places(corner)}"
                        )

    def _points(self, shape: Sequence[int]) -> Iterator[list[Any]]:
        """Yield points, each coordinate one number or, for all at once, an array of them."""
        if 0 in shape:
            return
        if not self.is_plain:
            yield from ([np.int64(i) for i in point] for point in np.ndindex(*shape))
            return
        parallel = [dim for dim, is_parallel in enumerate(self.is_parallel) if is_parallel]
        others = [dim for dim, is_parallel in enumerate(self.is_parallel) if not is_parallel]
        fixed: list[Any] = [None] * len(shape)
        for axis, dim in enumerate(parallel):
            along = [1] * len(parallel)
            along[axis] = shape[dim]
            fixed[dim] = np.arange(shape[dim]).reshape(along)
        for point in np.ndindex(*[shape[dim] for dim in others]):
            for dim, index in zip(others, point, strict=True):
                fixed[dim] = np.int64(index)
            yield list(fixed)

    def _run_at(self, env: Env, arrays: list[Any], points: list[Any], shape: list[int]) -> None:
        env[self.points] = points
        places = [tuple(map_(points)) for map_ in self.maps]
        elements = [
            array[place] if is_array else array
            for array, place, is_array in zip(arrays, places, self.is_array, strict=True)
        ]
        values = self.body.run(env, elements)
        for array, place, value in zip(
            arrays[self.input_count :], places[self.input_count :], values, strict=True
        ):
            array[place] = value


def _is_plain(operation: ir.Operation) -> bool:
    _, *inner = walk(operation)
    return all(op.name == "linalg.yield" or op.name.startswith(_PLAIN) for op in inner)
