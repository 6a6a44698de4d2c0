# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on elements of images are moved to the matrices that the images are reshaped from."""

from __future__ import annotations

from collections.abc import Iterable

from mlir import ir

from .. import op
from ..core.ir import Dim, TensorStructInfo
from ..core.variables import walk
from ..op._ops_gen import ELEMENTWISE
from .operations import copy_operation
from .rewriting import are_equal, dims_of, made_by

# Of numbers that stand for others, which are computed element by element.
_QUANTIZATION = ("relax.quantize", "relax.dequantize")


def flatten_pixels(function: ir.Operation, images: Iterable[ir.Value]) -> None:
    """Move operations on elements before the reshapes that make images, in a function.

    Parameters
    ----------
    function : mlir.ir.Operation
        It is changed.
    images : iterable of mlir.ir.Value
        Results of `reshape`, of (batch, channel, pixel) to (batch, channel, ...). What follows them
        is computed of matrices, so that products have it in their kernels.
    """
    _Carrier(images).carry(function)


class _Carrier:
    """Moves the operations of a function."""

    def __init__(self, images: Iterable[ir.Value]) -> None:
        #: The matrix that an image is reshaped from.
        self.matrices = {
            image: reshape.operands[0]
            for image in images
            if (reshape := made_by(image, "relax.reshape")) is not None
        }

    def carry(self, function: ir.Operation) -> None:
        """Move each operation that has an image as an operand."""
        for found in list(walk(function)):
            if found.name not in ELEMENTWISE and found.name not in _QUANTIZATION:
                continue
            image = next((value for value in found.operands if value in self.matrices), None)
            if image is not None and dims_of(image) is not None:
                with ir.InsertionPoint(found), found.location:
                    self.move(found, list(image.type.shape))
        for image in reversed(list(self.matrices)):
            if not list(image.uses):
                image.owner.operation.erase()

    def move(self, found: ir.Operation, dims: list[Dim]) -> None:
        """Compute an operation of matrices; `dims` are those of the image."""
        shape = dims_of(found.results[0])
        if shape is None or not are_equal(shape[2:], dims[2:]):
            return
        without = []
        if found.name in _QUANTIZATION:
            operands = self.quantization(found, dims)
            without = ["axis"] if operands and _has_numbers(operands) else []
        else:
            operands = [self.matrix(value, dims) for value in found.operands]
        known = [value for value in operands if value is not None]
        if not known or len(known) < len(operands):
            return
        result = copy_operation(found, known, without=without).results[0]
        image = op.reshape(result, shape)
        self.matrices[image] = result
        found.results[0].replace_all_uses_with(image)
        found.erase()

    def quantization(self, found: ir.Operation, dims: list[Dim]) -> list[ir.Value | None]:
        """Return the operands of matrices; none where channels are counted along pixels."""
        data, scale, zero = found.operands
        axis = found.attributes["axis"].value if "axis" in found.attributes else -1
        is_of_channels = axis % len(dims) == 1 and "block_size" not in found.attributes
        if is_of_channels or _has_numbers([data, scale, zero]):
            return [self.matrix(data, dims), scale, zero]
        return []

    def matrix(self, value: ir.Value, dims: list[Dim]) -> ir.Value | None:
        """Return an operand that is broadcast with an image as one that is with its matrix."""
        if value in self.matrices:
            return self.matrices[value]
        if not isinstance(value.type, TensorStructInfo):
            return value
        shape, count = dims_of(value), len(dims) - 2
        if shape is None:
            return None
        outer, inner = shape[:-count], shape[-count:]
        if all(dim.value == 1 for dim in inner):
            return op.reshape(value, [*outer, 1] if outer else []) if inner else value
        return op.reshape(value, [*outer, -1]) if outer and are_equal(inner, dims[2:]) else None


def _has_numbers(operands: list[ir.Value | None]) -> bool:
    """Say whether the scale and the zero point of an operation are numbers."""
    return all(
        value is not None and (dims := dims_of(value)) is not None and not dims
        for value in operands[1:]
    )
