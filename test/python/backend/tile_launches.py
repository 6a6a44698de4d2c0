# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of tile kernels on a driver for tests, which run on the host in NumPy."""

from __future__ import annotations

import ctypes
import functools
import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import numpy as np
import tile_ir
import tile_numpy
from relax_mlir.backend.cuda_tile import compiler, kernels

#: The mark of an image.
MAGIC = b"\x7fELF"


def fake_image(kernel: compiler.Kernel, arch: str) -> bytes:
    """Return what has the place of machine code: which kernel it is."""
    return MAGIC + json.dumps([astuple(kernel), arch]).encode() + b"\0"


def dtype_of(name: str) -> np.dtype:
    if name == "float16":
        return np.dtype(np.float16)
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


class Launches:
    """Runs what is launched, and notes it.

    Parameters
    ----------
    driver : ctypes.CDLL
        That of ``fake_tile_driver.c``.

    Attributes
    ----------
    rows : list of (str, str, int)
        The entry, the architecture and the number of blocks of each launch.
    kernels : list of Kernel
    disassembler : str
        Which writes the Tile IR that is run; "": the functions of the kernels are run.
    error : Exception or None
        What has failed in a kernel.
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self.rows: list[tuple[str, str, int]] = []
        self.kernels: list[compiler.Kernel] = []
        self.disassembler = ""
        self.error: BaseException | None = None
        kind: Callable[..., Any] = ctypes.CFUNCTYPE(
            *(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint),
            ctypes.POINTER(ctypes.c_void_p),
        )
        self._callback = kind(self._launch)
        driver.fake_set_launch(self._callback)
        for name in ("cuMemcpyDtoH_v2", "cuMemcpyHtoD_v2"):
            first = ctypes.c_void_p if "DtoH" in name else ctypes.c_uint64
            second = ctypes.c_uint64 if "DtoH" in name else ctypes.c_void_p
            getattr(driver, name).argtypes = [first, second, ctypes.c_size_t]

    def _launch(self, name: bytes, image: bytes, grid: int, arguments: Any) -> int:
        try:
            row, arch = json.loads(image)
            self.rows.append((name.decode(), arch, grid))
            row[2] = tuple(row[2])
            self.kernels.append(compiler.Kernel(*row))
            self._run(self.kernels[-1], name.decode(), grid, arguments)
        except BaseException as error:
            self.error = error
            return 1
        return 0

    def _run(self, kernel: compiler.Kernel, entry: str, grid: int, arguments: Any) -> None:
        reader = _Reader(self._driver, kernel, entry, arguments)
        given = reader.read()
        function = getattr(kernels, kernel.name)
        code = text_of(kernel, self.disassembler)[entry] if self.disassembler else None
        with np.errstate(all="ignore"):
            for block in range(grid):
                if code is not None:
                    tile_ir.run(code, reader.flat, block)
                else:
                    tile_numpy.block = block
                    function(*given, *kernel.constants)
        reader.write()


@functools.cache
def text_of(kernel: compiler.Kernel, disassembler: str) -> dict[str, tile_ir.Op]:
    """Return the Tile IR of a kernel, by entries."""
    with tempfile.NamedTemporaryFile(suffix=".tileirbc") as file:
        file.write(compiler.bytecode(kernel))
        file.flush()
        command = [disassembler, file.name]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return tile_ir.parse(done.stdout)


class _Reader:
    """Reads the arguments of a kernel, as its signature says."""

    def __init__(self, driver: Any, kernel: compiler.Kernel, entry: str, arguments: Any) -> None:
        self._driver, self._kernel, self._arguments = driver, kernel, arguments
        self._is_aligned = entry != kernel.name
        self._next = 0
        #: All arguments in order.
        self.flat: list[Any] = []
        self._out: tuple[np.ndarray, int]

    def _value(self, kind: Any) -> Any:
        found = ctypes.cast(self._arguments[self._next], ctypes.POINTER(kind))[0]
        self._next += 1
        self.flat.append(found)
        return found

    def read(self) -> list[Any]:
        """Return arrays and numbers."""
        name = self._kernel.name
        names = kernels.PRODUCT if name == "product" else kernels.ATTENTION
        constants = dict(zip(names, self._kernel.constants, strict=True))
        given: list[Any] = []
        for index, rank in enumerate(compiler._ARRAYS[name]):
            flag = compiler._OPTIONAL[name].get(index)
            is_there = flag is None or constants[flag]
            is_bias = index == compiler._BIAS[name]
            given.append(self._array(rank, is_bias) if is_there else None)
        kinds = {"int32": ctypes.c_int32, "float32": ctypes.c_float}
        return given + [self._value(kinds[each]) for each in compiler._NUMBERS[name]]

    def _array(self, rank: int, is_bias: bool) -> tile_numpy.Array:
        address = self._value(ctypes.c_uint64)
        shape = [self._value(ctypes.c_int32) for _ in range(rank)]
        strides = [self._value(ctypes.c_int32) for _ in range(rank)]
        assert min(shape) > 0 and strides[-1] == 1
        if self._is_aligned and not is_bias:
            assert address % 16 == 0 and all(stride % 8 == 0 for stride in strides[:-1])
        pairs = zip(shape, strides, strict=True)
        count = 1 + sum((size - 1) * stride for size, stride in pairs)
        data = np.empty(count, dtype_of(self._kernel.dtype))
        assert self._driver.cuMemcpyDtoH_v2(data.ctypes.data, address, data.nbytes) == 0
        self._out = (data, address)  # the last one is the result
        self.flat[-1 - 2 * rank] = tile_ir.Pointer(address, data)
        return tile_numpy.Array(data, shape, strides)

    def write(self) -> None:
        """Copy the result to the device."""
        data, address = self._out
        assert self._driver.cuMemcpyHtoD_v2(address, data.ctypes.data, data.nbytes) == 0
