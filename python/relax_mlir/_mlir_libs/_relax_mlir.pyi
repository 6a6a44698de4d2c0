# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The extension; relax_mlir.ir derives the public classes.

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from mlir import ir

from ..ir import PrimExpr as _PrimExpr
from ..ir import ShapeExpr as _ShapeExpr

class PrimExprFacts:
    def __init__(self) -> None: ...
    def add_bounds(self, name: str, lower: int | None, upper: int | None) -> None: ...
    def add_equal(self, lhs: PrimExpr, rhs: PrimExpr) -> None: ...
    def add_less_equal(self, lhs: PrimExpr, rhs: PrimExpr) -> None: ...

class PrimExpr(ir.Attribute):
    context: ir.Context
    kind: str
    value: int | None
    name: str | None
    operands: list[_PrimExpr]
    variables: list[str]
    text: str
    @staticmethod
    def isinstance(other_attribute: ir.Attribute) -> bool: ...
    @staticmethod
    def get_static_typeid() -> ir.TypeID: ...
    @staticmethod
    def get_var(name: str, context: ir.Context) -> _PrimExpr: ...
    @staticmethod
    def get_int(value: int, context: ir.Context) -> _PrimExpr: ...
    @staticmethod
    def get_binary(kind: str, lhs: PrimExpr, rhs: PrimExpr) -> _PrimExpr: ...
    @staticmethod
    def get_call(kind: str, operands: Sequence[PrimExpr]) -> _PrimExpr: ...
    def _prove_equal(self, other: PrimExpr, facts: PrimExprFacts) -> bool | None: ...
    def _prove_less_equal(self, other: PrimExpr, facts: PrimExprFacts) -> bool | None: ...
    def _simplify(self, facts: PrimExprFacts) -> _PrimExpr: ...
    def _evaluate(self, values: Mapping[str, int]) -> int | None: ...
    def _substitute(self, values: Mapping[str, PrimExpr]) -> _PrimExpr: ...

class ShapeExpr(ir.Attribute):
    context: ir.Context
    dims: list[_PrimExpr]
    @staticmethod
    def isinstance(other_attribute: ir.Attribute) -> bool: ...
    @staticmethod
    def get_static_typeid() -> ir.TypeID: ...
    @staticmethod
    def get(dims: Sequence[PrimExpr], context: ir.Context) -> _ShapeExpr: ...

class _StructInfo(ir.Type):
    context: ir.Context
    @staticmethod
    def isinstance(other_type: ir.Type) -> bool: ...
    @staticmethod
    def get_static_typeid() -> ir.TypeID: ...

class ObjectStructInfo(_StructInfo):
    @staticmethod
    def get(context: ir.Context) -> ir.Type: ...

class TensorStructInfo(_StructInfo):
    shape: _ShapeExpr | None
    ndim: int
    element_type: ir.Type | None
    vdevice: str | None
    shape_var: str | None
    @staticmethod
    def get(
        shape: ShapeExpr | None,
        ndim: int,
        dtype: ir.Type | None,
        vdevice: str,
        shape_var: str,
        context: ir.Context,
    ) -> ir.Type: ...

class ShapeStructInfo(_StructInfo):
    values: _ShapeExpr | None
    ndim: int
    var: str | None
    @staticmethod
    def get(values: ShapeExpr | None, ndim: int, var: str, context: ir.Context) -> ir.Type: ...

class PrimStructInfo(_StructInfo):
    element_type: ir.Type
    value: _PrimExpr | None
    @staticmethod
    def get(dtype: ir.Type, value: PrimExpr | None) -> ir.Type: ...

class TupleStructInfo(_StructInfo):
    fields: list[ir.Type]
    @staticmethod
    def get(fields: Sequence[ir.Type], context: ir.Context) -> ir.Type: ...

class FuncStructInfo(_StructInfo):
    params: list[ir.Type]
    ret: ir.Type
    is_pure: bool
    derive: str | None
    @staticmethod
    def get(params: Sequence[ir.Type], ret: ir.Type, is_pure: bool) -> ir.Type: ...
    @staticmethod
    def get_packed(derive: str, context: ir.Context) -> ir.Type: ...

_Errors: TypeAlias = list[tuple[str, ir.Location, "_Errors"]]

class ErrorCollector:
    def __init__(self, context: ir.Context) -> None: ...
    def finish(self) -> _Errors: ...

def register_dialects(registry: ir.DialectRegistry) -> None: ...
def load_dialect(context: ir.Context) -> None: ...
def clone_module(module: ir.Module) -> ir.Module: ...
def copy_as_module(operation: ir.Operation) -> ir.Module: ...
def parse_unverified(text: str, context: ir.Context) -> ir.Module | None: ...
def check_well_formed(module: ir.Module) -> bool: ...
def is_pure(operation: ir.Operation) -> bool: ...
def tidy_kernel(operation: ir.Operation) -> None: ...
def next_operation(operation: ir.Operation) -> ir.Operation | None: ...
def phases() -> list[tuple[str, str]]: ...
def is_struct_info(type: ir.Type) -> bool: ...  # noqa: A002
def collect_facts(
    op: ir.Operation,
) -> tuple[
    dict[str, tuple[int | None, int | None]],
    list[tuple[ir.Attribute, ir.Attribute]],
    list[tuple[ir.Attribute, ir.Attribute]],
]: ...
def is_subtype(
    sub: ir.Type,
    super: ir.Type,  # noqa: A002
    facts: PrimExprFacts,
    /,
) -> bool | None: ...
def check_compatibility(
    actual: ir.Type, expected: ir.Type, facts: PrimExprFacts, /
) -> bool | None: ...
def unify(lhs: ir.Type, rhs: ir.Type, facts: PrimExprFacts, /) -> ir.Type: ...
def erase_dims(type: ir.Type, /) -> ir.Type: ...  # noqa: A002
def erase_struct_info(type: ir.Type, /) -> ir.Type: ...  # noqa: A002
def erase_to_well_defined(
    type: ir.Type,  # noqa: A002
    shape_vars: Sequence[str],
    dim_vars: Sequence[str],
    /,
) -> ir.Type: ...
def substitute(type: ir.Type, values: Mapping[str, ir.Attribute], /) -> ir.Type: ...  # noqa: A002
def get_shape_var_mapping(formal: ir.Type, actual: ir.Type, /) -> dict[str, ir.Attribute]: ...
def register_derive_func(
    name: str,
    function: Callable[[list[ir.Type], list[ir.Type]], ir.Type],
    override: bool,
) -> None: ...
def derive_func_names() -> list[str]: ...
def derive_by_name(
    name: str,
    arguments: Sequence[ir.Type],
    sinfo_args: Sequence[ir.Type],
    context: ir.Context,
) -> ir.Type: ...
def binding_vars(type: ir.Type, /) -> list[str]: ...  # noqa: A002
def derive_call_result(
    callee: ir.Type, arguments: Sequence[ir.Type], /
) -> tuple[ir.Type, list[tuple[int, ir.Type]]]: ...
def runtime_struct_info(type: ir.Type, devices: ir.Attribute | None = None) -> str: ...  # noqa: A002
def function_struct_info(function: ir.Operation, /) -> FuncStructInfo | None: ...
def emit_object(
    module: ir.Module, target: tuple[str, str, str], opt_level: int
) -> tuple[bytes, tuple[str, str, str], list[str]] | None: ...
def emit_library_table(
    context: ir.Context,
    target: tuple[str, str, str],
    symbols: Sequence[str],
    exports: Sequence[str],
) -> tuple[bytes, tuple[str, str, str], list[str]] | None: ...

class LoadedObject:
    def __init__(self, data: bytes, libraries: Sequence[str]) -> None: ...
    def look_up(self, symbol: str) -> int: ...
