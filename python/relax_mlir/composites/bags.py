# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bags of embeddings: what rows of a table are together that follow one another in a list."""

from __future__ import annotations

from mlir import ir

from .. import op
from ..core.ir import TensorStructInfo
from .kernels import add_kernel
from .tensors import shape_of, size_tensor

# Offsets that are out of order, or indices beyond the table, read other rows than they should, but
# nothing else.
_KERNEL = """
@I.ir_module
class Module:
    @T.prim_func
    def {name}(table_: T.handle, rows_: T.handle, offsets_: T.handle, {factors}y_: T.handle):
        size, width, n = T.int64(), T.int64(), T.int64()
        bags, ends = T.int64(), T.int64()
        table = T.match_buffer(table_, (size, width), "{dtype}")
        rows = T.match_buffer(rows_, (n,), "int64")
        offsets = T.match_buffer(offsets_, (ends,), "int64")
{buffers}        y = T.match_buffer(y_, (bags, width), "{wide}")
        for b in T.parallel(bags):
            limit = T.min(n, n * size)
            begin = T.min(T.max(offsets[b], T.int64(0)), limit)
            end = T.max(T.min(offsets[b + 1], limit), begin)
            for j in T.vectorized(width):
                y[b, j] = {first}
{loops}{end}"""

# Where no row is padding, these are added at once: sums in memory wait for each other.
_TOGETHER = 4

_COUNTED = """
            count = T.alloc_buffer((1,), "int64")
            count[0] = T.int64(0)
            for e in range(begin, end):
                if rows[e] != T.int64({padding}):
                    count[0] = count[0] + T.int64(1)
"""

_MEAN = """
            divisor = T.Cast("{wide}", T.max({count}, T.int64(1)))
            for j in T.vectorized(width):
                y[b, j] = y[b, j] / divisor
"""

_MAX = """
            if {count} <= T.int64(0):
                for j in T.vectorized(width):
                    y[b, j] = T.{wide}(0)
"""


def _combined(depth: int, places: list[str], how: str, wide: str, has_factors: bool) -> str:
    """Return statements that combine a bag with some of its rows."""
    name = f"of_{len(places)}"
    lines, total = [], "y[b, j]"
    for i, place in enumerate(places):
        row = f"T.min(T.max(rows[{place}], T.int64(0)), size - 1)"
        lines.append(f"{name}_row_{i} = {row}")
        element = f'T.Cast("{wide}", table[{name}_row_{i}, j])'
        if has_factors:
            lines.append(f"{name}_factor_{i} = factors[{place}]")
            element += f" * {name}_factor_{i}"
        total = f"T.max({total}, {element})" if how == "max" else f"{total} + {element}"
    lines += ["for j in T.vectorized(width):", f"    y[b, j] = {total}"]
    return "".join("    " * depth + line + "\n" for line in lines)


def _loops(padding: int, how: str, wide: str, has_factors: bool) -> str:
    """Return the loops over the rows of a bag."""
    if padding >= 0:
        return _COUNTED.lstrip("\n").format(padding=padding) + _combined(
            5, ["e"], how, wide, has_factors
        )
    together = [f"begin + part * {_TOGETHER} + {i}" for i in range(_TOGETHER)]
    return (
        f"            for part in range((end - begin) // {_TOGETHER}):\n"
        + _combined(4, together, how, wide, has_factors)
        + f"            for e in range(begin + (end - begin) // {_TOGETHER} * {_TOGETHER}, end):\n"
        + _combined(4, ["e"], how, wide, has_factors)
    )


def combined_bags(
    table: ir.Value, rows: ir.Value, offsets: ir.Value, how: str, padding: int = -1,
    factors: ir.Value | None = None,
) -> ir.Value:  # fmt: skip
    """Return the sums, means or largest elements of bags of rows; 0 of an empty bag.

    Parameters
    ----------
    table : mlir.ir.Value
        A matrix of floats.
    rows : mlir.ir.Value
        The rows of all bags, of int64.
    offsets : mlir.ir.Value
        Where each bag begins among them, and where the last one ends, of int64.
    how : str
        One of ``sum``, ``mean`` and ``max``.
    padding : int
        A row that does not count.
    factors : mlir.ir.Value, optional
        Of each row of a bag, of the data type of the result.

    Returns
    -------
    mlir.ir.Value
        Of float64 where the table is, or else of float32.
    """
    dtype = table.type.dtype
    wide = "float64" if dtype == "float64" else "float32"
    has_factors = factors is not None
    end = {"sum": "", "mean": _MEAN, "max": _MAX}[how].lstrip("\n")
    name = f"{how}_of_{'weighted_' if has_factors else ''}bags"
    source = _KERNEL.format(
        name=name,
        factors="factors_: T.handle, " if has_factors else "",
        dtype=dtype,
        buffers=f'        factors = T.match_buffer(factors_, (n,), "{wide}")\n' * has_factors,
        wide=wide,
        first=f'-T.infinity("{wide}")' if how == "max" else f"T.{wide}(0)",
        loops=_loops(padding, how, wide, has_factors),
        end=end.format(wide=wide, count="count[0]" if padding >= 0 else "end - begin"),
    )
    bags = shape_of(offsets)[0] - 1
    arguments = [table, rows, offsets, *([factors] if factors is not None else [])]
    info = TensorStructInfo([bags, shape_of(table)[1]], wide)
    return op.call_tir(add_kernel(source, name), arguments, info)


def with_end(offsets: ir.Value, rows: ir.Value) -> ir.Value:
    """Return where bags begin, and then where the last one ends."""
    return op.concat([offsets, op.reshape(size_tensor(shape_of(rows)[0]), [1])], 0)
