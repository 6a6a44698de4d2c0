# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data types: as NumPy and TVM spell them, and as MLIR does."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir
from relax_runtime.near_misses import did_you_mean

from .context import current_context

# By their names in NumPy, TVM and ml_dtypes.
_MLIR_NAMES = {
    "bool": "i1",
    **{f"int{bits}": f"i{bits}" for bits in (4, 8, 16, 32, 64)},
    **{f"uint{bits}": f"ui{bits}" for bits in (4, 8, 16, 32, 64)},
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3": "f8E4M3",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e8m0fnu": "f8E8M0FNU",
}
_NOT_NUMPY = ("bfloat16", "float8", "int4", "uint4")
_NAMES = {mlir: name for name, mlir in _MLIR_NAMES.items()}


def dtype_name(dtype: Any) -> str:
    """Return the name of a data type.

    Parameters
    ----------
    dtype : str, mlir.ir.Type, numpy.dtype, type or torch.dtype
        Anything that stands for a data type.

    Returns
    -------
    str
        The name in NumPy and TVM.

    Raises
    ------
    ValueError
        If there is no such data type.
    TypeError
        If it is something else, None included, which NumPy takes for float64.

    Examples
    --------
    >>> import numpy as np
    >>> dtype_name(np.float32), dtype_name("bfloat16"), dtype_name(bool)
    ('float32', 'bfloat16', 'bool')
    """
    if isinstance(dtype, ir.Type):
        name = _NAMES.get(str(dtype), str(dtype))
    elif isinstance(dtype, str):
        name = str(dtype)
    elif type(dtype).__module__ == "torch":
        name = str(dtype).removeprefix("torch.")
    else:
        name = _numpy_name(dtype)
    if name not in _MLIR_NAMES:
        known = ", ".join(_MLIR_NAMES)
        hint = did_you_mean(name, _MLIR_NAMES)
        raise ValueError(f"expected a data type, one of {known}, but got {dtype!r}{hint}")
    return name


def _numpy_name(dtype: Any) -> str:
    """Return the name that NumPy has for a data type."""
    try:
        if dtype is not None:
            return np.dtype(dtype).name
    except (TypeError, ValueError):
        pass
    raise TypeError(f"expected a data type, such as 'float32', but got {dtype!r}")


def is_numpy(name: str) -> bool:
    """Say whether NumPy itself has the data type of this name."""
    return not name.startswith(_NOT_NUMPY)


def can_convert(array: np.ndarray, name: str) -> bool:
    """Say whether elements may become those of a data type without a change of kind.

    Integers may become floats. What NumPy lacks takes the kind that ml_dtypes has names for.
    """
    given = array.dtype.name
    if is_numpy(name) and is_numpy(given):
        return bool(np.can_cast(array, name, "same_kind"))
    if name == "bool":
        return False
    return given == "bool" or "int" in given or "int" not in name


def has_numbers(array: np.ndarray) -> bool:
    """Say whether the elements of an array are numbers, those of ml_dtypes included."""
    return array.dtype.kind in "biuf" or array.dtype.name in _MLIR_NAMES


def element_type(dtype: Any) -> ir.Type:
    """Return the MLIR type of a data type, in the current context."""
    if isinstance(dtype, ir.Type):
        return dtype
    return ir.Type.parse(_MLIR_NAMES[dtype_name(dtype)], context=current_context())
