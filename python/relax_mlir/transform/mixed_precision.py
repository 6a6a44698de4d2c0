# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixed precision: products are computed of floats of 16 bits, and what loses digits is not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mlir import ir

from .. import op
from ..core.constants import bytes_of
from ..core.dtypes import element_type
from ..core.ir import TensorStructInfo, TupleStructInfo
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..dialects import relax as _ops
from ..op._ops_gen import CONVOLUTIONS, ELEMENTWISE, POOLS
from .operations import copy_operation
from .pass_context import PassContext
from .python_pass import module_pass
from .signatures import param_names

#: The operations that are computed of 16 bits: what tensor cores and matrix units are for.
PRODUCTS = frozenset({*CONVOLUTIONS, "relax.matmul", "relax.attention"})
#: Those whose result has the data type of `out_dtype`, in which they sum up.
_WITH_OUT_DTYPE = frozenset({*CONVOLUTIONS, "relax.matmul"})
#: Those that only move elements: they are the same of rounded ones.
_MOVES = frozenset(
    {
        *("relax.broadcast_to", "relax.concat", "relax.expand_dims", "relax.flatten"),
        *("relax.permute_dims", "relax.reshape", "relax.split", "relax.squeeze"),
        *("relax.stack", "relax.strided_slice", "relax.dynamic_strided_slice"),
    }
)
#: Those that are computed of 16 bits where all operands have 16 bits.
_FOLLOWING = frozenset(
    {
        *ELEMENTWISE,
        *POOLS,
        *_MOVES,
        *("relax.layout_transform", "relax.meshgrid", "relax.pad", "relax.resize2d"),
        *("relax.layer_norm", "relax.group_norm", "relax.instance_norm", "relax.rms_norm"),
    }
)

# The data types that are changed.
_DTYPES = ("float16", "bfloat16", "float32")
_LARGEST = {"float16": 65504.0, "bfloat16": float("inf")}

# What is needed of a tensor: nothing that is known, only 16 bits, or all of it. Of a tuple: a list
# of what is needed of its fields.
_UNKNOWN, _LOW, _FULL = range(3)
_Need = Any


@module_pass(opt_level=0)
class ToMixedPrecision:
    """Compute products of floats of 16 bits, within dataflow blocks.

    Products (`matmul`, convolutions, `attention`) get operands of 16 bits, and sum up in
    `out_dtype`. Operations on elements, pools, normalizations and those that only move elements
    follow: they are computed of 16 bits where all of their operands have them, and of `float32`
    otherwise. All others, such as `softmax` and sums, get the operands that they had. Values that
    only products read, as they are or moved, are kept in 16 bits. The types of results of functions
    stay.

    Parameters
    ----------
    out_dtype : str
        In which products sum up: "float32", or `dtype`.
    fp16_input_names : sequence of str, optional
        Parameters of functions that are of `dtype` from now on.
    dtype : str
        "float16" or "bfloat16".
    products : collection of str, optional
        Which operations are products, such as ``["relax.matmul"]``; by default all that are named
        above.
    check : callable, optional
        ``check(operation)`` says of an `mlir.ir.Operation` whether to compute it of 16 bits:
        of a product, and of what would follow.
    everywhere : bool
        Whether what is outside of dataflow blocks is changed, too.

    Raises
    ------
    ValueError
        If a data type, or a product, is another one, or there is no parameter of a name.

    Notes
    -----
    The policy is that of TVM, which has `out_dtype` and `fp16_input_names`. A product by quantized
    weights stays as it is, since it unpacks them itself, and so do operations of other floats, such
    as `float64`. Constants beyond 65504 count as operands of `float32` where `dtype` is "float16".

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import ToMixedPrecision
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 4), "float32"))
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     with bb.dataflow():
    ...         y = bb.emit(relax.op.matmul(x, np.ones((4, 8), "float32")))
    ...         y = bb.emit_output(relax.op.nn.softmax(relax.op.nn.relu(y)))
    ...     _ = bb.emit_func_output(y)
    >>> text = str(ToMixedPrecision()(bb.get()))
    >>> [line.split()[2] for line in text.splitlines() if line.endswith("f16>")]
    ['relax.astype', 'relax.astype', 'relax.astype', 'relax.relu']
    """

    def __init__(
        self,
        out_dtype: str = "float32",
        fp16_input_names: Sequence[str] | None = None,
        *,
        dtype: str = "float16",
        products: Collection[str] | None = None,
        check: Callable[[ir.Operation], bool] | None = None,
        everywhere: bool = False,
    ) -> None:
        if dtype not in _LARGEST:
            raise ValueError(f"expected dtype, one of float16, bfloat16, but got {dtype!r}")
        if out_dtype not in ("float32", dtype):
            raise ValueError(f"expected out_dtype, one of float32, {dtype}, but got {out_dtype!r}")
        for name in products or ():
            if name not in PRODUCTS:
                known = ", ".join(sorted(PRODUCTS))
                raise ValueError(f"expected products, any of {known}, but got {name!r}")
        self._names = frozenset(fp16_input_names or ())
        self._policy = _Policy(dtype, out_dtype, frozenset(products or PRODUCTS), check)
        self._everywhere = everywhere

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Change each function of the module."""
        missing = set(self._names)
        for function in mod.module.body.operations:
            if not isinstance(function, _ops.FuncOp) or not function.body.blocks:
                continue
            missing -= set(param_names(function.operation))
            widened = _narrow_parameters(function, self._names, self._policy.dtype)
            widened |= _widened_constants(function.operation, self._policy.dtype)
            parameters = list(function.body.blocks[0].arguments)
            for block in list(self._blocks(function.operation)):
                _Block(block, self._policy, widened).convert(parameters)
            for value in widened:
                if not list(value.uses):
                    value.owner.operation.erase()
        if missing:
            raise ValueError(f"expected names of parameters, but got {sorted(missing)}")
        return mod

    def _blocks(self, function: ir.Operation) -> Iterator[ir.Block]:
        """Yield the blocks to change, each before those inside."""
        for found in walk(function):
            if self._everywhere or found.name == "relax.dataflow":
                yield from (block for region in found.regions for block in region.blocks)


def _narrow_parameters(
    function: Any, names: Collection[str], dtype: str
) -> dict[ir.Value, ir.Value]:
    """Make parameters of 16 bits; return each by its cast to `float32`, which others read."""
    widened: dict[ir.Value, ir.Value] = {}
    attributes = function.operation.attributes
    block, signature = function.body.blocks[0], attributes["function_type"].value
    inputs = list(signature.inputs)
    for i, name in enumerate(param_names(function.operation)):
        if name in names and _is_float(inputs[i], ("float32",)):
            argument = block.arguments[i]
            inputs[i] = _with_dtype(inputs[i], dtype)
            argument.set_type(inputs[i])
            with ir.InsertionPoint.at_block_begin(block), function.location:
                cast = op.astype(argument, "float32")
            argument.replace_all_uses_except(cast, cast.owner.operation)
            widened[cast] = argument
    kept = ir.FunctionType.get(inputs, list(signature.results))
    attributes["function_type"] = ir.TypeAttr.get(kept)
    return widened


def _widened_constants(function: ir.Operation, dtype: str) -> dict[ir.Value, ir.Value]:
    """Return constants of 16 bits by their casts to `float32`, as `BindParams` makes them."""
    return {
        found.results[0]: found.operands[0]
        for found in walk(function)
        if found.name == "relax.astype"
        and _is_float(found.results[0].type, ("float32",))
        and _is_float(found.operands[0].type, (dtype,))
        and _is_constant(found.operands[0])
    }


@dataclass(frozen=True)
class _Policy:
    """Which operations are computed of 16 bits, and in which type they sum up."""

    dtype: str
    out_dtype: str
    products: frozenset[str]
    check: Callable[[ir.Operation], bool] | None

    def of(self, found: ir.Operation) -> str:
        """Return when an operation is computed of 16 bits: "always", "never", or it "follows"."""
        if any(map(self.is_other, found.operands)):
            return "never"
        is_product = found.name in self.products and all(
            map(_is_operand_of_product, found.operands)
        )
        if not is_product and found.name not in _FOLLOWING:
            return "never"
        if self.check is not None and not self.check(found):
            return "never"
        return "always" if is_product else "follow"

    def is_other(self, value: ir.Value) -> bool:
        """Say whether a value is of floats that stay as they are, or may be."""
        if not isinstance(value.type, TensorStructInfo):
            return False
        dtype = value.type.dtype
        return dtype is None or ("float" in dtype and dtype not in (self.dtype, "float32"))

    def has_only(self, value: ir.Value) -> bool:
        """Say whether a value has 16 bits, or is a constant that may have."""
        if not _is_float(value.type) or value.type.dtype == self.dtype:
            return True
        if not _is_constant(value):
            return False
        numbers = np.frombuffer(bytes_of(value.owner.attributes["value"]), "float32")
        return bool((np.abs(numbers) <= _LARGEST[self.dtype]).all())


class _Block:
    """Changes the operations of a block."""

    def __init__(
        self, block: ir.Block, policy: _Policy, widened: Mapping[ir.Value, ir.Value]
    ) -> None:
        self.policy = policy
        #: Values of 16 bits by their casts to `float32`.
        self.widened = widened
        self.block = block
        self.operations = [operation.operation for operation in block.operations]
        #: What stands for a value: an operation of other types, or a cast.
        self.current: dict[ir.Value, ir.Value] = {}
        self.needs = _find_needs(self.operations, policy)
        self.outputs = set(self.operations[-1].operands)
        #: Operations that others stand for.
        self.replaced: list[ir.Operation] = []

    def now(self, value: ir.Value) -> ir.Value:
        """Return what stands for a value now."""
        return self.current.get(value, self.widened.get(value, value))

    def convert(self, parameters: Sequence[ir.Value]) -> None:
        """Change all of them. Parameters that only products read are cast first, and once."""
        with ir.InsertionPoint.at_block_begin(self.block), self.operations[0].location:
            for value in parameters:
                self.lower(value, value)
        for found in self.operations:
            if found.name in ("relax.tuple", "relax.get_item"):
                self.replace(found, list(map(self.now, found.operands)))
            elif len(found.results) == 1 and found.results[0] in self.widened:
                continue
            elif (policy := self.policy.of(found)) == "never":
                self.keep(found)
            else:
                self.compute(found, policy)
        for found in reversed(self.replaced):
            found.erase()

    def keep(self, found: ir.Operation) -> None:
        """Give an operation, and those inside of it, the operands that they had."""
        for user in walk(found):
            for i, value in enumerate(user.operands):
                if value in self.current:
                    with ir.InsertionPoint(found), found.location:
                        user.operands[i] = _cast_to(self.current[value], value.type)
        if found != self.operations[-1] and found.name != "relax.constant":
            with ir.InsertionPoint.after(found), found.location:
                for result in found.results:
                    self.lower(result, result)

    def compute(self, found: ir.Operation, policy: str) -> None:
        """Compute an operation of 16 bits, or of 32 where it follows others that have them."""
        operands = list(map(self.now, found.operands))
        dtype, attributes = self.policy.dtype, {}
        if policy == "follow" and not all(map(self.policy.has_only, operands)):
            dtype = "float32"
        if found.name in _WITH_OUT_DTYPE:
            attributes["out_dtype"] = ir.TypeAttr.get(element_type(self.policy.out_dtype))
        with ir.InsertionPoint(found), found.location:
            operands = [_cast(value, dtype) for value in operands]
        self.replace(found, operands, attributes, dtype if policy == "always" else None)

    def replace(
        self, found: ir.Operation, operands: Sequence[ir.Value],
        attributes: Mapping[str, ir.Attribute] | None = None, stored: str | None = None,
    ) -> None:  # fmt: skip
        """Let an operation of other operands stand for one; its results are stored in a type."""
        if not attributes and list(operands) == list(found.operands):
            self.keep(found)
            return
        with ir.InsertionPoint(found), found.location:
            made = copy_operation(found, operands, attributes)
            for old, new in zip(found.results, made.results, strict=True):
                if old in self.outputs:
                    new = _cast_to(new, old.type)
                elif stored:
                    new = _cast(new, stored)
                self.current[old] = new
                self.lower(old, new)
        self.replaced.append(found)

    def lower(self, old: ir.Value, new: ir.Value) -> None:
        """Keep a value in 16 bits where only products read it."""
        lowered = _cast(new, self.policy.dtype, self.needs.get(old, _UNKNOWN))
        if lowered != new:
            self.current[old] = lowered


def _find_needs(operations: Sequence[ir.Operation], policy: _Policy) -> dict[ir.Value, _Need]:
    """Return what the operations of a block need of each value."""
    needs: dict[ir.Value, _Need] = {}

    def require(value: ir.Value, need: _Need) -> None:
        needs[value] = _merge(needs.get(value, _UNKNOWN), need)

    for found in reversed(operations):
        if found.name == "relax.tuple":
            fields = _fields(needs.get(found.results[0], _UNKNOWN), len(found.operands))
            for value, need in zip(found.operands, fields, strict=True):
                require(value, need)
        elif found.name == "relax.get_item":
            fields = [_UNKNOWN] * len(found.operands[0].type.fields)
            fields[found.attributes["index"].value] = needs.get(found.results[0], _UNKNOWN)
            require(found.operands[0], fields)
        else:
            need = _LOW if policy.of(found) == "always" else _FULL
            if found.name in _MOVES and _is_low(needs.get(found.results[0], _UNKNOWN)):
                need = _LOW
            for user in walk(found):
                for value in user.operands:
                    require(value, need)
    return needs


def _is_low(need: _Need) -> bool:
    """Say whether 16 bits of all that there is are enough."""
    return all(map(_is_low, need)) if isinstance(need, list) else need == _LOW


def _fields(need: _Need, count: int) -> list[_Need]:
    return need if isinstance(need, list) else [need] * count


def _merge(first: _Need, second: _Need) -> _Need:
    """Return what is needed where both are."""
    if not isinstance(first, list) and not isinstance(second, list):
        return max(first, second)
    count = len(first if isinstance(first, list) else second)
    return list(map(_merge, _fields(first, count), _fields(second, count)))


# -- values ---------------------------------------------------------------------------------------


def _is_made_by(value: ir.Value, name: str) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == name


def _is_constant(value: ir.Value) -> bool:
    return _is_made_by(value, "relax.constant")


def _is_float(type_: ir.Type, dtypes: Collection[str] = _DTYPES) -> bool:
    return isinstance(type_, TensorStructInfo) and type_.dtype in dtypes


def _with_dtype(type_: TensorStructInfo, dtype: str) -> TensorStructInfo:
    """Return the type of a tensor of another data type."""
    size: dict[str, Any] = {"shape": type_.shape}
    if type_.shape is None:
        size = {"ndim": type_.ndim, "shape_var": type_.shape_var}
    return TensorStructInfo(dtype=dtype, vdevice=type_.vdevice, **size)


def _is_operand_of_product(value: ir.Value) -> bool:
    """Say whether a value may be cast: quantized weights are not, as products unpack them."""
    return _is_float(value.type) and not _is_made_by(value, "relax.dequantize")


def _cast(value: ir.Value, dtype: str, need: _Need = _LOW) -> ir.Value:
    """Return a value with floats of another type; of a tuple, the fields that are needed so."""
    if isinstance(value.type, TupleStructInfo):
        fields = _fields(need, len(value.type.fields))
        return _cast_fields(value, lambda i, field: _cast(field, dtype, fields[i]))
    if need != _LOW or not _is_float(value.type) or value.type.dtype == dtype:
        return value
    return op.astype(value, dtype)


def _cast_to(value: ir.Value, type_: ir.Type) -> ir.Value:
    """Return a value with the data types of a type."""
    if isinstance(type_, TupleStructInfo):
        return _cast_fields(value, lambda i, field: _cast_to(field, type_.fields[i]))
    return _cast(value, type_.dtype) if _is_float(type_) else value


def _cast_fields(value: ir.Value, cast: Callable[[int, ir.Value], ir.Value]) -> ir.Value:
    """Return a tuple of fields that are cast; the same one where none changes."""
    index = ir.IntegerType.get_signless(64)
    fields, result = [], []
    for i in range(len(value.type.fields)):
        attributes = {"index": ir.IntegerAttr.get(index, i)}
        field = ir.Operation.create(
            "relax.get_item", operands=[value], attributes=attributes, infer_type=True
        ).results[0]
        fields.append(field)
        result.append(cast(i, field))
    if fields == result:
        for field in fields:
            field.owner.operation.erase()
        return value
    return ir.Operation.create("relax.tuple", operands=result, infer_type=True).results[0]
