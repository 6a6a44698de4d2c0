# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The evaluation of functions: scopes, control flow, calls and closures.

Each function that is being evaluated is a generator, which yields a `Call` where it calls another
function. `Interpreter.call` keeps these generators on a stack of its own, so that programs recurse
as deep as `relax_mlir.set_recursion_limit` lets them, and calls in tail position need no room
(VM08, VM09). Single operations are in `operations`.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import tvm_ffi
from mlir import ir

from .._mlir_libs import _relax_mlir as _ext
from ..core.ir import Dim, FuncStructInfo
from ..core.ir_module import IRModule
from ..core.struct_info import is_subtype
from ..core.variables import definitions, walk
from ..runtime import recursion_limit
from .arithmetic import Arithmetic
from .boundary import call_packed
from .dimensions import evaluate, resolve
from .matching import Matcher, Place, location_name, tensor_types
from .operations import run
from .packed import FUNCTIONS
from .tensor import Tensor
from .values import Closure, count, describe


@dataclass
class Call:
    """A request to call a closure, and to resume with its result."""

    closure: Closure
    args: list[Any]
    is_tail: bool


Evaluation = Generator[Call, Any, Any]


@dataclass
class Frame:
    """A function that is being evaluated: what its variables are in the current scope.

    Attributes
    ----------
    name : str
        That of the function.
    values : dict
        The values of variables. Each belongs to one scope, and is visible after its binding only,
        which the verifier has seen to (SC02 to SC04, WF01 to WF03).
    dims : dict
        The shape variables that are bound.
    sizes : set of str
        Those that sizes of tensors depend on: they are not negative.
    """

    name: str
    interpreter: Interpreter
    values: dict[ir.Value, Any] = field(default_factory=dict)
    dims: dict[str, Any] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()

    def dim(self, expr: Dim) -> int:
        """Return the value of a dimension here."""
        try:
            return evaluate(expr, self.dims)
        except (ValueError, ZeroDivisionError) as error:
            raise type(error)(f"{self.name}: {error}") from None

    def match(self, value: Any, type_: ir.Type, what: str) -> None:
        """Check a value, and bind the shape variables that are new."""
        Matcher(self.dims, self.sizes).match([(value, type_, Place(self.name, what))])

    def check(self, value: Any, type_: ir.Type, what: str) -> None:
        """Check a value against a type whose shape variables are bound."""
        Matcher(self.dims, self.sizes).check(value, type_, Place(self.name, what))


class Interpreter:
    """Evaluates the functions of a module.

    Parameters
    ----------
    module : IRModule
        It has to be valid.
    arithmetic : Arithmetic
    """

    def __init__(self, module: IRModule, arithmetic: Arithmetic) -> None:
        from .kernels import Kernels  # here for the sake of import time

        self.module = module
        self.arithmetic = arithmetic
        # What keeps external functions that the module calls.
        self.linked: Any = None
        self.functions = module.functions
        self.kernels = Kernels(self.functions)
        self._closures: dict[str, Closure] = {}
        self._free: dict[Any, list[ir.Value]] = {}
        self._tails: dict[Any, bool] = {}
        self._sizes: dict[Any, frozenset[str]] = {}

    # --------------------------------------------------------------------------
    # Functions of the module
    # --------------------------------------------------------------------------

    @property
    def entries(self) -> list[str]:
        """The functions that can be called from outside (GR19)."""
        return [
            name
            for name, op in self.functions.items()
            if op.operation.name == "relax.func" and not _is_private(op)
        ]

    def entry(self, name: str) -> Closure:
        """Return a public function."""
        if name not in self.entries:
            known = ", ".join(self.entries) or "none"
            raise KeyError(f"expected the name of a public function ({known}), but got {name!r}")
        return self.function(name)

    def function(self, name: str) -> Closure:
        """Return a function or kernel of the module as a value (SC01, SE03, SE07)."""
        if name not in self._closures:
            op = self.functions[name]
            info = _ext.function_struct_info(op.operation)
            self._closures[name] = Closure(name, op, info, interpreter=self)
        return self._closures[name]

    def packed(self, name: str, frame: Frame) -> Any:
        """Return the packed function of a name (SE04): one of the module comes first."""
        for symbol, op in self.functions.items():
            attributes = op.operation.attributes
            if "global_symbol" in attributes and attributes["global_symbol"].value == name:
                return self.function(symbol)
        found = tvm_ffi.get_global_func(name, allow_missing=True) or FUNCTIONS.get(name)
        if found is None:
            raise ValueError(
                f"{frame.name}: packed function {name!r} is not registered; register it with "
                "tvm_ffi.register_global_func"
            )
        return found

    # --------------------------------------------------------------------------
    # Calls
    # --------------------------------------------------------------------------

    def call(self, closure: Closure, args: list[Any]) -> Any:
        """Call a closure and return its result."""
        limit = recursion_limit()
        stack = [self._enter(closure, args)]
        result = None
        while stack:
            try:
                request = stack[-1].send(result)
            except StopIteration as stop:
                stack.pop()
                result = stop.value
                continue
            except RuntimeError as error:
                # Python's wrapper of a StopIteration that a packed function raised in a generator.
                if str(error) == "generator raised StopIteration" and error.__cause__:
                    raise error.__cause__ from None
                raise
            if request.is_tail:
                stack.pop()
            if len(stack) >= limit:
                raise RecursionError(
                    f"{request.closure.name}: recursion deeper than {count(limit, 'call')}; raise "
                    "the limit with relax_mlir.set_recursion_limit"
                )
            stack.append(self._enter(request.closure, request.args))
            result = None
        return result

    def _enter(self, closure: Closure, args: list[Any]) -> Evaluation:
        """Evaluate a closure in a scope of its own."""
        if closure.interpreter is not self:
            return closure.interpreter._enter(closure, args)
        if closure.op.operation.name == "func.func":
            return self._run_kernel(closure, args)
        return self._run_function(closure, args)

    def _run_function(self, closure: Closure, args: list[Any]) -> Evaluation:
        op = closure.op
        values, dims = dict(closure.values), dict(closure.dims)
        frame = Frame(closure.name, self, values, dims, self._sizes_in(op))
        block = op.operation.regions[0].blocks[0]
        params = list(block.arguments)
        if op.operation.name == "relax.closure":
            frame.values[params.pop(0)] = closure  # SC02: it may call itself
        self._bind_arguments(frame, op, params, args)
        _check_bounds(op, frame)
        result = yield from self.run_block(block, frame)
        returned = _declared_result(op)
        frame.check(result, returned, "the result")
        return result

    def _bind_arguments(
        self, frame: Frame, op: Any, params: list[ir.Value], args: list[Any]
    ) -> None:
        """Check arguments and bind parameters (MC08)."""
        if len(args) != len(params):
            raise TypeError(
                f"{frame.name}: expected {count(len(params), 'argument')}, but got {len(args)}"
            )
        names = _argument_names(op, len(params))
        places = [Place(frame.name, name) for name in names]
        types = [param.type for param in params]
        Matcher(frame.dims, frame.sizes).match(list(zip(args, types, places, strict=True)))
        frame.values.update(zip(params, args, strict=True))

    def _run_kernel(self, closure: Closure, args: list[Any]) -> Evaluation:
        """Call a kernel as a function: it may mutate its arguments (SE07)."""
        yield from ()
        frame = Frame(f"{closure.name}.closure", self)
        params = closure.info.params
        if len(args) != len(params):
            raise TypeError(
                f"{frame.name}: expected {count(len(params), 'argument')}, but got {len(args)}"
            )
        for index, (arg, type_) in enumerate(zip(args, params, strict=True)):
            frame.match(arg, type_, f"argument {index}")
            if isinstance(arg, Tensor) and not arg.data.flags.c_contiguous:
                raise ValueError(
                    f"{frame.name}: argument {index}: expected a compact, aligned tensor, but got "
                    "a strided one"
                )
        results = self.kernels.call_on_values(closure.op, args)
        for arg, result in zip(reversed(args), reversed(results), strict=False):
            arg.data[...] = result
        return ()

    def _sizes_in(self, op: Any) -> frozenset[str]:
        key = op.operation
        if key not in self._sizes:
            self._sizes[key] = _size_variables(key)
        return self._sizes[key]

    # --------------------------------------------------------------------------
    # Blocks
    # --------------------------------------------------------------------------

    def run_block(self, block: ir.Block, frame: Frame) -> Evaluation:
        """Evaluate bindings in order (SE01), and return what the block ends with."""
        for op in block.operations:
            name = op.operation.name
            if name in _ENDS:
                values = [frame.values[operand] for operand in op.operands]
                return values if name == "relax.output" else values[0]
            results = yield from self.run_op(name, op, frame)
            frame.values.update(zip(op.results, results, strict=True))
        raise AssertionError("a block without an end")

    def run_op(self, name: str, op: Any, frame: Frame) -> Evaluation:
        """Evaluate an operation, and return its results."""
        if name in _SCOPES:
            return (yield from _SCOPES[name](self, op, frame))
        if name == "relax.call":
            return [(yield from self._run_call(op, frame))]
        return run(name, op, frame)

    def _run_scope(self, op: Any, frame: Frame, region: int = 0) -> Evaluation:
        """Evaluate a region in a scope of its own for shape variables (SC03)."""
        outer = frame.dims
        frame.dims = dict(outer)
        result = yield from self.run_block(op.operation.regions[region].blocks[0], frame)
        frame.dims = outer
        return result

    def _run_dataflow(self, op: Any, frame: Frame) -> Evaluation:
        """Evaluate a dataflow block: shape variables that it binds are visible after it."""
        return (yield from self.run_block(op.operation.regions[0].blocks[0], frame))

    def _run_seq(self, op: Any, frame: Frame) -> Evaluation:
        return [(yield from self._run_scope(op, frame))]

    def _run_if(self, op: Any, frame: Frame) -> Evaluation:
        """Evaluate the branch that the condition takes, and no other (GR15)."""
        condition = frame.values[op.operands[0]]
        if isinstance(condition, Tensor):
            if condition.data.ndim or condition.dtype != "bool":
                raise _condition_error(frame, condition)
            condition = bool(condition.data)
        if not isinstance(condition, bool):
            raise _condition_error(frame, condition)
        return [(yield from self._run_scope(op, frame, 0 if condition else 1))]

    # --------------------------------------------------------------------------
    # relax.call
    # --------------------------------------------------------------------------

    def _run_call(self, op: Any, frame: Frame) -> Evaluation:
        """Call a function of the module, a closure or a packed function (GR14)."""
        operands = [frame.values[operand] for operand in op.operands]
        callee = self.function(op.callee.value) if op.callee is not None else operands.pop(0)
        if isinstance(callee, Closure):
            return (yield Call(callee, operands, self._is_tail(op)))
        if not isinstance(callee, tvm_ffi.Function):
            raise TypeError(f"{frame.name}: expected a function, but got {describe(callee)}")
        result = call_packed(callee, operands)
        frame.check(result, op.results[0].type, "the result of a packed function")
        return result

    def _is_tail(self, op: Any) -> bool:
        """Say whether the caller returns what the call returns, with nothing left to check."""
        key = op.operation
        if key not in self._tails:
            self._tails[key] = _is_tail(op.operation, op.results[0])
        return self._tails[key]

    # --------------------------------------------------------------------------
    # Closures
    # --------------------------------------------------------------------------

    def make_closure(self, op: Any, frame: Frame) -> Closure:
        """Evaluate a function literal: it captures by reference (SE03)."""
        key = op.operation
        if key not in self._free:
            self._free[key] = _free_values(op.operation)
        captured = {value: frame.values[value] for value in self._free[key]}
        with op.operation.context:
            info = FuncStructInfo(resolve(op.results[0].type, frame.dims))
        name = f"{frame.name}.{location_name(op) or 'lambda'}"
        return Closure(name, op, info, captured, dict(frame.dims), self)


_SCOPES: dict[str, Any] = {
    "relax.dataflow": Interpreter._run_dataflow,
    "relax.if": Interpreter._run_if,
    "relax.seq": Interpreter._run_seq,
}
_ENDS = ("relax.return", "relax.yield", "relax.output")


def _condition_error(frame: Frame, value: Any) -> TypeError:
    return TypeError(
        f"{frame.name}: expected a Boolean scalar as condition, but got {describe(value)}"
    )


def _is_private(op: Any) -> bool:
    attributes = op.operation.attributes
    return "sym_visibility" in attributes and attributes["sym_visibility"].value == "private"


def _declared_result(op: Any) -> ir.Type:
    if op.operation.name == "relax.closure":
        return op.results[0].type.ret
    return op.function_type.value.results[0]


def _argument_names(op: Any, size: int) -> list[str]:
    given = [] if op.arg_names is None else [name.value for name in op.arg_names]
    names = given[-size:] if size else []
    names += [""] * (size - len(names))
    return [f"argument '{name}'" if name else f"argument {i}" for i, name in enumerate(names)]


def _check_bounds(op: Any, frame: Frame) -> None:
    """Check shape variables against the bounds that the function declares."""
    attributes = op.operation.attributes
    for key, is_lower in (("tir_var_lower_bound", True), ("tir_var_upper_bound", False)):
        for bound in attributes[key] if key in attributes else ():  # noqa: SIM401 (no get)
            name, limit = bound.name, bound.attr.value
            size = frame.dims[name]
            if size < limit if is_lower else size > limit:
                raise ValueError(
                    f"{frame.name}: shape variable {name!r}: expected {name} "
                    f"{'>=' if is_lower else '<='} {limit}, but it is {size}, where "
                    f"{key}[{name!r}] = {limit}"
                )


def _free_values(operation: ir.Operation) -> list[ir.Value]:
    """Return the values that the regions of an operation use, and that are defined outside."""
    _, *inner = walk(operation)
    defined = {value for op in inner for value in (*op.results, *definitions(op))}
    defined.update(definitions(operation))
    used = dict.fromkeys(operand for op in inner for operand in op.operands)
    return [value for value in used if value not in defined]


def _size_variables(operation: ir.Operation) -> frozenset[str]:
    """Return the shape variables that the dimensions of tensors in a function depend on."""
    return frozenset(
        name
        for op in walk(operation)
        for value in (*op.results, *definitions(op))
        for tensor in tensor_types(value.type)
        for dim in tensor.shape or ()
        for name in dim.variables
    )


def _is_tail(operation: ir.Operation, value: ir.Value) -> bool:
    """Say whether a value is returned as it is right after its operation."""
    following = _ext.next_operation(operation)
    if following is None or list(following.operands) != [value]:
        return False
    parent = following.parent.operation
    if following.name == "relax.return":
        returned = _declared_result(parent.opview)
        return is_subtype(value.type, returned) is True
    if following.name != "relax.yield":
        return False
    return is_subtype(value.type, parent.results[0].type) is True and _is_tail(
        parent, parent.results[0]
    )
