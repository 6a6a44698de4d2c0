# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Static quantization: inputs and weights of layers are rounded, in Q/DQ form."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from mlir import ir
from relax_runtime.near_misses import did_you_mean

from .. import op
from .._arguments import shown
from ..core.expr import const
from ..core.ir_module import IRModule
from ..dialects import relax as _ops
from .fold_constant import constant_values, is_computed_of_constants
from .layers import layers_of
from .operations import rank_of
from .pass_context import PassContext
from .python_pass import module_pass
from .rewriting import dtype_of, erase_unused

# The least code of each type that inputs may have, and how many steps there are above it.
_LEAST = {"uint8": 0, "int8": -128}
_STEPS = 255
# The largest code of a weight; its negative is used as well.
_WEIGHT = 127


@module_pass(opt_level=0)
class QuantizeStatic:
    """Round the inputs and weights of layers to 8 bits, by ranges of a calibration run.

    The input `x` of a `matmul` or convolution by constant weights becomes
    ``dequantize(quantize(x))``, with one scale and zero point for the range of the layer, and the
    weights become ``dequantize`` of codes with a scale for each output channel and no zero point.
    `FakeQuantizationToInteger`, which `compile` runs, makes products of integers of that.

    Parameters
    ----------
    ranges : mapping of str to (float, float)
        The least and the greatest element of the input of each layer to round, by its name, as
        `relax_mlir.quantization.calibrate` returns them. Elements beyond are saturated. A range is
        extended to have 0, which rounds to itself.
    name : str
        The function.
    dtype : str
        Of the codes of inputs: "int8", or "uint8".
    check : callable, optional
        ``check(layer)`` says of each layer, an `mlir.ir.Operation`, whether to round it.

    Raises
    ------
    ValueError
        If there are no ranges, a bound is no finite number, bounds are in the wrong order, there is
        no layer of a name, no function `name`, or the data type is another one.

    Notes
    -----
    The error of an element of an input is up to half a step, which is 1/255 of the range, and that
    of a weight up to 1/254 of the largest one of its channel. Layers whose weights have infinities
    or NaN stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import QuantizeStatic
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 64), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     y = bb.emit(relax.op.matmul(x, np.ones((64, 16), "float32")), "hidden")
    ...     _ = bb.emit_func_output(y)
    >>> mod = QuantizeStatic({"hidden": (-1.0, 3.0)})(bb.get())
    >>> str(mod).count("relax.quantize"), str(mod).count("relax.dequantize")
    (1, 2)
    """

    def __init__(
        self,
        ranges: Mapping[str, tuple[float, float]],
        name: str = "main",
        *,
        dtype: str = "int8",
        check: Callable[[ir.Operation], bool] | None = None,
    ) -> None:
        if not isinstance(ranges, Mapping):
            raise TypeError(f"expected ranges by names of layers, but got {shown(ranges)}")
        if not ranges:
            raise ValueError(
                "expected ranges of layers, which relax_mlir.quantization.calibrate returns, but "
                "got none"
            )
        if dtype not in _LEAST:
            raise ValueError(f"expected dtype, one of {', '.join(_LEAST)}, but got {dtype!r}")
        self._ranges = {layer: _checked(layer, given) for layer, given in ranges.items()}
        self._name, self._dtype, self._check = name, dtype, check

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Round in the function."""
        meant = {
            name: layer
            for name, layer in named_layers(mod, self._name, self._ranges).items()
            if has_constant_weight(layer) and (self._check is None or self._check(layer))
        }
        weights = constant_values(layer.operands[1] for layer in meant.values())
        inputs: dict[tuple[ir.Value, ir.Block, tuple[float, float]], ir.Value] = {}
        for name, layer in meant.items():
            weight = weights[layer.operands[1]]
            if not np.isfinite(weight).all():
                continue
            data, range_ = layer.operands[0], self._ranges[name]
            key = data, layer.block, range_
            with ir.InsertionPoint(layer), layer.location:
                if key not in inputs:
                    inputs[key] = _rounded(data, *range_, self._dtype)
                layer.operands[0] = inputs[key]
                _round_weight(layer, weight)
        return mod


def function_of(mod: IRModule, name: str) -> ir.Operation:
    """Return a function of a module.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    names = []
    for function in mod.module.body.operations:
        if isinstance(function, _ops.FuncOp) and function.body.blocks:
            names.append(function.sym_name.value)
            if names[-1] == name:
                return function.operation
    known = ", ".join(names) or "none"
    raise ValueError(f"expected the name of a function, one of {known}, but got {name!r}")


def named_layers(mod: IRModule, function: str, names: Iterable[str]) -> dict[str, ir.Operation]:
    """Return layers of a function of a module by their names.

    Raises
    ------
    ValueError
        If there is no layer of a name, or no function of that name.
    """
    layers = layers_of(function_of(mod, function))
    for name in names:
        if name not in layers:
            hint = did_you_mean(name, list(layers))
            raise ValueError(f"expected names of layers of '{function}', but got {name!r}{hint}")
    return {name: layers[name] for name in names}


def has_constant_weight(layer: ir.Operation) -> bool:
    """Say whether a layer is of float32, and of weights that are computed of constants."""
    data, weight = layer.operands
    if not dtype_of(data) == dtype_of(weight) == dtype_of(layer.results[0]) == "float32":
        return False
    is_matrix = layer.name != "relax.matmul" or rank_of(weight) == 2
    return is_matrix and data != weight and is_computed_of_constants(weight)


def has_constant_matrix(layer: ir.Operation) -> bool:
    """Say whether a layer is a matrix product of float32 by weights computed of constants."""
    return layer.name == "relax.matmul" and has_constant_weight(layer)


def _checked(name: str, given: tuple[float, float]) -> tuple[float, float]:
    """Return a range with 0 in it."""
    try:
        low, high = (float(bound) for bound in given)
    except (TypeError, ValueError):
        raise TypeError(f"expected two numbers as the range of {name}, but got {given!r}") from None
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"expected a finite range of {name!r}, but got {low}, {high}")
    if low > high:
        raise ValueError(f"expected the range of {name!r} in order, but got {low}, {high}")
    return min(low, 0.0), max(high, 0.0)


def quantization_of(low: float, high: float, dtype: str) -> tuple[np.float32, int]:
    """Return the scale and the zero point of codes for a range that has 0."""
    scale = np.float32((high - low) / _STEPS)
    if not scale > 0:
        return np.float32(1), _LEAST[dtype]
    return scale, _LEAST[dtype] + min(max(round(-low / float(scale)), 0), _STEPS)


def _rounded(value: ir.Value, low: float, high: float, dtype: str) -> ir.Value:
    scale, place = quantization_of(low, high, dtype)
    step, zero = const(scale), const(place, dtype)
    return op.dequantize(op.quantize(value, step, zero, -1, dtype), step, zero)


def _round_weight(layer: ir.Operation, weight: np.ndarray) -> None:
    axis = 1 if layer.name == "relax.matmul" else _output_axis(layer)
    others = tuple(i for i in range(weight.ndim) if i != axis)
    largest = np.abs(weight).max(others, initial=0, keepdims=True).astype("float32")
    scale = np.where(largest > 0, largest / np.float32(_WEIGHT), np.float32(1))
    # Of the least floats a scale would be 0.
    scale = np.where(scale > 0, scale, np.float32(1)).astype("float32")
    codes = np.clip(np.rint(weight / scale), -_WEIGHT, _WEIGHT).astype("int8")
    old = layer.operands[1].owner.operation
    layer.operands[1] = op.dequantize(
        const(codes), const(scale.reshape(-1)), const(0, "int8"), axis
    )
    erase_unused(old)


def _output_axis(conv: ir.Operation) -> int:
    if "kernel_layout" not in conv.attributes:
        return 0
    return int(str(conv.attributes["kernel_layout"].value).index("O"))
