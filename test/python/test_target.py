# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules compiled for a processor that is named."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir import native
from relax_mlir.target import Target

PROGRAM = """
relax.func @main(%x: !relax.tensor<[n, 64], f32>, %w: !relax.tensor<[64, 96], f32>)
    -> !relax.tensor<[n, 96], f32> {
  %0 = relax.matmul %x, %w
    : (!relax.tensor<[n, 64], f32>, !relax.tensor<[64, 96], f32>) -> !relax.tensor<[n, 96], f32>
  %1 = relax.softmax %0 : (!relax.tensor<[n, 96], f32>) -> !relax.tensor<[n, 96], f32>
  relax.return %1 : !relax.tensor<[n, 96], f32>
}
"""

on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="processors of x86-64")


def arguments() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.random((7, 64), "float32"), random.random((64, 96), "float32")


def expected(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    exact = np.exp(x.astype("float64") @ w)
    return exact / exact.sum(-1, keepdims=True)


def check(main: Any) -> None:
    x, w = arguments()
    np.testing.assert_allclose(np.from_dlpack(main(x, w)), expected(x, w), rtol=1e-4)


def registers(path: Path) -> set[str]:
    """Return the kinds of vector registers that code uses."""
    objdump = shutil.which("objdump")
    if objdump is None:
        pytest.skip("no objdump")
    text = subprocess.check_output([objdump, "-d", "--no-show-raw-insn", path], text=True)
    return {name[:3] for name in re.findall(r"%([xyz]mm)\d+", text)}


@pytest.mark.parametrize(
    ("given", "machine"),
    [
        ("llvm", native.NativeTarget()),
        ({"kind": "llvm"}, native.NativeTarget()),
        ("llvm -mcpu=znver3", native.NativeTarget(cpu="znver3")),
        ("llvm -mattr=+fma,-avx512f", native.NativeTarget(features="+fma,-avx512f")),
        (
            {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mattr": ["+dotprod"]},
            native.NativeTarget("aarch64-linux-gnu", "generic", "+dotprod"),
        ),
        (native.NativeTarget(cpu="x86-64"), native.NativeTarget(cpu="x86-64")),
        (Target(native.NativeTarget(cpu="x86-64")), native.NativeTarget(cpu="x86-64")),
    ],
)
def test_targets_are_parsed(given: Any, machine: native.NativeTarget) -> None:
    assert Target.parse(given).machine == machine


def test_what_kernels_know_of_a_target() -> None:
    assert Target.parse("llvm").l1_bytes == 0  # as found on this machine
    other = Target.parse("llvm -mcpu=x86-64 -l2-bytes=1048576")
    assert other.l1_bytes == 32768
    assert other.l2_bytes == 1048576
    assert Target.parse("llvm -vector-width=256").vector_bits == 256


@pytest.mark.parametrize("given", [None, 3, ["llvm"]])
def test_targets_that_are_no_text(given):
    with pytest.raises(TypeError, match="expected a target, as a text such as"):
        Target.parse(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("vulkan", "expected a target of the kind llvm, cuda or opencl, but got 'vulkan'"),
        ("", "expected a target of the kind llvm, cuda or opencl, but got ''"),
        ({"mcpu": "znver3"}, "expected a target of the kind llvm, cuda or opencl"),
        ("llvm mcpu=znver3", "expected an option like -mcpu=..., but got 'mcpu=znver3'"),
        ("llvm -mcpu", "expected an option like -mcpu=..., but got '-mcpu'"),
        ("llvm -cpu=znver3", "expected options of a target, any of mcpu, .*, but got cpu"),
        ("llvm -mattr=avx2", r"expected features of mattr like \+avx2 or -avx2, but got 'avx2'"),
        ("llvm -vector-width=wide", "expected vector-width to be a number, but got 'wide'"),
        ("llvm -vector-width=192", "expected vector-width to be in .*, but got 192"),
        ("llvm -l1-bytes=-1", "expected l1-bytes to be a number, but got '-1'"),
    ],
)
def test_wrong_targets_are_errors(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        relax.compile(PROGRAM, given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("llvm -mcpu=nonsense", "^expected a processor of .*, but got 'nonsense'$"),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=znver33", "got 'znver33'; did you mean 'znver3'"),
        ("llvm -mattr=+nosuch", r"expected a feature of .*, but got '\+nosuch'"),
        ("llvm -mattr=-fna", "but got '-fna'; did you mean 'fma'"),
        (
            {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mattr": ["+avx2"]},
            r"expected a feature of aarch64-unknown-linux-gnu, but got '\+avx2'",
        ),
        ("llvm -mtriple=vax-dec-vms", "vax"),
        ("llvm -mtriple=armv7-linux-gnueabihf", "expected a processor of 64 bits, little-endian"),
        ("llvm -mtriple=x86_64-pc-windows-msvc", "object files are ELF or Mach-O, but got x86_64"),
    ],
)
def test_targets_that_llvm_does_not_know_are_errors(given: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        relax.compile(PROGRAM, given)


@on_x86
@pytest.mark.parametrize(
    ("target", "bits", "used"),
    [
        ("llvm -mcpu=x86-64", 128, {"xmm"}),
        ("llvm -mcpu=x86-64-v3", 256, {"xmm", "ymm"}),
        ("llvm -mattr=-avx512f", 256, {"xmm", "ymm"}),
        ("llvm -mcpu=skylake-avx512", 512, {"xmm", "ymm", "zmm"}),
    ],
)
def test_code_uses_the_vectors_of_its_target(
    target: str, bits: int, used: set[str], tmp_path: Path
) -> None:
    assert native.describe_target(Target.parse(target).machine).vector_bits == bits
    executable = relax.compile(PROGRAM, target)
    code = executable.code.object_file()
    path = tmp_path / ("model.a" if code.is_archive else "model.o")
    path.write_bytes(code.data)
    assert registers(path) <= used
    assert max(used) in registers(path)


@on_x86
def test_code_for_an_older_processor_runs(tmp_path: Path, exec_mode: str) -> None:
    executable = relax.compile(PROGRAM, "llvm -mcpu=x86-64")
    check(relax.VirtualMachine(executable)["main"])
    executable.save(tmp_path / "model.rx")
    check(relax.VirtualMachine(relax.load(tmp_path / "model.rx"))["main"])
    executable.export_library(tmp_path / "model.so")
    check(tvm_ffi.load_module(str(tmp_path / "model.so"))["main"])


def test_narrower_vectors_of_this_processor_run(exec_mode: str) -> None:
    check(relax.VirtualMachine(relax.compile(PROGRAM, "llvm -vector-width=128"))["main"])


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_code_for_another_machine_is_saved_and_refused(mode: str, tmp_path: Path) -> None:
    foreign = "x86_64" if platform.machine() == "aarch64" else "aarch64"
    executable = relax.compile(
        PROGRAM, {"kind": "llvm", "mtriple": f"{foreign}-linux-gnu"}, exec_mode=mode
    )
    message = rf"the code is for {foreign}\S* generic, and this processor lacks {foreign}"
    with pytest.raises(ValueError, match=message):
        relax.VirtualMachine(executable)
    executable.save(tmp_path / "model.rx")
    with pytest.raises(ValueError, match=f"model.rx: section 'native': {message}"):
        relax.load(tmp_path / "model.rx")


@on_x86
def test_what_this_processor_lacks_is_named() -> None:
    missing = native.describe_target(native.NativeTarget(features="+amx-fp8")).missing
    assert missing in ((), ("amx-fp8",), ("amx-fp8", "amx-tile"))
    everything = native.describe_target(native.NativeTarget(cpu="diamondrapids")).missing
    assert set(missing) <= set(everything)


def test_kernels_choose_blocks_by_the_caches_of_the_target() -> None:
    small, same, large = (
        relax.compile(PROGRAM, f"llvm -l1-bytes=16384 -l2-bytes={size}").code.object_file().data
        for size in (1 << 16, 1 << 16, 1 << 22)
    )
    assert small == same != large


def test_the_cache_tells_targets_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(tmp_path))
    for target in ("llvm", "llvm -vector-width=128", "llvm -l1-bytes=16384", "llvm"):
        check(relax.VirtualMachine(relax.compile(PROGRAM, target))["main"])
    assert len(list(tmp_path.glob("*.rx"))) == 3


@on_x86
@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_library_for_another_processor_says_what_is_missing(mode: str, tmp_path: Path) -> None:
    features = "+fma4,+xop"
    if not native.describe_target(native.NativeTarget(features=features)).missing:
        pytest.skip("this processor has instructions that hardly any other one has")
    ex = relax.compile(PROGRAM, f"llvm -mattr={features}", exec_mode=mode)
    path = tmp_path / "model.so"
    ex.export_library(path)
    message = rf"{re.escape(str(path))}: section 'library': .* what this one lacks: .*fma4, xop"
    main = tvm_ffi.load_module(str(path))["main"]
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            main(*map(tvm_ffi.from_dlpack, arguments()))
    with pytest.raises(ValueError, match=message):
        relax.load(path)
