"""R.unique with all that it returns, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.script import from_source

X = np.array([[1, 2, 1], [3, 3, 3], [1, 2, 1], [1, 1, 1]], "int32")
NAMES = ("return_index", "return_inverse", "return_counts")


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("wanted", list(itertools.product((False, True), repeat=3)))
def test_unique(axis, wanted):
    options = {name: True for name, is_wanted in zip(NAMES, wanted, strict=True) if is_wanted}
    if axis is not None:
        options["axis"] = axis
    given = "".join(f", {name}={value}" for name, value in options.items())
    module = from_source(f"""
@R.function
def main(x: R.Tensor((4, 3), "int32")):
    y = R.unique(x{given})
    return y
""")
    relax.assert_structural_equal(module, from_source(module.script()))
    found = relax.VirtualMachine(relax.compile(module))["main"](X)
    expected = np.unique(X, **options)
    if not any(wanted):
        found, expected = [found], [expected]
    assert len(found) == len(expected)
    for actual, each in zip(found, expected, strict=True):
        np.testing.assert_array_equal(
            np.from_dlpack(actual),
            each.reshape(-1, *each.shape[1:]) if each is expected[0] else each.reshape(-1),
        )


def test_axis_out_of_range():
    with pytest.raises(ValueError, match="expected an axis from -2 to 1, but got 2"):
        from_source("""
@R.function
def main(x: R.Tensor((4, 3), "int32")):
    return R.unique(x, axis=2)
""")
