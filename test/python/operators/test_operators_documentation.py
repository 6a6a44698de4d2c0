"""Each operator of the dialect has a typed function with documentation."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from typing import Any

import pytest
from operator_names import operators
from relax_mlir import op
from relax_mlir.op._signatures import defined_operators, operator_path
from relax_mlir.script.tvm_operators import TVM_OPERATORS


def function_of(path: str) -> Callable[..., Any]:
    """Return the function of a name such as "nn.relu"."""
    found: Any = op
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def described(function: Callable[..., Any]) -> dict[str, str]:
    """Return what the section Parameters says of each parameter, after its name."""
    text = inspect.getdoc(function) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", text, re.M | re.S)
    entries = re.split(r"^(?=\S)", section.group(1), flags=re.M) if section else []
    found: dict[str, str] = {}
    for entry in filter(None, entries):
        names, _, rest = entry.partition(" :" if " :" in entry.splitlines()[0] else "\n")
        found |= dict.fromkeys((name.strip(" *") for name in names.split(",")), rest.strip())
    return found


def test_operators_are_found() -> None:
    assert len(operators()) > 130


@pytest.mark.parametrize("name", operators())
def test_operation_has_a_function(name: str) -> None:
    path, signature = operator_path(name) or pytest.fail(f"{name} has no function")
    path = path.removeprefix("R.")
    assert path in TVM_OPERATORS
    function = function_of(path)
    assert inspect.getdoc(function).splitlines()[0].endswith(".")
    assert list(described(function)) == list(signature.parameters)
    hints = typing.get_type_hints(function)
    assert hints.keys() == {*signature.parameters, "return"}


def test_every_argument_of_a_generated_function_is_described() -> None:
    for path in defined_operators():
        for name, text in described(function_of(path)).items():
            kind, _, description = text.partition("\n")
            assert kind, (path, name)
            assert description.strip().endswith("."), (path, name)


def test_functions_have_the_names_and_defaults_of_tvm() -> None:
    assert str(inspect.signature(op.eye)).startswith("(n: 'PrimLike', m: 'PrimLike | None' = None")
    assert list(inspect.signature(op.nn.conv2d).parameters.values())[6].default == "NCHW"
    assert inspect.signature(op.flip).parameters["axis"].default is inspect.Parameter.empty
    assert inspect.signature(op.nn.layer_norm).parameters["epsilon"].default == 1e-5
    assert op.nn.attention_bias is op.nn.attention
