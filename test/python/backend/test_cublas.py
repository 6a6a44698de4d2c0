# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuBLASLt computes products on GPUs (RF15): here a library for tests does, on the host."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
from relax_mlir import backend, op
from relax_mlir.backend import partition_for_cublas
from relax_mlir.dpl import is_op, wildcard
from relax_mlir.transform import FuseOpsByPattern, MergeCompositeFunctions, RunCodegen
from relax_runtime import cublas, cuda_functions
from relax_runtime.cublas import execution, library
from relax_runtime.product_sizes import sizes_of

needs_device = pytest.mark.skipif(
    not relax_runtime.has_device("cuda:0") or shutil.which("cc") is None,
    reason="needs a CUDA device or the interpreter of PTX, and a C compiler",
)

SOURCE = Path(__file__).with_name("fake_cublaslt.c")
FLAGS = ("-O1", "-shared", "-fPIC", "-Wl,-soname,libcublasLt.so.13")


@pytest.fixture(scope="module")
def fake_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library for tests."""
    path = tmp_path_factory.mktemp("cublas") / "libcublasLt.so.13"
    subprocess.run(["cc", *FLAGS, "-o", path, SOURCE, "-lm", "-ldl"], check=True)
    return path


@pytest.fixture
def fake(fake_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the library for tests, which functions call."""
    monkeypatch.setenv(library.VARIABLE, str(fake_path))
    forget(monkeypatch)
    yield ctypes.CDLL(str(fake_path))
    library.load.cache_clear()


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open the library again when it is next needed."""
    library.load.cache_clear()
    monkeypatch.setattr(execution, "_places", {})


def seen(fake: Any, name: str) -> int:
    """Return what the library has noted."""
    return ctypes.c_int64.in_dll(fake, f"fake_{name}").value


def tensor(name: str, *shape: Any, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def build(params: Sequence[relax.Var], write: Any) -> Any:
    """Return a module of a function with one dataflow block."""
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(write(*(param.value for param in params)))
        bb.emit_func_output(out)
    return bb.get()


def arrays(*shapes: tuple[int, ...], dtype: str = "float32") -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def composites(parts: Any) -> list[str]:
    """Return the names of the patterns that matched."""
    functions = [f for f in parts.functions.values() if "Codegen" in f.attrs]
    return [step.composite for f in functions for step in backend.Region(f).steps]


def on_device(mod: Any, *args: np.ndarray) -> np.ndarray:
    """Return what a partitioned program computes on the device."""
    main = relax.VirtualMachine(relax.compile(RunCodegen()(mod), target="cuda"))["main"]
    found = main(*(relax_runtime.tensor(arg, "cuda:0") for arg in args))
    return np.from_dlpack(relax_runtime.tensor(found, "cpu"))


def check(mod: Any, expected: np.ndarray, *args: np.ndarray, name: str) -> None:
    """Compare what a program computes with the library."""
    parts = partition_for_cublas(mod)
    assert composites(parts) == [name]
    tolerance = 1e-4 if args[0].dtype == np.float32 else 5e-3
    found = on_device(parts, *args)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def activated(name: str | None, x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) if name == "relu" else gelu_tanh(x) if name else x


# ---------------------------------------------------------------------------------------------
# Products
# ---------------------------------------------------------------------------------------------


@needs_device
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_rf15_products_of_transposed_matrices(
    left: bool, right: bool, dtype: str, fake: Any, exec_mode: str
) -> None:
    """All sizes are known when the program runs; there may be none, also in sums."""
    params = [
        tensor("x", *(("k", "m") if left else ("m", "k")), dtype=dtype),
        tensor("w", *(("n", "k") if right else ("k", "n")), dtype=dtype),
    ]

    def write(x: Any, w: Any) -> Any:
        return op.matmul(op.permute_dims(x) if left else x, op.permute_dims(w) if right else w)

    parts = partition_for_cublas(build(params, write))
    assert composites(parts) == ["cublas.matmul" + "_transposed_lhs" * left + "_transposed" * right]
    main = relax.VirtualMachine(relax.compile(RunCodegen()(parts), target="cuda"))["main"]
    tolerance = 1e-4 if dtype == "float32" else 1e-2
    for m, k, n in ((5, 7, 3), (1, 40, 6), (4, 3, 1), (0, 3, 2), (3, 2, 0), (2, 0, 5), (9, 1, 4)):
        x, w = arrays((m, k), (k, n), dtype=dtype)
        given = [np.ascontiguousarray(each) for each in (x.T if left else x, w.T if right else w)]
        found = main(*(relax_runtime.tensor(each, "cuda:0") for each in given))
        expected = x.astype("float32") @ w.astype("float32")
        found = np.from_dlpack(relax_runtime.tensor(found, "cpu"))
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@needs_device
@pytest.mark.parametrize("activation", [None, "relu", "gelu_tanh"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("residual", [False, True])
def test_rf15_what_follows_a_product(
    bias: bool, residual: bool, activation: str | None, fake: Any, exec_mode: str
) -> None:
    shapes = [(5, 8), (8, 6), *([(6,)] * bias), *([(5, 6)] * residual)]
    names = [("m", 8), (8, 6), *([(6,)] * bias), *([("m", 6)] * residual)]
    params = [tensor(f"x{index}", *shape) for index, shape in enumerate(names)]

    def write(x: Any, w: Any, *others: Any) -> Any:
        y = op.matmul(x, w)
        for other in others:
            y = op.add(y, other)
        return getattr(op.nn, activation)(y) if activation else y

    x, w, *others = given = arrays(*shapes)
    expected = activated(activation, x @ w + sum(others))
    words = ["bias"] * bias + ["residual"] * residual + [activation] * (activation is not None)
    check(build(params, write), expected, *given, name="_".join(["cublas.matmul", *words]))


@needs_device
def test_rf15_a_sum_that_comes_first(fake: Any, exec_mode: str) -> None:
    params = [tensor("x", 5, 8), tensor("w", 8, 6), tensor("y", 5, 6)]
    x, w, y = given = arrays((5, 8), (8, 6), (5, 6))
    mod = build(params, lambda x, w, y: op.nn.relu(op.add(y, op.matmul(x, w))))
    check(mod, np.maximum(x @ w + y, 0), *given, name="cublas.matmul_residual_relu")


BATCHES = {
    "rows of one product": ((2, 3, 4, 5), (5, 6), 1),
    "a product for each": ((2, 3, 4, 5), (2, 3, 5, 6), 6),
    "one matrix on the left": ((4, 5), (3, 5, 6), 3),
    "ones": ((1, 1, 4, 5), (3, 5, 6), 3),
    "ones on the right": ((3, 4, 5), (1, 5, 6), 1),
}


@needs_device
@pytest.mark.parametrize("name", BATCHES)
def test_rf15_batches(name: str, fake: Any, exec_mode: str) -> None:
    left, right, count = BATCHES[name]
    x, w, b = given = arrays(left, right, (6,))
    names = {2: "a", 3: "b"}  # dimensions that are not known
    params = [
        tensor("x", *(names.get(size, size) for size in left)),
        tensor("w", *(names.get(size, size) for size in right)),
        tensor("c", 6),
    ]
    mod = build(params, lambda x, w, c: op.nn.relu(op.add(op.matmul(x, w), c)))
    check(mod, np.maximum(x @ w + b, 0), *given, name="cublas.matmul_bias_relu")
    assert seen(fake, "batch") == count


@needs_device
def test_rf15_batches_of_transposed_matrices(fake: Any, exec_mode: str) -> None:
    """Scores of attention; and one left matrix of many, which rows do not join."""
    x, w = given = arrays((3, 4, 5), (3, 6, 5))
    params = [tensor("x", "b", 4, 5), tensor("w", "b", 6, 5)]
    mod = build(params, lambda x, w: op.matmul(x, op.permute_dims(w, (0, 2, 1))))
    check(mod, x @ w.transpose(0, 2, 1), *given, name="cublas.matmul_transposed")
    x, w = given = arrays((3, 5, 4), (5, 6))
    params = [tensor("x", "b", 5, 4), tensor("w", 5, 6)]
    mod = build(params, lambda x, w: op.matmul(op.permute_dims(x, (0, 2, 1)), w))
    check(mod, x.transpose(0, 2, 1) @ w, *given, name="cublas.matmul_transposed_lhs")
    assert seen(fake, "batch") == 3


def test_rf15_sizes_of_batches() -> None:
    sizes = sizes_of((2, 3, 4, 5), (2, 3, 5, 6), (2, 3, 4, 6), (False, False))
    assert (sizes.batch, sizes.lhs_offset, sizes.rhs_offset) == (6, 20, 30)
    assert str(sizes) == "4 x 5 by 5 x 6, batch 6"
    assert str(sizes_of((4, 5), (5, 6), (4, 6), (False, False))) == "4 x 5 by 5 x 6"


@needs_device
def test_rf15_products_of_bfloat16(fake: Any, exec_mode: str) -> None:
    torch = pytest.importorskip("torch")
    params = [
        tensor("x", "m", 40, dtype="bfloat16"),
        tensor("w", 6, 40, dtype="bfloat16"),
        tensor("b", 6, dtype="bfloat16"),
    ]
    mod = build(params, lambda x, w, b: op.add(op.matmul(x, op.permute_dims(w)), b))
    parts = partition_for_cublas(mod)
    assert composites(parts) == ["cublas.matmul_transposed_bias"]
    torch.manual_seed(0)
    given = [torch.randn(shape).bfloat16() for shape in ((5, 40), (6, 40), (6,))]
    main = relax.VirtualMachine(relax.compile(RunCodegen()(parts), target="cuda"))["main"]
    found = main(*(relax_runtime.tensor(each, "cuda:0") for each in given))
    found = torch.from_dlpack(relax_runtime.tensor(found, "cpu"))
    torch.testing.assert_close(found, torch.nn.functional.linear(*given), rtol=2e-2, atol=2e-2)
    assert seen(fake, "reductions") == 2  # parts of sums stay float32


@needs_device
def test_rf15_tf32_is_an_option(fake: Any, exec_mode: str) -> None:
    x, w = arrays((5, 8), (8, 6))
    mod = build([tensor("x", 5, 8), tensor("w", 8, 6)], op.matmul)
    exact = on_device(partition_for_cublas(mod), x, w)
    assert seen(fake, "compute") == 68
    rounded = on_device(partition_for_cublas(mod, tf32=True), x, w)
    assert seen(fake, "compute") == 77
    error = np.abs(rounded - exact).max()
    assert 1e-5 < error < 1e-2
    halves = [tensor("x", 5, 8, dtype="float16"), tensor("w", 8, 6, dtype="float16")]
    x, w = arrays((5, 8), (8, 6), dtype="float16")
    on_device(partition_for_cublas(build(halves, op.matmul), tf32=True), x, w)
    assert seen(fake, "compute") == 68


@needs_device
def test_rf15_a_layer_between_kernels(fake: Any, exec_mode: str) -> None:
    """Products are beside kernels of the compiler, and one function is called for each."""
    w = arrays((8, 8))[0]

    def write(x: Any) -> Any:
        y = op.nn.softmax(op.matmul(x, op.const(w)))
        return op.tanh(op.add(op.matmul(y, op.const(w)), x))

    mod = build([tensor("x", "n", 8)], write)
    parts = partition_for_cublas(mod)
    assert composites(parts) == ["cublas.matmul", "cublas.matmul_residual"]
    (x,) = arrays((4, 8))
    expected = relax.VirtualMachine(relax.compile(mod, target="llvm"))["main"](x)
    found = on_device(parts, x)
    np.testing.assert_allclose(found, np.from_dlpack(expected), rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------------------------------------
# Calls
# ---------------------------------------------------------------------------------------------


def linear(bind: bool = False) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a program with constants, and these."""
    w, b = arrays((40, 6), (6,))
    write = lambda x: op.add(op.matmul(x, op.const(w)), op.const(b))  # noqa: E731
    parts = partition_for_cublas(build([tensor("x", "n", 40)], write), bind)
    assert ("relax.constant" in str(parts["main"])) is not bind
    return RunCodegen()(parts), w, b


@needs_device
@pytest.mark.parametrize("bind", [False, True])
def test_rf15_constant_weights_on_gpus(bind: bool, fake: Any, exec_mode: str) -> None:
    mod, w, b = linear(bind)
    main = relax.VirtualMachine(relax.compile(mod, target="cuda"))["main"]
    for rows in (3, 5, 3):
        (x,) = arrays((rows, 40))
        found = main(relax_runtime.tensor(x, "cuda:0"))
        found = np.from_dlpack(relax_runtime.tensor(found, "cpu"))
        np.testing.assert_allclose(found, x @ w + b, rtol=1e-4, atol=1e-4)


@needs_device
@pytest.mark.parametrize("bind", [False, True])
def test_rf15_the_runtime_alone_runs_saved_programs(
    bind: bool, fake: Any, exec_mode: str, tmp_path: Path
) -> None:
    """Files, which are also loaded in a process without the compiler."""
    mod, w, b = linear(bind)
    relax.compile(mod, target="cuda").save(tmp_path / "model.rx")
    (x,) = arrays((3, 40))
    for load in (relax.load, relax_runtime.load):
        main = relax_runtime.VirtualMachine(load(tmp_path / "model.rx"))["main"]
        found = main(relax_runtime.tensor(x, "cuda:0"))
        found = np.from_dlpack(relax_runtime.tensor(found, "cpu"))
        np.testing.assert_allclose(found, x @ w + b, rtol=1e-4, atol=1e-4)
    program = (
        "import sys, numpy as np, relax_runtime\n"
        "main = relax_runtime.VirtualMachine(relax_runtime.load(sys.argv[1]))['main']\n"
        "x = relax_runtime.tensor(np.ones((2, 40), 'float32'), 'cuda:0')\n"
        "print(np.from_dlpack(relax_runtime.tensor(main(x), 'cpu')).sum())\n"
        "assert 'relax_mlir' not in sys.modules"
    )
    made = run(program, str(tmp_path / "model.rx"))
    assert made.returncode == 0, made.stderr
    assert float(made.stdout) == pytest.approx(2 * (w.sum() + b.sum()), rel=1e-3)


@needs_device
def test_rf15_products_are_described_once(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each list of shapes, of which the last are kept; what is dropped is given back."""
    monkeypatch.setattr(cuda_functions, "MAX_CALLS", 2)
    main = relax.VirtualMachine(relax.compile(linear()[0], target="cuda"))["main"]

    def count(rows: int) -> int:
        before = seen(fake, "heuristics")
        main(relax_runtime.tensor(arrays((rows, 40))[0], "cuda:0"))
        return seen(fake, "heuristics") - before

    assert [count(rows) for rows in (3, 3, 5, 3, 5, 0, 0)] == [1, 0, 1, 0, 0, 0, 0]
    objects = seen(fake, "objects")
    assert [count(rows) for rows in (7, 8, 9, 9)] == [1, 1, 1, 0]
    assert seen(fake, "objects") <= objects + 5  # 0 rows had none
    assert seen(fake, "workspace") == 4096


def call(program: dict[str, Any], *tensors: Any) -> None:
    """Call a function that multiplies two matrices."""
    given = {"symbol": "f", "params": 2, "dtype": "float32", "tf32": False, "bias": None}
    given |= {"src": "arg0", "weights": "arg1", "sum": None, "activation": None}
    cublas.CublasFunction({**given, "transposed": [False, False], **program}, {})(*tensors)


def device_tensors(*given: np.ndarray, device: str = "cuda:0") -> list[Any]:
    return [relax_runtime.tensor(each, device) for each in given]


@needs_device
def test_rf15_addresses_that_are_less_aligned(fake: Any) -> None:
    """Algorithms are those for the alignment that all addresses have."""
    import tvm_ffi

    class Shifted:
        """A tensor of a device, from its second row on."""

        def __init__(self, base: Any) -> None:
            self.base = base
            self.shape = (base.shape[0] - 1, base.shape[1])

        def data_ptr(self) -> int:
            return int(self.base.data_ptr()) + 4 * int(self.shape[1])

        def __getattr__(self, name: str) -> Any:
            return getattr(self.base, name)

    x, w = arrays((4, 3), (3, 8))
    moved, right, out = device_tensors(x, w, np.zeros((3, 8), "float32"))
    assert isinstance(out, tvm_ffi.Tensor)
    call({}, Shifted(moved), right, out)
    assert seen(fake, "alignment") == 4
    np.testing.assert_allclose(np.from_dlpack(relax_runtime.tensor(out, "cpu")), x[1:] @ w, 1e-4)


@needs_device
def test_rf15_products_on_the_stream_of_the_caller(fake: Any) -> None:
    import tvm_ffi

    if "relax_ptx_driver" not in os.environ.get("RELAX_CUDA_DRIVER", ""):
        pytest.skip("needs the interpreter of PTX, which makes streams")
    make = ctypes.CDLL(os.environ["RELAX_CUDA_DRIVER"]).relax_ptx_make_stream
    make.restype = ctypes.c_void_p
    given = device_tensors(*arrays((4, 3), (3, 8), (4, 8)))
    stream = make()
    for expected in (stream, None):
        with tvm_ffi.use_raw_stream(given[0].device, expected or 0):
            call({}, *given)
        assert ctypes.c_void_p.in_dll(fake, "fake_stream").value == expected


@needs_device
def test_rf15_products_on_another_device(fake: Any) -> None:
    """Each device has a handle of the library, in its own context."""
    if not relax_runtime.has_device("cuda:1"):
        pytest.skip("there is one device")
    x, w = arrays((4, 3), (3, 8))
    for device in ("cuda:1", "cuda:0"):
        *given, out = device_tensors(x, w, np.zeros((4, 8), "float32"), device=device)
        call({}, *given, out)
        np.testing.assert_allclose(np.from_dlpack(relax_runtime.tensor(out, "cpu")), x @ w, 1e-4)
    first = relax_runtime.tensor(x, "cuda:1")
    with pytest.raises(ValueError, match="expected tensors of one CUDA device, but got one on"):
        call({}, first, *device_tensors(w, x @ w))


@needs_device
def test_rf15_threads_share_a_product(fake: Any) -> None:
    mod, w, b = linear()
    main = relax.VirtualMachine(relax.compile(mod, target="cuda"))["main"]
    failures: list[Any] = []

    def work(seed: int) -> None:
        for rows in (3, 5, 3, 4) * 3:
            x = np.random.default_rng(seed).standard_normal((rows, 40)).astype("float32")
            found = relax_runtime.tensor(main(relax_runtime.tensor(x, "cuda:0")), "cpu")
            if not np.allclose(np.from_dlpack(found), x @ w + b, rtol=1e-3, atol=1e-3):
                failures.append((seed, rows))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


# ---------------------------------------------------------------------------------------------
# What is left alone
# ---------------------------------------------------------------------------------------------


def stays(params: Sequence[relax.Var], write: Any) -> None:
    mod = build(params, write)
    relax.assert_structural_equal(partition_for_cublas(mod), mod)


def test_rf15_leaves_alone_what_cublas_does_not_compute() -> None:
    stays([tensor("x", 4, 8, dtype="float64"), tensor("w", 8, 8, dtype="float64")], op.matmul)
    stays([tensor("x", 4, 8, dtype="int32"), tensor("w", 8, 8, dtype="int32")], op.matmul)
    stays([tensor("x", 8), tensor("w", 8, 8)], op.matmul)  # a vector
    stays([tensor("x", 2, 1, 4, 8), tensor("w", 3, 8, 8)], op.matmul)  # all pairs
    stays([tensor("x", 2, 3, 4, 8), tensor("w", 3, 8, 8)], op.matmul)  # a part of the batch
    stays([tensor("x", 4, 8)], op.exp)
    halves = [tensor("x", 4, 8, dtype="float16"), tensor("w", 8, 8, dtype="float16")]
    stays(halves, lambda x, w: op.matmul(x, w, out_dtype="float32"))


def outside(params: Sequence[relax.Var], write: Any, name: str, composite: str) -> None:
    """Check that an operation stays a kernel of the compiler."""
    parts = partition_for_cublas(build(params, write))
    assert f"relax.{name} %" in str(parts["main"])
    assert composite in composites(parts)


def test_rf15_what_cublas_does_not_fuse_stays_outside() -> None:
    x, w = tensor("x", 4, 8), tensor("w", 8, 8)
    # The library approximates gelu by tanh.
    outside([x, w], lambda x, w: op.nn.gelu(op.matmul(x, w)), "gelu", "cublas.matmul")

    def write_double(x: Any, w: Any) -> Any:
        y = op.matmul(x, w)
        return op.add(y, y)

    outside([x, w], write_double, "add", "cublas.matmul")
    params = [tensor("x", 1, 8), w, tensor("y", 5, 8)]
    write = lambda x, w, y: op.add(op.matmul(x, w), y)  # noqa: E731
    outside(params, write, "add", "cublas.matmul")
    params = [tensor("x", 2, 3, 4), tensor("w", 5, 2, 4)]
    write = lambda x, w: op.matmul(x, op.permute_dims(w, (1, 2, 0)))  # noqa: E731
    outside(params, write, "permute_dims", "cublas.matmul")

    def write_twice(x: Any, w: Any) -> Any:
        y = op.matmul(x, w)
        return op.tuple(op.nn.relu(y), op.exp(y))

    outside([x, w], write_twice, "relu", "cublas.matmul")


# ---------------------------------------------------------------------------------------------
# Errors
# ---------------------------------------------------------------------------------------------


@needs_device
def test_rf15_rejects_tensors_of_the_host(fake: Any) -> None:
    import tvm_ffi

    given = [tvm_ffi.from_dlpack(each) for each in arrays((2, 3), (3, 4), (2, 4))]
    words = "f: cuBLASLt expected tensors of one CUDA device, but got one on cpu:0"
    with pytest.raises(ValueError, match=words):
        call({}, *given)


@needs_device
@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("cublasLtMatmul:13", r"cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED \(13\)"),
        (
            "cublasLtMatmulAlgoGetHeuristic:15",
            r"cublasLtMatmulAlgoGetHeuristic: CUBLAS_STATUS_NOT_SUPPORTED \(15\)",
        ),
        ("cublasLtMatrixLayoutCreate:99", r"cublasLtMatrixLayoutCreate: an unknown status \(99\)"),
        ("none", "cublasLtMatmulAlgoGetHeuristic: no algorithm"),
    ],
)
def test_rf15_calls_that_fail(
    told: str, words: str, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors name the call, what it was for and the device; what was made is given back."""
    given = device_tensors(*arrays((2, 2, 3), (2, 3, 4), (2, 2, 4)))
    call({}, *given)
    objects = seen(fake, "objects")
    monkeypatch.setenv("FAKE_CUBLASLT_FAIL", told)
    where = "for a product of float32, 2 x 3 by 3 x 4, batch 2, on cuda:0"
    with pytest.raises(cublas.CublasError, match=f"f: {words}, {where}"):
        call({}, *given)
    assert seen(fake, "objects") <= objects
    monkeypatch.delenv("FAKE_CUBLASLT_FAIL")
    call({}, *given)


@needs_device
def test_rf15_errors_reach_the_caller(
    fake: Any, exec_mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mod, _, _ = linear()
    main = relax.VirtualMachine(relax.compile(mod, target="cuda"))["main"]
    monkeypatch.setenv("FAKE_CUBLASLT_FAIL", "cublasLtMatmul:14")
    with pytest.raises(RuntimeError, match="CUBLAS_STATUS_INTERNAL_ERROR"):
        main(relax_runtime.tensor(arrays((3, 40))[0], "cuda:0"))


@needs_device
def test_rf15_the_device_has_no_memory_for_the_workspace(fake: Any) -> None:
    program = (
        "import numpy as np, relax_runtime\n"
        "from relax_runtime.cublas import CublasFunction\n"
        "given = {'symbol': 'f', 'params': 2, 'dtype': 'float32', 'tf32': False, 'bias': None,\n"
        "    'src': 'arg0', 'weights': 'arg1', 'sum': None, 'activation': None,\n"
        "    'transposed': [False, False]}\n"
        "x = relax_runtime.tensor(np.ones((64, 64), 'float32'), 'cuda:0')\n"
        "CublasFunction(given, {})(x, x, x)"
    )
    made = run(program, RELAX_PTX_BYTES=str(1 << 20))
    if "relax_ptx" in os.environ.get("RELAX_CUDA_DRIVER", ""):
        words = "f: cannot allocate 33554432 bytes of cuda:0: an unknown error (2), for a product"
        assert f"DriverError: {words}" in made.stderr


def run(program: str, *args: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *args],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )


def test_rf15_rejects_a_cublas_that_is_not_there(tmp_path: Path) -> None:
    program = "from relax_runtime import cublas\nprint(cublas.is_available())\ncublas.version()"
    made = run(program, RELAX_CUBLASLT=str(tmp_path / "libcublasLt.so.13"))
    assert made.stdout == "False\n"
    assert "RuntimeError: expected the library cuBLASLt, libcublasLt.so.13, but" in made.stderr
    assert "pip install nvidia-cublas" in made.stderr
    made = run(program, RELAX_CUBLASLT="libm.so.6")
    assert "expected the library cuBLASLt, but got libm.so.6" in made.stderr


@needs_device
def test_rf15_finds_cublas_of_packages(fake_path: Path, tmp_path: Path) -> None:
    """That of the newest version, as the package of PyPI has it."""
    for folder in ("nvidia/cublas/lib", "nvidia/cu13/lib"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(fake_path, tmp_path / "nvidia/cu13/lib")
    program = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "from relax_runtime import cublas\n"
        "print(cublas.version(), cublas.library.load().path)"
    )
    path = tmp_path / "nvidia/cu13/lib/libcublasLt.so.13"
    made = run(program, str(tmp_path), RELAX_CUBLASLT="")
    assert made.stdout.split() == ["13.2.3", str(path)], made.stderr


@needs_device
def test_rf15_finds_cublas_that_is_open(fake_path: Path) -> None:
    """That of PyTorch, which may be of an older version than others."""
    program = (
        "import ctypes, sys\n"
        "from relax_runtime import cublas\n"
        "library = ctypes.CDLL(sys.argv[1])\n"
        "print(cublas.library.load().path)"
    )
    made = run(program, str(fake_path), RELAX_CUBLASLT="")
    assert made.stdout.strip() == "libcublasLt.so.13", made.stderr


def test_rf15_a_driver_that_is_not_there(tmp_path: Path) -> None:
    program = "from relax_runtime.cuda_driver import Device\nDevice(0)"
    made = run(program, RELAX_CUDA_DRIVER=str(tmp_path / "libcuda.so.1"))
    assert "DriverError: expected the CUDA driver, but it cannot be opened: " in made.stderr


def test_rf15_cublas_rejects_functions_that_it_does_not_know() -> None:
    mod = build([tensor("x", 4, 8)], op.exp)
    pattern = [("cublas.exp", is_op("relax.exp")(wildcard()))]
    fused = FuseOpsByPattern(pattern, annotate_codegen=True)(mod)
    with pytest.raises(ValueError, match=r"expected operations that cuBLASLt fuses in 'cublas\.e"):
        RunCodegen()(fused)
    mod = build([tensor("x", 4, 8), tensor("w", 8, 8)], op.matmul)
    with pytest.raises(ValueError, match="codegen 'cublas': expected no options, but got fast"):
        RunCodegen({"cublas": {"fast": True}})(partition_for_cublas(mod))
    patterns = backend.get_patterns_with_prefix("cublas.")
    mod = build([tensor("x", 4, 8), tensor("w", 8, 8)], lambda x, w: op.matmul(op.matmul(x, w), w))
    merged = MergeCompositeFunctions()(FuseOpsByPattern(patterns)(mod))
    with pytest.raises(ValueError, match="expected one product, which is the result, but got 2"):
        RunCodegen()(merged)
    assert "cublas" in backend.codegen_names()
