# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls, casts and values of the namespace ``R``, in the spellings of all versions.

The result of a call is ``out_sinfo=``, ``out_ty=`` or, in the RFC, a shape and ``dtype=``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np
from mlir import ir

from .. import op as _op
from .. import tir
from ..core.dtypes import dtype_name
from ..core.expr import GlobalVar
from ..core.ir import (
    ObjectStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from ..core.ir_module import Function
from ..core.vdevice import VDevice
from ..dialects import relax as _ops
from ..tir.attributes import attribute
from . import state
from .annotations import as_dim, as_dims, as_struct_info, known_shape, struct_infos
from .operators import argument, fields, operator
from .state import SpecialForm

_SCALARS = (tir.IntImm, tir.FloatImm)
_NOT_FINITE = ("inf", "-inf", "nan")


def _one_of(what: str, *given: Any) -> Any:
    """Return the one that is given of several spellings of an argument."""
    values = [value for value in given if value is not None]
    if len(values) != 1:
        raise TypeError(f"expected {what} once, but got it {len(values)} times")
    return values[0]


def _outputs(out: Any, dtype: Any) -> Any:
    """Return the StructInfo of outputs; in the RFC's spelling `out` is a shape."""
    if dtype is None:
        return struct_infos(out)
    if isinstance(dtype, (list, tuple)):
        return [_output(shape, name) for shape, name in zip(out, dtype, strict=True)]
    return _output(out, dtype)


def _output(shape: Any, dtype: Any) -> ir.Type:
    if isinstance(shape, ir.Value) and isinstance(shape.type, ShapeStructInfo):
        return _of_shape_value(shape, dtype)
    return TensorStructInfo(as_dims(shape), dtype)


def _of_shape_value(shape: ir.Value, dtype: Any) -> ir.Type:
    """Return the type of a tensor whose shape is a value; unknown dimensions get names."""
    known = known_shape(shape)
    if known is not None:
        return TensorStructInfo(known, dtype)
    parser = state.current("a call")
    names = [parser.new_shape_name() for _ in range(shape.type.ndim)]
    _op.match_cast(shape, ShapeStructInfo(names))
    return TensorStructInfo(names, dtype)


def _has_rank(shape: Any) -> bool:
    """Say whether an output shape of the RFC's spelling has a known rank."""
    if not isinstance(shape, ir.Value) or not isinstance(shape.type, ShapeStructInfo):
        return True
    return known_shape(shape) is not None or shape.type.ndim != -1


def kernel(callee: Any) -> Any:
    """Return a kernel or function that a program names, as a function of its module."""
    if isinstance(callee, ExternFunc):
        return callee.global_symbol
    if isinstance(callee, Function):
        return state.current("a call").add_function(callee.name, callee)
    return callee


def _call(callee: Any, make: Any, args: Any, outputs: Any, inplace: Any = None) -> ir.Value:
    """Call a kernel by ``make(name, args, outputs)``, where `inplace` is of its outputs."""
    name = callee.name if isinstance(callee, GlobalVar) else callee
    if not isinstance(name, str):
        raise TypeError(f"expected a kernel of the module, but got {callee!r}")
    given = _fitting(name, [argument(arg) for arg in fields(args)])
    declared = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    fitting = _fitting_outputs(name, declared, inplace)
    if fitting == declared:
        return make(name, given, outputs)
    value = make(name, given, fitting)
    is_one = len(declared) == 1
    return _op.match_cast(value, declared[0] if is_one else TupleStructInfo(declared))


def _fitting_outputs(name: str, outputs: list[Any], inplace: Any) -> list[Any]:
    """Return outputs with the dimensions that the kernel states where the call leaves them open.

    They are checked against what the call says afterwards.
    """
    params = state.current("a call").kernel_params(name)
    # Integers may come after the outputs in the text.
    while params and not isinstance(params[-1], ir.ShapedType):
        params.pop()
    indices = [-1] * len(outputs) if inplace is None else inplace
    indices = [indices] if isinstance(indices, int) else list(indices)
    allocated = [index for index, position in enumerate(indices) if position == -1]
    fitting = list(outputs)
    for index, param in zip(reversed(allocated), reversed(params), strict=False):
        if index < len(fitting):
            fitting[index] = _fit_output(fitting[index], param)
    return fitting


def _fit_output(type_: Any, param: ir.Type) -> Any:
    if not isinstance(type_, TensorStructInfo) or not isinstance(param, ir.ShapedType):
        return type_
    if type_.shape is None or not param.has_rank or len(type_.shape.dims) != param.rank:
        return type_
    dims = [
        dim if param.is_dynamic_dim(index) or dim.value is not None else param.get_dim_size(index)
        for index, dim in enumerate(type_.shape.dims)
    ]
    if dims == list(type_.shape.dims):
        return type_
    return TensorStructInfo(dims, type_.dtype, vdevice=type_.vdevice)


def _fitting(name: str, args: list[Any]) -> list[Any]:
    """Return arguments of a kernel; what is known less of them than it needs is checked first."""
    params = state.current("a call").kernel_params(name)
    return [
        _fit(arg, params[index]) if index < len(params) else arg for index, arg in enumerate(args)
    ]


def _fit(arg: Any, param: ir.Type) -> Any:
    if not isinstance(arg, ir.Value) or not isinstance(param, ir.ShapedType):
        return arg
    type_ = arg.type
    is_tensor = isinstance(type_, TensorStructInfo)
    if not is_tensor and not isinstance(type_, ObjectStructInfo):
        return arg
    rank = param.rank
    dims: Any = type_.shape.dims if is_tensor and type_.shape is not None else [None] * rank
    if len(dims) != rank or (is_tensor and type_.dtype not in (None, _dtype_of(param))):
        return arg
    parser = state.current("a call")
    wanted = [
        _fit_dim(dim, None if param.is_dynamic_dim(index) else param.get_dim_size(index), parser)
        for index, dim in enumerate(dims)
    ]
    if is_tensor and type_.dtype is not None and wanted == list(dims):
        return arg
    device = type_.vdevice if is_tensor else None
    return _op.match_cast(arg, TensorStructInfo(wanted, _dtype_of(param), vdevice=device))


def _fit_dim(dim: Any, size: int | None, parser: Any) -> Any:
    if size is not None and (dim is None or dim.value is None):
        return size
    return parser.new_shape_name() if dim is None else dim


def _dtype_of(param: Any) -> str:
    return dtype_name(param.element_type)


def call_tir(
    gvar: Any,
    args: Any = (),
    out_sinfo: Any = None,
    tir_vars: Any = None,
    *,
    out_ty: Any = None,
    dtype: Any = None,
) -> ir.Value:
    """Call a kernel, which writes into tensors that are allocated for it.

    Parameters
    ----------
    gvar : GlobalVar
        A kernel of the module. The name of a packed function, in the spelling of the RFC, is
        called as `call_dps_packed` does.
    args : tuple of tensors
    out_sinfo, out_ty : StructInfo or list of it
        The outputs; with `dtype` their shape.
    tir_vars : shape, optional
    dtype : str, optional
    """
    out = _one_of("out_sinfo", out_sinfo, out_ty)
    callee = kernel(gvar)
    if isinstance(callee, str):
        return call_dps_packed(callee, args, out, dtype=dtype)
    outputs = _outputs(out, dtype)
    ints = _shape_argument(tir_vars)
    return _call(
        callee, lambda name, given, types: _op.call_tir(name, given, types, ints), args, outputs
    )


def _shape_argument(value: Any) -> Any:
    """Return the integers of a call as an operand, None if there are none."""
    if isinstance(value, ir.Value) or value is None:
        return value
    return ShapeExpr([as_dim(dim) for dim in value])


def call_tir_inplace(
    gvar: Any,
    args: Any,
    inplace_indices: Any,
    out_sinfo: Any = None,
    tir_vars: Any = None,
    *,
    out_ty: Any = None,
) -> ir.Value:
    """Call a kernel that updates some of its arguments."""
    outputs = struct_infos(_one_of("out_sinfo", out_sinfo, out_ty))
    ints = _shape_argument(tir_vars)
    return _call(
        kernel(gvar),
        lambda name, given, types: _op.call_tir_inplace(name, given, inplace_indices, types, ints),
        args,
        outputs,
        inplace_indices,
    )


def call_dps_packed(
    func: Any,
    args: Any = (),
    out_sinfo: Any = None,
    *,
    out_ty: Any = None,
    dtype: Any = None,
    output_shape: Any = None,
    output_dtype: Any = None,
) -> ir.Value:
    """Call a packed function, which writes into tensors that are allocated for it.

    Parameters
    ----------
    func : str or a value
    args : tuple of values
    out_sinfo, out_ty, output_shape : StructInfo or list of it
        The outputs; with `dtype` their shape.
    dtype, output_dtype : str, optional
    """
    out = _one_of("out_sinfo", out_sinfo, out_ty, output_shape)
    dtype = dtype if dtype is not None else output_dtype
    callee, given = kernel(func), [argument(arg) for arg in fields(args)]
    if isinstance(callee, str) and dtype is not None and not _has_rank(out):
        return _op.call_pure_packed(
            "relax_mlir.run.call_dps_packed",
            callee,
            out,
            dtype_name(dtype),
            *given,
            sinfo_args=TensorStructInfo(None, dtype),
        )
    return _op.call_dps_packed(callee, given, _outputs(out, dtype))


def _types(sinfo_args: Any, ty_args: Any) -> Any:
    given = sinfo_args if ty_args is None else ty_args
    if given is None or (isinstance(given, (list, tuple)) and not given):
        return None
    types = struct_infos(given)
    return types[0] if isinstance(types, list) and len(types) == 1 else types


def _with_attrs(value: ir.Value, attrs: dict[str, Any]) -> ir.Value:
    """Keep the attributes that a program gives to a call."""
    attrs.pop("attrs_type_key", None)
    for name, given in attrs.items():
        value.owner.attributes[name] = attribute(name, given)
    return value


def call(func: Any, *args: Any, sinfo_args: Any = None, ty_args: Any = None) -> ir.Value:
    """Call a function of the module, or one that is a value."""
    return _op.call(func, *map(argument, args), sinfo_args=_types(sinfo_args, ty_args))


def call_packed(
    func: Any, *args: Any, sinfo_args: Any = None, ty_args: Any = None, **attrs: Any
) -> ir.Value:
    """Call a packed function, which may have side effects.

    Parameters
    ----------
    func : str or a value
    *args
        Values.
    sinfo_args, ty_args : StructInfo or list of it, optional
        The type of the result.
    **attrs
        Attributes that are kept with the call.

    Notes
    -----
    In the spelling of the RFC, which knows no purity, a call in a dataflow block has none.
    """
    types = _types(sinfo_args, ty_args)
    parser = state.current_or_none()
    if parser is not None and parser.function_parser().is_opaque_dataflow():
        return call_pure_packed(func, *args, sinfo_args=types or ObjectStructInfo())
    value = _op.call_packed(kernel(func), *map(argument, args), sinfo_args=types)
    return _with_attrs(value, attrs)


def call_pure_packed(
    func: Any, *args: Any, sinfo_args: Any = None, ty_args: Any = None
) -> ir.Value:
    """Call a packed function of which it is known that it has no side effects."""
    types = _types(sinfo_args, ty_args)
    callee = kernel(func)
    if isinstance(callee, GlobalVar):
        callee = _op.global_var(callee)
    return _op.call_pure_packed(callee, *map(argument, args), sinfo_args=types)


def call_inplace_packed(
    func: Any, *args: Any, inplace_indices: Any, sinfo_args: Any = None, ty_args: Any = None
) -> ir.Value:
    """Call a packed function that mutates some of its arguments."""
    types = _types(sinfo_args, ty_args)
    return _op.call_inplace_packed(
        kernel(func), *map(argument, args), inplace_indices=inplace_indices, sinfo_args=types
    )


def invoke_closure(
    closure: Any, args: Any = (), sinfo_args: Any = None, ty_args: Any = None
) -> ir.Value:
    """Call a closure."""
    types = _types(sinfo_args, ty_args)
    return _op.call(closure, *map(argument, fields(args)), sinfo_args=types)


def invoke_pure_closure(
    closure: Any, args: Any = (), sinfo_args: Any = None, ty_args: Any = None
) -> ir.Value:
    """Call a closure of which it is known that it has no side effects."""
    return invoke_closure(closure, args, sinfo_args, ty_args)


class ExternFunc:
    """A packed function, by the name under which it is registered.

    Parameters
    ----------
    global_symbol : str
    """

    def __init__(self, global_symbol: str) -> None:
        self.global_symbol = global_symbol

    def __call__(self, *args: Any, **keywords: Any) -> ir.Value:
        """Call the function, as `call_packed` does."""
        return call_packed(self.global_symbol, *args, **keywords)

    def to_relax(self) -> ir.Value:
        """Return the function as a value of a program."""
        return _op.extern_func(self.global_symbol)


# ---------------------------------------------------------------------------------------------
# Printing and assertions
# ---------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    """Return a string that may be written as a value, ``R.str("...")``."""
    if isinstance(value, (str, tir.StringImm)):
        return value if isinstance(value, str) else value.value
    if not isinstance(value, ir.Value) or not isinstance(value.owner, _ops.StringOp):
        is_value = isinstance(value, ir.Value)
        what = f"a value of type {value.type}" if is_value else repr(value)
        raise TypeError(f"expected the format as a string, but got {what}")
    text: str = value.owner.value.value
    if not value.owner.location.is_a_name() and not any(True for _ in value.uses):
        value.owner.operation.erase()
    return text


def print(*values: Any, format: Any = "") -> ir.Value:  # noqa: A001, A002 (the names TVM uses)
    """Print values, as `relax_mlir.op.print` does."""
    return _op.print(*map(argument, values), format=_text(format))


def assert_op(
    condition: Any,
    *values: Any,
    format_args: Any = None,
    format: Any = "",  # noqa: A002 (the name TVM uses)
) -> ir.Value:
    """Check a condition, as `relax_mlir.op.assert_op` does.

    Parameters
    ----------
    condition : value
    *values
        The values of the message: one after the other as TVM prints them, or one list of them, then
        perhaps the message, as TVM's function takes them.
    format_args : value or sequence of value, optional
        The same as a keyword.
    format : str
    """
    shown = list(values)
    if format_args is not None:
        shown.append(format_args)
    if len(shown) == 2 and isinstance(shown[1], str) and format == "":
        format = shown.pop()  # noqa: A001
    if len(shown) == 1:
        shown = list(shown[0]) if isinstance(shown[0], (list, tuple)) else shown
    return _op.assert_op(argument(condition), argument(shown), format=_text(format))


# ---------------------------------------------------------------------------------------------
# Casts
# ---------------------------------------------------------------------------------------------


def match_cast(value: Any, struct_info: Any = None, ty: Any = None) -> ir.Value:
    """Check a value at run time, and bind the shape variables that are new in its StructInfo."""
    type_ = as_struct_info(_one_of("the StructInfo", struct_info, ty))
    return _op.match_cast(argument(value), type_)


def _match_shape(parser: Any, node: ast.Call) -> ir.Value:
    if len(node.args) != 2 or node.keywords:
        raise parser.error(node, "expected R.match_shape(value, (n, m))")
    value = parser.eval(node.args[0])
    with parser.implicit(parser.implicit_shape_var):
        pattern = parser.eval(node.args[1])
    with parser.at(node):
        if not isinstance(value, ir.Value):
            raise TypeError(f"expected a tensor or a shape, but got {value!r}")
        dims = as_dims(pattern)
        if isinstance(value.type, TensorStructInfo):
            type_ = TensorStructInfo(dims, value.type.dtype, vdevice=value.type.vdevice)
            return _op.match_cast(value, type_)
        return _op.match_cast(value, ShapeStructInfo(dims))


# The RFC's cast: R.match_shape(value, (n, m)) binds the variables that are new.
match_shape = SpecialForm("R.match_shape", _match_shape)


# ---------------------------------------------------------------------------------------------
# Values of Python
# ---------------------------------------------------------------------------------------------


class Constant:
    """A constant tensor that is made outside of a program, for programs that name it.

    Parameters
    ----------
    value, dtype
        As of `const`.
    """

    def __init__(self, value: Any, dtype: Any = None) -> None:
        self.value = value
        self.dtype = dtype

    def to_relax(self) -> ir.Value:
        """Return it as a value of the program that is being parsed."""
        return _op.const(self.value, self.dtype)


def const(value: Any, dtype: Any = None) -> Any:
    """Return a constant tensor.

    Parameters
    ----------
    value : bool, int, float, numpy.ndarray or nested sequence of numbers
    dtype : str, numpy.dtype, torch.dtype or mlir.ir.Type, optional

    Returns
    -------
    mlir.ir.Value or Constant
        Outside of a program, something for programs to name.
    """
    if hasattr(value, "numpy") and not isinstance(value, np.ndarray):
        value = value.numpy()
    value = value.value if isinstance(value, _SCALARS) else value
    if isinstance(value, str) and value in _NOT_FINITE:
        value = float(value)  # as TVM prints it
    if state.current_or_none() is None:
        return Constant(value, dtype)
    return _op.const(value, dtype)


def prim_value(value: Any, dtype: Any = None) -> ir.Value:
    """Return a scalar."""
    if isinstance(value, _SCALARS):
        number = bool(value.value) if value.dtype == "bool" else value.value
        return _op.prim_value(number, value.dtype)
    value = argument(value)
    if isinstance(value, ir.Value):
        return value
    return _op.prim_value(value, dtype)


def shape(values: Any) -> ir.Value:
    """Return a shape."""
    return _op.shape([as_dim(value) for value in values])


# ---------------------------------------------------------------------------------------------
# Devices
# ---------------------------------------------------------------------------------------------


# The kinds of device by their numbers in DLPack, of those that TVM has names for.
_DEVICE_TYPES = {1: "cpu", 2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm"}


class Device:
    """A device: its kind and which one of that kind."""

    def __init__(self, kind: str, index: int = 0) -> None:
        self.kind, self.index = kind, index


def device(dev: str = "", index: int = 0, *, device_type: Any = None) -> Device:
    """Return a device for `hint_on_device`.

    Parameters
    ----------
    dev : str
        Its kind, such as "cpu".
    index : int
        Its number among those of the kind.
    device_type : int, optional
        The kind as a number of DLPack, as TVM prints it.
    """
    if device_type is None:
        return Device(dev, int(index))
    kind = _DEVICE_TYPES.get(int(device_type))
    if dev or kind is None:
        known = ", ".join(f"{number} ({name})" for number, name in _DEVICE_TYPES.items())
        raise ValueError(f"expected a kind of device, one of {known}, but got {device_type}")
    return Device(kind, int(index))


def cpu(index: int = 0) -> Device:
    """Return a processor, for `hint_on_device`."""
    return Device("cpu", index)


def cuda(index: int = 0) -> Device:
    """Return a GPU, for `hint_on_device`."""
    return Device("cuda", index)


def to_vdevice(data: Any, dst_vdevice: Any) -> ir.Value:
    """Copy a tensor to a virtual device.

    Parameters
    ----------
    data : tensor
    dst_vdevice : str or VDevice
        A device that the module lists, such as "llvm:0" or its name.
    """
    by_object = isinstance(dst_vdevice, VDevice)
    name = state.vdevice_name_of(dst_vdevice) if by_object else state.vdevice_name(dst_vdevice)
    return _op.to_vdevice(argument(data), name)


def hint_on_device(data: Any, dst_vdevice: Any, memory_scope: str = "global") -> ir.Value:
    """Say that a tensor should be on a device."""
    del memory_scope
    index = dst_vdevice.index if isinstance(dst_vdevice, Device) else int(dst_vdevice)
    return _op.hint_on_device(argument(data), index)


# ---------------------------------------------------------------------------------------------
# Operators that are made of others
# ---------------------------------------------------------------------------------------------


def matmul(x1: Any, x2: Any, out_dtype: Any = None) -> ir.Value:
    """Return the matrix product."""
    return operator("matmul")(x1, x2, out_dtype)


def linear(data: Any, weight: Any, bias: Any = None, out_dtype: Any = None) -> ir.Value:
    """Return data @ transpose(weight) + bias."""
    product = matmul(data, operator("permute_dims")(weight), out_dtype)
    return product if bias is None else product + bias


def read_tensor_from_file(path: str) -> ir.Value:
    """Read a tensor, as the RFC does, by the packed function ``read_tensor_from_file``."""
    return _op.call_packed("read_tensor_from_file", path)


def emit_te(func: Any, *args: Any, **kwargs: Any) -> ir.Value:
    """Call a kernel that is made of a tensor expression while the program is parsed."""
    builder: Any = state.current("R.emit_te").builder
    return builder.emit_te(func, *map(argument, args), **kwargs)


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Set attributes of the function that is being parsed."""
    given = {name: attribute(name, value) for name, value in attrs.items()}
    state.current("R.func_attr").builder.set_func_attrs(given)
