# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of CUDA Tile IR on a device: images for architectures, and launches of them."""

from __future__ import annotations

import ctypes
import functools
import threading
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..cuda_driver import Device, DriverError, driver_version

#: The first version of CUDA whose drivers launch such kernels: those of r580.
FIRST_VERSION = 13000

# Blocks of tile kernels have as many threads for the driver; the kernel itself says how many run.
_THREADS = 1

_INT32_MAX = 2**31 - 1


class CudaTileError(RuntimeError):
    """A kernel of CUDA Tile IR cannot be launched."""


class Place:
    """A device whose driver launches such kernels.

    Parameters
    ----------
    index : int

    Attributes
    ----------
    index : int
    device : Device
    capability : int
        Such as 90 for 9.0.

    Raises
    ------
    CudaTileError
        If the driver is too old.
    DriverError
        If there is no driver, or no such device.
    """

    def __init__(self, index: int) -> None:
        self.index, self.device = index, Device(index)
        version = driver_version()
        if version < FIRST_VERSION:
            raise CudaTileError(
                "expected a driver of CUDA 13.0 (r580) or newer for kernels of CUDA Tile IR, but "
                f"got one of CUDA {version // 1000}.{version % 1000 // 10}"
            )
        self.capability = self.device.capability()


@functools.cache
def place_of(index: int) -> Place:
    """Return a device by its number."""
    return Place(index)


def is_available() -> bool:
    """Say whether there is a GPU, and a driver that launches such kernels."""
    try:
        place_of(0)
    except (CudaTileError, DriverError):
        return False
    return True


class Images:
    """Machine code of kernels, which is loaded where it is first needed.

    Parameters
    ----------
    packed : mapping of str to numpy.ndarray
        By name, as `pack` makes it.
    """

    def __init__(self, packed: Mapping[str, np.ndarray]) -> None:
        self._packed = packed
        self._modules: dict[tuple[int, str], int] = {}
        self._lock = threading.Lock()

    def kernel(self, place: Place, names: Mapping[str, str], entry: str) -> int:
        """Return a kernel on a device, whose context is current.

        Parameters
        ----------
        place : Place
        names : mapping of str to str
            The names of images by the architectures that they are for.
        entry : str

        Raises
        ------
        CudaTileError
            If there is no image for the device.
        DriverError
            If the driver does not take it.
        """
        arch = best_of(names, place.capability)
        if arch is None:
            wanted = f"sm_{place.capability}"
            raise CudaTileError(
                f"expected a kernel for {wanted}, but the program has those for "
                f"{', '.join(names)}: compile it with the option arch={wanted!r} of codegen "
                "'cuda_tile'"
            )
        key = (place.index, names[arch])
        with self._lock:
            if key not in self._modules:
                image = unpack(self._packed[names[arch]])
                self._modules[key] = place.device.load(image)
            return place.device.kernel(self._modules[key], entry)


def pack(image: bytes) -> np.ndarray:
    """Return an image as numbers that take less memory.

    Examples
    --------
    >>> unpack(pack(b"code")), len(pack(bytes(1000))) < 100
    (b'code', True)
    """
    return np.frombuffer(zlib.compress(image), np.uint8)


def unpack(packed: np.ndarray) -> bytes:
    """Return the image that `pack` has packed."""
    return zlib.decompress(packed.tobytes())


def best_of(names: Mapping[str, str], capability: int) -> str | None:
    """Return the best architecture for a device; None where none is.

    Machine code runs on devices of the same first number, and a second one that is not smaller.

    Examples
    --------
    >>> images = {"sm_80": "a", "sm_86": "b", "sm_90": "c"}
    >>> best_of(images, 89), best_of(images, 80), best_of(images, 100)
    ('sm_86', 'sm_80', None)
    """
    numbers = {int(arch.removeprefix("sm_")): arch for arch in names}
    fitting = [n for n in numbers if n // 10 == capability // 10 and n <= capability]
    return numbers[max(fitting)] if fitting else None


class Arguments:
    """The arguments of a kernel, in order, as values of ctypes.

    Attributes
    ----------
    cells : list of (str, ctypes.c_uint64)
        The names of operands, and where their addresses are.
    """

    def __init__(self) -> None:
        self._values: list[Any] = []
        self.cells: list[tuple[str, Any]] = []

    def add_array(self, name: str, shape: Sequence[int], strides: Sequence[int]) -> None:
        """Add the address of an array, its shape, and its strides in elements.

        Raises
        ------
        CudaTileError
            If a number does not fit into 32 bits.
        """
        self.cells.append((name, ctypes.c_uint64()))
        self._values.append(self.cells[-1][1])
        for number in (*shape, *strides):
            self.add_int(number)

    def add_int(self, number: int) -> None:
        """Add a number of 32 bits; see `add_array`."""
        if number > _INT32_MAX:
            raise CudaTileError(f"expected sizes below 2^31, but got {number}")
        self._values.append(ctypes.c_int32(number))

    def add_float(self, number: float) -> None:
        """Add a number of 32 bits."""
        self._values.append(ctypes.c_float(number))

    def pointers(self) -> Any:
        """Return where each argument is; they stay as long as this object."""
        return (ctypes.c_void_p * len(self._values))(*map(ctypes.addressof, self._values))


class Launch:
    """A launch of a kernel on a device, and where its operands are.

    Parameters
    ----------
    place : Place
    kernel : int
    grid : int
        How many blocks there are.
    arguments : Arguments
    places : mapping of str to int
        The numbers of the arguments of the call that operands are.
    fixed : mapping of str to int
        The addresses of operands that no argument changes.

    Raises
    ------
    CudaTileError
        If there are more blocks than a launch can have.
    """

    def __init__(
        self,
        place: Place,
        kernel: int,
        grid: int,
        arguments: Arguments,
        places: Mapping[str, int],
        fixed: Mapping[str, int],
    ) -> None:
        if grid > _INT32_MAX:
            raise CudaTileError(f"expected at most {_INT32_MAX} tiles, but got {grid}")
        self._device, self._kernel, self._grid = place.device, kernel, grid
        self._arguments, self._pointers = arguments, arguments.pointers()
        for name, cell in arguments.cells:
            cell.value = fixed.get(name, 0)
        self._moving = [(cell, places[name]) for name, cell in arguments.cells if name not in fixed]

    def __call__(self, addresses: Sequence[int], stream: int) -> None:
        """Begin to compute, from the addresses of the arguments, on a stream."""
        for cell, index in self._moving:
            cell.value = addresses[index]
        with self._device:
            self._device.launch(self._kernel, self._grid, _THREADS, self._pointers, stream)
