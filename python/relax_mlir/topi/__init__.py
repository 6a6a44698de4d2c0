# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A library of tensor expressions, with TVM's names and meaning.

Functions take and return `relax_mlir.te.Tensor`; `relax_mlir.BlockBuilder.emit_te` calls them with
values of a program. They are in modules by group.
"""

from ..te.tensor import FUNCTIONS as _FUNCTIONS
from . import broadcast, elemwise, nn, reduction, scan, tensor, transform, utils
from .broadcast import *  # noqa: F403
from .elemwise import *  # noqa: F403
from .reduction import *  # noqa: F403
from .scan import *  # noqa: F403
from .tensor import *  # noqa: F403
from .transform import *  # noqa: F403

# TVM's name of the group.
math = elemwise

__all__ = [
    "broadcast",
    "elemwise",
    "math",
    "nn",
    "reduction",
    "scan",
    "tensor",
    "transform",
    "utils",
]
__all__ += broadcast.__all__
__all__ += elemwise.__all__
__all__ += reduction.__all__
__all__ += scan.__all__
__all__ += tensor.__all__
__all__ += transform.__all__

_FUNCTIONS.update(globals())
