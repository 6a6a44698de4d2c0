# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent networks: activations, directions and layouts around the cells of composites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from ... import op
from ...composites.recurrent import Activation, Cell, GRUCell, LSTMCell, RNNCell, run
from ...composites.tensors import number, parts_of
from ..values import shape_of
from .elementwise import hard_sigmoid, scaled, softplus
from .manipulate import at
from .registry import Node, converter


def _activation(name: str, alpha: float | None, beta: float | None) -> Activation:
    """Return an activation by its name, with its defaults for what is left out."""

    def slope(default: float) -> float:
        return default if alpha is None else alpha

    plain: dict[str, Activation] = {
        "relu": op.nn.relu,
        "sigmoid": op.sigmoid,
        "tanh": op.tanh,
        "softplus": softplus,
        "affine": lambda x: op.add(
            scaled(x, slope(1.0)), number(0.0 if beta is None else beta, x.type.dtype)
        ),
        "leakyrelu": lambda x: op.nn.leakyrelu(x, slope(0.01)),
        "hardsigmoid": lambda x: hard_sigmoid(x, slope(0.2), 0.5 if beta is None else beta),
    }
    if name.lower() not in plain:
        raise NotImplementedError(f"expected one of {sorted(plain)}, but got {name}")
    return plain[name.lower()]


# Gates in their order in weights: update, reset, new; input, output, forget, candidate.
_GATES = {"RNN": "h", "GRU": "zrn", "LSTM": "iofg"}
_CELLS: dict[str, type[Cell]] = {"RNN": RNNCell, "GRU": GRUCell, "LSTM": LSTMCell}
_DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


def _activations(node: Node, direction: int) -> list[Activation]:
    kind = node.proto.op_type
    count = len(_DEFAULTS[kind])
    names = node.attr("activations", _DEFAULTS[kind] * 2)
    alphas, betas = node.attr("activation_alpha", []), node.attr("activation_beta", [])
    if (alphas or betas) and len(names) > max(len(alphas), len(betas)):
        raise NotImplementedError("expected activation_alpha or _beta for all activations, or none")
    chosen = []
    for i in range(direction * count, (direction + 1) * count):
        alpha = alphas[i] if i < len(alphas) else None
        beta = betas[i] if i < len(betas) else None
        chosen.append(_activation(names[i], alpha, beta))
    return chosen


def _cell(node: Node, direction: int, weights: list[ir.Value | None], size: int) -> Cell:
    w, r, b, p = (None if one is None else at(one, 0, direction) for one in weights)
    kind = node.proto.op_type
    bias, recurrent_bias = (None, None) if b is None else parts_of(b, 2)
    more: dict[str, Any] = {}
    if kind == "GRU":
        more["is_reset_last"] = bool(node.attr("linear_before_reset", 0))
    if kind == "LSTM":
        more["has_forget_gate"] = not node.attr("input_forget", 0)
        more["peepholes"] = None if p is None else dict(zip("iof", parts_of(p, 3), strict=True))
    return _CELLS[kind](
        gates=_GATES[kind], size=size, weight=op.permute_dims(w), recurrence=op.permute_dims(r),
        bias=bias, recurrent_bias=recurrent_bias, activations=_activations(node, direction),
        clip=node.attr("clip", None), **more,
    )  # fmt: skip


def _recurrent(
    node: Node, x: ir.Value, w: ir.Value, r: ir.Value, b: ir.Value | None = None,
    lengths: ir.Value | None = None, hidden: ir.Value | None = None,
    memory: ir.Value | None = None, p: ir.Value | None = None,
) -> Any:  # fmt: skip
    state = node.attr("hidden_size", shape_of(r)[-1])
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    backwards = directions[node.attr("direction", "forward")]
    by_batch = bool(node.attr("layout", 0))
    if by_batch:
        x = op.permute_dims(x, [1, 0, 2])
    batch = shape_of(x)[1]
    initial = [hidden, memory] if node.proto.op_type == "LSTM" else [hidden]
    results, ends = [], []
    for i, backward in enumerate(backwards):
        begin = [
            op.zeros([batch, state], x.type.dtype) if one is None
            else at(one, 1 if by_batch else 0, i)
            for one in initial
        ]  # fmt: skip
        cell = _cell(node, i, [w, r, b, p], state)
        outputs, last = run(cell, x, begin, reverse=backward, lengths=lengths)
        results.append(outputs)
        ends.append(last)
    # The dimensions are step, direction, batch, state; or batch, step, direction, state.
    whole = _stack(results, 1)
    lasts = [_stack(one, 1 if by_batch else 0) for one in zip(*ends, strict=True)]
    return (op.permute_dims(whole, [2, 0, 1, 3]) if by_batch else whole, *lasts)


def _stack(directions: Sequence[ir.Value], axis: int) -> ir.Value:
    """Return the tensors of all directions along a new axis; that of one is no copy."""
    if len(directions) == 1:
        return op.expand_dims(directions[0], axis)
    return op.stack(list(directions), axis)


for _name in _GATES:
    converter(_name, since=7)(_recurrent)
