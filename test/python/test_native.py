# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Object files: emitted, described, linked into the process."""

import shutil
import subprocess
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
    assert {line.split()[-1] for line in table.splitlines()} == set(emitted.symbols)


def test_unknown_targets_are_errors() -> None:
    module, _ = lower(PROGRAM)
    with pytest.raises(ir.MLIRError, match=r"expected a processor of .*, but got 'nonsense'"):
        native.emit_object(module, native.NativeTarget(cpu="nonsense"))
    with pytest.raises(ir.MLIRError, match="vax"):
        native.emit_object(module, native.NativeTarget(triple="vax-dec-vms", cpu=""))


def test_modules_that_are_not_lowered_are_errors() -> None:
    with pytest.raises(ir.MLIRError):
        native.emit_object(relax.as_module(PROGRAM).clone().module)


@pytest.mark.parametrize("size", [0, 3, 64, 1000])
def test_truncated_objects_are_errors(size: int) -> None:
    module, _ = lower(PROGRAM)
    with pytest.raises(ValueError, match=r"object file|section header"):
        native.load_object(native.emit_object(module).data[:size])
