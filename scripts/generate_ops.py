"""Write the Python functions of the operators that the dialect defines.

Usage: generate_ops.py RECORDS --folder FOLDER [--namespaces NAME...], with the records of
RelaxOps.td as ``llvm-tblgen --dump-json`` prints them. The operators of relax_mlir.op are written
to FOLDER/_ops_gen.py, those of relax_mlir.op.NAME to FOLDER/_NAME_ops_gen.py: a function each, with
the arguments, defaults and documentation that ODS has.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

HEADER = '''\
# Written by scripts/generate_ops.py; do not edit.
# ruff: noqa
"""The operators of {module}, as the TableGen files of the dialect define them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from ..core.expr import (
    ShapeLike,
    TensorLike,
    as_prim,
    as_shape,
    as_tensor,
    as_tensors,
    as_value,
    build,
)
from ..dialects import relax as _ops
from ._arguments import *

'''
WIDTH = 100


@dataclass(frozen=True)
class Kind:
    """A kind of arguments.

    Attributes
    ----------
    annotation : str
        The type in Python.
    type : str
        The type in documentation.
    conversion : str
        The expression that makes an operand or attribute of the argument, ``$_self``.
    optional_conversion : str
        That of an argument that may be None; the same where it is empty.
    """

    annotation: str
    type: str
    conversion: str = "$_self"
    optional_conversion: str = ""


TENSOR = "Relax_Tensor"
# By the constraint of an operand or attribute.
KINDS = {
    TENSOR: Kind("TensorLike", "tensor, number or array", "as_tensor($_self)"),
    "Relax_Shape": Kind("ShapeLike", "shape, or sequence of int, str or Dim", "as_shape($_self)"),
    "Relax_Prim": Kind("PrimLike", "number, str, Dim or primitive value", "as_prim($_self)"),
    "Relax_AnyValue": Kind("Any", "value", "as_value($_self)"),
    "BoolAttr": Kind("bool", "bool"),
    "DenseI64ArrayAttr": Kind("int | Sequence[int]", "int or sequence of int", "integers($_self)"),
    "F64Attr": Kind("float", "float"),
    "FlatSymbolRefAttr": Kind("str", "str"),
    "I64Attr": Kind("int", "int"),
    "Relax_DeviceMeshAttr": Kind("DeviceMesh", "DeviceMesh", "device_mesh_attr($_self)"),
    "Relax_PlacementAttr": Kind("Placement | str", "Placement or str", "placement_attr($_self)"),
    "StrAttr": Kind("str", "str"),
    "TypeAttr": Kind(
        "DTypeLike",
        "str, numpy.dtype, torch.dtype or mlir.ir.Type",
        "type_attr($_self)",
        "optional_type_attr($_self)",
    ),
}
VARIADICS = {
    "Relax_AnyValue": Kind(
        "Sequence[Any]", "sequence of value", "[as_value(value) for value in $_self]"
    ),
    "Relax_Tensor": Kind("Sequence[TensorLike]", "sequence of tensor", "as_tensors(*$_self)"),
}
# What is returned, where the result of an operation has no description.
RESULTS = {
    TENSOR: "A tensor",
    "Relax_Func": "A function",
    "Relax_Shape": "A shape",
    "Relax_Tuple": "A tuple",
}
# The ids of the specification's rules, which mean nothing to users of Python.
RULES = re.compile(r" ?\([A-Z]{2}\d+(?:[-, ]+[A-Z]{2}\d+)*\)")


@dataclass(frozen=True)
class Argument:
    """An argument of an operator.

    Attributes
    ----------
    name : str
        In ODS.
    keyword : str
        In Python.
    kind : Kind
    description : str
    default : str
        An expression of Python; empty where there is none.
    conversion : str
        The expression of the operand or attribute; empty for a tensor that is converted together
        with others.
    by_keyword : bool
        Whether the constructor of the operation takes it by keyword.
    """

    name: str
    keyword: str
    kind: Kind
    description: str
    default: str
    conversion: str
    by_keyword: bool

    @property
    def annotation(self) -> str:
        """The type in Python."""
        is_any = self.kind.annotation == "Any"
        return self.kind.annotation + (" | None" if self.default == "None" and not is_any else "")

    @property
    def parameter(self) -> str:
        """The parameter of the function."""
        return f"{self.keyword}: {self.annotation}" + (f" = {self.default}" if self.default else "")

    @property
    def documentation(self) -> str:
        """The entry of the section Parameters."""
        default = "" if self.default in ("", "None") else f", default {self.default}"
        optional = ", optional" if self.default == "None" else default
        text = textwrap.fill(sentence(self.description), WIDTH - 8)
        return f"{self.keyword} : {self.kind.type}{optional}\n" + textwrap.indent(text, "    ")


@dataclass(frozen=True)
class Operator:
    """An operator.

    Attributes
    ----------
    name : str
        In Python, and in the dialect.
    op_class : str
        The class of the operation in `relax_mlir.dialects.relax`.
    record : dict
    arguments : tuple of Argument
    """

    name: str
    op_class: str
    record: dict[str, Any]
    arguments: tuple[Argument, ...]


def sentence(text: str) -> str:
    """Return text as a sentence.

    Examples
    --------
    >>> sentence("the sum"), sentence("`x`")
    ('The sum.', '`x`.')
    """
    return text[0].upper() + text[1:].rstrip(".") + "."


def literal(text: str) -> str:
    """Return a default value of C++ as a literal of Python.

    Examples
    --------
    >>> literal("true"), literal("1e-5"), literal('"clip"')
    ('True', '1e-5', '"clip"')
    """
    text = text.capitalize() if text in ("true", "false") else text
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError):
        raise ValueError(
            f"expected a default that Python has, too, or Relax_Arg with one, but got {text}"
        ) from None
    return text


def read_argument(name: str, record: dict[str, Any], records: dict[str, Any]) -> Argument:
    """Return an operand or attribute of an operation."""
    given = record if "OpVariable" in record["!superclasses"] else {"summary": ""}
    if not given["summary"]:
        raise ValueError(f"'{name}': expected Relax_Arg with a description, but got none")
    constraint = records[record["constraint"]["def"]]
    base = (constraint.get("baseAttr") or constraint.get("baseType") or {}).get("def")
    kind = KINDS.get(base or constraint["!name"])
    if kind is None:
        raise ValueError(
            f"'{name}': expected a constraint, one of {', '.join(KINDS)}, but got "
            f"{base or constraint['!name']}"
        )
    is_variadic = "Variadic" in constraint["!superclasses"]
    has_default = constraint.get("defaultValue") is not None
    is_optional = "Optional" in constraint["!superclasses"] or bool(constraint.get("isOptional"))
    default = given.get("pythonDefault") or (
        literal(constraint["defaultValue"]) if has_default else "None" if is_optional else ""
    )
    keyword = given.get("pythonName") or name
    conversion = given.get("pythonConversion") or ""
    if is_variadic:
        kind = VARIADICS.get(base or constraint["!name"], kind)
    if not conversion and kind is not KINDS[TENSOR]:
        may_be_none = is_optional and not has_default
        conversion = (kind.optional_conversion if may_be_none else "") or kind.conversion
    return Argument(
        name,
        keyword,
        kind,
        given["summary"],
        "" if default == "required" else default,
        conversion.replace("$_self", keyword),
        by_keyword=is_optional or has_default,
    )


def read_operator(record: dict[str, Any], records: dict[str, Any]) -> Operator:
    """Return an operator.

    Raises
    ------
    ValueError
        If there is no function of Python for what ODS says.
    """
    try:
        arguments = tuple(
            read_argument(name, records[entry["def"]], records)
            for entry, name in record["arguments"]["args"]
        )
        for first, second in pairwise(arguments):
            if first.default and not second.default:
                raise ValueError(
                    f"'{second.name}': expected a default, as '{first.name}' before it has one"
                )
    except ValueError as error:
        raise ValueError(f"relax.{record['opName']}: {error}") from None
    op_class = record["!name"].partition("_")[2]
    return Operator(record["opName"], op_class, record, arguments)


# -------------------------------------------------------------------------------------------------
# Documentation
# -------------------------------------------------------------------------------------------------


def paragraphs(operator: Operator) -> tuple[list[str], str]:
    """Return the description of an operator without examples of MLIR, and its constraints."""
    text = RULES.sub("", textwrap.dedent(operator.record["description"] or "")).strip()
    text = re.split(r"^Examples?:", text, maxsplit=1, flags=re.MULTILINE)[0].strip()
    before, _, constraints = text.partition("**Constraints:**")
    return [part for part in (before.strip(),) if part], textwrap.dedent(constraints).strip()


def returns(operator: Operator, records: dict[str, Any]) -> str:
    """Return what the section Returns says."""
    ((entry, _),) = operator.record["results"]["args"]
    record = records[entry["def"]]
    is_described = "OpVariable" in record["!superclasses"]
    constraint = record["constraint"]["def"] if is_described else record["!name"]
    text = record["summary"] if is_described else ""
    return sentence(text or RESULTS.get(constraint, "A value"))


def raises(constraints: str) -> str:
    """Return what the section Raises says.

    Examples
    --------
    >>> raises("`k` is an integer."), raises("`a` is 1; `b` is 2.")
    ('Unless `k` is an integer.', 'Unless all of this is so: `a` is 1; `b` is 2.')
    """
    if constraints.startswith("- "):
        return f"Unless all of this is so:\n\n{constraints}"
    text = " ".join(constraints.split())
    several = "all of this is so: " if ";" in text or ". " in text else ""
    return textwrap.fill(f"Unless {several}{text}", WIDTH - 8)


def docstring(operator: Operator, records: dict[str, Any]) -> str:
    """Return the documentation of an operator, in the format of numpydoc."""
    record = operator.record
    summary = record["pythonSummary"] or RULES.sub("", record["summary"])
    parts, constraints = paragraphs(operator)
    for argument in operator.arguments:
        constraints = constraints.replace(f"`{argument.name}`", f"`{argument.keyword}`")
    sections = {
        "Parameters": "\n".join(argument.documentation for argument in operator.arguments),
        "Returns": "mlir.ir.Value\n" + textwrap.indent(returns(operator, records), "    "),
        "Raises": "ValueError\n" + textwrap.indent(raises(constraints), "    "),
        "Examples": textwrap.dedent(record["pythonExample"] or "").strip(),
    }
    if not constraints:
        del sections["Raises"]
    parts += [f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items() if text]
    text = "\n\n".join([f"Return {summary.rstrip('.')}.", *parts])
    return text.replace("\\", "\\\\").replace('"""', "'''")


# -------------------------------------------------------------------------------------------------
# Code
# -------------------------------------------------------------------------------------------------


def listing(before: str, items: Sequence[str], after: str) -> str:
    """Return a call or a signature, in one line or with one item in each line.

    Examples
    --------
    >>> listing("def f(", ["x", "y"], ")")
    'def f(x, y)'
    """
    line = before + ", ".join(items) + after
    if len(line) <= WIDTH - 4:
        return line
    return before + "\n" + "".join(f"    {item},\n" for item in items) + after


def is_read_by_another(argument: Argument, operator: Operator) -> bool:
    """Say whether the conversion of another argument has this one in it."""
    word = re.compile(rf"\b{argument.keyword}\b")
    return any(word.search(each.conversion) for each in operator.arguments if each is not argument)


def convert_together(operator: Operator) -> tuple[list[str], dict[str, str]]:
    """Return statements, and operands by name, for tensors that are converted together.

    The operand of a tensor that another one stands for is empty.
    """
    tensors = [argument for argument in operator.arguments if not argument.conversion]
    names = [argument.keyword for argument in tensors]
    if not tensors:
        return [], {}
    if any(argument.by_keyword for argument in tensors):
        given = ", ".join(names)
        target = given if len(names) > 1 else f"({given},)"
        return [f"{target} = optional_tensors({given})"], {name: name for name in names}
    if len(tensors) > 1:
        places = [operator.arguments.index(argument) for argument in tensors]
        if places == list(range(places[0], places[0] + len(places))):
            first = {names[0]: f"*as_tensors({', '.join(names)})"}
            return [], dict.fromkeys(names, "") | first
        return [f"{', '.join(names)} = as_tensors({', '.join(names)})"], {n: n for n in names}
    if is_read_by_another(tensors[0], operator):
        return [f"{names[0]} = as_tensor({names[0]})"], {names[0]: names[0]}
    return [], {names[0]: f"as_tensor({names[0]})"}


def body(operator: Operator) -> str:
    """Return the statements of the function."""
    statements, tensors = convert_together(operator)
    positional, named = [], []
    for each in operator.arguments:
        operand = tensors.get(each.keyword, each.conversion)
        if each.by_keyword:
            named.append(f"{each.name}={operand}")
        else:
            positional.append(operand)
    items = [f"_ops.{operator.op_class}", *positional, *named]
    return "\n".join([*statements, listing("return build(", [item for item in items if item], ")")])


def generate_function(operator: Operator, records: dict[str, Any]) -> str:
    """Return the function of one operator."""
    parameters = [argument.parameter for argument in operator.arguments]
    signature = listing(f"def {operator.name}(", parameters, ") -> ir.Value:")
    text = f'"""{docstring(operator, records)}\n"""\n{body(operator)}'
    return signature + "\n" + textwrap.indent(text, "    ")


def find_operators(namespace: str, records: dict[str, Any]) -> Iterator[Operator]:
    """Yield the operators of a namespace whose functions are generated, by name."""
    found = (records[name] for name in records["!instanceof"]["Relax_PythonFunction"])
    for record in sorted(found, key=lambda each: str(each["opName"])):
        if record["hasPythonFunction"] and (record["pythonNamespace"] or "") == namespace:
            yield read_operator(record, records)


# Sets of operations by the classes that define them, of which passes in Python know.
FAMILIES = {
    "CONVOLUTIONS": ["Relax_ConvOp"],
    "OPERATORS": ["Relax_Operator"],
    "POOLS": ["Relax_PoolOp", "Relax_AdaptivePoolOp"],
    "REDUCTIONS": ["Relax_ReduceOp"],
}


def generate_set(name: str, operations: Iterable[Any], meaning: str) -> str:
    """Return a set of operations by name."""
    found = sorted(f"relax.{operation['opName']}" for operation in operations)
    lines = "".join(f"    {each!r},\n" for each in found)
    return f"#: {meaning}\n{name}: frozenset[str] = frozenset({{\n{lines}}})\n"


def generate_sets(records: dict[str, Any]) -> Iterator[str]:
    """Yield the sets of operations that have something in common."""
    instances = records["!instanceof"]
    functions = [records[name] for name in instances["Relax_PythonFunction"]]
    elementwise = [each for each in functions if each["isElementwise"]]
    meaning = "The operations that compute each element of one of each operand."
    yield generate_set("ELEMENTWISE", elementwise, meaning)
    for name, classes in FAMILIES.items():
        found = [records[each] for one in classes for each in instances.get(one, [])]
        yield generate_set(name, found, f"The operations of {' and '.join(classes)}.")


def generate(records: dict[str, Any], namespace: str = "") -> str:
    """Return the module of the operators of a namespace."""
    operators = list(find_operators(namespace, records))
    module = ".".join(["relax_mlir.op", *([namespace] if namespace else [])])
    names = "".join(f"    {operator.name!r},\n" for operator in operators)
    parts = [HEADER.format(module=module), f"__all__ = [\n{names}]\n"]
    if not namespace:
        parts += generate_sets(records)
    text = "\n".join(parts)
    return text + "".join(f"\n\n{generate_function(each, records)}\n" for each in operators)


def check_namespaces(records: dict[str, Any], namespaces: Sequence[str]) -> None:
    """Raise ValueError if an operator is in a namespace that is not written."""
    for name in records["!instanceof"]["Relax_PythonFunction"]:
        namespace = records[name]["pythonNamespace"] or ""
        if namespace and namespace not in namespaces:
            raise ValueError(
                f"relax.{records[name]['opName']}: expected a pythonNamespace, one of "
                f"{', '.join(namespaces)}, but got '{namespace}'; see python/CMakeLists.txt"
            )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the modules."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--namespaces", nargs="*", default=[])
    options = parser.parse_args(arguments)
    records = json.loads(options.records.read_text(encoding="utf-8"))
    check_namespaces(records, options.namespaces)
    for namespace in ("", *options.namespaces):
        name = f"_{namespace}_ops_gen.py" if namespace else "_ops_gen.py"
        (options.folder / name).write_text(generate(records, namespace), encoding="utf-8")


if __name__ == "__main__":
    main()
