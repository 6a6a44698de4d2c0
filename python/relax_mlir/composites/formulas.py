# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formulas that NumPy computes of known sizes, and a program of sizes that it finds.

Examples
--------
>>> import numpy as np
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
>>> from relax_mlir.composites.formulas import Traced
>>> def middles(at):
...     return np.floor((at + 0.5) / 2)
>>> middles(np.arange(4.0))
array([0., 0., 1., 1.])
>>> bb, x = BlockBuilder(), Var("x", TensorStructInfo(("n",), "float32"))
>>> with bb.function("main", [x]):
...     y = middles(Traced(x.value)).value
...     _ = bb.emit_func_output(y)
>>> print(y.owner.name, y.type)
relax.floor !relax.tensor<[n], f32>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mlir import ir

from .. import op
from ..core.expr import const
from .tensors import number

_OPERATORS: dict[Callable[..., Any], Callable[..., ir.Value]] = {
    np.add: op.add,
    np.subtract: op.subtract,
    np.multiply: op.multiply,
    np.divide: op.divide,
    np.negative: op.negative,
    np.absolute: op.abs,
    np.sign: op.sign,
    np.floor: op.floor,
    np.ceil: op.ceil,
    np.minimum: op.minimum,
    np.maximum: op.maximum,
    np.equal: op.equal,
    np.less: op.less,
    np.less_equal: op.less_equal,
    np.greater: op.greater,
    np.greater_equal: op.greater_equal,
    np.logical_and: op.logical_and,
    np.logical_or: op.logical_or,
    np.where: op.where,
}


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """A tensor of a program, on which NumPy's functions of elements are operators.

    Numbers and arrays beside it become constants of its data type.

    Parameters
    ----------
    value : mlir.ir.Value
    """

    def __init__(self, value: ir.Value) -> None:
        self.value = value

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a function of elements."""
        if method != "__call__" or options:
            return NotImplemented
        return self._apply(function, inputs)

    def __array_function__(
        self, function: Any, types: Any, inputs: Sequence[Any], options: Any
    ) -> Any:
        """Apply a function that is none of elements for NumPy, as `where`."""
        return NotImplemented if options else self._apply(function, inputs)

    def _apply(self, function: Any, inputs: Sequence[Any]) -> Any:
        if function not in _OPERATORS:
            return NotImplemented
        types = [one.value.type.dtype for one in inputs if isinstance(one, Traced)]
        dtype = next((one for one in types if one != "bool"), types[0])
        return Traced(_OPERATORS[function](*(_lifted(one, dtype) for one in inputs)))


def _lifted(value: Any, dtype: str) -> ir.Value:
    if isinstance(value, Traced):
        return value.value
    array = np.asarray(value)
    if array.dtype == bool:
        return const(array)
    return const(array, dtype) if array.ndim else number(array.item(), dtype)
