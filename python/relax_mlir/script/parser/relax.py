# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relax functions: the statements of their bodies."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlir import ir

from ... import op as _op
from ...builder.block_builder import BlockBuilder
from ...core.expr import GlobalVar, Var, as_value
from ...core.ir import ShapeStructInfo, TupleStructInfo
from ...dialects import relax as _ops
from ...tir import Var as ShapeVar
from ...tir.attributes import attribute
from ..annotations import as_annotation, as_dim
from ..operators import argument
from .expressions import constant_of
from .signature import Signature, SignatureParser

if TYPE_CHECKING:
    from ..macros import Macro
    from .module import ModuleParser


class MetaVar:
    """The result of ``I.meta_var``: a value of Python that a name is bound to as it is."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Dataflow:
    """The result of ``R.dataflow()``."""


class SequenceFrame:
    """The result of ``I.seq()``."""


class NextOperation:
    """The result of ``I.annotate``: additional attributes and types for the next statement."""

    def __init__(self, attrs: dict[str, Any], types: list[ir.Type] | None) -> None:
        self.attrs, self.types = attrs, types

    def apply(self, op: ir.Operation) -> None:
        """Have an operation say so.

        Raises
        ------
        ValueError, mlir.ir.MLIRError
            If it cannot.
        """
        for name, value in self.attrs.items():
            if name in op.attributes:
                raise ValueError(f"expected another name for an attribute, but got '{name}'")
            op.attributes[name] = attribute(name, value)
        if self.types is None:
            return
        if len(self.types) != len(op.results):
            raise ValueError(
                f"expected {len(op.results)} types, one for each value of the statement, but got "
                f"{len(self.types)}"
            )
        for result, type_ in zip(op.results, self.types, strict=True):
            result.set_type(type_)
        op.verify()


class FunctionParser(SignatureParser):
    """Parses one Relax function, with the functions inside of it.

    Parameters
    ----------
    module : ModuleParser
        The program.
    """

    def __init__(self, module: ModuleParser) -> None:
        super().__init__(module.source, module.env)
        self.module = module
        self.builder: BlockBuilder = module.builder
        # The name and the value that the last statement bound, for branches.
        self.last: tuple[str, Any] | None = None
        # The value of the last statement that binds no name, in a branch without any.
        self._effect: ir.Value | None = None
        # The names that a dataflow block has bound so far; None outside of one.
        self.dataflow: list[str] | None = None
        self._outputs: list[tuple[str, Var]] | None = None
        self._is_returned = False
        # Whether it is in the spelling of the RFC.
        self.is_rfc = False
        # The annotation of the next statement by the one before, and its place.
        self._next: tuple[NextOperation, ast.AST] | None = None

    def is_opaque_dataflow(self) -> bool:
        """Say whether calls of packed functions have no effects, as the RFC has it."""
        return self.is_rfc and self.dataflow is not None

    # -- functions ----------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef, pure: bool, private: bool) -> None:
        """Write a function of the module."""
        with self.env.scope():
            self.shape_names = set()
            signature = self.signature(node)
            with (
                self.at(node),
                self.builder.function(
                    node.name,
                    signature.params,
                    pure=pure,
                    private=private,
                    ret_struct_info=signature.result,
                ),
            ):
                self._whole_body(node, signature)

    def closure(self, node: ast.FunctionDef, pure: bool) -> None:
        """Write a function inside of another one."""
        saved = self.last, self.dataflow, self._outputs
        shape_names = set(self.shape_names)
        self.last, self.dataflow, self._is_returned = None, None, False
        is_recursive = _calls(node, node.name)
        with self.env.scope():
            signature = self.signature(node)
            result = signature.result
            if result is None and is_recursive:
                raise self.error(node, recursive(node.name))
            with (
                self.at(node),
                self.builder.closure(
                    node.name, signature.params, pure=pure, ret_struct_info=result
                ) as variable,
            ):
                if is_recursive:
                    self.env.bind(node.name, variable.value)
                self._whole_body(node, signature)
        self.last, self.dataflow, self._outputs = saved
        self.shape_names = shape_names  # those of its own are not visible any more
        self._is_returned = False
        self.bind(node.name, variable.value)

    def _whole_body(self, node: ast.FunctionDef, signature: Signature) -> None:
        for param in signature.params:
            self.env.bind(param.name, param.value)
        for index, statement in enumerate(node.body):
            if self._is_returned:
                raise self.error(
                    statement, "expected the return statement at the end, but got more after it"
                )
            if isinstance(statement, ast.Return):
                self._return(statement)
            elif isinstance(statement, ast.With) and isinstance(statement.body[-1], ast.Return):
                self._dataflow_block(statement, statement.body[-1])
            elif not (index == 0 and isinstance(constant_of(statement), str)):
                self.statement(statement)
        if not self._is_returned:
            raise self.error(
                node.body[-1],
                f"expected a return statement at the end of function '{node.name}'; one without a "
                "result ends with return R.tuple()",
            )

    def _return(self, node: ast.Return) -> None:
        value: Any = ()
        if node.value is not None:
            value = self.eval(node.value)
        with self.at(node):
            self.builder.emit_func_output(_value(value))
        self.module.note_warnings(node)
        self._is_returned = True

    def inline(self, macro: Macro, arguments: dict[str, Any]) -> Any:
        """Write the statements of a macro here, and return its value."""
        inner = FunctionParser(self.module)
        inner.source, inner.shape_names = macro.source, self.shape_names
        inner.dataflow = None if self.dataflow is None else []
        names = self.env.only(*macro.around) if macro.hygienic else self.env.scope()
        *statements, last = macro.node.body
        if not isinstance(last, ast.Return) or last.value is None:
            raise macro.source.error(macro.node, "expected a macro to end with a return statement")
        with self.module.inside(inner), names:
            for name, value in arguments.items():
                self.env.bind(name, value)
            inner.body(
                statements[1:] if isinstance(constant_of(macro.node.body[0]), str) else statements
            )
            return inner.eval(last.value)

    # -- statements ---------------------------------------------------------------------------

    def statement(self, node: ast.stmt) -> None:
        """Write a statement."""
        method = getattr(self, f"_visit_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.error(node, _instead(node))
        self.module.note_warnings(node)
        if self._next is not None and not isinstance(node, ast.If | ast.With):
            raise self.error(
                node, "expected an if statement, a dataflow block or I.seq after I.annotate"
            )
        method(node)
        self.module.note_warnings(node)

    def body(self, statements: list[ast.stmt]) -> None:
        """Write statements."""
        for statement in statements:
            self.statement(statement)

    def _visit_pass(self, node: ast.Pass) -> None:
        pass

    # Their effect on names of Python holds anyway.
    _visit_global = _visit_nonlocal = _visit_pass

    def _visit_return(self, node: ast.Return) -> None:
        raise self.error(
            node, "expected the return statement at the end of the function, but got it in a block"
        )

    def _visit_assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.error(node.targets[1], "expected one name on the left, but got a = b = c")
        if isinstance(node.value, ast.Name) and self.env.get(node.value.id) is self.module.names:
            self.env.bind(_name_of(node.targets[0]), self.module.names)
            return
        value = self.eval(node.value)
        if isinstance(node.value, ast.Name) and isinstance(node.targets[0], ast.Name):
            self._alias(node.targets[0], value)
            return
        self._bind_target(node.targets[0], value)

    def _alias(self, target: ast.Name, value: Any) -> None:
        """Bind another name to a value, which keeps its own."""
        if isinstance(value, ShapeVar):
            self._declare(target, target.id, value)
            return
        self.env.bind(target.id, value)
        if isinstance(value, ir.Value):
            self.last = (target.id, value)
            if self.dataflow is not None:
                self.dataflow.append(target.id)

    def _visit_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise self.error(node, "expected a value after the annotation")
        if not isinstance(node.target, ast.Name):
            raise self.error(node.target, "expected a name before the annotation")
        with self.implicit(self.implicit_shape_var):
            given = self.eval(node.annotation)
        with self.at(node.annotation):
            declared = as_annotation(given).struct_info()
        value = argument(self.eval(node.value))
        is_stated = isinstance(value, ir.Value) and value.type == declared
        if isinstance(node.value, ast.Name) and is_stated:
            self._alias(node.target, value)
            return
        with self.at(node.value):
            if isinstance(value, tuple) and isinstance(declared, ShapeStructInfo):
                value = _op.shape([as_dim(item) for item in value])
            bindable = _op.const(value) if isinstance(value, (bool, int, float)) else value
            result = self.builder.emit(_value(bindable), node.target.id, declared)
        self.bind(node.target.id, result)

    def _declare(self, node: ast.AST, name: str, made: ShapeVar) -> None:
        """Have a name stand for a shape variable, as ``n = T.int64()`` says."""
        if made.name not in ("", name):
            raise self.error(
                node, f"expected the name '{made.name}' of the shape variable, but got '{name}'"
            )
        old = self.env.bound(name)
        if isinstance(old, ShapeVar):
            if made.dtype != old.dtype:
                raise self.error(
                    node,
                    f"expected a variable of type {old.dtype}, as before, but got {made.dtype}",
                )
            return
        if old is not None:
            raise self.error(
                node, f"expected a new name for the shape variable, but '{name}' is a value"
            )
        is_shape = made.dtype == "int64"
        variable = self._new_shape_var(name) if is_shape else ShapeVar(name, made.dtype)
        self.env.bind(name, variable)

    def _bind_target(self, target: ast.AST, value: Any) -> None:
        """Bind the names on the left of an assignment."""
        self.assign(target, value, lambda name, item: self._bind_name(target, name, item))

    def _bind_name(self, node: ast.AST, name: str, value: Any) -> None:
        if isinstance(value, ShapeVar):
            self._declare(node, name, value)
            return
        with self.at(node):
            self.bind(name, self._bindable(value))

    def _bindable(self, value: Any) -> Any:
        """Return the value to bind a name to: numbers and tuples become values of the program."""
        if isinstance(value, MetaVar):
            return value.value
        if isinstance(value, (bool, int, float)):
            return _op.const(value)
        if isinstance(value, tuple) and _has_values(value):
            return _value(value)
        return value

    def bind(self, name: str, value: Any) -> None:
        """Have a name stand for a value from now on."""
        if isinstance(value, Var):
            value = value.value
        if isinstance(value, ir.Value):
            self._name(value, name)
            self.last = (name, value)
            if self.dataflow is not None:
                self.dataflow.append(name)
        self.env.bind(name, value)

    def _name(self, value: ir.Value, name: str) -> None:
        """Keep a name with the operation of a value, if it has none yet."""
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.location.is_a_name():
            return
        if isinstance(owner, _ops.DataflowOp):
            return
        owner.location = ir.Location.name(name, childLoc=owner.location)

    def _visit_expr(self, node: ast.Expr) -> None:
        value = self.eval(node.value)
        if value is None or value is Ellipsis:
            return
        if isinstance(value, NextOperation):
            self._next = value, node
            return
        if not isinstance(value, ir.Value):
            raise self.error(
                node, f"expected a call with an effect as a statement, but got {value!r}"
            )
        type_ = value.type
        is_void = isinstance(type_, TupleStructInfo) and not type_.fields
        if not is_void and not _is_impure_call(value):
            raise self.error(
                node,
                f"expected a name for this value of type {type_}, as in x = ...; only a call that "
                "returns nothing, or that may have side effects, is a statement",
            )
        self._effect = value

    def _annotation_of_next(self) -> Callable[[ir.Operation], None]:
        """Return a function that applies ``I.annotate`` to an operation, if it was there."""
        said, self._next = self._next, None

        def apply(op: ir.Operation) -> None:
            if said is not None:
                with self.at(said[1]):
                    said[0].apply(op)

        return apply

    def _visit_with(self, node: ast.With) -> None:
        is_plain = len(node.items) == 1 and node.items[0].optional_vars is None
        entered = self.eval(node.items[0].context_expr) if is_plain else None
        if isinstance(entered, SequenceFrame):
            self._sequence(node)
        else:
            self._dataflow_block(node, entered=entered)

    def _sequence(self, node: ast.With) -> None:
        """Write a sequence of bindings in a scope of its own."""
        annotate = self._annotation_of_next()
        dataflow, self.dataflow = self.dataflow, None
        names: list[str] = []
        with self.at(node):
            value = self.builder._sequence(self._branch(node.body, names))
            annotate(value.owner)
        self.dataflow = dataflow
        self._bind_last(names[0], value)

    def _dataflow_block(
        self, node: ast.With, end: ast.Return | None = None, entered: Any = None
    ) -> None:
        """Write a dataflow block; one that ends the function may hold its return statement."""
        annotate = self._annotation_of_next()
        if len(node.items) != 1 or node.items[0].optional_vars is not None:
            raise self.error(node.items[-1].context_expr, "expected 'with R.dataflow():'")
        if entered is None:
            entered = self.eval(node.items[0].context_expr)
        if not isinstance(entered, Dataflow):
            raise self.error(node.items[0].context_expr, "expected 'with R.dataflow():'")
        if self.dataflow is not None:
            raise self.error(node, "expected a dataflow block outside of another one")
        self._outputs, self.dataflow = None, []
        result = None
        with self.env.scope() as scope:
            with self.at(node):
                with self.builder.dataflow():
                    for statement in node.body if end is None else node.body[:-1]:
                        if self._outputs is not None:
                            message = "expected R.output at the end of the dataflow block"
                            raise self.error(statement, f"{message}, but got more after it")
                        self.statement(statement)
                    if end is not None and end.value is not None:
                        value = self.eval(end.value)
                        with self.at(end):
                            result = self.builder.emit_output(_value(value))
                annotate(ir.InsertionPoint.current.block.operations[-1].operation)
            shapes = {name: dim for name, dim in scope.items() if isinstance(dim, ShapeVar)}
        self._leave_dataflow(node, shapes)
        if end is not None and result is not None:
            with self.at(end):
                self.builder.emit_func_output(result)
            self._is_returned = True

    def _leave_dataflow(self, node: ast.With, shapes: dict[str, Any]) -> None:
        """Forget what a dataflow block has bound, but for its outputs and shape variables."""
        names, self.dataflow = self.dataflow or [], None
        for name in names:
            reason = (
                f"'{name}' is bound in the dataflow block of line {node.lineno} and can be used "
                "there only; R.output makes it visible after the block"
            )
            self.env.forget(name, reason)
        for name, dim in shapes.items():
            self.env.bind(name, dim)
        self.last = None
        for name, output in self._outputs or []:
            self.env.bind(name, output.value)
            self.last = (name, output.value)
        self._outputs = None

    def output(self, node: ast.Call) -> None:
        """Make values of a dataflow block visible after it."""
        if self.dataflow is None:
            raise self.error(node, "expected R.output at the end of 'with R.dataflow():'")
        outputs: list[tuple[str, Var]] = []
        for arg in node.args:
            if not isinstance(arg, ast.Name):
                raise self.error(arg, "expected the name of a value of the dataflow block")
            value = self.eval(arg)
            if not isinstance(value, ir.Value) or arg.id not in self.dataflow:
                raise self.error(
                    arg, f"expected a name that the dataflow block binds, but got '{arg.id}'"
                )
            with self.at(arg):
                outputs.append((arg.id, self.builder.emit_output(value)))
        self._outputs = outputs

    def _visit_if(self, node: ast.If) -> None:
        if self.dataflow is not None:
            raise self.error(node, "expected no if statement in a dataflow block [WF07]")
        if not node.orelse:
            raise self.error(node, "expected an else branch: both branches give a value")
        annotate = self._annotation_of_next()
        cond = self.eval(node.test)
        names: list[str] = []
        with self.at(node):
            cond = _value(cond)
            then, otherwise = (self._branch(part, names) for part in (node.body, node.orelse))
            value = self.builder.if_(cond, then, otherwise)
            annotate(value.owner)
        if names[0] != names[1]:
            what = " and ".join(f"'{name}'" if name else "none" for name in names)
            raise self.error(
                node.orelse[-1],
                f"expected both branches to bind the same name last, but got {what}",
            )
        self._bind_last(names[0], value)

    def _bind_last(self, name: str, value: ir.Value) -> None:
        """Bind what branches or a sequence give to the name that they bind, if they bind any."""
        if name:
            self.bind(name, value)
        else:
            self._effect = value

    def _branch(self, statements: list[ast.stmt], names: list[str]) -> Callable[[], Any]:
        """Return a function that writes statements, adds the last name, and returns its value.

        The names that they bind are visible in them only. Without any, the name is empty and the
        value that of the last call.
        """

        def write() -> Any:
            self.last = self._effect = None
            shape_names = set(self.shape_names)
            with self.env.scope():
                self.body(statements)
            self.shape_names = shape_names  # its own are not visible any more
            name, value = self._given()
            if value is None:
                raise self.error(
                    statements[-1], "expected the branch to end with a binding of its value"
                )
            names.append(name)
            return value

        return write

    def _given(self) -> tuple[str, Any]:
        """Return the name and the value of the last binding, or of the last call without one."""
        return ("", self._effect) if self.last is None else self.last

    def _visit_functiondef(self, node: ast.FunctionDef) -> None:
        kind = self.module.decorator(node)
        if kind.name != "function":
            raise self.error(
                node,
                f"expected '@R.function' before a function inside of a Relax function, but got "
                f"'{kind.text}'",
            )
        self.closure(node, bool(kind.options.get("pure", True)))


def _value(value: Any) -> ir.Value:
    """Return a value of the program for what a program has written."""
    return as_value(argument(value))


def recursive(name: str) -> str:
    """Return the error that a recursive function does not state its result."""
    return (
        f"expected the StructInfo of the result of '{name}', which calls itself, as in "
        f'def {name}(...) -> R.Tensor((n, 4), "float32") [WF08]'
    )


def _name_of(node: ast.AST) -> str:
    assert isinstance(node, ast.Name)
    return node.id


def _calls(node: ast.FunctionDef, name: str) -> bool:
    """Say whether a function names itself."""
    return any(
        isinstance(child, ast.Name) and child.id == name
        for statement in node.body
        for child in ast.walk(statement)
    )


def _has_values(value: Any) -> bool:
    """Say whether a tuple holds a value of a program; one of Python values stays one."""
    if isinstance(value, tuple):
        return any(_has_values(field) for field in value)
    return isinstance(value, (ir.Value, Var, GlobalVar))


def _is_impure_call(value: ir.Value) -> bool:
    return isinstance(value.owner, (_ops.CallPackedOp, _ops.CallOp))


def _instead(node: ast.stmt) -> str:
    """Return the replacement of a statement that a Relax function cannot have."""
    kind = type(node).__name__
    instead = {
        "For": "a recursive function in place of a for loop",
        "While": "a recursive function in place of a while loop",
        "AugAssign": "a binding such as x = x + y in place of an assignment with an operator",
        "Assert": "R.assert_op in place of assert",
    }
    return f"expected {instead.get(kind, f'no statement of the kind {kind} in a Relax function')}"
