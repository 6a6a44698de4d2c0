"""A stand-in of the package ``tvm`` for the statements around programs in TVM's tests.

``tvm.script`` is `relax_mlir.script`. Anything else is a `Stub`, of which everything can be asked.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np


class Stub:
    """Something of TVM: its attributes, and what it returns, are such things again."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Stub(f"{self._name}()")

    def __getitem__(self, key: Any) -> Any:
        return Stub(f"{self._name}[]")

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: object) -> None:
        return None

    def __repr__(self) -> str:
        return f"<stub {self._name}>"


class Place(Stub):
    """A module of TVM of which some names are here."""

    def __init__(self, name: str, here: dict[str, Any]) -> None:
        super().__init__(name)
        self._here = here

    def __getattr__(self, name: str) -> Any:
        here = self.__dict__.get("_here", {})
        return here[name] if name in here else super().__getattr__(name)


class Operators:
    """A namespace of operators, in which those that are not there can be named."""

    def __init__(self, names: Any) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        try:
            found = getattr(self._names, name)
        except AttributeError as error:
            message = str(error)
            return lambda *args, **keywords: _raise(message)
        return found if callable(found) else Operators(found)


def _raise(message: str) -> None:
    raise AttributeError(message)


def _call(op: Any, *args: Any, **keywords: Any) -> Any:
    """A call of an operator that a test registers with TVM itself."""
    raise AttributeError(f"{op} is not an operator of the dialect yet")


@functools.cache
def _tvm() -> Place:
    script = importlib.import_module("relax_mlir.script")
    r, i = script.relax, script.ir
    here = ("ExternFunc", "ShapeExpr", "TupleGetItem", "const", "call_tir", "call_dps_packed")
    relax = {name: getattr(r, name) for name in here}
    relax.update({"op": Operators(r), "Call": _call, "PrimValue": r.prim_value, "Tuple": tuple})
    names = {
        "script": script,
        "ir": Place("tvm.ir", {"VDevice": i.vdevice}),
        "relax": Place("tvm.relax", relax),
        "runtime": Place("tvm.runtime", {"tensor": np.asarray}),
        "testing": Place("tvm.testing", {"parameter": _first, "parameters": _first}),
        "cpu": r.cpu,
        "cuda": r.cuda,
        "device": r.device,
    }
    for name in ("te", "topi"):
        with contextlib.suppress(ModuleNotFoundError):
            names[name] = importlib.import_module(f"relax_mlir.{name}")
    with contextlib.suppress(ModuleNotFoundError):
        names["tirx"] = importlib.import_module("relax_mlir.tir")
    return Place("tvm", names)


def _first(*values: Any, **keywords: Any) -> Any:
    """The first one of the parameters of a test."""
    return values[0]


def _of_tvm(name: str) -> Any:
    place: Any = _tvm()
    for part in name.split(".")[1:]:
        if part in ("parser", "_core", "core") and place is _tvm().script:
            continue
        place = getattr(place, part, Stub(name))
    return place


def import_(name: str, *rest: Any) -> Any:
    """Import as Python does, but for TVM and for what may not be installed."""
    if name.split(".")[0] == "tvm":
        return _of_tvm(name) if len(rest) > 2 and rest[2] else _tvm()
    try:
        return __import__(name, *rest)
    except ImportError:
        return Stub(name)
