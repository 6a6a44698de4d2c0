# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's operators on values of a program."""

from __future__ import annotations

from typing import Any

from mlir import ir

# The functions of `relax_mlir.op`, which builds on values and adds its functions here.
FUNCTIONS: dict[str, Any] = {}


def _binary(name: str, meaning: str) -> Any:
    def method(self: Any, other: Any) -> ir.Value:
        return FUNCTIONS[name](self, other)

    method.__doc__ = meaning
    return method


def _swapped(name: str, meaning: str) -> Any:
    def method(self: Any, other: Any) -> ir.Value:
        return FUNCTIONS[name](other, self)

    method.__doc__ = meaning
    return method


# Attributes that arrays have, and where they are here.
_INSTEAD = {
    "shape": "op.shape_of(x), or x.struct_info.shape for what is known now",
    "dtype": "x.struct_info.dtype",
    "ndim": "x.struct_info.ndim",
    "T": "op.permute_dims(x)",
    "transpose": "op.permute_dims(x, axes)",
    "view": "op.reshape(x, shape)",
}


def _member_hint(name: str) -> str:
    """Return what to write in place of a method, or of an attribute, that arrays have."""
    instead = _INSTEAD.get(name)
    if instead is None and name in FUNCTIONS and callable(FUNCTIONS[name]):
        instead = f"op.{name}(x, ...)"
    return "" if instead is None else f"; write {instead}"


class Operators:
    """Python's operators for values of a program."""

    __add__ = _binary("add", "Return self + other.")
    __sub__ = _binary("subtract", "Return self - other.")
    __mul__ = _binary("multiply", "Return self * other.")
    __truediv__ = _binary("divide", "Return self / other.")
    __floordiv__ = _binary("floor_divide", "Return self // other.")
    __mod__ = _binary("mod", "Return self % other.")
    __pow__ = _binary("power", "Return self ** other.")
    __matmul__ = _binary("matmul", "Return self @ other.")
    __radd__ = _swapped("add", "Return other + self.")
    __rsub__ = _swapped("subtract", "Return other - self.")
    __rmul__ = _swapped("multiply", "Return other * self.")
    __rtruediv__ = _swapped("divide", "Return other / self.")
    __rfloordiv__ = _swapped("floor_divide", "Return other // self.")
    __rmod__ = _swapped("mod", "Return other % self.")
    __rmatmul__ = _swapped("matmul", "Return other @ self.")
    __rpow__ = _swapped("power", "Return other ** self.")
    __lt__ = _binary("less", "Return self < other.")
    __le__ = _binary("less_equal", "Return self <= other.")
    __gt__ = _binary("greater", "Return self > other.")
    __ge__ = _binary("greater_equal", "Return self >= other.")

    # Arrays of NumPy leave their operators to values: a constant joins the program.
    __array_ufunc__ = None

    def __getattr__(self, name: str) -> Any:
        hint = "" if name.startswith("_") else _member_hint(name)
        raise AttributeError(f"a value of a program has no attribute '{name}'{hint}")

    def __neg__(self) -> ir.Value:
        """Return -self."""
        return FUNCTIONS["negative"](self)

    def __call__(self, *args: Any, **kwargs: Any) -> ir.Value:
        """Call the function that this is, as `relax_mlir.op.call` does."""
        return FUNCTIONS["call"](self, *args, **kwargs)

    def __getitem__(self, index: int) -> ir.Value:
        """Return a field of the tuple that this is.

        Raises
        ------
        TypeError
            If the index is no int: tensors have `op.strided_slice` and `op.take`.
        """
        if not hasattr(index, "__index__") and not hasattr(index, "value"):
            raise TypeError(
                f"expected an int, the number of a field of a tuple, but got {index!r}; for "
                "elements of a tensor write op.strided_slice or op.take"
            )
        return FUNCTIONS["get_item"](self, index)

    def astype(self, dtype: Any) -> ir.Value:
        """Return the tensor converted to another data type."""
        return FUNCTIONS["astype"](self, dtype)
