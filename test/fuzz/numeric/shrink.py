# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a program that goes wrong smaller, as long as it goes wrong the same way.

Nodes become parameters, or give way to one of their operands; outputs, options, sizes and data
become simpler.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from graphs import prune
from options import FACTORS
from plan import Data, Node, Param, Program, Writer, build, needs_shape

SECONDS = 90.0  # for one finding


def shrunk(outcome: Any, workers: Any) -> Any:
    """Return the outcome of the smallest program that was found to go wrong the same way."""
    best = outcome
    best.program = _one_run(outcome)
    deadline = time.monotonic() + SECONDS
    is_smaller = True
    while is_smaller and time.monotonic() < deadline:
        is_smaller = False
        for step in STEPS:
            while (found := _first(step(best), best, workers, deadline)) is not None:
                best, is_smaller = found, True
    return best


def _one_run(outcome: Any) -> Program:
    """Return the program with the options and the size with which it went wrong."""
    program = outcome.program
    options, sizes = (program.options[outcome.option],), (program.sizes[outcome.size],)
    outcome.option = outcome.size = 0
    return program.changed(options=options, sizes=sizes)


def _first(candidates: Iterator[Program], best: Any, workers: Any, deadline: float) -> Any | None:
    """Return the outcome of the first candidate that goes wrong the same way."""
    for candidate in candidates:
        if time.monotonic() > deadline:
            return None
        try:
            pruned = prune(candidate)
        except KeyError:
            continue
        for _, outcome in workers.run([pruned]):
            if outcome.kind == best.kind and _alike(outcome, best):
                outcome.program = pruned
                return outcome
    return None


def _alike(outcome: Any, best: Any) -> bool:
    """Say whether an error is the same but for the numbers in it."""
    if "error" not in best.kind:
        return True
    words = [
        "".join(c for c in text.message.split("\n")[0][:60] if not c.isdigit())
        for text in (outcome, best)
    ]
    return words[0] == words[1]


# -- steps ----------------------------------------------------------------------------------------


def fewer_outputs(best: Any) -> Iterator[Program]:
    """Yield programs with one output, and those without a tuple."""
    program = best.program
    nodes = {node.result: node for node in program.nodes}
    flat = []
    for number in program.outputs:
        node = nodes.get(number)
        flat += list(node.args) if node is not None and node.op == "tuple" else [number]
    if len(flat) > 1:
        for number in flat:
            yield program.changed(outputs=(number,))
        for number in flat:
            yield program.changed(outputs=tuple(n for n in flat if n != number))


def _types(program: Program) -> dict[int, str]:
    """Return the types of the nodes of a program."""
    found: dict[int, str] = {}
    write = Writer.write

    def note(self: Writer, node: Node) -> Any:
        value = write(self, node)
        found[node.result] = str(value.type)
        return value

    Writer.write = note  # type: ignore[method-assign]
    try:
        build(program)
    finally:
        Writer.write = write  # type: ignore[method-assign]
    return found


def earlier_results(best: Any) -> Iterator[Program]:
    """Yield programs that return what nodes before the output made."""
    program = best.program
    types = _types(program)
    if len(program.outputs) != 1:
        return
    for node in program.nodes:
        if node.result != program.outputs[0] and "tensor" in types[node.result]:
            if node.op in ("weaken", "constant"):
                continue
            yield program.changed(outputs=(node.result,))


def nodes_as_parameters(best: Any) -> Iterator[Program]:
    """Yield programs in which a node is a parameter."""
    program = best.program
    types = _types(program)
    for node in reversed(program.nodes):
        type_ = types[node.result]
        if not type_.startswith("!relax.tensor<[") or node.result in program.outputs:
            continue
        is_float = type_.rstrip(">").rsplit(" ", 1)[-1].startswith(("f", "bf"))
        data = node.attrs.get("data") or Data("uniform" if is_float else "integers", -2, 2, 1)
        param = Param(node.result, type_, data)
        nodes = tuple(other for other in program.nodes if other is not node)
        yield program.changed(params=(*program.params, param), nodes=nodes)


def _renamed(args: Any, old: int, new: int) -> Any:
    if isinstance(args, (tuple, list)):
        return tuple(_renamed(arg, old, new) for arg in args)
    return new if args == old else args


def _without(nodes: tuple[Node, ...], gone: Node, new: int) -> tuple[Node, ...]:
    """Return nodes without one, in whose place stands another value."""
    kept = []
    for node in nodes:
        if node is gone:
            continue
        bodies = tuple(
            dataclasses.replace(
                body,
                nodes=_without(body.nodes, gone, new),
                result=new if body.result == gone.result else body.result,
            )
            for body in node.bodies
        )
        args = _renamed(node.args, gone.result, new)
        kept.append(dataclasses.replace(node, args=args, bodies=bodies))
    return tuple(kept)


def _all_nodes(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for node in nodes:
        yield node
        for body in node.bodies:
            yield from _all_nodes(body.nodes)


def nodes_bypassed(best: Any) -> Iterator[Program]:
    """Yield programs in which a node gives way to one of its operands, or to what its body uses."""
    program = best.program
    types = _types(program) | {param.result: param.type for param in program.params}
    for node in reversed(list(_all_nodes(program.nodes))):
        operands = [n for n in node.args if isinstance(n, int)]
        for body in node.bodies:
            operands += [n for inner in body.nodes for n in inner.args if isinstance(n, int)]
        for operand in dict.fromkeys(operands):
            if types.get(operand) != types.get(node.result):
                continue
            nodes = _without(program.nodes, node, operand)
            outputs = tuple(operand if n == node.result else n for n in program.outputs)
            yield program.changed(nodes=nodes, outputs=outputs)


def default_options(best: Any) -> Iterator[Program]:
    """Yield programs with the defaults of options."""
    program = best.program
    (row,) = program.options
    defaults = {name: values[0] for name, values in FACTORS.items()}
    if row != defaults:
        yield program.changed(options=(defaults,))
    for name, value in defaults.items():
        if row[name] != value:
            yield program.changed(options=({**row, name: value},))


def smaller_sizes(best: Any) -> Iterator[Program]:
    """Yield programs that run at smaller sizes."""
    program = best.program
    (sizes,) = program.sizes
    for name, size in sizes.items():
        for smaller in sorted({1, 2, 3, 4, size // 2, size - 1}):
            if 0 < smaller < size:
                yield program.changed(sizes=({**sizes, name: smaller},))


def simpler_data(best: Any) -> Iterator[Program]:
    """Yield programs whose arguments are contiguous, and then small integers."""
    program = best.program
    for index, param in enumerate(program.params):
        for change in ({"layout": "contiguous"}, {"kind": "integers"}):
            data = dataclasses.replace(param.data, **change)
            if data != param.data and param.data.kind != "least":
                params = list(program.params)
                params[index] = dataclasses.replace(param, data=data)
                yield program.changed(params=tuple(params))


STEPS: list[Callable[[Any], Iterator[Program]]] = [
    fewer_outputs,
    default_options,
    earlier_results,
    nodes_as_parameters,
    nodes_bypassed,
    smaller_sizes,
    simpler_data,
]

# -- tests ----------------------------------------------------------------------------------------

TEST = '''"""{title}

Found by: ./dev fuzz numbers {name}
Options that matter: {changed}
"""

import numpy as np
import relax_mlir as relax
from relax_mlir import reference
from relax_mlir.runtime import set_num_threads
from relax_mlir.script import from_source

PROGRAM = r{quotes}
{text}{quotes}


def test_finding():
    module = from_source(PROGRAM)
    args = [
{arguments}
    ]
    set_num_threads({threads})
    function = relax.VirtualMachine(relax.compile(module{options}))["main"]
    actual = function(*args)
{check}
'''


def write_test(outcome: Any) -> str:
    """Return a finding as a test, which needs nothing of the fuzzer."""
    from options import arguments, changed
    from relax_mlir.script import printer

    program = outcome.program
    row, sizes = program.options[outcome.option], program.sizes[outcome.size]
    try:
        text = printer.script(build(program))
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    given = [f"        {line}" for line in _argument_lines(program, sizes)]
    options = "".join(
        f", {k}={v!r}" for k, v in arguments(row).items() if k in changed(row) or (k == "target")
    )
    return TEST.format(
        title=f"{outcome.kind}: {outcome.message.strip()}".replace("\\", "/")[:1500],
        name=program.name,
        changed=f"{changed(row) or 'none'}, sizes {sizes}",
        text=text,
        quotes="'''",  # metadata has the others
        arguments="\n".join(given),
        threads=row.get("threads", 1),
        options=options,
        check=_check_lines(outcome),
    )


def _argument_lines(program: Program, sizes: dict[str, int]) -> Iterator[str]:
    from evaluate import make_arguments

    plain = make_arguments(program, sizes, True).plain
    for param, tensor in zip(program.params, plain, strict=False):
        layout = param.data.layout
        note = "," if layout == "contiguous" else f",  # {layout}"
        if tensor.dtype == "bfloat16":
            yield f"reference.give(reference.Tensor({_elements(tensor.data)}, 'bfloat16')){note}"
        else:
            yield _literal(tensor.data, param.data) + note
    if needs_shape(program):
        values = tuple(sizes[name] for name in program.variables)
        yield f"__import__('tvm_ffi').Shape({values}),"


def _literal(array: Any, data: Data) -> str:
    """Return an array as Python code: what draws it where it is large, or its elements."""
    dtype, shape = array.dtype.name, array.shape
    low, high = data.low, data.high
    is_float = array.dtype.kind == "f"
    if array.size > 256 and data.layout != "broadcast" and dtype != "bool":
        drawn = f"np.random.default_rng({[data.seed, *shape]})"
        if data.kind == "uniform" and is_float:
            return f'{drawn}.uniform({low}, {high}, {shape}).astype("{dtype}")'
        if data.kind == "integers" and math.ceil(low) <= math.floor(high) and is_float:
            ends = f"{math.ceil(low)}, {math.floor(high) + 1}"
            return f'{drawn}.integers({ends}, {shape}).astype("{dtype}")'
    return _elements(array)


def _elements(array: Any) -> str:
    """Return an array by its elements, as Python code."""
    text = repr(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    shape = "" if array.size else f".reshape({array.shape})"
    return f'np.array({text}, "{array.dtype.name}"){shape}'


def _check_lines(outcome: Any) -> str:
    found = outcome.difference
    if found is None:
        return "    assert actual is not None"
    return f"""    exact = reference.run(module, "main", *args, arithmetic=reference.Exact())
    # Element {found.place}: {found.expected!r}, not {found.actual!r}.
    allowed = {max(found.allowed, 0)!r}
    np.testing.assert_allclose(reference.take(actual).data, exact.data, rtol=0, atol=allowed)"""
