"""What TVM's Python calls of C++, for programs: nodes, modules, passes."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import relay_run
from relax_mlir.frontend.relay import ast, parse, parse_expr, structurally_equal, to_text
from relay_nodes import Dim, LacksError, Object, Translation, converted, node

FUNCTIONS: dict[str, Any] = {}


def registered(name: str) -> Callable[[Any], Any]:
    """Register what is called by a name."""

    def register(function: Any) -> Any:
        FUNCTIONS[name] = function
        return function

    return register


@registered("ir.GetOp")
def operator(name: str) -> Any:
    """Return an operator, which is one node."""
    known = _OPS.get(name)
    if known is None:
        known = _OPS[name] = node(sys.modules["tvm.ir"].Op, name=name)
    return known


_OPS: dict[str, Any] = {}


for _name in ("Get", "Set", "Reset"):
    # Strategies of TVM, of which there are none.
    registered(f"ir.Op{_name}Attr")(lambda *args: None)
registered("ir.OpHasAttr")(lambda *args: False)


@registered("node.MakeNode")
def _make_node(key: str, *fields: Any) -> Any:
    ir = sys.modules["tvm.ir"]
    cls = ir.DictAttrs if key == "DictAttrs" else ir.Attrs
    return node(cls, **{k: converted(v) for k, v in zip(fields[::2], fields[1::2], strict=True)})


registered("ir.BaseFunc_Attrs")(lambda function: function.__dict__["attrs"])


@registered("ir.BaseFuncCopy")
def _copy(function: Any) -> Any:
    return node(type(function), **function.__dict__)


@registered("ir.BaseFuncWithAttr")
def _with_attr(function: Any, key: str, value: Any) -> Any:
    attrs = node(type(function.attrs), **{**function.attrs.__dict__, key: value})
    return node(type(function), **{**function.__dict__, "attrs": attrs})


registered("ir.DictAttrsGetDict")(lambda attrs: attrs.__dict__)


@registered("node.StructuralEqual")
def _equal(one: Any, other: Any, is_asserted: bool = False, map_free_vars: bool = False) -> bool:
    """Compare types, which only counts; and programs."""
    if hasattr(one, "functions"):
        raise LacksError("comparison of modules")
    translation = Translation()
    if isinstance(one, relay_run.AnyType) or isinstance(other, relay_run.AnyType):
        return True
    if isinstance(one, sys.modules["tvm.ir"].Type):
        relay_run.compare_types(translation.type(one), translation.type(other), one, other)
        return True
    return structurally_equal(translation.expr(one), translation.expr(other))


@registered("relay.ir.Any")
def _any() -> Dim:
    return Dim()


@registered("relay.ir.IsDynamic")
def _is_dynamic(type_: Any) -> bool:
    return any(isinstance(dim, Dim) for dim in type_.shape)


@registered("relay.ir.AsText")
@registered("relay.ir.PrettyPrint")
def _text(expr: Any, *rest: Any) -> str:
    return to_text(Translation().expr(expr))


@registered("relay.ir.Bind")
def _bind(expr: Any, binds: Any) -> Any:
    from tvm import relay

    body = expr.body if isinstance(expr, relay.Function) else expr
    for var, value in binds.items():
        body = relay.Let(var, value, body)
    if body is not expr and isinstance(expr, relay.Function):
        params = [param for param in expr.params if all(param is not var for var in binds)]
        return relay.Function(params, body, expr.ret_type, expr.type_params)
    return body


# -- modules of programs --------------------------------------------------------------------------


def _global(module: Any, name: str) -> Any:
    return next((var for var in module.functions if var.name_hint == name), None)


@registered("ir.Module_Add")
def _add(module: Any, var: Any, function: Any, update: bool = False) -> None:
    module.functions[_global(module, var.name_hint) or var] = function


@registered("ir.Module_AddDef")
def _add_type(module: Any, header: Any, data: Any, update: bool = False) -> None:
    module.type_definitions[header] = data
    for index, constructor in enumerate(data.constructors):
        constructor.__dict__["tag"] = 1000 * len(module.type_definitions) + index


@registered("ir.Module_LookupTag")
def _by_tag(module: Any, tag: int) -> Any:
    types = module.type_definitions.values()
    return next(one for data in types for one in data.constructors if one.tag == tag)


@registered("ir.Module_LookupDef")
def _type_data(module: Any, header: Any) -> Any:
    return module.type_definitions[header]


@registered("ir.Module_GetGlobalVar")
def _get_global(module: Any, name: str) -> Any:
    var = _global(module, name)
    if var is None:
        raise ValueError(f"no function @{name}")
    return var


@registered("ir.Module_GetGlobalTypeVar")
def _get_type(module: Any, name: str) -> Any:
    found = [var for var in module.type_definitions if var.name_hint == name]
    if not found:
        raise ValueError(f"no type {name}")
    return found[0]


@registered("ir.Module_Lookup_str")
def _lookup(module: Any, name: str) -> Any:
    return module.functions[_get_global(module, name)]


registered("ir.Module_ContainGlobalVar")(lambda module, name: _global(module, name) is not None)
registered("ir.Module_GetGlobalTypeVars")(lambda module: list(module.type_definitions))
registered("ir.Module_GetGlobalVars")(lambda module: list(module.functions))
registered("ir.Module_Contains")(
    lambda module, var: _global(module, getattr(var, "name_hint", var)) is not None
)
registered("ir.Module_Lookup")(lambda module, var: _lookup(module, var.name_hint))
registered("ir.Module_UpdateFunction")(_add)


@registered("ir.Module_Update")
def _update(module: Any, other: Any) -> None:
    for var, function in other.functions.items():
        _add(module, var, function)
    for header, data in other.type_definitions.items():
        module.type_definitions[header] = data


@registered("ir.Module_Clone")
def _clone(module: Any) -> Any:
    copy = sys.modules["tvm.ir"].IRModule()
    _update(copy, module)
    return copy


@registered("ir.Module_FromExpr")
def _from_expr(expr: Any, functions: Any, types_: Any) -> Any:
    from tvm import relay

    module = sys.modules["tvm.ir"].IRModule(functions or None, types_ or None)
    main = expr if isinstance(expr, relay.Function) else relay.Function(free_vars(expr), expr)
    _add(module, _global(module, "main") or sys.modules["tvm.ir"].GlobalVar("main"), main)
    return module


@registered("ir.Module_ImportFromStd")
def _import_std(module: Any, name: str) -> None:
    path = sys.modules["tvm.relay.base"].__STD_PATH__
    _parse_into(module, Path(path, name).read_text())


@registered("relay.parser.ParseModuleInContext")
def _parse(name: str, source: str, module: Any, table: Any) -> Any:
    if table:
        raise LacksError("a table of metadata")
    module = _clone(module) if module is not None else sys.modules["tvm.ir"].IRModule()
    _parse_into(module, source)
    return module


def _parse_into(module: Any, source: str) -> None:
    """Add the definitions of a text, which may use those of the module."""
    before = Translation(module).module
    for var, function in module.functions.items():
        if "_program" in function.__dict__:
            before.functions[var.name_hint] = function.__dict__["_program"]
    known = {*before.functions, *before.types}
    program = parse(source, module=before)
    functions = {name: f for name, f in program.functions.items() if name not in known}
    definitions = {name: one for name, one in program.types.items() if name not in known}
    _update(module, _module_node(ast.Module(functions, definitions)))


@registered("relay.parser.ParseExpr")
def _parse_expr(name: str, source: str) -> Any:
    return _expr_node(parse_expr(source))


class Parsed(Object):
    """An expression that our parser has read."""


def _expr_node(expr: Any) -> Any:
    """Return an expression of a text as a node, of which tests see little."""
    from tvm import relay

    if not isinstance(expr, ast.Function):
        return node(type("Parsed", (Parsed, relay.expr.ExprWithOp), {}), _program=expr)
    params = [
        node(relay.Var, _program=param, name_hint=param.name, type_annotation=None)
        for param in expr.params
    ]
    fields = {"params": params, "body": _expr_node(expr.body), "ret_type": None}
    attrs = node(sys.modules["tvm.ir"].DictAttrs, **expr.attrs)
    return node(relay.Function, _program=expr, type_params=[], attrs=attrs, **fields)


def _module_node(program: ast.Module) -> Any:
    ir = sys.modules["tvm.ir"]
    module = ir.IRModule()
    for name, definition in program.types.items():
        header = ir.GlobalTypeVar(name)
        constructors = [
            node(
                ir.Constructor,
                _program=one,
                name_hint=one.name,
                inputs=one.fields,
                belong_to=header,
            )
            for one in definition.constructors
        ]
        variables = [
            node(ir.TypeVar, _program=var, name_hint=var.name) for var in definition.params
        ]
        _add_type(module, header, ir.TypeData(header, variables, constructors))
    for name, function in program.functions.items():
        _add(module, ir.GlobalVar(name), _expr_node(function))
    return module


# -- analysis and passes --------------------------------------------------------------------------


def _children(one: Any) -> list[Any]:
    fields = one if isinstance(one, tuple) else one.__dict__.values()
    return [field for field in fields if isinstance(field, (Object, tuple))]


def free_vars(expr: Any) -> list[Any]:
    """Return the variables that an expression uses and does not bind."""
    from tvm import relay

    seen: dict[int, Any] = {}
    bound: set[int] = set()
    stack = [expr]
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if isinstance(one, relay.Function):
            bound.update(id(param) for param in one.params)
        if isinstance(one, relay.Let):
            bound.add(id(one.variable))
        if isinstance(one, relay.PatternVar):
            bound.add(id(one.var))
        stack.extend(reversed(_children(one)))
    found = [one for one in seen.values() if isinstance(one, relay.Var)]
    return [one for one in found if id(one) not in bound]


class Pass:
    """A pass, which changes nothing here: our importer takes the program as it was."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        pass

    def __call__(self, module: Any) -> Any:
        return module


class InferType(Pass):
    """Finds programs that are wrong, of those whose parameters have known shapes."""

    def __call__(self, module: Any) -> Any:
        relay_run.check_types(module)
        return module


def passes(name: str) -> Any:
    """Return a pass; the other names of the module are not here."""
    if name == "InferType":
        return InferType
    if not re.match("[A-Z]", name):
        raise AttributeError(name)
    return Pass


def gradient(expr: Any, mod: Any = None, mode: str = "higher_order") -> Any:
    """Return a function whose gradient is taken where it is evaluated."""
    return node(type(expr), **{**expr.__dict__, "gradient_of": expr})


def of_relax(name: str) -> Any:
    """Return a class of Relax, of which nothing is an instance but for calls."""
    if name.startswith("__"):
        raise AttributeError(name)
    return sys.modules["tvm.relay.expr"].Call if name == "Call" else type(name, (), {})


class Context(contextlib.ExitStack):
    """Options of TVM's compiler, which has none here."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__()
