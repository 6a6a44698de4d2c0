# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Maximum pools over volumes as those of slices, and of what is behind each other."""

from __future__ import annotations

from mlir import ir

from .. import op
from ..core.ir_module import IRModule
from .operations import ints_attribute, text_attribute
from .pass_context import PassContext
from .python_pass import module_pass
from .rewriting import dims_of, rewrite_operations

# Windows side by side that fill a vector are read by it.
_VECTOR = 16


@module_pass(opt_level=0)
class SplitMaxPool3D:
    """Compute `max_pool3d` by `max_pool2d`, whose kernel is the fast one.

    The largest element of a window is that of the largest ones of its slices. Slices are channels
    of an image, and then rows, whose columns are the pixels of a slice: both are views. Windows
    side by side in long rows are left alone, and layouts other than NCDHW.

    Examples
    --------
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import SplitMaxPool3D
    >>> x = relax.Var("x", relax.TensorStructInfo((1, 2, "d", 9, 9), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     _ = bb.emit_func_output(relax.op.nn.max_pool3d(x, 3, strides=2, padding=1))
    >>> mod = SplitMaxPool3D()(bb.get())
    >>> [line.split()[2] for line in str(mod).splitlines() if "pool" in line]
    ['relax.max_pool2d', 'relax.max_pool2d']
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Split in each function of the module."""
        for function in mod.module.body.operations:
            if function.operation.name == "relax.func":
                rewrite_operations(function.operation, ["relax.max_pool3d"], _split)
        return mod


def _split(pool: ir.Operation) -> ir.Value | None:
    (data,) = pool.operands
    volume, result = dims_of(data), dims_of(pool.results[0])
    layout = text_attribute(pool, "layout", "NCDHW")
    if (
        not volume
        or not result
        or {layout, text_attribute(pool, "out_layout", layout)} != {"NCDHW"}
    ):
        return None
    size, strides, dilation, padding = (
        ints_attribute(pool, name, default)
        for name, default in (
            ("pool_size", [1] * 3),
            ("strides", [1] * 3),
            ("dilation", [1] * 3),
            ("padding", [0] * 6),
        )
    )
    width = result[4].value
    if size == strides and not any(padding) and width is not None and width >= _VECTOR:
        return None
    ceil = "ceil_mode" in pool.attributes and bool(pool.attributes["ceil_mode"].value)
    (front, *before), (back, *after) = padding[:3], padding[3:]
    slices = op.nn.max_pool2d(
        op.reshape(data, [volume[0], volume[1] * volume[2], *volume[3:]]),
        size[1:], strides[1:], [*before, *after], dilation[1:], ceil,
    )  # fmt: skip
    rows = op.nn.max_pool2d(
        op.reshape(slices, [*volume[:3], result[3] * result[4]]),
        [size[0], 1], [strides[0], 1], [front, 0, back, 0], [dilation[0], 1], ceil,
    )  # fmt: skip
    return op.reshape(rows, result)
