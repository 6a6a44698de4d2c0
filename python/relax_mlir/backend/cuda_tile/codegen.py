# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of patterns as kernels of CUDA Tile IR, and packed functions that launch them."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from mlir import ir
from relax_runtime import external
from relax_runtime.cuda_tile import load
from relax_runtime.cuda_tile.functions import ATTENTION_OPERANDS
from relax_runtime.cuda_tile.launches import pack

from ..._arguments import shown
from ...external import ExternalModule, register_codegen, register_loader
from ...target import Target
from ..products import ProductReader, Slots
from ..region import Region, Step
from ..utils import has_strided_batches, have_same_shape, is_bias_of, is_tensor_of
from . import compiler
from .compiler import Kernel
from .kernels import ACTIVATIONS, MASKS
from .shapes import DTYPES, MOST_FEATURES, is_attention_of

#: The architectures that kernels are compiled for unless others are given.
DEFAULT_ARCHS = ("sm_80", "sm_90", "sm_100", "sm_120")

# The most rows, columns and depth of a tile of a product; of queries and keys; and the least of
# all, which tensor cores take.
_PRODUCT_TILE = (128, 128, 64)
_ATTENTION_TILE = (128, 64)
_WIDE_ATTENTION_TILE = (64, 32)
_LEAST = 16
# Heads with more features have smaller tiles.
_WIDE = 128


def codegen(
    functions: Sequence[Any], options: Mapping[str, Any], constant_names: Mapping[Any, str]
) -> list[ExternalModule]:
    """Return packed functions that launch kernels of CUDA Tile IR.

    Parameters
    ----------
    functions : sequence of Function
        Of the patterns that `partition_for_cuda_tile` finds, or of others with the same operations:
        one product or attention in each.
    options : mapping
        ``arch``: the architecture that kernels are compiled for, such as "sm_90", several of them,
        or "native", that of the first GPU of this machine. By default `DEFAULT_ARCHS`.
    constant_names : mapping of mlir.ir.Value to str

    Raises
    ------
    ValueError
        If a function has an operation that is not supported, or several products, or an option is
        not known.
    RuntimeError
        If ``cuda-tile`` or ``tileiras`` is missing.
    """
    archs = _archs(options)
    arrays: dict[str, np.ndarray] = {}
    rows = [_program(Region(function), constant_names, arrays) for function in functions]
    made = compiler.images([kernel for _, kernel in rows], archs)
    for program, kernel in rows:
        program["entries"] = kernel.entries()
        program["images"] = {arch: _name_of(made[kernel, arch]) for arch in archs}
    arrays |= {_name_of(image): pack(image) for image in made.values()}
    state = external.pack([program for program, _ in rows], arrays)
    return [ExternalModule(load(state), state)]


def _name_of(image: bytes) -> str:
    return f"image_{hashlib.sha256(image).hexdigest()[:16]}"


def _archs(options: Mapping[str, Any]) -> list[str]:
    """Return the architectures of the option ``arch``."""
    if unknown := sorted(set(options) - {"arch"}):
        raise ValueError(
            f"codegen 'cuda_tile': expected the option arch, but got {', '.join(unknown)}"
        )
    given = options.get("arch", DEFAULT_ARCHS)
    words = [given] if isinstance(given, str) else given
    if not isinstance(words, Sequence) or not words:
        raise ValueError(
            "codegen 'cuda_tile': expected arch to be an architecture such as 'sm_90', or a list "
            f"of them, but got {shown(given)}"
        )
    return list(dict.fromkeys(map(_arch, words)))


def _arch(word: Any) -> str:
    """Return an architecture as ``tileiras`` names it."""
    if word == "native":
        word = Target.parse({"kind": "cuda", "arch": "native"}).device_arch
    # Code for a later one than sm_80 is for that one alone, so there is no "a" at the end.
    found = re.fullmatch(r"(sm_\d{2,3})a?", word) if isinstance(word, str) else None
    if found is None or int(found[1].removeprefix("sm_")) < 80:
        raise ValueError(
            "codegen 'cuda_tile': expected arch to be sm_80 or a later one, or native, but got "
            f"{shown(word)}"
        )
    return found[1]


# ---------------------------------------------------------------------------------------------
# Functions as data
# ---------------------------------------------------------------------------------------------


class _Reader(ProductReader):
    """Reads the operations of a pattern: a product, and what follows it."""

    codegen, library = "cuda_tile", "its kernel"
    activations = tuple(ACTIVATIONS)


def _program(
    region: Region, constant_names: Mapping[Any, str], arrays: dict[str, np.ndarray]
) -> tuple[dict[str, Any], Kernel]:
    """Return a function as data, without its images, and its kernel."""
    if len(region.steps) != 1 or region.outputs != [region.steps[0].result]:
        raise ValueError(
            f"function '{region.symbol}': codegen 'cuda_tile': expected one product or attention, "
            f"which is the result, but got {len(region.steps)} steps and {len(region.outputs)} "
            "results: leave MergeCompositeFunctions out, and have FuseOpsByPattern set "
            "annotate_codegen"
        )
    step = region.steps[0]
    result: Any = step.result.type
    _check_types(region, step)
    slots = Slots(region, constant_names, arrays)
    row = {"symbol": region.symbol, "params": len(region.params), "dtype": result.dtype}
    if [op.operation.name for op in step.ops] == ["relax.attention"]:
        attention = step.ops[0].operation
        operands = [slots(step.source(value)) for value in attention.operands]
        return _attention(row, attention, operands)
    reader = _Reader(region, step, slots)
    row |= reader.read()
    product = next(op for op in step.ops if op.operation.name == "relax.matmul")
    return _product(row, product.operation, result)


def _check_types(region: Region, step: Step) -> None:
    """Raise ValueError if a function of others' patterns has tensors that kernels do not take."""
    start = f"function '{region.symbol}': codegen 'cuda_tile': expected"
    for value in (step.result, *step.inputs):
        type_: Any = value.type
        if not is_tensor_of(type_, DTYPES, ("cuda",)) or type_.dtype != step.result.type.dtype:
            raise ValueError(f"{start} tensors of {' or '.join(DTYPES)}, but got {type_}")
    for op in step.ops:
        if expected := _wanted(op.operation, step.ops[-1].operation.results[0]):
            types = ", ".join(str(operand.type) for operand in op.operation.operands)
            raise ValueError(f"{start} {expected}, but got {types}")


def _wanted(op: ir.Operation, last: ir.Value) -> str:
    """Return what operands of an operation have to be; "" if they are.

    Parameters
    ----------
    op : mlir.ir.Operation
    last : mlir.ir.Value
        The result of the last operation of the function.
    """
    operands = list(op.operands)
    if op.name == "relax.matmul" and not has_strided_batches(op):
        return "matrices, one for all of a batch or one for each of the result"
    if op.name == "relax.matmul" and not have_same_shape(op.results[0], last):
        return "a product of the shape of the result"
    if op.name == "relax.attention" and not is_attention_of(*operands):
        return f"attention of heads of 1 to {MOST_FEATURES} features, and sizes that agree"
    fits = (have_same_shape(x, last) or is_bias_of(x, last, "matmul") for x in operands)
    if op.name == "relax.add" and not all(fits):
        return "a sum of tensors of one shape, or of one and a number for each column"
    return ""


def _size(dim: Any) -> int | None:
    """Return a dimension that is a number; None for any other."""
    return None if dim.value is None else int(dim.value)


def _tile(size: int | None, most: int) -> int:
    """Return the size of a tile for a dimension, which may not be known."""
    if size is None:
        return most
    return min(max(_power(size), _LEAST), most)


def _power(size: int) -> int:
    """Return the least power of two that is not less."""
    return 1 << max(size - 1, 0).bit_length()


def _product(row: dict[str, Any], op: ir.Operation, result: Any) -> tuple[dict[str, Any], Kernel]:
    left, right = row["transposed"]
    type_: Any = op.operands[0].type
    *batch, m, n = map(_size, result.shape)
    k = _size(type_.shape[-1])
    # One product of all rows, if it is one of many by one matrix.
    known = [size for size in (*batch, m) if size is not None]
    m = math.prod(known) if len(known) == len(batch) + 1 else None
    tile = [_tile(size, most) for size, most in zip((m, n, k), _PRODUCT_TILE, strict=True)]
    activation = ACTIVATIONS[row["activation"]] if row["activation"] else 0
    flags = (row["bias"] is not None, row["sum"] is not None)
    widths = [_size(result.shape[-2]) if left else k, k if right else n, n]
    is_aligned = all(width is None or width % 8 == 0 for width in widths)
    constants = (*tile, left, right, *flags, activation)
    kernel = Kernel("product", row["dtype"], constants, is_aligned)
    return row | {"tile": tile}, kernel


def _attention(
    row: dict[str, Any], op: ir.Operation, operands: Sequence[str]
) -> tuple[dict[str, Any], Kernel]:
    attributes = op.attributes
    types: list[Any] = [value.type for value in op.operands]
    features, values = (int(types[index].shape[3].value) for index in (0, 2))
    scale = attributes["scale"].value if "scale" in attributes else 1 / math.sqrt(features)
    mask = attributes["causal_mask"].value if "causal_mask" in attributes else None
    window = attributes["window_size"].value if "window_size" in attributes else None
    tile = _WIDE_ATTENTION_TILE if max(features, values) > _WIDE else _ATTENTION_TILE
    queries, keys = (_size(types[index].shape[1]) for index in (0, 1))
    tile = (_tile(queries, tile[0]), _tile(keys, tile[1]))
    has_bias = len(types) > 3
    bias_rows = has_bias and _size(types[3].shape[2]) != 1
    wide = (max(_power(features), _LEAST), max(_power(values), _LEAST))
    flags = (MASKS[mask], window is not None, has_bias, bias_rows)
    is_aligned = features % 8 == 0 and values % 8 == 0
    kernel = Kernel("attention", row["dtype"], (*tile, *wide, *flags), is_aligned)
    given: dict[str, Any] = dict(zip(ATTENTION_OPERANDS, (*operands, None), strict=False))
    given |= {"kind": "attention", "scale": scale, "window": window, "tile": tile}
    return row | given, kernel


register_codegen("cuda_tile", codegen)
register_loader("cuda_tile", load)
