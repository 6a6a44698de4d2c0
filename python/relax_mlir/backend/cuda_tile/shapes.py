# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tensors that kernels take."""

from __future__ import annotations

from typing import Any

from mlir import ir

#: The data types of operands.
DTYPES = ("float16", "bfloat16")
#: How many features a head has at most.
MOST_FEATURES = 256


def is_attention_of(
    query: ir.Value, key: ir.Value, value: ir.Value, bias: ir.Value | None = None
) -> bool:
    """Say whether a kernel computes the attention of tensors, from their shapes.

    The kernel does not compare sizes when the program runs: those that agree have to do so in
    symbols.
    """
    q, k, v = (_dims(each) for each in (query, key, value))
    if not all(0 < (dims[3].value or 0) <= MOST_FEATURES for dims in (q, v)):
        return False
    if not all(_shares_heads(q[2], dims[2]) for dims in (k, v)):
        return False
    pairs = [(k[0], q[0]), (v[0], q[0]), (k[3], q[3]), (v[1], k[1])]
    if bias is not None:
        dims = _dims(bias)
        wanted = (q[0], q[2], q[1])
        pairs += [pair for pair in zip(dims, wanted, strict=False) if pair[0].value != 1]
        pairs.append((dims[3], k[1]))
    return all(left == right for left, right in pairs)


def _dims(value: ir.Value) -> list[Any]:
    type_: Any = value.type
    return list(type_.shape)


def _shares_heads(heads: Any, shared: Any) -> bool:
    """Say whether each head of keys or values is that of as many heads of queries."""
    if heads == shared:
        return True
    if heads.value is None or shared.value is None:
        return False
    return bool(shared.value > 0 and heads.value % shared.value == 0)
