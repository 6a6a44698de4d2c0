# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls, casts and values of the namespace ``R``, in the spellings of all versions.

The result of a call is ``out_sinfo=``, ``out_ty=`` or, in the RFC, a shape and ``dtype=``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from mlir import ir

from .. import op as _op
from .. import tir
from ..core import leaves
from ..core.dtypes import dtype_name
from ..core.expr import GlobalVar, as_value
from ..core.ir import (
    ObjectStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
)
from ..core.ir_module import FreeFunction
from ..dialects import relax as _ops
from ..tir.attributes import attribute
from . import state
from .annotations import as_dim, as_dims, as_struct_info, known_shape, struct_infos
from .kernel_arguments import call_fitting
from .operators import argument, fields, operator
from .state import SpecialForm


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
    if isinstance(callee, FreeFunction):
        return state.current("a call").add_function(callee.name, callee)
    return callee


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
    return call_fitting(
        callee, lambda name, given, types: _op.call_tir(name, given, types, ints), args, outputs
    )


def call_tir_with_grad(
    gvar: Any,
    args: Any = (),
    out_sinfo: Any = None,
    te_grad_name: Any = None,
    te_grad_kwargs: Any = None,
    tir_vars: Any = None,
    *,
    out_ty: Any = None,
) -> ir.Value:
    """Call a kernel, and say what its gradient is, as `relax_mlir.op.call_tir_with_grad` does."""
    outputs = struct_infos(_one_of("out_sinfo", out_sinfo, out_ty))
    name, ints = argument(te_grad_name), _shape_argument(tir_vars)
    return call_fitting(
        kernel(gvar),
        lambda callee, given, types: _op.call_tir_with_grad(
            callee, given, types, name, te_grad_kwargs, ints
        ),
        args,
        outputs,
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
    return call_fitting(
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
    return _op.invoke_closure(closure, [argument(arg) for arg in fields(args)], types)


def invoke_pure_closure(
    closure: Any, args: Any = (), sinfo_args: Any = None, ty_args: Any = None
) -> ir.Value:
    """Call a closure of which it is known that it has no side effects."""
    types = _types(sinfo_args, ty_args)
    return _op.invoke_pure_closure(closure, [argument(arg) for arg in fields(args)], types)


class ExternFunc(leaves.ExternFunc):
    """A packed function, by the name under which it is registered.

    Parameters
    ----------
    global_symbol : str
    """

    def __call__(self, *args: Any, **keywords: Any) -> ir.Value:
        """Call the function, as `call_packed` does."""
        return call_packed(self.global_symbol, *args, **keywords)


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


def emit_with_sinfo(value: Any, struct_info: Any = None, ty: Any = None) -> ir.Value:
    """Return a value with the type that is stated, as ``y: R.Tensor(...) = value`` binds it."""
    type_ = as_struct_info(_one_of("the StructInfo", struct_info, ty))
    builder: Any = state.current("R.emit_with_sinfo").builder
    made: ir.Value = builder.emit(as_value(argument(value)), "", type_)
    return made


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
    if not isinstance(attrs, Mapping):
        raise TypeError(f"expected a dict of attributes, but got {attrs!r}")
    given = {name: attribute(name, value) for name, value in attrs.items()}
    state.current("R.func_attr").builder.set_func_attrs(given)
