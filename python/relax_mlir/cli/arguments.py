# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of programs: of files, and random ones."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tvm_ffi
from relax_runtime.near_misses import did_you_mean

from ..core.ir import Dim
from .dimensions import check_names
from .errors import CommandError, check_readable
from .signature import Signature, Spec

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class RandomInputs:
    """How random inputs are made.

    Attributes
    ----------
    seed : int
    sizes : mapping of str to int
        Of dimensions, by name; those that are not named are 1.
    integers : tuple of int
        The least and largest integer, both included.
    """

    seed: int = 0
    sizes: Mapping[str, int] | None = None
    integers: tuple[int, int] = (0, 1)


def read_arrays(paths: Sequence[Path], names: Sequence[str]) -> dict[str, Array]:
    """Return the arrays of files ``.npz``, or of ``.npy`` files in the order of names.

    Raises
    ------
    CommandError
        If a file is no such file, or holds objects of Python.
    """
    found: dict[str, Array] = {}
    unnamed = [path for path in paths if path.suffix != ".npz"]
    if len(unnamed) > len(names):
        raise CommandError(f"expected up to {len(names)} files of arrays, but got {len(unnamed)}")
    for path, name in zip(unnamed, names, strict=False):
        found[name] = _load(path, np.ndarray)
    for path in paths:
        if path.suffix == ".npz":
            with _load(path, np.lib.npyio.NpzFile) as file:
                found.update({name: _member(path, file, name) for name in file.files})
    return found


def _load(path: Path, wanted: type) -> Any:
    check_readable(path)
    try:
        loaded = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise CommandError(f"{path}: expected arrays of NumPy: {error}") from error
    if not isinstance(loaded, wanted):
        raise CommandError(f"{path}: expected .npy to hold an array and .npz several, by name")
    return loaded


def _member(path: Path, file: Any, name: str) -> Array:
    try:
        member: Array = file[name]
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise CommandError(f"{path}: expected an array as '{name}': {error}") from error
    return member


def arguments_of(
    signature: Signature, given: Mapping[str, Any], random: RandomInputs | None
) -> list[Any]:
    """Return the arguments of a function.

    Parameters
    ----------
    signature : Signature
    given : mapping of str to array
        By the names of parameters; fields of tuples are named ``x.0``, ``x.1``.
    random : RandomInputs, optional
        Makes those that are not given; without, it is an error that they are not.

    Raises
    ------
    CommandError
        If arguments are missing or not known, or of another data type or shape.

    Examples
    --------
    >>> spec = Spec("tensor", "float32", (Dim("n"), 2))
    >>> signature = Signature({"x": spec}, spec)
    >>> arguments_of(signature, {}, RandomInputs(sizes={"n": 3}))[0].shape
    (3, 2)
    """
    leaves = dict(leaf for name, spec in signature.params.items() for leaf in spec.leaves(name))
    for name in given:
        if name not in leaves:
            raise CommandError(
                f"expected the name of an input ({', '.join(leaves)}), but got '{name}'"
                f"{did_you_mean(name, leaves)}"
            )
    missing = [name for name in leaves if name not in given]
    if missing and random is None:
        raise CommandError(
            f"expected inputs {', '.join(leaves)}, but {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing: give them, or --random"
        )
    sizes = dict(random.sizes or {}) if random else {}
    check_names(sizes, signature.symbols)
    for name, value in given.items():
        _bind(name, leaves[name], np.shape(value), sizes)
    generator = np.random.default_rng(random.seed if random else 0)
    values: dict[str, Any] = {}
    for name, spec in leaves.items():
        if name in given:
            values[name] = _checked(name, spec, given[name])
        else:
            assert random is not None  # otherwise nothing is missing
            values[name] = _random(name, spec, sizes, generator, random.integers)
    return [_value(name, spec, values) for name, spec in signature.params.items()]


def _value(name: str, spec: Spec, values: Mapping[str, Any]) -> Any:
    if spec.kind == "tuple":
        return tuple(_value(f"{name}.{i}", one, values) for i, one in enumerate(spec.fields))
    return values[name]


def _bind(name: str, spec: Spec, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    """Take the sizes of dimensions from an argument that is given."""
    if spec.kind != "tensor" or spec.dims is None:
        return
    if len(spec.dims) != len(shape):
        raise CommandError(f"expected input '{name}' to be {spec}, but its shape is {list(shape)}")
    for dim, size in zip(spec.dims, shape, strict=True):
        if isinstance(dim, Dim) and list(dim.variables) == [dim.text]:
            sizes.setdefault(dim.text, size)


def _checked(name: str, spec: Spec, given: Any) -> Any:
    array = np.asarray(given)
    if spec.kind == "shape":
        return tvm_ffi.Shape(tuple(array.tolist()))
    if spec.kind == "prim":
        if array.ndim:
            raise CommandError(f"expected input '{name}' to be a number, but got an array")
        return array.item()
    if spec.kind != "tensor":
        raise CommandError(f"expected no value for input '{name}', which is a {spec.kind}")
    if spec.dtype is not None and array.dtype.name != spec.dtype:
        raise CommandError(
            f"expected input '{name}' to be {spec}, but its data type is {array.dtype.name}"
        )
    return np.ascontiguousarray(array) if array.ndim else array


def _sizes_of(name: str, spec: Spec, sizes: Mapping[str, int]) -> tuple[int, ...]:
    if spec.dims is None:
        raise CommandError(f"expected input '{name}' to be given, as its shape is not known")
    result = []
    for dim in spec.dims:
        known = dim if isinstance(dim, int) else None
        if isinstance(dim, Dim):
            known = dim.evaluate({var: sizes.get(var, 1) for var in dim.variables})
        if known is None or known < 0:
            raise CommandError(f"expected a size of input '{name}', but {dim} has none: give --dim")
        result.append(known)
    return tuple(result)


def _random(
    name: str,
    spec: Spec,
    sizes: Mapping[str, int],
    generator: np.random.Generator,
    integers: tuple[int, int],
) -> Any:
    if spec.kind == "shape":
        return tvm_ffi.Shape(_sizes_of(name, spec, sizes))
    if spec.kind == "prim":
        return _random_array(name, spec.dtype, (), generator, integers).item()
    if spec.kind != "tensor":
        raise CommandError(f"expected input '{name}', a {spec.kind}, to have a random value: none")
    shape = _sizes_of(name, spec, sizes)
    return _random_array(name, spec.dtype, shape, generator, integers)


def _random_array(
    name: str,
    dtype: str | None,
    shape: tuple[int, ...],
    generator: np.random.Generator,
    integers: tuple[int, int],
) -> Array:
    try:
        wanted = np.dtype(dtype)
    except TypeError as error:
        raise CommandError(
            f"input '{name}' is of the data type {dtype}, which NumPy lacks: cast it in the model"
        ) from error
    try:
        return _drawn(wanted, shape, generator, integers)
    except (MemoryError, ValueError) as error:  # the latter where addresses have too few bits
        raise CommandError(
            f"expected input '{name}' to fit into memory, but its shape is {list(shape)}"
        ) from error


def _drawn(
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    generator: np.random.Generator,
    integers: tuple[int, int],
) -> Array:
    if dtype.kind == "f":
        return np.asarray(generator.standard_normal(shape)).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(generator.integers(0, 2, shape)).astype(dtype)
    range_ = np.iinfo(dtype)
    least, most = max(integers[0], int(range_.min)), min(integers[1], int(range_.max))
    return np.asarray(generator.integers(least, most, shape, endpoint=True)).astype(dtype)
