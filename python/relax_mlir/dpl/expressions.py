# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs as patterns see them: calls of operators, tuples, leaves, and values that stand for one.

An *expression* is what a pattern is matched with: a value, a function, or what a call calls
(`Op`, `GlobalVar` or `ExternFunc`). The arguments that TVM has in a tuple, such as those of
``call_tir`` or of ``concat``, are a Python tuple of values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from ..core.expr import GlobalVar, Var
from ..core.ir import TupleStructInfo
from ..core.ir_module import FreeFunction
from ..core.leaves import ExternFunc
from ..core.variables import defining_op
from ..dialects import relax as _ops
from ..op._signatures import find_operation, operator_path
from ..script.operators import missing, operator
from ..script.tvm_operators import TVM_OPERATORS

Expression: TypeAlias = Any
# Says whether matching may look at the operation that makes a value.
Scope: TypeAlias = Callable[[ir.Operation], bool]

# Operations that stand for themselves: no variables, and seen wherever they are.
LEAVES = frozenset(
    f"relax.{name}"
    for name in (
        "constant",
        "dtype",
        "extern_func",
        "global_var",
        "null_value",
        "prim_value",
        "shape",
        "string",
    )
)
_STRUCTURE = frozenset(
    f"relax.{name}"
    for name in ("tuple", "get_item", "match_cast", "closure", "dataflow", "if", "seq", "func")
)
_TUPLE_PARAMETERS = ("tensors", "operands")


@dataclass(frozen=True)
class Op:
    """An operator, which a pattern gives where it matches what a call calls.

    Calling it inserts the operator, as the function of ``R`` of that name does.

    Parameters
    ----------
    name : str
        The name of the operation, such as "relax.add".
    """

    name: str

    def __call__(self, *args: Any, **keywords: Any) -> ir.Value:
        """Insert the operator at the current place of a program."""
        found = operator_path(self.name)
        if found is None:
            raise missing(self.name.removeprefix("relax."))
        value: ir.Value = operator(found[0].removeprefix("R."))(*args, **keywords)
        return value


def find_op(name: str) -> Op:
    """Return an operator by its name, here or in TVM.

    Raises
    ------
    ValueError
        If the dialect has none.

    Examples
    --------
    >>> find_op("relax.add"), find_op("relax.nn.relu")
    (Op(name='relax.add'), Op(name='relax.relu'))
    """
    return Op(find_operation(name))


def as_expression(expr: Any) -> Expression:
    """Return an argument of a user as an expression.

    Raises
    ------
    TypeError
        If it is none.
    """
    if isinstance(expr, Var):
        return expr.value
    if isinstance(expr, (ir.Value, Op, ExternFunc, GlobalVar)):
        return expr
    if isinstance(expr, (tuple, list)):
        return tuple(as_expression(field) for field in expr)
    if isinstance(expr, FreeFunction):
        return expr.operation
    operation = getattr(expr, "operation", None)
    if isinstance(operation, ir.Operation):
        if isinstance(operation.opview, _ops.FuncOp):
            return operation
        if len(operation.results) == 1:
            return operation.results[0]
    raise TypeError(
        "expected a value, an operation with one result, a function, or what a call calls, but got "
        f"{expr!r}"
    )


def is_leaf(value: ir.Value) -> bool:
    """Say whether a value is a leaf: a constant, a shape, a function and the like."""
    op = defining_op(value)
    return op is not None and op.name in LEAVES


def type_of(expr: Expression) -> ir.Type | None:
    """Return the StructInfo of an expression; None where it has none."""
    if isinstance(expr, ir.Value):
        return expr.type if _ext.is_struct_info(expr.type) else None
    if isinstance(expr, ir.Operation):
        return _ext.function_struct_info(expr)
    if isinstance(expr, tuple):
        fields = [field for field in map(type_of, expr) if field is not None]
        if fields and len(fields) == len(expr):
            with fields[0].context:
                return TupleStructInfo(fields)
    return None


# ---------------------------------------------------------------------------------------------
# Values that stand for another one
# ---------------------------------------------------------------------------------------------


class Definitions:
    """The operations that make values, as far as matching may look.

    Parameters
    ----------
    scope : callable, optional
        Says whether it may look at an operation. Leaves are always seen.
    """

    def __init__(self, scope: Scope | None = None) -> None:
        self._scope = scope

    def op(self, value: ir.Value) -> ir.Operation | None:
        """Return the operation that a value is a result of, if it may be seen."""
        op = defining_op(value)
        if op is None or op.name in LEAVES or self._scope is None or self._scope(op):
            return op
        return None

    def inner(self, value: ir.Value) -> ir.Value | None:
        """Return the value that this one is by another name, or None.

        A cast is what it casts, an output of a dataflow block what it is inside, and a field of
        a tuple that the program makes what was put there.
        """
        op = self.op(value)
        if op is None:
            return None
        if op.name == "relax.match_cast":
            return op.operands[0]
        if op.name == "relax.dataflow":
            *_, output = op.regions[0].blocks[0].operations
            return output.operation.operands[ir.OpResult(value).result_number]
        if op.name == "relax.get_item":
            made = self.op(self.resolve(op.operands[0]))
            if made is not None and made.name == "relax.tuple":
                return made.operands[op.attributes["index"].value]
        return None

    def resolve(self, value: ir.Value) -> ir.Value:
        """Return the value that this one is in the end."""
        found: ir.Value | None = value
        while found is not None:
            value, found = found, self.inner(found)
        return value

    def views(self, value: ir.Value) -> Iterator[ir.Value]:
        """Yield a value, and the ones that it is by other names."""
        found: ir.Value | None = value
        while found is not None:
            yield found
            found = self.inner(found)

    def same(self, lhs: Expression, rhs: Expression) -> bool:
        """Say whether two expressions are the same one.

        Values are if they are one value by different names, or equal leaves.
        """
        if isinstance(lhs, tuple) and isinstance(rhs, tuple):
            return len(lhs) == len(rhs) and all(map(self.same, lhs, rhs))
        if not isinstance(lhs, ir.Value) or not isinstance(rhs, ir.Value):
            return type(lhs) is type(rhs) and bool(lhs == rhs)
        if lhs == rhs:
            return True
        left, right = self.resolve(lhs), self.resolve(rhs)
        if left == right:
            return True
        return is_leaf(left) and is_leaf(right) and equal_ops(left.owner, right.owner)

    def equal(self, lhs: ir.Value, rhs: ir.Value) -> bool:
        """Say whether two values are computed by equal operations of equal values."""
        pairs = [(lhs, rhs)]
        seen = set(pairs)
        while pairs:
            left, right = pairs.pop()
            if self.same(left, right):
                continue
            left, right = self.resolve(left), self.resolve(right)
            ops = self.op(left), self.op(right)
            if ops[0] is None or ops[1] is None or not equal_ops(ops[0], ops[1]):
                return False
            new = {*zip(ops[0].operands, ops[1].operands, strict=True)} - seen
            pairs.extend(new)
            seen |= new
        return True


def equal_ops(lhs: Any, rhs: Any) -> bool:
    """Say whether two operations are the same, apart from their operands and places."""
    left, right = lhs.operation, rhs.operation
    return (
        left.name == right.name
        and len(left.regions) == len(right.regions) == 0
        and len(left.operands) == len(right.operands)
        and [result.type for result in left.results] == [result.type for result in right.results]
        and dict(left.attributes.items()) == dict(right.attributes.items())
    )


# ---------------------------------------------------------------------------------------------
# Calls
# ---------------------------------------------------------------------------------------------


def call_of(op: ir.Operation) -> tuple[Expression, Sequence[Expression]] | None:
    """Return the callee and the arguments of an operation; None for one that is no call.

    Attributes are no arguments. A tuple stands for the arguments that TVM has in a tuple.
    """
    name = op.name
    if name in LEAVES or name in _STRUCTURE or len(op.regions) > 0 or len(op.results) != 1:
        return None
    view: Any = op.opview
    special = _CALLS.get(name)
    if special is not None:
        return special(op, view)
    operands = tuple(op.operands)
    if _takes_tuple(name):
        return Op(name), (operands,)
    return Op(name), operands


def _takes_tuple(name: str) -> bool:
    parameters = TVM_OPERATORS.get(name.removeprefix("relax."), ())
    return len(parameters) > 0 and parameters[0] in _TUPLE_PARAMETERS


def arguments_of(op: ir.Operation) -> list[ir.Value]:
    """Return the values that an operation uses as arguments, those in a tuple one by one."""
    call = call_of(op)
    if call is None:
        return list(op.operands)
    found: list[ir.Value] = []
    for arg in call[1]:
        found.extend(arg if isinstance(arg, tuple) else [arg] if isinstance(arg, ir.Value) else ())
    return found


def _packed(view: Any) -> Expression:
    return view.function if view.callee is None else ExternFunc(view.callee.value)


def _call(op: ir.Operation, view: Any) -> tuple[Expression, Sequence[Expression]]:
    callee = view.function if view.callee is None else GlobalVar(view.callee.value)
    return callee, tuple(view.args)


def _call_tir(op: ir.Operation, view: Any) -> tuple[Expression, Sequence[Expression]]:
    ints = () if view.packed_ints is None else (view.packed_ints,)
    return Op(op.name), (GlobalVar(view.callee.value), tuple(view.args), *ints)


_CALLS: dict[str, Callable[[ir.Operation, Any], tuple[Expression, Sequence[Expression]]]] = {
    "relax.call": _call,
    "relax.call_packed": lambda op, view: (ExternFunc(view.callee.value), tuple(view.args)),
    "relax.call_tir": _call_tir,
    "relax.call_tir_inplace": _call_tir,
    "relax.call_dps_packed": lambda op, view: (Op(op.name), (_packed(view), tuple(view.args))),
    "relax.call_pure_packed": lambda op, view: (Op(op.name), (_packed(view), *view.args)),
    "relax.call_inplace_packed": lambda op, view: (Op(op.name), (_packed(view), *view.args)),
}


def require_arguments(op: Op, count: int) -> None:
    """Raise ValueError if a call of an operator never has so many arguments."""
    found = None if op.name in _CALLS else operator_path(op.name)
    if found is None:
        return
    path, signature = found
    params = signature.parameters.values()
    if any(each.kind is each.VAR_POSITIONAL for each in params) or count <= len(params):
        return
    names = ", ".join(each.name for each in params) or "none"
    raise ValueError(
        f"expected patterns of the arguments of {path} ({names}), but got {count} patterns"
    )


# ---------------------------------------------------------------------------------------------
# Functions
# ---------------------------------------------------------------------------------------------


def parts_of_function(
    expr: Expression, definitions: Definitions
) -> tuple[ir.Operation, list[ir.Value], ir.Value] | None:
    """Return the operation, parameters and result of a function or closure."""
    op = definitions.op(definitions.resolve(expr)) if isinstance(expr, ir.Value) else expr
    if not isinstance(op, ir.Operation) or op.name not in ("relax.func", "relax.closure"):
        return None
    if len(op.regions[0].blocks) == 0:  # a declaration
        return None
    block = op.regions[0].blocks[0]
    first = 1 if op.name == "relax.closure" else 0  # the closure itself
    *_, last = block.operations
    return op, list(block.arguments)[first:], last.operation.operands[0]
