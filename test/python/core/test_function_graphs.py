# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graph of a function: its nodes, their scopes, and the values between them."""

import re

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.core.graph import graph_of

NESTED = """
relax.func @main(%x: !relax.tensor<[n], f32>, %c: !relax.tensor<[], i1>)
    -> !relax.tensor<[n], f32> {
  %0:2 = relax.dataflow -> !relax.tensor<[n], f32>, !relax.tensor<[n], f32> {
    %a = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %x, %a : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  }
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    %b = relax.sin %0#0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.yield %b : !relax.tensor<[n], f32>
  } else {
    relax.yield %0#1 : !relax.tensor<[n], f32>
  }
  relax.return %1 : !relax.tensor<[n], f32>
}"""


def graph(text, name="main"):
    mod = relax.IRModule(text) if isinstance(text, str) else text
    return {node.label: node for node in graph_of(mod[name].operation)}, mod


def path(node):
    """The labels of the scopes of a node, outermost first."""
    labels, scope = [], node.scope
    while scope is not None:
        labels.append(scope.label)
        scope = scope.parent
    return labels[::-1]


def constant_of(value):
    bb = relax.BlockBuilder()
    with bb.function("main", []):
        bb.emit_func_output(op.const(value))
    return graph(bb.get())[0]["constant"].attributes


def test_scopes_are_those_of_the_program():
    nodes, _ = graph(NESTED)
    assert path(nodes["x"]) == path(nodes["output"]) == []
    assert path(nodes["exp"]) == ["dataflow"]
    assert path(nodes["sin"]) == ["if", "then"]


def test_edges_say_which_result_they_come_from():
    nodes, _ = graph(NESTED)
    (edge,) = nodes["sin"].inputs
    assert (edge.source.kind, path(edge.source), edge.output) == ("results", ["dataflow"], 0)
    (returned,) = nodes["output"].inputs
    branches = returned.source
    assert path(branches) == ["if"]
    sources = [(edge.source.label, edge.output) for edge in branches.inputs]
    assert sources == [("c", 0), ("sin", 0), ("results", 1)]
    assert branches.inputs[0].type == "tensor<[], i1>"


def test_closures_have_their_names():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    y = relax.Var("y", relax.TensorStructInfo(("n",), "float32"))
    with bb.function("main", [x]):
        with bb.closure("inner", [y]) as inner:
            bb.emit_func_output(op.exp(y))
        bb.emit_func_output(inner(x))
    nodes, _ = graph(bb.get())
    assert path(nodes["y"]) == path(nodes["exp"]) == ["inner"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(1.5), "1.5"),
        (np.array([1, -2], "int32"), "[1, -2]"),
        (np.zeros((100, 100), "float32"), "0.0"),  # all are equal
        (np.array([1e-7, 3], "float64"), "[1e-07, 3.0]"),
        (np.array([True, False]), "[true, false]"),
    ],
    ids=str,
)
def test_values_of_small_constants(value, text):
    assert constant_of(value) == {"value": text}


def test_values_of_large_constants_are_elided():
    assert constant_of(np.arange(17, dtype="float32")) == {}


def test_scopes_nest_deeply():
    depth = 900
    type_ = "!relax.tensor<[n], f32>"
    text = f"%r = relax.exp %x : ({type_}) -> {type_} relax.yield %r : {type_}"
    for number in range(depth):
        text = f"%s{number} = relax.seq -> {type_} {{ {text} }} relax.yield %s{number} : {type_}"
    last = f"relax.return %s{depth - 1} : {type_}"
    body = re.sub(r"relax.yield \S+ : \S+ f32>$", last, text)
    nodes, mod = graph(f"relax.func @main(%x: {type_}) -> {type_} {{ {body} }}")
    assert len(path(nodes["exp"])) == depth
    assert mod.to_dot().count("subgraph") == depth
