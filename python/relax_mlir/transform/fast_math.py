# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementary functions with fewer digits."""

from __future__ import annotations

from mlir import ir

from .. import op
from ..core.expr import GlobalVar
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..dialects import relax as _ops
from .kernels import Kernels, Legalized, distinct_operands, signature_of
from .pass_context import PassContext
from .python_pass import module_pass
from .rewriting import rewrite_operations

_OPERATORS = ("relax.erf", "relax.exp", "relax.softmax", "relax.tanh")
_FUNCTIONS = ("math.erf", "math.exp", "math.tanh")


@module_pass(opt_level=0)
class FastMathTransform:
    """Compute `exp`, `erf`, `tanh` and `softmax` with fewer digits.

    Each becomes a call of a kernel, such as `fast_exp`, whose functions have the flag ``afn``, and
    are as accurate as with ``compile(fast_math=True)``: within some 10 units in the last place, see
    docs/dev/math.md. All other operators stay as they are.

    Examples
    --------
    >>> from relax_mlir.transform import FastMathTransform
    >>> mod = FastMathTransform()('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   relax.return %0 : !relax.tensor<[n], f32>
    ... }''')
    >>> "relax.call_tir @fast_exp(%x)" in str(mod), "fastmath<afn>" in str(mod)
    (True, True)
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Replace the operators in each function of the module."""
        fast = _FastKernels(mod)
        for function in list(mod.functions.values()):
            if isinstance(function, _ops.FuncOp):
                rewrite_operations(function.operation, _OPERATORS, fast.call)
        return mod


class _FastKernels:
    """The kernels of operators with fewer digits."""

    def __init__(self, mod: IRModule) -> None:
        self._kernels = Kernels(mod)
        self._known: dict[str, tuple[str, Legalized] | None] = {}

    def call(self, found: ir.Operation) -> ir.Value | None:
        """Call the kernel of an operation; return None if it has none."""
        key = signature_of(found)
        if key not in self._known:
            self._known[key] = self._make(found)
        known = self._known[key]
        if known is None:
            return None
        name, made = known
        operands = distinct_operands(found)
        args = [operands[place] for place in made.places]
        return op.call_tir(GlobalVar(name), args, found.results[0].type, made.ints)

    def _make(self, found: ir.Operation) -> tuple[str, Legalized] | None:
        made = Legalized.of(found)
        if made is None:
            return None
        for each in walk(made.kernel):
            if each.name in _FUNCTIONS:
                each.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<afn>")
        name = found.name.removeprefix("relax.")
        return self._kernels.add(made.kernel, f"fast_{name}"), made
