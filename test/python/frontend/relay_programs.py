# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs operators of Relay by themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.frontend.relay.converters.registry import CONVERTERS
from relax_mlir.frontend.values import as_tensor, is_known


@dataclasses.dataclass(frozen=True)
class Known:
    """An operand that is a constant of the program."""

    array: np.ndarray


@dataclasses.dataclass(frozen=True)
class Case:
    """A call of an operator, and what it gives.

    Parameters
    ----------
    name : str
        That of the operator.
    operands : sequence of numpy.ndarray, Known, or a list of arrays
        A list is a tuple of tensors.
    expected : numpy.ndarray, or a list of them
    attrs : dict
    shapes : sequence of sequences, optional
        The dimensions of each operand that is an array, by default those of the array; names are
        symbolic.
    """

    name: str
    operands: Sequence[Any]
    expected: Any
    attrs: dict[str, Any] = dataclasses.field(default_factory=dict)
    shapes: Sequence[Sequence[Any]] | None = None

    def __str__(self) -> str:
        return f"{self.name}({self.attrs})"


def run_operator(
    name: str, *operands: Any, shapes: Sequence[Sequence[Any]] | None = None, **attrs: Any
) -> Any:
    """Run one operator, in the mode of the fixture ``exec_mode``.

    Parameters
    ----------
    name : str
    *operands : numpy.ndarray, Known, or a list of arrays
        A list is a tuple of tensors.
    shapes : sequence of sequences, optional
        The dimensions of each operand that is an array, by default those of the array; names are
        symbolic.
    **attrs
        Attributes of the operator.

    Returns
    -------
    numpy.ndarray or list of numpy.ndarray
    """
    return run_cases([Case(name, operands, None, attrs, shapes)])[0]


def run_cases(cases: Sequence[Case]) -> list[Any]:
    """Run operators, all of them in one program.

    Returns
    -------
    list of numpy.ndarray, or of lists of them
        A result for each case.
    """
    builder = relax.BlockBuilder()
    params = [_params(case, number) for number, case in enumerate(cases)]
    with builder.function("main", [one for some in params for one in some]):
        results = []
        for case, some in zip(cases, params, strict=True):
            rest = iter(some)
            values = [_value(operand, rest) for operand in case.operands]
            try:
                result = CONVERTERS[case.name](case.attrs, values)
            except Exception as error:
                error.add_note(str(case)) if hasattr(error, "add_note") else None
                raise
            results.append(builder.emit(as_tensor(result) if is_known(result) else result))
        builder.emit_func_output(builder.emit(op.tuple(*results)))
    main = relax.VirtualMachine(relax.compile(builder, opt_level=0))["main"]
    given = [one for case in cases for operand in case.operands for one in _arrays(operand)]
    return [_numpy(one) for one in main(*given)]


def check_cases(cases: Sequence[Case], rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Run operators, and compare each result, and its data type, with what is expected."""
    for case, result in zip(cases, run_cases(cases), strict=True):
        pairs = [(result, case.expected)]
        if isinstance(case.expected, list):
            pairs = list(zip(result, case.expected, strict=True))
        for got, expected in pairs:
            assert got.dtype == expected.dtype, f"{case}: {got.dtype} is not {expected.dtype}"
            np.testing.assert_allclose(got, expected, rtol, atol, err_msg=str(case))
            assert got.shape == expected.shape, f"{case}: {got.shape} is not {expected.shape}"


def _params(case: Case, number: int) -> list[relax.Var]:
    arrays = [one for operand in case.operands for one in _arrays(operand)]
    dims = case.shapes or [array.shape for array in arrays]
    named = [[f"{d}_{number}" if isinstance(d, str) else d for d in shape] for shape in dims]
    return [
        relax.Var(f"x{number}_{i}", relax.TensorStructInfo(tuple(shape), array.dtype.name))
        for i, (shape, array) in enumerate(zip(named, arrays, strict=True))
    ]


def _numpy(result: Any) -> Any:
    if isinstance(result, (tuple, list)) or type(result).__name__ == "Array":
        return [_numpy(one) for one in result]
    return np.from_dlpack(result)


def _arrays(operand: Any) -> list[np.ndarray]:
    if isinstance(operand, Known):
        return []
    return list(operand) if isinstance(operand, list) else [operand]


def _value(operand: Any, rest: Any) -> Any:
    if isinstance(operand, Known):
        return operand.array
    if isinstance(operand, list):
        return op.tuple(*(next(rest).value for _ in operand))
    return next(rest).value


def run_operators(
    calls: Sequence[tuple[str, dict[str, Any]]],
    *operands: Any,
    shapes: Sequence[Sequence[Any]] | None = None,
) -> list[Any]:
    """Run several operators on the same operands in one program, which has equal kernels once.

    Parameters
    ----------
    calls : sequence of pairs
        The name of an operator, and its attributes.
    *operands, shapes
        As `run_operator` takes them.

    Returns
    -------
    list
        Of each call what `run_operator` returns.
    """
    builder = relax.BlockBuilder()
    case = Case("", operands, None, shapes=shapes)
    arrays, params = [one for operand in operands for one in _arrays(operand)], _params(case, 0)
    with builder.function("main", params):
        rest = iter(params)
        values = [_value(operand, rest) for operand in operands]
        results = [builder.emit(CONVERTERS[name](attrs, values)) for name, attrs in calls]
        builder.emit_func_output(results)
    return _numpy(relax.VirtualMachine(relax.compile(builder))["main"](*arrays))
