# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places that indices name."""

from __future__ import annotations

from typing import Any

from ... import op
from ...core.ir import Dim
from .shapes import reshaped


def from_end(places: Any, size: Any) -> Any:
    """Return indices of which negative ones count from the end as indices from 0 on."""
    if places.type.dtype != "int64":
        places = op.astype(places, "int64")
    return op.where(op.less(places, 0), places + size, places)


def clipped(places: Any, size: Any) -> Any:
    """Return the nearest indices from 0 to `size` - 1."""
    return op.maximum(op.minimum(places, size - 1), 0)


def is_inside(places: Any, size: Any) -> Any:
    """Say which indices are from 0 to `size` - 1."""
    return op.logical_and(op.greater_equal(places, 0), op.less(places, size))


def vector_of(values: Any) -> Any:
    """Return a tensor of rank 0 as a vector of one element."""
    return reshaped(values, [Dim(1)])
