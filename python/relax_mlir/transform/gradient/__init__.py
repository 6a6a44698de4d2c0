# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reverse-mode automatic differentiation: the pass `Gradient`, and the rules that it follows.

Each operator has a rule, which composes its gradient of operators and kernels. The rules are in a
module for each family of operators; `register_gradient` adds one.
"""

from . import collective as collective
from . import elementwise as elementwise
from . import index as index
from . import manipulate as manipulate
from . import norm as norm
from . import products as products
from . import reduce as reduce
from . import signals as signals
from . import sort as sort
from . import structure as structure
from . import window as window
from .gradient_pass import Gradient
from .registry import (
    NO_GRADIENT,
    RULES,
    Forward,
    register_gradient,
    register_te_gradient,
)

__all__ = [
    "NO_GRADIENT",
    "RULES",
    "Forward",
    "Gradient",
    "register_gradient",
    "register_te_gradient",
]
