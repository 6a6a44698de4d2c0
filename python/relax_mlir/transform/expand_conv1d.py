# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions over one dimension as those of images of one row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir import ir

from .. import op
from ..core.ir import TensorStructInfo
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..op._ops_gen import ELEMENTWISE
from .operations import copy_operation, rank_of, text_attribute
from .pass_context import PassContext
from .python_pass import module_pass

# Where images have the dimension of size 1: (batch, channel, 1, width).
_ROW = 2

_LAYOUTS = ("data_layout", "kernel_layout", "layout", "out_layout")

_POOLS = {"relax.max_pool1d": "relax.max_pool2d", "relax.avg_pool1d": "relax.avg_pool2d"}


@module_pass(opt_level=0)
class ExpandConv1D:
    """Compute `conv1d` by `conv2d`, whose kernels are the fast ones.

    Operations that follow (on elements, batch normalization, pools) have the dimension of size 1,
    too, up to one that needs to be without. Tensors get and lose it by `expand_dims` and `squeeze`,
    which copy nothing once memory is planned. Layouts other than NCW and OIW are left alone, see
    `ConvertLayout`.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import ExpandConv1D
    >>> x = relax.Var("x", relax.TensorStructInfo((1, 2, "n"), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     y = relax.op.nn.conv1d(x, relax.op.const(np.ones((4, 2, 3), "float32")), padding=1)
    ...     _ = bb.emit_func_output(relax.op.nn.relu(y))
    >>> mod = ExpandConv1D()(bb.get())
    >>> [line.split()[2] for line in str(mod).splitlines() if " = relax." in line]
    ['relax.constant', 'relax.expand_dims', 'relax.expand_dims', 'relax.conv2d', 'relax.relu', 'relax.squeeze']
    """  # noqa: E501 (what a program becomes)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Convert in each function of the module."""
        for function in mod.module.body.operations:
            if function.operation.name == "relax.func":
                _Expander().expand(function.operation)
        return mod


class _Expander:
    """Converts a function."""

    def __init__(self) -> None:
        #: Of a value of rank 3: the image of one row that it is squeezed from.
        self.images: dict[ir.Value, ir.Value] = {}
        #: What others replace, in an order in which users come first.
        self.replaced: list[ir.Operation] = []

    def expand(self, function: ir.Operation) -> None:
        convert: Callable[[ir.Operation], None]
        for found in list(walk(function)):
            if found.name == "relax.conv1d":
                convert = self.convert_convolution
            elif not any(value in self.images for value in found.operands):
                continue
            elif found.name in ELEMENTWISE:
                convert = self.carry_elements
            elif found.name in _POOLS:
                convert = self.carry_pool
            elif found.name == "relax.batch_norm":
                convert = self.carry_batch_norm
            else:
                continue
            with ir.InsertionPoint(found), found.location:
                convert(found)
        for found in self.replaced:
            found.erase()
        for value in reversed(list(self.images)):
            if not list(value.uses):
                value.owner.operation.erase()

    def convert_convolution(self, conv: ir.Operation) -> None:
        layouts = [
            text_attribute(conv, name, default)
            for name, default in (("data_layout", "NCW"), ("kernel_layout", "OIW"))
        ]
        is_default = [*layouts, text_attribute(conv, "out_layout", "NCW")] == ["NCW", "OIW", "NCW"]
        if not is_default or any(rank_of(operand) != 3 for operand in conv.operands):
            return
        self.replace(conv, [self.image(operand) for operand in conv.operands], "relax.conv2d")

    def carry_pool(self, pool: ir.Operation) -> None:
        layout = text_attribute(pool, "layout", "NCW")
        if layout == text_attribute(pool, "out_layout", layout) == "NCW":
            self.replace(pool, [self.image(pool.operands[0])], _POOLS[pool.name])

    def carry_batch_norm(self, norm: ir.Operation) -> None:
        """Normalize images; of the results, the moving averages stay as they are."""
        fields = [use.owner.operation for use in norm.results[0].uses]
        is_of_channels = "axis" in norm.attributes and norm.attributes["axis"].value == 1
        if not is_of_channels or any(field.name != "relax.get_item" for field in fields):
            return
        new = copy_operation(norm, [self.image(norm.operands[0]), *list(norm.operands)[1:]])
        for field in fields:
            with ir.InsertionPoint(field), field.location:
                one = copy_operation(field, new.results).results[0]
                if field.attributes["index"].value == 0:
                    self.squeeze(field, one)
                    continue
                field.results[0].replace_all_uses_with(one)
                self.replaced.append(field)
        self.replaced.append(norm)

    def carry_elements(self, found: ir.Operation) -> None:
        operands = []
        for operand in found.operands:
            rank = rank_of(operand)
            if isinstance(operand.type, TensorStructInfo) and (rank is None or rank > 3):
                return
            operands.append(self.image(operand, rank) if rank else operand)
        self.replace(found, operands)

    def image(self, value: ir.Value, rank: int = 3) -> ir.Value:
        """Return a tensor that is broadcast to (batch, channel, width) as that of images."""
        return self.images.get(value) or op.expand_dims(value, [_ROW - 3 + rank])

    def replace(self, old: ir.Operation, operands: Sequence[ir.Value], name: str = "") -> None:
        """Use an operation on images for one on their rows; `name` is that of one on windows."""
        attributes = _window(old) if name else {}
        new = copy_operation(old, operands, attributes, _LAYOUTS if name else (), name)
        self.squeeze(old, new.results[0])

    def squeeze(self, old: ir.Operation, image: ir.Value) -> None:
        """Use the row of an image for the result of an operation."""
        result = op.squeeze(image, [_ROW])
        self.images[result] = image
        old.results[0].replace_all_uses_with(result)
        self.replaced.append(old)


def _window(found: ir.Operation) -> dict[str, ir.Attribute]:
    """Return the attributes of a window over images, which is one row high."""
    sizes = {
        key: [1, *found.attributes[key]]
        for key in ("strides", "dilation", "pool_size")
        if key in found.attributes
    }
    if "padding" in found.attributes:
        before, after = found.attributes["padding"]
        sizes["padding"] = [0, before, 0, after]
    return {key: ir.DenseI64ArrayAttr.get(numbers) for key, numbers in sizes.items()}
