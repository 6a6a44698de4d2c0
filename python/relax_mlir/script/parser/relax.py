# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relax functions: their bodies, closures and macros."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .expressions import constant_of
from .relax_bindings import as_operand
from .relax_blocks import BlockParser
from .signature import Signature

if TYPE_CHECKING:
    from ..macros import Macro


class FunctionParser(BlockParser):
    """Parses one Relax function, with the functions inside of it.

    Parameters
    ----------
    module : ModuleParser
        The program.
    """

    # Whether it is in the spelling of the RFC.
    is_rfc = False

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
            self.builder.emit_func_output(as_operand(value))
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

    def _visit_functiondef(self, node: ast.FunctionDef) -> None:
        kind = self.module.decorator(node)
        if kind.name != "function":
            raise self.error(
                node,
                f"expected '@R.function' before a function inside of a Relax function, but got "
                f"'{kind.text}'",
            )
        self.closure(node, bool(kind.options.get("pure", True)))


def recursive(name: str) -> str:
    """Return the error that a recursive function does not state its result."""
    return (
        f"expected the StructInfo of the result of '{name}', which calls itself, as in "
        f'def {name}(...) -> R.Tensor((n, 4), "float32")'
    )


def _calls(node: ast.FunctionDef, name: str) -> bool:
    """Say whether a function names itself."""
    return any(
        isinstance(child, ast.Name) and child.id == name
        for statement in node.body
        for child in ast.walk(statement)
    )
