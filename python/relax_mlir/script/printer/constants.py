# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants as a program writes them: numbers and short lists in place, others as metadata."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
from mlir import ir
from relax_runtime.small_types import is_int4_name

from ...core.constants import elements_attr
from ...core.dtypes import dtype_name, is_numpy
from ..generic import METADATA_KEY, metadata_text
from ..tvm_json import to_json
from .types import literal

# More numbers than these are not written in place.
_MOST = 32


class Constants:
    """The constants that a program refers to by their number."""

    def __init__(self) -> None:
        self._attrs: list[ir.Attribute] = []

    def __len__(self) -> int:
        return len(self._attrs)

    def mark(self) -> int:
        """Return the state for `back_to`."""
        return len(self._attrs)

    def back_to(self, mark: int) -> None:
        """Forget the constants from then on."""
        del self._attrs[mark:]

    def reference(self, attr: ir.Attribute) -> str:
        """Return an expression for a constant."""
        with contextlib.suppress(ValueError):
            return f'metadata["{METADATA_KEY}"][{self._attrs.index(attr)}]'
        self._attrs.append(attr)
        return f'metadata["{METADATA_KEY}"][{len(self._attrs) - 1}]'

    def text(self) -> tuple[str, str]:
        """Return the constants as text, and which function reads it.

        It is what TVM reads, or text of MLIR where that would lose something.
        """
        text = to_json(self._attrs)
        return (metadata_text(self._attrs), "") if text is None else (text, "tvm.ir.load_json")


def constant_text(attr: ir.Attribute) -> str | None:
    """Return a constant as ``R.const`` of numbers; None where that would not be the same."""
    value = _numbers(attr)
    if value is None:
        return None
    name = dtype_name(attr.type.element_type)
    try:
        if elements_attr(np.asarray(_as_written(value), _exact(name)), name) != attr:
            return None
    except (ValueError, TypeError, ir.MLIRError):
        return None
    return f'R.const({literal(value)}, "{name}")'


def _exact(name: str) -> str:
    if is_int4_name(name):
        return "int64"
    return name if is_numpy(name) else "float64"


def _numbers(attr: ir.Attribute) -> Any:
    """Return the numbers of a short list."""
    type_ = attr.type
    if not isinstance(attr, ir.DenseElementsAttr) or not isinstance(type_, ir.RankedTensorType):
        return None
    shape = list(type_.shape)
    if attr.is_splat and not shape:
        return attr.get_splat_value().value
    if math.prod(shape) > _MOST or not is_numpy(dtype_name(type_.element_type)):
        return None
    numbers = np.array(attr).tolist()
    return numbers if list(np.shape(numbers)) == shape else None


def _as_written(value: Any) -> Any:
    """Return numbers as they are read again: there is one NaN only."""
    if isinstance(value, list):
        return [_as_written(item) for item in value]
    return math.nan if isinstance(value, float) and math.isnan(value) else value
