# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls in steps, and functions with arguments already given, as machines of TVM have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm_ffi

from .calls import as_packed
from .executable import Executable

_UNSET = object()


class StatefulCalls:
    """What a machine keeps between calls: inputs, results, and functions with their arguments.

    It belongs to the machine: threads that set inputs of one function need a machine each.
    """

    executable: Executable
    _inputs: dict[str, tuple[tuple[Any, ...], dict[str, Any]]]
    _outputs: dict[str, Any]
    _functions: dict[str, Callable[..., Any]]

    def __getitem__(self, name: str) -> Callable[..., Any]:
        raise NotImplementedError(f"{type(self).__name__}.__getitem__")

    def set_input(self, name: str, /, *args: Any, **named: Any) -> None:
        """Set the arguments with which `invoke_stateful` calls a function.

        Parameters
        ----------
        name : str
            A public function.
        *args, **named : object
            Its arguments, as a call takes them. They are kept, not copied.

        Examples
        --------
        >>> from relax_mlir.runtime import Executable, VirtualMachine
        >>> vm = VirtualMachine(Executable.assemble("function main(x) { ret %0 }"))
        >>> vm.set_input("main", 3)
        >>> vm.invoke_stateful("main")
        >>> vm.get_outputs("main")
        3
        """
        self[name]  # which knows the names
        self._inputs[name] = (args, named)
        self._outputs.pop(name, None)

    def invoke_stateful(self, name: str) -> None:
        """Call a function with the arguments of `set_input`; `get_outputs` returns its result.

        Parameters
        ----------
        name : str
            A public function.

        Raises
        ------
        ValueError
            If no arguments were set.
        """
        function = self[name]
        if name not in self._inputs:
            raise ValueError(f"expected the inputs of '{name}' first: vm.set_input({name!r}, ...)")
        args, named = self._inputs[name]
        self._outputs[name] = function(*args, **named)

    def get_outputs(self, name: str) -> Any:
        """Return the result of the last `invoke_stateful` of a function.

        Parameters
        ----------
        name : str
            A public function.

        Returns
        -------
        object
            As of a call; of a tuple, a tuple of Python.

        Raises
        ------
        ValueError
            If `invoke_stateful` was not called since the inputs were set.
        """
        self[name]
        result = self._outputs.get(name, _UNSET)
        if result is _UNSET:
            raise ValueError(f"expected a call first: vm.invoke_stateful({name!r})")
        return _as_tuples(result)

    def save_function(
        self, name: str, saved_name: str, /, *args: Any, include_return: bool = True, **named: Any
    ) -> None:
        """Make a function without parameters, of a function and its arguments.

        Parameters
        ----------
        name : str
            A public function.
        saved_name : str
            Its name among those of the machine, in place of one that was saved before.
        *args, **named : object
            The arguments, as a call takes them.
        include_return : bool
            Whether it returns the result; otherwise it returns None.

        Raises
        ------
        ValueError
            If the program has a function `saved_name`.

        Examples
        --------
        >>> from relax_mlir.runtime import Executable, VirtualMachine
        >>> vm = VirtualMachine(Executable.assemble("function main(x) { ret %0 }"))
        >>> vm.save_function("main", "three", 3)
        >>> vm["three"]()
        3
        """
        function = self[name]
        if saved_name in self.executable.function_names:
            raise ValueError(
                f"expected a name that the program does not have, but got {saved_name!r}"
            )

        def saved() -> Any:
            result = function(*args, **named)
            return result if include_return else None

        saved.__name__ = saved.__qualname__ = saved_name
        saved.packed = tvm_ffi.convert(saved)  # type: ignore[attr-defined]
        self._functions[saved_name] = saved

    def invoke_closure(self, closure: Any, *args: Any) -> Any:
        """Call a closure that a function has returned.

        Parameters
        ----------
        closure : tvm_ffi.Function
        *args : object
            Its arguments.

        Raises
        ------
        TypeError
            If it is no function.
        """
        function = as_packed(closure)
        if not isinstance(function, tvm_ffi.Function):
            raise TypeError(f"expected a closure, but got {closure!r}")
        return function(*args)


def _as_tuples(value: Any) -> Any:
    """Return a result with tuples of Python in place of arrays of tvm-ffi."""
    if isinstance(value, (tvm_ffi.Array, tuple, list)):
        return tuple(map(_as_tuples, value))
    return value
