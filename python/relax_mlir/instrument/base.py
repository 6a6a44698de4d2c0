# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The base of instruments."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..core.ir_module import IRModule
    from ..transform import PassInfo


class PassInstrument:
    """Something that sees each pass which runs in a `PassContext`.

    A subclass defines the methods that it needs. Modules are seen, never changed: what an
    instrument keeps of one is a copy or a text.

    Examples
    --------
    >>> from relax_mlir import transform
    >>> class Names(PassInstrument):
    ...     def run_after_pass(self, mod, info):
    ...         print(info.name)
    >>> with transform.PassContext(instruments=[Names()]):
    ...     _ = transform.Sequential([transform.Normalize()], name="all")("module {}")
    Normalize
    all
    """

    def enter_pass_ctx(self) -> None:
        """See that the context begins."""

    def exit_pass_ctx(self) -> None:
        """See that the context ends."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Say whether a pass runs. It is skipped where one instrument says no.

        Parameters
        ----------
        mod : IRModule
        info : PassInfo
        """
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """See a module before a pass.

        Parameters
        ----------
        mod : IRModule
        info : PassInfo
        """

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """See the module that a pass leaves.

        Parameters
        ----------
        mod : IRModule
        info : PassInfo
        """


def pass_instrument(pi_cls: Any = None) -> Any:
    """Make instruments of a class that has some of the methods of `PassInstrument`.

    Parameters
    ----------
    pi_cls : type, optional
        Left out where the decorator is called.

    Returns
    -------
    type
        A class of the same name and arguments that is a `PassInstrument`.

    Examples
    --------
    >>> from relax_mlir import transform
    >>> @pass_instrument
    ... class Skip:
    ...     def __init__(self, name):
    ...         self.name = name
    ...
    ...     def should_run(self, mod, info):
    ...         return info.name != self.name
    >>> with transform.PassContext(instruments=[Skip("ConvertToLLVM")]):
    ...     print(transform.ConvertToLLVM()("module {}"))
    module {
    }
    <BLANKLINE>
    """

    def create(target: Any) -> type[PassInstrument]:
        if not inspect.isclass(target):
            raise TypeError(f"expected a class, but got {target!r}")
        if issubclass(target, PassInstrument):
            return target
        members = {"__doc__": target.__doc__, "__module__": target.__module__}
        return type(target.__name__, (target, PassInstrument), members)

    return create if pi_cls is None else create(pi_cls)
