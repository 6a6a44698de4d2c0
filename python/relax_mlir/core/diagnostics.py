# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors that MLIR reports, as exceptions: all of them, and in any spelling.

The bindings of MLIR take a result for a success although errors were reported with it, which a
parser does that goes on, and end the process where the text of an error is not UTF-8.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mlir import ir
from relax_runtime.near_misses import did_you_mean

from .._mlir_libs import _relax_mlir as _ext
from ..dialects import relax as _ops
from . import forks
from .context import current_context

# The bindings make the class within a function, whose name would be part of its own.
ir.MLIRError.__module__, ir.MLIRError.__qualname__ = "mlir.ir", "MLIRError"

# How many brackets of a text may be open: MLIR parses by recursion.
_DEEPEST = 1000

# Notes that repeat the program, or list what has nothing to do with it.
_NOISE = ("see current operation", "Available dialects")
_TYPES = ("func", "object", "prim", "shape", "tensor", "tuple")
_INNER = (
    "; what a dataflow block or a branch computes is visible after it only as one of its outputs "
    "(emit_output, R.output)"
)
# What MLIR says, which is about its own syntax, and what to write.
_WAYS = {
    "op attribute '\\w+' failed to satisfy constraint: i64 dense array attribute": (
        ", such as array<i64: 0, 1>"
    ),
    "op attribute '\\w+' failed to satisfy constraint: 64-bit signless integer attribute": (
        ", such as 1 : i64"
    ),
    "^elements literal must be a shaped type": ": write dense<[1.0, 2.0]> : tensor<2xf32>",
    "^empty block: expect at least a terminator": "; a function ends with relax.return",
    "^block with no terminator": (
        "; a function ends with relax.return, a dataflow block with relax.output, a branch with "
        "relax.yield"
    ),
    "^custom op 'relax.get_item' invalid kind of type specified$": (
        ": expected the type of the tuple alone, such as !relax.tuple<!relax.object>"
    ),
    "^custom op 'relax.\\w+' invalid kind of type specified$": (
        ": expected a type of Relax, such as !relax.tensor<[n], f32>"
    ),
}
_REPEATED = re.compile(r"^custom op ('[\w.]+') (?=\1 op )")
_LAST = re.compile(r"^(block with no terminator), has .*", re.DOTALL)
_MISFIT = re.compile(
    r"inferred type\(s\) (.*) are incompatible with return type\(s\) of operation (.*)"
)
_NOT_INFERRED = re.compile(r"^('[\w.]+' op )failed to infer returned types$")
# The id of a rule of the specification, by which programs tell errors apart.
RULE = re.compile(r" \[([A-Z]{2}\d\d)\]$")
_UNKNOWN = re.compile(r"custom op '([\w.]+)' is unknown|for custom op '([\w.]+)'")


def _hint(message: str) -> str:
    """Return what to do: the operation that was meant where a parser does not know one."""
    if "does not dominate this use" in message:
        return _INNER
    for said, way in _WAYS.items():
        if re.search(said, message):
            return way
    type_ = re.search(r"unknown +type `(\w+)` in dialect `relax`", message)
    if type_ is not None:
        return did_you_mean(type_[1], _TYPES)
    found = _UNKNOWN.search(message)
    if found is None:
        return ""
    name = found[1] or found[2]
    known = (getattr(each, "OPERATION_NAME", "") for each in vars(_ops).values())
    names = [each for each in known if each.startswith("relax.")]
    return did_you_mean(name, names, cutoff=0.75)


@dataclass(frozen=True)
class Diagnostic:
    r"""An error or a note; has the fields of `mlir.ir.DiagnosticInfo`.

    Attributes
    ----------
    message : str
        Bytes that are not UTF-8 are escaped, such as ``\xff``.
    location : mlir.ir.Location
    notes : tuple of Diagnostic
    rule : str or None
        The id of the rule of the specification that is broken, such as "WF05".
    """

    message: str
    location: ir.Location
    notes: tuple[Diagnostic, ...] = ()
    rule: str | None = None

    @property
    def severity(self) -> ir.DiagnosticSeverity:
        """Error: notes are in `notes` of others only."""
        return ir.DiagnosticSeverity.ERROR


def _diagnostic(message: str, location: ir.Location, notes: Sequence[Any]) -> Diagnostic:
    """Return an error as users read it."""
    found = RULE.search(message)
    text = _REPEATED.sub("", _LAST.sub(r"\1", RULE.sub("", message)))
    text = _MISFIT.sub(r"expected the result \1, but got \2", text)
    told = [each for each in notes if not each[0].startswith(_NOISE)]
    added = tuple(Diagnostic(note, place) for note, place, _ in told)
    return Diagnostic(text + _hint(text), location, added, found[1] if found else None)


def _joined(errors: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return errors without those that no type was inferred: the one before says why."""
    result: list[Diagnostic] = []
    for error in errors:
        found = _NOT_INFERRED.search(error.message)
        cause = result[-1] if result and str(result[-1].location) == str(error.location) else None
        if found is None or cause is None:
            result.append(error)
        elif not cause.message.startswith(found[1]):
            result[-1] = replace(cause, message=found[1] + cause.message)
    return result


# By the identity of a context: how many statements collect its errors, in any thread and order, and
# what is to be restored after the last one.
_collecting: dict[int, tuple[int, bool]] = {}
_collecting_lock = forks.lock()


@contextlib.contextmanager
def _emitted(context: ir.Context) -> Iterator[None]:
    """Have errors reach collectors meanwhile, not the exceptions of the bindings alone."""
    key = id(context)
    with _collecting_lock:
        count, before = _collecting.get(key, (0, context.emit_error_diagnostics))
        _collecting[key] = (count + 1, before)
        context.emit_error_diagnostics = True
    try:
        yield
    finally:
        with _collecting_lock:
            count, before = _collecting.pop(key)
            if count > 1:
                _collecting[key] = (count - 1, before)
            else:
                context.emit_error_diagnostics = before


@contextlib.contextmanager
def collect_errors(context: ir.Context) -> Iterator[list[Diagnostic]]:
    r"""Collect the errors that are reported in a context.

    Parameters
    ----------
    context : mlir.ir.Context

    Yields
    ------
    list of Diagnostic
        It is filled at the end of the ``with`` statement.

    Examples
    --------
    >>> import contextlib
    >>> context = current_context()
    >>> with collect_errors(context) as errors, contextlib.suppress(ir.MLIRError):
    ...     _ = ir.Module.parse("relax.func", context=context)
    >>> print(errors[0].message)
    custom op 'relax.func' expected valid '@'-identifier for symbol name
    """
    errors: list[Diagnostic] = []
    with _emitted(context):
        collector = _ext.ErrorCollector(context)
        try:
            yield errors
        finally:
            errors += _joined([_diagnostic(*each) for each in collector.finish()])


@contextlib.contextmanager
def raise_errors(context: ir.Context) -> Iterator[None]:
    """Raise the errors that are reported in a context, whatever comes of it.

    Parameters
    ----------
    context : mlir.ir.Context

    Raises
    ------
    mlir.ir.MLIRError
        At the end of the ``with`` statement; `error_diagnostics` are the errors.

    Examples
    --------
    >>> context = current_context()
    >>> with raise_errors(context):
    ...     _ = ir.Module.parse("", context=context)
    """
    failed: ir.MLIRError | None = None
    with collect_errors(context) as errors:
        try:
            yield
        except ir.MLIRError as error:
            failed = error
    if failed is not None:
        # The error of the bindings is in what is raised.
        raise ir.MLIRError(failed.message, [*failed.error_diagnostics, *errors]) from None
    if errors:
        raise ir.MLIRError("Errors were reported", errors)


def reason(error: ir.MLIRError) -> str:
    """Return what an error of MLIR says."""
    return "; ".join(each.message for each in error.error_diagnostics) or error.message


def parse_module(text: str, context: ir.Context | None = None) -> ir.Module:
    """Parse the text of a module.

    Parameters
    ----------
    text : str
    context : mlir.ir.Context, optional
        The current one, or the default one, where it is left out.

    Returns
    -------
    mlir.ir.Module

    Raises
    ------
    mlir.ir.MLIRError
        If an error is reported.
    ValueError
        If there is no UTF-8 for the text, if it is nested too deeply, or constants were left out of
        it.

    Examples
    --------
    >>> print(parse_module("relax.func private @f() -> !relax.object"))
    module {
      relax.func private @f() -> !relax.object
    }
    <BLANKLINE>
    """
    check_text(text)
    if "<__elided__>" in text:
        raise ValueError(
            "expected the whole text of a module, but constants were left out of it (__elided__), "
            "as print does: IRModule.to_text() writes all of it"
        )
    if line := _ext.find_deep_nesting(text, _DEEPEST):
        raise ValueError(
            f"expected text with at most {_DEEPEST} open brackets, but got more in line {line}"
        )
    context = context or current_context()
    with raise_errors(context):
        return ir.Module.parse(text, context=context)


def check_text(text: str) -> None:
    r"""Raise a ValueError where there is no UTF-8 for a text.

    Examples
    --------
    >>> check_text("relax.func @\udcff()")
    Traceback (most recent call last):
    ...
    ValueError: expected text that can be encoded as UTF-8, but got '\udcff' in line 1, column 13
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - text.rfind("\n", 0, error.start)
        raise ValueError(
            "expected text that can be encoded as UTF-8, but got"
            f" {text[error.start]!r} in line {line}, column {column}"
        ) from None
