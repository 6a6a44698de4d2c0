# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent networks, step by step: the number of steps is known at import."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from mlir import ir

from ... import op
from ...composites.tensors import number
from ..values import shape_of
from .elementwise import hard_sigmoid, scaled, softplus
from .manipulate import part
from .registry import Node, converter

Activation = Callable[[ir.Value], ir.Value]

# More steps would be programs of very many operations.
_LONGEST = 1000


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


@dataclasses.dataclass(frozen=True)
class _Cell:
    """The weights of one direction.

    Parameters
    ----------
    weight, recurrence : mlir.ir.Value
        Transposed: of the dimensions (inputs or state, gates times state).
    bias, recurrent_bias : mlir.ir.Value or None
    activations : list of callable
    peepholes : mlir.ir.Value or None
    clip : float or None
    state : int
        The size of the state.
    """

    weight: ir.Value
    recurrence: ir.Value
    bias: ir.Value | None
    recurrent_bias: ir.Value | None
    activations: list[Activation]
    peepholes: ir.Value | None
    clip: float | None
    state: int

    def gates(self, product: ir.Value, count: int, bias: ir.Value | None = None) -> list[ir.Value]:
        """Return the parts of a product for each gate, which its kernel writes apart."""
        whole = product if bias is None else op.add(product, bias)
        parts = op.split(whole, count, axis=1)
        return [op.get_item(parts, i) for i in range(count)]

    def activate(self, index: int, x: ir.Value) -> ir.Value:
        """Apply an activation."""
        if self.clip is not None:
            x = op.clip(x, -self.clip, self.clip)
        return self.activations[index](x)


Step = Callable[[Node, _Cell, ir.Value, list[ir.Value]], list[ir.Value]]


def _rnn_step(_: Node, cell: _Cell, x: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
    total = op.add(x, op.matmul(state[0], cell.recurrence))
    if cell.recurrent_bias is not None:
        total = op.add(total, cell.recurrent_bias)
    return [cell.activate(0, total)]


def _gru_step(node: Node, cell: _Cell, x: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
    (hidden,) = state
    update, reset, new = cell.gates(x, 3)
    bias = cell.recurrent_bias
    if node.attr("linear_before_reset", 0):
        # All gates are of one product.
        on_update, on_reset, on_new = cell.gates(op.matmul(hidden, cell.recurrence), 3, bias)
        z = cell.activate(0, op.add(update, on_update))
        inner = op.multiply(cell.activate(0, op.add(reset, on_reset)), on_new)
    else:
        first, last = _divide(cell.recurrence, 1, 2 * cell.state)
        first_bias, last_bias = (None, None) if bias is None else _divide(bias, 0, 2 * cell.state)
        on_update, on_reset = cell.gates(op.matmul(hidden, first), 2, first_bias)
        z = cell.activate(0, op.add(update, on_update))
        r = cell.activate(0, op.add(reset, on_reset))
        inner = op.matmul(op.multiply(r, hidden), last)
        inner = inner if last_bias is None else op.add(inner, last_bias)
    h = cell.activate(1, op.add(new, inner))
    rest = op.subtract(number(1, z.type.dtype), z)
    return [op.add(op.multiply(rest, h), op.multiply(z, hidden))]


def _divide(x: ir.Value, axis: int, place: int) -> tuple[ir.Value, ir.Value]:
    """Return a tensor up to a place along an axis, and from there on."""
    return part(x, axis, 0, place), part(x, axis, place, shape_of(x)[axis])


def _lstm_step(node: Node, cell: _Cell, x: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
    hidden, memory = state
    total = op.add(x, op.matmul(hidden, cell.recurrence))
    i, o, f, c = cell.gates(total, 4, cell.recurrent_bias)
    if cell.peepholes is not None:
        looks = [part(cell.peepholes, 0, k * cell.state, (k + 1) * cell.state) for k in range(3)]
        i = op.add(i, op.multiply(looks[0], memory))
        f = op.add(f, op.multiply(looks[2], memory))
    opened = cell.activate(0, i)
    if node.attr("input_forget", 0):
        kept = op.subtract(number(1, opened.type.dtype), opened)
    else:
        kept = cell.activate(0, f)
    memory = op.add(op.multiply(kept, memory), op.multiply(opened, cell.activate(1, c)))
    if cell.peepholes is not None:
        o = op.add(o, op.multiply(looks[1], memory))
    return [op.multiply(cell.activate(0, o), cell.activations[2](memory)), memory]


_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_STEPS: dict[str, Step] = {"RNN": _rnn_step, "GRU": _gru_step, "LSTM": _lstm_step}
_DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


def _at(x: ir.Value, axis: int, place: int) -> ir.Value:
    return op.squeeze(part(x, axis, place, place + 1), [axis])


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


def _cell(node: Node, direction: int, weights: list[ir.Value | None], state: int) -> _Cell:
    w, r, b, p = (None if one is None else _at(one, 0, direction) for one in weights)
    gates = _GATES[node.proto.op_type]
    biases: list[ir.Value | None] = [None, None]
    if b is not None:
        width = gates * state
        biases = [part(b, 0, 0, width), part(b, 0, width, 2 * width)]
    return _Cell(
        op.permute_dims(w), op.permute_dims(r), biases[0], biases[1],
        _activations(node, direction), p, node.attr("clip", None), state,
    )  # fmt: skip


def _run(
    node: Node, cell: _Cell, x: ir.Value, state: list[ir.Value], lengths: ir.Value | None,
    backwards: bool,
) -> tuple[list[ir.Value], list[ir.Value]]:  # fmt: skip
    """Return the hidden state of each step, and the last states."""
    steps = shape_of(x)[0]
    product = op.matmul(x, cell.weight)
    inputs = product if cell.bias is None else op.add(product, cell.bias)
    function = _STEPS[node.proto.op_type]
    hidden: dict[int, ir.Value] = {}
    for place in reversed(range(steps)) if backwards else range(steps):
        new = function(node, cell, _at(inputs, 0, place), state)
        out = new[0]
        if lengths is not None:
            runs = op.greater(op.reshape(lengths, [-1, 1]), number(place, lengths.type.dtype))
            out = op.where(runs, new[0], number(0, new[0].type.dtype))
            new = [op.where(runs, one, old) for one, old in zip(new, state, strict=True)]
        hidden[place], state = out, new
    return [hidden[place] for place in range(steps)], state


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
    steps, batch, _ = shape_of(x)
    if not isinstance(steps, int) or not 0 < steps <= _LONGEST:
        raise NotImplementedError(f"expected from 1 to {_LONGEST} known steps, but got {steps}")
    initial = [hidden, memory] if node.proto.op_type == "LSTM" else [hidden]
    results, ends = [], []
    for i, backward in enumerate(backwards):
        begin = [
            op.zeros([batch, state], x.type.dtype) if one is None
            else _at(one, 1 if by_batch else 0, i)
            for one in initial
        ]  # fmt: skip
        cell = _cell(node, i, [w, r, b, p], state)
        outputs, last = _run(node, cell, x, begin, lengths, backward)
        results.append(op.stack(outputs, 0))
        ends.append(last)
    # The dimensions are step, direction, batch, state; or batch, step, direction, state.
    whole = op.stack(results, 1)
    lasts = [op.stack(list(one), 1 if by_batch else 0) for one in zip(*ends, strict=True)]
    return (op.permute_dims(whole, [2, 0, 1, 3]) if by_batch else whole, *lasts)


for _name in _GATES:
    converter(_name, since=7)(_recurrent)
