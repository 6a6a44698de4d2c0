# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bisection of a wrong compiled program: the phase, pass or kernel that first differs.

The module as given is evaluated by the reference interpreter, and so is what each pass leaves, as
long as there are operators and kernels of linalg. Then the program runs in bytecode, and what each
kernel computes is compared with the evaluation of that kernel on the same arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm_ffi
from mlir import ir

from .._arguments import shown
from ..core.ir_module import IRModule, ModuleLike, as_module
from ..driver.compiler import compile as compile_module
from ..instrument import PassInstrument
from ..runtime import VirtualMachine
from ..transform import PassContext, find
from .arithmetic import Arithmetic
from .boundary import give, take
from .interpreter import Interpreter
from .tensor import FORMATS, Array, Tensor, is_float

if TYPE_CHECKING:
    from ..transform import PassInfo


@dataclass
class Bisection:
    """The findings of `bisect_wrong`.

    Attributes
    ----------
    place : str
        "nothing", "pass", "kernel", "calls" (what functions do between kernels) or "functions"
        (their machine code).
    phase : str or None
    name : str or None
        Of the pass, or of the kernel.
    expected, actual : object
        Two values that differ.
    checked : list of str
        The comparisons that found no difference, in order.
    """

    place: str
    phase: str | None = None
    name: str | None = None
    expected: Any = field(default=None, repr=False)
    actual: Any = field(default=None, repr=False)
    checked: list[str] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        """Whether nothing differs."""
        return self.place == "nothing"

    def __repr__(self) -> str:
        """Return a sentence or two."""
        checked = f"{len(self.checked)} comparisons before it agree"
        where = {
            "nothing": f"nothing differs in {len(self.checked)} comparisons",
            "pass": f"pass {self.name} of phase {self.phase} first differs; {checked}",
            "kernel": f"the code of kernel {self.name} first differs; {checked}",
            "calls": f"bytecode differs, all its kernels agree; {checked}",
            "functions": f"machine code of functions differs, bytecode agrees; {checked}",
        }[self.place]
        difference = "" if self.is_right else f"\n{describe(self.expected, self.actual)}"
        return f"Bisection: {where}{difference}"


def bisect_wrong(
    mod: ModuleLike,
    inputs: Sequence[Any],
    name: str = "main",
    *,
    rtol: float | None = None,
    **compile_options: Any,
) -> Bisection:
    """Find the phase, pass or kernel that first makes a wrong result.

    Parameters
    ----------
    mod : IRModule, Function, mlir.ir.Module, str or BlockBuilder
    inputs : sequence
        The arguments of the function. They are copied before each call.
    name : str
        The function.
    rtol : float, optional
        How far floats may be apart, in relation to the larger one of the right number and the root
        of the mean square of all of them. By default the square root of the unit in the last place
        of 1: 0.00035 for float32.
    **compile_options
        As `relax_mlir.compile` takes them.

    Returns
    -------
    Bisection

    Raises
    ------
    ValueError
        If `rtol` is below 0, or no number.

    Examples
    --------
    >>> import relax_mlir as relax
    >>> from relax_mlir import op
    >>> bb = relax.BlockBuilder()
    >>> x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    >>> with bb.function("main", [x]):
    ...     _ = bb.emit_func_output(op.exp(x))
    >>> bisect_wrong(bb, [np.zeros(3, "float32")]).is_right
    True
    """
    if rtol is not None and not rtol >= 0:
        raise ValueError(f"expected rtol to be 0 or more, but got {rtol}")
    if hasattr(inputs, "shape"):
        raise TypeError(
            f"expected a list of the arguments of '{name}' as inputs, but got {shown(inputs)}"
        )
    search = _Search(as_module(mod), list(inputs), name, rtol)
    search.compare_passes(compile_options)
    if search.found is None:
        search.compare_kernels(compile_options)
    return search.found or Bisection("nothing", checked=search.checked)


class _Search:
    """The state of a search."""

    def __init__(self, module: IRModule, inputs: list[Any], name: str, rtol: float | None) -> None:
        self.module, self.inputs, self.name, self.rtol = module, inputs, name, rtol
        self.expected = self.evaluate(module)
        self.found: Bisection | None = None
        self.checked: list[str] = []
        self.kernels: Any = None

    def evaluate(self, module: IRModule) -> Any:
        """Evaluate the function in the reference interpreter."""
        interpreter = Interpreter(module, Arithmetic())
        return interpreter.entry(self.name)(*map(_copied, map(take, self.inputs)))

    def compare(self, what: Bisection) -> None:
        """Keep what differs first."""
        if self.found is not None:
            return
        if is_close(what.expected, what.actual, self.rtol):
            self.checked.append(f"{what.place} {what.name or ''}".strip())
            return
        what.checked = self.checked
        self.found = what

    def compare_passes(self, options: dict[str, Any]) -> None:
        """Compile, and evaluate what each pass leaves."""
        with PassContext(instruments=[*PassContext.current().instruments, _Watch(self)]):
            compile_module(self.module, **(options | {"exec_mode": "bytecode"}))

    def compare_kernels(self, options: dict[str, Any]) -> None:
        """Run in bytecode and compare each call of a kernel; then in machine code."""
        vm = VirtualMachine(compile_module(self.module, **(options | {"exec_mode": "bytecode"})))
        if self.kernels is not None:
            vm.set_instrument(_KernelCalls(self))
        self.compare(Bisection("calls", None, None, self.expected, self._run(vm)))
        if self.found is None:
            compiled = VirtualMachine(
                compile_module(self.module, **(options | {"exec_mode": "compiled"}))
            )
            actual = self._run(compiled)
            self.compare(Bisection("functions", None, None, self.expected, actual))

    def _run(self, vm: VirtualMachine) -> Any:
        return take(vm[self.name](*[give(_copied(take(value))) for value in self.inputs]))


class _Watch(PassInstrument):
    """Evaluates the module after each pass."""

    def __init__(self, search: _Search) -> None:
        self.search = search
        self.operation: ir.Operation | None = None
        self.phases: list[str] = []
        self.is_over = False

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Note the phase that begins; the first module that is seen is the one."""
        if self.operation is None:
            self.operation = mod.operation
        if mod.operation == self.operation:
            self.phases.append(info.name)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Evaluate the module, as far as that goes."""
        if self.phases and self.phases[-1] == info.name:
            self.phases.pop()
        if mod.operation != self.operation:
            return  # a module that a pass compiles on the way
        phase = self.phases[0] if self.phases else info.name
        if phase in ("shapes", "kernels", "outline", "llvm"):
            self.is_over = True
        if self.is_over or self.search.found is not None:
            return
        module = mod.clone()
        if phase == "memory" and not self.phases:
            self.search.kernels = Interpreter(module, Arithmetic()).kernels
        try:
            actual = self.search.evaluate(module)
        except NotImplementedError:
            return
        except Exception as error:
            actual = error  # the module as given raised none
        self.search.compare(Bisection("pass", phase, info.name, self.search.expected, actual))


class _KernelCalls:
    """Compares what kernels compute with their evaluation; an instrument of the machine."""

    def __init__(self, search: _Search) -> None:
        self.search = search
        self.given: list[Any] = []
        self.outputs: dict[str, list[int]] = {}
        for op in search.kernels.functions.values():
            self.outputs |= _updated_places(op.operation)

    def _is_kernel(self, name: str, args: Sequence[Any]) -> bool:
        """Say whether a kernel is called, and not a builtin of the same name."""
        kernel = self.search.kernels.functions.get(name)
        if kernel is None or kernel.operation.name != "func.func":
            return False
        types = list(kernel.function_type.value.inputs)
        return len(types) == len(args) and all(
            isinstance(arg, tvm_ffi.Tensor) == isinstance(type_, ir.ShapedType)
            for arg, type_ in zip(args, types, strict=True)
        )

    def __call__(self, function: Any, name: str, before: bool, result: Any, *args: Any) -> None:
        """See a call before and after."""
        kernels = self.search.kernels
        if self.search.found is not None or not self._is_kernel(name, args):
            return
        if before:
            self.given = [_copied(take(arg)) for arg in args]
            return
        try:
            results = kernels.call_on_values(kernels.functions[name], self.given)
        except NotImplementedError:
            return
        places = self.outputs.get(name, [])
        actual = tuple(take(args[place]) for place in places)
        expected = tuple(self.given[place] for place in places)
        if results:
            pairs = zip(results, expected, strict=True)
            expected = tuple(Tensor(np.asarray(data), old.dtype) for data, old in pairs)
        self.search.compare(Bisection("kernel", "kernels", name, expected, actual))


def _updated_places(function: ir.Operation) -> dict[str, list[int]]:
    """Return the arguments that each kernel updates, counted from the last one on where outputs."""
    places: dict[str, list[int]] = {}
    for op in find(function, "relax.builtin.call_kernel"):
        count = len(op.outputs)
        indices = [-1] * count if op.inplace_indices is None else list(op.inplace_indices)
        outputs = iter(range(-count, 0))
        places[op.callee.value] = [i if i >= 0 else next(outputs) for i in indices]
    return places


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return Tensor(np.array(value.data, order="C"), value.dtype)
    return tuple(map(_copied, value)) if type(value) is tuple else value


# ------------------------------------------------------------------------------
# Comparing
# ------------------------------------------------------------------------------


def is_close(expected: Any, actual: Any, rtol: float | None = None) -> bool:
    """Say whether two values are the same, floats as far as rounding lets them be.

    Examples
    --------
    >>> one = Tensor(np.array([1.0, np.nan]), "float32")
    >>> is_close(one, Tensor(np.array([1.0001, np.nan]), "float32"))
    True
    >>> is_close(one, Tensor(np.array([1.01, np.nan]), "float32"))
    False
    """
    if isinstance(expected, Tensor):
        return isinstance(actual, Tensor) and _are_close(expected, actual, rtol)
    if type(expected) is tuple:
        return len(expected) == len(actual) and all(
            is_close(one, other, rtol) for one, other in zip(expected, actual, strict=True)
        )
    return callable(expected) or bool(expected == actual)


def _are_close(expected: Tensor, actual: Tensor, rtol: float | None) -> bool:
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return False
    if not is_float(expected.dtype):
        return bool(np.array_equal(expected.data, actual.data))
    return not np.any(_differences(expected, actual, rtol))


def _differences(expected: Tensor, actual: Tensor, rtol: float | None) -> Array:
    """Return where floats differ."""
    right, given = (np.asarray(each.data, np.float64) for each in (expected, actual))
    bound = 2.0 ** (-FORMATS[expected.dtype].fraction / 2) if rtol is None else rtol
    finite = right[np.isfinite(right)]
    typical = np.sqrt(np.mean(np.square(finite))) if finite.size else 0.0
    with np.errstate(all="ignore"):
        is_near = np.abs(right - given) <= bound * np.maximum(np.abs(right), typical)
    same = (right == given) | (np.isnan(right) & np.isnan(given))
    return ~(same | is_near)


def describe(expected: Any, actual: Any, path: str = "result") -> str:
    """Return in words where two values differ first.

    Examples
    --------
    >>> one, two = Tensor(np.array([1, 2]), "int64"), Tensor(np.array([1, 3]), "int64")
    >>> describe(one, two)
    'result[1]: expected 2, but got 3 (1 of 2 elements differ)'
    """
    if type(expected) is tuple and type(actual) is tuple and len(expected) == len(actual):
        for index, pair in enumerate(zip(expected, actual, strict=True)):
            if not is_close(*pair):
                return describe(*pair, f"{path}.{index}")
    if not isinstance(expected, Tensor) or not isinstance(actual, Tensor):
        return f"{path}: expected {expected!r}, but got {actual!r}"
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        kinds = [f"{each.dtype} of shape {each.shape}" for each in (expected, actual)]
        return f"{path}: expected {kinds[0]}, but got {kinds[1]}"
    if is_float(expected.dtype):
        differs = _differences(expected, actual, None)
    else:
        differs = expected.data != actual.data
    if not np.any(differs):
        return f"{path}: the numbers differ by less than is shown"
    place = tuple(int(i) for i in np.argwhere(differs)[0])
    count = f"{int(np.count_nonzero(differs))} of {differs.size} elements differ"
    return (
        f"{path}[{', '.join(map(str, place))}]: expected {expected.data[place]}, but got "
        f"{actual.data[place]} ({count})"
    )
