# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of operators in docs/reference/operators.md.

Usage: operator_table.py --write PAGE, or without an argument to print it. Names are those of
`relax_mlir.op`; data types are found by lowering the example of each operator with others; what an
importer makes of an operator of ONNX or PyTorch is read off its converter: the functions of
`relax_mlir.op` that it refers to.
"""

from __future__ import annotations

import argparse
import dis
import functools
import re
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import relax_mlir as relax
from mlir import ir
from relax_mlir import op, transform
from relax_mlir.composites import basic, grad, image, nn, random, vision
from relax_mlir.dialects import _relax_ops_gen as definitions
from relax_mlir.frontend.onnx.registry import _CONVERTERS as ONNX
from relax_mlir.frontend.torch.registry import CONVERTERS as TORCH
from relax_mlir.reference.operators import OPERATORS
from relax_mlir.script.tvm_operators import TVM_OPERATORS

BEGIN, END = "<!-- operators -->\n", "<!-- end -->"
# By the word of the table, the data types that stand for it.
DTYPES = {
    "float": ("f16", "bf16", "f32", "f64"),
    "int": ("i8", "i32", "i64", "ui8", "ui64"),
    "bool": ("i1",),
}
# Converters use these to fit operands and results to those of another operator.
GLUE = {"astype", "broadcast_to", "const", "expand_dims", "permute_dims", "reshape", "squeeze"}
# Modules with functions that fit operands, such as numbers to tensors.
HELPERS = ("relax_mlir.frontend.torch.registry", "relax_mlir.frontend.values")
# What `plain` makes of other names of an operator, and what it makes of the operator's.
ALIASES = {
    "averagepool": "avgpool",
    "cast": "astype",
    "castlike": "astype",
    "clamp": "clip",
    "convolution": "conv",
    "dequantizelinear": "dequantize",
    "div": "divide",
    "mul": "multiply",
    "neg": "negative",
    "pow": "power",
    "quantizelinear": "quantize",
    "scaleddotproductattention": "attention",
    "slice": "stridedslice",
    "sub": "subtract",
    "var": "variance",
}
# Operators whose name means another one here; none if they consist of several, or of graphs.
EXCEPTIONS: dict[str, set[str]] = {
    "ConvInteger": set(),
    "Dropout": set(),
    "If": set(),
    "Loop": set(),
    "Max": {"maximum"},
    "Mean": set(),
    "Min": {"minimum"},
    "Multinomial": set(),
    "Scan": set(),
    "SequenceMap": set(),
    "Sum": {"add"},
    "log_normal": set(),
    "native_dropout": set(),
    "repeat": {"tile"},
    "uniform": set(),
}

# By the prefix of their names, operators that others compose.
COMPOSITES: dict[str, types.ModuleType] = {
    "": basic,
    "grad.": grad,
    "image.": image,
    "nn.": nn,
    "random.": random,
    "vision.": vision,
}

Function = Callable[..., Any]


def functions() -> dict[Function, str]:
    """Return the functions of `relax_mlir.op` with the names that they have there."""
    found: dict[Function, str] = {}
    for prefix, module in (
        ("", op),
        ("ccl.", op.ccl),
        ("dist.", op.dist),
        ("nn.", op.nn),
        ("grad.", op.grad),
    ):
        for name, value in vars(module).items():
            if isinstance(value, types.FunctionType) and not name.startswith("_"):
                found.setdefault(value, prefix + name)
    return found


def globals_of(function: types.FunctionType) -> Iterator[Any]:
    """Yield the functions that the code of a function names, also those in modules."""
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
        value: Any = None
        for instruction in dis.get_instructions(code):
            if instruction.opname == "LOAD_GLOBAL":
                value = function.__globals__.get(instruction.argval)
            elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                is_module = isinstance(value, types.ModuleType)
                value = getattr(value, instruction.argval, None) if is_module else None
            else:
                value = None
            if isinstance(value, types.FunctionType) or value is getattr:
                yield value


def used_operators(value: Any, names: Mapping[Function, str], seen: set[Any]) -> set[str]:
    """Return the operators that a converter, or what it consists of, refers to."""
    if isinstance(value, functools.partial):
        return used_operators((value.func, *value.args, *value.keywords.values()), names, seen)
    if isinstance(value, (tuple, list)):
        return set().union(*(used_operators(each, names, seen) for each in value))
    if value is getattr:
        return {"an operator that is chosen by its name"}
    if not isinstance(value, types.FunctionType):
        return set()
    if value in names:
        return {names[value]}
    is_foreign = not value.__module__.startswith("relax_mlir.frontend")
    if value in seen or is_foreign or value.__module__ in HELPERS:
        return set()
    seen.add(value)
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    return used_operators([*cells, *globals_of(value)], names, seen)


def plain(name: str) -> str:
    """Return what the names of an operator have in common in all frameworks.

    Examples
    --------
    >>> plain("nn.batch_norm"), plain("BatchNormalization"), plain("native_batch_norm")
    ('batchnorm', 'batchnorm', 'batchnorm')
    """
    text = name.rpartition(".")[2].lower().replace("_", "").replace("normalization", "norm")
    text = re.sub(r"(?:\dd)?(?:withindices)?$", "", text).removeprefix("native")
    text = re.sub(r"^reduce(?=sum|max|min|mean|prod)", "", text)
    return ALIASES.get(text, text)


def sort_converters(
    converters: Iterable[tuple[str, Any]], names: Mapping[Function, str]
) -> tuple[dict[str, set[str]], set[str]]:
    """Return what is imported as one operator, by that, and all other ones.

    An operator of another framework is one here if they have the same name, or if its converter
    refers to no other one.
    """
    used: dict[str, set[str]] = defaultdict(set)
    for name, converter in converters:
        used[name] |= used_operators(converter, names, set())
    single: dict[str, set[str]] = defaultdict(set)
    composed = set()
    for name, operators in used.items():
        main = operators - GLUE or operators
        targets = EXCEPTIONS.get(name)
        if targets is None:
            targets = same_names(name, names.values()) or (main if len(main) == 1 else set())
        if not targets:
            composed.add(name)
        for target in targets:
            single[target].add(name)
    return single, composed


def same_names(name: str, operators: Iterable[str]) -> set[str]:
    """Return the operators that have the same name, with the same number of dimensions."""
    same = {each for each in operators if plain(each) == plain(name)}
    rank = re.search(r"\dd", name)
    return {each for each in same if rank[0] in each} if rank else same


def of_torch() -> Iterator[tuple[str, Any]]:
    """Yield the operators of ATen, without overloads, and their converters."""
    for name, converter in TORCH.items():
        kind = name.split(".")[1]
        if not kind.startswith("_"):
            yield kind.removeprefix("special_"), converter


def of_onnx() -> Iterator[tuple[str, Any]]:
    """Yield the operators of ONNX, with their domain, and their converters."""
    for (domain, name), versions in ONNX.items():
        for converter in versions.values():
            yield f"{domain}.{name}" if domain else name, converter.function


def example_of(name: str) -> tuple[str, str]:
    """Return the example of an operation, and the types of its operands and results."""
    (found,) = (c for c in vars(definitions).values() if getattr(c, "OPERATION_NAME", 0) == name)
    fence = re.search(r"```mlir\n(.*?)```", found.__doc__, re.DOTALL)
    assert fence, f"{name}: expected an example"
    statement, _, signature = fence.group(1).strip().partition(" : ")
    return statement, signature


def program_of(statement: str, signature: str) -> str:
    """Return a module with a function around an example."""
    names = re.findall(r"%(\w+)", statement.partition("=")[2])
    operands, _, result = signature.rpartition(" -> ")
    depth, parts = 0, [""]
    for char in operands.strip("()") if operands else signature:
        depth += {"<": 1, "[": 1, ">": -1, "]": -1}.get(char, 0)
        parts = [*parts, ""] if char == "," and not depth else [*parts[:-1], parts[-1] + char]
    params = ", ".join(f"%{name}: {part}" for name, part in zip(names, parts, strict=True))
    result = result or signature
    sizes = "%sizes: !relax.shape<[b, d, h, k, m, n, w]>"
    return (
        f"relax.func @main({params}, {sizes}) -> {result} {{\n"
        f"{statement} : {signature}\nrelax.return %0 : {result}\n}}"
    )


def is_lowered(program: str) -> bool:
    """Say whether a program is valid and all its operators become kernels."""
    try:
        lower = transform.Sequential([transform.Normalize(), transform.LegalizeOps()])
        lower(relax.as_module(program))
    except (ir.MLIRError, ValueError, TypeError):
        return False
    return True


def dtypes_of(name: str) -> str:
    """Return the data types of an operator's first tensor, or of its result if it has none."""
    statement, signature = example_of(name)
    first = re.search(r"!relax\.(?:tensor<\[[^\]]*\]|prim<f), ?(\w+)|\b(f32|i8|i32)\b", signature)
    assert first, f"{name}: expected a tensor in {signature}"
    given = first[1] or first[2]
    words = []
    for word, candidates in DTYPES.items():
        taken = []
        for dtype in candidates:
            texts = [re.sub(rf"\b{given}\b", dtype, text) for text in (statement, signature)]
            if is_lowered(program_of(*texts)):
                taken.append(dtype)
        if len(taken) == len(candidates):
            words.append(word)
        elif taken:
            words.append(" ".join(f"`{dtype}`" for dtype in taken))
    return ", ".join(words)


def in_code(names: Iterable[str]) -> str:
    """Return names in the code of Markdown, sorted."""
    return ", ".join(f"`{name}`" for name in sorted(names))


def is_in_script(name: str) -> bool:
    """Say whether TVMScript has an operator, by its name after ``R.``."""
    place: object = relax.script.relax
    for part in name.split("."):
        place = getattr(place, part, None)
    return place is not None


def composed_rows() -> Iterator[str]:
    """Yield a row for each operator that others compose: its name, and what it returns."""
    for prefix, module in COMPOSITES.items():
        for name in sorted(module.__all__):
            summary = " ".join((getattr(module, name).__doc__ or "").split("\n\n")[0].split())
            found = summary.removeprefix("Return ").partition(", with arguments as for")[0]
            yield f"| `{prefix}{name}` | {found.rstrip('.')} |"


def table() -> str:
    """Return the table, and the lists below it."""
    names = functions()
    onnx, onnx_composed = sort_converters(of_onnx(), names)
    torch, torch_composed = sort_converters(of_torch(), names)
    by_operation = {name.rpartition(".")[2]: name for name in names.values()}
    rows = []
    for operation in sorted(OPERATORS):
        name = by_operation.get(operation.removeprefix("relax."))
        if name:
            cells = (f"`{name}`", f"`{operation}`", dtypes_of(operation))
            imports = (in_code(onnx.get(name, ())), in_code(torch.get(name, ())))
            rows.append("| " + " | ".join((*cells, *imports)) + " |")
    missing = {name for name in TVM_OPERATORS if name not in names.values()}
    missing = {each for each in missing if not is_in_script(each)}
    assert not missing, f"expected all operators of TVM, but there is no {in_code(missing)}"
    return "\n".join(
        (
            f"{len(rows)} operators:\n",
            "| Python, TVM | MLIR | data types | ONNX | PyTorch (ATen) |",
            "| --- | --- | --- | --- | --- |",
            *rows,
            "\n## Operators that others compose\n",
            "A call inserts several of the operators above; both modes run them, with symbolic "
            "dimensions.\n",
            "| Python, TVM | result |",
            "| --- | --- |",
            *composed_rows(),
            "\n## Composed operators\n",
            "These are imported as several operators, or as none.\n",
            f"**ONNX** ({len(onnx_composed)}): {in_code(onnx_composed)}\n",
            f"**PyTorch** ({len(torch_composed)}): {in_code(torch_composed)}\n",
            "TVM 0.27 has no other operators.\n",
        )
    )


def insert(text: str, content: str) -> str:
    """Return the text of a page with other content between the marks."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}{content}{END}{rest.split(END)[1]}"


def main() -> None:
    """Print the table, or write it to a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, metavar="PAGE")
    page = parser.parse_args().write
    if page:
        page.write_text(insert(page.read_text(), table()))
    else:
        print(table())


if __name__ == "__main__":
    main()
