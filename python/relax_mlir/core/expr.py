# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a program: named variables, functions, and Python values as MLIR values.

An operator takes a value of MLIR, a `Var`, or a Python value: a number or an array becomes a
constant.
"""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from mlir import ir

from .._annotations import name_annotation
from .._arguments import require_str
from .._mlir_libs import _relax_mlir as _ext
from ..dialects import relax as _ops
from .constants import elements_attr, scalar_attr
from .context import current_location
from .diagnostics import check_text, reason
from .dtypes import can_convert, element_type, has_numbers
from .ir import (
    Dim,
    DimLike,
    FuncStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
)
from .operators import FUNCTIONS, Operators
from .visibility import require_visible


class Var(Operators):
    """A named value: a parameter of a function, or an output of a dataflow block.

    Parameters
    ----------
    name : str
    struct_info : mlir.ir.Type

    Attributes
    ----------
    name : str
    struct_info : mlir.ir.Type
    value : mlir.ir.Value
        The value it stands for, while the function is being built.

    Examples
    --------
    >>> x = Var("x", TensorStructInfo(("n", 4), "float32"))
    >>> x
    Var('x', !relax.tensor<[n, 4], f32>)
    """

    def __init__(self, name: str, struct_info: ir.Type) -> None:
        check_text(name)
        self.name = name
        self.struct_info = struct_info
        self._value: ir.Value | None = None

    @property
    def value(self) -> ir.Value:
        """The value of MLIR that the variable stands for."""
        if self._value is None and _bind_parameter:
            _bind_parameter[-1](self)
        if self._value is None:
            raise ValueError(
                f"expected '{self.name}' to be a parameter of the function that is being built, or "
                "a closure: in its own body it needs ret_struct_info"
            )
        return self._value

    def __repr__(self) -> str:
        return f"Var({self.name!r}, {self.struct_info})"


# The function that makes a variable a parameter of the function that is being written, if its
# parameters are stated at the end only.
_bind_parameter: list[Callable[[Var], None]] = []


def opview_of(value: Any) -> ir.OpView | None:
    """Return the operation that an expression is, or that makes a value; None if there is none."""
    if isinstance(value, ir.Value):
        value = value.owner
    if isinstance(value, ir.Operation):
        return value.opview
    return value if isinstance(value, ir.OpView) else None


class Kind(type):
    """The class of the classes that expressions of a program belong to, by their operations."""

    operations: builtins.tuple[Any, ...] = ()

    def __instancecheck__(cls, value: Any) -> bool:
        if type.__instancecheck__(cls, value):
            return True
        return bool(cls.operations) and isinstance(opview_of(value), cls.operations)


class Leaf(metaclass=Kind):
    """An expression that belongs to no program yet: `relax_mlir.core.leaves` has them."""

    struct_info: Any

    def build(self) -> ir.Value:
        """Insert it at the current place of the program."""
        raise NotImplementedError(f"{type(self).__name__}.build")


@dataclasses.dataclass(frozen=True)
class GlobalVar:
    """A function of the module, by its name.

    An operator takes it as a value: the function itself.

    Parameters
    ----------
    name : str
    struct_info : FuncStructInfo, optional
        The type of a function that is written later. By default it is found in the module.

    Examples
    --------
    Two functions that call each other:

    >>> import relax_mlir as relax
    >>> from relax_mlir import op
    >>> x = relax.Var("x", relax.TensorStructInfo((), "float32"))
    >>> later = GlobalVar("twice", relax.FuncStructInfo([x.struct_info], x.struct_info))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("once", [x], ret_struct_info=x.struct_info):
    ...     _ = bb.emit_func_output(op.call(later, x))
    >>> with bb.function("twice", [x], ret_struct_info=x.struct_info):
    ...     _ = bb.emit_func_output(op.call(GlobalVar("once"), op.add(x, x)))
    >>> "relax.call @twice" in str(bb.get())
    True
    """

    name: str
    struct_info: FuncStructInfo | None = dataclasses.field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_str("the name of a GlobalVar", self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> ir.Value:
        """Call the function, as `relax_mlir.op.call` does."""
        return FUNCTIONS["call"](self, *args, **kwargs)


def struct_info_of(function: GlobalVar) -> FuncStructInfo:
    """Return the type of a function of the module that is being built.

    Raises
    ------
    ValueError
        If there is no such function.
    """
    if function.struct_info is not None:
        return function.struct_info
    op = ir.InsertionPoint.current.block.owner.operation
    while op.parent is not None:
        op = op.parent.operation
    for symbol in op.regions[0].blocks[0]:
        name = symbol.operation.attributes.get("sym_name")
        if name is not None and name.value == function.name:
            type_ = _ext.function_struct_info(symbol.operation)
            if type_ is not None:
                return type_
    raise ValueError(f"expected a function of the module, but got '{function.name}'")


def global_var(function: GlobalVar | str) -> ir.Value:
    """Return a function of the module, or a kernel, as a value.

    Parameters
    ----------
    function : GlobalVar or str

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If there is no such function.
    """
    known = GlobalVar(function) if isinstance(function, str) else function
    return build(_ops.GlobalVarOp, struct_info_of(known), known.name)


TensorLike: TypeAlias = (
    ir.Value | Var | Leaf | np.ndarray | np.generic | bool | int | float | Sequence[Any]
)
ShapeLike: TypeAlias = ir.Value | Var | Leaf | ShapeExpr | Sequence[DimLike]

name_annotation(TensorLike, "a tensor, a number or an array")
name_annotation(ShapeLike, "a shape, such as (2, 'n')")


def require_context(arguments: Sequence[Any], context: ir.Context) -> None:
    """Raise ValueError if a type, attribute or value among the arguments is of another context."""
    for argument in arguments:
        if isinstance(argument, builtins.list):
            require_context(argument, context)
        elif (
            isinstance(argument, (ir.Type, ir.Attribute, ir.Value))
            and argument.context is not context
        ):
            raise ValueError(
                "expected values and types of the context of this program, but got some of another"
            )


def build(op_class: Any, *operands: Any, **arguments: Any) -> ir.Value:
    """Insert an operation, as `insert` does, and return its result."""
    return insert(op_class, *operands, **arguments).results[0]


def insert(op_class: Any, *operands: Any, **arguments: Any) -> ir.Operation:
    """Insert an operation at the current place of the program.

    Parameters
    ----------
    op_class : type
        A class of `relax_mlir.dialects.relax`.
    *operands, **arguments
        The arguments of its constructor. An attribute that is None is left out.

    Returns
    -------
    mlir.ir.Operation

    Raises
    ------
    ValueError
        If there is no current place, or the operands do not fit; the message names the operation.
    """
    try:
        block = ir.InsertionPoint.current.block
    except ValueError:
        raise ValueError(
            f"expected {op_class.OPERATION_NAME} inside BlockBuilder.function or an InsertionPoint"
        ) from None
    given = {name: value for name, value in arguments.items() if value is not None}
    require_context([*operands, *given.values()], block.owner.operation.context)
    require_visible(op_class.OPERATION_NAME, operands, block)
    try:
        op = op_class(*operands, **given, loc=current_location())
    except ir.MLIRError as error:
        raise ValueError(f"{op_class.OPERATION_NAME}: {reason(error)}") from None
    except IndexError:
        raise ValueError(
            f"expected {op_class.OPERATION_NAME} before the block ends, for instance before "
            "emit_func_output"
        ) from None
    made: ir.Operation = op.operation
    return made


# ---------------------------------------------------------------------------------------------
# Python values as values of MLIR
# ---------------------------------------------------------------------------------------------


def _given(value: Any) -> ir.Value | None:
    """Return the value of MLIR that `value` is already, or None."""
    if isinstance(value, ir.Value):
        return value
    if isinstance(value, Var):
        return value.value
    if isinstance(value, Leaf):
        return value.build()
    if isinstance(value, (ir.OpView, ir.Operation)):
        return value.results[0]
    return None


def const(value: Any, dtype: Any = None) -> ir.Value:
    """Return a constant tensor.

    Parameters
    ----------
    value : bool, int, float, numpy.ndarray or nested sequence of numbers
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional
        The data type. Without it an array keeps its own, and Python numbers become int32,
        float32 or bool, as in TVM.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If the value has no data type of the dialect, is a number that does not fit `dtype`, or has
        sequences of different lengths, or in themselves.
    TypeError
        If it is not of numbers, or a masked array.
    """
    return build(_ops.ConstantOp, elements_attr(value, dtype))


def prim_value(value: Any, dtype: Any = None) -> ir.Value:
    """Return a primitive value: an immutable scalar.

    Parameters
    ----------
    value : bool, int, float, numpy scalar or Dim
    dtype : str, numpy.dtype or mlir.ir.Type, optional
        By default bool, int64 or float64, or that of the NumPy scalar.

    Returns
    -------
    mlir.ir.Value
    """
    attr = value if isinstance(value, Dim) else scalar_attr(value, dtype)
    return build(_ops.PrimValueOp, attr)


def as_prim(value: Any) -> ir.Value:
    """Return a number, or an expression over shape variables, as a primitive value.

    Parameters
    ----------
    value : bool, int, float, numpy scalar, str, Dim or primitive value
        A str is an expression, such as "n + 1".

    Raises
    ------
    TypeError
        If it is something else.
    """
    given = _given(value)
    if given is None:
        given = prim_value(Dim(value) if isinstance(value, str) else value)
    if not isinstance(given.type, PrimStructInfo):
        raise TypeError(f"expected a number, but got a value of type {given.type}")
    return given


def known_number(value: Any, what: str) -> Any:
    """Return a number that has to be known now, for an attribute of an operator.

    Parameters
    ----------
    value : bool, int, float, Dim, attribute of a number, or primitive value
        A value of ``R.prim_value`` counts as the number that it holds. A value of MLIR is always
        true for Python, so none may decide anything itself.
    what : str
        For the message.

    Raises
    ------
    TypeError
        If the number is known only when the program runs, or it is something else.

    Examples
    --------
    >>> known_number(Dim(3), "an axis"), known_number(False, "a flag")
    (3, False)
    """
    number: Any = _given(value) if isinstance(value, (Var, Leaf)) else value
    if isinstance(number, ir.Value):
        is_prim = isinstance(number.owner, _ops.PrimValueOp)
        number = number.owner.value if is_prim else None
    if isinstance(number, (Dim, ir.IntegerAttr, ir.FloatAttr, ir.BoolAttr)):
        number = number.value
    if not isinstance(number, (bool, int, float, np.generic)):
        got = f"a value of type {value.type}" if isinstance(value, ir.Value) else repr(value)
        raise TypeError(f"expected {what} as a number that is known, but got {got}")
    return number


def string(value: str) -> ir.Value:
    """Return a string as a value."""
    return build(_ops.StringOp, value)


def dtype(value: Any) -> ir.Value:
    """Return a data type as a value."""
    return build(_ops.DTypeOp, ir.TypeAttr.get(element_type(value)))


def shape(dims: Sequence[DimLike] | ShapeExpr) -> ir.Value:
    """Return a shape as a value.

    Parameters
    ----------
    dims : sequence of int, str or Dim
    """
    return build(_ops.ShapeOp, ShapeExpr(dims))


def null_value() -> ir.Value:
    """Return the null object, which stands for an argument that is left out."""
    return build(_ops.NullValueOp)


def tuple(*fields: Any) -> ir.Value:  # noqa: A001 (the name TVM uses)
    """Return a tuple of values.

    Parameters
    ----------
    *fields
        Values, or Python values as `as_value` takes them.
    """
    return build(_ops.TupleOp, [as_value(field) for field in fields])


def as_value(value: Any) -> ir.Value:
    """Return a Python value as a value of MLIR, for an argument of any type.

    Parameters
    ----------
    value
        A value of MLIR or a Var stays what it is. A number or Dim becomes a primitive value,
        an array or an attribute of elements a constant, a str a string, a dtype a data type, a
        ShapeExpr a shape, a GlobalVar the function, None the null object, a tuple or list a tuple
        of its fields.

    Raises
    ------
    TypeError
        If there is no such value.
    ValueError
        If a list holds itself.
    """
    given = _given(value)
    if given is not None:
        return given
    if value is None:
        return null_value()
    if isinstance(value, (bool, int, float, np.generic, Dim)):
        return prim_value(value)
    for types, convert in _CONVERSIONS:
        if isinstance(value, types):
            return convert(value)
    if isinstance(value, ir.Attribute):
        return build(_ops.ConstantOp, value)
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        return dtype(value)
    raise TypeError(f"expected a value of a Relax program, but got {value!r}")


def _tuple_of(fields: builtins.tuple[Any, ...] | list[Any]) -> ir.Value:
    try:
        return tuple(*fields)
    except RecursionError:
        raise ValueError(
            "expected a tuple of values, but got one that is nested too deep, or holds itself"
        ) from None


_CONVERSIONS: builtins.tuple[builtins.tuple[Any, Any], ...] = (
    (str, string),
    (np.ndarray, const),
    ((np.dtype, type), dtype),
    (ShapeExpr, shape),
    (GlobalVar, global_var),
    ((builtins.tuple, list), _tuple_of),
)


def tensor_type(value: ir.Value) -> TensorStructInfo:
    """Return the type of a tensor.

    Raises
    ------
    TypeError
        If the value is not known to be a tensor.
    """
    if not isinstance(value.type, TensorStructInfo):
        raise TypeError(f"expected a tensor, but got a value of type {value.type}")
    return value.type


def scalar_tensor(value: ir.Value) -> ir.Value:
    """Return a primitive value as a tensor of rank 0.

    Parameters
    ----------
    value : mlir.ir.Value
        Its data type is that of the tensor.

    Returns
    -------
    mlir.ir.Value
    """
    owner, name = value.owner, value.type.dtype
    if isinstance(owner, _ops.PrimValueOp) and not isinstance(owner.value, Dim):
        return const(owner.value.value, name)
    result = TensorStructInfo((), name)
    call = FUNCTIONS["call_pure_packed"]
    return call("relax_mlir.run.scalar_tensor", value, name, sinfo_args=result)


def _scalar_as_tensor(value: ir.Value | None) -> ir.Value | None:
    is_scalar = value is not None and isinstance(value.type, PrimStructInfo)
    return scalar_tensor(value) if is_scalar else value


def as_tensors(*operands: TensorLike) -> list[ir.Value]:
    """Return operands as tensors of one data type.

    Primitive values become tensors of rank 0, and numbers and arrays constants of the data type
    that the first other operand has.

    Raises
    ------
    ValueError
        If a number or an array cannot be of that data type.
    """
    given = [_scalar_as_tensor(_given(operand)) for operand in operands]
    known = (tensor_type(value).dtype for value in given if value is not None)
    wanted = next((name for name in known if name is not None), None)
    return [
        as_tensor(operand, wanted) if value is None else value
        for operand, value in zip(operands, given, strict=True)
    ]


def as_tensor(operand: TensorLike, wanted: str | None = None) -> ir.Value:
    """Return an operand as a tensor; a number or array as a constant of data type `wanted`."""
    value = _given(operand)
    if value is not None:
        tensor_type(value)
        return value
    try:
        array = np.asarray(operand)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"expected an array, but got {operand!r}: {error}") from None
    if not has_numbers(array):
        raise TypeError(f"expected a tensor, a number or an array, but got {operand!r}")
    if wanted is None:
        return const(operand)
    if array.ndim > 0 and not can_convert(array, wanted):
        raise ValueError(f"expected an array of type {wanted}, but got {array.dtype.name}")
    return const(operand, wanted)


def as_shape(value: ShapeLike) -> ir.Value:
    """Return a shape, given as a value or as its dimensions."""
    given = _given(value)
    if given is None:
        return shape(cast("ShapeExpr | Sequence[DimLike]", value))
    if not isinstance(given.type, ShapeStructInfo):
        raise TypeError(f"expected a shape, but got a value of type {given.type}")
    return given
