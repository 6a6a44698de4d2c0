"""The example of each operator's definition, compiled, against the reference interpreter.

So an operator is tested without a line here. The tables of the other files say more of some: data
types, shapes, attributes, and numbers that do not come from here.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from operator_names import operators
from relax_mlir import reference
from relax_mlir.dialects import _relax_ops_gen as definitions

# The sizes that each example runs at.
SIZES = (
    {"b": 2, "d": 6, "h": 7, "k": 5, "m": 6, "n": 5, "w": 8},
    {"b": 1, "d": 5, "h": 5, "k": 7, "m": 5, "n": 6, "w": 5},
)


# What the constraints of an operator ask of its arguments, beyond their types.
PREPARED = {"relax.bucketize": lambda x, boundaries, *rest: [x, np.sort(boundaries), *rest]}

# Operators that two workers compute together; see runtime/test_disco_programs.py.
OF_WORKERS = {
    f"relax.{name}"
    for name in (
        "allgather",
        "allreduce",
        "broadcast_from_worker0",
        "redistribute_replica_to_shard",
        "scatter_from_worker0",
    )
}


def example_of(name: str) -> str:
    """Return the example of an operation, from the documentation of its class."""
    classes = vars(definitions).values()
    (found,) = (each for each in classes if getattr(each, "OPERATION_NAME", None) == name)
    fence = re.search(r"```mlir\n(.*?)```", found.__doc__, re.DOTALL)
    assert fence, f"{name}: expected an example"
    return fence.group(1).strip()


def split(types: str) -> list[str]:
    """Return the types of a list."""
    depth, parts = 0, [""]
    for char in types:
        depth += {"<": 1, "[": 1, ">": -1, "]": -1}.get(char, 0)
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def program_of(example: str) -> tuple[str, list[str]]:
    """Return a program with an example, and the types of the arguments of its function."""
    statement, _, signature = example.partition(" : ")
    names = re.findall(r"%(\w+)", statement.partition("=")[2])
    operands, _, result = signature.rpartition(" -> ")
    types = split(operands.strip("()")) if operands else [signature]
    assert len(names) == len(types)
    variables = ", ".join(SIZES[0])
    params = ", ".join(f"%{name}: {text}" for name, text in zip(names, types, strict=True))
    return (
        f"relax.func @main({params}, %sizes: !relax.shape<[{variables}]>) -> "
        f"{result or signature} {{\n{example}\nrelax.return %0 : {result or signature}\n}}"
    ), types


def argument_of(text: str, sizes: dict[str, int], rng: np.random.Generator) -> Any:
    """Return a value of a type."""

    def number(dim: str) -> int:
        return int(eval(dim.replace("floordiv", "//"), {}, sizes))

    if text.startswith("!relax.shape"):
        return tvm_ffi.Shape([number(dim) for dim in re.findall(r"[^\[\],<>]+", text)[1:]])
    dims, dtype = re.fullmatch(r"!relax\.\w+<(?:\[(.*)\], )?(.*)>", text).groups()
    if text.startswith("!relax.prim"):
        dtype, _, value = dtype.partition(", ")
        return number(value) if value else 1 if dtype.startswith("i") else 0.5
    shape = [number(dim) for dim in dims.split(", ")] if dims else []
    kind = "bool" if dtype == "i1" else dtype.replace("i", "int").replace("f", "float")
    if kind.startswith("float"):
        return rng.standard_normal(shape).astype(kind)
    return rng.integers(0, 4, shape).astype(kind)


def arrays(value: Any) -> list[np.ndarray]:
    """Return the arrays of a result."""
    if isinstance(value, (list, tuple, tvm_ffi.Array)):
        return [array for part in value for array in arrays(part)]
    return [value.data if isinstance(value, reference.Tensor) else np.from_dlpack(value)]


def compare(name: str, text: str, types: list[str], compiled: relax.VirtualMachine) -> None:
    """Compare a program with the reference at some sizes."""
    for seed, sizes in enumerate(SIZES):
        rng = np.random.default_rng(seed)
        args = [argument_of(text, sizes, rng) for text in types]
        args = PREPARED.get(name, lambda *args: list(args))(*args)
        args.append(tvm_ffi.Shape(list(sizes.values())))
        actual = arrays(compiled["main"](*args))
        expected = arrays(reference.run(text, "main", *args))
        assert len(actual) == len(expected)
        for ours, theirs in zip(actual, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in operators() if name not in OF_WORKERS])
def test_example_computes_what_the_reference_says(name: str) -> None:
    text, types = program_of(example_of(name))
    compare(name, text, types, relax.VirtualMachine(relax.compile(text)))
