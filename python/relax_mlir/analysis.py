# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Questions about structural information and modules, under the names of the specification.

An answer is True, False, or None where it depends on the values of shape variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlir import ir

from ._mlir_libs import _relax_mlir as _ext
from .context import current_context
from .dtypes import dtype_name
from .ir import (
    Dim,
    FuncStructInfo,
    PrimExpr,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)

if TYPE_CHECKING:
    from .ir_module import ModuleLike

__all__ = [
    "DynTensorType",
    "FuncType",
    "ObjectType",
    "PackedFuncType",
    "PrimType",
    "ShapeType",
    "StructInfoWarning",
    "TupleType",
    "Type",
    "Violation",
    "WellFormedError",
    "binding_vars",
    "cast_always_fails",
    "check_compatibility",
    "check_well_formed",
    "derive_call_result",
    "erase_dims",
    "erase_struct_info",
    "erase_to_well_defined",
    "get_shape_var_mapping",
    "is_subtype",
    "substitute",
    "unify_struct_info",
    "well_formed",
]


# ---------------------------------------------------------------------------------------------
# Relations
# ---------------------------------------------------------------------------------------------


def is_subtype(sub: ir.Type, super_: ir.Type) -> bool | None:
    """Say whether each value of type `sub` is of type `super_`.

    Parameters
    ----------
    sub, super_ : StructInfo

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
    """
    return _ext.is_subtype(sub, super_)


def check_compatibility(actual: ir.Type, expected: ir.Type) -> bool | None:
    """Say whether a value of type `actual` may be used where `expected` is.

    Parameters
    ----------
    actual, expected : StructInfo

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
    return _ext.check_compatibility(actual, expected)


def unify_struct_info(lhs: ir.Type, rhs: ir.Type) -> ir.Type:
    """Return the least upper bound of two types.

    Parameters
    ----------
    lhs, rhs : StructInfo

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
    return _ext.unify(lhs, rhs)


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
    type_: ir.Type, var_scope: Iterable[str] = (), shape_var_scope: Iterable[str] = ()
) -> ir.Type:
    """Return the type without what uses a variable that is not in scope.

    Parameters
    ----------
    type_ : StructInfo
    var_scope : iterable of str
        The variables in scope that stand for a shape.
    shape_var_scope : iterable of str
        The variables in scope that stand for a dimension.

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
    """
    return _ext.erase_to_well_defined(type_, list(var_scope), list(shape_var_scope))


def get_shape_var_mapping(
    formal: ir.Type, actual: ir.Type
) -> dict[str, PrimExpr | ShapeExpr | str]:
    """Return what the variables that `formal` may bind are in `actual`.

    Parameters
    ----------
    formal, actual : StructInfo
        Types of one kind; for others nothing is known. Of function types the parameters are
        matched.

    Returns
    -------
    dict of str to PrimExpr, ShapeExpr or str
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
    type_: ir.Type, mapping: Mapping[str, Dim | ShapeExpr | tuple[Dim, ...] | list[Dim]]
) -> ir.Type:
    """Return the type with variables replaced, all at once.

    Parameters
    ----------
    type_ : StructInfo
    mapping : mapping of str to int, str, PrimExpr, ShapeExpr, tuple or list
        An expression for a variable that stands for a dimension. For one that stands for a shape,
        its dimensions or the name of another one.

    Returns
    -------
    StructInfo
        What function types bind is renamed where a value would be captured.

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


def _replacement(value: Dim | ShapeExpr | tuple[Dim, ...] | list[Dim]) -> ir.Attribute:
    if isinstance(value, ShapeExpr):
        return value
    if isinstance(value, (tuple, list)):
        return ShapeExpr(value)
    return PrimExpr(value)


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


# ---------------------------------------------------------------------------------------------
# Well-formedness
# ---------------------------------------------------------------------------------------------

_RULE = re.compile(r" \[([A-Z]{2}\d\d)\]$")
# The rules that the parser of MLIR holds, which knows no ids.
_PARSER_RULES = {
    "redefinition of SSA value": "WF02",
    "use of undeclared SSA value name": "WF02",
}


@dataclass(frozen=True)
class Violation:
    """What is wrong at one place of a module.

    Attributes
    ----------
    rule : str or None
        The id of the criterion, such as "WF05"; None for what is no Relax at all.
    message : str
    location : mlir.ir.Location
    notes : tuple of (str, mlir.ir.Location)
        Other places, such as where a value is bound, and what they have to do with it.
    """

    rule: str | None
    message: str
    location: ir.Location
    notes: tuple[tuple[str, ir.Location], ...] = ()

    def __str__(self) -> str:
        rule = f" [{self.rule}]" if self.rule else ""
        lines = [f"{_place(self.location)}: {self.message}{rule}"]
        lines += [f"  {_place(location)}: {note}" for note, location in self.notes]
        return "\n".join(lines)


class WellFormedError(ValueError):
    """A module is not well-formed.

    Attributes
    ----------
    violations : list of Violation
    """

    def __init__(self, violations: list[Violation]) -> None:
        super().__init__("\n".join(map(str, violations)))
        self.violations = violations


def _place(location: ir.Location) -> str:
    return str(location).removeprefix("loc(").removesuffix(")")


def _violation(diagnostic: ir.Diagnostic) -> Violation:
    message = diagnostic.message
    found = _RULE.search(message)
    rule = found[1] if found else None
    for text, parser_rule in _PARSER_RULES.items():
        if rule is None and text in message:
            rule = parser_rule
    notes = [(note.message, note.location) for note in diagnostic.notes]
    return Violation(
        rule,
        _RULE.sub("", message),
        diagnostic.location,
        tuple(note for note in notes if not note[0].startswith("see current operation")),
    )


def well_formed(mod: ModuleLike) -> list[Violation]:
    """Check a module against the well-formedness criteria of the specification, WF01 to WF24.

    Parameters
    ----------
    mod : IRModule, Function, mlir.ir.Module, str or BlockBuilder
        The module, or its text. It need not be verified.

    Returns
    -------
    list of Violation
        All of them, at once. Text that does not parse gives the errors of the parser.

    Examples
    --------
    >>> for violation in well_formed('''
    ... relax.func private @f(%x: !relax.tensor<[n * 2], f32>) -> !relax.shape<[m]> {
    ...   %0 = relax.match_cast %x : !relax.tensor<[n * 2], f32> -> !relax.shape<[m]>
    ...   relax.return %0 : !relax.shape<[m]>
    ... }'''):
    ...     print(violation.rule, violation.message.partition(":")[0])
    WF06 'relax.func' op argument 'x' uses shape variable 'n', which no argument binds
    WF04 'relax.func' op result uses shape variable 'm', which no argument binds
    WF12 'builtin.module' op expected a function that is not private, to enter the program by
    """
    violations: list[Violation] = []

    def record(diagnostic: ir.Diagnostic) -> bool:
        if diagnostic.severity == ir.DiagnosticSeverity.ERROR:
            violations.append(_violation(diagnostic))
        return True

    from .ir_module import as_module  # which needs what this module is for

    module: ir.Module | None = None if isinstance(mod, str) else as_module(mod).module
    context = current_context() if module is None else module.context
    with context.attach_diagnostic_handler(record):
        module = _ext.parse_unverified(mod, context) if isinstance(mod, str) else module
        if module is not None:
            _ext.check_well_formed(module)
    return violations


def check_well_formed(mod: ModuleLike) -> None:
    """Check a module as `well_formed` does.

    Raises
    ------
    WellFormedError
        If there are violations; the message lists them all.

    Examples
    --------
    >>> check_well_formed('''
    ... relax.func @f(%x: !relax.object) -> !relax.object {
    ...   relax.return %x : !relax.object
    ... }''')
    """
    violations = well_formed(mod)
    if violations:
        raise WellFormedError(violations)


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
    """What a program declares may not hold, which is checked at run time only."""
