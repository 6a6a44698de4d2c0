# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Questions about structural information: relations, variables, calls, traditional types."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mlir import ir

from .._arguments import shown
from .._mlir_libs import _relax_mlir as _ext
from .dtypes import dtype_name
from .ir import (
    Dim,
    DimLike,
    Facts,
    FuncStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    _native,
    shape_var,
)

# ---------------------------------------------------------------------------------------------
# Relations
# ---------------------------------------------------------------------------------------------


def is_subtype(sub: ir.Type, super_: ir.Type, facts: Facts | None = None) -> bool | None:
    """Say whether each value of type `sub` is of type `super_`.

    Parameters
    ----------
    sub, super_ : StructInfo
    facts : Facts, optional
        Facts about the variables, besides that no dimension of a tensor is negative.

    Returns
    -------
    bool or None
        None: possibly, it depends on the values of variables or on what `sub` leaves open.

    Examples
    --------
    >>> from relax_mlir import FuncStructInfo, TensorStructInfo
    >>> matrix = TensorStructInfo(("n", 4), "float32")
    >>> is_subtype(matrix, TensorStructInfo(ndim=2))
    True
    >>> is_subtype(matrix, TensorStructInfo(("n", 5), "float32"))
    False
    >>> is_subtype(matrix, TensorStructInfo(("m", 4), "float32")) is None
    True

    The names that a function type binds do not matter:

    >>> n, m = TensorStructInfo(("n",)), TensorStructInfo(("m",))
    >>> is_subtype(FuncStructInfo([n], n), FuncStructInfo([m], m))
    True

    A tensor exists, so that its dimensions are not negative:

    >>> is_subtype(TensorStructInfo(("n",)), TensorStructInfo(("max(n, 0)",)))
    True
    >>> is_subtype(n, m, Facts(equalities=[("n", "m")]))
    True
    """
    return _ext.is_subtype(sub, super_, _native(facts))


def check_compatibility(
    actual: ir.Type, expected: ir.Type, facts: Facts | None = None
) -> bool | None:
    """Say whether a value of type `actual` may be used where `expected` is.

    Parameters
    ----------
    actual, expected : StructInfo
    facts : Facts, optional
        Facts about the variables, besides that no dimension of a tensor is negative.

    Returns
    -------
    bool or None
        None: possibly, which is checked at run time.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> f32 = TensorStructInfo(("n",), "float32")
    >>> check_compatibility(TensorStructInfo(("n",), "int32"), f32)
    False
    >>> check_compatibility(TensorStructInfo(("n",)), f32) is None
    True
    """
    return _ext.check_compatibility(actual, expected, _native(facts))


def unify_struct_info(lhs: ir.Type, rhs: ir.Type, facts: Facts | None = None) -> ir.Type:
    """Return the least upper bound of two types.

    Parameters
    ----------
    lhs, rhs : StructInfo
    facts : Facts, optional
        Facts about the variables, besides that no dimension of a tensor is negative.

    Returns
    -------
    StructInfo
        The most specific type that both are subtypes of, as far as it can be proven; `lhs` where
        both have the same values.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> print(unify_struct_info(TensorStructInfo(("n", 4)), TensorStructInfo(("m", 4))))
    !relax.tensor<ndim = 2>
    """
    return _ext.unify(lhs, rhs, _native(facts))


def facts_at(op: ir.Operation | ir.OpView) -> Facts:
    """Return the facts about shape variables at an operation.

    Declared bounds of the function (``tir_var_lower_bound``, ``tir_var_upper_bound``), that no
    dimension of a tensor is negative, and what each ``relax.match_cast`` before the operation
    says: the dimensions of the value and those that it checks are equal. Derivation, the warnings
    of ``relax-derive-struct-info`` and the checks of operators rely on these facts.

    Parameters
    ----------
    op : mlir.ir.Operation

    Returns
    -------
    Facts

    Examples
    --------
    >>> from relax_mlir import default_context
    >>> tensor = "!relax.tensor<[n], f32>"
    >>> mod = ir.Module.parse(
    ...     f"relax.func @main(%x: {tensor}) -> !relax.object "
    ...     "attributes {tir_var_upper_bound = {n = 128}} {"
    ...     f"  %0 = relax.match_cast %x : {tensor} -> !relax.tensor<[k], f32>"
    ...     "  relax.return %0 : !relax.tensor<[k], f32>"
    ...     "}",
    ...     default_context(),
    ... )
    >>> facts_at(mod.body.operations[0].regions[0].blocks[0].operations[1])
    Facts(bounds={'k': (0, None), 'n': (0, 128)}, equalities=[('n', 'k')], inequalities=[])
    """
    operation = op.operation
    with operation.context:
        bounds, equalities, inequalities = _ext.collect_facts(operation)
        # Bounds that cross say that no run gets here.
        for name, (lower, upper) in list(bounds.items()):
            if lower is not None and upper is not None and lower > upper:
                del bounds[name]
                inequalities += [(Dim(lower), shape_var(name)), (shape_var(name), Dim(upper))]
        return Facts(bounds, equalities, inequalities)


struct_info_lca = unify_struct_info
type_lca = unify_struct_info


class BaseCheckResult(enum.IntEnum):
    """The degree to which a type covers another one; see `struct_info_base_check`.

    Attributes
    ----------
    FAIL_L0
        The types exclude each other, or only the other one is an impure function.
    FAIL_L1
        The other type leaves open what this one says of kind, rank, data type or device.
    FAIL_L2
        It depends on the values of shape variables.
    PASS
    """

    FAIL_L0 = 0
    FAIL_L1 = 1
    FAIL_L2 = 2
    PASS = 3


def struct_info_base_check(base: ir.Type, derived: ir.Type) -> BaseCheckResult:
    """Say whether a type covers another one, and if not, how far it is from it.

    Parameters
    ----------
    base, derived : StructInfo

    Returns
    -------
    BaseCheckResult
        PASS where each value of type `derived` is of type `base`.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> base = TensorStructInfo(("n", 4), "float32")
    >>> for derived in (
    ...     base,
    ...     TensorStructInfo(("m", 4), "float32"),
    ...     TensorStructInfo(("n", 4)),
    ...     TensorStructInfo(("n", 5), "float32"),
    ... ):
    ...     print(struct_info_base_check(base, derived).name)
    PASS
    FAIL_L2
    FAIL_L1
    FAIL_L0
    """
    answer = is_subtype(derived, base)
    if answer is not None:
        return BaseCheckResult.PASS if answer else _base_check_of_others(base, derived)
    if is_subtype(erase_dims(derived), erase_dims(base)):
        return BaseCheckResult.FAIL_L2
    return BaseCheckResult.FAIL_L1


def _base_check_of_others(base: ir.Type, derived: ir.Type) -> BaseCheckResult:
    """Return the degree to which a type covers another one that is no subtype."""
    functions = isinstance(base, FuncStructInfo) and isinstance(derived, FuncStructInfo)
    if functions and base.is_pure and not derived.is_pure:
        return BaseCheckResult.FAIL_L0
    # A type that is no subtype may still leave open what the other one says.
    if is_subtype(base, derived) is False:
        return BaseCheckResult.FAIL_L0
    return BaseCheckResult.FAIL_L1


type_base_check = struct_info_base_check


def cast_always_fails(actual: ir.Type, struct_info: ir.Type) -> bool:
    """Say whether no value of type `actual` passes a match_cast to `struct_info`.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> vector = TensorStructInfo(("n",), "float32")
    >>> cast_always_fails(vector, TensorStructInfo(("m", 2), "float32"))
    True
    >>> cast_always_fails(vector, TensorStructInfo((4,), "float32"))
    False
    """
    return (
        check_compatibility(actual, struct_info) is False
        and is_subtype(struct_info, actual) is False
    )


class StructInfoWarning(UserWarning):
    """A declaration of a program that may not hold, which is checked at run time only."""


# ---------------------------------------------------------------------------------------------
# Variables
# ---------------------------------------------------------------------------------------------


def binding_vars(type_: ir.Type) -> list[str]:
    """Return the variables that stand alone, in a dimension or for a shape.

    Parameters
    ----------
    type_ : StructInfo

    Returns
    -------
    list of str
        Those that the type may bind, sorted.

    Examples
    --------
    >>> from relax_mlir import ShapeStructInfo, TensorStructInfo
    >>> binding_vars(TensorStructInfo(("n", "m * 4"))), binding_vars(ShapeStructInfo(var="s"))
    (['n'], ['s'])
    """
    return _ext.binding_vars(type_)


def _dimensions(type_: ir.Type, values: bool) -> Iterator[Dim]:
    """Yield the dimensions in a type, and the values of primitives if asked for, in order."""
    shape = None
    if isinstance(type_, TensorStructInfo):
        shape = type_.shape
    elif isinstance(type_, ShapeStructInfo):
        shape = type_.values
    elif isinstance(type_, PrimStructInfo) and values and type_.value is not None:
        yield type_.value
    yield from shape.dims if shape is not None else ()
    if isinstance(type_, TupleStructInfo):
        inner = type_.fields
    elif isinstance(type_, FuncStructInfo) and type_.derive is None:
        inner = [*type_.params, type_.ret]
    else:
        return
    for field in inner:
        yield from _dimensions(field, values)


def tir_vars_in_struct_info(type_: ir.Type) -> list[Dim]:
    """Return the variables in the dimensions and primitive values of a type.

    Parameters
    ----------
    type_ : StructInfo

    Returns
    -------
    list of Dim
        Each once, in the order of their first occurrence; those of one dimension by name.
        Variables that stand for a whole shape are not among them.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> [v.name for v in tir_vars_in_struct_info(TensorStructInfo(("m", "n * 4", "m")))]
    ['m', 'n']
    """
    names = (name for dim in _dimensions(type_, values=True) for name in dim.variables)
    with type_.context:
        return [shape_var(name) for name in dict.fromkeys(names)]


tir_vars_in_type = tir_vars_in_struct_info


def definable_tir_vars_in_struct_info(type_: ir.Type) -> list[Dim]:
    """Return the variables that a type may bind: those that stand alone in a dimension.

    Parameters
    ----------
    type_ : StructInfo

    Returns
    -------
    list of Dim
        Each once, in the order of their first occurrence.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> [v.name for v in definable_tir_vars_in_struct_info(TensorStructInfo(("m", "n * 4")))]
    ['m']
    """
    bound = set(binding_vars(type_))
    return [found for found in tir_vars_in_struct_info(type_) if found.name in bound]


definable_tir_vars_in_type = definable_tir_vars_in_struct_info


def collect_non_negative_expressions(type_: ir.Type) -> list[Dim]:
    """Return the expressions of a type that are 0 or more since they are dimensions.

    Parameters
    ----------
    type_ : StructInfo

    Returns
    -------
    list of Dim
        Each once, in order; numbers are left out.

    Examples
    --------
    >>> from relax_mlir import PrimStructInfo, TensorStructInfo, TupleStructInfo
    >>> type_ = TupleStructInfo([TensorStructInfo(("n - 1", 4)), PrimStructInfo("int64", "k")])
    >>> [expr.text for expr in collect_non_negative_expressions(type_)]
    ['n - 1']
    """
    dims = (dim for dim in _dimensions(type_, values=False) if dim.value is None)
    return list(dict.fromkeys(dims))


def erase_dims(type_: ir.Type) -> ir.Type:
    """Return the type without expressions; rank, data type, device and structure stay.

    Parameters
    ----------
    type_ : StructInfo

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> print(erase_dims(TensorStructInfo(("n", 4), "float32")))
    !relax.tensor<ndim = 2, f32>
    """
    return _ext.erase_dims(type_)


def erase_to_well_defined(
    type_: ir.Type,
    var_scope: Iterable[str] | Mapping[Any, Any] | None = None,
    shape_var_scope: Iterable[str] | None = None,
    *,
    shape_var_map: Mapping[Any, Any] | None = None,
    var_map: Mapping[Any, Any] | None = None,
) -> ir.Type:
    """Return the type without what uses a variable that is not in scope.

    Parameters
    ----------
    type_ : StructInfo
    var_scope : iterable of str
        The variables in scope that stand for a shape. A mapping is a `shape_var_map`.
    shape_var_scope : iterable of str
        The variables in scope that stand for a dimension.
    shape_var_map : mapping of str or Dim to int, str or Dim, optional
        The variables in scope that stand for a dimension, with what replaces them, as in TVM.
    var_map : mapping of str to ShapeExpr, tuple of dimensions or str, optional
        Those that stand for a shape, likewise.

    Returns
    -------
    StructInfo
        Of the same rank. What a function type binds is in scope in it.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> type_ = TensorStructInfo(("n", "m"), "float32")
    >>> print(erase_to_well_defined(type_, [], ["n"]))
    !relax.tensor<ndim = 2, f32>
    >>> erase_to_well_defined(type_, [], ["n", "m"]) == type_
    True
    >>> print(erase_to_well_defined(type_, shape_var_map={"n": 4, "m": "k"}))
    !relax.tensor<[4, k], f32>
    """
    if isinstance(var_scope, Mapping):
        var_scope, shape_var_map = None, var_scope
    dims = {_name_of(name): value for name, value in (shape_var_map or {}).items()}
    shapes = {_name_of(name): value for name, value in (var_map or {}).items()}
    erased = _ext.erase_to_well_defined(
        type_, [*(var_scope or ()), *shapes], [*(shape_var_scope or ()), *dims]
    )
    return substitute(erased, dims | shapes) if dims or shapes else erased


def _name_of(variable: Any) -> str:
    name = variable.name if isinstance(variable, Dim) else variable
    if not isinstance(name, str):
        raise TypeError(f"expected the name of a variable, but got {variable!r}")
    return name


def get_shape_var_mapping(formal: ir.Type, actual: ir.Type) -> dict[str, Dim | ShapeExpr | str]:
    """Return the values in `actual` of the variables that `formal` may bind.

    Parameters
    ----------
    formal, actual : StructInfo
        Types of one kind; for others nothing is known. Of function types the parameters are
        matched.

    Returns
    -------
    dict of str to Dim, ShapeExpr or str
        An expression for a dimension; for a shape its dimensions, or the name of the variable
        that it is. The first occurrence of a variable counts.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo
    >>> formal, actual = TensorStructInfo(("n", "m")), TensorStructInfo((4, "k + 1"))
    >>> mapping = get_shape_var_mapping(formal, actual)
    >>> mapping["n"].text, mapping["m"].text
    ('4', 'k + 1')
    """
    mapping = _ext.get_shape_var_mapping(formal, actual)
    return {
        name: value.value if isinstance(value, ir.StringAttr) else value
        for name, value in mapping.items()
    }


def substitute(
    type_: ir.Type, mapping: Mapping[str, DimLike | ShapeExpr | tuple[DimLike, ...] | list[DimLike]]
) -> ir.Type:
    """Return the type with variables replaced, all at once.

    Parameters
    ----------
    type_ : StructInfo
    mapping : mapping of str to int, str, Dim, ShapeExpr, tuple or list
        An expression for a variable that stands for a dimension. For one that stands for a shape,
        its dimensions or the name of another one.

    Returns
    -------
    StructInfo
        Variables that function types bind are renamed where a value would be captured.

    Examples
    --------
    >>> from relax_mlir import FuncStructInfo, TensorStructInfo
    >>> print(substitute(TensorStructInfo(("n", "m")), {"n": "m", "m": 4}))
    !relax.tensor<[m, 4]>
    >>> print(substitute(TensorStructInfo(shape_var="s"), {"s": (2, "n")}))
    !relax.tensor<[2, n]>
    >>> func = FuncStructInfo([TensorStructInfo(("m",))], TensorStructInfo(("m", "n")))
    >>> print(substitute(func, {"n": "m"}))
    !relax.func<(!relax.tensor<[m_0]>) -> !relax.tensor<[m_0, m]>, pure>
    """
    with type_.context:
        values = {name: _replacement(value) for name, value in mapping.items()}
        return _ext.substitute(type_, values)


def _replacement(value: DimLike | ShapeExpr | tuple[DimLike, ...] | list[DimLike]) -> ir.Attribute:
    if isinstance(value, ShapeExpr):
        return value
    if isinstance(value, (tuple, list)):
        return ShapeExpr(value)
    return Dim(value)


# ---------------------------------------------------------------------------------------------
# Calls
# ---------------------------------------------------------------------------------------------


def derive_call_result(
    callee: ir.Type, arguments: Iterable[ir.Type], sinfo_args: Iterable[ir.Type] = ()
) -> ir.Type:
    """Return the type of a call of a function with arguments of these types.

    Parameters
    ----------
    callee : FuncStructInfo
    arguments, sinfo_args : iterable of StructInfo
        `sinfo_args` is for packed functions, whose derive function decides.

    Returns
    -------
    StructInfo
        In terms of the arguments; what they do not determine is erased.

    Raises
    ------
    ValueError
        If the number of arguments is not that of the parameters, one is incompatible, or the
        derive function fails.

    Examples
    --------
    >>> from relax_mlir import FuncStructInfo, TensorStructInfo
    >>> double = FuncStructInfo([TensorStructInfo(("n",))], TensorStructInfo(("n * 2",)))
    >>> print(derive_call_result(double, [TensorStructInfo(("m + 1",))]))
    !relax.tensor<[m * 2 + 2]>
    """
    derive = FuncStructInfo(callee).derive
    if derive is None:
        return _ext.derive_call_result(callee, list(arguments))[0]
    return _ext.derive_by_name(derive, list(arguments), list(sinfo_args), callee.context)


def derive_call_ret_struct_info(func_sinfo: ir.Type, call: Any, ctx: Any = None) -> ir.Type:
    """Return the type that a call has by the type of what it calls.

    Parameters
    ----------
    func_sinfo : FuncStructInfo
    call : mlir.ir.OpView, mlir.ir.Operation or mlir.ir.Value
        A ``relax.call``, or any other operation on the arguments alone; or the value of one.
        Its callee does not matter.
    ctx
        Not used; TVM's has a BlockBuilder there.

    Returns
    -------
    StructInfo

    Raises
    ------
    TypeError
        If `call` is neither an operation nor a value.
    ValueError
        As of `derive_call_result`.

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, FuncStructInfo, TensorStructInfo, Var, op
    >>> double = FuncStructInfo([TensorStructInfo(("n",))], TensorStructInfo(("n * 2",)))
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("m + 1",), "float32"))
    >>> with bb.function("main", [x]):
    ...     y = op.exp(x)
    ...     print(derive_call_ret_struct_info(double, y))
    ...     _ = bb.emit_func_output(y)
    !relax.tensor<[m * 2 + 2]>
    """
    if not isinstance(call, (ir.Value, ir.OpView, ir.Operation)):
        raise TypeError(f"expected call to be an operation or its value, but got {shown(call)}")
    operation = (call.owner if isinstance(call, ir.Value) else call).operation
    arguments = list(operation.operands)
    if operation.name == "relax.call" and "callee" not in operation.attributes:
        arguments = arguments[1:]  # the function
    given = operation.attributes.get("sinfo_args", ())
    types = [argument.type for argument in arguments]
    return derive_call_result(func_sinfo, types, [attr.value for attr in given])


derive_call_ret_type = derive_call_ret_struct_info


# ---------------------------------------------------------------------------------------------
# Traditional types
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Type:
    """A type without expressions, as Relay has them: what `erase_struct_info` returns."""


@dataclass(frozen=True)
class ObjectType(Type):
    """Any value."""


@dataclass(frozen=True)
class DynTensorType(Type):
    """A tensor.

    Attributes
    ----------
    ndim : int
        The rank, -1 where it is not known.
    dtype : str or None
        The name of the data type, None where it is not known.
    """

    ndim: int = -1
    dtype: str | None = None


@dataclass(frozen=True)
class ShapeType(Type):
    """A shape of `ndim` dimensions; -1 where that is not known."""

    ndim: int = -1


@dataclass(frozen=True)
class PrimType(Type):
    """A primitive value of the data type `dtype`."""

    dtype: str


@dataclass(frozen=True)
class TupleType(Type):
    """A tuple of values of the types `fields`."""

    fields: tuple[Type, ...] = ()


@dataclass(frozen=True)
class PackedFuncType(Type):
    """A packed function."""


@dataclass(frozen=True)
class FuncType(Type):
    """A closure from `arg_types` to `ret_type`."""

    arg_types: tuple[Type, ...]
    ret_type: Type


def erase_struct_info(type_: ir.Type) -> Type:
    """Return the traditional type of structural information: no expressions, devices and purity.

    Parameters
    ----------
    type_ : StructInfo

    Returns
    -------
    Type

    Examples
    --------
    >>> from relax_mlir import FuncStructInfo, ShapeStructInfo, TensorStructInfo
    >>> erase_struct_info(TensorStructInfo(("n", 4), "float32", vdevice="gpu0"))
    DynTensorType(ndim=2, dtype='float32')
    >>> erase_struct_info(FuncStructInfo([ShapeStructInfo()]))
    FuncType(arg_types=(ShapeType(ndim=-1),), ret_type=ObjectType())
    """
    return _traditional(_ext.erase_struct_info(type_))


def _traditional(type_: ir.Type) -> Type:
    """Convert what is left of structural information after its expressions are erased."""
    if isinstance(type_, TensorStructInfo):
        return DynTensorType(type_.ndim, type_.dtype)
    if isinstance(type_, ShapeStructInfo):
        return ShapeType(type_.ndim)
    if isinstance(type_, PrimStructInfo):
        return PrimType(dtype_name(type_.element_type))
    if isinstance(type_, TupleStructInfo):
        return TupleType(tuple(map(_traditional, type_.fields)))
    if not isinstance(type_, FuncStructInfo):
        return ObjectType()
    if type_.derive is not None:
        return PackedFuncType()
    return FuncType(tuple(map(_traditional, type_.params)), _traditional(type_.ret))


get_static_type = erase_struct_info
