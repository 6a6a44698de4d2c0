# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What oneDNN computes of a program."""

from __future__ import annotations

import itertools
import os
from typing import Any

from mlir import ir

from ...core.ir_module import IRModule, ModuleLike
from ...dpl import DFPattern, is_op, wildcard
from ...transform import FuseOpsByPattern, MergeCompositeFunctions, PatternCheckContext, Sequential
from ..costs import CostCache
from ..measure import keep_faster
from ..pattern_registry import get_patterns_with_prefix, register_patterns
from ..utils import is_product_of_tensors
from .codegen import convolution_attributes

_ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid")
_PRODUCTS = ("conv2d", "matmul_transposed", "matmul")


def partition_for_dnnl(
    mod: ModuleLike,
    bind_constants: bool = False,
    *,
    merge: bool = True,
    cost: CostCache | str | os.PathLike[str] | None = None,
) -> IRModule:
    """Make functions of what oneDNN computes, with the attribute ``Codegen``.

    Products of matrices (`matmul`, also by a transposed matrix) and convolutions (`conv2d` in NCHW
    and OIHW) of ``float32``, each with a bias, a sum with a tensor of the same shape, and one of
    `relu`, `gelu`, `gelu_tanh`, `silu`, `tanh`, `sigmoid`, where they follow. They are looked for
    in dataflow blocks.

    Parameters
    ----------
    mod : module
        It is not changed.
    bind_constants : bool
        Whether constant weights are part of the functions: then oneDNN has them in the layout that
        it likes best, and the code holds a copy of them.
    merge : bool
        Whether functions that follow each other become one.
    cost : CostCache or path, optional
        What `measure` has measured: functions that the compiler's own kernels compute faster stay
        as they were. By default, and for functions that were not measured, the patterns decide.

    Returns
    -------
    IRModule
        `RunCodegen` has the functions compiled.

    Examples
    --------
    >>> from relax_mlir.script import from_source
    >>> mod = from_source('''
    ... @I.ir_module
    ... class Module:
    ...     @R.function
    ...     def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 8), "float32")):
    ...         with R.dataflow():
    ...             y = R.nn.relu(R.matmul(x, w))
    ...             R.output(y)
    ...         return y
    ... ''')
    >>> [gvar.name for gvar in partition_for_dnnl(mod).get_global_vars()]
    ['main', 'fused_relax_matmul_relax_nn_relu1_dnnl']
    """
    patterns = get_patterns_with_prefix("dnnl.")
    fuse: Any = FuseOpsByPattern(patterns, bind_constants, annotate_codegen=not merge)
    passes = [fuse, MergeCompositeFunctions()] if merge else [fuse]
    made = Sequential(passes, name="partition_for_dnnl")(mod)
    return made if cost is None else keep_faster(made, "dnnl", CostCache.of(cost))


# ---------------------------------------------------------------------------------------------
# Patterns
# ---------------------------------------------------------------------------------------------


def _check(context: PatternCheckContext) -> bool:
    """Say whether oneDNN computes what a pattern matched."""
    product = context.annotated_expr["product"]
    if not is_product_of_tensors(context, product, "sum", ("float32",), ("cpu", "llvm")):
        return False
    op = product.owner.operation
    return _check_convolution(op) if op.name == "relax.conv2d" else _check_matmul(op)


def _check_matmul(op: ir.Operation) -> bool:
    left, right = (value.type for value in op.operands)
    if len(left.shape) < 2 or len(right.shape) < 2:
        return False
    if len(left.shape) < len(right.shape):
        return False
    inner = left.shape[-1].value
    return inner is not None and inner > 0 and right.shape[-2].value == inner


def _check_convolution(op: ir.Operation) -> bool:
    view: Any = op.opview
    layouts = {"data_layout": "NCHW", "kernel_layout": "OIHW", "out_layout": "NCHW"}
    for name, wanted in layouts.items():
        if name in op.attributes and op.attributes[name].value not in (wanted, ""):
            return False
    weights: Any = op.operands[1].type
    if not all(dim.value for dim in weights.shape):  # known, and none is 0
        return False
    return min(convolution_attributes(view)["padding"]) >= 0


def _pattern(
    product: str, bias: bool, added: bool, activation: str | None
) -> tuple[str, DFPattern, dict[str, DFPattern], Any]:
    """Return the pattern of a product, and of what follows it."""
    weights: DFPattern = wildcard()
    if product == "matmul_transposed":
        weights = is_op("relax.permute_dims")(weights)
    name = "relax.nn.conv2d" if product == "conv2d" else "relax.matmul"
    found: DFPattern = is_op(name)(wildcard(), weights)
    parts = {"product": found}
    if bias:
        parts["bias"] = wildcard()
        if product == "conv2d":
            parts["bias"] = is_op("relax.reshape")(wildcard(), wildcard()) | wildcard()
        found = is_op("relax.add")(found, parts["bias"])
    if added:
        parts["sum"] = wildcard()
        found = is_op("relax.add")(found, parts["sum"])
    if activation is not None:
        found = is_op(f"relax.{activation}")(found)
    words = ["bias"] * bias + ["sum"] * added + ([activation] if activation else [])
    return "_".join([f"dnnl.{product}", *words]), found, parts, _check


def _patterns() -> list[Any]:
    """Return all patterns, the smallest first: later ones are tried first."""
    choices = itertools.product(_PRODUCTS, (False, True), (False, True), (None, *_ACTIVATIONS))
    rows = [_pattern(*row) for row in choices]
    # Those with a transposed matrix have a part more.
    return sorted(rows, key=lambda row: row[0].count("_") - row[0].count("gelu_tanh"))


register_patterns(_patterns())
