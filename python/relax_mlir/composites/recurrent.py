# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrent networks, step by step, or as a loop where the number of steps is not known.

A step is one product with the state, whose parts are the gates, and the operators of the cell,
which fusion makes one kernel for each new state. The products with the inputs of all steps are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mlir import ir

from .. import op
from ..core.expr import TensorLike, as_tensor
from ..core.ir import Dim
from .loops import count_to, kind_of
from .tensors import cast, number, parts_of, shape_of, size_tensor

Activation = Callable[[ir.Value], ir.Value]
State = Sequence[ir.Value]

# More steps would be programs of very many operations.
_LONGEST = 1000


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The weights of one direction of a layer.

    Parameters
    ----------
    gates : str
        A letter for each gate, in their order in the weights.
    size : int
        The size of the state.
    weight, recurrence : mlir.ir.Value
        Transposed: of the dimensions (inputs or state, gates times state).
    bias, recurrent_bias : mlir.ir.Value, optional
        Of gates times state elements.
    activations : sequence of callable
        Those of gates first, then that of the candidate, then that of the memory.
    clip : float, optional
        The largest magnitude of what activations take.
    """

    gates: str
    size: int
    weight: ir.Value
    recurrence: ir.Value
    bias: ir.Value | None
    recurrent_bias: ir.Value | None
    activations: Sequence[Activation]
    clip: float | None = None

    def step(self, x: ir.Value, state: State) -> list[ir.Value]:
        """Return the next state, whose first tensor is the output, of the products of an input."""
        raise NotImplementedError

    def multiply(self, x: ir.Value) -> ir.Value:
        """Return the products of inputs, of all steps at once."""
        return _biased(op.matmul(x, self.weight), self.bias)

    def read(self) -> list[ir.Value]:
        """Return the tensors that each step reads."""
        return [one for one in (self.recurrence, self.recurrent_bias) if one is not None]

    def reading(self, tensors: Iterator[ir.Value]) -> Cell:
        """Return the cell that reads others."""
        recurrence = next(tensors)
        bias = None if self.recurrent_bias is None else next(tensors)
        return replace(self, recurrence=recurrence, recurrent_bias=bias)

    def advance(
        self, x: ir.Value, state: State, place: int | Dim, lengths: ir.Value | None = None
    ) -> tuple[ir.Value, list[ir.Value]]:
        """Return the output and the next state of step `place`, of the products of its input.

        Sequences of fewer steps, which `lengths` counts, give 0 and keep their state.
        """
        new = self.step(x, state)
        if lengths is None:
            return new[0], new
        at = cast(size_tensor(place), lengths.type.dtype)
        runs = op.greater(op.reshape(lengths, [-1, 1]), at)
        output = op.where(runs, new[0], number(0, new[0].type.dtype))
        return output, [op.where(runs, one, old) for one, old in zip(new, state, strict=True)]

    def activate(self, index: int, x: ir.Value) -> ir.Value:
        """Apply an activation."""
        if self.clip is not None:
            x = op.clip(x, -self.clip, self.clip)
        return self.activations[index](x)

    def divide(
        self, product: ir.Value, bias: ir.Value | None = None, gates: str = ""
    ) -> dict[str, ir.Value]:
        """Return the parts of a product by their gates, all of them by default."""
        gates = gates or self.gates
        parts = parts_of(_biased(product, bias), len(gates), axis=1)
        return dict(zip(gates, parts, strict=True))


def _biased(product: ir.Value, bias: ir.Value | None) -> ir.Value:
    return product if bias is None else op.add(product, bias)


class RNNCell(Cell):
    """``h = tanh(x + h R)``, where `x` has been multiplied."""

    def step(self, x: ir.Value, state: State) -> list[ir.Value]:
        """Return the next state."""
        total = op.add(x, op.matmul(state[0], self.recurrence))
        return [self.activate(0, _biased(total, self.recurrent_bias))]


@dataclass(frozen=True, kw_only=True)
class GRUCell(Cell):
    """``h = z h + (1 - z) n``, with the gates z (update), r (reset) and n (new).

    Parameters
    ----------
    is_reset_last : bool
        Whether r multiplies the product with the state, and not the state.
    """

    is_reset_last: bool = True

    def step(self, x: ir.Value, state: State) -> list[ir.Value]:
        """Return the next state."""
        (hidden,) = state
        inputs, gates = self.divide(x), self.gates
        first, first_bias = self.recurrence, self.recurrent_bias
        last = last_bias = None
        if not self.is_reset_last:  # n is last, and its product waits for r
            gates, place = gates[:2], [2 * self.size]
            first, last = parts_of(first, place, axis=1)
            if first_bias is not None:
                first_bias, last_bias = parts_of(first_bias, place)
        parts = self.divide(op.matmul(hidden, first), first_bias, gates)
        z, r = (self.activate(0, op.add(inputs[gate], parts[gate])) for gate in "zr")
        if last is None:
            inner = op.multiply(r, parts["n"])
        else:
            inner = _biased(op.matmul(op.multiply(r, hidden), last), last_bias)
        new = self.activate(1, op.add(inputs["n"], inner))
        rest = op.subtract(number(1, z.type.dtype), z)
        return [op.add(op.multiply(rest, new), op.multiply(z, hidden))]


@dataclass(frozen=True, kw_only=True)
class LSTMCell(Cell):
    """``c = f c + i g`` and ``h = o tanh(c)``, with the gates i, f, g and o.

    Parameters
    ----------
    peepholes : mapping of str to mlir.ir.Value, optional
        What c is multiplied by before it is added to the gates i, f and o.
    has_forget_gate : bool
        Whether f is a gate of its own, and not 1 - i.
    """

    peepholes: Mapping[str, ir.Value] | None = None
    has_forget_gate: bool = True

    def step(self, x: ir.Value, state: State) -> list[ir.Value]:
        """Return the next state."""
        hidden, memory = state
        total = op.add(x, op.matmul(hidden, self.recurrence))
        parts = self.divide(total, self.recurrent_bias)
        i = self.activate(0, self._look("i", parts, memory))
        if self.has_forget_gate:
            f = self.activate(0, self._look("f", parts, memory))
        else:
            f = op.subtract(number(1, i.type.dtype), i)
        g = self.activate(1, parts["g"])
        memory = op.add(op.multiply(f, memory), op.multiply(i, g))
        o = self.activate(0, self._look("o", parts, memory))
        return [op.multiply(o, self.activate(2, memory)), memory]

    def read(self) -> list[ir.Value]:
        """Return the tensors that each step reads."""
        return [*super().read(), *(self.peepholes or {}).values()]

    def reading(self, tensors: Iterator[ir.Value]) -> Cell:
        """Return the cell that reads others."""
        cell = super().reading(tensors)
        if self.peepholes is None:
            return cell
        assert isinstance(cell, LSTMCell)
        return replace(cell, peepholes=dict(zip(self.peepholes, tensors, strict=True)))

    def _look(self, gate: str, parts: Mapping[str, ir.Value], memory: ir.Value) -> ir.Value:
        if self.peepholes is None:
            return parts[gate]
        return op.add(parts[gate], op.multiply(self.peepholes[gate], memory))


def run(
    cell: Cell, x: ir.Value, state: State, *, reverse: bool = False, lengths: ir.Value | None = None
) -> tuple[ir.Value, list[ir.Value]]:
    """Run a cell over all steps.

    Parameters
    ----------
    cell : Cell
    x : mlir.ir.Value
        Of the dimensions (steps, batch, inputs).
    state : sequence of mlir.ir.Value
        The first one, of tensors of (batch, state).
    reverse : bool
        Whether the last step comes first.
    lengths : mlir.ir.Value, optional
        How many steps each sequence of the batch has; the outputs of others are 0.

    Returns
    -------
    tuple of mlir.ir.Value and list of mlir.ir.Value
        The outputs of all steps, in the order of `x`, and the last state.
    """
    steps = shape_of(x)[0]
    inputs = cell.multiply(x)
    if not isinstance(steps, int) or not 0 < steps <= _LONGEST:
        return _run_loop(cell, inputs, state, reverse, lengths)
    outputs: dict[int, ir.Value] = {}
    now = list(state)
    for place in reversed(range(steps)) if reverse else range(steps):
        outputs[place], now = cell.advance(_row(inputs, place), now, place, lengths)
    return op.stack([outputs[place] for place in range(steps)], 0), now


def _row(x: ir.Value, place: int | Dim) -> ir.Value:
    """Return what is at a place of the first axis."""
    row = op.strided_slice(x, [0], [place], [place + 1], assume_inbound=True)
    return op.squeeze(row, [0])


def _run_loop(
    cell: Cell, inputs: ir.Value, state: State, reverse: bool, lengths: ir.Value | None
) -> tuple[ir.Value, list[ir.Value]]:
    """Run a cell over the products of inputs, of a number of steps that the program finds."""
    counted = [] if lengths is None else [lengths]

    def step(place: Dim, now: State, read: Sequence[ir.Value]) -> tuple[State, State]:
        products, *others = read
        limits = None if lengths is None else others.pop(0)
        inner = cell.reading(iter(others))
        output, new = inner.advance(_row(products, place), now, place, limits)
        return new, [output]

    read = [inputs, *counted, *cell.read()]
    name = type(cell).__name__.removesuffix("Cell").lower()
    last, (outputs,) = count_to(
        name, shape_of(inputs)[0], state, read, [kind_of(state[0])], step, backward=reverse
    )
    return outputs, list(last)


# -- operators ------------------------------------------------------------------------------------


def _weights(
    kind: type[Cell],
    gates: str,
    tensors: Sequence[TensorLike | None],
    activations: Sequence[Activation],
) -> Cell:
    """Return a cell of weights as PyTorch has them, after checking their shapes."""
    weight, recurrence, *biases = (None if one is None else as_tensor(one) for one in tensors)
    assert weight is not None and recurrence is not None
    shape = shape_of(recurrence)
    size = shape[-1]
    if not isinstance(size, int):
        raise NotImplementedError(f"expected a state of known size, but got {recurrence.type}")
    rows = len(gates) * size
    if shape != [rows, size]:
        raise ValueError(
            f"expected recurrence of shape [{len(gates)} * state, state], but got {recurrence.type}"
        )
    if len(shape_of(weight)) != 2 or shape_of(weight)[0] != rows:
        raise ValueError(
            f"expected weight of shape [{rows}, inputs], as recurrence is "
            f"{recurrence.type}, but got {weight.type}"
        )
    for name, bias in zip(("bias", "recurrent_bias"), biases, strict=True):
        if bias is not None and shape_of(bias) != [rows]:
            raise ValueError(f"expected {name} of shape [{rows}], but got {bias.type}")
    return kind(
        gates=gates,
        size=size,
        weight=op.permute_dims(weight),
        recurrence=op.permute_dims(recurrence),
        bias=biases[0],
        recurrent_bias=biases[1],
        activations=activations,
    )


def _run(cell: Cell, x: TensorLike, state: Sequence[TensorLike], reverse: bool) -> ir.Value:
    data, begin = as_tensor(x), [as_tensor(one) for one in state]
    if len(shape_of(data)) != 3:
        raise ValueError(f"expected x of shape [steps, batch, inputs], but got {data.type}")
    wanted = [shape_of(data)[1], cell.size]
    for one in begin:
        if shape_of(one) != wanted:
            raise ValueError(
                f"expected a state of shape [batch, {cell.size}] for x of type {data.type}, "
                f"but got {one.type}"
            )
    outputs, last = run(cell, data, begin, reverse=reverse)
    return op.tuple(outputs, *last)


def lstm(
    x: TensorLike,
    hidden: TensorLike,
    memory: TensorLike,
    weight: TensorLike,
    recurrence: TensorLike,
    bias: TensorLike | None = None,
    recurrent_bias: TensorLike | None = None,
    *,
    reverse: bool = False,
) -> ir.Value:
    """Return the outputs and the last state of a layer of long short-term memory.

    The layer goes over a sequence in one direction. Weights are as in
    ``torch.nn.LSTM``, with the gates input, forget, candidate, output.

    Parameters
    ----------
    x : tensor
        Of shape (steps, batch, inputs). Up to 1000 known steps are written one after the other,
        and others as a loop.
    hidden, memory : tensor
        The state before the first step, of shape (batch, state).
    weight : tensor
        Of shape (4 * state, inputs).
    recurrence : tensor
        Of shape (4 * state, state).
    bias, recurrent_bias : tensor, optional
        Of 4 * state elements.
    reverse : bool
        Whether the last step comes first.

    Returns
    -------
    mlir.ir.Value
        A tuple: the outputs, of shape (steps, batch, state), and the last `hidden` and `memory`.

    Raises
    ------
    ValueError
        If shapes do not fit each other.
    NotImplementedError
        If the size of the state is not known.

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
    >>> bb = BlockBuilder()
    >>> shapes = {"x": (5, "n", 3), "h": ("n", 4), "c": ("n", 4), "w": (16, 3), "r": (16, 4)}
    >>> params = [Var(name, TensorStructInfo(dims, "float32")) for name, dims in shapes.items()]
    >>> with bb.function("main", params):
    ...     result = op.nn.lstm(*params)
    ...     _ = bb.emit_func_output(result)
    >>> print(result.type.fields[0], result.type.fields[1])
    !relax.tensor<[5, n, 4], f32> !relax.tensor<[n, 4], f32>
    """
    tensors = (weight, recurrence, bias, recurrent_bias)
    cell = _weights(LSTMCell, "ifgo", tensors, (op.sigmoid, op.tanh, op.tanh))
    return _run(cell, x, [hidden, memory], reverse)


def gru(
    x: TensorLike,
    hidden: TensorLike,
    weight: TensorLike,
    recurrence: TensorLike,
    bias: TensorLike | None = None,
    recurrent_bias: TensorLike | None = None,
    *,
    reverse: bool = False,
) -> ir.Value:
    """Return the outputs and the last state of a layer of gated recurrent units.

    The layer goes over a sequence in one direction. Weights are as in
    ``torch.nn.GRU``, with the gates reset, update, new.

    Parameters
    ----------
    x : tensor
        Of shape (steps, batch, inputs). Up to 1000 known steps are written one after the other,
        and others as a loop.
    hidden : tensor
        The state before the first step, of shape (batch, state).
    weight : tensor
        Of shape (3 * state, inputs).
    recurrence : tensor
        Of shape (3 * state, state).
    bias, recurrent_bias : tensor, optional
        Of 3 * state elements.
    reverse : bool
        Whether the last step comes first.

    Returns
    -------
    mlir.ir.Value
        A tuple: the outputs, of shape (steps, batch, state), and the last `hidden`.

    Raises
    ------
    ValueError
        If shapes do not fit each other.
    NotImplementedError
        If the size of the state is not known.
    """
    tensors = (weight, recurrence, bias, recurrent_bias)
    cell = _weights(GRUCell, "rzn", tensors, (op.sigmoid, op.tanh))
    return _run(cell, x, [hidden], reverse)


def rnn(
    x: TensorLike,
    hidden: TensorLike,
    weight: TensorLike,
    recurrence: TensorLike,
    bias: TensorLike | None = None,
    recurrent_bias: TensorLike | None = None,
    *,
    activation: str = "tanh",
    reverse: bool = False,
) -> ir.Value:
    """Return the outputs and the last state of a recurrent layer without gates.

    The layer goes over a sequence in one direction. Weights are as in ``torch.nn.RNN``.

    Parameters
    ----------
    x : tensor
        Of shape (steps, batch, inputs). Up to 1000 known steps are written one after the other,
        and others as a loop.
    hidden : tensor
        The state before the first step, of shape (batch, state).
    weight : tensor
        Of shape (state, inputs).
    recurrence : tensor
        Of shape (state, state).
    bias, recurrent_bias : tensor, optional
        Of as many elements as the state.
    activation : str
        "tanh" or "relu".
    reverse : bool
        Whether the last step comes first.

    Returns
    -------
    mlir.ir.Value
        A tuple: the outputs, of shape (steps, batch, state), and the last `hidden`.

    Raises
    ------
    ValueError
        If shapes do not fit each other, or there is no such activation.
    NotImplementedError
        If the size of the state is not known.
    """
    activations: dict[str, Activation] = {"tanh": op.tanh, "relu": op.nn.relu}
    if activation not in activations:
        raise ValueError(f"expected activation tanh or relu, but got {activation!r}")
    tensors = (weight, recurrence, bias, recurrent_bias)
    return _run(_weights(RNNCell, "h", tensors, [activations[activation]]), x, [hidden], reverse)
