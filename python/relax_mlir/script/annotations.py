# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""StructInfo as a program writes it: ``R.Tensor(("n", 4), "float32")`` and the like.

All three generations of spelling mean the same: ``R.Tensor[(n, 4), "float32"]``,
``R.Tensor(("n", 4), "float32")`` and ``R.Tensor((n, 4), "float32")``.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from typing import Any

from mlir import ir

from .. import tir
from ..core.dtypes import dtype_name
from ..core.ir import (
    Dim,
    DimLike,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from ..dialects import relax as _ops
from .state import vdevice_name, vdevice_name_of
from .tir_dtypes import DType

# Returns the dimension that a text stands for.
Resolver = Callable[[str], DimLike]


class Unknown:
    """The name ``_`` of the RFC: a shape or data type that is not known."""

    def __repr__(self) -> str:
        return "_"


UNKNOWN = Unknown()


def no_text(text: str) -> DimLike:
    """Refuse a dimension that is a text."""
    raise ValueError(
        f"expected a dimension as text, {text!r}, only in a function's signature; here it is an "
        "expression over shape variables in scope, such as n after n = T.int64()"
    )


def as_dim(value: Any, resolve: Resolver = no_text) -> DimLike:
    """Return a dimension that a program gives.

    Parameters
    ----------
    value : int, str, Dim, typing.TypeVar, tir.PrimExpr, or a scalar value of a program
    resolve : callable
        Says what a text stands for.

    Raises
    ------
    TypeError
        If it is anything else.
    """
    if isinstance(value, (Dim, int)) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        return resolve(value)
    if isinstance(value, typing.TypeVar):
        return Dim(value.__name__)
    if isinstance(value, ir.Value) and isinstance(value.type, PrimStructInfo):
        if value.type.value is None:
            raise ValueError(
                f"expected a scalar of known value as a dimension, but got one of {value.type}"
            )
        return value.type.value
    if isinstance(value, tir.PrimExpr):
        return _of_expression(value)
    if hasattr(value, "__index__"):
        return int(value)
    raise TypeError(
        f"expected a dimension: an int, a shape variable or an expression over them, but got "
        f"{_shown(value)}"
    )


def _of_expression(expr: tir.PrimExpr) -> DimLike:
    if isinstance(expr, tir.IntImm):
        return expr.value
    for variable in tir.undefined_vars(expr):
        if variable.dtype != "int64":
            raise TypeError(
                f"expected shape variables of type int64, but '{variable.name}' is of type "
                f"{variable.dtype}"
            )
    return tir.to_dim(expr)


def as_dims(values: Any, resolve: Resolver = no_text) -> list[DimLike]:
    """Return the dimensions of a shape: a sequence of them, or a value of known dimensions."""
    known = known_shape(values)
    if known is not None:
        return list(known.dims)
    if isinstance(values, str) or not isinstance(values, (list, tuple, ShapeExpr)):
        raise TypeError(
            f"expected a list or tuple of dimensions as the shape, but got {_shown(values)}"
        )
    return [as_dim(value, resolve) for value in values]


def known_shape(value: Any) -> ShapeExpr | None:
    """Return the dimensions of a shape, if they are known."""
    if isinstance(value, ShapeExpr):
        return value
    if not isinstance(value, ir.Value) or not isinstance(value.type, ShapeStructInfo):
        return None
    owner = value.owner
    if isinstance(owner, _ops.ShapeOp):  # whose declared type may say less
        return owner.values
    return value.type.values


def _shown(value: Any) -> str:
    if isinstance(value, ir.Value):
        return f"a value of type {value.type}"
    return repr(value)


class Annotation:
    """StructInfo in which dimensions may be texts.

    Parameters
    ----------
    build : callable
        Makes the StructInfo; it is given what says what a text stands for.
    texts : set of str
        The dimensions that are texts.
    own : set of str, optional
        Those of them that are in parameters of function types, which may bind them.
    """

    def __init__(
        self,
        build: Callable[[Resolver], ir.Type],
        texts: set[str],
        own: set[str] | None = None,
    ) -> None:
        self._build = build
        self.texts = texts
        self.own = own or set()

    def struct_info(self, resolve: Resolver = no_text) -> ir.Type:
        """Return the StructInfo.

        Parameters
        ----------
        resolve : callable
            Says what a text stands for.
        """
        return self._build(resolve)


def _texts(values: Any) -> set[str]:
    if isinstance(values, (list, tuple)):
        return {value for value in values if isinstance(value, str)}
    return set()


class Kind:
    """A kind of StructInfo, which a program calls, or indexes as the RFC does."""

    def __init__(self, name: str, make: Callable[..., Annotation]) -> None:
        self.name = name
        self._make = make

    def __call__(self, *args: Any, **kwargs: Any) -> Annotation:
        """Return the StructInfo of these arguments."""
        return self._make(*args, **kwargs)

    def __getitem__(self, index: Any) -> Annotation:
        """Return the StructInfo, in the spelling of the RFC."""
        args = index if isinstance(index, tuple) else (index,)
        if self.name == "R.Tensor":
            # R.Tensor[(n, k)] is of one argument, which is a tuple itself.
            is_shape = not any(isinstance(arg, (tuple, list, Unknown)) for arg in args)
            is_shape = is_shape and not isinstance(args[-1], str)
            args = (args,) if is_shape else args
        elif self.name == "R.Shape":
            args = (index,) if isinstance(index, (tuple, list)) else ([index],)
        return self._make(*args)

    def __repr__(self) -> str:
        return self.name


def as_annotation(value: Any) -> Annotation:
    """Return the StructInfo that a program gives.

    Raises
    ------
    TypeError
        If it is none.
    """
    if isinstance(value, Annotation):
        return value
    if isinstance(value, Kind):
        return value()
    if isinstance(value, ir.Type):
        return Annotation(lambda resolve: value, set())
    if value is None:
        return Annotation(lambda resolve: TupleStructInfo([]), set())
    if isinstance(value, DType):  # such as T.int64
        return prim(value.dtype)
    raise TypeError(
        'expected StructInfo such as R.Tensor((n, 4), "float32"), R.Shape([n]), R.Tuple(...), '
        f'R.Callable(...), R.Prim("int64") or R.Object, but got {_shown(value)}'
    )


def as_struct_info(value: Any) -> ir.Type:
    """Return the StructInfo that a program gives, without texts in it."""
    return as_annotation(value).struct_info()


def struct_infos(value: Any) -> Any:
    """Return one StructInfo, or a list of them where several are given."""
    if isinstance(value, (list, tuple)):
        return [as_struct_info(item) for item in value]
    return as_struct_info(value)


# ---------------------------------------------------------------------------------------------
# The kinds
# ---------------------------------------------------------------------------------------------


def _vdevice_name(vdevice: Any) -> str | None:
    if vdevice is None or isinstance(vdevice, str):
        return None if vdevice is None else vdevice_name(vdevice)
    name = getattr(vdevice, "name", None)
    if isinstance(name, str):
        return name
    return vdevice_name_of(vdevice)


def _check_rank(ndim: Any) -> None:
    if not isinstance(ndim, int) or isinstance(ndim, bool):
        raise TypeError(f"expected an int as ndim, but got {ndim!r}")


def _dtype(dtype: Any) -> str | None:
    """Return the name of a data type, or None where it is not known."""
    if dtype is None or isinstance(dtype, Unknown) or dtype in ("", "void"):
        return None
    return dtype_name(dtype)


def tensor(
    shape: Any = None,
    dtype: Any = None,
    vdevice: Any = None,
    ndim: int = -1,
    var: str | None = None,
) -> Annotation:
    """Return the StructInfo of a tensor; `var` names the variable that stands for its shape."""
    if isinstance(shape, str) and dtype is None:
        shape, dtype = None, shape
    _check_rank(ndim)
    shape = None if isinstance(shape, Unknown) else shape
    dtype = _dtype(dtype)
    is_value = isinstance(shape, ir.Value) and not isinstance(shape.type, PrimStructInfo)
    if not (shape is None or is_value or isinstance(shape, (tuple, list, ShapeExpr))):
        raise TypeError(
            f"expected a list or tuple of dimensions as the shape, but got {_shown(shape)}"
        )

    def build(resolve: Resolver) -> ir.Type:
        device = _vdevice_name(vdevice)
        if shape is None:
            return TensorStructInfo(None, dtype, ndim=ndim, vdevice=device, shape_var=var)
        if is_value and known_shape(shape) is None:
            return _tensor_of_shape(shape, dtype, ndim, device)
        dims = as_dims(shape, resolve)
        return TensorStructInfo(dims, dtype, ndim=ndim, vdevice=device)

    return Annotation(build, _texts(shape))


def _tensor_of_shape(shape: ir.Value, dtype: Any, ndim: int, device: str | None) -> ir.Type:
    """Return the type of a tensor whose shape is a value of unknown dimensions."""
    type_ = shape.type
    if not isinstance(type_, ShapeStructInfo):
        raise TypeError(f"expected a shape, but got {_shown(shape)}")
    rank = type_.ndim if ndim == -1 else ndim
    return TensorStructInfo(None, dtype, ndim=rank, vdevice=device, shape_var=type_.var)


def shape(values: Any = None, ndim: int = -1, var: str | None = None) -> Annotation:
    """Return the StructInfo of a shape; `var` names a variable that stands for it as a whole."""
    _check_rank(ndim)
    if isinstance(values, Unknown):
        values = None
    if values is not None and not isinstance(values, (tuple, list, ShapeExpr, ir.Value)):
        raise TypeError(f"expected a list or tuple of dimensions, but got {_shown(values)}")

    def build(resolve: Resolver) -> ir.Type:
        if values is None:
            return ShapeStructInfo(ndim=ndim, var=var)
        return ShapeStructInfo(as_dims(values, resolve), ndim=ndim)

    return Annotation(build, _texts(values))


def prim(dtype: Any = None, value: Any = None) -> Annotation:
    """Return the StructInfo of a scalar."""
    if dtype is None and value is None:
        raise TypeError("expected dtype or value of R.Prim")
    # The type of a number that is no integer, which TVM prints, says its data type alone here.
    is_number = isinstance(value, tir.PrimExpr) and not value.dtype.startswith("int")
    name = _dtype(dtype) or (value.dtype if is_number else "int64")

    def build(resolve: Resolver) -> ir.Type:
        known = value is not None and not is_number
        return PrimStructInfo(name, as_dim(value, resolve) if known else None)

    return Annotation(build, _texts([value]))


def tuple_of(*fields: Any) -> Annotation:
    """Return the StructInfo of a tuple."""
    if len(fields) == 1 and isinstance(fields[0], (tuple, list)):
        fields = tuple(fields[0])
    annotations = [as_annotation(field) for field in fields]

    def build(resolve: Resolver) -> ir.Type:
        return TupleStructInfo([field.struct_info(resolve) for field in annotations])

    texts = {text for field in annotations for text in field.texts}
    return Annotation(build, texts, {text for field in annotations for text in field.own})


def function(
    params: Any = None, ret: Any = None, purity: bool | None = None, derive_func: Any = None
) -> Annotation:
    """Return the StructInfo of a function."""
    if params is None:
        if ret is not None and derive_func is None:
            return _opaque(ret)
        name = "default_derive" if derive_func is None else derive_func
        return Annotation(lambda resolve: FuncStructInfo(None, derive_func=name), set())
    given: Sequence[Any] = params if isinstance(params, (tuple, list)) else [params]
    annotations = [as_annotation(param) for param in given]
    result = (
        as_annotation(ret) if ret is not None else Annotation(lambda r: ObjectStructInfo(), set())
    )

    def build(resolve: Resolver) -> ir.Type:
        types = [param.struct_info(resolve) for param in annotations]
        return FuncStructInfo(types, result.struct_info(resolve), purity is not False)

    texts = {text for param in annotations for text in param.texts}
    return Annotation(build, texts, texts | result.own)


def _opaque(ret: Any) -> Annotation:
    as_annotation(ret)
    return Annotation(lambda resolve: FuncStructInfo(None), set())


def any_object() -> Annotation:
    """Return the StructInfo of any value."""
    return Annotation(lambda resolve: ObjectStructInfo(), set())


Tensor = Kind("R.Tensor", tensor)
Shape = Kind("R.Shape", shape)
Prim = Kind("R.Prim", prim)
Tuple = Kind("R.Tuple", tuple_of)
Callable_ = Kind("R.Callable", function)
Object = Kind("R.Object", any_object)
