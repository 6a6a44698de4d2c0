# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers: those of JAX where they are defined alike, and distributions."""

from __future__ import annotations

import jax
import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.script import from_source

KEYS = [0, 1, 42, 2**32 - 1, 2**63 + 12345]
COUNT = 20_000


@pytest.fixture
def draw(load, write, tensor):
    """Write an operator of a key, and run it with keys."""

    def draw(function, *arrays):
        params = [tensor(array.shape, array.dtype.name, name="x") for array in arrays]
        main = load(write(function, tensor((), "uint64", name="key"), *params))

        def call(key):
            return np.from_dlpack(main(np.array(key, "uint64"), *arrays))

        return call

    return draw


def jax_key(key):
    words = np.array([key >> 32, key & 0xFFFFFFFF], "uint32")
    return jax.random.wrap_key_data(words, impl="threefry2x32")


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 0, 2), (4, 5, 6), (1000,)])
def test_bits_are_those_of_jax(draw, shape):
    words = draw(lambda key: op.random.bits(key, shape))
    long = draw(lambda key: op.random.bits(key, shape, "uint64"))
    short = draw(lambda key: op.random.bits(key, shape, "uint8"))
    for key in KEYS:
        wanted = jax_key(key)
        np.testing.assert_array_equal(words(key), jax.random.bits(wanted, shape))
        np.testing.assert_array_equal(short(key), jax.random.bits(wanted, shape, "uint8"))
        with jax.enable_x64(True):
            np.testing.assert_array_equal(long(key), jax.random.bits(wanted, shape, "uint64"))


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 3.0), (1e-6, 2e-6)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_numbers_are_those_of_jax(draw, dtype, bounds):
    numbers = draw(lambda key: op.random.uniform(key, (31, 33), *bounds, dtype))
    for key in KEYS:
        with jax.enable_x64(True):
            wanted = jax.random.uniform(jax_key(key), (31, 33), dtype, *bounds)
        # JAX may fuse the product with the sum.
        np.testing.assert_allclose(numbers(key), wanted, rtol=1e-6 if dtype == "float32" else 1e-15)
        if bounds == (0.0, 1.0):
            np.testing.assert_array_equal(numbers(key), wanted)


def test_keys_of_split_are_those_of_jax(load, write, tensor):
    main = load(write(lambda key: op.tuple(*op.random.split(key, 3)), tensor((), "uint64")))
    for key in KEYS:
        keys = jax.random.key_data(jax.random.split(jax_key(key), 3))
        words = np.asarray(keys).astype("uint64")
        wanted = words[:, 0] << np.uint64(32) | words[:, 1]
        assert [
            int(np.from_dlpack(one)) for one in main(np.array(key, "uint64"))
        ] == wanted.tolist()


def test_symbolic_shapes(load, write, tensor):
    params = tensor((), "uint64", name="key"), tensor(("n", 3, "m"), name="x")
    main = load(write(lambda key, x: op.random.uniform(key, ("n", "m", 3)), *params))
    for n, m in ((1, 1), (4, 5), (0, 3), (7, 2)):
        got = np.from_dlpack(main(np.array(3, "uint64"), np.zeros((n, 3, m), "float32")))
        np.testing.assert_array_equal(got, jax.random.uniform(jax_key(3), (n, m, 3)))


def moments(numbers):
    """Return mean, standard deviation, skew and excess of kurtosis."""
    x = numbers.astype("float64")
    mean, std = x.mean(), x.std()
    z = (x - mean) / std
    return mean, std, (z**3).mean(), (z**4).mean() - 3


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_normal_numbers(draw, dtype):
    def normal(key):
        return op.astype(op.random.normal(key, (COUNT,), 2.0, 3.0, dtype), "float32")

    first, second = (draw(normal)(key) for key in (1, 2))
    for numbers in (first, second):
        mean, std, skew, kurtosis = moments(numbers)
        # Four standard deviations of each.
        assert abs(mean - 2) < 4 * 3 / COUNT**0.5
        assert abs(std / 3 - 1) < 4 / (2 * COUNT) ** 0.5
        assert abs(skew) < 4 * (6 / COUNT) ** 0.5
        assert abs(kurtosis) < 4 * (24 / COUNT) ** 0.5
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / COUNT**0.5
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 4 / COUNT**0.5


def test_normal_numbers_by_definition(draw):
    bits = np.asarray(draw(lambda key: op.random.bits(key, (1000,), "uint64"))(9))
    u, v = (
        (word >> np.uint64(9)) * 2.0**-23 for word in (bits >> np.uint64(32), bits & 0xFFFFFFFF)
    )
    wanted = np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)
    got = draw(lambda key: op.random.normal(key, (1000,)))(9)
    np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=2e-6)


def test_exponential_numbers(draw):
    numbers = draw(lambda key: op.random.exponential(key, (COUNT,), 4.0))(5)
    assert numbers.min() >= 0
    mean, std, *_ = moments(numbers)
    assert abs(mean * 4 - 1) < 4 / COUNT**0.5
    assert abs(std * 4 - 1) < 4 * (2 / COUNT) ** 0.5


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_bernoulli_of_a_tensor(draw, dtype):
    chances = np.array([0, 0.25, 0.5, 1], dtype)
    shape = (COUNT, 4)
    kept = draw(lambda key, p: op.random.bernoulli(key, p, shape), chances)(11)
    assert kept.dtype == bool
    error = 4 * np.sqrt(chances * (1 - chances) / COUNT)
    assert (np.abs(kept.mean(0) - chances) <= error).all()


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (0, 1, "int32"),
        (-3, 4, "int8"),
        (0, 2**62, "int64"),
        (-(2**62), 5, "int64"),
        (5, 200, "uint8"),
    ],
)
def test_integers(draw, low, high, dtype):
    numbers = draw(lambda key: op.random.randint(key, (50, 40), low, high, dtype))(1)
    assert numbers.dtype == dtype
    assert numbers.min() >= low
    assert numbers.max() < high
    if high - low < 10:
        counts = np.unique(numbers, return_counts=True)[1]
        share = 1 / (high - low)
        assert len(counts) == high - low
        assert (np.abs(counts / 2000 - share) <= 4 * (share * (1 - share) / 2000) ** 0.5).all()


def test_permutation(load, write, tensor):
    params = tensor((), "uint64", name="key"), tensor(("n",), name="x")
    main = load(write(lambda key, x: op.random.permutation(key, "n"), *params))
    orders = set()
    for key in range(40):
        got = np.from_dlpack(main(np.array(key, "uint64"), np.zeros(4, "float32")))
        assert sorted(got) == [0, 1, 2, 3]
        orders.add(tuple(got))
    assert len(orders) > 15  # of 24
    assert np.from_dlpack(main(np.array(1, "uint64"), np.zeros(0, "float32"))).shape == (0,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_samples_with_replacement(draw, dtype):
    chances = np.array([[0, 1, 3, 0], [5, 0, 0, 15]], dtype)
    drawn = draw(lambda key, p: op.random.multinomial(key, p, COUNT), chances)(3)
    assert drawn.shape == (2, COUNT)
    for row, chance in zip(drawn, chances / chances.sum(1, keepdims=True), strict=True):
        shares = np.bincount(row, minlength=4) / COUNT
        assert (np.abs(shares - chance) <= 4 * np.sqrt(chance * (1 - chance) / COUNT)).all()


def test_samples_without_replacement(draw):
    chances = np.tile(np.array([1, 0, 2, 4, 0.5], "float32"), (COUNT, 1))
    drawn = draw(lambda key, p: op.random.multinomial(key, p, 3, False), chances)(8)
    assert drawn.shape == (COUNT, 3)
    assert all(len(set(row)) == 3 for row in drawn.tolist())
    assert not (drawn == 1).any()
    share = 4 / 7.5
    assert abs((drawn[:, 0] == 3).mean() - share) < 4 * (share * (1 - share) / COUNT) ** 0.5


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_dropout(draw, rate):
    x = np.full((COUNT,), 2, "float32")
    got = draw(lambda key, x: op.random.dropout(key, x, rate), x)(4)
    kept = got != 0
    if rate < 1:
        np.testing.assert_allclose(got[kept], 2 / (1 - rate), rtol=1e-6)
    assert abs(kept.mean() - (1 - rate)) <= 4 * (rate * (1 - rate) / COUNT) ** 0.5


def test_any_number_of_threads(draw):
    numbers = draw(lambda key: op.random.normal(key, (100_000,)))
    results = []
    for count in (1, 2, 5):
        relax.runtime.set_num_threads(count)
        results.append(numbers(1))
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda key: op.random.bits(key, (2,), "int32"), "dtype to be one of unsigned integers"),
        (lambda key: op.random.uniform(key, (2,), 1.0, 1.0), "expected finite low < high"),
        (lambda key: op.random.uniform(key, (2,), dtype="int32"), "expected dtype to be one of"),
        (lambda key: op.random.normal(key, (2,), 0.0, -1.0), "expected std of 0 or more"),
        (lambda key: op.random.exponential(key, (2,), 0.0), "expected a positive rate"),
        (lambda key: op.random.randint(key, (2,), 3, 3), "expected integers low < high"),
        (lambda key: op.random.randint(key, (2,), 0, 2**64), "expected integers low < high"),
        (lambda key: op.random.randint(key, (2,), 0, 129, "int8"), "integers of int8, but got"),
        (lambda key: op.random.dropout(key, np.ones(3, "float32"), 1.5), "a rate from 0 to 1"),
        (
            lambda key: op.random.multinomial(key, np.ones(3, "float32"), 4, False),
            "expected 4 elements or more to draw, but got 3",
        ),
        (lambda key: op.random.multinomial(key, np.float32(1), 1), "rank 1 or more"),
        (lambda key: op.random_bits(key, -1), "expected count of 0 or more, but got -1"),
    ],
)
def test_error_random_numbers(write, tensor, function, message):
    with pytest.raises(ValueError, match=message):
        write(function, tensor((), "uint64", name="key"))


def test_error_key(write, tensor):
    with pytest.raises(ValueError, match="expected key of rank 0"):
        write(lambda key: op.random.uniform(key, (2,)), tensor((2,), "uint64"))
    with pytest.raises(ValueError, match="expected key of data type 'ui64'"):
        write(lambda key: op.random.uniform(key, (2,)), tensor((), "int64"))


def test_bits_in_tvmscript():
    mod = from_source(
        """
@I.ir_module
class Module:
    @R.function
    def main(key: R.Tensor((), "uint64")) -> R.Tensor((4,), "uint64"):
        bits: R.Tensor((4,), "uint64") = R.random_bits(key, 4)
        return bits
"""
    )
    text = mod.script()
    assert "R.random_bits(key, R.prim_value(4))" in text
    assert relax.structural_equal(from_source(text), mod)
