"""The classes of passes that are generated from TableGen."""

from __future__ import annotations

from typing import Any

import generate_passes
import pytest


def option(**fields: Any) -> dict[str, Any]:
    given = {
        "argument": "max-depth",
        "type": "int64_t",
        "defaultValue": "",
        "additionalOptFlags": "",
        "description": "How deep",
        "!superclasses": ["Option"],
    }
    return given | fields


@pytest.mark.parametrize(
    ("fields", "annotation", "default"),
    [
        ({"defaultValue": "-3"}, "int", "-3"),
        ({"defaultValue": "kLimit"}, "int", "None"),
        ({"type": "bool", "defaultValue": "true"}, "bool", "True"),
        ({"type": "::std::string", "defaultValue": '"a b"'}, "str", '"a b"'),
        ({"type": "double", "defaultValue": "0.5"}, "float", "0.5"),
        ({"type": "std::string", "!superclasses": ["ListOption"]}, "Sequence[str]", "None"),
    ],
)
def test_option_in_python(fields: dict[str, Any], annotation: str, default: str) -> None:
    read = generate_passes.read_option(option(**fields))
    assert (read.type, read.default) == (annotation, default)
    assert (read.name, read.keyword) == ("max-depth", "max_depth")
    assert read.help == "How deep."


def test_option_of_an_enumeration() -> None:
    flags = 'values(clEnumValN(Mode::A, "a", "first"),\n clEnumValN(::Mode::B, "b", "second"))'
    read = generate_passes.read_option(
        option(type="Mode", defaultValue="::Mode::B", additionalOptFlags=flags)
    )
    assert (read.type, read.default) == ("Literal['a', 'b']", "'b'")
    assert read.help == 'How deep.\n"a": first.\n"b": second.'


def test_error_of_a_type_without_a_meaning_in_python() -> None:
    with pytest.raises(ValueError, match=r"option 'max-depth': expected a type, one of bool"):
        generate_passes.read_option(option(type="llvm::APInt"))


@pytest.mark.parametrize(
    ("base", "name"),
    [
        ("::mlir::OperationPass<ModuleOp>", "builtin.module"),
        ("::mlir::OperationPass<::mlir::ModuleOp>", "builtin.module"),
        ("::mlir::OperationPass<::mlir::relax::FuncOp>", "relax.func"),
        ("::mlir::OperationPass<func::FuncOp>", "func.func"),
        ("::mlir::OperationPass<>", ""),
    ],
)
def test_operation_of_a_pass(base: str, name: str) -> None:
    assert generate_passes.operation_name(base) == name


def test_generated_module_runs() -> None:
    records = {
        "!instanceof": {"PassBase": ["RelaxFooPass"]},
        "RelaxFooPass": {
            "!name": "RelaxFooPass",
            "argument": "relax-foo",
            "baseClass": "::mlir::OperationPass<::mlir::relax::FuncOp>",
            "summary": "Do foo",
            "description": '\n  With """quotes""" and a \\ in it.\n',
            "options": [{"def": "anonymous"}],
        },
        "anonymous": option(defaultValue="3"),
    }
    text = generate_passes.generate(records).replace("from .", "from relax_mlir.transform.")
    namespace: dict[str, Any] = {"__name__": "relax_mlir.transform.test"}
    exec(
        compile(text.replace("from .base", "from relax_mlir.transform.base"), "gen", "exec"),
        namespace,
    )
    (foo,) = namespace["PASSES"]
    assert foo(max_depth=4).pipeline() == "relax.func(relax-foo{max-depth=4})"
    assert foo().pipeline() == "relax.func(relax-foo{max-depth=3})"
    assert foo.__doc__.startswith("Do foo.\n")
    assert "With '''quotes''' and a \\ in it." in foo.__doc__
    assert "max_depth : int, default 3" in foo.__doc__
