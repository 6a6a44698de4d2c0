# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External libraries: patterns of what they compute, codegens that call them, what is faster."""

from ..external import (
    ExternalModule,
    codegen_names,
    get_codegen,
    register_codegen,
    register_loader,
)
from ..transform import FusionPattern, PatternCheckContext
from . import patterns as patterns
from .costs import Cost, CostCache
from .cublas import partition_for_cublas
from .cuda_tile import partition_for_cuda_tile
from .dnnl import partition_for_dnnl
from .measure import keep_faster, measure
from .pattern_registry import get_pattern, get_patterns_with_prefix, register_patterns
from .region import Region, Step, constant_of
from .utils import has_leaking_intermediate_variables

__all__ = [
    "Cost",
    "CostCache",
    "ExternalModule",
    "FusionPattern",
    "PatternCheckContext",
    "Region",
    "Step",
    "codegen_names",
    "constant_of",
    "get_codegen",
    "get_pattern",
    "get_patterns_with_prefix",
    "has_leaking_intermediate_variables",
    "keep_faster",
    "measure",
    "partition_for_cublas",
    "partition_for_cuda_tile",
    "partition_for_dnnl",
    "register_codegen",
    "register_loader",
    "register_patterns",
]
