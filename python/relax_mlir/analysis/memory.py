# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much memory the tensors of programs take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlir import ir

from ..dialects import relax as _ops
from ..ir import TensorStructInfo
from .variables import walk

if TYPE_CHECKING:
    from ..ir_module import IRModule, ModuleLike


@dataclass
class MemoryUsage:
    """The memory that one function takes for its tensors.

    Attributes
    ----------
    function : str
    constant_count, constant_bytes : int
        The allocations whose sizes are known, and their sum: what the function takes if nothing
        that is dead is used again.
    dynamic_count : int
        The allocations whose sizes depend on shape variables.
    peak_bytes : int
        The most that is held at a time of those whose sizes are known, as each tensor is dropped
        after its last use.
    """

    function: str
    constant_count: int = 0
    constant_bytes: int = 0
    dynamic_count: int = 0
    peak_bytes: int = 0

    def __str__(self) -> str:
        part = f" ({self.peak_bytes / self.constant_bytes:.1%})" if self.constant_bytes else ""
        lines = [
            f"- Function {self.function}:",
            f" * {self.constant_count} constant-size allocation(s) take "
            f"{_size(self.constant_bytes)} without reuse of memory.",
            f" * At most {_size(self.peak_bytes)} of them{part} are held at a time.",
        ]
        if self.dynamic_count:
            lines.append(f" * {self.dynamic_count} dynamic-size allocation(s) are not counted.")
        return "\n".join(lines)


def _size(bytes_: int) -> str:
    return f"{bytes_ / 2**30:.4} GB"


def memory_usage(
    mod: ModuleLike, shape_vars: Mapping[str, int] | None = None
) -> dict[str, MemoryUsage]:
    """Return the memory that the functions of a module take for their tensors.

    Parameters
    ----------
    mod : IRModule, mlir.ir.Module, str or BlockBuilder
        Where operators and calls of kernels are in it, what the phases "normalize", "legalize"
        and "memory" of `relax_mlir.compile` make of it is looked at.
    shape_vars : mapping of str to int, optional
        Values of shape variables: sizes that depend on these alone are known.

    Returns
    -------
    dict of str to MemoryUsage
        By the names of the functions; those that compilation makes of closures are among them.

    Notes
    -----
    Both branches of an ``if`` count, and calls of other functions do not. What kernels allocate
    for themselves, and what constants and arguments take, is not counted. There is no plan of
    memory in this project yet, which would have one function reuse the memory of its tensors
    where their lifetimes do not overlap: the peak is a bound of what it can reach.

    Raises
    ------
    ValueError
        If the shapes of the module are lowered: dimensions are values then.

    Examples
    --------
    >>> usage = memory_usage('''
    ... relax.func @main(%x: !relax.tensor<[256], f32>) -> !relax.tensor<[256], f32> {
    ...   %0 = relax.exp %x : (!relax.tensor<[256], f32>) -> !relax.tensor<[256], f32>
    ...   %1 = relax.exp %0 : (!relax.tensor<[256], f32>) -> !relax.tensor<[256], f32>
    ...   %2 = relax.exp %1 : (!relax.tensor<[256], f32>) -> !relax.tensor<[256], f32>
    ...   relax.return %2 : !relax.tensor<[256], f32>
    ... }''')["main"]
    >>> usage.constant_count, usage.constant_bytes, usage.peak_bytes
    (3, 3072, 2048)
    """
    module = _lowered(mod)
    return {
        name: _usage(name, op, shape_vars or {})
        for name, op in module.functions.items()
        if isinstance(op, _ops.FuncOp)
    }


def estimate_memory_usage(mod: ModuleLike, shape_vars: Mapping[str, int] | None = None) -> str:
    """Return as text how much memory the functions of a module take for their tensors.

    Parameters
    ----------
    mod : IRModule, mlir.ir.Module, str or BlockBuilder
    shape_vars : mapping of str to int, optional
        As of `memory_usage`, which gives numbers.

    Returns
    -------
    str

    Examples
    --------
    >>> print(estimate_memory_usage('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   relax.return %0 : !relax.tensor<[n], f32>
    ... }''', {"n": 1 << 20}))
    Memory usage estimation:
    - Function main:
     * 1 constant-size allocation(s) take 0.003906 GB without reuse of memory.
     * At most 0.003906 GB of them (100.0%) are held at a time.
    """
    usages = memory_usage(mod, shape_vars)
    return "\n".join(["Memory usage estimation:", *map(str, usages.values())]) if usages else ""


def _lowered(mod: ModuleLike) -> IRModule:
    """Return the module with its allocations."""
    from ..ir_module import as_module
    from ..transform import Sequential, phase

    module = as_module(mod)
    names = {op.name for op in walk(module.operation)}
    if "relax.builtin.alloc_tensor" not in names:
        module = Sequential([phase(name) for name in ("normalize", "legalize", "memory")])(module)
    return module


def _usage(name: str, function: ir.OpView, shape_vars: Mapping[str, int]) -> MemoryUsage:
    usage = MemoryUsage(name)
    sizes: dict[ir.Value, int] = {}
    for op in walk(function.operation):
        if op.name != "relax.builtin.alloc_tensor":
            continue
        if len(op.operands):
            raise ValueError(f"expected function '{name}' before its shapes are lowered")
        size = _bytes(op.results[0].type, shape_vars)
        if size is None:
            usage.dynamic_count += 1
        else:
            usage.constant_count += 1
            usage.constant_bytes += size
            sizes[op.results[0]] = size
    usage.peak_bytes = _peak(function.regions[0].blocks[0], sizes)
    return usage


def _bytes(type_: TensorStructInfo, shape_vars: Mapping[str, int]) -> int | None:
    if type_.shape is None or type_.element_type is None:
        return None
    size = (_bits(type_.element_type) + 7) // 8
    for dim in type_.shape.dims:
        value = dim.evaluate(shape_vars)
        if value is None:
            return None
        size *= value
    return size


def _bits(element: ir.Type) -> int:
    return element.width


def _peak(block: ir.Block, sizes: Mapping[ir.Value, int]) -> int:
    """Return the most that is held at a time, where a tensor is dropped after its last use."""
    steps = list(_steps(block))
    holders = _holders(steps, sizes)
    last: dict[ir.Value, int] = {}
    for place, op in enumerate(steps):
        for operand in op.operands:
            for tensor in holders.get(operand, ()):
                last[tensor] = place
    held = peak = 0
    for place, op in enumerate(steps):
        for result in op.results:
            if result in sizes:
                held += sizes[result]
                last.setdefault(result, place)
        peak = max(peak, held)
        held -= sum(sizes[tensor] for tensor, end in last.items() if end == place)
    return peak


def _steps(block: ir.Block) -> Iterator[ir.Operation]:
    """Yield operations as they run, one branch after the other."""
    for inner in block.operations:
        for region in inner.operation.regions:
            for nested in region.blocks:
                yield from _steps(nested)
        yield inner.operation


def _holders(
    steps: list[ir.Operation], sizes: Mapping[ir.Value, int]
) -> dict[ir.Value, frozenset[ir.Value]]:
    """Return for each value the tensors that it may hold: itself, or what it is made of."""
    holders: dict[ir.Value, frozenset[ir.Value]] = {}
    for op in steps:
        inner = [
            operand
            for region in op.regions
            for nested in region.blocks
            for operand in list(nested.operations)[-1].operation.operands
        ]
        given = [holders.get(operand, frozenset()) for operand in (*op.operands, *inner)]
        made_of: frozenset[ir.Value] = frozenset().union(*given)
        for result in op.results:
            holders[result] = frozenset([result]) if result in sizes else made_of
    return holders
