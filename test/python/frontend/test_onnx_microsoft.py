# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of onnxruntime, compared with what its documentation says, in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import relax_mlir as relax  # noqa: E402
from onnx import TensorProto, helper, numpy_helper, parser  # noqa: E402
from onnx_models import RNG, random  # noqa: E402
from relax_mlir.frontend.onnx import InferenceSession, from_onnx  # noqa: E402

DOMAIN = "com.microsoft"


def session_of(
    name: str, inputs: dict[str, Any], outputs: int, weights: tuple[str, ...] = (),
    symbolic: dict[str, list[Any]] | None = None, **attributes: Any,
) -> InferenceSession:  # fmt: skip
    """Compile a model of one node; None stands for an input that is left out."""
    names = [key if x is not None else "" for key, x in inputs.items()]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(name, names, results, domain=DOMAIN, **attributes)
    given = {key: x for key, x in inputs.items() if x is not None}
    infos = [
        helper.make_tensor_value_info(
            key, helper.np_dtype_to_tensor_dtype(x.dtype), (symbolic or {}).get(key, x.shape)
        )
        for key, x in given.items()
        if key not in weights
    ]
    tensors = [numpy_helper.from_array(given[key], key) for key in weights]
    ends = [onnx.ValueInfoProto(name=one) for one in results]
    model = helper.make_model(
        helper.make_graph([node], "model", infos, ends, tensors),
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 1)],
        ir_version=10,
    )
    return InferenceSession(model, opt_level=0)


def run(
    name: str, inputs: dict[str, Any], outputs: int = 1, weights: tuple[str, ...] = (),
    symbolic: dict[str, list[Any]] | None = None, **attributes: Any,
) -> list[np.ndarray]:  # fmt: skip
    session = session_of(name, inputs, outputs, weights, symbolic, **attributes)
    feed = {k: x for k, x in inputs.items() if x is not None and k not in weights}
    return session.run(None, feed)


def close(got: np.ndarray, wanted: np.ndarray, tolerance: float = 1e-5) -> None:
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


# -- attention ----------------------------------------------------------------------------------


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def heads(x: np.ndarray, count: int) -> np.ndarray:
    """Features as heads, before positions."""
    return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def joined(x: np.ndarray) -> np.ndarray:
    x = x.transpose(0, 2, 1, 3)
    return x.reshape(*x.shape[:2], -1)


def attend(q: Any, k: Any, v: Any, bias: Any = 0.0, scale: Any = None, cap: float = 0) -> Any:
    scores = q @ k.transpose(0, 1, 3, 2) * (scale or 1 / math.sqrt(q.shape[-1]))
    scores = cap * np.tanh(scores / cap) if cap else scores
    return joined(softmax(scores + bias) @ v)


def causal(queries: int, keys: int) -> np.ndarray:
    seen = np.arange(keys) <= np.arange(queries)[:, None] + keys - queries
    return np.where(seen, 0, -np.inf)


B, S, N, H = 2, 3, 2, 4
MASKS = {
    "none": (None, 0.0),
    "lengths": (np.array([3, 1], "int32"),
                np.array([[0, 0, 0], [0, -1e4, -1e4]])[:, None, None]),
    "ends and begins": (np.array([3, 2, 1, 0], "int32"),
                        np.array([[-1e4, 0, 0], [0, 0, -1e4]])[:, None, None]),
    "keys": (np.array([[1, 1, 0], [0, 1, 1]], "int32"),
             np.array([[0, 0, -1e4], [-1e4, 0, 0]])[:, None, None]),
    "pairs": (np.tril(np.ones((2, 3, 3), "int32")),
              np.where(np.tril(np.ones((2, 3, 3))), 0, -1e4)[:, None]),
}  # fmt: skip


@pytest.mark.parametrize("mask", MASKS)
def test_attention_with_masks(mask: str) -> None:
    x, w, b = random(B, S, 5), random(5, 3 * N * H), random(3 * N * H)
    given, bias = MASKS[mask]
    symbolic = {"x": ["b", "s", 5]} if mask == "none" else {}
    (y,) = run("Attention", {"x": x, "w": w, "b": b, "m": given}, weights=("w", "b"),
               symbolic=symbolic, num_heads=N)  # fmt: skip
    q, k, v = (heads(one, N) for one in np.split(x @ w + b, 3, -1))
    close(y, attend(q, k, v, bias))


def test_attention_with_past_and_other_sizes() -> None:
    x, w, past = random(B, S, 5), random(5, 3 * N * H), random(2, B, N, 4, H)
    inputs = {"x": x, "w": w, "b": None, "m": None, "past": past}
    symbolic = {"x": ["b", "s", 5], "past": [2, "b", N, "p", H]}
    y, present = run("Attention", inputs, 2, ("w",), symbolic, num_heads=N, unidirectional=1,
                     scale=0.3)  # fmt: skip
    q, k, v = (heads(one, N) for one in np.split(x @ w, 3, -1))
    k, v = (np.concatenate([old, new], 2) for old, new in zip(past, (k, v), strict=True))
    close(y, attend(q, k, v, causal(S, 4 + S), 0.3))
    close(present, np.stack([k, v]))
    w, bias = random(5, 2 * N * H + N * 3), random(1, N, S, S)
    inputs = {"x": x, "w": w, "b": None, "m": None, "past": None, "bias": bias}
    (y,) = run("Attention", inputs, 1, ("w",), num_heads=N, qkv_hidden_sizes=[N * H, N * H, N * 3])
    q, k, v = (heads(one, N) for one in np.split(x @ w, [N * H, 2 * N * H], -1))
    close(y, attend(q, k, v, bias))


def test_attention_with_masks_of_all_keys() -> None:
    x, w, past = random(B, S, 5), random(5, 3 * N * H), random(2, B, N, 4, H)
    mask = np.array([[0, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0]], "int32")
    symbolic = {"x": ["b", "s", 5], "past": [2, "b", N, "p", H], "m": ["b", "total"]}
    inputs = {"x": x, "w": w, "b": None, "m": mask, "past": past}
    (y,) = run("Attention", inputs, 1, ("w",), symbolic, num_heads=N, unidirectional=1)
    q, k, v = (heads(one, N) for one in np.split(x @ w, 3, -1))
    k, v = (np.concatenate([old, new], 2) for old, new in zip(past, (k, v), strict=True))
    close(y, attend(q, k, v, causal(S, 4 + S) + np.where(mask, 0, -1e4)[:, None, None]))


def test_multi_head_attention() -> None:
    q, k, v = random(B, S, N * H), random(B, 5, N * H), random(B, 5, N * 3)
    shift, bias = random(2 * N * H + N * 3), random(B, 1, S, 5)
    lengths = np.array([5, 2], "int32")
    inputs = {"q": q, "k": k, "v": v, "shift": shift, "m": lengths, "bias": bias}
    symbolic = {"q": ["b", "s", N * H], "k": ["b", "t", N * H], "v": ["b", "t", N * 3],
                "m": ["b"], "bias": ["b", 1, "s", "t"]}  # fmt: skip
    (y,) = run("MultiHeadAttention", inputs, 1, ("shift",), symbolic, num_heads=N,
               mask_filter_value=-50.0)  # fmt: skip
    parts = np.split(shift, [N * H, 2 * N * H])
    rows = [heads(x + part, N) for x, part in zip((q, k, v), parts, strict=True)]
    masked = np.where(np.arange(5) < lengths[:, None], 0, -50.0)[:, None, None]
    close(y, attend(*rows, bias + masked))


def test_multi_head_attention_with_past() -> None:
    q, k, v = (random(B, S, N * H) for _ in range(3))
    olds = [random(B, N, 2, H) for _ in range(2)]
    inputs = {"q": q, "k": k, "v": v, "b": None, "m": None, "bias": None, "pk": olds[0],
              "pv": olds[1]}  # fmt: skip
    y, pk, pv = run("MultiHeadAttention", inputs, 3, num_heads=N, unidirectional=1)
    keys, values = (np.concatenate([old, heads(new, N)], 2) for old, new in
                    zip(olds, (k, v), strict=True))  # fmt: skip
    close(y, attend(heads(q, N), keys, values, causal(S, 2 + S)))
    close(pk, keys)
    close(pv, values)


def test_multi_head_attention_of_packed_heads() -> None:
    packed = random(B, S, N, 3, H)
    (y,) = run("MultiHeadAttention", {"q": packed}, num_heads=N)
    rows = [packed[:, :, :, i].transpose(0, 2, 1, 3) for i in range(3)]
    close(y, attend(*rows))
    q, pairs = random(B, S, N * H), random(B, 5, N, 2, H)
    (y,) = run("MultiHeadAttention", {"q": q, "k": pairs}, num_heads=N)
    rows = [pairs[:, :, :, i].transpose(0, 2, 1, 3) for i in range(2)]
    close(y, attend(heads(q, N), *rows))
    (y,) = run(
        "MultiHeadAttention", {"q": q, "k": rows[0].copy(), "v": rows[1].copy()}, num_heads=N
    )
    close(y, attend(heads(q, N), *rows))


def rotated(x: Any, cosine: Any, sine: Any, interleaved: bool = False) -> np.ndarray:
    """Turn pairs of features of heads, which come before positions."""
    half = cosine.shape[-1]
    turned, rest = x[..., : 2 * half], x[..., 2 * half :]
    if interleaved:
        first, second = turned[..., ::2], turned[..., 1::2]
    else:
        first, second = turned[..., :half], turned[..., half:]
    real, imaginary = first * cosine - second * sine, second * cosine + first * sine
    if interleaved:
        pairs = np.stack([real, imaginary], -1).reshape(turned.shape)
    else:
        pairs = np.concatenate([real, imaginary], -1)
    return np.concatenate([pairs, rest], -1)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding(interleaved: int) -> None:
    cosine, sine = random(16, H // 2), random(16, H // 2)
    tables = {"c": cosine, "s": sine}
    x, places = random(B, S, N * H), np.array([[4, 2, 0], [1, 2, 3]])
    (y,) = run("RotaryEmbedding", {"x": x, "p": places, **tables}, 1, ("c", "s"),
               {"x": ["b", "s", N * H], "p": ["b", "s"]}, interleaved=interleaved)  # fmt: skip
    at = [table[places][:, None] for table in (cosine, sine)]
    close(y, joined(rotated(heads(x, N), *at, bool(interleaved))))
    x, first = random(B, N, S, H + 2), np.array([5])
    (y,) = run("RotaryEmbedding", {"x": x, "p": first, **tables}, 1, ("c", "s"),
               interleaved=interleaved, num_heads=N, rotary_embedding_dim=H)  # fmt: skip
    at = [table[5 : 5 + S] for table in (cosine, sine)]
    close(y, rotated(x, *at, bool(interleaved)))


def grouped(
    rows: list[Any], past: Any, last: Any, count: int, tables: Any = None, window: int = 0,
    cap: float = 0,
) -> list[np.ndarray]:  # fmt: skip
    """Attention of each row of a batch of its own, as all rows have lengths of their own."""
    q, k, v = rows
    outputs, size = [], k.shape[2] + (0 if past is None else past[0].shape[2])
    presents = [np.zeros((*k.shape[:2], size, k.shape[3]), "float32") for _ in range(2)]
    for b in range(len(q)):
        total, length = int(last[b]) + 1, q.shape[2]
        before = max(total - length, 0)
        places = np.arange(before, before + length)
        one, new = q[b], k[b]
        if tables is not None:
            one, new = (rotated(x, *(table[places] for table in tables)) for x in (one, new))
        for i, x in enumerate((new, v[b])):
            if past is not None:
                presents[i][b, :, :before] = past[i][b, :, :before]
            presents[i][b, :, before : before + length] = x
        keys, values = (np.repeat(x[b], count, 0)[None] for x in presents)
        ends = np.minimum(places, total - 1)[:, None]
        seen = np.arange(size) <= ends
        if window:
            seen &= np.arange(size) > ends - window
        outputs.append(attend(one[None], keys, values, np.where(seen, 0, -np.inf), None, cap)[0])
    return [np.stack(outputs), *presents]


GROUPED = {
    "plain": {},
    "rotated": {"do_rotary": 1},
    "window": {"do_rotary": 1, "local_window_size": 2},
    "cap": {"softcap": 0.5},
}


@pytest.mark.parametrize("options", GROUPED)
@pytest.mark.parametrize("packed", [False, True], ids=["apart", "packed"])
def test_group_query_attention(options: str, packed: bool) -> None:
    attributes = GROUPED[options]
    queries, keys = 4, 2
    widths = [queries * H, keys * H, keys * H]
    tables = [random(16, H // 2) for _ in range(2)] if "do_rotary" in attributes else None
    window, cap = attributes.get("local_window_size", 0), attributes.get("softcap", 0)
    session, cases = None, [(5, 0, [4, 2]), (1, 5, [5, 3]), (2, 4, [5, 5])]
    for length, old, last in cases:
        parts = [random(B, length, width) for width in widths]
        inputs = dict(zip("qkv", parts, strict=True))
        if packed:
            inputs = {"q": np.concatenate(parts, -1), "k": None, "v": None}
        past = [random(B, keys, old, H) for _ in range(2)]
        lengths = np.array(last, "int32")
        inputs |= {"pk": past[0], "pv": past[1], "n": lengths,
                   "t": np.array(max(last) + 1, "int32")}  # fmt: skip
        if tables is not None:
            inputs |= {"c": tables[0], "s": tables[1]}
        symbolic = {"q": ["b", "s", sum(widths) if packed else widths[0]], "n": ["b"],
                    "k": ["b", "s", widths[1]], "v": ["b", "s", widths[2]],
                    "pk": ["b", keys, "p", H], "pv": ["b", keys, "p", H]}  # fmt: skip
        names = ("c", "s") if tables is not None else ()
        if session is None:
            session = session_of("GroupQueryAttention", inputs, 3, names, symbolic,
                                 num_heads=queries, kv_num_heads=keys, **attributes)  # fmt: skip
        feed = {k: x for k, x in inputs.items() if x is not None and k not in names}
        got = session.run(None, feed)
        rows = [heads(x, n) for x, n in zip(parts, (queries, keys, keys), strict=True)]
        wanted = grouped(rows, past, last, 2, tables, window, cap)
        for ours, theirs in zip(got, wanted, strict=True):
            close(ours, theirs)


def test_error_of_shared_buffers() -> None:
    inputs = {"q": random(B, S, N * H), "k": random(B, S, N * H), "v": random(B, S, N * H),
              "b": None, "m": None, "bias": None, "pk": random(B, N, 8, H),
              "pv": random(B, N, 8, H), "n": np.array([2], "int32")}  # fmt: skip
    with pytest.raises(NotImplementedError, match="MultiHeadAttention of opset 1: expected keys"):
        run("MultiHeadAttention", inputs, num_heads=N)


# -- embeddings, sums and normalization ---------------------------------------------------------


def normal(x: np.ndarray, gamma: Any, beta: Any, epsilon: float) -> np.ndarray:
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * gamma + beta


def test_embed_layer_normalization() -> None:
    words, segments = RNG.integers(0, 7, (B, S), "int32"), RNG.integers(0, 2, (B, S), "int32")
    tables = {"w": random(7, 8), "p": random(9, 8), "s": random(2, 8), "g": random(8),
              "h": random(8)}  # fmt: skip
    mask = np.array([[1, 1, 0], [1, 1, 1]], "int32")
    inputs = {"i": words, "j": segments, **tables, "m": mask}
    symbolic = {"i": ["b", "s"], "j": ["b", "s"], "m": ["b", "s"]}
    y, counts, total = run("EmbedLayerNormalization", inputs, 3, tuple(tables), symbolic,
                           epsilon=1e-5)  # fmt: skip
    wanted = tables["w"][words] + tables["p"][:S] + tables["s"][segments]
    close(total, wanted)
    close(y, normal(wanted, tables["g"], tables["h"], 1e-5), 1e-4)
    np.testing.assert_array_equal(counts, [2, 3])
    places = np.array([[3, 2, 1]], "int32")
    inputs = {"i": words, "j": None, "w": tables["w"], "p": tables["p"], "s": None,
              "g": tables["g"], "h": tables["h"], "m": None, "at": places}  # fmt: skip
    y, counts = run("EmbedLayerNormalization", inputs, 2)
    wanted = tables["w"][words] + tables["p"][places]
    close(y, normal(wanted, tables["g"], tables["h"], 1e-12), 1e-3)
    np.testing.assert_array_equal(counts, [0, 0])


erf = np.vectorize(math.erf, otypes=[np.float64])


def test_sums_with_biases() -> None:
    x, bias, skip = random(B, S, 8), random(8), random(B, S, 8)
    close(run("BiasAdd", {"x": x, "b": bias, "s": skip})[0], x + bias + skip)
    states, gates = np.split(x + bias, 2, -1)
    (y,) = run("BiasSplitGelu", {"x": x, "b": bias})
    close(y, states * gates * 0.5 * (1 + erf(gates / math.sqrt(2))))


@pytest.mark.parametrize("activation", [0, 1])
def test_group_norm(activation: int) -> None:
    x, gamma, beta = random(B, 3, 2, 8), random(8), random(8)
    (y,) = run("GroupNorm", {"x": x, "g": gamma, "h": beta}, 1, ("g", "h"), groups=4,
               activation=activation)  # fmt: skip
    rows = x.reshape(B, 6, 4, 2).transpose(0, 2, 1, 3).reshape(B, 4, 12)
    rows = normal(rows, 1, 0, 1e-5).reshape(B, 4, 6, 2).transpose(0, 2, 1, 3)
    wanted = rows.reshape(x.shape) * gamma + beta
    close(y, wanted / (1 + np.exp(-wanted)) if activation else wanted, 1e-4)


# -- products -----------------------------------------------------------------------------------


def test_fused_matmul() -> None:
    x, y = random(B, 4, 3), random(B, 5, 4)
    (z,) = run("FusedMatMul", {"x": x, "y": y}, 1, (), {"x": ["b", 4, "s"]}, transA=1, transB=1,
               alpha=0.5)  # fmt: skip
    close(z, 0.5 * x.transpose(0, 2, 1) @ y.transpose(0, 2, 1))
    with pytest.raises(NotImplementedError, match="expected transBatchA=0, but got 1"):
        run("FusedMatMul", {"x": x, "y": y}, transBatchA=1)


ACTIVATIONS = [
    ("Relu", [], lambda x: np.maximum(x, 0)),
    ("Sigmoid", [], lambda x: 1 / (1 + np.exp(-x))),
    ("Tanh", [], np.tanh),
    ("LeakyRelu", [0.2], lambda x: np.where(x < 0, 0.2 * x, x)),
    ("HardSigmoid", [0.3, 0.4], lambda x: np.clip(0.3 * x + 0.4, 0, 1)),
    ("Clip", [-0.1, 0.2], lambda x: np.clip(x, -0.1, 0.2)),
]


@pytest.mark.parametrize(("name", "params", "function"), ACTIVATIONS[3:])
def test_fused_gemm(name: str, params: list[float], function: Any) -> None:
    x, y, bias = random(3, 4), random(5, 4), random(5)
    named = zip(("activation_alpha", "activation_beta"), params, strict=False)
    (z,) = run("FusedGemm", {"x": x, "y": y, "b": bias}, transB=1, alpha=2.0, activation=name,
               **dict(named))  # fmt: skip
    close(z, function(2 * x @ y.T + bias))


@pytest.mark.parametrize(("name", "params", "function"), ACTIVATIONS)
def test_fused_conv(name: str, params: list[float], function: Any) -> None:
    x, w, bias, other = random(2, 3, 5), random(4, 3, 1), random(4), random(2, 4, 5)
    more = {"activation_params": params} if params else {}
    (z,) = run("FusedConv", {"x": x, "w": w, "b": bias, "z": other}, activation=name, **more)
    close(z, function(np.einsum("ncl,oc->nol", x, w[..., 0]) + bias[:, None] + other))


def test_error_of_activations() -> None:
    with pytest.raises(NotImplementedError, match=r"'y0', com\.microsoft\.FusedGemm of opset 1: "):
        run("FusedGemm", {"x": random(2, 2), "y": random(2, 2)}, activation="Odd")


# -- quantized tensors --------------------------------------------------------------------------


def whole(dtype: str, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def scale(value: float) -> np.ndarray:
    return np.array(value, "float32")


def near(got: np.ndarray, x: np.ndarray, step: Any, zero: Any) -> None:
    """Compare quantized numbers with what they stand for; halves may be rounded to either side."""
    info, real = np.iinfo(zero.dtype), x / step
    wanted = np.clip(np.rint(real) + zero.astype("float64"), info.min, info.max)
    is_half = np.abs(np.abs(real - np.trunc(real)) - 0.5) < 1e-3
    assert got.dtype == zero.dtype
    assert np.abs(got.astype("float64") - wanted)[is_half].max(initial=0) <= 1
    np.testing.assert_array_equal(got[~is_half], wanted[~is_half])


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_operators_on_quantized_elements(dtype: str) -> None:
    x, y, zeros = whole(dtype, 4, 5), whole(dtype, 5), whole(dtype, 3)
    a, b, c = (np.array(zero) for zero in zeros)
    xs, ys = (x.astype("float64") - a) * 0.02, (y.astype("float64") - b) * 0.03
    inputs = {"x": x, "xs": scale(0.02), "a": a, "y": y, "ys": scale(0.03), "b": b,
              "zs": scale(0.05), "c": c}  # fmt: skip
    (z,) = run("QLinearAdd", inputs, symbolic={"x": ["n", 5]})
    near(z, xs + ys, 0.05, c)
    near(run("QLinearMul", inputs)[0], xs * ys, 0.05, c)
    one = {"x": x, "xs": scale(0.02), "a": a, "zs": scale(1 / 256), "c": c}
    near(run("QLinearSigmoid", one)[0], 1 / (1 + np.exp(-xs)), 1 / 256, c)
    wanted = np.where(xs < 0, xs * 0.1, xs)
    near(run("QLinearLeakyRelu", one, alpha=0.1)[0], wanted, 1 / 256, c)


def test_concatenation_and_means_of_quantized_tensors() -> None:
    x, y = whole("uint8", 2, 3, 4, 4), whole("uint8", 2, 2, 4, 4)
    a, b, c = (np.array(zero, "uint8") for zero in (100, 120, 130))
    inputs = {"zs": scale(0.04), "c": c, "x": x, "xs": scale(0.02), "a": a, "y": y,
              "ys": scale(0.03), "b": b}  # fmt: skip
    xs, ys = (x.astype("float64") - a) * 0.02, (y.astype("float64") - b) * 0.03
    near(run("QLinearConcat", inputs, axis=1)[0], np.concatenate([xs, ys], 1), 0.04, c)
    one = {"x": x, "xs": scale(0.02), "a": a, "zs": scale(0.01), "c": c}
    wanted = xs.mean((2, 3), keepdims=True)
    near(run("QLinearGlobalAveragePool", one)[0], wanted, 0.01, c)


def test_products_of_quantized_matrices() -> None:
    x, y = whole("uint8", 3, 4), whole("int8", 4, 5)
    a, b = np.array(120, "uint8"), whole("int8", 5)
    step, bias = RNG.random(5, "float32"), random(5)
    product = (x.astype("int64") - 120) @ (y.astype("int64") - b)
    inputs = {"x": x, "y": y, "xs": scale(0.1), "ys": step, "a": a, "b": b, "bias": bias}
    (z,) = run("MatMulIntegerToFloat", inputs, 1, ("y", "ys", "b", "bias"), {"x": ["n", 4]})
    close(z, product * (0.1 * step) + bias, 1e-4)
    low = whole("int8", 5).astype("int32")
    inputs = {"x": x, "xs": scale(0.1), "a": a, "y": y.T.copy(), "ys": step, "b": b, "bias": low}
    (z,) = run("QGemm", inputs, transB=1)
    close(z, (product + low) * (0.1 * step), 1e-4)
    inputs |= {"zs": scale(40.0), "c": np.array(3, "int8")}
    (z,) = run("QGemm", inputs, transB=1)
    near(z, (product + low) * (0.1 * step), 40.0, np.array(3, "int8"))


def test_attention_of_quantized_tensors() -> None:
    x, w, shift = whole("uint8", B, S, 5), whole("int8", 5, 3 * N * H), random(3 * N * H)
    zero, other, step = np.array(120, "uint8"), np.array(3, "int8"), np.array([0.01], "float32")
    past, mask = random(2, B, N, 4, H), np.array([7, 6], "int32")
    inputs = {"x": x, "w": w, "b": shift, "xs": scale(0.02), "ws": step, "m": mask, "a": zero,
              "z": other, "past": past}  # fmt: skip
    symbolic = {"x": ["b", "s", 5], "m": ["b"], "past": [2, "b", N, "p", H]}
    y, present = run("QAttention", inputs, 2, ("w", "b", "xs", "ws", "a", "z"), symbolic,
                     num_heads=N, unidirectional=1)  # fmt: skip
    product = (x.astype("float64") - 120) @ (w.astype("float64") - 3) * 0.02 * 0.01 + shift
    q, k, v = (heads(one, N) for one in np.split(product, 3, -1))
    k, v = (np.concatenate([old, new], 2) for old, new in zip(past, (k, v), strict=True))
    masked = np.where(np.arange(7) < mask[:, None], 0, -1e4)[:, None, None]
    close(y, attend(q, k, v, causal(S, 4 + S) + masked), 1e-4)
    close(present, np.stack([k, v]), 1e-4)


def test_product_that_quantizes_its_input() -> None:
    x, y, step = random(3, 4), whole("int8", 4, 5), RNG.random(5, "float32")
    inputs = {"x": x, "y": y, "ys": step, "b": None, "bias": random(5)}
    (z,) = run("DynamicQuantizeMatMul", inputs)
    each = (max(x.max(), 0) - min(x.min(), 0)) / 255
    zero = np.clip(np.rint(-min(x.min(), 0) / each), 0, 255)
    rows = np.clip(np.rint(x / each) + zero, 0, 255) - zero
    close(z, rows @ y * (each * step) + inputs["bias"], 1e-4)


@pytest.mark.parametrize(("bits", "rows", "zero"), [
    (4, 32, "none"), (4, 40, "packed"), (4, 48, "floats"), (8, 32, "packed"), (2, 32, "packed"),
])  # fmt: skip
def test_weights_of_few_bits(bits: int, rows: int, zero: str) -> None:
    columns, block = 3, 16
    blocks = -(-rows // block)
    weights = RNG.integers(0, 1 << bits, (columns, blocks, block))
    steps, bias = RNG.random((columns, blocks), "float32"), random(columns)
    each = 8 // bits

    def packed(x: np.ndarray) -> np.ndarray:
        """Integers along the last dimension, the first one in the lowest bits of a byte."""
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % each)])
        x = x.reshape(*x.shape[:-1], -1, each)
        return (x << (np.arange(each) * bits)).sum(-1).astype("uint8")

    zeros = RNG.integers(0, 1 << bits, (columns, blocks))
    given = {"none": None, "packed": packed(zeros).reshape(-1),
             "floats": zeros.astype("float32").reshape(-1)}[zero]  # fmt: skip
    offsets = np.full(zeros.shape, 1 << (bits - 1)) if zero == "none" else zeros
    plain = ((weights - offsets[..., None]) * steps[..., None]).reshape(columns, -1)[:, :rows]
    x = random(2, 3, rows)
    inputs = {"x": x, "w": packed(weights), "s": steps.reshape(-1), "z": given, "g": None,
              "b": bias}  # fmt: skip
    names = tuple(key for key in "wszb" if inputs[key] is not None)
    (y,) = run("MatMulNBits", inputs, 1, names, {"x": ["n", "s", rows]}, K=rows, N=columns,
               bits=bits, block_size=block)  # fmt: skip
    close(y, x @ plain.T + bias, 1e-4)


@pytest.mark.parametrize(("bits", "width", "has_zeros"), [
    (4, 32, True), (4, 40, False), (4, 48, True), (8, 20, True),
])  # fmt: skip
def test_rows_of_weights_of_few_bits(bits: int, width: int, has_zeros: bool) -> None:
    block, each = 16, 8 // bits
    blocks = -(-width // block)

    def packed(x: np.ndarray) -> np.ndarray:
        x = np.pad(x, [(0, 0), (0, -x.shape[-1] % each)]).reshape(len(x), -1, each)
        return (x << (np.arange(each) * bits)).sum(-1).astype("uint8")

    weights, zeros = (RNG.integers(0, 1 << bits, (7, n)) for n in (width, blocks))
    steps, places = RNG.random((7, blocks), "float32"), np.array([[3, 0, 6], [2, -1, 1]])
    offsets = zeros if has_zeros else np.full(zeros.shape, 1 << (bits - 1))
    plain = weights - np.repeat(offsets, block, 1)[:, :width]
    plain = plain * np.repeat(steps, block, 1)[:, :width]
    inputs = {"w": packed(weights), "i": places, "s": steps,
              "z": packed(zeros) if has_zeros else None}  # fmt: skip
    names = ("w", "s", "z") if has_zeros else ("w", "s")
    (y,) = run("GatherBlockQuantized", inputs, 1, names, {"i": ["b", "s"]}, bits=bits,
               block_size=block)  # fmt: skip
    close(y, plain[places])


def test_windows_and_softmax_of_quantized_tensors() -> None:
    x, zero, c = whole("uint8", 2, 3, 4, 5), np.array(99, "uint8"), np.array(7, "uint8")
    real = (x.astype("float64") - 99) * 0.02
    one = {"x": x, "xs": scale(0.02), "a": zero, "zs": scale(0.013), "c": c}
    (y,) = run("QLinearAveragePool", one, kernel_shape=[2, 2])
    means = (real[..., :-1, :] + real[..., 1:, :]) / 2
    near(y, (means[..., :-1] + means[..., 1:]) / 2, 0.013, c)
    one["zs"] = scale(1 / 256)
    near(run("QLinearSoftmax", one, axis=-1, opset=13)[0], softmax(real), 1 / 256, c)


def test_skip_group_norm() -> None:
    x, skip, bias, gamma, beta = random(B, 3, 2, 8), random(B, 8), random(8), random(8), random(8)
    inputs = {"x": x, "g": gamma, "h": beta, "s": skip, "b": bias}
    y, total = run("SkipGroupNorm", inputs, 2, ("g", "h"), groups=4, activation=0)
    close(total, x + skip[:, None, None] + bias)
    rows = total.reshape(B, 6, 4, 2).transpose(0, 2, 1, 3).reshape(B, 4, 12)
    rows = normal(rows, 1, 0, 1e-5).reshape(B, 4, 6, 2).transpose(0, 2, 1, 3)
    close(y, rows.reshape(x.shape) * gamma + beta, 1e-4)


@pytest.mark.parametrize("dims", [(1, 1), (2, 3, 3), (2, 2, 6, 6)])
def test_inverse(dims: tuple[int, ...]) -> None:
    x = random(*dims) + 0.1 * np.eye(dims[-1], dtype="float32")
    x[..., 0, 0] = 0 if dims[-1] > 1 else 2  # which is no pivot
    symbolic = {"x": ["n", *dims[1:]]} if len(dims) > 2 else {}
    (y,) = run("Inverse", {"x": x}, symbolic=symbolic)
    close(y @ x, np.broadcast_to(np.eye(dims[-1]), dims), 2e-3)


# -- a decoder ----------------------------------------------------------------------------------


def decoder() -> Any:
    """A layer of a language model as exporters write it: lengths come from the mask."""
    text = """<ir_version: 10, opset_import: ["" : 18, "com.microsoft" : 1]>
    model (int64[b, s] ids, int64[b, total] mask, float[b, 2, past, 4] k0, float[b, 2, past, 4] v0)
      => (float[b, s, 9] logits, float[b, 2, total, 4] k1, float[b, 2, total, 4] v1) {
      axis = Constant<value = int64[1] {1}>()
      counts = ReduceSum<keepdims = 0>(mask, axis)
      one = Constant<value = int64 {1}>()
      lasts = Sub(counts, one)
      last = Cast<to = 6>(lasts)
      shape = Shape(mask)
      length = Gather<axis = 0>(shape, one)
      total_length = Cast<to = 6>(length)
      x = Gather(table, ids)
      n = SimplifiedLayerNormalization<axis = -1, epsilon = 1e-5>(x, gamma)
      qkv = MatMul(n, wqkv)
      a, k1, v1 = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, do_rotary = 1>(
        qkv, , , k0, v0, last, total_length, cosine, sine)
      o = MatMul(a, wo)
      m, , , r = com.microsoft.SkipSimplifiedLayerNormalization<epsilon = 1e-5>(o, x, gamma)
      h = MatMul(m, wh)
      g = com.microsoft.QuickGelu(h)
      d = MatMul(g, wd)
      y = com.microsoft.SkipSimplifiedLayerNormalization<epsilon = 1e-5>(d, r, gamma)
      logits = MatMul(y, wl)
    }"""
    model = parser.parse_model(text)
    weights = {
        "table": random(9, 16), "gamma": random(16), "wqkv": random(16, 32), "wo": random(16, 16),
        "wh": random(16, 8), "wd": random(8, 16), "wl": random(16, 9),
        "cosine": np.cos(np.outer(np.arange(16), [1, 0.1])).astype("float32"),
        "sine": np.sin(np.outer(np.arange(16), [1, 0.1])).astype("float32"),
    }  # fmt: skip
    model.graph.initializer.extend(numpy_helper.from_array(x, k) for k, x in weights.items())
    return model


def test_decoder_goes_on_from_earlier_keys() -> None:
    session = InferenceSession(decoder())
    ids = RNG.integers(0, 9, (2, 6))
    past = np.zeros((2, 2, 0, 4), "float32")
    feed = {"ids": ids, "mask": np.ones((2, 6), "int64"), "k0": past, "v0": past}
    whole_logits, keys, values = session.run(None, feed)
    assert keys.shape == (2, 2, 6, 4)
    parts, k, v, done = [], past, past, 0
    for count in (3, 1, 2):
        end = done + count
        feed = {"ids": ids[:, done:end], "mask": np.ones((2, end), "int64"), "k0": k, "v0": v}
        logits, k, v = session.run(None, feed)
        parts.append(logits)
        done = end
    close(np.concatenate(parts, 1), whole_logits, 1e-4)
    close(k, keys)
    close(v, values)


@pytest.mark.parametrize("is_transposed", [False, True])
def test_products_unpack_quantized_weights(is_transposed: bool) -> None:
    """Weights that DequantizeLinear makes, also those of a Gemm that transposes them."""
    codes = RNG.integers(-8, 8, (96, 128)).astype("int8")
    scales = RNG.random((96, 4), "float32")
    axis = 1
    if not is_transposed:
        codes, scales, axis = codes.T.copy(), scales.T.copy(), 0
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["f"], axis=axis, block_size=32),
        helper.make_node("Gemm", ["x", "f"], ["y"], transB=int(is_transposed)),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [info("x", TensorProto.FLOAT, ["n", 128])],
        [info("y", TensorProto.FLOAT, ["n", 96])],
        [numpy_helper.from_array(codes, "w"), numpy_helper.from_array(scales, "s")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    mod = from_onnx(model)
    lowered = relax.transform.phase("legalize")(relax.transform.phase("optimize")(mod))
    assert "packed_weights" in str(lowered)
    x = RNG.random((3, 128), "float32")
    plain = codes * np.repeat(scales, 32, axis)
    result = relax.VirtualMachine(relax.compile(mod))["main"](x)
    np.testing.assert_allclose(
        np.from_dlpack(result), x @ (plain.T if is_transposed else plain), rtol=1e-4, atol=1e-4
    )
