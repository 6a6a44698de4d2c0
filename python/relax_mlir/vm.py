# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a compiled module, in either mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tvm_ffi

from . import runtime
from .artefact import Executable
from .runtime.time_evaluator import time_evaluator
from .runtime.virtual_machine import Instrument

# That of the runtime, which has no way to ask for it.
_recursion_limit = 1000


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
        Compiled in either mode, or for the target "reference". Only bytecode can be observed.

    Raises
    ------
    ValueError
        If it was compiled for another machine, and this one lacks something.

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
        if executable.code is not None:
            executable.code.check_runs()
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
        return self.executable.look_up(name)

    def _bytecode(self, use: str) -> runtime.VirtualMachine:
        if self._machine is None:
            raise ValueError(
                f"expected bytecode to {use}, but the functions are machine code, in which no "
                'calls are seen: compile with exec_mode="bytecode"'
            )
        return self._machine

    def set_instrument(self, instrument: Instrument | None) -> None:
        """Let a function see every call that the machine makes from now on, in bytecode.

        Parameters
        ----------
        instrument : callable, optional
            See `relax_mlir.runtime.VirtualMachine.set_instrument`. None: no instrument.

        Raises
        ------
        ValueError
            If the functions are machine code.
        """
        self._bytecode("set an instrument").set_instrument(instrument)

    def profile(self, name: str, *args: Any, max_events: int = 100_000) -> runtime.ProfileReport:
        """Call a function in bytecode and measure each call that it makes.

        Parameters
        ----------
        name : str
            A public function.
        *args : object
            Its arguments.
        max_events : int
            How many calls the trace holds at most; the table counts all.

        Raises
        ------
        ValueError
            If the functions are machine code.

        Examples
        --------
        >>> from relax_mlir import compile
        >>> vm = VirtualMachine(compile('''
        ... relax.func @main(%n: !relax.prim<i64, n>) -> !relax.shape<[n, 2]> {
        ...   %0 = relax.shape <[n, 2]>
        ...   relax.return %0 : !relax.shape<[n, 2]>
        ... }''', exec_mode="bytecode"))
        >>> [(row.kind, row.name) for row in vm.profile("main", 3).rows if row.name == "shape_make"]
        [('builtin', 'shape_make')]
        """
        return self._bytecode("profile").profile(name, *args, max_events=max_events)

    def time_evaluator(
        self, name: str, number: int = 10, repeat: int = 1, min_repeat_ms: float = 0
    ) -> Callable[..., runtime.BenchmarkResult]:
        """Return a function that measures how long a function takes.

        Parameters
        ----------
        name : str
            A public function.
        number : int
            How many calls make up a repetition.
        repeat : int
            How many repetitions there are.
        min_repeat_ms : float
            The least milliseconds that a repetition takes: `number` grows until it does.

        Returns
        -------
        callable
            It takes the arguments of the function, calls it once without measuring, and returns a
            `relax_mlir.runtime.BenchmarkResult`.
        """
        return time_evaluator(self[name], number, repeat, min_repeat_ms)


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
    global _recursion_limit
    old = tvm_ffi.get_global_func("relax_mlir.runtime.set_recursion_limit")(limit)
    _recursion_limit = limit
    return int(old)


def recursion_limit() -> int:
    """Return the limit of recursion of functions, as `set_recursion_limit` set it.

    Examples
    --------
    >>> recursion_limit()
    1000
    """
    return _recursion_limit
