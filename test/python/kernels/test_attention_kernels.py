"""Kernels that are attention, against NumPy in float64."""

from __future__ import annotations

import functools

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
import relax_mlir as relax
from hypothesis import example, given, settings
from kernel_programs import classes
from relax_mlir import op
from relax_mlir.op import const


def tensor(dims, dtype="f32"):
    return f"!relax.tensor<[{', '.join(map(str, dims))}], {dtype}>"


def operator(heads, kv_heads, depth, width, bias=None, attrs="", dtype="f32"):
    """Write a program that is one operator; sizes may be names."""
    q = tensor(["b", "n", heads, depth], dtype)
    k, v = (tensor(["b", "m", kv_heads, size], dtype) for size in (depth, width))
    types, params = [q, k, v], ["%q", "%k", "%v"]
    if bias is not None:
        types.append(tensor(bias, dtype))
        params.append("%bias")
    result = tensor(["b", "n", heads, width], dtype)
    declared = ", ".join(f"{p}: {t}" for p, t in zip(params, types, strict=True))
    attrs = f" {{{attrs}}}" if attrs else ""
    return f"""
relax.func @main({declared}) -> {result} {{
  %0 = relax.attention {", ".join(params)}{attrs} : ({", ".join(types)}) -> {result}
  relax.return %0 : {result}
}}
"""


@functools.cache
def load(text, **options):
    return relax.VirtualMachine(relax.compile(text, opt_level=1, **options))["main"]


def attend(q, k, v, bias=None, scale=None, mask=None, window=None):
    """Return attention of (b, n, h, d), computed in float64."""
    q, k, v = (x.astype("float64").transpose(0, 2, 1, 3) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    with np.errstate(all="ignore"):
        scores = q @ k.swapaxes(2, 3) * (q.shape[-1] ** -0.5 if scale is None else scale)
        if bias is not None:
            scores = scores + bias
        queries, keys = scores.shape[2:]
        last = np.arange(queries)[:, None] + (keys - queries if mask == "BottomRight" else 0)
        place = np.arange(keys)[None]
        seen = place <= last if mask else place >= 0
        if window:
            seen = seen & (place > last - window)
        scores = np.where(seen, scores, -np.inf)
        powers = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
        powers = np.where(seen, powers, 0)
        sums = powers.sum(-1, keepdims=True)
        result = powers @ v / sums
        if mask or not keys:
            result = np.where(sums == 0, 0, result)
    return result.transpose(0, 2, 1, 3)


def numbers(rng, *shape):
    return rng.standard_normal(shape).astype("float32")


# By data type: the one of NumPy, and how much results may differ.
DTYPES = {"f32": (np.float32, 2e-5), "f16": (np.float16, 2e-3), "bf16": (ml_dtypes.bfloat16, 2e-2)}


def compare(actual, expected, dtype="f32", tolerance=None):
    actual = actual.numpy()
    assert actual.shape == expected.shape
    kind, usual = DTYPES[dtype]
    assert actual.dtype == kind
    tolerance = tolerance or usual
    actual = actual.astype("float64")
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def check(
    b, n, m, heads, kv_heads, depth, width, bias=None, dynamic=False, seed=0, dtype="f32", **given
):
    """Compare the operator with NumPy; `given` are a mask, a window, and options of compile."""
    attrs = []
    if mask := given.pop("mask", None):
        attrs.append(f'causal_mask = "{mask}"')
    if window := given.pop("window", None):
        attrs.append(f"window_size = {window} : i64")
    names = ("d", "e") if dynamic else (depth, width)
    function = load(
        operator(heads, kv_heads, *names, bias, ", ".join(attrs), dtype),
        **given,
    )
    rng = np.random.default_rng(seed)
    sizes = {"b": b, "h": heads, "n": n, "m": m}
    shapes = [(b, n, heads, depth), (b, m, kv_heads, depth), (b, m, kv_heads, width)]
    if bias is not None:
        shapes.append([sizes.get(d, d) for d in bias])
    arguments = [numbers(rng, *shape).astype(DTYPES[dtype][0]) for shape in shapes]
    expected = attend(*arguments, mask=mask, window=window)
    compare(function(*arguments), expected, dtype)


# Around what reads keys where they lie, tiles of queries, tasks, and blocks of keys.
queries = st.one_of(st.integers(0, 14), st.sampled_from([47, 48, 49, 193, 400]))
keys = st.one_of(st.integers(0, 70), st.sampled_from([319, 320, 321, 700]))
sizes = st.one_of(st.integers(1, 20), st.sampled_from([31, 32, 33, 63, 64, 65, 130]))
heads = st.sampled_from([(1, 1), (2, 2), (4, 2), (6, 1)])
masks = st.sampled_from([(None, None), ("TopLeft", None), ("BottomRight", None), ("TopLeft", 5)])


@settings(max_examples=25)
@given(st.integers(0, 3), queries, keys, heads, sizes, sizes, st.integers(0, 99))
@example(1, 1, 0, (2, 2), 8, 8, 0)
@example(2, 9, 0, (2, 2), 8, 8, 0)
@example(1, 400, 700, (2, 2), 64, 64, 0)
@example(1, 1, 700, (4, 2), 64, 64, 0)
def test_operator_of_any_size(b, n, m, heads, depth, width, seed):
    check(b, n, m, *heads, depth, width, dynamic=True, seed=seed)


@settings(max_examples=15)
@given(st.integers(1, 2), queries, keys, heads, masks)
@example(1, 5, 2, (1, 1), ("BottomRight", None))
@example(1, 70, 400, (2, 1), ("TopLeft", 5))
def test_causal_masks(b, n, m, heads, mask):
    check(b, n, m, *heads, 16, 20, mask=mask[0], window=mask[1])


@settings(max_examples=15)
@given(
    st.integers(0, 3), queries, keys, heads, sizes, sizes, masks, st.sampled_from(["f16", "bf16"])
)
@example(1, 8, 9, (2, 1), 33, 33, (None, None), "bf16")
@example(1, 400, 701, (2, 2), 64, 64, ("TopLeft", None), "bf16")
@example(1, 3, 700, (4, 2), 64, 64, (None, None), "bf16")
def test_halves_of_any_size(b, n, m, heads, depth, width, mask, dtype):
    check(b, n, m, *heads, depth, width, mask=mask[0], window=mask[1], dtype=dtype)


@pytest.mark.parametrize("mask", ["TopLeft", "BottomRight"])
@pytest.mark.parametrize("window", [None, 1, 100])
def test_blocks_of_keys_that_are_not_seen(mask, window):
    for n, m in ((400, 700), (700, 400), (2, 1000), (3, 1)):
        check(1, n, m, 2, 1, 8, 8, mask=mask, window=window)


@pytest.mark.parametrize("bias", [("b", 4, "n", "m"), (1, 1, "n", "m"), ("b", 4, 1, "m")])
@pytest.mark.parametrize("n", [1, 3, 4, 50])
def test_bias(bias, n):
    for m in (1, 40, 330):
        check(2, n, m, 4, 2, 16, 16, bias=bias)
        check(2, n, m, 4, 2, 16, 16, bias=bias, mask="BottomRight")


@pytest.mark.parametrize("bits", [128, 256, 512, 1024])
@pytest.mark.parametrize("n", [2, 17])
def test_other_widths_of_vectors(bits, n):
    for depth in (7, 64):
        check(1, n, 333, 2, 1, depth, depth, vector_bits=bits)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 30])
def test_both_modes(n, dtype, exec_mode):
    check(2, n, 50, 4, 2, 64, 64, ("b", 1, "n", "m"), dtype=dtype, exec_mode=exec_mode)
    check(2, n, 50, 4, 2, 64, 64, dtype=dtype, exec_mode=exec_mode)


@pytest.mark.parametrize("dtype", DTYPES)
def test_infinite_values_of_other_keys(dtype):
    """Words have two keys, of which one may be past the end or not seen."""
    rng = np.random.default_rng(0)
    q, k, v = (numbers(rng, 1, size, 1, 16).astype(DTYPES[dtype][0]) for size in (12, 13, 13))
    v[0, 12] = np.inf
    for m in (12, 13):
        compare(
            load(operator(1, 1, 16, 16, dtype=dtype))(q, k[:, :m], v[:, :m]),
            attend(q, k[:, :m], v[:, :m]),
            dtype,
        )


def test_class_of_the_operator():
    assert classes(operator(4, 2, 64, 32)) == ["attention"]
    assert classes(operator("h", "h", "d", "e", ("b", "h", 1, "m"))) == ["attention"]
    assert classes(operator(4, 2, 64, 32, dtype="f16")) == ["attention"]
    # Sums in other types take the generic route.
    assert classes(operator(4, 2, 64, 32, dtype="f64")) == [None]


SPECIAL = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("value", SPECIAL)
@pytest.mark.parametrize("n", [2, 8])
@pytest.mark.parametrize("mask", [None, "TopLeft"])
def test_special_numbers_in_the_bias(value, n, mask):
    attrs = f'causal_mask = "{mask}"' if mask else ""
    function = load(operator(1, 1, 8, 8, (1, 1, "n", "m"), attrs))
    rng = np.random.default_rng(0)
    for m in (1, 9, 330, 650):
        q, k, v = numbers(rng, 1, n, 1, 8), numbers(rng, 1, m, 1, 8), numbers(rng, 1, m, 1, 8)
        bias = numbers(rng, 1, 1, n, m)
        bias[..., 0, 0] = value
        bias[..., n - 1, m // 2 :] = value
        compare(function(q, k, v, bias), attend(q, k, v, bias, mask=mask))


@pytest.mark.parametrize("n", [2, 8])
def test_blocks_without_a_key(n):
    """-infinity for all keys of a query gives NaN; for all of the first ones it gives the rest."""
    function = load(operator(1, 1, 8, 8, (1, 1, "n", "m")))
    rng = np.random.default_rng(0)
    q, k, v = numbers(rng, 1, n, 1, 8), numbers(rng, 1, 800, 1, 8), numbers(rng, 1, 800, 1, 8)
    bias = np.zeros((1, 1, n, 800), "float32")
    bias[..., 0, :] = -np.inf
    bias[..., 1, :790] = -np.inf
    expected = attend(q, k, v, bias)
    assert np.isnan(expected[:, 0]).all()
    assert np.isfinite(expected[:, 1:]).all()
    compare(function(q, k, v, bias), expected)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_special_numbers_reach_only_their_queries(value):
    function = load(operator(2, 2, 8, 8))
    rng = np.random.default_rng(0)
    for n in (3, 20):
        q, k, v = (numbers(rng, 1, size, 2, 8) for size in (n, 40, 40))
        q[0, 1, 0, 3] = value
        compare(function(q, k, v), attend(q, k, v))


def test_scores_far_apart():
    """The largest score of a later block makes nothing of those before."""
    function = load(operator(1, 1, 4, 4))
    rng = np.random.default_rng(0)
    for n in (1, 9):
        q, k, v = (numbers(rng, 1, size, 1, 4) for size in (n, 1000, 1000))
        k *= np.linspace(1, 60, 1000, dtype="float32")[None, :, None, None]
        compare(function(q, k, v), attend(q, k, v), tolerance=1e-4)


# -- written out --------------------------------------------------------------------------------


@functools.cache
def written(layout, steps=()):
    """Write attention with a softmax; `layout` of the parameters is "bhnd" or another order.

    The steps are `mask` and `out`: a mask that is added, and a result of (b, n, h, d).
    """

    def param(name, rows):
        shape = [{"b": "b", "h": 2, "n": rows, "d": 8}[dim] for dim in layout]
        return relax.Var(name, relax.TensorStructInfo(shape, "float32"))

    q, k, v = param("q", "n"), param("k", "m"), param("v", "m")
    mask = relax.Var("mask", relax.TensorStructInfo(["n", "m"], "float32"))
    places = [layout.index(dim) for dim in "bhnd"]
    turned = [layout.index(dim) for dim in "bhdn"]
    bb = relax.BlockBuilder()
    with bb.function("main", [q, k, v, mask] if "mask" in steps else [q, k, v]):
        with bb.dataflow():
            scores = op.matmul(op.permute_dims(q, places), op.permute_dims(k, turned))
            scores = op.multiply(scores, const(0.25, "float32"))
            if "mask" in steps:
                scores = op.add(scores, mask)
            result = op.matmul(op.nn.softmax(scores, -1), op.permute_dims(v, places))
            if "out" in steps:
                result = op.permute_dims(result, [0, 2, 1, 3])
            result = bb.emit_output(result)
        bb.emit_func_output(result)
    return str(bb.get())


@pytest.mark.parametrize("layout", ["bhnd", "bnhd", "hbnd"])
@pytest.mark.parametrize("steps", [(), ("mask",), ("mask", "out"), ("out",)])
def test_written_out(layout, steps, exec_mode):
    text = written(layout, steps)
    assert classes(text) == ["attention"]
    function = load(text, exec_mode=exec_mode)
    rng = np.random.default_rng(0)
    for b, n, m in ((1, 1, 7), (2, 5, 40), (1, 60, 330), (0, 2, 2), (1, 3, 0)):
        q, k, v = (numbers(rng, b, size, 2, 8) for size in (n, m, m))
        mask = [numbers(rng, n, m)] if "mask" in steps else []
        given = [
            np.ascontiguousarray(x.transpose(["bnhd".index(d) for d in layout])) for x in (q, k, v)
        ]
        expected = attend(q, k, v, *mask, scale=0.25)
        if "out" not in steps:
            expected = expected.transpose(0, 2, 1, 3)
        compare(function(*given, *mask), expected)


def test_written_out_without_the_class():
    text = written("bnhd", ("mask", "out"))
    function = load(text, emit_kernels=False)
    rng = np.random.default_rng(0)
    q, k, v = (numbers(rng, 2, size, 2, 8) for size in (5, 9, 9))
    mask = numbers(rng, 5, 9)
    compare(function(q, k, v, mask), attend(q, k, v, mask, scale=0.25))
