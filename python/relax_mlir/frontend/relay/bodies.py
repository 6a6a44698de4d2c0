# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bodies of functions: each let of Relay as a binding of Relax."""

from __future__ import annotations

import dataclasses
import re
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from mlir import ir

from ... import op
from ...builder.block_builder import BlockBuilder
from ...core.expr import GlobalVar, as_value
from ...core.expr import Var as RelaxVar
from ...core.ir import Dim, ObjectStructInfo, TensorStructInfo
from ..values import Value, as_tensor
from . import ast
from .ast import Expr, RelayError, Type, TypeVar
from .calls import convert, is_identity, is_raw, placed
from .data_types import DataTypes
from .inference import Inference
from .struct_info import struct_info
from .unification import substituted

# Constants of more elements are written once in a scope, however often they are used.
_SMALL = 16

Env: TypeAlias = "ChainMap[int, Value]"
"""Values by the identity of a variable, or of an array that was written as a constant."""


@dataclasses.dataclass(frozen=True)
class Context:
    """What the body of a function refers to.

    Parameters
    ----------
    builder : BlockBuilder
    types : mapping of str to TypeDef
    inference : Inference
    type_args : mapping of TypeVar to Type
        What the type parameters of the function are.
    is_pure : bool
        Whether functions have no visible side effects.
    fresh : callable
        Returns a new name of a dimension.
    function : callable
        Returns a function of the module, for the types of a use of it.
    inlined : set of int
        The identities of the variables, the functions of which are written where they are called.
    """

    builder: BlockBuilder
    types: Mapping[str, ast.TypeDef]
    inference: Inference
    type_args: Mapping[TypeVar, Type]
    is_pure: bool
    fresh: Callable[[], str]
    function: Callable[[ast.GlobalVar], GlobalVar]
    inlined: frozenset[int]

    def concrete(self, type_: Type) -> Type:
        """Return a type without type parameters."""
        result: Type = substituted(type_, self.type_args)
        return result

    def param_info(self, type_: Type) -> ir.Type:
        """Return the structural information of a parameter, or of what is cast to a type."""
        return struct_info(self.concrete(type_), self.fresh, self.is_pure)

    def result_info(self, type_: Type) -> ir.Type:
        """Return that of a result: dimensions that the caller knows are not visible there."""
        return struct_info(self.concrete(type_), None, self.is_pure)


@dataclasses.dataclass(frozen=True)
class _Inlined:
    """A function that is written where it is called, with what it sees."""

    function: ast.Function
    env: Env


class Body:
    """Writes expressions in A-normal form at the current place of a builder.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._builder = context.builder
        self._data = DataTypes(context.builder, context.types, context.param_info, context.fresh)

    def block(self, expr: Expr, env: Env) -> ir.Value:
        """Write a sequence of lets, and return the value behind it."""
        while isinstance(expr, ast.Let):
            with placed(expr.value.span, f"%{expr.var.name}"):
                value = self._value(expr.value, env, expr.var)
                # What is returned as it is may be the result of a call in tail position.
                env[id(expr.var)] = value if expr.body is expr.var else self._opened(value)
            expr = expr.body
        return self._tensor(self._atom(expr, env), env)

    # -- values -----------------------------------------------------------------------------------

    def _atom(self, expr: Expr, env: Env) -> Value:
        if isinstance(expr, ast.Var):
            return env[id(expr)]
        if isinstance(expr, ast.Constant):
            return expr.data
        if isinstance(expr, ast.GlobalVar):
            return self._context.function(expr)
        if not isinstance(expr, ast.ConstructorRef):
            name = getattr(expr, "name", type(expr).__name__)
            raise RelayError(f"expected a value, but got the operator '{name}'", expr.span)
        if not expr.constructor.fields:
            return self._data.make(expr.constructor, [])
        return self._constructor_function(expr)

    def _tensor(self, value: Value, env: Env) -> ir.Value:
        """Return a value of the program; large constants are written once."""
        if isinstance(value, list):
            return self._builder.emit(op.tuple(*(self._tensor(field, env) for field in value)))
        if not _is_large(value):
            return as_value(as_tensor(value) if _is_known(value) else value)
        if id(value) not in env:
            env[id(value)] = self._builder.emit(as_tensor(value))
        result: ir.Value = env[id(value)]
        return result

    def _tensors(self, exprs: Sequence[Expr], env: Env) -> list[ir.Value]:
        return [self._tensor(self._atom(expr, env), env) for expr in exprs]

    def _value(self, expr: Expr, env: Env, var: ast.Var) -> Value:
        if isinstance(expr, ast.Call):
            return self._call(expr, env, name_hint(var))
        if isinstance(expr, ast.Tuple):
            return [self._atom(field, env) for field in expr.fields]
        if isinstance(expr, ast.TupleGetItem):
            return self._item(expr, env, name_hint(var))
        if isinstance(expr, ast.Function):
            is_inlined = id(var) in self._context.inlined
            return _Inlined(expr, env) if is_inlined else self._closure(expr, env, var)
        if isinstance(expr, ast.If):
            return self._if(expr, env, name_hint(var))
        if isinstance(expr, ast.Match):
            return self._match(expr, env)
        if isinstance(expr, ast.RefCreate):
            return self._on_references("ref_create", [expr.value], env)
        if isinstance(expr, ast.RefRead):
            value = self._on_references("ref_read", [expr.ref], env)
            type_ = self._context.inference.type_of(var)
            return self._builder.match_cast(value, self._context.param_info(type_))
        if isinstance(expr, ast.RefWrite):
            self._on_references("ref_write", [expr.ref, expr.value], env)
            return []
        return self._atom(expr, env)

    def _on_references(self, name: str, operands: Sequence[Expr], env: Env) -> ir.Value:
        """Call a function of the runtime, as values of Relax do not change."""
        args = self._tensors(operands, env)
        return self._builder.emit(
            op.call_packed(f"relax_mlir.run.{name}", *args, sinfo_args=ObjectStructInfo())
        )

    def _item(self, expr: ast.TupleGetItem, env: Env, hint: str) -> Value:
        source = self._atom(expr.tuple_value, env)
        if not isinstance(source, list):
            return self._builder.emit(self._tensor(source, env)[expr.index], hint)
        if not 0 <= expr.index < len(source):
            raise ValueError(f"expected an index below {len(source)}, but got {expr.index}")
        return source[expr.index]

    def _opened(self, value: Value) -> Value:
        """Give names to the dimensions of a tensor that are not known."""
        info = value.type if isinstance(value, ir.Value) else None
        if isinstance(info, TensorStructInfo) and info.shape is None and info.ndim >= 0:
            dims = [self._context.fresh() for _ in range(info.ndim)]
            return self._builder.match_cast(value, TensorStructInfo(dims, info.dtype))
        return value

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, expr: ast.Call, env: Env, hint: str) -> Value:
        if isinstance(expr.op, ast.OpRef):
            if is_identity(expr):
                return convert(expr, [self._atom(expr.args[0], env)])
            result = convert(expr, self._operands(expr, env))
            return self._builder.emit(result, hint) if isinstance(result, ir.Value) else result
        args = self._tensors(expr.args, env)
        if isinstance(expr.op, ast.ConstructorRef):
            return self._data.make(expr.op.constructor, args)
        callee = self._atom(expr.op, env)
        if isinstance(callee, _Inlined):
            inner = callee.env.new_child()
            params = callee.function.params
            inner.update((id(param), arg) for param, arg in zip(params, args, strict=True))
            return self.block(callee.function.body, inner)
        return self._builder.emit(op.call(callee, *args), hint)

    def _operands(self, expr: ast.Call, env: Env) -> list[Value]:
        """Return the operands of an operator; what is known at import is, but for large arrays."""
        operands = [self._atom(arg, env) for arg in expr.args]
        if is_raw(expr):
            return operands
        return [
            self._tensor(operand, env) if _is_large(operand) else operand for operand in operands
        ]

    def _constructor_function(self, use: ast.ConstructorRef) -> RelaxVar:
        """Write a constructor as a closure."""
        constructor = use.constructor
        args = self._context.inference.type_args(use)
        by = dict(zip(self._context.types[constructor.type_name].params, args, strict=True))
        params = [
            RelaxVar(f"field{i}", self._context.param_info(substituted(field, by)))
            for i, field in enumerate(constructor.fields)
        ]
        with self._builder.closure(
            constructor.name, params, pure=self._context.is_pure, ret_struct_info=ObjectStructInfo()
        ) as closure:
            value = self._data.make(constructor, [param.value for param in params])
            self._builder.emit_func_output(value)
        return closure

    # -- scopes -----------------------------------------------------------------------------------

    def _closure(self, expr: ast.Function, env: Env, var: ast.Var) -> RelaxVar:
        inference = self._context.inference
        params = [
            RelaxVar(name, self._context.param_info(inference.type_of(param)))
            for name, param in zip(param_names(expr.params), expr.params, strict=True)
        ]
        is_recursive = any(part is var for part in ast.post_order(expr.body))
        result = self._context.result_info(inference.result_of(expr)) if is_recursive else None
        inner = env.new_child()
        with self._builder.closure(
            name_hint(var), params, pure=self._context.is_pure, ret_struct_info=result
        ) as closure:
            inner[id(var)] = closure
            inner.update((id(k), v.value) for k, v in zip(expr.params, params, strict=True))
            self._builder.emit_func_output(self.block(expr.body, inner))
        return closure

    def _if(self, expr: ast.If, env: Env, hint: str) -> ir.Value:
        condition = self._tensor(self._atom(expr.condition, env), env)
        return self._builder.if_(
            condition,
            lambda: self.block(expr.then, env.new_child()),
            lambda: self.block(expr.otherwise, env.new_child()),
            hint,
        )

    # -- matches ----------------------------------------------------------------------------------

    def _match(self, expr: ast.Match, env: Env) -> ir.Value:
        value = self._tensor(self._atom(expr.value, env), env)
        type_ = self._context.concrete(self._context.inference.matched_type(expr))
        return self._clauses(expr, 0, value, type_, self._data.tag(value, type_), env)

    def _clauses(
        self,
        expr: ast.Match,
        index: int,
        value: ir.Value,
        type_: Type,
        tag: Dim | None,
        env: Env,
    ) -> ir.Value:
        """Write the clauses from one on: the body of the first that takes the value."""
        clause = expr.clauses[index]
        is_last = index + 1 == len(expr.clauses)
        is_sure = is_last and expr.complete
        test = None if is_sure else self._data.test(clause.pattern, value, type_, tag)

        def taken() -> ir.Value:
            inner = env.new_child()
            for var, part in self._data.bind(clause.pattern, value, type_):
                inner[id(var)] = part
            return self.block(clause.body, inner)

        def others() -> ir.Value:
            return self._clauses(expr, index + 1, value, type_, tag, env.new_child())

        if test is not None and not is_last:
            return self._builder.if_(test, taken, others)
        if test is not None:
            message = f"{expr.span or 'match'}: no clause takes the value"
            self._builder.if_(test, op.tuple, lambda: self._builder.emit(op.fatal(message)))
        return taken()


def inlined_vars(function: ast.Function) -> frozenset[int]:
    """Return the variables that name functions to write where they are called, by identity.

    They are nothing but called, once, or are a fused group of operators (``Primitive``).
    """
    calls: dict[int, int] = {}
    values: set[int] = set()
    lets: list[ast.Let] = []
    for expr in ast.post_order(function):
        callee = expr.op if isinstance(expr, ast.Call) else None
        for child in ast.children(expr):
            if child is callee:
                calls[id(child)] = calls.get(id(child), 0) + 1
            else:
                values.add(id(child))
        if isinstance(expr, ast.Let) and isinstance(expr.value, ast.Function):
            lets.append(expr)
    return frozenset(
        id(let.var)
        for let in lets
        if id(let.var) not in values and _is_inlined(let, calls.get(id(let.var), 0))
    )


def _is_inlined(let: ast.Let, calls: int) -> bool:
    function = let.value
    assert isinstance(function, ast.Function)
    is_recursive = any(expr is let.var for expr in ast.post_order(function.body))
    return not is_recursive and (calls == 1 or bool(function.attrs.get("Primitive")))


def _is_large(value: Value) -> bool:
    return isinstance(value, np.ndarray) and value.size > _SMALL


def _is_known(value: Value) -> bool:
    return not isinstance(value, ir.Value | RelaxVar | GlobalVar)


def param_names(params: Sequence[ast.Var]) -> list[str]:
    """Return the names of parameters, of which Relay may have several of one name."""
    hints = [name_hint(param) for param in params]
    names: list[str] = []
    for hint in hints:
        name, count = hint, 0
        while name in names or (count and name in hints):
            count += 1
            name = f"{hint}_{count}"
        names.append(name)
    return names


def name_hint(var: ast.Var) -> str:
    """Return the name of a variable as one of the program that is written."""
    name = re.sub(r"\W", "_", var.name)
    return f"_{name}" if name[:1].isdigit() else name
