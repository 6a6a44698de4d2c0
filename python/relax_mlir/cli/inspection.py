# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``relax-mlir inspect``: what is in a model."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from mlir import ir

from .. import artefact, runtime
from ..analysis.memory import MemoryUsage, estimate_memory_usage, format_bytes
from ..core.ir import TupleStructInfo
from ..core.ir_module import IRModule
from ..core.struct_info import tir_vars_in_struct_info
from ..core.variables import walk
from . import options
from .compiling import add_model_options, load_model
from .dimensions import check_names, function_of
from .errors import CommandError
from .models import Model
from .signature import Spec, signature_of

# Operations that are about the form of a program, and compute nothing.
_FORM = frozenset(
    f"relax.{name}" for name in ("constant", "dataflow", "func", "output", "return", "yield")
)


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "inspect",
        help="say what is in a model: inputs, outputs, operators, weights, memory",
        description="Say what is in a model, or in a file that is compiled. Nothing is compiled.",
    )
    add_model_options(parser)
    parser.add_argument(
        "--size",
        dest="sizes",
        action="append",
        default=[],
        type=options.size_of,
        metavar="NAME=SIZE",
        help="the size of a dimension, for the memory plan",
    )
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Run the command."""
    model = load_model(given)
    sizes = options.once(given.sizes, "--size")
    if model.executable is not None:
        if sizes:
            raise CommandError(f"{model.path}: expected no --size, as the program is compiled")
        report = _of_executable(model, model.executable, given.function)
    else:
        report = _of_module(model, given.function, sizes)
    print(json.dumps(report, indent=2) if given.json else _as_text(report))
    return 0


def _of_module(model: Model, name: str, sizes: dict[str, int]) -> dict[str, Any]:
    module = model.module
    assert module is not None  # models have either
    function = function_of(module, name)
    arguments = function.regions[0].blocks[0].arguments
    names = [item.value for item in function.attributes["arg_names"]]
    signature = function.attributes["function_type"].value
    weights = {key: value.nbytes for key, value in model.weights.items()}
    symbols = [str(var.name) for type_ in arguments.types for var in tir_vars_in_struct_info(type_)]
    check_names(sizes, symbols)
    inputs = dict(zip(names, map(_type, arguments.types), strict=True))
    return {
        "file": str(model.path),
        "format": model.format,
        "function": name,
        "inputs": {key: value for key, value in inputs.items() if key not in weights},
        "outputs": _outputs(model, list(signature.results)),
        "symbols": {symbol: _bounds(function, symbol) for symbol in dict.fromkeys(symbols)},
        "operators": _operators(module),
        "parameters": {"count": len(weights), "bytes": sum(weights.values())}
        if weights
        else _constants(module),
        "memory": _memory(module, name, sizes),
    }


def _type(type_: ir.Type) -> str:
    return str(type_).replace("!relax.", "")


def _outputs(model: Model, results: list[ir.Type]) -> dict[str, str]:
    (result,) = results
    is_tuple = isinstance(result, TupleStructInfo)
    fields: list[ir.Type] = list(result.fields) if is_tuple else [result]
    names = model.output_names
    if len(names) != len(fields):
        names = tuple(f"output_{place}" for place in range(len(fields)))
    return dict(zip(names, map(_type, fields), strict=True))


def _bounds(function: ir.Operation, symbol: str) -> dict[str, int]:
    found = {}
    for key, name in (("tir_var_lower_bound", "least"), ("tir_var_upper_bound", "most")):
        if key in function.attributes and symbol in function.attributes[key]:
            found[name] = function.attributes[key][symbol].value
    return found


def _operators(module: IRModule) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for op in walk(module.operation):
        if op.name.startswith("relax.") and op.name not in _FORM:
            counts[op.name.removeprefix("relax.")] += 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _constants(module: IRModule) -> dict[str, int]:
    sizes = []
    for op in walk(module.operation):
        if op.name == "relax.constant":
            shaped = ir.ShapedType(op.attributes["value"].type)
            count = 1
            for size in shaped.shape:
                count *= size
            sizes.append(count * ((shaped.element_type.width + 7) // 8))
    return {"count": len(sizes), "bytes": sum(sizes)}


def _memory(module: IRModule, name: str, sizes: dict[str, int]) -> dict[str, Any]:
    usage: MemoryUsage = estimate_memory_usage(module, sizes)[name]
    return {
        "tensors": len(usage.tensors),
        "storages": len(usage.storages),
        "without_plan": _amount(usage.unplanned_bytes, usage.unplanned),
        "with_plan": _amount(usage.planned_bytes, usage.planned),
    }


def _amount(number: int | None, size: Any) -> int | str:
    return number if number is not None else size.text


def _of_executable(model: Model, executable: runtime.Executable, name: str) -> dict[str, Any]:
    signature = signature_of(executable, name)
    report: dict[str, Any] = {
        "file": str(model.path),
        "format": model.format,
        "mode": executable.exec_mode,
        "functions": list(executable.function_names),
        "function": name,
        "inputs": {key: str(spec) for key, spec in signature.params.items()},
        "outputs": {f"output_{i}": str(spec) for i, spec in enumerate(_fields(signature.result))},
        "symbols": {symbol: {} for symbol in signature.symbols},
        "statistics": executable.stats().splitlines(),
    }
    if isinstance(executable, artefact.Executable) and model.format == "rx":
        report["sections"] = {one.name: one.size for one in artefact.sections(Path(model.path))}
    return report


def _fields(result: Spec) -> tuple[Spec, ...]:
    return result.fields if result.kind == "tuple" else (result,)


# -- text -----------------------------------------------------------------------------------------


def _as_text(report: dict[str, Any]) -> str:
    lines = [f"{report['file']} ({report['format']}), function {report['function']}"]
    for title in ("inputs", "outputs", "symbols", "operators", "sections"):
        if title in report:
            rows = report[title]
            lines.append(f"{title}: {'' if rows else 'none'}".rstrip())
            lines += [
                f"  {name:<24} {_cell(title, value)}".rstrip() for name, value in rows.items()
            ]
    if "parameters" in report:
        found = report["parameters"]
        lines.append(f"parameters: {found['count']}, {format_bytes(found['bytes'])}")
        memory = report["memory"]
        lines.append(
            f"memory: {memory['tensors']} tensors of {_bytes(memory['without_plan'])} in "
            f"{memory['storages']} storages of {_bytes(memory['with_plan'])}"
        )
    lines += report.get("statistics", [])
    return "\n".join(lines)


def _cell(title: str, value: Any) -> str:
    if title == "symbols":
        return ", ".join(f"{name} {bound}" for name, bound in value.items())
    return format_bytes(value) if title == "sections" else str(value)


def _bytes(amount: int | str) -> str:
    return f"{amount} bytes" if isinstance(amount, str) else format_bytes(amount)
