# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernels of CUDA Tile IR compute of a program."""

from __future__ import annotations

from typing import Any

from relax_runtime.cuda_tile.functions import ATTENTION_OPERANDS

from ...core.ir_module import IRModule, ModuleLike
from ...dpl import is_op, wildcard
from ...transform import FuseOpsByPattern, FusionPattern, PatternCheckContext
from ..pattern_registry import get_patterns_with_prefix, register_patterns
from ..products import product_patterns
from ..utils import has_strided_batches, is_product_of_tensors, is_tensor_of
from .kernels import ACTIVATIONS
from .shapes import DTYPES, is_attention_of

_DEVICES = ("cuda",)


def partition_for_cuda_tile(mod: ModuleLike, bind_constants: bool = False) -> IRModule:
    """Make functions of what kernels of CUDA Tile IR compute, with the attribute ``Codegen``.

    Products of matrices (`matmul`, also of transposed ones and of batches) of ``float16`` and
    ``bfloat16``, whose sums are ``float32``, each with a bias, a sum with a tensor of the same
    shape, and `relu`, `gelu`, `gelu_tanh`, `silu`, `sigmoid` or `tanh`, where they follow; and
    `attention`. They are looked for in dataflow blocks, and are functions of their own: what is
    between them is computed by kernels of the compiler.

    Parameters
    ----------
    mod : module
        It is not changed.
    bind_constants : bool
        Whether constant weights are part of the functions, which copy them to the device when they
        are first called. By default the program has them there.

    Returns
    -------
    IRModule
        `RunCodegen` has the functions compiled, for the architectures of its option, as in
        ``RunCodegen({"cuda_tile": {"arch": "sm_90"}})``; `compile(target="cuda")` the rest.

    Examples
    --------
    >>> from relax_mlir.script import from_source
    >>> mod = from_source('''
    ... @I.ir_module
    ... class Module:
    ...     @R.function
    ...     def main(x: R.Tensor(("n", 4), "float16"), w: R.Tensor((8, 4), "float16")):
    ...         with R.dataflow():
    ...             y = R.nn.silu(R.matmul(x, R.permute_dims(w)))
    ...             R.output(y)
    ...         return y
    ... ''')
    >>> [gvar.name for gvar in partition_for_cuda_tile(mod).get_global_vars()]
    ['main', 'fused_relax_permute_dims_relax_matmul_relax_nn_silu_cuda_tile']
    """
    patterns = get_patterns_with_prefix("cuda_tile.")
    made: Any = FuseOpsByPattern(patterns, bind_constants, annotate_codegen=True)
    return made(mod)


# ---------------------------------------------------------------------------------------------
# Patterns
# ---------------------------------------------------------------------------------------------


def _check_product(context: PatternCheckContext) -> bool:
    """Say whether the kernel computes the product that a pattern matched."""
    product = context.annotated_expr["root"]
    if not is_product_of_tensors(context, product, "residual", DTYPES, _DEVICES):
        return False
    return has_strided_batches(product.owner.operation)


def _check_attention(context: PatternCheckContext) -> bool:
    """Say whether the kernel computes the attention that a pattern matched."""
    found = context.annotated_expr
    operands = [found[name] for name in ATTENTION_OPERANDS if name in found]
    types: list[Any] = [value.type for value in (context.matched_expr, *operands)]
    if not all(is_tensor_of(type_, DTYPES, _DEVICES) for type_ in types):
        return False
    return is_attention_of(*operands)


def _attention_pattern(has_bias: bool) -> FusionPattern:
    names = ATTENTION_OPERANDS if has_bias else ATTENTION_OPERANDS[:-1]
    parts = {name: wildcard() for name in names}
    name = "cuda_tile.attention" + "_bias" * has_bias
    return FusionPattern(name, is_op("relax.attention")(*parts.values()), parts, _check_attention)


register_patterns(product_patterns("cuda_tile", ACTIVATIONS, _check_product))
register_patterns([_attention_pattern(False), _attention_pattern(True)])
