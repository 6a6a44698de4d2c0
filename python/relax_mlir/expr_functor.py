# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Visitors and mutators of programs, with the methods that those of TVM Relax have.

An expression of TVM is a value of MLIR or an operation here, a binding is an operation with
a result, a dataflow block is a ``relax.dataflow``. A method that a class defines is called for each
expression of its kind; the one that it inherits goes on with the parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from mlir import ir

from ._arguments import shown
from ._mlir_libs import _relax_mlir as _ext
from .builder.block_builder import BlockBuilder
from .core.expr import GlobalVar, as_value
from .core.functions import referred
from .core.ir import FuncStructInfo
from .core.ir_module import FreeFunction, IRModule, as_module
from .core.struct_info import (
    derive_call_ret_struct_info,
    erase_to_well_defined,
    is_subtype,
    unify_struct_info,
)
from .core.variables import defining_op, is_dataflow_var
from .dialects import relax as _ops

__all__ = ["BindingBlock", "PyExprMutator", "PyExprVisitor", "mutator", "visitor"]

_Class = TypeVar("_Class", bound=type)


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

    def __post_init__(self) -> None:
        if not isinstance(self.bindings, list):
            raise TypeError(f"expected a list of bindings, but got {shown(self.bindings)}")


def _binding_blocks(block: ir.Block) -> list[ir.OpView | BindingBlock]:
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


def _body_of(function: ir.Operation) -> ir.Block | None:
    """Return the body of a function, None for a declaration."""
    blocks = function.regions[0].blocks
    return blocks[0] if len(blocks) else None


def _params_of(function: ir.Operation) -> list[ir.Value]:
    """Return the parameters of a function or closure."""
    body = _body_of(function)
    own = 1 if function.name == _ops.ClosureOp.OPERATION_NAME else 0
    return [] if body is None else list(body.arguments)[own:]


class _Functor:
    """What visitors and mutators share: dispatch to the methods, and those that only go on.

    A method returns what takes the place of an expression, which is of no use to a visitor.
    """

    # Visitors and mutators have their own.
    visit_expr: Any
    visit_var_binding_: Any
    visit_dataflow_block_: Any
    visit_function_: Any
    visit_seq_expr_: Any
    _visit_operands: Any
    _visit_parts: Any

    def _dispatch(self, expr: Any) -> Any:
        if isinstance(expr, GlobalVar):
            return self.visit_global_var_(expr)
        if isinstance(expr, ir.Value):
            kind = "visit_dataflow_var_" if is_dataflow_var(expr) else "visit_var_"
            return getattr(self, kind)(expr)
        if isinstance(expr, (ir.Operation, FreeFunction)):
            expr = expr.operation.opview
        if isinstance(expr, ir.Block):
            return self.visit_seq_expr_(expr)
        if isinstance(expr, _ops.GlobalVarOp):
            self.visit_global_var_(GlobalVar(expr.operation.attributes["name"].value))
            return expr
        if isinstance(expr, ir.OpView):
            return getattr(self, _METHODS.get(type(expr), "visit_call_"))(expr)
        raise TypeError(f"expected a value, an operation or a function, but got {expr!r}")

    # -- bindings -----------------------------------------------------------------------------

    def visit_binding(self, binding: ir.OpView) -> None:
        """Visit a binding: `visit_match_cast_` or `visit_var_binding_`."""
        if isinstance(binding, _ops.MatchCastOp):
            self.visit_match_cast_(binding)
        else:
            self.visit_var_binding_(binding)

    def visit_match_cast_(self, binding: ir.OpView) -> None:
        """Visit a cast, as any other binding."""
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

    def _visit_body(self, block: ir.Block) -> None:
        """Visit the blocks of a body, then its value."""
        for part in _binding_blocks(block):
            self.visit_binding_block(part)
        *_, terminator = block.operations
        self._visit_operands(terminator)

    def visit_var_def(self, var: ir.Value) -> ir.Value | None:
        """Visit a variable where it is defined: by kind, Var or DataflowVar."""
        if is_dataflow_var(var):
            return self.visit_dataflow_var_def_(var)
        return self.visit_var_def_(var)

    def visit_var_def_(self, var: ir.Value) -> ir.Value | None:
        """Visit a Var where it is defined; return its replacement in all that follows."""
        return var

    def visit_dataflow_var_def_(self, var: ir.Value) -> ir.Value | None:
        """Visit a DataflowVar where it is defined; return its replacement in all that follows."""
        return var

    # -- expressions --------------------------------------------------------------------------

    def visit_call_(self, op: ir.OpView) -> Any:
        """Visit an operator or a call."""
        return self._visit_parts(op)

    def visit_if_(self, op: ir.OpView) -> Any:
        """Visit the condition and both branches."""
        return self._visit_parts(op)

    def visit_tuple_(self, op: ir.OpView) -> Any:
        """Visit the fields of a tuple."""
        return self._visit_parts(op)

    def visit_tuple_getitem_(self, op: ir.OpView) -> Any:
        """Visit the tuple whose field is taken."""
        return self._visit_parts(op)

    def visit_expr_fallback_(self, op: ir.OpView) -> Any:
        """Visit the operands of what has no method of its own, such as a cast."""
        return self._visit_parts(op)

    def visit_var_(self, op: ir.Value) -> Any:
        """Visit the use of a Var."""
        return op

    def visit_dataflow_var_(self, op: ir.Value) -> Any:
        """Visit the use of a DataflowVar."""
        return op

    def visit_global_var_(self, op: GlobalVar) -> Any:
        """Visit the use of a function of the module."""
        return op

    def visit_constant_(self, op: ir.OpView) -> Any:
        """Visit a constant."""
        return op

    def visit_shape_expr_(self, op: ir.OpView) -> Any:
        """Visit a shape."""
        return op

    def visit_extern_func_(self, op: ir.OpView) -> Any:
        """Visit a packed function that is a value."""
        return op

    def visit_string_imm_(self, op: ir.OpView) -> Any:
        """Visit a string."""
        return op

    def visit_data_type_imm_(self, op: ir.OpView) -> Any:
        """Visit a data type."""
        return op

    def visit_prim_value_(self, op: ir.OpView) -> Any:
        """Visit a primitive value."""
        return op


def _add_base(cls: _Class, base: type) -> _Class:
    """Return a class with a base that it may lack."""
    if not isinstance(cls, type):
        raise TypeError(f"expected a class, but got {cls!r}")
    if issubclass(cls, base):
        return cls
    return type(cls.__name__, (cls, base), {"__doc__": cls.__doc__, "__module__": cls.__module__})  # type: ignore[return-value]


def visitor(cls: _Class) -> _Class:
    """Make a class a visitor, as a subclass of `PyExprVisitor` is already.

    Parameters
    ----------
    cls : type

    Returns
    -------
    type
    """
    return _add_base(cls, PyExprVisitor)


class PyExprVisitor(_Functor):
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

    def visit_var_binding_(self, binding: ir.OpView) -> None:
        """Visit the value of a binding, then its variable."""
        self.visit_expr(binding)
        for result in binding.operation.results:
            self.visit_var_def(result)

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

    def visit_span(self, span: ir.Location) -> None:
        """Visit the place of an expression."""

    # -- expressions --------------------------------------------------------------------------

    def _visit_operands(self, op: ir.OpView) -> None:
        for operand in op.operation.operands:
            self.visit_expr(operand)

    def _visit_parts(self, op: ir.OpView) -> None:
        """Visit the operands and the bodies of an operation."""
        self._visit_operands(op)
        for region in op.operation.regions:
            self.visit_expr(region.blocks[0])

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
        for param in _params_of(op.operation):
            self.visit_var_def(param)
        body = _body_of(op.operation)
        if body is not None:
            self.visit_expr(body)

    def visit_seq_expr_(self, op: ir.OpView | ir.Block) -> None:
        """Visit the blocks of a body, then its value. The body of a function is a Block."""
        self._visit_body(op if isinstance(op, ir.Block) else op.operation.regions[0].blocks[0])

    def visit_op_(self, op: str) -> None:
        """Visit an operator, by the name of the operation."""


def mutator(cls: _Class) -> _Class:
    """Make a class a mutator, as a subclass of `PyExprMutator` is already.

    Parameters
    ----------
    cls : type

    Returns
    -------
    type
    """
    return _add_base(cls, PyExprMutator)


class PyExprMutator(_Functor):
    """Rewrites functions, binding by binding.

    Parameters
    ----------
    mod : IRModule, mlir.ir.Module, str or BlockBuilder, optional
        The module of the functions. It is copied, to `builder_`.

    Attributes
    ----------
    builder_ : BlockBuilder
        Holds the module. Where a binding is visited, operators insert operations before it.

    Notes
    -----
    A method gets an expression whose parts have been rewritten, and returns what takes its place:
    the expression itself, a value, or what `relax_mlir.op` makes a value of. Operations that it
    emits on the way are bindings of their own (one becomes many); operations that it does not use
    any more are left for `DeadCodeElimination` (many become one). Where the type of a value
    changes, the types of what is computed of it are derived anew.

    Examples
    --------
    >>> from relax_mlir import IRModule, op
    >>> @mutator
    ... class ExpToTwo(PyExprMutator):
    ...     def visit_call_(self, call):
    ...         call = self.visit_expr_post_order(call)
    ...         if call.operation.name != "relax.exp":
    ...             return call
    ...         half = self.builder_.emit(op.multiply(call.operation.operands[0], 0.5))
    ...         return op.multiply(op.exp(half), op.exp(half))
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   relax.return %0 : !relax.tensor<[n], f32>
    ... }''')
    >>> new = ExpToTwo(mod).visit_expr(mod["main"])
    >>> [inner.operation.name for inner in new.body.blocks[0].operations][1:]
    ['relax.multiply', 'relax.exp', 'relax.exp', 'relax.multiply', 'relax.return']
    """

    def __init__(self, mod: Any = None) -> None:
        self.builder_ = BlockBuilder(mod)
        self._remap: dict[ir.Value, ir.Value] = {}
        self._retyped: set[ir.Value] = set()

    def visit_expr(self, expr: Any) -> Any:
        """Rewrite an expression.

        Parameters
        ----------
        expr : mlir.ir.Value, mlir.ir.OpView, mlir.ir.Operation or Function
            A function is rewritten as a copy.

        Returns
        -------
        mlir.ir.Value, or what a method returns
            Of a function the new one, a ``relax.FuncOp`` that is in no module:
            ``builder_.update_func`` and `IRModule.update_func` take it.
        """
        if isinstance(expr, FreeFunction):
            expr = expr.op
        if isinstance(expr, ir.Operation):
            expr = expr.opview
        if isinstance(expr, _ops.FuncOp):
            return self._visit_copy(expr)
        return self._dispatch(expr)

    def _visit_copy(self, function: ir.OpView) -> ir.OpView:
        """Rewrite a copy of a function in the module of the builder, then take it out."""
        module = self.builder_._module
        op = function.operation
        if op.context is not module.context:
            raise ValueError("expected a function of the context of the mutator's module")
        with module.context:
            copy = op.clone(ip=ir.InsertionPoint(module.body)).operation
            name = copy.attributes["sym_name"]
            copy.attributes["sym_name"] = ir.StringAttr.get(f"{name.value}.mutated")
            try:
                self.visit_function_(copy.opview)
                copy.attributes["sym_name"] = name
                copy.verify()
            except BaseException:
                copy.detach_from_parent()
                raise
            return copy.detach_from_parent()

    # -- bindings -----------------------------------------------------------------------------

    def visit_var_binding_(self, binding: ir.OpView) -> None:
        """Rewrite the value of a binding, and put the result in the place of its variable."""
        op = binding.operation
        place = op.location.child_loc if op.location.is_a_name() else op.location
        with ir.InsertionPoint(op), place:
            new = self.visit_expr(binding)
            if new is None or _is_operation(new, op):
                for result in op.results:
                    self._define(result)
                return
            self._replace(op, as_value(new))

    def _define(self, value: ir.Value) -> None:
        new = self.visit_var_def(value)
        if new is not None and new != value:
            self.set_var_remap(value, new)

    def _replace(self, op: ir.Operation, value: ir.Value) -> None:
        """Put a value in the place of the result of an operation that goes."""
        if len(op.results) != 1:
            raise ValueError(f"expected an operation with one result to replace, but got {op.name}")
        (old,) = op.results
        if value.type != old.type:
            self._retyped.add(value)
        made = defining_op(value)
        if op.location.is_a_name() and made is not None and not made.location.is_a_name():
            made.location = ir.Location.name(op.location.name_str, childLoc=made.location)
        old.replace_all_uses_with(value)
        op.erase()
        self._define(value)

    def visit_dataflow_block_(self, block: ir.OpView) -> None:
        """Rewrite the bindings of a dataflow block."""
        *bindings, output = block.operation.regions[0].blocks[0].operations
        for binding in bindings:
            self.visit_binding(binding)
        self._visit_operands(output)
        pairs = zip(output.operation.operands, block.operation.results, strict=True)
        for value, result in pairs:
            self._set_type(result, value.type)

    # -- expressions --------------------------------------------------------------------------

    def visit_expr_post_order(self, expr: Any) -> Any:
        """Return an operation with its parts rewritten, and its type derived from them.

        Parameters
        ----------
        expr : mlir.ir.OpView

        Returns
        -------
        mlir.ir.OpView
        """
        if isinstance(expr, ir.Operation):
            expr = expr.opview
        self._visit_operands(expr)
        if isinstance(expr, (_ops.IfOp, _ops.SeqOp)):
            self._visit_regions(expr)
        elif isinstance(expr, _ops.ClosureOp):
            self._visit_function(expr)
        else:
            self._renew(expr)
        return expr

    def _visit_parts(self, op: ir.OpView) -> Any:
        return self.visit_expr_post_order(op)

    def _visit_operands(self, op: ir.OpView) -> None:
        for place, operand in enumerate(op.operation.operands):
            new = self.visit_expr(operand)
            if new is not None and new != operand:
                op.operation.operands[place] = new

    def _visit_regions(self, op: ir.OpView) -> None:
        """Rewrite the branches of an if, or the body of a sequence."""
        types = []
        for region in op.operation.regions:
            self.visit_with_new_scope(region.blocks[0])
            *_, terminator = region.blocks[0].operations
            types.append(terminator.operation.operands[0].type)
        type_ = types[0] if len(types) == 1 else unify_struct_info(*types)
        if self._retyped:
            self._set_type(op.operation.results[0], type_)

    def visit_with_new_scope(self, expr: ir.Block) -> ir.Block:
        """Rewrite the body of a function, or a branch.

        Parameters
        ----------
        expr : mlir.ir.Block

        Returns
        -------
        mlir.ir.Block
        """
        self.visit_seq_expr_(expr)
        return expr

    def visit_function_(self, op: ir.OpView) -> Any:
        """Rewrite the parameters and the body of a function or closure."""
        self._visit_function(op)
        return op

    def _visit_function(self, op: ir.OpView) -> None:
        for param in _params_of(op.operation):
            self._define(param)
        body = _body_of(op.operation)
        if body is not None:
            self.visit_with_new_scope(body)
            self._update_signature(op.operation)

    def _update_signature(self, function: ir.Operation) -> None:
        """Give a function the types of its parameters, and of what it returns if that has to be."""
        params = [param.type for param in _params_of(function)]
        body = _body_of(function)
        assert body is not None
        *_, last = body.operations
        actual = last.operation.operands[0].type
        if isinstance(function.opview, _ops.FuncOp):
            (declared,) = ir.FunctionType(function.attributes["function_type"].value).results
            result = _result_type(actual, declared, params)
            type_ = ir.TypeAttr.get(ir.FunctionType.get(params, [result]))
            function.attributes["function_type"] = type_
            return
        old = FuncStructInfo(function.results[0].type)
        type_ = FuncStructInfo(params, _result_type(actual, old.ret, params), old.is_pure)
        self._set_type(function.results[0], type_)
        body.arguments[0].set_type(type_)

    def visit_seq_expr_(self, op: ir.OpView | ir.Block) -> Any:
        """Rewrite the blocks of a body, then its value. The body of a function is a Block."""
        if not isinstance(op, ir.Block):
            return self.visit_expr_post_order(op)
        self._visit_body(op)
        return op

    def visit_var_(self, op: ir.Value) -> ir.Value:
        """Return the replacement of a Var where it is used."""
        return self.get_var_remap(op)

    def visit_dataflow_var_(self, op: ir.Value) -> ir.Value:
        """Return the replacement of a DataflowVar where it is used."""
        return self.get_var_remap(op)

    # -- variables ----------------------------------------------------------------------------

    def set_var_remap(self, vid: ir.Value, var: ir.Value) -> None:
        """Have a value used in the place of another one in all that is visited from here on.

        Parameters
        ----------
        vid, var : mlir.ir.Value
        """
        if var.type != vid.type:
            self._retyped.add(var)
        self._remap[vid] = var

    def get_var_remap(self, vid: ir.Value) -> ir.Value:
        """Return the replacement of a value: by default itself.

        Parameters
        ----------
        vid : mlir.ir.Value
        """
        return self._remap.get(vid, vid)

    def lookup_binding(self, var: ir.Value) -> ir.OpView | None:
        """Return the operation that computes a value; None for a parameter.

        Parameters
        ----------
        var : mlir.ir.Value
        """
        op = defining_op(var)
        return None if op is None else op.opview

    def with_struct_info(self, var: ir.Value, struct_info: ir.Type) -> ir.Value:
        """Give a variable another type, where it is defined.

        Parameters
        ----------
        var : mlir.ir.Value
        struct_info : StructInfo

        Returns
        -------
        mlir.ir.Value
            The variable.
        """
        self._set_type(var, struct_info)
        return var

    with_type = with_struct_info

    def _set_type(self, value: ir.Value, type_: ir.Type) -> None:
        if value.type != type_:
            value.set_type(type_)
            self._retyped.add(value)

    def _renew(self, view: ir.OpView) -> None:
        """Derive the type of an operation anew where the type of an operand has changed."""
        op = view.operation
        if not any(operand in self._retyped for operand in op.operands) or len(op.results) != 1:
            return
        if isinstance(view, _ops.MatchCastOp):
            return
        derived = _call_type(view) if isinstance(view, _ops.CallOp) else _inferred_type(op)
        if derived is not None:
            self._set_type(op.results[0], derived)


def _is_operation(new: Any, op: ir.Operation) -> bool:
    """Say whether a result stands for the operation that was visited."""
    if isinstance(new, (ir.OpView, ir.Operation)):
        return new.operation == op
    return isinstance(new, ir.Value) and new in list(op.results)


def _result_type(actual: ir.Type, declared: ir.Type, params: Iterable[ir.Type]) -> ir.Type:
    """Return the declared result, or what can be said of the actual one where that does not fit."""
    names = [name for param in params for name in _ext.binding_vars(param)]
    is_defined = erase_to_well_defined(declared, names, names) == declared
    if is_defined and is_subtype(actual, declared) is not False:
        return declared
    return erase_to_well_defined(actual, names, names)


def _inferred_type(op: ir.Operation) -> ir.Type | None:
    """Return the type that an operation would have if it were built now, if it derives it."""
    if len(op.regions):
        return None
    with ir.InsertionPoint(op), op.location:
        try:
            new = ir.Operation.create(
                op.name,
                operands=list(op.operands),
                attributes=dict(op.attributes.items()),
                infer_type=True,
            )
        except (ir.MLIRError, ValueError, RuntimeError):
            return None  # the verifier says what does not fit
    type_ = new.results[0].type
    new.erase()
    return type_


def _call_type(call: ir.OpView) -> ir.Type | None:
    """Return the type of a call, as its callee and arguments are now."""
    op = call.operation
    callee: ir.Type | None = op.operands[0].type if len(op.operands) else None
    for name in referred(op):
        function = _symbol(op, name)
        callee = None if function is None else _ext.function_struct_info(function)
    if callee is None:
        return None
    try:
        return derive_call_ret_struct_info(callee, op)
    except ValueError:
        return None  # the verifier says what does not fit


def _symbol(op: ir.Operation, name: str) -> ir.Operation | None:
    """Return a function of the module that an operation is in."""
    while op.parent is not None:
        op = op.parent.operation
    for symbol in op.regions[0].blocks[0].operations:
        if "sym_name" in symbol.operation.attributes and (
            symbol.operation.attributes["sym_name"].value == name
        ):
            return symbol.operation
    return None
