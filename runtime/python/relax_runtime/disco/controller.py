# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the controller of a session does: it lets workers execute instructions, and waits."""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm_ffi

from ..bounds import between
from ..devices import as_device
from ..executable import Executable
from . import communicator
from .errors import Failure, error_of
from .executor import Plain, Register, TensorData
from .references import DModule, DPackedFunc, DRef
from .workers import Progress, Reply, Worker, stop

if TYPE_CHECKING:
    from typing_extensions import Self

# Beyond all instructions.
_ALL = 2**62


class Controller:
    """The controller of workers: the part of `Session` that is no collective operator."""

    def __init__(
        self, workers: Sequence[Worker], num_groups: int, shared: Any, progress: Progress
    ) -> None:
        self._workers = list(workers)
        self._num_groups = num_groups
        self._shared = shared
        self._progress = progress
        self._process = os.getpid()
        # All workers get instructions in one order, whichever thread issues them.
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._last = 0
        self._registers = itertools.count(1)
        self._released: list[int] = []
        self._methods: dict[str, Register] = {}
        for worker in self._workers:
            worker.start()
        self._finalizer = weakref.finalize(
            self, stop, self._workers, self._process, _interrupter(shared)
        )

    # -- instructions ----------------------------------------------------------------------------

    def _check_open(self) -> None:
        if not self._finalizer.alive:
            raise RuntimeError("expected a session with workers, but this one is shut down")
        if os.getpid() != self._process:
            raise RuntimeError(
                "expected the process that made the session, but this one was forked"
            )
        if threading.current_thread() in self._workers:
            raise RuntimeError("expected a thread of the controller, but this one is a worker")

    def _issue(self, action: str, *args: Any) -> int:
        """Let all workers execute an instruction; return the register of its result."""
        self._check_open()
        with self._lock:
            self._release()
            register = next(self._registers)
            self._last = next(self._numbers)
            for worker in self._workers:
                worker.put((self._last, action, register, args, None))
        return register

    def _ask(self, worker: int, action: str, *args: Any) -> Any:
        """Let one worker do something alone; return the result."""
        self._check_open()
        between("worker_id", worker, 0, self.num_workers - 1)
        self._wait()
        reply = Reply()
        self._workers[worker].put((0, action, None, args, reply))
        result = reply.wait()
        if isinstance(result, Failure):
            raise error_of({worker: result})
        return result

    def _release(self) -> None:
        """Let the workers drop what no reference is left to."""
        released = [self._released.pop() for _ in range(len(self._released))]
        if released:
            for worker in self._workers:
                worker.put((0, "kill", None, (released,), None))

    def _wait(self, workers: Sequence[int] | None = None) -> None:
        """Wait for workers, all by default; raise what workers have raised."""
        last, progress = self._last, self._progress
        watched = range(self.num_workers) if workers is None else workers

        def is_done() -> bool:
            # What one worker raised is told with what the others did.
            return all(progress.ended[i] >= last for i in watched) and all(
                ended >= number for number in progress.failures for ended in progress.ended
            )

        try:
            with progress.changed:
                progress.changed.wait_for(is_done)
                failed = progress.take_failures()
        except KeyboardInterrupt:
            progress.forgive(last)
            communicator.interrupt(self._shared, last)
            raise
        if failed is not None:
            raise error_of(failed)

    # -- functions -------------------------------------------------------------------------------

    @property
    def num_workers(self) -> int:
        """The number of workers."""
        return len(self._workers)

    def get_global_func(self, name: str) -> DPackedFunc:
        """Return a packed function that is registered on all workers.

        Parameters
        ----------
        name : str
            As ``tvm_ffi.register_global_func`` was given it. The collective operators on tensors
            have the names of TVM, such as "runtime.disco.allreduce".

        Raises
        ------
        ValueError
            If a worker has none of this name; see `import_python_module`.
        """
        function = DPackedFunc(self, self._issue("function", name))
        self._wait()
        return function

    def call_packed(self, func: DRef, *args: Any) -> DRef:
        """Let all workers call a function, with the same arguments.

        Parameters
        ----------
        func : DRef
            A function.
        *args
            Numbers, strings, None, shapes, data types, devices, tuples of these, and references:
            each worker passes its value.

        Returns
        -------
        DRef
            The results.

        Raises
        ------
        TypeError
            If an argument is of another kind. Arrays are brought to workers by `broadcast`,
            `scatter` or `copy_to_worker_0`.
        ValueError
            If a reference belongs to another session.
        """
        given = [self._argument(arg) for arg in (func, *args)]
        return DRef(self, self._issue("call", *given))

    def _argument(self, value: Any) -> Any:
        if isinstance(value, DRef):
            if value.session is not self:
                raise ValueError("expected a reference of this session, but got one of another")
            return Register(value._register)
        if isinstance(value, tvm_ffi.Shape):
            return Plain("Shape", tuple(value))
        if isinstance(value, tuple):
            return tuple(map(self._argument, value))
        if isinstance(value, tvm_ffi.Device):
            return Plain("device", str(value))
        if isinstance(value, (tvm_ffi.dtype, np.dtype)):
            return Plain("dtype", str(value))
        if value is None or isinstance(value, (bool, int, float, str, bytes)):
            return value
        raise TypeError(
            "expected a number, a string, None, a shape, a data type, a device or a reference, but "
            f"got {type(value).__name__}: bring arrays to workers by broadcast, scatter or "
            "copy_to_worker_0"
        )

    def _method(self, name: str) -> Register:
        """Return a function that all workers have, which is looked up once."""
        if name not in self._methods:
            self._methods[name] = Register(self._issue("function", name))
        return self._methods[name]

    def _call(self, name: str, *args: Any) -> DRef:
        given = [self._argument(arg) for arg in args]
        return DRef(self, self._issue("call", self._method(f"runtime.disco.{name}"), *given))

    def init_ccl(self, ccl: str, *device_ids: int) -> None:
        """Raise ValueError: workers compute on processors, and need no library of a device.

        Parameters
        ----------
        ccl : str
            A library that TVM would use, such as "nccl".
        *device_ids : int
        """
        raise ValueError(
            f"expected no library for collective operators, but got {ccl!r}: workers compute on "
            "processors; leave out init_ccl"
        )

    def import_python_module(self, module_name: str) -> None:
        """Import a module on each worker, such as one that registers packed functions.

        Raises
        ------
        ImportError
            If a worker does not find it.
        """
        self._call("_import_python_module", module_name)
        self._wait()

    def load_vm_module(
        self, path: str | os.PathLike[str] | Executable, device: str | tvm_ffi.Device | None = None
    ) -> DModule:
        """Load a compiled program on each worker.

        Parameters
        ----------
        path : path or Executable
            A file that ``save`` or ``export_library`` of an executable made, or the executable.
        device : str or tvm_ffi.Device, optional
            The processor.

        Returns
        -------
        DModule
            The public functions by name.

        Raises
        ------
        OSError, ValueError
            If the file cannot be read, as by `relax_runtime.load`.
        TypeError
            If the executable cannot be brought to another process: save it, and give the path.
        """
        source = self._program(path if isinstance(path, Executable) else Path(path).absolute())
        place = None if device is None else Plain("device", str(as_device(device)))
        load = self._method("runtime.disco.load_vm_module")
        module = DModule(self, self._issue("call", load, source, place))
        self._wait()
        return module

    def _program(self, source: Path | Executable) -> Any:
        """Return a program as workers take it."""
        return str(source) if isinstance(source, Path) else source

    def _function_of(self, module: DModule, name: str) -> DPackedFunc:
        get = self._method("ffi.ModuleGetFunction")
        found = DPackedFunc(self, self._issue("call", get, self._argument(module), name))
        self._wait()
        return found

    # -- values ----------------------------------------------------------------------------------

    def _fetch(self, reference: DRef, worker: int) -> Any:
        return _restored(self._ask(worker, "get", self._argument(reference)))

    def _store(self, reference: DRef, worker: int, value: Any) -> None:
        self._ask(worker, "set", self._argument(reference), TensorData.of(value))

    def empty(
        self,
        shape: Sequence[int],
        dtype: str,
        device: str | tvm_ffi.Device | None = None,
        worker0_only: bool = False,
        in_group: bool = True,
    ) -> DRef:
        """Return a tensor on each worker, whose elements are not initialized.

        Parameters
        ----------
        shape : sequence of int
        dtype : str
        device : str or tvm_ffi.Device, optional
            The processor.
        worker0_only : bool
            Whether only the first worker gets one; the value of the others is None.
        in_group : bool
            With `worker0_only`, whether the first worker of each group gets one.
        """
        dims = tvm_ffi.Shape(tuple(shape))
        place = None if device is None else as_device(device)
        return self._call("empty", dims, str(dtype), place, bool(worker0_only), bool(in_group))

    def copy_from_worker_0(self, host_array: Any, remote_array: DRef) -> None:
        """Copy the tensor of the first worker into an array.

        Parameters
        ----------
        host_array : numpy.ndarray or tvm_ffi.Tensor
            Of as many elements, of the same data type.
        remote_array : DRef

        Raises
        ------
        ValueError
            If it does not fit.
        """
        value = self._ask(0, "get", self._argument(remote_array))
        if not isinstance(value, TensorData):
            raise TypeError(f"expected a tensor on worker 0, but got {type(value).__name__}")
        value.copy_to(host_array)

    def copy_to_worker_0(self, host_array: Any, remote_array: DRef | None = None) -> DRef:
        """Copy an array to the first worker.

        Parameters
        ----------
        host_array : array
        remote_array : DRef, optional
            The tensor of the first worker that is written, by default a new one.

        Returns
        -------
        DRef
            The tensor, which other workers may not have.
        """
        return self._copy_to_first(TensorData.of(host_array), remote_array, in_group=False)

    def _copy_to_first(self, data: TensorData, remote: DRef | None, in_group: bool) -> DRef:
        """Copy an array to the first worker, or to that of each group."""
        if remote is None:
            remote = self.empty(data.shape, data.dtype, worker0_only=True, in_group=in_group)
        register = self._argument(remote)
        for worker in range(0, self.num_workers, self._size(in_group)):
            self._ask(worker, "set", register, data)
        return remote

    def _size(self, in_group: bool) -> int:
        return self.num_workers // (self._num_groups if in_group else 1)

    # -- waiting and ending ----------------------------------------------------------------------

    def sync_worker_0(self) -> None:
        """Wait until the first worker has executed everything; raise what workers raised."""
        self._sync_worker(0)

    def _sync_worker(self, worker_id: int) -> None:
        """Wait until a worker has executed everything; raise what workers raised."""
        self._check_open()
        between("worker_id", worker_id, 0, self.num_workers - 1)
        self._wait([worker_id])

    def _sync_all(self) -> None:
        """Wait until all workers have executed everything; raise what workers raised."""
        self._check_open()
        self._wait()

    def shutdown(self) -> None:
        """End the workers, after what they have to execute. Once is enough."""
        if self._finalizer.detach() is None:
            return
        try:
            stop(self._workers, self._process, None)
        except KeyboardInterrupt:
            stop(self._workers, self._process, _interrupter(self._shared))
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is not None:
            self._finalizer()
            return
        try:
            if self._finalizer.alive:
                self._sync_all()
        finally:
            self._finalizer()

    def __repr__(self) -> str:
        groups = f" in {self._num_groups} groups" if self._num_groups > 1 else ""
        state = "" if self._finalizer.alive else ", shut down"
        return f"<{type(self).__name__}: {self.num_workers} workers{groups}{state}>"


def _interrupter(shared: Any) -> Callable[[], None]:
    return lambda: communicator.interrupt(shared, _ALL)


def _restored(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_restored, value))
    return value.restored() if isinstance(value, (Plain, TensorData)) else value
