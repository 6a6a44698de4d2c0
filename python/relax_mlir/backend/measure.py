# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a program with and without a library, measured: the faster way is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tvm_ffi
from mlir import ir

from .. import native
from .._arguments import shown
from ..core.functions import referred
from ..core.ir import ShapeStructInfo, TensorStructInfo
from ..core.ir_module import IRModule, ModuleLike, as_module
from ..core.struct_info import substitute
from ..core.variables import _names_in, defining_op, walk
from ..dialects import relax as _ops
from ..driver.compiler import compile as compile_module
from ..external import get_codegen
from ..runtime import VirtualMachine, get_num_threads, tensor
from ..transform import RunCodegen
from ..transform.composite_functions import inline_region, remove_unused
from .costs import Cost, CostCache

# A measurement repeats calls for as many milliseconds.
_REPEAT_MS = 5


def measure(
    mod: ModuleLike,
    codegen: str,
    *,
    sizes: Mapping[str, int] | None = None,
    cost: CostCache | None = None,
    repeat: int = 3,
) -> IRModule:
    """Measure the functions for a codegen both ways, and keep those that it computes faster.

    Each function is compiled as the rest of the program, and by the codegen, as its calls in the
    program have it: arguments that are constants are constants. Both are called with random
    numbers.

    Parameters
    ----------
    mod : module
        What `partition_for_dnnl` returns, or the passes `FuseOpsByPattern` and
        `MergeCompositeFunctions`: with functions whose attribute ``Codegen`` is the codegen. It is
        not changed.
    codegen : str
    sizes : mapping of str to int, optional
        The values of shape variables. All that the functions have need one.
    cost : CostCache, optional
        What is measured is added, and is not measured again if it is there; then its file is
        written.
    repeat : int
        How often a time is measured; the shortest one counts.

    Returns
    -------
    IRModule
        The module, in which functions that the codegen computes no faster are part of their callers
        again.

    Raises
    ------
    ValueError
        If a shape variable has no value, there is no such codegen, or the module has no function
        for it.
    """
    get_codegen(codegen)
    given = as_module(mod)
    costs = CostCache() if cost is None else cost
    calls = _calls(given, codegen)
    if not calls:
        raise ValueError(
            f"expected a module with functions for codegen '{codegen}', but got none: "
            "FuseOpsByPattern(annotate_codegen=True) or MergeCompositeFunctions makes them"
        )
    values = _require_sizes(calls, given, sizes or {})
    for call in calls:
        key = _key(given, call)
        if key not in costs:
            costs.set(key, _measured(given, call, values, repeat), next(referred(call)))
    costs.save()
    return keep_faster(given, codegen, costs)


def keep_faster(mod: ModuleLike, codegen: str, costs: CostCache) -> IRModule:
    """Make functions that a codegen computes no faster part of their callers again.

    Parameters
    ----------
    mod : module
        It is not changed.
    codegen : str
    costs : CostCache
        Functions that are not in it stay.

    Returns
    -------
    IRModule
    """
    made = as_module(mod).clone()
    slower = []
    for call in _calls(made, codegen):
        found = costs.get(_key(made, call))
        if found is not None and not found.is_library_faster:
            slower.append(call)
    names = {next(referred(call)) for call in slower}
    with made.context:
        for call in slower:
            inline_region(call, made[next(referred(call))].operation)
        _remove_uncalled(made, names)
    made.verify()
    return made


def _remove_uncalled(mod: IRModule, names: set[str]) -> None:
    """Remove functions for a codegen that nothing calls any more."""
    called = {name for op in walk(mod.operation) for name in referred(op)}
    for name in names - called:
        mod[name].operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
    remove_unused(mod, names - called)


def _calls(mod: IRModule, codegen: str) -> list[ir.Operation]:
    """Return the calls of functions for a codegen."""
    chosen = {
        name
        for name, function in mod.functions.items()
        if "Codegen" in function.operation.attributes
        and function.operation.attributes["Codegen"].value == codegen
    }
    return [
        op
        for op in walk(mod.operation)
        if op.name == "relax.call" and next(referred(op), None) in chosen
    ]


def _require_sizes(
    calls: Sequence[ir.Operation], mod: IRModule, sizes: Mapping[str, int]
) -> dict[str, int]:
    """Return the values of all shape variables of calls."""
    names = {name for call in calls for arg in call.operands for name in _names_in(arg.type)}
    missing = sorted(names - set(sizes))
    if missing:
        example = ", ".join(f'"{name}": 64' for name in missing)
        raise ValueError(
            f"expected a size for {', '.join(missing)}, which are not known before the program "
            f"runs: measure(..., sizes={{{example}}})"
        )
    for name, size in sizes.items():
        given: Any = size
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            raise ValueError(f"expected a size of {name}, 0 or more, but got {shown(given)}")
    return dict(sizes)


# ---------------------------------------------------------------------------------------------
# Measurements
# ---------------------------------------------------------------------------------------------


def _key(mod: IRModule, call: ir.Operation) -> str:
    """Return what a part is known by: what it computes, of what, where."""
    name = next(referred(call))
    text = _text(mod[name])
    constants = [_constant(value) is not None for value in call.operands]
    machine = native.describe_target(native.NativeTarget()).target
    parts = (text.replace(name, "part"), str(constants), str(machine), str(get_num_threads()))
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _text(function: Any) -> str:
    """Return a function as text, without the names of parameters and constants of many elements."""
    with function.operation.context:
        copy = IRModule({"part": function})["part"].operation
    for op in walk(copy):
        if "arg_names" in op.attributes:
            del op.attributes["arg_names"]
    return str(
        copy.get_asm(print_generic_op_form=True, use_local_scope=True, large_elements_limit=16)
    )


def _constant(value: ir.Value) -> ir.Operation | None:
    op = defining_op(value)
    return op if op is not None and op.name == "relax.constant" else None


def _measured(mod: IRModule, call: ir.Operation, sizes: dict[str, int], repeat: int) -> Cost:
    part = _part(mod, call)
    arguments = [
        _random(substitute(value.type, sizes))
        for value in call.operands
        if _constant(value) is None
    ]
    library: Any = RunCodegen()
    modules = (_without_codegens(part), library(part))
    return Cost(*(_time(each, arguments, repeat) for each in modules))


def _without_codegens(part: IRModule) -> IRModule:
    """Return a module of one call, where what the function computes is in place of the call."""
    made = part.clone()
    with made.context:
        (call,) = [op for op in walk(made["main"].operation) if op.name == "relax.call"]
        name = next(referred(call))
        inline_region(call, made[name].operation)
        _remove_uncalled(made, {name})
    return made


def _part(mod: IRModule, call: ir.Operation) -> IRModule:
    """Return a module with a call alone, whose constant arguments are part of it."""
    name = next(referred(call))
    with mod.context:
        made = IRModule({name: mod[name]})
        params = [value for value in call.operands if _constant(value) is None]
        types = [value.type for value in params]
        signature = ir.FunctionType.get(types, [call.results[0].type])
        location = ir.Location.unknown()
        with ir.InsertionPoint(made.body):
            main = _ops.FuncOp(
                "main",
                ir.TypeAttr.get(signature),
                arg_names=ir.ArrayAttr.get([ir.StringAttr.get(f"x{i}") for i in range(len(types))]),
                loc=location,
            )
        block = ir.Block.create_at_start(main.body, types, [location] * len(types))
        known = dict(zip(params, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            args = []
            for value in call.operands:
                constant = _constant(value)
                args.append(
                    known[value] if constant is None else constant.clone().operation.results[0]
                )
            callee = ir.FlatSymbolRefAttr.get(name)
            result = _ops.CallOp(call.results[0].type, args, callee=callee, loc=location)
            _ops.ReturnOp(result.operation.results[0], loc=location)
    return made


def _random(type_: Any) -> Any:
    """Return a value of a type whose dimensions are known."""
    generator = np.random.default_rng(0)
    if isinstance(type_, TensorStructInfo) and type_.shape is not None:
        shape = [dim.value for dim in type_.shape if dim.value is not None]
        if type_.dtype is not None and len(shape) == len(type_.shape):
            numbers = generator.standard_normal(shape)
            return tensor(numbers.astype(type_.dtype))
    if isinstance(type_, ShapeStructInfo) and type_.values is not None:
        values = [dim.value for dim in type_.values if dim.value is not None]
        if len(values) == len(type_.values):
            return tvm_ffi.Shape(tuple(values))
    raise ValueError(f"expected arguments that are tensors of known rank, but got {type_}")


def _time(mod: IRModule, arguments: Sequence[Any], repeat: int) -> float:
    machine = VirtualMachine(compile_module(mod, progress=False))
    evaluate = machine.time_evaluator("main", number=1, repeat=repeat, min_repeat_ms=_REPEAT_MS)
    return float(evaluate(*arguments).min)
