"""The functions of operators that are generated from TableGen."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import generate_ops
import pytest


def constraint(name: str, *superclasses: str, **fields: Any) -> dict[str, Any]:
    return {"!name": name, "!superclasses": ["Constraint", *superclasses], **fields}


def argument(of: str, summary: str = "Some data", **fields: Any) -> dict[str, Any]:
    return (
        {"!superclasses": ["OpVariable", "Arg"], "constraint": {"def": of}}
        | fields
        | {"summary": summary}
    )


CONSTRAINTS = {
    "Relax_Tensor": constraint("Relax_Tensor", "Type"),
    "I64Attr": constraint("I64Attr", "Attr"),
    "UnitAttr": constraint("UnitAttr", "Attr"),
    "optional": constraint(
        "optional", "Attr", "OptionalAttr", baseAttr={"def": "I64Attr"}, isOptional=1
    ),
    "valued": constraint(
        "valued", "DefaultValuedOptionalAttr", baseAttr={"def": "I64Attr"}, defaultValue="-1"
    ),
    "cpp": constraint("cpp", "Attr", baseAttr={"def": "I64Attr"}, defaultValue="kLimit"),
    "variadic": constraint("variadic", "Variadic", baseType={"def": "Relax_Tensor"}),
    "maybe": constraint("maybe", "Optional", baseType={"def": "Relax_Tensor"}),
}


def records_of(arguments: dict[str, dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """Return the records of a dialect with one operation, relax.foo."""
    operation = {
        "!name": "Relax_FooOp",
        "opName": "foo",
        "summary": "a foo of x (OP01)",
        "description": "",
        "arguments": {"args": [[{"def": f"arg.{name}"}, name] for name in arguments]},
        "results": {"args": [[{"def": "Relax_Tensor"}, "result"]]},
        "hasPythonFunction": 1,
        "pythonNamespace": None,
        "pythonSummary": None,
        "pythonExample": None,
        "isElementwise": 0,
    }
    named = {f"arg.{name}": record for name, record in arguments.items()}
    return {
        "!instanceof": {"Relax_PythonFunction": ["Relax_FooOp"]},
        "Relax_FooOp": operation | fields,
        **CONSTRAINTS,
        **named,
    }


def text_of(arguments: dict[str, dict[str, Any]], **fields: Any) -> str:
    """Return the code of the function."""
    return generate_ops.generate(records_of(arguments, **fields)).partition("\ndef ")[2]


def test_operands_and_attributes() -> None:
    text = text_of(
        {
            "x": argument("Relax_Tensor"),
            "depth": argument("I64Attr"),
            "axis": argument("optional"),
            "step": argument("valued"),
        }
    )
    assert text.startswith(
        "foo(x: TensorLike, depth: int, axis: int | None = None, step: int = -1) -> ir.Value:\n"
    )
    assert text.endswith(
        "    return build(_ops.FooOp, as_tensor(x), depth, axis=axis, step=step)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "statements"),
    [
        (["Relax_Tensor", "Relax_Tensor"], "return build(_ops.FooOp, *as_tensors(a, b))"),
        (["variadic"], "return build(_ops.FooOp, as_tensors(*a))"),
        (
            ["Relax_Tensor", "I64Attr", "Relax_Tensor"],
            "a, c = as_tensors(a, c)\n    return build(_ops.FooOp, a, b, c)",
        ),
        (
            ["Relax_Tensor", "maybe"],
            "a, b = optional_tensors(a, b)\n    return build(_ops.FooOp, a, b=b)",
        ),
        (["maybe"], "(a,) = optional_tensors(a)\n    return build(_ops.FooOp, a=a)"),
    ],
)
def test_tensors_are_converted_together(arguments: list[str], statements: str) -> None:
    text = text_of({name: argument(of) for name, of in zip("abc", arguments, strict=False)})
    assert text.endswith(f'    """\n    {statements}\n')


def test_conversions_of_ods() -> None:
    text = text_of(
        {
            "x": argument("Relax_Tensor", pythonName="data"),
            "y": argument("Relax_Tensor", pythonConversion="as_tensor($_self, dtype_of(data))"),
            "n": argument("I64Attr", pythonDefault="3", pythonConversion="check($_self)"),
        }
    )
    assert text.startswith("foo(data: TensorLike, y: TensorLike, n: int = 3) -> ir.Value:\n")
    assert text.endswith(
        "    data = as_tensor(data)\n"
        "    return build(_ops.FooOp, data, as_tensor(y, dtype_of(data)), check(n))\n"
    )
    assert "n: int)" in text_of({"n": argument("valued", pythonDefault="required")})


def test_documentation() -> None:
    description = """
    Say \\ and more (WF03).

    **Constraints:** `x` is
    large.

    Example:

    ```mlir
    %0 = relax.foo %x
    ```
    """
    text = text_of(
        {"x": argument("Relax_Tensor", "the data", pythonName="data")},
        description=description,
        pythonExample="\n    >>> 1 + 1\n    2\n",
    )
    namespace: dict[str, Any] = {}
    exec("from __future__ import annotations\ndef " + text, namespace)
    assert inspect.getdoc(namespace["foo"]) == (
        "Return a foo of x.\n\nSay \\ and more.\n\n"
        "Parameters\n----------\ndata : tensor, number or array\n    The data.\n\n"
        "Returns\n-------\nmlir.ir.Value\n    A tensor.\n\n"
        "Raises\n------\nValueError\n    Unless `data` is large.\n\n"
        "Examples\n--------\n>>> 1 + 1\n2"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": CONSTRAINTS["I64Attr"]}, "relax.foo: 'n': expected Relax_Arg with a description"),
        (
            {"n": argument("UnitAttr")},
            "relax.foo: 'n': expected a constraint, one of Relax_Tensor, .* but got UnitAttr",
        ),
        ({"n": argument("cpp")}, "expected a default that Python has, .* but got kLimit"),
        (
            {"n": argument("valued"), "x": argument("Relax_Tensor")},
            "relax.foo: 'x': expected a default, as 'n' before it has one",
        ),
    ],
)
def test_error_of_what_python_has_not(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        text_of(arguments)


def test_error_of_an_unknown_namespace(tmp_path: Path) -> None:
    records = records_of({}, pythonNamespace="image")
    message = "relax.foo: expected a pythonNamespace, one of nn, grad, but got 'image'"
    with pytest.raises(ValueError, match=message):
        generate_ops.check_namespaces(records, ["nn", "grad"])


def test_operators_are_in_their_namespaces() -> None:
    records = records_of({"x": argument("Relax_Tensor")}, pythonNamespace="nn", isElementwise=1)
    assert "def foo(" in generate_ops.generate(records, "nn")
    text = generate_ops.generate(records)
    assert "def foo(" not in text
    assert "'relax.foo'" in text.partition("ELEMENTWISE")[2]
    assert "def foo(" not in generate_ops.generate(records_of({}, hasPythonFunction=0))
