# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that ``torch.export`` makes, as modules."""

from __future__ import annotations

import copy
import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import torch
from mlir import ir
from relax_runtime.near_misses import did_you_mean
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputSpec,
)
from torch.fx import GraphModule

from ... import op
from ..._arguments import shown
from ...builder.block_builder import BlockBuilder
from ...composites.complex_numbers import Complex, of_pairs
from ...core.expr import Var, as_value
from ...core.ir import ShapeExpr, ShapeStructInfo, TensorStructInfo
from ...core.ir_module import IRModule
from .bounds import bounds_of, sizes_of
from .complex_numbers import (
    as_pairs,
    constant_of,
    convert_complex,
    is_complex,
    is_of_complex,
    real_view,
)
from .control import Function, is_control_flow, write_function
from .inplace import without_inplace
from .places import at_place_of, place_of
from .random import draws
from .registry import CONVERTERS, Converter, Graph
from .scalars import SCALARS
from .selection import sizes_found
from .shapes import (
    as_expr,
    as_struct_info,
    depends_on_data,
    relied_on,
    sizes_are_found,
    sizes_are_named,
)
from .updates import (
    RESULTS,
    Updater,
    changed_arguments,
    find_updates,
    is_name_of,
    is_only_overwritten,
)

_KEY = TensorStructInfo((), "uint64")

# Operators that only assert: facts that PyTorch has already established, or that inputs are valid.
# Whether a matrix could be decomposed shows in the numbers.
_ASSERTIONS = {
    "aten._assert_async.default",
    "aten._assert_async.msg",
    "aten._assert_scalar.default",
    "aten._assert_tensor_metadata.default",
    "aten._linalg_check_errors.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
}


class Program(Protocol):
    """What is imported of a program of ``torch.export``."""

    graph_module: torch.fx.GraphModule
    graph: torch.fx.Graph
    graph_signature: ExportGraphSignature
    state_dict: Mapping[str, torch.Tensor]
    constants: Mapping[str, Any]
    range_constraints: Mapping[Any, Any]


def is_omitted(value: Any) -> bool:
    """Say whether an input is no argument of an imported program, but known when it is exported."""
    return value is None or isinstance(value, str)


def from_exported_program(
    exported_program: torch.export.ExportedProgram,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    custom_convert_map: Mapping[str, Converter] | None = None,
    run_ep_decomposition: bool = True,
) -> IRModule:
    """Return a program of ``torch.export`` as a module with a function ``main``.

    Sizes that the program was exported with as dynamic are shape variables, by the names of their
    ``Dim`` or else those that PyTorch gave them. Their ranges are bounds of the function
    (``tir_var_upper_bound``), which it checks. Inputs that are None or strings are no arguments,
    and None as a result is an empty tuple.

    Inputs and buffers that the program changes are changed where they lie. Such buffers are
    arguments, after the inputs: the attribute `num_input` of the function says how many inputs
    there are, and `relax_mlir.frontend.detach_params` returns what buffers are at first.

    A program that draws random numbers, as one with dropout in training mode does, has a last
    input `random_key`, a tensor of rank 0 of data type uint64: the same key gives the same numbers.
    Their distributions are those of PyTorch.

    Inputs and results of complex numbers are tensors of floats with a last dimension of 2, as
    ``torch.view_as_real`` makes them.

    Parameters
    ----------
    exported_program : torch.export.ExportedProgram
    keep_params_as_input : bool
        Whether all parameters and buffers come as arguments, after the inputs of the model. By
        default those that do not change are constants.
    unwrap_unit_return_tuple : bool
        Whether a model with one output returns it and no tuple.
    no_bind_return_tuple : bool
        Without effect: an operation makes the tuple that is returned in any case.
    custom_convert_map : mapping of str to callable, optional
        How to convert more operators, or others: by name ("aten.relu.default"), a function that is
        called with a `Graph` and the arguments, tensors as values, and returns a value.
    run_ep_decomposition : bool
        Whether operators that are not converted are decomposed by PyTorch first. Those that change
        tensors in place become ones that return them in any case.

    Returns
    -------
    IRModule

    Raises
    ------
    NotImplementedError
        If the program has operators that are not converted, which it names.

    Examples
    --------
    >>> import torch
    >>> class Model(torch.nn.Module):
    ...     def forward(self, x, y):
    ...         return torch.relu(x) @ y
    >>> n = torch.export.Dim("n", min=2)
    >>> program = torch.export.export(
    ...     Model(), (torch.ones(3, 4), torch.ones(4, 5)), dynamic_shapes=({0: n}, None)
    ... )
    >>> mod = from_exported_program(program, unwrap_unit_return_tuple=True)
    >>> print(mod["main"].ret_struct_info)
    !relax.tensor<[n, 5], f32>
    >>> import relax_mlir
    >>> main = relax_mlir.VirtualMachine(relax_mlir.compile(mod))["main"]
    >>> torch.from_dlpack(main(torch.ones(7, 4), torch.ones(4, 5))).shape
    torch.Size([7, 5])
    """
    if not isinstance(exported_program, torch.export.ExportedProgram):
        raise TypeError(
            "expected a program of torch.export.export(model, example_inputs), but got "
            f"{shown(exported_program)}"
        )
    converters = with_custom(custom_convert_map)
    exported_program = decomposed(exported_program, converters, run_ep_decomposition)
    return import_program(
        exported_program, converters, keep_params_as_input, unwrap_unit_return_tuple
    )


def with_custom(given: Mapping[str, Converter] | None) -> dict[str, Converter]:
    """Return the converters of this package with those of a user.

    Raises
    ------
    ValueError
        If one is for an operator of ATen that is not there.
    """
    for name in given or ():
        if name not in CONVERTERS and name.startswith("aten.") and not _is_operator(name):
            raise ValueError(
                "expected custom_convert_map to have operators such as 'aten.relu.default', but "
                f"got {name!r}{did_you_mean(name, CONVERTERS)}"
            )
    return {**CONVERTERS, **(given or {})}


def _is_operator(name: str) -> bool:
    try:
        operator.attrgetter(name)(torch.ops)
    except (AttributeError, RuntimeError):
        return False
    return name.count(".") == 2


def import_program(
    program: Program,
    converters: Mapping[str, Converter],
    keep_params: bool = False,
    unwrap: bool = False,
) -> IRModule:
    """Return a program as a module, whose operators are not decomposed any more.

    Parameters
    ----------
    program : Program
    converters : mapping of str to callable
    keep_params, unwrap : bool
        As `keep_params_as_input` and `unwrap_unit_return_tuple` of `from_exported_program`.

    Returns
    -------
    IRModule

    Raises
    ------
    NotImplementedError
        As `from_exported_program`.
    """
    _check_operators(program, converters)
    found = sizes_found([one.graph for one in _graph_modules(program)])
    with sizes_are_found(found), sizes_are_named(_sizes_of_inputs(program)):
        return _Importer(program, converters).run(keep_params, unwrap)


def draws_numbers(program: Program) -> bool:
    """Say whether a program draws random numbers, so that a key is its last input."""
    return any(draws(node) for node in program.graph.nodes)


def _sizes_of_inputs(program: Program) -> Iterator[Any]:
    for node in program.graph.nodes:
        if node.op == "placeholder":
            yield from sizes_of(node.meta.get("val"))


def _graph_modules(program: Program) -> list[GraphModule]:
    return [one for one in program.graph_module.modules() if isinstance(one, GraphModule)]


def _calls(program: Program) -> list[torch.fx.Node]:
    """Return the calls of a program, and of the graphs of its control flow."""
    nodes = (node for one in _graph_modules(program) for node in one.graph.nodes)
    return [node for node in nodes if node.op == "call_function"]


_SIZES = (int, torch.SymInt, torch.SymBool)


def _is_known(node: torch.fx.Node, converters: Mapping[str, Converter]) -> bool:
    if node.target is operator.getitem or node.target in SCALARS:
        return True
    if is_control_flow(node.target):
        return True
    is_of_sizes = isinstance(node.meta.get("val"), _SIZES)
    name = str(node.target)
    return is_of_sizes or name in converters or name in _ASSERTIONS


def _is_of_conditions(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    return str(node.target) in _ASSERTIONS or isinstance(value, (bool, torch.SymBool))


def _changes_tensors(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    if str(node.target) in ("aten.batch_norm.default", "aten.instance_norm.default"):
        # Of moving averages the schema does not say that they change.
        _, _, _, mean, _, is_training, *_ = _arguments(node)[0]
        return mean is not None and bool(is_training)
    return schema is not None and schema.is_mutable


def decomposed(
    program: torch.export.ExportedProgram,
    converters: Mapping[str, Converter],
    is_wanted: bool = True,
) -> torch.export.ExportedProgram:
    """Return a program of operators that are converted and change no tensor, as far as it can be.

    Parameters
    ----------
    program : torch.export.ExportedProgram
    converters : mapping of str to callable
    is_wanted : bool
        Whether operators that are not converted are decomposed, too.
    """
    program = without_inplace(program)
    calls = _calls(program)
    if not is_wanted:
        return program.run_decompositions({}) if any(map(_changes_tensors, calls)) else program
    if all(_is_known(node, converters) and not _changes_tensors(node) for node in calls):
        return program
    if any(map(_is_sparse, program.graph.nodes)):  # which PyTorch decomposes no programs of
        return program
    table = torch.export.default_decompositions()
    for target in list(table):
        if str(target) in converters:
            del table[target]
    return program.run_decompositions(table)


def _is_sparse(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.layout != torch.strided


def _check_operators(program: Program, converters: Mapping[str, Converter]) -> None:
    unknown: dict[str, str] = {}
    for node in _calls(program):
        if not _is_known(node, converters):
            unknown.setdefault(str(node.target), _place_of(node))
    if unknown:
        names = ", ".join(name + place for name, place in sorted(unknown.items()))
        raise NotImplementedError(f"no conversion of {names}: give one in custom_convert_map")


def _place_of(node: torch.fx.Node) -> str:
    """Return where a model calls an operator, in brackets."""
    place = place_of(node)
    return f" ({place})" if place else ""


def _no_conversion(node: torch.fx.Node, error: Exception) -> NotImplementedError:
    message = f"no conversion of '{node.name}', {node.target} of these arguments: {error}"
    return NotImplementedError(
        str(error) if str(error).startswith("no conversion") else message + _place_of(node)
    )


def _arguments(node: torch.fx.Node) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a node, by place where the operator has one for them."""
    arguments, named = list(node.args), dict(node.kwargs)
    schema = getattr(node.target, "_schema", None)
    for argument in [] if schema is None else schema.arguments[len(arguments) :]:
        if argument.kwarg_only or argument.name not in named:
            break
        arguments.append(named.pop(argument.name))
    return arguments, named


def _check_is_value(wanted: Any, result: Any) -> None:
    """Raise TypeError if a converter of a user returns no value for a tensor."""
    several = isinstance(wanted, (list, tuple))
    if several and isinstance(result, ir.Value):  # a tuple of the program
        return
    if several and not (isinstance(result, (list, tuple)) and len(result) == len(wanted)):
        raise TypeError(
            f"expected the converter to return {len(wanted)} values, but got {shown(result)}"
        )
    for one, meta in zip(result, wanted, strict=True) if several else [(result, wanted)]:
        if isinstance(meta, torch.Tensor) and not isinstance(one, (ir.Value, Var)):
            raise TypeError(f"expected the converter to return a value, but got {shown(one)}")


def _check_result(node: torch.fx.Node, result: Any, *, may_be_unknown: bool) -> None:
    """Raise NotImplementedError if a converter gives another type than PyTorch.

    The shape of the result of a packed function, say, may be unknown.
    """
    results, wanted = result, node.meta.get("val")
    if isinstance(wanted, torch.Tensor):
        results, wanted = [result], [wanted]
    if not isinstance(wanted, (list, tuple)) or isinstance(results, ir.Value):
        return
    for one, meta in zip(results, wanted, strict=False):
        if not isinstance(one, ir.Value) or not isinstance(meta, torch.Tensor):
            continue
        type_, expected = one.type, as_struct_info(meta)
        dims = list(zip(type_.shape or (), expected.shape, strict=False))
        known = [(a.value, b.value) for a, b in dims if None not in (a.value, b.value)]
        if (
            type_.dtype != expected.dtype
            or type_.ndim != expected.ndim
            or (type_.shape is None and not may_be_unknown)
            or any(a != b for a, b in known)
        ):
            raise NotImplementedError(f"expected a result of type {expected}, but got {type_}")


class _Importer:
    """Writes the nodes of a graph, one after the other."""

    def __init__(self, program: Program, converters: Mapping[str, Converter]) -> None:
        self._program = program
        self._converters = converters
        self._values: dict[torch.fx.Node, Any] = {}
        self._graph_module = program.graph_module
        self._functions: dict[torch.fx.Node, Function] = {}
        self.builder = self._builder = BlockBuilder()
        self._updates = find_updates(program)
        self._changed = list(changed_arguments(program).values())
        self._updater = Updater(self._builder)
        self._keys: dict[torch.fx.Node, ir.Value] = {}

    def run(self, keep_params: bool, unwrap: bool) -> IRModule:
        signature = self._program.graph_signature
        nodes = [node for node in self._program.graph.nodes if node.op == "placeholder"]
        pairs = list(zip(nodes, signature.input_specs, strict=True))
        inputs = [
            node
            for node, spec in pairs
            if spec.kind == InputKind.USER_INPUT and not is_omitted(node.meta.get("val"))
        ]
        others = [pair for pair in pairs if pair[1].kind != InputKind.USER_INPUT]
        kept = others if keep_params else [pair for pair in others if pair[0] in self._changed]
        params = [self._parameter(node) for node in inputs]
        random_key = self._random_key() if draws_numbers(self._program) else None
        if random_key is not None:
            params.append(random_key)
        num_input = len(params)
        params += [self._parameter(node) for node, _ in kept]
        metas = [node.meta.get("val") for node in inputs]
        attrs: dict[str, Any] = {**bounds_of(self._program.range_constraints, metas)}
        if "tir_var_upper_bound" in attrs:  # what a model accepts, not what calls need
            attrs["relax.plan_each_call"] = True
        if keep_params or kept:
            attrs["num_input"] = num_input
        self._write_functions()
        with self._builder.function("main", params, attrs=attrs, pure=not self._updates):
            for node, spec in others:
                if node not in self._values:
                    self._values[node] = self._constant(spec)
            if random_key is not None:
                self._split(random_key)
            nodes = []
            for node in self._program.graph.nodes:
                nodes.append(node)
                if node in self._updates.slices:
                    self._update(nodes)
                    nodes = []
            with self._builder.dataflow():
                results, new = self._body(nodes)
                if not new:
                    results = [self._builder.emit_output(self._result(results, unwrap))]
            for node, value in new.items():
                self._updater.overwrite(self._variable(node), value)
            self._builder.emit_func_output(self._result(results, unwrap) if new else results[0])
        module = self._builder.get()
        if keep_params or kept:
            module.params["main"] = [real_view(self._weight(spec)) for _, spec in kept]
        return module

    def _parameter(self, node: torch.fx.Node) -> Var:
        value = node.meta.get("val")
        variable = Var(node.name, as_struct_info(value))
        self._values[node] = as_expr(value) if isinstance(value, torch.SymInt) else variable
        return variable

    def _random_key(self) -> Var:
        taken = {node.name for node in self._program.graph.nodes}
        name = "random_key"
        while name in taken:
            name += "_"
        return Var(name, _KEY)

    def _split(self, key: Var) -> None:
        """Make a key for each node that draws random numbers."""
        nodes = [node for node in self._program.graph.nodes if draws(node)]
        for node, one in zip(nodes, op.random.split(key, len(nodes)), strict=True):
            self._keys[node] = self._builder.emit(one)

    def _constant(self, spec: InputSpec) -> ir.Value | Complex:
        return constant_of(self._weight(spec))

    def _weight(self, spec: InputSpec) -> torch.Tensor:
        program, target = self._program, spec.target
        tensors = program.constants if spec.kind == InputKind.CONSTANT_TENSOR else None
        if tensors is None or target not in tensors:
            tensors = program.constants if target in program.constants else program.state_dict
        weight: torch.Tensor = tensors[target].detach()
        return weight

    def _attribute(self, node: torch.fx.Node) -> Any:
        value = operator.attrgetter(str(node.target))(self._graph_module)
        return constant_of(value) if isinstance(value, torch.Tensor) else value

    def module(self, node: torch.fx.Node) -> torch.fx.GraphModule:
        """Return the graph of control flow that a node stands for."""
        return operator.attrgetter(str(node.target))(node.graph.owning_module)

    def subgraph(self, module: torch.fx.GraphModule, inputs: Sequence[Any]) -> list[Any]:
        """Write a graph of control flow at the current place, and return its results."""
        inner = copy.copy(self)
        nodes = list(module.graph.nodes)
        placeholders = [node for node in nodes if node.op == "placeholder"]
        inner._graph_module = module
        inner._values = dict(zip(placeholders, inputs, strict=True))
        results = nodes[-1].args[0]
        with self._builder.dataflow():
            for node in nodes:
                if node.op == "get_attr":
                    inner._values[node] = inner._attribute(node)
                elif node.op == "call_function":
                    inner._values[node] = inner._convert(node)
            flat = results if isinstance(results, (list, tuple)) else [results]
            return [self._builder.emit_output(as_pairs(inner._argument(one))) for one in flat]

    def _write_functions(self) -> None:
        """Write functions for control flow, the inner ones first."""
        for module in reversed(list(self._program.graph_module.modules())):
            for node in module.graph.nodes if isinstance(module, GraphModule) else ():
                if not is_control_flow(node.target):
                    continue
                name = f"{node.name}_{len(self._functions)}"
                try:
                    self._functions[node] = write_function(self, node, name)
                except NotImplementedError as error:
                    raise _no_conversion(node, error) from error

    def _update(self, nodes: list[torch.fx.Node]) -> None:
        """Write nodes, the last of which updates an input: this has a place of its own."""
        *before, update = nodes
        behind = set(itertools.dropwhile(lambda node: node != update, self._program.graph.nodes))
        calls = [node for node in before if node.op == "call_function"]
        if calls:
            with self._builder.dataflow():
                for node in calls:
                    self._values[node] = self._convert(node)
                for node in calls:
                    if not behind.isdisjoint(node.users):
                        self._values[node] = self._emit_outputs(self._values[node], self._changed)
        tensor, source, *rest = (self._argument(argument) for argument in update.args)
        if isinstance(tensor, Complex):
            raise _no_conversion(update, NotImplementedError("a part of complex numbers in place"))
        self._updater.write(update, tensor, source, rest[1] if len(rest) > 1 else None)
        self._values[update] = tensor

    def _emit_outputs(self, value: Any, written: Iterable[torch.fx.Node]) -> Any:
        """Return values that are known outside of a dataflow block, and no names of others."""
        if isinstance(value, (list, tuple)):
            return [self._emit_outputs(element, written) for element in value]
        if isinstance(value, Complex):
            return value.map(lambda part: self._emit_outputs(part, written))
        if isinstance(value, Var):
            value = as_value(value)
        if not isinstance(value, ir.Value):
            return value
        if any(is_name_of(value, self._variable(node)) for node in written):
            value = self._updater.copied(value)
        return self._builder.emit_output(value)

    def _body(
        self, nodes: list[torch.fx.Node]
    ) -> tuple[list[ir.Value], dict[torch.fx.Node, ir.Value]]:
        """Write nodes up to the output.

        Returns
        -------
        list of mlir.ir.Value
            The results.
        dict of torch.fx.Node to mlir.ir.Value
            By argument what has to be copied to it.
        """
        for node in nodes[:-1]:
            if node.op == "call_function":
                self._values[node] = self._convert(node)
            elif node.op == "get_attr":
                self._values[node] = self._attribute(node)
        specs: list[OutputSpec] = self._program.graph_signature.output_specs
        results = [
            op.tuple() if value is None else as_pairs(self._argument(value))
            for value, spec in zip(nodes[-1].args[0], specs, strict=True)
            if spec.kind in RESULTS
        ]
        copies = self._updates.copies
        if not copies:
            return results, {}
        new = {node: self._emit_outputs(as_pairs(self._argument(value)), copies)
               for node, value in copies.items()}  # fmt: skip
        return self._emit_outputs(results, copies), new

    def _result(self, results: list[ir.Value], unwrap: bool) -> ir.Value:
        return results[0] if unwrap and len(results) == 1 else op.tuple(*results)

    def _convert(self, node: torch.fx.Node) -> Any:
        if str(node.target) == "aten._assert_scalar.default":
            self._check_sizes(node)
        if str(node.target) in _ASSERTIONS or is_only_overwritten(node):
            return None
        try:
            with at_place_of(node):
                result = self._converted(node)
        except (TypeError, ValueError, LookupError, NotImplementedError) as error:
            raise _no_conversion(node, error) from error
        if isinstance(result, ir.Value):
            return self._builder.emit(result, node.name)
        return result

    def _check_sizes(self, node: torch.fx.Node) -> None:
        """Write that sizes, which the program found in data, are what PyTorch relies on."""
        condition = node.args[0]
        value = condition.meta.get("val") if isinstance(condition, torch.fx.Node) else condition
        for expected, size in relied_on(value):
            self._builder.match_cast(ShapeExpr([size]), ShapeStructInfo([expected]))

    def _converted(self, node: torch.fx.Node) -> Any:
        value = node.meta.get("val")
        if node in self._functions:
            return self._functions[node].call(
                self._builder, lambda operand: as_pairs(self._argument(operand))
            )
        if node.target is operator.getitem:
            container, index = node.args
            if not node.users:  # nor has the converter to return it
                return None
            return self._values[container][index]
        if isinstance(value, (bool, torch.SymBool)):
            if not all(_is_of_conditions(user) for user in node.users):
                raise NotImplementedError("a condition on sizes as a value")
            return None
        is_size = isinstance(value, (int, torch.SymInt)) and not depends_on_data(value)
        if is_size and str(node.target) not in self._converters:
            return as_expr(value)
        arguments, named = _arguments(node)
        arguments = [self._argument(argument) for argument in arguments]
        named = {name: self._argument(argument) for name, argument in named.items()}
        if node.target in SCALARS:
            return SCALARS[node.target](value, *arguments)
        if str(node.target) not in self._converters:
            raise NotImplementedError("a number that depends on data")
        convert = self._converters[str(node.target)]
        is_custom = convert is not CONVERTERS.get(str(node.target))
        graph = Graph(node, self._keys.get(node))
        if not is_custom and is_of_complex(graph, arguments):
            result = convert_complex(graph, arguments, named)
        else:
            result = convert(graph, *arguments, **named)
        if is_custom:
            _check_is_value(value, result)
        _check_result(node, result, may_be_unknown=is_custom)
        return result

    def _argument(self, argument: Any) -> Any:
        if isinstance(argument, torch.fx.Node):
            value = self._variable(argument)
            if is_complex(argument.meta.get("val")) and isinstance(value, ir.Value):
                return of_pairs(value)
            return value
        if isinstance(argument, (list, tuple)):
            return [self._argument(element) for element in argument]
        return argument

    def _variable(self, node: torch.fx.Node) -> Any:
        """Return the value of a node, as pairs if it is a parameter that has complex numbers."""
        value = self._values[node]
        return as_value(value) if isinstance(value, Var) else value
