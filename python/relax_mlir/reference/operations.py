# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluation of operations without regions: values, casts, operators, calls of kernels.

An operation is a function of itself and the frame, to one result or, in a list, to several.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from mlir import ir
from relax_runtime import ADT, packed

from ..core.dtypes import dtype_name, is_numpy
from ..core.ir import Dim, PrimStructInfo, ShapeStructInfo, TensorStructInfo, TupleStructInfo
from .boundary import call_packed, give, take
from .constants import elements
from .dimensions import UnboundError, evaluate_all
from .matching import Matcher, Place, location_name, tensor_types
from .operators import OPERATORS
from .tensor import Array, Tensor, is_float, limits, storage_dtype
from .values import Closure, DataType, Shape, count, describe

if TYPE_CHECKING:
    from .interpreter import Frame

# More memory than any machine has.
_MOST_BYTES = 1 << 46


def run(name: str, op: Any, frame: Frame) -> list[Any]:
    """Evaluate an operation, and return its results."""
    if name in OPERATORS:
        return [_run_operator(name, op, frame)]
    if name not in _OPERATIONS:
        raise NotImplementedError(f"{frame.name}: the reference interpreter does not know {name}")
    result = _OPERATIONS[name](op, frame)
    return [] if result is None else [result.value]


class _Result:
    """A result, which may be None."""

    def __init__(self, value: Any) -> None:
        self.value = value


_OPERATIONS: dict[str, Callable[[Any, Any], _Result | None]] = {}


def operation(name: str) -> Callable[[Callable[[Any, Frame], Any]], Callable[[Any, Frame], Any]]:
    """Add a function with one result to the table."""

    def register(function: Callable[[Any, Frame], Any]) -> Callable[[Any, Frame], Any]:
        _OPERATIONS[f"relax.{name}"] = lambda op, frame: _Result(function(op, frame))
        return function

    return register


def _operands(op: Any, frame: Frame) -> list[Any]:
    return [frame.values[operand] for operand in op.operands]


# ------------------------------------------------------------------------------
# Values
# ------------------------------------------------------------------------------


@operation("constant")
def _constant(op: Any, frame: Frame) -> Tensor:
    """Return a new tensor at each evaluation (GR09, SE02)."""
    dtype = op.results[0].type.dtype or dtype_name(op.value.type.element_type)
    return Tensor(np.array(elements(op.value)), dtype)


@operation("prim_value")
def _prim_value(op: Any, frame: Frame) -> Any:
    value = op.value
    if isinstance(value, Dim):
        return frame.dim(value)
    return value.value


@operation("string")
def _string(op: Any, frame: Frame) -> str:
    return str(op.value.value)


@operation("dtype")
def _dtype(op: Any, frame: Frame) -> DataType:
    return DataType(dtype_name(op.value.value))


@operation("shape")
def _shape(op: Any, frame: Frame) -> Shape:
    return Shape(frame.dim(dim) for dim in op.values.dims)


@operation("tuple")
def _tuple(op: Any, frame: Frame) -> tuple[Any, ...]:
    return tuple(_operands(op, frame))


@operation("get_item")
def _get_item(op: Any, frame: Frame) -> Any:
    value, index = frame.values[op.operands[0]], op.index.value
    if not isinstance(value, tuple) or isinstance(value, Shape):
        raise TypeError(f"{frame.name}: expected a tuple, but got {describe(value)}")
    if index >= len(value):
        raise IndexError(f"{frame.name}: expected field {index}, but got {describe(value)}")
    return value[index]


@operation("null_value")
def _null_value(op: Any, frame: Frame) -> None:
    return None


@operation("shape_of")
def _shape_of(op: Any, frame: Frame) -> Shape:
    return Shape(frame.values[op.operands[0]].shape)


@operation("match_cast")
def _match_cast(op: Any, frame: Frame) -> Any:
    """Check a value and bind shape variables; the result is the value itself (MC01 to MC09)."""
    value, name = frame.values[op.operands[0]], location_name(op)
    frame.match(value, op.results[0].type, f"match_cast '{name}'" if name else "match_cast")
    return value


@operation("closure")
def _closure(op: Any, frame: Frame) -> Closure:
    return frame.interpreter.make_closure(op, frame)


@operation("global_var")
def _global_var(op: Any, frame: Frame) -> Closure:
    return frame.interpreter.function(op.attributes["name"].value)


@operation("extern_func")
def _extern_func(op: Any, frame: Frame) -> Any:
    return frame.interpreter.packed(op.global_symbol.value, frame)


# ------------------------------------------------------------------------------
# Algebraic data types
# ------------------------------------------------------------------------------


@operation("adt_make")
def _adt_make(op: Any, frame: Frame) -> ADT:
    return ADT.make(op.tag.value, [give(value) for value in _operands(op, frame)])


@operation("adt_tag")
def _adt_tag(op: Any, frame: Frame) -> int:
    return _adt_of(op, frame).tag


@operation("adt_get")
def _adt_get(op: Any, frame: Frame) -> Any:
    fields, index = _adt_of(op, frame).fields, op.index.value
    if index >= len(fields):
        got = f"a tuple of {count(len(fields), 'field')}"
        raise IndexError(f"{frame.name}: expected a tuple with field {index}, but got {got}")
    return take(fields[index])


def _adt_of(op: Any, frame: Frame) -> ADT:
    value = frame.values[op.operands[0]]
    if not isinstance(value, ADT):
        expected = "expected a value of an algebraic data type"
        raise TypeError(f"{frame.name}: {expected}, but got {describe(value)}")
    return value


# ------------------------------------------------------------------------------
# Devices: there is only one (OP08)
# ------------------------------------------------------------------------------


@operation("hint_on_device")
def _hint_on_device(op: Any, frame: Frame) -> Any:
    return frame.values[op.operands[0]]


@operation("redistribute")
def _redistribute(op: Any, frame: Frame) -> Any:
    # Distributed tensors are the whole ones here.
    return frame.values[op.operands[0]]


@operation("to_vdevice")
def _to_vdevice(op: Any, frame: Frame) -> Any:
    return _copy(frame.values[op.operands[0]])


def _copy(value: Any) -> Any:
    if isinstance(value, Tensor):
        return Tensor(value.data.copy(), value.dtype)
    return tuple(map(_copy, value)) if type(value) is tuple else value


# ------------------------------------------------------------------------------
# Effects
# ------------------------------------------------------------------------------


@operation("print")
def _print(op: Any, frame: Frame) -> tuple[()]:
    packed.print(op.attributes["format"].value, *map(give, _operands(op, frame)))
    return ()


@operation("assert_op")
def _assert_op(op: Any, frame: Frame) -> tuple[()]:
    condition, *args = map(give, _operands(op, frame))
    packed.assert_op(condition, op.attributes["format"].value, *args)
    return ()


@operation("fatal")
def _fatal(op: Any, frame: Frame) -> NoReturn:
    raise RuntimeError(f"{frame.name}: {op.message.value}")


# ------------------------------------------------------------------------------
# Operators
# ------------------------------------------------------------------------------


def _run_operator(name: str, op: Any, frame: Frame) -> Any:
    """Compute an operator, and check its result against its type."""
    arithmetic, row = frame.interpreter.arithmetic, OPERATORS[name]
    type_ = op.results[0].type
    for output in tensor_types(type_):
        _allocation(output, frame)
    args = [_widened(arg) for arg in _groups(op, frame)]
    try:
        result = arithmetic.call(name, row, op, args, frame)
    except (ValueError, TypeError, IndexError, MemoryError, ZeroDivisionError) as error:
        raise _operator_error(name, frame, error) from error
    named = type_ if _names_dtypes(type_) else _derived(op, frame)
    finished = _finished(name, result, named, arithmetic)
    with contextlib.suppress(UnboundError):
        frame.check(finished, type_, f"the result of {name}")
    return finished


def _names_dtypes(type_: ir.Type) -> bool:
    return all(output.dtype is not None for output in tensor_types(type_))


def _derived(op: Any, frame: Frame) -> ir.Type:
    """Return the type of the result as it follows from the operands that there are."""
    with op.operation.context, ir.Location.unknown():
        types = [_type_of(frame.values[operand], operand.type) for operand in op.operands]
        cast = "builtin.unrealized_conversion_cast"
        given = ir.Operation.create(cast, results=types, ip=False)
        derived = ir.Operation.create(
            op.operation.name,
            operands=list(given.results),
            attributes=dict(op.operation.attributes),
            infer_type=True,
            ip=False,
        )
        type_ = derived.results[0].type
        derived.erase()
        return type_


def _type_of(value: Any, known: ir.Type) -> ir.Type:
    return TensorStructInfo(value.shape, value.dtype) if isinstance(value, Tensor) else known


def _operator_error(name: str, frame: Frame, error: Exception) -> Exception:
    kinds = (MemoryError, TypeError, IndexError, ZeroDivisionError)
    kind = next((kind for kind in kinds if isinstance(error, kind)), ValueError)
    return kind(f"{frame.name}: {name}: {error}")


def _groups(op: Any, frame: Frame) -> Iterator[Any]:
    """Yield the values of operands: a tuple for a variadic one, None for one left out."""
    operands = _operands(op, frame)
    attributes = op.operation.attributes
    if "operandSegmentSizes" not in attributes:
        yield from operands
        return
    start = 0
    sizes = attributes["operandSegmentSizes"]
    for size, kind in zip(sizes, type(op)._ODS_OPERAND_SEGMENTS, strict=True):
        group = operands[start : start + size]
        start += size
        if kind == -1:
            yield tuple(group)
        else:
            yield group[0] if group else None


def _widened(value: Any) -> Any:
    """Return a value with floats of ``float64``."""
    if isinstance(value, Tensor) and is_float(value.dtype):
        return Tensor(value.data.astype(np.float64), value.dtype)
    return tuple(map(_widened, value)) if type(value) is tuple else value


def _finished(name: str, result: Any, type_: Any, arithmetic: Any) -> Any:
    if isinstance(result, (tuple, list)):
        fields = type_.fields
        return tuple(
            _finished(name, item, field, arithmetic)
            for item, field in zip(result, fields, strict=True)
        )
    if isinstance(result, Tensor):
        return arithmetic.finish(name, result.data, result.dtype)
    return arithmetic.finish(name, np.asarray(result), type_.dtype)


# ------------------------------------------------------------------------------
# Outputs that are allocated
# ------------------------------------------------------------------------------


def _allocation(type_: TensorStructInfo, frame: Frame) -> Shape | None:
    """Return the shape of a tensor to allocate, None where the type does not say it.

    Raises
    ------
    ValueError
        If a dimension is negative.
    MemoryError
        If there are too many bytes for any machine.
    """
    shape = _declared_shape(type_, frame)
    if shape is None:
        return None
    size = 1
    for index, dim in enumerate(shape):
        if dim < 0:
            raise ValueError(
                f"{frame.name}: expected dimension {index} of {type_} to be at least 0, but it is "
                f"{dim}"
            )
        size *= dim
    if size > _MOST_BYTES:
        raise MemoryError(f"{frame.name}: out of memory for a tensor of shape {tuple(shape)}")
    return shape


def _declared_shape(type_: TensorStructInfo, frame: Frame) -> Shape | None:
    if type_.shape_var is not None:
        return frame.dims.get(type_.shape_var)
    if type_.shape is None:
        return None
    try:
        return evaluate_all(type_.shape, frame.dims)
    except UnboundError:
        return None
    except (ValueError, ZeroDivisionError) as error:
        raise type(error)(f"{frame.name}: {error}") from None


def _allocate(type_: TensorStructInfo, frame: Frame) -> Tensor:
    """Return a tensor whose elements are undefined: NaN, or as large as can be."""
    shape, dtype = _allocation(type_, frame), type_.dtype
    assert shape is not None and dtype is not None, "the verifier wants both"
    data: Array = np.empty(shape, storage_dtype(dtype))
    data.fill(np.nan if is_float(dtype) else dtype == "bool" or limits(dtype)[1])
    return Tensor(data, dtype)


# ------------------------------------------------------------------------------
# Kernels
# ------------------------------------------------------------------------------


@operation("call_tir")
def _call_tir(op: Any, frame: Frame) -> Any:
    """Call a kernel with new tensors as its last arguments (OP01)."""
    args = [*_flat(frame.values[arg] for arg in op.args), *_packed_ints(op, frame)]
    type_ = op.results[0].type
    outputs = [_allocate(tensor, frame) for tensor in tensor_types(type_)]
    results = _run_kernel(op, [*args, *outputs], frame)
    for output, result in zip(outputs, results, strict=bool(results)):
        output.data[...] = result
    return tuple(outputs) if isinstance(type_, TupleStructInfo) else outputs[0]


@operation("call_tir_inplace")
def _call_tir_inplace(op: Any, frame: Frame) -> Any:
    """Call a kernel that updates some of its arguments (OP02)."""
    args = list(_flat(frame.values[arg] for arg in op.args))
    type_, indices = op.results[0].type, list(op.inplace_indices)
    outputs = [
        args[index] if index >= 0 else _allocate(tensor, frame)
        for index, tensor in zip(indices, tensor_types(type_), strict=True)
    ]
    _check_updates(args, indices, frame)
    allocated = [output for index, output in zip(indices, outputs, strict=True) if index < 0]
    results = _run_kernel(op, [*args, *_packed_ints(op, frame), *allocated], frame)
    copies = [np.array(result) for result in results]
    for output, result in zip(outputs, copies, strict=bool(copies)):
        output.data[...] = result
    return tuple(outputs) if isinstance(type_, TupleStructInfo) else outputs[0]


def _run_kernel(op: Any, args: list[Any], frame: Frame) -> list[Array]:
    """Call a kernel, each of whose shape variables has to have one value."""
    kernel = frame.interpreter.functions[op.callee.value]
    said = list(_said_of_params(kernel, args))
    bound = {dim.name for dim, _ in said if dim.kind == "var"}
    known = [(dim, size) for dim, size in said if bound.issuperset(dim.variables)]
    if known:
        dims, sizes = zip(*known, strict=True)
        place = Place(frame.name, f"the operands of {op.operation.name}")
        Matcher({}).match([(Shape(sizes), ShapeStructInfo(dims), place)])
    return frame.interpreter.kernels.call_on_values(kernel, args)


def _said_of_params(kernel: Any, args: list[Any]) -> Iterator[tuple[Dim, int]]:
    """Yield the declared dimensions and integers of a kernel, with their actual values."""
    if "arg_attrs" not in kernel.attributes:
        return
    for arg, attributes in zip(args, kernel.attributes["arg_attrs"], strict=True):
        if "relax.struct_info" not in attributes:
            continue
        type_ = attributes["relax.struct_info"].value
        if isinstance(type_, TensorStructInfo) and type_.shape is not None:
            if len(type_.shape.dims) == len(arg.shape):
                yield from zip(type_.shape.dims, arg.shape, strict=True)
        elif isinstance(type_, PrimStructInfo) and type_.value is not None:
            yield type_.value, int(arg)


def _check_updates(args: list[Any], indices: list[int], frame: Frame) -> None:
    """Check that what is updated is compact, and not seen through another argument."""
    for index in (index for index in indices if index >= 0):
        data = args[index].data
        if not data.flags.c_contiguous:
            raise ValueError(
                f"{frame.name}: argument {index}: expected a compact, aligned tensor to update in "
                "place, but got a strided one"
            )
        for other, arg in enumerate(args):
            if other == index or not isinstance(arg, Tensor) or not data.size:
                continue
            if np.may_share_memory(data, arg.data):
                raise ValueError(
                    f"{frame.name}: argument {index} is updated in place, but shares memory with "
                    f"argument {other}"
                )


def _flat(values: Any) -> Iterator[Any]:
    """Yield values, those of tuples one by one (NF05)."""
    for value in values:
        if type(value) is tuple:
            yield from _flat(value)
        else:
            yield value


def _packed_ints(op: Any, frame: Frame) -> list[int]:
    return [] if op.packed_ints is None else list(frame.values[op.packed_ints])


# ------------------------------------------------------------------------------
# Packed functions
# ------------------------------------------------------------------------------


@operation("call_dps_packed")
def _call_dps_packed(op: Any, frame: Frame) -> Any:
    """Call a packed function, which fills new tensors (OP03)."""
    callee, args, _ = _callee(op, frame)
    type_ = op.results[0].type
    outputs = [_allocate(tensor, frame) for tensor in tensor_types(type_)]
    _call(callee, [*_flat(args), *outputs])
    return tuple(outputs) if isinstance(type_, TupleStructInfo) else outputs[0]


@operation("call_packed")
@operation("call_pure_packed")
@operation("call_inplace_packed")
def _call_packed(op: Any, frame: Frame) -> Any:
    """Call a packed function, and check its result (OP04 to OP06)."""
    callee, args, name = _callee(op, frame)
    result = _call(callee, args)
    frame.check(result, op.results[0].type, f"the result of {name}")
    return result


def _callee(op: Any, frame: Frame) -> tuple[Any, list[Any], str]:
    """Return the callee, its arguments, and its name."""
    args = _operands(op, frame)
    if op.callee is not None:
        name = op.callee.value
        return frame.interpreter.packed(name, frame), args, name
    return args[0], args[1:], "a packed function"


def _call(callee: Any, args: list[Any]) -> Any:
    return callee(*args) if isinstance(callee, Closure) else call_packed(callee, args)


# ------------------------------------------------------------------------------
# Explicit memory (RF09), as far as shape variables are still there
# ------------------------------------------------------------------------------


@operation("builtin.alloc_storage")
def _alloc_storage(op: Any, frame: Frame) -> Array:
    size = frame.dim(op.size)
    if not 0 <= size <= _MOST_BYTES:
        kind: type[Exception] = MemoryError if size > 0 else ValueError
        raise kind(f"{frame.name}: expected the size of a storage, but got {size} bytes")
    return np.full(size, 0xFF, np.uint8)


@operation("builtin.alloc_tensor")
def _alloc_tensor(op: Any, frame: Frame) -> Tensor:
    """Allocate a tensor, which is new, or lies in a storage."""
    type_ = op.results[0].type
    if op.storage is None:
        return _allocate(type_, frame)
    shape, dtype = _allocation(type_, frame), type_.dtype
    assert shape is not None and dtype is not None, "the verifier wants both"
    element = np.dtype(storage_dtype(dtype))
    memory, start = frame.values[op.storage], op.offset.value
    stop = start + element.itemsize * int(np.prod(shape, dtype=np.int64))
    if not is_numpy(dtype):
        # Its elements are wider here than in a program: no other tensor shares this memory.
        return _allocate(type_, frame)
    if stop > memory.size:
        raise IndexError(f"{frame.name}: {stop} bytes do not fit a storage of {memory.size}")
    return Tensor(memory[start:stop].view(element).reshape(shape), dtype)


@operation("builtin.view")
def _view(op: Any, frame: Frame) -> Tensor:
    data = frame.values[op.data]
    shape = _allocation(op.results[0].type, frame)
    assert shape is not None, "the verifier wants it"
    return Tensor(np.ascontiguousarray(data.data).reshape(shape), data.dtype)


@operation("builtin.to_device")
def _to_device(op: Any, frame: Frame) -> Any:
    return _copy(frame.values[op.operands[0]])


def _call_kernel(op: Any, frame: Frame) -> None:
    """Call a kernel, whose results go where its outputs are."""
    inputs = [frame.values[value] for value in op.inputs]
    outputs = [frame.values[value] for value in op.outputs]
    kernel = frame.interpreter.functions[op.callee.value]
    given = [*inputs, *_packed_ints(op, frame), *outputs]
    results = [np.array(r) for r in frame.interpreter.kernels.call_on_values(kernel, given)]
    indices = [-1] * len(outputs) if op.inplace_indices is None else list(op.inplace_indices)
    allocated = iter(outputs)
    updated = [inputs[index] if index >= 0 else next(allocated) for index in indices]
    for output, result in zip(updated, results, strict=bool(results)):
        output.data[...] = result


_OPERATIONS["relax.builtin.call_kernel"] = _call_kernel
_OPERATIONS["relax.builtin.kill"] = lambda op, frame: None
