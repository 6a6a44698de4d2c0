# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values with the operators of Python, under the meaning that TVM Relax gives them.

Importing this module makes MLIR return values of the dialect as `Expr`.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlir import ir

from .ir import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from .lifetimes import module_of
from .operators import Operators


class Expr(ir.Value):
    """A value of a program.

    It is a value of MLIR with operators: ``x + y`` inserts `relax_mlir.op.add` at the current
    place. As in TVM, ``==`` says whether two values are the same one.

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n",), "float32"))
    >>> with bb.function("main", [x]):
    ...     y = (2.0 * op.exp(x) - x).astype("float16")
    ...     print(y.struct_info)
    ...     _ = bb.emit_func_output(y)
    !relax.tensor<[n], f16>
    """

    def __new__(cls, value: ir.Value) -> Expr:
        """Make the object that __init__ fills."""
        return ir.Value.__new__(cls)

    def __init__(self, value: ir.Value) -> None:
        ir.Value.__init__(self, value)
        owner = self.owner
        self._module = module_of(owner.owner if isinstance(owner, ir.Block) else owner)

    @property
    def struct_info(self) -> ir.Type:
        """The StructInfo of the value."""
        return self.type

    def __iter__(self) -> Iterator[ir.Value]:
        """Yield the fields of the tuple that this is."""
        type_ = self.type
        if not isinstance(type_, TupleStructInfo):
            raise TypeError(f"expected a tuple, but got a value of type {type_}")
        for index in range(len(type_.fields)):
            yield self[index]


def _register() -> None:
    # A class of the extension has one base only.
    for name, method in vars(Operators).items():
        if callable(method) or name == "__array_ufunc__":
            setattr(Expr, name, method)
    for type_ in (
        FuncStructInfo,
        ObjectStructInfo,
        PrimStructInfo,
        ShapeStructInfo,
        TensorStructInfo,
        TupleStructInfo,
    ):
        ir.register_value_caster(type_.get_static_typeid())(Expr)


_register()
