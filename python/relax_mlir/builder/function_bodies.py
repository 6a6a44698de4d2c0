# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions, closures and dataflow blocks that are being written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mlir import ir

from .._warnings import warn
from ..core.context import current_location
from ..core.expr import GlobalVar, Var, require_context
from ..core.ir import FuncStructInfo, ObjectStructInfo
from ..core.struct_info import (
    StructInfoWarning,
    binding_vars,
    check_compatibility,
    erase_to_well_defined,
)
from ..dialects import relax as _ops
from ..tir.attributes import attribute
from .places import bound_before, replace_draft


class Names:
    """Names that are taken."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._taken = set(names)

    def unique(self, prefix: str) -> str:
        """Return the prefix, with a number where it is taken, and take it."""
        name, number = prefix, 0
        while name in self._taken:
            number += 1
            name = f"{prefix}{number}"
        self._taken.add(name)
        return name


class Body:
    """Common base of functions and closures that are being written."""

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
        _require_distinct(name, self.params)
        require_context([*self.types, ret_struct_info], context)

    def names(self) -> ir.Attribute:
        """Return the names of the parameters as an attribute."""
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
        """Set attributes that the operation does not have yet."""
        for name, value in attrs.items():
            if name in self.op.operation.attributes or name in self.reserved:
                raise ValueError(f"expected another name for an attribute, but got '{name}'")
            self.op.operation.attributes[name] = attribute(name, value)

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
            warn(
                f"a result of type {actual} may not be of the declared type {declared}: "
                "match_cast would check it here, or else the function does on return",
                StructInfoWarning,
            )

    def release(self) -> None:
        """Have variables stand for nothing."""
        for param in self.params:
            param._value = None


def _require_distinct(function: str, params: Sequence[Var]) -> None:
    """Raise ValueError if two parameters have one name."""
    names = [param.name for param in params]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ValueError(
                f"expected parameters of function '{function}' with distinct names, but got "
                f"'{name}' twice"
            )


class FunctionBody(Body):
    """A function that is being written."""

    def __init__(
        self,
        module: ir.Module,
        name: str,
        params: Sequence[Var] | None,
        pure: bool,
        private: bool,
        ret_struct_info: ir.Type | None,
    ) -> None:
        super().__init__(module.context, name, params or (), ret_struct_info)
        # Whether more parameters may follow.
        self.is_open = params is None
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

    def add_parameter(self, param: Var) -> None:
        """Make a variable a parameter; `close` says at which place."""
        require_context([param.struct_info], self.op.operation.context)
        loc = ir.Location.name(param.name, childLoc=current_location())
        param._value = self.block.add_argument(param.struct_info, loc)
        self.params.append(param)

    def close(self, params: Sequence[Var] | None) -> None:
        """State the parameters, if they are not stated yet."""
        if not self.is_open:
            if params is not None:
                raise ValueError("expected the parameters once, in function or in emit_func_output")
            return
        stated = list(params or ())
        _require_distinct(self.name, stated)
        for param in self.params:
            if not any(param is each for each in stated):
                raise ValueError(
                    f"expected '{param.name}', which is used, to be among the parameters that "
                    "function or emit_func_output state"
                )
        used, self.params, self.types = self.params, [], []
        for param in stated:
            old = param._value if any(param is each for each in used) else None
            self.add_parameter(param)
            if old is not None:
                old.replace_all_uses_with(param.value)
        for _ in used:
            self.block.erase_argument(0)
        self.types = [param.struct_info for param in stated]
        self.op.operation.attributes["arg_names"] = self.names()
        if self.ret_struct_info is not None:
            signature = self._signature(self.ret_struct_info)
            self.op.operation.attributes["function_type"] = ir.TypeAttr.get(signature)

    def emit_return(self, value: ir.Value) -> GlobalVar:
        """Write the end of the body, and return what stands for it."""
        signature = self._signature(self.result_type(value))
        self.op.operation.attributes["function_type"] = ir.TypeAttr.get(signature)
        _ops.ReturnOp(value, loc=current_location())
        self.is_returned = True
        return GlobalVar(self.name)


class ClosureBody(Body):
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
        """Write the end of the body, and return what stands for it."""
        type_ = self._type(self.result_type(value, bound_before(self.op.operation)))
        self.block.arguments[0].set_type(type_)
        self.op.operation.results[0].set_type(type_)
        self.variable.struct_info = type_
        _ops.ReturnOp(value, loc=current_location())
        self.is_returned = True
        return self.variable

    def release(self) -> None:
        """Have variables stand for nothing."""
        super().release()
        self.variable._value = self.op.operation.results[0] if self.is_returned else None


class DataflowBody:
    """A dataflow block that is being written, in an operation without results at first."""

    def __init__(self) -> None:
        self.draft = _ops.DataflowOp([], loc=current_location())
        self.block = self.draft.body.blocks.append()
        self.outputs: list[Var] = []

    def add_output(self, value: ir.Value, name: str) -> Var:
        """Make a value one of the results."""
        output = Var(name, value.type)
        output._value = value
        self.outputs.append(output)
        return output

    def finish(self) -> None:
        """Give the operation its results; the outputs stand for them from now on."""
        _ops.OutputOp([output.value for output in self.outputs], loc=current_location())
        with ir.InsertionPoint(self.draft):
            types = [output.struct_info for output in self.outputs]
            final = _ops.DataflowOp(types, loc=self.draft.location)
        replace_draft(self.draft, final)
        for output, result in zip(self.outputs, final.operation.results, strict=True):
            output._value = result
