# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that a program allocates itself, and other views of tensors.

`relax_mlir.compile` allocates the outputs of operators, plans their memory, and releases it after
the last use. These are for programs that do it themselves, such as those that TVM's passes leave.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n", 4), "float32"))
>>> with bb.function("main", [x]):
...     storage = op.memory.alloc_storage(["n * 16 + 64"], 0, "global", "uint8")
...     y = op.memory.alloc_tensor(storage, 64, ["n", 4], "float32")
...     bits = op.memory.view(x, ["n", 8], "int16")
...     _ = bb.emit_func_output(op.tuple(y, bits))
>>> print(y.type, bits.type)
!relax.tensor<[n, 4], f32> !relax.tensor<[n, 8], i16>
"""

from __future__ import annotations

from typing import Any

from mlir import ir

from ..core.dtypes import dtype_name, element_type
from ..core.expr import (
    Leaf,
    ShapeLike,
    TensorLike,
    Var,
    as_shape,
    as_tensor,
    as_value,
    build,
    insert,
    known_number,
    tensor_type,
)
from ..core.ir import Dim, Facts, PrimStructInfo, ShapeExpr, TensorStructInfo, TupleStructInfo
from ..core.vdevice import listed_devices
from ..dialects import relax as _ops
from .call import call_pure_packed

__all__ = [
    "alloc_storage",
    "alloc_tensor",
    "ensure_zero_offset",
    "kill_storage",
    "kill_tensor",
    "view",
]

# The memory that is there: that of TVM's other scopes is on devices of other kinds.
_SCOPE = "global"


# -- arguments ------------------------------------------------------------------------------------


def known_dims(shape: ShapeLike, what: str = "the shape") -> ShapeExpr:
    """Return the dimensions of a shape, which have to be known as expressions.

    Raises
    ------
    NotImplementedError
        If they are not: a `match_cast` gives them names.
    """
    if isinstance(shape, (ShapeExpr, list, tuple)):
        return ShapeExpr(shape)
    if not isinstance(shape, (ir.Value, Var, Leaf)):
        raise TypeError(f"expected {what} such as (2, 'n'), but got {shape!r}")
    value = as_shape(shape)
    found = value.owner.values if isinstance(value.owner, _ops.ShapeOp) else value.type.values
    if found is None:
        raise NotImplementedError(
            f"expected {what} with dimensions that are known, but got a value of type "
            f"{value.type}: name them in a match_cast"
        )
    return found


def known_text(value: Any, what: str) -> str:
    """Return a text that is given as such, or as a value of ``R.str``."""
    if isinstance(value, ir.Value) and isinstance(value.owner, _ops.StringOp):
        value = value.owner.value.value
    if not isinstance(value, str):
        got = f"a value of type {value.type}" if isinstance(value, ir.Value) else repr(value)
        raise TypeError(f"expected {what} as a str, but got {got}")
    return value


def known_dtype(value: Any) -> str:
    """Return a data type that is given as such, or as a value of ``R.dtype``."""
    if isinstance(value, ir.Value):
        if not isinstance(value.owner, _ops.DTypeOp):
            raise TypeError(
                f"expected a data type that is known, but got a value of type {value.type}"
            )
        value = value.owner.value.value
    return dtype_name(value)


def _byte_size(dtype: str) -> int:
    """Return how many bytes an element takes."""
    width: int = element_type(dtype).width
    return (width + 7) // 8


def require_scope(scope: Any) -> None:
    """Raise ValueError for memory of other kinds than the one that there is."""
    text = known_text(scope, "the storage scope")
    if text not in ("", _SCOPE):
        raise ValueError(
            f"expected the storage scope '{_SCOPE}', the only one that there is, but got {text!r}"
        )


def device_at(index: Any) -> tuple[str, ir.Attribute] | None:
    """Return the name and the attribute of a device by its number; None for the processor.

    Parameters
    ----------
    index : int
        From 0 among the devices that the module lists, by their names. Without any, 0 is the
        processor, as -1 is always.

    Raises
    ------
    ValueError
        If there is no such device.
    """
    number = int(known_number(index, "the index of a device"))
    devices = listed_devices(ir.InsertionPoint.current.block.owner)
    if number == -1 or (number == 0 and not devices):
        return None
    if not 0 <= number < len(devices):
        listed = f"{len(devices)} devices" if devices else "no devices"
        raise ValueError(
            f"expected the index of a device of the module, which lists {listed}, but got {number}"
        )
    return list(devices.items())[number]


# -- allocation -----------------------------------------------------------------------------------


def allocate_storage(shape: ShapeLike, index: Any, scope: Any, dtype: Any) -> ir.Value:
    """Return memory for so many elements of a data type."""
    require_scope(scope)
    size = Dim(_byte_size(known_dtype(dtype)))
    for dim in known_dims(shape, "the size"):
        size = size * dim
    device = device_at(index)
    return build(_ops.AllocStorageOp, size=size, device=device[1] if device else None)


def allocate_tensor(shape: ShapeLike, dtype: Any, index: Any) -> ir.Value:
    """Return a tensor with memory of its own."""
    device = device_at(index)
    type_ = TensorStructInfo(
        known_dims(shape), known_dtype(dtype), vdevice=device[0] if device else None
    )
    return build(_ops.AllocTensorOp, type_, [])


def alloc_storage(
    size: ShapeLike, virtual_device_index: int, storage_scope: str, dtype: str
) -> ir.Value:
    """Return uninitialized memory, which tensors are put in.

    It lasts as long as this value or a tensor in it.

    Parameters
    ----------
    size : shape
        How many elements of `dtype` there is room for; bytes where that is uint8.
    virtual_device_index : int
        The device, from 0 among those that the module lists; the processor where it lists none,
        and for -1.
    storage_scope : str
        "global".
    dtype : str

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If there is no such device or scope, or the size is negative.
    NotImplementedError
        If the size is a shape whose dimensions are not known.
    """
    return allocate_storage(size, virtual_device_index, storage_scope, dtype)


def alloc_tensor(
    storage: Any, offset: int, shape: ShapeLike, dtype: str, runtime_device_ind: int = 0
) -> ir.Value:
    """Return an uninitialized tensor in memory that was allocated before.

    Parameters
    ----------
    storage : value
        Of `alloc_storage`.
    offset : int
        The byte of the storage at which the tensor begins.
    shape : shape
    dtype : str
    runtime_device_ind : int
        The device, as of `alloc_storage`.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If it is known not to fit. Otherwise the program raises it where it does not.
    TypeError
        If the offset is not known.
    NotImplementedError
        If the dimensions are not known.
    """
    place = int(known_number(offset, "the offset in a storage"))
    device = device_at(runtime_device_ind)
    type_ = TensorStructInfo(
        known_dims(shape), known_dtype(dtype), vdevice=device[0] if device else None
    )
    return build(_ops.AllocTensorOp, type_, [], storage=as_value(storage), offset=place)


# -- release --------------------------------------------------------------------------------------


def kill(value: Any) -> tuple[()]:
    """Say that a value is not used any more, and return an empty tuple."""
    insert(_ops.KillOp, as_value(value))
    return ()


def kill_storage(storage: Any) -> tuple[()]:
    """Say that a storage is not used any more.

    `relax_mlir.compile` releases memory after the last use as well, so this frees nothing earlier.

    Parameters
    ----------
    storage : value
        Of `alloc_storage`. Nothing may use it later; tensors in it may still be used.

    Returns
    -------
    tuple
        An empty one.

    Raises
    ------
    TypeError
        If it is a tensor.
    """
    given = as_value(storage)
    if isinstance(given.type, TensorStructInfo):
        raise TypeError(
            f"expected a storage, but got a value of type {given.type}: write memory.kill_tensor"
        )
    return kill(given)


def kill_tensor(tensor: TensorLike) -> tuple[()]:
    """Say that a tensor is not used any more, as `kill_storage` does.

    Parameters
    ----------
    tensor : tensor

    Returns
    -------
    tuple
        An empty one.

    Raises
    ------
    TypeError
        If it is no tensor.
    """
    given = as_value(tensor)
    if not isinstance(given.type, TensorStructInfo):
        raise TypeError(f"expected a tensor, but got a value of type {given.type}")
    return kill(given)


# -- views ----------------------------------------------------------------------------------------

# The packed functions that make them.
_VIEW = "relax_mlir.run.view"
_ENSURE = "relax_mlir.run.ensure_zero_offset"


def view(
    data: TensorLike,
    shape: ShapeLike | None = None,
    dtype: str | None = None,
    relative_byte_offset: int | None = None,
) -> ir.Value:
    """Return the memory of a tensor, or a part of it, as a tensor of another shape and data type.

    Nothing is copied, unless the tensor is not compact.

    Parameters
    ----------
    data : tensor
    shape : shape, optional
        By default that of `data`.
    dtype : str, optional
        By default that of `data`.
    relative_byte_offset : int, optional
        The byte of `data` at which the result begins, by default 0. It may be a value.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If it is known not to be a part of `data`. Otherwise the program raises it.
    NotImplementedError
        If the shape or the data type of the result is not known.

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo((4, 2), "float32"))
    >>> with bb.function("main", [x]):
    ...     last = view(x, [1, 2], relative_byte_offset=24)
    ...     print(last.type)
    ...     _ = bb.emit_func_output(last)
    !relax.tensor<[1, 2], f32>
    """
    tensor = as_tensor(data)
    old = tensor_type(tensor)
    shape, dtype, relative_byte_offset = map(_stated, (shape, dtype, relative_byte_offset))
    new_dtype = old.dtype if dtype is None else known_dtype(dtype)
    if new_dtype is None or (shape is None and old.shape is None):
        raise NotImplementedError(
            "expected a shape and a data type of the view that are known, but got a tensor of "
            f"type {old}: state them, or cast it by match_cast"
        )
    dims = old.shape if shape is None else known_dims(shape)
    type_ = TensorStructInfo(dims, new_dtype, vdevice=old.vdevice)
    offset = _offset(0 if relative_byte_offset is None else relative_byte_offset)
    first = Dim(0) if isinstance(offset, ir.Value) else Dim(offset)
    _require_inside(old, type_, first)
    if offset == 0:
        if type_ == old:
            return tensor
        if new_dtype == old.dtype and is_whole(old, type_):
            return build(_ops.ViewOp, type_, tensor, [])
    return call_pure_packed(_VIEW, tensor, dims, new_dtype, offset, sinfo_args=type_)


def _stated(value: Any) -> Any:
    """Return an argument; None for an empty tuple, as which TVM writes one that is left out."""
    is_tuple = isinstance(value, ir.Value) and isinstance(value.type, TupleStructInfo)
    return None if is_tuple and not value.type.fields else value


def _offset(value: Any) -> Any:
    """Return an offset as a number or an expression; the value where the program computes it."""
    number = value
    if isinstance(value, ir.Value):
        if not isinstance(value.type, PrimStructInfo):
            raise TypeError(
                f"expected the offset as an integer, but got a value of type {value.type}"
            )
        if not isinstance(value.owner, _ops.PrimValueOp):
            return value
        number = value.owner.value
    dim = number if isinstance(number, Dim) else Dim(getattr(number, "value", number))
    return dim if dim.value is None else dim.value


def _bytes(type_: TensorStructInfo) -> Dim | None:
    """Return how many bytes a tensor has, where that is known."""
    if type_.shape is None or type_.dtype is None:
        return None
    size = Dim(_byte_size(type_.dtype))
    for dim in type_.shape:
        size = size * dim
    return size


def _facts(*sizes: Dim) -> Facts:
    names = {name for size in sizes for name in size.variables}
    return Facts(bounds=dict.fromkeys(names, (0, None)))


def is_whole(old: TensorStructInfo, new: TensorStructInfo) -> bool:
    """Say whether a view has as many bytes as the tensor."""
    have, need = _bytes(old), _bytes(new)
    if have is None or need is None:
        return False
    return bool(have.prove_equal(need, _facts(have, need)))


def _end(new: TensorStructInfo, first: Dim) -> Dim | None:
    """Return the byte at which a view ends, where that is known."""
    need = _bytes(new)
    return None if need is None else need + first


def may_be_inside(old: TensorStructInfo, new: TensorStructInfo, first: Dim) -> bool:
    """Say whether a view that begins at a byte may be a part of a tensor."""
    if first.value is not None and first.value < 0:
        return False
    have, end = _bytes(old), _end(new, first)
    if have is None or end is None:
        return True
    return end.prove_less_equal(have, _facts(have, end)) is not False


def _require_inside(old: TensorStructInfo, new: TensorStructInfo, first: Dim) -> None:
    """Raise ValueError if a view is known to leave the tensor."""
    if first.value is not None and first.value < 0:
        raise ValueError(f"expected an offset of at least 0, but got {first.value}")
    have, end = _bytes(old), _end(new, first)
    if have is not None and end is not None and not may_be_inside(old, new, first):
        raise ValueError(
            f"expected a view inside of the {have.text} bytes of {old}, but got one of type {new} "
            f"that ends at byte {end.text}"
        )


def ensure_zero_offset(data: TensorLike) -> ir.Value:
    """Return a tensor whose elements begin where its memory does.

    Parameters
    ----------
    data : tensor

    Returns
    -------
    mlir.ir.Value
        The tensor itself, or a copy.
    """
    tensor = as_tensor(data)
    return call_pure_packed(_ENSURE, tensor, sinfo_args=tensor.type)
