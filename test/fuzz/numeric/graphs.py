# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs: graphs of operators with branches, closures, loops, casts and calls in place."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import samplers_collective
import samplers_nn
import samplers_places
import samplers_sums
from draw import MISFIT, Drawer, Value
from elementwise import elementwise
from mlir import ir
from options import options_of
from plan import Body, Node, Program, Writer, text_of
from relax_mlir import BlockBuilder
from relax_mlir.core.context import current_context
from relax_mlir.core.dtypes import element_type
from samplers import SAMPLERS

__all__ = [
    "draw_program",
    "samplers_collective",
    "samplers_nn",
    "samplers_places",
    "samplers_sums",
]

#: One more and one less than what tiles, vectors and their parts have, and what is left of them.
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65]
LARGE = [95, 96, 97, 127, 128, 129, 191, 192, 193, 255, 256, 257]
HEAVY = {"conv3d", "max_pool3d", "avg_pool3d", "adaptive_avg_pool3d"}  # drawn less often


class Discard(Exception):  # noqa: N818 (nothing is wrong)
    """Ends the function in which nodes were drawn."""


def draw_sizes(rng: random.Random, names: tuple[str, ...], count: int = 3) -> list[dict[str, int]]:
    """Draw sizes of variables: usual ones first, then with one that is 0 or 1 now and then."""
    sizes = [{name: rng.choice(SIZES[3:14]) for name in names}]
    while len(sizes) < count:
        drawn = {name: rng.choice(SIZES) for name in names}
        if rng.random() < 0.1:
            drawn[rng.choice(names)] = rng.choice(LARGE)
        if rng.random() < 0.35:
            drawn[rng.choice(names)] = rng.choice([0, 1, 1])
        sizes.append(drawn)
    return sizes


@contextlib.contextmanager
def drawing(rng: random.Random, variables: tuple[str, ...], sizes: Any) -> Iterator[Drawer]:
    """Give a drawer whose nodes are written to a function that is discarded."""
    with current_context(), ir.Location.unknown(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = BlockBuilder()
        with contextlib.suppress(Discard), builder.function("main", pure=False):
            yield Drawer(rng, variables, tuple(sizes), Writer(builder))
            raise Discard


def draw_program(seed: int, number: int, mcpu: str | None = None) -> Program:
    """Return program `number` of a seed."""
    rng = random.Random(f"{seed} program {number}")
    variables = tuple(rng.sample(["n", "m", "k"], rng.choice([1, 1, 2, 2, 3])))
    sizes = draw_sizes(rng, variables)
    with drawing(rng, variables, sizes) as d:
        d.special = d.chance(0.12)
        names = elementwise()
        for _ in range(rng.randint(2, 4)):
            with contextlib.suppress(*MISFIT):
                d.fresh(d.dims(), rng.choice(d.dtypes))
        for _ in range(rng.randint(10, 30)):
            draw_step(d, names)
        outputs = draw_outputs(d)
    name = f"--seed {seed} --programs-only --only {number}"
    return finished(d, name, outputs, options_of(number, mcpu))


def finished(
    d: Drawer, name: str, outputs: list[int], options: tuple[dict[str, Any], ...]
) -> Program:
    """Return what was drawn as a program, without what no output needs."""
    kinds = ("closure", "loop")
    nodes = [_as_call(d, n) if n.op in kinds and d.chance(0.5) else n for n in d.nodes]
    program = Program(
        name,
        tuple(d.params),
        tuple(nodes),
        tuple(outputs),
        d.variables,
        d.sizes,
        options,
    )
    return prune(program)


def _as_call(d: Drawer, node: Node) -> Node:
    """Return a call of a function of the module in place of one of a closure.

    Captured values are parameters of the function. Variables that a cast made stay out.
    """
    (body,) = node.bodies
    captured = sorted(captures(body))
    types = tuple(d.types[number] for number in (*node.args, *captured))
    if any(name in text for name in d.cast_variables for text in types):
        return node
    body = dataclasses.replace(body, params=(*body.params, *captured))
    attrs = {**node.attrs, "types": types, "variables": d.variables}
    args = (*node.args, *captured)
    return dataclasses.replace(node, op="call", args=args, attrs=attrs, bodies=(body,))


def draw_outputs(d: Drawer) -> list[int]:
    """Return up to four values that nothing uses, most often the last ones."""
    used = {number for node in d.nodes for number in uses(node)}
    own = {node.result for node in d.nodes}
    free = [v.number for v in d.pool if v.number in own and v.number not in used]
    count = d.choice(1, 2, 4, 6, 8)
    chosen = free[-count:]
    if not chosen:
        raise ValueError("expected a value to return")
    if len(chosen) > 1 and d.chance(0.15):
        number = d.number()
        d.nodes.append(Node("tuple", tuple(chosen[:-1]), {}, number))
        return [number, chosen[-1]]
    return chosen


def draw_step(d: Drawer, names: dict[str, int]) -> Value | None:
    """Draw a node; those that do not fit are drawn again."""
    for _ in range(10):
        state = len(d.nodes), list(d.pool)
        try:
            kind = d.rng.random()
            if kind < 0.45:
                name = d.choice(*names)
                return d.elementwise(name, names[name])
            if kind < 0.9:
                name = d.choice(*SAMPLERS)
                if name in HEAVY and d.chance(0.7):
                    continue
                return SAMPLERS[name](d)
            return d.choice(*FORMS)(d, names)
        except MISFIT:
            del d.nodes[state[0] :]
            d.pool = state[1]
    return None


# -- forms ----------------------------------------------------------------------------------------


def _condition(d: Drawer) -> Value:
    if d.chance(0.5):
        return d.fresh([], "bool", 0, 1, "integers")
    x = d.value(Value.is_float)
    total = d.make("sum", x, axis=None, keepdims=False, bounds=(-99, 99))
    limit = d.fresh([], total.dtype)
    return d.make("greater", total, limit)


def draw_if(d: Drawer, names: dict[str, int]) -> Value:
    """Draw a branch, both sides of which change the same value."""
    condition, x = _condition(d), d.value()
    bodies = tuple(d.chain(x, names, d.rng.randint(0, 3)) for _ in range(2))
    node = Node("if", (condition.number,), {}, d.number(), bodies)
    return d.emit(node, (x.low - 9, x.high + 9))


def draw_dataflow(d: Drawer, names: dict[str, int]) -> Value:
    """Draw a dataflow block."""
    x = d.value()
    body = d.chain(x, names, d.rng.randint(1, 3))
    return d.emit(Node("dataflow", (), {}, d.number(), (body,)), (x.low - 9, x.high + 9))


def _inside(d: Drawer, values: list[Value]) -> list[Value]:
    """Return the parameters of a closure that stand for values, usable for now."""
    inside = []
    for value in values:
        inner = dataclasses.replace(value, number=d.number())
        d.writer.values[inner.number] = d.writer.values[value.number]
        inside.append(inner)
    d.pool = [*d.pool, *inside]
    return inside


def _has_shape(value: Value) -> bool:
    return value.type.shape is not None


def _function(d: Drawer, names: dict[str, int], op: str, attrs: dict[str, Any]) -> Value:
    """Draw a closure, and its call, that changes a value; it may use others around it."""
    # The types of parameters are not derived from arguments: they have to say the shape.
    values = [d.value(_has_shape) for _ in range(d.choice(1, 1, 2))]
    x, pool = values[0], list(d.pool)
    inside = _inside(d, values)
    body = d.chain(inside[0], names, d.rng.randint(1, 3))
    known = {param.result for param in d.params}
    d.pool = pool + [v for v in d.pool if v.number in known and v not in pool]
    body = Body(tuple(v.number for v in inside), body.nodes, body.result)
    node = Node(op, tuple(v.number for v in values), attrs, d.number(), (body,))
    return d.emit(node, (x.low - 9, x.high + 9))


def draw_closure(d: Drawer, names: dict[str, int]) -> Value:
    """Draw a closure and its call."""
    return _function(d, names, "closure", {})


def draw_loop(d: Drawer, names: dict[str, int]) -> Value:
    """Draw a closure that calls itself."""
    return _function(d, names, "loop", {"times": d.choice(0, 1, 2, 3)})


def draw_match_cast(d: Drawer, names: dict[str, int]) -> Value:
    """Draw a value that loses its shape and gets it back by a cast."""
    del names
    x = d.value()
    element = element_type(x.dtype)
    weak = d.choice("!relax.tensor<*>", f"!relax.tensor<ndim = {x.rank}, {element}>")
    d.writer.write(node := Node("weaken", (x.number,), {"type": weak}, d.number()))
    d.nodes.append(node)
    # The operation says less from now on, so that what uses it says less, too.
    d.pool = [value for value in d.pool if value.number != x.number]
    type_ = str(x.type)
    if x.rank and d.chance(0.4):
        dims = [
            text_of(d.cast_variable(x, i) if d.chance(0.5) else e) for i, e in enumerate(x.dims)
        ]
        type_ = f"!relax.tensor<[{', '.join(dims)}], {element}>"
    cast = Node("match_cast", (node.result,), {"type": type_}, d.number())
    return d.emit(cast, (x.low, x.high))


def draw_inplace(d: Drawer, names: dict[str, int]) -> Value:
    """Draw a kernel that updates a value in place."""
    del names
    x = d.value(lambda v: v.dtype in ("float32", "float64") and v.rank > 0)
    kernel = f"halve_{x.rank}_{element_type(x.dtype)}"
    node = Node("inplace", (x.number,), {"kernel": kernel}, d.number())
    return d.emit(node, (x.low / 2, x.high / 2))


def draw_unique(d: Drawer, names: dict[str, int]) -> Value:
    """Draw a reduction of the different elements of a tensor, whose number is not known."""
    del names
    x = d.value(lambda v: v.rank > 0 and (v.is_integer() or v.dtype == "bool"))
    flags = {f"return_{name}": d.chance(0.4) for name in ("index", "inverse", "counts")}
    chosen = d.rng.randrange(1 + sum(flags.values()))
    attrs: dict[str, Any] = {"flags": flags, "index": chosen if any(flags.values()) else None}
    if d.chance(0.4):
        attrs["flags"] = {**flags, "axis": d.rng.randrange(x.rank)}
    d.writer.write(node := Node("unique", (x.number,), attrs, d.number()))
    d.nodes.append(node)
    if x.dtype == "bool" and not chosen:
        node = Node("astype", (node.result,), {"dtype": "int32"}, d.number())
        d.writer.write(node)
        d.nodes.append(node)
    return d.emit(Node("sum", (node.result,), {"axis": None}, d.number()), (-99, 99))


def draw_print(d: Drawer, names: dict[str, int]) -> Value:
    """Draw a scalar that is printed."""
    del names
    x, shown = d.value(), d.tensor(0)
    format_ = d.choice("", "{}", "it is {}")
    node = Node("print", (x.number, shown.number), {"format": format_}, d.number())
    return d.emit(node, (x.low, x.high))


def draw_assert(d: Drawer, names: dict[str, int]) -> Value:
    """Draw an assertion, which seldom fails."""
    del names
    x = d.value()
    less, more = d.fresh([], "int32", 0, 9), d.fresh([], "int32", d.choice(10, 10, 10, 0), 19)
    condition = d.make("less", less, more)
    numbers = x.number, condition.number, less.number
    node = Node("assert", numbers, {"format": d.choice("", "it is {}")}, d.number())
    return d.emit(node, (x.low, x.high))


FORMS: list[Callable[[Drawer, dict[str, int]], Value]] = [
    draw_if,
    draw_dataflow,
    draw_closure,
    draw_loop,
    draw_match_cast,
    draw_inplace,
    draw_unique,
    draw_print,
    draw_assert,
]


# -- what is used ---------------------------------------------------------------------------------


def flat(args: Any) -> Iterator[int]:
    """Yield the numbers of operands."""
    for arg in args:
        if isinstance(arg, (tuple, list)):
            yield from flat(arg)
        elif arg is not None:
            yield arg


def uses(node: Node) -> set[int]:
    """Return the numbers of values that a node uses, in its bodies too, but for their own."""
    return set(flat(node.args)).union(*map(captures, node.bodies))


def captures(body: Body) -> set[int]:
    """Return the numbers of values that a body uses of what is around it."""
    own = {*body.params, *(inner.result for inner in body.nodes)}
    return {body.result}.union(*map(uses, body.nodes)) - own


def live(nodes: tuple[Node, ...], wanted: set[int]) -> list[Node]:
    """Return the nodes that are needed for some values; adds to these what nodes use."""
    kept = []
    for node in reversed(nodes):
        if node.result in wanted:
            bodies = []
            for body in node.bodies:
                inner = {body.result}
                bodies.append(dataclasses.replace(body, nodes=tuple(live(body.nodes, inner))))
            node = dataclasses.replace(node, bodies=tuple(bodies))
            wanted |= uses(node)
            kept.append(node)
    return kept[::-1]


def prune(program: Program) -> Program:
    """Return a program without nodes and parameters that no output needs."""
    wanted = set(program.outputs)
    nodes = tuple(live(program.nodes, wanted))
    params = tuple(param for param in program.params if param.result in wanted)
    return program.changed(nodes=nodes, params=params)
