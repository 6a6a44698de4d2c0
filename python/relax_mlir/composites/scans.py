# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the elements up to each one are together, beyond sums and products."""

from __future__ import annotations

import math
import textwrap

from mlir import ir

from .. import op
from ..core.ir import TensorStructInfo
from .kernels import add_kernel
from .tensors import number, product, rank_of, shape_of

# The larger one of two numbers, and what the smaller one adds. Infinite ones have no difference.
_AFTER = (
    "T.max(element, {before}) + T.Select(element == {before}, "
    f"T.float64({math.log(2)}), "
    "T.log(T.float64(1) + T.exp(-T.abs(element - {before}))))"
)

# Lines are lanes, so many of them at a time.
_LANES = 128

# Threads share the blocks of lines, or what is around them where a block has all lines.
_LINES = """
@I.ir_module
class Module:
    @T.prim_func
    def {name}(x_: T.handle, y_: T.handle):
        outer, n, inner = T.int64(), T.int64(), T.int64()
        x = T.match_buffer(x_, (outer, n, inner), "{dtype}")
        y = T.match_buffer(y_, (outer, n, inner), "{result}")
        for {first}:
            for {second}:
                width = T.min(inner - block * {lanes}, T.int64({lanes}))
{body}"""

# Totals are float64: elements of a long line are small beside their sum.
_LOG_OF_SUMS = """
total = T.alloc_buffer(({lanes},), "float64")
for j in T.vectorized(width):
    total[j] = -T.infinity("float64")
for i in range(n):
    for j in T.vectorized(width):
        before = total[j]
        element = T.Cast("float64", x[k, i, block * {lanes} + j])
        after = {after}
        total[j] = after
        y[k, i, block * {lanes} + j] = T.Cast("{dtype}", after)
"""

_PLACES = """
best = T.alloc_buffer(({lanes},), "{dtype}")
place = T.alloc_buffer(({lanes},), "int64")
for j in T.vectorized(width):
    best[j] = {least}
    place[j] = T.int64(0)
for i in range(n):
    here = T.Cast("int64", i)
    for j in T.vectorized(width):
        element = x[k, i, block * {lanes} + j]
        before = best[j]
        last = place[j]
        is_it = {test}
        best[j] = T.Select(is_it, element, before)
        found = T.Select(is_it, here, last)
        place[j] = found
        y[k, i, block * {lanes} + j] = found
"""

# Extremes that are known are new where an element is one. Most blocks of a long line have none.
_PLACES_OF_LINES = """
@I.ir_module
class Module:
    @T.prim_func
    def {name}(x_: T.handle, extremes_: T.handle, y_: T.handle):
        outer, n = T.int64(), T.int64()
        x = T.match_buffer(x_, (outer, n), "{dtype}")
        extremes = T.match_buffer(extremes_, (outer, n), "{dtype}")
        y = T.match_buffer(y_, (outer, n), "int64")
        for k in T.parallel(outer):
            place = T.alloc_buffer((1,), "int64")
            are_new = T.alloc_buffer(({lanes},), "int32")
            count = T.alloc_buffer((16,), "int32")
            place[0] = T.int64(0)
            for j in T.vectorized({lanes}):
                are_new[j] = 0
            for block in range((n + {lanes} - 1) // {lanes}):
                width = T.min(n - block * {lanes}, T.int64({lanes}))
                for j in T.vectorized(width):
                    element = x[k, block * {lanes} + j]
                    extreme = extremes[k, block * {lanes} + j]
                    are_new[j] = T.Select({test}, 1, 0)
                for j in T.vectorized(16):
                    count[j] = 0
                for i in range({lanes} // 16):
                    for j in T.vectorized(16):
                        count[j] = count[j] + are_new[i * 16 + j]
                for j in T.vectorized(8):
                    count[j] = count[j] + count[8 + j]
                for j in T.vectorized(4):
                    count[j] = count[j] + count[4 + j]
                last = place[0]
                if count[0] + count[1] + count[2] + count[3] == 0:
                    for j in T.vectorized(width):
                        y[k, block * {lanes} + j] = last
                else:
                    for j in range(width):
                        before = place[0]
                        found = T.Select(are_new[j] != 0, block * {lanes} + j, before)
                        place[0] = found
                        y[k, block * {lanes} + j] = found
"""

# A line has no other lines as lanes, so blocks of it are: their exponentials relative to the
# largest element so far, the sums of which are added one by one. Where elements of a block are so
# far apart that sums would lose digits, or are not finite, each waits for the logarithm before it.
_LOG_OF_SUMS_OF_LINE = """
@I.ir_module
class Module:
    @T.prim_func
    def log_of_running_sums_of_line(x_: T.handle, y_: T.handle):
        n = T.int64()
        x = T.match_buffer(x_, (n,), "{dtype}")
        y = T.match_buffer(y_, (n,), "{dtype}")
        # The sum is total[0] * exp(largest[0]).
        largest = T.alloc_buffer((1,), "float64")
        total = T.alloc_buffer((1,), "float64")
        before = T.alloc_buffer((1,), "float64")
        sums = T.alloc_buffer((64,), "float64")
        least = T.alloc_buffer((16,), "{dtype}")
        most = T.alloc_buffer((16,), "{dtype}")
        largest[0] = -T.infinity("float64")
        total[0] = T.float64(0)
        for block in range((n + 63) // 64):
            least[0] = -T.infinity("{dtype}")
            most[0] = T.infinity("{dtype}")
            if block * 64 + 64 <= n:
                for j in T.vectorized(16):
                    least[j] = x[block * 64 + j]
                    most[j] = x[block * 64 + j]
                for i in range(3):
                    for j in T.vectorized(16):
                        least[j] = T.min(least[j], x[block * 64 + i * 16 + 16 + j])
                        most[j] = T.max(most[j], x[block * 64 + i * 16 + 16 + j])
                for j in range(15):
                    least[0] = T.min(least[0], least[j + 1])
                    most[0] = T.max(most[0], most[j + 1])
            if most[0] - least[0] <= T.{dtype}(32) and largest[0] < T.infinity("float64"):
                before[0] = largest[0]
                largest[0] = T.max(before[0], T.Cast("float64", most[0]))
                total[0] = total[0] * T.exp(before[0] - largest[0])
                for i in T.vectorized(64):
                    sums[i] = T.exp(T.Cast("float64", x[block * 64 + i]) - largest[0])
                for i in range(64):
                    total[0] = total[0] + sums[i]
                    sums[i] = total[0]
                for i in T.vectorized(64):
                    y[block * 64 + i] = T.Cast("{dtype}", largest[0] + T.log(sums[i]))
            else:
                before[0] = largest[0] + T.log(total[0])
                for i in range(T.min(n - block * 64, T.int64(64))):
                    element = T.Cast("float64", x[block * 64 + i])
                    after = {after}
                    before[0] = after
                    y[block * 64 + i] = T.Cast("{dtype}", after)
                largest[0] = before[0]
                total[0] = T.float64(1)
"""


def running_extreme(x: ir.Value, axis: int, is_largest: bool) -> tuple[ir.Value, ir.Value]:
    """Return the largest or smallest of the elements up to each one, and its place, as int64.

    Of equal elements the last one counts, and NaN before all numbers.

    Parameters
    ----------
    x : mlir.ir.Value
        Of integers or floats.
    axis : int
        Counted from the begin.
    is_largest : bool
    """
    values = (op.cummax if is_largest else op.cummin)(x, axis)
    if x.type.dtype in ("float32", "float64", "int32", "int64"):
        if axis == rank_of(x) - 1:
            return values, _places_along_last(x, values)
        return values, _places_of_extremes(x, axis, is_largest)
    return values, places_of_values(x, values, axis)


def places_of_values(x: ir.Value, values: ir.Value, axis: int) -> ir.Value:
    """Return the places of running extremes whose values are known, by operators alone.

    Parameters
    ----------
    x, values : mlir.ir.Value
        Of integers or floats.
    axis : int
        Counted from the begin.
    """
    is_it = op.equal(x, values)
    if x.type.dtype.startswith(("float", "bfloat")):
        is_it = op.logical_or(is_it, op.isnan(x))
    others = [one for one in range(rank_of(x)) if one != axis]
    places = op.arange(0, shape_of(x)[axis], 1, "int64")
    places = op.expand_dims(places, others) if others else places
    return op.cummax(op.where(is_it, places, number(0, "int64")), axis)


def _along_lines(x: ir.Value, axis: int, name: str, body: str, result: str) -> ir.Value:
    """Return what a kernel makes of lines that are lanes."""
    dims, dtype = shape_of(x), x.type.dtype
    outer, inner = product(dims[:axis]), product(dims[axis + 1 :])
    loops = ["block in {0}((inner + {1} - 1) // {1})", "k in {0}(outer)"]
    if not (outer == 1 or (isinstance(inner, int) and inner > _LANES)):
        loops.reverse()
        name += "_by_outer"
    source = _LINES.format(
        name=name, dtype=dtype, result=result, lanes=_LANES,
        first=loops[0].format("T.parallel", _LANES), second=loops[1].format("range", _LANES),
        body=textwrap.indent(body.lstrip("\n"), " " * 16),
    )  # fmt: skip
    shape = [outer, dims[axis], inner]
    kernel = add_kernel(source, name)
    made = op.call_tir(kernel, [op.reshape(x, shape)], TensorStructInfo(shape, result))
    return op.reshape(made, dims)


def _places_of_extremes(x: ir.Value, axis: int, is_largest: bool) -> ir.Value:
    dtype = x.type.dtype
    name, sign, least = ("largest", ">=", "min") if is_largest else ("smallest", "<=", "max")
    test, begin = f"element {sign} before", f'T.{least}_value("{dtype}")'
    if dtype.startswith("float"):
        test += " or element != element"
        begin = f'{"-" if is_largest else ""}T.infinity("{dtype}")'
    body = _PLACES.format(dtype=dtype, lanes=_LANES, test=test, least=begin)
    return _along_lines(x, axis, f"places_of_{name}_{dtype}", body, "int64")


def _places_along_last(x: ir.Value, extremes: ir.Value) -> ir.Value:
    """Return the places of extremes along the last axis, of which the values are known."""
    dims, dtype = shape_of(x), x.type.dtype
    test = "element == extreme"
    if dtype.startswith("float"):
        test += " or element != element"
    name = f"places_of_extremes_{dtype}"
    source = _PLACES_OF_LINES.format(name=name, dtype=dtype, test=test, lanes=_LANES)
    shape = [product(dims[:-1]), dims[-1]]
    given = [op.reshape(each, shape) for each in (x, extremes)]
    made = op.call_tir(add_kernel(source, name), given, TensorStructInfo(shape, "int64"))
    return op.reshape(made, dims)


def log_of_running_sums(x: ir.Value, axis: int) -> ir.Value:
    """Return logarithms of the sums of `exp` of the elements up to each one.

    Parameters
    ----------
    x : mlir.ir.Value
        Of float32 or float64.
    axis : int
        Counted from the begin.
    """
    last = rank_of(x) - 1
    if axis == last > 0:  # lines are lanes
        order = [last, *range(last)]
        back = [*range(1, last + 1), 0]
        return op.permute_dims(log_of_running_sums(op.permute_dims(x, order), 0), back)
    dtype = x.type.dtype
    if last == 0:
        source = _LOG_OF_SUMS_OF_LINE.format(dtype=dtype, after=_AFTER.format(before="before[0]"))
        kernel = add_kernel(source, f"log_of_running_sums_of_line_{dtype}")
        return op.call_tir(kernel, [x], TensorStructInfo(shape_of(x), dtype))
    after = _AFTER.format(before="before")
    body = _LOG_OF_SUMS.format(dtype=dtype, lanes=_LANES, after=after)
    return _along_lines(x, axis, f"log_of_running_sums_{dtype}", body, dtype)
