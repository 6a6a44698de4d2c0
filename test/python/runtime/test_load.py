# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of compiled programs, opened by the runtime alone: it links their machine code itself."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
import tvm_ffi
from relax_mlir import artefact, op
from relax_mlir.op import const

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64",
    reason=f"the runtime links code for x86_64 only, not {platform.machine()}",
)

X = np.linspace(-2, 2, 24, dtype="float32").reshape(4, 6)
W = np.linspace(-1, 1, 18, dtype="float32").reshape(6, 3)


def module(write: Callable[..., object], dtype: str = "float32") -> relax.IRModule:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 6), dtype))
    with bb.function("main", [x]):
        bb.emit_func_output(write(x))
    return bb.get()


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def convolution(x: object) -> object:
    image = op.reshape(x, ("n", 1, 2, 3))
    return op.nn.conv2d(image, const(np.ones((1, 1, 2, 3), "float32")))


# Name, program, data type, expected.
CASES = [
    ("matmul", lambda x: op.nn.relu(op.matmul(x, const(W))), "float32", np.maximum(X @ W, 0)),
    ("softmax", lambda x: op.nn.softmax(x), "float32", softmax(X.astype("float64"))),
    ("sort", lambda x: op.sort(op.negative(x)), "float32", np.sort(-X)),
    ("conv2d", convolution, "float32", X.sum(axis=1).reshape(4, 1, 1, 1)),
    ("half", lambda x: op.multiply(op.exp(x), x), "float16", None),
    ("round trip", lambda x: op.astype(op.astype(x, "bfloat16"), "float32"), "float32", None),
    ("tan", lambda x: op.tan(x), "float64", np.tan(X.astype("float64"))),
    ("power", lambda x: op.power(x, const(3.0, "float64")), "float64", X.astype("float64") ** 3),
    (
        "floor_mod",
        lambda x: op.floor_mod(op.astype(x, "int64"), 3),
        "float64",
        None,
    ),
]


@pytest.mark.parametrize(
    ("write", "dtype", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_vm10_programs_run(
    tmp_path: Path, exec_mode: str, write: Callable[..., object], dtype: str, expected: object
) -> None:
    x = X.astype(dtype)
    ex = relax.compile(module(write, dtype), exec_mode=exec_mode)
    wanted = relax.VirtualMachine(ex)["main"](x).numpy()
    if expected is not None:
        np.testing.assert_allclose(wanted, expected, rtol=1e-4, atol=1e-6)
    ex.save(tmp_path / "model.rx")
    loaded = relax_runtime.load(tmp_path / "model.rx")
    assert type(loaded) is relax_runtime.Executable and loaded.exec_mode == exec_mode
    result = relax_runtime.VirtualMachine(loaded)["main"](x)
    np.testing.assert_array_equal(result.numpy(), wanted)


def test_vm10_bytes_and_libraries(tmp_path: Path, exec_mode: str) -> None:
    ex = relax.compile(module(lambda x: op.exp(x)), exec_mode=exec_mode)
    ex.export_library(tmp_path / "model.so")
    for source in (ex.to_bytes(), tmp_path / "model.so", str(tmp_path / "model.so")):
        loaded = relax_runtime.load(source)
        assert loaded.exec_mode == exec_mode
        result = relax_runtime.VirtualMachine(loaded)["main"](X)
        np.testing.assert_allclose(result.numpy(), np.exp(X), rtol=1e-6)


def test_vm10_no_compiler_is_imported(tmp_path: Path) -> None:
    relax.compile(module(lambda x: op.unique(x))).save(tmp_path / "model.rx")
    code = """if True:
        import sys
        import numpy as np, relax_runtime
        loaded = relax_runtime.load(sys.argv[1])
        result = relax_runtime.VirtualMachine(loaded)["main"](np.eye(2, 6, dtype="float32"))
        print(result.tolist(), sorted({"mlir", "relax_mlir"} & set(sys.modules)))"""
    command = [sys.executable, "-c", code, str(tmp_path / "model.rx")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "[0.0, 1.0] []\n", done.stderr


def test_vm10_code_lives_as_long_as_its_functions(tmp_path: Path) -> None:
    data = relax.compile(module(lambda x: op.nn.softmax(op.matmul(x, const(W))))).to_bytes()
    main = relax_runtime.VirtualMachine(relax_runtime.load(data))["main"]
    gc.collect()
    others = [relax_runtime.load(data) for _ in range(20)]
    del others
    np.testing.assert_allclose(main(X).numpy(), softmax(X @ W), rtol=1e-5)


def test_vm10_callbacks_that_raise_pass_through_the_code(tmp_path: Path) -> None:
    def refuse(_: object) -> None:
        raise KeyError("no")

    tvm_ffi.register_global_func("test.load.refuse", refuse, override=True)
    bb = relax.BlockBuilder()
    type_ = relax.TensorStructInfo(("n", 6), "float32")
    x = relax.Var("x", type_)
    with bb.function("main", [x]):
        bb.emit_func_output(op.call_pure_packed("test.load.refuse", x, sinfo_args=type_))
    main = relax_runtime.VirtualMachine(relax_runtime.load(relax.compile(bb).to_bytes()))["main"]
    for _ in range(3):
        with pytest.raises(KeyError, match="no"):
            main(X)


def test_vm10_kernels_on_threads() -> None:
    n = 300_000
    x = np.linspace(0, 1, 6 * n, dtype="float32").reshape(n, 6)
    data = relax.compile(module(lambda x: op.sum(op.exp(x), axis=1))).to_bytes()
    main = relax_runtime.VirtualMachine(relax_runtime.load(data))["main"]
    results: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: results.append(main(x).numpy())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    for result in results:
        np.testing.assert_allclose(result, np.exp(x).sum(axis=1), rtol=1e-5)


# ------------------------------------------------------------------------------------------------
# Files that cannot be loaded
# ------------------------------------------------------------------------------------------------


def changed(ex: relax.Executable, **changes: object) -> bytes:
    """Return the file of an executable with another description or object, and its metadata."""
    assert ex.code is not None
    code = artefact._code_map(ex.code.object_file())
    metadata = ex._metadata(ex.code.object_file())
    metadata |= changes.pop("metadata", {})  # type: ignore[operator]
    return bytes(artefact._to_bytes(ex.handle, code | changes, metadata))


@pytest.fixture(scope="module")
def executable() -> relax.Executable:
    return relax.compile(module(lambda x: op.exp(x)))


def test_error_no_features(executable: relax.Executable) -> None:
    # As files of earlier versions are.
    data = artefact._to_bytes(
        executable.handle,
        artefact._code_map(executable.code.object_file()),
        {"exec_mode": "compiled"},
    )
    with pytest.raises(ValueError, match=r"bytes: section 'metadata': .* relax_mlir\.load"):
        relax_runtime.load(bytes(data))
    np.testing.assert_allclose(
        relax.VirtualMachine(relax.load(bytes(data)))["main"](X).numpy(), np.exp(X), rtol=1e-6
    )


def test_error_features_that_the_processor_lacks(executable: relax.Executable) -> None:
    data = changed(executable, metadata={"features": "sse3,fma4,xop"})
    with pytest.raises(ValueError, match=r"section 'native': .* this processor lacks .*xop"):
        relax_runtime.load(data)


def test_error_another_processor(executable: relax.Executable) -> None:
    data = changed(executable, triple="aarch64-unknown-linux-gnu")
    with pytest.raises(ValueError, match="the code is for aarch64, but this processor is x86_64"):
        relax_runtime.load(data)


@pytest.mark.parametrize(
    ("object_file", "message"),
    [
        (b"nothing", "but the object file ends at 7"),
        (b"x" * 200, "expected an object file of ELF"),
        (b"!<arch>\nshort", "the archive ends in the head of a member"),
    ],
)
def test_error_objects(executable: relax.Executable, object_file: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=f"bytes: section 'object': .*{message}"):
        relax_runtime.load(changed(executable, object=object_file))


def test_error_symbols_that_are_not_there(executable: relax.Executable) -> None:
    other = relax.compile("module {}").code
    assert other is not None
    with pytest.raises(ValueError, match="section 'native': function 'main' has no machine code"):
        relax_runtime.load(changed(executable, object=other.object_file().data))


def test_error_truncated(executable: relax.Executable) -> None:
    data = executable.to_bytes()
    for size in (0, 10, 100, len(data) // 2, len(data) - 1):
        with pytest.raises(ValueError, match=r"bytes: |the file is empty"):
            relax_runtime.load(data[:size])
