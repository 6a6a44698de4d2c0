"""MLIR bytecode: modules come back, and files of another version of the dialect are refused."""

from __future__ import annotations

import io
from typing import Any

import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import op

# The section of versions, its length, and the number 1, as MLIR writes them.
VERSION = b"\x07\x03\x03"


@pytest.fixture
def bytecode(tensor: Any) -> bytes:
    bb = relax.BlockBuilder()
    x = tensor(("n", 4))
    with bb.function("main", [x]):
        bb.emit_func_output(op.exp(x))
    file = io.BytesIO()
    bb.get().module.operation.write_bytecode(file)
    return file.getvalue()


def parse(data: bytes) -> ir.Module:
    return ir.Module.parse(data, relax.default_context())


def test_module_comes_back(bytecode: bytes) -> None:
    assert "relax.exp" in str(parse(bytecode))


@pytest.mark.parametrize("number", [0, 2, 63])
def test_error_of_another_version(bytecode: bytes, number: int) -> None:
    other = VERSION[:2] + bytes([number << 1 | 1])
    with pytest.raises(ir.MLIRError, match=f"1 to 1 of the relax dialect, but got {number}"):
        parse(bytecode.replace(VERSION, other, 1))  # dialects come first
