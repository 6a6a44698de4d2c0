# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The virtual machine."""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import tvm_ffi

from ._ffi import vm_function
from .calls import make_callable
from .devices import as_device, has_device
from .executable import TEXT_BYTES, Executable
from .near_misses import did_you_mean
from .profile_report import ProfileReport, make_report
from .stateful_calls import StatefulCalls
from .time_evaluator import BenchmarkResult, time_evaluator

_set_instrument = vm_function("set_instrument")
_profile = vm_function("profile")
_graphs = vm_function("graphs")


class VMInstrumentReturnKind(IntEnum):
    """The ways in which a machine continues after an instrument has seen a call."""

    NO_OP = 0  #: As if there were no instrument.
    SKIP_RUN = 1  #: Before a call: it is left out, and its result is None.


@dataclass(frozen=True)
class Replace:
    """The return value of an instrument that replaces the result of a call.

    Before a call, the call is left out.

    Parameters
    ----------
    value : object
        The result; an integer where the call has one in a heap slot.
    """

    value: Any


@dataclass(frozen=True)
class CudaGraphs:
    """The CUDA graphs of a function.

    Attributes
    ----------
    graphs : int
        How many there are, one for each set of sizes of arguments.
    replays : int
        How many calls replayed one.
    memory : int
        The bytes of the device that they hold.
    reason : str
        Why the last call that could not be replayed could not; empty where there was none.
    """

    graphs: int
    replays: int
    memory: int
    reason: str


DeviceLike = str | tvm_ffi.Device
Instrument = Callable[..., "VMInstrumentReturnKind | Replace | None"]


def _answer(kind: VMInstrumentReturnKind | Replace | None) -> Any:
    """Return the action of an instrument in the form that the runtime expects."""
    if isinstance(kind, Replace):
        return (kind.value,)
    if kind is None or isinstance(kind, VMInstrumentReturnKind):
        return int(kind or 0)
    raise TypeError(
        "expected the instrument to return None, a VMInstrumentReturnKind or a Replace, "
        f"but got {kind!r}"
    )


def _check_devices(device: DeviceLike | Sequence[DeviceLike] | None) -> None:
    """Raise ValueError if a device is not there, or none is the processor."""
    given: Any = device if isinstance(device, (list, tuple)) else [device]
    if not given:
        raise ValueError("expected the processor among the devices, 'cpu', but got none")
    devices = [as_device(each) for each in given if each is not None]
    for each in devices:
        if not isinstance(each, tvm_ffi.Device):
            raise TypeError(f"expected a device, such as 'cpu', but got {each!r}")
        if not has_device(each):
            raise ValueError(f"expected a device of this machine, but got '{each}'")
    if devices and all(each.type != "cpu" for each in devices):
        names = ", ".join(map(str, devices))
        raise ValueError(f"expected the processor among the devices, 'cpu', but got {names}")


def _check_memory(config: str | Mapping[Any, str] | None) -> None:
    """Raise ValueError if another allocator than pools is asked for, or there is no such device."""
    if isinstance(config, Mapping):
        _check_devices([*config, "cpu"])
    kinds = config.values() if isinstance(config, Mapping) else [config or "pooled"]
    for kind in kinds:
        if kind != "pooled":
            raise ValueError(
                f"expected the allocator 'pooled', which all devices have, not {kind!r}"
            )


class VirtualMachine(StatefulCalls):
    """The functions of an executable, by name.

    A function takes its arguments by position or by the names of its parameters: NumPy arrays,
    PyTorch tensors and anything else with DLPack without a copy, lists of numbers for tensors,
    ints, floats, bools, strings, tuples and lists of all these, and shapes as ``tvm_ffi.Shape``.
    Arrays that are read-only are not copied either if the program writes to no argument, and the
    module was compiled in this process. A function is one of Python, whose attribute `packed` is
    the ``tvm_ffi.Function``.

    It returns a tensor as a `Tensor`, which reads like a NumPy array; ``torch.from_dlpack`` views
    it as well. Where an argument is a tensor of PyTorch, results are tensors of PyTorch. Arguments
    are checked against the types of the function: a TypeError or ValueError names the argument,
    what was expected, and what it is.

    Several threads may call functions of one machine at once. A function keeps the machine, the
    code and the constants alive.

    Parameters
    ----------
    executable : Executable
        Bytecode, machine code, or for the target "reference". Only bytecode can be observed.
    device : str, tvm_ffi.Device or sequence of these, optional
        For programs of TVM: the devices that it may use, with the processor among them, which runs
        kernels. Where tensors are, the virtual devices of the program say.
    memory_cfg : "pooled" or mapping of device to "pooled", optional
        For programs of TVM: each device has a pool of memory.

    Raises
    ------
    ValueError
        If it was compiled for another machine, and this one lacks something; if a device is not
        there.

    Examples
    --------
    >>> import numpy as np
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, compile, op
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n",), "float32"))
    >>> with bb.function("double", [x]):
    ...     _ = bb.emit_func_output(op.add(x, x))
    >>> vm = VirtualMachine(compile(bb))
    >>> vm["double"](np.array([1, 2, 3], "float32")).numpy()
    array([2., 4., 6.], dtype=float32)
    >>> vm["double"](x=[1, 2, 3])  # numbers of the data type of the parameter
    Tensor([2., 4., 6.], dtype=float32)
    >>> vm = VirtualMachine(Executable.assemble('''
    ... function main(n) registers 2 heap 1 {
    ...   site 0 = "argument 'n'", "!relax.prim<i64>", ""
    ...   $0 = call builtin prim_int(site 0, %0)
    ...   $0 = call builtin mul($0, 2)
    ...   %1 = call builtin prim_set_int($0)
    ...   ret %1
    ... }'''))
    >>> vm["main"](21)
    42
    """

    def __init__(
        self,
        executable: Executable,
        device: DeviceLike | Sequence[DeviceLike] | None = None,
        memory_cfg: str | Mapping[Any, str] | None = None,
    ) -> None:
        _check_devices(device)
        _check_memory(memory_cfg)
        self.executable = executable
        self.handle = executable.make_machine()
        self._functions: dict[str, Callable[..., Any]] = {}
        self._inputs: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        self._outputs: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a public function."""
        if name not in self._functions:
            if name not in self:
                known = ", ".join(self) or "none"
                hint = did_you_mean(str(name), self)
                raise KeyError(
                    f"expected the name of a public function ({known}), but got {name!r}{hint}"
                )
            function = self.executable.look_up(name, self.handle)
            self._functions[name] = self._with_arguments_of(name, function)
        return self._functions[name]

    def _with_arguments_of(self, name: str, function: Any) -> Callable[..., Any]:
        """Return what calls a function with arguments as a public function takes them.

        Functions of `save_function` have their arguments already.
        """
        if name not in self:
            return function
        return make_callable(
            name,
            function,
            self.executable.parameters(name),
            self.executable.struct_infos[name],
            self.executable.reads_only,
        )

    def __getattr__(self, name: str) -> Any:
        hint = f'; write vm["{name}"]' if not name.startswith("_") and name in self else ""
        raise AttributeError(f"'VirtualMachine' object has no attribute '{name}'{hint}")

    def __reduce__(self) -> Any:
        raise TypeError(
            "expected an Executable to copy or to store, but got a VirtualMachine: take its "
            "executable, and make another machine of it"
        )

    def __contains__(self, name: str) -> bool:
        return name in self.executable.function_names

    def __iter__(self) -> Iterator[str]:
        return iter(self.executable.function_names)

    def __repr__(self) -> str:
        names = reprlib.repr(list(self))
        return f"<VirtualMachine ({self.executable.exec_mode}): {names}>"

    def _check_observable(self, use: str, remedy: str) -> None:
        if self.executable.exec_mode == "reference":
            raise ValueError(
                f"expected a program to {use}, but its functions are evaluated by the target "
                f'"reference": compile with {remedy}'
            )
        if self.executable.exec_mode != "bytecode":
            raise ValueError(
                f"expected a program to {use}, but its functions are machine code, in which no "
                f"calls are seen: compile with {remedy}"
            )

    def as_text(self, max_bytes: int = TEXT_BYTES) -> str:
        """Return the program as text assembly; see `Executable.as_text`."""
        return self.executable.as_text(max_bytes)

    def stats(self) -> str:
        """Return in words what is in the program; see `Executable.stats`."""
        return self.executable.stats()

    def set_instrument(self, instrument: Instrument | None) -> None:
        """Let a function see every call that the machine makes from now on.

        Parameters
        ----------
        instrument : callable, optional
            ``instrument(function, name, before_run, result, *args)`` is called before and after
            each call. `function` is what is called where that is a value, else None; `name` is that
            of the function, kernel, packed function or builtin; `result` is None before the call;
            `args` are the operands without sites. It returns None, a `VMInstrumentReturnKind` or a
            `Replace`. What it raises ends the run. None: no instrument.

        Raises
        ------
        ValueError
            If the functions are not bytecode.

        Notes
        -----
        A call that takes the frame of its caller has no end of its own: there is no second call of
        the instrument for it. A tensor among the arguments that the caller of the machine passed
        as a borrowed view is only valid during the call.

        Examples
        --------
        >>> vm = VirtualMachine(Executable.assemble('''
        ... function main(n) registers 1 {
        ...   %0 = call builtin shape_make([2, 3])
        ...   ret %0
        ... }'''))
        >>> seen = []
        >>> vm.set_instrument(lambda function, name, before, result, *args: seen.append(name))
        >>> _ = vm["main"](1)
        >>> seen
        ['shape_make', 'shape_make']
        >>> vm.set_instrument(lambda function, name, before, result, *args: Replace(7))
        >>> vm["main"](1)
        7
        """
        self._check_observable("observe", 'exec_mode="bytecode"')
        if instrument is None:
            _set_instrument(self.handle, None)
            return
        call = instrument

        def see(*args: Any) -> Any:
            return _answer(call(*args))

        _set_instrument(self.handle, tvm_ffi.convert(see))

    def profile(
        self, name: str, /, *args: Any, max_events: int = 100_000, **named: Any
    ) -> ProfileReport:
        """Call a function and measure each call that it makes in this thread.

        An instrument that is set sees nothing meanwhile.

        Parameters
        ----------
        name : str
            A public function.
        *args, **named : object
            Its arguments, as a call takes them.
        max_events : int
            How many calls the trace holds at most; the table counts all.

        Raises
        ------
        ValueError
            If the functions are machine code that was compiled without ``profile=True``, or that is
            in a library with a runtime of its own.

        Examples
        --------
        >>> vm = VirtualMachine(Executable.assemble('''
        ... function main(n) registers 1 {
        ...   %0 = call builtin shape_make([2, 3])
        ...   ret %0
        ... }'''))
        >>> report = vm.profile("main", 1)
        >>> [(row.kind, row.name, row.shapes, row.calls) for row in report.rows]
        [('builtin', 'shape_make', '[2, 3]', 1)]
        """
        if not self.executable.is_profiled:
            self._check_observable("profile", "profile=True")
        if max_events < 0:
            raise ValueError(f"expected max_events of at least 0, but got {max_events}")
        self[name]  # which knows the names
        measure = functools.partial(_profile, self.handle, name, max_events)
        raw = self._with_arguments_of(name, measure)(*args, **named)
        return make_report(name, raw, self.executable.instructions)

    def cuda_graphs(self, name: str) -> CudaGraphs:
        """Return what CUDA graphs do for a function of a program with ``cuda_graph=True``.

        Parameters
        ----------
        name : str
            A public function.

        Examples
        --------
        >>> vm = VirtualMachine(Executable.assemble("function main(x) { ret %0 }"))
        >>> vm.cuda_graphs("main")
        CudaGraphs(graphs=0, replays=0, memory=0, reason='')
        """
        self[name]  # which knows the names
        return CudaGraphs(*_graphs(self.handle, name))

    def time_evaluator(
        self,
        name: str,
        device: DeviceLike | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
    ) -> Callable[..., BenchmarkResult]:
        """Return a function that measures how long a function takes.

        Parameters
        ----------
        name : str
            A public function.
        device : str or tvm_ffi.Device, optional
            For programs of TVM: "cpu", where functions run.
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
            `BenchmarkResult`.

        Examples
        --------
        >>> vm = VirtualMachine(Executable.assemble("function main(x) { ret %0 }"))
        >>> result = vm.time_evaluator("main", number=5, repeat=3)(1)
        >>> len(result.results), result.min <= result.median <= result.max
        (3, True)
        """
        _check_devices(device)
        function: Any = self[name]
        measure = time_evaluator(function.packed, number, repeat, min_repeat_ms)
        return self._with_arguments_of(name, measure)
