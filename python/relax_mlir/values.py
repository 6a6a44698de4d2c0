# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values with the operators of Python, under the meaning that TVM Relax gives them.

Importing this module makes MLIR return values of the dialect as `Expr`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlir import ir

from .ir import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)


def _op(name: str) -> Any:
    # The operators need the modules that make values.
    from . import op

    return getattr(op, name)


def _binary(name: str, meaning: str) -> Any:
    def method(self: Any, other: Any) -> ir.Value:
        return _op(name)(self, other)

    method.__doc__ = meaning
    return method


def _swapped(name: str, meaning: str) -> Any:
    def method(self: Any, other: Any) -> ir.Value:
        return _op(name)(other, self)

    method.__doc__ = meaning
    return method


class Operators:
    """What Python's operators mean for values of a program."""

    __add__ = _binary("add", "Return self + other.")
    __sub__ = _binary("subtract", "Return self - other.")
    __mul__ = _binary("multiply", "Return self * other.")
    __truediv__ = _binary("divide", "Return self / other.")
    __floordiv__ = _binary("floor_divide", "Return self // other.")
    __mod__ = _binary("mod", "Return self % other.")
    __pow__ = _binary("power", "Return self ** other.")
    __radd__ = _swapped("add", "Return other + self.")
    __rsub__ = _swapped("subtract", "Return other - self.")
    __rmul__ = _swapped("multiply", "Return other * self.")
    __rtruediv__ = _swapped("divide", "Return other / self.")
    __rfloordiv__ = _swapped("floor_divide", "Return other // self.")
    __rmod__ = _swapped("mod", "Return other % self.")
    __rpow__ = _swapped("power", "Return other ** self.")
    __lt__ = _binary("less", "Return self < other.")
    __le__ = _binary("less_equal", "Return self <= other.")
    __gt__ = _binary("greater", "Return self > other.")
    __ge__ = _binary("greater_equal", "Return self >= other.")

    def __neg__(self) -> ir.Value:
        """Return -self."""
        return _op("negative")(self)

    def __call__(self, *args: Any, **kwargs: Any) -> ir.Value:
        """Call the function that this is, as `relax_mlir.op.call` does."""
        return _op("call")(self, *args, **kwargs)

    def __getitem__(self, index: int) -> ir.Value:
        """Return a field of the tuple that this is."""
        return _op("get_item")(self, index)

    def astype(self, dtype: Any) -> ir.Value:
        """Return the tensor converted to another data type."""
        return _op("astype")(self, dtype)


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
        if callable(method):
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
