# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that JAX lowers to give the numbers that JAX gives."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir

jax = pytest.importorskip("jax", reason="jax is not installed (requirements/test.txt)")

from jax import lax  # noqa: E402
from jax import numpy as jnp  # noqa: E402
from relax_mlir.frontend.stablehlo import from_stablehlo  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 6)).astype("float32")
PLACES = np.array([1, -1, 2], "int32")
WHOLE = np.arange(-5, 7, dtype="int32")
IMAGE = RNG.standard_normal((2, 8, 9, 4)).astype("float32")
KERNEL = RNG.standard_normal((3, 3, 4, 6)).astype("float32")
NHWC = ("NHWC", "HWIO", "NHWC")


def conv(numbers=NHWC, strides=(1, 1), padding="SAME", **options):
    return lambda x, w: lax.conv_general_dilated(
        x, w, strides, padding, dimension_numbers=numbers, **options
    )


def windows(begin, function, sizes, strides, padding):
    return lambda x: lax.reduce_window(x, begin, function, sizes, strides, padding)


CASES = {
    "extremes": (lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.max(x), jnp.min(x, 1)), X),
    "argmax_nan": (lambda x: jnp.argmax(x), np.array([1, np.nan, 3, np.nan], "float32")),
    "sums": (lambda x: (x.sum(), jnp.prod(x, 0), x.mean(1), x.var(0)), X),
    "conditions": (lambda x: (jnp.any(x > 0, 1), jnp.all(x > 0, 0), (x > 0) ^ (x < 1)), X),
    "sort": (lambda x: (jnp.sort(x, 1), jnp.argsort(x, 0), jnp.sort(x, descending=True)), X),
    "sort_whole": (lambda x: lax.sort((x, x * 2), num_keys=1), WHOLE[::-1].copy()),
    "sort_nan": (lambda x: jnp.sort(x), np.array([np.nan, 1, -0.0, np.inf, -np.inf], "float32")),
    "top_k": (lambda x: (lax.top_k(x, 2), lax.top_k(x, 1)), X),
    "cumulative": (
        lambda x: (jnp.cumsum(x, 1), lax.cummax(x, 0), lax.cumsum(x, 0, reverse=True),
                   jnp.cumprod(x, 1), lax.cummin(x, 1)),
        X,
    ),
    "gelu": (lambda x: (jax.nn.gelu(x, approximate=False), jax.nn.gelu(x), jax.nn.silu(x)), X),
    "erfc": (lambda x: jax.scipy.special.erfc(x), np.linspace(-4, 4, 50).astype("float32")),
    "updates": (
        lambda x: (x.at[1, 2].add(3.0), x.at[jnp.array([0, 2])].set(1.0),
                   x.at[:, 1:3].multiply(2.0), x.at[jnp.array([7, 0])].max(0.0)),
        X,
    ),
    "updates_outside": (lambda x: lax.dynamic_update_slice(x, x[:2] * 2, (3, 0)), X),
    "take": (lambda x, i: (x[i], jnp.take(x, i, axis=1), x[:, i], x[i, i]), X, PLACES),
    "take_outside": (lambda x: jnp.take(x, jnp.array([9, -9, 0]), axis=0, mode="clip"), X),
    "take_along": (
        lambda x, i: jnp.take_along_axis(x, i, 1), X, RNG.integers(0, 6, (4, 2)).astype("int32")
    ),
    "softmax": (lambda x: (jax.nn.logsumexp(x, 1), jax.nn.softmax(x, 0), jax.nn.log_softmax(x)), X),
    "powers": (
        lambda x: (x**3, jnp.abs(x) ** 2.5, jnp.cbrt(x), jnp.sqrt(jnp.abs(x)), lax.rsqrt(x * x)), X
    ),
    "functions": (
        lambda x: (jnp.expm1(x), jnp.log1p(jnp.abs(x)), jnp.tan(x), jnp.arctan2(x, x[0]),
                   jnp.sinh(x), jnp.arcsin(x / 4), jnp.arccosh(jnp.abs(x) + 1)),
        X,
    ),
    "rounding": (
        lambda x: (jnp.round(x), jnp.sign(x), jnp.floor(x), lax.round(x, 0), jnp.mod(x, 0.7)), X
    ),
    "whole": (
        lambda a: (a // 3, a % 3, a >> 1, a << 2, a & 5, ~a, lax.population_count(a), lax.clz(a),
                   lax.div(a, jnp.int32(-3)), lax.rem(a, jnp.int32(-3)),
                   lax.shift_right_logical(a, jnp.int32(1))),
        WHOLE,
    ),
    "bits": (lambda x: lax.bitcast_convert_type(x, jnp.int32), X),
    "bits_of_parts": (lambda x: lax.bitcast_convert_type(x, jnp.int8), X),
    "bits_of_a_whole": (
        lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.uint16), jnp.float32),
        X,
    ),
    "bfloat16": (
        lambda x: (x.astype(jnp.bfloat16) * jnp.array([1.5, 2, 3, -1, jnp.inf, 0], jnp.bfloat16)
                   ).astype(jnp.float32),
        np.abs(X) + 1,
    ),
    "products": (
        lambda x: (x @ x.T, jnp.einsum("ij,ik->jk", x, x), jnp.einsum("ij,kj->ikj", x, x),
                   jnp.tensordot(x, x, 2), x @ x[0], jnp.outer(x[0], x[1])),
        X,
    ),
    "heads": (
        lambda a, b: jnp.einsum("bqhd,bkhd->bhqk", a, b),
        RNG.standard_normal((2, 3, 4, 5)).astype("float32"),
        RNG.standard_normal((2, 6, 4, 5)).astype("float32"),
    ),
    "products_of_int8": (
        lambda a: lax.dot(a, a.T, preferred_element_type=jnp.int32),
        RNG.integers(-128, 128, (3, 40)).astype("int8"),
    ),
    "conv": (conv(), IMAGE, KERNEL),
    "conv_dilated": (conv(strides=(2, 2), padding="VALID", rhs_dilation=(2, 1)), IMAGE, KERNEL),
    "conv_groups": (conv(feature_group_count=2), IMAGE, KERNEL[:, :, :2].copy()),
    "conv_batch_groups": (conv(batch_group_count=2), IMAGE, KERNEL),
    "conv_stretched": (conv(lhs_dilation=(2, 2), padding=((1, 2), (2, -1))), IMAGE, KERNEL),
    "conv_layouts": (
        conv(("CNHW", "IHWO", "HWNC")), IMAGE.transpose(3, 0, 1, 2).copy(),
        KERNEL.transpose(2, 0, 1, 3).copy(),
    ),
    "conv_1d": (conv(("NWC", "WIO", "NWC"), (1,)), IMAGE[:, 0].copy(), KERNEL[0].copy()),
    "conv_3d": (
        conv(("NDHWC", "DHWIO", "NDHWC"), (1, 1, 1)), IMAGE[:, None].repeat(3, 1),
        KERNEL[None].repeat(2, 0),
    ),
    "conv_transpose": (lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), IMAGE, KERNEL),
    "max_pool": (windows(-jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), IMAGE),
    "mean_pool": (windows(0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), IMAGE),
    "min_pool": (windows(jnp.inf, lax.min, (1, 2, 2, 1), (1, 1, 2, 1), "SAME"), IMAGE),
    "product_windows": (windows(1.0, lax.mul, (1, 2, 2, 1), (1, 1, 2, 1), "SAME"), IMAGE),
    "max_pool_of_two": (windows(0.5, lax.max, (2, 2), (1, 2), "SAME"), X),
    "windows_of_whole": (windows(0, lax.add, (2, 2), (1, 1), "VALID"), WHOLE.reshape(3, 4)),
    "pad": (
        lambda x: (jnp.pad(x, ((1, 2), (0, 1))), lax.pad(x, 1.0, ((-1, 2, 1), (0, -1, 2))),
                   jnp.pad(x, 1, mode="reflect"), jnp.pad(x, 1, mode="edge")),
        X,
    ),
    "dynamic_slices": (
        lambda x, i: (lax.dynamic_slice(x, (i, 1), (2, 3)),
                      lax.dynamic_update_slice(x, x[:2, :2] * 2, (i, i)),
                      lax.dynamic_update_slice(x, x[:2], (i, 0)),
                      lax.dynamic_update_slice(x, x[:, :2], (0, i))),
        X, np.array(3, "int32"),
    ),
    "moves": (
        lambda x: (x[::-1], x[1::2, ::3], jnp.where(x > 0, x, 0), jnp.clip(x, -0.5, 0.5), x.T,
                   jnp.tile(x, (2, 1)), jnp.repeat(x, 2, 1), jnp.roll(x, 1, 0),
                   jnp.stack([x, x], 1), jnp.eye(4, 6) + x, jnp.tril(x), jnp.diag(x[:, :4])),
        X,
    ),
    "one_hot": (lambda i: jax.nn.one_hot(i, 5), PLACES),
    "segment_sum": (lambda x, i: jax.ops.segment_sum(x, i, 3), X, np.array([0, 1, 0, 2], "int32")),
    "batched_places": (
        lambda x, i: (jax.vmap(lambda row, j: row[j])(x, i),
                      jax.vmap(lambda row, j: lax.dynamic_slice(row, (j,), (2,)))(x, i),
                      jax.vmap(lambda row, j: lax.dynamic_update_slice(row, jnp.ones(2), (j,)))(
                          x, i)),
        X, np.array([0, 1, 4, 2], "int32"),
    ),
    "switch": (
        lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tan], x), np.array(1, "int32"), X
    ),
    "cond": (
        lambda i, x: lax.cond(i > 0, lambda x: (x + 1, x.sum()), lambda x: (x - 1, x.max()), x),
        np.array(1, "int32"), X,
    ),
    "while": (lambda x: lax.while_loop(lambda s: s.sum() < 1000, lambda s: s * 2, jnp.abs(x)), X),
    "while_counts": (
        lambda x, n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 1.5 + x),
                                    (jnp.int32(0), x))[1],
        X, np.array(3, "int32"),
    ),
    "long_loop": (lambda x: lax.fori_loop(0, 5000, lambda i, s: s + x * i, x), X * 1e-6),
    "scan_reverse": (
        lambda x: lax.scan(lambda c, row: (c + row, c * row), x[0], x, reverse=True), X
    ),
    "map": (lambda x: lax.map(lambda row: row.sum(), x), X),
    "random_bits": (
        lambda key: jax.random.bits(jax.random.wrap_key_data(key), (4,)),
        np.array([0, 42], "uint32"),
    ),
    "gradient": (jax.grad(lambda x: jnp.sum(jax.nn.softmax(jnp.tanh(x @ x.T))[0])), X),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_numbers(name, exec_mode):
    function, *arguments = CASES[name]
    given = [jnp.asarray(one) for one in arguments]
    text = jax.jit(function, keep_unused=True).lower(*given).as_text()
    main = relax_mlir.VirtualMachine(relax_mlir.compile(from_stablehlo(text)))["main"]
    found = main(*arguments)
    results = [found] if hasattr(found, "__dlpack__") else list(found)
    for got, wanted in zip(results, jax.tree.leaves(function(*given)), strict=True):
        array, expected = np.from_dlpack(got), np.asarray(wanted)
        assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(array, expected, rtol=1e-4, atol=1e-5)
