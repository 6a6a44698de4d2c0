# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of tuples, of casts and of calls of kernels, and adjoints as values of a program."""

from __future__ import annotations

from typing import Any

from mlir import ir

from ... import op
from ...core.ir import TensorStructInfo, TupleStructInfo
from .registry import (
    TE_GRADIENTS,
    Adjoint,
    Contribution,
    Forward,
    gradient,
    no_gradient,
    te_gradient_arguments,
)
from .shapes import is_differentiable, zeros_of

# ------------------------------------------------------------------------------
# Adjoints
# ------------------------------------------------------------------------------


def added(old: Adjoint, new: Adjoint) -> Adjoint:
    """Return the sum of two adjoints of a value."""
    if old is None or new is None:
        return new if old is None else old
    if isinstance(old, list):
        return [added(*pair) for pair in zip(old, new, strict=True)]
    return op.add(old, new)


def adjoint_type(type_: Any) -> ir.Type:
    """Return the type of the adjoint of values of a type: empty tuples where there is none."""
    if isinstance(type_, TupleStructInfo):
        return TupleStructInfo([adjoint_type(field) for field in type_.fields])
    return type_ if is_differentiable(type_) else TupleStructInfo([])


def as_value(adjoint: Adjoint, like: Any) -> Any:
    """Return the adjoint of a value as a value of its `adjoint_type`."""
    type_ = like.type
    if isinstance(type_, TupleStructInfo):
        parts = [None] * len(type_.fields) if adjoint is None else adjoint
        fields = [as_value(part, op.get_item(like, i)) for i, part in enumerate(parts)]
        return op.tuple(*fields)
    if not is_differentiable(type_):
        return op.tuple()
    return zeros_of(like) if adjoint is None else of_type(adjoint, type_)


def as_adjoint(value: Any, type_: Any) -> Adjoint:
    """Return a value of the `adjoint_type` of some type as an adjoint."""
    if isinstance(type_, TupleStructInfo):
        return [as_adjoint(op.get_item(value, i), field) for i, field in enumerate(type_.fields)]
    return value if is_differentiable(type_) else None


def of_type(value: Any, type_: Any) -> Any:
    """Return a tensor as one of a type that says as much or more of its shape."""
    if value.type == type_ or not isinstance(type_, TensorStructInfo) or type_.shape is None:
        return value
    return op.match_cast(value, type_)


# ------------------------------------------------------------------------------
# Rules
# ------------------------------------------------------------------------------


@gradient("tuple")
def _tuple(f: Forward, g: Any) -> list[Contribution]:
    return list(g)


@gradient("get_item")
def _get_item(f: Forward, g: Any) -> list[Contribution]:
    parts: list[Adjoint] = [None] * len(f.operands[0].type.fields)
    parts[f.attribute("index")] = g
    return [parts]


@gradient("match_cast")
def _match_cast(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    return [g if isinstance(g, list) else of_type(g, x.type)]


@gradient("to_vdevice")
def _to_vdevice(f: Forward, g: Any) -> list[Contribution]:
    (x,) = f.operands
    if x.type.vdevice is None:
        raise ValueError(
            "Gradient: expected a tensor of known device as operand of relax.to_vdevice, whose "
            f"gradient goes back to it, but got one of type {x.type}"
        )
    return [op.to_vdevice(g, x.type.vdevice)]


@gradient("call_tir")
def _call_tir(f: Forward, g: Any) -> list[Contribution]:
    callee, name = f.attribute("callee"), f.attribute("te_grad_name")
    if name is None:
        raise ValueError(
            f"Gradient: expected a kernel with a gradient, but got a call of '{callee}'; write it "
            "by BlockBuilder.call_te_with_grad, or differentiate before LegalizeOps"
        )
    if name not in TE_GRADIENTS:
        raise ValueError(
            f"Gradient: expected the name of a gradient of kernels, but got {name!r} in a call of "
            f"'{callee}'; register it by relax_mlir.training.utils.register_te_gradient"
        )
    attributes = {"te_grad_kwargs": f.attribute("te_grad_kwargs")}
    arguments = [x for x in f.operands if isinstance(x.type, TensorStructInfo)]
    outputs = g if isinstance(g, list) else [g]
    if isinstance(g, list):
        fields = [op.get_item(f.result, i) for i in range(len(g))]
        outputs = [zeros_of(x) if part is None else part for part, x in zip(g, fields, strict=True)]
    made = f.emit_te(
        TE_GRADIENTS[name],
        outputs if isinstance(g, list) else outputs[0],
        *arguments,
        primfunc_name_hint=name,
        **te_gradient_arguments(attributes),
    )
    parts = list(made) if isinstance(made.type, TupleStructInfo) else [made]
    if len(parts) != len(arguments):
        raise ValueError(
            f"Gradient: expected {len(arguments)} tensors of '{name}', one for each argument of "
            f"'{callee}', but got {len(parts)}"
        )
    found = iter(parts)
    return [next(found) if x in arguments else None for x in f.operands]


no_gradient("no tensor", "constant shape prim_value string dtype null_value shape_of")
