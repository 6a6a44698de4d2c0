# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers, in `relax_mlir.op.random`.

They depend on a key alone, an integer of 64 bits that is an argument of the function: the same key
gives the same numbers, for any number of threads and on every device. One key is for one operator;
`split` makes others of it. `bits` and, of float32 and float64, `uniform` give the numbers of
``jax.random`` with the key ``jax.random.key(seed)``.

Examples
--------
>>> import numpy as np
>>> import relax_mlir as relax
>>> from relax_mlir import op
>>> key = relax.Var("key", relax.TensorStructInfo((), "uint64"))
>>> bb = relax.BlockBuilder()
>>> with bb.function("main", [key]):
...     first, second = op.random.split(key)
...     noise = op.random.normal(first, (2, 3))
...     coins = op.random.bernoulli(second, 0.5, (4,))
...     _ = bb.emit_func_output([noise, coins])
>>> main = relax.VirtualMachine(relax.compile(bb.get()))["main"]
>>> noise, coins = map(np.from_dlpack, main(np.array(7, "uint64")))
>>> noise.shape, coins.dtype
((2, 3), dtype('bool'))
>>> bool((np.from_dlpack(main(np.array(7, "uint64"))[0]) == noise).all())
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from mlir import ir

from .. import op
from ..core.dtypes import dtype_name
from ..core.expr import TensorLike, as_tensor
from ..core.ir import Dim
from .selection import multinomial_from_uniform
from .tensors import bits_of, cast, number, product, shape_of

__all__ = [
    "bernoulli",
    "bits",
    "dropout",
    "exponential",
    "multinomial",
    "normal",
    "permutation",
    "randint",
    "split",
    "uniform",
]

Sizes = Sequence["int | str | Dim"]
# Bits of the fraction of a float.
_FRACTION = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}

# sin(2 pi t) / t of |t| <= 1/4 as a polynomial of the square of t, with a relative error of 5e-9.
_SINE_OF_TURN = (6.283185273790764, -41.34167747838713, 81.60223124248755, -76.57499217708111,
                 39.71091810983586)  # fmt: skip


def _dims(shape: Sizes) -> list[int | Dim]:
    return [dim if isinstance(dim, int) else Dim(dim) for dim in shape]


def _words(key: TensorLike, count: int | Dim) -> tuple[ir.Value, ir.Value]:
    """Return the high and the low words of random integers of 64 bits."""
    both = op.random_bits(key, count)
    high = op.astype(op.right_shift(both, number(32, "uint64")), "uint32")
    return high, op.astype(both, "uint32")


def _vector(key: TensorLike, count: int | Dim, dtype: str) -> ir.Value:
    if dtype == "uint64":
        return op.random_bits(key, count)
    return cast(op.bitwise_xor(*_words(key, count)), dtype)


def _fractions(words: ir.Value, dtype: str) -> ir.Value:
    """Return the highest bits of words as numbers from 0 to less than 1."""
    fraction = _FRACTION[dtype]
    width = bits_of(words.type.dtype)
    high = op.right_shift(words, number(width - fraction, words.type.dtype))
    return op.multiply(cast(high, dtype), number(2.0**-fraction, dtype))


def _float_dtype(dtype: Any) -> str:
    name = dtype_name(dtype)
    if name not in _FRACTION:
        raise ValueError(f"expected dtype to be one of {', '.join(_FRACTION)}, but got {name!r}")
    return name


def _wide(x: ir.Value) -> ir.Value:
    """Return floats of 16 bits as float32."""
    return x if x.type.dtype in ("float32", "float64") else op.astype(x, "float32")


def _unit(key: TensorLike, count: int | Dim, dtype: str) -> ir.Value:
    return _fractions(_vector(key, count, "uint64" if dtype == "float64" else "uint32"), dtype)


def split(key: TensorLike, count: int = 2) -> list[ir.Value]:
    """Return keys whose numbers are independent of each other's.

    Parameters
    ----------
    key : tensor, number or array
        An integer of 64 bits.
    count : int

    Returns
    -------
    list of mlir.ir.Value
        Tensors of rank 0 of data type uint64.
    """
    keys = op.random_bits(key, count)
    return [op.take(keys, number(i, "int64"), 0) for i in range(count)]


def numbered_key(key: TensorLike, place: int) -> ir.Value:
    """Return one of the keys that `split` makes."""
    return op.take(op.random_bits(key, place + 1), number(place, "int64"), 0)


def bits(key: TensorLike, shape: Sizes, dtype: Any = "uint32") -> ir.Value:
    """Return random integers of all values of an unsigned data type.

    Parameters
    ----------
    key : tensor, number or array
        An integer of 64 bits.
    shape : sequence of int, str or Dim
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If the data type is none of unsigned integers.
    """
    name = dtype_name(dtype)
    if not name.startswith("uint"):
        raise ValueError(f"expected dtype to be one of unsigned integers, but got {name!r}")
    dims = _dims(shape)
    return op.reshape(_vector(key, product(dims), name), dims)


def uniform(
    key: TensorLike, shape: Sizes, low: float = 0.0, high: float = 1.0, dtype: Any = "float32"
) -> ir.Value:
    """Return numbers of the uniform distribution from low to less than high.

    Parameters
    ----------
    key : tensor, number or array
        An integer of 64 bits.
    shape : sequence of int, str or Dim
    low, high : float
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type
        A data type of floats of 16 bits or more.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If the data type is none of these, or `low` is not less than `high`.
    """
    name, dims = _float_dtype(dtype), _dims(shape)
    if not (low < high and math.isfinite(high - low)):
        raise ValueError(f"expected finite low < high, but got {low} and {high}")
    numbers = _unit(key, product(dims), name)
    if (low, high) != (0, 1):
        scaled = op.multiply(numbers, number(high - low, name))
        numbers = op.maximum(op.add(scaled, number(low, name)), number(low, name))
    return op.reshape(numbers, dims)


def normal(
    key: TensorLike, shape: Sizes, mean: float = 0.0, std: float = 1.0, dtype: Any = "float32"
) -> ir.Value:
    """Return numbers of the normal distribution.

    Parameters
    ----------
    key : tensor, number or array
        An integer of 64 bits.
    shape : sequence of int, str or Dim
    mean, std : float
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type
        A data type of floats of 16 bits or more; those of 16 bits are rounded from float32.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If the data type is none of these, or `std` is negative.

    Notes
    -----
    The transform of Box and Muller, of two uniform numbers: ``sqrt(-2 log(1 - u)) cos(2 pi v)``.
    """
    name, dims = _float_dtype(dtype), _dims(shape)
    if not std >= 0:
        raise ValueError(f"expected std of 0 or more, but got {std}")
    count = product(dims)
    if name == "float64":
        first, second = split(key)
        words = op.random_bits(first, count), op.random_bits(second, count)
    else:
        words = _words(key, count)
    wide = "float64" if name == "float64" else "float32"
    u, v = (_fractions(word, wide) for word in words)
    radius = op.sqrt(op.multiply(_log_of_rest(u), number(-2, wide)))
    numbers = op.multiply(radius, _cos_of_turns(v))
    if std != 1:
        numbers = op.multiply(numbers, number(std, wide))
    if mean != 0:
        numbers = op.add(numbers, number(mean, wide))
    return op.reshape(cast(numbers, name), dims)


def _cos_of_turns(v: ir.Value) -> ir.Value:
    """Return cos(2 pi v) of numbers from 0 to 1."""
    dtype = v.type.dtype
    if dtype == "float64":
        return op.cos(op.multiply(v, number(2 * math.pi, dtype)))
    # The sine of at most a quarter of a turn, which the subtractions give exactly.
    turn = op.subtract(op.abs(op.subtract(v, number(0.5, dtype))), number(0.25, dtype))
    square = op.multiply(turn, turn)
    total = number(_SINE_OF_TURN[-1], dtype)
    for factor in reversed(_SINE_OF_TURN[:-1]):
        total = op.add(op.multiply(total, square), number(factor, dtype))
    return op.multiply(total, turn)


def _log_of_rest(u: ir.Value) -> ir.Value:
    """Return log(1 - u) of numbers less than 1."""
    return op.log(op.subtract(number(1, u.type.dtype), u))


def exponential(
    key: TensorLike, shape: Sizes, rate: float = 1.0, dtype: Any = "float32"
) -> ir.Value:
    """Return numbers of the exponential distribution.

    Parameters
    ----------
    key : tensor, number or array
        An integer of 64 bits.
    shape : sequence of int, str or Dim
    rate : float
        The reciprocal of the mean.
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type
        A data type of floats of 16 bits or more; those of 16 bits are rounded from float32.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If the data type is none of these, or `rate` is not positive.
    """
    name, dims = _float_dtype(dtype), _dims(shape)
    if not rate > 0:
        raise ValueError(f"expected a positive rate, but got {rate}")
    wide = "float64" if name == "float64" else "float32"
    numbers = op.multiply(_log_of_rest(_unit(key, product(dims), wide)), number(-1 / rate, wide))
    return op.reshape(cast(numbers, name), dims)


def bernoulli(
    key: TensorLike, probability: TensorLike = 0.5, shape: Sizes | None = None
) -> ir.Value:
    """Return True with a probability.

    Parameters
    ----------
    key : tensor, number or array
        An integer of 64 bits.
    probability : tensor, number or array
        Floats from 0 to 1, which are broadcast to the shape.
    shape : sequence of int, str or Dim, optional
        By default that of `probability`.

    Returns
    -------
    mlir.ir.Value
        A tensor of bool.
    """
    chance = probability
    if isinstance(probability, (int, float)):
        chance = np.float32(probability)
    wanted = _wide(as_tensor(chance))
    dims = shape_of(wanted) if shape is None else _dims(shape)
    numbers = op.reshape(_unit(key, product(dims), wanted.type.dtype), dims)
    return op.less(numbers, wanted)


def randint(key: TensorLike, shape: Sizes, low: int, high: int, dtype: Any = "int32") -> ir.Value:
    """Return integers from low to less than high, all with the same probability.

    Parameters
    ----------
    key : tensor, number or array
        An integer of 64 bits.
    shape : sequence of int, str or Dim
    low, high : int
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If there is no such integer, or some are none of the data type or of int64.

    Notes
    -----
    The remainder of 64 bits: probabilities differ by less than ``(high - low) / 2**64``.
    """
    if not (-(2**63) <= low < high <= 2**63 - 1 and high - low < 2**63):
        raise ValueError(f"expected integers low < high of 64 bits, but got {low} and {high}")
    name, dims = dtype_name(dtype), _dims(shape)
    if name.startswith(("int", "uint")):
        least, most = np.iinfo(name).min, np.iinfo(name).max
        if low < least or high - 1 > most:
            raise ValueError(f"expected integers of {name}, but got those from {low} to {high - 1}")
    rest = op.mod(op.random_bits(key, product(dims)), number(high - low, "uint64"))
    numbers = op.add(op.astype(rest, "int64"), number(low, "int64"))
    return op.reshape(cast(numbers, name), dims)


def permutation(key: TensorLike, count: int | str | Dim) -> ir.Value:
    """Return the numbers from 0 to less than count in a random order.

    Parameters
    ----------
    key : tensor, number or array
        An integer of 64 bits.
    count : int, str or Dim

    Returns
    -------
    mlir.ir.Value
        A vector of int64.
    """
    numbers = op.random_bits(key, _dims([count])[0])
    positive = op.astype(op.right_shift(numbers, number(1, "uint64")), "int64")
    return op.argsort(positive, dtype="int64")


def multinomial(
    key: TensorLike, probabilities: TensorLike, count: int, replacement: bool = True
) -> ir.Value:
    """Return the numbers of elements, drawn from distributions.

    Parameters
    ----------
    key : tensor, number or array
        An integer of 64 bits.
    probabilities : tensor, number or array
        A distribution in each row of the last axis: floats of 0 or more, whose sum may be any.
    count : int
        How many elements to draw of each distribution.
    replacement : bool
        Whether an element may be drawn more than once. Otherwise each distribution needs as many
        elements with a probability above 0.

    Returns
    -------
    mlir.ir.Value
        A tensor of int64, whose last axis has the size `count`.

    Raises
    ------
    ValueError
        If there is no element to draw, or fewer than `count` without replacement.
    """
    chances = _wide(as_tensor(probabilities))
    dtype, dims = chances.type.dtype, shape_of(chances)
    if not dims:
        raise ValueError("expected probabilities of rank 1 or more, but got a number")
    *rows, size = dims
    if isinstance(size, int) and size < (1 if replacement else count):
        raise ValueError(f"expected {count} elements or more to draw, but got {size}")
    if not replacement:
        # The elements whose exponential clocks ring first.
        clocks = op.divide(exponential(key, dims, dtype=dtype), chances)
        never = number(math.inf, dtype)
        clocks = op.where(op.greater(chances, number(0, dtype)), clocks, never)
        return op.topk(clocks, count, -1, "indices", False, "int64")
    total = product(rows)
    table = op.reshape(chances, [total, size])
    # The last one of the sums that the element is found by: a sum of its own is rounded otherwise.
    sums = op.strided_slice(op.cumsum(table, 1), [1], [size - 1], [size], [1], assume_inbound=True)
    # More than 0, since the first element may have the probability 0.
    rest = op.subtract(number(1, dtype), _unit(key, total * count, dtype))
    wanted = op.multiply(op.reshape(rest, [total, count]), sums)
    wanted = op.reshape(wanted, [total * count, 1])
    places = op.reshape(op.arange(0, total, 1, "int64"), [total, 1])
    chosen = op.reshape(op.broadcast_to(places, [total, count]), [total * count, 1])
    found = multinomial_from_uniform(table, wanted, chosen)
    return op.reshape(found, [*rows, count])


def dropout(key: TensorLike, data: TensorLike, rate: float = 0.5) -> ir.Value:
    """Return a tensor with zeros in random places, the rest divided by the share that is kept.

    Parameters
    ----------
    key : tensor, number or array
        An integer of 64 bits.
    data : tensor, number or array
        Floats.
    rate : float
        The probability of a zero, from 0 to 1.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If `rate` is none of these.
    """
    x = as_tensor(data)
    return op.multiply(x, dropout_mask(key, x, rate)[1])


def dropout_mask(key: TensorLike, x: ir.Value, rate: float) -> tuple[ir.Value, ir.Value]:
    """Return which elements dropout keeps, and what it multiplies all of them by."""
    if not 0 <= rate <= 1:
        raise ValueError(f"expected a rate from 0 to 1, but got {rate}")
    kept = bernoulli(key, 1 - rate, shape_of(x))
    scale = 1 / (1 - rate) if rate < 1 else 0.0
    return kept, op.multiply(cast(kept, x.type.dtype), number(scale, x.type.dtype))
