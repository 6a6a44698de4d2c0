# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Visitors of programs, with the methods that those of TVM Relax have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from mlir import ir

from ..core.expr import GlobalVar
from ..core.functions import referred
from ..core.ir_module import Function, IRModule, as_module
from ..core.variables import defining_op, is_dataflow_var
from ..dialects import relax as _ops

Class = TypeVar("Class", bound=type)


# The method for each kind of operation; all others are calls.
_METHODS = {
    _ops.ConstantOp: "visit_constant_",
    _ops.TupleOp: "visit_tuple_",
    _ops.ShapeOp: "visit_shape_expr_",
    _ops.ExternFuncOp: "visit_extern_func_",
    _ops.FuncOp: "visit_function_",
    _ops.ClosureOp: "visit_function_",
    _ops.SeqOp: "visit_seq_expr_",
    _ops.IfOp: "visit_if_",
    _ops.GetItemOp: "visit_tuple_getitem_",
    _ops.StringOp: "visit_string_imm_",
    _ops.DTypeOp: "visit_data_type_imm_",
    _ops.PrimValueOp: "visit_prim_value_",
    _ops.MatchCastOp: "visit_expr_fallback_",
}


@dataclass
class BindingBlock:
    """Bindings that stand side by side outside of dataflow blocks.

    Attributes
    ----------
    bindings : list of mlir.ir.OpView
    """

    bindings: list[ir.OpView]


def binding_blocks(block: ir.Block) -> list[ir.OpView | BindingBlock]:
    """Return the bindings of a body in blocks, without its terminator."""
    blocks: list[ir.OpView | BindingBlock] = []
    *bindings, _ = block.operations
    for binding in bindings:
        if isinstance(binding, _ops.DataflowOp):
            blocks.append(binding)
        elif blocks and isinstance(blocks[-1], BindingBlock):
            blocks[-1].bindings.append(binding)
        else:
            blocks.append(BindingBlock([binding]))
    return blocks


def body_of(function: ir.Operation) -> ir.Block | None:
    """Return the body of a function, None for a declaration."""
    blocks = function.regions[0].blocks
    return blocks[0] if len(blocks) else None


def params_of(function: ir.Operation) -> list[ir.Value]:
    """Return the parameters of a function or closure."""
    body = body_of(function)
    own = 1 if function.name == _ops.ClosureOp.OPERATION_NAME else 0
    return [] if body is None else list(body.arguments)[own:]


class Functor:
    """Dispatch of expressions to methods."""

    def _dispatch(self, expr: Any) -> Any:
        if isinstance(expr, GlobalVar):
            return self._method("visit_global_var_")(expr)
        if isinstance(expr, ir.Value):
            kind = "visit_dataflow_var_" if is_dataflow_var(expr) else "visit_var_"
            return self._method(kind)(expr)
        if isinstance(expr, (ir.Operation, Function)):
            expr = expr.operation.opview
        if isinstance(expr, ir.Block):
            return self._method("visit_seq_expr_")(expr)
        if isinstance(expr, _ops.GlobalVarOp):
            self._method("visit_global_var_")(GlobalVar(expr.operation.attributes["name"].value))
            return expr
        if isinstance(expr, ir.OpView):
            return self._method(_METHODS.get(type(expr), "visit_call_"))(expr)
        raise TypeError(f"expected a value, an operation or a function, but got {expr!r}")

    def _method(self, name: str) -> Any:
        return getattr(self, name)


def add_base(cls: Class, base: type) -> Class:
    """Return a class with a base that it may lack."""
    if not isinstance(cls, type):
        raise TypeError(f"expected a class, but got {cls!r}")
    if issubclass(cls, base):
        return cls
    return type(cls.__name__, (cls, base), {"__doc__": cls.__doc__, "__module__": cls.__module__})  # type: ignore[return-value]


def visitor(cls: Class) -> Class:
    """Make a class a visitor, as a subclass of `PyExprVisitor` is already.

    Parameters
    ----------
    cls : type

    Returns
    -------
    type
    """
    return add_base(cls, PyExprVisitor)


class PyExprVisitor(Functor):
    """Visits each part of a program.

    Examples
    --------
    The variables that a function defines:

    >>> @visitor
    ... class CountVarDef(PyExprVisitor):
    ...     def __init__(self):
    ...         self.count = {"Var": 0, "DataflowVar": 0}
    ...
    ...     def visit_var_def_(self, var):
    ...         self.count["Var"] += 1
    ...
    ...     def visit_dataflow_var_def_(self, var):
    ...         self.count["DataflowVar"] += 1
    >>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n",), "float32"))
    >>> with bb.function("main", [x]):
    ...     with bb.dataflow():
    ...         lv = bb.emit(op.exp(x))
    ...         gv = bb.emit_output(op.add(lv, x))
    ...     _ = bb.emit_func_output(gv)
    >>> counter = CountVarDef()
    >>> counter.visit_expr(bb.get())
    >>> counter.count
    {'Var': 2, 'DataflowVar': 1}
    """

    def visit_expr(self, expr: Any) -> None:
        """Visit an expression.

        Parameters
        ----------
        expr : mlir.ir.Value, mlir.ir.OpView, mlir.ir.Operation, GlobalVar, Function or IRModule
            A value is the use of a variable; of a module each Relax function is visited.
        """
        if isinstance(expr, (IRModule, ir.Module)):
            module = as_module(expr)
            for function in module.functions.values():
                if isinstance(function, _ops.FuncOp):
                    self.visit_expr(function)
            return
        if isinstance(expr, (ir.OpView, ir.Operation)):
            self.visit_span(expr.operation.location)
        self._dispatch(expr)

    # -- bindings -----------------------------------------------------------------------------

    def visit_binding(self, binding: ir.OpView) -> None:
        """Visit a binding: `visit_match_cast_` or `visit_var_binding_`."""
        if isinstance(binding, _ops.MatchCastOp):
            self.visit_match_cast_(binding)
        else:
            self.visit_var_binding_(binding)

    def visit_var_binding_(self, binding: ir.OpView) -> None:
        """Visit the value of a binding, then its variable."""
        self.visit_expr(binding)
        for result in binding.operation.results:
            self.visit_var_def(result)

    def visit_match_cast_(self, binding: ir.OpView) -> None:
        """Visit the value that is cast, then the variable."""
        self.visit_var_binding_(binding)

    def visit_binding_block(self, block: ir.OpView | BindingBlock) -> None:
        """Visit a block: `visit_dataflow_block_` or `visit_binding_block_`."""
        if isinstance(block, BindingBlock):
            self.visit_binding_block_(block)
        else:
            self.visit_dataflow_block_(block)

    def visit_binding_block_(self, block: BindingBlock) -> None:
        """Visit the bindings of a block."""
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_dataflow_block_(self, block: ir.OpView) -> None:
        """Visit the bindings of a dataflow block.

        Its outputs are the variables that are defined inside; one that comes from outside is
        defined by the block.
        """
        *bindings, output = block.operation.regions[0].blocks[0].operations
        for binding in bindings:
            self.visit_binding(binding)
        pairs = zip(output.operation.operands, block.operation.results, strict=True)
        for value, result in pairs:
            op = defining_op(value)
            if op is None or op.parent is None or op.parent.operation != block.operation:
                self.visit_var_def(result)

    def visit_var_def(self, var: ir.Value) -> None:
        """Visit a variable where it is defined: by kind, Var or DataflowVar."""
        if is_dataflow_var(var):
            self.visit_dataflow_var_def_(var)
        else:
            self.visit_var_def_(var)

    def visit_var_def_(self, var: ir.Value) -> None:
        """Visit a Var where it is defined."""

    def visit_dataflow_var_def_(self, var: ir.Value) -> None:
        """Visit a DataflowVar where it is defined."""

    def visit_span(self, span: ir.Location) -> None:
        """Visit the place of an expression."""

    # -- expressions --------------------------------------------------------------------------

    def _visit_operands(self, op: ir.OpView) -> None:
        for operand in op.operation.operands:
            self.visit_expr(operand)

    def visit_call_(self, op: ir.OpView) -> None:
        """Visit what is called, then the arguments: operators, and all kinds of calls."""
        names = list(referred(op.operation))
        for name in names:
            self.visit_expr(GlobalVar(name))
        if not names and op.operation.name != _ops.CallOp.OPERATION_NAME:
            self.visit_op_(op.operation.name)
        self._visit_operands(op)

    def visit_function_(self, op: ir.OpView) -> None:
        """Visit the parameters and the body of a function or closure."""
        for param in params_of(op.operation):
            self.visit_var_def(param)
        body = body_of(op.operation)
        if body is not None:
            self.visit_expr(body)

    def visit_seq_expr_(self, op: ir.OpView | ir.Block) -> None:
        """Visit the blocks of a body, then its value. The body of a function is a Block."""
        block = op if isinstance(op, ir.Block) else op.operation.regions[0].blocks[0]
        for part in binding_blocks(block):
            self.visit_binding_block(part)
        *_, terminator = block.operations
        self._visit_operands(terminator)

    def visit_if_(self, op: ir.OpView) -> None:
        """Visit the condition and both branches."""
        self._visit_operands(op)
        for region in op.operation.regions:
            self.visit_expr(region.blocks[0])

    def visit_tuple_(self, op: ir.OpView) -> None:
        """Visit the fields of a tuple."""
        self._visit_operands(op)

    def visit_tuple_getitem_(self, op: ir.OpView) -> None:
        """Visit the tuple whose field is taken."""
        self._visit_operands(op)

    def visit_expr_fallback_(self, op: ir.OpView) -> None:
        """Visit the operands of what has no method of its own, such as a cast."""
        self._visit_operands(op)

    def visit_var_(self, op: ir.Value) -> None:
        """Visit the use of a Var."""

    def visit_dataflow_var_(self, op: ir.Value) -> None:
        """Visit the use of a DataflowVar."""

    def visit_global_var_(self, op: GlobalVar) -> None:
        """Visit the use of a function of the module."""

    def visit_op_(self, op: str) -> None:
        """Visit an operator, by the name of the operation."""

    def visit_constant_(self, op: ir.OpView) -> None:
        """Visit a constant."""

    def visit_shape_expr_(self, op: ir.OpView) -> None:
        """Visit a shape."""

    def visit_extern_func_(self, op: ir.OpView) -> None:
        """Visit a packed function that is a value."""

    def visit_string_imm_(self, op: ir.OpView) -> None:
        """Visit a string."""

    def visit_data_type_imm_(self, op: ir.OpView) -> None:
        """Visit a data type."""

    def visit_prim_value_(self, op: ir.OpView) -> None:
        """Visit a primitive value."""
