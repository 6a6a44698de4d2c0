# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory usage of the tensors of programs, without and with a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlir import ir
from relax_runtime.bounds import INT64, between
from relax_runtime.near_misses import did_you_mean

from ..core.ir import Dim, TensorStructInfo
from ..core.ir_module import IRModule, ModuleLike, as_module
from ..core.variables import blocks_of, defined_symbolic_vars, walk
from ..dialects import relax as _ops
from ..transform import Sequential, phase

_UPPER_BOUND = "tir_var_upper_bound"


@dataclass(frozen=True)
class StorageUsage:
    """A piece of memory.

    Attributes
    ----------
    size : Dim
        The number of bytes over the shape variables of the function.
    bytes : int or None
        The number, where it is known.
    is_shared : bool
        Whether it is a storage of the plan; else it is the own memory of one tensor.
    """

    size: Dim
    bytes: int | None
    is_shared: bool


@dataclass(frozen=True)
class TensorUsage:
    """A tensor that a function allocates.

    Attributes
    ----------
    name : str
        The operation that writes it first: the name of a kernel or packed function.
    type : mlir.ir.Type
    size : Dim
    bytes : int or None
        As of `StorageUsage`.
    storage : int
        Its memory, as an index.
    offset : int
        Where it begins in it.
    begin, end : int
        The steps of the function from the one that writes it first to the last that needs it.
    """

    name: str
    type: ir.Type
    size: Dim
    bytes: int | None
    storage: int
    offset: int
    begin: int
    end: int


@dataclass
class MemoryUsage:
    """The memory that one function takes for its tensors.

    Attributes
    ----------
    function : str
    tensors : list of TensorUsage
    storages : list of StorageUsage
    steps : list of str
        The operations of the function in order, one branch after the other, by name.
    unplanned, planned : Dim or None
        The bytes of all tensors, and those of all storages: what the function takes where nothing
        that is dead is used again, and what it takes.
    unplanned_bytes, planned_bytes : int or None
        The same as numbers, where they are known.
    peak_bytes : int or None
        The most that tensors in use at the same time take: no plan can do with less, unless a
        kernel writes over what it reads.
    """

    function: str
    tensors: list[TensorUsage] = field(default_factory=list)
    storages: list[StorageUsage] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    unplanned: Dim | None = None
    planned: Dim | None = None
    unplanned_bytes: int | None = 0
    planned_bytes: int | None = 0
    peak_bytes: int | None = 0

    def __str__(self) -> str:
        shared = sum(storage.is_shared for storage in self.storages)
        lines = [
            f"- Function {self.function}:",
            f" * {len(self.tensors)} tensor(s) take {_amount(self.unplanned_bytes, self.unplanned)}"
            " without a plan.",
            f" * {shared} storage(s) and {len(self.storages) - shared} tensor(s) with memory of "
            f"their own take {_amount(self.planned_bytes, self.planned)}{self._share()}.",
        ]
        if self.peak_bytes is not None:
            lines.append(
                f" * Tensors in use at the same time take {format_bytes(self.peak_bytes)}."
            )
        return "\n".join(lines)

    def _share(self) -> str:
        if self.planned_bytes is None or not self.unplanned_bytes:
            return ""
        return f" ({self.planned_bytes / self.unplanned_bytes:.1%})"


class MemoryEstimate(dict[str, MemoryUsage]):
    """The memory that the functions of a module take, by their names; as text a summary."""

    def __str__(self) -> str:
        return "\n".join(["Memory usage estimation:", *map(str, self.values())]) if self else ""


def format_bytes(number: int) -> str:
    """Return a number of bytes as text: "1.5 KiB"."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if number >= size:
            return f"{number / size:.4g} {unit}"
    return f"{number} bytes"


def _amount(number: int | None, size: Dim | None) -> str:
    return (
        f"{size.text} bytes" if number is None and size is not None else format_bytes(number or 0)
    )


def estimate_memory_usage(
    mod: ModuleLike, sizes: Mapping[str, int] | None = None
) -> MemoryEstimate:
    """Return the memory that the functions of a module take for their tensors.

    Parameters
    ----------
    mod : IRModule, mlir.ir.Module, str or BlockBuilder
        Where operators and calls of kernels are in it, what the phases "normalize", "legalize"
        and "memory" of `relax_mlir.compile` make of it is looked at.
    sizes : mapping of str to int, optional
        Values of shape variables. A variable with an upper bound (``tir_var_upper_bound``) has
        that value if no other is given.

    Returns
    -------
    MemoryEstimate
        By the names of the functions; those that compilation makes of closures are among them.

    Notes
    -----
    Both branches of an ``if`` count, and calls of other functions do not. What kernels allocate
    for themselves, and what constants and arguments take, is not counted.

    Raises
    ------
    TypeError
        If a size is no int.
    ValueError
        If the shapes of the module are lowered: dimensions are values then. If a size is below 0,
        or that of no shape variable of the module.

    Examples
    --------
    >>> usage = estimate_memory_usage('''
    ... relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
    ...   %0 = relax.softmax %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ...   %1 = relax.softmax %0 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ...   %2 = relax.softmax %1 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ...   %3 = relax.exp %2 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ...   %4 = relax.softmax %3 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    ...   relax.return %4 : !relax.tensor<[n, 4], f32>
    ... }''')
    >>> print(usage)
    Memory usage estimation:
    - Function main:
     * 5 tensor(s) take n * 80 bytes without a plan.
     * 2 storage(s) and 1 tensor(s) with memory of their own take n * 48 bytes.
    >>> usage["main"].planned.evaluate({"n": 10})
    480
    """
    module = _lowered(mod)
    if sizes:
        _check_sizes(module, sizes)
    return MemoryEstimate(
        (name, _usage(name, op, sizes or {}))
        for name, op in module.functions.items()
        if isinstance(op, _ops.FuncOp) and op.regions[0].blocks
    )


def _check_sizes(module: IRModule, sizes: Mapping[str, int]) -> None:
    known = [str(variable.name) for variable in defined_symbolic_vars(module.operation)]
    for name, size in sizes.items():
        between(f"the size of '{name}'", size, 0, INT64)
        if name not in known:
            raise ValueError(
                f"expected the name of a shape variable ({', '.join(known) or 'none'}), but got "
                f"{name!r}{did_you_mean(name, known)}"
            )


def _lowered(mod: ModuleLike) -> IRModule:
    """Return the module with its allocations."""
    module = as_module(mod)
    names = {op.name for op in walk(module.operation)}
    if "relax.builtin.alloc_tensor" not in names:
        module = Sequential([phase(name) for name in ("normalize", "legalize", "memory")])(module)
    return module


def _usage(name: str, function: ir.OpView, sizes: Mapping[str, int]) -> MemoryUsage:
    values = {**_upper_bounds(function), **sizes}
    usage = MemoryUsage(name)
    *steps, _ = walk(function.operation, post_order=True)
    usage.steps = [_label(op) for op in steps]
    storages: dict[ir.Value, int] = {}
    allocations = []
    for op in steps:
        if op.name == "relax.builtin.alloc_storage":
            storages[op.results[0]] = _add_storage(usage, _storage_size(name, op), values, True)
        elif op.name == "relax.builtin.alloc_tensor":
            allocations.append(op)
    lives = _lives(steps, {op.results[0] for op in allocations})
    for op in allocations:
        tensor = op.results[0]
        size = _tensor_size(name, op)
        if len(op.operands):
            storage, offset = storages[op.operands[0]], op.attributes["offset"].value
        else:
            storage, offset = _add_storage(usage, size, values, False), 0
        begin, end = lives[tensor]
        label, known = usage.steps[begin], size.evaluate(values)
        usage.tensors.append(
            TensorUsage(label, tensor.type, size, known, storage, offset, begin, end)
        )
    usage.unplanned, usage.unplanned_bytes = _total(usage.tensors)
    usage.planned, usage.planned_bytes = _total(usage.storages)
    usage.peak_bytes = _peak(usage.tensors)
    return usage


def _upper_bounds(function: ir.OpView) -> dict[str, int]:
    if _UPPER_BOUND not in function.attributes:
        return {}
    return {bound.name: bound.attr.value for bound in function.attributes[_UPPER_BOUND]}


def _add_storage(usage: MemoryUsage, size: Dim, values: Mapping[str, int], is_shared: bool) -> int:
    usage.storages.append(StorageUsage(size, size.evaluate(values), is_shared))
    return len(usage.storages) - 1


def _storage_size(name: str, op: ir.Operation) -> Dim:
    if "size" not in op.attributes:
        raise ValueError(f"expected function '{name}' before its shapes are lowered")
    return Dim(op.attributes["size"])


def _tensor_size(name: str, op: ir.Operation) -> Dim:
    type_ = op.results[0].type
    assert isinstance(type_, TensorStructInfo)
    if (
        type_.shape is None
        or type_.element_type is None
        or any(isinstance(v.type, ir.IntegerType) for v in op.operands)
    ):
        raise ValueError(f"expected function '{name}' before its shapes are lowered")
    size = Dim((type_.element_type.width + 7) // 8)
    for dim in type_.shape.dims:
        size = size * dim
    return size


def _total(
    parts: list[TensorUsage] | list[StorageUsage],
) -> tuple[Dim | None, int | None]:
    if not parts:
        return None, 0
    size = parts[0].size
    for part in parts[1:]:
        size = size + part.size
    known = [part.bytes for part in parts if part.bytes is not None]
    return size, sum(known) if len(known) == len(parts) else None


def _peak(tensors: list[TensorUsage]) -> int | None:
    """Return the most that is in use at a time."""
    sizes = [tensor.bytes for tensor in tensors if tensor.bytes is not None]
    if len(sizes) != len(tensors):
        return None
    return max(
        (
            sum(
                size for t, size in zip(tensors, sizes, strict=True) if t.begin <= at.begin <= t.end
            )
            for at in tensors
        ),
        default=0,
    )


def _label(op: ir.Operation) -> str:
    for name in ("callee", "sym_name"):
        if name in op.attributes:
            return str(op.attributes[name].value)
    return op.name.removeprefix("relax.")


def _lives(steps: list[ir.Operation], tensors: set[ir.Value]) -> dict[ir.Value, tuple[int, int]]:
    """Return for each tensor the step that uses it first and that which uses it last."""
    holders = _holders(steps, tensors)
    lives: dict[ir.Value, tuple[int, int]] = {}
    for place, op in enumerate(steps):
        for operand in op.operands:
            for tensor in holders.get(operand, ()):
                lives[tensor] = (lives.get(tensor, (place,))[0], place)
    for place, op in enumerate(steps):
        for result in op.results:
            if result in tensors:
                lives.setdefault(result, (place, place))
    return lives


def _holders(
    steps: list[ir.Operation], tensors: set[ir.Value]
) -> dict[ir.Value, frozenset[ir.Value]]:
    """Return for each value the tensors that it may hold: itself, or what it is made of."""
    holders: dict[ir.Value, frozenset[ir.Value]] = {}
    for op in steps:
        inner = [
            operand
            for block in blocks_of(op)
            for operand in list(block.operations)[-1].operation.operands
        ]
        given = [holders.get(operand, frozenset()) for operand in (*op.operands, *inner)]
        made_of: frozenset[ir.Value] = frozenset().union(*given)
        for result in op.results:
            holders[result] = frozenset([result]) if result in tensors else made_of
    return holders
