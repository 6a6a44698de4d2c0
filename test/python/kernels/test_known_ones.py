"""Kernels in which a dimension is known to have one element, and what follows them.

Such a dimension is no loop of the iteration space, so the vectors of a kernel run along another
dimension than the last one of the result.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
import torch
from kernel_programs import random, run
from relax_mlir import op

SIZES = {"b": 3, "m": 19, "n": 21, "k": 7, "h": 5, "w": 6, "c": 2, "o": 3}


EPILOGUES = {
    "add": (lambda y, rs: functools.reduce(op.add, rs, y), lambda y, rs: sum(rs, y)),
    "scaled": (
        lambda y, rs: op.nn.relu(functools.reduce(op.multiply, rs, y)),
        lambda y, rs: np.maximum(functools.reduce(np.multiply, rs, y), 0),
    ),
    "lower": (
        lambda y, rs: functools.reduce(op.add, rs, op.tril(y)),
        lambda y, rs: sum(rs, np.tril(y)),
    ),
}


def shapes_of(*names):
    """Return the shapes in which each dimension is a variable or known to be 1."""
    return list(itertools.product(*[(name, 1) for name in names]))


def sizes(shape):
    return [SIZES.get(dim, dim) for dim in shape]


def residuals(shape):
    """Return what follows a result of `shape`: operands of the same shape, and of one dimension."""
    alone = [tuple(d if i == j else 1 for j, d in enumerate(shape)) for i in range(len(shape))]
    return tuple(sorted({tuple(shape), *alone}, key=str))


def check(function, reference, shapes, epilogue, out):
    """Compare a function and what follows it; the kernels are the same in both modes."""
    extras = residuals(out)
    follow, follow_reference = EPILOGUES[epilogue]
    arrays = [random(*sizes(shape)) for shape in (*shapes, *extras)]
    count = len(shapes)

    def whole(*params):
        return follow(function(*params[:count]), params[count:])

    result = run(whole, (*shapes, *extras), "bytecode", *arrays)
    exact = [array.astype("float64") for array in arrays]
    expected = follow_reference(reference(*exact[:count]), exact[count:])
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=1e-3)


epilogues = pytest.mark.parametrize("epilogue", EPILOGUES)


@epilogues
@pytest.mark.parametrize("dims", shapes_of("b", "m", "n", "k"), ids=str)
def test_matmul(dims, epilogue):
    b, m, n, k = dims
    check(op.matmul, np.matmul, ((b, m, k), (b, k, n)), epilogue, (b, m, n))


@epilogues
@pytest.mark.parametrize("dims", shapes_of("m", "n"), ids=str)
def test_matmul_by_constant(dims, epilogue):
    """The right matrix is packed where it has enough columns."""
    m, n = dims
    w = random(7, *sizes([n]))
    out = (m, *sizes([n]))
    check(lambda x: op.matmul(x, op.const(w)), lambda x: x @ w, ((m, 7),), epilogue, out)


@pytest.mark.parametrize("dims", shapes_of("b", "o", "h", "w"), ids=str)
@pytest.mark.parametrize("is_constant", [False, True])
def test_conv2d(dims, is_constant):
    b, o, h, w = dims
    kernel = random(*sizes([o]), 2, 1, 3)

    def function(x, k=None):
        return op.nn.conv2d(x, k or op.const(kernel), padding=(0, 1))

    def reference(x, k=None):
        k = kernel.astype("float64") if k is None else k
        return torch.conv2d(torch.from_numpy(x), torch.from_numpy(k), padding=(0, 1)).numpy()

    weights = () if is_constant else (kernel.shape,)
    check(function, reference, ((b, 2, h, w), *weights), "scaled", (b, *sizes([o]), h, w))


@pytest.mark.parametrize("dims", shapes_of("b", "c", "h", "w"), ids=str)
def test_max_pool2d(dims):
    def reference(x):
        return torch.max_pool2d(torch.from_numpy(x), 3, stride=1, padding=1).numpy()

    check(lambda x: op.nn.max_pool2d(x, 3, padding=1), reference, (dims,), "lower", dims)


@pytest.mark.parametrize("dims", shapes_of("b", "m", "n"), ids=str)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax(dims, axis):
    def reference(x):
        return torch.softmax(torch.from_numpy(x), axis).numpy()

    check(lambda x: op.nn.softmax(x, axis=axis), reference, (dims,), "scaled", dims)


@pytest.mark.parametrize("dims", shapes_of("b", "m", "n"), ids=str)
def test_attention(dims):
    """One query, key, head or feature."""
    b, queries, keys = dims

    def reference(q, k, v):
        q, k, v = (torch.from_numpy(x).transpose(1, 2) for x in (q, k, v))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return y.transpose(1, 2).numpy()

    for heads, features, wide in itertools.product((1, 3), (1, 4), (1, 5)):
        shapes = [(b, queries, heads, features), (b, keys, heads, features), (b, keys, heads, wide)]
        check(op.nn.attention, reference, shapes, "add", (b, queries, heads, wide))
