# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dynamic quantization: rows are rounded to 8 bits when the program runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from mlir import ir

from .. import op
from ..core.expr import const
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..dialects import relax as _ops
from .fold_constant import constant_values, is_computed_of_constants
from .operations import rank_of
from .pass_context import PassContext
from .python_pass import module_pass
from .quantized_tensors import Quantized
from .rewriting import dims_of, dtype_of, rewrite_operation
from .transpose_weights import transpose_quantized_weights

# The largest code of a row; its negative is used as well.
_LARGEST = 127
# Codes of so few bits have kernels that round rows block by block.
_FEW = 8
# Sums of so many products of codes fit 32 bits.
_MOST_DEPTH = (1 << 31) // (_LARGEST * 128) - 1


@module_pass(opt_level=0)
class QuantizeDynamic:
    """Round the rows that weights of 8 bits are multiplied by, so that products are of integers.

    ``matmul(x, dequantize(w))`` becomes a `matmul` of codes, which is summed up in `int32`, times
    the scale of the row and that of the column. The scale of a row is its largest magnitude / 127.
    Weights are computed of constants, with a scale for all of them or for each column, and no zero
    point. `compile` runs it where `dynamic_quantization` says so, on processors that multiply
    bytes (VNNI).

    Parameters
    ----------
    check : callable, optional
        ``check(product)`` says of each `matmul`, an `mlir.ir.Operation`, whether to compute it so.

    Notes
    -----
    The error of an element of a row is up to 1/254 of the largest magnitude of the row. A row with
    an element that is no number, or infinite, makes NaN. Weights whose codes fit 4 bits are left to
    kernels that round rows in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir import op
    >>> from relax_mlir.transform import QuantizeDynamic
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 64), "float32"))
    >>> codes, scales = np.full((64, 8), 100, "int8"), np.full(8, 0.5, "float32")
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     weight = op.dequantize(codes, scales, np.int8(0), axis=1)
    ...     _ = bb.emit_func_output(op.matmul(x, weight))
    >>> mod = QuantizeDynamic()(bb.get())
    >>> "dequantize" in str(mod), "out_dtype = i32" in str(mod)
    (False, True)
    """

    def __init__(self, check: Callable[[ir.Operation], bool] | None = None) -> None:
        self._check = check

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change products in each function of the module."""
        transpose_quantized_weights(mod.module)
        for function in mod.module.body.operations:
            if isinstance(function, _ops.FuncOp):
                found = filter(None, map(_Product.match, walk(function.operation)))
                self._rewrite([each for each in found if self._is_meant(each)])
        return mod

    def _is_meant(self, product: _Product) -> bool:
        return self._check is None or self._check(product.operation)

    def _rewrite(self, products: list[_Product]) -> None:
        values = constant_values(value for each in products for value in each.constants)
        for product in products:
            codes, scale, zero = (values[value] for value in product.constants)
            if not zero.any() and not np.isin(codes, range(-_FEW, _FEW)).all():
                rewrite_operation(product.operation, partial(_write, codes, scale))


@dataclass(frozen=True)
class _Product:
    """A product of floats by quantized weights.

    Attributes
    ----------
    operation : mlir.ir.Operation
    constants : list of mlir.ir.Value
        The codes, scale and zero point.
    """

    operation: ir.Operation
    constants: list[ir.Value]

    @staticmethod
    def match(found: ir.Operation) -> _Product | None:
        if found.name != "relax.matmul":
            return None
        data, weight = found.operands[0], Quantized.match(found.operands[1])
        are_floats = dtype_of(data) == dtype_of(found.results[0]) == "float32"
        if weight is None or not are_floats or not rank_of(data) or data.type.vdevice:
            return None
        dims = dims_of(weight.codes)
        depth = dims[0].value if dims is not None and len(dims) == 2 else None
        constants = [weight.codes, *weight.parameters]
        fits = depth is not None and depth <= _MOST_DEPTH and dtype_of(weight.codes) == "int8"
        if (
            not fits
            or not weight.has_channels(1)
            or not all(map(is_computed_of_constants, constants))
        ):
            return None
        return _Product(found, constants)


def _write(codes: np.ndarray, scale: np.ndarray, found: ir.Operation) -> ir.Value:
    """Write the product of integers, and return it as `float32`."""
    rows = found.operands[0]
    largest = op.max(op.abs(rows), [-1], True)
    # Of a row of zeros this is no number, which becomes the code 0.
    steps = op.multiply(rows, op.divide(const(np.float32(_LARGEST)), largest))
    total = op.matmul(op.astype(op.round(steps), "int8"), const(codes), "int32")
    step = op.multiply(largest, const(np.float32(1 / _LARGEST)))
    if rank_of(rows) == 1:
        step = op.reshape(step, [])
    scaled = op.multiply(op.astype(total, "float32"), step)
    return op.multiply(scaled, const(scale.astype("float32").reshape(-1 if scale.ndim else ())))
