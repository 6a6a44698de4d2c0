# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The drawer of nodes of a program: existing values, their shapes and approximate ranges.

Samplers (`samplers_*.py`) draw one node each, elementwise operators are drawn from the table of
operators alone. A draw that does not fit raises, and is drawn again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from elementwise import DOMAINS, range_of
from mlir import ir
from plan import Body, Data, Node, Param, Writer, dim, dims_of, size_of, text_of
from relax_mlir import TensorStructInfo, TupleStructInfo, Var
from relax_mlir.core.dtypes import element_type

MISFIT = (ValueError, TypeError, ir.MLIRError, LookupError, AssertionError)
FLOATS = ("float32", "float32", "float32", "float32", "float16", "float64", "bfloat16")
INTEGERS = ("int32", "int64", "int32", "int64", "int8", "uint8", "int16", "uint16", "uint32")
INTEGERS += ("uint64",)
LARGEST = 1 << 16  # elements of a tensor


@dataclass(frozen=True)
class Value:
    """An existing tensor.

    Attributes
    ----------
    number : int
    type : mlir.ir.Type
    low, high : float
        About between which numbers its elements are.
    shapes : tuple
        Its shape at each of the sizes at which the program runs.
    """

    number: int
    type: Any
    low: float
    high: float
    shapes: tuple[tuple[int, ...], ...]

    @property
    def dtype(self) -> str:
        """The data type."""
        return str(self.type.dtype)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return int(self.type.ndim)

    @property
    def dims(self) -> list[Any]:
        """The dimensions as expressions."""
        return dims_of(self.type)

    def is_float(self) -> bool:
        """Say whether the elements are floats."""
        return "float" in self.dtype

    def is_integer(self) -> bool:
        """Say whether the elements are integers."""
        return "int" in self.dtype

    def known(self, axis: int) -> int | None:
        """Return a dimension that is known when the program is compiled."""
        return self.dims[axis].value

    def least(self, axis: int) -> int:
        """Return the least size of a dimension when the program runs."""
        return min(shape[axis] for shape in self.shapes)

    def most(self, axis: int) -> int:
        """Return the greatest size of a dimension."""
        return max(shape[axis] for shape in self.shapes)


class Drawer:
    """Draws nodes.

    Parameters
    ----------
    rng : random.Random
    variables : sequence of str
    sizes : sequence of dict
        The sizes of variables at which the program runs.
    writer : Writer
        It writes what is drawn, in an open function: so the types of values are known.
    """

    def __init__(
        self,
        rng: random.Random,
        variables: tuple[str, ...],
        sizes: tuple[dict[str, int], ...],
        writer: Writer,
    ) -> None:
        self.rng = rng
        self.variables, self.sizes, self.writer = variables, sizes, writer
        self.params: list[Param] = []
        self.nodes: list[Node] = []
        self.pool: list[Value] = []
        self.count = 0
        self.used: set[int] = set()
        self.types: dict[int, str] = {}
        self.cast_variables: list[str] = []  # which no parameter binds
        self.special = False  # whether arguments may have NaN and such
        self.common = [*variables, *rng.sample([1, 2, 3, 4, 5, 8, 16, 17], 2)]
        self.dtypes = [rng.choice(FLOATS), "float32", rng.choice(INTEGERS)]

    # -- choices ------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        """Say yes with a probability."""
        return self.rng.random() < probability

    def choice(self, *choices: Any) -> Any:
        """Return one of some."""
        return self.rng.choice(choices)

    def seed(self) -> int:
        """Return the seed of some data."""
        return self.rng.randrange(1 << 30)

    def dim(self) -> Any:
        """Return a dimension for a new tensor."""
        kind = self.rng.randrange(20)
        if kind < 14:
            return dim(self.rng.choice(self.common))
        if kind < 16 and self.variables:
            name = self.rng.choice(self.variables)
            form = self.rng.choice(["{} * 2", "{} + 1", "{} * 4", "{} * 3 + 1", "{} + 3"])
            return dim(form.format(name))
        return self.rng.choice([1, 1, 2, 3, 4, 6, 7, 8, 9, 16, 17, 33])

    def dims(self, rank: int | None = None) -> list[Any]:
        """Return the dimensions of a new tensor."""
        count = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]) if rank is None else rank
        return [self.dim() for _ in range(count)]

    def cast_variable(self, value: Value, axis: int) -> Any:
        """Return a new variable, to which a cast binds a dimension of a value."""
        name = f"cast_{self.number()}_"
        self.cast_variables.append(name)
        sizes = zip(self.sizes, value.shapes, strict=True)
        self.sizes = tuple({**known, name: shape[axis]} for known, shape in sizes)
        return dim(name)

    def float_type(self) -> str:
        """Return a data type of floats."""
        return self.rng.choice([t for t in self.dtypes if "float" in t])

    # -- values -------------------------------------------------------------------------------

    def number(self) -> int:
        """Return the number of a new value."""
        self.count += 1
        return self.count

    def fresh(
        self, dims: list[Any], dtype: str, low: float = -2, high: float = 2, kind: str = ""
    ) -> Value:
        """Return a new parameter or constant."""
        if any(name in text_of(d) for name in self.cast_variables for d in dims):
            raise ValueError("known inside only")
        shapes = [tuple(size_of(d, sizes) for d in dims) for sizes in self.sizes]
        if any(math.prod(shape) > LARGEST for shape in shapes):
            raise ValueError("too large")
        if not kind:
            kind = self._kind(dtype)
        layout = self.rng.choice(["contiguous"] * 8 + ["reversed", "transposed", "sliced"])
        data = Data(kind, low, high, self.seed(), layout)
        is_static = all(isinstance(d, int) or d.value is not None for d in dims)
        if is_static and self.chance(0.25):
            attrs = {"shape": shapes[0], "dtype": dtype, "data": data}
            return self.emit(Node("constant", (), attrs, self.number()), (low, high))
        text = ", ".join(text_of(d) for d in dims)
        type_ = f"!relax.tensor<[{text}], {element_type(dtype)}>"
        param = Param(self.number(), type_, data)
        self.params.append(param)
        variable = Var(f"p{param.result}", ir.Type.parse(type_))
        self.writer.values[param.result] = variable.value
        return self.add(param.result, ir.Type.parse(type_), (low, high))

    def _kind(self, dtype: str) -> str:
        if "float" not in dtype:
            return "least" if self.chance(0.05) else "integers"
        if self.special and self.chance(0.4):
            return "special"
        return "integers" if self.chance(0.2) else "uniform"

    def add(self, number: int, type_: Any, bounds: tuple[float, float]) -> Value:
        """Take note of a tensor."""
        shapes = tuple(tuple(size_of(d, sizes) for d in dims_of(type_)) for sizes in self.sizes)
        if any(math.prod(shape) > LARGEST for shape in shapes):
            raise ValueError("too large")
        value = Value(number, type_, *bounds, shapes)
        self.types[number] = str(type_)
        self.pool.append(value)
        return value

    def emit(self, node: Node, bounds: tuple[float, float] = (-4, 4)) -> Value:
        """Write a node, and return its value; of a tuple, that of one of its fields."""
        written = self.writer.write(node)
        type_ = written.type
        self.used |= {number for number in node.args if isinstance(number, int)}
        self.nodes.append(node)
        if isinstance(type_, TupleStructInfo):
            fields = list(range(len(type_.fields)))
            self.rng.shuffle(fields)
            found = [self.field(node.result, i, bounds) for i in fields[: self.choice(1, 2, 9)]]
            return found[-1]
        if not isinstance(type_, TensorStructInfo) or type_.shape is None or type_.dtype is None:
            self.nodes.pop()
            raise TypeError("no tensor of known shape")
        try:
            return self.add(node.result, type_, bounds)
        except ValueError:
            self.nodes.pop()
            raise

    def field(self, number: int, index: int, bounds: tuple[float, float]) -> Value:
        """Return the field of a tuple."""
        return self.emit(Node("field", (number,), {"index": index}, self.number()), bounds)

    def make(self, op: str, *args: Any, bounds: tuple[float, float] = (-4, 4), **attrs: Any) -> Any:
        """Write an operator of values, and return its result."""
        numbers = tuple(
            tuple(v.number for v in a) if isinstance(a, (list, tuple)) else a and a.number
            for a in args
        )
        return self.emit(Node(op, numbers, attrs, self.number()), bounds)

    def value(self, fits: Callable[[Value], bool] = lambda value: True) -> Value:
        """Return an existing tensor that fits, most often one of the last."""
        found = [value for value in self.pool if fits(value)]
        if not found:
            raise LookupError("no such tensor")
        free = [value for value in found if value.number not in self.used]
        if free and self.chance(0.6):
            return self.rng.choice(free[-3:])
        return self.rng.choice(found[-6:] if self.chance(0.7) else found)

    def tensor(self, rank: int | None = None, dtype: str | None = None, least: int = 0) -> Value:
        """Return a tensor of a rank and data type; a new one where there is none, and sometimes."""

        def fits(value: Value) -> bool:
            return (value.rank >= least if rank is None else value.rank == rank) and (
                dtype is None or value.dtype == dtype
            )

        if self.chance(0.9):
            try:
                return self.value(fits)
            except LookupError:
                pass
        count = rank if rank is not None else max(least, self.choice(1, 2, 2, 3))
        return self.fresh(self.dims(count), dtype or self.rng.choice(self.dtypes))

    def floats(self, rank: int | None = None, least: int = 0) -> Value:
        """Return a tensor of floats."""
        for _ in range(4):
            value = self.tensor(rank, None, least)
            if value.is_float():
                return value
        return self.tensor(rank, self.float_type(), least)

    def fit(self, value: Value, low: float, high: float) -> Value:
        """Return a tensor whose elements are in a range: the given one, or it clipped."""
        if (value.low >= low and value.high <= high) or self.chance(0.04):
            return value
        if not value.is_float():
            return value
        low, high = max(low, -8.0), min(high, 8.0)
        if self.chance(0.5) and low <= -1 and high >= 1:
            return self.make("tanh", value, bounds=(-1, 1))
        if self.chance(0.3) and low <= 0.3 and high >= 1 and low < 0.3:
            return self.make("sigmoid", value, bounds=(max(low, 0), 1))
        return self.make("clip", value, bounds=(low, high), min=low, max=high)

    def like(self, value: Value, dtype: str | None = None, **data: Any) -> Value:
        """Return a tensor that can be broadcast with another one, which keeps its shape."""
        wanted = dtype or value.dtype

        def fits(other: Value) -> bool:
            return other.dtype == wanted and all(
                len(s) <= len(t)
                and all(a in (1, b) for a, b in zip(s[::-1], t[::-1], strict=False))
                for s, t in zip(other.shapes, value.shapes, strict=True)
            )

        if self.chance(0.5):
            try:
                return self.value(fits)
            except LookupError:
                pass
        dims = list(value.dims)
        if self.chance(0.5):
            dims = [1 if self.chance(0.35) else d for d in dims]
            dims = dims[self.rng.randrange(len(dims) + 1) :] if self.chance(0.4) else dims
        return self.fresh(dims, wanted, **data)

    # -- elementwise operators ----------------------------------------------------------------

    def elementwise(self, name: str, arity: int, first: Value | None = None) -> Value:
        """Write an elementwise operator that has only tensors."""
        x = first or self.value()
        domain = DOMAINS.get(name, ((-math.inf, math.inf),) * arity)
        values = [x] if arity == 1 else [x, self.like(x)]
        values = values[::-1] if self.chance(0.2) and domain[0] == domain[-1] else values
        values += [self.like(x) for _ in range(arity - 2)]
        values = [self.fit(v, *domain[i]) for i, v in enumerate(values)]
        bounds = range_of(name, [(v.low, v.high) for v in values])
        return self.make(name, *values, bounds=bounds)

    @contextmanager
    def body(self) -> Iterator[list[Node]]:
        """Draw nodes for a body: they are put into the list, and their values are not kept."""
        nodes, pool = self.nodes, list(self.pool)
        visible = dict(self.writer.values)
        self.nodes = drawn = []
        try:
            yield drawn
        finally:
            self.nodes = nodes
            known = {param.result for param in self.params}
            self.pool = pool + [v for v in self.pool if v.number in known and v not in pool]
            self.writer.values = visible | {
                n: v for n, v in self.writer.values.items() if n in known
            }

    def chain(self, x: Value, names: dict[str, int], count: int) -> Body:
        """Draw a body that makes a value of the type of `x` out of it."""
        with self.body() as nodes:
            last = x
            for _ in range(count):
                last = self.same(last, names)
            return Body((), tuple(nodes), last.number)

    def same(self, x: Value, names: dict[str, int]) -> Value:
        """Write elementwise operators that keep the type of a value."""
        for _ in range(12):
            before = len(self.nodes), len(self.pool)
            try:
                name = self.rng.choice(list(names))
                y = self.elementwise(name, names[name], x)
            except MISFIT:
                continue
            if y.type == x.type:
                return y
            del self.nodes[before[0] :]
            self.pool = self.pool[: before[1]] + [
                v for v in self.pool[before[1] :] if v.number in {p.result for p in self.params}
            ]
        raise LookupError("no operator keeps the type")
