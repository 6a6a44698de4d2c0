# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Relax functions as a program writes them.

Each operation is a statement, and the leaves of expressions (constants, shapes, tuples, ...) that
only the next statement uses are written in it: the parser makes the same operations from that, in
the same order.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence

from mlir import ir

from ...builder.places import bound_before
from ...core.dtypes import dtype_name
from ...core.ir import Dim, TupleStructInfo
from ...core.struct_info import erase_to_well_defined
from ...core.variables import LEAVES
from .constants import Constants, constant_text
from .derived import derived_type, has_function, number_text, others, type_of_branches
from .memory import gradient_arguments, memory_form, packed_form
from .names import Names, location_name
from .operators import (
    Form,
    OperatorArguments,
    generic_form,
    is_struct_info,
    operator_form,
    unique_options,
)
from .options import Options, is_identifier
from .scope import Scope, struct_info_variables, variables_of
from .types import TypePrinter, entries, quote, sequence, string_literal
from .writer import Writer

# Attributes that the signature and the decorator show.
_FUNC_ATTRS = {
    "sym_name",
    "function_type",
    "sym_visibility",
    "arg_names",
    "is_pure",
}


class NotScriptError(Exception):
    """A function has parts that TVMScript has no words for."""


class _Phase(enum.IntEnum):
    """The time at which the parser makes an operation for a part of an expression."""

    ARGUMENT = 0  # as soon as it reads it
    CALL = 1  # when an operator takes its arguments
    LAST = 2  # when a tuple or a function is needed as a value


class FunctionPrinter:
    """Writes one function of a module.

    Parameters
    ----------
    writer : Writer
    constants : Constants
        Where constants go that are not written in place.
    module_name : str
        The name of the class.
    devices : mapping of str to str
        How the virtual devices of the module are written, by their names.
    kinds : mapping of int to str
        Of what kind the devices of the module are, by their numbers.
    """

    def __init__(
        self,
        writer: Writer,
        constants: Constants,
        module_name: str,
        devices: Mapping[str, str],
        kinds: Mapping[int, str],
    ) -> None:
        self._module_name = module_name
        self.writer = writer
        self.options: Options = writer.options
        self.constants = constants
        self.types = TypePrinter(self.options, lambda name: self._scope.use(name))
        self.types.devices = dict(devices)
        self.types.device_kinds = dict(kinds)
        self._scope = Scope(writer, None)
        self._values: dict[ir.Value, str] = {}
        self._inline: set[ir.Operation] = set()
        self._dataflow = 0
        self._names_module = False

    # -- functions ----------------------------------------------------------------------------

    def print(self, function: ir.Operation) -> None:
        """Write a ``relax.func``.

        Raises
        ------
        NotScriptError
            If it cannot be written as TVMScript.
        """
        name = function.attributes["sym_name"].value
        variables = variables_of(function)
        reserved = {self.options.ir_prefix, self._module_name, "R", "T", "metadata"}
        reserved.add(self.options.module_alias)
        for variable in variables:
            if not is_identifier(variable) or variable in reserved:
                raise NotScriptError(f"the name of the shape variable '{variable}'")
        self._names = Names({*reserved, *variables})
        self._require_plain(function)
        type_ = ir.FunctionType(function.attributes["function_type"].value)
        options = []
        if "sym_visibility" in function.attributes:
            options.append("private=True")
        if "is_pure" in function.attributes and not function.attributes["is_pure"].value:
            options.append("pure=False")
        spelled = name
        if not is_identifier(name):
            spelled = self._names.reserve(name)
            options.append(f"name={quote(name)}")
        blocks = list(function.regions[0].blocks)
        arguments = list(blocks[0].arguments) if blocks else []
        with self.types.in_signature(self._scope.is_bound):
            params = self._params(function, type_.inputs, arguments)
            self._head(options, spelled, params, type_.results[0])
        for variable in self._variables_of([*type_.inputs, *type_.results]):
            self._scope.bind(variable)
        extra = [item for item in entries(function.attributes) if item[0] not in _FUNC_ATTRS]
        self._body(blocks[0] if blocks else None, extra)

    def _require_plain(self, function: ir.Operation) -> None:
        attributes = function.attributes
        if "sym_visibility" in attributes and attributes["sym_visibility"].value != "private":
            raise NotScriptError("its visibility")
        if len(function.regions[0].blocks) > 1:
            raise NotScriptError("several blocks")

    def _variables_of(self, types: Iterable[ir.Type]) -> list[str]:
        return [name for type_ in types for name in struct_info_variables(type_)]

    def _params(
        self, op: ir.Operation, types: Sequence[ir.Type], arguments: Sequence[ir.Value]
    ) -> list[str]:
        given = op.attributes.get("arg_names", [])
        hints = [item.value for item in given] or [""] * len(types)
        params = []
        for index, (hint, type_) in enumerate(zip(hints, types, strict=True)):
            name = self._names.reserve(hint or f"arg{index}")
            if arguments:
                self._bind(arguments[index], name)
            name = self._values[arguments[index]] if arguments else name
            params.append(f"{name}: {self.types.struct_info(type_)}")
        return params

    def _head(self, options: list[str], name: str, params: list[str], result: ir.Type) -> None:
        line = self.writer.line
        line(f"@R.function({', '.join(options)})" if options else "@R.function")
        line(f"def {name}({', '.join(params)}) -> {self.types.struct_info(result)}:")

    def _body(self, block: ir.Block | None, attributes: Sequence[tuple[str, ir.Attribute]]) -> None:
        scope = self._scope
        with self.writer.indented():
            if attributes:
                self.writer.line(f"R.func_attr({self.types.attributes(attributes)})")
            if scope.outer is None:
                self.writer.later(self._module_alias)
            scope.begin()
            if block is None:
                self.writer.line("...")
                return
            last = self._statements(block)
            scope.statement()
            if last is None or last.name != "relax.return":
                raise NotScriptError("how it ends")
            self.writer.line(f"return {self._value(last.operands[0])}")

    def _closure(self, op: ir.Operation) -> None:
        type_ = op.results[0].type
        block = op.regions[0].blocks[0]
        own, *arguments = block.arguments
        name = self._define(op.results[0], op)
        self._bind(own, name)
        outer, depth = self._scope, self._dataflow
        with self.types.in_signature(outer.is_bound):
            params = self._params(op, type_.params, arguments)
            self._head([] if type_.is_pure else ["pure=False"], name, params, type_.ret)
        self._scope, self._dataflow = Scope(self.writer, outer), 0
        for variable in self._variables_of([type_]):
            if not outer.is_bound(variable):
                self._scope.bind(variable)
        self._body(block, [item for item in entries(op.attributes) if item[0] != "arg_names"])
        self.writer.line()
        self._scope, self._dataflow = outer, depth

    def _module_alias(self) -> list[str]:
        """Return the statement that names the module."""
        alias = self.options.module_alias
        return [f"{alias} = {self._module_name}"] if alias and self._names_module else []

    # -- names --------------------------------------------------------------------------------

    def _bind(self, value: ir.Value, name: str) -> None:
        if self.options.show_object_address:
            name = f"{name}_0x{hash(value) & (2**64 - 1):x}"
        self._values[value] = name

    def _define(self, value: ir.Value, op: ir.Operation, is_output: bool = False) -> str:
        """Give a value its name: that of its location, or the next number."""
        if value not in self._values:
            # The parser names the values that leave a block, not the block.
            is_named = len(op.results) == 1 and op.name != "relax.dataflow"
            hint = location_name(op.location) if is_named else None
            prefix = "lv" if self._dataflow and not is_output else "gv"
            self._bind(value, self._names.reserve(hint) if hint else self._names.number(prefix))
        return self._values[value]

    # -- statements ---------------------------------------------------------------------------

    def _statements(self, block: ir.Block) -> ir.Operation | None:
        """Write the statements of a block; return what ends it."""
        ops = [op.operation for op in block.operations]
        self._find_inline(ops)
        for op in ops[:-1]:
            if op in self._inline:
                continue
            self._scope.statement()
            self._statement(op)
        return ops[-1] if ops else None

    def _statement(self, op: ir.Operation) -> None:
        special = _STATEMENTS.get(op.name)
        if special is not None:
            special(self, op)
            return
        if len(op.regions):
            raise NotScriptError(f"the operation {op.name}")
        text, is_generic = self._expression(op)
        results = list(op.results)
        names = [self._define(result, op) for result in results]
        if not results:
            self.writer.line(text)
        elif len(results) > 1 or is_generic or not self._is_annotated(op):
            self.writer.line(f"{', '.join(names)} = {text}")
        else:
            self.writer.line(f"{names[0]}: {self.types.struct_info(results[0].type)} = {text}")

    def _is_annotated(self, op: ir.Operation) -> bool:
        """Say whether the type of a result is stated."""
        if self.options.show_all_struct_info:
            return True
        return op.name != "relax.match_cast" and derived_type(op) != op.results[0].type

    def _dataflow_block(self, op: ir.Operation) -> None:
        block = op.regions[0].blocks[0]
        results = list(op.results)
        for inner in block.operations:
            if inner.operation.name == "relax.match_cast":  # known after the block too
                for variable in self._variables_of([inner.operation.results[0].type]):
                    self._scope.use(variable)
        output = list(block.operations)[-1].operation
        self._more(op, [value.type for value in output.operands])
        self.writer.line("with R.dataflow():")
        with self.writer.indented():
            self._dataflow += 1
            own = self._name_outputs(block, output, results)
            self._statements(block)
            for result, value in zip(results, output.operands, strict=True):
                if result not in own:
                    self._alias(self._define(result, op, is_output=True), value)
            self._dataflow -= 1
            self.writer.line(f"R.output({', '.join(self._values[r] for r in results)})")

    def _name_outputs(
        self, block: ir.Block, output: ir.Operation, results: Sequence[ir.Value]
    ) -> set[ir.Value]:
        """Give results the names of the values of the block that they are; return these results."""
        own: set[ir.Value] = set()
        seen: list[ir.Value] = []
        for result, value in zip(results, output.operands, strict=True):
            owner = value.owner
            is_own = isinstance(owner, (ir.Operation, ir.OpView)) and owner.operation.block == block
            if is_own and value not in seen:
                name = self._define(value, owner.operation, is_output=True)
                self._values[result] = name
                own.add(result)
                seen.append(value)
        return own

    def _if(self, op: ir.Operation) -> None:
        result = op.results[0]
        if any(len(region.blocks) != 1 for region in op.regions):
            raise NotScriptError("a branch that is missing")
        values = [region.blocks[0].operations[-1].operands[0] for region in op.regions]
        self._more(op, [type_of_branches(op, [value.type for value in values])])
        name = self._define(result, op)
        self.writer.line(f"if {self._value(op.operands[0])}:")
        for index, (region, value) in enumerate(zip(op.regions, values, strict=True)):
            if index:
                self.writer.line("else:")
            with self.writer.indented(), self._scope.branch():
                self._branch(region.blocks[0], name, value)

    def _sequence(self, op: ir.Operation) -> None:
        block = op.regions[0].blocks[0]
        value = block.operations[-1].operands[0]
        scope = bound_before(op)
        self._more(op, [erase_to_well_defined(value.type, scope, scope)])
        name = self._define(op.results[0], op)
        depth, self._dataflow = self._dataflow, 0
        self.writer.line(f"with {self.options.ir_prefix}.seq():")
        with self.writer.indented(), self._scope.branch():
            self._branch(block, name, value)
        self._dataflow = depth

    def _more(self, op: ir.Operation, types: Sequence[ir.Type]) -> None:
        """Write what a statement has no words for: attributes, and types that are not those."""
        attrs = others(op)
        args = [f"attrs={self.types.attributes(attrs)}"] if attrs else []
        stated = [result.type for result in op.results]
        if stated != list(types):
            items = [self.types.struct_info(type_) for type_ in stated]
            args.append(f"types={sequence(items)}")
        if args:
            self.writer.line(f"{self.options.ir_prefix}.annotate({', '.join(args)})")

    def _branch(self, block: ir.Block, name: str, value: ir.Value) -> None:
        ops = list(block.operations)
        last = ops[-2].operation if len(ops) > 1 else None
        is_last = last is not None and value.owner == last and not len(last.regions)
        if is_last:
            self._values[value] = name
        self._statements(block)
        if not is_last:
            self._alias(name, value)

    def _alias(self, name: str, value: ir.Value) -> None:
        text = self._value(value)
        self._scope.statement()
        if self.options.show_all_struct_info:
            name = f"{name}: {self.types.struct_info(value.type)}"
        self.writer.line(f"{name} = {text}")

    # -- expressions --------------------------------------------------------------------------

    def _find_inline(self, ops: Sequence[ir.Operation]) -> None:
        """Find the leaves that are written where they are used, which is right after them."""
        at = len(ops) - 1
        while at >= 0:
            op = ops[at]
            at -= 1
            if len(op.regions) or op.name in ("relax.output", "relax.yield"):
                continue
            at, _ = self._inline_operands(op, ops, at, _Phase.LAST)

    def _inline_operands(
        self, op: ir.Operation, ops: Sequence[ir.Operation], at: int, phase: int
    ) -> tuple[int, int]:
        """Find the leaves of one operation among those that end at `at`.

        The parser makes them in phases; those of an earlier phase come first.

        Returns
        -------
        tuple of int
            The rest of `at`, and the phase of the first leaf.
        """
        operands = list(op.operands)
        is_kept = op.name in ("relax.get_item", "relax.match_cast") or (
            op.name in _CALLEES and has_function(op)
        )
        kept = operands[0] if is_kept else None
        for value in reversed(operands):
            if at < 0 or (kept is not None and value == kept):
                continue
            leaf = ops[at]
            if value.owner == leaf and self._is_leaf(leaf):
                own = self._phase(leaf)
                if own <= phase:
                    self._inline.add(leaf)
                    at, phase = self._inline_operands(leaf, ops, at - 1, own)
        return at, phase

    def _phase(self, leaf: ir.Operation) -> int:
        """Return when the parser makes a leaf that is written in another statement."""
        if leaf.name == "relax.global_var" or (
            leaf.name == "relax.tuple" and len(leaf.operands) and self.options.syntax_sugar
        ):
            return _Phase.LAST
        is_listed = self._is_place(leaf) or (
            leaf.name == "relax.constant" and constant_text(leaf.attributes["value"]) is None
        )
        if is_listed or leaf.name == "relax.extern_func":
            return _Phase.CALL
        return _Phase.ARGUMENT

    @staticmethod
    def _is_place(op: ir.Operation) -> bool:
        """Say whether an operation is a shape that an operator of R takes as a list of numbers."""
        if op.name != "relax.shape":
            return False
        return all(use.owner.name == "relax.strided_slice" for use in op.results[0].uses)

    def _is_leaf(self, op: ir.Operation) -> bool:
        if op.name not in LEAVES or location_name(op.location) is not None:
            return False
        uses = op.results[0].uses
        return (
            len(list(uses)) == 1
            and derived_type(op) == op.results[0].type
            and not self._expression_is_generic(op)
        )

    def _expression_is_generic(self, op: ir.Operation) -> bool:
        mark = self.constants.mark()
        try:
            form = self._form(op)
        finally:
            self.constants.back_to(mark)
        return form is None

    def _value(self, value: ir.Value) -> str:
        owner = value.owner
        if isinstance(owner, (ir.Operation, ir.OpView)) and owner.operation in self._inline:
            return self._expression(owner.operation)[0]
        if value not in self._values:
            raise NotScriptError("a value of another function")
        return self._values[value]

    def _expression(self, op: ir.Operation) -> tuple[str, bool]:
        """Return the expression that makes an operation, and whether it is of MLIR's own kind."""
        form = self._form(op)
        if form is None:
            values = [self._value(operand) for operand in op.operands]
            return generic_form(op, values, self.types, self.options.ir_prefix), True
        return form(), False

    def _form(self, op: ir.Operation) -> Form | None:
        """Return the function that writes an operation in TVMScript, or None if there is none."""
        arguments = OperatorArguments(op)
        if arguments.has_others:
            return None
        special = _EXPRESSIONS.get(op.name)
        if special is not None:
            return special(self, op, arguments)
        if not all(is_struct_info(result.type) for result in op.results) or len(op.results) != 1:
            return None
        return operator_form(op, arguments, self._value, self.types)

    def symbol(self, name: str) -> str:
        """Return an expression for a function of the module."""
        self._names_module = True
        alias = self.options.module_alias or self._module_name
        return f"{alias}.{name}" if is_identifier(name) else f"{alias}[{quote(name)}]"

    # -- expressions of single operations -----------------------------------------------------

    def _constant(self, op: ir.Operation, arguments: OperatorArguments) -> Form:
        attr = arguments["value"]
        return lambda: constant_text(attr) or self.constants.reference(attr)

    def _prim_value(self, op: ir.Operation, arguments: OperatorArguments) -> Form | None:
        attr = arguments["value"]
        if isinstance(attr, Dim):
            is_number = attr.kind == "int"
            return None if is_number else lambda: f"R.prim_value({self.types.dim(attr)})"
        number = number_text(attr, self.options.verbose_expr)
        return None if number is None else lambda: f"R.prim_value({number})"

    def _string(self, op: ir.Operation, arguments: OperatorArguments) -> Form | None:
        literal = string_literal(arguments["value"])
        return None if literal is None else lambda: f"R.str({literal})"

    def _dtype(self, op: ir.Operation, arguments: OperatorArguments) -> Form:
        return lambda: f'R.dtype("{dtype_name(arguments["value"].value)}")'

    def _shape(self, op: ir.Operation, arguments: OperatorArguments) -> Form:
        dims = f"[{self.types.dims(arguments['values'])}]"
        return lambda: dims if self._is_place(op) and op in self._inline else f"R.shape({dims})"

    def _tuple(self, op: ir.Operation, arguments: OperatorArguments) -> Form:
        def form() -> str:
            fields = [self._value(operand) for operand in op.operands]
            if not fields or not self.options.syntax_sugar:
                return f"R.tuple({', '.join(fields)})"
            return sequence(fields)

        return form

    def _get_item(self, op: ir.Operation, arguments: OperatorArguments) -> Form:
        return lambda: f"{self._value(op.operands[0])}[{arguments['index'].value}]"

    def _extern_func(self, op: ir.Operation, arguments: OperatorArguments) -> Form:
        return lambda: f"R.ExternFunc({quote(arguments['global_symbol'].value)})"

    def _global_var(self, op: ir.Operation, arguments: OperatorArguments) -> Form:
        return lambda: self.symbol(arguments["name"].value)

    def _null_value(self, op: ir.Operation, arguments: OperatorArguments) -> Form:
        return lambda: "R.null_value()"

    def _match_cast(self, op: ir.Operation, arguments: OperatorArguments) -> Form:
        type_ = op.results[0].type
        return lambda: (
            f"R.match_cast({self._value(op.operands[0])}, {self.types.struct_info(type_)})"
        )

    def _to_vdevice(self, op: ir.Operation, arguments: OperatorArguments) -> Form:
        device = quote(self.types.device(arguments["vdevice"].value))
        return lambda: f"R.to_vdevice({self._value(op.operands[0])}, {device})"

    def _hint_on_device(self, op: ir.Operation, arguments: OperatorArguments) -> Form:
        index = arguments["device"].value
        device = f'R.device("{self.types.device_kind(index)}", {index})'
        return lambda: f"R.hint_on_device({self._value(op.operands[0])}, {device})"

    def _split(self, op: ir.Operation, arguments: OperatorArguments) -> Form | None:
        sections, indices = arguments["sections"], arguments["indices"]
        if (sections is None) == (indices is None):
            return None
        given = str(sections.value) if sections is not None else str(list(indices))
        axis = arguments["axis"]
        axis = None if axis is None or axis.value == 0 else axis

        def form() -> str:
            text = f"R.split({self._value(op.operands[0])}, indices_or_sections={given}"
            return f"{text})" if axis is None else f"{text}, axis={axis.value})"

        return form

    def _debug(self, op: ir.Operation, arguments: OperatorArguments) -> Form:
        text = arguments["format"].value

        def form() -> str:
            if op.name == "relax.print":
                args = self._arguments(arguments["values"])
            else:
                args = [self._value(arguments["condition"])]
                shown = self._arguments(arguments["args"])
                args += [f"[{', '.join(shown)}]"] if shown else []
            args += [f"format={quote(text)}"] if text else []
            return f"R.{op.name.removeprefix('relax.')}({', '.join(args)})"

        return form

    def _memory(self, op: ir.Operation, arguments: OperatorArguments) -> Form | None:
        return memory_form(op, arguments, self._value, self.types)

    # -- calls --------------------------------------------------------------------------------

    def _types_argument(self, types: ir.ArrayAttr | None) -> list[str]:
        if types is None:
            return []
        items = [self.types.struct_info(item.value) for item in types]
        return [f"sinfo_args={sequence(items)}"]

    def _out_types(self, type_: ir.Type) -> str:
        if isinstance(type_, TupleStructInfo) and len(type_.fields) != 1:
            fields = ", ".join(self.types.struct_info(field) for field in type_.fields)
            return f"out_sinfo=[{fields}]"
        return f"out_sinfo={self.types.struct_info(type_)}"

    def _arguments(self, values: Sequence[ir.Value]) -> list[str]:
        return [self._value(value) for value in values]

    def _is_inline(self, value: ir.Value) -> bool:
        owner = value.owner
        return isinstance(owner, (ir.Operation, ir.OpView)) and owner.operation in self._inline

    def _callee(self, arguments: OperatorArguments) -> str:
        callee = arguments["callee"]
        return self._value(arguments["function"]) if callee is None else quote(callee.value)

    def _call(self, op: ir.Operation, arguments: OperatorArguments) -> Form | None:
        if arguments["arg_attrs"] is not None or arguments["res_attrs"] is not None:
            return None
        callee = arguments["callee"]

        def form() -> str:
            function = (
                self._value(arguments["function"]) if callee is None else self.symbol(callee.value)
            )
            args = self._arguments(arguments["args"])
            return f"{function}({', '.join(args + self._types_argument(arguments['sinfo_args']))})"

        return form

    def _call_tir(self, op: ir.Operation, arguments: OperatorArguments) -> Form | None:
        if any(isinstance(value.type, TupleStructInfo) for value in arguments["args"]):
            return None  # R takes it apart
        gradient = gradient_arguments(arguments, self.types)
        if gradient is None:
            return None

        def form() -> str:
            args = [self.symbol(arguments["callee"].value)]
            args.append(sequence(self._arguments(arguments["args"])))
            indices = arguments["inplace_indices"]
            args += [f"inplace_indices={list(indices)}"] if indices is not None else []
            integers = arguments["packed_ints"]
            tir_vars = [f"tir_vars={self._value(integers)}"] if integers is not None else []
            args.append(self._out_types(op.results[0].type))
            name = op.name.removeprefix("relax.") + ("_with_grad" if gradient else "")
            if op.name == "relax.call_tir_local_view":
                name = f"dist.{name}"
            return f"R.{name}({', '.join(args + gradient + tir_vars)})"

        return form

    def _call_dps_packed(self, op: ir.Operation, arguments: OperatorArguments) -> Form:
        def form() -> str:
            callee = self._callee(arguments)
            args = sequence(self._arguments(arguments["args"]))
            return f"R.call_dps_packed({callee}, {args}, {self._out_types(op.results[0].type)})"

        return form

    def _call_packed(self, op: ir.Operation, arguments: OperatorArguments) -> Form | None:
        if arguments["sinfo_args"] is None and op.name != "relax.call_packed":
            return None  # R needs them
        options = unique_options(arguments)

        def form() -> str:
            given = arguments["args"]
            # The parser makes the options anew.
            if options is not None and all(map(self._is_inline, given[1:])):
                return f"R.unique({', '.join([self._value(given[0]), *options])})"
            of_tensor = packed_form(op, arguments, self._value, self._is_inline, self.types)
            if of_tensor is not None:
                return of_tensor()
            args = [self._callee(arguments), *self._arguments(arguments["args"])]
            indices = arguments["inplace_indices"]
            args += [f"inplace_indices={list(indices)}"] if indices is not None else []
            args += self._types_argument(arguments["sinfo_args"])
            return f"R.{op.name.removeprefix('relax.')}({', '.join(args)})"

        return form


_CALLEES = {
    "relax.call",
    "relax.call_dps_packed",
    "relax.call_inplace_packed",
    "relax.call_pure_packed",
}


_STATEMENTS: dict[str, Callable[[FunctionPrinter, ir.Operation], None]] = {
    "relax.closure": FunctionPrinter._closure,
    "relax.dataflow": FunctionPrinter._dataflow_block,
    "relax.if": FunctionPrinter._if,
    "relax.seq": FunctionPrinter._sequence,
}


_EXPRESSIONS: dict[
    str, Callable[[FunctionPrinter, ir.Operation, OperatorArguments], Form | None]
] = {
    "relax.assert_op": FunctionPrinter._debug,
    "relax.builtin.alloc_storage": FunctionPrinter._memory,
    "relax.builtin.alloc_tensor": FunctionPrinter._memory,
    "relax.builtin.kill": FunctionPrinter._memory,
    "relax.builtin.view": FunctionPrinter._memory,
    "relax.call": FunctionPrinter._call,
    "relax.call_dps_packed": FunctionPrinter._call_dps_packed,
    "relax.call_inplace_packed": FunctionPrinter._call_packed,
    "relax.call_packed": FunctionPrinter._call_packed,
    "relax.call_pure_packed": FunctionPrinter._call_packed,
    "relax.call_tir": FunctionPrinter._call_tir,
    "relax.call_tir_inplace": FunctionPrinter._call_tir,
    "relax.call_tir_local_view": FunctionPrinter._call_tir,
    "relax.constant": FunctionPrinter._constant,
    "relax.dtype": FunctionPrinter._dtype,
    "relax.extern_func": FunctionPrinter._extern_func,
    "relax.get_item": FunctionPrinter._get_item,
    "relax.global_var": FunctionPrinter._global_var,
    "relax.hint_on_device": FunctionPrinter._hint_on_device,
    "relax.match_cast": FunctionPrinter._match_cast,
    "relax.null_value": FunctionPrinter._null_value,
    "relax.prim_value": FunctionPrinter._prim_value,
    "relax.print": FunctionPrinter._debug,
    "relax.shape": FunctionPrinter._shape,
    "relax.split": FunctionPrinter._split,
    "relax.string": FunctionPrinter._string,
    "relax.to_vdevice": FunctionPrinter._to_vdevice,
    "relax.tuple": FunctionPrinter._tuple,
}
