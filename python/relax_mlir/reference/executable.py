# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The executable that ``compile(mod, target="reference")`` makes."""

from __future__ import annotations

import os
from typing import Any, NoReturn

import tvm_ffi

from .. import runtime
from .._mlir_libs import _relax_mlir as _ext
from ..artefact import Executable
from ..core.ir_module import IRModule
from ..driver import compiler
from ..external import LinkedModules
from .arithmetic import Arithmetic
from .boundary import Entry
from .interpreter import Interpreter

TARGET = "reference"


class ReferenceExecutable(Executable):
    """A module that is evaluated as it is, for `relax_mlir.VirtualMachine`.

    Examples
    --------
    >>> import relax_mlir as relax
    >>> ex = relax.compile('''
    ... relax.func @main(%n: !relax.prim<i64>) -> !relax.prim<i64> {
    ...   relax.return %n : !relax.prim<i64>
    ... }''', target="reference")
    >>> ex.exec_mode, relax.VirtualMachine(ex)["main"](3)
    ('reference', 3)
    >>> ex.save("main.rx")
    Traceback (most recent call last):
        ...
    ValueError: expected a compiled module to save, but got one of the target "reference", which \
only runs here
    """

    def __init__(self, module: IRModule) -> None:
        module.verify()
        # The runtime has nothing to run.
        super().__init__(runtime.Executable.assemble("").handle, exec_mode=TARGET)
        self.module = module
        self.interpreter = Interpreter(module, Arithmetic())

    def link(self, linked: LinkedModules | None) -> None:
        """Keep external functions as long as the interpreter, which calls them."""
        super().link(linked)
        self.interpreter.linked = linked

    @property
    def struct_infos(self) -> dict[str, str]:
        """The functions that can be called, with their StructInfo at run time."""
        functions = {name: self.interpreter.function(name) for name in self.interpreter.entries}
        return {name: _ext.runtime_struct_info(f.info) for name, f in functions.items()}

    def parameters(self, name: str) -> tuple[str, ...]:
        """Return the names of the parameters of a public function."""
        function = self.module[name]
        count = len(function.function_type.value.inputs)
        if function.arg_names is None:
            return tuple(f"arg{index}" for index in range(count))
        return tuple(each.value for each in function.arg_names)

    def look_up(self, name: str, machine: tvm_ffi.Object | None = None) -> Any:
        """Return a function, from and to values of tvm-ffi."""
        return Entry(self.interpreter.entry(name))

    def as_text(self, max_bytes: int = 0) -> str:
        """Return the text of the module: it is what runs."""
        return self.module.to_text()

    def stats(self) -> str:
        """Return in words what is in the program."""
        names = ", ".join(self.function_names)
        return f"{len(self.function_names)} functions that are evaluated: {names}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Raise ValueError: there is nothing to save."""
        _refuse("save")

    def to_bytes(self) -> bytes:
        """Raise ValueError: there is nothing to save."""
        _refuse("save")

    def export_library(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Raise ValueError: there is nothing to export."""
        _refuse("export")


def _refuse(use: str) -> NoReturn:
    raise ValueError(
        f'expected a compiled module to {use}, but got one of the target "reference", which only '
        "runs here"
    )


compiler.make_reference = ReferenceExecutable
