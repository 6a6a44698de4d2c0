"""Helpers of tests of text assembly, which write programs and run them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import tvm_ffi
from relax_mlir.runtime import Executable, VirtualMachine

PLACE = 'site 0 = "x", "something", "a.py:1"'


def machine(text: str, constants: tuple[Any, ...] = ()) -> VirtualMachine:
    """A machine for text, which survives being written and read again."""
    ex = Executable.assemble(text, constants)
    written = ex.as_text()
    again = Executable.assemble(written, ex.externals())
    assert again.as_text() == written
    return VirtualMachine(again)


def run(text: str, *args: Any) -> Any:
    return machine(text)["main"](*args)


def vector(*values: float) -> tvm_ffi.Tensor:
    return tvm_ffi.from_dlpack(np.array(values, "float32"))


def numpy(tensor: Any) -> np.ndarray:
    return np.from_dlpack(tensor)


KernelEntry = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.POINTER(ctypes.c_int64)),
    ctypes.POINTER(ctypes.c_int64),
)


@KernelEntry
def scale(data, dims, scalars):
    """data[1] = data[0] * scalars[0], on float32."""
    size = dims[0][0]
    source = np.ctypeslib.as_array(ctypes.cast(data[0], ctypes.POINTER(ctypes.c_float)), (size,))
    target = np.ctypeslib.as_array(ctypes.cast(data[1], ctypes.POINTER(ctypes.c_float)), (size,))
    target[:] = source * scalars[0]
    return 0


def bind_scale(vm: VirtualMachine) -> VirtualMachine:
    address = ctypes.cast(scale, ctypes.c_void_p).value
    assert vm.executable.bind({"scale": address}) == 1
    return vm
