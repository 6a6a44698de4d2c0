# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs that are valid, written by the grammar of the dialect with `BlockBuilder`.

A seed makes the same program again. Statements are drawn at random, and those that do not fit the
existing values are drawn again; names are drawn from a short list, so that they collide.
"""

from __future__ import annotations

import contextlib
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from mlir import ir
from relax_mlir import (
    BlockBuilder,
    Dim,
    FuncStructInfo,
    GlobalVar,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    Var,
    VDevice,
    op,
)
from relax_mlir.core.context import current_context
from relax_mlir.script.generic import mlir_attr, mlir_op, mlir_type

DTYPES = ["float32", "float32", "float32", "float16", "float64", "int32", "int64", "int8"]
DTYPES += ["uint8", "bool", "bfloat16"]
NAMES = ["x", "y", "gv", "lv", "lv1", "gv_1", "n", "cls", "R", "lambda", "a.b", "1st", "", "", ""]
VARIABLES = ["n", "m", "k", "batch", "lv", "x"]
UNARY = ["exp", "negative", "sqrt", "tanh", "sigmoid", "abs", "floor", "sign", "logical_not"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "less", "equal", "power"]
REDUCE = ["sum", "mean", "max", "min", "prod"]
KERNELS = {
    "relu": "func.func private @{}(memref<?xf32>, memref<?xf32>)",
    "scale": "func.func private @{}(tensor<?x4xf32>, i64, tensor<?x4xf32>) -> tensor<?x4xf32>",
    "fill": "func.func private @{}(memref<f32>)",
}
SYMBOLS = ["main", "helper", "f", "g", "block.0", "import", "f_1"]
ATTRIBUTES: list[tuple[str, Any]] = [
    ("note", 'text with "quotes" and \\'),
    ("number", -3),
    ("ratio", 0.1),
    ("flag", True),
    ("list", '[1, "a", [true]]'),
    ("map", '{a = 1 : i64, b = {c = "d"}}'),
    ("unit", "unit"),
    ("small", "7 : i8"),
    ("type", "tensor<4xf32>"),
    ("relax.force_pure", True),
]
CONDITIONS = ("!relax.object", "!relax.tensor<[], i1>", "!relax.tensor<*>")
# Exceptions of a draw that does not fit.
MISFIT = (ValueError, TypeError, ir.MLIRError, LookupError)


class Generator:
    """Draws one program.

    Parameters
    ----------
    seed : int
    size : int
        About how many statements a function has.
    """

    def __init__(self, seed: int, size: int = 10) -> None:
        self.rng = random.Random(seed)
        self.size = size
        self.devices: dict[str, VDevice] = {}
        self.functions: list[tuple[GlobalVar, FuncStructInfo]] = []
        self.kernels: dict[str, str] = {}
        self.is_pure = True
        self.is_dataflow = False

    def module(self) -> ir.Module:
        """Return a program."""
        with current_context(), ir.Location.unknown(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.chance(0.3):
                names = ["cpu0", "vdevice0", "vdevice1", "other"]
                for name in self.rng.sample(names, self.rng.randint(1, 3)):
                    target = self.rng.choice(["llvm", "llvm", "cuda", "llvm -mcpu=x", ""])
                    scope = self.rng.choice(["global", "global", "local"])
                    self.devices[name] = VDevice(target, self.rng.randrange(3), scope)
            self.bb = BlockBuilder(global_info=self.devices or None)
            for name, text in KERNELS.items():
                if self.chance(0.4):
                    symbol = self.rng.choice([name, f"{name}.1"])
                    quoted = f'"{symbol}"' if "." in symbol else symbol
                    self.bb.add_func(text.format(quoted), symbol)
                    self.kernels[name] = symbol
            for symbol in self.rng.sample(SYMBOLS, self.rng.randint(1, 3)):
                self.function(symbol)
            module: ir.Module = self.bb.get()
            return getattr(module, "module", module)

    # -- choices ------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        """Say yes with a probability."""
        return self.rng.random() < probability

    def name(self) -> str:
        """Return a name for a value; often the same as others have."""
        return self.rng.choice(NAMES)

    def expr(self, depth: int = 2) -> Dim:
        """Return a dimension."""
        kind = self.rng.randrange(10)
        if depth == 0 or kind < 3:
            return Dim(self.rng.choice(self.scope) if self.scope and kind else kind + 2)
        lhs, rhs = self.expr(depth - 1), self.expr(depth - 1)
        if kind < 5:
            return lhs + rhs
        if kind < 6:
            return lhs * rhs
        if kind < 7:
            return lhs - rhs
        if kind < 8:
            return lhs // self.rng.randint(1, 5) if self.chance(0.7) else lhs % 4
        return lhs.max(rhs) if self.chance(0.5) else lhs.min(rhs)

    def dims(self, limit: int = 3) -> list[Any]:
        """Return the dimensions of a shape."""
        return [self.dim() for _ in range(self.rng.randint(0, limit))]

    def dim(self) -> Any:
        """Return a dimension that is not negative."""
        if self.scope and self.chance(0.6):
            base = Dim(self.rng.choice(self.scope))
            return base if self.chance(0.6) else base * self.rng.randint(2, 4) + 1
        return self.rng.choice([1, 2, 4, 4])

    def type(self, depth: int = 2) -> ir.Type:
        """Return StructInfo whose variables are all in scope."""
        kind = self.rng.randrange(14 if depth else 8)
        dtype = self.rng.choice(DTYPES)
        if kind < 5:
            device = self.rng.choice([None, None, *self.devices])
            if self.chance(0.2):
                ndim = self.rng.choice([-1, 0, 1, 2])
                return TensorStructInfo(
                    None, self.rng.choice([None, dtype]), ndim=ndim, vdevice=device
                )
            return TensorStructInfo(self.dims(), dtype, vdevice=device)
        if kind < 6:
            if self.chance(0.3):
                return ShapeStructInfo(ndim=self.rng.choice([-1, 0, 2]))
            return ShapeStructInfo(self.dims())
        if kind < 7:
            if self.chance(0.4):
                return PrimStructInfo("int64", self.dim())
            return PrimStructInfo(self.rng.choice(["int64", "float32", "bool", "int32"]))
        if kind < 8:
            return ObjectStructInfo()
        if kind < 11:
            return TupleStructInfo([self.type(depth - 1) for _ in range(self.rng.randrange(3))])
        if kind < 12:
            return FuncStructInfo(None)
        params = [self.type(0) for _ in range(self.rng.randrange(3))]
        return FuncStructInfo(params, self.type(0), self.chance(0.7))

    # -- functions ----------------------------------------------------------------------------

    def function(self, symbol: str) -> None:
        """Write a function."""
        self.scope: list[str] = []
        params = self.params()
        self.is_pure = self.chance(0.6)
        attrs = self.attributes()
        for name in list(self.scope):  # types may use what all of them bind
            if not any(name in str(param.struct_info) for param in params):
                self.scope.remove(name)
        pure = self.is_pure
        options: dict[str, Any] = {"pure": pure, "private": self.chance(0.3)}
        with self.bb.function(symbol, params, attrs, **options):
            pool = [param.value for param in params]
            self.statements(pool, self.size)
            result = self.bb.emit_func_output(self.result(pool))
        type_ = FuncStructInfo([param.struct_info for param in params], ObjectStructInfo(), pure)
        assert isinstance(result, GlobalVar)
        self.functions.append((result, type_))

    def params(self) -> list[Var]:
        """Return parameters, whose variables stand alone in some dimension."""
        names = self.rng.sample(["x", "y", "w", "arg1", "n", "R", "self"], self.rng.randint(1, 4))
        params = []
        for name in names:
            new = [v for v in VARIABLES if v not in self.scope and self.chance(0.3)]
            if new:
                self.scope += new
                kind = self.rng.randrange(4)
                if kind == 0:
                    type_: ir.Type = ShapeStructInfo([*new, *self.dims(1)])
                elif kind == 1 and len(new) == 1:
                    type_ = PrimStructInfo("int64", new[0])
                else:
                    type_ = TensorStructInfo([*new, *self.dims(1)], self.rng.choice(DTYPES))
            else:
                type_ = self.type()
            params.append(Var(name, type_))
        return params

    def attributes(self) -> dict[str, Any]:
        """Return attributes of a function."""
        found = {}
        for name, value in self.rng.sample(ATTRIBUTES, self.rng.choice([0, 0, 1, 3])):
            if name == "relax.force_pure" and not self.is_pure:
                continue
            is_text = name in ("list", "map", "unit", "small", "type")
            found[name] = mlir_attr(value) if is_text else value
        return found

    def result(self, pool: list[ir.Value]) -> ir.Value:
        """Return the result of a function."""
        if self.chance(0.2):
            return op.tuple(*self.rng.choices(pool, k=self.rng.randrange(3)))
        if self.chance(0.1):
            return self.leaf()
        return self.rng.choice(pool)

    # -- statements ---------------------------------------------------------------------------

    def statements(self, pool: list[ir.Value], count: int, depth: int = 2) -> None:
        """Write statements; add their values to the existing ones."""
        for _ in range(self.rng.randint(1, count)):
            for _ in range(8):
                with contextlib.suppress(*MISFIT):
                    value = self.statement(pool, depth)
                    pool += [] if value is None else [value]
                    break

    def statement(self, pool: list[ir.Value], depth: int) -> ir.Value | None:
        """Write a statement."""
        kind = self.rng.randrange(24)
        if depth and not self.is_dataflow and kind < 2:
            return self.dataflow(pool, depth)
        if depth and not self.is_dataflow and kind < 4:
            return self.branch(pool, depth)
        if depth and kind < 5:
            return self.closure(pool, depth)
        if kind < 7:
            return self.cast(pool)
        if kind < 9:
            return self.call(pool)
        if kind < 11:
            return self.bb.emit(self.leaf(), self.name())
        if kind < 12:
            return self.generic(pool)
        value = self.operator(pool)
        if self.chance(0.1):
            return self.bb.emit(value, self.name(), self.weaker(value.type))
        return self.bb.emit(value, self.name())

    def tensor(self, pool: list[ir.Value]) -> ir.Value:
        """Return a tensor."""
        tensors = [value for value in pool if isinstance(value.type, TensorStructInfo)]
        if not tensors or self.chance(0.1):
            return self.constant()
        return self.rng.choice(tensors)

    def weaker(self, type_: ir.Type) -> ir.Type:
        """Return a type that says less."""
        if isinstance(type_, TensorStructInfo) and self.chance(0.7):
            return TensorStructInfo(None, type_.dtype, ndim=type_.ndim, vdevice=type_.vdevice)
        return ObjectStructInfo()

    def operator(self, pool: list[ir.Value]) -> ir.Value:
        """Write an operator."""
        x = self.tensor(pool)
        choices: list[Callable[[], ir.Value]] = [
            lambda: getattr(op, self.rng.choice(UNARY))(x),
            lambda: getattr(op, self.rng.choice(UNARY))(x),
            lambda: getattr(op, self.rng.choice(BINARY))(x, self.tensor(pool)),
            lambda: getattr(op, self.rng.choice(BINARY))(x, x),
            lambda: getattr(op, self.rng.choice(BINARY))(x, 2),
            lambda: getattr(op, self.rng.choice(REDUCE))(x, self.axis(), self.chance(0.5)),
            lambda: op.astype(x, self.rng.choice(DTYPES)),
            lambda: op.reshape(x, self.dims()),
            lambda: op.flatten(x),
            lambda: op.permute_dims(x),
            lambda: op.expand_dims(x, self.rng.choice([0, [0, -1]])),
            lambda: op.squeeze(x),
            lambda: op.concat([x, x], self.rng.choice([0, 1])),
            lambda: op.concat([x, self.constant(), x]),
            lambda: op.split(x, self.rng.choice([2, [1, 2]]), self.rng.choice([0, 1])),
            lambda: op.take(x, self.tensor(pool), self.rng.choice([None, 0])),
            lambda: op.where(op.equal(x, x), x, self.tensor(pool)),
            lambda: op.matmul(x, self.tensor(pool)),
            lambda: op.nn.softmax(x, self.rng.choice([-1, 0])),
            lambda: op.nn.gelu(x),
            lambda: op.nn.layer_norm(x, self.tensor(pool), self.tensor(pool), [-1], 0.1),
            lambda: op.full(self.dims(), self.constant(()), self.rng.choice([None, "int32"])),
            lambda: op.zeros(self.dims(), self.rng.choice(DTYPES)),
            lambda: op.ones(self.rng.choice(pool), "float32"),
            lambda: op.shape_of(x),
            lambda: op.tuple(*self.rng.choices(pool, k=self.rng.randrange(4))),
            lambda: op.tuple(self.leaf(), x, op.tuple(self.leaf())),
            lambda: op.get_item(self.rng.choice(pool), self.rng.randrange(2)),
            lambda: op.to_vdevice(x, self.rng.choice(list(self.devices))),
            lambda: op.hint_on_device(x, self.rng.randrange(2)),
        ]
        return self.rng.choice(choices)()

    def axis(self) -> Any:
        """Return the axes of a reduction."""
        return self.rng.choice([None, 0, -1, [0, 1]])

    def constant(self, shape: tuple[int, ...] | None = None) -> ir.Value:
        """Write a constant, small or large, of equal elements or not."""
        if shape is None:
            shape = self.rng.choice([(), (), (4,), (2, 4), (0,), (2, 0), (40,), (1, 1)])
        numbers = np.random.default_rng(self.rng.randrange(1 << 30)).standard_normal(shape) * 100
        if self.chance(0.3):
            numbers = np.full(shape, self.rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-7]))
        dtype = self.rng.choice(DTYPES)
        if not dtype.startswith(("float", "bfloat")):
            numbers = np.nan_to_num(numbers, posinf=1, neginf=0)
            numbers = np.abs(numbers) > 50 if dtype == "bool" else np.abs(numbers)
        with np.errstate(all="ignore"):
            array = numbers if dtype == "bfloat16" else numbers.astype(dtype)
        return op.const(array, dtype)

    def leaf(self) -> ir.Value:
        """Write a value that needs no others."""
        choices: list[Callable[[], ir.Value]] = [
            self.constant,
            lambda: op.const(self.rng.choice([1, 2.5, True, -7])),
            lambda: op.prim_value(self.rng.choice([3, True, 2.5, -1])),
            lambda: op.prim_value(self.rng.choice([1, 2]), self.rng.choice(["int32", "float32"])),
            lambda: op.prim_value(self.expr()),
            lambda: op.string(self.rng.choice(["fast", "", 'a"b\\c\n', "λ"])),
            lambda: op.dtype(self.rng.choice(DTYPES)),
            lambda: op.shape([self.expr() for _ in range(self.rng.randrange(4))]),
            op.null_value,
            lambda: op.extern_func(self.rng.choice(["my.f", "g"])),
            lambda: op.global_var(self.rng.choice(self.functions)[0]),
        ]
        return self.rng.choice(choices)()

    def dataflow(self, pool: list[ir.Value], depth: int) -> ir.Value | None:
        """Write a dataflow block."""
        inner = list(pool)
        outputs = []
        self.is_dataflow = True
        try:
            with self.bb.dataflow():
                self.statements(inner, self.size // 2, depth - 1)
                for _ in range(self.rng.randrange(4)):
                    outputs.append(self.bb.emit_output(self.rng.choice(inner), self.name()))
        finally:
            self.is_dataflow = False
        pool += [output.value for output in outputs]
        return None

    def branch(self, pool: list[ir.Value], depth: int) -> ir.Value:
        """Write a branch."""

        def side() -> ir.Value:
            inner = list(pool)
            scope = list(self.scope)
            self.statements(inner, 3, depth - 1)
            self.scope = scope
            return self.rng.choice(inner[-2:] if self.chance(0.6) else inner)

        conditions = [value for value in pool if str(value.type) in CONDITIONS]
        is_constant = not conditions or self.chance(0.3)
        cond = op.const(self.chance(0.5)) if is_constant else self.rng.choice(conditions)
        return self.bb.if_(cond, side, side, self.name())

    def closure(self, pool: list[ir.Value], depth: int) -> ir.Value:
        """Write a function inside of the one that is written."""
        scope, pure, dataflow = list(self.scope), self.is_pure, self.is_dataflow
        params = [
            Var(name, TensorStructInfo([self.rng.choice(["own", *VARIABLES]), 4], "float32"))
            for name in self.rng.sample(["x", "y", "lv"], self.rng.randrange(3))
        ]
        self.scope += [dim for p in params for dim in p.struct_info.shape.dims[0].variables]
        self.is_pure, self.is_dataflow = self.chance(0.7), False
        stated = ObjectStructInfo() if self.chance(0.4) else None
        try:
            with self.bb.closure(
                self.name() or "f", params, pure=self.is_pure, ret_struct_info=stated
            ) as variable:
                inner = [param.value for param in params]
                inner += [] if dataflow else pool
                if stated is not None and self.chance(0.5):
                    inner.append(variable.value)
                self.statements(inner, 3, depth - 1)
                self.bb.emit_func_output(self.result(inner))
        finally:
            self.scope, self.is_pure, self.is_dataflow = scope, pure, dataflow
        return variable.value

    def cast(self, pool: list[ir.Value]) -> ir.Value:
        """Write a cast, which may bind a new variable."""
        value = self.rng.choice(pool)
        if self.chance(0.6) and isinstance(value.type, TensorStructInfo):
            name = self.rng.choice(VARIABLES)
            dims = [self.rng.choice([name, self.dim()]) for _ in range(max(value.type.ndim, 0))]
            result = self.bb.match_cast(
                value, TensorStructInfo(dims, value.type.dtype, vdevice=value.type.vdevice)
            )
            if name in [str(dim) for dim in dims] and name not in self.scope:
                self.scope.append(name)
            return self.bb.emit(result, self.name())
        return self.bb.match_cast(value, self.type(1), self.name())

    def call(self, pool: list[ir.Value]) -> ir.Value:
        """Write a call."""
        args = self.rng.choices(pool, k=self.rng.randrange(3))
        out = TensorStructInfo(self.dims(2), "float32")
        impure: list[Callable[[], ir.Value]] = [
            lambda: op.call_packed("my.f", *args),
            lambda: op.call_packed("my.f", *args, sinfo_args=self.type(1)),
            lambda: op.call_packed("my.f", *args, sinfo_args=[self.type(1), self.type(1)]),
            lambda: op.call(op.extern_func("my.g"), *args),
            lambda: op.call(op.extern_func("my.g"), *args, sinfo_args=self.type(1)),
        ]
        pure: list[Callable[[], ir.Value]] = [
            lambda: op.call_dps_packed("my.d", args, out),
            lambda: op.call_dps_packed("my.d", args, [out, out]),
            lambda: op.call_pure_packed("my.p", *args, sinfo_args=self.type(1)),
            lambda: self.call_kernel(pool, "relu"),
            lambda: self.call_kernel(pool, "scale"),
            lambda: op.call_tir(self.kernels["fill"], [], TensorStructInfo((), "float32")),
            lambda: self.call_function(pool),
            lambda: self.call_value(pool),
        ]
        choices = [*pure, *([] if self.is_pure or self.is_dataflow else impure)]
        return self.bb.emit(self.rng.choice(choices)(), self.name())

    def call_kernel(self, pool: list[ir.Value], name: str) -> ir.Value:
        """Write a call of a kernel of one tensor."""
        rank = 1 if name == "relu" else 2
        known = [value for value in pool if isinstance(value.type, TensorStructInfo)]
        fitting = [v for v in known if v.type.dtype == "float32" and v.type.ndim == rank]
        shape = [self.dim()] if rank == 1 else [self.dim(), 4]
        x = self.rng.choice(fitting) if fitting else op.zeros(shape)
        out = TensorStructInfo(shape, "float32")
        return op.call_tir(self.kernels[name], [x], out, None if rank == 1 else [self.expr()])

    def call_function(self, pool: list[ir.Value]) -> ir.Value:
        """Write a call of a function of the module."""
        function, type_ = self.rng.choice(self.functions)
        if not type_.is_pure and (self.is_pure or self.is_dataflow):
            raise ValueError("the call is impure")
        return op.call(function, *self.rng.choices(pool, k=len(type_.params)))

    def call_value(self, pool: list[ir.Value]) -> ir.Value:
        """Write a call of a value."""
        functions = [value for value in pool if isinstance(value.type, FuncStructInfo)]
        function = self.rng.choice(functions)
        type_ = function.type
        is_impure = type_.derive is not None or not type_.is_pure
        if is_impure and (self.is_pure or self.is_dataflow):
            raise ValueError("the call is impure")
        count = 1 if type_.derive is not None else len(type_.params)
        return op.call(function, *self.rng.choices(pool, k=count))

    def generic(self, pool: list[ir.Value]) -> ir.Value | None:
        """Write an operation that TVMScript has no words for."""
        value = self.rng.choice(pool)
        if self.chance(0.5):
            return mlir_op("relax.builtin.cast", value, types=[self.type(1)])
        number = mlir_op("relax.builtin.dim", value, attrs={"index": 0}, types=[mlir_type("i64")])
        if self.chance(0.5):
            return mlir_op("relax.builtin.make_shape", types=[ShapeStructInfo(ndim=0)])
        del number
        return None


def programs(first: int, count: int, size: int = 10) -> Iterator[tuple[int, ir.Module | None]]:
    """Yield programs with their seeds; None where the draws did not make a valid one."""
    for seed in range(first, first + count):
        try:
            yield seed, Generator(seed, size).module()
        except MISFIT:
            yield seed, None
