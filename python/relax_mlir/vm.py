# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a compiled module."""

from __future__ import annotations

from collections.abc import Iterator

import tvm_ffi

from . import runtime
from .compiler import Executable

_make_function = tvm_ffi.get_global_func("relax_mlir.runtime.make_function")


class VirtualMachine:
    """The functions of a compiled module, by name.

    A function takes NumPy arrays, PyTorch tensors and anything else with DLPack without a copy,
    ints, floats, bools, strings, tuples, and shapes as ``tvm_ffi.Shape``. It returns tensors as
    ``tvm_ffi.Tensor``, which ``numpy.from_dlpack`` and ``torch.from_dlpack`` view. Arguments are
    checked against the types of the function: a TypeError or ValueError names the argument, what
    was expected, and what it is.

    Parameters
    ----------
    executable : Executable

    Examples
    --------
    >>> import numpy as np
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, compile, op
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n",), "float32"))
    >>> with bb.function("double", [x]):
    ...     _ = bb.emit_func_output(op.add(x, x))
    >>> vm = VirtualMachine(compile(bb))
    >>> np.from_dlpack(vm["double"](np.array([1, 2, 3], "float32")))
    array([2., 4., 6.], dtype=float32)
    """

    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self._machine = (
            runtime.VirtualMachine(executable.program)
            if executable.exec_mode == "bytecode"
            else None
        )
        self._functions: dict[str, tvm_ffi.Function] = {}

    def __getitem__(self, name: str) -> tvm_ffi.Function:
        """Return a function; it keeps the code and the constants alive."""
        if name not in self._functions:
            self._functions[name] = self._look_up(name)
        return self._functions[name]

    def __contains__(self, name: str) -> bool:
        return name in self.executable.function_names

    def __iter__(self) -> Iterator[str]:
        return iter(self.executable.function_names)

    def _look_up(self, name: str) -> tvm_ffi.Function:
        if name not in self:
            known = ", ".join(self) or "none"
            raise KeyError(f"expected the name of a public function ({known}), but got {name!r}")
        if self._machine is not None:
            return self._machine[name]
        code = self.executable.code
        assert code is not None
        address = code.look_up(f"__tvm_ffi_{name}")
        return _make_function(address, self.executable.struct_infos[name], code)


def set_recursion_limit(limit: int) -> int:
    """Set how deep compiled functions may call themselves, in all threads.

    Parameters
    ----------
    limit : int
        At least 1. A call beyond it raises RecursionError.

    Returns
    -------
    int
        The limit until now.
    """
    return tvm_ffi.get_global_func("relax_mlir.runtime.set_recursion_limit")(limit)
