# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors about imported programs name the line, or the node, of the model."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
import relax_mlir as relax
import torch
from onnx import parser
from relax_mlir.core.context import at_place
from relax_mlir.frontend.onnx import from_onnx
from relax_mlir.frontend.torch import from_exported_program
from torch import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = self.linear(x)
        return torch.cat([x, x]).reshape(-1, 8) + y


def lines_of(code: str) -> list[int]:
    """Return the lines of this file that contain some code."""
    source = inspect.getsource(inspect.getmodule(Model)).splitlines()  # type: ignore[arg-type]
    return [number for number, line in enumerate(source, 1) if code in line and "lines" not in line]


def places(module: relax.IRModule) -> dict[str, str]:
    """Return the places of the operations of a module, by the names of operations."""
    text = module.operation.get_asm(enable_debug_info=True, use_local_scope=True)
    rows = re.findall(r"relax\.(\w+) .*loc\((.*)\)", text)
    return {name: place for name, place in rows if name not in ("return", "output")}


def test_lines_of_pytorch() -> None:
    n = torch.export.Dim("n", min=2, max=64)
    arguments = (torch.ones(6, 4), torch.ones(6, 8))
    program = torch.export.export(Model(), arguments, dynamic_shapes=({0: n}, {0: n}))
    found = places(from_exported_program(program))
    (linear,), (cat,) = lines_of("self.linear(x)"), lines_of("torch.cat([x")
    # Not the line of torch.nn.Linear.
    assert re.search(rf'fused<"linear">\[".*test_places.py":{linear}:0\]', found["matmul"])
    assert f'test_places.py":{cat}:0' in found["concat"]
    assert f'test_places.py":{cat}:0' in found["reshape"]
    assert "fused" not in found["concat"]


def test_error_of_pytorch_names_the_line() -> None:
    class Unknown(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.linalg.eigvalsh(x)

    program = torch.export.export(nn.Sequential(nn.ReLU(), Unknown()), (torch.eye(3),))
    (line,) = lines_of("torch.linalg.eigvalsh(x)")
    place = rf"""\(module '1': File ".*test_places\.py", line {line}, in forward"""
    with pytest.raises(NotImplementedError, match=place):
        from_exported_program(program, run_ep_decomposition=False)


def test_error_at_run_time_names_the_module(exec_mode: str) -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(ndim=2, dtype="float32"))
    with bb.function("main", [x]):
        with at_place("model.py", 3, module="layers.0"):
            cast = bb.match_cast(x, relax.TensorStructInfo(("n", 4), "float32"))
        bb.emit_func_output(cast)
    main = relax.VirtualMachine(relax.compile(bb, exec_mode=exec_mode))["main"]
    with pytest.raises(ValueError, match=r"\(at model\.py:3:0 in layers\.0\)"):
        main(np.ones((2, 3), "float32"))


ONNX = """
<ir_version: 8, opset_import: ["" : 17]>
agraph (float[n, 4] x, float[m, 4] y) => (float[k, 4] z) {
  a = Exp(x)
  [sum] z = Add(a, y)
}"""


def test_error_of_onnx_names_the_node(exec_mode: str) -> None:
    module = from_onnx(parser.parse_model(ONNX))
    main = relax.VirtualMachine(relax.compile(module, exec_mode=exec_mode))["main"]
    x, y = np.zeros((2, 4), "float32"), np.ones((3, 4), "float32")
    with pytest.raises(ValueError, match=r"\(at node 'sum', Add of opset 17\)"):
        main(x, y)
    np.testing.assert_array_equal(main(x, x).numpy(), np.ones((2, 4)))


def test_nodes_of_onnx_without_names() -> None:
    assert "node 'a', Exp of opset 17" in places(from_onnx(parser.parse_model(ONNX)))["exp"]


def test_lines_of_jax() -> None:
    jax = pytest.importorskip("jax")
    from relax_mlir.frontend.stablehlo import from_stablehlo

    def f(x: object) -> object:
        return jax.numpy.tanh(x)

    exported = jax.export.export(jax.jit(f))(jax.ShapeDtypeStruct((3,), "float32"))
    (line,) = lines_of("jax.numpy.tanh(x)")
    assert f'test_places.py":{line}:' in places(from_stablehlo(exported))["tanh"]
