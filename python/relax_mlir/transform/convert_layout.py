# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions in another layout, which is carried on through the graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence

from mlir import ir

from .. import op
from ..composites.layouts import blocks_of, has_blocks, packed, unpacked
from ..core.expr import tuple as tuple_
from ..core.ir import TensorStructInfo, TupleStructInfo
from ..core.ir_module import IRModule
from ..core.variables import walk
from ..op._ops_gen import CONVOLUTIONS, ELEMENTWISE
from .fold_constant import is_computed_of_constants
from .layout_carriers import CARRIERS, Axes, moved_axis
from .operations import copy_operation, rank_of, text_attribute
from .pass_context import PassContext
from .python_pass import module_pass


def _default_layouts(operation: str) -> tuple[str, str]:
    """Return the axes of images and of weights that a convolution has by default."""
    function = getattr(op.nn, operation.removeprefix("relax."))
    parameters = inspect.signature(function).parameters
    return parameters["data_layout"].default, parameters["kernel_layout"].default


_CONVOLUTIONS = {name: _default_layouts(name) for name in CONVOLUTIONS}

_ITEM = "relax.get_item"


@module_pass(opt_level=0)
class ConvertLayout:
    """Compute convolutions in other layouts, and what follows them too.

    The images and weights of a convolution are permuted, and so is its result. Operations that
    follow and do not care (on elements, along axes, pooling, normalization, reductions, slices,
    `concat`, `split`) work on the result as it is, so that it is permuted back only where an
    operation needs that. Weights that are constants are permuted when constants are folded, see
    `FoldConstant`.

    An axis may be divided into blocks, as in "NCHW4c", where it is known to be a multiple of the
    block. Kernels have no such layouts: the convolution is computed of the axes without blocks, and
    nothing is carried on.

    Parameters
    ----------
    desired_layouts : mapping of str to sequence of str
        The layouts of images, of weights and, if it is another than that of images, of results, by
        operator: ``{"relax.nn.conv2d": ["NHWC", "OHWI"]}``. The operators are `conv1d`,
        `conv2d` and `conv3d`.

    Raises
    ------
    ValueError
        If an operator is none of these, or a layout does not have its axes.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import ConvertLayout
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 8, 8, 3), "float32"))
    >>> weight = np.ones((3, 3, 3, 4), "float32")
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     y = relax.op.nn.conv2d(x, relax.op.const(weight), data_layout="NHWC", kernel_layout="HWIO")
    ...     _ = bb.emit_func_output(relax.op.mean(relax.op.nn.relu(y), axis=[1, 2]))
    >>> mod = ConvertLayout({"relax.nn.conv2d": ["NCHW", "OIHW"]})(bb.get())
    >>> [line.split()[2] for line in str(mod).splitlines() if " = relax." in line]
    ['relax.constant', 'relax.permute_dims', 'relax.permute_dims', 'relax.conv2d', 'relax.relu', 'relax.mean']
    """  # noqa: E501 (what a program becomes)

    def __init__(self, desired_layouts: Mapping[str, Sequence[str]]) -> None:
        self._layouts = {
            _operation(name): _check_layouts(_operation(name), layouts)
            for name, layouts in desired_layouts.items()
        }

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Convert in each function of the module."""
        for function in mod.module.body.operations:
            if function.operation.name == "relax.func":
                _Converter(self._layouts).convert(function.operation)
        return mod


def _operation(operator: str) -> str:
    name = operator.replace("relax.nn.", "relax.")
    if name not in _CONVOLUTIONS:
        raise ValueError(
            f"expected desired_layouts of convolutions, such as relax.nn.conv2d, but got {operator}"
        )
    return name


def _check_layouts(name: str, layouts: Sequence[str]) -> tuple[str, str, str]:
    if isinstance(layouts, str) or len(layouts) not in (2, 3):
        raise ValueError(f"expected 2 or 3 layouts of {name}, but got {layouts!r}")
    data, kernel = _CONVOLUTIONS[name]
    given = (layouts[0], layouts[1], layouts[2] if len(layouts) == 3 else layouts[0])
    for layout, axes in zip(given, (data, kernel, data), strict=True):
        if has_blocks(layout):
            blocks_of(layout, axes)  # which checks it
        elif sorted(layout) != sorted(axes):
            raise ValueError(
                f"expected a layout of {name} that is a permutation of {axes}, but got {layout!r}"
            )
    return given


class _Converter:
    """Converts a function."""

    def __init__(self, layouts: Mapping[str, tuple[str, str, str]]) -> None:
        self.layouts = layouts
        #: The permutation of a value back to its old layout: the value, and the axes.
        self.permuted: dict[ir.Value, tuple[ir.Value, Axes]] = {}
        #: Tuples, and the axes that permute some of their fields back.
        self.fields: dict[ir.Value, dict[int, Axes]] = {}

    def convert(self, function: ir.Operation) -> None:
        convert: Callable[[ir.Operation], None]
        for found in list(walk(function)):
            if found.name in self.layouts:
                convert = self.convert_convolution
            elif found.name == _ITEM and found.operands[0] in self.fields:
                convert = self.carry_field
            elif self.permuted and any(value in self.permuted for value in found.operands):
                convert = self.carry
            else:
                continue
            with ir.InsertionPoint(found), found.location:
                convert(found)
        for value in reversed(list(self.permuted)):
            if not list(value.uses):
                value.owner.operation.erase()

    def convert_convolution(self, conv: ir.Operation) -> None:
        data, kernel = _CONVOLUTIONS[conv.name]
        given = (
            text_attribute(conv, "data_layout", data),
            text_attribute(conv, "kernel_layout", kernel),
        )
        given_out = text_attribute(conv, "out_layout", given[0])
        wanted = self.layouts[conv.name]
        if (*given, given_out) == wanted:
            return
        if has_blocks(*wanted):
            self.convert_to_blocks(conv, (*given, given_out), wanted)
            return
        operands = [
            self.permute(operand, tuple(map(layout.index, desired)))
            for operand, layout, desired in zip(conv.operands, given, wanted, strict=False)
        ]
        layouts = {"data_layout": wanted[0], "kernel_layout": wanted[1]}
        if wanted[2] != wanted[0]:
            layouts["out_layout"] = wanted[2]
        attributes = {name: ir.StringAttr.get(layout) for name, layout in layouts.items()}
        new = copy_operation(conv, operands, attributes, without=("out_layout",))
        self.replace(conv, new.results[0], tuple(map(wanted[2].index, given_out)))

    def convert_to_blocks(
        self, conv: ir.Operation, given: Sequence[str], wanted: Sequence[str]
    ) -> None:
        """Move operands and result of a convolution to layouts with blocks, and back."""
        data, kernel = _CONVOLUTIONS[conv.name]
        axes = (data, kernel, data)
        values = (*conv.operands, conv.results[0])
        if not all(map(_is_divided, values, given, wanted, axes)):
            return
        operands = [
            unpacked(packed(unpacked(value, old, plain), plain, new), new, plain)
            for value, old, new, plain in zip(conv.operands, given, wanted, axes, strict=False)
        ]
        layouts = ("data_layout", "kernel_layout", "out_layout")
        made = copy_operation(conv, operands, without=layouts).results[0]
        made = unpacked(packed(made, data, wanted[2]), wanted[2], data)
        self.replace(conv, packed(made, data, given[2]))

    def carry(self, found: ir.Operation) -> None:
        """Compute an operation of what its operands were before they were permuted back."""
        source, axes = next(self.permuted[v] for v in found.operands if v in self.permuted)
        name = found.name
        if name in ELEMENTWISE:
            self.carry_elements(found, axes)
        elif name == "relax.concat":
            if all(self.permuted.get(v, (None, None))[1] == axes for v in found.operands):
                operands = [self.permuted[v][0] for v in found.operands]
                new = copy_operation(found, operands, {"axis": moved_axis(found, axes)})
                self.replace(found, new.results[0], axes)
        elif name in CARRIERS and found.operands[0] in self.permuted:
            self.carry_along(found)
        elif name == "relax.permute_dims":
            rank = len(axes)
            order = found.attributes["axes"] if "axes" in found.attributes else range(rank)[::-1]
            self.replace(found, self.permute(source, tuple(axes[i % rank] for i in order)))

    def carry_elements(self, found: ir.Operation, axes: Axes) -> None:
        inverse = tuple(axes.index(i) for i in range(len(axes)))
        operands = []
        for operand in found.operands:
            rank = rank_of(operand)
            if operand in self.permuted:
                if self.permuted[operand][1] != axes:
                    return
                operand = self.permuted[operand][0]
            elif isinstance(operand.type, TensorStructInfo) and rank != 0:
                # Operands that are small, or known when constants are folded, are permuted as well.
                if rank is None or rank > len(axes):
                    return
                if rank == len(axes) and not is_computed_of_constants(operand):
                    return
                if rank < len(axes):
                    operand = op.expand_dims(operand, list(range(len(axes) - rank)))
                operand = op.permute_dims(operand, list(inverse))
            operands.append(operand)
        self.replace(found, copy_operation(found, operands).results[0], axes)

    def carry_along(self, found: ir.Operation) -> None:
        source, axes = self.permuted[found.operands[0]]
        carried = CARRIERS[found.name](found, source, axes)
        if carried is None:
            return
        new, after = carried
        if not isinstance(new.results[0].type, TupleStructInfo):
            self.replace(found, new.results[0], after)
            return
        # Of a batch normalization the other fields are statistics.
        count = len(new.results[0].type.fields) if found.name == "relax.split" else 1
        self.fields[new.results[0]] = dict.fromkeys(range(count), after)
        self.keep_tuple(found, new.results[0])
        self.replace(found, new.results[0])

    def keep_tuple(self, found: ir.Operation, new: ir.Value) -> None:
        """Make the old tuple of the new one where it is used as a whole."""
        uses = [use for use in found.results[0].uses if use.owner.operation.name != _ITEM]
        if not uses:
            return
        axes = self.fields[new]
        fields = []
        for i in range(len(new.type.fields)):
            field = op.get_item(new, i)
            fields.append(op.permute_dims(field, list(axes[i])) if i in axes else field)
        whole = tuple_(*fields)
        for use in uses:
            use.owner.operation.operands[use.operand_number] = whole

    def carry_field(self, field: ir.Operation) -> None:
        """Take a field of a tuple, which has another type now."""
        axes = self.fields[field.operands[0]].get(field.attributes["index"].value)
        if axes is not None:
            self.replace(field, copy_operation(field, list(field.operands)).results[0], axes)

    def permute(self, value: ir.Value, axes: Axes) -> ir.Value:
        """Return the value with other axes; what it was before, where it was permuted."""
        if value in self.permuted:
            value, before = self.permuted[value]
            axes = tuple(before[axis] for axis in axes)
        return value if axes == tuple(range(len(axes))) else op.permute_dims(value, list(axes))

    def replace(self, old: ir.Operation, value: ir.Value, axes: Axes = ()) -> None:
        """Use a value for the result of an operation, with its axes in another order."""
        result = value
        if axes != tuple(range(len(axes))):
            result = op.permute_dims(value, list(axes))
            self.permuted[result] = (value, axes)
        old.results[0].replace_all_uses_with(result)
        old.erase()


def _is_divided(value: ir.Value, given: str, wanted: str, axes: str) -> bool:
    """Say whether axes of a value are known to be multiples of the blocks of a layout."""
    if rank_of(value) != len(axes) or has_blocks(given):
        return False
    dims = [value.type.shape[given.index(axis)].value for axis in axes]
    blocks = blocks_of(wanted, axes)
    return not any(
        dim is None or dim % blocks[axis]
        for axis, dim in zip(axes, dims, strict=True)
        if axis in blocks
    )
