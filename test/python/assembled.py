# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX of programs as `ptxas`, NVIDIA's assembler, takes it; no GPU is needed.

It is that of `PATH`, or of the package `nvidia-cuda-nvcc`, where one is installed.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import relax_mlir as relax

#: The architectures that programs for `sm_80` run on, and that are tried.
ARCHS = ("sm_80", "sm_90", "sm_100")

_KERNEL = re.compile(
    r"Compiling entry function '(?P<name>\S+)'.*?(?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers",
    re.DOTALL,
)


@dataclass(frozen=True)
class Kernel:
    """A kernel as it was assembled: the registers of a thread, and the bytes that it spills."""

    name: str
    arch: str
    registers: int
    spills: int


@functools.cache
def find_ptxas() -> str | None:
    """Return the path of the assembler, or None."""
    if found := shutil.which("ptxas"):
        return found
    package = importlib.util.find_spec("nvidia")
    places = list(package.submodule_search_locations or ()) if package else []
    found_in = [path for place in places for path in Path(place).glob("*/bin/ptxas")]
    return str(found_in[0]) if found_in else None


def image_of(executable: relax.Executable) -> str | None:
    """Return the PTX of a program, or None where it has none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.rx"
        executable.save(path)
        found = re.search(rb"\.version \d[^\0]*", path.read_bytes())
    return found.group(0).decode() if found else None


def assemble(image: str, arch: str) -> list[Kernel]:
    """Assemble PTX; raise AssertionError with the words of the assembler where it refuses."""
    ptxas = find_ptxas()
    assert ptxas
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "image.ptx"
        path.write_text(image)
        command = [ptxas, "-v", f"-arch={arch}", str(path), "-o", str(path.with_suffix(".cubin"))]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kernels = [
        Kernel(m["name"], arch, int(m["registers"]), int(m["stores"]) + int(m["loads"]))
        for m in _KERNEL.finditer(done.stderr)
    ]
    assert len(kernels) == image.count(".entry ")
    return kernels


def find_spills(executable: relax.Executable) -> list[Kernel]:
    """Return the kernels of a program that keep values of a thread in memory."""
    image = image_of(executable)
    kernels = [kernel for arch in ARCHS for kernel in assemble(image, arch)] if image else []
    return [kernel for kernel in kernels if kernel.spills]
