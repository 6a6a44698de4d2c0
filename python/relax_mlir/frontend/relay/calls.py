# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of operators, and the place in the program of Relay that they and their errors have."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterator, Sequence

from mlir import ir

from ...core.context import at_place
from ..values import Value
from .ast import Call, OpRef, RelayError, Span
from .converters.refused import why_refused
from .converters.registry import CONVERTERS, Converter, identity


def is_raw(call: Call) -> bool:
    """Say whether an operator takes operands that are known at import as they are."""
    converter = CONVERTERS.get(call.op.name) if isinstance(call.op, OpRef) else None
    return converter is not None and converter.raw


def is_identity(call: Call) -> bool:
    """Say whether an operator returns its operand, which may be a function or of a data type."""
    converter = CONVERTERS.get(call.op.name) if isinstance(call.op, OpRef) else None
    return converter is not None and converter.function is identity and len(call.args) == 1


def convert(call: Call, operands: Sequence[Value]) -> Value:
    """Write the call of an operator at the current place of the program.

    Parameters
    ----------
    call : Call
        Of an `OpRef`.
    operands : sequence
        The values of its arguments.

    Raises
    ------
    RelayError
        If it is wrong.
    NotImplementedError
        If the operator, or this use of it, has no counterpart.
    """
    assert isinstance(call.op, OpRef)
    name = call.op.name
    with placed(call.span, name):
        return _converter(name)(call.attrs, operands)


def _converter(name: str) -> Converter:
    if name in CONVERTERS:
        return CONVERTERS[name]
    if (reason := why_refused(name)) is not None:
        raise NotImplementedError(reason)
    near = difflib.get_close_matches(name, CONVERTERS, 1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise NotImplementedError(f"the operator has no converter{hint}")


@contextlib.contextmanager
def placed(span: Span | None, what: str) -> Iterator[None]:
    """Have operations be of a place in the source, and errors say it.

    Parameters
    ----------
    span : Span, optional
    what : str
        What is written, which messages start with.

    Raises
    ------
    RelayError
        In place of an error of a wrong program.
    NotImplementedError
        With the place.
    """
    try:
        with _location(span):
            yield
    except RelayError:
        raise
    except NotImplementedError as error:
        if isinstance(error, _PlacedError):
            raise
        raise _PlacedError(_at(span, f"{what}: {error}")) from error
    except (TypeError, ValueError, LookupError, ir.MLIRError) as error:
        raise RelayError(f"{what}: {_message(error)}", span) from error


class _PlacedError(NotImplementedError):
    """Has its place already."""


def _location(span: Span | None) -> contextlib.AbstractContextManager[object]:
    if span is None:
        return contextlib.nullcontext()
    return at_place(span.source, span.line, span.column)


def _at(span: Span | None, message: str) -> str:
    return f"{span}: {message}" if span else message


def _message(error: Exception) -> str:
    """Return what is wrong, without the place in the program that is being written."""
    diagnostics = getattr(error, "error_diagnostics", ())
    return "; ".join(one.message for one in diagnostics) or str(error)
