# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts that a tensor is brought out of and into again."""

from __future__ import annotations

from mlir import ir

from ..core.ir import Dim
from ..core.ir_module import IRModule
from ..core.struct_info import facts_at
from ..core.variables import walk
from ..dialects import relax as _ops
from .alter_op_impl import OPERATOR_NAME, REMOVE_PAD
from .index_maps import composed, is_identity
from .kernels import Kernels
from .pass_context import PassContext
from .python_pass import module_pass
from .rewriting import are_equal, dims_of, made_by, rewrite_operations


@module_pass(opt_level=0)
class OptimizeLayoutTransform:
    """Remove changes of a layout that the next one undoes, which `AlterOpImpl` leaves.

    A second ``layout_transform`` is removed if both together lead each element to where it was.
    Between them may be a kernel `remove_pad`: what it cuts off, and the second one would set to 0
    again, does not matter if only elementwise kernels read it, whose results are cut off as well.

    Examples
    --------
    >>> from relax_mlir.transform import OptimizeLayoutTransform
    >>> mod = OptimizeLayoutTransform()('''
    ... #split = affine_map<(i) -> (i floordiv 4, i mod 4)>
    ... #join = affine_map<(i, j) -> (i * 4 + j)>
    ... relax.func @main(%x: !relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32> {
    ...   %0 = relax.layout_transform %x {index_map = #join} : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[16], f32>
    ...   %1 = relax.layout_transform %0 {index_map = #split} : (!relax.tensor<[16], f32>) -> !relax.tensor<[4, 4], f32>
    ...   relax.return %1 : !relax.tensor<[4, 4], f32>
    ... }''')
    >>> "layout_transform" in str(mod)
    False
    """  # noqa: E501 (the lines of MLIR)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Remove changes of layouts in each function of the module."""
        layouts = _Layouts(Kernels(mod))
        for function in list(mod.functions.values()):
            if isinstance(function, _ops.FuncOp):
                rewrite_operations(
                    function.operation, ["relax.layout_transform"], layouts.without_change
                )
        return mod


class _Layouts:
    """Finds changes of layouts in the functions of a module."""

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels

    def without_change(self, second: ir.Operation) -> ir.Value | None:
        """Return the tensor that a change of its layout leads back to; None where it does not."""
        between = second.operands[0]
        cut = self._call_of(between, REMOVE_PAD)
        first = made_by(between if cut is None else cut.operands[0], "relax.layout_transform")
        if first is None:
            return None
        source = first.operands[0]
        before, after = dims_of(source), dims_of(second.results[0])
        if not before or after is None or not are_equal(before, after, facts_at(second)):
            return None
        maps = [each.attributes["index_map"].value for each in (second, first)]
        if not is_identity(composed(*maps), before):
            return None
        return source if cut is None or self._ignores_padding(second, first, cut) else None

    def _call_of(self, value: ir.Value, operator: str) -> ir.Operation | None:
        """Return the call of a kernel of an operator that makes a value."""
        call = made_by(value, "relax.call_tir")
        kernel = self._kernel_of(call) if call is not None else None
        if kernel is None or OPERATOR_NAME not in kernel.attributes:
            return None
        return call if kernel.attributes[OPERATOR_NAME].value == operator else None

    def _kernel_of(self, call: ir.Operation) -> ir.Operation | None:
        return self._kernels.find(call.attributes["callee"].value)

    def _ignores_padding(
        self, second: ir.Operation, first: ir.Operation, cut: ir.Operation
    ) -> bool:
        """Say whether of a result only those elements matter that were there without padding.

        All that is computed of it is cut in the same way.
        """
        sizes = dims_of(cut.results[0])
        pending = _users(second)
        while pending:
            user = pending.pop()
            if user.name == "relax.layout_transform":
                is_back = user.attributes["index_map"] == first.attributes["index_map"]
                if not is_back or not all(self._cuts_to(each, sizes) for each in _users(user)):
                    return False
            elif user.name == "relax.call_tir" and self._is_elementwise(user):
                pending += _users(user)
            else:
                return False
        return True

    def _cuts_to(self, user: ir.Operation, sizes: list[Dim] | None) -> bool:
        is_cut = user.results and self._call_of(user.results[0], REMOVE_PAD) is not None
        return bool(is_cut) and sizes is not None and dims_of(user.results[0]) == sizes

    def _is_elementwise(self, call: ir.Operation) -> bool:
        """Say whether each element of what a kernel makes depends on those at its own place."""
        kernel = self._kernel_of(call)
        if kernel is None:
            return False
        body = [op.operation for op in kernel.regions[0].blocks[0].operations]
        inner = [op.operation for each in body for op in walk(each) if op is not each]
        is_simple = all(op.name.startswith(("arith.", "math.", "linalg.yield")) for op in inner)
        return is_simple and all(map(_is_elementwise_operation, body))


def _users(found: ir.Operation) -> list[ir.Operation]:
    return [use.owner.operation for result in found.results for use in result.uses]


def _is_elementwise_operation(found: ir.Operation) -> bool:
    if found.name in ("arith.constant", "func.return", "tensor.empty"):
        return True
    if found.name != "linalg.generic":
        return False
    maps = [attr.value for attr in found.attributes["indexing_maps"]]
    if any("parallel" not in str(attr) for attr in found.attributes["iterator_types"]):
        return False
    return all(map_ == ir.AffineMap.get_identity(map_.n_dims) for map_ in maps)
