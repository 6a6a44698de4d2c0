"""The programs in TVM's own tests, read by `relax_mlir.script`.

Nothing of TVM is imported or kept here: the tests are read from a checkout, their syntax trees are
walked, and each class under ``@I.ir_module`` and each function under ``@R.function`` is given to
our decorators in its place, with what stands before it run in a stand-in of the package ``tvm``.

Run as a program it prints a table::

    python test/external/tvm_suite.py <checkout of apache/tvm at v0.25.0> [--list] [file ...]

With ``--tvm``, the Python that has test/oracle/requirements.txt, the StructInfo of every binding is
compared with what TVM derives, too.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import collections
import dataclasses
import importlib
import inspect
import itertools
import linecache
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import stand_in

FOLDER = "tests/python/relax"
PATTERNS = (
    "test_tvmscript_parser*.py",
    "test_tvmscript_printer_relax.py",
    "test_analysis_well_formed.py",
    "test_vm_build.py",
    "test_transform_*.py",
)
MISSING = re.compile(r"is not an operator of the dialect yet")

# Programs of which TVM does not check what the specification asks for, by our error.
BY_SPECIFICATION = {
    r"\[WF13\]": "WF13: global_symbol is the name of the function",
    r"\[WF08\]": "WF08: a recursive function states its result",
    r"\[WF06\]": "WF06: a variable of the signature stands alone in some dimension",
    r"expected a result of type": "DR13: the value fits the declared result",
    r"in place, but it may be argument": "DR15: a pure function has no visible effect",
    r"expected a value of type .*, but got one of type": "DR08: the value fits the annotation",
    r"'relax.if' op expected a condition of type": "GR15: the condition is a Boolean scalar",
}

# Outcomes of a program.
OK = "ok"
REFUSED = "refused, as expected"
BY_RULE = "refused by a rule that TVM does not check"
MISSING_OPERATOR = "operator that the dialect does not have"
ERROR = "error"
ACCEPTED = "accepted, but TVM refuses it"


@dataclasses.dataclass
class Result:
    """The outcome of one program."""

    file: str
    line: int
    name: str
    outcome: str
    message: str = ""
    module: Any = None
    node: Any = None


def files(checkout: Path, names: Sequence[str] = ()) -> list[Path]:
    """Return the files of the suite, or those of some names."""
    found = {path for pattern in PATTERNS for path in (checkout / FOLDER).glob(pattern)}
    return sorted(path for path in found if not names or path.name in names)


def _decorator(node: Any) -> str:
    """Return what kind of program a definition is, or ''."""
    for decorator in getattr(node, "decorator_list", []):
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        text = ast.unparse(target)
        if text.endswith("ir_module") and isinstance(node, ast.ClassDef):
            return "module"
        if text == "R.function" and isinstance(node, ast.FunctionDef):
            return "function"
        if text.endswith("rewriter"):
            return "rewriter"
        if text.endswith("prim_func"):
            return "kernel"
    return ""


class Runner:
    """Runs one file.

    Parameters
    ----------
    path : Path
    check : callable
        Is given what a program was read as; what it raises is an error.
    """

    def __init__(self, path: Path, check: Callable[[Any], None]) -> None:
        self.path = path
        self.check = check
        self.results: list[Result] = []
        # Functions that tests call, until the first call.
        self.pending: dict[str, tuple[ast.FunctionDef, dict[str, Any]]] = {}
        # The mark of a test that is expected to fail in TVM.
        self.is_xfail = self.is_unsupported = False
        self.text = path.read_text()
        self.tree = ast.parse(self.text)

    def run(self) -> list[Result]:
        """Return the outcome of each program of the file."""
        names: dict[str, Any] = {
            "__name__": f"tvm_suite_{self.path.stem}",
            "__file__": str(self.path),
            "__builtins__": {**vars(builtins), "__import__": stand_in.import_},
        }
        self._statements(self.tree.body, names, negative=False)
        for name in list(self.pending):
            node, around = self.pending.pop(name)
            self._body(node, {**around, **self._arguments(node, around)})
        return self.results

    # -- statements ---------------------------------------------------------------------------

    def _statements(self, nodes: list[ast.stmt], names: dict[str, Any], negative: bool) -> None:
        for node in nodes:
            kind = _decorator(node)
            if kind in ("module", "function"):
                self._program(node, names, negative)
            elif kind == "kernel":
                self._try(node, names)
            elif isinstance(node, ast.ClassDef):
                self._class(node, names)
            elif isinstance(node, ast.FunctionDef):
                self._function(node, names)
            elif isinstance(node, ast.With):
                raises = any("pytest.raises" in ast.unparse(i.context_expr) for i in node.items)
                self._statements(node.body, names, negative or raises)
            elif isinstance(node, (ast.If, ast.For, ast.Try)):
                self._compound(node, names, negative)
            else:
                self._try(node, names)

    def _compound(self, node: Any, names: dict[str, Any], negative: bool) -> None:
        if isinstance(node, ast.If):
            taken = self._eval(node.test, names, default=True)
            body = node.body if taken and not isinstance(taken, stand_in.Stub) else node.orelse
            self._statements(body, names, negative)
            return
        if isinstance(node, ast.For):
            items = self._eval(node.iter, names, default=[])
            first = None if isinstance(items, stand_in.Stub) else next(iter(items or ()), None)
            assign = ast.Assign([node.target], ast.Name("__first", ast.Load()))
            names["__first"] = first
            self._try(ast.fix_missing_locations(ast.copy_location(assign, node)), names)
        self._statements(node.body, names, negative)

    def _class(self, node: ast.ClassDef, names: dict[str, Any]) -> None:
        """A class of tests: its body is a scope."""
        inner = dict(names)
        self._statements(node.body, inner, negative=False)
        names[node.name] = stand_in.Stub(node.name)

    def _function(self, node: ast.FunctionDef, names: dict[str, Any]) -> None:
        """A test, or something that tests call: its body is a scope."""
        has_programs = any(_decorator(child) for child in ast.walk(node) if child is not node)
        is_test = node.name.startswith("test")
        if not is_test:
            plain = ast.FunctionDef(**{**vars(node), "decorator_list": []})
            self._try(ast.copy_location(plain, node), names)
            real = names.get(node.name)
            if has_programs and callable(real):
                self.pending[node.name] = node, dict(names)
                names[node.name] = self._counted(node.name, real)
        elif has_programs or self._calls_pending(node):
            self._body(node, {**names, **self._arguments(node, names)})

    def _calls_pending(self, node: ast.FunctionDef) -> bool:
        names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
        return not names.isdisjoint(self.pending)

    def _body(self, node: ast.FunctionDef, names: dict[str, Any]) -> None:
        saved = self.is_xfail, self.is_unsupported
        marks = [ast.unparse(decorator) for decorator in node.decorator_list]
        marks = [mark for mark in marks if "xfail" in mark]
        self.is_xfail = bool(marks)
        self.is_unsupported = any("support" in mark for mark in marks)
        self._statements(node.body, names, negative=False)
        self.is_xfail, self.is_unsupported = saved

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose programs are counted when it is first called."""

        def call(*args: Any, **keywords: Any) -> Any:
            if name in self.pending:
                node, around = self.pending.pop(name)
                given = inspect.signature(function).bind_partial(*args, **keywords)
                given.apply_defaults()
                self._body(node, {**around, **given.arguments})
            return function(*args, **keywords)

        return call

    def _arguments(self, node: ast.FunctionDef, names: dict[str, Any]) -> dict[str, Any]:
        """Return what to call a function with: the first parameters of its tests, or defaults."""
        params = [arg.arg for arg in node.args.args]
        given: dict[str, Any] = {name: names.get(name, stand_in.Stub(name)) for name in params}
        defaults = node.args.defaults
        for name, default in zip(params[len(params) - len(defaults) :], defaults, strict=True):
            given[name] = self._eval(default, names)
        for call in self._calls_of(node.name):
            for name, value in zip(params, call.args, strict=False):
                given[name] = self._eval(value, names, given[name])
            for keyword in call.keywords:
                given[str(keyword.arg)] = self._eval(keyword.value, names, None)
            break
        for decorator in node.decorator_list:
            if "parametrize" not in ast.unparse(decorator) or not isinstance(decorator, ast.Call):
                continue
            parts = [*decorator.args, *(key.value for key in decorator.keywords)]
            if len(parts) < 2:
                continue
            which = self._eval(parts[0], names, "")
            first = self._first(parts[1], names)
            first = getattr(first, "values", first) if hasattr(first, "marks") else first
            which = which.replace(" ", "").split(",") if isinstance(which, str) else list(which)
            several = first if isinstance(first, (tuple, list)) else [first]
            given.update(zip(which, several if len(which) > 1 else [first], strict=False))
        return given

    def _first(self, node: ast.expr, names: dict[str, Any]) -> Any:
        """Return the first of several values; others in a list may need what is not there."""
        values = self._eval(node, names)
        if values is None and isinstance(node, (ast.List, ast.Tuple)):
            values = (self._eval(element, names) for element in node.elts)
            return next((value for value in values if value is not None), None)
        return next(iter(values or ()), None)

    def _calls_of(self, name: str) -> Iterator[ast.Call]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == name:
                yield node

    # -- Python -------------------------------------------------------------------------------

    def _try(self, node: ast.stmt, names: dict[str, Any]) -> None:
        """Run a statement around the programs; what it needs of TVM may not be there."""
        try:
            exec(compile(ast.Module([node], []), str(self.path), "exec"), names)
        except KeyboardInterrupt:
            raise
        except BaseException:
            for child in ast.walk(node):
                if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                    names.setdefault(child.id, stand_in.Stub(child.id))

    def _eval(self, node: ast.expr, names: dict[str, Any], default: Any = None) -> Any:
        try:
            return eval(compile(ast.Expression(node), str(self.path), "eval"), names)
        except KeyboardInterrupt:
            raise
        except BaseException:
            return default

    # -- programs -----------------------------------------------------------------------------

    def _program(self, node: Any, names: dict[str, Any], negative: bool) -> None:
        negative = negative or self._is_ill_formed(node)
        result = Result(self.path.name, node.lineno, node.name, OK, node=node)
        self.results.append(result)
        try:
            self._define(node, names)
            result.module = names[node.name]
            self.check(result.module)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            result.outcome, result.message = ERROR, f"{type(error).__name__}: {error}"
            names.setdefault(node.name, stand_in.Stub(node.name))
            if MISSING.search(str(error)):
                result.outcome = MISSING_OPERATOR
            elif any(re.search(pattern, str(error)) for pattern in BY_SPECIFICATION):
                result.outcome = BY_RULE
            elif (negative or self._may_be_refused(node)) and isinstance(
                error, (TypeError, ValueError)
            ):
                result.outcome = REFUSED
        else:
            if negative:
                result.outcome = ACCEPTED

    def _define(self, node: Any, names: dict[str, Any]) -> None:
        """Run a definition, inside of a function if it names variables of one."""
        outer = [
            n for child in ast.walk(node) if isinstance(child, ast.Nonlocal) for n in child.names
        ]
        if not outer:
            self._execute(ast.Module([node], []), names)
            return
        scope = ast.parse(f"def scope({', '.join(dict.fromkeys(outer))}):\n    return {node.name}")
        function: Any = scope.body[0]
        function.body.insert(0, node)
        self._execute(scope, names)
        names[node.name] = names["scope"](*(names.get(name) for name in dict.fromkeys(outer)))

    def _execute(self, tree: ast.Module, names: dict[str, Any]) -> None:
        """Execute a definition of a program."""
        exec(compile(tree, str(self.path), "exec"), names)

    def _is_ill_formed(self, node: Any) -> bool:
        """Say whether the test of a program states that it is not well formed."""
        # Of an expected failure TVM itself does not find it.
        return not self.is_xfail and self._says_ill_formed(node)

    def _may_be_refused(self, node: Any) -> bool:
        """Say whether a program is wrong without TVM having to find it where it is read.

        The test says that it is not well formed, or that TVM does not support it, or that a pass
        refuses it.
        """
        if self.is_unsupported:
            return True
        lines = self._lines_after(node)
        return self._says_ill_formed(node) or any(
            "pytest.raises" in line and re.search(rf"\({node.name}\)", following)
            for line, following in itertools.pairwise(lines)
        )

    def _says_ill_formed(self, node: Any) -> bool:
        pattern = re.compile(rf"assert not .*well_formed\(\s*{node.name}\b")
        return any(pattern.search(line) for line in self._lines_after(node))

    def _lines_after(self, node: Any) -> list[str]:
        """Return what follows a program in its test."""
        lines = self.text.splitlines()[node.end_lineno : node.end_lineno + 12]
        ends = (i for i, line in enumerate(lines) if re.match(r"(def |\s*@|\s*class )", line))
        return lines[: next(ends, len(lines))]


def run_file(path: Path, check: Callable[[Any], None]) -> list[Result]:
    """Return the outcome of each program of a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linecache.checkcache(str(path))
        return Runner(path, check).run()


def round_trip(module: Any) -> None:
    """Verify a program; print it, read that and compare, where there is a printer."""
    import relax_mlir as relax

    mod = relax.as_module(module)
    mod.verify()
    try:
        printer = importlib.import_module("relax_mlir.script.printer")
    except ModuleNotFoundError:
        return
    if not hasattr(printer, "script"):
        return
    text = printer.script(mod)
    again = importlib.import_module("relax_mlir.script").from_source(text, check_well_formed=False)
    relax.assert_structural_equal(mod, relax.as_module(again))
    if printer.script(relax.as_module(again)) != text:
        raise AssertionError("expected the same text when it is printed again")


def table(results: Sequence[Result]) -> str:
    """Return the number of programs of each file that are read, as a table."""
    by_file: dict[str, collections.Counter[str]] = {}
    for result in results:
        by_file.setdefault(result.file, collections.Counter())[result.outcome] += 1
    lines = [f"{'file':58} {'read':>5} {'of':>5} {'no op':>6} {'rule':>5} {'error':>6}"]
    total: collections.Counter[str] = collections.Counter()
    for name, counts in [*by_file.items(), ("total", total)]:
        good = counts[OK] + counts[REFUSED]
        bad = counts[ERROR] + counts[ACCEPTED]
        of = sum(counts.values())
        row = f"{name:58} {good:5} {of:5} {counts[MISSING_OPERATOR]:6} {counts[BY_RULE]:5} {bad:6}"
        lines.append(row)
        if counts is not total:
            total.update(counts)
    return "\n".join(lines)


def share(results: Sequence[Result]) -> float:
    """Return the share of programs that are treated as the specification says.

    Those that need a missing operator do not count.
    """
    count = collections.Counter(result.outcome for result in results)
    counted = len(results) - count[MISSING_OPERATOR]
    return (count[OK] + count[REFUSED] + count[BY_RULE]) / max(1, counted)


def summary(results: Sequence[Result]) -> str:
    """Return how many programs are read of those that need no missing operator."""
    count = collections.Counter(result.outcome for result in results)
    good, by_rule = count[OK] + count[REFUSED], count[BY_RULE]
    counted = len(results) - count[MISSING_OPERATOR]
    return (
        f"{good} of {counted} programs that need no missing operator are read "
        f"({100 * good / max(1, counted):.1f} %), {by_rule} more break a rule of the "
        f"specification; {100 * share(results):.1f} % are treated as it says"
    )


def main() -> None:
    """Print the table, and with --list what is not read and why."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--tvm", default=os.environ.get("RELAX_MLIR_TVM_ORACLE"))
    options = parser.parse_args()
    results: list[Result] = []
    for path in files(options.checkout, options.names):
        results += run_file(path, round_trip)
    if options.list:
        for result in results:
            if result.outcome in (ERROR, ACCEPTED, BY_RULE):
                first = result.message.strip().splitlines()[:3]
                print(f"{result.file}:{result.line} {result.name}: {result.outcome}")
                print("    " + "\n    ".join(first))
    print(table(results), flush=True)
    print(summary(results), flush=True)
    if options.tvm:
        compare = importlib.import_module("compare_bindings")
        theirs = compare.ask(files(options.checkout, options.names), options.tvm)
        reports = compare.compare(results, theirs)
        print(compare.table(reports))
        print(compare.listing(reports))
        sys.exit(bool(compare.unexplained(reports)))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
