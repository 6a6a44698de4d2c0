# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors, and the operations that they come from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..tir import expr as _expr
from ..tir.expr import ExprLike, ExprOp, IterVar, PrimExpr, ProducerLoad, Reduce, Var


@dataclasses.dataclass(eq=False)
class Operation:
    """An operation that produces tensors.

    Attributes
    ----------
    name : str
    tag : str
        The kind of computation.
    attrs : mapping of str to object
    """

    name: str
    tag: str = ""
    attrs: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def num_outputs(self) -> int:
        """The number of tensors that come from it."""
        return len(self.outputs)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors that come from it."""
        if not hasattr(self, "_outputs"):
            self._outputs = tuple(
                Tensor(self, index, shape, dtype)
                for index, (shape, dtype) in enumerate(self._signature())
            )
        return self._outputs

    def output(self, index: int) -> Tensor:
        """Return one of the tensors that come from it."""
        return self.outputs[index]

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that it reads, each once."""
        return ()

    def _signature(self) -> list[tuple[tuple[PrimExpr, ...], str]]:
        raise NotImplementedError


@dataclasses.dataclass(eq=False)
class PlaceholderOp(Operation):
    """An input."""

    shape: tuple[PrimExpr, ...] = ()
    dtype: str = "float32"

    def _signature(self) -> list[tuple[tuple[PrimExpr, ...], str]]:
        return [(self.shape, self.dtype)]


def loads_of(exprs: Sequence[PrimExpr]) -> Iterator[ProducerLoad]:
    """Yield the loads of tensors in expressions, also those in ranges of reductions."""
    found: list[ProducerLoad] = []

    def visit(node: PrimExpr) -> None:
        if isinstance(node, ProducerLoad):
            found.append(node)
        elif isinstance(node, Reduce):
            for axis in node.axis:
                for end in (axis.dom.min, axis.dom.extent):
                    _expr.post_order_visit(end, visit)

    for expr in exprs:
        _expr.post_order_visit(expr, visit)
    yield from found


def _unique(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple({id(tensor): tensor for tensor in tensors}.values())


@dataclasses.dataclass(eq=False)
class ComputeOp(Operation):
    """Elements computed each by itself.

    Attributes
    ----------
    axis : tuple of IterVar
    body : tuple of PrimExpr
        One for each output; all reductions with the same axes, or none.
    """

    axis: tuple[IterVar, ...] = ()
    body: tuple[PrimExpr, ...] = ()

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        """The axes that are reduced over."""
        first = self.body[0]
        return first.axis if isinstance(first, Reduce) else ()

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that it reads, each once."""
        return _unique([load.producer for load in loads_of(self.body)])

    def _signature(self) -> list[tuple[tuple[PrimExpr, ...], str]]:
        shape = tuple(axis.dom.extent for axis in self.axis)
        return [(shape, expr.dtype) for expr in self.body]


@dataclasses.dataclass(eq=False)
class ScanOp(Operation):
    """Rows computed one after the other.

    Attributes
    ----------
    scan_axis : IterVar
    init, update, state_placeholder : tuple of Tensor
    inputs : tuple of Tensor
    """

    scan_axis: IterVar = None  # type: ignore[assignment]
    init: tuple[Tensor, ...] = ()
    update: tuple[Tensor, ...] = ()
    state_placeholder: tuple[Tensor, ...] = ()
    inputs: tuple[Tensor, ...] = ()

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that it starts with and reads, but not what it writes itself."""
        return _unique([*self.init, *self._reads()[0]])

    def inlined(self) -> set[int]:
        """Return the ids of the operations that depend on the rows written so far."""
        return self._reads()[1]

    def _reads(self) -> tuple[list[Tensor], set[int]]:
        """Return the tensors read, and the operations that depend on rows written so far."""
        states = {id(tensor.op) for tensor in self.state_placeholder}
        known: dict[int, bool] = {}

        def depends(op: Operation) -> bool:
            if id(op) in states:
                return True
            if id(op) not in known:
                known[id(op)] = any(depends(tensor.op) for tensor in op.input_tensors)
            return known[id(op)]

        reads: list[Tensor] = []
        inlined: set[int] = set()
        todo = [tensor.op for tensor in self.update]
        while todo:
            op = todo.pop()
            if id(op) in inlined:
                continue
            inlined.add(id(op))
            for tensor in op.input_tensors:
                if id(tensor.op) in states:
                    continue
                if depends(tensor.op):
                    todo.append(tensor.op)
                else:
                    reads.append(tensor)
        return reads, inlined

    def _signature(self) -> list[tuple[tuple[PrimExpr, ...], str]]:
        return [(tensor.shape, tensor.dtype) for tensor in self.state_placeholder]


class TensorSlice(ExprOp):
    """Some of the indices of an element; with all of them it stands for the element.

    Parameters
    ----------
    tensor : Tensor
    indices : tuple of PrimExpr
    """

    def __init__(self, tensor: Tensor, indices: tuple[ExprLike, ...]) -> None:
        self.tensor, self.indices = tensor, indices

    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> TensorSlice:
        more = indices if isinstance(indices, tuple) else (indices,)
        return TensorSlice(self.tensor, (*self.indices, *more))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"expected indices of '{self.tensor.name}', which cannot be iterated over")

    @property
    def dtype(self) -> str:
        """The data type of the tensor."""
        return self.tensor.dtype

    def as_prim_expr(self) -> PrimExpr:
        """Return the element."""
        return self.tensor(*self.indices)

    def __repr__(self) -> str:
        return f"{self.tensor.name}[{', '.join(map(str, self.indices))}]"


# The functions of `relax_mlir.topi`, which builds on tensors and adds its functions here.
FUNCTIONS: dict[str, Any] = {}


def _topi(name: str, swap: bool = False) -> Callable[[Any, Any], Any]:
    """Return a method that computes each element of two tensors, or of a tensor and a number."""

    def method(self: Tensor, other: Any) -> Tensor:
        function = FUNCTIONS[name]
        return function(other, self) if swap else function(self, other)

    method.__doc__ = f"Return `relax_mlir.topi.{name}` of both."
    return method


class Tensor:
    """A tensor of an expression: an input, or what is computed from others.

    Indices give an element, for expressions. Operators compute each element, and broadcast.

    Attributes
    ----------
    op : Operation
        The operation that makes it.
    value_index : int
        Its index among the outputs of the operation.
    shape : tuple of PrimExpr
    dtype : str

    Examples
    --------
    >>> from relax_mlir import te
    >>> n = te.var("n", "int64")
    >>> A = te.placeholder((n, 4), "float32", name="A")
    >>> B = te.compute((n, 4), lambda i, j: A[i, 3 - j] * 2, name="B")
    >>> B
    Tensor(B, shape=(n, 4), dtype=float32)
    >>> B.op.body
    (A[i, 3 - j] * float32(2.0),)
    """

    __array_ufunc__ = None

    def __init__(
        self, op: Operation, value_index: int, shape: tuple[PrimExpr, ...], dtype: str
    ) -> None:
        self.op, self.value_index, self.shape, self.dtype = op, value_index, shape, dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def name(self) -> str:
        """The name of the operation, and which of its outputs it is where there are several."""
        several = self.op.num_outputs > 1
        return f"{self.op.name}.v{self.value_index}" if several else self.op.name

    def __call__(self, *indices: ExprLike) -> PrimExpr:
        """Return the element at the given indices."""
        return ProducerLoad(self, indices)

    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> TensorSlice:
        return TensorSlice(self, indices if isinstance(indices, tuple) else (indices,))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"expected indices of '{self.name}', which cannot be iterated over")

    def __len__(self) -> int:
        raise TypeError(f"expected '{self.name}.shape[0]': a dimension may be symbolic")

    def same_as(self, other: object) -> bool:
        """Say whether both are the same tensor."""
        return self is other

    def astype(self, dtype: Any) -> Tensor:
        """Return the elements as ones of another data type."""
        return FUNCTIONS["cast"](self, dtype)

    def __neg__(self) -> Tensor:
        return FUNCTIONS["negative"](self)

    __add__ = _topi("add")
    __radd__ = _topi("add", swap=True)
    __sub__ = _topi("subtract")
    __rsub__ = _topi("subtract", swap=True)
    __mul__ = _topi("multiply")
    __rmul__ = _topi("multiply", swap=True)
    __truediv__ = _topi("divide")
    __rtruediv__ = _topi("divide", swap=True)
    __floordiv__ = _topi("floor_divide")
    __rfloordiv__ = _topi("floor_divide", swap=True)
    __mod__ = _topi("floor_mod")
    __rmod__ = _topi("floor_mod", swap=True)

    def __repr__(self) -> str:
        shape = ", ".join(
            str(dim.value) if isinstance(dim, _expr.IntImm) else str(dim) for dim in self.shape
        )
        shape += "," if self.ndim == 1 else ""
        return f"Tensor({self.name}, shape=({shape}), dtype={self.dtype})"


def free_vars(tensors: Sequence[Tensor]) -> list[Var]:
    """Return the variables of shapes and bodies, in the order in which they come, each once.

    Those of axes do not count.
    """
    found: dict[int, Var] = {}

    def note(exprs: Sequence[PrimExpr], bound: Sequence[IterVar] = ()) -> None:
        own = {id(axis.var) for axis in bound}
        for expr in exprs:
            for variable in _expr.undefined_vars(expr):
                if id(variable) not in own:
                    found.setdefault(id(variable), variable)

    for tensor in tensors:
        note(tensor.shape)
        op = tensor.op
        if isinstance(op, ComputeOp):
            note(op.body, op.axis)
    return list(found.values())
