# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of ONNX as modules."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from mlir import ir

from ... import op
from ...builder.block_builder import BlockBuilder
from ...composites.random import numbered_key
from ...composites.tensors import fields_of, same, size
from ...core.context import at_place
from ...core.expr import Var
from ...core.ir import Dim, TensorStructInfo, TupleStructInfo
from ...core.ir_module import IRModule
from ..values import DataDependentError, Sizes, Value, as_tensor, describe, shape_of
from ..values import dtype_of as dtype_of_value
from .checks import check_attributes, check_graph
from .folding import fold, fold_split
from .inputs import InputReader, unique_names
from .loops import LoopFacts, LoopFactsChangedError
from .model import (
    ModelLike,
    array_of,
    domains,
    dtype_of,
    element_type_of,
    load,
    opsets_of,
    size_of,
)
from .narrow import NARROW, output_types
from .registry import Converter, Frame, Node, find


class Scope:
    """The values that the nodes of a graph see, by name.

    Parameters
    ----------
    around : Scope, optional
        That of the graph around it.
    """

    def __init__(self, around: Scope | None = None) -> None:
        self.values: dict[str, Value] = {}
        self.narrow_types: dict[str, int] = {}
        self._around = around
        self._constants: dict[int, tuple[np.ndarray, ir.Value]] = {}

    def __getitem__(self, name: str) -> Value:
        if name in self.values:
            return self.values[name]
        if self._around is None:
            raise ValueError(
                f"expected the name of an input, an initializer or the output of a node before, "
                f"but got '{name}'"
            )
        return self._around[name]

    def narrow(self, name: str) -> int:
        """Return the data type of ONNX of a value where another one holds it, 0 otherwise."""
        if name in self.values or self._around is None:
            return self.narrow_types.get(name, 0)
        return self._around.narrow(name)

    def keep_types(self, graph: onnx.GraphProto) -> None:
        """Take what a graph says of the types of its inputs and initializers."""
        types = [(one.name, one.type.tensor_type.elem_type) for one in graph.input]
        types += [(one.name, one.data_type) for one in graph.initializer]
        self.narrow_types.update((name, kind) for name, kind in types if kind in NARROW)

    def constant(self, array: np.ndarray) -> ir.Value | None:
        """Return the constant that an array is in the program already."""
        found = self._constants.get(id(array))
        if found is not None:
            return found[1]
        return None if self._around is None else self._around.constant(array)

    def keep_constant(self, array: np.ndarray, value: ir.Value) -> None:
        """Have an array be one constant, however often it is used."""
        self._constants[id(array)] = (array, value)


_FRESH, _LOOP = "data_dependent_", "onnx_loop_"


class BranchError(Exception):
    """There is a branch in a dataflow block."""


class RandomKeyError(Exception):
    """There are random numbers, and no input that is their key."""


class Importer:
    """Writes the graph of a model.

    Parameters
    ----------
    model : onnx.ModelProto
    folder : Path, optional
        Where external data is.
    opsets : dict of str to int
    constants : mapping of str to numpy.ndarray
        Inputs that are constants in place of parameters.
    branches : bool
        Whether the program has branches, so that its nodes are in no dataflow block.
    has_key : bool
        Whether the program draws random numbers, so that their key is an input.
    loops : list of LoopFacts, optional
        What is known about its loops, in their order; more is added.

    Attributes
    ----------
    builder : BlockBuilder
    folder : Path or None
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        folder: Path | None,
        opsets: dict[str, int],
        constants: Mapping[str, np.ndarray],
        branches: bool = False,
        has_key: bool = False,
        loops: list[LoopFacts] | None = None,
    ) -> None:
        self.builder = BlockBuilder()
        self.folder = folder
        self._model = model
        self._opsets = opsets
        self._constants = constants
        self._branches = branches
        self._has_key = has_key
        self._key: Var | None = None
        self._keys = 0
        self._functions = {(one.domain, one.name, one.overload): one for one in model.functions}
        self._arrays: dict[int, tuple[onnx.TensorProto, np.ndarray]] = {}
        self._fresh = 0
        self._loop_facts = [] if loops is None else loops
        self._loops = 0
        self._inside = 0
        self._parameters: list[str] = []

    # -- the module -----------------------------------------------------------------------------

    def run(
        self,
        shapes: Mapping[str, Sequence[Any]] | None = None,
        dtypes: Any = None,
        keep_params: bool = False,
        sanitize: bool = True,
    ) -> IRModule:
        """Return the module of the model."""
        graph = self._model.graph
        check_graph(graph)
        scope = Scope()
        weights = {tensor.name for tensor in graph.initializer}
        inputs = [one for one in graph.input if one.name not in weights]
        names = unique_names([one.name for one in inputs], sanitize)
        reader = InputReader(inputs, shapes or {}, dtypes)
        params = []
        for one, name in zip(inputs, names, strict=True):
            if one.name in self._constants:
                scope.values[one.name] = self._constants[one.name]
                continue
            struct_info = reader.struct_info(one)
            if struct_info is None:
                scope.values[one.name] = None
                continue
            self._parameters.append(one.name)
            params.append(Var(name, struct_info))
            scope.values[one.name] = params[-1]
        attrs = {}
        if self._has_key:
            names.append(unique_names([*names, "random_key"], sanitize)[-1])
            self._key = Var(names[-1], TensorStructInfo((), "uint64"))
            params.append(self._key)
        if keep_params:
            attrs["num_input"] = len(params)
            params += self._weights_as_params(graph, scope, names, sanitize)
        else:
            for tensor in graph.initializer:
                scope.values[tensor.name] = self.array(tensor)
        module = self._module(graph, scope, params, attrs)
        if keep_params:
            module.params["main"] = [self.array(one) for one in graph.initializer]
        return module

    def _weights_as_params(
        self, graph: onnx.GraphProto, scope: Scope, taken: list[str], sanitize: bool
    ) -> list[Var]:
        names = unique_names([*taken, *(one.name for one in graph.initializer)], sanitize)[
            len(taken) :
        ]
        params = []
        for tensor, name in zip(graph.initializer, names, strict=True):
            params.append(
                Var(name, TensorStructInfo(list(tensor.dims), dtype_of(tensor.data_type)))
            )
            scope.values[tensor.name] = params[-1]
        return params

    def _module(
        self, graph: onnx.GraphProto, scope: Scope, params: list[Var], attrs: dict[str, Any]
    ) -> IRModule:
        branches = self._branches
        with self.builder.function("main", params, attrs=attrs):
            # A branch is not in a dataflow block.
            around = contextlib.nullcontext() if branches else self.builder.dataflow()
            with around:
                for name, value in scope.values.items():
                    if isinstance(value, Var):
                        scope.values[name] = _parts(value.value)
                results = self.graph(graph, scope, Frame(self._opsets), declared=True)
                result = _returned(results)
                output: Any = result if branches else self.builder.emit_output(result)
            self.builder.emit_func_output(output)
        return self.builder.get()

    # -- graphs ---------------------------------------------------------------------------------

    def graph(
        self, graph: onnx.GraphProto, scope: Scope, frame: Frame, declared: bool = False
    ) -> list[Value]:
        """Write the nodes of a graph, and return its outputs.

        Parameters
        ----------
        graph : onnx.GraphProto
        scope : Scope
            The values that the graph sees, with its inputs.
        frame : Frame
        declared : bool
            Whether outputs are compared with the types that the graph states.
        """
        for tensor in graph.initializer:
            if tensor.name not in scope.values:
                scope.values[tensor.name] = self.array(tensor)
        scope.keep_types(graph)
        if graph.sparse_initializer:
            raise NotImplementedError("expected dense initializers, but got sparse ones")
        self.nodes(graph.node, scope, frame)
        results = [scope[output.name] for output in graph.output]
        if declared:
            for output, value in zip(graph.output, results, strict=True):
                _check_output(output, value)
        return results

    def subgraph(self, node: Node, name: str, inputs: Sequence[Value] = ()) -> list[Value]:
        """Write a graph that is an attribute of a node, and return its outputs."""
        graph = node.attr(name)
        scope = Scope(node.scope)
        scope.values.update(zip((one.name for one in graph.input), inputs, strict=True))
        return self.graph(graph, scope, node.frame)

    def nodes(self, protos: Sequence[onnx.NodeProto], scope: Scope, frame: Frame) -> None:
        """Write nodes, one after the other."""
        for proto in protos:
            node = self._node(proto, scope, frame)
            try:
                inputs = [scope[name] if name else None for name in proto.input]
                with at_place(str(node)):
                    results = self._convert(node, inputs)
            except (TypeError, ValueError, NotImplementedError, IndexError, ir.MLIRError) as error:
                if isinstance(error, DataDependentError) and not error.inputs:
                    error.inputs = self._inputs_of(error.value)
                raise _explained(node, error) from error
            for name, value in zip(proto.output, results, strict=False):
                if name in scope.values:
                    raise ValueError(
                        f"{node}: expected outputs of new names, but '{name}' has a value already"
                    )
                if name:
                    scope.values[name] = self._emit(value, name)
            scope.narrow_types.update(output_types(node))

    def _node(self, proto: onnx.NodeProto, scope: Scope, frame: Frame) -> Node:
        attributes = {}
        for attribute in proto.attribute:
            if not attribute.ref_attr_name:
                attributes[attribute.name] = attribute
            elif attribute.ref_attr_name in frame.attributes:
                attributes[attribute.name] = frame.attributes[attribute.ref_attr_name]
        return Node(proto, attributes, self, scope, frame)

    def _convert(self, node: Node, inputs: list[Value]) -> Sequence[Value]:
        proto = node.proto
        function = self._functions.get((proto.domain, proto.op_type, proto.overload))
        if function is not None:
            return self._call(node, function, inputs, domains(function.opset_import))
        check_attributes(proto, node.domain, node.opset)
        if node.domain == "" and "" not in node.frame.opsets:
            raise ValueError("expected the version of ONNX's operators in opset_import")
        parts = fold_split(node, inputs)
        if parts is not None:
            return parts
        folded = fold(node, inputs)
        if folded is not None:
            return [folded]
        converter = find(node.domain, proto.op_type, node.opset)
        if converter is None:
            return self._expand(node, inputs)
        return self._apply(converter, node, inputs)

    def _apply(self, converter: Converter, node: Node, inputs: list[Value]) -> Sequence[Value]:
        raw = converter.raw
        arguments = [
            value if raw is None or i in raw or value is None else self.tensor(node.scope, value)
            for i, value in enumerate(inputs)
        ]
        result = converter.function(node, *arguments)
        results = result if isinstance(result, tuple) else (result,)
        if len(results) < node.outputs:
            raise NotImplementedError(f"expected {len(results)} outputs, but got {node.outputs}")
        return results

    def tensor(self, scope: Scope, value: Value) -> ir.Value:
        """Return a value as a tensor of the program; an array is one constant."""
        if not isinstance(value, np.ndarray):
            return as_tensor(value)
        known = scope.constant(value)
        if known is None:
            known = as_tensor(value)
            scope.keep_constant(value, known)
        return known

    def _emit(self, value: Value, name: str) -> Value:
        if not isinstance(value, ir.Value) or isinstance(value.owner, ir.Block):
            return value
        return self.builder.emit(self.of_shape(value, name), re.sub(r"[^\w.]", "_", name))

    def of_shape(self, value: ir.Value, name: str) -> ir.Value:
        """Return a tensor with dimensions, which the program finds where they are not known."""
        if not isinstance(value.type, TensorStructInfo) or value.type.shape is not None:
            return value
        if value.type.ndim < 0:
            raise NotImplementedError(f"expected '{name}' to have a rank, but got {value.type}")
        dims = [self.fresh_dim() for _ in range(value.type.ndim)]
        return op.match_cast(value, TensorStructInfo(dims, value.type.dtype))

    def _inputs_of(self, value: ir.Value) -> frozenset[str]:
        """Return the inputs of the model that a value is computed from."""
        names, seen, values = set(), set(), [value]
        while values:
            one = values.pop()
            owner = one.owner
            if isinstance(owner, ir.Block):
                number = ir.BlockArgument(one).arg_number
                names.update(self._parameters[number : number + 1])
            elif owner not in seen:
                seen.add(owner)
                values.extend(owner.operation.operands)
        return frozenset(names)

    def branch(self, condition: ir.Value, then: Any, otherwise: Any) -> ir.Value:
        """Write a branch, by functions that write its sides and return their values."""
        self.require_branches()
        return self.builder.if_(condition, then, otherwise)

    def require_branches(self) -> None:
        """Start again without a dataflow block, where there is one."""
        if not self._branches:
            raise BranchError

    def begin_loop(self) -> tuple[str, LoopFacts]:
        """Return the name of the next loop, and what is known about it."""
        self._loops += 1
        if self._loops > len(self._loop_facts):
            self._loop_facts.append(LoopFacts())
        return f"{_LOOP}{self._loops}", self._loop_facts[self._loops - 1]

    @contextlib.contextmanager
    def step_of_loop(self) -> Iterator[None]:
        """Write the step of a loop that runs more than once, in the body of the statement."""
        self._inside += 1
        yield
        self._inside -= 1

    @property
    def next_loop_counts(self) -> bool:
        """Whether the next loop ends after a number of steps, as far as is known."""
        return self._loops >= len(self._loop_facts) or self._loop_facts[self._loops].counts

    def random_key(self) -> ir.Value:
        """Return a key for the random numbers of a node."""
        if self._key is None:
            raise RandomKeyError
        if self._inside:
            raise NotImplementedError(
                "expected a loop of a known number of steps around random numbers, as each step "
                "has numbers of its own"
            )
        self._keys += 1
        return numbered_key(self._key, self._keys - 1)

    def fresh_dim(self) -> Dim:
        """Return a dimension that the program finds when it runs."""
        self._fresh += 1
        return Dim(f"{_FRESH}{self._fresh}")

    @property
    def fresh_dims(self) -> int:
        """How many dimensions the program finds, up to this place."""
        return self._fresh

    @staticmethod
    def is_later_dim(name: str, count: int) -> bool:
        """Say whether a variable is a dimension that is found later than some others, or a step."""
        number = name.removeprefix(_FRESH)
        return name.startswith(_LOOP) or (number.isdigit() and int(number) > count)

    def array(self, tensor: onnx.TensorProto) -> np.ndarray:
        """Return the elements of a tensor of the model, the same array each time."""
        found = self._arrays.get(id(tensor))
        if found is None:
            try:
                found = (tensor, array_of(tensor, self.folder))
            except NotImplementedError as error:
                raise NotImplementedError(f"tensor '{tensor.name}': {error}") from None
            self._arrays[id(tensor)] = found
        return found[1]

    # -- functions ------------------------------------------------------------------------------

    def _call(
        self, node: Node, function: onnx.FunctionProto, inputs: list[Value], opsets: dict[str, int]
    ) -> Sequence[Value]:
        attributes = {one.name: one for one in function.attribute_proto} | node.attributes
        scope = Scope()
        given = [*inputs, *[None] * (len(function.input) - len(inputs))]
        scope.values.update(zip(function.input, given, strict=True))
        kinds = [node.scope.narrow(name) for name in node.proto.input]
        scope.narrow_types.update(zip(function.input, kinds, strict=False))
        self.nodes(function.node, scope, Frame({**self._opsets, **opsets}, attributes))
        kinds = [scope.narrow(name) for name in function.output]
        node.scope.narrow_types.update(zip(node.proto.output, kinds, strict=False))
        return [scope[name] if node.wants(i) else None for i, name in enumerate(function.output)]

    def _expand(self, node: Node, inputs: list[Value]) -> Sequence[Value]:
        """Write the function that the definition of an operator gives for it."""
        name = node.proto.op_type
        if not onnx.defs.has(name, node.opset, node.domain):
            raise NotImplementedError(
                "expected an operator that ONNX defines, or a function of the model"
            )
        schema = onnx.defs.get_schema(name, node.opset, node.domain)
        function = self._body(schema, node, inputs)
        if function is None:
            raise NotImplementedError(
                "expected an operator that has a converter; rewrite it with others, or as a "
                "function of the model"
            )
        defaults = [
            one.default_value for one in schema.attributes.values() if one.default_value.name
        ]
        function.attribute_proto.extend(defaults)
        return self._call(
            node, function, inputs, {**node.frame.opsets, **domains(function.opset_import)}
        )

    def _body(self, schema: Any, node: Node, inputs: list[Value]) -> onnx.FunctionProto | None:
        version = node.opset
        if schema.has_context_dependent_function:
            proto = onnx.NodeProto()
            proto.CopyFrom(node.proto)
            del proto.attribute[:]
            proto.attribute.extend(node.attributes.values())
            types = [_type_proto(value).SerializeToString() for value in inputs]
            fitting = [v for v in schema.context_dependent_function_opset_versions if v <= version]
            if not fitting:
                return None
            text = schema.get_context_dependent_function_with_opset_version(
                max(fitting), proto.SerializeToString(), types
            )
        elif schema.has_function:
            fitting = [v for v in schema.function_opset_versions if v <= version]
            if not fitting:
                return None
            text = schema.get_function_with_opset_version(max(fitting))
        else:
            return None
        return onnx.FunctionProto.FromString(text) if text else None


def _explained(node: Node, error: Exception) -> Exception:
    """Return an error that names the node, of the same class where that is known."""
    message = error.message if isinstance(error, ir.MLIRError) else str(error)
    text = message if message.startswith("node '") else f"{node}: {message}"
    if isinstance(error, DataDependentError):
        copy = DataDependentError.__new__(DataDependentError)
        copy.args, copy.value, copy.inputs = (text,), error.value, error.inputs
        return copy
    if isinstance(error, NotImplementedError):
        return NotImplementedError(text)
    return ValueError(text)


def _parts(value: ir.Value) -> Value:
    """Return a parameter, a tuple as a sequence."""
    if not isinstance(value.type, TupleStructInfo):
        return value
    return fields_of(value)


def _returned(results: list[Value]) -> Any:
    values = [_as_result(value) for value in results]
    return values[0] if len(values) == 1 else op.tuple(*values)


def _as_result(value: Value) -> Any:
    if isinstance(value, list):
        return op.tuple(*(_as_result(one) for one in value))
    return as_tensor(value)


def _check_output(output: onnx.ValueInfoProto, value: Value) -> None:
    """Compare an output with what the graph states of it."""
    if output.type.WhichOneof("value") != "tensor_type" or isinstance(value, (list, type(None))):
        return
    stated = output.type.tensor_type
    dtype = dtype_of(stated.elem_type) if stated.elem_type else dtype_of_value(value)
    dims = shape_of(value)
    sizes = map(size_of, stated.shape.dim)
    wanted: list[Any] = ["?" if one is None else one for one in sizes]
    fits = not stated.HasField("shape") or (
        len(wanted) == len(dims)
        and all(
            known == "?" or same(known, dim) is not False
            for known, dim in zip(wanted, dims, strict=True)
        )
    )
    if dtype != dtype_of_value(value) or not fits:
        found = [str(dim) for dim in dims]
        raise ValueError(
            f"expected output '{output.name}' of {dtype} and shape {wanted}, as the model states, "
            f"but got {dtype_of_value(value)} and shape {found}"
        )


def _type_proto(value: Value) -> onnx.TypeProto:
    if value is None:
        return onnx.TypeProto()
    if isinstance(value, list):
        return onnx.helper.make_sequence_type_proto(_type_proto(value[0]) if value else None)
    dims = [dim if isinstance(dim, int) else str(dim) for dim in shape_of(value)]
    return onnx.helper.make_tensor_type_proto(element_type_of(dtype_of_value(value)), dims)


def from_onnx(
    model: ModelLike,
    shape_dict: Mapping[str, Sequence[Any]] | None = None,
    dtype_dict: Mapping[str, str] | str | None = None,
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
) -> IRModule:
    """Return a model of ONNX as a module.

    Parameters
    ----------
    model : onnx.ModelProto, path or bytes
        External data is read from the folder of the path, and from nowhere else.
    shape_dict : mapping of str to sequence of int, str or Dim, optional
        Shapes of inputs in place of those that the model states. A sequence has a list of the
        shapes of its elements, an optional value that is not there None.
    dtype_dict : mapping of str to str, or str, optional
        Data types of inputs in place of those that the model states; one for those that it states
        none of.
    opset : int, optional
        The version of ONNX's operators in place of the one that the model states.
    keep_params_in_input : bool
        Whether weights are parameters of the function after the inputs, which the attribute
        ``num_input`` of the function counts, in place of constants. `read_params` returns them, and
        `relax_mlir.frontend.detach_params`.
    sanitize_input_names : bool
        Whether the names of inputs become identifiers.

    Returns
    -------
    IRModule
        Its function ``main`` takes the inputs and returns the output, or a tuple of several.
        Dimensions are shape variables under the names that the model gives them. Where the model
        draws random numbers without a seed, the last input is `random_key`, a tensor of rank 0 of
        data type uint64: the same key gives the same numbers.

    Raises
    ------
    NotImplementedError
        If a node is not supported: the message names it, its operator and version.
    ValueError
        If the model is not valid.

    Examples
    --------
    >>> from onnx import parser
    >>> mod = from_onnx(parser.parse_model('''
    ... <ir_version: 8, opset_import: ["" : 17]>
    ... agraph (float[n, 4] x) => (float[n, 4] y) { y = Relu(x) }'''))
    >>> print(mod["main"].function_type.value)
    (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    """
    return import_model(
        # Parameters outlive this call, and the file may not.
        *load(model, in_place=not keep_params_in_input),
        opset=opset,
        shapes=shape_dict,
        dtypes=dtype_dict,
        keep_params=keep_params_in_input,
        sanitize=sanitize_input_names,
    )


def import_model(
    proto: onnx.ModelProto,
    folder: Path | None,
    opset: int | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
    **options: Any,
) -> IRModule:
    """Return a model that `load` has read as a module, with some inputs as constants.

    Parameters
    ----------
    proto : onnx.ModelProto
    folder : Path, optional
        Where external data is.
    opset : int, optional
    constants : mapping of str to numpy.ndarray, optional
    **options
        Those of `Importer.run`.
    """
    given = proto, folder, opsets_of(proto, opset), constants or {}
    branches = has_key = False
    loops: list[LoopFacts] = []
    while True:
        # Whether a condition is known, or a number random, turns out on the way only.
        try:
            return Importer(*given, branches, has_key, loops).run(**options)
        except LoopFactsChangedError:
            continue
        except BranchError:
            branches = True
        except RandomKeyError:
            has_key = True


__all__ = ["Importer", "Scope", "Sizes", "describe", "from_onnx", "import_model", "size"]
