# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values and shape variables that programs bind and use.

A variable of the specification is a value of MLIR here, a binding of the specification is an
operation. An output of a dataflow block is two values: the one inside, and the result of
``relax.dataflow``, by which all that follows knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from mlir import ir

from ..dialects import relax as _ops
from .ir import (
    Dim,
    FuncStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    shape_var,
)
from .struct_info import _dimensions, binding_vars

if TYPE_CHECKING:
    from .ir_module import FreeFunction, IRModule

Expr: TypeAlias = "ir.Value | ir.Operation | ir.OpView | IRModule | FreeFunction"

# Operations that TVM writes in the place where a value is used, unless they have a name.
LEAVES = {
    "relax.constant",
    "relax.dtype",
    "relax.extern_func",
    "relax.global_var",
    "relax.null_value",
    "relax.prim_value",
    "relax.shape",
    "relax.string",
    "relax.tuple",
}


def defining_op(value: ir.Value) -> ir.Operation | None:
    """Return the operation that a value is a result of; None for a parameter."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def float_of(made: ir.Operation | None) -> float | None:
    """Return the number that all elements of a constant of floats are; None of anything else."""
    if made is None or made.name != "relax.constant":
        return None
    elements = made.attributes["value"]
    if not isinstance(elements, ir.DenseFPElementsAttr) or not elements.is_splat:
        return None
    return float(elements.get_splat_value().value)


def operation_of(expr: Expr) -> ir.Operation | None:
    """Return the operation that an expression is, or that makes the value; None for a parameter."""
    if isinstance(expr, ir.Value):
        return defining_op(expr)
    operation = getattr(expr, "operation", None)
    if not isinstance(operation, ir.Operation):
        raise TypeError(f"expected a value, operation, function or module, but got {expr!r}")
    return operation


def blocks_of(op: ir.Operation) -> list[ir.Block]:
    """Return the blocks of the regions of an operation."""
    return [block for region in op.regions for block in region.blocks]


def walk(
    root: ir.Operation,
    *,
    post_order: bool = False,
    skip: Callable[[ir.Operation], bool] | None = None,
) -> Iterator[ir.Operation]:
    """Yield an operation and those in its regions.

    Parameters
    ----------
    root : mlir.ir.Operation
    post_order : bool
        Whether each comes after what it holds, and not before.
    skip : callable, optional
        Says of an operation inside whether to leave it out, with what it holds.
    """
    stack = [(root, False)]
    while stack:
        op, is_entered = stack.pop()
        if is_entered or not post_order:
            yield op
        if is_entered:
            continue
        if post_order:
            stack.append((op, True))
        inner = [nested.operation for block in blocks_of(op) for nested in block.operations]
        stack += [(nested, False) for nested in reversed(inner) if not (skip and skip(nested))]


def definitions(op: ir.Operation) -> list[ir.Value]:
    """Return the values that an operation binds for what is in it: arguments of its blocks."""
    return [argument for block in blocks_of(op) for argument in block.arguments]


def _unique(values: Iterable[ir.Value]) -> list[ir.Value]:
    return list(dict.fromkeys(values))


# ---------------------------------------------------------------------------------------------
# Values
# ---------------------------------------------------------------------------------------------


def is_dataflow_var(value: ir.Value) -> bool:
    """Say whether a value is a DataflowVar: one that no binding after its dataflow block sees.

    Parameters
    ----------
    value : mlir.ir.Value

    Returns
    -------
    bool
        False for parameters, for values outside of dataflow blocks, and for their outputs.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   %0 = relax.dataflow -> !relax.object {
    ...     %a = relax.tuple %x : !relax.object
    ...     %b = relax.null_value
    ...     relax.output %b : !relax.object
    ...   }
    ...   relax.return %0 : !relax.object
    ... }''')
    >>> [is_dataflow_var(value) for value in bound_vars(mod["main"])]
    [False, True, False, False]
    """
    op = defining_op(value)
    if op is None or not isinstance(op.parent.opview, _ops.DataflowOp):
        return False
    block = op.block
    *_, output = block.operations
    return value not in list(output.operation.operands)


def bound_vars(expr: Expr) -> list[ir.Value]:
    """Return the values that an expression binds: parameters, and results of what it holds.

    Parameters
    ----------
    expr : mlir.ir.Value, mlir.ir.Operation, mlir.ir.OpView, IRModule or Function
        A dataflow block binds its results, too; a value stands for the operation that makes it.

    Returns
    -------
    list of mlir.ir.Value
        In the order in which they are bound.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   %a = relax.tuple %x : !relax.object
    ...   relax.return %x : !relax.object
    ... }''')
    >>> len(bound_vars(mod["main"]))
    2
    """
    root = operation_of(expr)
    return [] if root is None else list(_bound(root))


def _bound(root: ir.Operation) -> Iterator[ir.Value]:
    def results(op: ir.Operation) -> Iterator[ir.Value]:
        yield from definitions(op)
        for block in blocks_of(op):
            for inner in block.operations:
                yield from results(inner.operation)
                yield from inner.operation.results

    yield from results(root)
    if isinstance(root.opview, _ops.DataflowOp):
        yield from root.results


def used_vars(expr: Expr) -> list[ir.Value]:
    """Return the values that an expression uses.

    Parameters
    ----------
    expr : mlir.ir.Value, mlir.ir.Operation, mlir.ir.OpView, IRModule or Function

    Returns
    -------
    list of mlir.ir.Value
        Each once, in the order of their first use. A parameter uses itself.
    """
    root = operation_of(expr)
    if root is None:
        return [expr]
    return _unique(operand for op in walk(root) for operand in op.operands)


def free_vars(expr: Expr) -> list[ir.Value]:
    """Return the values that an expression uses and does not bind.

    Parameters
    ----------
    expr : mlir.ir.Value, mlir.ir.Operation, mlir.ir.OpView, IRModule or Function

    Returns
    -------
    list of mlir.ir.Value
        Of a function there are none; of a closure they are what it captures.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   %a = relax.tuple %x : !relax.object
    ...   relax.return %x : !relax.object
    ... }''')
    >>> x, a = bound_vars(mod["main"])
    >>> free_vars(mod["main"]), free_vars(a) == [x]
    ([], True)
    """
    bound = set(bound_vars(expr))
    return [value for value in used_vars(expr) if value not in bound]


def all_vars(expr: Expr) -> list[ir.Value]:
    """Return the values that an expression binds or uses.

    Parameters
    ----------
    expr : mlir.ir.Value, mlir.ir.Operation, mlir.ir.OpView, IRModule or Function

    Returns
    -------
    list of mlir.ir.Value
        Each once: those that it uses and does not bind first, then those that it binds.
    """
    return _unique([*free_vars(expr), *bound_vars(expr)])


def post_order_visit(expr: Expr, fvisit: Callable[[Any], Any]) -> None:
    """Call a function with each operation of an expression, those inside of others first.

    Parameters
    ----------
    expr : mlir.ir.Value, mlir.ir.Operation, mlir.ir.OpView, IRModule or Function
    fvisit : callable
        It gets an ``OpView``, such as ``relax.ExpOp``, and may erase it.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   relax.return %x : !relax.object
    ... }''')
    >>> post_order_visit(mod["main"], lambda op: print(op.operation.name))
    relax.return
    relax.func
    """
    root = operation_of(expr)
    if root is not None:
        for op in list(walk(root, post_order=True)):
            fvisit(op.opview)


# ---------------------------------------------------------------------------------------------
# Bindings
# ---------------------------------------------------------------------------------------------


def _is_binding(op: ir.Operation) -> bool:
    return len(op.results) > 0 and not isinstance(op.opview, _ops.DataflowOp)


def _inner(value: ir.Value) -> ir.Value:
    """Return the value inside of a dataflow block that is an output of it."""
    op = defining_op(value)
    while op is not None and isinstance(op.opview, _ops.DataflowOp):
        *_, output = op.regions[0].blocks[0].operations
        value = output.operation.operands[ir.OpResult(value).result_number]
        op = defining_op(value)
    return value


def get_var2val(func: Expr) -> dict[ir.Value, ir.OpView]:
    """Return for each value that is bound the operation that computes it.

    Parameters
    ----------
    func : mlir.ir.Operation, mlir.ir.OpView, IRModule or Function

    Returns
    -------
    dict of mlir.ir.Value to mlir.ir.OpView
        For an output of a dataflow block the operation inside. Parameters are not in it.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main() -> !relax.object {
    ...   %0 = relax.dataflow -> !relax.object {
    ...     %a = relax.null_value
    ...     relax.output %a : !relax.object
    ...   }
    ...   relax.return %0 : !relax.object
    ... }''')
    >>> {op.operation.name for op in get_var2val(mod["main"]).values()}
    {'relax.null_value'}
    """
    found = {}
    for value in bound_vars(func):
        op = defining_op(_inner(value))
        if op is not None:
            found[value] = op.opview
    return found


def var_name(value: ir.Value) -> str:
    """Return the name of a value: the one that it was given, or else the one that MLIR prints.

    Parameters
    ----------
    value : mlir.ir.Value

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   %0 = relax.tuple %x : !relax.object loc("pair")
    ...   %1 = relax.tuple %x : !relax.object
    ...   relax.return %x : !relax.object
    ... }''')
    >>> [var_name(value) for value in bound_vars(mod["main"])]
    ['x', 'pair', '1']
    """
    op = defining_op(value)
    if op is not None and op.location.is_a_name():
        return op.location.name_str
    return value.get_name(use_local_scope=True).removeprefix("%")


def unnamed(location: ir.Location) -> ir.Location:
    """Return a location without the name of a value."""
    return location.child_loc if location.is_a_name() else location


def name_to_binding(func: Expr) -> dict[str, list[ir.OpView]]:
    """Return the operations that bind values, by the names of the values.

    Parameters
    ----------
    func : mlir.ir.Operation, mlir.ir.OpView, IRModule or Function

    Returns
    -------
    dict of str to list of mlir.ir.OpView
        By `var_name`. Dataflow blocks are not among the bindings, but what they hold is.
    """
    found: dict[str, list[ir.OpView]] = {}
    root = operation_of(func)
    for op in walk(root) if root is not None else ():
        if op != root and _is_binding(op):
            for result in op.results:
                found.setdefault(var_name(result), []).append(op.opview)
    return found


def udchain(dfb: Expr) -> dict[ir.Value, list[ir.Value]]:
    """Return for each value of a dataflow block the values that are computed of it.

    Parameters
    ----------
    dfb : relax.DataflowOp
        Or any other operation with a body, such as a function.

    Returns
    -------
    dict of mlir.ir.Value to list of mlir.ir.Value
        Values that come from outside are in it, with what is computed of them inside.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   %0 = relax.dataflow -> !relax.object {
    ...     %a = relax.tuple %x : !relax.object loc("a")
    ...     %b = relax.tuple %a, %x : !relax.tuple<!relax.object>, !relax.object loc("b")
    ...     relax.output %b : !relax.tuple<!relax.tuple<!relax.object>, !relax.object>
    ...   }
    ...   relax.return %0 : !relax.object
    ... }''')
    >>> block = mod["main"].body.blocks[0].operations[0]
    >>> {var_name(v): [var_name(use) for use in uses] for v, uses in udchain(block).items()}
    {'x': ['a', 'b'], 'a': ['b'], 'b': []}
    """
    chain: dict[ir.Value, dict[ir.Value, None]] = {}
    root = operation_of(dfb)
    for op in walk(root) if root is not None else ():
        for operand in op.operands if op != root else ():
            users = op.results if _is_binding(op) else ()
            chain.setdefault(operand, {}).update(dict.fromkeys(users))
        for value in op.results if op != root and _is_binding(op) else definitions(op):
            chain.setdefault(value, {})
    return {value: list(users) for value, users in chain.items()}


# ---------------------------------------------------------------------------------------------
# Shape variables
# ---------------------------------------------------------------------------------------------


def _names_in(subject: Any) -> Iterator[str]:
    """Yield the shape variables that a type or attribute uses and does not bind itself."""
    for types, parts in _PARTS:
        if isinstance(subject, types):
            for part in parts(subject):
                yield from _names_in(part)
            return
    if isinstance(subject, Dim):
        yield from subject.variables
    elif isinstance(subject, FuncStructInfo) and subject.derive is None:
        bound = {name for param in subject.params for name in binding_vars(param)}
        for inner in (*subject.params, subject.ret):
            yield from (name for name in _names_in(inner) if name not in bound)


# Parts of types and attributes; a function type, which binds variables, is apart.
_PARTS: tuple[tuple[Any, Callable[[Any], Iterable[Any]]], ...] = (
    (ShapeExpr, lambda shape: shape.dims),
    (TupleStructInfo, lambda type_: type_.fields),
    (
        (TensorStructInfo, ShapeStructInfo, PrimStructInfo),
        lambda type_: _dimensions(type_, values=True),
    ),
    (ir.FunctionType, lambda type_: (*type_.inputs, *type_.results)),
    (ir.TypeAttr, lambda attr: (attr.value,)),
    (ir.ArrayAttr, list),
)


def _bound_names(op: ir.Operation) -> Iterator[str]:
    """Yield the shape variables that an operation binds."""
    opview = op.opview
    if isinstance(opview, (_ops.FuncOp, _ops.ClosureOp)):
        body = op.regions[0].blocks
        own = 1 if isinstance(opview, _ops.ClosureOp) else 0
        for param in list(body[0].arguments)[own:] if len(body) else ():
            yield from _dims_that_bind(param.type)
    elif isinstance(opview, _ops.MatchCastOp):
        yield from _dims_that_bind(op.results[0].type)


def _dims_that_bind(type_: ir.Type) -> Iterator[str]:
    bound = set(binding_vars(type_))
    for dim in _dimensions(type_, values=True):
        yield from (name for name in dim.variables if name in bound)


def _used_names(op: ir.Operation) -> Iterator[str]:
    for value in (*definitions(op), *op.results):
        yield from _names_in(value.type)
    for attr in op.attributes.values():
        yield from _names_in(attr)


def mentioned_symbolic_vars(func: Expr) -> list[str]:
    """Return the names of all shape variables in an operation and in what it holds.

    Parameters
    ----------
    func : mlir.ir.Operation, mlir.ir.OpView, mlir.ir.Value or Function

    Returns
    -------
    list of str
        Each once, in order, wherever they are bound: a closure that names a variable means the one
        around it, if there is one. Those that stand for a whole shape are among them.
    """
    found: dict[str, None] = {}
    for op in walk(_root(func)):
        found.update(dict.fromkeys(_used_names(op)))
        for value in (*definitions(op), *op.results):
            found.update(dict.fromkeys(mentioned_in_type(value.type)))
    return list(found)


def mentioned_in_type(type_: ir.Type) -> Iterator[str]:
    """Yield the names of the shape variables in a type, also of those that it binds itself."""
    if isinstance(type_, TensorStructInfo) and type_.shape_var:
        yield type_.shape_var
    elif isinstance(type_, ShapeStructInfo) and type_.var:
        yield type_.var
    elif isinstance(type_, TupleStructInfo):
        for field in type_.fields:
            yield from mentioned_in_type(field)
    elif isinstance(type_, FuncStructInfo) and type_.derive is None:
        for inner in (*type_.params, type_.ret):
            yield from mentioned_in_type(inner)
    else:
        yield from _names_in(type_)


def _symbolic_vars(op: ir.Operation, names: Iterable[str]) -> list[Dim]:
    with op.context:
        return [shape_var(name) for name in dict.fromkeys(names)]


def _root(func: Expr) -> ir.Operation:
    root = operation_of(func)
    if root is None:
        raise TypeError(f"expected an operation or a function, but got {func!r}")
    return root


def defined_symbolic_vars(func: Expr) -> list[Dim]:
    """Return the variables of dimensions that a function binds.

    Parameters
    ----------
    func : relax.FuncOp, relax.ClosureOp or Function

    Returns
    -------
    list of Dim
        Each once, in order: those of the parameters, then those of each ``relax.match_cast``.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.tensor<[n, n * 2]>, %y: !relax.object) -> !relax.object {
    ...   %0 = relax.match_cast %y : !relax.object -> !relax.tensor<[m]>
    ...   relax.return %0 : !relax.tensor<[m]>
    ... }''')
    >>> [v.name for v in defined_symbolic_vars(mod["main"])]
    ['n', 'm']
    """
    root = _root(func)
    return _symbolic_vars(root, (name for op in walk(root) for name in _bound_names(op)))


def free_symbolic_vars(func: Expr) -> list[Dim]:
    """Return the variables of dimensions that a function uses and does not bind.

    Parameters
    ----------
    func : relax.FuncOp, relax.ClosureOp or Function
        Or any other operation, or the value of one.

    Returns
    -------
    list of Dim
        Each once, in the order of their first use. Of a function that is well-formed there are
        none; of a closure they are those that it captures.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.object {
    ...   %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   relax.return %0 : !relax.tensor<[n], f32>
    ... }''')
    >>> free_symbolic_vars(mod["main"])
    []
    >>> [v.name for v in free_symbolic_vars(mod["main"].body.blocks[0].operations[0])]
    ['n']
    """
    root = _root(func)
    bound = {name for op in walk(root) for name in _bound_names(op)}
    names = (name for op in walk(root) for name in _used_names(op))
    return _symbolic_vars(root, (name for name in names if name not in bound))
