# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graph of a function, and the text of modules with large constants."""

import re

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.core.ir_module import FreeFunction


@pytest.fixture
def mod():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 64), "float32"))
    weight = np.arange(64 * 64, dtype="float32").reshape(64, 64)
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(op.nn.relu(op.matmul(x, op.const(weight))))
        bb.emit_func_output(out)
    return bb.get()


def test_each_edge_has_two_nodes(mod):
    graph = mod.to_dot("main")
    nodes = set(re.findall(r"^ *(n\d+|output) \[", graph, re.MULTILINE))
    edges = re.findall(r"(\w+) -> (\w+) \[label=\"([^\"]+)\"\]", graph)
    assert nodes >= {end for edge in edges for end in edge[:2]}
    assert [type_ for *_, type_ in edges].count("tensor<[n, 64], f32>") == 4
    assert graph.count("{") == graph.count("}")
    for operator in ("matmul", "relu", "constant", "dataflow"):
        assert f'label="{operator}"' in graph


def test_error_name_of_graph(mod):
    with pytest.raises(KeyError, match="did you mean 'main'"):
        mod.to_dot("mainn")


def test_large_constants_are_elided_in_print_only(mod):
    assert "__elided__" in str(mod) and "__elided__" in str(FreeFunction(mod, "main"))
    assert len(str(mod)) < 1000 < len(mod.to_text())
    assert relax.structural_equal(relax.IRModule(mod.to_text()), mod)
    with pytest.raises(ValueError, match=r"IRModule.to_text\(\) writes all of it"):
        relax.IRModule(str(mod))
