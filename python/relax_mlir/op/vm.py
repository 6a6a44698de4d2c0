# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What TVM's last passes leave in a program: memory, and calls of kernels that write into it.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n",), "float32"))
>>> copy = bb.add_func('''func.func @copy(%x: memref<?xf32>, %y: memref<?xf32>) {
...   memref.copy %x, %y : memref<?xf32> to memref<?xf32>
...   return
... }''')
>>> with bb.function("main", [x], pure=False):
...     storage = op.vm.alloc_storage(["n"], 0, "float32")
...     y = op.vm.alloc_tensor(storage, 0, ["n"], "float32")
...     _ = op.vm.call_tir_dyn(copy, (x, y, op.shape([])))
...     _ = bb.emit_func_output(y)
"""

from __future__ import annotations

from typing import Any

from mlir import ir

from ..core.expr import GlobalVar, ShapeLike, as_value, prim_value
from ..core.ir import ShapeStructInfo, TupleStructInfo
from ..dialects import relax as _ops
from .call import call
from .memory import alloc_tensor as alloc_tensor
from .memory import allocate_storage, kill, known_dims

__all__ = ["alloc_storage", "alloc_tensor", "call_tir_dyn", "kill_object"]


def alloc_storage(
    shape: ShapeLike, runtime_device_index: int, dtype: str, storage_scope: str = "global"
) -> ir.Value:
    """Return uninitialized memory, as `relax_mlir.op.memory.alloc_storage` does.

    Parameters
    ----------
    shape : shape
        How many elements of `dtype` there is room for.
    runtime_device_index : int
        The device, from 0 among those that the module lists; the processor where it lists none,
        and for -1.
    dtype : str
    storage_scope : str
        "global".

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If there is no such device or scope, or the size is negative.
    """
    return allocate_storage(shape, runtime_device_index, storage_scope, dtype)


def kill_object(obj: Any) -> tuple[()]:
    """Say that a value is not used any more, as `relax_mlir.op.memory.kill_tensor` does.

    Parameters
    ----------
    obj : value
        Of any type.

    Returns
    -------
    tuple
        An empty one.
    """
    return kill(obj)


def call_tir_dyn(func: GlobalVar, args: Any) -> ir.Value:
    """Call a kernel that writes into some of its arguments.

    Parameters
    ----------
    func : GlobalVar
        A kernel of the module.
    args : sequence of value
        Tensors and scalars. The last one may be a shape: the kernel takes its dimensions as
        integers, behind the other arguments.

    Returns
    -------
    mlir.ir.Value
        An empty tuple. The call has effects.

    Raises
    ------
    NotImplementedError
        If the dimensions of the shape are not known.
    """
    given = _arguments(args)
    if given and isinstance(given[-1].type, ShapeStructInfo):
        dims = known_dims(given.pop(), "a shape of integers")
        given += [prim_value(dim if dim.value is None else dim.value) for dim in dims]
    return call(func, *given)


def _arguments(args: Any) -> list[ir.Value]:
    """Return the fields of a tuple of arguments."""
    if isinstance(args, (list, tuple)):
        return [as_value(each) for each in args]
    value = as_value(args)
    if isinstance(value.owner, _ops.TupleOp):
        return list(value.owner.operation.operands)
    if isinstance(value.type, TupleStructInfo):
        raise TypeError("expected a tuple of arguments as it is written, but got a value")
    return [value]
