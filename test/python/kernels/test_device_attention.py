"""Attention in one pass over the keys by the kernels of GPUs, and by parts of them."""

import ctypes
import os

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
from kernel_programs import write
from relax_mlir import op

pytestmark = pytest.mark.skipif(
    not relax_runtime.has_device("cuda:0"), reason="needs a CUDA device, which is not here"
)

DRIVER = os.environ.get("RELAX_CUDA_DRIVER", "")
MODES = ("compiled", "bytecode")
FLOAT16, BFLOAT16 = np.dtype("float16"), np.dtype(ml_dtypes.bfloat16)
#: Up to 511 keys are one part; there are two from 512 on, which get 64 at a time, and then more.
KEYS = (0, 1, 255, 256, 257, 511, 512, 513, 577, 640, 641, 1000)


def attend(q, k, v, mask=None, bias=None):
    """Return softmax(q k^T) v of batch, length, heads, features; `mask` says which keys count."""
    q, k, v = (x.astype("float64") for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], 2) for x in (k, v))
    scores = np.einsum("bshd,bthd->bhst", q, k) / np.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias.astype("float64")
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bhst,bthe->bshe", weights, v)


def compiled(tmp_path, function, *shapes, dtype=FLOAT16, mode="compiled", **options):
    """Return `main`, whose only kernel is attention."""
    bb = write(function, tuple((shape, dtype.name) for shape in shapes))
    ex = relax.compile(bb, target="cuda", exec_mode=mode, dump_phases=tmp_path, **options)
    kernels = (tmp_path / "06-kernels.mlir").read_text()
    assert 'relax.kernel_class = "attention"' in kernels
    main = relax.VirtualMachine(ex)["main"]

    def call(*args):
        moved = [relax_runtime.tensor(arg, "cuda:0") for arg in args]
        return relax_runtime.tensor(main(*moved), "cpu:0").numpy()

    return call


def inputs(batch, queries, keys, heads, features, columns=None, dtype=FLOAT16):
    random = np.random.default_rng(queries * 100 + keys)
    shapes = [(queries, features), (keys, features), (keys, columns or features)]
    return [
        random.standard_normal((batch, length, heads, size)).astype(dtype)
        for length, size in shapes
    ]


def close(actual, expected):
    most = 5e-3 if actual.dtype == FLOAT16 else 3e-2
    np.testing.assert_allclose(actual.astype("float64"), expected, rtol=most, atol=most)


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


def shapes_of(heads, features, queries="s"):
    return ("b", queries, heads, features), *2 * (("b", "t", heads, features),)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
def test_a_query_of_any_number_of_keys(tmp_path, mode, dtype):
    options = {"dtype": dtype, "mode": mode}
    main = compiled(tmp_path, op.nn.attention, *shapes_of(2, 32, queries=1), **options)
    for keys in KEYS:
        q, k, v = inputs(2, 1, keys, 2, 32, dtype=dtype)
        close(main(q, k, v), attend(q, k, v) if keys else np.zeros(q.shape))


@pytest.mark.parametrize("features", [16, 48, 64, 128])
def test_parts_of_keys(tmp_path, features):
    """Up to 16 queries are those of all warps; more of them, and several tiles, are tiles."""
    main = compiled(tmp_path, op.nn.attention, *shapes_of(2, features))
    for queries, keys in ((2, 770), (15, 512), (16, 600), (17, 600), (65, 520)):
        q, k, v = inputs(1, queries, keys, 2, features)
        close(main(q, k, v), attend(q, k, v))


def test_parts_of_values_of_other_features_than_keys(tmp_path):
    shapes = (1, "s", 2, 32), (1, "t", 2, 32), (1, "t", 2, 80)
    main = compiled(tmp_path, op.nn.attention, *shapes)
    q, k, v = inputs(1, 3, 700, 2, 32, columns=80)
    close(main(q, k, v), attend(q, k, v))


@pytest.mark.parametrize("mode", MODES)
def test_parts_of_known_sizes(tmp_path, mode):
    """What there are of parts is known, but for whether rows are aligned."""
    shapes = (3, 1, 2, 32), (3, 1000, 2, 32), (3, 1000, 2, 32)
    main = compiled(tmp_path, op.nn.attention, *shapes, mode=mode)
    q, k, v = inputs(3, 1, 1000, 2, 32)
    close(main(q, k, v), attend(q, k, v))


def test_parts_of_keys_that_are_those_of_several_heads(tmp_path):
    shapes = ("b", "s", 6, 32), ("b", "t", 2, 32), ("b", "t", 2, 32)
    main = compiled(tmp_path, op.nn.attention, *shapes)
    for queries in (1, 20):
        q, k, v = inputs(2, queries, 600, 6, 32)
        k, v = k[:, :, ::3].copy(), v[:, :, ::3].copy()
        close(main(q, k, v), attend(q, k, v))


def test_parts_of_rows_that_are_not_aligned(tmp_path):
    """Keys begin in the middle of a tensor, where no copy of 16 bytes reads them."""

    def attention(q, k, v):
        k = op.memory.view(k, (1, 700, 2, 32), relative_byte_offset=2)
        return op.nn.attention(q, k, v)

    shapes = ((1, 3, 2, 32), (700 * 64 + 1,), (1, 700, 2, 32))
    main = compiled(tmp_path, attention, *shapes)
    q, k, v = inputs(1, 3, 700, 2, 32)
    close(main(q, np.append(FLOAT16.type(0), k), v), attend(q, k, v))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("mask", "offset"), [("TopLeft", False), ("BottomRight", True)])
@pytest.mark.parametrize("window", [None, 300, 700])
def test_causal_parts(tmp_path, mode, mask, offset, window):
    """Blocks share the keys that their queries see; some get none, and some rows see none."""

    def attention(*args):
        return op.nn.attention(*args, causal_mask=mask, window_size=window)

    main = compiled(tmp_path, attention, *shapes_of(2, 32), mode=mode)
    for queries, keys in ((1, 1000), (3, 512), (16, 900), (70, 900), (600, 520)):
        q, k, v = inputs(1, queries, keys, 2, 32)
        position = np.arange(queries)[:, None] + (keys - queries if offset else 0)
        seen = np.arange(keys) <= position
        if window is not None:
            seen &= np.arange(keys) > position - window
        sees = seen.any(-1)
        actual = main(q, k, v)
        close(actual[:, sees], attend(q[:, sees], k, v, mask=seen[sees]))
        np.testing.assert_array_equal(actual[:, ~sees], 0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("queries", [1, 17])
def test_bias_of_parts_that_do_not_count(tmp_path, mode, queries):
    """All scores of some parts are -infinity, wherever they are; a row of such is NaN."""
    shapes = *shapes_of(2, 32), ("b", 2, "s", "t")
    main = compiled(
        tmp_path, lambda q, k, v, b: op.nn.attention(q, k, v, bias=b), *shapes, mode=mode
    )
    q, k, v = inputs(1, queries, 1000, 2, 32)
    random = np.random.default_rng(0).standard_normal((1, 2, queries, 1000))
    for hidden in (slice(0, 0), slice(0, 700), slice(300, 1000), slice(1, 1000), slice(0, 1000)):
        bias = random.astype("float16")
        bias[:, 1, :, hidden] = -np.inf
        actual = main(q, k, v, bias)
        heads = 1 if hidden == slice(0, 1000) else 2
        args = (x[:, :, :heads] for x in (q, k, v))
        close(actual[:, :, :heads], attend(*args, bias=bias[:, :heads]))
        assert np.isnan(actual[:, :, heads:]).all()


def test_scores_that_are_not_finite(tmp_path):
    """An infinite score, or NaN, of one part makes NaN of the row, and of no other one."""
    main = compiled(tmp_path, op.nn.attention, *shapes_of(2, 32))
    q, k, v = inputs(1, 2, 1000, 2, 32)
    q[..., 0] = abs(q[..., 0])
    for place in (0, 999):
        for value in (np.inf, np.nan):
            keys = k.copy()
            keys[0, place, 1, 0] = value
            actual = main(q, keys, v)
            assert np.isnan(actual[:, :, 1]).all()
            close(actual[:, :, 0], attend(q, k, v)[:, :, 0])


@pytest.mark.skipif("relax_ptx_driver" not in DRIVER, reason="counts launches of the interpreter")
def test_sizes_say_how_many_launches_there_are(tmp_path):
    """A second one combines parts: where blocks are few, and keys many."""
    driver = ctypes.CDLL(DRIVER)
    driver.relax_ptx_launches.restype = ctypes.c_longlong
    main = compiled(tmp_path, op.nn.attention, *shapes_of(1, 16))
    for batch, queries, keys, launches in (
        (1, 1, 511, 1), (1, 1, 512, 2), (128, 1, 512, 2), (129, 1, 512, 1), (64, 65, 512, 2),
        (65, 65, 512, 1), (1, 0, 512, 0), (0, 1, 512, 0),
    ):  # fmt: skip
        q, k, v = inputs(batch, queries, keys, 1, 16)
        driver.relax_ptx_reset()
        close(main(q, k, v), attend(q, k, v))
        assert driver.relax_ptx_launches() == launches


@pytest.mark.parametrize("mode", MODES)
def test_parts_are_replayed(tmp_path, mode):
    """Scratch memory of a CUDA graph is its own, and results are the same in each call."""
    main = compiled(tmp_path, op.nn.attention, *shapes_of(2, 32), mode=mode, cuda_graph=True)
    q, k, v = inputs(1, 1, 600, 2, 32)
    first = main(q, k, v)
    close(first, attend(q, k, v))
    for _ in range(4):
        np.testing.assert_array_equal(main(q, k, v), first)
