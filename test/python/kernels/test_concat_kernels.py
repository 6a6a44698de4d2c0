"""Kernels that concatenate tensors, against NumPy."""

from __future__ import annotations

import functools

import hypothesis.strategies as st
import numpy as np
import pytest
import relax_mlir as relax
from hypothesis import given, settings
from kernel_programs import classes, compile_function, run, write
from relax_mlir import op

DTYPES = ("float32", "float64", "float16", "int8", "int32", "uint16", "bool")


@functools.cache
def concat_along(axis):
    """Return a function of any number of tensors, always the same one for an axis."""
    return lambda *parts: op.concat(list(parts), axis=axis)


def numbers(shape, dtype, seed):
    values = np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 100, shape)
    return values.astype(dtype)


@settings(max_examples=40)
@given(
    st.sampled_from(DTYPES),
    st.integers(0, 2),
    st.lists(st.integers(0, 9), min_size=1, max_size=5),
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
)
def test_sizes(dtype, axis, sizes, others):
    """Any sizes, none among them, with names for all that they may have."""
    shapes = [(*others[:axis], size, *others[axis:]) for size in sizes]
    arrays = [numbers(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    names = [(*("a", "b")[:axis], f"n{i}", *("a", "b")[axis:]) for i in range(len(sizes))]
    for types in (tuple(shapes), tuple(names)):
        found = run(concat_along(axis), types, "bytecode", *arrays)
        np.testing.assert_array_equal(found, np.concatenate(arrays, axis))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shapes", "axis"),
    [
        (((1, 500, 300), (1, 400, 300), (1, 1, 300)), 1),
        (((3, 50000), (3, 70001)), 1),
        (((5000, 1), (5000, 2), (5000, 3)), -1),
        (((40, 3, 7), (40, 1, 7)), -2),
    ],
    ids=["one row", "long rows", "many rows", "middle axis"],
)
@pytest.mark.parametrize("threads", [1, 3])
def test_threads(exec_mode, dtype, shapes, axis, threads):
    """Threads share rows, or blocks of a long one."""
    relax.runtime.set_num_threads(threads)
    arrays = [numbers(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    found = run(concat_along(axis), shapes, exec_mode, *arrays)
    np.testing.assert_array_equal(found, np.concatenate(arrays, axis))


def test_class():
    """Copies of parameters, of a parameter twice, and of dozens, are one call of the runtime."""
    two = (((2, "n"), "float32"), ((2, 3), "float32"))
    flags = (((3,), "bool"),) * 2
    for function, types in (
        (concat_along(1), two),
        (lambda x, y: op.concat([y, x, y], axis=0), flags),
        (concat_along(0), (((2, 3), "int8"),) * 40),
    ):
        assert classes(write(function, types).get()) == ["concat"]


def test_results_of_operators_are_parts(exec_mode):
    """What is computed of parts, or of the result, is right beside it."""

    def program(x, y):
        both = op.concat([op.exp(x), y], axis=1)
        return op.concat([both, op.negative(both)], axis=0)

    x = np.linspace(0, 1, 6, dtype="float32").reshape(2, 3)
    y = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)
    types = (((2, 3), "float32"), ((2, "m"), "float32"))
    found = np.from_dlpack(compile_function(program, types, exec_mode)(x, y))
    both = np.concatenate([np.exp(x), y], axis=1)
    np.testing.assert_allclose(found, np.concatenate([both, -both]), rtol=1e-6)
