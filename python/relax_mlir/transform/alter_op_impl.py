# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other kernels for certain operators, in layouts of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from mlir import ir

from .. import op, te
from .._arguments import shown
from ..core.expr import GlobalVar
from ..core.ir import TensorStructInfo, TupleStructInfo
from ..core.ir_module import IRModule
from ..core.struct_info import facts_at
from ..core.variables import operation_of, unnamed, walk
from ..dialects import relax as _ops
from ..op.index import affine_map_of
from .index_maps import inverse_of
from .kernels import Kernels
from .pass_context import PassContext
from .python_pass import module_pass
from .rewriting import are_equal, dims_of

Transform: TypeAlias = "Callable[..., Any] | ir.AffineMap | None"
Transforms = Mapping[str, Sequence[Transform]]
Separators = Mapping[str, Sequence[Sequence[int] | None] | None]

# The attribute of a kernel that says which operator it computes, and what it says of kernels that
# cut off what a layout has added.
OPERATOR_NAME = "operator_name"
REMOVE_PAD = "remove_pad"


@module_pass(opt_level=0)
class AlterOpImpl:
    """Call other kernels in the place of those of certain operators.

    A kernel says by its attribute `operator_name` which operator it computes. An operator that has
    no kernel yet is replaced under its own name, such as "relax.add". Inputs of calls are brought
    into the layouts of the other kernel (`layout_transform`), and outputs back from them;
    `OptimizeLayoutTransform` removes what of it is not needed. Where blocks of a layout are larger
    than a dimension, elements of 0 are added to inputs, and cut off from outputs by a kernel
    `remove_pad`.

    Parameters
    ----------
    op_impl_map : mapping of str to Function or func.FuncOp
        The kernel for each name of an operator. It has as many parameters as the one that it
        stands for.
    op_buffer_transforms : mapping of str to sequence of callable, AffineMap or None
        For each name of an operator the layout of each input and output of the kernel, as a map of
        indices such as ``lambda i, j: (i, j // 4, j % 4)``. None, or an empty sequence, leaves
        them as they are.
    op_buffer_axis_separators, op_buffer_input_axis_separators : mapping, optional
        For each name of an operator, and each input and output, where the dimensions of the new
        layout, and of the old one, are separated in physical memory, or None. See
        `op.layout_transform`.

    Raises
    ------
    ValueError
        If a kernel has not as many parameters, there is not a layout for each of them, or there is
        no way back from the layout of an output.

    Examples
    --------
    >>> import relax_mlir as relax
    >>> from relax_mlir import te, transform
    >>> def square(x):
    ...     return te.compute(x.shape, lambda *i: x(*i) * x(*i))
    >>> bb = relax.BlockBuilder()
    >>> x = relax.Var("x", relax.TensorStructInfo((16,), "float32"))
    >>> with bb.function("main", [x]):
    ...     y = bb.emit_te(square, x, primfunc_attrs={"operator_name": "my.square"})
    ...     _ = bb.emit_func_output(y)
    >>> x = te.placeholder((4, 4))
    >>> change = transform.AlterOpImpl(
    ...     {"my.square": te.create_prim_func([x, square(x)])},
    ...     {"my.square": [lambda i: (i // 4, i % 4)] * 2},
    ... )
    >>> text = str(change(bb.get())["main"])
    >>> [line.split()[2] for line in text.splitlines() if " = relax." in line]
    ['relax.layout_transform', 'relax.call_tir', 'relax.layout_transform']
    """

    def __init__(
        self,
        op_impl_map: Mapping[str, Any],
        op_buffer_transforms: Transforms,
        op_buffer_axis_separators: Separators | None = None,
        op_buffer_input_axis_separators: Separators | None = None,
    ) -> None:
        self._kernels = {name: _kernel_of(name, given) for name, given in op_impl_map.items()}
        self._transforms = dict(op_buffer_transforms)
        self._separators = (
            dict(op_buffer_axis_separators or {}),
            dict(op_buffer_input_axis_separators or {}),
        )

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Replace the kernels of calls in each function of the module."""
        kernels = Kernels(mod)
        for function in list(mod.functions.values()):
            if not isinstance(function, _ops.FuncOp):
                continue
            for found in list(walk(function.operation)):
                call = _Call.of(found, kernels)
                if call is not None and call.operator in self._kernels:
                    self._replace(call, kernels)
        return mod

    def _replace(self, call: _Call, kernels: Kernels) -> None:
        new = self._kernels[call.operator]
        if _parameters(new) != call.count:
            raise ValueError(
                f"expected a kernel of {call.count} parameters for '{call.operator}', but got one "
                f"of {_parameters(new)}"
            )
        layouts = self._layouts(call.operator, call.count)
        found = call.operation
        with found.context, ir.InsertionPoint(found), unnamed(found.location):
            name = f"{call.operator.replace('.', '_')}_replacement"
            attributes = {OPERATOR_NAME: ir.StringAttr.get(call.operator)}
            callee = kernels.add(_in_context(new, found.context), name, attributes)
            result = call.write(callee, layouts, kernels)
        found.results[0].replace_all_uses_with(result)
        found.erase()

    def _layouts(self, operator: str, count: int) -> list[_Layout]:
        transforms = list(self._transforms.get(operator, ()))
        separators = [list(given.get(operator) or ()) for given in self._separators]
        for what, given in (
            ("op_buffer_transforms", transforms),
            ("op_buffer_axis_separators", separators[0]),
            ("op_buffer_input_axis_separators", separators[1]),
        ):
            if given and len(given) != count:
                raise ValueError(
                    f"expected {count} entries in {what} of '{operator}', one for each parameter, "
                    f"but got {len(given)}"
                )
        none: list[Any] = [None] * count
        columns = zip(transforms or none, separators[0] or none, separators[1] or none, strict=True)
        return [_Layout(*column) for column in columns]


class _Layout:
    """The layout of a parameter of a kernel."""

    def __init__(
        self, transform: Transform, after: Sequence[int] | None, before: Sequence[int] | None
    ) -> None:
        self.transform = transform
        self._after, self._before = after, before

    def apply(self, value: ir.Value) -> ir.Value:
        """Return a tensor in this layout. Scalars have none."""
        if self.transform is None or dims_of(value) == []:
            return value
        map_ = self._map(value.type)
        return op.layout_transform(value, map_, None, self._after, self._before)

    def type_of(self, type_: TensorStructInfo) -> TensorStructInfo:
        """Return the type of a tensor in this layout."""
        if self.transform is None or not type_.shape:
            return type_
        # As the operator derives it.
        given = ir.Operation.create("builtin.unrealized_conversion_cast", results=[type_])
        made = self.apply(given.results[0])
        result = made.type
        made.owner.erase()
        given.erase()
        return result

    def undo(self, value: ir.Value, type_: TensorStructInfo, kernels: Kernels) -> ir.Value:
        """Return a tensor of this layout as it is without."""
        if self.transform is None or not type_.shape:
            return value
        map_ = self._map(type_)
        inverse = inverse_of(map_, list(type_.shape))
        if inverse is None:
            raise ValueError(
                f"expected a layout that has an inverse for tensors of type {type_}, but got {map_}"
            )
        whole = op.layout_transform(value, inverse, None, self._before, self._after)
        if are_equal(dims_of(whole) or [], type_.shape, facts_at(whole.owner)):
            return whole
        return _remove_pad(whole, type_, kernels)

    def _map(self, type_: TensorStructInfo) -> ir.AffineMap:
        if isinstance(self.transform, ir.AffineMap):
            return self.transform
        assert self.transform is not None
        return affine_map_of(self.transform, type_.ndim)


class _Call:
    """A call of a kernel, or of an operator that has none yet."""

    def __init__(self, operation: ir.Operation, operator: str, args: Sequence[ir.Value]) -> None:
        self.operation = operation
        self.operator = operator
        self._args = list(args)
        type_ = operation.results[0].type
        self._is_tuple = isinstance(type_, TupleStructInfo)
        self._types = list(type_.fields) if self._is_tuple else [type_]
        is_call = operation.name == "relax.call_tir"
        self._ints = operation.opview.packed_ints if is_call else None

    @staticmethod
    def of(found: ir.Operation, kernels: Kernels) -> _Call | None:
        """Return the call that an operation is; None where it is none of a known operator."""
        if found.name == "relax.call_tir":
            kernel = kernels.find(found.attributes["callee"].value)
            if kernel is None or OPERATOR_NAME not in kernel.attributes:
                return None
            return _Call(found, kernel.attributes[OPERATOR_NAME].value, found.opview.args)
        types = [value.type for value in (*found.operands, *found.results)]
        is_of_tensors = all(isinstance(type_, TensorStructInfo) for type_ in types)
        if not is_of_tensors or len(found.results) != 1 or found.name.startswith("relax.call"):
            return None
        return _Call(found, found.name, found.operands)

    @property
    def count(self) -> int:
        """How many parameters the kernel has."""
        ints = 0 if self._ints is None else len(self._ints.type.values or ())
        return len(self._args) + ints + len(self._types)

    def write(self, callee: str, layouts: list[_Layout], kernels: Kernels) -> ir.Value:
        """Write the call of another kernel, and return what stands for the result."""
        outputs = layouts[len(layouts) - len(self._types) :]
        inputs = [layout.apply(arg) for arg, layout in zip(self._args, layouts, strict=False)]
        types = [layout.type_of(each) for layout, each in zip(outputs, self._types, strict=True)]
        made_type = TupleStructInfo(types) if self._is_tuple else types[0]
        result = op.call_tir(GlobalVar(callee), inputs, made_type, self._ints)
        if not self._is_tuple:
            return outputs[0].undo(result, self._types[0], kernels)
        if all(layout.transform is None for layout in outputs):
            return result
        fields = [
            layout.undo(op.get_item(result, place), each, kernels)
            for place, (layout, each) in enumerate(zip(outputs, self._types, strict=True))
        ]
        return op.tuple(*fields)


def _kernel_of(name: str, given: Any) -> ir.Operation:
    operation = operation_of(given) if hasattr(given, "operation") else None
    if operation is None or operation.name != "func.func":
        raise TypeError(f"expected a kernel for '{name}', but got {shown(given)}")
    return operation


def _in_context(kernel: ir.Operation, context: ir.Context) -> ir.Operation:
    """Return a kernel in a context, which may be another one than it was written in."""
    if kernel.context == context:
        return kernel
    text = kernel.get_asm(print_generic_op_form=True, use_local_scope=True)
    return ir.Operation.parse(text, context=context)


def _parameters(kernel: ir.Operation) -> int:
    return len(kernel.regions[0].blocks[0].arguments)


def _cut(whole: Any, sizes: Sequence[Any]) -> Any:
    """Return the first elements along each dimension."""
    return te.compute(sizes, lambda *i: whole(*i), name="output")


def _remove_pad(whole: ir.Value, type_: TensorStructInfo, kernels: Kernels) -> ir.Value:
    """Call the kernel that cuts off what a layout has added."""
    sizes = [dim if dim.value is None else dim.value for dim in type_.shape or ()]
    attributes = {OPERATOR_NAME: REMOVE_PAD}
    return kernels.call_te(
        _cut, whole, sizes, primfunc_name_hint=REMOVE_PAD, primfunc_attrs=attributes
    )
