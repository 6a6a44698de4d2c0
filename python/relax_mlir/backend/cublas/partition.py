# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cuBLASLt computes of a program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from relax_runtime.cublas.products import ACTIVATIONS, DTYPES

from ...core.ir_module import IRModule, ModuleLike
from ...transform import FuseOpsByPattern, PatternCheckContext
from ..pattern_registry import get_patterns_with_prefix, register_patterns
from ..products import product_patterns
from ..utils import has_strided_batches, is_product_of_tensors
from .codegen import TF32


def partition_for_cublas(
    mod: ModuleLike, bind_constants: bool = False, *, tf32: bool = False
) -> IRModule:
    """Make functions of what cuBLASLt computes, with the attribute ``Codegen``.

    Products of matrices (`matmul`, also of transposed ones and of batches) of ``float32``,
    ``float16`` and ``bfloat16``, whose sums are ``float32``, each with a bias, a sum with a tensor
    of the same shape, and `relu` or `gelu_tanh`, where they follow. They are looked for in dataflow
    blocks, and are functions of their own: what is between them is computed by kernels of the
    compiler.

    Parameters
    ----------
    mod : module
        It is not changed.
    bind_constants : bool
        Whether constant weights are part of the functions, which copy them to the device when they
        are first called. By default the program has them there.
    tf32 : bool
        Whether products of ``float32`` may round their operands to TF32, which has 10 bits after
        the point: they are several times as fast.

    Returns
    -------
    IRModule
        `RunCodegen` has the functions compiled, `compile(target="cuda")` the rest.

    Examples
    --------
    >>> from relax_mlir.script import from_source
    >>> mod = from_source('''
    ... @I.ir_module
    ... class Module:
    ...     @R.function
    ...     def main(x: R.Tensor(("n", 4), "float16"), w: R.Tensor((8, 4), "float16")):
    ...         with R.dataflow():
    ...             y = R.nn.relu(R.matmul(x, R.permute_dims(w)))
    ...             R.output(y)
    ...         return y
    ... ''')
    >>> [gvar.name for gvar in partition_for_cublas(mod).get_global_vars()]
    ['main', 'fused_relax_permute_dims_relax_matmul_relax_nn_relu_cublas']
    """
    patterns = get_patterns_with_prefix("cublas.")
    if tf32:
        patterns = [replace(pattern, attrs_getter=_allow_tf32) for pattern in patterns]
    made: Any = FuseOpsByPattern(patterns, bind_constants, annotate_codegen=True)
    return made(mod)


def _allow_tf32(_: Any) -> dict[str, bool]:
    return {TF32: True}


# ---------------------------------------------------------------------------------------------
# Patterns
# ---------------------------------------------------------------------------------------------


def _check(context: PatternCheckContext) -> bool:
    """Say whether cuBLASLt computes what a pattern matched."""
    product = context.annotated_expr["root"]
    if not is_product_of_tensors(context, product, "residual", DTYPES, ("cuda",)):
        return False
    return has_strided_batches(product.owner.operation)


register_patterns(product_patterns("cublas", ACTIVATIONS, _check))
