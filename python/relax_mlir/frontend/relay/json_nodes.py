# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects of TVM's JSON as programs of Relay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import ast
from .attribute_kinds import BOOL, DTYPE, FLOAT, INT, NODE
from .json_graph import NAME, TENSOR, Build, Graph, Kinds, Pairs, Unread

Fields = Mapping[str, Any]
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
    raise ast.RelayError(f"expected JSON of a module or an expression, but got {_name(value)}")


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
        raise ast.RelayError(f"expected lists of objects by type, but got {_name(value)}")
    return value


def _name(value: Any) -> str:
    return repr(value) if isinstance(value, Unread) else f"a {type(value).__name__}"


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
    return str(fields["repr"])


@_builds("StringImm", "tir.StringImm", value=NAME)
def _string_value(fields: Fields) -> str:
    return str(fields["value"])


@_builds("IntImm", dtype=DTYPE, value=INT)
def _integer(fields: Fields) -> int:
    return bool(fields["value"]) if fields.get("dtype") == "bool" else int(fields["value"])


@_builds("FloatImm", value=FLOAT)
def _float(fields: Fields) -> float:
    return float(fields["value"])


@_builds("runtime.BoxInt")
def _boxed_integer(fields: Fields) -> int:
    return int(fields["repr"])


@_builds("runtime.BoxFloat")
def _boxed_float(fields: Fields) -> float:
    return float(fields["repr"])


@_builds("runtime.BoxBool")
def _boxed_bool(fields: Fields) -> bool:
    return str(fields["repr"]) == "true"


@_builds("DictAttrs", __dict__=NODE)
def _dict_attrs(fields: Fields) -> dict[str, Any]:
    return _str_map(fields.get("__dict__"))


def _str_map(value: Any) -> dict[str, Any]:
    """Return a map by str; one without entries has no keys to tell it by."""
    return dict(value or {})


@_builds("Span", "relay.Span", source_name=NODE, line=INT, column=INT)
def _span(fields: Fields) -> ast.Span | None:
    source = fields.get("source_name")
    if not isinstance(source, str):
        return None
    return ast.Span(source, fields.get("line", 1), fields.get("column", fields.get("col", 1)))


# -- types --------------------------------------------------------------------------------------


@_builds("Any", "tir.Any")
def _any(fields: Fields) -> ast.AnyDim:
    return ast.ANY


@_builds("Variable", "SizeVar", "tir.Var", "tir.SizeVar", name=NAME)
def _dim_var(fields: Fields) -> ast.TypeVar:
    return ast.TypeVar(str(fields["name"]))


@_builds("TypeVar", "relay.TypeVar", name_hint=NAME, var=NODE)
def _type_var(fields: Fields) -> ast.TypeVar:
    var = fields.get("var")  # of TVM 0.6
    return var if isinstance(var, ast.TypeVar) else ast.TypeVar(str(fields["name_hint"]))


@_builds("GlobalTypeVar", "relay.GlobalTypeVar", name_hint=NAME, var=NODE)
def _data_type(fields: Fields) -> ast.DataType:
    var = fields.get("var")  # of TVM 0.6
    name = var.name if isinstance(var, ast.TypeVar) else fields["name_hint"]
    return ast.DataType(str(name))


@_builds("TypeCall", "relay.TypeCall", func=NODE, args=NODE)
def _type_call(fields: Fields) -> ast.DataType:
    return ast.DataType(fields["func"].name, tuple(fields["args"] or ()))


@_builds("relay.TensorType", "TensorType", shape=NODE, dtype=DTYPE)
def _tensor_type(fields: Fields) -> ast.TensorType:
    shape = tuple(fields["shape"] or ())
    for dim in shape:
        if not isinstance(dim, int | ast.AnyDim | ast.TypeVar):
            raise NotImplementedError(
                f"dimensions that are expressions are not supported, but got {_name(dim)}"
            )
    return ast.TensorType(shape, fields["dtype"])


@_builds("TupleType", "relay.TupleType", fields=NODE)
def _tuple_type(fields: Fields) -> ast.TupleType:
    return ast.TupleType(tuple(fields["fields"] or ()))


@_builds("FuncType", "relay.FuncType", arg_types=NODE, ret_type=NODE, type_params=NODE)
def _func_type(fields: Fields) -> ast.FuncType:
    params, type_params = fields["arg_types"] or (), fields["type_params"] or ()
    return ast.FuncType(tuple(params), fields["ret_type"], tuple(type_params))


@_builds("relay.RefType", "RelayRefType", value=NODE)
def _ref_type(fields: Fields) -> ast.RefType:
    return ast.RefType(fields["value"])


@_builds("IncompleteType", "relay.IncompleteType")
def _incomplete_type(fields: Fields) -> ast.IncompleteType:
    return ast.IncompleteType()


# -- algebraic data types -----------------------------------------------------------------------


@_builds("relay.Constructor", "Constructor", name_hint=NAME, inputs=NODE, belong_to=NODE, tag=INT)
def _constructor(fields: Fields) -> ast.Constructor:
    inputs, owner = tuple(fields["inputs"] or ()), fields["belong_to"]
    return ast.Constructor(str(fields["name_hint"]), inputs, owner.name)


@_builds("relay.TypeData", "TypeData", header=NODE, type_vars=NODE, constructors=NODE)
def _type_def(fields: Fields) -> ast.TypeDef:
    params, constructors = tuple(fields["type_vars"] or ()), list(fields["constructors"] or ())
    return ast.TypeDef(fields["header"].name, params, constructors, not constructors)


# -- expressions --------------------------------------------------------------------------------


@_builds("relay.Id", name_hint=NAME)
def _id(fields: Fields) -> str:
    return str(fields["name_hint"])


@_builds("relay.Var", vid=NODE, type_annotation=NODE)
def _var(fields: Fields) -> ast.Var:
    return ast.Var(fields["vid"], fields.get("type_annotation"), span=fields.get("span"))


@_builds("GlobalVar", "relay.GlobalVar", name_hint=NAME)
def _global_var(fields: Fields) -> ast.GlobalVar:
    return ast.GlobalVar(str(fields["name_hint"]), span=fields.get("span"))


@_builds("Op", "relay.Op")
def _op(fields: Fields) -> ast.OpRef:
    return ast.OpRef(fields["repr"])


@_builds("relay.Constant", data=TENSOR)
def _constant(fields: Fields) -> ast.Constant:
    data: np.ndarray[Any, Any] = fields["data"]
    return ast.Constant(data, span=fields.get("span"))


@_builds("relay.Tuple", fields=NODE)
def _tuple(fields: Fields) -> ast.Tuple:
    return ast.Tuple(_exprs(fields["fields"]), span=fields.get("span"))


@_builds("relay.TupleGetItem", tuple_value=NODE, tuple=NODE, index=INT)
def _tuple_get_item(fields: Fields) -> ast.TupleGetItem:
    value = fields.get("tuple_value", fields.get("tuple"))
    return ast.TupleGetItem(_expr(value), fields["index"], span=fields.get("span"))


@_builds("relay.Call", op=NODE, args=NODE, attrs=NODE, type_args=NODE)
def _call(fields: Fields) -> ast.Call:
    attrs, types = _attributes(fields.get("attrs")), tuple(fields.get("type_args") or ())
    op, args = _expr(fields["op"]), _exprs(fields["args"])
    return ast.Call(op, args, attrs, types, span=fields.get("span"))


def _attributes(value: Any) -> dict[str, Any]:
    if isinstance(value, Unread):
        raise NotImplementedError(f"attributes that are {value} are not supported")
    return _str_map(value)


@_builds("relay.Function", params=NODE, body=NODE, ret_type=NODE, type_params=NODE, attrs=NODE)
def _function(fields: Fields) -> ast.Function:
    return ast.Function(
        list(fields["params"] or ()),
        _expr(fields["body"]),
        fields.get("ret_type"),
        tuple(fields.get("type_params") or ()),
        _attributes(fields.get("attrs")),
        span=fields.get("span"),
    )


@_builds("relay.Let", var=NODE, value=NODE, body=NODE)
def _let(fields: Fields) -> ast.Let:
    value, body = _expr(fields["value"]), _expr(fields["body"])
    return ast.Let(fields["var"], value, body, span=fields.get("span"))


@_builds("relay.If", cond=NODE, true_branch=NODE, false_branch=NODE)
def _if(fields: Fields) -> ast.If:
    parts = [_expr(fields[name]) for name in ("cond", "true_branch", "false_branch")]
    return ast.If(*parts, span=fields.get("span"))


@_builds("relay.RefCreate", value=NODE)
def _ref_create(fields: Fields) -> ast.RefCreate:
    return ast.RefCreate(_expr(fields["value"]), span=fields.get("span"))


@_builds("relay.RefRead", ref=NODE)
def _ref_read(fields: Fields) -> ast.RefRead:
    return ast.RefRead(_expr(fields["ref"]), span=fields.get("span"))


@_builds("relay.RefWrite", ref=NODE, value=NODE)
def _ref_write(fields: Fields) -> ast.RefWrite:
    return ast.RefWrite(_expr(fields["ref"]), _expr(fields["value"]), span=fields.get("span"))


def _expr(value: Any) -> ast.Expr:
    """Return an expression; a constructor becomes one."""
    if isinstance(value, ast.Constructor):
        return ast.ConstructorRef(value)
    if not isinstance(value, ast.Expr):
        raise ast.RelayError(f"expected an expression of Relay, but got {_name(value)}")
    return value


def _exprs(values: Sequence[Any] | None) -> list[ast.Expr]:
    return [_expr(value) for value in values or ()]


# -- matching -----------------------------------------------------------------------------------


@_builds("relay.PatternWildcard")
def _wildcard(fields: Fields) -> ast.WildcardPattern:
    return ast.WildcardPattern()


@_builds("relay.PatternVar", var=NODE)
def _pattern_var(fields: Fields) -> ast.VarPattern:
    return ast.VarPattern(fields["var"])


@_builds("relay.PatternTuple", patterns=NODE)
def _pattern_tuple(fields: Fields) -> ast.TuplePattern:
    return ast.TuplePattern(list(fields["patterns"] or ()))


@_builds("relay.PatternConstructor", constructor=NODE, patterns=NODE)
def _pattern_constructor(fields: Fields) -> ast.ConstructorPattern:
    return ast.ConstructorPattern(fields["constructor"], list(fields["patterns"] or ()))


@_builds("relay.Clause", lhs=NODE, rhs=NODE)
def _clause(fields: Fields) -> ast.Clause:
    return ast.Clause(fields["lhs"], _expr(fields["rhs"]))


@_builds("relay.Match", data=NODE, clauses=NODE, complete=BOOL)
def _match(fields: Fields) -> ast.Match:
    value, clauses = _expr(fields["data"]), list(fields["clauses"] or ())
    return ast.Match(value, clauses, fields.get("complete", True), span=fields.get("span"))


# -- modules ------------------------------------------------------------------------------------


@_builds("IRModule", "relay.Module", functions=NODE, type_definitions=NODE)
def _module(fields: Fields) -> ast.Module:
    module = ast.Module()
    for name, type_def in _pairs(fields.get("type_definitions")):
        module.types[name.name] = type_def
    for name, function in _pairs(fields.get("functions")):
        if not isinstance(function, ast.Function):
            raise NotImplementedError(
                "functions other than those of Relay (such as kernels in TIR) are not supported, "
                f"but '@{name.name}' is {_name(function)}"
            )
        module.functions[name.name] = function
    return module


def _pairs(value: Any) -> Pairs:
    return value if isinstance(value, Pairs) else Pairs()
