"""Padding, grids, outer products, PReLU and pixel_shuffle against NumPy and PyTorch."""

import numpy as np
import pytest
import torch
from relax_mlir import op

MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint8", "int64"])
@pytest.mark.parametrize("mode", ["constant", *MODES])
def test_pad(load, write, tensor, mode, dtype):
    widths = (0, 0, 2, 0, 1, 5)
    main = load(
        write(lambda x: op.nn.pad(x, widths, mode, 3), tensor(("a", "b", "c"), dtype, name="x"))
    )
    for shape in ((1, 1, 1), (2, 3, 4), (3, 1, 9), (2, 2, 3)):
        x = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(dtype)
        pairs = np.reshape(widths, (-1, 2))
        if mode == "constant":
            expected = np.pad(x, pairs, constant_values=3)
        else:
            expected = np.pad(x, pairs, MODES[mode])
        np.testing.assert_array_equal(np.from_dlpack(main(x)), expected)


@pytest.mark.parametrize("dtype", ["float32", "bool", "int8", "float64"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 4), (3, 2, 9), (2, 6, 20)])
def test_pad_of_known_dimensions(load, write, tensor, mode, dtype, shape):
    """Sides are copied where a dimension has as many elements, or else found one by one."""
    widths = (1, 0, 2, 1, 3, 4)
    x = (np.arange(np.prod(shape)).reshape(shape) % 3).astype(dtype)
    main = load(write(lambda x: op.nn.pad(x, widths, mode), tensor(shape, dtype, name="x")))
    expected = np.pad(x, np.reshape(widths, (-1, 2)), MODES[mode])
    np.testing.assert_array_equal(np.from_dlpack(main(x)), expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("widths", [(2, 1, 1, 3), (0, 2, 0, 0), (0, 0, 1, 0), (9, 9, 50, 2)])
@pytest.mark.parametrize("shape", [(2, 3, 5, 37), (1, 20, 3, 16), (3, 0, 2, 4)])
@pytest.mark.parametrize("is_known", [False, True])
def test_pad_of_images(run, mode, widths, shape, is_known):
    """Threads share the images, or their rows where there are few of them."""
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    widths = (0, 0, 0, 0, *widths)
    shapes = None if is_known else [("n", "c", *shape[2:])]
    result = run(lambda x: op.nn.pad(x, widths, mode), x, shapes=shapes)
    np.testing.assert_array_equal(result, np.pad(x, np.reshape(widths, (-1, 2)), MODES[mode]))


@pytest.mark.parametrize("mode", ["constant", *MODES])
def test_pad_of_nothing(run, mode):
    x = np.zeros((2, 0), "float32")
    result = run(lambda x: op.nn.pad(x, (1, 0, 1, 2), mode, 0.0), x, shapes=[("n", "m")])
    assert result.tolist() == [[0] * 3] * 3


def test_error_pad(run):
    x = np.zeros((2, 2), "float32")
    with pytest.raises(ValueError, match="two of pad_width for each dimension"):
        run(lambda x: op.nn.pad(x, (1, 2)), x)
    with pytest.raises(ValueError, match="pad_width of 0 or more, but got -1"):
        run(lambda x: op.nn.pad(x, (1, 2, -1, 0)), x)
    with pytest.raises(ValueError, match="expected a pad_mode of constant, reflect"):
        run(lambda x: op.nn.pad(x, (1, 2, 1, 0), "edge"), x)


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_meshgrid(load, write, tensor, indexing):
    params = [tensor((dim,), "float32", name=dim) for dim in "abc"]
    main = load(write(lambda *x: op.meshgrid(x, indexing), *params))
    vectors = [np.arange(size, dtype="float32") for size in (2, 3, 1)]
    for result, expected in zip(
        main(*vectors), np.meshgrid(*vectors, indexing=indexing), strict=True
    ):
        np.testing.assert_array_equal(np.from_dlpack(result), expected)


def test_meshgrid_of_scalars(load, write, tensor):
    main = load(
        write(lambda x, y: op.meshgrid([x, y]), tensor((), name="x"), tensor(("n",), name="y"))
    )
    first, second = map(np.from_dlpack, main(np.array(2, "float32"), np.ones(3, "float32")))
    assert (first.tolist(), second.tolist()) == ([[2, 2, 2]], [[1, 1, 1]])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_outer(run, dtype):
    x, y = np.arange(5).astype(dtype), np.arange(3).astype(dtype)
    np.testing.assert_array_equal(run(op.outer, x, y, shapes=[("n",), ("m",)]), np.outer(x, y))


@pytest.mark.parametrize("axis", [1, -1, 0])
@pytest.mark.parametrize("is_one", [False, True])
def test_prelu(run, axis, is_one):
    x = np.random.default_rng(0).standard_normal((3, 4, 5)).astype("float32")
    x[0, 0, :3] = np.nan, -0.0, -np.inf
    alpha = np.linspace(-1, 2, 1 if is_one else x.shape[axis], dtype="float32")
    shapes = [("a", "b", "c"), (1,) if is_one else ("k",)]
    result = run(lambda x, a: op.nn.prelu(x, a, axis), x, alpha, shapes=shapes)
    moved = torch.from_numpy(np.moveaxis(x, axis, 1).copy())
    expected = torch.nn.functional.prelu(moved, torch.from_numpy(alpha)).numpy()
    np.testing.assert_allclose(result, np.moveaxis(expected, 1, axis), rtol=1e-6)


def test_error_prelu(run):
    x, alpha = np.zeros((2, 3), "float32"), np.zeros(2, "float32")
    with pytest.raises(ValueError, match="alpha of dimension 3, but got 2"):
        run(op.nn.prelu, x, alpha)
    with pytest.raises(ValueError, match="prelu"):
        run(op.nn.prelu, x, alpha, shapes=[("n", "m"), ("k",)])


@pytest.mark.parametrize("shape", [(8, 2, 3), (2, 4, 3, 1), (2, 1, 16, 2, 2)])
def test_pixel_shuffle(run, shape):
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    result = run(lambda x: op.nn.pixel_shuffle(x, 2), x, shapes=[tuple("abcde"[: len(shape)])])
    np.testing.assert_array_equal(result, torch.nn.functional.pixel_shuffle(torch.tensor(x), 2))


def test_error_pixel_shuffle(run):
    x = np.zeros((6, 2, 2), "float32")
    with pytest.raises(ValueError, match="channels that are a multiple of 4, but got 6"):
        run(lambda x: op.nn.pixel_shuffle(x, 2), x)
    with pytest.raises(ValueError, match="pixel_shuffle"):
        run(lambda x: op.nn.pixel_shuffle(x, 2), x, shapes=[("c", "h", "w")])
