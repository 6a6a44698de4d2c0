# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure how far the elementary functions of compiled float32 kernels are from exact values.

Each function runs on all 2^32 numbers, or on every n-th one, and is compared with that of NumPy for
float64 (`erf`, which NumPy lacks, with that of the C library). The unit is that of the last place
of the exact value in float32.

    python scripts/math_accuracy.py --stride 1009
    python scripts/math_accuracy.py --stride 1009 --fast
    python scripts/math_accuracy.py --write docs/dev/math.md
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import relax_mlir as relax

UNARY = (
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
)

BINARY = ("atan2", "powf")

FUNCTIONS = (*UNARY, *BINARY, "sigmoid")

# Values at which functions are special, or close to it.
SPECIAL = tuple(
    float(sign * value)
    for value in (
        0.0,
        2.0**-149,
        2.0**-126,
        2.0**-24,
        1 / 3,
        0.5,
        1 - 2.0**-24,
        1.0,
        1 + 2.0**-23,
        1.5,
        2.0,
        2.5,
        3.0,
        np.pi / 2,
        100.0,
        2.0**24 - 1,
        2.0**24,
        2.0**24 + 2,
        2.0**127,
        (2 - 2.0**-23) * 2.0**127,
        np.inf,
        np.nan,
    )
    for sign in (1, -1)
)

_KERNEL = """
func.func private @f({params}, %y: tensor<?x{type}>) -> tensor<?x{type}> {{
  %0 = linalg.generic {{
    indexing_maps = [{maps}], iterator_types = ["parallel"]
  }} ins({inputs} : {input_types}) outs(%y : tensor<?x{type}>) {{
  ^bb0({elements}, %out: {type}):
    {body}
    linalg.yield %r : {type}
  }} -> tensor<?x{type}>
  return %0 : tensor<?x{type}>
}}
relax.func @main({relax_params}) -> !relax.tensor<[n], {type}> {{
  %0 = relax.call_tir @f({inputs}) : ({relax_types}) -> !relax.tensor<[n], {type}>
  relax.return %0 : !relax.tensor<[n], {type}>
}}
"""


_OPERATOR = """
relax.func @main(%x: !relax.tensor<[n], {type}>) -> !relax.tensor<[n], {type}> {{
  %0 = relax.{name} %x : (!relax.tensor<[n], {type}>) -> !relax.tensor<[n], {type}>
  relax.return %0 : !relax.tensor<[n], {type}>
}}
"""


def compile_function(
    name: str, dtype: str = "f32", *, fast: bool = False
) -> Callable[..., np.ndarray]:
    """Return a function of arrays that is computed by a compiled kernel.

    Parameters
    ----------
    name : str
        The name of an operation of MLIR's dialect ``math``, or "sigmoid".
    dtype : str
        The type of the elements, "f16", "bf16", "f32" or "f64", as MLIR writes it.
    fast : bool
        Whether it may be less accurate.
    """
    count = 2 if name in BINARY else 1
    inputs = [f"%x{i}" for i in range(count)]
    text = _KERNEL.format(
        name=name,
        type=dtype,
        params=", ".join(f"{x}: tensor<?x{dtype}>" for x in inputs),
        maps=", ".join(["affine_map<(i) -> (i)>"] * (count + 1)),
        inputs=", ".join(inputs),
        input_types=", ".join([f"tensor<?x{dtype}>"] * count),
        elements=", ".join(f"%a{i}: {dtype}" for i in range(count)),
        body=f"%r = math.{name} {', '.join(f'%a{i}' for i in range(count))} : {dtype}",
        relax_params=", ".join(f"{x}: !relax.tensor<[n], {dtype}>" for x in inputs),
        relax_types=", ".join([f"!relax.tensor<[n], {dtype}>"] * count),
    )
    if name == "sigmoid":  # which is an operator, of several operations
        text = _OPERATOR.format(name=name, type=dtype)
    main = relax.VirtualMachine(relax.compile(text, fast_math=fast))["main"]
    return lambda *arrays: np.from_dlpack(main(*arrays))


def find_reference(name: str) -> Callable[..., np.ndarray]:
    """Return a function of float64 arrays that is exact enough to tell the errors of float32."""
    if name == "erf":
        return compile_function(name, "f64")
    if name == "rsqrt":
        return lambda x: 1 / np.sqrt(x)
    if name == "sigmoid":
        return lambda x: np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-np.abs(x)))
    name = {"powf": "power"}.get(name, name)
    return getattr(np, f"arc{name[1:]}" if name.startswith("a") else name)


def measure_errors(actual: np.ndarray, exact: np.ndarray, *, flushed: bool = False) -> np.ndarray:
    """Return the errors of float32 numbers in units in the last place of the exact ones.

    A difference in being a number, or in the sign of zero, is infinite. Beyond the largest
    number, infinity counts as 2^128. Where `flushed`, 0 is right for what is below 2^-125.
    """
    limit = 2.0**128
    values = np.clip(actual.astype(np.float64), -limit, limit)
    wanted = np.clip(exact, -limit, limit)
    exponents = np.maximum(np.frexp(np.where(wanted == 0, 1e-300, wanted))[1] - 1, -126)
    errors = np.abs(values - wanted) * np.ldexp(1.0, 23 - np.minimum(exponents, 127))
    none = np.isnan(actual) | np.isnan(exact)
    errors[none] = np.where(np.isnan(actual) == np.isnan(exact), 0, np.inf)[none]
    if flushed:
        errors[(actual == 0) & (np.abs(exact) < 2.0**-125)] = 0
        return errors
    signs = (exact == 0) & (actual == 0) & (np.signbit(exact) != np.signbit(actual))
    errors[signs] = np.inf
    return errors


@dataclass
class Result:
    """The largest error of a function, and where it is."""

    name: str
    error: float = 0.0
    at: tuple[float, ...] = ()
    count: int = 0

    def add(self, arguments: Sequence[np.ndarray], errors: np.ndarray) -> None:
        """Count the errors at some arguments."""
        worst = int(np.argmax(errors))
        self.count += errors.size
        if not self.at or errors[worst] > self.error:
            self.error = float(errors[worst])
            self.at = tuple(float(x[worst]) for x in arguments)


def _compare(
    result: Result,
    function: Callable[..., np.ndarray],
    reference: Callable[..., np.ndarray],
    *arguments: np.ndarray,
    flushed: bool,
) -> None:
    with np.errstate(all="ignore"):
        exact = reference(*(x.astype(np.float64) for x in arguments))
        result.add(arguments, measure_errors(function(*arguments), exact, flushed=flushed))


def measure(name: str, stride: int = 1, chunk: int = 1 << 20, *, fast: bool = False) -> Result:
    """Return the largest error of a function over every `stride`-th number and the special ones.

    Of functions with too many pairs of arguments, as many pairs as there are numbers are chosen at
    random, of all sizes; of `powf` also bases of all sizes with exponents that give numbers, of
    `atan2` sides of one size.
    """
    function, reference = compile_function(name, fast=fast), find_reference(name)
    result = Result(name)
    special = np.array(SPECIAL, np.float32)
    if name in BINARY:
        pairs = np.array(list(itertools.product(special, special)), np.float32)
        _compare(result, function, reference, *np.ascontiguousarray(pairs.T), flushed=fast)
        random = np.random.default_rng(1)
        for _ in range(0, (1 << 32) // stride, chunk):
            bits = random.integers(0, 1 << 32, (2, chunk), np.uint32)
            x, y = bits.view(np.float32)
            _compare(result, function, reference, x, y, flushed=fast)
            if name == "atan2":
                x, y = random.standard_normal((2, chunk)).astype(np.float32)
            else:
                x = np.abs(x)
                with np.errstate(all="ignore"):
                    y = (random.uniform(-150, 130, chunk) / np.log2(x)).astype(np.float32)
            _compare(result, function, reference, x, y, flushed=fast)
        return result
    _compare(result, function, reference, special, flushed=fast)
    for start in range(0, 1 << 32, chunk * stride):
        stop = min(start + chunk * stride, 1 << 32)
        x = np.arange(start, stop, stride, dtype=np.uint64).astype(np.uint32).view(np.float32)
        _compare(result, function, reference, x, flushed=fast)
    return result


def format_table(results: Sequence[Result], stride: int) -> str:
    """Return the results as a table in Markdown."""
    numbers = "all 2^32 numbers" if stride == 1 else f"one of {stride} of the 2^32 numbers"
    lines = [f"Largest errors over {numbers}:", "", "| function | ulp | at |", "|---|---|---|"]
    for result in results:
        at = ", ".join(f"`{np.float32(x).item().hex()}`" for x in result.at)
        prefix = "relax" if result.name == "sigmoid" else "math"
        lines.append(f"| `{prefix}.{result.name}` | {result.error:.2f} | {at} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", default=FUNCTIONS, help="names, as in math.exp")
    parser.add_argument("--stride", type=int, default=1, help="take every n-th number")
    parser.add_argument("--limit", type=float, help="fail beyond that many ulp; 4 unless --fast")
    parser.add_argument("--fast", action="store_true", help="measure what fast_math=True computes")
    parser.add_argument("--write", type=Path, help="a Markdown file whose table is replaced")
    options = parser.parse_args()
    unknown = sorted(set(options.functions) - set(FUNCTIONS))
    if unknown or options.stride < 1:
        parser.error(f"unknown functions: {unknown}" if unknown else "expected a stride above 0")
    results = []
    for name in options.functions:
        results.append(measure(name, options.stride, fast=options.fast))
        print(f"{name:6} {results[-1].error:6.3f} ulp at {results[-1].at}", flush=True)
    table = format_table(results, options.stride)
    if options.write:
        text = options.write.read_text(encoding="utf-8")
        marks = "fast errors" if options.fast else "errors"
        marked = re.compile(rf"(<!-- {marks} -->\n).*?(<!-- end -->)", re.DOTALL)
        options.write.write_text(marked.sub(rf"\g<1>{table}\g<2>", text), encoding="utf-8")
    limit = options.limit or (np.inf if options.fast else 4.0)
    return int(any(result.error >= limit for result in results))


if __name__ == "__main__":
    sys.exit(main())
