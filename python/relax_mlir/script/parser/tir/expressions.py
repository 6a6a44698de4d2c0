# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of tensor programs: Python's, with values of `relax_mlir.tir`.

Names stand for variables and buffers of the program, or for what Python has around it. An operator
of a value that is not known yet makes an expression, where Python would decide. Elements of buffers
are loads of them; slices of a known size are vectors, which are computed lane by lane.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Sequence
from typing import Any

from mlir import ir
from relax_runtime.near_misses import did_you_mean

from ....core.expr import GlobalVar
from ....tir import expr as tir
from ....tir import stmt as st
from ... import tir_statements as T  # noqa: N812 (as programs call it)
from ... import vectors
from ..environment import Environment
from ..expressions import Evaluator, Later
from ..source import Source
from .kernel_calls import data_types, find_kernel

# Functions that take slices of buffers as they are.
_OF_REGIONS = (T.reads, T.writes, T.match_buffer)


class ExpressionParser(Evaluator):
    """Evaluates expressions of tensor programs.

    Parameters
    ----------
    source : Source
    env : Environment
    module : mlir.ir.Module, optional
        Whose kernels may be called.
    """

    what = "an expression of a tensor program"

    def __init__(self, source: Source, env: Environment, module: ir.Module | None = None) -> None:
        super().__init__(source, env)
        self.module = module

    def location(self, node: ast.AST) -> contextlib.AbstractContextManager[Any]:
        """Return nothing: no operations are made before the whole function is parsed."""
        return contextlib.nullcontext()

    # -- values -------------------------------------------------------------------------------

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
            return self.apply(node, tir.const, value, *([dtype] if dtype else []))
        raise self.error(node, f"expected a number, but got {describe_value(value)}")

    def cast(self, node: ast.AST, value: Any, dtype: str) -> tir.PrimExpr:
        """Return a value as an expression of a data type."""
        return self.apply(node, tir.cast, dtype, self.as_expr(node, value, dtype))

    def as_condition(self, node: ast.AST, value: Any) -> tir.PrimExpr:
        """Return a value as a Boolean; an integer is true if it is not 0."""
        condition = self.as_expr(node, value)
        if condition.dtype == "bool":
            return condition
        if tir.is_integer(condition.dtype):
            return condition != tir.const(0, condition.dtype)
        raise self.error(node, f"expected a Boolean, but got {condition.dtype}")

    def apply(self, node: ast.AST, function: Any, /, *args: Any, **keywords: Any) -> Any:
        """Call a function, lane by lane where an argument is a vector."""
        return super().apply(node, vectors.lifted, function, args, keywords)

    def operand(self, node: ast.AST) -> Any:
        """Return the value of an operand: a number, a vector or a value of Python."""
        value = self.eval(node)
        if isinstance(value, st.Buffer):
            return self.as_expr(node, value)
        return self._argument(node, value)

    def _argument(self, node: ast.AST, value: Any) -> Any:
        if isinstance(value, T.MetaVar):
            return value.value
        return self.vector(node, value) if isinstance(value, T.Region) else value

    # -- names --------------------------------------------------------------------------------

    def _eval_name(self, node: ast.Name) -> Any:
        value = super()._eval_name(node)
        return value.load() if isinstance(value, T.Scalar) else value

    def member(self, node: ast.Attribute, base: Any) -> Any:
        """Return an attribute of a value; say what may be meant where there is none."""
        try:
            return super().member(node, base)
        except AttributeError:
            owner = ast.unparse(node.value)
            hint = did_you_mean(node.attr, dir(base), owner)
            message = f"expected a member of {owner}, but got '{node.attr}'{hint}"
            raise self.error(node, message) from None

    # -- elements and slices of buffers -------------------------------------------------------

    def indices(self, node: ast.expr) -> tuple[Any, ...]:
        """Return what stands in brackets."""
        value = self.eval(node)
        return tuple(value) if isinstance(value, tuple | list) else (value,)

    def element(self, node: ast.Subscript, base: Any) -> Any:
        """Return the load of an element, a vector of them, or a part of a buffer."""
        buffer = self._buffer_of(node.value, base)
        if isinstance(buffer, tir.PrimExpr):
            raise self.error(node.value, f"expected a buffer, but got {describe_value(base)}")
        if not isinstance(buffer, st.Buffer):
            return super().element(node, base)
        indices = self.indices(node.slice)
        if any(isinstance(index, T.Vector) for index in indices):
            return self.load_vector(node, buffer, indices)
        if any(isinstance(index, slice) for index in indices):
            if len(indices) != buffer.ndim:
                raise self.error(node, f"expected {buffer.ndim} indices, but got {len(indices)}")
            return T.Region(buffer, indices)
        return tir.BufferLoad(buffer, self.check_indices(node, buffer, indices))

    def _buffer_of(self, node: ast.expr, value: Any) -> Any:
        """Return the buffer of a variable that can be assigned to, and any other value as it is."""
        named = self.env.get(node.id) if isinstance(node, ast.Name) else value
        return named.buffer if isinstance(named, T.Scalar) else value

    def check_indices(
        self, node: ast.AST, buffer: st.Buffer, indices: Sequence[Any]
    ) -> tuple[tir.PrimExpr, ...]:
        """Return the indices of one element as expressions."""
        if len(indices) != buffer.ndim:
            raise self.error(
                node,
                f"expected {buffer.ndim} indices for buffer '{buffer.name}' of shape "
                f"({', '.join(map(str, buffer.shape))}), but got {len(indices)}",
            )
        checked = []
        for index in indices:
            if isinstance(index, slice):
                raise self.error(node, "expected one element, but got a slice of the buffer")
            expr = self.as_expr(node, index)
            if not tir.is_integer(expr.dtype):
                raise self.error(node, f"expected an integer as index, but got {expr.dtype}")
            checked.append(expr)
        return tuple(checked)

    def load_vector(self, node: ast.AST, buffer: st.Buffer, indices: Sequence[Any]) -> T.Vector:
        """Return elements of a buffer, some of whose indices are vectors."""
        lanes = self.apply(node, vectors.common_lanes, indices)

        def at(lane: tir.PrimExpr) -> tir.PrimExpr:
            places = [vectors.part(index, lane) for index in indices]
            return tir.BufferLoad(buffer, self.check_indices(node, buffer, places))

        at(tir.const(0, "int32"))  # what is wrong, is wrong here
        return T.Vector(lanes, at)

    def vector(self, node: ast.AST, region: T.Region) -> T.Vector:
        """Return a slice of a buffer as a vector."""
        indices = [self.lanes_of(node, index) for index in region.indices]
        if sum(isinstance(index, T.Vector) for index in indices) != 1:
            raise self.error(node, "expected one element, or one slice of a size that is known")
        return self.load_vector(node, region.buffer, indices)

    def lanes_of(self, node: ast.AST, index: Any) -> Any:
        """Return a slice of a known size as a vector of indices, and anything else as it is."""
        if not isinstance(index, slice):
            return index
        stride = 1 if index.step is None else index.step
        if index.stop is None or not isinstance(stride, int) or stride < 1:
            raise self.error(node, "expected one element, but got a slice of the buffer")
        start = self.as_expr(node, 0 if index.start is None else index.start)
        length = self.apply(node, distance, start, self.as_expr(node, index.stop))
        if not isinstance(length, tir.IntImm) or length.value < 1:
            raise self.error(node, "expected one element, but got a slice of the buffer")
        return self.apply(node, vectors.Ramp, start, stride, -(-length.value // stride))

    # -- operators of values that are not known yet -------------------------------------------

    def refuse(self, node: ast.AST, operation: type[ast.AST], *values: Any) -> None:
        """Raise an error for the matrix product, which is a program of its own."""
        if operation is ast.MatMult:
            raise self.error(node, "expected an operator of tensor programs")

    def unary(self, node: ast.UnaryOp, value: Any) -> Any:
        """Return the result of an operator of one operand."""
        if isinstance(node.op, ast.Not) and isinstance(value, tir.PrimExpr):
            return self.apply(node, tir.logical_not, self.as_condition(node.operand, value))
        return super().unary(node, value)

    def combine(
        self, node: ast.AST, kind: type[ast.boolop], lhs: Any, right: ast.AST, rhs: Later
    ) -> Any:
        """Return ``lhs and rhs``, or ``lhs or rhs``."""
        if not isinstance(lhs, tir.PrimExpr):  # decided by Python
            return super().combine(node, kind, lhs, right, rhs)
        value = rhs()
        function = tir.logical_and if kind is ast.And else tir.logical_or
        conditions = self.as_condition(node, lhs), self.as_condition(right, value)
        return self.apply(node, function, *conditions)

    def choose(self, node: ast.IfExp, test: Any) -> Any:
        """Return the value of a conditional expression."""
        if not isinstance(test, tir.PrimExpr):  # decided by Python
            return super().choose(node, test)
        condition = self.as_condition(node.test, test)
        then, otherwise = self.operand(node.body), self.operand(node.orelse)
        return self.apply(node, T.if_then_else, condition, then, otherwise)

    # -- calls --------------------------------------------------------------------------------

    def call(self, node: ast.Call, function: Any) -> Any:
        """Call a function of Python, or a kernel of the module."""
        is_kernel = isinstance(function, GlobalVar)
        if not is_kernel and (isinstance(function, tir.PrimExpr) or not callable(function)):
            message = f"expected a function, but got {describe_value(function)}"
            raise self.error(node.func, message)
        self._refuse_relax(node.func)
        args, keywords = self.arguments(node)
        if is_kernel:
            return self._call_kernel(node, function.name, args, keywords)
        keeps = function in _OF_REGIONS
        args = [
            arg if keeps and isinstance(arg, T.Region) else self._argument(node, arg)
            for arg in args
        ]
        return self.apply(node, function, *args, **keywords)

    def _refuse_relax(self, node: ast.expr) -> None:
        """Raise an error for an operator of Relax, which computes tensors."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        value = self.env.get(root.id) if isinstance(root, ast.Name) else None
        if getattr(value, "__name__", "") != "relax_mlir.script.relax":
            return
        name = getattr(node, "attr", "")
        own = f"T.{name}" if hasattr(T, name) else "an operator of tensor programs, such as T.exp,"
        raise self.error(node, f"expected {own} in place of {ast.unparse(node)} in a kernel")

    def _call_kernel(
        self, node: ast.Call, name: str, args: Sequence[Any], keywords: dict[str, Any]
    ) -> tir.PrimExpr:
        """Return the call of another function of the module that returns a scalar."""
        kernel = find_kernel(self.module, name)
        if kernel is None:
            raise self.error(
                node.func,
                f"expected a kernel of the module that does not call this one, but got '{name}'",
            )
        params, results = data_types(kernel, "arg_attrs"), data_types(kernel, "res_attrs")
        if keywords or len(args) != len(params):
            raise self.error(node, f"expected {len(params)} arguments of '{name}'")
        if len(results) != 1 or None in params:
            raise self.error(node.func, f"expected '{name}' to take scalars and to return one")
        values = [
            self.cast(place, arg, str(dtype))
            for arg, dtype, place in zip(args, params, node.args, strict=False)
        ]
        return tir.Call(str(results[0]), "call_extern", (tir.StringImm(name), *values))


def distance(start: tir.PrimExpr, stop: tir.PrimExpr) -> tir.PrimExpr:
    """Return how far it is; n for n from x to x + n."""
    for node in (stop,) if isinstance(stop, tir.Add) else ():
        for first, other in ((node.a, node.b), (node.b, node.a)):
            if tir.structural_equal(first, start):
                return other
    return stop - start


def describe_value(value: Any) -> str:
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
