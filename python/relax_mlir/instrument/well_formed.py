# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An instrument that checks whether passes keep modules well-formed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..core.violations import WellFormedError, well_formed
from .base import PassInstrument

if TYPE_CHECKING:
    from ..core.ir_module import IRModule
    from ..transform import PassInfo


class WellFormedInstrument(PassInstrument):
    """Checks the module around each pass against the criteria WF01 to WF24.

    Parameters
    ----------
    check_struct_info : bool
        Whether violations of the rules on StructInfo count.
    validate_before_transform : bool
        Whether modules are checked before passes, too.
    skip_pass_name : iterable of str
        The passes around which nothing is checked.

    Raises
    ------
    WellFormedError
        After the pass, with its name and the violations.

    Examples
    --------
    >>> from relax_mlir import transform
    >>> @transform.function_pass
    ... def hide(func, mod, ctx):
    ...     func.attributes["sym_visibility"] = ir.StringAttr.get("private")
    >>> from mlir import ir
    >>> with transform.PassContext(instruments=[WellFormedInstrument()]):
    ...     hide('''
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   relax.return %x : !relax.object
    ... }''')  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    relax_mlir.core...WellFormedError: after pass hide the module is not well-formed:
    ...expected a function that is not private, to enter the program by
    ...
    """

    def __init__(
        self,
        check_struct_info: bool = True,
        validate_before_transform: bool = True,
        skip_pass_name: Iterable[str] = ("Normalize",),
    ) -> None:
        self.check_struct_info = check_struct_info
        self.validate_before_transform = validate_before_transform
        self.skip_pass_name = frozenset(skip_pass_name)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Check what a pass gets."""
        if self.validate_before_transform:
            self._check(mod, info.name, "before")

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Check what a pass leaves."""
        self._check(mod, info.name, "after")

    def _check(self, mod: IRModule, name: str, when: str) -> None:
        if name in self.skip_pass_name:
            return
        violations = well_formed(mod, self.check_struct_info)
        if violations:
            raise WellFormedError(violations, f"{when} pass {name} the module is not well-formed:")
