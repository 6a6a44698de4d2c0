# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of a function, such as weights, become constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tvm_ffi
from mlir import ir

from .._arguments import shown
from ..core.constants import elements_attr, tensor_attr
from ..core.dtypes import has_numbers, is_numpy
from ..core.expr import Var, build
from ..core.ir import TensorStructInfo
from ..core.ir_module import IRModule
from ..core.struct_info import definable_tir_vars_in_struct_info, tir_vars_in_struct_info
from ..dialects import relax as _ops
from .pass_context import PassContext
from .python_pass import module_pass
from .signatures import param_names

_HOST = 1  # DLPack's number


@module_pass(opt_level=0)
class BindParams:
    """Have a function take some of its parameters as constants.

    Weights that are constants are folded, and packed for matrix products, when the program is
    compiled. Where a parameter has shape variables, the dimensions of the constant are what they
    are: `match_cast` binds or checks them.

    Parameters
    ----------
    func_name : str
        A function that no other one of the module calls.
    params : mapping of str, Var or mlir.ir.Value to array
        The tensors by parameter: of NumPy, or with DLPack. A value is one of `func.params`.

    Raises
    ------
    ValueError
        If there is no such function or parameter, if a tensor is none of its parameter, or if the
        types of the other parameters do not determine a shape variable of the result any more.
    TypeError
        If a tensor is not of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from relax_mlir.transform import BindParams
    >>> mod = BindParams("main", {"w": np.ones((4, 2), "float32")})('''
    ... relax.func @main(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[4, 2], f32>)
    ...     -> !relax.tensor<[n, 2], f32> {
    ...   %0 = relax.matmul %x, %w : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4, 2], f32>) -> !relax.tensor<[n, 2], f32>
    ...   relax.return %0 : !relax.tensor<[n, 2], f32>
    ... }''')
    >>> len(mod["main"].body.blocks[0].arguments)
    1
    """  # noqa: E501 (the lines of MLIR)

    def __init__(self, func_name: str, params: Mapping[str | Var | ir.Value, Any]) -> None:
        self._func_name = func_name
        self._params = dict(params)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Bind the parameters."""
        function = mod.functions.get(self._func_name)
        if not isinstance(function, _ops.FuncOp):
            raise ValueError(f"expected the name of a Relax function, but got {self._func_name!r}")
        bind_params(function, self._params)
        return mod


def bind_params(function: Any, params: Mapping[Any, Any]) -> None:
    """Bind parameters of a function, which is changed.

    Parameters
    ----------
    function : relax_mlir.dialects.relax.FuncOp
    params : mapping of str, Var or mlir.ir.Value to array
        See `BindParams`.
    """
    attributes = function.operation.attributes
    names = param_names(function.operation)
    block = function.body.blocks[0]
    bound: dict[int, Any] = {}
    for key, value in params.items():
        place = _place(key, names, len(block.arguments))
        if place in bound:
            raise ValueError(f"expected each parameter once, but got {names[place] or place} twice")
        bound[place] = value
    signature = attributes["function_type"].value
    with ir.InsertionPoint.at_block_begin(block), function.location:
        made = {
            i: _constant(names[i] or str(i), value, block.arguments[i].type)
            for i, value in bound.items()
        }
    _check_result(signature, bound)
    for i, constant in made.items():
        block.arguments[i].replace_all_uses_with(constant)
    for i in sorted(bound, reverse=True):
        block.erase_argument(i)
    for name in ("arg_names", "arg_dicts"):
        if name in attributes:
            kept = [item for i, item in enumerate(attributes[name]) if i not in bound]
            attributes[name] = ir.ArrayAttr.get(kept)
    inputs = [type_ for i, type_ in enumerate(signature.inputs) if i not in bound]
    kept_type = ir.FunctionType.get(inputs, list(signature.results))
    attributes["function_type"] = ir.TypeAttr.get(kept_type)


def _check_result(signature: Any, bound: Mapping[int, Any]) -> None:
    known = {
        var.name
        for i, type_ in enumerate(signature.inputs)
        if i not in bound
        for var in definable_tir_vars_in_struct_info(type_)
    }
    for type_ in signature.results:
        for var in tir_vars_in_struct_info(type_):
            if var.name not in known:
                raise ValueError(
                    f"expected another parameter with the shape variable {var.name}, which is in "
                    f"the type of the result, {type_}"
                )


def _place(key: Any, names: list[str], count: int) -> int:
    """Return the number of a parameter."""
    if isinstance(key, ir.Value) and isinstance(key.owner, ir.Block):
        place: int = ir.BlockArgument(key).arg_number
        if key.owner.owner.name == "relax.func" and place < count:
            return place
    name = key.name if isinstance(key, Var) else key
    if isinstance(name, str) and name and name in names:
        return names.index(name)
    raise ValueError(
        f"expected the name of a parameter ({', '.join(filter(None, names))}), but got {name!r}"
    )


def _elements(name: str, value: Any) -> ir.Attribute:
    """Return the elements of a tensor; NumPy lacks some data types that DLPack has."""
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        is_on_host = value.__dlpack_device__()[0] == _HOST
        if is_on_host:
            tensor = tvm_ffi.from_dlpack(value)
            if not is_numpy(str(tensor.dtype)):
                return tensor_attr(tensor)
        value = np.from_dlpack(value)
    array = np.asarray(value)
    if not has_numbers(array):
        raise TypeError(f"expected numbers for '{name}', but got {shown(value)}")
    return elements_attr(array)


def _constant(name: str, value: Any, type_: ir.Type) -> ir.Value:
    """Return a tensor as a value of the type of a parameter."""
    made = build(_ops.ConstantOp, _elements(name, value))
    if made.type == type_:
        return made
    fits = isinstance(type_, TensorStructInfo) and type_.dtype in (None, made.type.dtype)
    if fits and type_.shape is not None:
        dims = [dim.value for dim in type_.shape]
        sizes = [dim.value for dim in made.type.shape]
        fits = len(dims) == len(sizes) and all(
            dim is None or size == dim for dim, size in zip(dims, sizes, strict=True)
        )
    elif fits:
        fits = type_.ndim in (-1, made.type.ndim)
    if not fits:
        raise ValueError(f"expected a tensor of type {type_} for '{name}', but got {made.type}")
    return build(_ops.MatchCastOp, type_, made)
