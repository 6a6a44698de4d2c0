# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Structural information and dimension expressions as Python classes.

The classes are subclasses of ``mlir.ir.Type`` and ``mlir.ir.Attribute``; MLIR returns them where
a value has such a type. Their constructors take Python values, or one type or attribute to cast.
Everything is made in the current context, or else in the default one.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from .context import current_context
from .diagnostics import reason
from .dtypes import dtype_name, element_type

_T = TypeVar("_T", bound=type)
# What messages show of a text.
_LONGEST = 60


def _register(cls: _T) -> _T:
    """Have MLIR return `cls` for the types or attributes of its kind."""
    base = ir.Type if issubclass(cls, ir.Type) else ir.Attribute
    caster: Callable[[Any], Any] = cls
    # The classes of the extension take one type or attribute only; ours more in __init__.
    cls.__new__ = lambda cls, *args, **kwargs: base.__new__(cls)  # type: ignore
    # They never change.
    cls.__copy__ = lambda self: self  # type: ignore[attr-defined]
    cls.__deepcopy__ = lambda self, memo: self  # type: ignore[attr-defined]
    cls.__reduce__ = _reduced  # type: ignore[assignment]
    ir.register_type_caster(cls.get_static_typeid())(lambda value: caster(value))  # type: ignore[attr-defined]
    return cls


def _reduced(self: Any) -> Any:
    """Return what pickle stores of a type or an attribute."""
    return _restored, (isinstance(self, ir.Type), str(self))


def _restored(is_type: bool, text: str) -> Any:
    """Return the type or attribute that was pickled, in the current context."""
    return (ir.Type if is_type else ir.Attribute).parse(text, current_context())


def _cast(cls: Any, base: Any) -> Any:
    if cls.isinstance(base):
        return base
    raise ValueError(f"expected {cls.__name__}, but got {base}")


# ---------------------------------------------------------------------------------------------
# Dimension expressions
# ---------------------------------------------------------------------------------------------


def _parse(text: str) -> ir.Attribute:
    try:
        return ir.Attribute.parse(f"#relax.expr<{text}>", context=current_context())
    except ir.MLIRError as error:
        raise ValueError(
            f"expected a dimension such as 'n * 4 + 1' (operations are +, -, *, floordiv, mod, "
            f"min(a, b), max(a, b)), but got {_shortened(text)!r}{_why(text, reason(error))}"
        ) from None


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _why(text: str, found: str) -> str:
    """Return why a text is no dimension, where the parser says that in words."""
    if re.search(r"(//|%|floordiv|mod)\s*0\b", text):
        return ": expected a divisor other than 0"
    return "" if found.startswith(("expected '", "invalid SSA name")) else f": {found}"


@_register
class Dim(_ext.PrimExpr):
    """An integer expression over shape variables, in a canonical form.

    Parameters
    ----------
    value : int, str, Dim, tir.PrimExpr or mlir.ir.Attribute
        A constant, or an expression in the syntax of the dialect. Variables of `relax_mlir.tir` are
        taken by their names.

    Attributes
    ----------
    kind : str
        The operation: var, int, add, mul, floordiv, mod, min, max, select, not, and, or, eq, lt
        or le.
    operands : list of Dim
    value : int or None
        The value of a constant.
    name : str or None
        The name of a variable.
    variables : list of str
        The names of all variables in the expression, sorted.
    text : str
        The expression as the dialect writes it.

    Notes
    -----
    ``==`` compares the canonical forms, as for any attribute. `prove_equal` asks whether two
    expressions have the same value.

    Examples
    --------
    >>> n = Dim("n")
    >>> print((n + 1) * 2, (n * 8) // 4)
    #relax.expr<n * 2 + 2> #relax.expr<n * 2>
    >>> 2 * n + 2 == Dim("(n + 1) * 2")
    True
    >>> (n * 4 + 1).evaluate({"n": 10})
    41
    """

    def __init__(self, value: DimLike | ir.Attribute) -> None:
        if hasattr(value, "as_dim"):
            value = value.as_dim()
        if isinstance(value, ir.Attribute):
            super().__init__(_cast(Dim, value))
        elif isinstance(value, str):
            super().__init__(_parse(value))
        else:
            super().__init__(_ext.PrimExpr.get_int(_int64(value), current_context()))

    def _binary(self, kind: str, other: DimLike, swap: bool = False) -> Dim:
        if not isinstance(other, (int, str, Dim)) and not hasattr(other, "__index__"):
            return NotImplemented
        with self.context:
            expr = Dim(other)
        pair = (expr, self) if swap else (self, expr)
        return _ext.PrimExpr.get_binary(kind, *pair)

    def __add__(self, other: DimLike) -> Dim:
        return self._binary("add", other)

    def __radd__(self, other: DimLike) -> Dim:
        return self._binary("add", other, swap=True)

    def __sub__(self, other: DimLike) -> Dim:
        return self._binary("sub", other)

    def __rsub__(self, other: DimLike) -> Dim:
        return self._binary("sub", other, swap=True)

    def __mul__(self, other: DimLike) -> Dim:
        return self._binary("mul", other)

    def __rmul__(self, other: DimLike) -> Dim:
        return self._binary("mul", other, swap=True)

    def __floordiv__(self, other: DimLike) -> Dim:
        return self._binary("floordiv", other)

    def __rfloordiv__(self, other: DimLike) -> Dim:
        return self._binary("floordiv", other, swap=True)

    def __mod__(self, other: DimLike) -> Dim:
        return self._binary("mod", other)

    def __rmod__(self, other: DimLike) -> Dim:
        return self._binary("mod", other, swap=True)

    def __neg__(self) -> Dim:
        return self._binary("sub", 0, swap=True)

    def _call(self, kind: str, *others: DimLike) -> Dim:
        with self.context:
            return _ext.PrimExpr.get_call(kind, [self, *(Dim(other) for other in others)])

    def min(self, other: DimLike) -> Dim:
        """Return the smaller one of two."""
        return self._call("min", other)

    def max(self, other: DimLike) -> Dim:
        """Return the larger one of two."""
        return self._call("max", other)

    def equal(self, other: DimLike) -> Dim:
        """Return 1 where both have the same value, else 0."""
        return self._call("eq", other)

    def less(self, other: DimLike) -> Dim:
        """Return 1 where this is less than `other`, else 0."""
        return self._call("lt", other)

    def less_equal(self, other: DimLike) -> Dim:
        """Return 1 where this is at most `other`, else 0."""
        return self._call("le", other)

    def logical_and(self, other: DimLike) -> Dim:
        """Return 1 where both are not 0, else 0."""
        return self._call("and", other)

    def logical_or(self, other: DimLike) -> Dim:
        """Return 1 where one of both is not 0, else 0."""
        return self._call("or", other)

    def logical_not(self) -> Dim:
        """Return 1 where this is 0, else 0."""
        return self._call("not")

    def select(self, then: DimLike, otherwise: DimLike) -> Dim:
        """Return `then` where this is not 0, else `otherwise`."""
        return self._call("select", then, otherwise)

    def prove_equal(self, other: DimLike, facts: Facts | None = None) -> bool | None:
        """Say whether two expressions are equal whatever their variables are.

        Parameters
        ----------
        other : int, str or Dim
        facts : Facts, optional
            Facts about the variables. Without them they may be any integers.

        Returns
        -------
        bool or None
            True: always equal. False: never. None: it depends, or was not decided. Values for
            which an expression is not defined, as a divisor is 0, do not count.

        Examples
        --------
        >>> n = Dim("n")
        >>> (n * 2).prove_equal(n + n), n.prove_equal(n + 1), n.prove_equal(4)
        (True, False, None)
        >>> (n // 2 + (n + 1) // 2).prove_equal(n)
        True
        >>> n.prove_equal("m + 1", Facts(equalities=[("n * 4", "m * 4 + 4")]))
        True
        """
        with self.context:
            return self._prove_equal(Dim(other), _native(facts))

    def prove_less_equal(self, other: DimLike, facts: Facts | None = None) -> bool | None:
        """Say whether this is at most `other` whatever the variables are.

        Parameters
        ----------
        other : int, str or Dim
        facts : Facts, optional

        Returns
        -------
        bool or None
            True: always. False: never. None: it depends, or was not decided.

        Examples
        --------
        >>> n = Dim("n")
        >>> n.min("m").prove_less_equal(n), n.prove_less_equal(n - 1)
        (True, False)
        >>> (n // 2).prove_less_equal(n, Facts(bounds={"n": (0, None)}))
        True
        """
        with self.context:
            return self._prove_less_equal(Dim(other), _native(facts))

    def simplify(self, facts: Facts | None = None) -> Dim:
        """Return a simpler expression with the same value.

        Parameters
        ----------
        facts : Facts, optional
            Facts about the variables.

        Returns
        -------
        Dim
            It has the same value wherever the facts hold and this expression is defined.

        Examples
        --------
        >>> n = Dim("n")
        >>> print((n // 4 * 4 + n % 4).simplify())
        #relax.expr<n>
        >>> print(((n * 4 + "r") // 4).simplify(Facts(bounds={"r": (0, 3)})))
        #relax.expr<n>
        """
        return self._simplify(_native(facts))

    def evaluate(self, values: Mapping[str, int]) -> int | None:
        """Return the value for given values of the variables.

        Parameters
        ----------
        values : mapping of str to int

        Returns
        -------
        int or None
            None where a variable is missing, a divisor is 0, or 64 bits do not suffice.
        """
        return self._evaluate({name: _int64(value) for name, value in values.items()})

    def substitute(self, values: Mapping[str, DimLike]) -> Dim:
        """Return the expression with variables replaced, all at once.

        Raises
        ------
        ValueError
            If the result is larger than expressions may be.
        """
        with self.context:
            return self._substitute({name: Dim(value) for name, value in values.items()})


DimLike = int | str | Dim


class Facts:
    """Facts about shape variables, for proofs and simplification.

    Parameters
    ----------
    bounds : mapping of str to (int or None, int or None), optional
        The least and the greatest value of variables; None where there is none.
    equalities : sequence of pairs of int, str or Dim, optional
        Pairs that are equal.
    inequalities : sequence of pairs of int, str or Dim, optional
        Pairs of which the first is at most the second.

    Notes
    -----
    Nothing is known of a variable that no fact speaks of, not that it is a dimension: say so with
    the bounds ``(0, None)``. Where facts contradict each other, nothing is concluded from them.

    Examples
    --------
    >>> facts = Facts(bounds={"n": (0, None)}, inequalities=[("n", "m - 1")])
    >>> Dim("n + 1").prove_equal(0, facts), Dim("m").prove_less_equal(0, facts)
    (False, False)
    """

    def __init__(
        self,
        bounds: Mapping[str, tuple[int | None, int | None]] | None = None,
        equalities: Iterable[tuple[DimLike, DimLike]] = (),
        inequalities: Iterable[tuple[DimLike, DimLike]] = (),
    ) -> None:
        self.bounds = {name: _bound(name, ends) for name, ends in (bounds or {}).items()}
        self.equalities = [(Dim(lhs), Dim(rhs)) for lhs, rhs in equalities]
        self.inequalities = [(Dim(lhs), Dim(rhs)) for lhs, rhs in inequalities]

    def __repr__(self) -> str:
        def texts(pairs: list[tuple[Dim, Dim]]) -> list[tuple[str, str]]:
            return [(lhs.text, rhs.text) for lhs, rhs in pairs]

        return (
            f"Facts(bounds={self.bounds}, equalities={texts(self.equalities)}, "
            f"inequalities={texts(self.inequalities)})"
        )


def _bound(name: str, ends: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    shape_var(name)  # anything else is no name of a variable
    lower, upper = (None if end is None else _int64(end) for end in ends)
    if lower is not None and upper is not None and lower > upper:
        raise ValueError(f"expected bounds of {name!r} in order, but got {lower} and {upper}")
    return lower, upper


def _native(facts: Facts | None) -> _ext.PrimExprFacts:
    native = _ext.PrimExprFacts()
    if facts is None:
        return native
    if not isinstance(facts, Facts):
        raise TypeError(f"expected Facts, but got {facts!r}")
    for name, ends in facts.bounds.items():
        native.add_bounds(name, *ends)
    for pair in facts.equalities:
        native.add_equal(*pair)
    for pair in facts.inequalities:
        native.add_less_equal(*pair)
    return native


def _int64(value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"expected a dimension, int, str or Dim, but got {value!r}") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"expected an integer of 64 bits, but got {number}")
    return number


def _identifier(name: str | None) -> str:
    """Return the name of a variable, empty for None."""
    if name is None:
        return ""
    if not re.fullmatch(r"[A-Za-z_][\w$.]*", name, re.ASCII):
        raise ValueError(f"expected the name of a variable, but got {name!r}")
    return name


def shape_var(name: str) -> Dim:
    """Return the shape variable of this name.

    Parameters
    ----------
    name : str
        An identifier. Two variables of one name are the same variable.

    Returns
    -------
    Dim

    Examples
    --------
    >>> n = shape_var("n")
    >>> print(TensorStructInfo((n, n * 4), "float32"))
    !relax.tensor<[n, n * 4], f32>
    """
    expr = Dim(name)
    if expr.name != name:
        raise ValueError(f"expected the name of a variable, but got {name!r}")
    return expr


@_register
class ShapeExpr(_ext.ShapeExpr):
    """A list of dimensions.

    Parameters
    ----------
    dims : sequence of int, str or Dim, or mlir.ir.Attribute

    Attributes
    ----------
    dims : list of Dim

    Examples
    --------
    >>> ShapeExpr(("n", "m * 4", 16)).dims[1].variables
    ['m']
    """

    def __init__(self, dims: Sequence[DimLike] | ir.Attribute) -> None:
        if isinstance(dims, ir.Attribute):
            super().__init__(_cast(_ext.ShapeExpr, dims))
            return
        if isinstance(dims, str):
            raise TypeError(f"expected a sequence of dimensions, but got {dims!r}")
        exprs = [Dim(dim) for dim in dims]
        super().__init__(_ext.ShapeExpr.get(exprs, current_context()))

    def __len__(self) -> int:
        return len(self.dims)

    def __getitem__(self, index: int) -> Dim:
        return self.dims[index]

    def __iter__(self) -> Iterator[Dim]:
        return iter(self.dims)  # which are made anew each time


# ---------------------------------------------------------------------------------------------
# StructInfo
# ---------------------------------------------------------------------------------------------


def _shape_and_rank(
    shape: Sequence[DimLike] | ShapeExpr | None, ndim: int
) -> tuple[ShapeExpr | None, int]:
    if shape is None:
        return None, ndim
    dims = ShapeExpr(shape)
    return dims, len(dims) if ndim == -1 else ndim


@_register
class ObjectStructInfo(_ext.ObjectStructInfo):
    """Any value.

    Examples
    --------
    >>> print(ObjectStructInfo())
    !relax.object
    """

    def __init__(self, cast: ir.Type | None = None) -> None:
        if cast is None:
            super().__init__(_ext.ObjectStructInfo.get(current_context()))
        else:
            super().__init__(_cast(_ext.ObjectStructInfo, cast))


@_register
class TensorStructInfo(_ext.TensorStructInfo):
    """A tensor: shape, rank, data type and device, as far as known.

    Parameters
    ----------
    shape : sequence of int, str or Dim, ShapeExpr, None or mlir.ir.Type
        The dimensions, or a type to cast.
    dtype : str, numpy.dtype, torch.dtype, mlir.ir.Type or None
    ndim : int
        The rank where the shape is not known; -1 where it is not known either.
    vdevice : str or None
        The name of a virtual device.
    shape_var : str or None
        The name of the variable that stands for the shape, in place of `shape`.

    Attributes
    ----------
    shape : ShapeExpr or None
    shape_var : str or None
    ndim : int
        The rank, -1 where it is not known.
    dtype : str or None
        The name of the data type.
    element_type : mlir.ir.Type or None
        The data type in MLIR.
    vdevice : str or None
    sharding : mlir.ir.Attribute or None
        How a distributed tensor lies on a mesh; see `relax_mlir.distributed.DTensorStructInfo`.

    Raises
    ------
    ValueError
        If a dimension is negative, `ndim` is not the number of dimensions, or MLIR's type of the
        elements is no data type.

    Examples
    --------
    >>> print(TensorStructInfo(("n", "m * 4", 16), "float32"))
    !relax.tensor<[n, m * 4, 16], f32>
    >>> print(TensorStructInfo(ndim=2), TensorStructInfo(dtype="bool"))
    !relax.tensor<ndim = 2> !relax.tensor<*, i1>
    >>> print(TensorStructInfo(shape_var="s", ndim=2, dtype="float32"))
    !relax.tensor<var = s, ndim = 2, f32>
    """

    def __init__(
        self,
        shape: Sequence[DimLike] | ShapeExpr | ir.Type | None = None,
        dtype: Any = None,
        *,
        ndim: int = -1,
        vdevice: str | None = None,
        shape_var: str | None = None,
    ) -> None:
        if isinstance(shape, ir.Type):
            super().__init__(_cast(_ext.TensorStructInfo, shape))
            return
        dims, rank = _shape_and_rank(shape, ndim)
        element = None if dtype is None else element_type(dtype)
        super().__init__(
            _ext.TensorStructInfo.get(
                dims, rank, element, vdevice or "", _identifier(shape_var), current_context()
            )
        )

    @property
    def dtype(self) -> str | None:
        """The name of the data type."""
        return None if self.element_type is None else dtype_name(self.element_type)


def set_distributed_caster(cls: type[TensorStructInfo]) -> None:
    """Have MLIR return `cls` for tensors with a sharding, which are of the same kind."""

    def cast(value: Any) -> TensorStructInfo:
        tensor = TensorStructInfo(value)
        return tensor if tensor.sharding is None else cls(value)

    ir.register_type_caster(TensorStructInfo.get_static_typeid(), replace=True)(cast)


@_register
class ShapeStructInfo(_ext.ShapeStructInfo):
    """A shape: its dimensions or its rank, as far as known.

    Parameters
    ----------
    values : sequence of int, str or Dim, ShapeExpr, None or mlir.ir.Type
    ndim : int
        The rank where the dimensions are not known; -1 where it is not known either.
    var : str or None
        The name of a variable that stands for the shape, in place of `values`. A signature or a
        `match_cast` binds it.

    Attributes
    ----------
    values : ShapeExpr or None
    ndim : int
    var : str or None

    Examples
    --------
    >>> print(ShapeStructInfo(("n", 4)), ShapeStructInfo(ndim=2), ShapeStructInfo())
    !relax.shape<[n, 4]> !relax.shape<ndim = 2> !relax.shape<*>
    >>> print(ShapeStructInfo(var="s", ndim=2))
    !relax.shape<var = s, ndim = 2>
    """

    def __init__(
        self,
        values: Sequence[DimLike] | ShapeExpr | ir.Type | None = None,
        *,
        ndim: int = -1,
        var: str | None = None,
    ) -> None:
        if isinstance(values, ir.Type):
            super().__init__(_cast(_ext.ShapeStructInfo, values))
            return
        dims, rank = _shape_and_rank(values, ndim)
        super().__init__(_ext.ShapeStructInfo.get(dims, rank, _identifier(var), current_context()))


@_register
class PrimStructInfo(_ext.PrimStructInfo):
    """An immutable scalar: its data type, and its value where known.

    Parameters
    ----------
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type
        The data type. A PrimStructInfo is cast.
    value : int, str, Dim or None

    Attributes
    ----------
    dtype : str
    element_type : mlir.ir.Type
    value : Dim or None

    Examples
    --------
    >>> print(PrimStructInfo("int64", "n + 1"))
    !relax.prim<i64, n + 1>
    """

    def __init__(self, dtype: Any = "int64", value: DimLike | None = None) -> None:
        if isinstance(dtype, ir.Type) and _ext.PrimStructInfo.isinstance(dtype):
            super().__init__(dtype)
            return
        expr = None if value is None else Dim(value)
        super().__init__(_ext.PrimStructInfo.get(element_type(dtype), expr))

    @property
    def dtype(self) -> str:
        """The name of the data type."""
        return dtype_name(self.element_type)


@_register
class TupleStructInfo(_ext.TupleStructInfo):
    """A tuple of values.

    Parameters
    ----------
    fields : sequence of StructInfo, or mlir.ir.Type

    Attributes
    ----------
    fields : list of StructInfo

    Examples
    --------
    >>> print(TupleStructInfo([ObjectStructInfo(), ShapeStructInfo(("n",))]))
    !relax.tuple<!relax.object, !relax.shape<[n]>>
    """

    def __init__(self, fields: Sequence[ir.Type] | ir.Type = ()) -> None:
        if isinstance(fields, ir.Type):
            super().__init__(_cast(_ext.TupleStructInfo, fields))
        else:
            super().__init__(_ext.TupleStructInfo.get(list(fields), current_context()))


@_register
class FuncStructInfo(_ext.FuncStructInfo):
    """A closure, or a packed function.

    Parameters
    ----------
    params : sequence of StructInfo, None or mlir.ir.Type
        The parameters of a closure; None for a packed function.
    ret : StructInfo
        The result of a closure, `ObjectStructInfo` by default.
    purity : bool
        Whether a closure has no visible side effect.
    derive_func : str
        For a packed function, the name of what derives the result of a call.

    Attributes
    ----------
    params : list of StructInfo
    ret : StructInfo
    is_pure : bool
    derive : str or None
        None for a closure.

    Examples
    --------
    >>> x = TensorStructInfo(("n",), "float32")
    >>> print(FuncStructInfo([x], x))
    !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>
    >>> print(FuncStructInfo(None))
    !relax.func<derive = @default_derive>
    """

    def __init__(
        self,
        params: Sequence[ir.Type] | ir.Type | None,
        ret: ir.Type | None = None,
        purity: bool = True,
        *,
        derive_func: str = "default_derive",
    ) -> None:
        if isinstance(params, ir.Type):
            super().__init__(_cast(_ext.FuncStructInfo, params))
        elif params is None:
            super().__init__(_ext.FuncStructInfo.get_packed(derive_func, current_context()))
        else:
            result = ObjectStructInfo() if ret is None else ret
            super().__init__(_ext.FuncStructInfo.get(list(params), result, purity))
