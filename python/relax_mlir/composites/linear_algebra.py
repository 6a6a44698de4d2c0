# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions of matrices and what they solve, as kernels of loops.

All take matrices in the last two dimensions, of float32 or float64, of sizes that may be symbolic.
A matrix that has no inverse, or no root, gives infinite numbers or NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlir import ir

from .. import op
from ..core.ir import Dim, TensorStructInfo
from . import small_matrices
from .kernels import add_kernel
from .tensors import number, product, shape_of

Dims = Sequence[int | Dim]

_HEAD = """
@I.ir_module
class Module:
    @T.prim_func
    def {name}({params}):
        {sizes}
"""

_WIDTH = 8
"""Columns of a panel that is factored at a time, and rows that are solved for at a time."""


def _code(depth: int, *lines: str) -> str:
    return "".join("    " * (depth + 2) + line + "\n" for line in lines)


def _difference(element: str, terms: Iterable[tuple[str, str]]) -> str:
    return " - ".join([element, *(f"{x} * {y}" for x, y in terms)])


# ------------------------------------------------------------------------------------------------
# Factors
# ------------------------------------------------------------------------------------------------

# The matrix is continued by the identity to a multiple of the width of panels.
_SIZE = f"(n + {_WIDTH - 1}) // {_WIDTH} * {_WIDTH}"

_BEGIN = f"""
        size = {_SIZE}
        for k in T.parallel(batch):
            work = T.alloc_buffer(({_SIZE}, {_SIZE}), "{{dtype}}")
            panel = T.alloc_buffer(({_WIDTH}, {_SIZE}), "{{dtype}}")
            for i in range(n):
                for j in T.vectorized(n):
                    work[i, j] = a[k, i, j]
                for j in T.vectorized(n, size):
                    work[i, j] = T.{{dtype}}(0)
            for i in range(n, size):
                for j in T.vectorized(size):
                    work[i, j] = T.{{dtype}}(0)
                work[i, i] = T.{{dtype}}(1)
            for number in range(size // {_WIDTH}):
                first = number * {_WIDTH}
                for i in T.vectorized(first, size):
"""

# The largest element of a column is the pivot. Of a column of zeros nothing is divided.
_PIVOT = """
best[0] = first + {q}
largest = T.abs(panel[{q}, first + {q}])
for i in range(first + {next}, size):
    if T.abs(panel[{q}, i]) > largest:
        best[0] = i
        largest = T.abs(panel[{q}, i])
if first + {q} < n:
    pivots[k, first + {q}] = T.Cast("int32", best[0]) + 1
other_{q} = best[0]
if other_{q} != first + {q}:
    for j in T.vectorized(size):
        upper_{q} = work[first + {q}, j]
        below_{q} = work[other_{q}, j]
        work[first + {q}, j] = below_{q}
        work[other_{q}, j] = upper_{q}
    for e in range({width}):
        left_{q} = panel[e, first + {q}]
        right_{q} = panel[e, other_{q}]
        panel[e, first + {q}] = right_{q}
        panel[e, other_{q}] = left_{q}
pivot_{q} = panel[{q}, first + {q}]
divisor_{q} = T.if_then_else(pivot_{q} == T.{dtype}(0), T.{dtype}(1), pivot_{q})
"""

_ROOT = """
divisor_{q} = T.sqrt(panel[{q}, first + {q}])
panel[{q}, first + {q}] = divisor_{q}
"""

_LU_END = """
            for i in range(n):
                for j in T.vectorized(n):
                    lu[k, i, j] = work[i, j]
"""

_CHOLESKY_END = """
            for i in range(n):
                for j in T.vectorized(i + 1):
                    x[k, i, j] = work[i, j]
                for j in T.vectorized(i + 1, n):
                    x[k, i, j] = T.{dtype}(0)
"""


def _factored(is_symmetric: bool) -> str:
    """Return the loops of a decomposition, panel by panel.

    Rows of `panel` are columns of the matrix, so that neighbours are lanes of vectors. Once it is
    factored, what is right of it and below is updated, two rows at a time.
    """
    best = "" if is_symmetric else _code(1, 'best = T.alloc_buffer((1,), "int64")')
    head, loop, rest = _BEGIN.lstrip("\n").partition("        for k in T.parallel(batch):\n")
    text = head + loop + best + rest
    text += _code(3, *(f"panel[{q}, i] = work[i, first + {q}]" for q in range(_WIDTH)))
    for q in range(_WIDTH):
        pivot = (_ROOT if is_symmetric else _PIVOT).strip("\n").replace("{dtype}", "{{dtype}}")
        lines = pivot.format(q=q, next=q + 1, width=_WIDTH).split("\n")
        others = range(q + 1, _WIDTH)
        lines += [
            f"factor_{q}_{e} = "
            + (f"panel[{q}, first + {e}] / divisor_{q}" if is_symmetric
               else f"panel[{e}, first + {q}]")
            for e in others
        ]  # fmt: skip
        lines.append(f"for i in T.vectorized(first + {q + 1}, size):")
        text += _code(2, *lines)
        text += _code(3, f"scaled_{q} = panel[{q}, i] / divisor_{q}", f"panel[{q}, i] = scaled_{q}")
        text += _code(3, *(
            f"panel[{e}, i] = panel[{e}, i] - factor_{q}_{e} * scaled_{q}" for e in others
        ))  # fmt: skip
    text += _code(2, "for i in T.vectorized(first, size):")
    text += _code(3, *(f"work[i, first + {q}] = panel[{q}, i]" for q in range(_WIDTH)))
    if not is_symmetric:
        text += _rows_of_panel()
    text += _code(2, f"for pair in range((size - first - {_WIDTH}) // 2):")
    text += _code(3, f"row = first + {_WIDTH} + pair * 2")
    text += _code(3, *(f"low_{q} = panel[{q}, row]" for q in range(_WIDTH)))
    text += _code(3, *(f"high_{q} = panel[{q}, row + 1]" for q in range(_WIDTH)))
    end = "row + 2" if is_symmetric else "size"
    source = "panel[{q}, j]" if is_symmetric else "work[first + {q}, j]"
    text += _code(3, f"for j in T.vectorized(first + {_WIDTH}, {end}):")
    text += _code(4, *(f"right_of_{q} = {source.format(q=q)}" for q in range(_WIDTH)))
    for name, row in (("low", "row"), ("high", "row + 1")):
        terms = [(f"{name}_{q}", f"right_of_{q}") for q in range(_WIDTH)]
        text += _code(4, f"work[{row}, j] = {_difference(f'work[{row}, j]', terms)}")
    return text + (_CHOLESKY_END if is_symmetric else _LU_END).lstrip("\n")


def _rows_of_panel() -> str:
    """Return the loop over what is right of a panel, in its rows."""
    pairs = [(q, e) for q in range(_WIDTH) for e in range(q)]
    text = _code(2, *(f"lower_{q}_{e} = panel[{e}, first + {q}]" for q, e in pairs))
    text += _code(2, f"for j in T.vectorized(first + {_WIDTH}, size):")
    for q in range(_WIDTH):
        terms = [(f"lower_{q}_{e}", f"solved_{e}") for e in range(q)]
        value = _difference(f"work[first + {q}, j]", terms)
        text += _code(3, f"solved_{q} = {value}", f"work[first + {q}, j] = solved_{q}")
    return text


# ------------------------------------------------------------------------------------------------
# Solutions
# ------------------------------------------------------------------------------------------------

_EXCHANGED = """
        for k in T.parallel(batch):
            for i in range(n):
                for j in T.vectorized(m):
                    x[k, i, j] = b[k, i, j]
            for c in range(n):
                other = T.Cast("int64", pivots[k, c]) - 1
                if other != c:
                    for j in T.vectorized(m):
                        upper = x[k, c, j]
                        below = x[k, other, j]
                        x[k, c, j] = below
                        x[k, other, j] = upper
"""

_COPY = """
        for k in T.parallel(batch):
            for i in range(n):
                for j in T.vectorized(m):
                    x[k, i, j] = b[k, i, j]
"""


def _triangular(is_upper: bool, has_unit_diagonal: bool) -> str:
    """Return the loops that solve for some rows, and then take these off the others."""
    text = _COPY.lstrip("\n") + _code(1, f"for number in range(n // {_WIDTH}):")
    first = f"n - (number + 1) * {_WIDTH}" if is_upper else f"number * {_WIDTH}"
    text += _code(2, f"first = {first}")
    order = range(_WIDTH)[:: -1 if is_upper else 1]
    for place, q in enumerate(order):
        text += _code(2, *(
            f"factor_{q}_{e} = a[k, first + {q}, first + {e}]" for e in order[:place]
        ))  # fmt: skip
        if not has_unit_diagonal:
            text += _code(2, f"divisor_{q} = a[k, first + {q}, first + {q}]")
    text += _code(2, "for j in T.vectorized(m):")
    for place, q in enumerate(order):
        terms = [(f"factor_{q}_{e}", f"solved_{e}") for e in order[:place]]
        value = _difference(f"x[k, first + {q}, j]", terms)
        value = value if has_unit_diagonal else f"({value}) / divisor_{q}"
        text += _code(3, f"solved_{q} = {value}", f"x[k, first + {q}, j] = solved_{q}")
    count = "first" if is_upper else f"n - first - {_WIDTH}"
    begin = "" if is_upper else f"first + {_WIDTH} + "
    text += _code(2, f"for pair in range(({count}) // 2):", f"    row = {begin}pair * 2")
    text += _taken_off(3, ["row", "row + 1"])
    text += _code(2, f"for single in range(({count}) % 2):")
    text += _code(3, f"row_alone = {'first - 1' if is_upper else 'n - 1'}")
    text += _taken_off(3, ["row_alone"])
    # What is left has fewer rows.
    text += _code(1, f"for number in range(n % {_WIDTH}):")
    column = f"n % {_WIDTH} - 1 - number" if is_upper else f"n - n % {_WIDTH} + number"
    text += _code(2, f"column = {column}")
    if not has_unit_diagonal:
        text += _code(2, "divisor = a[k, column, column]", "for j in T.vectorized(m):")
        text += _code(3, "x[k, column, j] = x[k, column, j] / divisor")
    others = "column" if is_upper else "column + 1, n"
    return text + _code(
        2,
        f"for other in range({others}):",
        "    factor = a[k, other, column]",
        "    for j in T.vectorized(m):",
        "        x[k, other, j] = x[k, other, j] - factor * x[k, column, j]",
    )


def _taken_off(depth: int, rows: Sequence[str]) -> str:
    """Return the loop that updates some rows by those that are solved."""
    text = ""
    prefix = "pair" if len(rows) > 1 else "single"
    for place, row in enumerate(rows):
        text += _code(depth, *(
            f"{prefix}_{place}_{q} = a[k, {row}, first + {q}]" for q in range(_WIDTH)
        ))  # fmt: skip
    text += _code(depth, "for j in T.vectorized(m):")
    text += _code(depth + 1, *(
        f"{prefix}_solved_{q} = x[k, first + {q}, j]" for q in range(_WIDTH)
    ))  # fmt: skip
    for place, row in enumerate(rows):
        terms = [(f"{prefix}_{place}_{q}", f"{prefix}_solved_{q}") for q in range(_WIDTH)]
        text += _code(depth + 1, f"x[k, {row}, j] = {_difference(f'x[k, {row}, j]', terms)}")
    return text


# ------------------------------------------------------------------------------------------------
# Functions of matrices
# ------------------------------------------------------------------------------------------------


def inverse(a: ir.Value) -> ir.Value:
    """Return inverses of square matrices."""
    dims = shape_of(a)
    identity = op.eye(dims[-1], dims[-1], 0, a.type.dtype)
    return solved_by_lu(*lu(a), op.broadcast_to(identity, dims))


def lu(a: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return the factors of square matrices in one, and which rows were exchanged, from 1."""
    if small_matrices.are_lanes(a):
        return small_matrices.lu(a)
    dims = shape_of(a)
    factors, pivots = _called(
        "lu_factors", _factored(False), {"a": a}, {"lu": dims, "pivots": dims[:-1]}
    )
    return factors, pivots


def exchanged(b: ir.Value, pivots: ir.Value) -> ir.Value:
    """Return matrices whose rows are exchanged as `lu` says."""
    inputs = {"b": b, "pivots": pivots}
    (x,) = _called("exchanged_rows", _EXCHANGED, inputs, {"x": shape_of(b)})
    return x


def solved_by_lu(factors: ir.Value, pivots: ir.Value, b: ir.Value) -> ir.Value:
    """Return `x` of `a @ x = b`, where `lu` has decomposed `a`."""
    below = solved_triangular(factors, exchanged(b, pivots), is_upper=False, has_unit_diagonal=True)
    return solved_triangular(factors, below, is_upper=True)


def solved_triangular(
    a: ir.Value, b: ir.Value, is_upper: bool, has_unit_diagonal: bool = False
) -> ir.Value:
    """Return `x` of `a @ x = b`, of which only one triangle of `a` counts."""
    body = _triangular(is_upper, has_unit_diagonal)
    name = f"{'upper' if is_upper else 'lower'}_triangular"
    (x,) = _called(name, body, {"a": a, "b": b}, {"x": shape_of(b)})
    return x


def cholesky(a: ir.Value) -> ir.Value:
    """Return lower triangular matrices whose product with their transpose is `a`."""
    if small_matrices.are_lanes(a):
        return small_matrices.cholesky(a)
    (x,) = _called("cholesky", _factored(True), {"a": a}, {"x": shape_of(a)})
    return x


def determinant(a: ir.Value) -> ir.Value:
    """Return determinants of square matrices."""
    factors, pivots = lu(a)
    return determinant_of(factors, pivots)


def determinant_of(factors: ir.Value, pivots: ir.Value) -> ir.Value:
    """Return determinants of matrices that `lu` has decomposed."""
    sign = sign_of(pivots, factors.type.dtype)
    return op.multiply(sign, op.prod(diagonal(factors), [-1]))


def diagonal(a: ir.Value) -> ir.Value:
    """Return the diagonals of square matrices."""
    n = shape_of(a)[-1]
    kept = op.where(op.eye(n, n, 0, "bool"), a, number(0, a.type.dtype))
    return op.sum(kept, [-1])


def sign_of(pivots: ir.Value, dtype: str) -> ir.Value:
    """Return 1 for an even number of exchanges of `lu`, -1 for an odd one."""
    n = shape_of(pivots)[-1]
    moved = op.not_equal(pivots, op.astype(op.arange(1, n + 1, 1, "int64"), "int32"))
    odd = op.bitwise_and(op.sum(op.astype(moved, "int32"), [-1]), number(1, "int32"))
    return op.astype(op.subtract(number(1, "int32"), op.multiply(odd, number(2, "int32"))), dtype)


def _called(
    name: str, body: str, inputs: dict[str, ir.Value], outputs: dict[str, Dims]
) -> list[ir.Value]:
    """Call a kernel for all matrices of a batch, whose dimensions are made one."""
    first = next(iter(inputs.values()))
    dtype, batch = first.type.dtype, shape_of(first)[:-2]
    arguments = [_batched(one, len(batch)) for one in inputs.values()]
    infos = [
        TensorStructInfo(
            [product(batch), *dims[len(batch) :]], "int32" if one == "pivots" else dtype
        )
        for one, dims in outputs.items()
    ]
    names = [*inputs, *outputs]
    source = _HEAD.format(
        name=name,
        params=", ".join(f"{one}_: T.handle" for one in names),
        sizes="batch, n, m = T.int64(), T.int64(), T.int64()"
        if "b" in inputs
        else "batch, n = T.int64(), T.int64()",
    )
    for one in names:
        dims = {"pivots": "(batch, n)", "b": "(batch, n, m)"}.get(one, "(batch, n, n)")
        dims = "(batch, n, m)" if one == "x" and "b" in inputs else dims
        kind = "int32" if one == "pivots" else dtype
        source += f'        {one} = T.match_buffer({one}_, {dims}, "{kind}")\n'
    kernel = add_kernel(source + body.replace("{dtype}", dtype), name, contract=True)
    result = op.call_tir(kernel, arguments, infos if len(infos) > 1 else infos[0])
    results = [result] if len(infos) == 1 else [op.get_item(result, i) for i in range(len(infos))]
    return [op.reshape(one, dims) for one, dims in zip(results, outputs.values(), strict=True)]


def _batched(x: ir.Value, rank: int) -> ir.Value:
    """Return a tensor whose first dimensions are one."""
    dims = shape_of(x)
    return x if rank == 1 else op.reshape(x, [product(dims[:rank]), *dims[rank:]])
