# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model must keep to that the conversion of its nodes would not notice."""

from __future__ import annotations

import functools

import onnx
from relax_runtime.near_misses import did_you_mean


def check_graph(graph: onnx.GraphProto) -> None:
    """Raise ValueError where a graph has no outputs, or one name for two inputs.

    Examples
    --------
    >>> check_graph(onnx.GraphProto())
    Traceback (most recent call last):
    ...
    ValueError: expected a graph with outputs, but got one without
    """
    if not graph.output:
        raise ValueError("expected a graph with outputs, but got one without")
    seen: set[str] = set()
    for one in graph.input:
        if one.name in seen:
            raise ValueError(f"expected inputs of distinct names, but got '{one.name}' twice")
        seen.add(one.name)


def check_attributes(proto: onnx.NodeProto, domain: str, version: int) -> None:
    """Raise ValueError where a node has an attribute that its operator has not.

    Parameters
    ----------
    proto : onnx.NodeProto
    domain : str
    version : int
        That of the operators of the domain.

    Examples
    --------
    >>> check_attributes(onnx.helper.make_node("Softmax", ["x"], ["y"], axes=1), "", 13)
    Traceback (most recent call last):
    ...
    ValueError: expected attributes of Softmax (axis), but got 'axes'; did you mean 'axis'?
    """
    if not proto.attribute:
        return
    known = _attributes(proto.op_type, version, domain)
    for attribute in proto.attribute:
        name = attribute.name
        # Those between underscores are notes of whoever wrote the model.
        if known is not None and name not in known and not name.startswith("__"):
            names = ", ".join(known) or "none"
            raise ValueError(
                f"expected attributes of {proto.op_type} ({names}), but got '{name}'"
                f"{did_you_mean(name, known)}"
            )


@functools.cache
def _attributes(name: str, version: int, domain: str) -> tuple[str, ...] | None:
    """Return the attributes of an operator; None where ONNX does not define it."""
    if not onnx.defs.has(name, version, domain):
        return None
    return tuple(onnx.defs.get_schema(name, version, domain).attributes)
