# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns: the base class, and those that look at one value or at what a call calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from mlir import ir

from ..core.expr import GlobalVar
from ..core.ir import Dim, ShapeExpr
from ..core.leaves import ExternFunc
from ..core.variables import defining_op, is_dataflow_var, var_name
from .expressions import Definitions, Expression, Op, as_expression, is_leaf

if TYPE_CHECKING:
    from .context import PatternSeq, SameShapeConstraint
    from .matcher import Matcher
    from .restriction import AttrPattern, DataTypePattern, ShapePattern, StructInfoPattern
    from .structure import AndPattern, CallPattern, NotPattern, OrPattern

# A requirement: a pattern for an expression, or a condition that is asked when its turn comes.
Goal: TypeAlias = "tuple[DFPattern, Expression] | Callable[[], bool]"
# One way for a pattern to match: the expression that it stands for, and the goals for that.
Alternative: TypeAlias = "tuple[Expression, Sequence[Goal]]"

# `relax_mlir.dpl`, whose classes build on this module; it sets this.
package: Any = None


class DFPattern:
    """A pattern for a part of a program.

    A pattern is matched with an expression: a value, a function, or what a call calls. Patterns
    that look for an operation (calls, tuples, constants) see through the names that a value has:
    casts, outputs of dataflow blocks, and fields of tuples that the program makes.

    The same pattern object in two places has to match the same expression.

    Examples
    --------
    >>> from relax_mlir.script import relax as R
    >>> from relax_mlir.dpl import is_op, wildcard
    >>> from relax_mlir.script import from_source
    >>> func = from_source('''
    ... @R.function
    ... def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
    ...     a = R.add(x, y)
    ...     b = R.nn.relu(a)
    ...     return b
    ... ''')
    >>> add, relu, _ = func.op.body.blocks[0].operations
    >>> lhs, rhs = wildcard(), wildcard()
    >>> pattern = is_op("relax.nn.relu")(is_op("relax.add")(lhs, rhs))
    >>> pattern.match(relu), pattern.match(add)
    (True, False)
    >>> pattern.extract_matched_expr(relu)[rhs] == func.op.body.blocks[0].arguments[1]
    True
    """

    #: Whether the children are alternatives, of which one matches what this one matches.
    is_choice: ClassVar[bool] = False

    # -- what subclasses define ----------------------------------------------------------------

    def children(self) -> Sequence[DFPattern]:
        """Return the patterns that this one consists of."""
        return ()

    def parts_of_same_value(self) -> Sequence[DFPattern]:
        """Return those of the children that match what this one matches."""
        return ()

    def expand(self, expr: Expression, matcher: Matcher) -> Iterable[Alternative]:
        """Yield the ways in which the pattern may match an expression."""
        raise NotImplementedError(f"{type(self).__name__}.expand")

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return a new pattern like this one, with copies of what it consists of."""
        raise NotImplementedError(f"{type(self).__name__}.copy")

    def root_ops(self) -> frozenset[str] | None:
        """Return the operations that may make a value which matches; None for any."""
        return None

    # -- making patterns -----------------------------------------------------------------------

    def __call__(
        self, *args: DFPattern, varg_default_wildcard: bool = False, add_constraint: bool = True
    ) -> CallPattern:
        """Return the pattern of a call of what this matches."""
        return package.CallPattern(self, args, varg_default_wildcard, add_constraint)

    def __or__(self, other: DFPattern) -> OrPattern:
        """Return the pattern of what one of both matches."""
        return package.OrPattern(self, other)

    def __and__(self, other: DFPattern) -> AndPattern:
        """Return the pattern of what both match."""
        return package.AndPattern(self, other)

    def __invert__(self) -> NotPattern:
        """Return the pattern of what this does not match."""
        return package.NotPattern(self)

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """Return the pattern of what has these attributes besides."""
        return package.AttrPattern(self, attrs)

    def has_struct_info(self, struct_info: Any) -> StructInfoPattern:
        """Return the pattern of what is of this type besides; see `StructInfoPattern`."""
        return package.StructInfoPattern(self, struct_info)

    has_ty = has_struct_info

    def has_dtype(self, dtype: Any) -> DataTypePattern:
        """Return the pattern of what is a tensor of this data type besides."""
        return package.DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        """Return the pattern of what is a tensor of this shape besides; see `ShapePattern`."""
        return package.ShapePattern(self, shape)

    def dup(self) -> DFPattern:
        """Return a copy that may match something else.

        All that the pattern consists of is copied; a part that it has twice is one part of the
        copy, too.
        """
        copies: dict[DFPattern, DFPattern] = {}

        def dup(pattern: DFPattern) -> DFPattern:
            if pattern not in copies:
                copies[pattern] = pattern.copy(dup)
            return copies[pattern]

        return dup(self)

    # -- constraints of graphs -----------------------------------------------------------------

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Require that what this matches is an argument of what `other` matches.

        Parameters
        ----------
        other : DFPattern or PatternSeq
        index : int
            The position among the arguments, where those in a tuple count one by one; -1 for any.

        Returns
        -------
        PatternSeq
            The chain. The current `PatternContext` holds the constraint.

        Raises
        ------
        TypeError, ValueError
            If `index` is no int, or below -1.
        """
        return package.PatternSeq([self]).used_by(other, index)

    def __xor__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        """Return ``self.used_by(other)``."""
        return self.used_by(other)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Require as `used_by` does, and that nothing else uses what this matches.

        An output of the dataflow block is another use.
        """
        return package.PatternSeq([self]).only_used_by(other, index)

    def __rshift__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        """Return ``self.only_used_by(other)``."""
        return self.only_used_by(other)

    def fork_to(self, *args: DFPattern | PatternSeq) -> None:
        """Require that what this matches is used by each of some patterns."""
        for other in args:
            self.used_by(other)

    def same_shape_as(self, *args: DFPattern) -> SameShapeConstraint:
        """Require that what this and others match is of the same shape."""
        return package.SameShapeConstraint(self, *args)

    # -- matching ------------------------------------------------------------------------------

    def match(self, expr: Any, var2val: Mapping[ir.Value, Any] | None = None) -> bool:
        """Say whether the pattern matches an expression.

        Parameters
        ----------
        expr : mlir.ir.Value, operation, function, GlobalVar, ExternFunc, Op or tuple of them
            An operation with one result stands for it.
        var2val : mapping with mlir.ir.Value as keys, optional
            The values whose operations may be looked at, such as `analysis.get_var2val` gives. By
            default all may.

        Returns
        -------
        bool
        """
        return self.extract_matched_expr(expr, var2val) is not None

    def extract_matched_expr(
        self, expr: Any, var2val: Mapping[ir.Value, Any] | None = None
    ) -> dict[DFPattern, Expression] | None:
        """Match an expression, and return what each pattern matched.

        Parameters
        ----------
        expr, var2val
            As of `match`.

        Returns
        -------
        dict of DFPattern to expression, or None
            Without the patterns that took no part, such as the other one of an `OrPattern`. None
            if the pattern does not match. A call, tuple or constant is the value that the
            operation makes.
        """
        given = as_expression(expr)
        scope = None
        if var2val is not None:
            known = set(var2val)
            own = defining_op(given) if isinstance(given, ir.Value) else None

            def scope(op: ir.Operation) -> bool:
                return op == own or any(result in known for result in op.results)

        matcher = package.matcher.Matcher(
            package.matcher.PatternSet([self]), scope=scope, place=_place(given)
        )
        return matcher.first([(self, given)])


def _place(expr: Expression) -> ir.Operation | None:
    """Return where what is known of an expression holds."""
    if isinstance(expr, tuple):
        return next((place for place in map(_place, expr) if place is not None), None)
    if not isinstance(expr, ir.Value):
        return None
    owner = expr.owner
    if not isinstance(owner, ir.Block):
        return owner.operation
    first = next(iter(owner.operations), None)
    return None if first is None else first.operation


def as_patterns(patterns: Iterable[Any], what: str) -> tuple[DFPattern, ...]:
    """Return patterns as a tuple.

    Raises
    ------
    TypeError
        If one is no pattern.
    """
    found = tuple(patterns)
    for pattern in found:
        if not isinstance(pattern, DFPattern):
            raise TypeError(f"expected {what} to be patterns, but got {pattern!r}")
    return found


class WildcardPattern(DFPattern):
    """Anything."""

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match."""
        yield expr, ()

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another wildcard."""
        return WildcardPattern()

    def __repr__(self) -> str:
        return "*"


class ExprPattern(DFPattern):
    """A certain expression.

    Parameters
    ----------
    expr : Op, mlir.ir.Value, GlobalVar, ExternFunc, Dim or ShapeExpr
        A value matches itself, and what an equal operation computes of equal values. A shape
        or dimension stands for the value that a program has of it.
    """

    def __init__(self, expr: Any) -> None:
        self.expr = expr if isinstance(expr, (Dim, ShapeExpr)) else as_expression(expr)

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match what is the same or equal."""
        wanted = matcher.renamed(self.expr)
        if isinstance(wanted, (Dim, ShapeExpr)):
            found = matcher.definition(expr, "relax.prim_value", "relax.shape")
            matches = found is not None and wanted in dict(found.attributes.items()).values()
        elif isinstance(wanted, ir.Value) and isinstance(expr, ir.Value):
            matches = wanted.context is expr.context and matcher.definitions.equal(wanted, expr)
        elif isinstance(expr, ir.Value):
            matches = _named(expr, matcher.definitions) == wanted
        else:
            matches = type(wanted) is type(expr) and bool(wanted == expr)
        if matches:
            yield expr, ()

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another pattern of the same expression."""
        return ExprPattern(self.expr)

    def __repr__(self) -> str:
        return str(self.expr.name) if isinstance(self.expr, Op) else f"ExprPattern({self.expr})"


def _named(value: ir.Value, definitions: Definitions) -> GlobalVar | ExternFunc | None:
    """Return the function that a value is by name."""
    op = definitions.op(definitions.resolve(value))
    if op is not None and op.name == "relax.global_var":
        return GlobalVar(op.attributes["name"].value)
    if op is not None and op.name == "relax.extern_func":
        return ExternFunc(op.attributes["global_symbol"].value)
    return None


class VarPattern(DFPattern):
    """A variable: a parameter, or the result of an operation that is no leaf.

    Leaves, which stand for themselves, are constants, shapes, scalars, strings, data types, null
    values and functions by name.

    Parameters
    ----------
    name_hint : str
        The name, as `analysis.var_name` gives it; any by default.

    Attributes
    ----------
    name : str
    """

    def __init__(self, name_hint: str = "") -> None:
        self.name = name_hint

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match a value by itself, not by how it is made."""
        if isinstance(expr, ir.Value) and not is_leaf(expr) and self._matches(expr):
            yield expr, ()

    def _matches(self, value: ir.Value) -> bool:
        return not self.name or _has_name(value, self.name)

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another pattern of the same name."""
        return type(self)(self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def _has_name(value: ir.Value, name: str) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block):
        # Without printing the function.
        attributes = owner.owner.operation.attributes
        if "arg_names" in attributes and owner.owner.operation.name == "relax.func":
            return bool(attributes["arg_names"][ir.BlockArgument(value).arg_number].value == name)
    elif owner.location.is_a_name():
        return bool(owner.location.name_str == name)
    return var_name(value) == name


class DataflowVarPattern(VarPattern):
    """A variable that only its dataflow block sees.

    Parameters
    ----------
    name_hint : str
        As of `VarPattern`.
    """

    def _matches(self, value: ir.Value) -> bool:
        return is_dataflow_var(value) and super()._matches(value)


class GlobalVarPattern(DFPattern):
    """A function of the module, or a kernel, by its name.

    Parameters
    ----------
    name_hint : str
        The whole name; any by default.

    Attributes
    ----------
    name : str
    """

    def __init__(self, name_hint: str = "") -> None:
        self.name = name_hint

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match what names a function, and a value that is one by name."""
        found = _named(expr, matcher.definitions) if isinstance(expr, ir.Value) else expr
        if isinstance(found, GlobalVar) and self.name in ("", found.name):
            yield expr, ()

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another pattern of the same name."""
        return GlobalVarPattern(self.name)

    def __repr__(self) -> str:
        return f"GlobalVarPattern({self.name!r})"


class ExternFuncPattern(DFPattern):
    """A packed function by its registered name.

    Parameters
    ----------
    global_symbol : str
        The whole name; any by default.
    """

    def __init__(self, global_symbol: str = "") -> None:
        self.global_symbol = global_symbol

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match what names a packed function, and a value that is one by name."""
        found = _named(expr, matcher.definitions) if isinstance(expr, ir.Value) else expr
        if isinstance(found, ExternFunc) and self.global_symbol in ("", found.global_symbol):
            yield expr, ()

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another pattern of the same name."""
        return ExternFuncPattern(self.global_symbol)

    def __repr__(self) -> str:
        return f"ExternFuncPattern({self.global_symbol!r})"


class ConstantPattern(DFPattern):
    """A constant tensor."""

    def expand(self, expr: Expression, matcher: Matcher) -> Iterator[Alternative]:
        """Match a value that is a constant."""
        op = matcher.definition(expr, "relax.constant")
        if op is not None:
            yield op.results[0], ()

    def copy(self, dup: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """Return another pattern of a constant."""
        return ConstantPattern()

    def root_ops(self) -> frozenset[str]:
        """Return the operation of constants."""
        return frozenset({"relax.constant"})

    def __repr__(self) -> str:
        return "ConstantPattern()"
