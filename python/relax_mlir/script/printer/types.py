# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dimensions, StructInfo and attributes as a program writes them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from mlir import ir

from ...core.dtypes import dtype_name
from ...core.ir import (
    Dim,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from ...core.sharding import DeviceMesh, DTensorStructInfo, Placement
from .index_maps import index_map
from .options import Options

# The precedence of the operators of Python.
_SUM, _PRODUCT, _FACTOR, _ATOM = range(4)
_COMPARISONS = ("eq", "lt", "le")
_CONDITIONS = ("and", "or", "not", *_COMPARISONS)
_CALLS = {
    "min": "min",
    "max": "max",
    "select": "Select",
    "not": "Not",
    "and": "And",
    "or": "Or",
    "eq": "EQ",
    "lt": "LT",
    "le": "LE",
}


class TypePrinter:
    """Writes dimensions and StructInfo.

    Parameters
    ----------
    options : Options
    use : callable
        Is told each shape variable that is written as a name of Python.
    """

    def __init__(self, options: Options, use: Callable[[str], None]) -> None:
        self._options = options
        self._use = use
        self._is_bound: Callable[[str], bool] | None = None
        # The names of the virtual devices that the module lists, and how they are written.
        self.devices: dict[str, str] = {}
        # How the meshes that it lists are written, by their texts in MLIR.
        self.meshes: dict[str, str] = {}
        # Of what kind the devices of the module are, by their numbers.
        self.device_kinds: dict[int, str] = {}

    # -- dimensions ---------------------------------------------------------------------------

    def dim(self, expr: Dim) -> str:
        """Return a dimension: a number, an expression, or a text in a signature."""
        if not is_expression(expr):
            return f"{self._options.ir_prefix}.mlir_attr({quote(str(expr))})"
        text = self._expr(expr)[0]
        is_text = False
        for name in expr.variables:
            if self._is_bound is not None and not self._is_bound(name):
                is_text = True
            else:
                self._use(name)
        return f'"{text}"' if is_text else text

    def dims(self, shape: ShapeExpr) -> str:
        """Return dimensions, separated by commas."""
        return ", ".join(self.dim(dim) for dim in shape.dims)

    def _expr(self, expr: Dim) -> tuple[str, int]:
        kind = expr.kind
        if kind == "int":
            return self._number(expr.value)
        if kind == "var":
            return str(expr.name), _ATOM
        if kind == "add":
            return self._sum(expr.operands), _SUM
        if kind == "mul":
            return self._product(expr.operands)
        if kind in ("floordiv", "mod"):
            lhs, rhs = expr.operands
            operator = "//" if kind == "floordiv" else "%"
            return f"{self._at(lhs, _PRODUCT)} {operator} {self._at(rhs, _FACTOR)}", _PRODUCT
        texts = [self._expr(operand)[0] for operand in expr.operands]
        if kind in _COMPARISONS:  # of one data type
            texts = [
                f"T.int64({operand.value})" if operand.kind == "int" else text
                for operand, text in zip(expr.operands, texts, strict=True)
            ]
        return f"T.{_CALLS[kind]}({', '.join(texts)})", _ATOM

    def _number(self, value: int | None) -> tuple[str, int]:
        assert value is not None
        if self._options.verbose_expr:
            return f"T.int64({value})", _ATOM
        return str(value), _ATOM if value >= 0 else _FACTOR

    def _at(self, expr: Dim, level: int) -> str:
        text, own = self._expr(expr)
        return text if own >= level else f"({text})"

    def _sum(self, operands: Sequence[Dim]) -> str:
        text = self._at(operands[0], _PRODUCT)
        for operand in operands[1:]:
            part = self._at(operand, _PRODUCT)
            text += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
        return text

    def _product(self, operands: Sequence[Dim]) -> tuple[str, int]:
        # The sign of the number at the end is that of the term.
        *factors, last = operands
        is_negated = last.kind == "int" and last.value == -1 and not self._options.verbose_expr
        parts = [self._at(factor, _FACTOR) for factor in (factors if is_negated else operands)]
        text = " * ".join(parts)
        return (f"-{text}" if is_negated else text), _PRODUCT

    # -- StructInfo ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def in_signature(self, is_bound: Callable[[str], bool]) -> Iterator[None]:
        """Write the StructInfo of a signature, where dimensions with new variables are texts.

        Parameters
        ----------
        is_bound : callable
            Says whether a variable is known around the signature.
        """
        self._is_bound = is_bound
        try:
            yield
        finally:
            self._is_bound = None

    def struct_info(self, type_: ir.Type) -> str:
        """Return StructInfo, or any other type of MLIR."""
        if isinstance(type_, TensorStructInfo):
            return self._tensor(type_)
        if isinstance(type_, ShapeStructInfo):
            return self._shape(type_)
        if isinstance(type_, PrimStructInfo):
            return self._prim(type_)
        if isinstance(type_, TupleStructInfo):
            fields = ", ".join(self.struct_info(field) for field in type_.fields)
            return f"R.Tuple({fields})" if fields else "R.Tuple"
        if isinstance(type_, FuncStructInfo):
            return self._func(type_)
        if isinstance(type_, ObjectStructInfo):
            return "R.Object"
        return f"{self._options.ir_prefix}.mlir_type({quote(str(type_))})"

    def _tensor(self, type_: TensorStructInfo) -> str:
        if isinstance(type_, DTensorStructInfo):
            return self._dtensor(type_)
        args = []
        if type_.shape is not None:
            dims = self.dims(type_.shape)
            args.append(f"({dims},)" if len(type_.shape) == 1 else f"({dims})")
        if type_.shape_var is not None:
            args.append(f"var={quote(type_.shape_var)}")
        if type_.dtype is not None:
            args.append(f'dtype="{type_.dtype}"')
        if type_.vdevice is not None:
            args.append(f"vdevice={quote(self.device(type_.vdevice))}")
        if type_.shape is None and type_.ndim != -1:
            args.append(f"ndim={type_.ndim}")
        return f"R.Tensor({', '.join(args)})" if args else "R.Tensor"

    def _dtensor(self, type_: DTensorStructInfo) -> str:
        names = ("", "dtype", "device_mesh", "placement")
        mesh, placement = self.mesh(type_.device_mesh), quote(str(type_.placement))
        shape = None
        if type_.shape is not None:
            shape = f"({self.dims(type_.shape)}{',' if len(type_.shape) == 1 else ''})"
        dtype = None if type_.dtype is None else f'"{type_.dtype}"'
        args: list[str] = []
        is_named = False
        for name, value in zip(names, (shape, dtype, mesh, placement), strict=True):
            is_named |= value is None
            if value is not None:
                args.append(f"{name}={value}" if is_named else value)
        if type_.shape is None and type_.ndim != -1:
            args.append(f"ndim={type_.ndim}")
        if type_.vdevice is not None:
            args.append(f"vdevice={quote(self.device(type_.vdevice))}")
        return f"R.DTensor({', '.join(args)})"

    def mesh(self, mesh: DeviceMesh) -> str:
        """Return a mesh of devices: its name where the module lists it."""
        if str(mesh) in self.meshes:
            return quote(self.meshes[str(mesh)])
        return self.new_mesh(mesh)

    def new_mesh(self, mesh: DeviceMesh) -> str:
        """Return the expression that makes a mesh of devices."""
        ids, shape = mesh.device_range, ", ".join(map(str, mesh.shape))
        shape += "," if len(mesh.shape) == 1 else ""
        prefix = self._options.ir_prefix
        listed = (
            list(mesh.device_ids) if ids is None else f"{prefix}.Range({ids.start}, {ids.stop})"
        )
        return f"R.device_mesh(({shape}), {listed})"

    def device(self, name: str) -> str:
        """Return a virtual device of the module; one that it does not list has an @ before it."""
        return self.devices.get(name, f"@{name}")

    def device_kind(self, index: int) -> str:
        """Return the kind of a device of the module, as TVM calls it in ``R.device``."""
        kind = self.device_kinds.get(index, "")
        return "cpu" if kind in ("", "llvm", "c") else kind

    def _shape(self, type_: ShapeStructInfo) -> str:
        if type_.values is not None:
            return f"R.Shape([{self.dims(type_.values)}])"
        args = [f"var={quote(type_.var)}"] if type_.var is not None else []
        args += [f"ndim={type_.ndim}"] if type_.ndim != -1 else []
        return f"R.Shape({', '.join(args)})" if args else "R.Shape"

    def _prim(self, type_: PrimStructInfo) -> str:
        if type_.value is None:
            return f'R.Prim("{type_.dtype}")'
        value = f"value={self.dim(type_.value)}"
        return f"R.Prim({value})" if type_.dtype == "int64" else f'R.Prim("{type_.dtype}", {value})'

    def _func(self, type_: FuncStructInfo) -> str:
        if type_.derive is not None:
            return f"R.Callable(derive_func={quote(type_.derive)})"
        params = sequence([self.struct_info(param) for param in type_.params])
        return f"R.Callable({params}, {self.struct_info(type_.ret)}, {type_.is_pure})"

    # -- attributes ---------------------------------------------------------------------------

    def attribute(self, attr: ir.Attribute) -> str:
        """Return an attribute as a value of Python, or else as a text of MLIR."""
        text = _plain(attr)
        return f"{self._options.ir_prefix}.mlir_attr({quote(str(attr))})" if text is None else text

    def attributes(self, items: Iterable[tuple[str, ir.Attribute]]) -> str:
        """Return named attributes as a dictionary of Python."""
        return dictionary((name, self.attribute(attr)) for name, attr in items)

    def argument(self, attr: ir.Attribute) -> str:
        """Return an attribute as an argument of an operator.

        The operands of an operator depend on its definition, so numbers and lists of them need not
        say of which kind they are.
        """
        if isinstance(attr, (ir.IntegerAttr, ir.DenseI64ArrayAttr)) and not isinstance(
            attr, ir.BoolAttr
        ):
            value = list(attr) if isinstance(attr, ir.DenseI64ArrayAttr) else attr.value
            return str(value)
        if isinstance(attr, ir.FloatAttr) and math.isfinite(attr.value):
            is_single = str(attr.type) == "f32"
            return str(np.float32(attr.value)) if is_single else repr(attr.value)
        if isinstance(attr, ir.TypeAttr):
            type_ = attr.value
            is_data = isinstance(type_, (ir.IntegerType, ir.FloatType))
            return f'"{dtype_name(type_)}"' if is_data else self.struct_info(type_)
        if isinstance(attr, ir.ArrayAttr):
            return sequence([self.argument(item) for item in attr])
        if isinstance(attr, ir.FlatSymbolRefAttr):
            return quote(attr.value)
        if isinstance(attr, Dim):
            return self.dim(attr)
        text = str(attr)
        if text.startswith("#relax.device_mesh"):
            return self.mesh(DeviceMesh.of(attr))
        if text.startswith("#relax.placement"):
            return quote(str(Placement.of(attr)))
        if isinstance(attr, ir.AffineMapAttr) and not attr.value.n_symbols:
            return index_map(attr)
        return self.attribute(attr)


def is_expression(expr: Dim) -> bool:
    """Say whether T has an expression for a dimension: its conditions are no numbers."""
    return expr.kind not in _CONDITIONS and _has_kinds(expr)


def _has_kinds(expr: Dim) -> bool:
    operands = expr.operands
    if sum(operand.kind == "int" for operand in operands) > 1 and expr.kind != "select":
        return False  # Python would compute it: only the dialect keeps what overflows
    wanted = [expr.kind in ("and", "or", "not")] * len(operands)
    if expr.kind == "select":
        wanted = [True, False, False]
    are_conditions = [operand.kind in _CONDITIONS for operand in operands]
    return wanted == are_conditions and all(_has_kinds(operand) for operand in operands)


def _plain(attr: ir.Attribute) -> str | None:
    """Return an attribute that Python has a value for."""
    if isinstance(attr, ir.BoolAttr):
        return str(attr.value)
    if isinstance(attr, ir.IntegerAttr):
        return str(attr.value) if str(attr.type) == "i64" else None
    if isinstance(attr, ir.FloatAttr):
        is_plain = str(attr.type) == "f64" and math.isfinite(attr.value)
        return repr(attr.value) if is_plain else None
    if isinstance(attr, ir.StringAttr):
        return string_literal(attr)
    if isinstance(attr, ir.ArrayAttr):
        items = [_plain(item) for item in attr]
        return None if None in items else f"[{', '.join(map(str, items))}]"
    if isinstance(attr, ir.DictAttr):
        fields = [(name, _plain(item)) for name, item in entries(attr)]
        known = [(name, text) for name, text in fields if text is not None]
        return dictionary(known) if len(known) == len(fields) else None
    return None


def entries(attributes: Any) -> list[tuple[str, ir.Attribute]]:
    """Return the names and values of the attributes of an operation, or of a dictionary."""
    named = [attributes[index] for index in range(len(attributes))]
    return [(item.name, item.attr) for item in named]


def sequence(items: Sequence[str]) -> str:
    """Return a tuple of Python."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def quote(text: str) -> str:
    """Return a text as a literal of Python, in double quotes."""
    plain = text.isascii() and text.isprintable() and '"' not in text and "\\" not in text
    return f'"{text}"' if plain else repr(text)


def literal(value: Any, other: Callable[[Any], str] = repr) -> str:
    """Return a value of Python as text.

    Parameters
    ----------
    value : list, mapping, str, number or anything else
    other : callable
        Writes what is no list, mapping, string or float.
    """
    if isinstance(value, list):
        return "[" + ", ".join(literal(item, other) for item in value) + "]"
    if isinstance(value, Mapping):
        return dictionary((key, literal(item, other)) for key, item in value.items())
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    return other(value)


def dictionary(items: Iterable[tuple[str, str]]) -> str:
    """Return a dictionary of Python, from its keys and the texts of its values."""
    return "{" + ", ".join(f"{quote(key)}: {text}" for key, text in items) + "}"


def string_literal(attr: ir.StringAttr) -> str | None:
    """Return a string as a literal of Python; None where it has a type or is not UTF-8."""
    try:
        return quote(attr.value_bytes.decode()) if str(attr.type) == "none" else None
    except UnicodeDecodeError:
        return None


def block_text(text: str, indent: str) -> str:
    """Return text of MLIR as a literal over several lines."""
    if '"""' in text or text.endswith(("\\", '"')) or not text.isascii():
        return repr(text)
    prefix = "r" if "\\" in text else ""
    return f'{prefix}"""\n{indent}' + text.replace("\n", f"\n{indent}") + f'\n{indent}"""'
