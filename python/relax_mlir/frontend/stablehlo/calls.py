# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls: of functions of the module, of composites, and of what only a backend knows."""

from __future__ import annotations

import re
from typing import Any

from mlir import ir

from ... import op
from ...composites.arithmetic import erf_inv
from ...core.expr import const
from ...core.ir import Dim, ShapeStructInfo
from .arguments import global_constants
from .order import largest
from .registry import Node, TensorType, converts
from .values import Sizes, Value, as_known, as_tensor

# Calls that say where a tensor is, or how it is laid out.
_ANNOTATIONS = {
    "LayoutConstraint",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "Sharding",
    "annotate_device_placement",
    "xla.sdy.FuncResultSharding",
}


@converts("func.call", raw=True)
def _call(node: Node, *operands: Value) -> Any:
    name = node.attr("callee")
    function = node.importer.functions.get(name)
    if function is not None:
        for constant, value in zip(global_constants(function), operands, strict=False):
            is_one = isinstance(value, Sizes) and value.elements.size == 1
            dim = value.elements.item() if is_one else None
            # A dimension gets the name that it has in the program.
            if re.fullmatch(r"[A-Za-z_]\w*", constant) and isinstance(dim, Dim) and dim.name:
                node.importer.dimensions.rename(str(dim.name), constant)
    return node.importer.call(name, operands)


@converts("stablehlo.composite", raw=True)
def _composite(node: Node, *operands: Value) -> Any:
    return node.importer.call(node.attr("decomposition"), operands)


@converts("sdy.sharding_constraint", raw=True)
def _sharding_constraint(node: Node, x: Value) -> Value:
    return x


@converts("stablehlo.custom_call", raw=True)
def _custom_call(node: Node, *operands: Value) -> Any:
    target = node.attr("call_target_name")
    if target == "shape_assertion":
        return _shape_assertion(node, *operands)
    if target in _ANNOTATIONS:
        return operands
    if target in ("mhlo.topk", "TopK"):
        return _custom_top_k(node, as_tensor(operands[0]))
    if target in _UNARY:
        return _UNARY[target](as_tensor(operands[0]))
    raise NotImplementedError(
        f"expected a custom call of {', '.join(_known_targets())}, but got '{target}', which only "
        "a backend of XLA has"
    )


_UNARY = {"mhlo.erf": op.erf, "mhlo.erf_inv": erf_inv, "mhlo.tan": op.tan,
          "mhlo.sinh": op.sinh, "mhlo.cosh": op.cosh, "mhlo.asin": op.asin,
          "mhlo.acos": op.acos, "mhlo.atan": op.atan, "mhlo.asinh": op.asinh,
          "mhlo.acosh": op.acosh, "mhlo.atanh": op.atanh}  # fmt: skip


def _known_targets() -> list[str]:
    return sorted([*_ANNOTATIONS, *_UNARY, "TopK", "mhlo.topk", "shape_assertion"])


def _custom_top_k(node: Node, x: ir.Value) -> Any:
    attributes = node.attr("mhlo.attributes", {})
    k = attributes.get("k", node.result.dims[-1])
    if not attributes.get("largest", True) or k is None:
        raise NotImplementedError("expected a known number of the largest elements")
    return largest(x, k)


# -- assertions of shapes -----------------------------------------------------------------------


def _shape_assertion(node: Node, condition: Value, *_: Value) -> Any:
    known = as_known(condition)
    if known is None:
        raise NotImplementedError("expected an assertion about shapes, but got one about data")
    element = known.elements.item() if isinstance(known, Sizes) else bool(known)
    if isinstance(element, Dim):
        _assert(node, element)
    elif not element:
        raise ValueError(f"an assertion of shapes never holds: {node.attr('error_message')}")
    return ()


def _assert(node: Node, condition: Dim) -> None:
    """Have a condition on dimensions be a part of the types, or be checked by the program."""
    dimensions, operands = node.importer.dimensions, condition.operands
    if condition.kind == "eq" and dimensions.equate(*(Dim(one) for one in operands)):
        return
    if condition.kind in ("lt", "le"):
        less = int(condition.kind == "lt")
        first, second = (Dim(one) for one in operands)
        if second.name and first.value is not None:
            least = max(first.value + less, dimensions.lower.get(second.name, 0))
            dimensions.lower[second.name] = least
            return
        if first.name and second.value is not None:
            most = dimensions.upper.get(first.name, second.value - less)
            dimensions.upper[first.name] = min(most, second.value - less)
            return
    holds = condition.select(1, 0)
    node.importer.builder.match_cast(op.shape([holds]), ShapeStructInfo([1]))


@converts("stablehlo.rng_bit_generator")
def _random_bits(node: Node, state: ir.Value) -> Any:
    """Return the next state and random bits: StableHLO leaves open which of a state."""
    kind = TensorType.of(node.operation.results[1].type)
    if state.type.dtype != "uint64" or not kind.dtype.startswith("uint") or None in kind.dims:
        raise NotImplementedError(
            f"expected a state of uint64, and bits of an unsigned type and static shape, but got "
            f"{state.type.dtype} and {kind}"
        )
    count = state.type.shape[0].value if state.type.ndim == 1 else None
    if not count:
        raise NotImplementedError(
            f"expected a state that is a vector of static size, but got {state.type}"
        )
    words = [op.take(state, const(i, "int64"), 0) for i in range(count)]
    key = words[0]
    for word in words[1:]:
        key = op.bitwise_xor(op.random.split(key, 1)[0], word)
    keys = op.random_bits(key, count + 1)
    last = op.take(keys, const(count, "int64"), 0)
    following = op.strided_slice(keys, [0], [0], [count], [1], assume_inbound=True)
    return following, op.random.bits(last, kind.dims, kind.dtype)


@converts("stablehlo.rng", raw=True)
def _random(node: Node, *_: Value) -> Any:
    raise NotImplementedError(
        "expected a program without the generator of a backend: take random numbers as inputs, or "
        "use JAX's own generators, whose state is an input"
    )
