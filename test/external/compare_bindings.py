"""The StructInfo of the bindings of TVM's programs, ours compared with what TVM derives."""

from __future__ import annotations

import ast
import collections
import dataclasses
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tvm_suite

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "oracle"))

EQUAL = "equal"
WEAKER = "ours weaker"
STRONGER = "ours stronger"
OTHER = "different"
UNMAPPABLE = "unmappable"
VERDICTS = (EQUAL, WEAKER, STRONGER, OTHER, UNMAPPABLE)

Entry = dict[str, Any]


@dataclasses.dataclass
class Source:
    """The names that the text of a program declares."""

    results: set[str]
    variables: set[str]
    constants: dict[str, int]

    @staticmethod
    def of(node: ast.AST) -> Source:
        nodes = list(ast.walk(node))
        functions = {n.name for n in nodes if isinstance(n, ast.FunctionDef) and n.returns}
        annotated = {
            n.target.id
            for n in nodes
            if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
        }
        constants = {}
        for n in nodes:
            if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name):
                found = re.fullmatch(r"T\.int64\((\d+)\)", ast.unparse(n.value))
                if found:
                    constants[n.targets[0].id] = int(found[1])
        return Source(functions, annotated, constants)


@dataclasses.dataclass
class Pair:
    """A binding, a parameter or the result of a function, in both systems."""

    place: str
    op: str
    theirs: Entry
    ours: Entry
    source: Source
    verdict: str = ""
    reason: str = ""
    agreed: str = ""


@dataclasses.dataclass
class Report:
    """The outcome of the bindings of a file.

    `alone` counts what TVM binds and we do not: other names of a variable, and values in the place
    of an operand. `programs` are those that both accept.
    """

    file: str
    programs: int = 0
    pairs: list[Pair] = dataclasses.field(default_factory=list)
    alone: int = 0
    missing: list[str] = dataclasses.field(default_factory=list)
    failure: str = ""


# Our bindings


def _named(name: str, op: str, type_: Any, value: Any = None, operands: Any = ()) -> Entry:
    return {"name": name, "op": op, "type": type_, "value": value, "operands": list(operands)}


def _name_of(value: Any) -> str:
    """Return the name that the location of a value or an operation carries."""
    location = value.location
    return location.name_str if location.is_a_name() else ""


def _inside(value: Any) -> Any:
    """Return what a dataflow block gives out as a value, or else the value."""
    owner = value.owner
    if getattr(owner, "name", "") != "relax.dataflow":
        return value
    *_, end = owner.regions[0].blocks[0].operations
    index = list(owner.results).index(value)
    return list(end.operands)[index]


def _of_function(function: Any, type_: Any) -> Iterator[Entry]:
    body = function.regions[0].blocks[0] if len(function.regions[0].blocks) else None
    if body is None:
        return
    params = list(body.arguments)[1 if function.name == "relax.closure" else 0 :]
    for param in params:
        yield _named(_name_of(param), "param", param.type, param)
    *_, end = body.operations
    taken = [_inside(value) for value in end.operands]
    own = (
        _name_of(function)
        if function.name == "relax.closure"
        else function.attributes["sym_name"].value
    )
    yield {**_named("", "result", type_.ret, None, taken), "function": own}
    yield from _of_block(body)


def _of_block(block: Any) -> Iterator[Entry]:
    for view in block.operations:
        op = view.operation
        # A dataflow block binds nothing, its bindings do.
        if op.name not in ("relax.dataflow", "relax.seq"):
            for result in op.results:
                kind = op.name.removeprefix("relax.")
                yield _named(_name_of(result), kind, result.type, result, op.operands)
        if op.name == "relax.closure":
            yield from _of_function(op, op.results[0].type)
            continue
        for region in op.regions:
            for inner in region.blocks:
                yield from _of_block(inner)


def bindings(program: Any) -> dict[str, list[Entry]]:
    """Return the bindings of each function, as `tvm_bindings.py` does."""
    import relax_mlir as relax
    from relax_mlir._mlir_libs import _relax_mlir as ext

    found = {}
    for name, view in relax.as_module(program).functions.items():
        if view.operation.name == "relax.func":
            type_ = ext.function_struct_info(view.operation)
            found[name] = list(_of_function(view.operation, type_))
    return found


# Theirs


def ask(paths: Sequence[Path], interpreter: str) -> dict[str, list[Entry]]:
    """Return what TVM says of the programs of some files."""
    command = [interpreter, str(HERE / "tvm_bindings.py"), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)} failed:\n{done.stderr[-3000:]}")
    found: dict[str, list[Entry]] = {path.name: [] for path in paths}
    for line in done.stdout.splitlines():
        program = json.loads(line)
        found[program["file"]].append(program)
    return found


# Pairing of bindings


def _likeness(ours: Entry, theirs: Entry) -> int:
    """Say how much two bindings look like one; 0: not at all."""
    signature = ("param", "result")
    if ours["op"] in signature or theirs["op"] in signature:
        return 8 * (ours["op"] == theirs["op"] and ours["name"] == theirs["name"])
    same_op = ours["op"] == theirs["op"]
    # TVM tells the values of the branches of an `if` apart.
    name = re.sub("_(then|else)$", "", theirs["name"]) if ours["name"] else ""
    if ours["name"] and ours["name"] in (name, theirs["name"]):
        return 4 if same_op else 2
    # TVM calls values without a name in the program gv or lv; so, too, the value of a branch.
    is_own = re.fullmatch(r"(gv|lv)\d*", theirs["name"])
    return 1 if same_op and is_own else 0


def align(ours: list[Entry], theirs: list[Entry]) -> list[tuple[Entry | None, Entry | None]]:
    """Pair two lists of bindings in order, as many as look alike."""
    best = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for i in reversed(range(len(ours))):
        for j in reversed(range(len(theirs))):
            like = _likeness(ours[i], theirs[j])
            both = best[i + 1][j + 1] + like if like else 0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], both)
    pairs: list[tuple[Entry | None, Entry | None]] = []
    i = j = 0
    while i < len(ours) and j < len(theirs):
        like = _likeness(ours[i], theirs[j])
        if like and best[i][j] == best[i + 1][j + 1] + like:
            pairs.append((ours[i], theirs[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            pairs.append((ours[i], None))
            i += 1
        else:
            pairs.append((None, theirs[j]))
            j += 1
    return [*pairs, *((e, None) for e in ours[i:]), *((None, e) for e in theirs[j:])]


# Comparison


def judge(pair: Pair) -> None:
    """Compare the StructInfo of a pair, dimensions up to what is proven."""
    import relax_mlir_side
    from relax_mlir import analysis

    if "info" not in pair.theirs:
        pair.verdict, pair.reason = UNMAPPABLE, f"TVM: {pair.theirs['reason'][:70]}"
        return
    ours = pair.ours["type"]
    try:
        theirs = relax_mlir_side.make(pair.theirs["info"])
    except Exception as error:
        pair.verdict, pair.reason = UNMAPPABLE, f"ours: {str(error)[:70]}"
        return
    below = analysis.is_subtype(ours, theirs)
    above = analysis.is_subtype(theirs, ours)
    if below is True and above is True:
        pair.verdict = EQUAL
        return
    pair.verdict = STRONGER if below is True else WEAKER if above is True else OTHER
    pair.reason = f"{pair.op}: {_difference(ours, theirs)}"


def _difference(ours: Any, theirs: Any) -> str:
    """Say in which part two differ."""
    if type(ours) is not type(theirs):
        return f"{type(ours).__name__} for {type(theirs).__name__}"
    if hasattr(ours, "fields"):
        mine, other = list(ours.fields), list(theirs.fields)
        if len(mine) != len(other):
            return "number of fields"
        return next(
            (_difference(*two) for two in zip(mine, other, strict=True) if two[0] != two[1]), ""
        )
    found = []
    for key in ("ndim", "dtype", "vdevice", "shape", "values", "value", "params", "ret"):
        mine, other = (getattr(info, key, None) for info in (ours, theirs))
        if str(mine) != str(other):
            known = [
                "unknown" if str(part) in ("None", "-1") else "known" for part in (mine, other)
            ]
            found.append(f"{key} {known[0]} here, {known[1]} there")
    return "; ".join(found)


# Agreed differences of the two, with the deciding sentence of the specification.

AGREED: dict[str, str] = {
    "declared_result": 'Derivation Rules, functions: "If `ret_struct_info` is defined, use '
    '`FuncStructInfo(params=[S1, S2, ..., Sn], ret_struct_info, purity=is_pure)`"; TVM keeps '
    "what it derives of the body where that says more",
    "annotation": "Derivation Rules, bindings: \"set `Γ[v]` to `Sv` (respecting the user's intent "
    'in giving an annotation)"; TVM keeps what it derives where that says more',
    "result_that_is_not_declared": 'Derivation Rules, programs: "check the structural information '
    "of the global functions one at a time and populate the entry of `Γ`\"; for TVM's parser the "
    "result is an object where it is not declared",
    "constant_named_like_a_variable": 'Shape Variables: "Shape variables can be bound to a value '
    "exactly once, either at the start of a function for shape annotations on function arguments "
    "or in `MatchCast` bindings\"; TVM's parser puts in the constant",
    "follows": 'Derivation Rules: "For each kind of expression, we can recursively build up the '
    'structural information"; it takes a value that differs for one of these reasons',
}


def classify(pairs: Sequence[Pair]) -> None:
    """Find the agreed reasons of differences in a program."""
    open_ = [pair for pair in pairs if pair.verdict in (WEAKER, STRONGER, OTHER)]
    for pair in open_:
        pair.agreed = _reason(pair)
    results = {p.ours["function"]: p for p in pairs if p.op == "result" and p.agreed}
    values = [pair.ours["value"] for pair in open_ if pair.agreed and pair.ours["value"]]
    for pair in open_:  # in the order of definitions, but for results and callees below
        if not pair.agreed and pair.op != "result":
            _follow(pair, values, results)
    for pair in open_:
        if not pair.agreed:
            _follow(pair, values, results)


def _follow(pair: Pair, values: list[Any], results: dict[str, Pair]) -> None:
    callees = _callees(pair)
    if any(v in values for v in pair.ours["operands"]) or callees & results.keys():
        pair.agreed = "follows"
        if pair.ours["value"]:
            values.append(pair.ours["value"])


def _callees(pair: Pair) -> set[str]:
    """Return the functions of the module that a binding names."""
    owners = [value.owner for value in [pair.ours["value"], *pair.ours["operands"]] if value]
    attributes = (o.attributes.values() for o in owners if hasattr(o, "attributes"))
    texts = map(str, itertools.chain.from_iterable(attributes))
    return {text[1:].strip('"') for text in texts if text.startswith("@")}


def _reason(pair: Pair) -> str:
    source, name = pair.source, pair.ours["name"]
    is_function = "params" in pair.theirs["info"]
    is_weaker = pair.verdict == WEAKER or (pair.verdict == OTHER and is_function)
    if is_weaker and pair.op == "result" and pair.ours["function"] in source.results:
        return "declared_result"
    if is_weaker and pair.op == "closure" and name in source.results:
        return "declared_result"
    if pair.verdict == WEAKER and name and name in source.variables:
        return "annotation"
    is_object = pair.theirs["info"]["kind"] == "object"
    is_stronger_call = pair.verdict == STRONGER and pair.op == "call" and is_object
    if is_stronger_call and _callees(pair) - source.results:
        return "result_that_is_not_declared"
    if pair.op in ("param", "result") and source.constants and _is_substituted(pair):
        return "constant_named_like_a_variable"
    return ""


def _is_substituted(pair: Pair) -> bool:
    import relax_mlir_side
    import structinfo

    ours = relax_mlir_side.describe(pair.ours["type"])
    ours = structinfo.substitute(ours, pair.source.constants)
    return bool(relax_mlir_side.make(ours) == relax_mlir_side.make(pair.theirs["info"]))


def compare(results: Sequence[tvm_suite.Result], theirs: dict[str, list[Entry]]) -> list[Report]:
    """Compare our programs with TVM's, by file."""
    reports = []
    by_file: dict[str, list[tvm_suite.Result]] = {}
    for result in results:
        by_file.setdefault(result.file, []).append(result)
    for file, mine in by_file.items():
        report = Report(file)
        reports.append(report)
        places: dict[tuple[int, str], collections.deque[Entry]] = {}
        for program in theirs.get(file, []):
            if "failed" in program:
                report.failure = f"TVM ended with status {program['failed']}"
                continue
            key = program["line"], program["name"]
            places.setdefault(key, collections.deque()).append(program)
        for result in mine:
            queue = places.get((result.line, result.name))
            program = queue.popleft() if queue else {}
            if result.outcome != tvm_suite.OK or "functions" not in program:
                continue
            report.programs += 1
            _compare_program(report, result, program["functions"])
    return reports


def _compare_program(
    report: Report, result: tvm_suite.Result, functions: dict[str, list[Entry]]
) -> None:
    mine = bindings(result.module)
    if list(functions) == [""]:
        functions = {next(iter(mine), ""): functions[""]}
    source = Source.of(result.node)
    pairs = []
    for name, theirs in functions.items():
        place = f"{result.file}:{result.line} {result.name}.{name}"
        if name not in mine:
            report.missing.append(place)
            continue
        for ours, other in align(mine[name], theirs):
            if ours and other:
                pair = Pair(
                    f"{place}.{other['name'] or other['op']}", other["op"], other, ours, source
                )
                judge(pair)
                pairs.append(pair)
            elif other:
                report.alone += 1
            elif ours and (ours["name"] or ours["op"] in ("param", "result")):
                report.missing.append(f"{place}.{ours['name'] or ours['op']}")
    classify(pairs)
    report.pairs += pairs


def table(reports: Sequence[Report]) -> str:
    """Return the number of equal bindings of each file, as a table."""
    heads = ("programs", "bindings", "equal", "weaker", "stronger", "other", "unmapped", "alone")
    lines = [f"{'file':58} " + " ".join(f"{head:>8}" for head in heads)]
    total = [0] * len(heads)
    for report in reports:
        counts = collections.Counter(pair.verdict for pair in report.pairs)
        row = [report.programs, len(report.pairs), *(counts[key] for key in VERDICTS), report.alone]
        total = [a + b for a, b in zip(total, row, strict=True)]
        lines.append(f"{report.file:58} " + " ".join(f"{cell:8}" for cell in row) + report.failure)
    lines.append(f"{'total':58} " + " ".join(f"{cell:8}" for cell in total))
    return "\n".join(lines)


def differences(reports: Sequence[Report]) -> dict[str, list[Pair]]:
    """Return the differences by reason, the most frequent one first."""
    found: dict[str, list[Pair]] = collections.defaultdict(list)
    for report in reports:
        for pair in report.pairs:
            if pair.verdict != EQUAL:
                found[f"{pair.verdict}: {pair.agreed or pair.reason}"].append(pair)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def listing(reports: Sequence[Report], examples: int = 3) -> str:
    """Return the differences by reason, each with some places."""
    lines = []
    for reason, pairs in differences(reports).items():
        lines.append(f"{len(pairs):5} {reason}")
        if pairs[0].agreed:
            lines.append(f"      {AGREED[pairs[0].agreed]}")
        for pair in pairs[:examples]:
            lines += [f"        {pair.place}", f"            ours {pair.ours['type']}"]
            lines.append(f"            TVM  {pair.theirs['text']}")
    lines += [
        f"      without a counterpart: {place}" for report in reports for place in report.missing
    ]
    return "\n".join(lines)


def unexplained(reports: Sequence[Report]) -> list[Pair]:
    """Return the bindings that differ without an agreed reason."""
    pairs = [pair for report in reports for pair in report.pairs]
    return [p for p in pairs if p.verdict in (WEAKER, STRONGER, OTHER) and not p.agreed]
