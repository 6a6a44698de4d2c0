# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of CUDA Tile IR compute products and attention (RF15).

Without a GPU a driver for tests gets the launches, and runs the functions of the kernels in NumPy.
Where ``cuda-tile`` and ``tileiras`` are installed, the kernels are compiled, too, and their Tile IR
is run in NumPy.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
import tile_launches
import tile_numpy
import tvm_ffi
from relax_mlir import backend, op
from relax_mlir.backend import partition_for_cuda_tile
from relax_mlir.backend.cuda_tile import compiler, is_available, kernels
from relax_mlir.dpl import is_op, wildcard
from relax_mlir.transform import FuseOpsByPattern, MergeCompositeFunctions, RunCodegen
from relax_runtime import cuda_driver, cuda_tile
from relax_runtime.cuda_tile import launches
from tile_launches import Launches

PTX_DRIVER = os.environ.get("RELAX_CUDA_DRIVER", "")
SOURCE = Path(__file__).with_name("fake_tile_driver.c")

needs_driver = pytest.mark.skipif(
    "relax_ptx" not in PTX_DRIVER or not Path(PTX_DRIVER).exists() or shutil.which("cc") is None,
    reason="needs the interpreter of PTX as RELAX_CUDA_DRIVER, and a C compiler",
)


def missing() -> str:
    """Return what kernels cannot be compiled without; "" where all is there."""
    try:
        compiler.require_package()
        compiler.tileiras()
    except RuntimeError as error:
        return str(error)
    return ""


needs_compiler = pytest.mark.skipif(not is_available(), reason=missing() or "all is there")
needs_gpu = pytest.mark.skipif(
    "relax_ptx" in PTX_DRIVER or not is_available() or not cuda_tile.is_available(),
    reason="needs a GPU with a driver of CUDA 13.0 or newer, and cuda-tile with tileiras",
)


@pytest.fixture(scope="module")
def driver_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the driver for tests."""
    path = tmp_path_factory.mktemp("cuda_tile") / "libfake_tile_driver.so"
    flags = ("-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-o", str(path))
    # Without a name of its own, the interpreter is found by its path, and opened once.
    subprocess.run(["cc", *flags, SOURCE, PTX_DRIVER], check=True)
    return path


@pytest.fixture
def driver(driver_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the driver for tests, which launches tile kernels."""
    monkeypatch.setenv(cuda_driver.VARIABLE, str(driver_path))
    cuda_driver._driver.cache_clear()
    launches.place_of.cache_clear()
    cuda_driver.driver_version()  # which opens it
    monkeypatch.setenv(cuda_driver.VARIABLE, PTX_DRIVER)  # for the runtime
    library = ctypes.CDLL(str(driver_path))
    for name, value in (("version", 13000), ("capability", 90), ("modules", 0), ("launches", 0)):
        set_fake(library, name, value)
    yield library
    cuda_driver._driver.cache_clear()
    launches.place_of.cache_clear()


@pytest.fixture
def launched(driver: Any, monkeypatch: pytest.MonkeyPatch) -> Launches:
    """Return what runs launches in NumPy; images say which kernels they are."""
    fake_compiler(monkeypatch)
    monkeypatch.setattr(kernels, "ct", tile_numpy)
    return Launches(driver)


def fake_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def images(wanted: Any, archs: Any) -> dict[Any, bytes]:
        rows = itertools.product(wanted, archs)
        return {row: tile_launches.fake_image(*row) for row in rows}

    monkeypatch.setattr(compiler, "images", images)


def set_fake(driver: Any, name: str, value: int) -> None:
    ctypes.c_int.in_dll(driver, f"fake_{name}").value = value


def seen(driver: Any, name: str) -> int:
    return ctypes.c_int.in_dll(driver, f"fake_{name}").value


def tensor(name: str, *shape: Any, dtype: str = "float16") -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def build(params: Sequence[relax.Var], write: Any) -> Any:
    """Return a module of a function with one dataflow block."""
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(write(*(param.value for param in params)))
        bb.emit_func_output(out)
    return bb.get()


def arrays(*shapes: Sequence[int], dtype: str = "float16") -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(tile_launches.dtype_of(dtype)) for shape in shapes]


def composites(parts: Any) -> list[str]:
    """Return the names of the patterns that matched."""
    functions = [f for f in parts.functions.values() if "Codegen" in f.attrs]
    return [step.composite for f in functions for step in backend.Region(f).steps]


def compiled(parts: Any, arch: Any = "sm_90") -> Any:
    """Return the function of a partitioned program."""
    made = RunCodegen({"cuda_tile": {"arch": arch}})(parts)
    return relax.VirtualMachine(relax.compile(made, target="cuda"))["main"]


def call(launched: Launches | None, main: Any, *args: np.ndarray) -> np.ndarray:
    """Return what a function computes on the device, as float32."""
    try:
        found = main(*(relax_runtime.tensor(arg, "cuda:0") for arg in args))
    except RuntimeError:
        if launched is not None and launched.error is not None:
            raise launched.error from None
        raise
    found = relax_runtime.tensor(found, "cpu")
    dtype = args[0].dtype
    if dtype == np.float16:
        return np.from_dlpack(found).astype(np.float32)
    torch = pytest.importorskip("torch")
    return torch.from_dlpack(found).float().numpy()


def near(found: np.ndarray, expected: np.ndarray, tolerance: float = 5e-3) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def check(launched: Launches, mod: Any, expected: np.ndarray, *args: np.ndarray, name: str) -> None:
    """Compare what the kernel of a program computes."""
    parts = partition_for_cuda_tile(mod)
    assert composites(parts) == [name]
    near(call(launched, compiled(parts), *args), expected)


# ---------------------------------------------------------------------------------------------
# Products
# ---------------------------------------------------------------------------------------------


def wide(*values: np.ndarray) -> list[np.ndarray]:
    return [value.astype(np.float32) for value in values]


@needs_driver
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_rf15_tile_products_of_transposed_matrices(
    left: bool, right: bool, launched: Launches, exec_mode: str
) -> None:
    """All sizes are known when the program runs; there may be none, also in sums."""
    params = [
        tensor("x", *(("k", "m") if left else ("m", "k"))),
        tensor("w", *(("n", "k") if right else ("k", "n"))),
    ]

    def write(x: Any, w: Any) -> Any:
        return op.matmul(op.permute_dims(x) if left else x, op.permute_dims(w) if right else w)

    parts = partition_for_cuda_tile(build(params, write))
    words = "_transposed_lhs" * left + "_transposed" * right
    assert composites(parts) == ["cuda_tile.matmul" + words]
    main = compiled(parts)
    tiles = 0
    for m, k, n in ((5, 7, 3), (130, 72, 136), (1, 65, 129), (0, 3, 2), (3, 2, 0), (2, 0, 5)):
        x, w = arrays((m, k), (k, n))
        given = [np.ascontiguousarray(each) for each in (x.T if left else x, w.T if right else w)]
        near(call(launched, main, *given), np.matmul(*wide(x, w)), 2e-2)
        tiles += -(-m // 128) * -(-n // 128)
    assert sum(grid for _, _, grid in launched.rows) == tiles
    assert len(launched.rows) == 4  # nothing is launched for a result without elements


def activated(name: str | None, x: np.ndarray) -> np.ndarray:
    erf = np.vectorize(__import__("math").erf)
    functions: dict[str | None, Any] = {
        None: lambda x: x,
        "nn.relu": lambda x: np.maximum(x, 0),
        "nn.gelu": lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2))),
        "nn.gelu_tanh": lambda x: (
            0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
        ),
        "nn.silu": lambda x: x / (1 + np.exp(-x)),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "tanh": np.tanh,
    }
    return functions[name](x)


ACTIVATIONS = (None, "nn.relu", "nn.gelu", "nn.gelu_tanh", "nn.silu", "sigmoid", "tanh")


@needs_driver
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("residual", [False, True])
def test_rf15_tile_what_follows_a_product(
    bias: bool, residual: bool, activation: str | None, launched: Launches
) -> None:
    shapes = [(5, 8), (8, 24), *([(24,)] * bias), *([(5, 24)] * residual)]
    names = [("m", 8), (8, 24), *([(24,)] * bias), *([("m", 24)] * residual)]
    params = [tensor(f"x{index}", *shape) for index, shape in enumerate(names)]

    def write(x: Any, w: Any, *others: Any) -> Any:
        y = op.matmul(x, w)
        for other in others:
            y = op.add(y, other)
        name = (activation or "").removeprefix("nn.")
        return getattr(op.nn if "nn." in (activation or "") else op, name)(y) if name else y

    given = arrays(*shapes)
    x, w, *others = wide(*given)
    expected = activated(activation, x @ w + sum(others))
    words = ["bias"] * bias + ["residual"] * residual
    words += [(activation or "").removeprefix("nn.")] if activation else []
    name = "_".join(["cuda_tile.matmul", *words])
    check(launched, build(params, write), expected, *given, name=name)


@pytest.mark.parametrize("x", [-30.0, -8.0, -4.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 4.0, 30.0])
def test_rf15_tile_gelu_keeps_digits(x: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is nearly 0: those of float16."""
    import math

    monkeypatch.setattr(kernels, "ct", tile_numpy)
    found = kernels._activated(np.float32([x]), kernels.ACTIVATIONS["relax.gelu"])
    expected = 0.5 * x * math.erfc(-x / math.sqrt(2))
    assert found[0] == pytest.approx(expected, rel=5e-4, abs=3e-9)


BATCHES = {
    "rows of one product": ((2, 3, 4, 5), (5, 6)),
    "a product for each": ((2, 3, 4, 5), (2, 3, 5, 6)),
    "one matrix on the left": ((4, 5), (3, 5, 6)),
    "ones": ((1, 1, 4, 5), (3, 5, 6)),
    "ones on the right": ((3, 4, 5), (1, 5, 6)),
}


@needs_driver
@pytest.mark.parametrize("name", BATCHES)
def test_rf15_tile_batches(name: str, launched: Launches) -> None:
    left, right = BATCHES[name]
    given = arrays(left, right, (6,))
    names = {2: "a", 3: "b"}  # dimensions that are not known
    params = [
        tensor("x", *(names.get(size, size) for size in left)),
        tensor("w", *(names.get(size, size) for size in right)),
        tensor("c", 6),
    ]
    mod = build(params, lambda x, w, c: op.nn.relu(op.add(op.matmul(x, w), c)))
    x, w, c = wide(*given)
    check(launched, mod, np.maximum(x @ w + c, 0), *given, name="cuda_tile.matmul_bias_relu")


@needs_driver
def test_rf15_tile_batches_of_transposed_matrices(launched: Launches) -> None:
    """Scores of attention; and one right matrix of many, whose rows are not joined."""
    x, w = given = arrays((3, 4, 5), (3, 6, 5))
    params = [tensor("x", "b", 4, 5), tensor("w", "b", 6, 5)]
    mod = build(params, lambda x, w: op.matmul(x, op.permute_dims(w, (0, 2, 1))))
    left, right = wide(x, w)
    expected = left @ right.transpose(0, 2, 1)
    check(launched, mod, expected, *given, name="cuda_tile.matmul_transposed")
    x, w = given = arrays((3, 5, 4), (5, 6))
    params = [tensor("x", "b", 5, 4), tensor("w", 5, 6)]
    mod = build(params, lambda x, w: op.matmul(op.permute_dims(x, (0, 2, 1)), w))
    left, right = wide(x, w)
    expected = left.transpose(0, 2, 1) @ right
    check(launched, mod, expected, *given, name="cuda_tile.matmul_transposed_lhs")
    assert [grid for _, _, grid in launched.rows] == [3, 3]


@needs_driver
def test_rf15_tile_products_of_bfloat16(launched: Launches) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("ml_dtypes")
    shapes = [("m", 40), (8, 40), (8,)]
    params = [tensor(f"x{i}", *shape, dtype="bfloat16") for i, shape in enumerate(shapes)]
    mod = build(params, lambda x, w, b: op.add(op.matmul(x, op.permute_dims(w)), b))
    given = arrays((5, 40), (8, 40), (8,), dtype="bfloat16")
    x, w, b = wide(*given)
    main = compiled(partition_for_cuda_tile(mod))
    near(call(launched, main, *given), x @ w.T + b, 2e-2)


@needs_driver
def test_rf15_tile_many_rows_of_tiles(launched: Launches) -> None:
    """Groups of rows, of which the last is not whole."""
    params = [tensor("x", "m", 16), tensor("w", 16, "n")]
    main = compiled(partition_for_cuda_tile(build(params, op.matmul)))
    x, w = arrays((128 * 10 + 1, 16), (16, 128 * 2 + 8))
    near(call(launched, main, x, w), np.matmul(*wide(x, w)), 1e-2)
    assert launched.rows == [("product_aligned", "sm_90", 33)]


@needs_driver
def test_rf15_tile_sizes_that_are_known_make_small_tiles(launched: Launches) -> None:
    params = [tensor("x", 1, 24), tensor("w", 24, 40)]
    parts = partition_for_cuda_tile(build(params, op.matmul))
    x, w = arrays((1, 24), (24, 40))
    main = compiled(parts)
    near(call(launched, main, x, w), np.matmul(*wide(x, w)), 1e-2)
    assert launched.kernels[0].constants[:3] == (16, 64, 32)


# ---------------------------------------------------------------------------------------------
# Attention
# ---------------------------------------------------------------------------------------------


def attend(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    bias: np.ndarray | None = None,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> np.ndarray:
    """Return attention in float32, as the operation defines it."""
    heads = q.shape[2]
    k, v = (np.repeat(each, heads // each.shape[2], axis=2) for each in (k, v))
    scores = np.einsum("bihd,bjhd->bhij", q, k) * (scale or q.shape[3] ** -0.5)
    if bias is not None:
        scores = scores + bias
    last = np.arange(q.shape[1])[:, None]
    if causal_mask == "BottomRight":
        last = last + k.shape[1] - q.shape[1]
    place = np.arange(k.shape[1])[None]
    visible = np.ones((q.shape[1], k.shape[1]), bool) if causal_mask is None else place <= last
    if window_size is not None:
        visible = visible & (place > last - window_size)
    scores = np.where(visible, scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True, initial=-1e30)
    weights = np.exp(scores - largest)
    sums = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    return np.einsum("bhij,bjhd->bihd", weights, v)


MASKS: dict[str, dict[str, Any]] = {
    "no mask": {},
    "a scale": {"scale": 0.3},
    "top left": {"causal_mask": "TopLeft"},
    "bottom right": {"causal_mask": "BottomRight"},
    "a window": {"causal_mask": "TopLeft", "window_size": 5},
    "a window at the end": {"causal_mask": "BottomRight", "window_size": 70},
}
SIZES = ((7, 7), (3, 150), (150, 3), (1, 1), (200, 131))


@needs_driver
@pytest.mark.parametrize("mask", MASKS)
def test_rf15_tile_attention(mask: str, launched: Launches) -> None:
    """Also with fewer heads of keys and values, and other features of values."""
    given = MASKS[mask]
    params = [
        tensor("q", "b", "i", 4, 24),
        tensor("k", "b", "j", 2, 24),
        tensor("v", "b", "j", 1, 40),
    ]
    parts = partition_for_cuda_tile(build(params, lambda *x: op.nn.attention(*x, **given)))
    assert composites(parts) == ["cuda_tile.attention"]
    main = compiled(parts)
    for queries, keys in SIZES:
        args = arrays((2, queries, 4, 24), (2, keys, 2, 24), (2, keys, 1, 40))
        near(call(launched, main, *args), attend(*wide(*args), **given))
    assert [grid for _, _, grid in launched.rows] == [-(-i // 128) * 8 for i, _ in SIZES]


BIASES = {"all": (2, 4, "i", "j"), "rows": (1, 1, "i", "j"), "keys": (2, 1, 1, "j")}


@needs_driver
@pytest.mark.parametrize("name", BIASES)
def test_rf15_tile_attention_with_a_bias(name: str, launched: Launches) -> None:
    params = [
        tensor("q", 2, "i", 4, 16),
        tensor("k", 2, "j", 4, 16),
        tensor("v", 2, "j", 4, 16),
        tensor("bias", *BIASES[name]),
    ]
    mod = build(params, lambda *x: op.nn.attention(*x, causal_mask="BottomRight"))
    parts = partition_for_cuda_tile(mod)
    assert composites(parts) == ["cuda_tile.attention_bias"]
    main = compiled(parts)
    for i, j in SIZES:
        shape = [{"i": i, "j": j}.get(dim, dim) for dim in BIASES[name]]
        args = arrays((2, i, 4, 16), (2, j, 4, 16), (2, j, 4, 16), shape)
        near(call(launched, main, *args), attend(*wide(*args), causal_mask="BottomRight"))


@needs_driver
def test_rf15_tile_attention_of_nothing(launched: Launches) -> None:
    """Queries without keys get zeros, which the driver writes."""
    params = [tensor(name, 1, size, 2, 16) for name, size in (("q", "i"), ("k", "j"), ("v", "j"))]
    main = compiled(partition_for_cuda_tile(build(params, op.nn.attention)))
    for i, j in ((3, 0), (0, 3), (0, 0)):
        args = arrays((1, i, 2, 16), (1, j, 2, 16), (1, j, 2, 16))
        assert not call(launched, main, *args).any()
    assert launched.rows == []


@needs_driver
def test_rf15_tile_attention_of_masked_keys(launched: Launches) -> None:
    """A bias of -inf hides keys; whole tiles of them come first."""
    params = [tensor(name, 1, size, 1, 256) for name, size in (("q", 3), ("k", 90), ("v", 90))]
    mod = build([*params, tensor("bias", 1, 1, 1, 90)], op.nn.attention)
    args = arrays((1, 3, 1, 256), (1, 90, 1, 256), (1, 90, 1, 256), (1, 1, 1, 90))
    args[3][..., :70] = -np.inf
    check(launched, mod, attend(*wide(*args)), *args, name="cuda_tile.attention_bias")


@needs_driver
def test_rf15_tile_attention_of_bfloat16(launched: Launches) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("ml_dtypes")
    params = [tensor(name, 1, "i", 2, 20, dtype="bfloat16") for name in "qkv"]
    main = compiled(partition_for_cuda_tile(build(params, op.nn.attention)))
    args = arrays(*[(1, 9, 2, 20)] * 3, dtype="bfloat16")
    near(call(launched, main, *args), attend(*wide(*args)), 2e-2)
    assert launched.rows[0][0] == "attention"  # rows are no multiples of 16 bytes


# ---------------------------------------------------------------------------------------------
# Calls
# ---------------------------------------------------------------------------------------------


def linear(bind: bool = False) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a partitioned program with constants, and these."""
    w, b = arrays((40, 8), (8,))
    write = lambda x: op.add(op.matmul(x, op.const(w)), op.const(b))  # noqa: E731
    parts = partition_for_cuda_tile(build([tensor("x", "n", 40)], write), bind)
    assert ("relax.constant" in str(parts["main"])) is not bind
    return parts, w.astype(np.float32), b.astype(np.float32)


@needs_driver
@pytest.mark.parametrize("bind", [False, True])
def test_rf15_tile_constant_weights(bind: bool, launched: Launches, exec_mode: str) -> None:
    parts, w, b = linear(bind)
    main = compiled(parts)
    for rows in (3, 5, 3):
        (x,) = arrays((rows, 40))
        near(call(launched, main, x), x.astype(np.float32) @ w + b)


@needs_driver
def test_rf15_tile_layers_between_kernels(launched: Launches, exec_mode: str) -> None:
    """Kernels of tiles are beside those of the compiler, and an image is loaded once."""
    w = arrays((8, 8))[0]

    def write(x: Any) -> Any:
        y = op.nn.softmax(op.matmul(x, op.const(w)))
        return op.tanh(op.add(op.nn.softmax(op.matmul(y, op.const(w))), x))

    mod = build([tensor("x", "n", 8)], write)
    parts = partition_for_cuda_tile(mod)
    assert composites(parts) == ["cuda_tile.matmul"]  # which is called twice
    (x,) = arrays((4, 8))
    expected = relax.VirtualMachine(relax.compile(mod, target="llvm"))["main"](x)
    near(call(launched, compiled(parts), x), np.from_dlpack(expected).astype(np.float32))
    assert seen(launched._driver, "modules") == 1 and len(launched.rows) == 2


class Shifted:
    """A tensor of a device, from its second row on."""

    def __init__(self, base: Any) -> None:
        self.base = base
        self.shape = (base.shape[0] - 1, base.shape[1])

    def data_ptr(self) -> int:
        return int(self.base.data_ptr()) + 2 * int(self.shape[1])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)


def function(**changes: Any) -> Any:
    """Return a packed function that multiplies two matrices."""
    kernel = compiler.Kernel("product", "float16", (16, 16, 16, *[False] * 4, 0))
    image = launches.pack(tile_launches.fake_image(kernel, "sm_90"))
    program = {"symbol": "f", "params": 2, "dtype": "float16", "bias": None, "sum": None}
    program |= {"src": "arg0", "weights": "arg1", "transposed": [False, False]}
    program |= {"tile": [16, 16, 16], "entries": kernel.entries(), "images": {"sm_90": "code"}}
    given = {"code": changes.pop("image", image)}
    return cuda_tile.ProductFunction(program | changes, {}, launches.Images(given))


def device_tensors(*given: np.ndarray, device: str = "cuda:0") -> list[Any]:
    return [relax_runtime.tensor(each, device) for each in given]


@needs_driver
def test_rf15_tile_launches_on_the_stream_of_the_caller(launched: Launches) -> None:
    make = ctypes.CDLL(PTX_DRIVER).relax_ptx_make_stream
    make.restype = ctypes.c_void_p
    given = device_tensors(*arrays((4, 8), (8, 8), (4, 8)))
    stream = make()
    for expected in (stream, None):
        with tvm_ffi.use_raw_stream(given[0].device, expected or 0):
            function()(*given)
        assert ctypes.c_void_p.in_dll(launched._driver, "fake_stream").value == expected


@needs_driver
@pytest.mark.parametrize("columns", [8, 4])
def test_rf15_tile_addresses_that_are_less_aligned(columns: int, launched: Launches) -> None:
    """The kernel for aligned arrays is launched where all addresses and rows are aligned."""
    x, w = arrays((4, columns), (columns, 8))
    moved, right, out = device_tensors(x, w, np.zeros((3, 8), "float16"))
    function()(Shifted(moved), right, out)
    near(np.from_dlpack(relax_runtime.tensor(out, "cpu")), np.matmul(*wide(x[1:], w)), 1e-2)
    assert launched.rows == [("product_aligned" if columns == 8 else "product", "sm_90", 1)]


@needs_driver
@pytest.mark.parametrize(
    ("capability", "arch"), [(89, "sm_86"), (80, "sm_80"), (90, "sm_90"), (103, "sm_100")]
)
def test_rf15_tile_images_for_several_architectures(
    capability: int, arch: str, launched: Launches
) -> None:
    parts, w, b = linear()
    set_fake(launched._driver, "capability", capability)
    (x,) = arrays((3, 40))
    main = compiled(parts, ["sm_80", "sm_86", "sm_90a", "sm_100", f"sm_{capability + 1}"])
    near(call(launched, main, x), x.astype(np.float32) @ w + b)
    assert [row[1] for row in launched.rows] == [arch]


@needs_driver
@pytest.mark.parametrize("bind", [False, True])
def test_rf15_tile_the_runtime_alone_runs_saved_programs(
    bind: bool, launched: Launches, driver_path: Path, exec_mode: str, tmp_path: Path
) -> None:
    """Files, which are also loaded in a process without the compiler."""
    parts, w, b = linear(bind)
    made = RunCodegen({"cuda_tile": {"arch": "sm_90"}})(parts)
    relax.compile(made, target="cuda").save(tmp_path / "model.rx")
    (x,) = arrays((3, 40))
    for load in (relax.load, relax_runtime.load):
        main = relax_runtime.VirtualMachine(load(tmp_path / "model.rx"))["main"]
        near(call(launched, main, x), x.astype(np.float32) @ w + b)
    program = (
        "import ctypes, os, sys, numpy as np, relax_runtime\n"
        "driver = ctypes.CDLL(sys.argv[2])\n"
        "kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint,\n"
        "    ctypes.c_void_p)\n"
        "note = kind(lambda name, image, grid, _: print(name.decode(), grid) or 0)\n"
        "driver.fake_set_launch(note)\n"
        "main = relax_runtime.VirtualMachine(relax_runtime.load(sys.argv[1]))['main']\n"
        "x = relax_runtime.tensor(np.ones((200, 40), 'float16'), 'cuda:0')\n"
        "os.environ['RELAX_CUDA_DRIVER'] = sys.argv[2]\n"
        "main(x)\n"
        "assert 'relax_mlir' not in sys.modules and 'cuda.tile' not in sys.modules"
    )
    files = (str(tmp_path / "model.rx"), str(driver_path))
    done = run(program, *files, RELAX_CUDA_DRIVER=PTX_DRIVER)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["product_aligned", "2"]


def test_rf15_tile_no_library_of_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_compiler(monkeypatch)
    made = RunCodegen({"cuda_tile": {"arch": "sm_90"}})(linear()[0])
    executable = relax.compile(made, target="cuda")
    with pytest.raises(ValueError, match="cuda_tile"):
        executable.export_library(tmp_path / "model.so")


# ---------------------------------------------------------------------------------------------
# Compilation
# ---------------------------------------------------------------------------------------------

KERNELS = [
    compiler.Kernel("product", "float16", (128, 128, 64, False, True, True, True, 2)),
    compiler.Kernel("product", "bfloat16", (16, 32, 16, True, False, False, False, 3), False),
    compiler.Kernel("attention", "float16", (64, 32, 64, 32, 2, True, True, True)),
    compiler.Kernel("attention", "bfloat16", (16, 64, 16, 16, 0, False, True, False), False),
]


@needs_compiler
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"{kernel.name}-{kernel.dtype}")
def test_rf15_tile_kernels_compile(kernel: compiler.Kernel) -> None:
    """To machine code whose entries take what the runtime passes: addresses and numbers."""
    archs = ("sm_80", "sm_90", "sm_100")
    made = compiler.images([kernel, kernel], archs)
    assert list(made) == [(kernel, arch) for arch in archs]
    for arch in archs:
        image = made[kernel, arch]
        assert image is compiler.image(kernel, arch)  # each is made once
        found = parameters(image)
        assert set(found) == {name for name in kernel.entries() if name}
        for sizes in found.values():
            assert sizes == passed(kernel)


@needs_compiler
@pytest.mark.parametrize("activation", sorted(kernels.ACTIVATIONS.values()))
def test_rf15_tile_ir_of_activations(activation: int) -> None:
    constants = (16, 16, 16, False, False, False, False, activation)
    assert compiler.bytecode(compiler.Kernel("product", "float16", constants))[:1] == b"\x7f"


def passed(kernel: compiler.Kernel) -> list[int]:
    """Return the sizes of what the runtime passes, in bytes."""
    names = kernels.PRODUCT if kernel.name == "product" else kernels.ATTENTION
    constants = dict(zip(names, kernel.constants, strict=True))
    arguments = launches.Arguments()
    for index, rank in enumerate(compiler._ARRAYS[kernel.name]):
        flag = compiler._OPTIONAL[kernel.name].get(index)
        if flag is None or constants[flag]:
            arguments.add_array("x", [1] * rank, [1] * rank)
    for number in compiler._NUMBERS[kernel.name]:
        arguments.add_int(1) if number == "int32" else arguments.add_float(1)
    return [ctypes.sizeof(value) for value in arguments._values]


def parameters(image: bytes) -> dict[str, list[int]]:
    """Return the sizes of the parameters of each kernel of an ELF of CUDA."""
    (start,) = struct.unpack_from("<Q", image, 0x28)
    count, names = struct.unpack_from("<HH", image, 0x3C)
    sections = [struct.unpack_from("<IIQQQQ", image, start + 64 * i) for i in range(count)]
    found = {}
    for section in sections:
        at = sections[names][4] + section[0]
        name = image[at : image.index(b"\0", at)].decode()
        if name.startswith(".nv.info."):
            code = image[section[4] : section[4] + section[5]]
            rows = sorted(_parameters_of(code))
            found[name.removeprefix(".nv.info.")] = [size for _, size in rows]
    return found


def _parameters_of(code: bytes) -> Iterator[tuple[int, int]]:
    """Yield the number and the size of each parameter: EIATTR_KPARAM_INFO, in its two forms."""
    at = 0
    while at < len(code):
        form, attribute, size = struct.unpack_from("<BBH", code, at)
        at += 4
        if form != 4:
            continue
        if attribute in (0x17, 0x45):
            _, ordinal, _, word = struct.unpack_from("<IHHI", code, at)
            yield ordinal, word >> 18 if attribute == 0x17 else word & 0xFFFFFF
        at += size


@needs_compiler
def test_rf15_tile_programs_are_compiled(tmp_path: Path) -> None:
    """Products and attention of a program, which the runtime alone loads."""
    params = [tensor(name, 1, "n", 2, 16) for name in "qkv"]
    w = arrays((16, 16))[0]

    def write(q: Any, k: Any, v: Any) -> Any:
        y = op.nn.attention(op.matmul(q, op.const(w)), op.matmul(k, op.const(w)), v)
        return op.nn.softmax(y)

    parts = partition_for_cuda_tile(build(params, write))
    assert sorted(composites(parts)) == ["cuda_tile.attention", "cuda_tile.matmul"]
    made = RunCodegen({"cuda_tile": {"arch": "sm_100"}})(parts)
    path = tmp_path / "model.rx"
    relax.compile(made, target="cuda").save(path)
    assert relax_runtime.load(path) is not None


@pytest.fixture
def launched_ir(driver: Any, monkeypatch: pytest.MonkeyPatch) -> Launches:
    """Return what runs the Tile IR of launches in NumPy."""
    fake_compiler(monkeypatch)
    made = Launches(driver)
    made.disassembler = str(Path(compiler.tileiras()).with_name("tileirdisasm"))
    if not Path(made.disassembler).exists():
        pytest.skip("needs tileirdisasm, which newer packages of tileiras have")
    return made


@needs_driver
@needs_compiler
@pytest.mark.parametrize("activation", [name for name in ACTIVATIONS if name])
def test_rf15_tile_ir_of_products(activation: str, launched_ir: Launches) -> None:
    """Transposed or not, with a bias and a sum or without, at aligned and at odd sizes."""
    number = ACTIVATIONS.index(activation)
    left, right, has_more = number % 2 == 0, number % 3 == 0, number != 4
    params = [
        tensor("x", 2, *(("k", "m") if left else ("m", "k"))),
        tensor("w", *(("n", "k") if right else ("k", "n"))),
        *([tensor("c", "n"), tensor("y", 2, "m", "n")] if has_more else []),
    ]

    def write(x: Any, w: Any, *others: Any) -> Any:
        x = op.permute_dims(x, (0, 2, 1)) if left else x
        y = op.matmul(x, op.permute_dims(w) if right else w)
        for other in others:
            y = op.add(y, other)
        name = activation.removeprefix("nn.")
        return getattr(op.nn if "nn." in activation else op, name)(y)

    main = compiled(partition_for_cuda_tile(build(params, write)))
    for m, k, n in ((8, 16, 24), (131, 72, 136), (5, 65, 129), (3, 0, 2)):
        lhs, rhs = (2, k, m) if left else (2, m, k), (n, k) if right else (k, n)
        args = arrays(lhs, rhs, *([(n,), (2, m, n)] if has_more else []))
        x, w, *others = wide(*args)
        product = (x.transpose(0, 2, 1) if left else x) @ (w.T if right else w)
        expected = activated(activation, product + sum(others))
        near(call(launched_ir, main, *args), expected, 1e-2)
    entries = {entry for entry, _, _ in launched_ir.rows}
    assert entries == {"product", "product_aligned"}


@needs_driver
@needs_compiler
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("features", [24, 20])
def test_rf15_tile_ir_of_attention(mask: str, features: int, launched_ir: Launches) -> None:
    """With a bias where there is a mask, which all queries share or not."""
    given = MASKS[mask]
    shapes: list[Any] = [("b", "i", 4, features), ("b", "j", 2, features), ("b", "j", 1, 40)]
    if "causal_mask" in given:
        shapes.append(("b", 1, "i" if features == 24 else 1, "j"))
    params = [tensor(f"x{index}", *shape) for index, shape in enumerate(shapes)]
    main = compiled(partition_for_cuda_tile(build(params, lambda *x: op.nn.attention(*x, **given))))
    for i, j in SIZES:
        sizes = {"b": 2, "i": i, "j": j}
        args = arrays(*([sizes.get(dim, dim) for dim in shape] for shape in shapes))
        near(call(launched_ir, main, *args), attend(*wide(*args), **given))
    assert {entry == "attention" for entry, _, _ in launched_ir.rows} == {features == 20}


@needs_gpu
def test_rf15_tile_kernels_on_a_gpu() -> None:
    """Products and attention at odd sizes, and at those of the kernels for aligned arrays."""
    params = [tensor("x", "m", "k"), tensor("w", "n", "k"), tensor("b", "n")]
    write = lambda x, w, b: op.nn.gelu(op.add(op.matmul(x, op.permute_dims(w)), b))  # noqa: E731
    main = compiled(partition_for_cuda_tile(build(params, write)), "native")
    for m, k, n in ((5, 7, 3), (130, 72, 136), (300, 65, 257), (2, 0, 5), (0, 3, 2)):
        args = arrays((m, k), (n, k), (n,))
        x, w, b = wide(*args)
        near(call(None, main, *args), activated("nn.gelu", x @ w.T + b), 2e-2)
    shapes = [("q", "i", 4), ("k", "j", 2), ("v", "j", 2)]
    for features, given in itertools.product((24, 20), MASKS.values()):
        params = [tensor(name, "b", size, heads, features) for name, size, heads in shapes]
        parts = partition_for_cuda_tile(build(params, lambda *x: op.nn.attention(*x, **given)))  # noqa: B023
        main = compiled(parts, "native")
        for i, j in (*SIZES, (3, 0)):
            args = arrays(*((2, {"i": i, "j": j}[size], n, features) for _, size, n in shapes))
            near(call(None, main, *args), attend(*wide(*args), **given), 1e-2)


# ---------------------------------------------------------------------------------------------
# What is left alone
# ---------------------------------------------------------------------------------------------


def stays(params: Sequence[relax.Var], write: Any) -> None:
    mod = build(params, write)
    relax.assert_structural_equal(partition_for_cuda_tile(mod), mod)


def test_rf15_leaves_alone_what_tile_kernels_do_not_compute() -> None:
    for dtype in ("float32", "float64", "int8"):
        stays([tensor("x", 4, 8, dtype=dtype), tensor("w", 8, 8, dtype=dtype)], op.matmul)
    stays([tensor("x", 8), tensor("w", 8, 8)], op.matmul)  # a vector
    stays([tensor("x", 2, 3, 4, 8), tensor("w", 3, 8, 8)], op.matmul)  # a part of the batch
    halves = [tensor("x", 4, 8), tensor("w", 8, 8)]
    stays(halves, lambda x, w: op.matmul(x, w, out_dtype="float32"))
    stays([tensor("x", 4, 8)], op.exp)
    stays([tensor("x", 4, "k"), tensor("w", "j", 8)], op.matmul)  # sizes to compare


def test_rf15_leaves_alone_attention_that_tile_kernels_do_not_compute() -> None:
    stays([tensor(name, 1, 4, 2, 16, dtype="float32") for name in "qkv"], op.nn.attention)
    stays([tensor(name, 1, 4, 2, 512) for name in "qkv"], op.nn.attention)  # wide heads
    stays([tensor(name, 1, 4, 2, "d") for name in "qkv"], op.nn.attention)
    shared = [tensor("q", 1, 4, "h", 16), tensor("k", 1, 4, 1, 16), tensor("v", 1, 4, 1, 16)]
    stays(shared, op.nn.attention)
    # Sizes that the kernel would have to compare.
    stays(
        [tensor(name, 1, size, 2, 16) for name, size in zip("qkv", "ijl", strict=True)],
        op.nn.attention,
    )
    stays(
        [tensor(name, size, 4, 2, 16) for name, size in zip("qkv", "abb", strict=True)],
        op.nn.attention,
    )
    given = [tensor(name, 1, "n", 2, 16) for name in "qkv"]
    stays([*given, tensor("bias", 1, 1, "n", "l")], op.nn.attention)


def test_rf15_what_tile_kernels_do_not_fuse_stays_outside() -> None:
    x, w = tensor("x", 4, 8), tensor("w", 8, 8)
    parts = partition_for_cuda_tile(build([x, w], lambda x, w: op.exp(op.matmul(x, w))))
    assert "relax.exp %" in str(parts["main"])
    assert composites(parts) == ["cuda_tile.matmul"]

    def write_twice(x: Any, w: Any) -> Any:
        y = op.matmul(x, w)
        return op.tuple(op.nn.relu(y), op.exp(y))

    parts = partition_for_cuda_tile(build([x, w], write_twice))
    assert composites(parts) == ["cuda_tile.matmul"]


# ---------------------------------------------------------------------------------------------
# Errors
# ---------------------------------------------------------------------------------------------


@needs_driver
def test_rf15_tile_kernels_reject_tensors_elsewhere(launched: Launches) -> None:
    import tvm_ffi

    given = [tvm_ffi.from_dlpack(each) for each in arrays((2, 3), (3, 4), (2, 4))]
    words = "f: the kernel expected tensors of one CUDA device, but got one on cpu:0"
    with pytest.raises(ValueError, match=words):
        function()(*given)


@needs_driver
def test_rf15_tile_kernels_reject_an_old_driver(launched: Launches) -> None:
    set_fake(launched._driver, "version", 12040)
    given = device_tensors(*arrays((2, 3), (3, 4), (2, 4)))
    words = r"f: expected a driver of CUDA 13\.0 \(r580\) or newer .* got one of CUDA 12\.4, for a "
    with pytest.raises(cuda_tile.CudaTileError, match=words):
        function()(*given)
    assert not cuda_tile.is_available()
    set_fake(launched._driver, "version", 13010)
    assert cuda_tile.is_available()


@needs_driver
def test_rf15_tile_kernels_reject_another_architecture(launched: Launches) -> None:
    set_fake(launched._driver, "capability", 120)
    given = device_tensors(*arrays((2, 3), (3, 4), (2, 4)))
    words = (
        "f: expected a kernel for sm_120, but the program has those for sm_90: compile it with the "
        "option arch='sm_120' of codegen 'cuda_tile', for a product of float16, 2 x 3 by 3 x 4, "
        "on cuda:0"
    )
    with pytest.raises(cuda_tile.CudaTileError, match=words):
        function()(*given)


@needs_driver
def test_rf15_tile_kernels_that_fail(launched: Launches) -> None:
    """Errors have what the driver says."""
    given = device_tensors(*arrays((2, 3), (3, 4), (2, 4)))
    words = r"f: cannot load kernels into the context of cuda:0: .* \(209\): no image of a device"
    with pytest.raises(cuda_tile.DriverError, match=words):
        function(image=launches.pack(b"text"))(*given)
    with pytest.raises(cuda_tile.DriverError, match=r"find the kernel 'other' .*\(500\)"):
        function(entries=[None, "other"])(*given)
    launched._driver.fake_set_launch(None)
    with pytest.raises(cuda_tile.DriverError, match=r"launch a kernel on cuda:0: .*\(1\), for a"):
        function()(*given)


@needs_driver
def test_rf15_tile_kernels_reject_sizes_that_are_too_large(launched: Launches) -> None:
    """Kernels have sizes of 32 bits; the memory is not there."""
    big = function().prepare
    shapes = [(2**20, 2**12), (2**12, 2**31), (2**20, 2**31)]
    with pytest.raises(cuda_tile.CudaTileError, match=r"expected sizes below 2\^31, but got 214"):
        big(0, shapes, 256)
    shapes = [(2**30, 8), (8, 2**20), (2**30, 2**20)]
    with pytest.raises(cuda_tile.CudaTileError, match="expected at most 2147483647 tiles"):
        big(0, shapes, 256)


def run(program: str, *args: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *args],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )


def test_rf15_rejects_a_compiler_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = linear()[0]
    compiler.bytecode.cache_clear()
    monkeypatch.setitem(sys.modules, "cuda.tile", None)
    words = r"expected the package cuda-tile, .* Install it: pip install \"relax-mlir\[cuda-tile"
    with pytest.raises(RuntimeError, match=words):
        RunCodegen()(parts)
    assert not is_available()
    monkeypatch.setenv(compiler.VARIABLE, str(tmp_path / "tileiras"))
    with pytest.raises(
        RuntimeError, match=r"expected the program tileiras, .* none in RELAX_TILEI"
    ):
        compiler.tileiras()
    monkeypatch.delenv(compiler.VARIABLE)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compiler, "_TOOLKIT", tmp_path / "none")
    with pytest.raises(RuntimeError, match=r"there is none in packages, PATH and /usr/local"):
        compiler.tileiras()


def test_rf15_rejects_a_compiler_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "tileiras"
    program.write_text("#!/bin/sh\necho it knows no $2 >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv(compiler.VARIABLE, str(program))
    monkeypatch.setattr(compiler, "bytecode", lambda kernel: b"")
    kernel = compiler.Kernel("product", "float16", (16, 16, 16, *[False] * 4, 6), False)
    with pytest.raises(RuntimeError, match="cannot compile 'product' for sm_99: it knows no sm_99"):
        compiler.image(kernel, "sm_99")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fast": True}, "expected the option arch, but got fast"),
        ({"arch": "gfx90a"}, "expected arch to be sm_80 or a later one, or native, but got 'gfx90"),
        ({"arch": "sm_75"}, "expected arch to be sm_80 or a later one, or native, but got 'sm_75'"),
        ({"arch": ["sm_90", 3]}, "expected arch to be sm_80 or a later one, or native, but got 3"),
        ({"arch": []}, "expected arch to be an architecture such as 'sm_90', or a list of them"),
        ({"arch": 90}, "expected arch to be an architecture such as 'sm_90', or a list of them"),
    ],
)
def test_rf15_tile_codegen_rejects_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=f"codegen 'cuda_tile': {words}"):
        RunCodegen({"cuda_tile": options})(linear()[0])


@needs_driver
def test_rf15_tile_kernels_for_this_machine(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from relax_mlir.backend.cuda_tile import codegen

    module = sys.modules[codegen.__module__]
    set_fake(driver, "capability", 103)
    monkeypatch.setenv(cuda_driver.VARIABLE, driver._name)
    assert module._archs({"arch": "native"}) == ["sm_103"]
    assert module._archs({}) == list(module.DEFAULT_ARCHS)


def test_rf15_tile_codegen_rejects_functions_that_it_does_not_know() -> None:
    mod = build([tensor("x", 4, 8)], op.exp)
    pattern = [("cuda_tile.exp", is_op("relax.exp")(wildcard()))]
    fused = FuseOpsByPattern(pattern, annotate_codegen=True)(mod)
    with pytest.raises(ValueError, match=r"expected operations that its kernel fuses in 'cuda_til"):
        RunCodegen()(fused)
    heads = [tensor(name, 1, 4, 2, 16) for name in "qkv"]
    after = is_op("relax.nn.relu")(is_op("relax.attention")(wildcard(), wildcard(), wildcard()))
    mod = build(heads, lambda *x: op.nn.relu(op.nn.attention(*x)))
    fused = FuseOpsByPattern([("cuda_tile.more", after)], annotate_codegen=True)(mod)
    with pytest.raises(ValueError, match=r"fuses in 'cuda_tile\.more', but got relax\.attention"):
        RunCodegen()(fused)
    patterns = backend.get_patterns_with_prefix("cuda_tile.")
    mod = build([tensor("x", 4, 8), tensor("w", 8, 8)], lambda x, w: op.matmul(op.matmul(x, w), w))
    merged = MergeCompositeFunctions()(FuseOpsByPattern(patterns)(mod))
    with pytest.raises(ValueError, match=r"expected one product or attention, .* but got 2 steps"):
        RunCodegen()(merged)
    assert "cuda_tile" in backend.codegen_names()


MATMUL = is_op("relax.matmul")(wildcard(), wildcard())
SUM = is_op("relax.add")(MATMUL, wildcard())
ATTENTION = is_op("relax.attention")(wildcard(), wildcard(), wildcard())


@pytest.mark.parametrize(
    ("pattern", "shapes", "dtype", "words"),
    [
        (SUM, [(1, 8), (8, 8), (4, 8)], "float16", "expected a product of the shape of the result"),
        (SUM, [(4, 8), (8, 8), (4, 1)], "float16", "expected a sum of tensors of one shape, or"),
        (
            MATMUL,
            [(4, 8), (8, 8)],
            "float32",
            "expected tensors of float16 or bfloat16, but got !relax",
        ),
        (MATMUL, [(8,), (8, 8)], "float16", "expected matrices, one for all of a batch or one for"),
        (
            ATTENTION,
            [(1, 4, 2, 512)] * 3,
            "float16",
            "expected attention of heads of 1 to 256 feat",
        ),
        (
            ATTENTION,
            [(1, 4, 2, "d")] * 3,
            "float16",
            "expected attention of heads of 1 to 256 feat",
        ),
    ],
)
def test_rf15_tile_codegen_rejects_what_other_patterns_match(
    pattern: Any, shapes: list[Any], dtype: str, words: str
) -> None:
    params = [tensor(f"x{i}", *shape, dtype=dtype) for i, shape in enumerate(shapes)]
    writes = {MATMUL: op.matmul, ATTENTION: op.nn.attention}
    add = lambda x, y, z: op.add(op.matmul(x, y), z)  # noqa: E731
    mod = build(params, writes.get(pattern, add))
    fused = FuseOpsByPattern([("cuda_tile.more", pattern)], annotate_codegen=True)(mod)
    with pytest.raises(ValueError, match=f"codegen 'cuda_tile': {words}"):
        RunCodegen()(fused)
