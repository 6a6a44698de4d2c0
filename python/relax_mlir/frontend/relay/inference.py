# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of variables and functions, which programs may leave out.

Types are unified as in Hindley and Milner's algorithm. The type of what an operator returns is
known once the types of its operands are: it is that of the operators of Relax which it becomes.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...builder.block_builder import BlockBuilder
from ...core.expr import Var as RelaxVar
from ..values import as_tensor
from . import ast
from .ast import (
    Clause,
    DataType,
    Expr,
    FuncType,
    Module,
    RelayError,
    Span,
    TensorType,
    TupleType,
    Type,
    TypeVar,
)
from .calls import convert, is_identity
from .patterns import uncovered
from .struct_info import names, struct_info, type_of
from .unification import (
    Hole,
    MismatchError,
    is_known,
    last,
    mapped,
    resolved,
    substituted,
    type_text,
    unify,
    with_holes,
)

_CONDITION = TensorType((), "bool")


@dataclasses.dataclass
class _Pending:
    """What is known once the types of operands are; `solve` says whether it was."""

    expr: Expr
    solve: Callable[[], bool]


class Inference:
    """The types of the variables of functions that are in A-normal form.

    Parameters
    ----------
    module : Module
    entries : sequence of str
        The functions that are needed; types of those that they call are inferred, too.
    types : mapping of int to Type or None
        The types of their parameters, by identity, as far as known.

    Attributes
    ----------
    functions : set of str
        The entries, and what they call.

    Raises
    ------
    RelayError
        If types are different where they have to be equal, or are not known.
    """

    def __init__(
        self, module: Module, entries: Sequence[str], types: Mapping[int, Type | None]
    ) -> None:
        self._module, self._stated = module, types
        self._vars: dict[int, Type] = {}
        self._functions: dict[str, FuncType] = {}
        self._uses: dict[int, tuple[Type, ...]] = {}
        self._results: dict[int, Type] = {}
        self._matched: dict[int, Type] = {}
        # What type parameters of functions inside of others are: one type each.
        self._local: dict[TypeVar, Type] = {}
        self._pending: list[_Pending] = []
        self._operator_types: dict[tuple[str, str, tuple[Type, ...]], Type] = {}
        self._queue = list(entries)
        self.functions: set[str] = set()
        while self._queue:
            self._infer(self._queue.pop(), entries)
        self._solve()
        for entry in entries:
            for param in module.functions[entry].params:
                if not is_known(self._vars[id(param)]):
                    raise RelayError(
                        f"the type of parameter '%{param.name}' is not known; state it, as in "
                        f"%{param.name}: Tensor[(3), float32], or give its shape in shape_dict",
                        param.span,
                    )

    # -- results ----------------------------------------------------------------------------------

    def type_of(self, var: ast.Var) -> Type:
        """Return the type of a variable, with the type parameters of the function around it.

        This, and the types below, raise RelayError where a type is not known.
        """
        return _known(self._vars[id(var)], f"%{var.name}", var.span)

    def result_of(self, function: ast.Function) -> Type:
        """Return the type that a function returns."""
        return _known(self._results[id(function)], "the result", function.span)

    def matched_type(self, match: ast.Match) -> Type:
        """Return the type of the value that is matched."""
        return _known(self._matched[id(match)], "what is matched", match.span)

    def signature(self, name: str) -> FuncType:
        """Return the type of a function of the module, with its type parameters."""
        function, signature = self._module.functions[name], self._functions[name]
        params = tuple(self.type_of(param) for param in function.params)
        return FuncType(params, self.result_of(function), signature.type_params)

    def type_args(self, use: Expr) -> tuple[Type, ...]:
        """Return what type parameters are where a `GlobalVar` or `ConstructorRef` is used.

        One that nothing depends on, as of an empty list, is the empty tuple.
        """
        return tuple(_filled(arg) for arg in self._uses[id(use)])

    # -- functions --------------------------------------------------------------------------------

    def _signature(self, name: str) -> FuncType:
        if name not in self._functions:
            function = self._module.functions[name]
            stated = (self._stated.get(id(param), param.type) for param in function.params)
            params = tuple(with_holes(type_) for type_ in stated)
            result = with_holes(function.result)
            self._functions[name] = FuncType(params, result, function.type_params)
            self._queue.append(name)
            if function.type_params and not is_known(result):
                self._infer(name)  # so that each use has a result of its own
        return self._functions[name]

    def _infer(self, name: str, entries: Sequence[str] = ()) -> None:
        """Infer the types in a function, unless that was done, or begun."""
        if name in self.functions:
            return
        self.functions.add(name)
        function, signature = self._module.functions[name], self._signature(name)
        self._parameters(function, signature)
        if name not in entries or _has_functions(function):
            self._body(function, signature.result)

    def _parameters(self, function: ast.Function, type_: FuncType) -> None:
        for param, param_type in zip(function.params, type_.params, strict=True):
            self._vars[id(param)] = param_type
        self._results[id(function)] = type_.result

    def _body(self, function: ast.Function, result: Type) -> None:
        self._unify(self._block(function.body), result, function)

    def _block(self, body: Expr) -> Type:
        """Return the type of a sequence of lets."""
        while isinstance(body, ast.Let):
            self._let(body)
            body = body.body
        return self._atom(body)

    def _let(self, let: ast.Let) -> None:
        stated = self._stated_type(let.var.type)
        self._vars[id(let.var)] = stated
        self._unify(self._value(let.value), stated, let.value)

    # -- expressions ------------------------------------------------------------------------------

    def _atom(self, expr: Expr) -> Type:
        if isinstance(expr, ast.Var):
            if id(expr) not in self._vars:
                raise RelayError(f"variable '%{expr.name}' is not bound", expr.span)
            return self._vars[id(expr)]
        if isinstance(expr, ast.Constant):
            return TensorType(expr.data.shape, expr.data.dtype.name)
        if isinstance(expr, ast.GlobalVar):
            if expr.name not in self._module.functions:
                raise RelayError(f"the module has no function '@{expr.name}'", expr.span)
            return self._instance(expr, self._signature(expr.name))
        if isinstance(expr, ast.ConstructorRef):
            constructor = expr.constructor
            params = self._module.types[constructor.type_name].params
            result = DataType(constructor.type_name, params)
            type_ = self._instance(expr, FuncType(constructor.fields, result, params))
            return type_ if constructor.fields else type_.result
        assert isinstance(expr, ast.OpRef)
        raise RelayError(f"operator '{expr.name}' is no value: write a function", expr.span)

    def _instance(self, use: Expr, type_: FuncType) -> FuncType:
        """Return the type of a function where it is used, with holes for its type parameters."""
        holes = tuple(Hole() for _ in type_.type_params)
        self._uses[id(use)] = holes
        by = dict(zip(type_.type_params, holes, strict=True))
        known = resolved(FuncType(type_.params, type_.result))
        result: FuncType = substituted(known, by)
        return result

    def _value(self, expr: Expr) -> Type:
        if isinstance(expr, ast.Tuple):
            return TupleType(tuple(self._atom(field) for field in expr.fields))
        if isinstance(expr, ast.TupleGetItem):
            return self._item(expr)
        if isinstance(expr, ast.Call):
            return self._operator(expr) if isinstance(expr.op, ast.OpRef) else self._call(expr)
        if isinstance(expr, ast.Function):
            self._local.update((param, Hole()) for param in expr.type_params)
            params = tuple(self._stated_type(param.type) for param in expr.params)
            type_ = FuncType(params, self._stated_type(expr.result))
            self._parameters(expr, type_)
            self._body(expr, type_.result)
            return type_
        if isinstance(expr, ast.If):
            self._unify(self._atom(expr.condition), _CONDITION, expr)
            then = self._block(expr.then)
            return self._unify(then, self._block(expr.otherwise), expr)
        if isinstance(expr, ast.Match):
            return self._match(expr)
        if isinstance(expr, ast.RefCreate):
            return ast.RefType(self._atom(expr.value))
        if isinstance(expr, ast.RefRead):
            return self._referred(expr)
        if isinstance(expr, ast.RefWrite):
            self._unify(self._referred(expr), self._atom(expr.value), expr)
            return TupleType(())
        return self._atom(expr)

    def _referred(self, expr: ast.RefRead | ast.RefWrite) -> Type:
        """Return the type of what a reference refers to."""
        result = Hole()
        self._unify(self._atom(expr.ref), ast.RefType(result), expr)
        return result

    def _item(self, expr: ast.TupleGetItem) -> Type:
        tuple_type, result = self._atom(expr.tuple_value), Hole()

        def solve() -> bool:
            known = last(tuple_type)
            if isinstance(known, Hole):
                return False
            if not isinstance(known, TupleType) or not 0 <= expr.index < len(known.fields):
                raise RelayError(
                    f"expected a tuple of more than {expr.index} fields, but got "
                    f"{type_text(known)}",
                    expr.span,
                )
            self._unify(known.fields[expr.index], result, expr)
            return True

        return self._later(expr, solve, result)

    def _call(self, expr: ast.Call) -> Type:
        callee, result = self._atom(expr.op), Hole()
        args = [self._atom(arg) for arg in expr.args]
        if isinstance(expr.op, ast.ConstructorRef) and not expr.op.constructor.fields:
            callee = FuncType((), callee)
        known = last(callee)
        if isinstance(known, FuncType) and len(known.params) != len(args):
            raise RelayError(
                f"expected {len(known.params)} arguments, but got {len(args)}", expr.span
            )
        for hole, stated in zip(self._uses.get(id(expr.op), ()), expr.type_args, strict=False):
            self._unify(hole, self._stated_type(stated), expr)
        self._unify(callee, FuncType(tuple(args), result), expr)
        return result

    def _operator(self, expr: ast.Call) -> Type:
        args, result = [self._atom(arg) for arg in expr.args], Hole()
        if is_identity(expr):
            return args[0]

        def solve() -> bool:
            if not all(is_known(arg) for arg in args):
                return False
            with contextlib.suppress(NotImplementedError):  # a size that the program knows
                type_ = self._operator_type(expr, tuple(resolved(arg) for arg in args))
                self._unify(type_, result, expr)
            return True

        return self._later(expr, solve, result)

    def _operator_type(self, call: ast.Call, types: tuple[Type, ...]) -> Type:
        """Return the type of what an operator returns; that of equal calls is known."""
        if any(isinstance(arg, ast.Constant) for arg in call.args):
            return _operator_type(call, types)
        assert isinstance(call.op, ast.OpRef)
        key = call.op.name, repr(call.attrs), types
        if key not in self._operator_types:
            self._operator_types[key] = _operator_type(call, types)
        return self._operator_types[key]

    def _later(self, expr: Expr, solve: Callable[[], bool], result: Type) -> Type:
        """Return a type that is known now, or once others are."""
        if not solve():
            self._pending.append(_Pending(expr, solve))
        return result

    def _solve(self) -> None:
        count = len(self._pending) + 1
        while self._pending and len(self._pending) < count:
            count = len(self._pending)
            self._pending = [one for one in self._pending if not one.solve()]

    # -- patterns ---------------------------------------------------------------------------------

    def _match(self, expr: ast.Match) -> Type:
        value = self._matched[id(expr)] = self._atom(expr.value)
        if expr.complete and (missing := uncovered(expr, self._module.types)) is not None:
            raise RelayError(
                f"no clause takes {missing}; write match? where values never are", expr.span
            )
        result: Type = Hole()
        for clause in expr.clauses:
            result = self._clause(expr, clause, value, result)
        return result

    def _clause(self, expr: ast.Match, clause: Clause, value: Type, result: Type) -> Type:
        self._pattern(clause.pattern, value, expr)
        return self._unify(self._block(clause.body), result, expr)

    def _pattern(self, pattern: ast.Pattern, value: Type, around: Expr) -> None:
        if isinstance(pattern, ast.VarPattern):
            self._vars[id(pattern.var)] = self._unify(
                value, self._stated_type(pattern.var.type), around
            )
        elif isinstance(pattern, ast.TuplePattern):
            fields: tuple[Type, ...] = tuple(Hole() for _ in pattern.patterns)
            self._unify(value, TupleType(fields), around)
            self._patterns(pattern.patterns, fields, around)
        elif isinstance(pattern, ast.ConstructorPattern):
            constructor = pattern.constructor
            params = self._module.types[constructor.type_name].params
            by: dict[TypeVar, Any] = {param: Hole() for param in params}
            self._unify(value, DataType(constructor.type_name, tuple(by.values())), around)
            fields = tuple(substituted(field, by) for field in constructor.fields)
            self._patterns(pattern.patterns, fields, around)

    def _patterns(
        self, patterns: Sequence[ast.Pattern], types: Sequence[Type], around: Expr
    ) -> None:
        if len(patterns) != len(types):
            raise RelayError(
                f"expected a pattern of {len(types)} fields, but got {len(patterns)}", around.span
            )
        for pattern, type_ in zip(patterns, types, strict=True):
            self._pattern(pattern, type_, around)

    # -- helpers ----------------------------------------------------------------------------------

    def _stated_type(self, type_: Type | None) -> Type:
        """Return a type that the program states, with holes for what it leaves out."""
        stated: Type = substituted(with_holes(type_), self._local)
        return stated

    def _unify(self, actual: Type, expected: Type, expr: Expr) -> Type:
        try:
            return unify(actual, expected)
        except MismatchError:
            raise RelayError(
                f"expected type {type_text(expected)}, but got {type_text(actual)}",
                expr.span,
            ) from None


def _has_functions(function: ast.Function) -> bool:
    """Say whether types in a body have to be known to write it, as those of functions are."""
    kinds = ast.Function | ast.Match | ast.GlobalVar | ast.ConstructorRef | ast.RefRead
    return any(isinstance(expr, kinds) for expr in ast.post_order(function.body))


def _known(type_: Type, what: str, span: Span | None) -> Type:
    """Return a type without holes; so is one of those that no program has values of."""
    if isinstance(last(type_), Hole):
        raise RelayError(f"the type of {what} is not known; state it", span)
    return _filled(type_)


def _filled(type_: Type) -> Type:
    filled: Type = mapped(
        resolved(type_), lambda part: TupleType(()) if isinstance(part, Hole) else None
    )
    return filled


def _operator_type(call: ast.Call, types: Sequence[Type]) -> Type:
    """Return the type of what an operator returns."""
    builder, fresh = BlockBuilder(), names("n")
    operands: list[Any] = []
    params: list[RelaxVar] = []
    for arg, type_ in zip(call.args, types, strict=True):
        if isinstance(arg, ast.Constant):
            operands.append(arg.data)
            continue
        if not isinstance(type_, (TensorType, TupleType)):
            raise RelayError(f"expected a tensor or tuple, but got {type_text(type_)}", call.span)
        params.append(RelaxVar(f"x{len(params)}", struct_info(type_, fresh)))
        operands.append(params[-1])
    with builder.function("main", params):
        given = [one.value if isinstance(one, RelaxVar) else one for one in operands]
        result = convert(call, given)
        value = builder.emit(as_tensor(result))
        builder.emit_func_output(value)
        return type_of(value.type)
