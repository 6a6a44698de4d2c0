# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that a program allocates itself, and gradients of kernels, as calls of R."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlir import ir

from ...core.dtypes import dtype_name
from ...core.ir import Dim, PrimStructInfo, TensorStructInfo
from ...core.vdevice import listed_devices
from ...dialects import relax as _ops
from ...op.memory import is_whole, may_be_inside
from .types import TypePrinter, quote

Form = Callable[[], str]


def memory_form(
    op: ir.Operation,
    arguments: Mapping[str, Any],
    value: Callable[[ir.Value], str],
    types: TypePrinter,
) -> Form | None:
    """Return the function that writes an operation on memory; None if R makes no such one."""
    return _FORMS[op.name](op, arguments, value, types)


def _device_index(op: ir.Operation, device: Any) -> int | None:
    """Return the number of a device, by its name or as an attribute, that R takes for it."""
    devices = listed_devices(op)
    if device is None:
        return -1 if devices else 0
    for index, listed in enumerate(devices.items()):
        if device in listed:
            return index
    return None


def _alloc_storage(op: ir.Operation, arguments: Any, value: Any, types: TypePrinter) -> Form | None:
    size, index = arguments["size"], _device_index(op, arguments["device"])
    if size is None or arguments["bytes"] is not None or index is None:
        return None
    return lambda: (
        f'R.memory.alloc_storage(R.shape([{types.dim(size)}]), {index}, "global", "uint8")'
    )


def _alloc_tensor(op: ir.Operation, arguments: Any, value: Any, types: TypePrinter) -> Form | None:
    type_ = op.results[0].type
    index = _device_index(op, type_.vdevice)
    if type_.shape is None or arguments["dims"] or arguments["device"] is not None or index is None:
        return None
    storage, offset = arguments["storage"], arguments["offset"]

    def form() -> str:
        shape = f"R.shape([{types.dims(type_.shape)}])"
        dtype = quote(dtype_name(type_.dtype))
        if storage is None:
            return f"R.builtin.alloc_tensor({shape}, {dtype}, {index})"
        end = f", {index}" if index else ""
        return f"R.memory.alloc_tensor({value(storage)}, {offset.value}, {shape}, {dtype}{end})"

    return form


def _kill(op: ir.Operation, arguments: Any, value: Any, types: TypePrinter) -> Form:
    killed = arguments["value"]
    name = "vm.kill_object"
    if isinstance(killed.type, TensorStructInfo):
        name = "memory.kill_tensor"
    elif isinstance(killed.owner, _ops.AllocStorageOp):
        name = "memory.kill_storage"
    return lambda: f"R.{name}({value(killed)})"


def _view(op: ir.Operation, arguments: Any, value: Any, types: TypePrinter) -> Form | None:
    data, type_ = arguments["data"], op.results[0].type
    made = data.type
    is_same = made.dtype == type_.dtype and made.vdevice == type_.vdevice
    if type_.shape is None or made.shape is None or arguments["dims"] or not is_same:
        return None
    if made == type_ or not is_whole(made, type_):
        return None  # R makes no view, or not this operation
    return lambda: f"R.memory.view({value(data)}, R.shape([{types.dims(type_.shape)}]))"


def packed_form(
    op: ir.Operation,
    arguments: Mapping[str, Any],
    value: Callable[[ir.Value], str],
    is_inline: Callable[[ir.Value], bool],
    types: TypePrinter,
) -> Form | None:
    """Return what writes a call of the runtime that R makes for tensors; None for any other call.

    The form makes the operands anew that are written in place.
    """
    callee, given = arguments["callee"], arguments["args"]
    write = None if callee is None else _PACKED.get(callee.value)
    stated = [item.value for item in arguments["sinfo_args"] or ()]
    if write is None or not given or not isinstance(given[0].type, TensorStructInfo):
        return None
    if stated != [op.results[0].type]:
        return None
    return write(op, given, value, is_inline, types)


def _packed_view(op: Any, given: Any, value: Any, is_inline: Any, types: Any) -> Form | None:
    if len(given) != 4 or not all(map(is_inline, given[1:3])):
        return None
    shape, dtype = (each.owner for each in given[1:3])
    if not isinstance(shape, _ops.ShapeOp) or not isinstance(dtype, _ops.StringOp):
        return None
    old, new = given[0].type, op.results[0].type
    is_stated = dtype.value.value == new.dtype and shape.values == new.shape
    if not is_stated or old.vdevice != new.vdevice:
        return None
    offset = given[3]
    number = _number(offset, is_inline)
    if number is None or not may_be_inside(old, new, number):
        return None
    is_zero = number.value == 0 and isinstance(offset.owner, _ops.PrimValueOp)
    if is_zero and new.dtype == old.dtype and (new == old or is_whole(old, new)):
        return None  # R makes another operation
    dims, name = types.dims(shape.values), quote(new.dtype)
    end = "" if is_zero else f", {value(offset)}"
    return lambda: f"R.memory.view({value(given[0])}, R.shape([{dims}]), {name}{end})"


def _number(operand: ir.Value, is_inline: Callable[[ir.Value], bool]) -> Dim | None:
    """Return an integer that R makes anew, 0 for what the program computes; None for others."""
    if not isinstance(operand.type, PrimStructInfo) or operand.type.dtype != "int64":
        return None
    if not isinstance(operand.owner, _ops.PrimValueOp):
        return Dim(0)
    attribute = operand.owner.value
    if not is_inline(operand):
        return None
    return attribute if isinstance(attribute, Dim) else Dim(attribute.value)


def _packed_ensure(op: Any, given: Any, value: Any, is_inline: Any, types: Any) -> Form | None:
    if len(given) != 1 or op.results[0].type != given[0].type:
        return None
    return lambda: f"R.memory.ensure_zero_offset({value(given[0])})"


def _packed_inspect(op: Any, given: Any, value: Any, is_inline: Any, types: Any) -> Form | None:
    if len(given) != 3 or not is_inline(given[1]) or not isinstance(given[1].owner, _ops.StringOp):
        return None
    field, axis, x = given[1].owner.value.value, given[2], given[0].type
    dtype, number = _FIELDS.get(field), _number(axis, is_inline)
    if dtype is None or number is None or op.results[0].type != PrimStructInfo(dtype):
        return None
    is_known = isinstance(axis.owner, _ops.PrimValueOp)
    name = f"R.inspect.tensor_{field}"
    if field in ("shape_i", "stride_i"):
        place = number.value
        if place is None or place < 0 or (x.ndim != -1 and place >= x.ndim and is_known):
            return None  # an error of R
        if field == "shape_i" and x.shape is not None and is_known:
            return None  # R makes a number
        return lambda: f"{name}({value(given[0])}, {value(axis)})"
    is_stated = x.ndim != -1 if field == "ndim" else x.dtype is not None
    if (is_stated and not field.endswith("_offset")) or not is_known or number.value != -1:
        return None
    return lambda: f"{name}({value(given[0])})"


_FIELDS = {
    "byte_offset": "uint64",
    "dtype_bits": "uint8",
    "dtype_code": "uint8",
    "dtype_lanes": "uint16",
    "elem_offset": "uint64",
    "ndim": "int32",
    "shape_i": "int64",
    "stride_i": "int64",
}
_PACKED: dict[str, Callable[..., Form | None]] = {
    "relax_mlir.run.ensure_zero_offset": _packed_ensure,
    "relax_mlir.run.inspect": _packed_inspect,
    "relax_mlir.run.view": _packed_view,
}
_FORMS: dict[str, Callable[[ir.Operation, Any, Any, TypePrinter], Form | None]] = {
    "relax.builtin.alloc_storage": _alloc_storage,
    "relax.builtin.alloc_tensor": _alloc_tensor,
    "relax.builtin.kill": _kill,
    "relax.builtin.view": _view,
}


def gradient_arguments(arguments: Mapping[str, Any], types: TypePrinter) -> list[str] | None:
    """Return what a call of a kernel says of its gradient; None where R cannot say it."""
    name, given = arguments["te_grad_name"], arguments["te_grad_kwargs"]
    if name is None and given is None:
        return []
    if not isinstance(name, ir.StringAttr) or not isinstance(given, ir.DictAttr):
        return None
    text = [f"te_grad_name={quote(name.value)}"]
    entries = [(item.name, item.attr) for item in given]
    return [*text, f"te_grad_kwargs={types.attributes(entries)}"] if entries else text
