# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of kernels that are known before the program runs, and what depends on those alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlir import ir

from .. import op
from ..core.expr import GlobalVar
from ..core.functions import computable_at_compile_time
from ..core.ir import TensorStructInfo, TupleStructInfo
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..dialects import relax as _ops
from .fold_constant import is_computed_of_constants
from .kernels import Kernels
from .pass_context import PassContext
from .python_pass import module_pass
from .registry import PASSES
from .rewriting import rewrite_operations

_FREE_BUFFERS = "layout_free_buffers"


@module_pass(opt_level=0)
class AttachAttrLayoutFreeBuffers:
    """State which parameters of kernels may have any layout: those known before the program runs.

    They are given constants, or parameters of the function after the first `num_input` ones. Each
    call gets a kernel with the attribute `layout_free_buffers`, a list of positions; calls with the
    same list share it. Calls without such arguments keep their kernel. `SplitLayoutRewritePreproc`
    reads the attribute. At the end `DeadCodeElimination` removes kernels that nothing calls.

    Examples
    --------
    >>> import relax_mlir as relax
    >>> from relax_mlir import te
    >>> from relax_mlir.transform import AttachAttrLayoutFreeBuffers
    >>> def add(x, w):
    ...     return te.compute(x.shape, lambda i: x(i) + w(i))
    >>> x, w = (relax.Var(name, relax.TensorStructInfo((4,), "float32")) for name in "xw")
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x, w], attrs={"num_input": 1}):
    ...     _ = bb.emit_func_output(bb.emit_te(add, x, w))
    >>> "layout_free_buffers = [1]" in str(AttachAttrLayoutFreeBuffers()(bb.get()))
    True
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """State the parameters of the kernels that each function calls."""
        kernels = Kernels(mod)

        def rewrite(call: ir.Operation, free: list[int]) -> ir.Value | None:
            name = call.attributes["callee"].value
            kernel = kernels.find(name)
            if kernel is None or not free or _stated(kernel) == free:
                return None
            i64 = ir.IntegerType.get_signless(64)
            numbers = ir.ArrayAttr.get([ir.IntegerAttr.get(i64, place) for place in free])
            made = GlobalVar(kernels.add(kernel, name, {_FREE_BUFFERS: numbers}))
            old = call.opview
            return op.call_tir(made, list(old.args), old.result.type, old.packed_ints)

        return _rewrite_calls(mod, ctx, rewrite)


@module_pass(opt_level=0)
class SplitLayoutRewritePreproc:
    """Move what a kernel computes of known parameters alone into a kernel of its own.

    A kernel that brings weights into another layout before it uses them becomes two,
    ``<name>_weight_prepack`` and ``<name>_prepacked``. The call of the first one depends on nothing
    but what is known before the program runs, and so does its result. At the end
    `DeadCodeElimination` removes kernels that nothing calls.

    Parameters are known that the attribute `layout_free_buffers` of the kernel states, or that are
    given constants, or parameters of the function after the first `num_input` ones. What is moved
    are the operations that fill buffers of the kernel of those, and of other such buffers. Sizes of
    the buffers are known. Kernels on tensors are left alone, as those of operators, and calls all
    of whose arguments are known.

    Notes
    -----
    TVM splits where a block has the annotation ``meta_schedule.layout_rewrite_preproc``.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Split the kernels that each function calls."""
        kernels = Kernels(mod)

        def rewrite(call: ir.Operation, free: list[int]) -> ir.Value | None:
            kernel = kernels.find(call.attributes["callee"].value)
            known = {*free, *_stated(kernel)} if kernel is not None else set()
            if kernel is None or len(known) == len(call.opview.args):
                return None  # all of it can be computed before
            split = _Split.of(kernel, known)
            return split.write(call, kernels) if split is not None else None

        return _rewrite_calls(mod, ctx, rewrite)


def _rewrite_calls(
    mod: IRModule, ctx: PassContext, rewrite: Callable[[ir.Operation, list[int]], ir.Value | None]
) -> IRModule:
    """Replace calls of kernels by what a function makes of one and its known arguments."""
    for function in list(mod.functions.values()):
        if not isinstance(function, _ops.FuncOp):
            continue
        known = set(computable_at_compile_time(function))

        def replace(call: ir.Operation, known: set[ir.Value] = known) -> ir.Value | None:
            return rewrite(call, _known_arguments(call, known))

        rewrite_operations(function.operation, ["relax.call_tir"], replace)
    return IRModule(PASSES["DeadCodeElimination"]().run_on_module(mod.module, ctx))


def _known_arguments(call: ir.Operation, known: set[ir.Value]) -> list[int]:
    """Return which arguments of a call are known before the program runs."""
    return [
        place
        for place, value in enumerate(call.opview.args)
        if isinstance(value.type, TensorStructInfo)
        and (value in known or is_computed_of_constants(value))
    ]


def _stated(kernel: ir.Operation) -> list[int]:
    if _FREE_BUFFERS not in kernel.attributes:
        return []
    return [place.value for place in kernel.attributes[_FREE_BUFFERS]]


# ---------------------------------------------------------------------------------------------
# What depends on known parameters alone
# ---------------------------------------------------------------------------------------------

# The operations that compute values of which each part of a kernel has its own copies.
_PURE = ("arith.", "math.", "memref.dim")
_ALLOCATIONS = ("memref.alloc", "memref.alloca")
# The operands that are read and written by operations on elements.
_LOADS, _STORES = {"memref.load": 0}, {"memref.store": 1}


@dataclass
class _Accesses:
    """The buffers, and other values of a kernel, that an operation reads, and those it writes."""

    reads: set[ir.Value]
    writes: set[ir.Value]

    @staticmethod
    def of(found: ir.Operation) -> _Accesses | None:
        """Return what an operation accesses; None where it is not known."""
        result = _Accesses(set(), set())
        for inner in walk(found):
            is_known = inner.name.startswith(("arith.", "math.", "scf.", "linalg.")) or (
                inner.name in (*_LOADS, *_STORES)
            )
            if not is_known:
                return None
            operands = list(inner.operands)
            written = _written(inner)
            result.writes.update(operands[place] for place in written)
            result.reads.update(
                value
                for place, value in enumerate(operands)
                if place not in written or inner.name.startswith("linalg.")
            )
        return result


def _written(found: ir.Operation) -> list[int]:
    if found.name in _STORES:
        return [_STORES[found.name]]
    if not found.name.startswith("linalg.") or found.name in ("linalg.yield", "linalg.index"):
        return []
    count = len(found.operands)
    return list(range(count - list(found.attributes["operandSegmentSizes"])[1], count))


@dataclass
class _Split:
    """A kernel in two parts.

    Attributes
    ----------
    kernel : mlir.ir.Operation
    moved : set of int
        The operations of the first part, by their places in the body.
    cuts : dict of int to set of int
        The allocations of buffers that the second part reads, and the parameters that each of them
        is computed of.
    """

    kernel: ir.Operation
    moved: set[int]
    cuts: dict[int, set[int]]

    @staticmethod
    def of(kernel: ir.Operation, free: set[int]) -> _Split | None:
        """Return the parts of a kernel; None where it has one only."""
        regions = kernel.regions[0]
        is_of_tensors = len(kernel.attributes["function_type"].value.results) > 0
        if not free or is_of_tensors or len(regions.blocks) != 1:
            return None
        analysis = _Analysis(regions.blocks[0], free)
        cuts = analysis.cuts()
        return _Split(kernel, analysis.moved, cuts) if cuts else None

    def write(self, call: ir.Operation, kernels: Kernels) -> ir.Value:
        """Write the calls of both parts, and return what stands for the result."""
        name = self.kernel.attributes["sym_name"].value
        args = list(call.opview.args)
        used = sorted({place for places in self.cuts.values() for place in places})
        first = self._first(used)
        types = [_struct_info(type_) for type_ in _inputs(first)[len(used) :]]
        packed = op.call_tir(
            _added(kernels, first, f"{name}_weight_prepack"),
            [args[place] for place in used],
            types[0] if len(types) == 1 else TupleStructInfo(types),
        )
        several = range(len(types))
        fields = [packed] if len(types) == 1 else [op.get_item(packed, i) for i in several]
        second, entries = self._second(len(args))
        return op.call_tir(
            _added(kernels, second, f"{name}_prepacked"),
            [fields[i] if is_field else args[i] for is_field, i in entries],
            call.results[0].type,
            call.opview.packed_ints,
        )

    def _copy(self) -> tuple[ir.Operation, list[ir.Operation]]:
        copy: ir.Operation = self.kernel.clone(ip=ir.InsertionPoint(self.kernel)).operation
        if _FREE_BUFFERS in copy.attributes:
            del copy.attributes[_FREE_BUFFERS]
        return copy, [each.operation for each in copy.regions[0].blocks[0].operations]

    def _first(self, used: Sequence[int]) -> ir.Operation:
        """Return the part that fills the buffers: it takes parameters, then the buffers."""
        copy, body = self._copy()
        buffers = [body[place].results[0] for place in self.cuts]
        params = list(copy.regions[0].blocks[0].arguments)
        _set_arguments(copy, [params[place] for place in used] + buffers)
        for place, found in reversed(list(enumerate(body[:-1]))):
            if place not in self.moved and not found.name.startswith((*_PURE, *_ALLOCATIONS)):
                found.erase()
        _finish(copy)
        return copy

    def _second(self, count: int) -> tuple[ir.Operation, list[tuple[bool, int]]]:
        """Return the part that reads the buffers, and the origin of each of its inputs.

        That is the number of a buffer or of an argument. A buffer comes after the first parameter
        that it is computed of. Such parameters are left out where nothing else reads them.
        """
        copy, body = self._copy()
        buffers = [body[place].results[0] for place in self.cuts]
        for place in sorted(self.moved, reverse=True):
            body[place].erase()
        params = list(copy.regions[0].blocks[0].arguments)
        origins: list[tuple[bool, int]] = []
        used = {place for places in self.cuts.values() for place in places}
        for place in range(count):
            if place not in used or list(params[place].uses):
                origins.append((False, place))
            origins += [
                (True, i) for i, places in enumerate(self.cuts.values()) if min(places) == place
            ]
        inputs = [buffers[i] if is_field else params[i] for is_field, i in origins]
        _set_arguments(copy, inputs + params[count:])
        _finish(copy)
        return copy, origins


class _Analysis:
    """Finds the buffers of a kernel that are filled of known parameters alone."""

    def __init__(self, block: ir.Block, free: set[int]) -> None:
        self._body = [each.operation for each in block.operations][:-1]
        self._params = {block.arguments[place]: place for place in free}
        #: What each value or buffer that is known is computed of.
        self._known: dict[ir.Value, set[int]] = {
            value: {place} for value, place in self._params.items()
        }
        self._accesses = [_Accesses.of(each) for each in self._body]
        self.moved: set[int] = set()

    def cuts(self) -> dict[int, set[int]]:
        """Return the allocations of known buffers that the rest reads, and what they depend on."""
        places = self._known_buffers()
        kept = [i for i in range(len(self._body)) if i not in self.moved]
        users = {value for i in kept for value in self._values_of(i)}
        return {
            place: self._known[self._body[place].results[0]]
            for place in places
            if self._body[place].results[0] in users
        }

    def _values_of(self, place: int) -> set[ir.Value]:
        return {value for inner in walk(self._body[place]) for value in inner.operands}

    def _known_buffers(self) -> list[int]:
        places = [place for place, found in enumerate(self._body) if _is_buffer(found)]
        while True:
            self._propagate({self._body[place].results[0] for place in places})
            kept = [place for place in places if self._known.get(self._body[place].results[0])]
            if kept == places:
                return places
            places = kept

    def _propagate(self, buffers: set[ir.Value]) -> None:
        """Go through the body once, if these buffers are known."""
        self._known = {value: {place} for value, place in self._params.items()}
        self._known.update((buffer, set()) for buffer in buffers)
        self.moved = set()
        local = {arg for found in self._body for arg in _inner_values(found)}
        for place, found in enumerate(self._body):
            accesses = self._accesses[place]
            if found.name.startswith(_PURE):
                if all(value in self._known for value in found.operands):
                    of = [self._known[value] for value in found.operands]
                    self._known[found.results[0]] = set().union(*of)
                continue
            if _is_buffer(found):
                continue
            if accesses is None:
                self._forget(self._values_of(place))
                continue
            reads = accesses.reads - local
            is_known = all(value in self._known for value in reads)
            if is_known and accesses.writes and accesses.writes <= buffers:
                self.moved.add(place)
                for buffer in accesses.writes:
                    self._known[buffer] |= set().union(*(self._known[each] for each in reads))
            else:
                self._forget(accesses.writes)

    def _forget(self, values: set[ir.Value]) -> None:
        for value in values & self._known.keys() - self._params.keys():
            del self._known[value]


def _is_buffer(found: ir.Operation) -> bool:
    is_allocation = found.name in _ALLOCATIONS and len(found.operands) == 0
    return is_allocation and ir.ShapedType(found.results[0].type).has_static_shape


def _inner_values(found: ir.Operation) -> set[ir.Value]:
    """Return the values that are made inside of an operation."""
    made = [value for inner in walk(found) if inner != found for value in inner.results]
    blocks = [block for inner in walk(found) for region in inner.regions for block in region.blocks]
    return {*made, *(argument for block in blocks for argument in block.arguments)}


# ---------------------------------------------------------------------------------------------
# Kernels
# ---------------------------------------------------------------------------------------------


def _struct_info(type_: ir.Type) -> TensorStructInfo:
    shaped = ir.ShapedType(type_)
    return TensorStructInfo(tuple(shaped.shape), shaped.element_type)


def _inputs(kernel: ir.Operation) -> list[ir.Type]:
    return list(kernel.attributes["function_type"].value.inputs)


def _added(kernels: Kernels, kernel: ir.Operation, name: str) -> GlobalVar:
    """Add a kernel that stands in the module for now."""
    made = GlobalVar(kernels.add(kernel, name))
    kernel.erase()
    return made


def _set_arguments(kernel: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Give a kernel arguments in the place of some values, which are arguments or buffers."""
    block = kernel.regions[0].blocks[0]
    old = list(block.arguments)
    attributes = _argument_attributes(kernel, len(old))
    kept = [attributes[old.index(each)] if each in old else ir.DictAttr.get({}) for each in values]
    for value in values:
        new = block.add_argument(value.type, kernel.location)
        value.replace_all_uses_with(new)
    if any(len(each) for each in kept):
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(kept)
    elif "arg_attrs" in kernel.attributes:
        del kernel.attributes["arg_attrs"]


def _argument_attributes(kernel: ir.Operation, count: int) -> list[ir.Attribute]:
    if "arg_attrs" not in kernel.attributes:
        return [ir.DictAttr.get({})] * count
    return list(kernel.attributes["arg_attrs"])


def _finish(kernel: ir.Operation) -> None:
    """Erase what is not used, and the arguments that a kernel had before."""
    block = kernel.regions[0].blocks[0]
    for found in reversed([each.operation for each in block.operations][:-1]):
        is_needless = found.name.startswith((*_PURE, *_ALLOCATIONS))
        if is_needless and not any(True for result in found.results for _ in result.uses):
            found.erase()
    for place in reversed(range(len(_inputs(kernel)))):  # of the type that it has until here
        block.erase_argument(place)
    types = [argument.type for argument in block.arguments]
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
