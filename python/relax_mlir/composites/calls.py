# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that others express: closures over functions, functions of Python, gradients of kernels.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
>>> bb = BlockBuilder()
>>> x, y = (Var(name, TensorStructInfo(("n",), "float32")) for name in "xy")
>>> with bb.function("scale", [x, y], private=True):
...     scale = bb.emit_func_output(op.multiply(x, y))
>>> z = Var("z", TensorStructInfo(("m",), "float32"))
>>> with bb.function("main", [z]):
...     by_z = op.make_closure(scale, (z,))
...     print(by_z.type)
...     _ = bb.emit_func_output(op.invoke_pure_closure(by_z, (z,), z.struct_info))
!relax.func<(!relax.tensor<[m], f32>) -> !relax.tensor<[m], f32>, pure>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlir import ir

from .. import op
from ..builder.function_bodies import ClosureBody
from ..builder.places import state_te_gradient, visible_here
from ..core.context import current_location
from ..core.expr import GlobalVar, ShapeLike, TensorLike, Var, as_value, struct_info_of
from ..core.ir import Dim, FuncStructInfo, ObjectStructInfo, TupleStructInfo
from ..core.struct_info import get_shape_var_mapping, substitute, tir_vars_in_struct_info
from ..dialects import relax as _ops
from ..op.call import StructInfos


def _fields(args: Any) -> list[ir.Value]:
    """Return the fields of what is given as a tuple of arguments."""
    if isinstance(args, (list, tuple)):
        return [as_value(each) for each in args]
    value = as_value(args)
    if not isinstance(value.type, TupleStructInfo):
        return [value]
    if isinstance(value.owner, _ops.TupleOp):
        return list(value.owner.operation.operands)
    return [op.get_item(value, index) for index in range(len(value.type.fields))]


def _result(sinfo: StructInfos) -> ir.Type:
    if isinstance(sinfo, ir.Type):
        return sinfo
    return sinfo[0] if len(sinfo) == 1 else TupleStructInfo(sinfo)


# -- closures -------------------------------------------------------------------------------------


def make_closure(func: GlobalVar | ir.Value, args: Any) -> ir.Value:
    """Return a closure over a function: the function without its last parameters.

    Parameters
    ----------
    func : GlobalVar or value
        A function of the module, or one that is a value, whose parameters are known.
    args : value or sequence of value
        What the last parameters stand for from now on.

    Returns
    -------
    mlir.ir.Value
        A function of the other parameters, for `invoke_closure`.

    Raises
    ------
    TypeError
        If it is no function of known parameters, or has fewer.
    ValueError
        If an argument is incompatible with its parameter.
    """
    is_global = isinstance(func, GlobalVar)
    info = struct_info_of(func) if isinstance(func, GlobalVar) else as_value(func).type
    if not isinstance(info, FuncStructInfo) or info.params is None:
        raise TypeError(f"expected a function of known parameters, but got a value of type {info}")
    captured = _fields(args)
    count = len(info.params) - len(captured)
    if count < 0:
        raise TypeError(
            f"expected at most {len(info.params)} values for the parameters of the function, but "
            f"got {len(captured)}"
        )
    own = _parameters(info, captured)
    callee = func if is_global else as_value(func)
    params = [Var(f"arg{i}", type_) for i, type_ in enumerate(own)]
    body = ClosureBody(info.context, "closure", params, info.is_pure, None)
    with ir.InsertionPoint(body.block):
        body.emit_return(op.call(callee, *(each.value for each in params), *captured))
    body.release()
    body.op.operation.location = current_location()  # whoever binds it names it
    made: ir.Value = body.op.operation.results[0]
    return made


def _parameters(info: FuncStructInfo, captured: Sequence[ir.Value]) -> list[ir.Type]:
    """Return the types of the parameters that are left, in terms of the values that are given.

    Variables that these do not say anything about get names that nothing else has here.
    """
    params = list(info.params or [])
    first = len(params) - len(captured)
    mapping: dict[str, Any] = {}
    for param, value in zip(params[first:], captured, strict=True):
        for name, found in get_shape_var_mapping(param, value.type).items():
            mapping.setdefault(name, found)
    taken = visible_here()
    for param in params[:first]:
        for variable in tir_vars_in_struct_info(param):
            name = str(variable.name)
            if name in mapping or name not in taken:
                continue
            fresh = next(f"{name}_{i}" for i in range(len(taken) + 1) if f"{name}_{i}" not in taken)
            mapping[name] = Dim(fresh)
    return [substitute(param, mapping) for param in params[:first]]


def invoke_closure(
    closure: ir.Value | Var | GlobalVar, args: Any = (), sinfo_args: StructInfos | None = None
) -> ir.Value:
    """Call a closure.

    Parameters
    ----------
    closure : value
        A function, or an object that is one when the program runs.
    args : value or sequence of value
    sinfo_args : StructInfo or sequence of it, optional
        The type of the result, or those of the fields of a tuple. By default it is that of the
        function; of an object it has to be stated.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If it is no function, or does not take these arguments.
    """
    return _invoke(closure, args, sinfo_args, is_pure=False)


def invoke_pure_closure(
    closure: ir.Value | Var | GlobalVar, args: Any = (), sinfo_args: StructInfos | None = None
) -> ir.Value:
    """Call a closure that has no visible side effects, as `invoke_closure` does.

    Parameters
    ----------
    closure, args, sinfo_args
        As of `invoke_closure`. An object is checked to be a pure function when the program runs.

    Returns
    -------
    mlir.ir.Value
    """
    return _invoke(closure, args, sinfo_args, is_pure=True)


def _invoke(closure: Any, args: Any, sinfo_args: Any, is_pure: bool) -> ir.Value:
    given = _fields(args)
    target = closure if isinstance(closure, GlobalVar) else as_value(closure)
    if isinstance(target, ir.Value) and isinstance(target.type, ObjectStructInfo):
        if sinfo_args is None:
            raise ValueError(
                "expected sinfo_args, the type of the result, to call a closure of type "
                f"{target.type}"
            )
        params = [value.type for value in given]
        target = op.match_cast(target, FuncStructInfo(params, _result(sinfo_args), is_pure))
        sinfo_args = None
    made: ir.Value = op.call(target, *given, sinfo_args=sinfo_args)
    return made


# -- functions of Python and of the runtime -------------------------------------------------------


def call_py_func(func_name: str, args: Any, out_sinfo: StructInfos) -> ir.Value:
    """Call a function of Python that has no visible side effects.

    Parameters
    ----------
    func_name : str
        The name under which it is registered with ``tvm_ffi.register_global_func``.
    args : value or sequence of value
    out_sinfo : StructInfo or sequence of it
        The type of what it returns.

    Returns
    -------
    mlir.ir.Value

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n",), "float32"))
    >>> with bb.function("main", [x]):
    ...     y = op.call_py_func("my.sort", (x,), x.struct_info)
    ...     _ = bb.emit_func_output(y)
    >>> print(y.type)
    !relax.tensor<[n], f32>
    """
    name = op.memory.known_text(func_name, "the name of a function")
    made: ir.Value = op.call_pure_packed(name, *_fields(args), sinfo_args=out_sinfo)
    return made


def _alloc_storage(args: list[Any], sinfo_args: Any) -> ir.Value:
    made: ir.Value = op.vm.alloc_storage(*args)
    return made


# Functions of TVM's virtual machine that take its context, and that have a counterpart here.
_WITH_CONTEXT: dict[str, Callable[[list[Any], Any], ir.Value]] = {
    "vm.builtin.alloc_storage": _alloc_storage,
    "vm.builtin.invoke_closure": lambda args, sinfo: invoke_closure(args[0], args[1:], sinfo),
    "vm.builtin.make_closure": lambda args, sinfo: make_closure(args[0], args[1:]),
}


def call_builtin_with_ctx(
    func: str | ir.Value, args: Any, sinfo_args: StructInfos | None = None
) -> ir.Value:
    """Call a function of TVM's virtual machine that takes its context, where there is such one.

    Parameters
    ----------
    func : str or value
        ``vm.builtin.alloc_storage``, ``vm.builtin.invoke_closure`` or ``vm.builtin.make_closure``,
        by name or as a value of `extern_func`.
    args : value or sequence of value
    sinfo_args : StructInfo or sequence of it, optional
        The type of the result.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        For any other function: none could be given a context, as no virtual machine of TVM runs
        the program.
    """
    owner = getattr(func, "owner", None)
    name = owner.global_symbol.value if isinstance(owner, _ops.ExternFuncOp) else func
    name = op.memory.known_text(name, "the name of a function")
    make = _WITH_CONTEXT.get(name)
    if make is None:
        known = ", ".join(sorted(_WITH_CONTEXT))
        raise ValueError(
            f"expected a function of a virtual machine that is here ({known}), but got '{name}': "
            "there is no context of TVM's virtual machine to call it with; register a function "
            "with tvm_ffi.register_global_func and call it by call_packed"
        )
    given = list(args) if isinstance(args, (list, tuple)) else _fields(args)
    return make(given, sinfo_args)


# -- gradients of kernels -------------------------------------------------------------------------


def call_tir_with_grad(
    gvar: GlobalVar | str,
    args: TensorLike | Sequence[TensorLike],
    out_sinfo: StructInfos,
    te_grad_name: str,
    te_grad_kwargs: Mapping[str, Any] | None = None,
    tir_vars: ShapeLike | None = None,
) -> ir.Value:
    """Call a kernel as `call_tir` does, and say what its gradient is.

    Parameters
    ----------
    gvar, args, out_sinfo, tir_vars
        As of `call_tir`.
    te_grad_name : str
        The name under which `relax_mlir.training.utils.register_te_gradient` knows the gradient,
        which `relax_mlir.transform.Gradient` calls.
    te_grad_kwargs : mapping of str to object, optional
        Arguments of the gradient by name.

    Returns
    -------
    mlir.ir.Value
        As of `call_tir`.

    Raises
    ------
    TypeError
        If the name is no str, or the arguments are no mapping of names.
    """
    made: ir.Value = op.call_tir(gvar, args, out_sinfo, tir_vars)
    state_te_gradient(made, te_grad_name, te_grad_kwargs)
    return made
