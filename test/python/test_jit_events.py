# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What debuggers and profilers learn of code that is compiled in memory."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import relax_mlir as relax
from relax_mlir import op

for name in ("first", "second"):
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 64), "float32"))
    with bb.function(name, [x]):
        bb.emit_func_output(op.exp(x))  # line 10
    vm = relax.VirtualMachine(relax.compile(bb, debug_info=True))
    vm[name](np.ones((2, 64), "float32"))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def run(*command: object, **env: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(each) for each in command],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **{key: str(value) for key, value in env.items()}},
    )


def records(data: bytes) -> list[tuple[int, bytes]]:
    """Return the kind and the content of the records of a jitdump file."""
    magic, _, size = struct.unpack_from("<III", data)
    assert magic == 0x4A695444
    found = []
    while size < len(data):
        kind, length = struct.unpack_from("<II", data, size)
        found.append((kind, data[size + 16 : size + length]))
        size += length
    return found


def test_perf_reads_the_functions_of_all_modules(program: Path, tmp_path: Path) -> None:
    done = run(sys.executable, program, RELAX_MLIR_JIT_EVENTS="perf", JITDUMPDIR=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (dump,) = tmp_path.glob("**/jit-*.dump")
    load = 0  # JIT_CODE_LOAD: five numbers, then the name
    names = {
        content[40:].split(b"\0")[0].decode()
        for kind, content in records(dump.read_bytes())
        if kind == load
    }
    assert {"relax_function_first", "relax_function_second", "relax.kernel.exp"} <= names


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
def test_gdb_stops_in_a_kernel_and_knows_its_line(program: Path) -> None:
    commands = ("set breakpoint pending on", "break relax.kernel.exp", "run", "info line *$pc")
    given = [word for command in commands for word in ("-ex", command)]
    done = run("gdb", "-q", "-nx", "-batch", *given, "--args", sys.executable, program,
               RELAX_MLIR_JIT_EVENTS="gdb")  # fmt: skip
    assert f'Line 10 of "{program}"' in done.stdout, done.stdout[-2000:]


def test_error_of_unknown_events(program: Path) -> None:
    done = run(sys.executable, program, RELAX_MLIR_JIT_EVENTS="gdb,vtune")
    expected = "ValueError: RELAX_MLIR_JIT_EVENTS: expected gdb, perf or both, but got 'vtune'"
    assert done.stderr.splitlines()[-1] == expected


def test_nothing_is_written_without_the_variable(program: Path, tmp_path: Path) -> None:
    assert run(sys.executable, program, JITDUMPDIR=tmp_path).returncode == 0
    assert not list(tmp_path.glob("**/jit-*.dump"))
