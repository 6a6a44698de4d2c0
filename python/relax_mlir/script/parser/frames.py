# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What some calls in the namespaces ``I`` and ``R`` give to the parser."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ...tir.attributes import attribute


class MetaVar:
    """The result of ``I.meta_var``: a value of Python that a name is bound to as it is."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Dataflow:
    """The result of ``R.dataflow()``."""


class SequenceFrame:
    """The result of ``I.seq()``."""


class NextOperation:
    """The result of ``I.annotate``: additional attributes and types for the next statement."""

    def __init__(self, attrs: dict[str, Any], types: list[ir.Type] | None) -> None:
        self.attrs, self.types = attrs, types

    def apply(self, op: ir.Operation) -> None:
        """Have an operation say so.

        Raises
        ------
        ValueError, mlir.ir.MLIRError
            If it cannot.
        """
        for name, value in self.attrs.items():
            if name in op.attributes:
                raise ValueError(f"expected another name for an attribute, but got '{name}'")
            op.attributes[name] = attribute(name, value)
        if self.types is None:
            return
        if len(self.types) != len(op.results):
            raise ValueError(
                f"expected {len(op.results)} types, one for each value of the statement, but got "
                f"{len(self.types)}"
            )
        for result, type_ in zip(op.results, self.types, strict=True):
            result.set_type(type_)
        op.verify()
