"""Nodes of TVM as its Python makes them, and programs that they are as data of our importer."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from relax_mlir.frontend.relay import ast


class LacksError(Exception):
    """A test needs something of TVM that the stand-in does not have."""


class IntImm(int):
    """A number in a program, such as a dimension."""

    def __new__(cls, *dtype_and_value: Any) -> IntImm:
        made = super().__new__(cls, dtype_and_value[-1])
        made.dtype = dtype_and_value[0] if len(dtype_and_value) > 1 else "int32"
        return made

    @property
    def value(self) -> int:
        """The number."""
        return int(self)


class Dim:
    """A dimension that is not known: ``relay.Any()``, a variable of TIR, or computed of them."""

    def __init__(self, name: str = "?", dtype: str = "int32") -> None:
        self.name, self.dtype = name, dtype

    def _other(self, *others: Any) -> Dim:
        return Dim()

    def __eq__(self, other: object) -> bool:
        return True  # what it is, no test finds out here

    __hash__ = object.__hash__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = _other
    __mod__ = __truediv__ = __neg__ = _other


class Array(tuple):
    """A list in a node."""

    __slots__ = ()


def converted(value: Any, is_inside: bool = False) -> Any:
    """Return a value as a node holds it."""
    if isinstance(value, (list, tuple)) and not isinstance(value, Array):
        return Array(converted(one, True) for one in value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and is_inside:
        return IntImm(value)
    return value.astuple() if hasattr(value, "tuple_value") and hasattr(value, "size") else value


class Object:
    """What TVM's classes of nodes are made of: the arguments of the constructor are the fields."""

    def __init_handle_by_constructor__(self, constructor: Any, *args: Any) -> None:
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        for name, value in zip(names, args, strict=False):
            self.__dict__[name] = converted(value)

    def __getattr__(self, name: str) -> Any:
        if name == "vid":
            return SimpleNamespace(name_hint=self.__dict__["name_hint"])
        if name == "var" and "variable" in self.__dict__:
            return self.__dict__["variable"]
        if name in ("span", "attrs", "virtual_device_"):
            return None
        if name == "_checked_type_":
            from relay_run import checked_type

            return checked_type(self)
        raise AttributeError(f"{type(self).__name__} has no {name}")

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def same_as(self, other: object) -> bool:
        """Say whether it is the same node."""
        return self is other

    def _move(self) -> Object:
        return self


def node(cls: type, **fields: Any) -> Any:
    """Return a node of a class without calling its constructor."""
    made = cls.__new__(cls)
    made.__dict__.update(fields)
    return made


def attribute(value: Any) -> Any:
    """Return the value of an attribute as our importer has it."""
    if isinstance(value, (list, tuple)):
        return [attribute(one) for one in value]
    if isinstance(value, bool) or value is None or isinstance(value, (str, float)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (Dim, np.dtype)):
        return ast.ANY if isinstance(value, Dim) else value.name
    if isinstance(value, np.floating):
        return float(value)
    raise LacksError(f"an attribute that is {type(value).__name__}")


class Translation:
    """The program that some nodes are.

    Parameters
    ----------
    module : IRModule, optional
        The functions and data types that they refer to.

    Attributes
    ----------
    module : ast.Module
        Has the data types, and the functions that were needed so far.
    constructors : dict of int to node
        By the identity of our constructors.
    """

    def __init__(self, module: Any = None) -> None:
        self.module = ast.Module()
        self.constructors: dict[int, Any] = {}
        functions = module.functions if module else {}
        self._functions = {var.name_hint: function for var, function in functions.items()}
        self._known: dict[int, Any] = {}
        self._kept: list[Any] = []
        for header, data in module.type_definitions.items() if module else ():
            self._define(header, data)

    def function(self, name: str) -> ast.Function:
        """Return a function of the module, which is then one of the program."""
        if name not in self.module.functions:
            if name not in self._functions:
                raise LacksError(f"a function @{name}")
            self.module.functions[name] = ast.Function([], ast.Tuple([]))  # while it is translated
            self.module.functions[name] = self.expr(self._functions[name])
        return self.module.functions[name]

    # -- data types -------------------------------------------------------------------------------

    def _define(self, header: Any, data: Any) -> None:
        params = tuple(self.type(var) for var in data.type_vars)
        definition = ast.TypeDef(header.name_hint, params)
        self.module.types[header.name_hint] = definition
        for one in data.constructors:
            if "_program" not in one.__dict__:
                fields = tuple(self.type(field) for field in one.inputs)
                one.__dict__["_program"] = ast.Constructor(one.name_hint, fields, header.name_hint)
            constructor = one.__dict__["_program"]
            definition.constructors.append(constructor)
            self.constructors[id(constructor)] = one

    def type(self, one: Any) -> Any:
        """Return a type; None where it is not stated."""
        name = type(one).__name__
        if one is None or "_program" in getattr(one, "__dict__", ()):
            return None if one is None else one.__dict__["_program"]
        if name == "TypeVar":
            return self._once(one, lambda: ast.TypeVar(one.name_hint))
        if name == "TensorType":
            return ast.TensorType(tuple(self._dim(dim) for dim in one.shape), str(one.dtype))
        if name == "TupleType":
            return ast.TupleType(tuple(self.type(field) for field in one.fields))
        if name == "FuncType":
            params = tuple(self.type(param) for param in one.arg_types)
            variables = tuple(self.type(var) for var in one.type_params or ())
            return ast.FuncType(params, self.type(one.ret_type), variables)
        if name == "RelayRefType":
            return ast.RefType(self.type(one.value))
        if name == "TypeCall":
            return ast.DataType(one.func.name_hint, tuple(self.type(arg) for arg in one.args))
        if name == "GlobalTypeVar":
            return ast.DataType(one.name_hint)
        if name == "IncompleteType":
            return ast.IncompleteType()
        raise LacksError(f"the type {name}")

    def _dim(self, dim: Any) -> Any:
        if isinstance(dim, (int, np.integer)):
            return int(dim)
        return ast.ANY if isinstance(dim, Dim) else self.type(dim)

    # -- expressions ------------------------------------------------------------------------------

    def expr(self, one: Any) -> Any:
        """Return an expression, or a pattern; the same one for the same node."""
        if hasattr(one, "gradient_of"):
            raise LacksError("the gradient of a function inside of a program")
        if isinstance(one, tuple):
            return [self.expr(part) for part in one]
        if "_program" in getattr(one, "__dict__", ()) and not hasattr(one, "belong_to"):
            return self._parsed(one.__dict__["_program"])
        write = getattr(self, f"_{type(one).__name__.lower()}", None)
        if write is None:
            raise LacksError(f"an expression of {type(one).__name__}")
        return self._once(one, lambda: write(one))

    def _once(self, one: Any, make: Any) -> Any:
        if id(one) not in self._known:
            self._kept.append(one)
            self._known[id(one)] = make()
        return self._known[id(one)]

    def _parsed(self, program: Any) -> Any:
        """Return what our parser has read; the functions that it calls are needed."""
        for part in ast.post_order(program) if isinstance(program, ast.Expr) else ():
            if isinstance(part, ast.GlobalVar):
                self.function(part.name)
        return program

    def _var(self, one: Any) -> Any:
        return ast.Var(str(one.name_hint), self.type(one.type_annotation))

    def _globalvar(self, one: Any) -> Any:
        self.function(one.name_hint)
        return ast.GlobalVar(one.name_hint)

    def _op(self, one: Any) -> Any:
        return ast.OpRef(one.name)

    def _constructor(self, one: Any) -> Any:
        if "_program" not in one.__dict__:
            raise LacksError(f"a constructor {one.name_hint} of a type outside of the module")
        return ast.ConstructorRef(one.__dict__["_program"])

    def _constant(self, one: Any) -> Any:
        return ast.Constant(one.data.numpy())

    def _tuple(self, one: Any) -> Any:
        return ast.Tuple(self.expr(one.fields))

    def _tuplegetitem(self, one: Any) -> Any:
        return ast.TupleGetItem(self.expr(one.tuple_value), int(one.index))

    def _call(self, one: Any) -> Any:
        attrs = attributes(one.attrs)
        types = [self.type(arg) for arg in one.type_args or ()]
        return ast.Call(self.expr(one.op), self.expr(one.args), attrs, types)

    def _function(self, one: Any) -> Any:
        params = self.expr(one.params)
        variables = tuple(self.type(var) for var in one.type_params or ())
        attrs = {name: value for name, value in attributes(one.attrs).items() if value is not None}
        return ast.Function(params, self.expr(one.body), self.type(one.ret_type), variables, attrs)

    def _let(self, one: Any) -> Any:
        lets = [one]
        while type(lets[-1].body).__name__ == "Let":
            lets.append(lets[-1].body)
        body = self.expr(lets[-1].body)
        for let in reversed(lets):
            body = ast.Let(self.expr(let.variable), self.expr(let.value), body)
        return body

    def _if(self, one: Any) -> Any:
        return ast.If(self.expr(one.cond), self.expr(one.true_branch), self.expr(one.false_branch))

    def _refcreate(self, one: Any) -> Any:
        return ast.RefCreate(self.expr(one.value))

    def _refread(self, one: Any) -> Any:
        return ast.RefRead(self.expr(one.ref))

    def _refwrite(self, one: Any) -> Any:
        return ast.RefWrite(self.expr(one.ref), self.expr(one.value))

    def _match(self, one: Any) -> Any:
        clauses = [ast.Clause(self.expr(part.lhs), self.expr(part.rhs)) for part in one.clauses]
        return ast.Match(self.expr(one.data), clauses, bool(one.complete))

    def _patternwildcard(self, one: Any) -> Any:
        return ast.WildcardPattern()

    def _patternvar(self, one: Any) -> Any:
        return ast.VarPattern(self.expr(one.var))

    def _patterntuple(self, one: Any) -> Any:
        return ast.TuplePattern(self.expr(one.patterns))

    def _patternconstructor(self, one: Any) -> Any:
        constructor = self.expr(one.constructor).constructor
        return ast.ConstructorPattern(constructor, self.expr(one.patterns))


def attributes(attrs: Any) -> Mapping[str, Any]:
    """Return the attributes of a call or a function."""
    fields = getattr(attrs, "__dict__", attrs) or {}
    # Operands that are attributes, too, are operands.
    return {k: attribute(value) for k, value in fields.items() if not isinstance(value, Object)}
