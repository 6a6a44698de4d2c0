# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External libraries: patterns of what they compute."""

from ..transform import FusionPattern, PatternCheckContext
from .pattern_registry import get_pattern, get_patterns_with_prefix, register_patterns
from .utils import has_leaking_intermediate_variables

__all__ = [
    "FusionPattern",
    "PatternCheckContext",
    "get_pattern",
    "get_patterns_with_prefix",
    "has_leaking_intermediate_variables",
    "register_patterns",
]
