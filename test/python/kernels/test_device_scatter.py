# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Updates at computed places by the threads of GPUs, each of which makes those of its places."""

import re

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
from assembled import image_of
from kernel_programs import write
from relax_mlir import op

pytestmark = pytest.mark.skipif(
    not relax_runtime.has_device("cuda:0"), reason="needs a CUDA device, which is not here"
)

COMBINE = {
    "update": lambda _, new: new,
    "add": lambda old, new: old + new,
    "max": np.maximum,
}


def run(function, shapes, args):
    """Return what a program computes on the device."""
    kinds = [str(arg.dtype) for arg in args]
    bb = write(function, tuple(zip(shapes, kinds, strict=True)))
    main = relax.VirtualMachine(relax.compile(bb, target="cuda"))["main"]
    result = main(*(relax_runtime.tensor(arg, "cuda:0") for arg in args))
    return relax_runtime.tensor(result, "cpu").numpy()


@pytest.mark.parametrize("reduction", COMBINE)
@pytest.mark.parametrize(("size", "count"), [(1, 9), (10, 300), (4097, 60), (5000, 0)])
def test_vectors(size, count, reduction):
    """Updates of an element are made in their order, so that sums have the same bits."""
    random = np.random.default_rng(size)
    data, updates = (random.standard_normal(n).astype("float32") for n in (size, count))
    indices = random.integers(-size, size, count)
    actual = run(
        lambda x, i, u: op.scatter_elements(x, i, u, axis=0, reduction=reduction),
        [("n",), ("m",), ("m",)],
        [data, indices, updates],
    )
    for index, update in zip(indices, updates, strict=True):
        data[index] = COMBINE[reduction](data[index], update)
    np.testing.assert_array_equal(actual, data)


@pytest.mark.parametrize("width", [1, 3, 5000])
def test_rows(width):
    """Threads share columns, too, and places only where columns are few."""
    random = np.random.default_rng(width)
    data = random.standard_normal((7, 6, width)).astype("float32")
    updates = random.standard_normal((40, width)).astype("float32")
    indices = np.stack([random.integers(0, size, 40) for size in (7, 6)], axis=1)
    actual = run(
        lambda x, i, u: op.scatter_nd(x, i, u, "add"),
        [("a", "b", "c"), ("m", 2), ("m", "c")],
        [data, indices, updates],
    )
    for (row, column), update in zip(indices, updates, strict=True):
        data[row, column] += update
    np.testing.assert_array_equal(actual, data)


def test_the_updates_of_a_vector_have_many_threads():
    bb = write(
        lambda x, i, u: op.scatter_elements(x, i, u, axis=0, reduction="add"),
        ((("n",), "float32"), (("m",), "int64"), (("m",), "float32")),
    )
    image = image_of(relax.compile(bb, target="cuda"))
    assert set(re.findall(r"\.maxntid (\d+)", image)) == {"256"}
