# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed functions that launch kernels of CUDA Tile IR, for the sizes that come."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..cuda_driver import DriverError
from ..cuda_functions import Call, CudaFunction
from ..product_sizes import Sizes, sizes_of
from .launches import Arguments, CudaTileError, Images, Launch, Place, place_of

#: What a kernel for aligned arrays takes: addresses and rows of so many bytes, or a multiple.
ALIGNMENT = 16

# All data types of operands have elements of as many bytes.
_ITEM_BYTES = 2

#: The keys of programs that say where operands are, in the order of kernels.
PRODUCT_OPERANDS = ("src", "weights", "bias", "sum")
ATTENTION_OPERANDS = ("query", "key", "value", "bias")


def _tiles(size: int, tile: int) -> int:
    return -(-size // tile)


class _TileFunction(CudaFunction):
    """A packed function that launches a kernel.

    Parameters
    ----------
    program : mapping
        See `CudaFunction`, and: ``dtype``; ``tile``, the sizes of a tile; ``entries``, the names of
        the kernel for aligned arrays and for any, of which the first may be None; ``images``, the
        names of its images by architectures.
    arrays : mapping of str to numpy.ndarray
    images : Images
    """

    library = "the kernel"
    errors = (CudaTileError, DriverError)
    operands: tuple[str, ...] = ()

    def __init__(
        self, program: Mapping[str, Any], arrays: Mapping[str, np.ndarray], images: Images
    ) -> None:
        super().__init__(program, arrays, self.operands)
        self._images = images

    def _launch(self, place: Place, is_aligned: bool, grid: int, arguments: Arguments) -> Launch:
        """Return a launch of the kernel for aligned arrays, or of that for any."""
        aligned, general = self._program["entries"]
        entry = aligned if is_aligned and aligned else general
        with place.device:
            kernel = self._images.kernel(place, self._program["images"], entry)
            fixed = self.constants_on(place.device, place.index)
        return Launch(place, kernel, grid, arguments, self._places, fixed)


def _nothing(addresses: Sequence[int], stream: int) -> None:
    """Compute a result without elements."""


class ProductFunction(_TileFunction):
    """A product of matrices, with what follows it.

    Parameters
    ----------
    program : mapping
        The function as data, as the codegen writes it: ``symbol``; ``params``, how many arguments
        there are; ``dtype``; where the operands are, an argument such as "arg0" or a constant:
        ``src``, ``weights``, and ``bias`` and ``sum`` or None; ``transposed``, whether the last two
        dimensions of ``src`` and ``weights`` are swapped; ``tile``, its rows, columns and depth;
        ``entries``; ``images``.
    arrays : mapping of str to numpy.ndarray
        Constants by name, which are copied to a device when it is first used.
    images : Images
    """

    operands = PRODUCT_OPERANDS

    def _sizes(self, shapes: Sequence[Sequence[int]]) -> Sizes:
        lhs, rhs = (self.shape_of(name, shapes) for name in ("src", "weights"))
        return sizes_of(lhs, rhs, shapes[-1], self._program["transposed"])

    def words(self, shapes: Sequence[Sequence[int]]) -> str:
        """Return the sizes of the product."""
        return f"a product of {self._program['dtype']}, {self._sizes(shapes)}"

    def prepare(self, device: int, shapes: Sequence[Sequence[int]], alignment: int) -> Call:
        """Return the launch for shapes on a device."""
        place = place_of(device)
        sizes = self._sizes(shapes)
        if 0 in (sizes.m, sizes.n, sizes.batch):
            return _nothing
        height, width, depth = self._program["tile"]
        arguments = Arguments()
        widths = [self._add_matrix(arguments, *row) for row in self._matrices(sizes)]
        # Nothing is loaded where there are no steps, as for a depth of 0.
        arguments.add_int(_tiles(sizes.k, depth))
        row_bytes = math.gcd(*widths) * _ITEM_BYTES
        is_aligned = alignment % ALIGNMENT == 0 and row_bytes % ALIGNMENT == 0
        grid = _tiles(sizes.m, height) * _tiles(sizes.n, width) * sizes.batch
        return self._launch(place, is_aligned, grid, arguments)

    def _matrices(self, sizes: Sizes) -> list[tuple[str, int, int, int]]:
        """Return the name, the batch, the rows and the columns of each operand, in order."""
        m, n, k = sizes.m, sizes.n, max(sizes.k, 1)
        left, right = self._program["transposed"]
        # Without a depth no operand has elements; the result has some at its address.
        lhs, rhs = ("src", "weights") if sizes.k else ("out", "out")
        rows = [
            (lhs, sizes.batch if sizes.lhs_offset else 1, *((k, m) if left else (m, k))),
            (rhs, sizes.batch if sizes.rhs_offset else 1, *((n, k) if right else (k, n))),
        ]
        if self._program["bias"] is not None:
            rows.append(("bias", 0, 1, n))
        if self._program["sum"] is not None:
            rows.append(("sum", sizes.batch, m, n))
        return [*rows, ("out", sizes.batch, m, n)]

    def _add_matrix(
        self, arguments: Arguments, name: str, batch: int, rows: int, columns: int
    ) -> int:
        """Add a matrix, or a vector where the batch is 0; return of what its rows are multiples."""
        if batch == 0:
            arguments.add_array(name, (columns,), (1,))
            return 0
        apart = rows * columns if batch > 1 else columns
        arguments.add_array(name, (batch, rows, columns), (apart, columns, 1))
        return columns


class AttentionFunction(_TileFunction):
    """Attention.

    Parameters
    ----------
    program : mapping
        The function as data: ``symbol``; ``params``; ``dtype``; where ``query``, ``key``,
        ``value``, and ``bias`` or None are; ``scale``; ``window``, how many keys a query sees at
        most, or None; ``tile``, how many queries and keys it has; ``entries``; ``images``. See
        `ProductFunction`.
    arrays : mapping of str to numpy.ndarray
    images : Images
    """

    operands = ATTENTION_OPERANDS

    def _shapes(self, shapes: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        return [self.shape_of(name, shapes) for name in ("query", "key", "value")]

    def words(self, shapes: Sequence[Sequence[int]]) -> str:
        """Return the shapes of the operands."""
        query, key, value = (" x ".join(map(str, shape)) for shape in self._shapes(shapes))
        return f"attention of {self._program['dtype']}, {query} to {key} and {value}"

    def prepare(self, device: int, shapes: Sequence[Sequence[int]], alignment: int) -> Call:
        """Return the launch for shapes on a device."""
        place = place_of(device)
        out = shapes[-1]
        if 0 in out:
            return _nothing
        query, key, value = self._shapes(shapes)
        if key[1] == 0:
            return self._clear(place, math.prod(out) * _ITEM_BYTES)
        arguments = Arguments()
        for name, shape in zip(self.operands, (query, key, value), strict=False):
            _add_heads(arguments, name, shape)
        if self._program["bias"] is not None:
            _add_heads(arguments, "bias", self.shape_of("bias", shapes))
        _add_heads(arguments, "out", out)
        arguments.add_float(self._program["scale"] / math.log(2))
        # Those who see as many keys see all.
        arguments.add_int(min(self._program["window"] or 0, query[1] + key[1]))
        row_bytes = math.gcd(query[3], value[3]) * _ITEM_BYTES
        is_aligned = alignment % ALIGNMENT == 0 and row_bytes % ALIGNMENT == 0
        grid = _tiles(out[1], self._program["tile"][0]) * out[0] * out[2]
        return self._launch(place, is_aligned, grid, arguments)

    def _clear(self, place: Place, size: int) -> Call:
        """Return what fills the result with zeros: queries without keys get these."""
        index = self._places["out"]

        def call(addresses: Sequence[int], stream: int) -> None:
            with place.device:
                place.device.clear(addresses[index], size, stream)

        return call


def _add_heads(arguments: Arguments, name: str, shape: Sequence[int]) -> None:
    """Add a tensor of four dimensions without gaps."""
    strides = [math.prod(shape[index + 1 :]) for index in range(4)]
    if shape[0] == 1:  # no other one is looked for
        strides[0] = strides[1]
    arguments.add_array(name, shape, strides)
