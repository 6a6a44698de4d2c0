"""Write the Python classes of the passes that a TableGen file declares.

Usage: generate_passes.py RECORDS... --output OUTPUT, with records as ``llvm-tblgen --dump-json``
prints them. Each pass is one class, with its documentation and with its options as keyword
arguments.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEADER = '''\
# Written by scripts/generate_passes.py; do not edit.
# ruff: noqa
"""The passes of this project, as its TableGen files declare them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from .base import MLIRPass, Option

'''

# The types of options in Python, by those in C++.
TYPES = {"bool": "bool", "std::string": "str", "float": "float", "double": "float"} | dict.fromkeys(
    ("int", "unsigned", "int64_t", "uint64_t", "int32_t", "uint32_t", "size_t"), "int"
)
# clEnumValN(C++ value, "name", "what it means")
ENUMERATOR = re.compile(r'clEnumValN\(\s*([\w:]+)\s*,\s*"([^"]*)"\s*,\s*"([^"]*)"')


@dataclass
class Option:
    """An option of a pass.

    Attributes
    ----------
    name : str
        As the pipeline has it.
    keyword : str
        As Python has it.
    type : str
        The annotation in Python.
    choices : tuple of str
        The values that an enumeration has.
    default : str
        A literal of Python; "None" where the pass decides.
    help : str
    """

    name: str
    keyword: str
    type: str
    choices: tuple[str, ...]
    default: str
    help: str


def read_option(record: dict[str, Any]) -> Option:
    """Return one option of a pass."""
    values = ENUMERATOR.findall(record["additionalOptFlags"])
    choices = tuple(name for _, name, _ in values)
    default = str(record.get("defaultValue") or "")
    if choices:
        annotation = "Literal[" + ", ".join(map(repr, choices)) + "]"
        literal = next((repr(name) for value, name, _ in values if value == default), "None")
    else:
        known = TYPES.get(record["type"].replace("::std::", "std::"))
        if known is None:
            raise ValueError(
                f"option '{record['argument']}': expected a type, one of {', '.join(TYPES)} or an "
                f"enumeration with clEnumValN, but got {record['type']}"
            )
        annotation, literal = known, python_literal(default, known)
    if "ListOption" in record["!superclasses"]:
        annotation, literal = f"Sequence[{annotation}]", "None"
    meaning = "".join(f'\n"{name}": {text}.' for _, name, text in values)
    return Option(
        record["argument"],
        record["argument"].replace("-", "_"),
        annotation,
        choices,
        literal,
        record["description"].rstrip(".") + "." + meaning,
    )


def python_literal(text: str, annotation: str) -> str:
    """Return a default value of C++ as a literal of Python; "None" where it is none."""
    if annotation == "bool" and text in ("true", "false"):
        return text.capitalize()
    if annotation == "str" and re.fullmatch(r'"[^"\\]*"', text):
        return text
    if annotation in ("int", "float") and re.fullmatch(r"-?\d+(\.\d*)?", text):
        return text
    return "None"


def operation_name(base_class: str) -> str:
    """Return the name of the operation that a pass runs on, empty for any.

    Examples
    --------
    >>> operation_name("::mlir::OperationPass<::mlir::relax::FuncOp>")
    'relax.func'
    >>> operation_name("::mlir::OperationPass<ModuleOp>")
    'builtin.module'
    """
    op_class = re.sub(r"^.*OperationPass<(.*)>$", r"\1", base_class)
    *namespaces, name = op_class.split("::")
    if not op_class:
        return ""
    dialect = namespaces[-1] if namespaces and namespaces[-1] not in ("", "mlir") else "builtin"
    mnemonic = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removesuffix("Op")).lower()
    return f"{dialect}.{mnemonic}"


def class_name(record_name: str) -> str:
    """Return the name of the class in Python.

    Examples
    --------
    >>> class_name("RelaxLegalizeOpsPass")
    'LegalizeOps'
    """
    return record_name.removeprefix("Relax").removesuffix("Pass")


def docstring(record: dict[str, Any], options: Sequence[Option]) -> str:
    """Return the documentation of a pass, in the format of numpydoc."""
    summary = record["summary"].rstrip(".") + "."
    text = textwrap.dedent(record["description"]).strip()
    parts = [summary, *([text] if text else [])]
    if options:
        lines = ["Parameters", "----------"]
        for option in options:
            default = "" if option.default == "None" else f", default {option.default}"
            lines.append(f"{option.keyword} : {option.type}{default}")
            lines += textwrap.indent(option.help, "    ").splitlines()
        parts.append("\n".join(lines))
    return "\n\n".join(parts).replace("\\", "\\\\").replace('"""', "'''")


def generate_class(record: dict[str, Any], records: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the class of one pass."""
    options = [read_option(records[entry["def"]]) for entry in record["options"]]
    yield f"class {class_name(record['!name'])}(MLIRPass):"
    body = [f'"""{docstring(record, options)}\n"""', ""]
    body += [f"argument = {record['argument']!r}"]
    body += [f"anchor = {operation_name(record['baseClass'])!r}"]
    described = ", ".join(
        f"Option({o.name!r}, {o.keyword!r}, {o.choices!r}, {o.default})" for o in options
    )
    body += [f"options = ({described}{',' if options else ''})", ""]
    keywords = "".join(f", {o.keyword}: {o.type} | None = None" for o in options)
    body += [f"def __init__(self{', *' if options else ''}{keywords}) -> None:"]
    given = ", ".join(f"{o.keyword}={o.keyword}" for o in options)
    body += [f"    super().__init__({given})"]
    yield textwrap.indent("\n".join(body), "    ")
    yield ""
    yield ""


def generate(*files: dict[str, Any]) -> str:
    """Return the module of Python for the records of some files of TableGen."""
    passes = [(file[name], file) for file in files for name in file["!instanceof"]["PassBase"]]
    passes.sort(key=lambda each: each[0]["!name"])
    lines = [line for record, file in passes for line in generate_class(record, file)]
    names = ", ".join(class_name(record["!name"]) for record, _ in passes)
    return HEADER + "\n" + "\n".join(lines) + f"PASSES: tuple[type[MLIRPass], ...] = ({names},)\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    files = [json.loads(path.read_text(encoding="utf-8")) for path in options.records]
    options.output.write_text(generate(*files), encoding="utf-8")


if __name__ == "__main__":
    main()
