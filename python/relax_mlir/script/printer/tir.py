# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes kernels as ``T.prim_func``.

The text is parsed again before it is returned: what does not give the same function is not
written in this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir
from mlir.dialects import func

from ...core.expr import GlobalVar
from ...core.variables import walk
from ...tir import expr as _expr
from ...tir import stmt as st
from ...tir.expr import PrimExpr, Var, is_zero
from ...tir.raised_values import NotRaisableError, is_kernel
from ...tir.raising import raise_function
from .. import tir as T  # noqa: N812 (as programs call it)
from ..parser.diagnostics import ScriptError
from ..parser.environment import Environment
from ..parser.source import Source
from ..parser.tir import parse_prim_func
from .options import Options
from .tir_expressions import attribute, calling, element, shape, text
from .types import quote
from .writer import Writer


class NotPrimFuncError(ValueError):
    """A kernel cannot be written as ``T.prim_func``."""


def prim_func_lines(op: ir.Operation, indent: int = 4, module_name: str = "Module") -> list[str]:
    """Return the lines of a kernel as ``T.prim_func``.

    Parameters
    ----------
    op : mlir.ir.Operation
        A ``func.func``.
    indent : int
        The number of spaces that a body is indented by.
    module_name : str
        The name of the class, by which other kernels are called.

    Returns
    -------
    list of str

    Raises
    ------
    NotPrimFuncError
        If there is no such text from which the same function is parsed.
    """
    reasons = []
    with op.context:
        for dim_dtype in ("int64", "int32"):
            try:
                function = raise_function(op, dim_dtype)
                if module_name in _names(function):
                    raise NotPrimFuncError(f"a variable '{module_name}'")
                with calling(module_name):
                    lines = FunctionText(function, indent).lines()
                _require_same(op, "\n".join(lines), module_name)
            except (NotRaisableError, NotPrimFuncError) as error:
                reasons.append(str(error))
                continue
            return lines
    raise NotPrimFuncError(reasons[0])


def _names(function: st.PrimFunc) -> set[str]:
    """Return the names of the parameters and of what statements name."""
    names = {param.name for param in function.params}
    for stmt in st.walk(function.body):
        for part in (getattr(stmt, "var", None), getattr(stmt, "buffer", None)):
            names.add(getattr(part, "name", ""))
    return names


class _Kernels:
    """The other kernels of the module of one."""

    def __init__(self, op: ir.Operation) -> None:
        self._op = op

    def __getattr__(self, name: str) -> GlobalVar:
        if not is_kernel(name, self._op):
            raise AttributeError(name)
        return GlobalVar(name)

    def declare(self, module: ir.Module) -> None:
        """Declare those that are called in a module."""
        called = _called(self._op)
        if not called:
            return
        assert self._op.parent is not None
        with ir.InsertionPoint(module.body):
            for each in self._op.parent.regions[0].blocks[0].operations:
                if each.operation.name != "func.func" or each.name.value not in called:
                    continue
                made = func.FuncOp(each.name.value, each.type, visibility="private")
                for key in ("arg_attrs", "res_attrs"):
                    if key in each.attributes:
                        made.attributes[key] = each.attributes[key]


def _called(op: ir.Operation) -> set[str]:
    """Return the names of the functions that a kernel calls."""
    calls = (inner for inner in walk(op) if inner.name == "func.call")
    return {call.attributes["callee"].value for call in calls}


def _require_same(op: ir.Operation, text: str, module_name: str) -> None:
    """Parse the text again, and compare."""
    source = Source(text, "<kernel>")
    with ir.Location.unknown():
        module = ir.Module.create()
        kernels = _Kernels(op)
        kernels.declare(module)
    try:
        node: Any = source.tree.body[0]
        env = Environment({"T": T, module_name: kernels})
        again = parse_prim_func(node, source, env, module)
    except ScriptError as error:
        raise NotPrimFuncError(str(error)) from error
    if _generic(again) != _generic(op):
        raise NotPrimFuncError("the text stands for another function")


# Tensor programs do not say that a division may be a product with the reciprocal.
_ALLOWANCE = "#arith.fastmath<arcp>"


def _generic(op: ir.Operation) -> str:
    """Return an operation as text that says all but its locations and what it need not be."""
    text = op.get_asm(print_generic_op_form=True, assume_verified=True, use_local_scope=True)
    return text.replace(_ALLOWANCE, "#arith.fastmath<none>")


# ---------------------------------------------------------------------------------------------
# Statements
# ---------------------------------------------------------------------------------------------


class FunctionText:
    """Writes a tensor program.

    Parameters
    ----------
    function : PrimFunc
    indent : int
    """

    def __init__(self, function: st.PrimFunc, indent: int = 4) -> None:
        self.function = function
        self._writer = Writer(Options(indent_spaces=indent))
        self._line = self._writer.line

    def lines(self) -> list[str]:
        """Return the lines."""
        function = self.function
        options = [name for name in ("private", "tensors") if getattr(function, name)]
        given = f"({', '.join(f'{name}=True' for name in options)})" if options else ""
        self._line(f"@T.prim_func{given}")
        params, matches = self._params()
        result = "" if function.result is None else f" -> T.{function.result}"
        self._line(f"def {function.name}({', '.join(params)}){result}:")
        with self._writer.indented():
            if function.attrs:
                self._line(f"T.func_attr({attribute(function.attrs)})")
            for line in matches:
                self._line(line)
            if function.declared:
                self._line("...")
            else:
                self._body(function.body, not function.attrs and not matches)
        return self._writer.text().split("\n")

    # -- parameters ---------------------------------------------------------------------------

    def _params(self) -> tuple[list[str], list[str]]:
        """Return the parameters, and the statements that say what they are."""
        params, matches = [], []
        scalars = {id(param) for param in self.function.params if isinstance(param, Var)}
        names = {param.name for param in self.function.params}
        variables: dict[int, Var] = {}
        for param in self.function.params:
            if isinstance(param, Var):
                params.append(f"{param.name}: T.{param.dtype}")
                continue
            free = [var for dim in param.shape for var in _expr.undefined_vars(dim)]
            if not free:
                params.append(f"{param.name}: T.Buffer({shape(param)}, {quote(param.dtype)})")
                continue
            variables.update((id(var), var) for var in free if id(var) not in scalars)
            handle = _new_name(f"var_{param.name}", names)
            params.append(f"{handle}: T.handle")
            matches.append(
                f"{param.name} = T.match_buffer({handle}, {shape(param)}, {quote(param.dtype)})"
            )
        declared = [f"{var.name} = T.{var.dtype}()" for var in variables.values()]
        return params, declared + matches

    # -- statements ---------------------------------------------------------------------------

    def _body(self, stmts: Sequence[st.Stmt], needs_line: bool = True) -> None:
        for stmt in stmts:
            getattr(self, f"_{type(stmt).__name__.lower()}")(stmt)
        if not stmts and needs_line:
            self._line("T.evaluate(0)")

    def _indented(self, stmts: Sequence[st.Stmt]) -> None:
        with self._writer.indented():
            self._body(stmts)

    def _bufferstore(self, stmt: st.BufferStore) -> None:
        self._line(f"{element(stmt.buffer, stmt.indices)} = {text(stmt.value)}")

    def _for(self, stmt: st.For) -> None:
        loops = [stmt]
        while (
            _is_plain(loops[-1])
            and len(loops[-1].body) == 1
            and isinstance(loops[-1].body[0], st.For)
            and _is_plain(loops[-1].body[0])
            and not _uses(loops[-1].body[0].stop, loops)
        ):
            loops.append(loops[-1].body[0])
        if len(loops) > 1:
            names = ", ".join(loop.var.name for loop in loops)
            extents = ", ".join(text(loop.stop) for loop in loops)
            self._line(f"for {names} in T.grid({extents}):")
        else:
            self._line(f"for {stmt.var.name} in {self._range(stmt)}:")
        self._indented(loops[-1].body)

    def _range(self, stmt: st.For) -> str:
        has_options = stmt.step is not None or stmt.annotations
        name = "range" if stmt.kind == "serial" and not has_options else f"T.{stmt.kind}"
        args = [text(stmt.stop)]
        if not is_zero(stmt.min):
            args.insert(0, text(stmt.min))
        if stmt.thread is not None:
            args.append(f"thread={quote(stmt.thread)}")
        if stmt.step is not None:
            args.append(f"step={text(stmt.step)}")
        if stmt.annotations:
            args.append(f"annotations={attribute(stmt.annotations)}")
        return f"{name}({', '.join(args)})"

    def _while(self, stmt: st.While) -> None:
        self._line(f"while {text(stmt.condition)}:")
        self._indented(stmt.body)

    def _ifthenelse(self, stmt: st.IfThenElse) -> None:
        self._line(f"if {text(stmt.condition)}:")
        self._indented(stmt.then_body)
        if stmt.else_body:
            self._line("else:")
            self._indented(stmt.else_body)

    def _let(self, stmt: st.Let) -> None:
        self._line(f"{stmt.var.name}: T.let[T.{stmt.var.dtype}] = {text(stmt.value)}")

    def _alloc(self, stmt: st.Alloc) -> None:
        buffer = stmt.buffer
        args = [shape(buffer), quote(buffer.dtype)]
        if buffer.scope() != "global":
            args.append(f"scope={quote(buffer.scope())}")
        self._line(f"{buffer.name} = T.alloc_buffer({', '.join(args)})")

    def _return(self, stmt: st.Return) -> None:
        self._line("return" if stmt.value is None else f"return {text(stmt.value)}")

    def _view(self, stmt: st.View) -> None:
        buffer = stmt.buffer
        if stmt.region is None:
            args = f"{shape(buffer)}, {quote(buffer.dtype)}, data={stmt.source.name}.data"
            self._line(f"{buffer.name} = T.decl_buffer({args})")
            return
        parts = [
            f"{text(start)}:{text(_expr.add(start, length))}" if axis in stmt.axes else text(start)
            for axis, (start, length) in enumerate(stmt.region)
        ]
        part = f"{stmt.source.name}[{', '.join(parts)}]"
        args = f"{part}, {shape(buffer)}, {quote(buffer.dtype)}"
        self._line(f"{buffer.name} = T.match_buffer({args})")

    def _evaluate(self, stmt: st.Evaluate) -> None:
        self._line(f"T.evaluate({text(stmt.value)})")

    def _block(self, stmt: st.Block) -> None:
        self._line(f"with T.sblock({quote(stmt.name)}):")
        with self._writer.indented():
            for axes in _remapped(stmt.axes):
                self._axes(axes)
            for predicate in stmt.predicates:
                self._line(f"T.where({text(predicate)})")
            if stmt.annotations:
                self._line(f"T.sblock_attr({attribute(stmt.annotations)})")
            if stmt.init:
                self._line("with T.init():")
                self._indented(stmt.init)
            self._body(stmt.body)

    def _axes(self, axes: Sequence[st.Axis]) -> None:
        if len(axes) == 1 and not isinstance(axes[0].binding, Var):
            (axis,) = axes
            domain = text(axis.extent)
            if not is_zero(axis.min):
                domain = f"({text(axis.min)}, {text(_expr.add(axis.min, axis.extent))})"
            self._line(f"{axis.var.name} = T.axis.{axis.kind}({domain}, {text(axis.binding)})")
            return
        names = ", ".join(axis.var.name for axis in axes)
        kinds = "".join("R" if axis.kind == "reduce" else "S" for axis in axes)
        bindings = ", ".join(text(axis.binding) for axis in axes)
        self._line(f"{names} = T.axis.remap({quote(kinds)}, [{bindings}])")


def _remapped(axes: Sequence[st.Axis]) -> list[list[st.Axis]]:
    """Return axes in groups: those of loops together, any other one alone."""
    groups: list[list[st.Axis]] = []
    for axis in axes:
        plain = isinstance(axis.binding, Var) and axis.kind in ("spatial", "reduce")
        if plain and groups and isinstance(groups[-1][0].binding, Var):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


def _is_plain(stmt: Any) -> bool:
    return (
        isinstance(stmt, st.For)
        and stmt.kind == "serial"
        and stmt.step is None
        and stmt.thread is None
        and not stmt.annotations
        and is_zero(stmt.min)
    )


def _uses(expr: PrimExpr, loops: Sequence[st.For]) -> bool:
    variables = {id(loop.var) for loop in loops}
    return any(id(var) in variables for var in _expr.undefined_vars(expr))


def _new_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
