# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statements in the namespace ``T``, beside its expressions.

It makes descriptions, which only the parser of ``T.prim_func`` can use.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..tir import expr as _expr
from ..tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BufferLoad,
    Call,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExpr,
    Range,
    StringImm,
    Sub,
    Var,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    const,
    convert,
    shift_left,
    shift_right,
)
from ..tir.stmt import Buffer as _Buffer
from ..tir.stmt import BufferData as _BufferData
from . import tir_dtypes, tir_expressions
from .tir_dtypes import *  # noqa: F403
from .tir_dtypes import DType, _dtype
from .tir_dtypes import LetType as LetType
from .tir_expressions import *  # noqa: F403
from .vectors import Broadcast, Ramp, Vector

if TYPE_CHECKING:
    from ..tir.op import *  # noqa: F403 (what tir_expressions wraps)

__all__ = [
    "EQ",
    "GE",
    "GT",
    "LE",
    "LT",
    "NE",
    "Add",
    "And",
    "Broadcast",
    "Buffer",
    "BufferLoad",
    "Call",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "IntImm",
    "LetStmt",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Not",
    "Or",
    "PrimExpr",
    "Ramp",
    "Range",
    "StringImm",
    "Sub",
    "Var",
    "Vector",
    "alloc_buffer",
    "alloc_local",
    "alloc_shared",
    "allocate",
    "assume",
    "attr",
    "axis",
    "bind",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "block",
    "block_attr",
    "broadcast",
    "buffer",
    "buffer_store",
    "const",
    "convert",
    "decl_buffer",
    "evaluate",
    "func_attr",
    "grid",
    "index_map",
    "init",
    "match_buffer",
    "meta_var",
    "parallel",
    "ramp",
    "reads",
    "ret",
    "sblock",
    "sblock_alloc_buffer",
    "sblock_attr",
    "serial",
    "shift_left",
    "shift_right",
    "target",
    "thread_binding",
    "unroll",
    "vectorized",
    "where",
    "writes",
]
__all__ += tir_dtypes.__all__
__all__ += tir_expressions.__all__

# ---------------------------------------------------------------------------------------------
# Buffers
# ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class BufferType:
    """The type of a buffer: ``T.Buffer(shape, dtype)``."""

    shape: tuple[Any, ...]
    dtype: str
    scope: str = "global"

    def describe(self) -> str:
        """Return a description, for messages."""
        return "T.Buffer"


def _buffer_type(
    shape: Any, dtype: Any = "float32", *, scope: str = "global", **layout: Any
) -> BufferType:
    """Return the type of a buffer without strides or offsets of its own."""
    for name, value in layout.items():
        if name in _HINTS:
            continue
        if name not in _LAYOUT:
            raise TypeError(f"expected a shape, a data type and a scope, but got '{name}'")
        plain = value.value if isinstance(value, IntImm) else value
        if isinstance(plain, PrimExpr) or plain not in _LAYOUT[name]:
            raise ValueError(
                f"expected a buffer that is dense, row by row, but got {name}={value!r}"
            )
    if isinstance(shape, int | PrimExpr | str):
        shape = (shape,)
    return BufferType(tuple(shape), _dtype(dtype), scope or "global")


# Accepted values for the layout of a buffer, which hold anyway.
_LAYOUT: dict[str, tuple[Any, ...]] = {
    "data": (None,),
    "strides": (None, [], ()),
    "elem_offset": (None, 0),
    "align": (None, -1, 0, 1, 2, 4, 8, 16, 32, 64),
    "offset_factor": (None, 0, 1),
    "buffer_type": (None, "", "default"),
    "layout": (None, "default"),
    "logical_scope": (None, ""),
}
# Accepted hints for memory of other targets.
_HINTS = ("axis_separators", "annotations")


class _BufferConstructor:
    """``T.Buffer(shape, dtype)``, also written ``T.Buffer[shape, dtype]``."""

    def __call__(self, shape: Any, dtype: Any = "float32", **layout: Any) -> BufferType:
        return _buffer_type(shape, dtype, **layout)

    def __getitem__(self, keys: Any) -> BufferType:
        if isinstance(keys, tuple) and len(keys) == 2 and isinstance(keys[1], str | DType):
            return _buffer_type(*keys)
        return _buffer_type(keys)


Buffer = buffer = _BufferConstructor()


@dataclasses.dataclass(frozen=True)
class MatchBuffer:
    """``T.match_buffer``."""

    param: Any
    type: BufferType


@dataclasses.dataclass(frozen=True)
class Reshape:
    """``T.decl_buffer(shape, data=A.data)``."""

    source: _Buffer
    type: BufferType


@dataclasses.dataclass(frozen=True)
class Allocation:
    """``T.alloc_buffer`` and its kin."""

    type: BufferType


@dataclasses.dataclass(frozen=True)
class Region:
    """A part of a buffer, ``A[0:4]``."""

    buffer: _Buffer
    indices: tuple[Any, ...]

    def describe(self) -> str:
        """Return a description, for messages."""
        return f"a slice of buffer '{self.buffer.name}'"


class Scalar:
    """A local variable that can be assigned to.

    Parameters
    ----------
    buffer : relax_mlir.tir.stmt.Buffer
        Of no dimensions.
    """

    def __init__(self, buffer: _Buffer) -> None:
        self.buffer = buffer

    def load(self) -> PrimExpr:
        """Return its value."""
        return BufferLoad(self.buffer, ())


def match_buffer(
    param: Any, shape: Any = None, dtype: Any = "float32", *rest: Any, **layout: Any
) -> MatchBuffer:
    """Say that a handle is a buffer of a shape and a data type.

    Parameters
    ----------
    param : variable
        A parameter of type ``T.handle``, or a part of a buffer, ``A[0:4, i]``.
    shape : sequence of int, variable or expression
        A variable that is a dimension of its own gets its value from the buffer.
    dtype : str
    """
    if shape is None:
        raise TypeError("expected a shape")
    for name, value in zip(("data", "strides", "elem_offset", "scope"), rest, strict=False):
        layout.setdefault(name, value)
    return MatchBuffer(param, _buffer_type(shape, dtype, **layout))


def alloc_buffer(shape: Any, dtype: Any = "float32", *rest: Any, **layout: Any) -> Allocation:
    """Allocate a buffer for the rest of the body."""
    for name, value in zip(("data", "strides", "elem_offset", "scope"), rest, strict=False):
        layout.setdefault(name, value)
    return Allocation(_buffer_type(shape, dtype, **layout))


sblock_alloc_buffer = alloc_buffer


def decl_buffer(
    shape: Any, dtype: Any = "float32", data: Any = None, *rest: Any, **layout: Any
) -> Allocation | Reshape:
    """Allocate a buffer for the rest of the body, or see the elements of one in another shape.

    Parameters
    ----------
    shape : sequence of int, variable or expression
    dtype : str
    data : expression, optional
        The elements, ``A.data``.
    """
    if data is None:
        return alloc_buffer(shape, dtype, None, *rest, **layout)
    if not isinstance(data, _BufferData):
        raise TypeError(f"expected the data of a buffer, as in A.data, but got {data!r}")
    for name, value in zip(("strides", "elem_offset", "scope"), rest, strict=False):
        layout.setdefault(name, value)
    return Reshape(data.buffer, _buffer_type(shape, dtype, **layout))


def allocate(extents: Any, dtype: Any, scope: str = "global", **_: Any) -> Allocation:
    """Allocate memory for the rest of the body, or for that of ``with``."""
    return Allocation(_buffer_type(extents, dtype, scope=scope))


def alloc_local(shape: Any, dtype: Any = "float32", **layout: Any) -> Allocation:
    """Allocate a small buffer for the rest of the body."""
    return alloc_buffer(shape, dtype, scope="local", **layout)


def alloc_shared(shape: Any, dtype: Any = "float32", **layout: Any) -> Allocation:
    """Allocate a buffer that threads share."""
    return alloc_buffer(shape, dtype, scope="shared", **layout)


def buffer_store(buffer: Any, value: Any, indices: Any) -> Store:
    """Store a value to an element of a buffer."""
    many = isinstance(indices, tuple | list)
    return Store(buffer, tuple(indices) if many else (indices,), value)


@dataclasses.dataclass(frozen=True)
class Store:
    """``T.buffer_store``."""

    buffer: Any
    indices: tuple[Any, ...]
    value: Any


# ---------------------------------------------------------------------------------------------
# Functions
# ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class FuncAttr:
    """``T.func_attr``."""

    attrs: dict[str, Any]


def func_attr(attrs: Mapping[str, Any]) -> FuncAttr:
    """Give the function attributes."""
    if not isinstance(attrs, Mapping):
        raise TypeError(f"expected a dictionary, but got {attrs!r}")
    return FuncAttr(dict(attrs))


@dataclasses.dataclass(frozen=True)
class MetaVar:
    """``T.meta_var``."""

    value: Any


def meta_var(value: Any) -> MetaVar:
    """Name a value while the program is parsed."""
    return MetaVar(value)


# ---------------------------------------------------------------------------------------------
# Loops
# ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class ForFrame:
    """One loop, or several nested ones."""

    kind: str
    ranges: tuple[tuple[PrimExpr, PrimExpr], ...]  # first value, and the one after the last
    step: PrimExpr | None = None
    thread: str | None = None
    annotations: dict[str, Any] = dataclasses.field(default_factory=dict)

    def describe(self) -> str:
        """Return a description, for messages."""
        return "a loop"


def _range(start: Any, stop: Any) -> tuple[PrimExpr, PrimExpr]:
    if stop is None:
        last = convert(start)
        first: PrimExpr = const(0, last.dtype)
    else:
        first, last = _expr.match_types(start, stop)
    if not _expr.is_integer(last.dtype):
        raise TypeError(f"expected an integer as range of a loop, but got {last.dtype}")
    return first, last


def _loop(
    kind: str,
    start: Any,
    stop: Any,
    step: Any = None,
    annotations: Any = None,
    thread: str | None = None,
) -> ForFrame:
    first, last = _range(start, stop)
    if step is not None:
        step = _expr.cast(first.dtype, step)
        if isinstance(step, IntImm):
            if step.value <= 0:
                raise ValueError(f"expected a positive step, but got {step.value}")
            if step.value == 1:
                step = None
    return ForFrame(kind, ((first, last),), step, thread, dict(annotations or {}))


def serial(start: Any, stop: Any = None, *, annotations: Any = None, step: Any = None) -> ForFrame:
    """Loop over the integers from `start` to `stop`, exclusively; from 0 with one argument."""
    return _loop("serial", start, stop, step, annotations)


def parallel(
    start: Any, stop: Any = None, *, annotations: Any = None, step: Any = None
) -> ForFrame:
    """Loop in any order."""
    return _loop("parallel", start, stop, step, annotations)


def vectorized(
    start: Any, stop: Any = None, *, annotations: Any = None, step: Any = None
) -> ForFrame:
    """Loop with vectors."""
    return _loop("vectorized", start, stop, step, annotations)


def unroll(start: Any, stop: Any = None, *, annotations: Any = None, step: Any = None) -> ForFrame:
    """Loop without a loop."""
    return _loop("unroll", start, stop, step, annotations)


_THREAD = re.compile(r"(blockIdx|threadIdx)\.[xyz]|(vthread|cthread)(\.[xyz])?")


def thread_binding(
    start: Any, stop: Any = None, thread: str | None = None, *, annotations: Any = None
) -> ForFrame:
    """Loop with threads of a device; on a processor, one after another."""
    if thread is None:
        if not isinstance(stop, str):
            raise TypeError("expected thread, such as 'threadIdx.x'")
        stop, thread = None, stop
    if not isinstance(thread, str) or not _THREAD.fullmatch(thread):
        raise ValueError(f"expected thread, 'threadIdx.x' or the like, but got {thread!r}")
    return _loop("thread_binding", start, stop, None, annotations, thread)


def grid(*extents: Any) -> ForFrame:
    """Loop over all tuples of integers below `extents`; a pair is a first value and an end."""
    ranges = [
        _range(*extent) if isinstance(extent, tuple | list) else _range(extent, None)
        for extent in extents
    ]
    return ForFrame("serial", tuple(ranges))


# ---------------------------------------------------------------------------------------------
# Blocks
# ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class BlockFrame:
    """``with T.sblock(name)``."""

    name: str

    def describe(self) -> str:
        """Return a description, for messages."""
        return "a block"


def sblock(name: str = "", no_realize: Any = False, exec_scope: str = "") -> BlockFrame:
    """Compute one point of an iteration domain, see `axis`."""
    return BlockFrame(name)


block = sblock


@dataclasses.dataclass(frozen=True)
class InitFrame:
    """``with T.init()``."""

    def describe(self) -> str:
        """Return a description, for messages."""
        return "T.init()"


def init() -> InitFrame:
    """Give the value that a reduction starts with."""
    return InitFrame()


@dataclasses.dataclass(frozen=True)
class Axis:
    """``T.axis.spatial`` and its kin; no domain where it is that of the loop."""

    kind: str
    domain: tuple[Any, Any] | None
    binding: Any

    def describe(self) -> str:
        """Return a description, for messages."""
        return f"T.axis.{self.kind}"


class axis:  # noqa: N801 (TVM's name)
    """The axes of a block."""

    @staticmethod
    def _axis(kind: str, dom: Any, value: Any) -> Axis:
        if isinstance(dom, Range):
            start, extent = dom.min, dom.extent
        elif isinstance(dom, tuple | list):
            if len(dom) != 2:
                raise ValueError(f"expected an extent or a pair of bounds, but got {dom!r}")
            start, stop = _range(*dom)
            extent = _expr.subtract(stop, start)
        else:
            start, extent = _range(dom, None)
        return Axis(kind, (start, extent), _expr.cast(extent.dtype, value))

    @staticmethod
    def spatial(dom: Any, value: Any, dtype: Any = None) -> Axis:
        """Compute each point of the output once."""
        return axis._axis("spatial", dom, value)

    @staticmethod
    def reduce(dom: Any, value: Any, dtype: Any = None) -> Axis:
        """Combine all points."""
        return axis._axis("reduce", dom, value)

    @staticmethod
    def scan(dom: Any, value: Any, dtype: Any = None) -> Axis:
        """Compute points in order."""
        return axis._axis("scan", dom, value)

    @staticmethod
    def opaque(dom: Any, value: Any, dtype: Any = None) -> Axis:
        """Compute points in order, with any effect."""
        return axis._axis("opaque", dom, value)

    @staticmethod
    def remap(kinds: str, bindings: Sequence[Any], dtype: Any = None) -> Any:
        """Return the axes of loops: S is spatial, R is reduce."""
        if len(kinds) != len(bindings):
            raise ValueError(f"expected {len(kinds)} variables of loops, but got {len(bindings)}")
        names = {"S": "spatial", "R": "reduce"}
        for kind in kinds:
            if kind not in names:
                raise ValueError(f"expected S or R for an axis, but got {kind!r}")
        axes = [
            Axis(names[kind], None, binding) for kind, binding in zip(kinds, bindings, strict=True)
        ]
        return axes[0] if len(axes) == 1 else axes

    S, R = spatial, reduce


@dataclasses.dataclass(frozen=True)
class Hint:
    """A statement that changes nothing that is computed."""

    name: str
    needs_block: Any

    def describe(self) -> str:
        """Return a description, for messages."""
        return f"T.{self.name}"


def reads(*regions: Any) -> Hint:
    """State the reads of a block; they are derived anyway."""
    return Hint("reads", True)


def writes(*regions: Any) -> Hint:
    """State the writes of a block; they are derived anyway."""
    return Hint("writes", True)


def assume(condition: Any) -> Hint:
    """State a condition that is true; it is not used."""
    return Hint("assume", False)


@dataclasses.dataclass(frozen=True)
class Where:
    """``T.where``."""

    condition: Any

    def describe(self) -> str:
        """Return a description, for messages."""
        return "T.where"


def where(predicate: Any) -> Where:
    """Compute a block only where a condition is true."""
    return Where(predicate)


@dataclasses.dataclass(frozen=True)
class BlockAttr:
    """``T.sblock_attr``."""

    attrs: dict[str, Any]

    def describe(self) -> str:
        """Return a description, for messages."""
        return "T.sblock_attr"


def sblock_attr(attrs: Mapping[str, Any]) -> BlockAttr:
    """Give a block attributes."""
    return BlockAttr(dict(attrs))


block_attr = sblock_attr


def attr(node: Any, attr_key: str, value: Any) -> Hint:
    """Give the rest of the body, or that of ``with``, an attribute; no use is made of it."""
    return Hint("attr", False)


def target(config: Any, host: Any = None) -> Any:
    """Return what a target is made from, as an attribute."""
    return config


# ---------------------------------------------------------------------------------------------
# Other statements
# ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """``T.evaluate``."""

    value: Any


def index_map(
    mapping: Callable[..., Any], *, inverse_index_map: Any = None, index_dtype: str = "int64"
) -> Callable[..., Any]:
    """Return a map of indices, which `R.layout_transform` takes.

    Parameters
    ----------
    mapping : function
        From the indices of an element to those that it has in the result.
    inverse_index_map, index_dtype
        Not needed here.
    """
    del inverse_index_map, index_dtype
    return mapping


def evaluate(value: Any) -> Evaluate:
    """Compute a value for the effect of doing so."""
    return Evaluate(value)


@dataclasses.dataclass(frozen=True)
class Return:
    """``T.ret``."""

    value: Any


def ret(value: Any = None) -> Return:
    """Return from a function, as ``return value`` does."""
    return Return(value)


@dataclasses.dataclass(frozen=True)
class LetFrame:
    """``T.LetStmt``."""

    value: Any
    var: Any = None


def LetStmt(value: Any, type_annotation: Any = None, *, var: Any = None) -> LetFrame:  # noqa: N802 (TVM's name)
    """Name a value for the rest of the body, or for that of ``with``."""
    if isinstance(type_annotation, DType) and isinstance(value, PrimExpr):
        value = _expr.cast(type_annotation.name, value)
    return LetFrame(value, var)


bind = LetStmt

ramp = Ramp
broadcast = Broadcast
