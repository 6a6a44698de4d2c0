# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program as data, from which it is built again: nodes that can be removed one by one.

Values have numbers. A node says which operator makes a value of which others; branches, closures
and functions are nodes with bodies. Attributes are Python values; those that are dimensions are
the text of an expression.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from mlir import ir
from relax_mlir import (
    BlockBuilder,
    Dim,
    GlobalVar,
    ShapeStructInfo,
    TensorStructInfo,
    Var,
    op,
)
from relax_mlir.core.context import current_context

DIMENSIONS = ("shape", "begin", "end", "start", "stop", "n", "m", "k")  # attributes of them


@dataclass(frozen=True)
class Data:
    """The distribution of the elements of an argument or constant.

    Attributes
    ----------
    kind : str
        See `inputs.KINDS`.
    low, high : float
        Between which numbers they are.
    seed : int
    layout : str
        See `inputs.LAYOUTS`.
    """

    kind: str
    low: float
    high: float
    seed: int
    layout: str = "contiguous"


@dataclass(frozen=True)
class Param:
    """A parameter: the number of its value, its type as text, and the data of its arguments."""

    result: int
    type: str
    data: Data


@dataclass(frozen=True)
class Body:
    """Nodes in order, and the value of the last of them that is the result."""

    params: tuple[int, ...]
    nodes: tuple[Node, ...]
    result: int


@dataclass(frozen=True)
class Node:
    """A value, and what makes it of others.

    Attributes
    ----------
    op : str
        The name of an operator, or one of `FORMS`.
    args : tuple
        Numbers of values; tuples of them where the operator takes several tensors as one operand.
    attrs : dict
        Arguments of the operator that are no values.
    result : int
    bodies : tuple of Body
    """

    op: str
    args: tuple[Any, ...]
    attrs: dict[str, Any]
    result: int
    bodies: tuple[Body, ...] = ()


@dataclass(frozen=True)
class Program:
    """A module, the sizes at which it runs, and the options with which it is compiled."""

    name: str
    params: tuple[Param, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]
    variables: tuple[str, ...] = ()
    sizes: tuple[dict[str, int], ...] = ({},)
    options: tuple[dict[str, Any], ...] = ({},)
    #: The kernel class of a template.
    note: str = ""

    def changed(self, **parts: Any) -> Program:
        """Return a program with other parts."""
        return replace(self, **parts)


def dim(text: str | int) -> Any:
    """Return an expression of dimensions that is given as text."""
    if isinstance(text, int):
        return text
    return Dim(ir.Attribute.parse(f"#relax.expr<{text}>"))


def dims_of(type_: ir.Type) -> list[Any]:
    """Return the dimensions of a tensor type whose shape is known."""
    return list(type_.shape.dims)


def text_of(expr: Any) -> str:
    """Return a dimension as text."""
    return str(expr) if isinstance(expr, int) else expr.text


def size_of(expr: Any, sizes: dict[str, int]) -> int:
    """Return the size of a dimension."""
    if isinstance(expr, int):
        return expr
    found = Dim(expr).evaluate(sizes) if expr.variables else expr.value
    if found is None:
        raise ValueError(f"expected a dimension that is defined, but got {expr.text}")
    return int(found)


def function_of(name: str) -> Any:
    """Return the function that makes an operator."""
    for place in (op, op.ccl, op.dist, op.nn, op.grad, op.builtin):
        if hasattr(place, name):
            return getattr(place, name)
    raise LookupError(f"expected an operator, but got {name}")


@dataclass
class Writer:
    """Writes the nodes of a program with `BlockBuilder`.

    Attributes
    ----------
    builder : BlockBuilder
    values : dict
        The values that are visible, by number.
    functions : dict
        The functions that nodes call, by the numbers of these, and kernels by name.
    """

    builder: BlockBuilder
    values: dict[int, Any] = field(default_factory=dict)
    functions: dict[Any, Any] = field(default_factory=dict)

    def write(self, node: Node) -> Any:
        """Write a node; return its value."""
        form = FORMS.get(node.op)
        value = form(self, node) if form else self.operator(node)
        self.values[node.result] = value
        return value

    def read(self, given: Any) -> Any:
        """Return the values of an argument of a node."""
        if isinstance(given, (tuple, list)):
            return [self.read(part) for part in given]
        return None if given is None else self.values[given]

    def operator(self, node: Node) -> Any:
        """Write an operator."""
        attrs = {
            key: _dims(value) if key in DIMENSIONS else _attribute(value)
            for key, value in node.attrs.items()
        }
        function = function_of(node.op)
        names = (n for n in inspect.signature(function).parameters if n not in attrs)
        given = dict(zip(names, self.read(node.args), strict=False))
        return self.builder.emit(function(**given, **attrs))

    def body(self, body: Body) -> Any:
        """Write the nodes of a body; return its result."""
        outside = dict(self.values)
        for node in body.nodes:
            self.write(node)
        result = self.values[body.result]
        self.values = outside
        return result

    def constant(self, node: Node) -> Any:
        """Write a constant."""
        from inputs import elements

        shape, dtype = tuple(node.attrs["shape"]), node.attrs["dtype"]
        array = elements(node.attrs["data"], shape, dtype)
        return self.builder.emit(op.const(array, dtype))

    def tuple(self, node: Node) -> Any:
        """Write a tuple."""
        return self.builder.emit(op.tuple(*self.read(node.args)))

    def field_of(self, node: Node) -> Any:
        """Write the field of a tuple."""
        return self.builder.emit(op.get_item(self.read(node.args[0]), node.attrs["index"]))

    def branch(self, node: Node) -> Any:
        """Write an `if`."""
        then, other = node.bodies
        return self.builder.if_(
            self.read(node.args[0]), lambda: self.body(then), lambda: self.body(other)
        )

    def dataflow(self, node: Node) -> Any:
        """Write a dataflow block, whose result is visible after it."""
        with self.builder.dataflow():
            value = self.body(node.bodies[0])
            variable = self.builder.emit_output(value)
        return variable.value

    def closure(self, node: Node) -> Any:
        """Write a closure, and a call of it."""
        (body,) = node.bodies
        operands = self.read(node.args)
        params = [Var(f"c{i}", value.type) for i, value in enumerate(operands)]
        with self.builder.closure("local", params) as function:
            outside = dict(self.values)
            self.values |= dict(zip(body.params, [p.value for p in params], strict=True))
            self.builder.emit_func_output(self.body(body))
            self.values = outside
        return self.builder.emit(op.call(function, *operands))

    def loop(self, node: Node) -> Any:
        """Write a closure that calls itself a given number of times, and a call of it.

        The first operand is changed by the body each time; it keeps its type.
        """
        (body,) = node.bodies
        operands = self.read(node.args)
        counter = TensorStructInfo((), "int64")
        params = [Var("i", counter)]
        params += [Var(f"c{i}", value.type) for i, value in enumerate(operands)]
        result = operands[0].type
        with self.builder.closure("loop", params, ret_struct_info=result) as function:
            outside = dict(self.values)
            index, *rest = [p.value for p in params]

            def call(*args: Any) -> Any:
                return self.builder.emit(op.call(function, *args))

            self.builder.emit_func_output(self.repeated(body, index, rest, call))
            self.values = outside
        times = op.const(np.int64(node.attrs["times"]))
        return self.builder.emit(op.call(function, times, *operands))

    def repeated(self, body: Body, index: Any, values: list[Any], call: Callable[..., Any]) -> Any:
        """Write a body and, as long as an index is not 0, a call of the function around it."""

        def again() -> Any:
            self.values |= dict(zip(body.params, values, strict=True))
            changed = self.body(body)
            less = self.builder.emit(op.subtract(index, 1))
            return call(less, changed, *values[1:])

        more = self.builder.emit(op.greater(index, 0))
        return self.builder.if_(more, again, lambda: values[0])

    def match_cast(self, node: Node) -> Any:
        """Write a cast to a type that is given as text."""
        type_ = ir.Type.parse(node.attrs["type"])
        return self.builder.match_cast(self.read(node.args[0]), type_)

    def weaken(self, node: Node) -> Any:
        """Write a value whose type says less, given as text."""
        type_ = ir.Type.parse(node.attrs["type"])
        return self.builder.emit(self.read(node.args[0]), struct_info=type_)

    def call(self, node: Node) -> Any:
        """Write a call of a function of the module, which `functions` has written."""
        sizes = [op.shape(node.attrs["variables"])] if node.attrs["variables"] else []
        times = [op.const(np.int64(node.attrs["times"]))] if "times" in node.attrs else []
        return self.builder.emit(
            op.call(self.functions[node.result], *times, *self.read(node.args), *sizes)
        )

    def function(self, node: Node) -> None:
        """Write the function that a node calls; its last parameter binds variables.

        One that calls itself has an index as its first parameter.
        """
        (body,) = node.bodies
        name = name_of(node)
        params = [Var(f"f{i}", ir.Type.parse(text)) for i, text in enumerate(node.attrs["types"])]
        variables = node.attrs["variables"]
        sizes = [Var("shape", ShapeStructInfo(variables))] if variables else []
        index = [Var("i", TensorStructInfo((), "int64"))] if "times" in node.attrs else []
        result = params[0].struct_info if index else None
        every = [*index, *params, *sizes]
        with self.builder.function(name, every, private=True, ret_struct_info=result):
            values = [p.value for p in params]
            if index:

                def call(*args: Any) -> Any:
                    return self.builder.emit(op.call(GlobalVar(name), *args, *sizes))

                output = self.repeated(body, index[0].value, values, call)
            else:
                self.values = dict(zip(body.params, values, strict=True))
                output = self.body(body)
            self.functions[node.result] = self.builder.emit_func_output(output)
            self.values = {}

    def unique(self, node: Node) -> Any:
        """Write the different elements of a tensor, or something else that `op.unique` returns."""
        found = op.unique(self.read(node.args[0]), **node.attrs["flags"])
        if node.attrs["index"] is not None:
            found = op.get_item(self.builder.emit(found), node.attrs["index"])
        return self.builder.emit(found)

    def print(self, node: Node) -> Any:
        """Print some values; the first one is the result."""
        first, *others = self.read(node.args)
        self.builder.emit(op.print(*others, format=node.attrs["format"]))
        return first

    def check(self, node: Node) -> Any:
        """Assert a condition; the first operand is the result."""
        first, condition, *others = self.read(node.args)
        self.builder.emit(op.assert_op(condition, others, node.attrs["format"]))
        return first

    def inplace(self, node: Node) -> Any:
        """Write a call of a kernel that updates a copy of its operand in place."""
        operand = self.read(node.args[0])
        copy = self.builder.emit(op.add(operand, np.zeros((), operand.type.dtype)))
        kernel = node.attrs["kernel"]
        if kernel not in self.functions:
            self.functions[kernel] = self.builder.add_func(kernel_text(kernel), kernel)
        return self.builder.emit(op.call_tir_inplace(kernel, [copy], 0, copy.type))


def name_of(node: Node) -> str:
    """Return the name of the function that a node calls."""
    return f"local_{node.result}"


#: Nodes that are no operators.
FORMS: dict[str, Any] = {
    "constant": Writer.constant,
    "tuple": Writer.tuple,
    "field": Writer.field_of,
    "if": Writer.branch,
    "dataflow": Writer.dataflow,
    "closure": Writer.closure,
    "loop": Writer.loop,
    "match_cast": Writer.match_cast,
    "weaken": Writer.weaken,
    "call": Writer.call,
    "inplace": Writer.inplace,
    "unique": Writer.unique,
    "print": Writer.print,
    "assert": Writer.check,
}
EFFECTS = ("print", "assert")


def _dims(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [dim(part) for part in value]
    return dim(value) if isinstance(value, str) else value


def _attribute(value: Any) -> Any:
    """Return an attribute as operators take it; a number of NumPy is ("float32", 0.5)."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return np.dtype(value[0]).type(value[1])
    if isinstance(value, str) and value.startswith("affine_map<"):
        return ir.Attribute.parse(value)
    return list(value) if isinstance(value, tuple) else value


def kernel_text(name: str) -> str:
    """Return a kernel that updates its parameter, named by rank and data type: `halve_2_f32`."""
    _, rank, element = name.split("_")
    tensor = f"tensor<{'?x' * int(rank)}{element}>"
    return f"""func.func private @{name}(%x: {tensor}) -> {tensor} {{
      %half = arith.constant 0.5 : {element}
      %y = linalg.map ins(%x : {tensor}) outs(%x : {tensor})
        (%e: {element}, %o: {element}) {{
          %h = arith.mulf %e, %half : {element}
          linalg.yield %h : {element}
        }}
      return %y : {tensor}
    }}"""


def shape_type(variables: tuple[str, ...]) -> str:
    """Return the type of the parameter that binds all variables."""
    return f"!relax.shape<[{', '.join(variables)}]>"


def needs_shape(program: Program) -> bool:
    """Say whether a parameter has to bind variables that no tensor binds."""
    with current_context():
        bound: set[str] = set()
        for param in program.params:
            for expr in dims_of(ir.Type.parse(param.type)):
                bound |= {expr.name} if expr.name else set()
    return not set(program.variables) <= bound


def build(program: Program) -> ir.Module:
    """Return the module of a program."""
    with current_context(), ir.Location.unknown():
        operators = {node.op for node in program.nodes}
        builder = BlockBuilder()
        writer = Writer(builder)
        for node in program.nodes:
            if node.op == "call":
                writer.function(node)
        params = [Var(f"p{p.result}", ir.Type.parse(p.type)) for p in program.params]
        extra = [Var("shape", ShapeStructInfo(program.variables))] if needs_shape(program) else []
        is_pure = operators.isdisjoint(EFFECTS)
        with builder.function("main", [*params, *extra], pure=is_pure):
            values = [variable.value for variable in params]
            numbers = [param.result for param in program.params]
            writer.values = dict(zip(numbers, values, strict=True))
            for node in program.nodes:
                writer.write(node)
            outputs = [writer.values[number] for number in program.outputs]
            made = builder.emit_func_output(outputs[0] if len(outputs) == 1 else tuple(outputs))
        assert isinstance(made, GlobalVar)
        module = builder.get()
        return getattr(module, "module", module)
