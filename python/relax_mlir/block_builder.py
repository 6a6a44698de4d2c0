# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing a module function by function, as with TVM's BlockBuilder."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from mlir import ir

from . import op as _op
from ._mlir_libs import _relax_mlir as _ext
from .analysis import (
    StructInfoWarning,
    binding_vars,
    check_compatibility,
    erase_to_well_defined,
    unify_struct_info,
)
from .context import current_context, current_location
from .dialects import relax as _ops
from .expr import GlobalVar, Var, as_value, build, require_context
from .ir import FuncStructInfo, ObjectStructInfo
from .vdevice import VDevice, set_global_info


class BlockBuilder:
    """Writes a module.

    Operators (`relax_mlir.op`) insert operations at the current place, which `function`,
    `dataflow` and `if_` set; `emit` gives a value a name.

    Parameters
    ----------
    context : mlir.ir.Context, optional
        By default the current one, or else `default_context`.
    global_info : mapping of str to VDevice, optional
        The virtual devices of the module by name.

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

    def __init__(
        self,
        context: ir.Context | None = None,
        *,
        global_info: Mapping[str, VDevice] | None = None,
    ) -> None:
        self._context = current_context() if context is None else context
        _ext.load_dialect(self._context)
        self._module = ir.Module.create(ir.Location.unknown(self._context))
        if global_info:
            set_global_info(self._module, global_info)
        self._function: _Function | _Closure | None = None
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
        self._require(
            self._function is None, "function", "outside of another one; see BlockBuilder.closure"
        )
        self._require_new_name(name)
        with self._context:
            function = _Function(self._module, name, params, pure, private, ret_struct_info)
            with self._write(function, attrs):
                yield

    @contextlib.contextmanager
    def closure(
        self,
        name: str,
        params: Sequence[Var] = (),
        attrs: Mapping[str, Any] | None = None,
        *,
        pure: bool = True,
        ret_struct_info: ir.Type | None = None,
    ) -> Iterator[Var]:
        """Write a function inside of another one, in the body of the ``with`` statement.

        It may use what is visible around it: values, and shape variables of types. They are
        captured by reference.

        Parameters
        ----------
        name : str
            For messages of errors.
        params : sequence of Var
            They stand for the arguments inside.
        attrs : mapping of str to bool, int, float, str or mlir.ir.Attribute, optional
        pure : bool
            Whether a call has no visible side effects.
        ret_struct_info : StructInfo, optional
            The result type. By default it follows from the value that is returned; a recursive
            closure has to state it.

        Yields
        ------
        Var
            The closure: a value to call, pass on or return. Inside of its own body it can be used
            where `ret_struct_info` is given.

        Raises
        ------
        ValueError
            If no function is being written, or the body ends without `emit_func_output`.

        Examples
        --------
        >>> from relax_mlir import TensorStructInfo, Var, op
        >>> bb = BlockBuilder()
        >>> x, y = (Var(name, TensorStructInfo(("n",), "float32")) for name in "xy")
        >>> with bb.function("main", [x]):
        ...     with bb.closure("plus_x", [y]) as plus_x:
        ...         _ = bb.emit_func_output(op.add(y, x))
        ...     _ = bb.emit_func_output(op.call(plus_x, op.exp(x)))
        >>> print(plus_x.struct_info)
        !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>
        """
        self._require(self._function is not None, "closure", "inside function")
        closure = _Closure(self._context, name, params, pure, ret_struct_info)
        with self._write(closure, attrs):
            yield closure.variable

    @contextlib.contextmanager
    def _write(
        self, function: _Function | _Closure, attrs: Mapping[str, Any] | None
    ) -> Iterator[None]:
        """Write the body of a function, then go on with what is around it."""
        around = self._function, self._dataflow
        self._function, self._dataflow = function, None
        try:
            function.set_attributes(attrs or {})
            with ir.InsertionPoint(function.block):
                yield
            if not function.is_returned:
                raise ValueError(f"expected emit_func_output in function '{function.name}'")
        except BaseException:
            # Kept, because values of it may still be in use.
            self._discarded.append(function.op.operation.detach_from_parent())
            raise
        finally:
            function.release()
            self._function, self._dataflow = around

    def set_func_attrs(self, attrs: Mapping[str, Any]) -> None:
        """Set attributes of the function, or the closure, that is being written.

        Parameters
        ----------
        attrs : mapping of str to bool, int, float, str or mlir.ir.Attribute
        """
        self._require(self._function is not None, "set_func_attrs", "inside function")
        assert self._function is not None
        self._function.set_attributes(attrs)

    def emit_func_output(self, output: Any) -> GlobalVar | Var:
        """Return a value from the function, or from the closure, that is being written.

        Parameters
        ----------
        output : value
            A Python tuple becomes a tuple of values.

        Returns
        -------
        GlobalVar or Var
            The function, for `relax_mlir.op.call`.

        Raises
        ------
        ValueError
            If the value is incompatible with the declared result.

        Warns
        -----
        StructInfoWarning
            If it may or may not be of the type of the declared result: the function checks it
            before it returns.
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

    def emit(self, expr: Any, name_hint: str = "", struct_info: ir.Type | None = None) -> ir.Value:
        """Return a value, with a name and, where one is stated, a type.

        Parameters
        ----------
        expr : value
            What an operator returned, or a Python value.
        name_hint : str
            The name, kept as its location.
        struct_info : StructInfo, optional
            The type that is stated for the value. One that says less than the type of the value
            is taken. One that says more is checked at run time, as `match_cast` does.

        Returns
        -------
        mlir.ir.Value

        Raises
        ------
        ValueError
            If no value of this type is of the type that is stated (DR08).

        Warns
        -----
        StructInfoWarning
            If the stated type says more than that of the value.

        Examples
        --------
        >>> from relax_mlir import TensorStructInfo, Var, op
        >>> bb = BlockBuilder()
        >>> x = Var("x", TensorStructInfo(("n",), "float32"))
        >>> with bb.function("main", [x]):
        ...     y = bb.emit(op.exp(x), "y", TensorStructInfo(ndim=1))
        ...     _ = bb.emit_func_output(y)
        >>> print(y.type)
        !relax.tensor<ndim = 1>
        """
        value = as_value(expr)
        if struct_info is not None and value.type != struct_info:
            value = _declared(value, struct_info)
        if name_hint:
            _set_name(value, name_hint)
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
        then_type, else_type = (erase_to_well_defined(value.type, scope, scope) for value in values)
        with ir.InsertionPoint(draft):
            value = build(_ops.IfOp, unify_struct_info(then_type, else_type), condition)
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


class _Body:
    """What functions and closures that are being written have in common."""

    op: Any
    block: ir.Block
    # Attributes of the operation itself.
    reserved: tuple[str, ...] = ("sym_visibility", "is_pure", "arg_names")

    def __init__(
        self, context: ir.Context, name: str, params: Sequence[Var], ret_struct_info: ir.Type | None
    ) -> None:
        self.name = name
        self.params = list(params)
        self.ret_struct_info = ret_struct_info
        self.is_returned = False
        self.types = [param.struct_info for param in params]
        require_context([*self.types, ret_struct_info], context)

    def names(self) -> ir.Attribute:
        return ir.ArrayAttr.get([ir.StringAttr.get(param.name) for param in self.params])

    def make_block(self, region: ir.Region, own: Sequence[ir.Type], loc: ir.Location) -> ir.Block:
        """Make the body, whose arguments are some of its own and the parameters."""
        locs = [ir.Location.name(param.name, childLoc=loc) for param in self.params]
        block = ir.Block.create_at_start(region, [*own, *self.types], [*(loc for _ in own), *locs])
        arguments = list(block.arguments)[len(own) :]
        for param, argument in zip(self.params, arguments, strict=True):
            param._value = argument
        return block

    def set_attributes(self, attrs: Mapping[str, Any]) -> None:
        for name, value in attrs.items():
            if name in self.op.operation.attributes or name in self.reserved:
                raise ValueError(f"expected another name for an attribute, but got '{name}'")
            self.op.operation.attributes[name] = _attribute(name, value)

    def result_type(self, value: ir.Value, around: Iterable[str] = ()) -> ir.Type:
        """Return the type that was stated, or that of the value as callers see it."""
        if self.ret_struct_info is not None:
            self._check_result(value.type, self.ret_struct_info)
            return self.ret_struct_info
        scope = [name for type_ in self.types for name in binding_vars(type_)]
        names = [*around, *scope]
        return erase_to_well_defined(value.type, names, names)

    def _check_result(self, actual: ir.Type, declared: ir.Type) -> None:
        compatible = check_compatibility(actual, declared)
        if compatible is False:
            raise ValueError(
                f"expected a result of type {declared} from function "
                f"'{self.name}', but got {actual}"
            )
        if compatible is None:
            warnings.warn(
                f"a result of type {actual} may not be of the declared type {declared}: "
                "match_cast would check it here, or else the function does on return",
                StructInfoWarning,
                stacklevel=5,
            )

    def release(self) -> None:
        for param in self.params:
            param._value = None


class _Function(_Body):
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
        super().__init__(module.context, name, params, ret_struct_info)
        loc = current_location()
        with ir.InsertionPoint(module.body):
            self.op = _ops.FuncOp(
                name,
                ir.TypeAttr.get(self._signature(ret_struct_info or ObjectStructInfo())),
                sym_visibility="private" if private else None,
                arg_names=self.names(),
                is_pure=None if pure else False,
                loc=loc,
            )
        self.block = self.make_block(self.op.body, [], loc)

    def _signature(self, result: ir.Type) -> ir.Type:
        return ir.FunctionType.get(self.types, [result])

    def emit_return(self, value: ir.Value) -> GlobalVar:
        signature = self._signature(self.result_type(value))
        self.op.operation.attributes["function_type"] = ir.TypeAttr.get(signature)
        _ops.ReturnOp(value, loc=current_location())
        self.is_returned = True
        return GlobalVar(self.name)


class _Closure(_Body):
    """A closure that is being written."""

    def __init__(
        self,
        context: ir.Context,
        name: str,
        params: Sequence[Var],
        pure: bool,
        ret_struct_info: ir.Type | None,
    ) -> None:
        super().__init__(context, name, params, ret_struct_info)
        self.pure = pure
        loc = ir.Location.name(name, childLoc=current_location())
        type_ = self._type(ret_struct_info or ObjectStructInfo())
        self.op = _ops.ClosureOp(type_, arg_names=self.names(), loc=loc)
        self.block = self.make_block(self.op.body, [type_], loc)
        self.variable = Var(name, type_)
        if ret_struct_info is not None:
            self.variable._value = self.block.arguments[0]

    def _type(self, result: ir.Type) -> ir.Type:
        return FuncStructInfo(self.types, result, self.pure)

    def emit_return(self, value: ir.Value) -> Var:
        type_ = self._type(self.result_type(value, _bound_before(self.op.operation)))
        self.block.arguments[0].set_type(type_)
        self.op.operation.results[0].set_type(type_)
        self.variable.struct_info = type_
        _ops.ReturnOp(value, loc=current_location())
        self.is_returned = True
        return self.variable

    def release(self) -> None:
        super().release()
        self.variable._value = self.op.operation.results[0] if self.is_returned else None


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


def _set_name(value: ir.Value, name: str) -> None:
    """Keep a name as the location of the operation that makes a value."""
    op = value.owner
    if isinstance(op, ir.Block):
        return
    place = op.location.child_loc if op.location.is_a_name() else op.location
    op.location = ir.Location.name(name, childLoc=place)


def _declared(value: ir.Value, declared: ir.Type) -> ir.Value:
    """Return a value as one of the type that is stated for it."""
    require_context([declared], value.context)
    compatible = check_compatibility(value.type, declared)
    if compatible is False:
        raise ValueError(f"expected a value of type {declared}, but got one of type {value.type}")
    if _restate(value, declared):
        return value
    if compatible is None:
        warnings.warn(
            f"the declared type {declared} says more than the type {value.type} of the value: it "
            "is checked at run time, as match_cast does",
            StructInfoWarning,
            stacklevel=3,
        )
    return build(_ops.MatchCastOp, declared, value)


def _restate(value: ir.Value, declared: ir.Type) -> bool:
    """Give the result of an operation another type, if the operation allows it.

    That is one that says less, or what a packed function returns.
    """
    op = value.owner
    is_used = any(True for _ in value.uses)
    if isinstance(op, ir.Block) or is_used or op.name == _ops.MatchCastOp.OPERATION_NAME:
        return False
    derived = value.type
    value.set_type(declared)
    try:
        op.verify()
    except ir.MLIRError:
        value.set_type(derived)
        return False
    return True


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
        if op.name == _ops.ClosureOp.OPERATION_NAME:
            for argument in op.regions[0].blocks[0].arguments:
                names.update(binding_vars(argument.type))
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
