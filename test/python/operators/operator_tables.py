"""Tables of cases: operators against NumPy and PyTorch.

Each case is compiled once, with symbolic shapes, and run at several sizes.
"""

import numpy as np
import pytest
import torch

FLOATS = ("float32", "float64", "float16")
SIGNED = ("int8", "int32", "int64")
INTEGERS = (*SIGNED, "uint8", "uint32")
TOLERANCE = {"float16": 5e-3, "float32": 3e-5, "float64": 1e-12}
N = ("n", 3)
SIZES = {"n": (1, 5), "m": (4, 4), "k": (2, 10), "b": (2, 3), "h": (7, 9), "w": (8, 11)}


def of_torch(function):
    """Return a function of PyTorch as one of arrays; floats of 16 bits are computed as float32."""

    def call(*arrays):
        tensors = [
            torch.from_numpy(np.asarray(a, "float32" if a.dtype == "float16" else a.dtype))
            for a in arrays
        ]
        return function(*tensors).numpy()

    return call


def arrays_of(shapes, dtypes, index, seed=0):
    """Return arrays of symbolic shapes; integers are from -7 to 7 without 0."""
    rng = np.random.default_rng(seed)
    arrays = []
    for shape, dtype in zip(shapes, dtypes, strict=True):
        dims = [SIZES[dim][index] if isinstance(dim, str) else dim for dim in shape]
        if dtype == "bool":
            arrays.append(rng.random(dims) < 0.5)
        elif dtype.startswith("float"):
            arrays.append(rng.standard_normal(dims).astype(dtype))
        else:
            signs = 1 if dtype.startswith("uint") else rng.choice([-1, 1], dims)
            arrays.append((rng.integers(1, 8, dims) * signs).astype(dtype))
    return arrays


def check(load, write, tensor, function, reference, shapes, dtypes):
    """Compare what a function and its reference give."""
    params = [
        tensor(shape, dtype, name=f"x{i}")
        for i, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
    ]
    main = load(write(function, *params))
    for index in (0, 1):
        arrays = arrays_of(shapes, dtypes, index)
        expected, actual = reference(*arrays), main(*arrays)
        if not isinstance(expected, (list, tuple)):
            expected, actual = [expected], [actual]
        assert len(actual) == len(expected)
        for ours, theirs in zip(actual, expected, strict=True):
            ours, theirs = np.from_dlpack(ours), np.asarray(theirs)
            assert ours.shape == theirs.shape
            assert ours.dtype.kind == theirs.dtype.kind
            tolerance = TOLERANCE.get(ours.dtype.name, 0)
            theirs = theirs.astype(ours.dtype)
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def cases(table):
    """Return the parameters of a table of cases, one for each data type.

    The first data type runs in both modes; the kernels are the same in both. All are evaluated by
    the reference interpreter, too.
    """
    return [
        pytest.param(function, reference, shapes, dtype, mode, id=f"{name}-{dtype}-{mode}")
        for name, function, reference, dtypes, shapes in table
        for dtype in dtypes
        for mode in ("compiled", "bytecode", "reference")
        if mode != "bytecode" or dtype == dtypes[0]
    ]


def table_of(table):
    """Parametrize a test with a table of cases."""
    names = ("function", "reference", "shapes", "dtype", "exec_mode")
    return pytest.mark.parametrize(names, cases(table), indirect=["exec_mode"])
