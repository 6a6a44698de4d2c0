# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The virtual machine."""

from __future__ import annotations

from collections.abc import Iterator

import tvm_ffi

from ._ffi import vm_function
from .executable import TEXT_BYTES, Executable

_create = vm_function("create")
_get_function = vm_function("get_function")


class VirtualMachine:
    """The functions of an executable, by name.

    Several threads may call functions of one machine at once. A function keeps the machine, the
    code and the constants alive.

    Parameters
    ----------
    executable : Executable

    Examples
    --------
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

    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self.handle = _create(executable.handle)
        self._functions: dict[str, tvm_ffi.Function] = {}
        self._public = tuple(
            f.name for f in executable.functions if not f.is_private and f.captures == 0
        )

    def __getitem__(self, name: str) -> tvm_ffi.Function:
        """Return a public function."""
        if name not in self._functions:
            if name not in self:
                known = ", ".join(self) or "none"
                raise KeyError(
                    f"expected the name of a public function ({known}), but got {name!r}"
                )
            self._functions[name] = _get_function(self.handle, name)
        return self._functions[name]

    def __contains__(self, name: str) -> bool:
        return name in self._public

    def __iter__(self) -> Iterator[str]:
        return iter(self._public)

    def as_text(self, max_bytes: int = TEXT_BYTES) -> str:
        """Return the program as text assembly; see `Executable.as_text`."""
        return self.executable.as_text(max_bytes)

    def stats(self) -> str:
        """Return in words what is in the program; see `Executable.stats`."""
        return self.executable.stats()
