"""Kernels of GPUs for tensors that are known to have no elements: nothing is launched."""

from __future__ import annotations

from pathlib import Path

import pytest
import relax_mlir as relax
from kernel_programs import write
from relax_mlir import op

CASES = {
    "product": (lambda x, w: op.matmul(x, w), [(0, 3), (3, 4)]),
    "elements": (lambda x, y: op.add(op.exp(x), y), [(2, 0, 5), (2, 0, 5)]),
    "rows": (lambda x: op.nn.softmax(x, axis=1), [(0, 5)]),
}


@pytest.mark.parametrize("target", ["opencl", "cuda"])
@pytest.mark.parametrize("name", CASES)
def test_nothing_is_launched(tmp_path: Path, name: str, target: str) -> None:
    """Indices would be divided by a size of 0."""
    function, shapes = CASES[name]
    mod = write(function, tuple((shape, "float32") for shape in shapes)).get()
    relax.compile(mod, target, dump_phases=tmp_path)
    kernels = next(path for path in tmp_path.iterdir() if "kernels" in path.name).read_text()
    assert "gpu.launch" not in kernels


def test_sums_of_nothing_are_written(tmp_path: Path) -> None:
    """Each has what it starts from."""
    mod = write(lambda x: op.sum(x, 1), (((4, 0), "float32"),)).get()
    relax.compile(mod, "opencl", dump_phases=tmp_path)
    kernels = next(path for path in tmp_path.iterdir() if "kernels" in path.name).read_text()
    assert "gpu.launch" in kernels
