# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators that write into one of their operands."""

from __future__ import annotations

from mlir import ir

from .. import op
from ..core.expr import GlobalVar
from ..core.ir import TensorStructInfo
from ..core.ir_module import IRModule
from ..core.struct_info import facts_at
from ..core.variables import defining_op, unnamed
from ..dialects import relax as _ops
from ..op._ops_gen import ELEMENTWISE
from .find import find
from .kernels import Kernels, Legalized, distinct_operands, signature_of
from .pass_context import PassContext
from .python_pass import module_pass
from .rewriting import are_equal

# Operations whose result may be a tensor that there is already, or share memory with one.
_VIEWS = frozenset(
    {
        "relax.closure",
        "relax.constant",
        "relax.expand_dims",
        "relax.flatten",
        "relax.get_item",
        "relax.hint_on_device",
        "relax.if",
        "relax.match_cast",
        "relax.permute_dims",
        "relax.reshape",
        "relax.seq",
        "relax.squeeze",
        "relax.to_vdevice",
        "relax.tuple",
    }
)
_CALLS = frozenset({"relax.call_tir", "relax.call_tir_inplace"})


@module_pass(opt_level=0)
class DataflowUseInplaceCalls:
    """Compute elementwise operators of dataflow blocks in the memory of an operand.

    The operator becomes ``call_tir_inplace`` of a kernel that updates the operand: a tensor of the
    same shape and data type, which is computed in the same block and used by nothing later. Of
    several, the first one is updated.

    `relax_mlir.compile` needs no such calls to use memory again: it plans the memory of all
    tensors, and computes elementwise operators in the kernel of what they are computed of, which
    it does not do with calls that update something.

    Examples
    --------
    >>> from relax_mlir.transform import DataflowUseInplaceCalls
    >>> mod = DataflowUseInplaceCalls()('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    ...     %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...     %2 = relax.relu %1 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...     relax.output %2 : !relax.tensor<[n], f32>
    ...   }
    ...   relax.return %0 : !relax.tensor<[n], f32>
    ... }''')
    >>> "relax.call_tir_inplace @relu_inplace(%1) inplace [0]" in str(mod)
    True
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Update operands in each dataflow block of the module."""
        kernels = _InplaceKernels(mod)
        for function in list(mod.functions.values()):
            if isinstance(function, _ops.FuncOp):
                for dataflow in find(function, _ops.DataflowOp):
                    _update_in(dataflow.body.blocks[0], kernels)
        return mod


def _update_in(block: ir.Block, kernels: _InplaceKernels) -> None:
    for found in [each.operation for each in block.operations]:
        index = _updatable(found) if found.name in ELEMENTWISE else None
        name = kernels.of(found, index) if index is not None else None
        if name is None or index is None:
            continue
        with ir.InsertionPoint(found), unnamed(found.location):
            type_ = found.results[0].type
            result = op.call_tir_inplace(GlobalVar(name), distinct_operands(found), index, type_)
        result.owner.operation.location = found.location
        found.results[0].replace_all_uses_with(result)
        found.erase()


def _updatable(found: ir.Operation) -> int | None:
    """Return which one of its distinct operands an operation may write into.

    What is updated is passed once.
    """
    types = [value.type for value in (*found.operands, *found.results)]
    if len(found.results) != 1 or not all(map(_is_known, types)):
        return None
    facts = facts_at(found)
    for index, value in enumerate(distinct_operands(found)):
        fits = value.type == types[-1] or (
            (value.type.dtype, value.type.vdevice) == (types[-1].dtype, types[-1].vdevice)
            and are_equal(value.type.shape, types[-1].shape, facts)
        )
        if fits and _is_last_use(value, found):
            return index
    return None


def _is_known(type_: ir.Type) -> bool:
    is_tensor = isinstance(type_, TensorStructInfo)
    return is_tensor and type_.shape is not None and type_.dtype is not None


def _is_last_use(value: ir.Value, found: ir.Operation) -> bool:
    """Say whether a value is computed in the same block, and nothing uses it any more after."""
    made = defining_op(value)
    if made is None or made.block != found.block or _may_share_memory(made):
        return False
    users = [use.owner.operation for use in value.uses]
    others = [user for user in users if user != found]
    return all(
        user.block == found.block and user.is_before_in_block(found) and not _may_share_memory(user)
        for user in others
    )


def _may_share_memory(made: ir.Operation) -> bool:
    """Say whether the result of an operation may share memory with an operand."""
    if made.name.startswith(("relax.builtin.", "relax.call")):
        return made.name not in _CALLS
    return made.name in _VIEWS


class _InplaceKernels:
    """The kernels of operators that update an operand."""

    def __init__(self, mod: IRModule) -> None:
        self._kernels = Kernels(mod)
        self._known: dict[tuple[str, int], str | None] = {}

    def of(self, found: ir.Operation, index: int) -> str | None:
        """Return the name of the kernel of an operation; None if its kernel takes more."""
        key = signature_of(found), index
        if key not in self._known:
            self._known[key] = self._make(found, index)
        return self._known[key]

    def _make(self, found: ir.Operation, index: int) -> str | None:
        made = Legalized.of(found)
        if made is None or made.ints is not None:
            return None
        places = [made.places.index(place) for place in made.places]
        # The output is the operand: whatever of it is still needed when it is written is copied.
        _merge_arguments(made.kernel, [*places, made.places.index(index)])
        name = found.name.removeprefix("relax.")
        return self._kernels.add(made.kernel, f"{name}_inplace")


def _merge_arguments(kernel: ir.Operation, places: list[int]) -> None:
    """Use for each argument of a kernel the one at a place, and erase those that are not needed."""
    block = kernel.regions[0].blocks[0]
    for number, place in reversed(list(enumerate(places))):
        if place != number:
            block.arguments[number].replace_all_uses_with(block.arguments[place])
            block.erase_argument(number)
    results = kernel.attributes["function_type"].value.results
    type_ = ir.FunctionType.get([value.type for value in block.arguments], results)
    kernel.attributes["function_type"] = ir.TypeAttr.get(type_)
