# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of sequences of different lengths: against NumPy, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.script import from_source

RNG = np.random.default_rng(5)
# The begins of sequences of queries and of keys, and how many queries are after the last one.
SEQUENCES = [
    ([0, 2, 7, 10], [0, 4, 6, 11], 0),
    ([0, 5, 9], [0, 2, 12], 0),
    ([0, 0, 4, 4], [0, 2, 2, 7], 2),
    ([0, 1], [0, 1], 0),
    ([0], [0], 0),
]
MASKS = [(None, None), ("TopLeft", None), ("BottomRight", None), ("TopLeft", 2), ("BottomRight", 3)]


def attention(q, k, v, starts_q, starts_k, scale, mask, window):
    """Return the attention of each query alone."""
    result = np.zeros((1, *q.shape[1:3], v.shape[3]))
    share = q.shape[2] // k.shape[2]
    for b in range(len(starts_q) - 1):
        count = starts_k[b + 1] - starts_k[b]
        queries = starts_q[b + 1] - starts_q[b]
        for i in range(queries):
            last = {None: count - 1, "TopLeft": i, "BottomRight": i + count - queries}[mask]
            first = last - window + 1 if window else 0
            keys = starts_k[b] + np.arange(max(first, 0), min(last, count - 1) + 1)
            for h in range(q.shape[2] if len(keys) else 0):
                scores = k[0, keys, h // share] @ q[0, starts_q[b] + i, h] * scale
                powers = np.exp(scores - scores.max())
                result[0, starts_q[b] + i, h] = powers @ v[0, keys, h // share] / powers.sum()
    return result


def arrays(starts_q, starts_k, extra):
    def floats(*shape):
        return RNG.standard_normal(shape).astype("float32")

    queries, keys = starts_q[-1] + extra, starts_k[-1]
    return floats(1, queries, 4, 8), floats(1, keys, 2, 8), floats(1, keys, 2, 5)


@pytest.mark.parametrize(("mask", "window"), MASKS)
def test_attention_var_len(load, write, tensor, mask, window):
    params = [
        tensor((1, "t", 4, 8), name="q"), tensor((1, "s", 2, 8), name="k"),
        tensor((1, "s", 2, 5), name="v"), tensor(("b",), "int32", name="starts_q"),
        tensor(("b",), "int32", name="starts_k"), tensor((), "int32", name="longest"),
    ]  # fmt: skip
    main = load(
        write(
            lambda q, k, v, starts_q, starts_k, longest: op.nn.attention_var_len(
                q, k, v, starts_q, longest, starts_k, longest, causal_mask=mask,
                window_size=window,
            ),
            *params,
        )
    )  # fmt: skip
    for starts_q, starts_k, extra in SEQUENCES:
        q, k, v = arrays(starts_q, starts_k, extra)
        result = main(q, k, v, np.int32(starts_q), np.int32(starts_k), np.array(5, "int32"))
        expected = attention(q, k, v, starts_q, starts_k, 8**-0.5, mask, window)
        assert result.shape == expected.shape
        np.testing.assert_allclose(np.from_dlpack(result), expected, rtol=1e-5, atol=1e-6)


def test_keys_of_the_queries_and_a_scale(run):
    q, _, v = arrays([0, 3, 5], [0, 3, 5], 0)
    k = np.ascontiguousarray(q[:, ::-1])
    v = np.repeat(v, 2, 2)
    starts = np.int32([0, 3, 5])
    result = run(
        lambda q, k, v, starts: op.nn.attention_var_len(
            q, k, v, starts, np.int32(3), scale=0.25, causal_mask="BottomRight"
        ),
        q, k, v, starts,
    )  # fmt: skip
    expected = attention(q, k, v, starts, starts, 0.25, "BottomRight", None)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_other_sequences_do_not_matter(run):
    q, k, v = arrays([0, 2, 5], [0, 3, 7], 0)
    k[:, 3:], v[:, 3:] = np.nan, np.inf
    starts_q, starts_k = np.int32([0, 2, 5]), np.int32([0, 3, 7])
    result = run(
        lambda q, k, v, a, b: op.nn.attention_var_len(q, k, v, a, np.int32(3), b, np.int32(4)),
        q, k, v, starts_q, starts_k,
    )  # fmt: skip
    expected = attention(q[:, :2], k[:, :3], v[:, :3], [0, 2], [0, 3], 8**-0.5, None, None)
    np.testing.assert_allclose(result[:, :2], expected, rtol=1e-5, atol=1e-6)


def test_twice_in_tvmscript():
    module = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(q: R.Tensor((1, "t", 4, 8), "float16"), k: R.Tensor((1, "s", 4, 8), "float16"),
             i: R.Tensor((3,), "int32"), j: R.Tensor((3,), "int32"), n: R.Tensor((), "int32")):
        a = R.nn.attention_var_len(q, k, k, i, n, j, n, causal_mask="TopLeft")
        b = R.nn.attention_var_len(a, a, a, seqstart_q=i, max_seqlen_q=n)
        return b
""")
    assert str(module["main"].ret_struct_info) == "!relax.tensor<[1, t, 4, 8], f16>"


X = relax.TensorStructInfo((1, "n", 2, 8), "float32")
ERRORS = [
    (lambda x, i: op.nn.attention_var_len(x, x, x, i, i, causal_mask="Left"), "expected causal_"),
    (lambda x, i: op.nn.attention_var_len(x, x, x, i, i, window_size=2), "expected a causal_mask"),
    (lambda x, i: op.nn.attention_var_len(op.squeeze(x, [0]), x, x, i, i), "expected queries of"),
    (lambda x, i: op.nn.attention_var_len(x, x, x, x, i), "expected seqstart_q as a vector of int"),
    (
        lambda x, i: op.nn.attention_var_len(x, x, x, i, i, op.zeros([4], "int32"), i),
        "expected dim",
    ),
    (
        lambda x, i: op.nn.attention_var_len(op.tile(x, [2, 1, 1, 1]), x, x, i, i),
        "expected dimensi",
    ),
]


@pytest.mark.parametrize(("write_", "message"), ERRORS)
def test_error_of_arguments(write_, message):
    bb = relax.BlockBuilder()
    x, i = relax.Var("x", X), relax.Var("i", relax.TensorStructInfo((3,), "int32"))
    with bb.function("main", [x, i]):
        with pytest.raises(ValueError, match=message):
            write_(x, i)
        bb.emit_func_output(x)
