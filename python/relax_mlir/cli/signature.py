# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compiled function takes and returns, as its executable says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.ir import Dim
from ..runtime import Executable


@dataclass(frozen=True)
class Spec:
    """The type of a value.

    Attributes
    ----------
    kind : str
        "tensor", "shape", "prim", "tuple", "func" or "object".
    dtype : str or None
    dims : tuple of int or Dim, optional
        Of a tensor or shape; None where they are not known.
    fields : tuple of Spec
        Of a tuple.

    Examples
    --------
    >>> print(Spec("tensor", "float32", (Dim("n") * 2, 4)))
    float32[n * 2, 4]
    >>> print(Spec("tuple", fields=(Spec("prim", "int64"), Spec("shape", None, (Dim("n"),)))))
    (int64, shape[n])
    """

    kind: str
    dtype: str | None = None
    dims: tuple[int | Dim, ...] | None = None
    fields: tuple[Spec, ...] = field(default=())

    def __str__(self) -> str:
        if self.kind == "tuple":
            return f"({', '.join(map(str, self.fields))})"
        if self.kind not in ("tensor", "shape"):
            return self.dtype or self.kind
        dims = "..." if self.dims is None else ", ".join(map(_text, self.dims))
        return f"{self.dtype or self.kind}[{dims}]"

    @property
    def symbols(self) -> tuple[str, ...]:
        """The shape variables, in the order in which they first appear."""
        names = [
            name for dim in self.dims or () if isinstance(dim, Dim) for name in dim.variables
        ] + [name for inner in self.fields for name in inner.symbols]
        return tuple(dict.fromkeys(names))

    def leaves(self, name: str) -> Iterator[tuple[str, Spec]]:
        """Yield what is no tuple, by a name with the places: ``x.0.1``."""
        if self.kind != "tuple":
            yield name, self
        for place, inner in enumerate(self.fields):
            yield from inner.leaves(f"{name}.{place}")


@dataclass(frozen=True)
class Signature:
    """The parameters of a function by name, and its result."""

    params: Mapping[str, Spec]
    result: Spec

    @property
    def symbols(self) -> tuple[str, ...]:
        """The shape variables, those of parameters first."""
        specs = (*self.params.values(), self.result)
        return tuple(dict.fromkeys(name for spec in specs for name in spec.symbols))


def signature_of(executable: Executable, name: str) -> Signature:
    """Return the signature of a public function.

    Parameters
    ----------
    executable : Executable
    name : str

    Raises
    ------
    ValueError
        If there is no such function, or nothing is known of its types.

    Examples
    --------
    >>> import relax_mlir
    >>> ex = relax_mlir.compile('''
    ... relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
    ...   relax.return %x : !relax.tensor<[n, 4], f32>
    ... }''')
    >>> str(signature_of(ex, "main").params["x"])
    'float32[n, 4]'
    """
    known = executable.struct_infos
    if name not in known:
        names = ", ".join(known) or "none"
        raise ValueError(f"expected the name of a public function ({names}), but got '{name}'")
    if not known[name]:
        raise ValueError(f"expected function '{name}' to state its types, but it has none")
    described = json.loads(known[name])
    known_names = {one.name: list(one.params) for one in executable.functions}
    params = known_names.get(name, [])
    specs = [_spec(one) for one in described["params"]]
    if len(params) != len(specs):
        params = [""] * len(specs)
    labels = [label or f"arg{place}" for place, label in enumerate(params)]
    return Signature(dict(zip(labels, specs, strict=True)), _spec(described["ret"]))


def _spec(described: Mapping[str, Any]) -> Spec:
    dims = described.get("dims")
    return Spec(
        described["kind"],
        described.get("dtype"),
        None if not isinstance(dims, list) else tuple(map(_dim, dims)),
        tuple(map(_spec, described.get("fields", ()))),
    )


def _dim(given: Any) -> int | Dim:
    if isinstance(given, int):
        return given
    return Dim(given if isinstance(given, str) else given["expr"])


def _text(dim: int | Dim) -> str:
    return dim.text if isinstance(dim, Dim) else str(dim)
