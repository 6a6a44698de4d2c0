"""Functions that move elements, and products, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from relax_mlir import te, topi

rng = np.random.default_rng(3)


def floats(*shape):
    return rng.standard_normal(shape).astype("float32")


MOVES = {
    "expand_dims": (lambda A: topi.expand_dims(A, 1), lambda x: np.expand_dims(x, 1)),
    "expand_dims last": (
        lambda A: topi.expand_dims(A, -1, 2),
        lambda x: x.reshape(*x.shape, 1, 1),
    ),
    "transpose": (topi.transpose, lambda x: x.transpose()),
    "transpose axes": (
        lambda A: topi.transpose(A, (1, 2, 0)),
        lambda x: x.transpose((1, 2, 0)),
    ),
    "reshape": (lambda A: topi.reshape(A, (4, -1)), lambda x: x.reshape(4, -1)),
    "reshape by shape": (
        lambda A: topi.reshape(A, (A.shape[2] * A.shape[0], A.shape[1])),
        lambda x: x.reshape(-1, x.shape[1]),
    ),
    "flip": (lambda A: topi.flip(A, 1), lambda x: np.flip(x, 1)),
    "concatenate": (lambda A: topi.concatenate([A, A, A], 1), lambda x: np.concatenate([x] * 3, 1)),
    "stack": (lambda A: topi.stack([A, A], -1), lambda x: np.stack([x, x], -1)),
    "repeat": (lambda A: topi.repeat(A, 3, 1), lambda x: np.repeat(x, 3, 1)),
    "tile": (lambda A: topi.tile(A, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3))),
    "tile more": (lambda A: topi.tile(A, (2, 1, 1, 1)), lambda x: np.tile(x, (2, 1, 1, 1))),
    "tile fewer": (lambda A: topi.tile(A, (2,)), lambda x: np.tile(x, (2,))),
    "slice": (
        lambda A: topi.strided_slice(A, [0, 1], [2, 3]),
        lambda x: x[0:2, 1:3],
    ),
    "slice axes": (
        lambda A: topi.strided_slice(A, [1], [4], axes=[2]),
        lambda x: x[:, :, 1:4],
    ),
    "slice strides": (
        lambda A: topi.strided_slice(A, [0, 0, 0], [3, 4, 5], [1, 2, 3]),
        lambda x: x[:, ::2, ::3],
    ),
    "slice open": (
        lambda A: topi.strided_slice(A, [1], [None], axes=[1]),
        lambda x: x[:, 1:],
    ),
    "slice from the end": (
        lambda A: topi.strided_slice(A, [-2], [None], axes=[1]),
        lambda x: x[:, -2:],
    ),
    "slice back": (
        lambda A: topi.strided_slice(A, [None], [None], [-1], axes=[1]),
        lambda x: x[:, ::-1],
    ),
    "slice by sizes": (
        lambda A: topi.strided_slice(A, [1, 0], [2, -1], slice_mode="size"),
        lambda x: x[1:3],
    ),
    "slice beyond": (
        lambda A: topi.strided_slice(A, [1], [100], axes=[1], assume_inbound=False),
        lambda x: x[:, 1:100],
    ),
    "trilu": (lambda A: topi.trilu(A, 1, True), lambda x: np.triu(x, 1)),
    "tril": (lambda A: topi.trilu(A, 0, False), lambda x: np.tril(x)),
}


@pytest.mark.parametrize("name", MOVES)
def test_rf11_topi_moves(run_te, name):
    function, reference = MOVES[name]
    x = floats(3, 4, 5)
    np.testing.assert_array_equal(run_te(function, x), reference(x))


def test_rf11_topi_reshape_of_no_elements(run_te):
    x = floats(3, 0)
    assert run_te(lambda A: topi.reshape(A, (-1, 2)), x).shape == (0, 2)
    assert run_te(lambda A: topi.reshape(A, (0, 5)), x).shape == (0, 5)


def test_rf11_topi_squeeze(run_te):
    x = floats(1, 3, 1)
    np.testing.assert_array_equal(run_te(topi.squeeze, x), x.squeeze())
    np.testing.assert_array_equal(run_te(lambda A: topi.squeeze(A, [0]), x), x[0])


def test_rf11_topi_concatenate_of_different_tensors(run_te):
    x, y = floats(2, 3), floats(2, 5)
    actual = run_te(lambda A, B: topi.concatenate((A, B), -1), x, y)
    np.testing.assert_array_equal(actual, np.concatenate([x, y], -1))


def test_rf11_topi_split(run_te):
    x = floats(6, 4)
    for given, axis in ((3, 0), ([1, 4], 0), ([2], 1)):
        actual = run_te(lambda A, g=given, a=axis: topi.split(A, g, a), x)
        for part, expected in zip(actual, np.split(x, given, axis), strict=True):
            np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("mode", ["fast", "clip", "wrap"])
def test_rf11_topi_take(run_te, axis, mode):
    x, indices = floats(3, 4), np.array([[0, 2], [1, 1]], "int32")
    actual = run_te(lambda A, P: topi.take(A, P, axis, mode=mode), x, indices)
    np.testing.assert_array_equal(actual, np.take(x, indices, axis))


def test_rf11_topi_take_out_of_bounds(run_te):
    x, indices = floats(4), np.array([-1, 4, 9, 2], "int64")
    fast, wrapped, nan = run_te(
        lambda A, P: [topi.take(A, P, 0, mode=mode) for mode in ("fast", "wrap", "nan")], x, indices
    )
    np.testing.assert_array_equal(fast, np.take(x, indices, mode="clip"))
    np.testing.assert_array_equal(wrapped, np.take(x, indices, mode="wrap"))
    np.testing.assert_array_equal(nan, [np.nan, np.nan, np.nan, x[2]])


def test_rf11_topi_take_of_batches_and_of_one(run_te):
    x, indices = floats(2, 5, 3), np.array([[4, 0], [1, 1]], "int32")
    actual = run_te(lambda A, P: topi.take(A, P, 1, batch_dims=1), x, indices)
    np.testing.assert_array_equal(actual, np.stack([x[0][indices[0]], x[1][indices[1]]]))
    np.testing.assert_array_equal(run_te(lambda A: topi.take(A, 1, 1), x), x[:, 1])


def test_rf11_topi_gather(run_te):
    x, indices = floats(3, 4), rng.integers(0, 4, (3, 2))
    actual = run_te(lambda A, P: topi.gather(A, 1, P), x, indices)
    np.testing.assert_array_equal(actual, np.take_along_axis(x, indices, 1))


def test_rf11_topi_gather_nd(run_te):
    x, indices = floats(3, 4, 2), np.array([[0, 2, 1], [3, 0, 1]], "int32")
    one = run_te(topi.gather_nd, x, indices[:1])
    np.testing.assert_array_equal(one, x[indices[0]])
    if not run_te.is_symbolic:  # the number of indices has to be known
        actual = run_te(topi.gather_nd, x, indices)
        np.testing.assert_array_equal(actual, x[indices[0], indices[1]])


def test_rf11_topi_one_hot(run_te):
    indices = np.array([1, 0, 5], "int32")
    expected = np.zeros((3, 3), "float32")
    expected[0, 1] = expected[1, 0] = 1
    actual = run_te(lambda P: topi.one_hot(P, 1, 0, 3, -1, "float32"), indices)
    np.testing.assert_array_equal(actual, expected)
    first = run_te(lambda P: topi.one_hot(P, 1, 0, 3, 0, "float32"), indices)
    np.testing.assert_array_equal(first, expected.T)


def test_rf11_topi_made_from_numbers(run_te):
    x = floats(2, 3)

    def function(A):
        return [
            topi.full(A.shape, "int8", 7),
            topi.full_like(A, 1.5),
            topi.arange(2, 11, 3, "int64"),
            topi.arange(5),
            topi.arange(0, 1, 0.25, "float64"),
            topi.arange(A.shape[1], dtype="int32"),
            topi.eye(3, 4, 1),
            topi.elemwise_sum([A, A, A]),
        ]

    results = run_te(function, x)
    expected = [
        np.full((2, 3), 7, "int8"),
        np.full((2, 3), 1.5, "float32"),
        np.arange(2, 11, 3),
        np.arange(5, dtype="float32"),
        np.arange(0, 1, 0.25),
        np.arange(3, dtype="int32"),
        np.eye(3, 4, 1, dtype="float32"),
        x * 3,
    ]
    for actual, each in zip(results, expected, strict=True):
        assert actual.dtype == each.dtype and actual.shape == each.shape
        np.testing.assert_allclose(actual, each, 1e-6)


def test_arange_counts_down_and_not_at_all():
    assert [int(topi.arange(*args).shape[0]) for args in ((5, 0, -2), (3, 3), (4, 2))] == [3, 0, 0]


@pytest.mark.parametrize(
    "shapes", [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((4,), (4,)),
               ((3, 4), (4,)), ((4,), (2, 4, 5))]
)  # fmt: skip
def test_rf11_topi_matmul(run_te, shapes):
    x, y = (floats(*shape) for shape in shapes)
    np.testing.assert_allclose(run_te(topi.matmul, x, y), x @ y, 1e-4, 1e-5)


def test_rf11_topi_matmul_transposed(run_te):
    x, y = floats(4, 3), floats(5, 4)
    actual = run_te(lambda A, B: topi.matmul(A, B, True, True), x, y)
    np.testing.assert_allclose(actual, x.T @ y.T, 1e-4, 1e-5)


@pytest.mark.parametrize("axes", [1, 2, ((0, 2), (1, 0))])
def test_rf11_topi_tensordot(run_te, axes):
    x = floats(4, 3, 4) if axes != 2 else floats(2, 3, 4)
    y = floats(4, 4, 2) if axes != 2 else floats(3, 4, 5)
    actual = run_te(lambda A, B: topi.tensordot(A, B, axes), x, y)
    np.testing.assert_allclose(actual, np.tensordot(x, y, axes), 1e-4, 1e-5)


A, B = te.placeholder((3, 4), name="A"), te.placeholder((2, 5), name="B")
IDS, FLOAT_IDS = te.placeholder((2,), "int32"), te.placeholder((2,))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: topi.squeeze(A, 0), "expected axis 0 of .* to be of size 1"),
        (lambda: topi.transpose(A, (0, 0)), "expected each of 2 axes once"),
        (lambda: topi.reshape(A, (5, 2)), "expected a shape of as many elements"),
        (lambda: topi.reshape(A, (-1, -1)), "expected at most one dimension to be -1"),
        (lambda: topi.concatenate([A, B]), "expected dimension 1 of .* to be as that of"),
        (lambda: topi.concatenate([A, IDS]), "expected tensors of rank 2"),
        (lambda: topi.concatenate([]), "expected at least one tensor in concatenate"),
        (lambda: topi.stack([]), "expected at least one tensor in stack"),
        (lambda: topi.split(A, 2), "to be 2 equal parts"),
        (lambda: topi.split(A, [2, 1]), "expected indices in order"),
        (lambda: topi.strided_slice(A, [0], [1], [0]), "strides other than 0"),
        (lambda: topi.strided_slice(A, [0], [1, 2]), "as many of begin, end and axes"),
        (lambda: topi.strided_slice(A, [0], [1], slice_mode="x"), "slice_mode 'end' or 'size'"),
        (lambda: topi.take(A, FLOAT_IDS), "expected integers as indices"),
        (lambda: topi.take(A, IDS, mode="x"), "expected mode 'fast', 'clip'"),
        (lambda: topi.take(IDS, IDS, mode="nan"), "expected floats with mode 'nan'"),
        (lambda: topi.take(A, IDS, 1, batch_dims=2), "expected batch_dims from 0 to 1"),
        (lambda: topi.gather(A, 0, IDS), "expected indices of rank 2"),
        (lambda: topi.gather_nd(IDS, te.placeholder((2, 3), "int32")), "at most 1 indices"),
        (lambda: topi.trilu(IDS, 0, True), "expected matrices in trilu"),
        (lambda: topi.matmul(A, B), "expected matrices that fit"),
        (lambda: topi.tensordot(A, B, 1), "expected axes of equal sizes"),
        (lambda: topi.arange(0, 1, 0), "a step other than 0"),
        (lambda: topi.arange(te.var("x", "float32")), "so that the size of arange is known"),
        (lambda: topi.elemwise_sum([]), "expected at least one tensor"),
    ],
)
def test_rf11_topi_invalid_moves(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
