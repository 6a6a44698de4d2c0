# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The driver of CUDA: contexts of devices, memory that functions keep, and kernels.

The runtime opens the same library, and uses the same contexts: the primary ones.
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

#: The environment variable that names the library, as the runtime reads it.
VARIABLE = "RELAX_CUDA_DRIVER"

_POINTER = ctypes.c_void_p
_OUT = ctypes.POINTER(ctypes.c_void_p)
_ADDRESS = ctypes.c_uint64
_SIZE = ctypes.c_size_t

_FUNCTIONS: dict[str, list[Any]] = {
    "cuInit": [ctypes.c_uint],
    "cuGetErrorName": [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)],
    "cuDeviceGet": [ctypes.POINTER(ctypes.c_int), ctypes.c_int],
    "cuDevicePrimaryCtxRetain": [_OUT, ctypes.c_int],
    "cuMemAlloc_v2": [ctypes.POINTER(_ADDRESS), _SIZE],
    "cuMemcpyHtoD_v2": [_ADDRESS, _POINTER, _SIZE],
    "cuMemsetD8Async": [_ADDRESS, ctypes.c_ubyte, _SIZE, _POINTER],
    "cuCtxSynchronize": [],
    "cuDriverGetVersion": [ctypes.POINTER(ctypes.c_int)],
    "cuDeviceGetAttribute": [ctypes.POINTER(ctypes.c_int), ctypes.c_int, ctypes.c_int],
    "cuModuleLoadDataEx": [_OUT, _POINTER, ctypes.c_uint, _POINTER, _POINTER],
    "cuModuleGetFunction": [_OUT, _POINTER, ctypes.c_char_p],
    "cuLaunchKernel": [_POINTER, *([ctypes.c_uint] * 7), _POINTER, _POINTER, _POINTER],
}

# CUdevice_attribute: the two numbers of a compute capability.
_CAPABILITY = (75, 76)
# CUjit_option
_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6
_LOG_BYTES = 8192


class DriverError(RuntimeError):
    """A call of the driver failed."""


class _Driver:
    """The functions of the driver, after it has been started."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        for name, types in _FUNCTIONS.items():
            getattr(self._library, name).argtypes = types
        # These two take less time than to let other threads run meanwhile.
        quick = ctypes.PyDLL(path)
        self.push, self.pop = quick["cuCtxPushCurrent_v2"], quick["cuCtxPopCurrent_v2"]
        self.call("cuInit", 0, what="start the driver")

    def call(self, name: str, *args: Any, what: str) -> None:
        """Call a function; raise DriverError with what it is for where it fails."""
        self.check(getattr(self._library, name)(*args), what)

    def check(self, result: int, what: str) -> None:
        """Raise DriverError where a result says that a call failed."""
        if result == 0:
            return
        text = ctypes.c_char_p()
        known = self._library.cuGetErrorName(result, ctypes.byref(text)) == 0 and text.value
        name = known.decode() if known else "an unknown error"
        raise DriverError(f"cannot {what}: {name} ({result})")


@functools.cache
def _driver() -> _Driver:
    path = os.environ.get(VARIABLE) or "libcuda.so.1"
    try:
        return _Driver(path)
    except (OSError, AttributeError) as error:
        raise DriverError(f"expected the CUDA driver, but it cannot be opened: {error}") from None


class Device:
    """A device, whose primary context is current in the body of a ``with`` statement.

    Parameters
    ----------
    index : int

    Attributes
    ----------
    name : str
        Such as "cuda:0".

    Raises
    ------
    DriverError
        If there is no such device.
    """

    def __init__(self, index: int) -> None:
        self.name = f"cuda:{index}"
        self._driver = _driver()
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuDeviceGet", ctypes.byref(device), index, what="find the device")
        self._index = device.value
        what = "make a context"
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device.value, what=what)
        self._context = context
        self._popped = ctypes.byref(ctypes.c_void_p())

    def _call(self, name: str, *args: Any, what: str) -> None:
        self._driver.call(name, *args, what=f"{what} of {self.name}")

    def __enter__(self) -> Device:
        result = self._driver.push(self._context)
        if result:
            self._driver.check(result, f"use the context of {self.name}")
        return self

    def __exit__(self, *_: object) -> None:
        self._driver.pop(self._popped)

    def allocate(self, size: int) -> int:
        """Return the address of new memory, which is kept as long as the process.

        Parameters
        ----------
        size : int
            In bytes.

        Raises
        ------
        DriverError
            If there is none left.
        """
        address = ctypes.c_uint64()
        what = f"allocate {size} bytes"
        self._call("cuMemAlloc_v2", ctypes.byref(address), max(size, 1), what=what)
        return address.value

    def zeros(self, size: int) -> int:
        """Return the address of new memory with zeros; see `allocate`."""
        address = self.allocate(size)
        self.clear(address, size, 0)
        self._call("cuCtxSynchronize", what="wait for memory")
        return address

    def copy(self, address: int, size: int) -> int:
        """Return the address of a copy of memory of the host; see `allocate`."""
        made = self.allocate(size)
        if size:
            self._call("cuMemcpyHtoD_v2", made, address, size, what="copy constants to memory")
            self._call("cuCtxSynchronize", what="wait for constants in memory")
        return made

    def clear(self, address: int, size: int, stream: int) -> None:
        """Begin to fill memory of the device with zeros, on a stream."""
        self._call("cuMemsetD8Async", address, 0, size, stream, what="clear memory")

    def capability(self) -> int:
        """Return the compute capability, such as 90 for 9.0."""
        numbers = [ctypes.c_int(), ctypes.c_int()]
        for number, which in zip(numbers, _CAPABILITY, strict=True):
            given = (ctypes.byref(number), which, self._index)
            self._call("cuDeviceGetAttribute", *given, what="ask for the compute capability")
        return 10 * numbers[0].value + numbers[1].value

    def load(self, image: bytes) -> int:
        """Return a module of kernels, which is kept as long as the process.

        Parameters
        ----------
        image : bytes
            What a compiler has made for the device.

        Raises
        ------
        DriverError
            If the driver does not take it, with what the driver says.
        """
        module = ctypes.c_void_p()
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        given = (ctypes.byref(module), image, len(options), options, values)
        try:
            self._call("cuModuleLoadDataEx", *given, what="load kernels into the context")
        except DriverError as error:
            words = log.value.decode(errors="replace").strip()
            raise DriverError(f"{error}: {words}" if words else str(error)) from None
        return module.value or 0

    def kernel(self, module: int, name: str) -> int:
        """Return a kernel of a module."""
        found = ctypes.c_void_p()
        given = (ctypes.byref(found), module, name.encode())
        self._call("cuModuleGetFunction", *given, what=f"find the kernel '{name}'")
        return found.value or 0

    def launch(self, kernel: int, grid: int, block: int, arguments: Any, stream: int) -> None:
        """Begin to run a kernel on a stream.

        Parameters
        ----------
        kernel, grid, block : int
            How many blocks there are, and how many threads a block has.
        arguments : array of ctypes.c_void_p
            Where each argument is.
        stream : int
            Its address; 0 is the default stream.
        """
        self._driver.call(
            "cuLaunchKernel",
            kernel,
            *(grid, 1, 1),
            *(block, 1, 1),
            *(0, stream, arguments, None),
            what=f"launch a kernel on {self.name}",
        )


def driver_version() -> int:
    """Return the newest version of CUDA that the driver knows, such as 13000 for 13.0.

    Raises
    ------
    DriverError
        If there is no driver.
    """
    version = ctypes.c_int()
    _driver().call("cuDriverGetVersion", ctypes.byref(version), what="ask for the driver's version")
    return version.value
