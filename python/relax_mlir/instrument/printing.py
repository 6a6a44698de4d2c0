# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instruments that write modules."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from .base import PassInstrument

if TYPE_CHECKING:
    from ..core.ir_module import IRModule
    from ..transform import PassInfo

_DUMP = re.compile(r"\d{3}_.*\.(mlir|py)")


def text_of(mod: IRModule, syntax: str = "mlir") -> str:
    """Return a module as MLIR or TVMScript, with large constants left out of MLIR.

    Parameters
    ----------
    mod : IRModule
    syntax : str
        "mlir", or "script" for TVMScript; what has no TVMScript is MLIR.
    """
    if syntax == "script":
        try:
            return mod.script()
        except Exception as error:  # whatever the printer has no words for
            return f"# no TVMScript: {error}\n{text_of(mod)}"
    return mod.operation.get_asm(large_elements_limit=16)


def check_syntax(syntax: str) -> str:
    """Raise ValueError if there is no such syntax."""
    if syntax not in ("mlir", "script"):
        raise ValueError(f"expected syntax, one of mlir, script, but got {syntax!r}")
    return syntax


class _Printer(PassInstrument):
    def __init__(self, syntax: str = "mlir", file: TextIO | None = None) -> None:
        self.syntax = check_syntax(syntax)
        self.file = file

    def show(self, when: str, mod: IRModule, info: PassInfo) -> None:
        comment = "#" if self.syntax == "script" else "//"
        print(f"{comment} IR {when} {info.name}", file=self.file or sys.stdout)
        print(text_of(mod, self.syntax), file=self.file or sys.stdout)


class PrintBeforeAll(_Printer):
    """Prints the module before each pass.

    Parameters
    ----------
    syntax : str
        "mlir" or "script".
    file : text stream, optional
        By default the standard output.
    """

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Print the module."""
        self.show("before", mod, info)


class PrintAfterAll(_Printer):
    """Prints the module after each pass.

    Parameters
    ----------
    syntax : str
        "mlir" or "script".
    file : text stream, optional
        By default the standard output.

    Examples
    --------
    >>> from relax_mlir import transform
    >>> with transform.PassContext(instruments=[PrintAfterAll()]):
    ...     _ = transform.Normalize()("module {}")
    // IR after Normalize
    module {
    }
    <BLANKLINE>
    """

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Print the module."""
        self.show("after", mod, info)


class PassPrintingInstrument(_Printer):
    """Prints the module before and after passes of some names.

    Parameters
    ----------
    print_before_pass_names, print_after_pass_names : iterable of str
    syntax : str
        "mlir" or "script".
    file : text stream, optional
        By default the standard output.
    """

    def __init__(
        self,
        print_before_pass_names: Iterable[str] = (),
        print_after_pass_names: Iterable[str] = (),
        syntax: str = "mlir",
        file: TextIO | None = None,
    ) -> None:
        super().__init__(syntax, file)
        self.print_before_pass_names = frozenset(print_before_pass_names)
        self.print_after_pass_names = frozenset(print_after_pass_names)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Print the module where the pass is one of those to print before."""
        if info.name in self.print_before_pass_names:
            self.show("before", mod, info)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Print the module where the pass is one of those to print after."""
        if info.name in self.print_after_pass_names:
            self.show("after", mod, info)


class DumpIR(PassInstrument):
    """Writes the module after each pass to a file of its own, ``<number>_<pass>.mlir``.

    Parameters
    ----------
    dump_dir : path
        The folder; it is made where there is none.
    refresh : bool
        Whether files from before are removed. A folder that holds anything else stays as it is.
    syntax : str
        "mlir", which ``relax-opt`` reads, or "script" (``.py``).
    """

    def __init__(
        self, dump_dir: str | os.PathLike[str], refresh: bool = False, syntax: str = "mlir"
    ) -> None:
        self.dump_dir = Path(dump_dir)
        self.syntax = check_syntax(syntax)
        self.counter = 0
        if refresh and self.dump_dir.is_dir():
            self._clear()

    def _clear(self) -> None:
        files = list(self.dump_dir.iterdir())
        for file in files:
            if not (file.is_file() and _DUMP.fullmatch(file.name)):
                raise ValueError(
                    f"expected dumped modules alone in {self.dump_dir}, but got {file.name}"
                )
        for file in files:
            file.unlink()

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Write the module."""
        self.dump_dir.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^\w.-]", "_", info.name)
        ending = "py" if self.syntax == "script" else "mlir"
        # All of it: these files are read again.
        text: Any = text_of(mod, "script") if self.syntax == "script" else mod.to_text()
        path = self.dump_dir / f"{self.counter:03}_{name}.{ending}"
        path.write_text(text, encoding="utf-8")
        self.counter += 1
