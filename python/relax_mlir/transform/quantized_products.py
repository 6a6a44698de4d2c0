# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of quantized tensors are computed of their integers: Q/DQ form becomes int32 sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from mlir import ir

from .. import op
from ..composites.convolution import unsigned_bytes, with_padding
from ..core.expr import const
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..dialects import relax as _ops
from .convolution_windows import ConvWindow
from .flatten_pixels import flatten_pixels
from .fold_constant import constant_values, is_computed_of_constants
from .operations import rank_of
from .pass_context import PassContext
from .python_pass import module_pass
from .quantized_pools import pool_codes
from .quantized_tensors import CODES, Quantized, has_one_element
from .reciprocal_scales import multiply_by_reciprocals, scalings_of
from .rewriting import dtype_of, rewrite_operation
from .transpose_weights import transpose_quantized_weights

# What the greatest sum has to be below.
_SUMS = 1 << 31

_PRODUCTS = ("relax.matmul", "relax.conv1d", "relax.conv2d", "relax.conv3d")

Check = Callable[[ir.Operation], bool]


@module_pass(opt_level=0)
class FakeQuantizationToInteger:
    """Compute products of quantized tensors of their integers.

    ``matmul(dequantize(x), dequantize(w))`` becomes a `matmul` of the codes, which is summed up in
    `int32`, less the zero point of `x` times the sums of the columns of `w`, times both scales.
    What follows stays as it is: a bias, an activation, the `quantize` of the result. The same goes
    for convolutions, padded with the zero point. Codes of `x` are of 8 bits and have one scale,
    which may be computed when the program runs; `w` is computed of constants, with a scale for all
    of it or for each output channel. `max_pool2d` finds the largest code where the scale is known.

    These graphs are what ONNX calls the Q/DQ format, and exports of PyTorch's ``pt2e`` have.

    Parameters
    ----------
    check : callable, optional
        ``check(product)`` says of each product, an `mlir.ir.Operation`, whether to compute it so.
    has_byte_convolutions : bool
        Whether convolutions become convolutions of `uint8` by `int8`, for processors that multiply
        bytes (VNNI). Otherwise pixels of a window become columns of a matrix (im2col).
    worthwhile : bool
        Whether convolutions are left alone that are faster in `float32`: windows of 3 x 3 with
        stride 1, for which there is the algorithm of Winograd, where bytes are not multiplied.

    Notes
    -----
    Sums of integers are exact. The result differs from that of real numbers by three roundings of
    `float32`: of the sum (where it is beyond 2**24), of the scale, and of their product. Where it
    is quantized afterwards, it is multiplied by the reciprocal of that scale, which rounds twice.
    So the code differs by at most one, where the number is within 2**-21 of its size of the middle
    between two codes. Sums of `float32` are less exact: each
    addition rounds.

    The name is that of TVM's pass for Relay. A product whose sum might not fit 32 bits stays as it
    is, and so does one of weights in blocks that share a scale, or on a virtual device.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir import op
    >>> from relax_mlir.transform import FakeQuantizationToInteger
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 64), "uint8"))
    >>> weight, scales = np.ones((64, 8), "int8"), np.full(8, 0.5, "float32")
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     rows = op.dequantize(x, np.float32(0.1), np.uint8(128))
    ...     product = op.matmul(rows, op.dequantize(weight, scales, np.int8(0), axis=1))
    ...     _ = bb.emit_func_output(op.quantize(product, np.float32(0.2), np.uint8(3), -1, "uint8"))
    >>> mod = FakeQuantizationToInteger()(bb.get())
    >>> "dequantize" in str(mod), "out_dtype = i32" in str(mod)
    (False, True)
    """

    def __init__(
        self,
        check: Check | None = None,
        *,
        has_byte_convolutions: bool = False,
        worthwhile: bool = False,
    ) -> None:
        self._check = check
        self._has_byte_convolutions = has_byte_convolutions
        self._worthwhile = worthwhile

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change products in each function of the module."""
        transpose_quantized_weights(mod.module)
        for function in mod.module.body.operations:
            if isinstance(function, _ops.FuncOp):
                pool_codes(function.operation)
                found = [each for each in _products(function.operation) if self._is_meant(each)]
                _rewrite(function.operation, found, self._has_byte_convolutions)
        return mod

    def _is_meant(self, found: _Product) -> bool:
        is_slower = found.window is not None and found.window.has_winograd
        if self._worthwhile and is_slower and not self._has_byte_convolutions:
            return False
        return self._check is None or self._check(found.operation)


@dataclass(frozen=True)
class _Product:
    """A product of two quantized tensors, the second one of which is constant."""

    operation: ir.Operation
    data: Quantized
    weight: Quantized
    #: Of a convolution.
    window: ConvWindow | None = None

    @staticmethod
    def match(found: ir.Operation) -> _Product | None:
        data, weight = map(Quantized.match, found.operands)
        if data is None or weight is None or dtype_of(found.results[0]) != "float32":
            return None
        window = None
        if found.name == "relax.matmul":
            fits = rank_of(weight.codes) == 2 and weight.has_channels(1)
        else:
            window = ConvWindow.match(found)
            fits = window is not None and weight.has_channels(0)
        is_constant = all(map(is_computed_of_constants, (weight.codes, *weight.parameters)))
        if not fits or not all(map(has_one_element, data.parameters)) or not is_constant:
            return None
        return _Product(found, data, weight, window)

    @property
    def constants(self) -> list[ir.Value]:
        """The operands whose elements are known."""
        known = filter(is_computed_of_constants, self.data.parameters)
        return [self.weight.codes, *self.weight.parameters, *known]


def _products(function: ir.Operation) -> Iterator[_Product]:
    for found in walk(function):
        if found.name in _PRODUCTS and (product := _Product.match(found)) is not None:
            yield product


def _rewrite(function: ir.Operation, products: list[_Product], has_byte_convolutions: bool) -> None:
    values = constant_values(value for each in products for value in each.constants)
    images: list[ir.Value] = []
    scalings: list[ir.Operation] = []
    for product in products:
        integers = _Integers.of(product, values, has_byte_convolutions)
        if integers is None:
            continue
        found = list(scalings_of(product.operation.results[0]))
        if rewrite_operation(product.operation, integers.write):
            scalings += found
            images += integers.images
    multiply_by_reciprocals(scalings)
    flatten_pixels(function, images)


@dataclass(frozen=True)
class _Integers:
    """A product of integers.

    Attributes
    ----------
    weight : numpy.ndarray
        The codes less their zero points, of int8 where they fit, else int16.
    scale : numpy.ndarray
        Of the weight, a scalar or one for each output channel.
    data_scale, data_zero
        Of the data: numbers where they are known.
    is_direct : bool
        Whether a convolution stays one.
    images : list of mlir.ir.Value
        The result that was written, if it is reshaped from a matrix.
    """

    data: Quantized
    weight: np.ndarray
    scale: np.ndarray
    data_scale: np.float32 | ir.Value
    data_zero: int | ir.Value
    window: ConvWindow | None
    is_direct: bool
    images: list[ir.Value] = field(default_factory=list)

    @staticmethod
    def of(
        product: _Product, values: dict[ir.Value, np.ndarray], has_byte_convolutions: bool
    ) -> _Integers | None:
        """Return the product of a pattern; None where its sums might not fit, or are slower."""
        data, weight, window = product.data, product.weight, product.window
        channel = 1 if window is None else 0
        codes, scale, zero = (values[value] for value in (weight.codes, *weight.parameters))
        dims = [1] * codes.ndim
        dims[channel] = -1
        numbers = codes.astype("int32") - zero.astype("int32").reshape(dims)
        known_zero = values.get(data.zero)
        place: int | ir.Value = data.zero if known_zero is None else int(known_zero.item())
        if _largest_sum(numbers, channel, place, str(dtype_of(data.codes))) >= _SUMS:
            return None
        fits = numbers.size == 0 or (numbers.min() >= -128 and numbers.max() <= 127)
        # Windows are copied, which is faster of bytes; padding is a constant.
        if window is not None and (
            not fits
            or (window.is_padded and known_zero is None)
            or not (window.has_narrow_kernel if has_byte_convolutions else window.has_columns)
        ):
            return None
        known_scale = values.get(data.scale)
        return _Integers(
            data,
            numbers.astype("int8" if fits else "int16"),
            scale.astype("float32").reshape(-1 if scale.size > 1 else ()),
            data.scale if known_scale is None else known_scale.astype("float32").reshape(())[()],
            place,
            window,
            has_byte_convolutions,
        )

    def write(self, found: ir.Operation) -> ir.Value:
        """Write the product of integers, and return it as `float32`."""
        codes, dtype = self.data.codes, self.weight.dtype.name
        if self.window is None:
            codes = op.astype(codes, "int16") if dtype == "int16" else codes
            total = op.matmul(codes, const(self.weight), "int32")
            return self._scaled(total, self._zero(), self.weight.sum(0, dtype="int32"), (-1,))
        if self.is_direct:
            return self._convolution(found, self.window)
        outputs = self.weight.shape[0]
        filters = np.moveaxis(self.weight, 1, -1).reshape(outputs, -1)
        pad = self.data_zero if isinstance(self.data_zero, int) else 0
        columns = self.window.columns(codes, pad)
        total = op.matmul(const(np.ascontiguousarray(filters)), columns, "int32")
        numbers = self._scaled(total, self._zero(), filters.sum(1, dtype="int32"), (-1, 1))
        self.images.append(op.reshape(numbers, list(found.results[0].type.shape)))
        return self.images[0]

    def _convolution(self, found: ir.Operation, window: ConvWindow) -> ir.Value:
        """Write a convolution of unsigned codes, which kernels multiply by signed weights."""
        codes, zero = unsigned_bytes(self.data.codes, self._zero())
        padding = window.padding
        if window.is_padded and isinstance(zero, int) and zero != 0:
            codes, padding = with_padding(codes, padding, zero), [0] * len(padding)
        convolution = getattr(op.nn, found.name.removeprefix("relax."))
        total = convolution(
            codes, const(self.weight), window.strides, padding, window.dilation, window.groups,
            out_dtype="int32",
        )  # fmt: skip
        ones = [1] * len(window.sizes)
        sums = self.weight.sum(tuple(range(1, self.weight.ndim)), dtype="int32")
        return self._scaled(total, zero, sums, (-1, *ones))

    def _zero(self) -> int | ir.Value:
        """Return the zero point of the data; of `int32` where it is computed."""
        if isinstance(self.data_zero, int):
            return self.data_zero
        return op.astype(op.reshape(self.data.zero, []), "int32")

    def _scaled(
        self, total: ir.Value, zero: int | ir.Value, sums: np.ndarray, dims: tuple[int, ...]
    ) -> ir.Value:
        """Return sums less those of the zero point, times the scales of both operands."""
        sums = sums.reshape(dims)
        if not isinstance(zero, int):
            total = op.subtract(total, op.multiply(zero, const(sums)))
        elif zero != 0:
            total = op.subtract(total, const(sums * np.int32(zero)))
        scale = self.scale.reshape(dims) if self.scale.ndim else self.scale
        if isinstance(self.data_scale, ir.Value):
            step = op.multiply(op.astype(op.reshape(self.data_scale, []), "float32"), const(scale))
        else:
            step = const(np.asarray(scale * self.data_scale, "float32"))
        return op.multiply(op.astype(total, "float32"), step)


def _largest_sum(numbers: np.ndarray, channel: int, zero: int | ir.Value, dtype: str) -> int:
    """Return a bound of the magnitudes of sums of a product with codes of a type."""
    low, high = CODES[dtype]
    reach = max(high - zero, zero - low) if isinstance(zero, int) else high - low
    others = tuple(axis for axis in range(numbers.ndim) if axis != channel)
    sums = np.abs(numbers).sum(others, dtype="int64")
    return int(reach) * int(sums.max(initial=0))
