# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine code of kernels: Tile IR by the package ``cuda-tile``, then ``tileiras``."""

from __future__ import annotations

import functools
import importlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relax_runtime.cuda_tile.functions import ALIGNMENT

from . import kernels

#: The environment variable that names the program ``tileiras``.
VARIABLE = "RELAX_TILEIRAS"
#: What installs both packages.
PIP = 'pip install "relax-mlir[cuda-tile]"'

# Where packages of PyPI have the program, and where a toolkit is.
_PACKAGED = Path("nvidia", "cu13", "bin", "tileiras")
_TOOLKIT = Path("/usr/local/cuda/bin/tileiras")

# The first version of the bytecode that is the same for all architectures.
_BYTECODE = "13.3"

# The parameters of kernels: the ranks of arrays, then the types of numbers.
_ARRAYS = {"product": (3, 3, 1, 3, 3), "attention": (4, 4, 4, 4, 4)}
_NUMBERS = {"product": ("int32",), "attention": ("float32", "int32")}
_CONSTANTS = {"product": kernels.PRODUCT, "attention": kernels.ATTENTION}
# Arrays that may be missing, with the constants that say so.
_OPTIONAL = {"product": {2: "has_bias", 3: "has_sum"}, "attention": {3: "has_bias"}}
# Arrays that need not be aligned.
_BIAS = {"product": 2, "attention": 3}

_ITEM_BYTES = 2


@dataclass(frozen=True)
class Kernel:
    """A kernel that is to be compiled.

    Attributes
    ----------
    name : str
        Of a function of `kernels`: "product" or "attention".
    dtype : str
        Of the elements of all arrays: "float16" or "bfloat16".
    constants : tuple of int
        The values of the constants of the function.
    is_aligned : bool
        Whether there is also an entry for arrays whose addresses and rows are aligned.
    """

    name: str
    dtype: str
    constants: tuple[int | bool, ...]
    is_aligned: bool = True

    def entries(self) -> tuple[str | None, str]:
        """Return the names of the entries for aligned arrays, or None, and for any."""
        return (f"{self.name}_aligned" if self.is_aligned else None), self.name


# ---------------------------------------------------------------------------------------------
# Tile IR
# ---------------------------------------------------------------------------------------------


def require_package() -> None:
    """Open the package ``cuda-tile``.

    Raises
    ------
    RuntimeError
        If it is missing.
    """
    try:
        kernels.ct = importlib.import_module("cuda.tile")
    except ImportError as error:
        raise RuntimeError(
            "expected the package cuda-tile, which makes Tile IR of kernels, but it cannot be "
            f"imported: {error}. Install it: {PIP}"
        ) from None


@functools.cache
def bytecode(kernel: Kernel) -> bytes:
    """Return a kernel in the bytecode of Tile IR, which is the same for all architectures.

    Raises
    ------
    RuntimeError
        If the package ``cuda-tile`` is missing.
    """
    require_package()
    compilation = kernels.ct.compilation
    names = [name for name in kernel.entries() if name is not None]
    signatures = [_signature(kernel, name, name != kernel.name) for name in names]
    function = kernels.ct.kernel(getattr(kernels, kernel.name))
    file = io.BytesIO()
    compilation.export_kernel(
        function,
        signatures,
        file,
        output_format="tileir_bytecode",
        bytecode_version=_BYTECODE,
    )
    return file.getvalue()


def _signature(kernel: Kernel, symbol: str, is_aligned: bool) -> Any:
    """Return what is known of the arguments of an entry."""
    compilation = kernels.ct.compilation
    constants = dict(zip(_CONSTANTS[kernel.name], kernel.constants, strict=True))
    parameters: list[Any] = []
    for index, rank in enumerate(_ARRAYS[kernel.name]):
        flag = _OPTIONAL[kernel.name].get(index)
        if flag is not None and not constants[flag]:
            parameters.append(compilation.ConstantConstraint(False))
        else:
            wide = is_aligned and index != _BIAS[kernel.name]
            parameters.append(_array(kernel.dtype, rank, wide))
    for number in _NUMBERS[kernel.name]:
        parameters.append(compilation.ScalarConstraint(getattr(kernels.ct, number)))
    parameters += [compilation.ConstantConstraint(value) for value in kernel.constants]
    # The address of each array, its shape, and its strides in elements, as 32 bits.
    convention = compilation.CallingConvention.cutile_python_v1()
    return compilation.KernelSignature(parameters, convention, symbol=symbol)


def _array(dtype: str, rank: int, is_aligned: bool) -> Any:
    """Return what is known of an array."""
    compilation = kernels.ct.compilation
    bytes_ = ALIGNMENT if is_aligned else _ITEM_BYTES
    return compilation.ArrayConstraint(
        getattr(kernels.ct, dtype),
        rank,
        index_dtype=kernels.ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=[],
        may_alias_internally=False,
        stride_constant=[*[None] * (rank - 1), 1],
        stride_divisible_by=[*[bytes_ // _ITEM_BYTES] * (rank - 1), 1],
        base_addr_divisible_by=bytes_,
    )


# ---------------------------------------------------------------------------------------------
# Machine code
# ---------------------------------------------------------------------------------------------


def _candidates() -> Iterator[Path]:
    if given := os.environ.get(VARIABLE):
        yield Path(given)
        return
    yield from (Path(entry, _PACKAGED) for entry in sys.path)
    if found := shutil.which("tileiras"):
        yield Path(found)
    yield _TOOLKIT


def tileiras() -> str:
    """Return the path of the program that compiles Tile IR.

    Raises
    ------
    RuntimeError
        If there is none.
    """
    for path in _candidates():
        if path.is_file() and os.access(path, os.X_OK):
            return str(path.resolve())
    tried = os.environ.get(VARIABLE)
    where = f"{VARIABLE}={tried}" if tried else "packages, PATH and /usr/local/cuda/bin"
    raise RuntimeError(
        f"expected the program tileiras, which compiles Tile IR, but there is none in {where}: "
        f"{PIP}, or set the environment variable {VARIABLE} to its file"
    )


def is_available() -> bool:
    """Say whether kernels can be compiled: ``cuda-tile`` and ``tileiras`` are installed."""
    try:
        require_package()
        tileiras()
    except RuntimeError:
        return False
    return True


@functools.cache
def image(kernel: Kernel, arch: str) -> bytes:
    """Return the machine code of a kernel.

    Parameters
    ----------
    kernel : Kernel
    arch : str
        Such as "sm_90".

    Raises
    ------
    RuntimeError
        If the package or the program is missing, or the program fails.
    """
    code = bytecode(kernel)
    program = tileiras()
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "kernel.tileirbc"), Path(folder, "kernel.cubin")
        source.write_bytes(code)
        command = [program, "--gpu-name", arch, "-O3", str(source), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode or not made.is_file():
            words = done.stderr.strip() or f"exit code {done.returncode}"
            raise RuntimeError(f"{program}: cannot compile '{kernel.name}' for {arch}: {words}")
        return made.read_bytes()


def images(wanted: Iterable[Kernel], archs: Iterable[str]) -> dict[tuple[Kernel, str], bytes]:
    """Return machine code of kernels for architectures, each compiled once; see `image`."""
    rows = [(kernel, arch) for kernel in dict.fromkeys(wanted) for arch in archs]
    if not rows:
        return {}
    for kernel, _ in rows:
        bytecode(kernel)  # which one thread makes at a time
    with ThreadPoolExecutor(max_workers=min(len(rows), os.cpu_count() or 1)) as pool:
        made = list(pool.map(lambda row: image(*row), rows))
    return dict(zip(rows, made, strict=True))
