# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of tests on a processor that this one is not, which an emulator stands for.

A program is compiled for that processor and exported as a shared library. One process in the
emulator, runtime/test/remote, loads libraries and calls their functions; arguments and results
pass as bytes, see Wire.h there.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import os
import shlex
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi

# Tests whose programs run in an emulator, too, though not in both modes elsewhere.
ALSO_EMULATED = ("test_example_computes_what_the_reference_says",)

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"


@dataclass(frozen=True)
class Machine:
    """A machine, and what stands for it.

    Attributes
    ----------
    target : str
        What programs are compiled for.
    compiler : str
        The C compiler that links them.
    emulator : tuple of str
        The command that runs a program of it. Its processor has the instructions of the target and
        few others, so that code for a newer one ends there, too.
    number : int
        Its number in the header of ELF.
    runtime : pathlib.Path
        Where the runtime is built for it.
    libraries : pathlib.Path or None
        The libraries that programs are linked with, where those of this machine do not do.
    """

    target: str
    compiler: str
    emulator: tuple[str, ...]
    number: int
    runtime: Path
    libraries: Path | None = None


def _aarch64() -> Machine:
    runtime = BUILD / "aarch64" / "runtime"
    return Machine(
        "llvm -mtriple=aarch64-linux-gnu",
        "aarch64-linux-gnu-gcc",
        ("qemu-aarch64", "-cpu", "cortex-a72", "-L", "/usr/aarch64-linux-gnu"),
        183,
        runtime,
        runtime / "python_packages" / "relax_runtime" / "lib",
    )


def _x86_64(target: str, cpu: str) -> Machine:
    host = str(BUILD / "emulator" / "host.so")
    command = (sys.executable, str(ROOT / "test" / "emulator"), "--cpu", cpu, "--host", host)
    return Machine(f"llvm -mcpu={target}", "cc", command, 62, BUILD / "runtime")


MACHINES = {
    "aarch64": _aarch64(),
    "x86-64-v4": _x86_64("x86-64-v4", "skylake-x"),
    "sapphirerapids": _x86_64("sapphirerapids", "sapphire-rapids"),
}


class _Writer:
    """Bytes of values."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def put(self, layout: str, *values: Any) -> None:
        self.parts.append(struct.pack(f"<{layout}", *values))

    def text(self, text: str) -> None:
        data = text.encode()
        self.parts += [struct.pack("<Q", len(data)), data]

    def dims(self, dims: Sequence[int]) -> None:
        self.put(f"Q{len(dims)}q", len(dims), *dims)

    def value(self, value: Any) -> None:
        if value is None:
            self.put("c", b"N")
        elif isinstance(value, bool):
            self.put("cB", b"B", value)
        elif isinstance(value, int):
            self.put("cq", b"I", value)
        elif isinstance(value, float):
            self.put("cd", b"F", value)
        elif isinstance(value, str):
            self.put("c", b"S")
            self.text(value)
        else:
            self.compound(value)

    def compound(self, value: Any) -> None:
        if isinstance(value, tvm_ffi.Shape):
            self.put("c", b"H")
            self.dims(value)
        elif isinstance(value, (tuple, list, tvm_ffi.Array)):
            self.put("cQ", b"A", len(value))
            for field in value:
                self.value(field)
        elif isinstance(value, tvm_ffi.Tensor) and value.device.type == "cpu":
            self.put("c", b"T")
            self.tensor(value)
        else:
            pytest.skip(f"an argument that stays in its process: {type(value).__name__}")

    def tensor(self, value: tvm_ffi.Tensor) -> None:
        dtype = value.dtype
        self.put("BBH", dtype.type_code, dtype.bits, dtype.lanes)
        self.dims(value.shape)
        self.parts.append(_elements(value).tobytes())


class _Reader:
    """Values of bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def get(self, layout: str) -> Any:
        values = struct.unpack_from(f"<{layout}", self.data, self.at)
        self.at += struct.calcsize(f"<{layout}")
        return values[0] if len(values) == 1 else values

    def bytes(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]

    def text(self) -> str:
        return self.bytes(self.get("Q")).decode()

    def dims(self) -> list[int]:
        return [self.get("q") for _ in range(self.get("Q"))]

    def value(self) -> Any:
        kind = self.get("c").decode()
        if kind in "BIF":
            return self.get({"B": "?", "I": "q", "F": "d"}[kind])
        if kind == "N":
            return None
        if kind == "S":
            return self.text()
        if kind == "H":
            return tvm_ffi.Shape(self.dims())
        if kind == "A":
            return tuple(self.value() for _ in range(self.get("Q")))
        if kind == "T":
            return self.tensor()
        assert kind == "O", kind
        pytest.skip(f"a result that stays in its process: {self.text()}")

    def tensor(self) -> tvm_ffi.Tensor:
        dtype = tvm_ffi.dtype.from_dlpack_data_type(self.get("BBH"))
        dims = self.dims()
        made = _empty(dims, dtype)
        data = np.frombuffer(self.bytes(math.prod(dims) * dtype.itemsize), "uint8")
        elements = _elements(made)
        elements[...] = data.view(elements.dtype).reshape(dims)
        return made


def _empty(dims: Sequence[int], dtype: tvm_ffi.dtype) -> tvm_ffi.Tensor:
    if hasattr(np, dtype):
        return tvm_ffi.from_dlpack(np.empty(dims, dtype))
    import torch  # which takes seconds

    return tvm_ffi.from_dlpack(torch.empty(dims, dtype=getattr(torch, dtype)))


def _elements(tensor: tvm_ffi.Tensor) -> np.ndarray:
    """View the elements of a tensor; floats that NumPy lacks as integers of their size."""
    if hasattr(np, tensor.dtype):
        return np.from_dlpack(tensor)
    import torch

    view = torch.from_dlpack(tensor)
    return view.view(getattr(torch, f"int{8 * view.itemsize}")).numpy()


def _write_back(given: Any, changed: Any) -> None:
    """Give arguments the elements that a call has left in them."""
    if isinstance(given, tvm_ffi.Tensor):
        old, new = _elements(given), _elements(changed)
        if old.tobytes() != new.tobytes():
            old[...] = new
    elif isinstance(given, (tuple, list, tvm_ffi.Array)) and not isinstance(given, tvm_ffi.Shape):
        for old, new in zip(given, changed, strict=True):
            _write_back(old, new)


class Emulator:
    """A process that calls functions of exported libraries.

    Parameters
    ----------
    name : str
        One of MACHINES.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.machine = MACHINES[name]
        server = self.machine.runtime / "test" / "remote" / "relax_call_server"
        if not server.exists():
            pytest.exit(f"{server}: expected it to be built: ./dev test {name}", 2)
        self.command = [*self.machine.emulator, str(server)]
        self.process: subprocess.Popen[bytes] | None = None
        self.folder = tempfile.TemporaryDirectory(prefix="relax-emulated-")
        self.numbers = itertools.count()

    def export(self, executable: relax.Executable, **options: Any) -> Path:
        """Export an executable as a library, with options of `export_library`."""
        path = Path(self.folder.name, f"model{next(self.numbers)}.so")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CC", self.machine.compiler)
            executable.export_library(path, runtime=self.machine.libraries, **options)
        return path

    def call(self, path: Path, name: str, args: Sequence[Any]) -> Any:
        """Call a function of a library."""
        request = _Writer()
        request.text(str(path))
        request.text(name)
        request.value(tuple(args))
        answer = self.exchange(b"".join(request.parts))
        if answer.get("c") == b"E":
            _raise(answer.text(), answer.text())
        result = answer.value()
        _write_back(args, answer.value())
        return result

    def exchange(self, request: bytes) -> _Reader:
        process = self.start()
        assert process.stdin and process.stdout
        try:
            process.stdin.write(request)
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended; what it wrote says why
        size = process.stdout.read(8)
        if len(size) == 8:
            return _Reader(process.stdout.read(*struct.unpack("<Q", size)))
        status = process.wait()
        self.process = None
        pytest.fail(f"{shlex.join(self.command)} ended with {status} during a call")

    def start(self) -> subprocess.Popen[bytes]:
        """Return the process that is running, or a new one."""
        if self.process is None:
            env = dict(os.environ)
            if self.machine.libraries:
                env["QEMU_SET_ENV"] = f"LD_LIBRARY_PATH={self.machine.libraries}"
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
            )
        return self.process

    def close(self) -> None:
        """End the process, and remove the libraries."""
        if self.process is not None:
            assert self.process.stdin
            self.process.stdin.close()
            self.process.wait()
            self.process = None
        self.folder.cleanup()


def _raise(kind: str, message: str) -> NoReturn:
    raise getattr(builtins, kind, RuntimeError)(message)


class EmulatedExecutable(relax.Executable):
    """An executable whose functions run in an emulator.

    Parameters
    ----------
    executable : relax_mlir.Executable
        Compiled for the machine of the emulator.
    emulator : Emulator
    """

    def __init__(self, executable: relax.Executable, emulator: Emulator) -> None:
        super().__init__(executable.handle, executable.code, executable.exec_mode)
        self.reads_only = executable.reads_only
        self.emulator = emulator
        self.export = functools.cache(lambda: emulator.export(executable))

    def make_machine(self) -> Any:
        return None  # it is in the other process

    def look_up(self, name: str, machine: Any = None) -> Any:
        path = self.export()
        return tvm_ffi.convert(lambda *args: self.emulator.call(path, name, args))
