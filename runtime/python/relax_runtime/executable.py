# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program of bytecode."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import tvm_ffi

from ._ffi import vm_function

_assemble = vm_function("assemble")
_as_text = vm_function("as_text")
_externals = vm_function("externals")
_functions = vm_function("functions")
_kernels = vm_function("kernels")
_packed = vm_function("packed")
_constants = vm_function("constants")
_bind = vm_function("bind")
_create = vm_function("create")
_create_replaying = vm_function("create_replaying")
_get_function = vm_function("get_function")
_instructions = vm_function("instructions")
_adt = vm_function("adt")

_Value = TypeVar("_Value")

# Tensors of constants up to this size are in the text.
TEXT_BYTES = 64


@tvm_ffi.register_object("relax_mlir.Executable")
class _Handle(tvm_ffi.Object):
    """The executable in the runtime."""


@tvm_ffi.register_object("relax_mlir.ADT")
class ADT(tvm_ffi.Object):
    """A value of an algebraic data type.

    Attributes
    ----------
    tag : int
        The number of the constructor that made it.
    fields : tvm_ffi.Array
        The arguments of the constructor.

    Examples
    --------
    >>> adt = ADT.make(1, [2.5])
    >>> adt.tag, list(adt.fields)
    (1, [2.5])
    """

    tag: int
    fields: Any

    @staticmethod
    def make(tag: int, fields: Sequence[Any] = ()) -> ADT:
        """Make a value with a tag and fields."""
        return _adt(tag, list(fields))


@dataclass(frozen=True)
class FunctionInfo:
    """A function of an executable.

    Attributes
    ----------
    name : str
    is_bytecode : bool
        False for machine code.
    is_private : bool
        Whether only functions of the executable can call it.
    params : tuple of str
        Its parameters, captured values first.
    captures : int
        How many parameters are values that a closure captured.
    registers, heap_slots : int
        The size of a frame.
    struct_info : str
        The StructInfo at run time, as JSON; empty where nothing is known.
    words, instructions : int
        The size of the code.
    """

    name: str
    is_bytecode: bool
    is_private: bool
    params: tuple[str, ...]
    captures: int
    registers: int
    heap_slots: int
    struct_info: str
    words: int
    instructions: int


class Executable:
    """A verified program for `VirtualMachine`.

    It never changes, so any number of machines and threads may share it. What runs in another way
    is a subclass with its own `struct_infos` and `look_up`.

    Parameters
    ----------
    handle : tvm_ffi.Object
        The object of the runtime, of type ``relax_mlir.Executable``.
    exec_mode : str
        "bytecode", of which machines see every call, or how functions run otherwise.
    is_profiled : bool
        Whether functions in machine code say when a call begins and ends; see
        `VirtualMachine.profile`.
    cuda_graph : bool
        Whether calls replay the launches of earlier ones; see `VirtualMachine.cuda_graphs`.

    Examples
    --------
    >>> ex = Executable.assemble('''
    ... function main(x) {
    ...   ret %0
    ... }''')
    >>> ex.functions[0].name
    'main'
    """

    def __init__(
        self,
        handle: tvm_ffi.Object,
        exec_mode: str = "bytecode",
        *,
        is_profiled: bool = False,
        cuda_graph: bool = False,
    ) -> None:
        if not isinstance(handle, _Handle):
            raise TypeError(f"expected an object of type relax_mlir.Executable, but got {handle!r}")
        self.handle = handle
        self.exec_mode = exec_mode
        self.is_profiled = is_profiled
        self.cuda_graph = cuda_graph
        self._known: dict[str, Any] = {}

    def __repr__(self) -> str:
        names = reprlib.repr(list(self.function_names))
        return f"<{type(self).__name__} ({self.exec_mode}): {names}>"

    def __copy__(self) -> Executable:
        return self  # it never changes

    def __deepcopy__(self, memo: Any) -> Executable:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            "expected an executable of relax_mlir, which holds what to_bytes stores, but got one "
            "of the runtime alone: store the file that it comes from"
        )

    def _once(self, name: str, compute: Callable[[], _Value]) -> _Value:
        """Compute something once. `functools.cached_property` has a lock until Python 3.12.

        In a child of fork it may be held by a thread that is not there.
        """
        if name not in self._known:
            self._known[name] = compute()
        value: _Value = self._known[name]
        return value

    @classmethod
    def assemble(cls, text: str, constants: Sequence[Any] = ()) -> Executable:
        """Make an executable from text assembly.

        Parameters
        ----------
        text : str
            In the grammar of `docs/dev/vm.md`.
        constants : sequence
            The values that the text calls ``external 0``, ``external 1``, ...: tensors and others.

        Raises
        ------
        ValueError
            If the text is wrong, with line and column; or if the machine could not run it, with
            function and instruction.
        """
        return cls(_assemble(text, [tvm_ffi.convert(c) for c in constants]))

    @property
    def mod(self) -> Executable:
        """The executable itself: for programs of TVM, where it holds a module."""
        return self

    def jit(self) -> Executable:
        """Return the executable itself, whose code is linked: for programs of TVM."""
        return self

    def as_text(self, max_bytes: int = TEXT_BYTES) -> str:
        """Return the program as text assembly.

        Parameters
        ----------
        max_bytes : int
            Larger constant tensors are written as ``external k``; `externals` returns them.

        Examples
        --------
        >>> print(Executable.assemble("function f(x) { ret %0 }").as_text(), end="")
        function f(x) registers 1 {
          ret %0
        }
        """
        return str(_as_text(self.handle, max_bytes))

    def externals(self, max_bytes: int = TEXT_BYTES) -> list[Any]:
        """Return the constants that `as_text` leaves out, in the order of their numbers."""
        return list(_externals(self.handle, max_bytes))

    @property
    def functions(self) -> tuple[FunctionInfo, ...]:
        """All functions, in order."""

        def compute() -> tuple[FunctionInfo, ...]:
            rows = ((*r[:3], tuple(map(str, r[3])), *r[4:]) for r in _functions(self.handle))
            return tuple(FunctionInfo(*row) for row in rows)

        return self._once("functions", compute)

    @property
    def struct_infos(self) -> dict[str, str]:
        """The functions that can be called, with their StructInfo at run time."""
        public = (f for f in self.functions if not f.is_private and f.captures == 0)
        return {f.name: f.struct_info for f in public}

    @property
    def function_names(self) -> tuple[str, ...]:
        """The functions that can be called."""
        return tuple(self.struct_infos)

    #: Whether the program is known to leave its arguments unchanged.
    reads_only: bool = False

    def parameters(self, name: str) -> tuple[str, ...]:
        """Return the names of the parameters of a public function.

        Examples
        --------
        >>> Executable.assemble("function f(x, y) { ret %0 }").parameters("f")
        ('x', 'y')
        """
        return next(f.params for f in self.functions if f.name == name)

    def make_machine(self) -> tvm_ffi.Object:
        """Return a new machine of the runtime library, which knows who observes its calls.

        Raises
        ------
        ValueError
            If the machine code is for another processor, and this one lacks something.
        """
        return (_create_replaying if self.cuda_graph else _create)(self.handle)

    def look_up(self, name: str, machine: tvm_ffi.Object | None = None) -> Any:
        """Return a public function, which keeps the code and the constants alive.

        Parameters
        ----------
        name : str
            One of `function_names`.
        machine : tvm_ffi.Object, optional
            The result of `make_machine` that runs it; a new one by default.
        """
        return _get_function(self.make_machine() if machine is None else machine, name)

    @property
    def instructions(self) -> dict[str, tuple[str, ...]]:
        """The instructions of each function, as text."""

        def compute() -> dict[str, tuple[str, ...]]:
            names = [f.name for f in self.functions]
            return {name: tuple(map(str, _instructions(self.handle, name))) for name in names}

        return self._once("instructions", compute)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels that it calls."""
        return self._once("kernels", lambda: tuple(map(str, _kernels(self.handle))))

    @property
    def packed_functions(self) -> tuple[str, ...]:
        """The registered functions that it calls."""
        return self._once("packed", lambda: tuple(map(str, _packed(self.handle))))

    @property
    def constants(self) -> list[Any]:
        """The pool of constants."""
        return list(_constants(self.handle))

    def bind(
        self,
        kernels: Mapping[str, int] | None = None,
        functions: Mapping[str, int] | None = None,
        keep_alive: Any = None,
    ) -> int:
        """Give kernels and functions of machine code their addresses.

        Parameters
        ----------
        kernels : mapping of str to int
            Addresses of raw entries (`relax_kernel_entry`) by the name of the kernel.
        functions : mapping of str to int
            Addresses of tvm-ffi entries by the name of the function.
        keep_alive : object
            The owner of the machine code; it lives as long as the executable.

        Returns
        -------
        int
            How many of the names it knows.
        """
        return int(_bind(self.handle, dict(kernels or {}), dict(functions or {}), keep_alive))

    def stats(self) -> str:
        """Return in words what is in the program.

        Examples
        --------
        >>> print(Executable.assemble("function f(x) { ret %0 }").stats())
        1 function in bytecode, 0 in machine code: f
        1 instruction, 2 words
        0 constants, 0 bytes of tensors
        0 kernels
        0 packed functions
        """
        bytecode = [f for f in self.functions if f.is_bytecode]
        native = [f for f in self.functions if not f.is_bytecode]
        tensors = [c for c in self.constants if isinstance(c, tvm_ffi.Tensor)]
        instructions = sum(f.instructions for f in self.functions)
        return "\n".join(
            (
                f"{_count(len(bytecode), 'function')} in bytecode, {len(native)} in machine code"
                + _names(f.name for f in self.functions),
                f"{_count(instructions, 'instruction')}, "
                f"{_count(sum(f.words for f in self.functions), 'word')}",
                f"{_count(len(self.constants), 'constant')}, "
                f"{_count(sum(map(_size_in_bytes, tensors)), 'byte')} of tensors",
                _count(len(self.kernels), "kernel") + _names(self.kernels),
                _count(len(self.packed_functions), "packed function")
                + _names(self.packed_functions),
            )
        )


def _size_in_bytes(tensor: tvm_ffi.Tensor) -> int:
    size = tensor.dtype.itemsize
    for dim in tensor.shape:
        size *= dim
    return int(size)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _names(names: Any) -> str:
    text = ", ".join(names)
    return f": {text}" if text else ""
