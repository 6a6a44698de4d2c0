"""TVM's classes of expressions and modules, in front of ours, and the members that ours lack.

`install` adds members to classes of ours: it is for processes that run nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import relax_mlir as relax
from mlir import ir
from mlir.dialects import func
from relax_mlir.core.values import Expr
from relax_mlir.core.variables import var_name
from relax_mlir.script.annotations import as_struct_info


class LacksError(Exception):
    """The stand-in lacks what a test calls; no test expects this one."""


# -- expressions ----------------------------------------------------------------------------------


class Op:
    """An operator by its name, as TVM has it as an object."""

    def __init__(self, name: str) -> None:
        self.name = name

    @staticmethod
    def get(name: str) -> Op:
        """Return the operator of a name."""
        return Op(name)

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        function: Any = relax.op
        for part in self.name.removeprefix("relax.").split("."):
            function = getattr(function, part)
        return function(*args, **attrs)

    def __getattr__(self, name: str) -> Any:
        raise LacksError(f"tvm.ir.Op.{name}")


class _CallKind(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, relax.Call)


class Call(metaclass=_CallKind):
    """A call, which a test makes where its operation belongs."""

    def __new__(cls, op: Any, args: Any, attrs: Any = None, sinfo_args: Any = ()) -> Any:
        """Insert the call."""
        if attrs or sinfo_args:
            raise LacksError("tvm.relax.Call with attributes")
        return op(*args) if isinstance(op, Op) else relax.op.call(op, *args)


class _VarKind(type):
    def __instancecheck__(cls, value: Any) -> bool:
        is_leaf = isinstance(value, (relax.Constant, relax.Tuple, relax.PrimValue))
        return isinstance(value, (relax.Var, ir.Value)) and not is_leaf


class Var(metaclass=_VarKind):
    """A variable: a parameter, or what a program binds."""

    def __new__(cls, name: str, struct_info: Any = None) -> Any:
        """Return a parameter of a function that is not written yet."""
        if struct_info is None:
            raise LacksError("tvm.relax.Var without StructInfo")
        return relax.Var(name, as_struct_info(struct_info))


class _FunctionKind(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, relax.Function)


class Function(metaclass=_FunctionKind):
    """A function, which a test takes apart and makes again."""

    def __new__(cls, params: Any, body: Any, *rest: Any, **keywords: Any) -> Any:
        """Return a copy of the function that has a body."""
        if not isinstance(body, ir.Region):
            raise LacksError("tvm.relax.Function of expressions")
        copy = relax.core.function.copy_function(body.owner.opview)
        for name in ("sym_visibility", "global_symbol"):
            if name in copy.operation.attributes:
                del copy.operation.attributes[name]
        return copy


# -- modules --------------------------------------------------------------------------------------


class Name(str):
    """The name of a function, as TVM has it as a GlobalVar."""

    @property
    def name_hint(self) -> str:
        """The name."""
        return str(self)


class _ModuleKind(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, relax.IRModule)


class IRModule(metaclass=_ModuleKind):
    """A module."""

    def __new__(cls, functions: Any = None, attrs: Any = None, global_infos: Any = None) -> Any:
        """Return a module of functions."""
        mod = relax.IRModule()
        for name, function in (functions or {}).items():
            if isinstance(function, relax.ExternFunc):
                raise LacksError("tvm.IRModule with a relax.ExternFunc")
            mod[name] = function
        for name, value in (attrs or {}).items():
            mod = mod.with_attr(name, value)
        return mod

    @staticmethod
    def from_expr(function: Any) -> Any:
        """Return the module of a function, "main" where it is private."""
        attributes = function.operation.attributes
        symbol = attributes["sym_name"].value
        if "global_symbol" in attributes:
            symbol = attributes["global_symbol"].value
        elif "sym_visibility" in attributes:
            symbol = "main"
        return relax.IRModule({symbol: function})


class _Attributes(Mapping):
    """Attributes as values of Python, where they are numbers or texts."""

    def __init__(self, operation: ir.Operation) -> None:
        self._operation = operation

    def __getitem__(self, name: str) -> Any:
        attr = self._operation.attributes[name]
        return getattr(attr, "value", attr)

    def __iter__(self) -> Any:
        return iter(self._operation.attributes)

    def __len__(self) -> int:
        return len(self._operation.attributes)


def _with_names(functions: Any) -> Any:
    return property(lambda mod: {Name(name): op for name, op in functions(mod).items()})


def install() -> None:
    """Add what the tests ask our objects for, for good."""
    relax.GlobalVar.name_hint = property(lambda gvar: gvar.name)  # type: ignore[attr-defined]
    relax.Var.name_hint = property(lambda var: var.name)  # type: ignore[attr-defined]
    Expr.name_hint = property(var_name)  # type: ignore[attr-defined]
    relax.Dim.__int__ = lambda dim: int(dim.value)  # type: ignore[attr-defined]
    relax.IRModule.functions = _with_names(relax.IRModule.functions.fget)  # type: ignore
    func.FuncOp.attrs = property(lambda op: _Attributes(op.operation))  # type: ignore
