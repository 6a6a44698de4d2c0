# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters by operator and version."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import onnx
from onnx import helper

from .model import normal_domain

if TYPE_CHECKING:
    from .importer import Importer, Scope

Function = Callable[..., Any]

_REQUIRED = object()


@dataclasses.dataclass(frozen=True)
class Converter:
    """How an operator becomes operators of Relax, from one version on.

    Parameters
    ----------
    function : callable
        Called with the node and its inputs.
    raw : collection of int, or None
        The inputs that are passed as they are, which may be known at import; None for all. Others
        are tensors of the program.
    """

    function: Function
    raw: Collection[int] | None


_CONVERTERS: dict[tuple[str, str], dict[int, Converter]] = {}


def converter(
    *names: str, since: int = 1, domain: str = "", raw: Collection[int] | None = ()
) -> Callable[[Function], Function]:
    """Register the converter of operators.

    Parameters
    ----------
    *names : str
        The types of operators.
    since : int
        The first version of the operators of the domain that it is for.
    domain : str
    raw : collection of int, or None
        The inputs that are passed as they are; None for all.
    """

    def register(function: Function) -> Function:
        for name in names:
            _CONVERTERS.setdefault((domain, name), {})[since] = Converter(function, raw)
        return function

    return register


def find(domain: str, name: str, version: int) -> Converter | None:
    """Return the converter of an operator, the newest one for a version, or None."""
    versions = _CONVERTERS.get((domain, name), {})
    fitting = [since for since in versions if since <= version]
    return versions[max(fitting)] if fitting else None


def operators() -> dict[str, list[str]]:
    """Return the names of the operators that have a converter, by domain.

    Examples
    --------
    >>> "Conv" in operators()[""]
    True
    """
    names: dict[str, list[str]] = {}
    for domain, name in sorted(_CONVERTERS):
        names.setdefault(domain, []).append(name)
    return names


@dataclasses.dataclass(frozen=True)
class Frame:
    """What the nodes of a graph, or of the body of a function, refer to.

    Parameters
    ----------
    opsets : dict of str to int
    attributes : dict of str to onnx.AttributeProto
        The attributes of the call of the function.
    """

    opsets: dict[str, int]
    attributes: dict[str, onnx.AttributeProto] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Node:
    """A node of a graph, as a converter sees it.

    Parameters
    ----------
    proto : onnx.NodeProto
    attributes : dict of str to onnx.AttributeProto
    importer : Importer
    scope : Scope
        The values around it.
    frame : Frame
    """

    proto: onnx.NodeProto
    attributes: dict[str, onnx.AttributeProto]
    importer: Importer
    scope: Scope
    frame: Frame

    @property
    def domain(self) -> str:
        """The domain of its operator, "" for that of ONNX."""
        return normal_domain(self.proto.domain)

    @property
    def opset(self) -> int:
        """The version of the operators of its domain."""
        return self.frame.opsets.get(self.domain, 1)

    def attr(self, name: str, default: Any = _REQUIRED) -> Any:
        """Return an attribute as a Python value, bytes as str.

        Raises
        ------
        ValueError
            If it is missing and has no default.
        """
        if name not in self.attributes:
            if default is _REQUIRED:
                raise ValueError(f"expected attribute '{name}'")
            return default
        value = helper.get_attribute_value(self.attributes[name])
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, (list, tuple)) or type(value).__name__.startswith("Repeated"):
            return [one.decode() if isinstance(one, bytes) else one for one in value]
        return value

    def refuse(self, name: str, *supported: Any, default: Any = None) -> None:
        """Raise NotImplementedError unless an attribute has a value that is supported."""
        value = self.attr(name, default)
        if value != default and value not in supported:
            raise NotImplementedError(f"expected {name}={default!r}, but got {value!r}")

    @property
    def outputs(self) -> int:
        """The number of outputs up to the last one that has a name."""
        names = list(self.proto.output)
        while names and not names[-1]:
            names.pop()
        return len(names)

    def wants(self, output: int) -> bool:
        """Say whether an output has a name."""
        return output < len(self.proto.output) and bool(self.proto.output[output])

    def __str__(self) -> str:
        domain = f"{self.proto.domain}." if self.proto.domain else ""
        name = self.proto.name or ", ".join(self.proto.output)
        return f"node '{name}', {domain}{self.proto.op_type} of opset {self.opset}"
