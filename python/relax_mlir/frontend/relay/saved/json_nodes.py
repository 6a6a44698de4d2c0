# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects of TVM's JSON as programs of Relay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from .. import ast
from .attribute_kinds import BOOL, DTYPE, FLOAT, INT, NODE
from .json_fields import Fields, describe
from .json_graph import NAME, TENSOR, Build, Graph, Kinds

T = TypeVar("T", int, float)
BUILDERS: dict[str, tuple[Kinds, Build]] = {}


def load_json(text: str) -> ast.Module | ast.Expr:
    """Return a module or an expression that TVM has saved as JSON.

    Parameters
    ----------
    text : str
        What ``tvm.ir.save_json`` returned, of TVM 0.6 to 0.19.

    Returns
    -------
    Module or Expr
        Attributes are int, float, bool, str, None, and lists and dicts of them.

    Raises
    ------
    RelayError
        If it is no JSON of TVM, damaged, or neither a module nor an expression.
    NotImplementedError
        If it has kernels in TIR, attributes of unknown operators, or tensors of vectors.
    """
    value = Graph(text, BUILDERS).load()
    if isinstance(value, ast.Module | ast.Expr):
        return value
    raise ast.RelayError(f"expected JSON of a module or an expression, but got {describe(value)}")


def load_metadata(text: str) -> dict[str, list[Any]]:
    """Return the objects of a metadata section, lists by the keys of their types.

    Parameters
    ----------
    text : str
        JSON.

    Raises
    ------
    RelayError
        If it is no JSON of TVM, damaged, or something else.
    """
    graph = Graph(text, BUILDERS)
    value = graph.load()
    if value == []:  # of no entries, with no keys
        return {}
    if not isinstance(value, dict) or not all(isinstance(each, list) for each in value.values()):
        raise ast.RelayError(f"expected lists of objects by type, but got {describe(value)}")
    return value


def _builds(*keys: str, **kinds: str) -> Callable[[Build], Build]:
    """Register what makes an object of its fields, by the keys of its type."""

    def register(build: Build) -> Build:
        for key in keys:
            BUILDERS[key] = ({**kinds, "span": NODE}, build)
        return build

    return register


# -- values -------------------------------------------------------------------------------------


@_builds("runtime.String", "SourceName", "relay.SourceName", "EnvFunc")
def _string(fields: Fields) -> str:
    return fields.one("repr", str)


@_builds("StringImm", "tir.StringImm", value=NAME)
def _string_value(fields: Fields) -> str:
    return fields.one("value", str)


@_builds("IntImm", dtype=DTYPE, value=INT)
def _integer(fields: Fields) -> int:
    value = fields.one("value", int)
    return bool(value) if fields.get("dtype") == "bool" else value


@_builds("FloatImm", value=FLOAT)
def _float(fields: Fields) -> float:
    return fields.one("value", float)


@_builds("runtime.BoxInt")
def _boxed_integer(fields: Fields) -> int:
    return _number(fields, int)


@_builds("runtime.BoxFloat")
def _boxed_float(fields: Fields) -> float:
    return _number(fields, float)


def _number(fields: Fields, kind: type[T]) -> T:
    text = fields.one("repr", str)
    try:
        return kind(text)
    except ValueError:
        raise ast.RelayError(f"expected a number {fields.where}, but got {text!r}") from None


@_builds("runtime.BoxBool")
def _boxed_bool(fields: Fields) -> bool:
    return fields.one("repr", str) == "true"


@_builds("DictAttrs", __dict__=NODE)
def _dict_attrs(fields: Fields) -> dict[str, Any]:
    return fields.attrs("__dict__")


@_builds("Span", "relay.Span", source_name=NODE, line=INT, column=INT, col_offset=INT)
def _span(fields: Fields) -> ast.Span | None:
    source, line = fields.maybe("source_name", str), fields.maybe("line", int)
    column = fields.get("column", fields.get("col_offset"))  # the latter in TVM 0.6
    return None if source is None else ast.Span(source, line or 1, column or 1)


# -- types --------------------------------------------------------------------------------------


@_builds("Any", "tir.Any")
def _any(fields: Fields) -> ast.AnyDim:
    return ast.ANY


@_builds("Variable", "SizeVar", "tir.Var", "tir.SizeVar", name=NAME)
def _dim_var(fields: Fields) -> ast.TypeVar:
    return ast.TypeVar(fields.one("name", str))


@_builds("TypeVar", "relay.TypeVar", name_hint=NAME, var=NODE)
def _type_var(fields: Fields) -> ast.TypeVar:
    var = fields.maybe("var", ast.TypeVar)  # of TVM 0.6
    return var or ast.TypeVar(fields.one("name_hint", str))


@_builds("GlobalTypeVar", "relay.GlobalTypeVar", name_hint=NAME, var=NODE)
def _data_type(fields: Fields) -> ast.DataType:
    var = fields.maybe("var", ast.TypeVar)  # of TVM 0.6
    return ast.DataType(var.name if var else fields.one("name_hint", str))


@_builds("TypeCall", "relay.TypeCall", func=NODE, args=NODE)
def _type_call(fields: Fields) -> ast.DataType:
    return ast.DataType(fields.one("func", ast.DataType).name, fields.types("args"))


@_builds("relay.TensorType", "TensorType", shape=NODE, dtype=DTYPE)
def _tensor_type(fields: Fields) -> ast.TensorType:
    shape = tuple(fields.many("shape", object))
    for dim in shape:
        if not isinstance(dim, int | ast.AnyDim | ast.TypeVar):
            raise NotImplementedError(
                f"dimensions that are expressions are not supported, but got {describe(dim)}"
            )
    return ast.TensorType(cast("tuple[ast.TypeDim, ...]", shape), fields.one("dtype", str))


@_builds("TupleType", "relay.TupleType", fields=NODE)
def _tuple_type(fields: Fields) -> ast.TupleType:
    return ast.TupleType(fields.types("fields"))


@_builds("FuncType", "relay.FuncType", arg_types=NODE, ret_type=NODE, type_params=NODE)
def _func_type(fields: Fields) -> ast.FuncType:
    type_params = tuple(fields.many("type_params", ast.TypeVar))
    return ast.FuncType(fields.types("arg_types"), fields.one("ret_type", ast.Type), type_params)


@_builds("relay.RefType", "RelayRefType", value=NODE)
def _ref_type(fields: Fields) -> ast.RefType:
    return ast.RefType(fields.one("value", ast.Type))


@_builds("IncompleteType", "relay.IncompleteType")
def _incomplete_type(fields: Fields) -> ast.IncompleteType:
    return ast.IncompleteType()


# -- algebraic data types -----------------------------------------------------------------------


@_builds("relay.Constructor", "Constructor", name_hint=NAME, inputs=NODE, belong_to=NODE, tag=INT)
def _constructor(fields: Fields) -> ast.Constructor:
    owner = fields.one("belong_to", ast.DataType)
    return ast.Constructor(fields.one("name_hint", str), fields.types("inputs"), owner.name)


@_builds("relay.TypeData", "TypeData", header=NODE, type_vars=NODE, constructors=NODE)
def _type_def(fields: Fields) -> ast.TypeDef:
    params = tuple(fields.many("type_vars", ast.TypeVar))
    constructors = fields.many("constructors", ast.Constructor)
    name = fields.one("header", ast.DataType).name
    return ast.TypeDef(name, params, constructors, not constructors)


# -- expressions --------------------------------------------------------------------------------


@_builds("relay.Id", name_hint=NAME)
def _id(fields: Fields) -> str:
    return fields.one("name_hint", str)


@_builds("relay.Var", vid=NODE, type_annotation=NODE)
def _var(fields: Fields) -> ast.Var:
    type_ = fields.maybe("type_annotation", ast.Type)
    return ast.Var(fields.one("vid", str), type_, span=fields.span)


@_builds("GlobalVar", "relay.GlobalVar", name_hint=NAME)
def _global_var(fields: Fields) -> ast.GlobalVar:
    return ast.GlobalVar(fields.one("name_hint", str), span=fields.span)


@_builds("Op", "relay.Op")
def _op(fields: Fields) -> ast.OpRef:
    name = fields.one("repr", str)
    if not name:
        raise ast.RelayError(f"expected the name of an operator {fields.where}, but got none")
    return ast.OpRef(name)


@_builds("relay.Constant", data=TENSOR)
def _constant(fields: Fields) -> ast.Constant:
    return ast.Constant(fields.one("data", np.ndarray), span=fields.span)


@_builds("relay.Tuple", fields=NODE)
def _tuple(fields: Fields) -> ast.Tuple:
    return ast.Tuple(fields.exprs("fields"), span=fields.span)


@_builds("relay.TupleGetItem", tuple_value=NODE, tuple=NODE, index=INT)
def _tuple_get_item(fields: Fields) -> ast.TupleGetItem:
    value = fields.expr("tuple" if "tuple" in fields else "tuple_value")
    return ast.TupleGetItem(value, fields.one("index", int), span=fields.span)


@_builds("relay.Call", op=NODE, args=NODE, attrs=NODE, type_args=NODE)
def _call(fields: Fields) -> ast.Call:
    op, args, attrs = fields.expr("op"), fields.exprs("args"), fields.attrs("attrs")
    return ast.Call(op, args, attrs, fields.types("type_args"), span=fields.span)


@_builds("relay.Function", params=NODE, body=NODE, ret_type=NODE, type_params=NODE, attrs=NODE)
def _function(fields: Fields) -> ast.Function:
    return ast.Function(
        fields.many("params", ast.Var),
        fields.expr("body"),
        fields.maybe("ret_type", ast.Type),
        tuple(fields.many("type_params", ast.TypeVar)),
        fields.attrs("attrs"),
        span=fields.span,
    )


@_builds("relay.Let", var=NODE, value=NODE, body=NODE)
def _let(fields: Fields) -> ast.Let:
    value, body = fields.expr("value"), fields.expr("body")
    return ast.Let(fields.one("var", ast.Var), value, body, span=fields.span)


@_builds("relay.If", cond=NODE, true_branch=NODE, false_branch=NODE)
def _if(fields: Fields) -> ast.If:
    condition, then = fields.expr("cond"), fields.expr("true_branch")
    return ast.If(condition, then, fields.expr("false_branch"), span=fields.span)


@_builds("relay.RefCreate", value=NODE)
def _ref_create(fields: Fields) -> ast.RefCreate:
    return ast.RefCreate(fields.expr("value"), span=fields.span)


@_builds("relay.RefRead", ref=NODE)
def _ref_read(fields: Fields) -> ast.RefRead:
    return ast.RefRead(fields.expr("ref"), span=fields.span)


@_builds("relay.RefWrite", ref=NODE, value=NODE)
def _ref_write(fields: Fields) -> ast.RefWrite:
    return ast.RefWrite(fields.expr("ref"), fields.expr("value"), span=fields.span)


# -- matching -----------------------------------------------------------------------------------


@_builds("relay.PatternWildcard")
def _wildcard(fields: Fields) -> ast.WildcardPattern:
    return ast.WildcardPattern()


@_builds("relay.PatternVar", var=NODE)
def _pattern_var(fields: Fields) -> ast.VarPattern:
    return ast.VarPattern(fields.one("var", ast.Var))


@_builds("relay.PatternTuple", patterns=NODE)
def _pattern_tuple(fields: Fields) -> ast.TuplePattern:
    return ast.TuplePattern(fields.many("patterns", ast.Pattern))


@_builds("relay.PatternConstructor", constructor=NODE, patterns=NODE)
def _pattern_constructor(fields: Fields) -> ast.ConstructorPattern:
    patterns = fields.many("patterns", ast.Pattern)
    return ast.ConstructorPattern(fields.one("constructor", ast.Constructor), patterns)


@_builds("relay.Clause", lhs=NODE, rhs=NODE)
def _clause(fields: Fields) -> ast.Clause:
    return ast.Clause(fields.one("lhs", ast.Pattern), fields.expr("rhs"))


@_builds("relay.Match", data=NODE, clauses=NODE, complete=BOOL)
def _match(fields: Fields) -> ast.Match:
    value, clauses = fields.expr("data"), fields.many("clauses", ast.Clause)
    return ast.Match(value, clauses, fields.get("complete", True), span=fields.span)


# -- modules ------------------------------------------------------------------------------------


@_builds("IRModule", "relay.Module", functions=NODE, type_definitions=NODE)
def _module(fields: Fields) -> ast.Module:
    module = ast.Module()
    for name, definition in fields.pairs("type_definitions"):
        if not isinstance(name, ast.DataType) or not isinstance(definition, ast.TypeDef):
            raise ast.RelayError(
                f"expected types by name {fields.where}, but got {describe(definition)}"
            )
        module.types[name.name] = definition
    for name, function in fields.pairs("functions"):
        if not isinstance(name, ast.GlobalVar):
            raise ast.RelayError(f"expected functions by name {fields.where}, but got {name!r}")
        if not isinstance(function, ast.Function):
            raise NotImplementedError(
                "functions other than those of Relay (such as kernels in TIR) are not supported, "
                f"but '@{name.name}' is {describe(function)}"
            )
        module.functions[name.name] = function
    return module
