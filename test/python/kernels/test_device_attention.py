"""Attention in one pass over the keys by the kernels of GPUs."""

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
from kernel_programs import write
from relax_mlir import op

pytestmark = pytest.mark.skipif(
    not relax_runtime.has_device("cuda:0"), reason="needs a CUDA device, which is not here"
)


def attend(q, k, v, mask=None, bias=None):
    """Return softmax(q k^T) v of batch, length, heads, features; `mask` says which keys count."""
    q, k, v = (x.astype("float64") for x in (q, k, v))
    scores = np.einsum("bshd,bthd->bhst", q, k) / np.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias.astype("float64")
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bhst,bthe->bshe", weights, v)


def compiled(tmp_path, function, *shapes):
    """Return `main`, whose only kernel is attention by one launch."""
    bb = write(function, tuple((shape, "float16") for shape in shapes))
    ex = relax.compile(bb, target="cuda", dump_phases=tmp_path)
    kernels = (tmp_path / "06-kernels.mlir").read_text()
    assert 'relax.kernel_class = "attention"' in kernels
    main = relax.VirtualMachine(ex)["main"]

    def call(*args):
        moved = [relax_runtime.tensor(arg, "cuda:0") for arg in args]
        return np.from_dlpack(relax_runtime.tensor(main(*moved), "cpu:0"))

    return call


def inputs(batch, queries, keys, heads, features, columns=None):
    random = np.random.default_rng(queries * 100 + keys)
    shapes = [(queries, features), (keys, features), (keys, columns or features)]
    return [
        random.standard_normal((batch, length, heads, size)).astype("float16")
        for length, size in shapes
    ]


def close(actual, expected):
    np.testing.assert_allclose(actual.astype("float64"), expected, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("features", [16, 48, 64, 128])
def test_lengths_that_are_no_multiples_of_tiles(tmp_path, features):
    heads = ("b", "s", 2, features), ("b", "t", 2, features), ("b", "t", 2, features)
    main = compiled(tmp_path, op.nn.attention, *heads)
    for queries, keys in ((1, 1), (5, 70), (64, 64), (65, 129), (130, 3)):
        q, k, v = inputs(2, queries, keys, 2, features)
        close(main(q, k, v), attend(q, k, v))


def test_values_of_other_features_than_keys(tmp_path):
    shapes = (1, "s", 2, 32), (1, "t", 2, 32), (1, "t", 2, 80)
    main = compiled(tmp_path, op.nn.attention, *shapes)
    q, k, v = inputs(1, 70, 90, 2, 32, columns=80)
    close(main(q, k, v), attend(q, k, v))


@pytest.mark.parametrize(("mask", "offset"), [("TopLeft", False), ("BottomRight", True)])
def test_causal(tmp_path, mask, offset):
    shapes = (1, "s", 2, 32), (1, "t", 2, 32), (1, "t", 2, 32)
    main = compiled(tmp_path, lambda *x: op.nn.attention(*x, causal_mask=mask), *shapes)
    for queries, keys in ((70, 70), (3, 130), (66, 200)):
        q, k, v = inputs(1, queries, keys, 2, 32)
        seen = np.tril(np.ones((queries, keys), bool), keys - queries if offset else 0)
        close(main(q, k, v), attend(q, k, v, mask=seen))


def test_bias_with_keys_that_do_not_count(tmp_path):
    """All scores of the first blocks of keys are -infinity, which is no NaN in the end."""
    shapes = (1, "s", 2, 32), (1, "t", 2, 32), (1, "t", 2, 32), (1, 2, "s", "t")
    main = compiled(tmp_path, lambda q, k, v, b: op.nn.attention(q, k, v, bias=b), *shapes)
    q, k, v = inputs(1, 33, 200, 2, 32)
    bias = np.random.default_rng(0).standard_normal((1, 2, 33, 200)).astype("float16")
    bias[..., :130] = -np.inf
    close(main(q, k, v, bias), attend(q, k, v, bias=bias))
