# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of 4 and 8 bits: constant matrices are rounded, and products unpack them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mlir import ir
from relax_runtime.bounds import INT64, between
from relax_runtime.near_misses import did_you_mean

from .. import op
from ..core.constants import bytes_of
from ..core.expr import const
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..dialects import relax as _ops
from .pass_context import PassContext
from .python_pass import module_pass

# The least and the greatest code of each type.
_RANGES = {"int4": (-8, 7), "uint4": (0, 15), "int8": (-127, 127), "uint8": (0, 255)}

# Scales of fewer bits than those of float16 would lose digits of their own.
_FLOAT16 = (float(np.finfo("float16").tiny), float(np.finfo("float16").max))

# A kernel reads so many codes of a column at a time.
_CODES_OF_WORD = 8


@dataclass(frozen=True)
class WeightFormat:
    """How weights are rounded.

    Parameters
    ----------
    dtype : str
        "int4" or "int8": ``code * scale``. "uint4" or "uint8": ``(code - zero_point) * scale``,
        which fits numbers better that are not around 0.
    group_size : int
        How many weights of a column share a scale: a multiple of 8, or 0 for a whole column.

    Examples
    --------
    >>> WeightFormat.parse("int4-g32")
    WeightFormat(dtype='int4', group_size=32)
    >>> str(WeightFormat("int8"))
    'int8'
    """

    dtype: str
    group_size: int = 0

    def __post_init__(self) -> None:
        if self.dtype not in _RANGES:
            known = ", ".join(_RANGES)
            hint = did_you_mean(str(self.dtype), list(_RANGES))
            raise ValueError(
                f"expected weights of a type, one of {known}, but got {self.dtype!r}{hint}"
            )
        size = self.group_size
        if between("group_size", size, 0, INT64) % _CODES_OF_WORD:
            raise ValueError(f"expected group_size to be a multiple of 8, but got {size}")

    @classmethod
    def parse(cls, text: str) -> WeightFormat:
        """Return the format that a text such as "int4-g32" or "int8" names."""
        match = re.fullmatch(r"([a-z]+\d+)(?:-g(\d+))?", text)
        if match is None:
            raise ValueError(
                f"expected weights like 'int4-g32', 'uint4-g64' or 'int8', but got {text!r}"
            )
        return cls(match[1], int(match[2] or 0))

    def __str__(self) -> str:
        return f"{self.dtype}-g{self.group_size}" if self.group_size else self.dtype


@module_pass(opt_level=0)
class CompressWeights:
    """Round constant matrices of products to 4 or 8 bits.

    The right matrix of a `matmul` that is a constant of two dimensions, of `float32`, becomes
    `dequantize` of codes and scales. A product reads the codes and unpacks them in registers, so it
    takes an eighth, or a quarter, of the memory and of its bandwidth. The result differs by the
    rounding of weights; nothing else is rounded.

    A matrix with infinities or NaN stays as it is, and so does one whose columns are shorter than a
    group.

    Parameters
    ----------
    weights : str or WeightFormat
        "int4-g32": 4 bits, with a scale for 32 weights of a column. "uint4-g32": also with a zero
        point. "int8", "uint8": 8 bits, a scale for each column.
    check : callable, optional
        ``check(matmul)`` says of each product, an `mlir.ir.Operation`, whether to round its matrix.

    Raises
    ------
    ValueError
        If there is no such format.

    Notes
    -----
    Scales are `float16` where they fit. A scale of "int4" maps the weight of the largest magnitude
    to -8, and one of "int8" to 127 or -127.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import CompressWeights
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 64), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     _ = bb.emit_func_output(relax.op.matmul(x, np.ones((64, 16), "float32")))
    >>> str(CompressWeights("int4-g32")(bb.get())).count("relax.dequantize")
    1
    """

    def __init__(
        self,
        weights: str | WeightFormat = "int4-g32",
        check: Callable[[ir.Operation], bool] | None = None,
    ) -> None:
        self._format = WeightFormat.parse(weights) if isinstance(weights, str) else weights
        self._check = check

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Round in each function of the module."""
        compressed: dict[ir.Attribute, _Compressed | None] = {}
        for function in mod.module.body.operations:
            if not isinstance(function, _ops.FuncOp):
                continue
            for found in list(walk(function.operation)):
                if found.name == "relax.matmul" and (self._check is None or self._check(found)):
                    _compress(found, self._format, compressed)
        return mod


@dataclass(frozen=True)
class _Compressed:
    """The operands of `dequantize`."""

    codes: np.ndarray
    scale: np.ndarray
    zero: np.ndarray | None


def _compress(
    matmul: ir.Operation, weights: WeightFormat, known: dict[ir.Attribute, _Compressed | None]
) -> None:
    constant = matmul.operands[1].owner
    if constant.name != "relax.constant" or matmul.operands[0] == matmul.operands[1]:
        return
    type_ = matmul.operands[1].type
    if type_.ndim != 2 or type_.dtype != "float32":
        return
    value = constant.attributes["value"]
    if value not in known:
        matrix = np.frombuffer(bytes_of(value), "float32").reshape(tuple(value.type.shape))
        known[value] = _rounded(matrix, weights)
    rounded = known[value]
    if rounded is None:
        return
    with ir.InsertionPoint(matmul), matmul.location:
        zero = const(0, "int8") if rounded.zero is None else const(rounded.zero)
        group = weights.group_size or rounded.codes.shape[0]
        matmul.operands[1] = op.dequantize(
            const(rounded.codes), const(rounded.scale), zero, 0, "float32", group
        )
    if not list(constant.results[0].uses):
        constant.erase()


def _rounded(matrix: np.ndarray, weights: WeightFormat) -> _Compressed | None:
    """Return codes and scales of a matrix; None where it is left alone."""
    depth, columns = matrix.shape
    group = weights.group_size or depth
    if matrix.size == 0 or depth < group or not np.isfinite(matrix).all():
        return None
    low, high = _RANGES[weights.dtype]
    groups = -(-depth // group)
    whole = np.zeros((groups * group, columns), "float32")
    whole[:depth] = matrix
    blocks = whole.reshape(groups, group, columns)
    zero = None
    if low == 0:
        least, most = np.minimum(blocks.min(1), 0), np.maximum(blocks.max(1), 0)
        scale = _as_float16((most - least) / np.float32(high))
        zero = np.clip(np.rint(-least / _divisor(scale)), 0, high).astype("uint8")
    else:
        place = np.abs(blocks).argmax(1)
        largest = np.take_along_axis(blocks, place[:, None], 1)[:, 0]
        scale = _as_float16(largest / np.float32(low if weights.dtype == "int4" else high))
    steps = blocks / _divisor(scale)[:, None]
    codes = np.rint(steps) + (0 if zero is None else zero[:, None].astype("float32"))
    codes = np.clip(codes, low, high).astype("uint8" if low == 0 else "int8")
    return _Compressed(codes.reshape(-1, columns)[:depth].copy(), scale, zero)


def _as_float16(scale: np.ndarray) -> np.ndarray:
    """Return scales as float16 where none of them loses more digits than others do."""
    size = np.abs(scale)
    fits = (size == 0) | ((size >= _FLOAT16[0]) & (size <= _FLOAT16[1]))
    return scale.astype("float16") if fits.all() else scale


def _divisor(scale: np.ndarray) -> Any:
    """Return scales as float32, with 1 for those of nothing but zeros."""
    wide = scale.astype("float32")
    return np.where(wide == 0, np.float32(1), wide)
