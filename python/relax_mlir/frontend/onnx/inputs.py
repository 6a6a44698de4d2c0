# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of graphs: their names and types."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from mlir import ir

from ...core.ir import Dim, TensorStructInfo, TupleStructInfo
from .model import dtype_of, size_of


def unique_names(names: list[str], sanitize: bool) -> list[str]:
    """Return names, as identifiers that are all different where that is wanted."""
    if not sanitize:
        return names
    result: list[str] = []
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        plain = plain if re.match(r"[A-Za-z_]", plain) else f"input_{plain}"
        unique, count = plain, 0
        while unique in result:
            count += 1
            unique = f"{plain}_{count}"
        result.append(unique)
    return result


class InputReader:
    """Reads the types of inputs.

    Parameters
    ----------
    inputs : list of onnx.ValueInfoProto
    shapes : mapping of str to sequence of int, str or Dim
        In place of what the model states.
    dtypes : mapping of str to str, or str, optional
        The same for data types.
    """

    def __init__(
        self, inputs: list[onnx.ValueInfoProto], shapes: Mapping[str, Sequence[Any]], dtypes: Any
    ) -> None:
        names = {one.name for one in inputs}
        if unknown := set(shapes) - names:
            raise ValueError(
                f"expected shapes of inputs {sorted(names)}, but got {sorted(unknown)}"
            )
        self._shapes = shapes
        self._dtypes = dtypes
        self._variables = {
            dim.dim_param
            for one in inputs
            for dim in one.type.tensor_type.shape.dim
            if re.fullmatch(r"[A-Za-z_]\w*", dim.dim_param, re.ASCII)
        }

    def struct_info(self, info: onnx.ValueInfoProto) -> ir.Type | None:
        """Return the type of an input; None for an optional value that is not there."""
        try:
            return self._struct_info(info.name, info.type)
        except NotImplementedError as error:
            raise NotImplementedError(f"input '{info.name}': {error}") from None

    def _struct_info(self, name: str, kind: onnx.TypeProto) -> ir.Type | None:
        case = kind.WhichOneof("value")
        if case == "optional_type":
            is_left_out = name in self._shapes and self._shapes[name] is None
            return None if is_left_out else self._struct_info(name, kind.optional_type.elem_type)
        if case == "sequence_type":
            return self._sequence(name, kind.sequence_type.elem_type)
        if case != "tensor_type":
            raise NotImplementedError(f"expected a tensor, but got {case or 'no type'}")
        tensor = kind.tensor_type
        if name in self._shapes:
            dims = [Dim(dim) for dim in self._shapes[name]]
            if tensor.HasField("shape") and len(dims) != len(tensor.shape.dim):
                raise ValueError(
                    f"input '{name}': expected a shape of {len(tensor.shape.dim)} dimensions in "
                    f"shape_dict, as the model states, but got {list(self._shapes[name])}"
                )
        elif not tensor.HasField("shape"):
            raise NotImplementedError("expected an input of known rank: give its shape_dict")
        else:
            dims = [self._dim(name, i, dim) for i, dim in enumerate(tensor.shape.dim)]
        return TensorStructInfo(dims, self._dtype(name, tensor.elem_type))

    def _sequence(self, name: str, element: onnx.TypeProto) -> ir.Type:
        if element.WhichOneof("value") != "tensor_type":
            raise NotImplementedError("expected a sequence of tensors")
        if name not in self._shapes:
            raise NotImplementedError(
                "expected a sequence of known length: give the shapes of its elements as shape_dict"
            )
        dtype = self._dtype(name, element.tensor_type.elem_type)
        shapes = [[Dim(dim) for dim in shape] for shape in self._shapes[name]]
        return TupleStructInfo([TensorStructInfo(dims, dtype) for dims in shapes])

    def _dtype(self, name: str, element_type: int) -> str:
        given = self._dtypes.get(name) if isinstance(self._dtypes, Mapping) else None
        if given is not None:
            return str(given)
        if not element_type and isinstance(self._dtypes, str):
            return self._dtypes
        return dtype_of(element_type)

    def _dim(self, name: str, axis: int, dim: Any) -> Dim:
        if (size := size_of(dim)) is not None:
            return Dim(size)
        text = dim.dim_param
        if text in self._variables:
            return Dim(text)
        if text:
            # Exporters name sums of other dimensions by the expression.
            with contextlib.suppress(ValueError):
                expression = Dim(text.replace("//", " floordiv ").replace("%", " mod "))
                if self._variables.issuperset(expression.variables):
                    return expression
        plain = re.sub(r"\W", "_", text or f"{name}_{axis}", flags=re.ASCII)
        return Dim(plain if re.match(r"[A-Za-z_]", plain) else f"dim_{plain}")
