"""Normalization, attention and products against NumPy and PyTorch."""

import numpy as np
import pytest
import torch
from operator_tables import FLOATS, check, of_torch, table_of
from relax_mlir import op
from torch.nn import functional


def batch_norm(training):
    def call(x, g, b, m, v):
        m, v = m.copy(), abs(v)
        tensors = [torch.from_numpy(a.astype("float64")) for a in (x, m, v, g, b)]
        out = functional.batch_norm(*tensors, False)
        if not training:
            return [out.numpy().astype(x.dtype), m, v]
        axes = tuple(i for i in range(x.ndim) if i != 1)
        x = x.astype("float64")
        mean, variance = x.mean(axes), x.var(axes)
        out = functional.batch_norm(*tensors, True)
        return [
            out.numpy().astype(g.dtype),
            (0.9 * m + 0.1 * mean).astype(g.dtype),
            (0.9 * v + 0.1 * variance).astype(g.dtype),
        ]

    return call


def rms_norm(x, w):
    return (x / np.sqrt((x.astype("f8") ** 2).mean(-1, keepdims=True) + 1e-5) * w).astype(x.dtype)


def attend(mask=None, window=None, scale=None):
    """Return a reference of attention."""

    def call(q, k, v, bias=None):
        dtype = q.dtype
        q, k, v = (x.astype("float64").transpose(0, 2, 1, 3) for x in (q, k, v))
        k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
        scores = q @ k.swapaxes(2, 3) * (scale or q.shape[-1] ** -0.5)
        if bias is not None:
            scores = scores + bias
        queries, keys = scores.shape[2:]
        last = np.arange(queries)[:, None] + (keys - queries if mask == "BottomRight" else 0)
        place = np.arange(keys)[None]
        seen = place <= last if mask else place >= 0
        if window:
            seen = seen & (place > last - window)
        with np.errstate(invalid="ignore"):
            powers = np.where(seen, np.exp(scores - scores.max(-1, keepdims=True)), 0)
            sums = powers.sum(-1, keepdims=True)
            weights = np.where(sums == 0, 0, powers / np.where(sums == 0, 1, sums))
        return (weights @ v).transpose(0, 2, 1, 3).astype(dtype)

    return call


QKV = [("b", "n", 2, 4), ("b", "k", 2, 4), ("b", "k", 2, 3)]
NORMS = [
    (
        "batch_norm",
        lambda x, g, b, m, v: op.nn.batch_norm(x, g, b, m, op.abs(v), 1, training=False),
        batch_norm(False),
        FLOATS[:2],
        [("n", "m", "h", "w"), *[("m",)] * 4],
    ),
    (
        "batch_norm-training",
        lambda x, g, b, m, v: op.nn.batch_norm(x, g, b, m, op.abs(v), 1),
        batch_norm(True),
        ["float32"],
        [("b", 3, "h"), *[(3,)] * 4],
    ),
    (
        "group_norm",
        lambda x, g, b: op.nn.group_norm(x, g, b, 2, 1, [2, 3]),
        of_torch(lambda x, g, b: functional.group_norm(x, 2, g, b)),
        FLOATS,
        [("n", 4, "h", "w"), (4,), (4,)],
    ),
    (
        "group_norm-channels",
        lambda x, g, b: op.nn.group_norm(x, g, b, 2, 1, 2),
        of_torch(lambda x, g, b: functional.group_norm(x, 2, g, b)),
        ["float32"],
        [("n", "k", "h"), ("k",), ("k",)],
    ),
    (
        "group_norm-last",
        lambda x, g, b: op.nn.group_norm(x, g, b, 2, -1, [1], center=False),
        of_torch(lambda x, g, b: functional.group_norm(x.permute(0, 2, 1), 2, g).permute(0, 2, 1)),
        ["float32"],
        [("n", "h", 4), (4,), (4,)],
    ),
    (
        "instance_norm",
        lambda x, g, b: op.nn.instance_norm(x, g, b, 1, [2, 3]),
        of_torch(lambda x, g, b: functional.instance_norm(x, weight=g, bias=b)),
        FLOATS,
        [("n", "m", "h", "w"), ("m",), ("m",)],
    ),
    ("rms_norm", op.nn.rms_norm, rms_norm, FLOATS, [("n", "m", "h"), ("h",)]),
    (
        "rms_norm-axes",
        lambda x, w: op.nn.rms_norm(x, w, [1, 2], 0.1),
        lambda x, w: x / np.sqrt((x**2).mean((1, 2), keepdims=True) + 0.1) * w,
        ["float64"],
        [("n", "m", 3), ("m", 3)],
    ),
    ("attention", op.nn.attention, attend(), FLOATS, QKV),
    (
        "attention-scale",
        lambda q, k, v: op.nn.attention(q, k, v, scale=0.3),
        attend(scale=0.3),
        ["float32"],
        QKV,
    ),
    ("attention-features", op.nn.attention, attend(), ["float32"], [("b", "n", 2, "m")] * 3),
    ("attention-bias", op.nn.attention, attend(), ["float32"], [*QKV, ("b", 1, "n", "k")]),
    ("attention-heads", op.nn.attention, attend(), ["float32"], [("b", "n", 6, 4), *QKV[1:]]),
]
for options in [
    {"causal_mask": "TopLeft"},
    {"causal_mask": "BottomRight"},
    {"causal_mask": "TopLeft", "window_size": 2},
    {"causal_mask": "BottomRight", "window_size": 3},
]:
    NORMS.append(
        (
            "attention-" + "-".join(map(str, options.values())),
            lambda q, k, v, o=options: op.nn.attention(q, k, v, **o),
            attend(options["causal_mask"], options.get("window_size")),
            ["float32", "float16"],
            QKV,
        )
    )


@table_of(NORMS)
def test_normalization(load, write, tensor, function, reference, shapes, dtype):
    check(load, write, tensor, function, reference, shapes, [dtype] * len(shapes))


def test_attention_without_keys(run):
    q, k = np.ones((1, 4, 1, 2), "float32"), np.ones((1, 2, 1, 2), "float32")
    result = run(lambda q, k: op.nn.attention(q, k, k, causal_mask="BottomRight"), q, k)
    np.testing.assert_allclose(result[0, :, 0, 0], [0, 0, 1, 1])


@pytest.mark.parametrize("keys", [0, "m"])
def test_attention_over_no_keys(run, keys):
    q, k = np.ones((1, 4, 1, 2), "float32"), np.ones((1, 0, 1, 2), "float32")
    shapes = [q.shape, (1, keys, 1, 2)]
    result = run(lambda q, k: op.nn.attention(q, k, k), q, k, shapes=shapes)
    np.testing.assert_array_equal(result, np.zeros_like(q))


def test_matmul_out_dtype(run):
    a, b = np.full((3, 300), 100, "int8"), np.full((300, 2), -100, "int8")
    result = run(lambda a, b: op.matmul(a, b, "int32"), a, b, shapes=[("n", "k"), ("k", 2)])
    np.testing.assert_array_equal(result, np.full((3, 2), -3000000, "int32"))
    a = np.linspace(0, 1, 12, dtype="float16").reshape(3, 4)
    result = run(lambda a: op.matmul(a, a, "float32"), a[:, :3])
    np.testing.assert_allclose(result, a[:, :3].astype("f") @ a[:, :3].astype("f"), rtol=1e-6)
