# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of a long short-term memory over a batch, as one kernel.

Each row of a batch is a sequence of its own. So threads share the rows, and each one runs all the
steps of some rows: it waits for no other one, and a state stays in its caches, while steps that are
kernels share the product with the state, and then read what other threads have written.

A tile of the kernel is some rows times a vector of each gate. Its sums stay in registers from the
products of the inputs on, by way of those with the state, to the next state.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mlir import ir

from .. import op
from ..composites.kernels import allow_contraction
from ..core.expr import GlobalVar
from ..core.ir import TensorStructInfo
from ..core.variables import defining_op, unnamed, walk
from ..script import from_source
from .kernels import Kernels
from .operations import rank_of
from .parts import Part, removes_axis
from .python_pass import function_pass
from .rewriting import (
    dims_of,
    dtype_of,
    erase_all_unused,
    erase_unused,
    has_one_use,
    made_by,
    order_of,
    updates_tensors,
)

# Each gate has one letter: input, forget, candidate, output.
_GATES = "ifgo"

# Vectors of so many bits: the numbers of rows whose sums registers have room for.
_ROWS = {512: (4, 3), 256: (2,)}
_LEAST_BATCH = 8
# The weights that each thread reads in each step, which caches should hold.
_MOST_BYTES = 4 << 20


@dataclass(frozen=True)
class _Step:
    """A step of the memory.

    Attributes
    ----------
    place : int
        Of its inputs, along the first axis of `products`.
    products : mlir.ir.Value
        Those of the inputs of all steps, of shape (steps, batch, gates times state).
    recurrence : mlir.ir.Value
        What the state is multiplied by, of shape (state, gates times state).
    bias : mlir.ir.Value, optional
    gates : str
        Their order.
    hidden, memory, next_hidden, next_memory : mlir.ir.Value
        The state before and after it.
    matmul, split, tanh : mlir.ir.Operation
        The product with the state, where the gates part, and what is taken of the next memory.
    """

    place: int
    products: ir.Value
    recurrence: ir.Value
    bias: ir.Value | None
    gates: str
    hidden: ir.Value
    memory: ir.Value
    next_hidden: ir.Value
    next_memory: ir.Value
    matmul: ir.Operation
    split: ir.Operation
    tanh: ir.Operation

    def may_follow(self, other: _Step) -> bool:
        """Say whether this is the step after another one, of the same memory."""
        return (
            self.hidden == other.next_hidden
            and self.memory == other.next_memory
            and self.products == other.products
            and self.recurrence == other.recurrence
            and self.bias == other.bias
            and self.gates == other.gates
            # The kernel returns the last memory only.
            and len(list(self.memory.uses)) == 2
        )


@function_pass(opt_level=1)
class FuseLSTMSteps:
    """Make one kernel of the steps of a long short-term memory over a batch.

    They are as `op.nn.lstm` and importers write them, of float32. The batch has eight rows or more,
    and as many rows as tiles have divide it. The numbers of rows, of steps and of units are known.

    Parameters
    ----------
    vector_bits : int
        The size of a vector register, 256 or 512; with others, nothing is done.

    Examples
    --------
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
    >>> from relax_mlir.transform import FuseLSTMSteps
    >>> bb = BlockBuilder()
    >>> shapes = {"x": (5, 8, 3), "h": (8, 16), "c": (8, 16), "w": (64, 3), "r": (64, 16)}
    >>> params = [Var(name, TensorStructInfo(dims, "float32")) for name, dims in shapes.items()]
    >>> with bb.function("main", params):
    ...     with bb.dataflow():
    ...         result = bb.emit_output(op.nn.lstm(*params))
    ...     _ = bb.emit_func_output(result)
    >>> mod = FuseLSTMSteps(vector_bits=512)(bb.get())
    >>> str(mod).count("relax.matmul"), "relax.call_tir @lstm_steps" in str(mod)
    (1, True)
    """

    def __init__(self, vector_bits: int = 512) -> None:
        self._vector_bits = vector_bits

    def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
        """Fuse the steps of a function."""
        if self._vector_bits not in _ROWS or updates_tensors(func.operation):
            return func
        if _steps_of(func.operation):
            # A last state, say, that nobody uses counts as a use otherwise.
            erase_all_unused(func.operation)
            for chain in _chains(_steps_of(func.operation)):
                _fuse(chain, Kernels(mod), self._vector_bits)
        return func


# -- steps ----------------------------------------------------------------------------------------


def _steps_of(function: ir.Operation) -> list[_Step]:
    """Return the steps of all memories of a function, in its order."""
    matmuls = [found for found in walk(function) if found.name == "relax.matmul"]
    return [step for step in map(_step_of, matmuls) if step is not None]


def _step_of(matmul: ir.Operation) -> _Step | None:
    """Return the step whose product with the state is `matmul`."""
    hidden, recurrence = matmul.operands
    total = _only_user(matmul.results[0], "relax.add")
    if dtype_of(hidden) != "float32" or total is None:
        return None
    inputs = _other(total, matmul.results[0])
    biased = _only_user(total.results[0], "relax.add")
    bias = None if biased is None else _other(biased, total.results[0])
    split = _only_user((biased or total).results[0], "relax.split")
    if bias is not None and len(dims_of(bias) or ()) != 1:
        return None
    row = _row_of(inputs)
    cell = None if split is None else _cell_of(split)
    if row is None or cell is None:
        return None
    products, place = row
    return _Step(
        place=place,
        products=products,
        recurrence=recurrence,
        bias=bias,
        hidden=hidden,
        matmul=matmul,
        split=split,
        **cell,
    )


def _cell_of(split: ir.Operation) -> dict[str, Any] | None:
    """Return the fields of a step that are about what is computed of the gates."""
    parts = _activated(split)
    candidates = [made for made in parts if made.name == "relax.tanh"]
    if len(parts) != 4 or len(candidates) != 1:
        return None
    candidate = candidates[0].results[0]
    gained = _only_user(candidate, "relax.multiply")
    total = _only_user(gained.results[0], "relax.add") if gained else None
    if gained is None or total is None:
        return None
    kept = made_by(_other(total, gained.results[0]), "relax.multiply")
    tanh = _user(total.results[0], "relax.tanh")
    output = _only_user(tanh.results[0], "relax.multiply") if tanh else None
    if kept is None or tanh is None or output is None:
        return None
    places = {made.results[0]: place for made, place in parts.items()}
    forget = next((side for side in kept.operands if side in places), None)
    gates = [_other(gained, candidate), forget, candidate, _other(output, tanh.results[0])]
    if {places.get(gate) for gate in gates} != set(range(4)):
        return None
    order = sorted(range(4), key=lambda index: places[gates[index]])
    return {
        "gates": "".join(_GATES[index] for index in order),
        "memory": _other(kept, forget),
        "next_hidden": output.results[0],
        "next_memory": total.results[0],
        "tanh": tanh,
    }


def _activated(split: ir.Operation) -> dict[ir.Operation, int]:
    """Return the activations of the parts of a split, and which part each is of."""
    found = {}
    for use in split.results[0].uses:
        item = use.owner.operation
        users = [each.owner.operation for each in item.results[0].uses]
        if item.name != "relax.get_item" or len(users) != 1 or not has_one_use(users[0].results[0]):
            return {}
        if users[0].name not in ("relax.sigmoid", "relax.tanh"):
            return {}
        found[users[0]] = item.attributes["index"].value
    return found


def _row_of(inputs: ir.Value) -> tuple[ir.Value, int] | None:
    """Return the tensor of which a value is one element of the first axis, and its place."""
    squeeze = made_by(inputs, "relax.squeeze")
    taken = defining_op(squeeze.operands[0]) if squeeze else None
    part = Part.of(taken.opview) if taken else None
    if squeeze is None or part is None or not part.has_axis or part.axis != 0:
        return None
    return (part.found.operands[0], part.place) if removes_axis(squeeze.opview, 0) else None


def _user(value: ir.Value, name: str) -> ir.Operation | None:
    """Return the user of a value that has a name, if there is one such."""
    users = [use.owner.operation for use in value.uses if use.owner.operation.name == name]
    return users[0] if len(users) == 1 else None


def _only_user(value: ir.Value, name: str) -> ir.Operation | None:
    return _user(value, name) if has_one_use(value) else None


def _other(found: ir.Operation, operand: ir.Value) -> ir.Value:
    """Return the other one of two operands."""
    lhs, rhs = found.operands
    return rhs if lhs == operand else lhs


# -- chains ---------------------------------------------------------------------------------------


def _chains(steps: Sequence[_Step]) -> Iterator[list[_Step]]:
    """Yield the steps of each memory in order, where they go once over all the inputs."""
    after: dict[ir.Value, list[_Step]] = {}
    for step in steps:
        after.setdefault(step.hidden, []).append(step)
    inner = {step.next_hidden for step in steps}
    for first in steps:
        if first.hidden in inner:
            continue
        chain = [first]
        while followers := [
            each for each in after.get(chain[-1].next_hidden, []) if each.may_follow(chain[-1])
        ]:
            if len(followers) > 1:
                break
            chain += followers
        places = [step.place for step in chain]
        dims = dims_of(first.products)
        everywhere = list(range(dims[0].value or 0)) if dims else []
        if len(places) > 1 and places in (everywhere, everywhere[::-1]):
            yield chain


@dataclass(frozen=True)
class _Layer:
    """The sizes and the layouts of a kernel.

    Attributes
    ----------
    steps, batch, units : int
    gates : str
        Their order in the products of the inputs.
    is_reversed : bool
        Whether the last step comes first.
    rows, lanes : int
        Those of a tile.
    reads_batches, writes_batches : bool
        Whether the batch comes before the steps, in the products and in the outputs.
    """

    steps: int
    batch: int
    units: int
    gates: str
    is_reversed: bool
    rows: int
    lanes: int
    reads_batches: bool = False
    writes_batches: bool = False

    @property
    def state(self) -> list[int]:
        """The shape of a state."""
        return [self.batch, self.units]

    @property
    def products(self) -> list[int]:
        """The shape of the products of the inputs."""
        return [*_in_order(self.reads_batches, self.steps, self.batch), 4 * self.units]

    @property
    def outputs(self) -> list[int]:
        """The shape of the outputs of all steps."""
        return [*_in_order(self.writes_batches, self.steps, self.batch), self.units]


def _in_order(has_batches_first: bool, steps: Any, batch: Any) -> list[Any]:
    """Return sizes or places of steps and batches in the order of a layout."""
    return [batch, steps] if has_batches_first else [steps, batch]


def _layer_of(chain: Sequence[_Step], vector_bits: int) -> _Layer | None:
    """Return the layer that a chain is, steps first; None where its steps are better apart."""
    first, last = chain[0], chain[-1]
    sizes, shape = _sizes_of(first.products), _sizes_of(first.recurrence)
    if len(sizes) != 3 or len(shape) != 2:
        return None
    (steps, batch, columns), (units, _), lanes = sizes, shape, vector_bits // 32
    rows = next((rows for rows in _ROWS[vector_bits] if batch % rows == 0), None)
    if rows is None or batch < _LEAST_BATCH or units % lanes or 16 * units * units > _MOST_BYTES:
        return None
    states = [first.hidden, first.memory, first.next_hidden, first.next_memory]
    if shape != [units, columns] or any(_sizes_of(each) != [batch, units] for each in states):
        return None
    if first.bias is not None and _sizes_of(first.bias) != [columns]:
        return None
    return _Layer(
        steps=steps,
        batch=batch,
        units=units,
        gates=first.gates,
        is_reversed=first.place > last.place,
        rows=rows,
        lanes=lanes,
    )


def _sizes_of(value: ir.Value) -> list[int]:
    """Return the sizes of a tensor if all of them are known, or else nothing."""
    sizes = [dim.value for dim in dims_of(value) or ()]
    known = [size for size in sizes if size is not None]
    return known if len(known) == len(sizes) else []


def _fuse(chain: Sequence[_Step], kernels: Kernels, vector_bits: int) -> None:
    """Replace the steps of a chain by a call of a kernel."""
    layer = _layer_of(chain, vector_bits)
    if layer is None:
        return
    first, last = chain[0], chain[-1]
    stack = _stack_of(chain)
    with ir.InsertionPoint(first.split), unnamed(first.split.location):
        swapped = _swapped_products(first.products, len(chain))
        layer = replace(
            layer,
            reads_batches=swapped is not None,
            writes_batches=stack is not None and _is_swapped(stack),
        )
        products = first.products if swapped is None else swapped
        outputs, memory = _call(layer, first, products, kernels)
        last.next_memory.replace_all_uses_except(memory, [last.tanh])
        if stack is not None:
            for permute in _users(stack) if layer.writes_batches else []:
                permute.results[0].replace_all_uses_with(outputs)
                permute.erase()
            stack.results[0].replace_all_uses_with(outputs)
            stack.erase()
        axis = int(layer.writes_batches)
        for step, following in zip(chain, [*chain[1:], None], strict=True):
            kept = [] if following is None else [following.matmul]
            if len(list(step.next_hidden.uses)) > len(kept):
                places = [step.place], [step.place + 1]
                row = op.strided_slice(outputs, [axis], *places, assume_inbound=True)
                step.next_hidden.replace_all_uses_except(op.squeeze(row, [axis]), kept)
    owner = defining_op(last.next_hidden)
    assert owner is not None
    erase_unused(owner)


def _call(
    layer: _Layer, first: _Step, products: ir.Value, kernels: Kernels
) -> tuple[ir.Value, ir.Value]:
    """Call the kernel of a layer; returns the outputs of all steps, and the last memory."""
    name = kernels.add(_kernel(_source(layer)), "lstm_steps")
    if first.bias is not None:
        products = op.add(products, first.bias)
    units, lanes = layer.units, layer.lanes
    # A panel has the columns of all gates of some units.
    panels = op.reshape(first.recurrence, [units, 4, units // lanes, lanes])
    panels = op.reshape(op.permute_dims(panels, [2, 0, 1, 3]), [-1, units, 4 * lanes])
    made = op.call_tir(
        GlobalVar(name),
        [products, panels, first.hidden, first.memory],
        [TensorStructInfo(shape, "float32") for shape in (layer.outputs, layer.state)],
    )
    return op.get_item(made, 0), op.get_item(made, 1)


# -- layouts --------------------------------------------------------------------------------------

# Steps and batches.
_SWAPPED = [1, 0, 2]


def _swapped_products(products: ir.Value, uses: int = 1) -> ir.Value | None:
    """Return products of swapped inputs as those of the inputs before, if nothing else uses them.

    None if the inputs are not swapped.
    """
    made = defining_op(products)
    if made is None:
        return None
    if made.name == "relax.permute_dims":
        return made.operands[0] if order_of(made) == _SWAPPED else None
    ranks = {"relax.add": 1, "relax.matmul": 2}
    is_known = made.name in ranks and rank_of(made.operands[1]) == ranks[made.name]
    if not is_known or len(list(products.uses)) != uses:
        return None
    inner = _swapped_products(made.operands[0])
    if inner is None:
        return None
    write = op.add if made.name == "relax.add" else op.matmul
    return write(inner, made.operands[1])


def _is_swapped(found: ir.Operation) -> bool:
    """Say whether steps and batches of a result are swapped wherever it is used."""
    users = _users(found)
    return bool(users) and all(
        user.name == "relax.permute_dims" and order_of(user) == _SWAPPED for user in users
    )


def _users(found: ir.Operation) -> list[ir.Operation]:
    return [use.owner.operation for use in found.results[0].uses]


def _stack_of(chain: Sequence[_Step]) -> ir.Operation | None:
    """Return the operation that puts the outputs of all steps together; None without one."""
    hidden = [step.next_hidden for step in sorted(chain, key=lambda step: step.place)]
    for use in hidden[0].uses:
        stack = use.owner.operation
        axis = stack.attributes["axis"].value if "axis" in stack.attributes else 0
        if stack.name == "relax.stack" and axis == 0 and list(stack.operands) == hidden:
            return stack
    return None


# -- the kernel -----------------------------------------------------------------------------------

_MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def lstm_steps(
        x: T.Buffer({products_shape}, "float32"),
        panels: T.Buffer(({blocks}, {units}, {width}), "float32"),
        first: T.Buffer(({batch}, {units}), "float32"),
        before: T.Buffer(({batch}, {units}), "float32"),
        y: T.Buffer({outputs_shape}, "float32"),
        memory: T.Buffer(({batch}, {units}), "float32"),
    ):
        for block in T.parallel({batch} // {rows}):
            hidden = T.alloc_buffer(({rows}, {units}), "float32")
{sums}
            for row in range({rows}):
                for j in T.vectorized({units}):
                    hidden[row, j] = first[block * {rows} + row, j]
                for j in T.vectorized({units}):
                    memory[block * {rows} + row, j] = before[block * {rows} + row, j]
            for t in range({steps}):
                for panel in range({blocks}):
{begin}
                    for k in range({units}):
                        for j in T.vectorized({lanes}):
{weights}
{products}
{finish}
                for row in range({rows}):
                    for j in T.vectorized({units}):
                        hidden[row, j] = y[{any_output}, j]
"""

_SUM = """
{gate}{row} = T.alloc_buffer(({lanes},), "float32")
"""

_BEGIN = """
for j in T.vectorized({lanes}):
    {gate}{row}[j] = x[{product}, {first} + panel * {lanes} + j]
"""

_WEIGHT = """
{gate} = panels[panel, k, {index} * {lanes} + j]
"""

_PRODUCT = """
{gate}{row}[j] = {gate}{row}[j] + hidden[{row}, k] * {gate}
"""

_FINISH = """
for j in T.vectorized({lanes}):
    old{row} = memory[block * {rows} + {row}, panel * {lanes} + j]
    gained{row} = T.sigmoid(i{row}[j]) * T.tanh(g{row}[j])
    new{row} = T.sigmoid(f{row}[j]) * old{row} + gained{row}
    memory[block * {rows} + {row}, panel * {lanes} + j] = new{row}
    y[{output}, panel * {lanes} + j] = T.sigmoid(o{row}[j]) * T.tanh(new{row})
"""


def _source(layer: _Layer) -> str:
    """Return the kernel in TVMScript: sums are buffers of one vector each, which are registers."""
    place = f"{layer.steps - 1} - t" if layer.is_reversed else "t"

    def at(has_batches_first: bool, row: Any) -> str:
        places = _in_order(has_batches_first, place, f"block * {layer.rows} + {row}")
        return ", ".join(places)

    rows, gates, units = layer.rows, layer.gates, layer.units
    sizes = {
        **asdict(layer),
        "products_shape": tuple(layer.products),
        "outputs_shape": tuple(layer.outputs),
        "blocks": units // layer.lanes,
        "width": 4 * layer.lanes,
        "any_output": at(layer.writes_batches, "row"),
    }

    def write(template: str, depth: int, *, by_row: bool = True, by_gate: bool = True) -> str:
        texts = [
            template.format(
                row=row,
                gate=gate,
                index=index,
                first=index * units,
                product=at(layer.reads_batches, row),
                output=at(layer.writes_batches, row),
                **sizes,
            )
            for row in range(rows if by_row else 1)
            for index, gate in enumerate(gates if by_gate else gates[:1])
        ]
        return textwrap.indent("".join(text.lstrip("\n") for text in texts), " " * 4 * depth)

    return _MODULE.format(
        sums=write(_SUM, 3),
        begin=write(_BEGIN, 5),
        weights=write(_WEIGHT, 7, by_row=False),
        products=write(_PRODUCT, 7),
        finish=write(_FINISH, 5, by_gate=False),
        **sizes,
    )


def _kernel(source: str) -> ir.Operation:
    kernel = next(iter(from_source(source).functions.values())).operation
    allow_contraction(kernel)
    return kernel
