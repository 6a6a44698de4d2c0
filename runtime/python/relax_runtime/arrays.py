# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that DLPack does not describe, in words: why a function does not take one.

Calls only ask after they have failed.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .small_types import is_int4_name, is_small

__all__ = ["NO_MASK", "as_numbers", "misfit"]

# The largest number of bytes in an element that DLPack describes, by the kind of its data type.
_LARGEST = {"f": 8, "c": 16}
NO_MASK = "expected an array without a mask: write x.filled()"
# The longest text of a value in a message.
_LONGEST = 60


def misfit(value: Any) -> str | None:
    """Return what was expected in place of an array, and what came; None for all other values.

    Examples
    --------
    >>> misfit(np.zeros(2)) is None
    True
    >>> misfit(np.zeros(2, "datetime64[s]"))
    'expected an array of numbers, but got one of datetime64[s]'
    >>> misfit(np.zeros(2, [("a", "f4")]))
    "expected an array of numbers, but got one of the structured type [('a', '<f4')]"
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return _misfit_of_numpy(value.dtype)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _misfit_of_torch(value)
    return None


def _misfit_of_numpy(dtype: np.dtype[Any]) -> str | None:
    if dtype.names is not None:
        return f"expected an array of numbers, but got one of the structured type {dtype}"
    if dtype.kind not in "biufc" and not is_small(dtype):
        return f"expected an array of numbers, but got one of {dtype}"
    if dtype.itemsize > _LARGEST.get(dtype.kind, 8):
        wanted = "float64" if dtype.kind == "f" else "complex128"
        return f"expected numbers of up to 64 bits, but got {dtype}: write x.astype('{wanted}')"
    if not dtype.isnative:
        return (
            f"expected numbers in the order of bytes of this machine, but got {dtype.str}: write "
            "x.astype(x.dtype.newbyteorder('='))"
        )
    return None


def _misfit_of_torch(tensor: Any) -> str | None:
    if tensor.device.type == "meta":
        return "expected a tensor with elements, but got one of PyTorch on the device meta"
    if tensor.is_nested:
        return "expected a tensor, but got a nested one of PyTorch: write x.to_padded_tensor(0)"
    if str(tensor.layout) != "torch.strided":
        return f"expected a dense tensor, but got one of {tensor.layout}: write x.to_dense()"
    if tensor.is_quantized:
        return f"expected a tensor of numbers, but got one of {tensor.dtype}: write x.dequantize()"
    return None


def as_numbers(value: Any, dtype: str | None) -> np.ndarray[Any, Any]:
    """Return a copy of numbers as an array that DLPack describes.

    Parameters
    ----------
    value : array, number or nested sequence of numbers
    dtype : str, optional

    Raises
    ------
    TypeError
        If there is no such data type, the value has anything but numbers, or a mask.
    ValueError
        If sequences in it have different lengths, or numbers in it are beyond the data type.

    Examples
    --------
    >>> as_numbers([[1, 2], [3]], None)
    Traceback (most recent call last):
    ...
    ValueError: expected sequences of equal lengths, but got [[1, 2], [3]]
    """
    if dtype is not None and is_int4_name(dtype):
        value = as_numbers(value, None)  # ml_dtypes does not say which numbers are beyond it
    is_numpy = isinstance(value, (np.ndarray, np.generic))
    reason = None if is_numpy else misfit(value)
    if isinstance(value, np.ma.MaskedArray):
        reason = NO_MASK
    if reason is None:
        array = _copied(value, _dtype_of(dtype))
        reason = _misfit_of_numpy(array.dtype)
        if reason is None:
            if is_numpy:
                _check_range(value, array)
            return array
        if not is_numpy and dtype is None:
            reason = f"expected numbers, but got {_shown(value)}"
    raise TypeError(reason)


def _copied(value: Any, dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    try:
        with np.errstate(invalid="ignore", over="ignore"):  # see _check_range
            return np.array(value, dtype, order="C")
    except OverflowError:
        raise ValueError(f"expected numbers of {dtype}, but got {_shown(value)}") from None
    except (TypeError, ValueError) as error:
        if "inhomogeneous" in str(error):
            raise ValueError(
                f"expected sequences of equal lengths, but got {_shown(value)}"
            ) from None
        raise TypeError(f"expected numbers, but got {_shown(value)}") from error


def _check_range(given: Any, made: np.ndarray[Any, Any]) -> None:
    """Raise ValueError where numbers of an array are beyond the data type of the copy."""
    if given.dtype == made.dtype or given.dtype.kind not in "iuf":
        return
    if made.dtype.kind in "iu" or is_int4_name(made.dtype.name):
        numbers = made if made.dtype.kind in "iu" else made.astype(np.int8)
        differs = numbers != (np.trunc(given) if given.dtype.kind == "f" else given)
    else:
        differs = np.isinf(made) & np.isfinite(given)
    if np.any(differs):
        number = np.asarray(given)[differs][0]
        raise ValueError(f"expected numbers of {made.dtype}, but got {number}")


def _dtype_of(name: str | None) -> np.dtype[Any] | None:
    try:
        return None if name is None else np.dtype(name)
    except TypeError:
        raise TypeError(f"expected a data type of NumPy, but got {name!r}") from None


def _shown(value: Any) -> str:
    text = repr(value)
    is_short = len(text) <= _LONGEST and " at 0x" not in text and "\n" not in text
    return text if is_short else f"an object of type {type(value).__name__}"
