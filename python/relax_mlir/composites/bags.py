# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bags of embeddings: what rows of a table are together that follow one another in a list."""

from __future__ import annotations

from collections.abc import Callable

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
        size, n = T.int64(), T.int64()
        bags, ends = T.int64(), T.int64()
{width}        table = T.match_buffer(table_, (size, {columns}), "{dtype}")
        rows = T.match_buffer(rows_, (n,), "int64")
        offsets = T.match_buffer(offsets_, (ends,), "int64")
{buffers}        y = T.match_buffer(y_, (bags, {columns}), "{wide}")
        for b in T.parallel(bags):
            limit = T.min(n, n * size)
            begin = T.min(T.max(offsets[b], T.int64(0)), limit)
            end = T.max(T.min(offsets[b + 1], limit), begin)
{body}{end}"""

# Where no row is padding, these are added at once.
_TOGETHER = 4
# How many rows ahead one is fetched.
_AHEAD = 12
# This many columns are combined in registers, in totals of as many as a cache line of f32 holds.
_BLOCK, _LANES = 128, 16

_COUNTED = """count = T.alloc_buffer((1,), "int64")
count[0] = T.int64(0)
for e in range(begin, end):
    if rows[e] != T.int64({padding}):
        count[0] = count[0] + T.int64(1)"""

_MEAN = """
            divisor = T.Cast("{wide}", T.max({count}, T.int64(1)))
            for j in T.vectorized({columns}):
                y[b, j] = y[b, j] / divisor
"""

_MAX = """
            if {count} <= T.int64(0):
                for j in T.vectorized({columns}):
                    y[b, j] = T.{wide}(0)
"""


# A loop over columns: how many there are, the total of one, and where it is in a row.
_Part = tuple[str, str, str]


class _Body:
    """Writes how the rows of a bag are combined.

    Parameters
    ----------
    how, wide : str
        One of ``sum``, ``mean`` and ``max``, and the data type of the result.
    padding : int
        A row that does not count.
    has_factors : bool
    """

    def __init__(self, how: str, wide: str, padding: int, has_factors: bool) -> None:
        self.how, self.wide = how, wide
        self.padding, self.has_factors = padding, has_factors

    def text(self, width: int | None) -> str:
        """Return the statements for rows of a width, if it is known."""
        lines = [] if self.padding < 0 else _COUNTED.format(padding=self.padding).split("\n")
        if width is None:
            parts = [("width", "y[b, j]", "j")]
            lines += _of_columns(parts, lambda total, _: f"{total} = {self._first()}")
            lines += self._of_rows(parts, ["0"])
        else:
            blocks, rest = divmod(width, _BLOCK)
            if blocks:
                lines += [f"for block in range({blocks}):"]
                lines += _indented(self._in_registers(f"block * {_BLOCK} + ", _BLOCK))
            if rest:
                lines += self._in_registers(f"{blocks * _BLOCK} + ", rest)
        return "".join(line + "\n" for line in _indented(lines, 3))

    def _first(self) -> str:
        return f'-T.infinity("{self.wide}")' if self.how == "max" else f"T.{self.wide}(0)"

    def _in_registers(self, first: str, count: int) -> list[str]:
        """Return the statements for some columns, which are combined in registers."""
        starts = range(0, count, _LANES)
        # The totals of a block and of the columns behind the last one are two buffers.
        names = [f"total_{count}_{start}" for start in starts]
        lanes = [min(_LANES, count - start) for start in starts]
        parts = [
            (str(size), f"{name}[j]", f"{first}{start} + j")
            for size, name, start in zip(lanes, names, starts, strict=True)
        ]
        return [
            *(
                f'{name} = T.alloc_buffer(({size},), "{self.wide}")'
                for name, size in zip(names, lanes, strict=True)
            ),
            *_of_columns(parts, lambda total, _: f"{total} = {self._first()}"),
            *self._of_rows(parts, [f"{first}{start}" for start in starts]),
            *_of_columns(parts, lambda total, column: f"y[b, {column}] = {total}"),
        ]

    def _of_rows(self, parts: list[_Part], lines: list[str]) -> list[str]:
        """Return the loops over rows, of which cache lines that begin at columns are fetched."""
        if self.padding >= 0:
            return [
                "for e in range(begin, end):",
                f"    if rows[e] != T.int64({self.padding}):",
                *_indented(self._combined(parts, ["e"], lines), 2),
            ]
        together = [f"begin + part * {_TOGETHER} + {i}" for i in range(_TOGETHER)]
        return [
            f"for part in range((end - begin) // {_TOGETHER}):",
            *_indented(self._combined(parts, together, lines)),
            f"for e in range(begin + (end - begin) // {_TOGETHER} * {_TOGETHER}, end):",
            *_indented(self._combined(parts, ["e"], lines)),
        ]

    def _combined(self, parts: list[_Part], places: list[str], cache_lines: list[str]) -> list[str]:
        """Return statements that combine a bag with some of its rows."""
        name = f"of_{len(places)}"
        lines, elements = [], []
        for i, place in enumerate(places):
            coming = f"rows[T.min({place} + {_AHEAD}, n - 1)]"
            for column in cache_lines:
                lines.append(f"T.prefetch(T.address_of(table[{coming}, {column}]), 0, 3, 1)")
            row = f"T.min(T.max(rows[{place}], T.int64(0)), size - 1)"
            lines.append(f"{name}_row_{i} = {row}")
            element = f'T.Cast("{self.wide}", table[{name}_row_{i}, {{column}}])'
            if self.has_factors:
                lines.append(f"{name}_factor_{i} = factors[{place}]")
                element += f" * {name}_factor_{i}"
            elements.append(element)

        def combine(total: str, column: str) -> str:
            value = total
            for element in elements:
                other = element.format(column=column)
                value = f"T.max({value}, {other})" if self.how == "max" else f"{value} + {other}"
            return f"{total} = {value}"

        return lines + _of_columns(parts, combine)


def _of_columns(parts: list[_Part], statement: Callable[[str, str], str]) -> list[str]:
    """Return loops over columns with a statement about the total and its place in a row."""
    return [
        line
        for count, total, column in parts
        for line in (f"for j in T.vectorized({count}):", "    " + statement(total, column))
    ]


def _indented(lines: list[str], depth: int = 1) -> list[str]:
    return ["    " * depth + line for line in lines]


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
    bags, columns = shape_of(offsets)[0] - 1, shape_of(table)[1]
    width = columns if isinstance(columns, int) else None
    counted = "width" if width is None else str(width)
    end = {"sum": "", "mean": _MEAN, "max": _MAX}[how].lstrip("\n")
    name = f"{how}_of_{'weighted_' if has_factors else ''}bags"
    source = _KERNEL.format(
        name=name,
        factors="factors_: T.handle, " if has_factors else "",
        dtype=dtype,
        buffers=f'        factors = T.match_buffer(factors_, (n,), "{wide}")\n' * has_factors,
        wide=wide,
        columns=counted,
        width="        width = T.int64()\n" if width is None else "",
        body=_Body(how, wide, padding, has_factors).text(width),
        end=end.format(
            wide=wide, columns=counted, count="count[0]" if padding >= 0 else "end - begin"
        ),
    )
    arguments = [table, rows, offsets, *([factors] if factors is not None else [])]
    info = TensorStructInfo([bags, columns], wide)
    return op.call_tir(add_kernel(source, name), arguments, info)


def with_end(offsets: ir.Value, rows: ir.Value) -> ir.Value:
    """Return where bags begin, and then where the last one ends."""
    return op.concat([offsets, op.reshape(size_tensor(shape_of(rows)[0]), [1])], 0)
