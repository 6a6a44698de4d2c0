# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions for a codegen as lists of steps: what a codegen reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from mlir import ir

from ..core.constants import bytes_of
from ..core.dtypes import is_numpy
from ..core.variables import blocks_of, defining_op, walk

_COMPOSITE = "Composite"
_CONSTANT = "relax.constant"


@dataclass(frozen=True)
class Step:
    """A call of the function of a pattern.

    Attributes
    ----------
    composite : str
        The name of the pattern.
    args : list of mlir.ir.Value
        The arguments, as values of the region.
    result : mlir.ir.Value
    params : list of mlir.ir.Value
        The parameters of the function, which stand for the arguments in its operations.
    ops : list of mlir.ir.OpView
        The operations of the function, in order, without constants and the like.
    attrs : dict of str to mlir.ir.Attribute
        The attributes of the function.
    """

    composite: str
    args: list[ir.Value]
    result: ir.Value
    params: list[ir.Value]
    ops: list[Any]
    attrs: dict[str, ir.Attribute]

    def source(self, value: ir.Value) -> ir.Value:
        """Return the argument that a value in the function is; itself for any other."""
        return dict(zip(self.params, self.args, strict=True)).get(value, value)

    @property
    def inputs(self) -> list[ir.Value]:
        """The operands that the operations take from outside, in order: arguments and constants.

        An argument that operations take twice is there twice.
        """
        inside = {result for op in self.ops for result in op.operation.results}
        operands = (value for op in self.ops for value in op.operation.operands)
        return [self.source(value) for value in operands if value not in inside]


class Region:
    """A function for a codegen.

    Parameters
    ----------
    function : Function
        With the attribute ``Codegen``.

    Attributes
    ----------
    function : Function
    symbol : str
        The name that the code has to have.
    params : list of mlir.ir.Value
    steps : list of Step
        In order.
    outputs : list of mlir.ir.Value
        What the function returns: a tensor, or the fields of a tuple.

    Raises
    ------
    ValueError
        If the function has something else than calls of functions of patterns, and tuples.

    Examples
    --------
    >>> from relax_mlir.dpl import is_op, wildcard
    >>> from relax_mlir.script import from_source
    >>> from relax_mlir.transform import FuseOpsByPattern
    >>> mod = from_source('''
    ... @I.ir_module
    ... class Module:
    ...     @R.function
    ...     def main(x: R.Tensor(("n", 4), "float32")):
    ...         with R.dataflow():
    ...             y = R.exp(x)
    ...             R.output(y)
    ...         return y
    ... ''')
    >>> patterns = [("my.exp", is_op("relax.exp")(wildcard()))]
    >>> fused = FuseOpsByPattern(patterns, annotate_codegen=True)(mod)
    >>> region = Region(fused["fused_relax_exp_my"])
    >>> [(step.composite, [op.name for op in step.ops]) for step in region.steps]
    [('my.exp', ['relax.exp'])]
    >>> region.steps[0].inputs == region.params, region.outputs == [region.steps[0].result]
    (True, True)
    """

    def __init__(self, function: Any) -> None:
        operation = function.operation
        self.function = function  # keeps the values alive
        self.symbol = str(operation.attributes["global_symbol"].value)
        block = operation.regions[0].blocks[0]
        self.params = list(block.arguments)
        self.steps: list[Step] = []
        *ops, end = [op.operation for op in block.operations]
        for op in ops:
            self._read(op)
        result = end.operands[0]
        made = defining_op(result)
        values = made.operands if made is not None and made.name == "relax.tuple" else [result]
        self.outputs = [self.resolve(value) for value in values]

    @property
    def constants(self) -> dict[ir.Value, np.ndarray]:
        """The elements of the constants, those that steps take, too."""
        values = [op.results[0] for op in walk(self.function.operation) if op.name == _CONSTANT]
        found = ((value, constant_of(value)) for value in values)
        return {value: array for value, array in found if array is not None}

    def _read(self, op: ir.Operation) -> None:
        if op.name == "relax.call":
            closure = defining_op(op.operands[0]) if len(op.operands) else None
            if closure is not None and _COMPOSITE in closure.attributes:
                self.steps.append(_step(closure, op))
                return
        elif op.name in (*_LEAVES, "relax.closure", "relax.tuple", "relax.get_item"):
            return
        raise ValueError(
            f"function '{self.symbol}': expected calls of functions of patterns, but got {op.name}"
        )

    def resolve(self, value: ir.Value) -> ir.Value:
        """Return what a value is: of a field of a tuple that the function makes, what is there."""
        made = defining_op(value)
        if made is None or made.name != "relax.get_item":
            return value
        tuple_ = defining_op(made.operands[0])
        if tuple_ is None or tuple_.name != "relax.tuple":
            return value
        return self.resolve(tuple_.operands[made.attributes["index"].value])


_LEAVES = tuple(
    f"relax.{name}" for name in ("constant", "dtype", "prim_value", "shape", "string", "null_value")
)


def _step(closure: ir.Operation, call: ir.Operation) -> Step:
    block = closure.regions[0].blocks[0]
    return Step(
        str(closure.attributes[_COMPOSITE].value),
        list(call.operands)[1:],
        call.results[0],
        list(block.arguments)[1:],  # after the closure itself
        [op.opview for op in _flat(block)],
        dict(closure.attributes.items()),
    )


def _flat(block: ir.Block) -> Iterator[ir.Operation]:
    """Yield the operations of a block, and those of dataflow blocks in it."""
    for view in block.operations:
        op = view.operation
        if op.name == "relax.dataflow":
            for inner in blocks_of(op):
                yield from _flat(inner)
        elif op.name not in (*_LEAVES, "relax.output", "relax.return"):
            yield op


def constant_of(value: ir.Value) -> np.ndarray | None:
    """Return the elements of a value that is a constant; None for any other.

    Those of a data type that NumPy lacks are its bits.
    """
    op = defining_op(value)
    if op is None or op.name != _CONSTANT:
        return None
    type_: Any = value.type
    dtype = type_.dtype
    if not is_numpy(dtype):
        dtype = "uint16" if dtype == "bfloat16" else "uint8"
    data = bytes_of(op.attributes["value"])
    shape = [dim.value for dim in type_.shape]
    return np.frombuffer(data, dtype).reshape(shape)
