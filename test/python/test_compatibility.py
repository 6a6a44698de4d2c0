# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of earlier versions load and compute the same; docs/Deployment.md promises it."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.cli.models import read

DATA = Path(__file__).parents[1] / "data" / "compatibility"
FOLDERS = sorted(path for path in DATA.iterdir() if path.is_dir() and path.name != "__pycache__")
MACHINE = platform.machine()


def check(executable: relax.Executable) -> None:
    x = np.linspace(-1, 1, 20, dtype="float32").reshape(5, 4)
    scores = x.astype("float64") @ np.arange(12).reshape(4, 3)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    y, flat = relax.VirtualMachine(executable)["main"](x)
    np.testing.assert_allclose(y.numpy(), powers / powers.sum(axis=1, keepdims=True), rtol=1e-4)
    np.testing.assert_array_equal(flat.numpy(), x.ravel())


def test_there_are_files() -> None:
    assert [folder.name for folder in FOLDERS] == ["format-1"]


@pytest.mark.skipif(MACHINE != "x86_64", reason=f"the files hold code for x86_64, not {MACHINE}")
@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_files_load(folder: Path, mode: str) -> None:
    executable = relax.load(folder / f"{mode}.rx")
    assert executable.exec_mode == mode
    check(executable)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_bytecode_of_mlir_is_read(folder: Path, exec_mode: str) -> None:
    module = read(folder / "program.mlirbc").module
    assert module is not None
    check(relax.compile(module))
    again = relax.IRModule(str(module))
    relax.assert_structural_equal(again, module)


def test_error_of_another_format(tmp_path: Path) -> None:
    data = bytearray((FOLDERS[-1] / "bytecode.rx").read_bytes())
    data[8] = 99  # the version
    with pytest.raises(ValueError, match="expected version 1 of the format, but got 99"):
        relax.load(bytes(data))
