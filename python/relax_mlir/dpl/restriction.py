# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of what is of a type, shape or data type, or has attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlir import ir

from .._arguments import require_str
from ..core.dtypes import dtype_name, element_type
from ..core.ir import Dim, ShapeExpr, ShapeStructInfo, TensorStructInfo
from ..core.struct_info import binding_vars, substitute, tir_vars_in_struct_info
from ..script.annotations import as_struct_info
from .attributes import has_attributes, stated_attributes
from .expressions import Expression, type_of
from .pattern import Alternative, DFPattern, as_patterns

if TYPE_CHECKING:
    from .matcher import Matcher

# In front of the names of variables that a pattern binds, so that none is one of a program.
VARIABLE_PREFIX = "dpl$"


class _Restriction(DFPattern):
    """A pattern, and something that holds of what it matches."""

    def __init__(self, pattern: DFPattern) -> None:
        (self.pattern,) = as_patterns([pattern], "what is restricted")

    def children(self) -> Sequence[DFPattern]:
        """Return the pattern that is restricted."""
        return (self.pattern,)

    def parts_of_same_value(self) -> Sequence[DFPattern]:
        """Return the pattern that is restricted."""
        return (self.pattern,)

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match the pattern, then ask for the rest."""
        yield expr, ((self.pattern, expr), lambda: self.holds(expr, matcher))

    def holds(self, expr: Expression, matcher: Matcher) -> bool:
        """Say whether it holds of an expression."""
        raise NotImplementedError(f"{type(self).__name__}.holds")

    def root_ops(self) -> frozenset[str] | None:
        """Return those of the pattern."""
        return self.pattern.root_ops()


class StructInfoPattern(_Restriction):
    """A value of a type.

    Its shape variables are those of the pattern, whatever a program calls its own. They stand for
    dimensions of the program: each for the same one in all types of a pattern.

    Parameters
    ----------
    pattern : DFPattern
    struct_info : StructInfo, or what stands for it in TVMScript
        The value has to be of this type, or of a more specific one, as far as can be proven.
    """

    def __init__(self, pattern: DFPattern, struct_info: Any) -> None:
        super().__init__(pattern)
        if not isinstance(struct_info, ir.Type):
            struct_info = as_struct_info(struct_info)
        self.struct_info: ir.Type = struct_info
        names = [str(variable.name) for variable in tir_vars_in_struct_info(struct_info)]
        self.variables = sorted({*names, *binding_vars(struct_info)})
        renamed = {name: VARIABLE_PREFIX + name for name in self.variables}
        self.renamed = substitute(struct_info, renamed)

    def holds(self, expr: Expression, matcher: Matcher) -> bool:
        """Say whether an expression is of the type, and bind its variables."""
        return matcher.unify(self.renamed, type_of(expr))

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another such pattern."""
        return StructInfoPattern(dup(self.pattern), self.struct_info)

    def __repr__(self) -> str:
        return f"StructInfoPattern({self.pattern!r}, {self.struct_info})"


TypePattern = StructInfoPattern


class ShapePattern(_Restriction):
    """A tensor of a shape.

    Its dimensions are expressions over the shape variables of the program.

    Parameters
    ----------
    pattern : DFPattern
    shape : sequence of int, str or Dim
    """

    def __init__(self, pattern: DFPattern, shape: Sequence[Any]) -> None:
        super().__init__(pattern)
        self.shape = _shape(shape, "has_shape")

    def holds(self, expr: Expression, matcher: Matcher) -> bool:
        """Say whether an expression is a tensor whose dimensions are proven to be these."""
        type_ = type_of(expr)
        return isinstance(type_, TensorStructInfo) and matcher.same_dims(type_.shape, self.shape)

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another such pattern."""
        return ShapePattern(dup(self.pattern), self.shape)

    def __repr__(self) -> str:
        return f"ShapePattern({self.pattern!r}, {self.shape})"


def _shape(shape: Any, what: str) -> ShapeExpr:
    if not isinstance(shape, (list, tuple, ShapeExpr)):
        raise ValueError(f"expected a list of dimensions for {what}, but got {shape!r}")
    return ShapeExpr(shape)


class DataTypePattern(_Restriction):
    """A tensor of a data type.

    Parameters
    ----------
    pattern : DFPattern
    dtype : str, numpy.dtype or mlir.ir.Type
    """

    def __init__(self, pattern: DFPattern, dtype: Any) -> None:
        super().__init__(pattern)
        self.dtype = dtype_name(element_type(dtype))

    def holds(self, expr: Expression, matcher: Matcher) -> bool:
        """Say whether an expression is a tensor of the data type."""
        type_ = type_of(expr)
        return isinstance(type_, TensorStructInfo) and type_.dtype == self.dtype

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another such pattern."""
        return DataTypePattern(dup(self.pattern), self.dtype)

    def __repr__(self) -> str:
        return f"DataTypePattern({self.pattern!r}, {self.dtype!r})"


class AttrPattern(_Restriction):
    """An operation or function with certain attributes.

    Parameters
    ----------
    pattern : DFPattern
    attrs : mapping of str to bool, int, float, str, sequence, data type or mlir.ir.Attribute
        It may have others. An attribute that is left out has its default value; None stands for
        one that is left out and has none. An operator by itself has no attributes.
    """

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]) -> None:
        super().__init__(pattern)
        if not isinstance(attrs, Mapping):
            raise TypeError(f"expected attributes by name, but got {attrs!r}")
        for name in attrs:
            require_str("the name of an attribute", name)
        self.attrs = dict(attrs)

    def holds(self, expr: Expression, matcher: Matcher) -> bool:
        """Say whether an expression is an operation with the attributes."""
        op = expr if isinstance(expr, ir.Operation) else matcher.definition(expr)
        return op is not None and has_attributes(op, self.attrs)

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another such pattern."""
        return AttrPattern(dup(self.pattern), self.attrs)

    def __repr__(self) -> str:
        return f"AttrPattern({self.pattern!r}, {self.attrs})"


class SameAttrsPattern(_Restriction):
    """An operation with exactly the attributes that another one has.

    Parameters
    ----------
    pattern : DFPattern
    op : mlir.ir.Operation
    """

    def __init__(self, pattern: DFPattern, op: ir.Operation) -> None:
        super().__init__(pattern)
        self._op = op
        self._attrs = {name: str(attr) for name, attr in stated_attributes(op).items()}

    def holds(self, expr: Expression, matcher: Matcher) -> bool:
        """Say whether an expression is an operation with the same attributes."""
        op = matcher.definition(expr)
        return op is not None and self._attrs == {
            name: str(attr) for name, attr in stated_attributes(op).items()
        }

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another such pattern."""
        return SameAttrsPattern(dup(self.pattern), self._op)

    def __repr__(self) -> str:
        return f"SameAttrsPattern({self.pattern!r}, {self._attrs})"


class PrimArrPattern(DFPattern):
    """A shape: a value whose dimensions are proven to be these.

    Parameters
    ----------
    shape : sequence of int, str or Dim
        Expressions over the shape variables of the program.
    """

    def __init__(self, shape: Sequence[Any]) -> None:
        self.fields = _shape(shape, "is_shape")

    def __getitem__(self, index: int) -> Dim:
        """Return a dimension."""
        if not -len(self) <= index < len(self):
            raise IndexError(
                f"expected the index of one of {len(self)} dimensions, but got {index}"
            )
        return self.fields.dims[index]

    def __len__(self) -> int:
        return len(self.fields)

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match a value that is a shape."""
        type_ = type_of(expr)
        if isinstance(type_, ShapeStructInfo) and matcher.same_dims(type_.values, self.fields):
            yield expr, ()

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another such pattern."""
        return PrimArrPattern(self.fields)

    def __repr__(self) -> str:
        return f"PrimArrPattern({self.fields})"
