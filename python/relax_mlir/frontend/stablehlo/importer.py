# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of StableHLO as modules."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir as jax_ir
from mlir import ir

from ... import op
from ...builder.block_builder import BlockBuilder
from ...core.expr import Var
from ...core.ir import Dim, TensorStructInfo
from ...core.ir_module import IRModule
from .arguments import Argument, arguments_of
from .folding import fold
from .reader import Source, load
from .registry import CONVERTERS, Node, TensorType, is_token, location_text, place_of, python_value
from .scope import Dimensions, RestartError, Scope
from .values import Rows, Spread, Value, as_tensor, dtype_of, shape_of

_ERRORS = (TypeError, ValueError, NotImplementedError, LookupError, ir.MLIRError, jax_ir.MLIRError)


class BranchError(Exception):
    """There is a branch, or a loop, in a dataflow block."""


class OperationError(Exception):
    """Has the message with the operation that an error is of; one is raised for all around it."""


class Importer:
    """Writes the functions of a module as one.

    Parameters
    ----------
    module : jaxlib.mlir.ir.Module
    dimensions : Dimensions
    branches : bool
        Whether the program has branches, so that its operations are in no dataflow block.
    unroll_limit : int
        The most operations that an unrolled loop is.

    Attributes
    ----------
    builder : BlockBuilder
    dimensions : Dimensions
    unroll_limit : int
    """

    def __init__(
        self, module: Any, dimensions: Dimensions, branches: bool, unroll_limit: int
    ) -> None:
        self.builder = BlockBuilder()
        self.dimensions = dimensions
        self.unroll_limit = unroll_limit
        self._branches = branches
        self._loops = 0
        self._stack: list[str] = []
        self.functions: dict[str, Any] = {
            python_value(one.operation.attributes["sym_name"]): one.operation
            for one in module.body.operations
            if "sym_name" in one.operation.attributes
        }

    # -- the module -----------------------------------------------------------------------------

    def run(self, arguments: Sequence[Argument]) -> IRModule:
        """Return the module with the function ``main``."""
        main = self.functions["main"]
        params = [one.value for one in arguments if isinstance(one.value, Var)]
        lower, upper = self.dimensions.bounds()
        attrs: dict[str, Any] = {"tir_var_lower_bound": lower, "tir_var_upper_bound": upper}
        attrs["relax.plan_each_call"] = bool(upper)  # what a model accepts, not what calls need
        with self.builder.function("main", params, attrs={k: v for k, v in attrs.items() if v}):
            around = contextlib.nullcontext() if self._branches else self.builder.dataflow()
            with around:
                given = [
                    one.value.value if isinstance(one.value, Var) else one.value
                    for one in arguments
                    if one.is_kept
                ]
                scope = Scope()
                values = self.block(main.regions[0].blocks[0], scope, given)
                tensors = [self.tensor(scope, value) for value in values if value is not None]
                result: Any = tensors[0] if len(tensors) == 1 else op.tuple(*tensors)
                if not self._branches:
                    result = self.builder.emit_output(result)
            self.builder.emit_func_output(result)
        return self.builder.get()

    # -- operations -----------------------------------------------------------------------------

    def block(self, block: Any, scope: Scope, arguments: Sequence[Value]) -> list[Value]:
        """Write the operations of a block, and return the operands of its last one."""
        scope.values.update(zip(block.arguments, arguments, strict=True))
        for one in block.operations:
            operation = one.operation
            if operation.name in ("func.return", "stablehlo.return"):
                return [scope[operand] for operand in operation.operands]
            node = Node(operation, self, scope)
            try:
                with place_of(operation) or contextlib.nullcontext():
                    results = self._convert(node)
            except OperationError:
                raise
            except _ERRORS as error:
                raise OperationError(f"{node}: {_message(error)}") from error
            for result, value in zip(operation.results, results, strict=True):
                scope.values[result] = value
        raise ValueError("expected a block that ends with a return")

    def _convert(self, node: Node) -> list[Value]:
        converter = CONVERTERS.get(node.name)
        if converter is None:
            raise NotImplementedError(
                "expected an operator that has a converter (see "
                "relax_mlir.frontend.stablehlo.operators())"
            )
        operands = [node.scope[operand] for operand in node.operation.operands]
        folded = fold(node, operands)
        if folded is not None:
            return [folded]
        if not converter.raw:
            operands = [
                None if value is None else self.tensor(node.scope, value) for value in operands
            ]
        result = converter.function(node, *operands)
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        types = [one.type for one in node.operation.results]
        if len(results) != len(types):
            raise NotImplementedError(f"expected {len(results)} results, but got {len(types)}")
        return [
            self._emit(node, self.checked(value, type_))
            for value, type_ in zip(results, types, strict=True)
        ]

    def checked(self, value: Value, type_: Any) -> Value:
        """Return a value, of the type that the program states for it.

        Raises
        ------
        NotImplementedError
            If it is of another type.
        """
        if is_token(type_):
            return None
        stated = TensorType.of(type_)
        if value is None:
            raise NotImplementedError(f"expected {stated}, but got a token")
        dims = shape_of(value)
        wanted = [
            mine if size is None else size
            for mine, size in zip(dims, stated.dims, strict=len(dims) == len(stated.dims))
        ]
        answers = [self.dimensions.same(a, b) for a, b in zip(dims, wanted, strict=False)]
        if dtype_of(value) != stated.dtype or len(dims) != len(stated.dims) or False in answers:
            found = ", ".join(str(dim) for dim in dims)
            raise NotImplementedError(
                f"expected a result of {stated}, but got {dtype_of(value)} and shape [{found}]"
            )
        if all(answers) or not isinstance(value, (ir.Value, Spread)):
            return value
        return self.matched(as_tensor(value), wanted)

    def matched(self, value: ir.Value, dims: Sequence[Any]) -> ir.Value:
        """Return a tensor with given dimensions, which the program checks where it is not known."""
        if all(self.dimensions.same(*pair) for pair in zip(shape_of(value), dims, strict=True)):
            return value
        return op.match_cast(value, TensorStructInfo(list(dims), dtype_of(value)))

    def tensor(self, scope: Scope, value: Value) -> ir.Value:
        """Return a value as a tensor of the program; an array is one constant."""
        if not isinstance(value, np.ndarray):
            return as_tensor(value)
        found = scope.constant(value)
        if found is None:
            found = as_tensor(value)
            scope.keep_constant(value, found)
        return found

    def _emit(self, node: Node, value: Value) -> Value:
        if isinstance(value, (Spread, Rows)) or not isinstance(value, ir.Value):
            return value
        if isinstance(value.owner, ir.Block):
            return value
        return self.builder.emit(value, _name_of(node))

    # -- functions and branches -----------------------------------------------------------------

    def call(self, name: str, arguments: Sequence[Value]) -> list[Value]:
        """Write the body of a function where it is called, and return its results.

        Raises
        ------
        ValueError
            If there is no such function.
        NotImplementedError
            If it calls itself.
        """
        if name not in self.functions:
            raise ValueError(f"expected a function of the module, but got '{name}'")
        if name in self._stack:
            raise NotImplementedError(f"expected functions without recursion, but got '{name}'")
        self._stack.append(name)
        try:
            return self.block(self.functions[name].regions[0].blocks[0], Scope(), arguments)
        finally:
            self._stack.pop()

    def branch(self, condition: ir.Value, then: Any, otherwise: Any) -> ir.Value:
        """Write a branch, by functions that write its sides and return their values."""
        self.require_branches()
        return self.builder.if_(condition, then, otherwise)

    def require_branches(self) -> None:
        """Raise BranchError inside of a dataflow block."""
        if not self._branches:
            raise BranchError

    def loop_name(self) -> str:
        """Return a name for the closure of a loop."""
        self._loops += 1
        return f"while_{self._loops}"


def _name_of(node: Node) -> str:
    text = location_text(node.operation.location)
    found = re.match(r'"([^"]*)"', text)
    name = found.group(1).rpartition("/")[2] if found else ""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else ""


def _message(error: Exception) -> str:
    message = getattr(error, "message", None)
    return str(message or error)


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Raise the errors of operations as what caused them."""
    try:
        yield
    except OperationError as problem:
        cause = problem.__cause__
        kind = NotImplementedError if isinstance(cause, NotImplementedError) else ValueError
        raise kind(str(problem)) from cause


def from_stablehlo(
    source: Source,
    input_info: Sequence[tuple[Sequence[int | str | Dim], str]] | None = None,
    *,
    unroll_limit: int = 2000,
) -> IRModule:
    """Return a program of StableHLO as a module.

    Parameters
    ----------
    source : str, bytes, path, jaxlib.mlir.ir.Module or jax.export.Exported
        Text, portable bytecode, a file of either, a module of jaxlib's MLIR, or what
        ``jax.export`` returns.
    input_info : sequence of (shape, dtype), optional
        Shape and data type of each input. They have to agree with what the program states; where
        that is dynamic, a number or a name says what it is.
    unroll_limit : int
        Loops of known length are written out where that makes up to so many operations. Others
        are recursive functions.

    Returns
    -------
    IRModule
        Its function ``main`` takes the inputs and returns the output, or a tuple of several.
        Dynamic sizes are shape variables; what the program states of them by shape assertions, as
        ``jax.export`` writes them, becomes a part of the types or is checked by the call.

    Raises
    ------
    NotImplementedError
        If an operation is not supported: the message has the operator, its place and the reason.
    ValueError
        If the source does not parse, or there is no function ``main``.
    TypeError
        If the source is of another type.
    OSError
        If there is no such file.

    Examples
    --------
    >>> mod = from_stablehlo('''
    ... func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    ...   %0 = stablehlo.tanh %x : tensor<?x4xf32>
    ...   return %0 : tensor<?x4xf32>
    ... }''', [(("n", 4), "float32")])
    >>> print(mod["main"].function_type.value)
    (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    """
    module = load(source)
    attributes = module.operation.attributes
    # Dimensions of JAX are never 0.
    dimensions = Dimensions(1 if "jax.uses_shape_polymorphism" in attributes else 0)
    branches = False
    while True:
        with _explained():
            importer = Importer(module, dimensions, branches, unroll_limit)
            if "main" not in importer.functions:
                names = ", ".join(importer.functions) or "none"
                raise ValueError(f"expected a function 'main', but got {names}")
            try:
                arguments = arguments_of(importer.functions, dimensions, source, input_info)
                return importer.run(arguments)
            except BranchError:
                # Whether a condition is known turns out on the way only.
                branches = True
            except RestartError:
                pass


__all__ = ["Importer", "from_stablehlo"]
