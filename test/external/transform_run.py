"""Programs are run, to say whether two that differ compute the same.

The operators of a program become kernels in many ways: TVM's tests state one, of which ours may be
another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import relax_mlir as relax

# The sizes that shape variables get, in their order.
_SIZES = (4, 6, 2, 8, 3, 5, 7, 9)


class NotRunError(Exception):
    """A program cannot be run alone, or takes what cannot be made up."""


class _Arguments:
    """Makes arguments of a function.

    Parameters
    ----------
    seed : int
        Where all programs get the same arguments, those of one type differ.
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._sizes: dict[str, int] = {}

    def of(self, type_: Any) -> Any:
        """Return an argument of a type."""
        if isinstance(type_, relax.TupleStructInfo):
            return tuple(self.of(field) for field in type_.fields)
        if isinstance(type_, relax.ShapeStructInfo) and type_.values is not None:
            return tuple(self._size(dim) for dim in type_.values.dims)
        if isinstance(type_, relax.PrimStructInfo):
            return self._scalar(type_)
        if isinstance(type_, relax.TensorStructInfo) and type_.shape is not None:
            return self._tensor([self._size(dim) for dim in type_.shape.dims], type_.dtype)
        raise NotRunError(f"an argument of type {type_}")

    def _size(self, dim: relax.Dim) -> int:
        for name in dim.variables:
            self._sizes.setdefault(name, _SIZES[len(self._sizes) % len(_SIZES)])
        return int(dim.evaluate(self._sizes))

    def _scalar(self, type_: Any) -> Any:
        if type_.value is not None:
            return self._size(type_.value)
        dtype = str(type_.element_type)
        if dtype == "i1":
            return True
        if dtype[0] not in "fi":
            raise NotRunError(f"a scalar of {dtype}")
        return 1 if dtype[0] == "i" else float(self._random.uniform(0.1, 0.9))

    def _tensor(self, shape: list[int], dtype: str | None) -> Any:
        if np.prod(shape) > 1 << 24:
            raise NotRunError("a large tensor")
        if dtype == "bool":
            return self._random.integers(0, 2, shape).astype(bool)
        if dtype is None or not dtype.startswith(("float", "int", "uint")) or "_" in dtype:
            raise NotRunError(f"a tensor of {dtype}")
        if dtype.startswith("float"):
            return self._random.uniform(0.1, 0.9, shape).astype(dtype)
        return self._random.integers(0, 2, shape).astype(dtype)


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the tensors and numbers of a result."""
    if isinstance(value, (int, float, str, type(None))):
        yield value
    elif hasattr(value, "numpy"):
        yield value.numpy()
    else:
        for field in value:
            yield from _leaves(field)


def _results(mod: relax.IRModule, seed: int) -> dict[str, list[Any]]:
    """Return what the functions of a module return, by name."""
    public = {
        name: op
        for name, op in mod.functions.items()
        if op.operation.name == "relax.func" and "sym_visibility" not in op.operation.attributes
    }
    if not public:
        raise NotRunError("no function to call")
    vm = relax.VirtualMachine(relax.compile(mod))
    found = {}
    for name, op in public.items():
        arguments = _Arguments(seed)
        types = [param.struct_info for param in op.params]
        found[name] = list(_leaves(vm[name](*[arguments.of(type_) for type_ in types])))
    return found


def difference(lhs: Any, rhs: Any) -> str:
    """Return how the results of two programs differ, '' where they do not.

    Raises
    ------
    NotRunError
        If one is no program that runs alone.
    """
    if not isinstance(lhs, relax.IRModule) or not isinstance(rhs, relax.IRModule):
        raise NotRunError("no program")
    try:
        left, right = _results(lhs, 1), _results(rhs, 1)
    except NotRunError:
        raise
    except Exception as error:
        raise NotRunError(f"{type(error).__name__}: {error}") from error
    if left.keys() != right.keys():
        return f"functions {sorted(left)} and {sorted(right)}"
    for name, values in left.items():
        if len(values) != len(right[name]):
            return f"{name}: {len(values)} and {len(right[name])} results"
        for one, other in zip(values, right[name], strict=True):
            try:
                np.testing.assert_allclose(
                    np.asarray(one, "float64"),
                    np.asarray(other, "float64"),
                    # Sums of 16 bits are rounded at other places.
                    *((1e-2, 1e-3) if getattr(one, "dtype", "") == "float16" else (1e-3, 1e-4)),
                )
            except AssertionError as error:
                return f"{name}: {' '.join(str(error).split())[:300]}"
    return ""
