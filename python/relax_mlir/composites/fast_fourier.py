# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fast Fourier transforms of known lengths whose prime factors are small, as one kernel each.

A length is a product of radices. Each pass computes transforms of one radix by straight code, with
other elements as the lanes of vectors, and orders results such that the last pass has frequencies
in their order (Stockham, as in Cochran and others 1967). Lanes are neighbours in memory but where
the first pass stores results, which is a transposition in registers. Real signals of even length
are complex ones of half the length, whose even elements are the real parts.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from mlir import ir

from .. import op
from ..builder.places import state_te_gradient
from ..core.expr import const
from ..core.ir import Dim, TensorStructInfo
from .complex_numbers import Complex
from .kernels import add_kernel
from .tensors import product, shape_of

_FEWEST = 32
_MOST, _RADIX, _LANES = 1 << 16, 16, 16
_PRIMES = (2, 3, 5, 7, 11, 13)

Number: TypeAlias = "tuple[str, bool] | None"
"""What a variable of a kernel stands for, and whether it is negated; None is zero."""

Pair: TypeAlias = "tuple[Number, Number]"
"""Real and imaginary part."""

_HEAD = """
@I.ir_module
class Module:
    @T.prim_func
    def {name}({params}):
        batch = T.int64()
"""


@functools.cache
def radices_of(length: int) -> tuple[int, ...] | None:
    """Return the radices of the passes of a complex transform, None where there is none.

    The first one is how many lanes later passes have.
    """
    if length > _MOST:
        return None
    rest = length
    for prime in _PRIMES:
        while rest % prime == 0:
            rest //= prime
    if rest != 1 or length < 4:
        return None
    found = [
        (first, *others)
        for first in range(2, _RADIX + 1)
        if length % first == 0 and first < length
        for others in _products(length // first, _RADIX)
    ]
    return min(found, key=lambda radices: (_time(radices), radices), default=None)


def _products(length: int, most: int) -> list[tuple[int, ...]]:
    """Return the products of numbers that fall that a length is."""
    if length == 1:
        return [()]
    return [
        (one, *others)
        for one in range(min(most, length), 1, -1)
        if length % one == 0
        for others in _products(length // one, one)
    ]


def _time(radices: Sequence[int]) -> float:
    """Estimate the time of a transform, in operations on vectors."""
    length, first = math.prod(radices), radices[0]
    if any(_cost(radix) is None for radix in radices):
        return math.inf
    # Parts of numbers in two buffers, or one and the signal, do not fit the first cache.
    move = 4 if length <= 1024 else 16
    time = 0.0
    for number, radix in enumerate(radices):
        lanes = length // first if number == 0 else first
        vectors = _vectors(lanes) * (length // radix // lanes)
        time += vectors * (_cost(radix) + (0 if number == len(radices) - 1 else 6 * radix))
        time += vectors * radix * move
    return time


def _vectors(lanes: int) -> float:
    whole, rest = divmod(lanes, _LANES)
    # Half a vector takes half of the time, a smaller one no less.
    return whole + (0 if rest == 0 else 0.5 if rest <= _LANES // 2 else 1)


@functools.cache
def _cost(radix: int) -> int:
    """Return the number of operations of a transform by straight code."""
    code = _Code("float32")
    code.transform([((f"x{i}", False), (f"y{i}", False)) for i in range(radix)])
    # Values that do not fit into registers are stored and loaded again.
    return len(code.lines) + 16 * max(0, radix - 10)


class _Code:
    """Statements that compute with complex numbers."""

    def __init__(self, dtype: str, prefix: str = "t") -> None:
        self.lines: list[str] = []
        self._dtype = dtype
        self._prefix = prefix  # a variable that has two values would be memory
        self._count = 0

    def value(self, text: str) -> tuple[str, bool]:
        """Return a new variable for an expression."""
        self._count += 1
        name = f"{self._prefix}{self._count}"
        self.lines.append(f"{name} = {text}")
        return name, False

    def add(self, x: Number, y: Number) -> Number:
        if x is None or y is None:
            return y if x is None else x
        if x[1] == y[1]:
            return self.value(f"{x[0]} + {y[0]}")[0], x[1]
        return self.value(f"{y[0]} - {x[0]}" if x[1] else f"{x[0]} - {y[0]}")

    def scale(self, x: Number, factor: float) -> Number:
        if x is None or factor == 0:
            return None
        if abs(factor) == 1:
            return x[0], x[1] != (factor < 0)
        return self.value(f"{x[0]} * {self.number(-factor if x[1] else factor)}")

    def scaled(self, x: Pair, factor: float) -> Pair:
        return self.scale(x[0], factor), self.scale(x[1], factor)

    def number(self, value: float) -> str:
        return f"T.{self._dtype}({value!r})"

    def text(self, x: Number) -> str:
        """Return an expression for what is stored."""
        if x is None:
            return self.number(0.0)
        return f"-{x[0]}" if x[1] else x[0]

    def sum(self, x: Pair, y: Pair) -> Pair:
        return self.add(x[0], y[0]), self.add(x[1], y[1])

    def difference(self, x: Pair, y: Pair) -> Pair:
        return self.add(x[0], _negative(y[0])), self.add(x[1], _negative(y[1]))

    def times(self, x: Pair, cosine: str, sine: str) -> Pair:
        """Return a product with `cosine - i sine`, two expressions."""
        c, s = self.value(cosine)[0], self.value(sine)[0]

        def product(part: Number, factor: str) -> Number:
            return None if part is None else (self.value(f"{part[0]} * {factor}")[0], part[1])

        return (
            self.add(product(x[0], c), product(x[1], s)),
            self.add(product(x[1], c), _negative(product(x[0], s))),
        )

    def turn(self, x: Pair, part: int, whole: int) -> Pair:
        """Return a product with `exp(-2 pi i part / whole)`."""
        eighths, rest = divmod(8 * (part % whole), whole)
        if rest == 0:
            for _ in range(eighths // 2):
                x = (x[1], _negative(x[0]))
            if eighths % 2 == 0:
                return x
            both = self.add(x[0], x[1]), self.add(x[1], _negative(x[0]))
            return self.scale(both[0], math.sqrt(0.5)), self.scale(both[1], math.sqrt(0.5))
        angle = 2 * math.pi * (part % whole) / whole
        c, s = math.cos(angle), math.sin(angle)
        return (
            self.add(self.scale(x[0], c), self.scale(x[1], s)),
            self.add(self.scale(x[1], c), self.scale(x[0], -s)),
        )

    def transform(self, x: Sequence[Pair]) -> list[Pair]:
        """Return the transform of a few numbers."""
        count = len(x)
        if count == 1:
            return list(x)
        if count == 2:
            return [self.sum(*x), self.difference(*x)]
        first = 4 if count % 4 == 0 and count > 4 else _smallest_factor(count)
        if first == count:
            return self._prime(x)
        second = count // first
        columns = [self.transform(x[i::second]) for i in range(second)]
        rows = [
            self.transform([self.turn(columns[i][k], i * k, count) for i in range(second)])
            for k in range(first)
        ]
        return [rows[k % first][k // first] for k in range(count)]

    def _prime(self, x: Sequence[Pair]) -> list[Pair]:
        count, half = len(x), len(x) // 2
        sums = [self.sum(x[j], x[count - j]) for j in range(1, half + 1)]
        differences = [self.difference(x[j], x[count - j]) for j in range(1, half + 1)]
        results = [functools.reduce(self.sum, sums, x[0])] * count
        for k in range(1, half + 1):
            even: Pair = x[0]
            odd: Pair = (None, None)
            for j in range(1, half + 1):
                angle = 2 * math.pi * (j * k % count) / count
                c, s = math.cos(angle), math.sin(angle)
                even = self.sum(even, self.scaled(sums[j - 1], c))
                odd = self.sum(odd, self.scaled(differences[j - 1], s))
            turned = odd[1], _negative(odd[0])
            results[k], results[count - k] = self.sum(even, turned), self.difference(even, turned)
        return results


def _negative(x: Number) -> Number:
    return None if x is None else (x[0], not x[1])


def _smallest_factor(number: int) -> int:
    return next((one for one in range(2, math.isqrt(number) + 1) if number % one == 0), number)


class _Kernel:
    """The text of a kernel, and the numbers that it reads."""

    def __init__(self, dtype: str, radices: Sequence[int]) -> None:
        self.dtype = dtype
        self.radices = radices
        self.length = math.prod(radices)
        self.lanes = radices[0]
        self.lines: list[str] = []
        self.tables: list[np.ndarray] = []
        self.table_size = 0

    def write(self, depth: int, *lines: str) -> None:
        self.lines += ["    " * (depth + 2) + line for line in lines]

    def table(self, values: np.ndarray) -> int:
        """Return where numbers begin in the table."""
        begin = self.table_size
        self.tables.append(values.reshape(-1))
        self.table_size += values.size
        return begin

    def buffers(self, name: str, shape: str | None = None) -> None:
        """Take scratch memory for the parts of numbers, by default in rows of lanes."""
        shape = shape or f"{self.length // self.lanes}, {self.lanes}"
        for part in "ri":
            self.write(1, f'{name}{part} = T.alloc_buffer(({shape},), "{self.dtype}")')

    def passes(self, load: tuple[str, str | None], target: tuple[str, str]) -> None:
        """Write all passes.

        Parameters
        ----------
        load : tuple of str
            Expressions of the parts of element `{}` of the signal; None for real ones.
        target : tuple of str
            Where the last pass stores the parts of lane `q` of row `{}` of frequencies.
        """
        rows, stride = self.length, 1
        for number, radix in enumerate(self.radices):
            is_last = number == len(self.radices) - 1
            name = "ab"[number % 2]
            at = "p, {}" if number == 0 else "{}, q"
            names = target if is_last else (f"{name}r[{at}]", f"{name}i[{at}]")
            if not is_last and number < 2:
                self.buffers(name)
            rows //= radix
            if number == 0:
                self._first(load, names, radix, rows)
            else:
                self._later("ab"[(number - 1) % 2], names, radix, rows, stride, is_last)
            stride *= radix

    def _first(
        self, load: tuple[str, str | None], target: tuple[str, str], radix: int, rows: int
    ) -> None:
        places = np.outer(np.arange(1, radix), np.arange(rows))
        cosine = self.table(_cosines(places, self.length))
        sine = self.table(_sines(places, self.length))
        code = _Code(self.dtype, "a")
        x: list[Pair] = [
            (
                code.value(load[0].format(f"(p + {rows * i})")),
                None if load[1] is None else code.value(load[1].format(f"(p + {rows * i})")),
            )
            for i in range(radix)
        ]
        results = code.transform(x)
        for k in range(1, radix):
            at = rows * (k - 1)
            results[k] = code.times(results[k], f"w[p + {cosine + at}]", f"w[p + {sine + at}]")
        for k, pair in enumerate(results):
            code.lines += [
                f"{name.format(k)} = {code.text(part)}"
                for name, part in zip(target, pair, strict=True)
            ]
        self.write(1, f"for p in T.vectorized({rows}):")
        self.write(2, *code.lines)

    def _later(
        self, source: str, target: tuple[str, str], radix: int, rows: int, stride: int,
        is_last: bool,
    ) -> None:  # fmt: skip
        """Write a pass whose `stride` lanes are several rows of lanes."""
        groups = stride // self.lanes
        depth, row, code = 1, "0", _Code(self.dtype, f"t{stride}_")
        if rows > 1:
            self.write(depth, f"for p in range({rows}):")
            depth, row = depth + 1, "p"
        group = "0"
        if groups > 1:
            self.write(depth, f"for g in range({groups}):")
            depth, group = depth + 1, "g"
        self.write(depth, f"for q in T.vectorized({self.lanes}):")
        places = [f"[({row} + {rows * i}) * {groups} + {group}, q]" for i in range(radix)]
        x: list[Pair] = [
            (code.value(f"{source}r{place}"), code.value(f"{source}i{place}")) for place in places
        ]
        results = code.transform(x)
        if not is_last:
            turns = np.outer(np.arange(rows), np.arange(1, radix))
            factors = np.stack([_cosines(turns, rows * radix), _sines(turns, rows * radix)], -1)
            begin = self.table(factors)
            for k in range(1, radix):
                at = f"w[{row} * {2 * (radix - 1)} + {begin + 2 * (k - 1)}"
                results[k] = code.times(results[k], f"{at}]", f"{at} + 1]")
        for k, pair in enumerate(results):
            place = f"({row} * {radix} + {k}) * {groups} + {group}"
            code.lines += [
                f"{name.format(place)} = {code.text(part)}"
                for name, part in zip(target, pair, strict=True)
            ]
        self.write(depth + 1, *code.lines)

    def source(self, name: str, buffers: dict[str, str]) -> str:
        """Return the kernel, whose parameters have shapes after that of the batch."""
        head = _HEAD.format(name=name, params=", ".join(f"{one}_: T.handle" for one in buffers))
        for one, shape in buffers.items():
            head += f'        {one} = T.match_buffer({one}_, ({shape},), "{self.dtype}")\n'
        return head + "        for r in T.parallel(batch):\n" + "\n".join(self.lines) + "\n"


def _cosines(places: np.ndarray, length: int) -> np.ndarray:
    return np.cos((places % length) * (2 * np.pi / length))


def _sines(places: np.ndarray, length: int) -> np.ndarray:
    return np.sin((places % length) * (2 * np.pi / length))


# ------------------------------------------------------------------------------------------------
# Kernels
# ------------------------------------------------------------------------------------------------


def _of_numbers(length: int, dtype: str, is_real: bool) -> tuple[_Kernel, dict[str, str]]:
    """Return the kernel of all frequencies of complex or real signals."""
    kernel = _Kernel(dtype, _known_radices(length))
    kernel.passes(("x[r, {}]", None if is_real else "y[r, {}]"), ("u[r, {}, q]", "v[r, {}, q]"))
    rows = f"batch, {length // kernel.lanes}, {kernel.lanes}"
    inputs = {"x": f"batch, {length}"} if is_real else dict.fromkeys("xy", f"batch, {length}")
    return kernel, inputs | {"w": str(kernel.table_size), "u": rows, "v": rows}


def _of_half(length: int, dtype: str) -> tuple[_Kernel, dict[str, str]]:
    """Return the kernel of the frequencies up to half the length of real signals.

    Those of the even elements and of the odd ones are parts of a complex transform that are even
    and odd functions of the frequency.
    """
    half = length // 2
    kernel = _Kernel(dtype, _known_radices(half))
    kernel.passes(("x[r, {} * 2]", "x[r, {} * 2 + 1]"), ("cr[{}, q]", "ci[{}, q]"))
    places = np.arange(half)
    cosine = kernel.table(_cosines(places, length) / 2)
    sine = kernel.table(_sines(places, length) / 2)
    code = _Code(dtype)
    zero = code.number(0.0)
    kernel.write(
        1,
        f'fr = T.decl_buffer(({half},), "{dtype}", data=cr.data)',
        f'fi = T.decl_buffer(({half},), "{dtype}", data=ci.data)',
        "u[r, 0] = fr[0] + fi[0]",
        f"v[r, 0] = {zero}",
        f"u[r, {half}] = fr[0] - fi[0]",
        f"v[r, {half}] = {zero}",
        f"for k in T.vectorized(1, {half}):",
    )
    kernel.write(
        2,
        f"cosine = w[k + {cosine}]",
        f"sine = w[k + {sine}]",
        "xr = fr[k]",
        "xi = fi[k]",
        f"yr = fr[{half} - k]",
        f"yi = fi[{half} - k]",
        "dr = xr - yr",
        "di = xi + yi",
        f"u[r, k] = (xr + yr) * {code.number(0.5)} - dr * sine + di * cosine",
        f"v[r, k] = (xi - yi) * {code.number(0.5)} - di * sine - dr * cosine",
    )
    # Scratch memory is taken first.
    lines, kernel.lines = kernel.lines, []
    kernel.buffers("c")
    kernel.lines += lines
    columns = f"batch, {half + 1}"
    return kernel, {
        "x": f"batch, {length}", "w": str(kernel.table_size), "u": columns, "v": columns,
    }  # fmt: skip


def _of_inverse_half(length: int, dtype: str) -> tuple[_Kernel, dict[str, str]]:
    """Return the kernel of real signals of their frequencies up to half the length.

    With their parts exchanged, frequencies have the signal with its parts exchanged.
    """
    half = length // 2
    kernel = _Kernel(dtype, _known_radices(half))
    cosine = kernel.table(_cosines(np.arange(half), length))
    sine = kernel.table(_sines(np.arange(half), length))
    kernel.buffers("c", str(half))
    kernel.write(
        1,
        f"ci[0] = u[r, 0] + u[r, {half}]",
        f"cr[0] = u[r, 0] - u[r, {half}]",
        f"for k in T.vectorized(1, {half}):",
    )
    kernel.write(
        2,
        f"cosine = w[k + {cosine}]",
        f"sine = w[k + {sine}]",
        "xr = u[r, k]",
        "xi = v[r, k]",
        f"yr = u[r, {half} - k]",
        f"yi = v[r, {half} - k]",
        "dr = xr - yr",
        "di = xi + yi",
        "ci[k] = (xr + yr) - dr * sine - di * cosine",
        "cr[k] = (xi - yi) + dr * cosine - di * sine",
    )
    kernel.passes(("cr[{}]", "ci[{}]"), ("x[r, {}, q, 1]", "x[r, {}, q, 0]"))
    columns = f"batch, {half + 1}"
    return kernel, {
        "u": columns, "v": columns, "w": str(kernel.table_size),
        "x": f"batch, {half // kernel.lanes}, {kernel.lanes}, 2",
    }  # fmt: skip


def _known_radices(length: int) -> tuple[int, ...]:
    radices = radices_of(length)
    if radices is None:
        raise ValueError(f"expected a length with small prime factors, but got {length}")
    return radices


def is_fast(length: int | Dim) -> bool:
    """Say whether there is a kernel of complex signals of a length."""
    return isinstance(length, int) and length >= _FEWEST and radices_of(length) is not None


def has_half(length: int | Dim) -> bool:
    """Say whether there is a kernel of real signals of a length."""
    return isinstance(length, int) and length % 2 == 0 and is_fast(length // 2)


def transform(x: Complex | ir.Value) -> Complex:
    """Return all frequencies of complex or real signals whose length `is_fast`."""
    is_real = not isinstance(x, Complex)
    parts = [x.real, x.imag] if isinstance(x, Complex) else [x]
    dims = shape_of(parts[0])
    name = f"fourier_{dims[-1]}"
    real, imag = _called(name, _of_numbers(dims[-1], parts[0].type.dtype, is_real), parts, 2)
    return Complex(op.reshape(real, dims), op.reshape(imag, dims))


def half(x: ir.Value) -> Complex:
    """Return the frequencies from 0 to `n / 2` of real signals whose length `has_half`."""
    *outer, length = shape_of(x)
    made = _called(f"real_fourier_{length}", _of_half(length, x.type.dtype), [x], 2)
    return Complex(*(op.reshape(part, [*outer, length // 2 + 1]) for part in made))


def inverse_half(x: Complex, length: int) -> ir.Value:
    """Return real signals, times their length, of their frequencies from 0 to `length / 2`."""
    outer = shape_of(x.real)[:-1]
    name = f"inverse_real_fourier_{length}"
    (made,) = _called(name, _of_inverse_half(length, x.dtype), [x.real, x.imag], 1)
    return op.reshape(made, [*outer, length])


def _called(
    name: str, made: tuple[_Kernel, dict[str, str]], parts: Sequence[ir.Value], count: int
) -> list[ir.Value]:
    """Call a kernel with the first buffers, for all rows; the last ones are its results."""
    kernel, buffers = made
    outer = shape_of(parts[0])[:-1]
    batch = product(outer)
    rows = [
        part if len(outer) == 1 else op.reshape(part, [batch, shape_of(part)[-1]]) for part in parts
    ]
    arguments = dict(zip((one for one in buffers if one != "w"), rows, strict=False))
    arguments["w"] = const(np.concatenate(kernel.tables), kernel.dtype)
    names = list(buffers)
    infos = [
        TensorStructInfo([batch, *map(int, buffers[one].split(", ")[1:])], kernel.dtype)
        for one in names[-count:]
    ]
    function = add_kernel(kernel.source(name, buffers), name, contract=True)
    result = op.call_tir(
        function, [arguments[one] for one in names[:-count]], infos if count > 1 else infos[0]
    )
    length = math.prod(map(int, buffers["x"].split(", ")[1:]))
    state_te_gradient(result, "fourier_gradient", {"length": length, "is_inverse": count == 1})
    return [result] if count == 1 else [op.get_item(result, i) for i in range(count)]
