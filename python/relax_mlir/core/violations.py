# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that modules are well-formed."""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from .context import current_context
from .diagnostics import RULE, Diagnostic, check_text, collect_errors
from .ir_module import ModuleLike, as_module

# The rules that the parser of MLIR holds, which knows no ids.
_PARSER_RULES = {
    "redefinition of SSA value": "WF02",
    "use of undeclared SSA value name": "WF02",
}


@dataclass(frozen=True)
class Violation:
    """The violation of a rule at one place of a module.

    Attributes
    ----------
    rule : str or None
        The id of the criterion, such as "WF05"; None for what is no Relax at all.
    message : str
    location : mlir.ir.Location
    notes : tuple of (str, mlir.ir.Location)
        Other places, such as where a value is bound, and what they have to do with it.
    """

    rule: str | None
    message: str
    location: ir.Location
    notes: tuple[tuple[str, ir.Location], ...] = ()

    def __str__(self) -> str:
        lines = [f"{_place(self.location)}: {self.message}"]
        lines += [f"  {_place(location)}: {note}" for note, location in self.notes]
        return "\n".join(lines)


class WellFormedError(ValueError):
    """A module is not well-formed.

    Attributes
    ----------
    violations : list of Violation
    """

    def __init__(self, violations: list[Violation], head: str = "") -> None:
        super().__init__("\n".join([*([head] if head else []), *map(str, violations)]))
        self.violations = violations


def _place(location: ir.Location) -> str:
    return str(location).removeprefix("loc(").removesuffix(")")


def violation(diagnostic: Diagnostic | ir.Diagnostic | ir.DiagnosticInfo) -> Violation:
    """Return the violation that a diagnostic of MLIR describes."""
    message = diagnostic.message
    found = RULE.search(message)
    rule = found[1] if found else getattr(diagnostic, "rule", None)
    for text, parser_rule in _PARSER_RULES.items():
        if rule is None and text in message:
            rule = parser_rule
    notes = [(note.message, note.location) for note in diagnostic.notes]
    return Violation(
        rule,
        RULE.sub("", message),
        diagnostic.location,
        tuple(note for note in notes if not note[0].startswith("see current operation")),
    )


def well_formed(mod: ModuleLike, check_struct_info: bool = True) -> list[Violation]:
    """Check a module against the well-formedness criteria of the specification, WF01 to WF24.

    Parameters
    ----------
    mod : IRModule, mlir.ir.Module, str or BlockBuilder
        The module, or its text. It need not be verified.
    check_struct_info : bool
        Whether violations of the derivation rules, DR01 to DR16, are reported.

    Returns
    -------
    list of Violation
        All of them, at once. Text that does not parse gives the errors of the parser.

    Examples
    --------
    >>> for violation in well_formed('''
    ... relax.func private @f(%x: !relax.tensor<[n * 2], f32>) -> !relax.shape<[m]> {
    ...   %0 = relax.match_cast %x : !relax.tensor<[n * 2], f32> -> !relax.shape<[m]>
    ...   relax.return %0 : !relax.shape<[m]>
    ... }'''):
    ...     print(violation.rule, violation.message.partition(":")[0])
    WF06 'relax.func' op argument 'x' uses shape variable 'n', which no argument binds
    WF04 'relax.func' op result uses shape variable 'm', which no argument binds
    WF12 'builtin.module' op expected a function that is not private, to enter the program by
    """
    given = mod if isinstance(mod, str) else as_module(mod).module
    context = current_context() if isinstance(given, str) else given.context
    if isinstance(given, str):
        check_text(given)
    with collect_errors(context) as errors:
        module = _ext.parse_unverified(given, context) if isinstance(given, str) else given
        # It is not there, or not all of it, where the parser reports errors.
        if module is not None:
            _ext.check_well_formed(module)
    violations = [violation(error) for error in errors]
    if check_struct_info:
        return violations
    return [found for found in violations if not (found.rule or "").startswith("DR")]


def check_well_formed(mod: ModuleLike, check_struct_info: bool = True) -> bool:
    """Check a module as `well_formed` does.

    Parameters
    ----------
    mod : IRModule, mlir.ir.Module, str or BlockBuilder
    check_struct_info : bool

    Returns
    -------
    bool
        True: what is not well-formed is an error.

    Raises
    ------
    WellFormedError
        If there are violations; the message lists them all.

    Examples
    --------
    >>> check_well_formed('''
    ... relax.func @f(%x: !relax.object) -> !relax.object {
    ...   relax.return %x : !relax.object
    ... }''')
    True
    """
    violations = well_formed(mod, check_struct_info)
    if violations:
        raise WellFormedError(violations)
    return True
