# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Object files: emitted, described, linked into the process."""

import contextlib
import ctypes
import mmap
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from mlir import ir
from mlir.passmanager import PassManager
from relax_mlir import native

PROGRAM = """
relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}
"""


def lower(program: str) -> tuple[ir.Module, dict[str, str]]:
    """Take a program through all phases; return it with the StructInfo of its functions."""
    module = relax.as_module(program).clone().module
    with module.context:
        PassManager.parse("builtin.module(relax-to-llvm)").run(module.operation)
    return module, relax.compile(program).struct_infos


@pytest.mark.parametrize("opt_level", [0, 3])
def test_rf17_code_from_an_object_runs(opt_level: int) -> None:
    module, infos = lower(PROGRAM)
    emitted = native.emit_object(module, opt_level=opt_level)
    assert "relax_function_main" in emitted.symbols
    assert not any(symbol.startswith("__tvm_ffi_") for symbol in emitted.symbols)
    linked = native.load_object(emitted.data)
    assert linked.look_up("relax_function_other") == 0
    make = tvm_ffi.get_global_func("relax_mlir.runtime.make_function")
    main = make(linked.look_up("relax_function_main"), infos["main"], linked)
    del linked
    x = np.arange(8, dtype="float32").reshape(2, 4)
    np.testing.assert_allclose(np.from_dlpack(main(x)), np.exp(x), rtol=1e-6)
    with pytest.raises(TypeError, match="argument 'x'"):
        main(3)


def test_the_target_is_recorded() -> None:
    module, _ = lower(PROGRAM)
    host = native.emit_object(module)
    assert host.target.triple and host.target.cpu not in ("", "host")
    assert native.emit_object(module, host.target).data == host.data
    if host.target.triple.startswith("x86_64"):
        old = native.emit_object(module, native.NativeTarget(cpu="x86-64"))
        assert old.target.cpu == "x86-64" and old.data != host.data


def test_objects_hide_what_they_do_not_export(tmp_path: Path) -> None:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm")
    module, _ = lower(PROGRAM)
    emitted = native.emit_object(module)
    path = tmp_path / "model.o"
    path.write_bytes(emitted.data)
    table = subprocess.check_output([nm, "-g", "--defined-only", path], text=True)
    lines = [line.split() for line in table.splitlines()]
    names = {line[-1] for line in lines if len(line) == 3}  # others name a part
    # Parts refer to the kernels of others.
    assert names == {
        *emitted.symbols,
        *(name for name in names if name.startswith("relax.kernel.")),
    }


def test_unknown_targets_are_errors() -> None:
    module, _ = lower(PROGRAM)
    with pytest.raises(ir.MLIRError, match=r"expected a processor of .*, but got 'nonsense'"):
        native.emit_object(module, native.NativeTarget(cpu="nonsense"))
    with pytest.raises(ir.MLIRError, match="vax"):
        native.emit_object(module, native.NativeTarget(triple="vax-dec-vms", cpu=""))


def test_modules_that_are_not_lowered_are_errors() -> None:
    with pytest.raises(ir.MLIRError):
        native.emit_object(relax.as_module(PROGRAM).clone().module)


def test_a_kernel_makes_the_same_part_in_any_module() -> None:
    """So it is compiled once."""

    def parts(function: str) -> list[bytes]:
        module, _ = lower(f"""
relax.func @{function}(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {{
  %0 = relax.cos %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}}""")
        data = native.emit_object(module).data
        return data.split(b"`\n")[2:]  # each after its head, those of symbols and names first

    first, second = parts("first"), parts("second")
    assert len(first) == len(second) > 1
    assert 0 < len(set(first) & set(second)) < len(first)


@pytest.mark.parametrize("size", [0, 3, 64, 1000])
def test_truncated_objects_are_errors(size: int) -> None:
    module, _ = lower(PROGRAM)
    with pytest.raises(ValueError, match=r"object file|section header|archive"):
        native.load_object(native.emit_object(module).data[:size])


def large(count: int = 12) -> str:
    """Return a program of many kernels, for several parts."""
    lines = []
    for i in range(count):
        size = f"{8 + i}"
        lines.append(f"""
relax.func @f{i}(%x: !relax.tensor<[n, {size}], f32>, %y: !relax.tensor<[{size}, {size}], f32>)
    -> !relax.tensor<[n, {size}], f32> {{
  %0 = relax.matmul %x, %y : (!relax.tensor<[n, {size}], f32>, !relax.tensor<[{size}, {size}], f32>)
    -> !relax.tensor<[n, {size}], f32>
  %1 = relax.softmax %0 : (!relax.tensor<[n, {size}], f32>) -> !relax.tensor<[n, {size}], f32>
  relax.return %1 : !relax.tensor<[n, {size}], f32>
}}""")
    return "".join(lines)


def test_large_modules_are_archives_of_parts(tmp_path: Path) -> None:
    module, _ = lower(large())
    names = [str(op.attributes["sym_name"]) for op in module.body]
    told: list[tuple[int, int]] = []
    emitted = native.emit_object(module, progress=lambda done, total: told.append((done, total)))
    assert [str(op.attributes["sym_name"]) for op in module.body] == names
    assert emitted.is_archive
    assert emitted.data.count(b".o/") > 2
    assert {f"relax_function_f{i}" for i in range(12)} <= set(emitted.symbols)
    assert len(set(emitted.symbols)) == len(emitted.symbols)
    assert told[0] == (0, told[-1][0])
    assert told == sorted(told)
    # The number of threads changes nothing.
    module.context.enable_multithreading(False)
    try:
        assert native.emit_object(module).data == emitted.data
    finally:
        module.context.enable_multithreading(True)

    ex = relax.compile(large())
    for i, name in enumerate(ex.function_names):
        x, y = np.ones((3, 8 + i), "float32"), np.eye(8 + i, dtype="float32")
        result = np.from_dlpack(relax.VirtualMachine(ex)[name](x, y))
        np.testing.assert_allclose(result, np.full_like(x, 1 / (8 + i)), rtol=1e-6)
    ex.export_library(tmp_path / "model.so", self_contained=True)
    f3 = tvm_ffi.load_module(str(tmp_path / "model.so"))["f3"]
    x, y = np.ones((2, 11), "float32"), np.eye(11, dtype="float32")
    np.testing.assert_allclose(np.from_dlpack(f3(x, y)), np.full_like(x, 1 / 11), rtol=1e-6)


@contextlib.contextmanager
def one_gap() -> Iterator[None]:
    """Leave one gap of 20 KiB, none larger, above 3 GiB of address space that is taken."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    taken: dict[int, int] = {}

    def take(size: int) -> int:
        no_reserve = 0x4000  # before Python 3.11 without a name
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve
        address = libc.mmap(None, size, 0, flags, -1, 0)
        assert address != ctypes.c_void_p(-1).value
        taken[address] = size
        return address

    far, small = take(3 << 30), 20 << 10
    gap = None
    for size in [*(small << shift for shift in range(16, -1, -2)), 16 << 10]:
        while (address := take(size)) > far:
            gap = address if size == small else gap
    assert gap is not None
    libc.munmap(gap, taken.pop(gap))
    yield
    for address, size in taken.items():
        libc.munmap(address, size)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux takes the highest gap there is")
def test_parts_of_a_module_are_near_each_other() -> None:
    """They refer to each other by 32 bits."""
    constants = "".join(
        f"""relax.func @c{i}() -> !relax.tensor<[2], f32> {{
          %0 = relax.constant dense<[{i}.0, 1.0]> : tensor<2xf32>
          relax.return %0 : !relax.tensor<[2], f32>
        }}"""
        for i in range(12)
    )
    module, _ = lower(large() + constants)
    emitted = native.emit_object(module)
    assert emitted.is_archive
    names = [name for name in emitted.symbols if name.startswith("relax_function")]
    with one_gap():
        loaded = native.load_object(emitted.data)
        assert all(map(loaded.look_up, names))


def test_truncated_archives_are_errors() -> None:
    module, _ = lower(large())
    data = native.emit_object(module).data
    for size in (20, 100, 5000):
        with pytest.raises(ValueError, match=r"truncated|archive|object file|section header"):
            native.load_object(data[:size]).look_up("relax_function_f0")


def test_loops_over_numbers_become_vectors(tmp_path: Path) -> None:
    kernel = """
func.func private @f(%x: memref<1024xf32>, %y: memref<1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1024 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    %r = arith.mulf %a, %a : f32
    memref.store %r, %y[%i] : memref<1024xf32>
  }
  return
}
relax.func @main(%x: !relax.tensor<[1024], f32>) -> !relax.tensor<[1024], f32> {
  %0 = relax.call_tir @f(%x) : (!relax.tensor<[1024], f32>) -> !relax.tensor<[1024], f32>
  relax.return %0 : !relax.tensor<[1024], f32>
}
"""
    objdump = shutil.which("objdump")
    if objdump is None or not native.describe_target().target.triple.startswith("x86_64"):
        pytest.skip("no objdump for x86-64")
    x = np.arange(1024, dtype="float32")
    for opt_level in (0, 3):
        ex = relax.compile(kernel, opt_level=opt_level, emit_kernels=False)
        assert np.array_equal(np.from_dlpack(relax.VirtualMachine(ex)["main"](x)), x * x)
        assert ex.code is not None
        code = ex.code.object_file()
        path = tmp_path / ("model.a" if code.is_archive else "model.o")
        path.write_bytes(code.data)
        text = subprocess.check_output([objdump, "-d", path], text=True)
        assert ("mulps" in text) == (opt_level == 3)


def test_what_llvm_refuses_is_an_error() -> None:
    text = """llvm.func @f() attributes {passthrough = ["alwaysinline", "noinline"]} {
      llvm.return
    }"""
    with ir.Context():
        module = ir.Module.parse(text)
        with pytest.raises(ir.MLIRError, match=r"internal error: LLVM refuses .* incompatible"):
            native.emit_object(module)
