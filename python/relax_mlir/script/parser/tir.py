# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parses ``T.prim_func``: from the syntax tree of Python to statements, and on to ``func.func``.

Expressions are evaluated as Python would evaluate them: names stand for variables and buffers of
the program or for what Python has around it, functions of the namespace ``T`` are called, and
operators are those of `relax_mlir.tir.PrimExpr`. Statements are made here.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from mlir import ir
from mlir.dialects import func

from ...core.dtypes import dtype_name
from ...core.expr import GlobalVar
from ...core.ir import PrimStructInfo
from ...tir import expr as tir
from ...tir import stmt as st
from ...tir.lower import TYPE, LoweringError, lower
from .. import tir_statements as T  # noqa: N812 (as programs call it)
from .. import vectors
from .diagnostics import ScriptError
from .environment import Environment
from .source import Source

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda lhs, rhs: lhs in rhs,
    ast.NotIn: lambda lhs, rhs: lhs not in rhs,
}
_LOOPS = (
    "expected a loop over range, T.serial, T.grid, T.parallel, T.vectorized, T.unroll or "
    "T.thread_binding"
)


def parse_prim_func(
    node: ast.FunctionDef, source: Source, env: Environment, module: ir.Module
) -> ir.Operation:
    """Parse a function decorated with ``T.prim_func`` to the end of a module.

    Parameters
    ----------
    node : ast.FunctionDef
    source : Source
        The text that holds it.
    env : Environment
        The values of names.
    module : mlir.ir.Module

    Returns
    -------
    mlir.ir.Operation
        The ``func.func``, in destination-passing style.

    Raises
    ------
    ScriptError
        If the function is wrong, at the place.
    """
    function = Parser(source, env, module).function(node)
    with module.context, ir.InsertionPoint(module.body):
        try:
            return lower(function)
        except LoweringError as error:
            if error.span is None:
                raise source.error(node, str(error)) from None
            raise source.error_at(error.span.line, error.span.column, str(error)) from None


def _range(start: Any, stop: Any = None, step: Any = None) -> T.ForFrame:
    return T.serial(start, stop, step=step)


def _is_ellipsis(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and node.value.value is Ellipsis
    )


def _returns(stmts: Sequence[st.Stmt]) -> bool:
    """Say whether statements return in any case."""
    last = stmts[-1] if stmts else None
    if isinstance(last, st.IfThenElse):
        return _returns(last.then_body) and _returns(last.else_body)
    return isinstance(last, st.Return) or (isinstance(last, st.Block) and _returns(last.body))


def _option(node: ast.FunctionDef, name: str) -> bool:
    """Return an option of the decorator that is given as a constant."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            for keyword in decorator.keywords:
                if keyword.arg == name and isinstance(keyword.value, ast.Constant):
                    return bool(keyword.value.value)
    return False


class _Bodies:
    """The statements under way, innermost last, and the block around them."""

    def __init__(self) -> None:
        self.stack: list[list[st.Stmt]] = []
        self.blocks: list[st.Block | None] = [None]

    @contextlib.contextmanager
    def body(self, into: list[st.Stmt]) -> Iterator[None]:
        self.stack.append(into)
        try:
            yield
        finally:
            self.stack.pop()


class Parser:
    """Parses functions of one text.

    Parameters
    ----------
    source : Source
    env : Environment
    module : mlir.ir.Module, optional
        Whose kernels may be called.
    """

    def __init__(self, source: Source, env: Environment, module: ir.Module | None = None) -> None:
        self.source = source
        self.env = env
        self.module = module
        self._result: str | None = None
        self._is_returned = False
        self._bodies = _Bodies()
        self._handles: dict[int, int] = {}
        self._params: list[Any] = []
        self._attrs: dict[str, Any] = {}
        self._assigned: dict[str, int] = {}
        self._in_init = False
        self._loops: list[st.For] = []
        self._loop_kinds: list[str] = []

    # -----------------------------------------------------------------------------------------
    # Functions
    # -----------------------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef) -> st.PrimFunc:
        """Parse a function."""
        arguments = node.args
        for what in (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs):
            if what is not None:
                raise self.error(what, "expected parameters by position only")
        if arguments.defaults:
            raise self.error(arguments.defaults[0], "expected a parameter without a default")
        self._count_assignments(node)
        self._attrs = {}
        body: list[st.Stmt] = []
        with self.env.scope(), self._bodies.body(body):
            self._params = [
                self._parameter(arg) for arg in (*arguments.posonlyargs, *arguments.args)
            ]
            self._handles = {
                id(param): i
                for i, param in enumerate(self._params)
                if isinstance(param, tir.Var) and param.dtype == "handle"
            }
            self._result = self._return_type(node.returns)
            self._is_returned = False
            self.statements(node.body)
        if self._result is not None and not _returns(body) and not _is_ellipsis(node.body[-1]):
            raise self.error(node, "expected a return statement at the end")
        declared = _is_ellipsis(node.body[-1])
        if declared and body:
            raise self.error(node.body[-1], "expected no statements in a declaration")
        return st.PrimFunc(
            node.name,
            self._params,
            body,
            attrs=self._attrs,
            private=_option(node, "private"),
            tensors=_option(node, "tensors"),
            declared=declared,
            result=self._result,
            span=self.span(node),
        )

    def _count_assignments(self, node: ast.FunctionDef) -> None:
        """Count how often each name is assigned to: what changes lives in memory."""
        self._assigned = {}
        for child in ast.walk(node):
            targets: list[ast.expr] = []
            if isinstance(child, ast.Assign):
                targets = child.targets
            elif isinstance(child, ast.AugAssign):
                targets = [child.target, child.target]  # it was assigned to before
            elif isinstance(child, ast.AnnAssign):
                targets = [child.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    self._assigned[target.id] = self._assigned.get(target.id, 0) + 1

    def _parameter(self, arg: ast.arg) -> Any:
        if arg.annotation is None:
            raise self.error(
                arg,
                f"expected a type for parameter '{arg.arg}': T.Buffer(shape, dtype), T.handle or "
                "a data type such as T.int64",
            )
        annotation = self._annotation(arg.annotation)
        if isinstance(annotation, T.BufferType):
            param: Any = self._buffer(arg, arg.arg, annotation)
        elif isinstance(annotation, T.DType):
            param = tir.Var(arg.arg, annotation.name)
        elif isinstance(annotation, tir.Var):
            param = tir.Var(arg.arg, annotation.dtype)
        else:
            raise self.error(
                arg.annotation,
                f"expected T.Buffer(shape, dtype), T.handle or a data type such as T.int64 for "
                f"parameter '{arg.arg}', but got {_describe(annotation)}",
            )
        self.env.bind(arg.arg, param)
        return param

    def _annotation(self, node: ast.expr) -> Any:
        """Evaluate a type, which may be written as a string."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.copy_location(ast.parse(node.value, mode="eval").body, node)
            except SyntaxError:
                raise self.error(node, "expected a type") from None
        # Symbolic sizes may be declared in the type of a parameter by strings.
        return self.evaluate(node)

    def _return_type(self, node: ast.expr | None) -> str | None:
        """Return the data type of the scalar that a function returns, or None."""
        annotation = None if node is None else self._annotation(node)
        name = getattr(annotation, "name", None)
        if annotation is None or name == "void":
            return None
        if not isinstance(annotation, T.DType) or name == "handle":
            raise self.error(
                node,
                "expected None or the data type of a scalar: a function writes tensors to buffers "
                "that it is passed",
            )
        return annotation.name

    def _buffer(self, node: ast.AST, name: str, annotation: T.BufferType) -> st.Buffer:
        shape = [self._dimension(node, dim) for dim in annotation.shape]
        return st.Buffer(name, shape, annotation.dtype, annotation.scope)

    def _dimension(self, node: ast.AST, dim: Any) -> tir.PrimExpr:
        """Return a dimension; a string names a variable, which is new the first time."""
        if isinstance(dim, str):
            if not dim.isidentifier():
                raise self.error(node, f"expected the name of a variable, but got {dim!r}")
            value = self.env.bound(dim)
            if value is None:
                value = tir.Var(dim, "int64")
                self.env.bind(dim, value)
            dim = value
        if isinstance(dim, bool) or not isinstance(dim, int | tir.PrimExpr):
            raise self.error(node, f"expected an integer as dimension, but got {_describe(dim)}")
        if isinstance(dim, int):
            dim = tir.const(dim, "int64" if dim >= 2**31 else "int32")
        if not dim.dtype.startswith(("int", "uint")):
            raise self.error(node, f"expected an integer as dimension, but got {dim.dtype}")
        return dim

    # -----------------------------------------------------------------------------------------
    # Statements
    # -----------------------------------------------------------------------------------------

    def error(self, node: ast.AST | None, message: str) -> ScriptError:
        """Return an error at a node."""
        return self.source.error(node, message)

    def span(self, node: ast.AST) -> st.Span:
        """Return where a node is."""
        line, column, *_ = self.source.place(node)
        return st.Span(self.source.filename, line, column)

    def emit(self, stmt: st.Stmt, node: ast.AST) -> None:
        """Append a statement to the body under way."""
        stmt.span = self.span(node)
        self._bodies.stack[-1].append(stmt)

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        """Parse statements to the body under way."""
        for node in nodes:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        """Parse one statement."""
        if self._is_returned:
            raise self.error(node, "expected nothing after the return statement")
        visit = getattr(self, f"_visit_{type(node).__name__.lower()}", None)
        if visit is None:
            raise self.error(
                node, f"expected a statement of a tensor program, but got {_kind(node)}"
            )
        visit(node)

    def _visit_pass(self, node: ast.Pass) -> None:
        pass

    # Their effect on names of Python holds anyway.
    _visit_global = _visit_nonlocal = _visit_pass

    def _visit_for(self, node: ast.For) -> None:
        if node.orelse:
            raise self.error(node.orelse[0], "expected no else after a loop")
        frame = self._loop(node.iter)
        targets = self._loop_targets(node.target, len(frame.ranges))
        with self.env.scope():
            loops = self._nest(targets, frame)
            if not isinstance(node.target, ast.Tuple | ast.List) or len(targets) != len(
                node.target.elts
            ):
                self._bind_loops(node.target, loops)
            innermost = loops[-1].body if loops else self._bodies.stack[-1]
            kind = frame.kind if len(loops) == 1 or frame.kind != "serial" else "grid"
            with self._bodies.body(innermost), self._in_loops(loops), self._kind(kind):
                self.statements(node.body)

    def _nest(self, targets: Sequence[tuple[ast.AST, str]], frame: T.ForFrame) -> list[st.For]:
        """Emit nested loops, and bind their variables."""
        loops: list[st.For] = []
        with contextlib.ExitStack() as stack:
            for (target, name), (start, stop) in zip(targets, frame.ranges, strict=True):
                var = tir.Var(name, stop.dtype)
                self.env.bind(name, var)
                loop = st.For(
                    var,
                    start,
                    stop,
                    [],
                    kind=frame.kind,
                    step=frame.step,
                    thread=frame.thread,
                    annotations=frame.annotations,
                )
                self.emit(loop, target)
                stack.enter_context(self._bodies.body(loop.body))
                loops.append(loop)
        return loops

    def _bind_loops(self, target: ast.expr, loops: Sequence[st.For]) -> None:
        """Bind a name, or names with a star, to the variables of several loops."""
        values = [loop.var for loop in loops]
        if isinstance(target, ast.Name):
            if len(loops) != 1:
                self.env.bind(target.id, tuple(values))
            return
        assert isinstance(target, ast.Tuple | ast.List)
        for element, item in self._unpack(target, values):
            self.env.bind(element.id, item)

    @contextlib.contextmanager
    def _in_loops(self, loops: list[st.For]) -> Iterator[None]:
        count = len(self._loops)
        self._loops.extend(loops)
        try:
            yield
        finally:
            del self._loops[count:]

    def _loop(self, node: ast.expr) -> T.ForFrame:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and self.env.get(node.func.id) is range
        ):
            frame = self._call(node, _range, *self._arguments(node))
        else:
            frame = self.evaluate(node)
        if isinstance(frame, range):
            frame = T.serial(frame.start, frame.stop, step=frame.step)
        if not isinstance(frame, T.ForFrame):
            raise self.error(node, f"{_LOOPS}, but got {_describe(frame)}")
        return frame

    def _loop_targets(self, target: ast.expr, count: int) -> list[tuple[ast.AST, str]]:
        """Return names of the variables of a loop, and where they stand."""
        if isinstance(target, ast.Name):
            if count == 1:
                return [(target, target.id)]
            return [(target, f"{target.id}_{i}") for i in range(count)]
        if not isinstance(target, ast.Tuple | ast.List):
            raise self.error(target, "expected the names of variables")
        starred = any(isinstance(element, ast.Starred) for element in target.elts)
        if not starred and len(target.elts) != count:
            raise self.error(
                target,
                f"expected {count} variables, one for each range, but got {len(target.elts)}",
            )
        names: list[tuple[ast.AST, str]] = []
        for element, positions in self._unpack(target, range(count)):
            if isinstance(positions, list):
                names.extend((element, f"{element.id}_{i}") for i in range(len(positions)))
            else:
                names.append((element, element.id))
        return names

    def _unpack(
        self, target: ast.Tuple | ast.List, values: Sequence[Any]
    ) -> list[tuple[ast.Name, Any]]:
        """Return the names in a target with what they are bound to, a list for one with a star."""
        elements = list(target.elts)
        starred = [i for i, element in enumerate(elements) if isinstance(element, ast.Starred)]
        items: list[Any] = list(values)
        if len(starred) == 1 and len(items) >= len(elements) - 1:
            first, after = starred[0], len(elements) - starred[0] - 1
            last = len(items) - after
            items = [*items[:first], items[first:last], *items[last:]]
        if len(items) != len(elements):
            raise self.error(target, f"expected {len(elements)} values, but got {len(items)}")
        pairs = []
        for element, item in zip(elements, items, strict=True):
            name = element.value if isinstance(element, ast.Starred) else element
            if not isinstance(name, ast.Name):
                raise self.error(element, "expected the name of a variable")
            pairs.append((name, item))
        return pairs

    def _visit_return(self, node: ast.Return) -> None:
        self._return(node, None if node.value is None else self.evaluate(node.value))

    def _return(self, node: ast.AST, value: Any) -> None:
        if any(kind not in ("serial", "grid") for kind in self._kinds):
            raise self.error(node, "expected no return in a loop that is not serial")
        self._is_returned = len(self._bodies.stack) == 1
        if value is None:
            if self._result is not None:
                raise self.error(node, f"expected a value of type {self._result} to return")
            self.emit(st.Return(), node)
            return
        if self._result is None:
            raise self.error(
                node,
                "expected the data type of the result before this, as in def f(...) -> T.bool",
            )
        expr = self.as_expr(node, value, self._result)
        if expr.dtype != self._result:
            expr = self._convert(node, expr, self._result)
        self.emit(st.Return(expr), node)

    def _visit_while(self, node: ast.While) -> None:
        if node.orelse:
            raise self.error(node.orelse[0], "expected no else after a loop")
        loop = st.While(self._condition(node.test), [])
        with self.env.scope(), self._bodies.body(loop.body), self._kind("serial"):
            self.statements(node.body)
        self.emit(loop, node)

    def _visit_if(self, node: ast.If) -> None:
        test = self.evaluate(node.test)
        if isinstance(test, bool):  # decided by Python
            self.statements(node.body if test else node.orelse)
            return
        branch = st.IfThenElse(self._as_condition(node.test, test), [])
        with self.env.scope(), self._bodies.body(branch.then_body):
            self.statements(node.body)
        with self.env.scope(), self._bodies.body(branch.else_body):
            self.statements(node.orelse)
        self.emit(branch, node)

    def _condition(self, node: ast.expr) -> tir.PrimExpr:
        return self._as_condition(node, self.evaluate(node))

    def _as_condition(self, node: ast.AST, value: Any) -> tir.PrimExpr:
        condition = self.as_expr(node, value)
        if condition.dtype == "bool":
            return condition
        if condition.dtype.startswith(("int", "uint")):
            return condition != tir.const(0, condition.dtype)
        raise self.error(node, f"expected a Boolean, but got {condition.dtype}")

    def _visit_with(self, node: ast.With) -> None:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.env.scope())
            for item in node.items:
                frame = self.evaluate(item.context_expr)
                self._enter(stack, item, frame)
            self.statements(node.body)

    def _enter(self, stack: contextlib.ExitStack, item: ast.withitem, frame: Any) -> None:
        """Enter what one item of a ``with`` statement stands for."""
        node = item.context_expr
        if isinstance(frame, T.ForFrame):
            self._enter_loops(stack, item, frame)
        elif isinstance(frame, T.BlockFrame):
            if item.optional_vars is not None:
                raise self.error(item.optional_vars, "expected no names for a block")
            block = st.Block(frame.name, [])
            self.emit(block, node)
            stack.enter_context(self._bodies.body(block.body))
            self._bodies.blocks.append(block)
            stack.callback(self._bodies.blocks.pop)
        elif isinstance(frame, T.InitFrame):
            around = self._bodies.blocks[-1]
            if around is None or self._in_init:
                raise self.error(node, "expected T.init in a block")
            if around.init:
                raise self.error(node, "expected one T.init in a block")
            self._in_init = True
            stack.callback(setattr, self, "_in_init", False)
            stack.enter_context(self._bodies.body(around.init))
        elif isinstance(frame, T.LetFrame):
            if not isinstance(item.optional_vars, ast.Name) and frame.var is None:
                raise self.error(node, "expected a name for the value: with T.LetStmt(value) as x")
            self._let(node, item.optional_vars, frame)
        elif isinstance(frame, T.Allocation):
            if not isinstance(item.optional_vars, ast.Name):
                raise self.error(node, "expected a name for the buffer: with T.allocate(...) as A")
            self._bind(node, item.optional_vars.id, frame)
        elif isinstance(frame, T.Hint) and frame.name == "attr":
            pass  # a hint for other targets
        else:
            raise self.error(
                node,
                "expected a block, T.init(), T.LetStmt(value), T.allocate(...) or loops, but got "
                f"{_describe(frame)}",
            )

    def _enter_loops(
        self, stack: contextlib.ExitStack, item: ast.withitem, frame: T.ForFrame
    ) -> None:
        if item.optional_vars is None:
            raise self.error(item.context_expr, "expected names for the variables of the loops")
        targets = self._loop_targets(item.optional_vars, len(frame.ranges))
        loops = self._nest(targets, frame)
        if loops:
            stack.enter_context(self._bodies.body(loops[-1].body))
            stack.enter_context(self._in_loops(loops))
            stack.enter_context(self._kind("grid"))

    def _let(self, node: ast.AST, target: ast.expr | None, frame: T.LetFrame) -> None:
        value = self.as_expr(node, frame.value)
        name = target.id if isinstance(target, ast.Name) else frame.var.name
        var = frame.var if frame.var is not None else tir.Var(name, value.dtype)
        if var.dtype != value.dtype:
            value = self._convert(node, value, var.dtype)
        self.emit(st.Let(var, value), node)
        self.env.bind(name, var)

    def _visit_expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):  # a docstring
            return
        value = self.evaluate(node.value)
        self._effect(node.value, value)

    def _effect(self, node: ast.AST, value: Any) -> None:
        """Carry out what a statement that is an expression stands for."""
        if value is None:
            return
        if isinstance(value, list | tuple):
            for element in value:
                self._effect(node, element)
            return
        if isinstance(value, T.FuncAttr):
            self._attrs.update(value.attrs)
        elif isinstance(value, T.Hint | T.Where | T.BlockAttr):
            self._say(node, value)
        elif isinstance(value, T.Store):
            self._store(node, value.buffer, value.indices, value.value)
        elif isinstance(value, T.Return):
            self._return(node, value.value)
        elif isinstance(value, T.Evaluate | tir.PrimExpr):
            computed = value.value if isinstance(value, T.Evaluate) else value
            self.emit(st.Evaluate(self.as_expr(node, computed)), node)
        elif isinstance(value, T.Axis):
            raise self.error(node, "expected a name for the axis")
        elif isinstance(value, T.ForFrame | T.BlockFrame | T.InitFrame):
            raise self.error(node, "expected 'for' or 'with' before this")
        elif not isinstance(value, int | float | str):
            raise self.error(
                node, f"expected a statement of a tensor program, but got {_describe(value)}"
            )

    def _say(self, node: ast.AST, value: T.Hint | T.Where | T.BlockAttr) -> None:
        """Carry out a statement that says something of the block around it."""
        block = self._bodies.blocks[-1]
        if isinstance(value, T.Hint) and not value.needs_block:
            return
        if block is None:
            raise self.error(node, f"expected {value.describe()} in a block")
        if isinstance(value, T.Where):
            block.predicates.append(self._as_condition(node, value.condition))
        elif isinstance(value, T.BlockAttr):
            block.annotations.update(value.attrs)

    def _visit_assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.error(node, "expected one target of an assignment")
        target = node.targets[0]
        value = self.evaluate(node.value)
        self._assign(node, target, value)

    def _assign(self, node: ast.stmt, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Subscript):
            buffer = self.evaluate(target.value)
            self._store(target, buffer, self._indices(target.slice), value, node)
            return
        if isinstance(target, ast.Tuple | ast.List):
            self._assign_tuple(node, target, value)
            return
        if not isinstance(target, ast.Name):
            raise self.error(target, "expected a name or an element of a buffer")
        self._bind(node, target.id, value)

    def _assign_tuple(self, node: ast.stmt, target: ast.Tuple | ast.List, value: Any) -> None:
        if isinstance(value, T.MetaVar):
            value = value.value
        if isinstance(value, T.Axis | tir.PrimExpr | int | float) or not hasattr(value, "__iter__"):
            raise self.error(
                target, f"expected {len(target.elts)} values, but got {_describe(value)}"
            )
        if not any(isinstance(element, ast.Starred) for element in target.elts):
            values = list(value)
            if len(values) != len(target.elts):
                raise self.error(
                    target, f"expected {len(target.elts)} values, but got {len(values)}"
                )
            for element, item in zip(target.elts, values, strict=True):
                self._assign(node, element, item)
            return
        for name, item in self._unpack(target, list(value)):
            if isinstance(item, list):
                self.env.bind(
                    name.id, [self._named(node, name.id, i, v) for i, v in enumerate(item)]
                )
            else:
                self._assign(node, name, item)

    def _named(self, node: ast.AST, name: str, position: int, value: Any) -> Any:
        """Return one of several values of a name with a star."""
        if not isinstance(value, T.Axis):
            return value
        self._bind(node, f"{name}_{position}", value)
        return self.env[f"{name}_{position}"]

    def _visit_augassign(self, node: ast.AugAssign) -> None:
        function = _BINARY.get(type(node.op))
        if function is None:
            raise self.error(node, "expected an operator of tensor programs")
        current = self.evaluate(node.target)
        value = self._call(node, function, current, self.evaluate(node.value))
        self._assign(node, node.target, value)

    def _visit_annassign(self, node: ast.AnnAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.error(node.target, "expected a name")
        name = node.target.id
        annotation = self._annotation(node.annotation)
        immutable = False
        if isinstance(annotation, T.LetType):
            immutable = True
            dtype = annotation.dtype
        elif isinstance(annotation, T.DType):
            dtype = annotation.name
        elif isinstance(annotation, T.BufferType) and node.value is not None:
            self._assign(node, node.target, self.evaluate(node.value))
            return
        elif isinstance(annotation, tir.Var):
            dtype = annotation.dtype
        else:
            raise self.error(
                node.annotation,
                f"expected a data type such as T.int32, or T.let, but got {_describe(annotation)}",
            )
        if node.value is None:
            if immutable:
                raise self.error(node, "expected a value for T.let")
            if dtype == "handle":
                raise self.error(node.annotation, "expected the data type of a number")
            if dtype is not None:
                self._scalar(node, name, dtype)
            return
        value = self.as_expr(node.value, self.evaluate(node.value), dtype)
        if dtype is not None and value.dtype != dtype:
            value = self._convert(node.value, value, dtype)
        if not immutable and self._assigned.get(name, 0) > 1:
            buffer = self._scalar(node, name, value.dtype)
            self._store(node, buffer, (), value)
            return
        var = tir.Var(name, value.dtype)
        self.emit(st.Let(var, value), node)
        self.env.bind(name, var)

    def _scalar(self, node: ast.AST, name: str, dtype: str) -> st.Buffer:
        """Make a scalar that can be assigned to."""
        buffer = st.Buffer(name, (), dtype, "local")
        self.emit(st.Alloc(buffer), node)
        self.env.bind(name, T.Scalar(buffer))
        return buffer

    def _bind(self, node: ast.AST, name: str, value: Any) -> None:
        """Have a name stand for a value, as an assignment does."""
        current = self.env.bound(name)
        if isinstance(current, T.Scalar):
            if isinstance(value, tir.PrimExpr | int | float):
                self._store(node, current.buffer, (), value)
                return
            raise self.error(node, f"expected a number for '{name}', but got {_describe(value)}")
        if (
            isinstance(current, st.Buffer)
            and isinstance(value, tir.PrimExpr | int | float)
            and len(current.shape) <= 1
        ):
            self._store(node, current, (0,) * len(current.shape), value)
            return
        visit = self._bindings.get(type(value))
        if visit is not None:
            visit(self, node, name, value)
        elif isinstance(value, tir.Var) and not value.name:  # n = T.int64()
            self.env.bind(name, tir.Var(name, value.dtype))
        elif isinstance(value, tir.Var):
            self.env.bind(name, value)
        elif isinstance(value, tir.PrimExpr | int | float):
            self._number(node, name, value)
        elif isinstance(value, T.Vector) and value.loads():
            raise self.error(node, "expected a vector to be stored where it is loaded")
        elif isinstance(value, T.Evaluate | T.Store | T.ForFrame | T.BlockFrame | T.FuncAttr):
            raise self.error(node, f"expected a value for '{name}', but got {_describe(value)}")
        else:
            self.env.bind(name, value)  # a buffer, a part of one, or a value of Python

    def _meta_var(self, node: ast.AST, name: str, value: T.MetaVar) -> None:
        self.env.bind(name, value.value)

    def _allocate(self, node: ast.AST, name: str, value: T.Allocation) -> None:
        buffer = self._buffer(node, name, value.type)
        self.emit(st.Alloc(buffer), node)
        self.env.bind(name, buffer)

    def _let_name(self, node: ast.AST, name: str, value: T.LetFrame) -> None:
        self._let(node, ast.Name(name, ast.Store()), value)

    def _number(self, node: ast.AST, name: str, value: Any) -> None:
        """Name a number: in memory if it changes."""
        expr = self.as_expr(node, value)
        if self._assigned.get(name, 0) > 1:
            self._store(node, self._scalar(node, name, expr.dtype), (), expr)
            return
        var = tir.Var(name, expr.dtype)
        self.emit(st.Let(var, expr), node)
        self.env.bind(name, var)

    def _match_buffer(self, node: ast.AST, name: str, match: T.MatchBuffer) -> None:
        if isinstance(match.param, T.Region | st.Buffer | tir.BufferLoad):
            self._view(node, name, match)
            return
        index = self._handles.pop(id(match.param), None)
        if index is None:
            what = _describe(match.param)
            raise self.error(
                node,
                "expected T.match_buffer of a parameter of type T.handle that is not matched yet, "
                f"but got {what}",
            )
        buffer = self._buffer(node, name, match.type)
        self._params[index] = buffer
        self.env.bind(name, buffer)

    def _view(self, node: ast.AST, name: str, match: T.MatchBuffer) -> None:
        """Name a part of a buffer."""
        part = match.param
        if isinstance(part, st.Buffer):
            source, indices = part, (slice(None),) * part.ndim
        else:
            source, indices = part.buffer, tuple(part.indices)
        region = [
            self._extent(node, index, size)
            for index, size in zip(indices, source.shape, strict=True)
        ]
        buffer = self._buffer(node, name, match.type)
        axes = list(range(source.ndim))
        if buffer.ndim != source.ndim:
            axes = [axis for axis in axes if isinstance(indices[axis], slice)]
        if buffer.ndim != len(axes):
            raise self.error(
                node, f"expected a shape of {len(axes)} dimensions, but got {buffer.ndim}"
            )
        if buffer.dtype != source.dtype:
            raise self.error(
                node, f"expected the data type {source.dtype} of the buffer, but got {buffer.dtype}"
            )
        for axis, size in zip(axes, buffer.shape, strict=True):
            extent = region[axis][1]
            if _differ(extent, size):
                raise self.error(node, f"expected the size {extent} of the part, but got {size}")
        buffer = st.Buffer(name, buffer.shape, buffer.dtype, source.scope())
        self.emit(st.View(buffer, source, region, axes), node)
        self.env.bind(name, buffer)

    def _extent(
        self, node: ast.AST, index: Any, size: tir.PrimExpr
    ) -> tuple[tir.PrimExpr, tir.PrimExpr]:
        """Return where an index begins, and how far it goes."""
        if not isinstance(index, slice):
            return self.as_expr(node, index), tir.const(1, "int32")
        if index.step is not None:
            raise self.error(node, "expected a part without a step")
        start = self.as_expr(node, 0 if index.start is None else index.start)
        stop = size if index.stop is None else self.as_expr(node, index.stop)
        return start, self._call(node, _length, start, stop)

    def _reshape(self, node: ast.AST, name: str, made: T.Reshape) -> None:
        """Name all elements of a buffer in another shape."""
        buffer, source = self._buffer(node, name, made.type), made.source
        if buffer.dtype != source.dtype:
            raise self.error(
                node, f"expected the data type {source.dtype} of the buffer, but got {buffer.dtype}"
            )
        if 1 not in (buffer.ndim, source.ndim):
            raise self.error(
                node, "expected one dimension in the old shape or in the new one, but got others"
            )
        count, known = buffer.size, source.size
        if _differ(count, known):
            raise self.error(node, f"expected a shape of {known} elements, but got {count}")
        buffer = st.Buffer(name, buffer.shape, buffer.dtype, source.scope())
        self.emit(st.View(buffer, source), node)
        self.env.bind(name, buffer)

    def _axis(self, node: ast.AST, name: str, axis: T.Axis) -> None:
        block = self._bodies.blocks[-1]
        if block is None:
            raise self.error(node, f"expected T.axis.{axis.kind} in a block")
        binding = self.as_expr(node, axis.binding)
        domain = axis.domain
        if domain is None:  # T.axis.remap
            loop = self._find_loop(binding)
            if loop is None:
                raise self.error(
                    node, f"expected variables of loops in T.axis.remap, but got {binding}"
                )
            domain = (loop.min, loop.extent)
        start, extent = (self.as_expr(node, end) for end in domain)
        var = tir.Var(name, extent.dtype)
        block.axes.append(st.Axis(var, axis.kind, start, extent, binding))
        self.env.bind(name, var)

    _bindings: ClassVar[dict[type, Callable[..., None]]] = {
        T.MetaVar: _meta_var,
        T.MatchBuffer: _match_buffer,
        T.Allocation: _allocate,
        T.Axis: _axis,
        T.Reshape: _reshape,
        T.LetFrame: _let_name,
    }

    def _find_loop(self, var: Any) -> st.For | None:
        """Return the loop around the current statement that has a variable."""
        return next((loop for loop in self._loops if loop.var is var), None)

    def _visit_assert(self, node: ast.Assert) -> None:
        raise self.error(
            node, "expected no assertion: a kernel cannot raise errors; check sizes in Relax"
        )

    @property
    def _kinds(self) -> list[str]:
        """The kinds of the loops around, outermost first; "grid" has several variables."""
        return self._loop_kinds

    def _visit_break(self, node: ast.Break) -> None:
        if not self._kinds:
            raise self.error(node, "expected break in a loop")
        if self._kinds[-1] == "grid":
            raise self.error(node, "expected break in a loop of one variable")
        if self._kinds[-1] != "serial":
            raise self.error(node, "expected no break in a loop that is not serial")
        self.emit(st.Break(), node)

    def _visit_continue(self, node: ast.Continue) -> None:
        if not self._kinds:
            raise self.error(node, "expected continue in a loop")
        self.emit(st.Continue(), node)

    @contextlib.contextmanager
    def _kind(self, kind: str) -> Iterator[None]:
        """Note the kind of the loop whose body is parsed."""
        self._loop_kinds.append(kind)
        try:
            yield
        finally:
            self._loop_kinds.pop()

    def _store(
        self,
        node: ast.AST,
        buffer: Any,
        indices: Sequence[Any],
        value: Any,
        statement: ast.AST | None = None,
    ) -> None:
        if isinstance(buffer, T.Scalar):
            buffer = buffer.buffer
        if not isinstance(buffer, st.Buffer):
            raise self.error(node, f"expected a buffer, but got {_describe(buffer)}")
        if isinstance(value, T.Region):
            value = self._slice(node, value)
        if any(isinstance(each, T.Vector | slice) for each in (value, *indices)):
            self._store_vector(node, buffer, indices, value, statement or node)
            return
        checked = self._check_indices(node, buffer, indices)
        expr = self.as_expr(getattr(statement, "value", None) or node, value, buffer.dtype)
        if expr.dtype != buffer.dtype:
            expr = self._convert(node, expr, buffer.dtype)
        self.emit(st.BufferStore(buffer, expr, checked), statement or node)

    def _check_indices(
        self, node: ast.AST, buffer: st.Buffer, indices: Sequence[Any]
    ) -> tuple[tir.PrimExpr, ...]:
        if len(indices) != len(buffer.shape):
            raise self.error(
                node,
                f"expected {len(buffer.shape)} indices for buffer '{buffer.name}' of shape "
                f"({', '.join(map(str, buffer.shape))}), but got {len(indices)}",
            )
        checked = []
        for index in indices:
            if isinstance(index, slice):
                raise self.error(node, "expected one element, but got a slice of the buffer")
            expr = self.as_expr(node, index)
            if not expr.dtype.startswith(("int", "uint")):
                raise self.error(node, f"expected an integer as index, but got {expr.dtype}")
            checked.append(expr)
        return tuple(checked)

    # -----------------------------------------------------------------------------------------
    # Expressions
    # -----------------------------------------------------------------------------------------

    def as_expr(self, node: ast.AST, value: Any, dtype: str | None = None) -> tir.PrimExpr:
        """Return a value of Python as an expression; a number gets `dtype` if it can have it."""
        if isinstance(value, T.Scalar):
            return value.load()
        if isinstance(value, T.MetaVar):
            value = value.value
        if isinstance(value, st.Buffer) and not value.shape:
            return tir.BufferLoad(value, ())
        if isinstance(value, tir.PrimExpr):
            return value
        if isinstance(value, bool | int | float):
            return self._call(node, tir.const, value, *([dtype] if dtype else []))
        raise self.error(node, f"expected a number, but got {_describe(value)}")

    def _convert(self, node: ast.AST, value: tir.PrimExpr, dtype: str) -> tir.PrimExpr:
        return self._call(node, tir.cast, dtype, value)

    def _call(self, node: ast.AST, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function of Python; what it raises becomes an error at the node."""
        try:
            return vectors.lifted(function, args, kwargs)
        except ScriptError:
            raise
        except Exception as error:
            message = str(error) or type(error).__name__
            raise self.error(node, message) from error

    def evaluate(self, node: ast.expr) -> Any:
        """Evaluate an expression."""
        visit = getattr(self, f"_eval_{type(node).__name__.lower()}", None)
        if visit is None:
            raise self.error(
                node, f"expected an expression of a tensor program, but got {_kind(node)}"
            )
        return visit(node)

    def _eval_constant(self, node: ast.Constant) -> Any:
        return node.value

    def _eval_name(self, node: ast.Name) -> Any:
        try:
            value = self.env[node.id]
        except NameError as error:
            raise self.error(node, str(error)) from None
        return value.load() if isinstance(value, T.Scalar) else value

    def _eval_attribute(self, node: ast.Attribute) -> Any:
        value = self.evaluate(node.value)
        try:
            return getattr(value, node.attr)
        except NameError as error:
            raise self.error(node, str(error)) from None
        except AttributeError:
            owner = self.source.segment(node.value)
            close = difflib.get_close_matches(node.attr, dir(value), n=1)
            hint = f"; did you mean '{owner}.{close[0]}'?" if close else ""
            raise self.error(
                node, f"expected a member of {owner}, but got '{node.attr}'{hint}"
            ) from None

    def _eval_tuple(self, node: ast.Tuple) -> Any:
        return tuple(self._elements(node.elts))

    def _eval_list(self, node: ast.List) -> Any:
        return self._elements(node.elts)

    def _eval_set(self, node: ast.Set) -> Any:
        return set(self._elements(node.elts))

    def _eval_dict(self, node: ast.Dict) -> Any:
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                result.update(self.evaluate(value))
            else:
                result[self.evaluate(key)] = self.evaluate(value)
        return result

    def _elements(self, nodes: Sequence[ast.expr]) -> list[Any]:
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values.extend(self._call(node, list, self.evaluate(node.value)))
            else:
                values.append(self.evaluate(node))
        return values

    def _indices(self, node: ast.expr) -> tuple[Any, ...]:
        """Evaluate the expressions in brackets."""
        if isinstance(node, ast.Tuple):
            return tuple(self._elements(node.elts))
        value = self.evaluate(node)
        return tuple(value) if isinstance(value, tuple | list) else (value,)

    def _eval_slice(self, node: ast.Slice) -> Any:
        return slice(
            *(
                None if part is None else self.evaluate(part)
                for part in (node.lower, node.upper, node.step)
            )
        )

    def _eval_subscript(self, node: ast.Subscript) -> Any:
        value = self.evaluate(node.value)
        if isinstance(value, T.Scalar):
            value = value.buffer
        if isinstance(value, tir.BufferLoad) and self._is_scalar(node.value):
            value = value.buffer
        if isinstance(value, st.Buffer):
            indices = self._indices(node.slice)
            if any(isinstance(index, T.Vector) for index in indices):
                return self._load_vector(node, value, indices)
            if any(isinstance(index, slice) for index in indices):
                if len(indices) != len(value.shape):
                    raise self.error(
                        node, f"expected {len(value.shape)} indices, but got {len(indices)}"
                    )
                return T.Region(value, indices)
            return tir.BufferLoad(value, self._check_indices(node, value, indices))
        if isinstance(value, tir.PrimExpr):
            raise self.error(node.value, f"expected a buffer, but got {_describe(value)}")
        key = self.evaluate(node.slice)
        return self._call(node, operator.getitem, value, key)

    def _is_scalar(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and isinstance(self.env.get(node.id), T.Scalar)

    def _eval_binop(self, node: ast.BinOp) -> Any:
        function = _BINARY.get(type(node.op))
        if function is None:
            raise self.error(node, "expected an operator of tensor programs")
        return self._call(node, function, self._operand(node.left), self._operand(node.right))

    def _operand(self, node: ast.expr) -> Any:
        value = self.evaluate(node)
        if isinstance(value, T.MetaVar):
            return value.value
        if isinstance(value, st.Buffer):
            return self.as_expr(node, value)
        return self._slice(node, value) if isinstance(value, T.Region) else value

    def _load_vector(self, node: ast.AST, buffer: st.Buffer, indices: Sequence[Any]) -> T.Vector:
        """Return elements of a buffer, some of whose indices are vectors."""
        lanes = self._call(node, vectors.common_lanes, indices)

        def at(lane: tir.PrimExpr) -> tir.PrimExpr:
            places = [vectors.part(index, lane) for index in indices]
            return tir.BufferLoad(buffer, self._check_indices(node, buffer, places))

        at(tir.const(0, "int32"))
        return T.Vector(lanes, at)

    def _slice(self, node: ast.AST, region: T.Region) -> T.Vector:
        """Return a slice of a buffer as a vector."""
        indices = [self._lanes_of(node, index) for index in region.indices]
        if sum(isinstance(index, T.Vector) for index in indices) != 1:
            raise self.error(node, "expected one element, or one slice of a size that is known")
        return self._load_vector(node, region.buffer, indices)

    def _lanes_of(self, node: ast.AST, index: Any) -> Any:
        """Return a slice of a known size as a vector of indices."""
        if not isinstance(index, slice):
            return index
        stride = 1 if index.step is None else index.step
        if index.stop is None or not isinstance(stride, int) or stride < 1:
            raise self.error(node, "expected one element, but got a slice of the buffer")
        start = self.as_expr(node, 0 if index.start is None else index.start)
        length = self._call(node, _length, start, self.as_expr(node, index.stop))
        if not isinstance(length, tir.IntImm) or length.value < 1:
            raise self.error(node, "expected one element, but got a slice of the buffer")
        return self._call(node, vectors.Ramp, start, stride, -(-length.value // stride))

    def _store_vector(
        self, node: ast.AST, buffer: st.Buffer, indices: Sequence[Any], value: Any, place: ast.AST
    ) -> None:
        """Store a vector, lane by lane."""
        indices = [self._lanes_of(node, index) for index in indices]
        lanes = self._call(node, vectors.common_lanes, [*indices, value])
        if not any(isinstance(index, T.Vector) for index in indices):
            raise self.error(node, f"expected {lanes} elements, but got one, to store a vector to")
        is_read = isinstance(value, T.Vector) and any(
            load.buffer is buffer for load in value.loads()
        )
        if is_read:  # all of it is loaded before any of it is stored
            copy = st.Buffer("lanes", (lanes,), buffer.dtype, "local")
            self.emit(st.Alloc(copy), place)
            self._each_lane(node, copy, [vectors.Ramp(0, 1, lanes)], value, lanes, place)
            value = self._load_vector(node, copy, [vectors.Ramp(0, 1, lanes)])
        self._each_lane(node, buffer, indices, value, lanes, place)

    def _each_lane(
        self,
        node: ast.AST,
        buffer: st.Buffer,
        indices: Sequence[Any],
        value: Any,
        lanes: int,
        place: ast.AST,
    ) -> None:
        lane = tir.Var("lane", "int32")
        zero, end = (tir.const(number, "int32") for number in (0, lanes))
        loop = st.For(lane, zero, end, [], kind="vectorized")
        self.emit(loop, place)
        with self._bodies.body(loop.body):
            places = [vectors.part(index, lane) for index in indices]
            self._store(node, buffer, places, vectors.part(value, lane), place)

    def _eval_unaryop(self, node: ast.UnaryOp) -> Any:
        value = self._operand(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(value, tir.PrimExpr):
                return self._call(node, tir.logical_not, self._as_condition(node.operand, value))
            return not value
        return self._call(node, _UNARY[type(node.op)], value)

    def _eval_boolop(self, node: ast.BoolOp) -> Any:
        conjunction = isinstance(node.op, ast.And)
        combine = tir.logical_and if conjunction else tir.logical_or
        result = self._operand(node.values[0])
        for operand in node.values[1:]:
            if not isinstance(result, tir.PrimExpr):  # decided by Python
                if bool(result) is not conjunction:
                    return result
                result = self._operand(operand)
                continue
            value = self._operand(operand)
            lhs = self._as_condition(node, result)
            result = self._call(node, combine, lhs, self._as_condition(operand, value))
        return result

    def _eval_compare(self, node: ast.Compare) -> Any:
        lhs = self._operand(node.left)
        result: Any = None
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            rhs = self._operand(comparator)
            value = self._call(node, _COMPARE[type(op)], lhs, rhs)
            if result is None:
                result = value
            elif isinstance(result, tir.PrimExpr) or isinstance(value, tir.PrimExpr):
                result = self._call(node, tir.logical_and, result, value)
            else:
                result = result and value
            lhs = rhs
        return result

    def _eval_ifexp(self, node: ast.IfExp) -> Any:
        test = self._operand(node.test)
        if not isinstance(test, tir.PrimExpr):
            return self.evaluate(node.body if test else node.orelse)
        condition = self._as_condition(node.test, test)
        then, otherwise = self._operand(node.body), self._operand(node.orelse)
        return self._call(node, T.if_then_else, condition, then, otherwise)

    def _eval_joinedstr(self, node: ast.JoinedStr) -> Any:
        return "".join(str(self.evaluate(value)) for value in node.values)

    def _eval_formattedvalue(self, node: ast.FormattedValue) -> Any:
        return self.evaluate(node.value)

    def _eval_lambda(self, node: ast.Lambda) -> Any:
        parameters = [arg.arg for arg in node.args.args]

        def function(*args: Any) -> Any:
            with self.env.scope():
                for name, value in zip(parameters, args, strict=True):
                    self.env.bind(name, value)
                return self.evaluate(node.body)

        return function

    def _comprehension(
        self, generators: Sequence[ast.comprehension], element: Callable[[], Any]
    ) -> list[Any]:
        if not generators:
            return [element()]
        first, *others = generators
        values: list[Any] = []
        for value in self._call(first.iter, list, self.evaluate(first.iter)):
            with self.env.scope():
                self._bind_python(first.target, value)
                if all(self.evaluate(test) for test in first.ifs):
                    values.extend(self._comprehension(others, element))
        return values

    def _bind_python(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for element, item in zip(target.elts, value, strict=True):
                self._bind_python(element, item)
        elif isinstance(target, ast.Name):
            self.env.bind(target.id, value)
        else:
            raise self.error(target, "expected a name")

    def _eval_listcomp(self, node: ast.ListComp) -> Any:
        return self._comprehension(node.generators, lambda: self.evaluate(node.elt))

    def _eval_generatorexp(self, node: ast.GeneratorExp) -> Any:
        return self._comprehension(node.generators, lambda: self.evaluate(node.elt))

    def _arguments(self, node: ast.Call) -> list[Any]:
        return [
            value.value if isinstance(value, T.MetaVar) else value
            for value in self._elements(node.args)
        ]

    def _eval_call(self, node: ast.Call) -> Any:
        function = self.evaluate(node.func)
        args = self._arguments(node)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is None:
                kwargs.update(value)
            else:
                kwargs[keyword.arg] = value
        if isinstance(function, GlobalVar):
            return self._call_kernel(node, function, args, kwargs)
        if isinstance(function, tir.PrimExpr) or not callable(function):
            raise self.error(node.func, f"expected a function, but got {_describe(function)}")
        if function not in (T.reads, T.writes, T.match_buffer):
            args = [self._slice(node, arg) if isinstance(arg, T.Region) else arg for arg in args]
        return self._call(node, function, *args, **kwargs)

    def _call_kernel(
        self, node: ast.Call, callee: GlobalVar, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tir.PrimExpr:
        """Return the call of another function of the module that returns a scalar."""
        kernel = self._kernel(callee.name)
        if kernel is None:
            raise self.error(
                node.func,
                f"expected a kernel of the module that does not call this one, but got "
                f"'{callee.name}'",
            )
        params, results = _dtypes(kernel, "arg_attrs"), _dtypes(kernel, "res_attrs")
        if kwargs or len(args) != len(params):
            raise self.error(node, f"expected {len(params)} arguments of '{callee.name}'")
        if len(results) != 1 or None in params:
            raise self.error(
                node.func, f"expected '{callee.name}' to take scalars and to return one"
            )
        values = []
        for arg, dtype, place in zip(args, params, node.args, strict=False):
            value = self.as_expr(place, arg, dtype)
            values.append(
                value if value.dtype == dtype else self._convert(place, value, str(dtype))
            )
        return tir.Call(str(results[0]), "call_extern", (tir.StringImm(callee.name), *values))

    def _kernel(self, name: str) -> Any:
        for operation in () if self.module is None else self.module.body.operations:
            if isinstance(operation, func.FuncOp) and operation.name.value == name:
                return operation
        return None


def _dtypes(kernel: func.FuncOp, attrs: str) -> list[str | None]:
    """Return the data types of the parameters or results of a kernel, None for a buffer."""
    types = kernel.type.inputs if attrs == "arg_attrs" else kernel.type.results
    said: Any = kernel.attributes[attrs] if attrs in kernel.attributes else [{}] * len(types)
    result: list[str | None] = []
    for type_, given in zip(types, said, strict=True):
        stated = given[TYPE].value if TYPE in given else None
        if isinstance(stated, PrimStructInfo):
            result.append(stated.dtype)
        else:
            is_number = isinstance(type_, ir.IntegerType | ir.FloatType)
            result.append(dtype_name(type_) if is_number else None)
    return result


def _differ(a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
    """Say whether two sizes are known to differ."""
    return isinstance(a, tir.IntImm) and isinstance(b, tir.IntImm) and a.value != b.value


def _length(start: tir.PrimExpr, stop: tir.PrimExpr) -> tir.PrimExpr:
    """Return how far it is; n for n from x to x + n."""
    for node in (stop,) if isinstance(stop, tir.Add) else ():
        for first, other in ((node.a, node.b), (node.b, node.a)):
            if tir.structural_equal(first, start):
                return other
    return stop - start


def _kind(node: ast.AST) -> str:
    """Return the name of a kind of node of the syntax tree."""
    return _KINDS.get(type(node).__name__, type(node).__name__)


_KINDS = {
    "AsyncFor": "an asynchronous loop",
    "Await": "await",
    "Break": "break",
    "ClassDef": "a class",
    "Continue": "continue",
    "Delete": "del",
    "FunctionDef": "a function",
    "Global": "global",
    "Import": "import",
    "ImportFrom": "import",
    "NamedExpr": "an assignment",
    "Nonlocal": "nonlocal",
    "Raise": "raise",
    "Try": "try",
    "Yield": "yield",
}


def _describe(value: Any) -> str:
    """Return a description of a value, for messages."""
    if isinstance(value, st.Buffer):
        return f"buffer '{value.name}'"
    if isinstance(value, tir.PrimExpr):
        return f"{value} of type {value.dtype}"
    if isinstance(value, str | int | float | bool | None):
        return repr(value)
    if hasattr(value, "describe"):
        return value.describe()
    name = getattr(value, "__name__", None)
    return f"'{name}'" if name else f"a value of type {type(value).__name__}"
