"""Each barrier of the kernels of GPUs is needed, and the interpreter of PTX misses it."""

import ctypes
import os
import re

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
from kernel_programs import write
from relax_mlir import op

DRIVER = os.environ.get("RELAX_CUDA_DRIVER", "")

pytestmark = pytest.mark.skipif(
    "relax_ptx_driver" not in DRIVER, reason="needs the interpreter of PTX, which is not here"
)

PROGRAMS = {
    "sum_of_columns": (lambda x: op.sum(x, axis=[0]), "float32", [(200, 40)]),
    "scan": (lambda x: op.cumsum(x, 1), "float32", [(2, 5000)]),
    "few_rows": (op.matmul, "float32", [(3, 128), (128, 64)]),
    "tiles": (op.matmul, "float32", [(70, 40), (40, 70)]),
    "tensor_cores": (op.matmul, "float16", [(130, 160), (160, 136)]),
    "tensor_cores_of_odd_sizes": (op.matmul, "float16", [(130, 67), (67, 67)]),
    "tensor_cores_of_parts": (op.matmul, "float16", [(130, 520), (520, 136)]),
    "tf32": (op.matmul, "float32", [(130, 40), (40, 136)]),
    # With wgmma: tiles of 128 columns, and of 256.
    "warpgroups": (op.matmul, "float16", [(33, 9, 136), (33, 136, 72)]),
    "warpgroups_transposed": (
        lambda x, y: op.matmul(x, op.permute_dims(y, [0, 2, 1])),
        "float16", [(33, 130, 200), (33, 72, 200)],
    ),
    "large_tiles": (op.matmul, "float16", [(101, 9, 200), (101, 200, 72)]),
    "attention": (op.nn.attention, "float16", [(1, 70, 1, 32), (1, 200, 1, 32), (1, 200, 1, 32)]),
    # Blocks share the keys, and so do warps where there are no more than 16 queries.
    "parts_of_keys": (
        op.nn.attention, "float16", [(1, 20, 1, 32), (1, 600, 1, 32), (1, 600, 1, 32)],
    ),
    "parts_of_warps": (
        op.nn.attention, "float16", [(1, 3, 1, 32), (1, 600, 1, 32), (1, 600, 1, 32)],
    ),
}  # fmt: skip
TARGETS = dict.fromkeys(("warpgroups", "warpgroups_transposed", "large_tiles"), "cuda -arch=sm_90a")
OPTIONS = {"tf32": {"tf32": True}}
NEEDED = re.compile(
    r"\s*(?:bar\.sync|barrier\.sync|cp\.async\.wait_group|fence\.proxy"
    r"|wgmma\.(?:fence|commit_group|wait_group))"
)


def find_lines(image: str, kernel: str) -> list[int]:
    """Return the numbers of the lines of a kernel that wait for threads or copies, if any.

    Copies that nothing reads any more are waited for after the last barrier, which makes no
    difference here.
    """
    lines = image.splitlines()
    begin = next(i for i, line in enumerate(lines) if f".entry {kernel}(" in line)
    end = next(i for i in range(begin, len(lines)) if lines[i] == "}")
    waits = [i + 1 for i in range(begin, end) if NEEDED.match(lines[i])]
    while waits and "cp.async" in lines[waits[-1] - 1]:
        waits.pop()
    return waits


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_without_a_barrier_fail(name, tmp_path, monkeypatch):
    function, dtype, shapes = PROGRAMS[name]
    monkeypatch.setenv("RELAX_PTX_ARCH", "90")
    bb = write(function, tuple((shape, dtype) for shape in shapes))
    path = tmp_path / "program.rx"
    target, options = TARGETS.get(name, "cuda"), OPTIONS.get(name, {})
    relax.compile(bb, target=target, **options).save(path)
    random = np.random.default_rng(0)
    args = [
        relax_runtime.tensor(random.standard_normal(shape).astype(dtype), "cuda:0")
        for shape in shapes
    ]

    def run(order, removed=0):
        monkeypatch.setenv("RELAX_PTX_ORDER", order)
        monkeypatch.setenv("RELAX_PTX_REMOVE", str(removed))
        main = relax.VirtualMachine(relax.load(path))["main"]  # its image is loaded anew
        return np.from_dlpack(relax_runtime.tensor(main(*args), "cpu:0"))

    def is_noticed(line):
        for order in ("forward", "reverse"):
            try:
                if not np.array_equal(run(order, line), expected):
                    return True
            except (RuntimeError, ValueError):
                return True
        return False

    driver = ctypes.CDLL(DRIVER)
    driver.relax_ptx_launch_names.restype = ctypes.c_char_p
    driver.relax_ptx_reset()
    expected = run("forward")
    kernels = driver.relax_ptx_launch_names().decode().split()
    np.testing.assert_array_equal(run("reverse"), expected)
    image = re.search(rb"\.version [^\0]*", path.read_bytes())
    before = path.read_bytes()[: image.start()].rpartition(b"\0")[2]
    text = (before + image.group(0)).decode()
    lines = [line for kernel in kernels for line in find_lines(text, kernel)]
    missed = [line for line in lines if not is_noticed(line)]
    assert lines
    assert not missed
    assert not is_noticed(1)  # a comment
