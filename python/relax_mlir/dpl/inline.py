# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules that are written as functions: a function as a pattern, and one as a replacement."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from mlir import ir

from ..core.expr import GlobalVar
from ..core.functions import all_global_vars
from ..core.ir import Dim, ShapeExpr
from ..core.ir_module import FreeFunction, IRModule
from ..core.leaves import ExternFunc
from ..core.struct_info import get_shape_var_mapping, is_subtype, substitute
from ..core.variables import defined_symbolic_vars, defining_op, free_symbolic_vars, walk
from .expressions import LEAVES, Expression, Op, call_of
from .pattern import DFPattern, ExprPattern, ExternFuncPattern, GlobalVarPattern, WildcardPattern
from .restriction import SameAttrsPattern, StructInfoPattern
from .structure import CallPattern, TupleGetItemPattern, TuplePattern

# Leaves that their types describe, with the shape variables in them.
_BY_TYPE = ("relax.shape", "relax.prim_value")
# Operations whose results follow from their operands, if they are not among these.
_DECLARED = frozenset(
    f"relax.{name}"
    for name in (
        "call",
        "call_dps_packed",
        "call_inplace_packed",
        "call_packed",
        "call_pure_packed",
        "call_tir",
        "call_tir_inplace",
        "closure",
        "global_var",
        "if",
        "match_cast",
        "seq",
    )
)


def _body(func: ir.Operation) -> tuple[list[ir.Operation], ir.Value]:
    """Return the operations of a function, those of dataflow blocks in place, and its result."""

    def flatten(block: ir.Block) -> Iterator[ir.Operation]:
        for op in block.operations:
            yield op.operation
            if op.operation.name == "relax.dataflow":
                yield from flatten(op.operation.regions[0].blocks[0])

    block = func.regions[0].blocks[0]
    *_, last = block.operations
    return list(flatten(block)), last.operation.operands[0]


# ---------------------------------------------------------------------------------------------
# Functions as patterns
# ---------------------------------------------------------------------------------------------


def pattern_of(func: ir.Operation) -> tuple[list[DFPattern], DFPattern]:
    """Return the patterns of the parameters of a function, and of what it returns.

    Parameters
    ----------
    func : mlir.ir.Operation
        A ``relax.func`` of calls, tuples, casts and literals.

    Raises
    ------
    TypeError
        If there is anything else in it.
    """
    params = list(func.regions[0].blocks[0].arguments)
    wildcards: list[DFPattern] = [WildcardPattern() for _ in params]
    known: dict[ir.Value, DFPattern] = {
        param: StructInfoPattern(wildcard, param.type)
        for param, wildcard in zip(params, wildcards, strict=True)
    }
    ops, result = _body(func)
    for op in ops:
        if op.name == "relax.dataflow" or len(op.results) == 0:
            continue
        known[op.results[0]] = _pattern_of_op(op, known)
    return wildcards, _find(result, known)


def _find(value: ir.Value, known: dict[ir.Value, DFPattern]) -> DFPattern:
    """Return the pattern of a value; an output of a dataflow block is what it is inside."""
    op = defining_op(value)
    while value not in known and op is not None and op.name == "relax.dataflow":
        *_, output = op.regions[0].blocks[0].operations
        value = output.operation.operands[ir.OpResult(value).result_number]
        op = defining_op(value)
    return known[value]


def _pattern_of_op(op: ir.Operation, known: dict[ir.Value, DFPattern]) -> DFPattern:
    def find(expr: Expression) -> DFPattern:
        if isinstance(expr, tuple):
            return TuplePattern([find(field) for field in expr])
        if isinstance(expr, ir.Value):
            return _find(expr, known)
        if isinstance(expr, ExternFunc):
            return ExternFuncPattern(expr.global_symbol)
        return GlobalVarPattern(expr.name) if isinstance(expr, GlobalVar) else ExprPattern(expr)

    value = op.results[0]
    if op.name in LEAVES:
        found: DFPattern = ExprPattern(value)
        return StructInfoPattern(WildcardPattern(), value.type) if op.name in _BY_TYPE else found
    if op.name == "relax.match_cast":
        return StructInfoPattern(find(op.operands[0]), value.type)
    if op.name == "relax.tuple":
        return TuplePattern([find(operand) for operand in op.operands])
    if op.name == "relax.get_item":
        return TupleGetItemPattern(find(op.operands[0]), op.attributes["index"].value)
    call = call_of(op)
    if call is None:
        raise TypeError(
            f"expected calls, tuples, casts and literals in a pattern, but got {op.name}"
        )
    callee, args = call
    pattern: DFPattern = CallPattern(find(callee), [find(arg) for arg in args], False, False)
    if isinstance(callee, Op):
        pattern = SameAttrsPattern(pattern, op)
    return StructInfoPattern(pattern, value.type) if op.name in _DECLARED else pattern


# ---------------------------------------------------------------------------------------------
# Functions as replacements
# ---------------------------------------------------------------------------------------------


class Replacement:
    """A function that is written out in place of what a pattern matches.

    Parameters
    ----------
    module : IRModule
        It has the function, and private ones that it calls.
    name : str
    """

    def __init__(self, module: IRModule, name: str) -> None:
        self._module = module
        self._func = module[name].operation

    def write(self, args: Sequence[ir.Value]) -> ir.Value:
        """Insert the body of the function at the current place, and return its result.

        Parameters
        ----------
        args : sequence of mlir.ir.Value
        """
        place = ir.InsertionPoint.current.block.owner.operation
        while place.name not in ("relax.func", "builtin.module"):
            place = place.parent.operation
        copier = _Copier(self._mapping(args, place), self._names(place))
        params = self._func.regions[0].blocks[0].arguments
        copier.values.update(zip(params, args, strict=True))
        ops, result = _body(self._func)
        for op in ops:
            if op.name != "relax.dataflow" and len(op.results) > 0:
                copier.copy(op)
        return copier.value(result)

    def _mapping(self, args: Sequence[ir.Value], place: ir.Operation) -> dict[str, Any]:
        """Return the values of the shape variables of the function."""
        mapping: dict[str, Any] = {}
        params = self._func.regions[0].blocks[0].arguments
        for param, arg in zip(params, args, strict=True):
            formal = ir.Type.parse(str(param.type), arg.context)
            for name, value in get_shape_var_mapping(formal, arg.type).items():
                mapping.setdefault(name, value)
        variables = [*defined_symbolic_vars(place), *free_symbolic_vars(place)]
        taken = {str(variable.name) for variable in variables}
        for variable in defined_symbolic_vars(self._func):
            name = str(variable.name)
            if name not in mapping:
                mapping[name] = _fresh(name, taken)
        return mapping

    # -- functions that it calls ---------------------------------------------------------------

    def _names(self, place: ir.Operation) -> dict[str, str]:
        """Add the functions that the replacement calls to a module; return their names there."""
        module = place
        while module.parent is not None:
            module = module.parent.operation
        wanted: dict[str, None] = {}
        work = [self._func]
        while work:
            for callee in all_global_vars(work.pop()):
                if callee.name in self._module and callee.name not in wanted:
                    wanted[callee.name] = None
                    work.append(self._module[callee.name].operation)
        if not wanted:
            return {}
        block = module.regions[0].blocks[0]
        functions = {
            op.attributes["sym_name"].value: op.operation
            for op in block.operations
            if "sym_name" in op.operation.attributes
        }
        for number in itertools.count():
            names = {name: f"{name}_{number}" if number else name for name in wanted}
            made = {names[name]: self._renamed(name, names, block) for name in wanted}
            if all(
                name not in functions or _text(functions[name]) == _text(func)
                for name, func in made.items()
            ):
                break
        for name, func in made.items():
            if name not in functions:
                block.append(func)
        return names

    def _renamed(self, name: str, names: dict[str, str], block: ir.Block) -> ir.Operation:
        """Return a copy of a function with other names of functions."""
        with block.owner.operation.context, ir.Location.unknown():
            func = ir.Operation.parse(_text(self._module[name].operation))
        func.attributes["sym_name"] = ir.StringAttr.get(names[name], func.context)
        _rename(func, names)
        return func


def _text(op: ir.Operation) -> str:
    text: str = op.get_asm(print_generic_op_form=True, use_local_scope=True)
    return text


def _fresh(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, and take it."""
    found, number = name, 0
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found


def _rename(op: ir.Operation, names: dict[str, str]) -> None:
    """Have the operations in a function name functions as a module does."""
    for inner in walk(op):
        for key in ("callee", "name"):
            attr = inner.attributes.get(key)
            if isinstance(attr, ir.FlatSymbolRefAttr) and attr.value in names:
                inner.attributes[key] = ir.FlatSymbolRefAttr.get(names[attr.value], inner.context)


class _Copier:
    """Copies operations, with other values, shape variables and functions.

    Parameters
    ----------
    dims : dict of str to dimension
    functions : dict of str to str
    """

    def __init__(self, dims: dict[str, Any], functions: dict[str, str]) -> None:
        self.values: dict[ir.Value, ir.Value] = {}
        self._dims = dims
        self._single = {
            name: value for name, value in dims.items() if not isinstance(value, ShapeExpr)
        }
        self._functions = functions

    def value(self, value: ir.Value) -> ir.Value:
        """Return the copy of a value."""
        op = defining_op(value)
        while value not in self.values and op is not None and op.name == "relax.dataflow":
            *_, output = op.regions[0].blocks[0].operations
            value = output.operation.operands[ir.OpResult(value).result_number]
            op = defining_op(value)
        return self.values[value]

    def copy(self, op: ir.Operation) -> None:
        """Insert a copy of an operation at the current place."""
        operands = [self.value(operand) for operand in op.operands]
        attributes = {name: self._attr(name, attr) for name, attr in op.attributes.items()}
        is_declared = op.name in _DECLARED or not op.name.startswith("relax.")
        results = None
        if is_declared or len(op.results) == 0 or op.name == "relax.dataflow":
            results = [self._type(result.type) for result in op.results]
        made = ir.Operation.create(
            op.name,
            results=results,
            operands=operands,
            attributes=attributes,
            regions=len(op.regions),
            infer_type=results is None,
        )
        self.values.update(zip(op.results, made.results, strict=True))
        for old, new in zip(op.regions, made.regions, strict=True):
            self._region(old, new)

    def _region(self, old: ir.Region, new: ir.Region) -> None:
        for block in old.blocks:
            types = [self._type(argument.type) for argument in block.arguments]
            copy = ir.Block.create_at_start(new, types, [ir.Location.current for _ in types])
            self.values.update(zip(block.arguments, copy.arguments, strict=True))
            with ir.InsertionPoint(copy):
                for op in block.operations:
                    self.copy(op.operation)

    def _type(self, type_: ir.Type) -> ir.Type:
        here = ir.Type.parse(str(type_), ir.Context.current)
        if not str(here).startswith("!relax."):
            return here
        return substitute(here, self._dims)

    def _attr(self, name: str, attr: ir.Attribute) -> ir.Attribute:
        if isinstance(attr, ir.FlatSymbolRefAttr):
            return ir.FlatSymbolRefAttr.get(self._functions.get(attr.value, attr.value))
        if isinstance(attr, Dim):
            return Dim(ir.Attribute.parse(str(attr))).substitute(self._single)
        if isinstance(attr, ShapeExpr):
            dims = ShapeExpr(ir.Attribute.parse(str(attr))).dims
            return ShapeExpr([dim.substitute(self._single) for dim in dims])
        if isinstance(attr, ir.TypeAttr):
            return ir.TypeAttr.get(self._type(attr.value))
        if isinstance(attr, ir.ArrayAttr):
            return ir.ArrayAttr.get([self._attr(name, item) for item in attr])
        if attr.context is not ir.Context.current:
            return ir.Attribute.parse(str(attr))
        return attr


# ---------------------------------------------------------------------------------------------
# Modules as rules
# ---------------------------------------------------------------------------------------------


def check_rule(module: IRModule) -> None:
    """Check that a module is a rule: what it has, and that the signatures fit.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is none; the message says what was expected.
    """
    functions = module.functions
    for name, what in (("pattern", "what is matched"), ("replacement", "what replaces it")):
        if name not in functions:
            raise KeyError(f"expected a function '{name}' in the rule, {what}, but there is none")
        if functions[name].operation.name != "relax.func":
            raise TypeError(
                f"expected a Relax function '{name}' in the rule, but got "
                f"{functions[name].operation.name}"
            )
    for name, func in functions.items():
        attributes = func.operation.attributes
        is_private = "sym_visibility" in attributes and (
            attributes["sym_visibility"].value == "private"
        )
        if name not in ("pattern", "replacement") and not is_private:
            raise ValueError(
                "expected no public function in the rule besides 'pattern' and 'replacement', but "
                f"'{name}' is publicly exposed"
            )
    pattern, replacement = (
        FreeFunction(module, name).struct_info for name in ("pattern", "replacement")
    )
    if not is_subtype(replacement, pattern) or list(map(str, pattern.params)) != list(
        map(str, replacement.params)
    ):
        raise ValueError(
            "expected the same signature of 'pattern' and 'replacement', but they are of the types "
            f"{pattern} and {replacement}"
        )
