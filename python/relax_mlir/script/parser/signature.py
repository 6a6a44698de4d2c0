# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signatures of Relax functions: parameters, results, and the shape variables that they bind."""

from __future__ import annotations

import ast
import typing
from typing import Any

from mlir import ir

from ...core.expr import Var
from ...tir import Var as ShapeVar
from ...tir import shape_var
from ..annotations import UNKNOWN, Annotation, as_annotation, as_dim
from .environment import Environment
from .relax_expressions import RelaxEvaluator
from .source import Source


class Signature:
    """The parameters and the result type of a function."""

    def __init__(self, params: list[Var], result: ir.Type | None) -> None:
        self.params = params
        self.result = result


class SignatureParser(RelaxEvaluator):
    """Evaluates signatures, in an environment where shape variables are bound.

    Parameters
    ----------
    source : Source
    env : Environment
    """

    def __init__(self, source: Source, env: Environment) -> None:
        super().__init__(source, env)
        # The shape variables of the function, which are told apart by their names.
        self.shape_names: set[str] = set()

    def _eval_name(self, node: ast.Name) -> Any:
        value = super()._eval_name(node)
        if isinstance(value, typing.TypeVar):
            self.shape_names.add(value.__name__)
            return shape_var(value.__name__)
        return value

    def signature(self, node: ast.FunctionDef) -> Signature:
        """Return the signature, and bind the shape variables of it in the current scope."""
        self._type_params(node)
        arguments = node.args
        for wrong, what in (
            (arguments.vararg, "a parameter with *"),
            (arguments.kwarg, "a parameter with **"),
            (next(iter(arguments.kwonlyargs), None), "a parameter by keyword only"),
            (next(iter(arguments.defaults), None), "a default of a parameter"),
        ):
            if wrong is not None:
                raise self.error(wrong, f"expected a parameter with StructInfo, but got {what}")
        args = [*arguments.posonlyargs, *arguments.args]
        annotations = []
        for arg in args:
            if arg.annotation is None:
                raise self.error(
                    arg,
                    f"expected StructInfo of parameter '{arg.arg}', such as "
                    f'{arg.arg}: R.Tensor((n, 4), "float32")',
                )
            annotations.append((arg.annotation, self._annotation(arg.annotation)))
        for _, annotation in annotations:
            for text in sorted(annotation.texts):
                self._declare_text(text)
        names = [arg.arg for arg in args]
        for index, arg in enumerate(args):
            if arg.arg in names[:index]:
                raise self.error(arg, f"expected a new name of a parameter, but got '{arg.arg}'")
        params = [
            Var(name, self.resolve(place, annotation))
            for name, (place, annotation) in zip(names, annotations, strict=True)
        ]
        result = None
        if node.returns is not None:
            annotation = self._annotation(node.returns)
            for text in sorted(annotation.own):  # of a function type: it may bind them itself
                if text not in self.env:
                    self._declare_text(text)
            result = self.resolve(node.returns, annotation)
        return Signature(params, result)

    def _type_params(self, node: ast.FunctionDef) -> None:
        """Bind the names that PEP 695 lists after the name of a function."""
        for param in getattr(node, "type_params", []):
            self.env.bind(param.name, self._new_shape_var(param.name))

    def _annotation(self, node: ast.AST) -> Annotation:
        """Return the StructInfo of a signature; names that are not bound are shape variables."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = self.parse_text(node.value, node)
        with self.implicit(self.implicit_shape_var):
            value = self.eval(node)
        with self.at(node):
            return as_annotation(value)

    def implicit_shape_var(self, name: str) -> Any:
        """Bind a name that the RFC uses without a declaration to a new shape variable."""
        if name == "_":
            return UNKNOWN
        variable = self._new_shape_var(name)
        self.env.bind(name, variable)
        return variable

    def _declare_text(self, text: str) -> None:
        """Bind a dimension that is a text if it is a name of its own."""
        if not text.isidentifier():
            return
        outer = self.env.get(text)
        if isinstance(outer, ShapeVar) and text in self.env.innermost():
            return
        if isinstance(outer, typing.TypeVar):
            return
        self.env.bind(text, self._new_shape_var(text))

    def _new_shape_var(self, name: str) -> ShapeVar:
        """Return a shape variable of a name that the function does not use yet."""
        unique, count = name, 0
        while unique in self.shape_names:
            count += 1
            unique = f"{name}_{count}"
        self.shape_names.add(unique)
        return shape_var(unique)

    def resolve(self, node: ast.AST, annotation: Annotation) -> ir.Type:
        """Return the StructInfo of an annotation; its texts are expressions in scope."""

        def dimension(text: str) -> Any:
            return as_dim(self.eval(self.parse_text(text, node)))

        with self.at(node):
            return annotation.struct_info(dimension)
