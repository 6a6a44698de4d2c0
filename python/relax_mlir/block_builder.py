# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing a module function by function, as with TVM's BlockBuilder."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mlir import ir

from . import op as _op
from ._mlir_libs import _relax_mlir as _ext
from .analysis import binding_vars, erase_to_well_defined, unify
from .context import current_context, current_location
from .dialects import relax as _ops
from .expr import GlobalVar, Var, as_value, build, require_context
from .ir import ObjectStructInfo


class BlockBuilder:
    """Writes a module.

    Operators (`relax_mlir.op`) insert operations at the current place, which `function`,
    `dataflow` and `if_` set; `emit` gives a value a name.

    Parameters
    ----------
    context : mlir.ir.Context, optional
        By default the current one, or else `default_context`.

    Examples
    --------
    >>> from relax_mlir import TensorStructInfo, Var, op
    >>> bb = BlockBuilder()
    >>> x = Var("x", TensorStructInfo(("n", 4), "float32"))
    >>> with bb.function("main", [x]):
    ...     with bb.dataflow():
    ...         y = bb.emit(op.exp(x))
    ...         out = bb.emit_output(op.reshape(y, (-1,)))
    ...     main = bb.emit_func_output(out)
    >>> main
    GlobalVar(name='main')
    >>> print(bb.get().body.operations[0].function_type.value)
    (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32>
    """

    def __init__(self, context: ir.Context | None = None) -> None:
        self._context = current_context() if context is None else context
        _ext.load_dialect(self._context)
        self._module = ir.Module.create(ir.Location.unknown(self._context))
        self._function: _Function | None = None
        self._dataflow: _Dataflow | None = None
        self._discarded: list[ir.Operation] = []

    # -- functions ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def function(
        self,
        name: str,
        params: Sequence[Var] = (),
        attrs: Mapping[str, Any] | None = None,
        *,
        pure: bool = True,
        private: bool = False,
        ret_struct_info: ir.Type | None = None,
    ) -> Iterator[None]:
        """Write a function in the body of the ``with`` statement.

        Parameters
        ----------
        name : str
        params : sequence of Var
            They stand for the arguments inside.
        attrs : mapping of str to bool, int, float, str or mlir.ir.Attribute, optional
        pure : bool
            Whether the function has no visible side effects.
        private : bool
            Whether it can be called from the module only.
        ret_struct_info : StructInfo, optional
            The result type. By default it follows from the value that is returned; a recursive
            function has to state it.

        Raises
        ------
        ValueError
            If another function is being written, the name is taken, or the body ends without
            `emit_func_output`. What was written of the function is discarded.
        """
        self._require(self._function is None, "function", "outside of another one")
        self._require_new_name(name)
        with self._context:
            self._function = _Function(self._module, name, params, pure, private, ret_struct_info)
            try:
                self._function.set_attributes(attrs or {})
                with ir.InsertionPoint(self._function.block):
                    yield
                if not self._function.is_returned:
                    raise ValueError(f"expected emit_func_output in function '{name}'")
            except BaseException:
                # Kept, because values of it may still be in use.
                self._discarded.append(self._function.op.operation.detach_from_parent())
                raise
            finally:
                self._function.release()
                self._function = None
                self._dataflow = None

    def emit_func_output(self, output: Any) -> GlobalVar:
        """Return a value from the function.

        Parameters
        ----------
        output : value
            A Python tuple becomes a tuple of values.

        Returns
        -------
        GlobalVar
            The function, for `relax_mlir.op.call`.
        """
        self._require(self._function is not None, "emit_func_output", "inside function")
        self._require(self._dataflow is None, "emit_func_output", "outside of dataflow")
        assert self._function is not None
        self._require(not self._function.is_returned, "emit_func_output", "once in each function")
        return self._function.emit_return(as_value(output))

    def add_func(self, func: str | ir.Operation | ir.OpView, name: str | None = None) -> GlobalVar:
        """Add a function that is written already, for instance a kernel.

        Parameters
        ----------
        func : str, mlir.ir.Operation or mlir.ir.OpView
            One function, as an operation (which is copied) or as text of MLIR. Text may hold other
            functions besides if they are private.
        name : str, optional
            A new name.

        Returns
        -------
        GlobalVar

        Raises
        ------
        mlir.ir.MLIRError
            If the text does not parse.
        ValueError
            If there is not exactly one function, or the name is taken.
        """
        with self._context, ir.Location.unknown():
            if isinstance(func, str):
                source = ir.Module.parse(func)
                ops = [op.operation for op in source.body.operations]
            else:
                ops = [func.operation]
            main = _main_function(ops)
            new_name = name or main.attributes["sym_name"].value
            names = [op.attributes["sym_name"].value for op in ops if op != main]
            for taken in (new_name, *names):
                self._require_new_name(taken)
            for op in ops:
                copy = op.clone(ip=ir.InsertionPoint(self._module.body))
                if op == main:
                    copy.operation.attributes["sym_name"] = ir.StringAttr.get(new_name)
        return GlobalVar(new_name)

    def get(self) -> ir.Module:
        """Return the module.

        Returns
        -------
        mlir.ir.Module
            A copy, verified.

        Raises
        ------
        mlir.ir.MLIRError
            If the module is not valid; the message names the operation and what is wrong.
        """
        self._require(self._function is None, "get", "outside of function")
        self._module.operation.verify()
        return _ext.clone_module(self._module)

    # -- values -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def dataflow(self) -> Iterator[None]:
        """Write a dataflow block in the body of the ``with`` statement.

        Only what `emit_output` returns can be used after it.
        """
        self._require(self._function is not None, "dataflow", "inside function")
        self._require(self._dataflow is None, "dataflow", "outside of another one")
        self._dataflow = _Dataflow()
        with ir.InsertionPoint(self._dataflow.block):
            yield
            self._dataflow.finish()
        self._dataflow = None

    def emit(self, expr: Any, name_hint: str = "") -> ir.Value:
        """Return a value, with a name.

        Parameters
        ----------
        expr : value
            What an operator returned, or a Python value.
        name_hint : str
            The name, kept as its location.

        Returns
        -------
        mlir.ir.Value
        """
        value = as_value(expr)
        if name_hint and isinstance(value, ir.OpResult):
            op = value.owner
            op.location = ir.Location.name(name_hint, childLoc=op.location)
        return value

    def match_cast(self, value: Any, struct_info: ir.Type, name_hint: str = "") -> ir.Value:
        """Check a value at run time and bind the shape variables that are new in `struct_info`.

        Parameters
        ----------
        value : value
        struct_info : StructInfo
        name_hint : str

        Returns
        -------
        mlir.ir.Value
            The value, of type `struct_info`.
        """
        return self.emit(_op.match_cast(value, struct_info), name_hint)

    def emit_output(self, output: Any, name_hint: str = "") -> Var:
        """Make a value of a dataflow block visible after it. Call it once for each such value.

        Parameters
        ----------
        output : value
            A Python tuple becomes a tuple of values.
        name_hint : str

        Returns
        -------
        Var
            The value, inside of the block and after it.
        """
        self._require(self._dataflow is not None, "emit_output", "inside dataflow")
        assert self._dataflow is not None
        return self._dataflow.add_output(self.emit(output, name_hint), name_hint)

    def if_(
        self,
        cond: Any,
        then_branch: Callable[[], Any],
        else_branch: Callable[[], Any],
        name_hint: str = "",
    ) -> ir.Value:
        """Write a branch.

        Parameters
        ----------
        cond : value
            A Boolean tensor of rank 0.
        then_branch, else_branch : callable
            Each writes one branch and returns its value.
        name_hint : str

        Returns
        -------
        mlir.ir.Value
            The value of the branch taken. Its type covers those of both.
        """
        self._require(self._function is not None, "if_", "inside function")
        self._require(self._dataflow is None, "if_", "outside of dataflow")
        condition = as_value(cond)
        # The result type is known at the end only, so the branches move to their place then.
        draft = _ops.IfOp(ObjectStructInfo(), condition, loc=current_location())
        values = []
        for region, branch in zip(draft.operation.regions, (then_branch, else_branch), strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                values.append(as_value(branch()))
                _ops.YieldOp(values[-1], loc=current_location())
        scope = _bound_before(draft.operation)
        then_type, else_type = (erase_to_well_defined(value.type, scope) for value in values)
        with ir.InsertionPoint(draft):
            value = build(_ops.IfOp, unify(then_type, else_type), condition)
        _replace(draft, value.owner)
        return self.emit(value, name_hint)

    # -- helpers ------------------------------------------------------------------------------

    @staticmethod
    def _require(condition: bool, what: str, where: str) -> None:
        if not condition:
            raise ValueError(f"expected BlockBuilder.{what} {where}")

    def _require_new_name(self, name: str) -> None:
        for op in self._module.body.operations:
            if "sym_name" in op.attributes and op.attributes["sym_name"].value == name:
                raise ValueError(f"expected a new name for a function, but got '{name}' again")


class _Function:
    """A function that is being written."""

    def __init__(
        self,
        module: ir.Module,
        name: str,
        params: Sequence[Var],
        pure: bool,
        private: bool,
        ret_struct_info: ir.Type | None,
    ) -> None:
        self.params = list(params)
        self.ret_struct_info = ret_struct_info
        self.is_returned = False
        self.types = [param.struct_info for param in params]
        require_context([*self.types, ret_struct_info], module.context)
        loc = current_location()
        with ir.InsertionPoint(module.body):
            self.op = _ops.FuncOp(
                name,
                ir.TypeAttr.get(self._signature(ret_struct_info or ObjectStructInfo())),
                sym_visibility="private" if private else None,
                arg_names=ir.ArrayAttr.get([ir.StringAttr.get(param.name) for param in params]),
                is_pure=None if pure else False,
                loc=loc,
            )
        locs = [ir.Location.name(param.name, childLoc=loc) for param in params]
        self.block = ir.Block.create_at_start(self.op.body, self.types, locs)
        for param, argument in zip(params, self.block.arguments, strict=True):
            param._value = argument

    def _signature(self, result: ir.Type) -> ir.Type:
        return ir.FunctionType.get(self.types, [result])

    def set_attributes(self, attrs: Mapping[str, Any]) -> None:
        for name, value in attrs.items():
            if name in self.op.operation.attributes or name in ("sym_visibility", "is_pure"):
                raise ValueError(f"expected another name for an attribute, but got '{name}'")
            self.op.operation.attributes[name] = _attribute(name, value)

    def emit_return(self, value: ir.Value) -> GlobalVar:
        if self.ret_struct_info is None:
            scope = [name for type_ in self.types for name in binding_vars(type_)]
            result = erase_to_well_defined(value.type, scope)
            self.op.operation.attributes["function_type"] = ir.TypeAttr.get(self._signature(result))
        _ops.ReturnOp(value, loc=current_location())
        self.is_returned = True
        return GlobalVar(self.op.sym_name.value)

    def release(self) -> None:
        for param in self.params:
            param._value = None


class _Dataflow:
    """A dataflow block that is being written, in an operation without results at first."""

    def __init__(self) -> None:
        self.draft = _ops.DataflowOp([], loc=current_location())
        self.block = self.draft.body.blocks.append()
        self.outputs: list[Var] = []

    def add_output(self, value: ir.Value, name: str) -> Var:
        output = Var(name or f"gv{len(self.outputs)}", value.type)
        output._value = value
        self.outputs.append(output)
        return output

    def finish(self) -> None:
        """Give the operation its results; the outputs stand for them from now on."""
        _ops.OutputOp([output.value for output in self.outputs], loc=current_location())
        with ir.InsertionPoint(self.draft):
            types = [output.struct_info for output in self.outputs]
            final = _ops.DataflowOp(types, loc=self.draft.location)
        _replace(self.draft, final)
        for output, result in zip(self.outputs, final.operation.results, strict=True):
            output._value = result


def _replace(draft: ir.OpView, final: Any) -> None:
    """Move the regions of a draft without uses to the operation that takes its place."""
    for old, new in zip(draft.operation.regions, final.operation.regions, strict=True):
        for block in list(old.blocks):
            block.append_to(new)
    draft.operation.erase()


def _attribute(name: str, value: Any) -> ir.Attribute:
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get_f64(value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    raise TypeError(f"expected a bool, int, float, str or Attribute as '{name}', but got {value!r}")


def _main_function(ops: Sequence[ir.Operation]) -> ir.Operation:
    """Return the one function, or the one that is not private."""
    for op in ops:
        if "sym_name" not in op.attributes:
            raise ValueError(f"expected functions, but got {op.name}")
    public = [op for op in ops if "sym_visibility" not in op.attributes]
    for found in (ops, public):
        if len(found) == 1:
            return found[0]
    raise ValueError(f"expected one function, but got {len(public)} that are not private")


def _bound_before(op: ir.Operation) -> set[str]:
    """Return the shape variables that are visible where `op` is."""
    names: set[str] = set()
    while op.name != _ops.FuncOp.OPERATION_NAME:
        for other in op.block:
            if other.operation == op:
                break
            names.update(_bound_by(other))
        op = op.parent.operation
    for type_ in ir.FunctionType(op.attributes["function_type"].value).inputs:
        names.update(binding_vars(type_))
    return names


def _bound_by(op: ir.OpView) -> Iterator[str]:
    """Yield the shape variables that an operation binds for those after it."""
    if isinstance(op, _ops.MatchCastOp):
        yield from binding_vars(op.operation.results[0].type)
    if isinstance(op, _ops.DataflowOp):
        for inner in op.body.blocks[0]:
            yield from _bound_by(inner)
