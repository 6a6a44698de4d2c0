# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entry points of the parser: decorated classes and functions, and texts."""

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from ...core.ir_module import FreeFunction, IRModule, check_no_file
from .definitions import find_decorator
from .diagnostics import ScriptError
from .environment import Environment, around_class, around_function
from .expressions import Evaluator
from .module import ModuleParser
from .restricted import RestrictedEnvironment, bind_statement
from .source import Source, reading, source_of_class, source_of_function


def caller() -> types.FrameType:
    """Return the frame that a decorator is in, outside of this package."""
    frame: types.FrameType | None = sys._getframe(1)
    package = __name__.rpartition(".parser.")[0]
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(package):
        frame = frame.f_back
    assert frame is not None
    return frame


def _in_class(function: Callable[..., Any]) -> bool:
    """Say whether a function is in the body of a class, which parses it as a whole."""
    around, _, _ = function.__qualname__.rpartition(".")
    return bool(around) and not around.endswith("<locals>")


def parse_class(cls: type, check_well_formed: bool = True) -> IRModule:
    """Return the module that a decorated class stands for."""
    if not inspect.isclass(cls):
        raise TypeError(f"expected a class under @I.ir_module, but got {cls!r}")
    frame = caller()
    source, node = source_of_class(cls, frame)
    parser = ModuleParser(source, Environment(*around_class(cls, frame)))
    parser.decorator(node)  # whose options are checked
    return parser.parse_class(node, check_well_formed)


def parse_decorated(function: Any, what: str, check_well_formed: bool = True) -> Any:
    """Return the function or kernel that a decorated function of Python stands for.

    In the body of a class it stays as it is: the class is parsed as a whole.
    """
    if not inspect.isfunction(function) or inspect.iscoroutinefunction(function):
        raise TypeError(f"expected a function under {what}, but got {function!r}")
    if _in_class(function):
        return function
    source, node = source_of_function(function)
    parser = ModuleParser(source, Environment(*around_function(function, caller())))
    return parser.parse_function(node, check_well_formed)


def decorator(what: str, kind: str, entry: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator that stands alone, as in ``@R.function``, or has options."""

    def decorate(target: Any = None, **options: Any) -> Any:
        check = bool(options.get("check_well_formed", True))

        def parse(decorated: Any) -> Any:
            try:
                return entry(decorated, check)
            except ScriptError as error:
                # It has the place: what the parser did is of no use.
                raise _without_frames(error).with_traceback(None)  # noqa: B904

        return parse if target is None else parse(target)

    decorate.__name__ = decorate.__qualname__ = kind
    decorate.__doc__ = f"Parse what stands under ``@{what}``."
    return decorate


def _without_frames(error: ScriptError) -> ScriptError:
    """Return an error without its cause, unless that is one of another package."""
    cause, trace = error.__cause__, None
    if cause is not None:
        trace = cause.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
    module = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    if module.partition(".")[0] in ("relax_mlir", "relax_runtime", "mlir"):
        error.__cause__ = None
    error.__suppress_context__ = True
    return error


# ---------------------------------------------------------------------------------------------
# Texts
# ---------------------------------------------------------------------------------------------


# Names that texts need not import; the packages that have them add them.
DEFAULT_NAMES: dict[str, Any] = {}


def from_source(
    program: str,
    extra_vars: Mapping[str, Any] | None = None,
    *,
    filename: str = "<text>",
    check_well_formed: bool = True,
    run_python: bool = True,
) -> Any:
    """Parse a program that is given as text.

    Parameters
    ----------
    program : str
        A class under ``@I.ir_module``, or a function under ``@R.function`` or ``@T.prim_func``.
        The code around it, such as imports, runs as Python. ``I``, ``R`` and ``T`` need no
        import.
    extra_vars : mapping of str to value, optional
        Names that the program can use.
    filename : str
        For messages, and for the locations of operations.
    check_well_formed : bool
        Whether the criteria of well-formedness are checked.
    run_python : bool
        Whether code around the program runs, and its expressions may use all of Python. Without,
        as for a file from elsewhere, nothing of the text runs: around the program there may be
        imports of TVMScript and ``metadata``, and expressions reach operators and functions such as
        `range` and `len` alone.

    Returns
    -------
    IRModule or Function

    Raises
    ------
    ScriptError
        If anything is wrong in the program; the message shows the place.

    Examples
    --------
    >>> mod = from_source('''
    ... @I.ir_module
    ... class Module:
    ...     @R.function
    ...     def main(x: R.Tensor(("n", 4), "float32")):
    ...         y = R.exp(x)
    ...         return y
    ... ''')
    >>> mod.get_global_vars()
    [GlobalVar(name='main')]
    """
    check_no_file(program, "the text of a program in TVMScript")
    try:
        return _parse_text(program, extra_vars, filename, check_well_formed, run_python)
    except ScriptError as error:
        raise _without_frames(error).with_traceback(None)  # noqa: B904


def _parse_text(
    program: str,
    extra_vars: Mapping[str, Any] | None,
    filename: str,
    check_well_formed: bool,
    run_python: bool,
) -> Any:
    source = Source(program, filename)
    known = {} if run_python else {key: DEFAULT_NAMES[key] for key in ("I", "R", "T", "tvm")}
    names: dict[str, Any] = {**(known or DEFAULT_NAMES), **(extra_vars or {})}
    environment = Environment(names) if run_python else RestrictedEnvironment(names)
    decorated = []
    for node in source.tree.body:
        if isinstance(node, ast.AsyncFunctionDef) and _is_program(node):
            raise source.error(node, "expected def, but got async def")
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and _is_program(node):
            decorated.append(node)
        elif not run_python:
            _read(source, node, names, environment)
        elif not _imports_tvm(node):
            _run(source, node, names)
    if len(decorated) != 1:
        raise source.error(
            decorated[1] if decorated else None,
            f"expected one decorated class or function in the text, but got {len(decorated)}",
        )
    parser = ModuleParser(source, environment)
    node = decorated[0]
    options = parser.decorator(node).options
    check = check_well_formed and bool(options.get("check_well_formed", True))
    if isinstance(node, ast.ClassDef):
        return parser.parse_class(node, check)
    result: FreeFunction = parser.parse_function(node, check)
    return result


def _is_program(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    found = find_decorator(node)
    return found is not None and found[0] in ("function", "prim_func", "ir_module")


def _imports_tvm(node: ast.stmt) -> bool:
    """Say whether a statement imports TVM's own script, in place of which there is this one."""
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").startswith("tvm.script")
    return isinstance(node, ast.Import) and all(
        alias.name.startswith("tvm") for alias in node.names
    )


def _read(source: Source, node: ast.stmt, names: dict[str, Any], environment: Environment) -> None:
    """Bind what a statement around a program stands for, without running it as Python."""
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "metadata":
        names["metadata"] = Evaluator(source, environment).eval(node.value)
    else:
        bind_statement(source, node, names, DEFAULT_NAMES)


def _run(source: Source, node: ast.stmt, names: dict[str, Any]) -> None:
    """Run a statement of Python around a program."""
    code = compile(ast.Module([node], []), source.filename, "exec")
    try:
        with reading(source):
            exec(code, names)
    except Exception as error:
        raise source.error(node, f"{type(error).__name__}: {error}") from error
