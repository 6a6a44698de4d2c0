# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions of many small matrices, which are the lanes of vectors.

All elements of as many matrices as a vector has lanes are in registers: the loops over rows and
columns are written out.
"""

from __future__ import annotations

import re

from mlir import ir

from .. import op
from ..core.ir import Dim, TensorStructInfo
from .kernels import add_kernel
from .tensors import product, shape_of

_LARGEST = 8
"""Rows of matrices that are lanes: more of them are too much code, and leave the registers."""

_FEWEST = 16
"""Matrices of a batch that are worth lanes."""

_TOGETHER = 16
"""Matrices that are one task."""

# What statements name; names of different loops are different.
_NAMES = re.compile(r"\b(best|divisor|low|place|root|size|x|y|z)_")

_KERNEL = """
@I.ir_module
class Module:
    @T.prim_func
    def {name}(a_: T.handle, {outputs}):
        batch = T.int64()
        a = T.match_buffer(a_, ({n}, {n}, batch), "{dtype}")
{buffers}        for block in T.parallel(batch // {together}):
            for lane in T.vectorized({together}):
{whole}        for rest in T.vectorized(batch // {together} * {together}, batch):
{rest}"""


def are_lanes(a: ir.Value) -> bool:
    """Whether the matrices of a batch are small, and many, or of an unknown number."""
    *batch, n, _ = shape_of(a)
    count = product(batch)
    return isinstance(n, int) and 0 < n <= _LARGEST and not _is_less(count, _FEWEST)


def _is_less(size: int | Dim, least: int) -> bool:
    return isinstance(size, int) and size < least


def cholesky(a: ir.Value) -> ir.Value:
    """Return lower triangular matrices whose product with their transpose is `a`."""
    n = int(shape_of(a)[-1])
    lines = [f"x_{i}_{j}_0 = a[{i}, {j}, AT]" for i in range(n) for j in range(i + 1)]
    for q in range(n):
        lines.append(f"root_{q} = T.sqrt(x_{q}_{q}_{q})")
        lines += [f"low_{i}_{q} = x_{i}_{q}_{q} / root_{q}" for i in range(q + 1, n)]
        lines += [
            f"x_{i}_{j}_{q + 1} = x_{i}_{j}_{q} - low_{i}_{q} * low_{j}_{q}"
            for i in range(q + 1, n)
            for j in range(q + 1, i + 1)
        ]
    zero = f"T.{a.type.dtype}(0)"
    for i in range(n):
        for j in range(n):
            value = f"low_{i}_{j}" if j < i else f"root_{i}" if j == i else zero
            lines.append(f"x[{i}, {j}, AT] = {value}")
    (x,) = _called("cholesky_of_lanes", lines, a, {"x": a.type.dtype})
    return x


def lu(a: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return the factors of square matrices in one, and which rows were exchanged, from 1."""
    n, dtype = int(shape_of(a)[-1]), a.type.dtype
    lines = [f"x_{i}_{j}_0 = a[{i}, {j}, AT]" for i in range(n) for j in range(n)]
    for q in range(n):
        lines += _pivoted(q, n)
        pivot = f"y_{q}_{q}_{q}_{n - 1}"
        lines.append(f"divisor_{q} = T.Select({pivot} == T.{dtype}(0), T.{dtype}(1), {pivot})")
        lines += [f"low_{i}_{q} = z_{i}_{q}_{q} / divisor_{q}" for i in range(q + 1, n)]
        for i in range(q + 1, n):
            lines += [
                f"x_{i}_{j}_{q + 1} = "
                + (f"z_{i}_{j}_{q} - low_{i}_{q} * y_{q}_{j}_{q}_{n - 1}" if j > q
                   else f"low_{i}_{q}" if j == q else f"z_{i}_{j}_{q}")
                for j in range(n)
            ]  # fmt: skip
        lines += [f"lu[{q}, {j}, AT] = y_{q}_{j}_{q}_{n - 1}" for j in range(n)]
        lines.append(f"pivots[{q}, AT] = place_{q}_{n - 1} + T.int32(1)")
    factors, pivots = _called("lu_of_lanes", lines, a, {"lu": dtype, "pivots": "int32"})
    return factors, pivots


def _pivoted(q: int, n: int) -> list[str]:
    """Return statements that exchange a row by the one below with the largest element.

    They make of the elements `x` those of the row, `y`, and those of the rows below, `z`.
    """
    lines = [f"best_{q}_{q} = T.abs(x_{q}_{q}_{q})", f"place_{q}_{q} = T.int32({q})"]
    for i in range(q + 1, n):
        lines += [
            f"size_{i}_{q} = T.abs(x_{i}_{q}_{q})",
            f"place_{q}_{i} = T.Select(size_{i}_{q} > best_{q}_{i - 1}, T.int32({i}), "
            f"place_{q}_{i - 1})",
            f"best_{q}_{i} = T.Select(size_{i}_{q} > best_{q}_{i - 1}, size_{i}_{q}, "
            f"best_{q}_{i - 1})",
        ]
    for j in range(n):
        lines.append(f"y_{q}_{j}_{q}_{q} = x_{q}_{j}_{q}")
        for i in range(q + 1, n):
            is_it = f"place_{q}_{n - 1} == T.int32({i})"
            lines += [
                f"y_{q}_{j}_{q}_{i} = T.Select({is_it}, x_{i}_{j}_{q}, y_{q}_{j}_{q}_{i - 1})",
                f"z_{i}_{j}_{q} = T.Select({is_it}, x_{q}_{j}_{q}, x_{i}_{j}_{q})",
            ]
    return lines


def _called(name: str, lines: list[str], a: ir.Value, outputs: dict[str, str]) -> list[ir.Value]:
    """Call a kernel of statements at the place `AT` of a batch, which is the last dimension."""
    *batch, n, _ = shape_of(a)
    count = product(batch)
    shapes = {one: [n] if one == "pivots" else [n, n] for one in outputs}

    def body(depth: int, place: str, prefix: str) -> str:
        text = "".join("    " * depth + line.replace("AT", place) + "\n" for line in lines)
        return _NAMES.sub(rf"{prefix}\1_", text)

    source = _KERNEL.format(
        name=name,
        n=n,
        dtype=a.type.dtype,
        together=_TOGETHER,
        outputs=", ".join(f"{one}_: T.handle" for one in outputs),
        buffers="".join(
            f"        {one} = T.match_buffer({one}_, ({', '.join(map(str, shapes[one]))}, batch), "
            f'"{kind}")\n'
            for one, kind in outputs.items()
        ),
        whole=body(4, f"block * {_TOGETHER} + lane", "whole_"),
        rest=body(3, "rest", "rest_"),
    )
    infos = [TensorStructInfo([*shapes[one], count], kind) for one, kind in outputs.items()]
    lanes = op.permute_dims(op.reshape(a, [count, n, n]), [1, 2, 0])
    kernel = add_kernel(source, name, contract=True)
    result = op.call_tir(kernel, [lanes], infos if len(infos) > 1 else infos[0])
    results = [result] if len(infos) == 1 else [op.get_item(result, i) for i in range(len(infos))]
    moved = [
        op.permute_dims(one, [len(shape), *range(len(shape))])
        for one, shape in zip(results, shapes.values(), strict=True)
    ]
    return [
        op.reshape(one, [*batch, *shape]) for one, shape in zip(moved, shapes.values(), strict=True)
    ]
