# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of operators, with the place of each error in the program of Relay."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from mlir import ir

from ..values import Value
from .ast import Call, OpRef, RelayError, Span
from .registry import CONVERTERS


def is_raw(call: Call) -> bool:
    """Say whether an operator takes operands that are known at import as they are."""
    converter = CONVERTERS.get(call.op.name) if isinstance(call.op, OpRef) else None
    return converter is not None and converter.raw


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
    converter = CONVERTERS.get(name)
    if converter is None:
        near = difflib.get_close_matches(name, CONVERTERS, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise NotImplementedError(_at(call.span, f"operator '{name}' has no converter{hint}"))
    try:
        return converter(call.attrs, operands)
    except NotImplementedError as error:
        raise NotImplementedError(_at(call.span, f"{name}: {error}")) from error
    except RelayError:
        raise
    except ir.MLIRError as error:
        raise RelayError(f"{name}: {_message(error)}", call.span) from error
    except (TypeError, ValueError, LookupError) as error:
        raise RelayError(f"{name}: {error}", call.span) from error


def _at(span: Span | None, message: str) -> str:
    return f"{span}: {message}" if span else message


def _message(error: ir.MLIRError) -> str:
    """Return what is wrong, without the place in the program that is being written."""
    return "; ".join(one.message for one in error.error_diagnostics) or str(error)
