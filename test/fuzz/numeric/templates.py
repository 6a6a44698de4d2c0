# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of one kernel class: its operators, in each form, and epilogues of each kind.

Each dimension is known to be 1, known to be something else, or known when the program runs.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Any

from draw import MISFIT, Drawer, Value
from elementwise import elementwise
from graphs import LARGE, SIZES, draw_sizes, draw_step, drawing, finished
from options import options_of
from plan import Program, dim
from samplers import SAMPLERS
from samplers_nn import attended, convolved, frozen, product
from samplers_places import texts

ACTIVATIONS = ["relu", "sigmoid", "gelu", "tanh", "silu", "negative", "abs", "erf", "exp"]
ACTIVATIONS += ["square", "floor", "sqrt", "gelu_tanh"]
Template = Callable[[Drawer], Value]


def side(d: Drawer, one: float = 0.27) -> Any:
    """Draw a dimension: known to be 1, known, or a variable."""
    kind = d.rng.random()
    if kind < one:
        return 1
    if kind < 0.55:
        return d.rng.choice(SIZES)
    return dim(d.rng.choice(d.variables))


def operand(d: Drawer, dims: list[Any], dtype: str, low: float = -1, high: float = 1) -> Value:
    """Return a tensor: a parameter, what an operator makes of one, or one that is transposed."""
    kind = d.rng.randrange(8)
    if kind == 0 and len(dims) > 1:
        axes = list(range(len(dims)))
        d.rng.shuffle(axes)
        x = d.fresh([dims[a] for a in axes], dtype, low, high)
        back = [axes.index(i) for i in range(len(dims))]
        return d.make("permute_dims", x, bounds=(low, high), axes=back)
    x = d.fresh(dims, dtype, low, high)
    if kind == 1 and "float" in dtype:
        return d.make(d.choice("tanh", "relu", "negative"), x, bounds=(-1, 1))
    if kind == 2 and "float" in dtype:
        return d.make("multiply", x, d.like(x), bounds=(-2, 2))
    return x


# -- classes --------------------------------------------------------------------------------------


def draw_elementwise(d: Drawer) -> Value:
    """Draw a tree of elementwise operators."""
    names = elementwise()
    x = operand(d, [side(d) for _ in range(d.rng.randint(1, 4))], d.choice(*d.dtypes))
    for _ in range(d.rng.randint(1, 4)):
        name = d.choice(*names)
        with contextlib.suppress(*MISFIT):
            x = d.elementwise(name, names[name], x)
    return x


def draw_rows(d: Drawer) -> Value:
    """Draw a reduction, or a normalization, and what is computed of it and the row."""
    x = operand(d, [side(d) for _ in range(d.rng.randint(1, 4))], d.float_type(), -2, 2)
    d.pool = [x]
    name = d.choice("softmax", "log_softmax", "layer_norm", "rms_norm", "instance_norm",
                    "group_norm", "batch_norm", "sum", "mean", "max", "min", "variance", "std",
                    "sum", "max")  # fmt: skip
    y = SAMPLERS[name](d)
    if y.type == x.type or d.chance(0.3):
        return y
    if d.chance(0.5):
        try:
            return d.make(d.choice("subtract", "add", "multiply", "maximum"), x, y)
        except MISFIT:
            return y
    return y


def draw_matmul(d: Drawer) -> Value:
    """Draw a product in some form: vectors, batches, transposed or constant operands."""
    dtype = d.choice("float32", "float32", "float32", "float32", "float16", "bfloat16", "float64",
                     "int32", "int8")  # fmt: skip
    rows, columns = side(d), side(d)
    depth = d.rng.choice([1, 2, 3, 4, 8, 16, 17, 31, 64, 100]) if d.chance(0.6) else side(d)
    batch = [side(d) for _ in range(d.choice(0, 0, 0, 1, 2))]
    left: list[Any] = [*batch, rows, depth]
    right: list[Any] = [*batch, depth, columns]
    if batch and d.chance(0.4):
        right = right[len(batch) :] if d.chance(0.5) else [*([1] * len(batch)), *right[-2:]]
    if d.chance(0.06):
        left = [depth]
    elif d.chance(0.06):
        right = [depth]
    x = operand(d, left, dtype)
    is_static = all(isinstance(e, int) for e in right)
    y = frozen(d, right, dtype) if is_static and d.chance(0.5) else operand(d, right, dtype)
    out = "float32" if dtype in ("float16", "bfloat16") and d.chance(0.4) else None
    out = "int32" if dtype == "int8" and d.chance(0.8) else out
    return product(d, x, y, out)


def draw_convolution(d: Drawer) -> Value:
    """Draw a convolution of images, or of rows."""
    if d.chance(0.3):  # of Winograd
        inputs, outputs = d.choice(8, 16, 17, 32), d.choice(16, 32, 33)
        return convolved(d, 2, True, 1, inputs, outputs, 3, True, "float32")
    count = d.choice(1, 2, 2, 2)
    if d.chance(0.3):  # of single channels
        groups = d.choice(2, 5, 16, 17)
        outputs = groups * d.choice(1, 1, 1, 3)
        return convolved(d, count, d.chance(0.6), groups, 1, outputs, dtype="float32")
    groups = d.choice(1, 1, 1, 2, 4)
    inputs = d.choice(1, 2, 3, 4, 8, 16)
    outputs = groups * d.choice(1, 1, 2, 3, 8, 16, 17)
    dtype = d.choice("float32", "float32", "float32", "float16", "float64")
    is_constant, plain = d.chance(0.6), d.chance(0.3)
    return convolved(d, count, is_constant, groups, inputs, outputs, plain=plain, dtype=dtype)


def draw_pool(d: Drawer) -> Value:
    """Draw a reduction of windows."""
    return SAMPLERS[d.choice("max_pool2d", "avg_pool2d", "adaptive_avg_pool2d")](d)


def draw_attention(d: Drawer) -> Value:
    """Draw attention, as an operator or written out."""
    queries = d.choice(1, 2, 3, 4, side(d), side(d))
    keys = queries if d.chance(0.3) else side(d)
    if d.chance(0.6):
        heads, shared = d.choice((1, 1), (2, 1), (4, 2), (3, 3), (2, 2))
        return attended(d, d.choice(1, 2, side(d)), queries, keys, heads, shared, "float32")
    batch = [side(d) for _ in range(d.choice(0, 1, 2))]
    features, columns = d.choice(1, 8, 16, 17, 32), d.choice(1, 8, 16, 33)
    q = operand(d, [*batch, queries, features], "float32")
    k = operand(d, [*batch, features, keys], "float32")
    v = operand(d, [*batch, keys, columns], "float32")
    scores = product(d, q, k)
    if d.chance(0.7):
        scale = d.fresh([], "float32", 0.2, 0.6)
        scores = d.make("multiply", scores, scale, bounds=(-9, 9))
    if d.chance(0.4):
        scores = d.make("add", scores, d.like(scores), bounds=(-9, 9))
    weights = d.make("softmax", scores, bounds=(0, 1), axis=-1)
    return product(d, weights, v)


def draw_generic(d: Drawer) -> Value:
    """Draw operators of the generic route."""
    d.fresh([side(d) for _ in range(d.rng.randint(1, 4))], d.choice(*d.dtypes))
    names = [
        "argmax",
        "argmin",
        "cumsum",
        "cumprod",
        "cummax",
        "take",
        "concat",
        "flip",
        "repeat",
        "tile",
    ]
    names += ["gather_elements", "gather_nd", "scatter_elements", "scatter_nd", "strided_slice"]
    names += ["one_hot", "layout_transform", "prod", "stack", "quantize", "dequantize", "where"]
    return SAMPLERS[d.choice(*names)](d)


CLASSES: dict[str, Template] = {
    "elementwise": draw_elementwise,
    "rows": draw_rows,
    "matmul": draw_matmul,
    "conv2d": draw_convolution,
    "pool2d": draw_pool,
    "attention": draw_attention,
    "generic": draw_generic,
}
WEIGHTS = (2, 4, 5, 3, 1, 3, 2)


# -- epilogues ------------------------------------------------------------------------------------


def _bias(d: Drawer, x: Value) -> Value:
    """Add or multiply what some of the dimensions have."""
    dims = [e if d.chance(0.5) else 1 for e in x.dims]
    while dims and dims[0] == 1 and d.chance(0.6):
        dims = dims[1:]
    other = d.fresh(dims, x.dtype, -1, 1)
    op = d.choice("add", "add", "multiply", "subtract", "maximum")
    pair = (x, other) if d.chance(0.8) else (other, x)
    return d.make(op, *pair, bounds=(x.low - 1, x.high + 1))


def _residual(d: Drawer, x: Value) -> Value:
    op = d.choice("add", "add", "multiply", "subtract", "minimum")
    return d.make(op, x, operand(d, x.dims, x.dtype), bounds=(x.low - 1, x.high + 1))


def _activation(d: Drawer, x: Value) -> Value:
    return d.elementwise(d.choice(*ACTIVATIONS), 1, x)


def _triangle(d: Drawer, x: Value) -> Value:
    return d.make(d.choice("tril", "triu"), x, bounds=(x.low, x.high), k=d.choice(0, 0, 1, -1))


def _cast(d: Drawer, x: Value) -> Value:
    dtype = d.choice("float16", "float32", "float64", "bfloat16", "int32", "int8", "bool")
    return d.make("astype", x, bounds=(x.low, x.high), dtype=dtype)


def _sampled(*names: str) -> Callable[[Drawer, Value], Value]:
    def epilogue(d: Drawer, x: Value) -> Value:
        pool, d.pool = d.pool, [x]
        try:
            return SAMPLERS[d.choice(*names)](d)
        finally:
            d.pool = pool + [v for v in d.pool if v not in pool]

    return epilogue


def _masked(d: Drawer, x: Value) -> Value:
    other = d.like(x)
    condition = d.make("less", x, other)
    return d.make("where", condition, x, other, bounds=(x.low - 1, x.high + 1))


def _reshaped(d: Drawer, x: Value) -> Value:
    if d.chance(0.5):
        return d.make("flatten", x, bounds=(x.low, x.high))
    shape = texts([*x.dims[:1], 1, *x.dims[1:]])
    return d.make("reshape", x, bounds=(x.low, x.high), shape=shape)


EPILOGUES: list[Callable[[Drawer, Value], Value]] = [
    _bias,
    _bias,
    _bias,
    _residual,
    _residual,
    _activation,
    _activation,
    _triangle,
    _cast,
    _masked,
    _reshaped,
    _sampled("split", "strided_slice", "split", "concat"),
    _sampled("permute_dims"),
    _sampled("sum", "max", "mean", "softmax", "argmax", "variance"),
    _sampled("clip", "leakyrelu", "softplus"),
    _sampled("expand_dims", "squeeze", "broadcast_to"),
]


def draw_template(seed: int, number: int, mcpu: str | None = None) -> Program:
    """Return template `number` of a seed."""
    rng = random.Random(f"{seed} template {number}")
    variables = tuple(rng.sample(["n", "m", "k"], rng.choice([1, 2, 2, 3])))
    sizes = draw_sizes(rng, variables)
    if rng.random() < 0.15:
        sizes[0][rng.choice(variables)] = rng.choice(LARGE)
    (name,) = rng.choices(list(CLASSES), WEIGHTS)
    with drawing(rng, variables, sizes) as d:
        d.special = d.chance(0.06)
        x = _draw_class(d, name)
        kept = [x.number] if d.chance(0.25) else []
        for _ in range(d.choice(0, 1, 1, 2, 2, 3, 4)):
            x = _draw_epilogue(d, x)
            kept += [x.number] if d.chance(0.15) else []
        if d.chance(0.1):
            draw_step(d, elementwise())
        nodes = {node.result for node in d.nodes}
        outputs = [n for n in dict.fromkeys([*kept, x.number]) if n in nodes]
    if not outputs:
        raise ValueError("expected a value to return")
    text = f"--seed {seed} --templates-only --only {number}"
    return finished(d, text, outputs, options_of(number, mcpu)).changed(note=name)


def _draw_class(d: Drawer, name: str) -> Value:
    for _ in range(30):
        state = len(d.nodes), list(d.pool)
        try:
            return CLASSES[name](d)
        except MISFIT:
            del d.nodes[state[0] :]
            d.pool = state[1]
    raise ValueError(f"expected operators of class {name}")


def _draw_epilogue(d: Drawer, x: Value) -> Value:
    for _ in range(6):
        state = len(d.nodes), list(d.pool)
        try:
            return d.choice(*EPILOGUES)(d, x)
        except MISFIT:
            del d.nodes[state[0] :]
            d.pool = state[1]
    return x
