# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations of the dialect, one class each; `relax_mlir.op` has the convenient functions."""

from typing import TYPE_CHECKING, Any

from ..core import context as _context  # noqa: F401 (registers the dialect)
from ._relax_ops_gen import *  # noqa: F403
from ._relax_ops_gen import _Dialect as _Dialect


def _script(self: Any, **options: Any) -> str:
    """Return the function as TVMScript; `relax_mlir.script.printer.script` has the options."""
    from ..script import printer

    return printer.script(self, **options)


def _show(self: Any, **options: Any) -> None:
    """Print the function as TVMScript; `relax_mlir.script.printer.show` has the options."""
    from ..script import printer

    printer.show(self, **options)


def _repr_html(self: Any) -> str:
    """Return the function as notebooks show it."""
    from ..script import printer

    return printer.to_html(self)


FuncOp.script, FuncOp.show, FuncOp._repr_html_ = _script, _show, _repr_html  # noqa: F405

if TYPE_CHECKING:  # the generated code has no types

    def __getattr__(name: str) -> Any: ...
