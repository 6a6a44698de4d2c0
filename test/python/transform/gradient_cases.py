# ruff: noqa: E501 (tables)
"""Operators and what PyTorch calls them, for tests of gradients.

A case has a name, a function of Relax, the same one of PyTorch, and the operands: each a pair of a
shape, whose named dimensions are symbolic, and of what the numbers are.
"""

import math

import numpy as np
import torch
from relax_mlir import op
from relax_mlir.distributed import DeviceMesh
from torch.nn import functional

SIZES = {"n": 3, "m": 4, "k": 5, "b": 2, "h": 7, "w": 9, "s": 6, "t": 8, "c": 4}
N = ("n", 4)


def numbers(shape, kind, rng):
    """Return an array of random numbers of a kind, or the array that is given."""
    if isinstance(kind, np.ndarray):
        return kind
    dims = [SIZES.get(dim, dim) for dim in shape]
    plain = rng.standard_normal(dims)
    if kind == "positive":
        return np.abs(plain) + 0.3
    if kind == "above":
        return np.abs(plain) + 1.2
    if kind == "unit":
        return np.tanh(plain) * 0.9
    if kind == "bool":
        return plain > 0
    if kind == "zeros":  # some of them are 0
        return np.where(rng.random(dims) < 0.3, 0.0, plain)
    if kind == "coarse":  # some of them are equal
        return np.round(plain)
    assert kind == "any", kind
    return plain


def _unary():
    any_ = {
        "abs": torch.abs,
        "asinh": torch.asinh,
        "atan": torch.atan,
        "cos": torch.cos,
        "cosh": torch.cosh,
        "erf": torch.erf,
        "exp": torch.exp,
        "negative": torch.neg,
        "sigmoid": torch.sigmoid,
        "sin": torch.sin,
        "sinh": torch.sinh,
        "square": torch.square,
        "tanh": torch.tanh,
    }
    nn = {
        "gelu": functional.gelu,
        "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
        "relu": functional.relu,
        "selu": functional.selu,
        "silu": functional.silu,
        "leakyrelu": functional.leaky_relu,
        "softplus": functional.softplus,
        "softmax": lambda x: torch.softmax(x, -1),
        "log_softmax": lambda x: torch.log_softmax(x, -1),
    }
    special = {
        "acos": ("unit", torch.acos),
        "acosh": ("above", torch.acosh),
        "asin": ("unit", torch.asin),
        "atanh": ("unit", torch.atanh),
        "log": ("positive", torch.log),
        "rsqrt": ("positive", torch.rsqrt),
        "sqrt": ("positive", torch.sqrt),
        "tan": ("unit", torch.tan),
    }
    cases = [(name, getattr(op, name), theirs, [(N, "any")]) for name, theirs in any_.items()]
    cases += [(name, getattr(op.nn, name), theirs, [(N, "any")]) for name, theirs in nn.items()]
    cases += [
        (name, getattr(op, name), theirs, [(N, kind)]) for name, (kind, theirs) in special.items()
    ]
    return cases


ELEMENTWISE = [
    *_unary(),
    ("relu-at-0", op.nn.relu, functional.relu, [(N, "zeros")]),
    ("abs-at-0", op.abs, torch.abs, [(N, "zeros")]),
    ("softplus-steep", lambda x: op.nn.softplus(x, 3.0, 2.0), lambda x: functional.softplus(x, 3.0, 2.0),
     [(N, "any")]),
    ("leakyrelu-steep", lambda x: op.nn.leakyrelu(x, 0.3), lambda x: functional.leaky_relu(x, 0.3),
     [(N, "any")]),
    ("clip", lambda x: op.clip(x, -0.5, 1), lambda x: torch.clamp(x, -0.5, 1), [(N, "any")]),
    ("clip-at-bounds", lambda x: op.clip(x, -1, 1), lambda x: torch.clamp(x, -1, 1),
     [(N, "coarse")]),
    ("astype", lambda x: op.astype(op.astype(x, "float64"), "float32"), lambda x: x, [(N, "any")]),
    ("add", op.add, torch.add, [(N, "any"), ((4,), "any")]),
    ("add-column", op.add, torch.add, [((2, "n", 4), "any"), (("n", 1), "any")]),
    ("add-number", op.add, torch.add, [(N, "any"), ((), "any")]),
    ("subtract", op.subtract, torch.sub, [((1, 4), "any"), (N, "any")]),
    ("multiply", op.multiply, torch.mul, [(N, "any"), ((4,), "any")]),
    ("multiply-twice", lambda x: op.multiply(x, x), lambda x: x * x, [(N, "any")]),
    ("divide", op.divide, torch.div, [(N, "any"), (("n", 1), "positive")]),
    ("power", op.power, torch.pow, [(N, "positive"), ((4,), "any")]),
    ("power-number", lambda x: op.power(x, 3.0), lambda x: x**3, [(N, "zeros")]),
    ("atan2", op.atan2, torch.atan2, [(N, "any"), ((4,), "any")]),
    ("log_add_exp", op.log_add_exp, torch.logaddexp, [(N, "any"), ((4,), "any")]),
    ("maximum", op.maximum, torch.maximum, [(N, "coarse"), ((4,), "coarse")]),
    ("minimum", op.minimum, torch.minimum, [(N, "coarse"), ((4,), "coarse")]),
    ("mod", op.mod, torch.remainder, [(N, "any"), ((4,), "positive")]),
    ("floor_mod", op.floor_mod, torch.remainder, [(N, "any"), ((4,), "positive")]),
    ("ewise_fma", op.ewise_fma, lambda a, b, c: a * b + c, [(N, "any")] * 3),
    ("where", op.where, torch.where, [(N, "bool"), ((4,), "any"), (("n", 1), "any")]),
    (
        "annotate_sharding",
        lambda x: op.dist.annotate_sharding(x, DeviceMesh((1,), (0,)), "S[0]"),
        lambda x: x,
        [(N, "any")],
    ),
    ("stop_lift_params", op.builtin.stop_lift_params, lambda x: x, [(N, "any")]),
]  # fmt: skip

REDUCE = [
    (f"{name}{label}", lambda x, ours=ours, o=options: ours(x, **o), theirs, [(shape, kind)])
    for name, ours, build, kind in [
        ("sum", op.sum, torch.sum, "any"),
        ("mean", op.mean, torch.mean, "any"),
        ("max", op.max, torch.amax, "coarse"),
        ("min", op.min, torch.amin, "coarse"),
        ("variance", op.variance,
         lambda x, axis, keep: torch.var(x, axis, correction=0, keepdim=keep), "any"),
        ("std", op.std,
         lambda x, axis, keep: torch.std(x, axis, correction=0, keepdim=keep), "any"),
    ]
    for label, shape, options in [
        ("", ("n", 4, 2), {"axis": [-1, 0]}),
        ("-all", ("n", "m"), {}),
        ("-kept", ("n", "m", 2), {"axis": [1], "keepdims": True}),
    ]
    for theirs in [
        lambda x, build=build, o=options: build(
            x, tuple(o.get("axis", range(x.ndim))), o.get("keepdims", False))
    ]
] + [
    ("prod", lambda x: op.prod(x, 1), lambda x: torch.prod(x, 1), [(("n", 5), "any")]),
    ("prod-zeros", lambda x: op.prod(x, 1), lambda x: torch.prod(x, 1), [((8, "k"), "zeros")]),
    ("prod-all", op.prod, torch.prod, [(N, "any")]),
    ("cumsum", lambda x: op.cumsum(x, 1), lambda x: torch.cumsum(x, 1), [(N, "any")]),
    ("cumsum-flat", op.cumsum, lambda x: torch.cumsum(x.flatten(), 0), [(N, "any")]),
    ("cumsum-exclusive", lambda x: op.cumsum(x, 0, exclusive=True),
     lambda x: torch.cumsum(x, 0) - x, [(N, "any")]),
    ("cumprod", lambda x: op.cumprod(x, 1), lambda x: torch.cumprod(x, 1), [(N, "any")]),
    ("cumprod-zeros", lambda x: op.cumprod(x, 1), lambda x: torch.cumprod(x, 1),
     [((8, "k"), "zeros")]),
    ("cumprod-exclusive", lambda x: op.cumprod(x, 0, exclusive=True),
     lambda x: torch.cat([torch.ones_like(x[:1]), torch.cumprod(x, 0)[:-1]]), [(N, "zeros")]),
    ("cummax", lambda x: op.cummax(x, 1), lambda x: torch.cummax(x, 1).values, [(N, "any")]),
    ("cummin-first", lambda x: op.cummin(x, 0), lambda x: torch.cummin(x, 0).values, [(N, "any")]),
    ("cummin-flat", op.cummin, lambda x: torch.cummin(x.flatten(), 0).values, [(N, "any")]),
]  # fmt: skip


def _t(*shape):
    return [(shape, "any")]


MANIPULATE = [
    ("reshape", lambda x: op.reshape(x, (-1, 2)), lambda x: x.reshape(-1, 2), _t(*N)),
    ("flatten", op.flatten, torch.flatten, _t(*N)),
    ("expand_dims", lambda x: op.expand_dims(x, [0, -1]), lambda x: x[None, ..., None], _t(*N)),
    ("squeeze", lambda x: op.squeeze(x, [1]), lambda x: x.squeeze(1), _t("n", 1, 4)),
    ("broadcast_to", lambda x: op.broadcast_to(x, (2, 3, 4)), lambda x: x.expand(2, 3, 4),
     _t(3, 1)),
    ("permute_dims", lambda x: op.permute_dims(x, [2, 0, 1]), lambda x: x.permute(2, 0, 1),
     _t("n", 4, 2)),
    ("permute_dims-all", op.permute_dims, lambda x: x.permute(2, 1, 0), _t("n", 4, 2)),
    ("concat", lambda a, b: op.concat([a, b, a], 0), lambda a, b: torch.cat([a, b, a]),
     _t("n", 4) + _t("m", 4)),
    ("stack", lambda a, b: op.stack([a, b], 1), lambda a, b: torch.stack([a, b], 1),
     _t(*N) + _t(*N)),
    ("split", lambda x: op.split(x, [1, 3], 1)[1], lambda x: x[:, 1:3], _t("n", 5)),
    ("split-sections", lambda x: op.add(op.split(x, 2, 0)[0], op.split(x, 2, 0)[1]),
     lambda x: x[:2] + x[2:], _t(4, "n")),
    ("strided_slice", lambda x: op.strided_slice(x, [1], [1], [3]), lambda x: x[:, 1:3], _t(*N)),
    ("strided_slice-step", lambda x: op.strided_slice(x, [0, 1], [0, 1], [100, -1], [2, 3]),
     lambda x: x[::2, 1:-1:3], _t("k", 8)),
    ("strided_slice-back", lambda x: op.strided_slice(x, [0], [-1], [-100], [-2]),
     lambda x: torch.flip(x, [0])[::2], _t("k", 3)),
    ("strided_slice-named", lambda x: op.strided_slice(x, [0], [1], [x.struct_info.shape[0] - 1]),
     lambda x: x[1:-1], _t("k", 3)),
    ("flip", lambda x: op.flip(x, 1), lambda x: torch.flip(x, [1]), _t(*N)),
    ("repeat", lambda x: op.repeat(x, 3, 1), lambda x: x.repeat_interleave(3, 1), _t(*N)),
    ("repeat-flat", lambda x: op.repeat(x, 2), lambda x: x.flatten().repeat_interleave(2), _t(*N)),
    ("tile", lambda x: op.tile(x, (2, 3)), lambda x: x.tile(2, 3), _t(*N)),
    ("tile-more", lambda x: op.tile(x, (2, 1, 3)), lambda x: x.tile(2, 1, 3), _t(*N)),
    ("tile-fewer", lambda x: op.tile(x, 2), lambda x: x.tile(2), _t(*N)),
    ("tril", lambda x: op.tril(x, -1), lambda x: torch.tril(x, -1), _t("n", 5)),
    ("triu", lambda x: op.triu(x, 1), lambda x: torch.triu(x, 1), _t(2, "n", 5)),
    ("full", lambda x: op.full((2, 3), x), lambda x: x.expand(2, 3), _t()),
    ("full_like", op.full_like, lambda x, v: v.expand(x.shape) + 0 * x, _t(*N) + _t()),
    ("layout_transform", lambda x: op.layout_transform(x, lambda i, j: (j // 2, i, j % 2)),
     lambda x: x.reshape(3, 2, 2).permute(1, 0, 2), _t(3, 4)),
    ("layout_transform-padded",
     lambda x: op.layout_transform(x, lambda i: (i // 4, i % 4), pad_value=0.0),
     lambda x: functional.pad(x, (0, 2)).reshape(2, 4), _t(6)),
]  # fmt: skip

_ROWS = np.array([0, 2, 1, 2, 2])
_PLACES = np.array([[0, 2, 1], [2, 2, 0]])
_PAIRS = np.array([[0, 1], [2, 3], [0, 1]])
_SCATTER = {
    "update": None,
    "add": "sum",
    "mul": "prod",
    "min": "amin",
    "max": "amax",
    "mean": "mean",
}


def _indices(array):
    return (array.shape, array)


def _scatter_elements(reduction):
    def ours(x, i, u):
        return op.scatter_elements(x, i, u, 0, reduction)

    def theirs(x, i, u):
        if reduction == "update":
            return x.scatter(0, i, u)
        return x.scatter_reduce(0, i, u, _SCATTER[reduction])

    return ours, theirs


def _scatter_nd(reduction):
    def ours(x, i, u):
        return op.scatter_nd(x, i, u, reduction)

    def theirs(x, i, u):
        at = (i[:, :1] * x.shape[1] + i[:, 1:]).flatten()
        flat = x.flatten()
        if reduction == "update":
            return flat.scatter(0, at, u).reshape(x.shape)
        return flat.scatter_reduce(0, at, u, _SCATTER[reduction]).reshape(x.shape)

    return ours, theirs


_DISTINCT = np.array([[0, 2, 1], [2, 0, 3]])  # each place of a column once


def _without_nan(x):
    return op.where(op.isnan(x), op.zeros_like(x), x)


INDEX = [
    ("take", lambda x, i: op.take(x, i, 0), lambda x, i: x[i], [(N, "any"), _indices(_ROWS)]),
    ("take-axis", lambda x, i: op.take(x, i, 1), lambda x, i: x[:, i],
     [(("m", "n", 2), "any"), _indices(_PLACES)]),
    ("take-flat", lambda x, i: op.take(x, i), lambda x, i: x[i],
     [(("k",), "any"), _indices(_ROWS)]),
    ("take-clip", lambda x, i: op.take(x, i, 0), lambda x, i: x[i.clamp(0, 2)],
     [(N, "any"), _indices(np.array([-2, 7, 1]))]),
    ("take-wrap", lambda x, i: op.take(x, i, 0, "wrap"), lambda x, i: x[i % 3],
     [(N, "any"), _indices(np.array([-2, 7, 1]))]),
    ("take-nan", lambda x, i: _without_nan(op.take(x, i, 0, "nan")),
     lambda x, i: x[i.clamp(0, 2)] * ((i >= 0) & (i < 3))[:, None],
     [((3, 4), "any"), _indices(np.array([-2, 7, 1]))]),
    ("gather_elements", lambda x, i: op.gather_elements(x, i, 1), lambda x, i: x.gather(1, i % 4),
     [((2, "m"), "any"), _indices(_PLACES - 1)]),
    ("gather_nd", op.gather_nd, lambda x, i: x[i[:, 0], i[:, 1]],
     [(("n", "m", 2), "any"), _indices(_PAIRS)]),
    ("gather_nd-rows", op.gather_nd, lambda x, i: x[i[:, 0]],
     [(("n", 4), "any"), _indices(_PAIRS[:, :1])]),
    ("gather_nd-batch", lambda x, i: op.gather_nd(x, i, 1),
     lambda x, i: x[torch.arange(2), i[:, 0]], [((2, "m", 3), "any"), _indices(np.array([[1], [3]]))]),
    *[(f"scatter_elements-{each}", *_scatter_elements(each),
       [(("m", 3), "coarse" if each in ("min", "max") else "zeros" if each == "mul" else "any"),
        _indices(_DISTINCT if each == "update" else _PLACES),
        ((2, 3), "coarse" if each in ("min", "max") else "zeros" if each == "mul" else "any")])
      for each in _SCATTER],
    *[(f"scatter_nd-{each}", *_scatter_nd(each),
       [(("n", "m"), "coarse" if each in ("min", "max") else "zeros" if each == "mul" else "any"),
        _indices(_PAIRS[:2] if each == "update" else _PAIRS),
        ((2 if each == "update" else 3,), "zeros" if each == "mul" else "any")])
      for each in _SCATTER if each != "mean"],
    ("dequantize", lambda x, s, z: op.dequantize(x, s, z, 0),
     lambda x, s, z: (x - z[:, None]) * s[:, None],
     [((3, 4), np.arange(-6, 6, dtype="int8").reshape(3, 4)), ((3,), "float32"), ((3,), "float32")]),
    ("dequantize-blocks", lambda x, s, z: op.dequantize(x, s, z, 1, block_size=3),
     lambda x, s, z: (x - z.repeat_interleave(3, 1)[:, :4]) * s.repeat_interleave(3, 1)[:, :4],
     [((3, 4), np.arange(-6, 6, dtype="int8").reshape(3, 4)), ((3, 2), "float32"),
      ((1, 2), "float32")]),
    ("dequantize-scalar", lambda x, s, z: op.dequantize(x, s, z),
     lambda x, s, z: (x - z) * s,
     [((3, 4), np.arange(-6, 6, dtype="int8").reshape(3, 4)), ((), "float32"), ((), "float32")]),
]  # fmt: skip


_PAIRS_OF_EACH = (_indices(np.array([[0, -1, 2]])), _indices(np.array([[1], [0]])))
ORDER = [
    ("sort", lambda x: op.sort(x, 0), lambda x: x.sort(0).values, _t(*N)),
    ("sort-descending", lambda x: op.sort(x, -1, True), lambda x: x.sort(1, True).values, _t(*N)),
    ("topk", lambda x: op.get_item(op.topk(x, 2, 1), 0), lambda x: x.topk(2, 1).values, _t(*N)),
    ("topk-least", lambda x: op.topk(x, 3, ret_type="values", largest=False),
     lambda x: x.topk(3, 1, False).values, _t(*N)),
    ("topk-all", lambda x: op.topk(x, 0, 0, "values"), lambda x: x.sort(0, True).values, _t(*N)),
]  # fmt: skip
PADDED = [
    (f"pad-{mode}", lambda x, mode=mode: op.nn.pad(x, (2, 1, 0, 3), mode),
     lambda x, theirs=theirs: functional.pad(x[None, None], (0, 3, 2, 1), theirs)[0, 0], _t("n", 5))
    for mode, theirs in {"constant": "constant", "reflect": "reflect", "replicate": "replicate",
                         "circular": "circular"}.items()
] + [
    ("pixel_shuffle", lambda x: op.nn.pixel_shuffle(x, 2), lambda x: functional.pixel_shuffle(x, 2),
     _t("b", 8, "n", 3)),
    ("prelu", op.nn.prelu, functional.prelu, [(("n", "m", 2), "any"), (("m",), "any")]),
    ("prelu-one", op.nn.prelu, functional.prelu, [(N, "any"), ((1,), "any")]),
    ("outer", op.outer, torch.outer, [(("n",), "any"), (("m",), "any")]),
    ("meshgrid", lambda x, y: op.multiply(*(op.get_item(op.meshgrid([x, y]), i) for i in (0, 1))),
     torch.outer, [(("n",), "any"), (("m",), "any")]),
    ("meshgrid-xy",
     lambda x, y: op.multiply(*(op.get_item(op.meshgrid([x, y], "xy"), i) for i in (0, 1))),
     lambda x, y: torch.outer(y, x), [(("n",), "any"), (("m",), "any")]),
    ("reverse_sequence", op.reverse_sequence,
     lambda x, n: torch.cat([torch.cat([r[:k].flip(0), r[k:]])[None]
                             for r, k in zip(x, n.clamp(0, 4).tolist(), strict=True)]),
     [((3, "m"), "any"), _indices(np.array([2, 9, 0]))]),
    ("collapse_sum_to", lambda x: op.collapse_sum_to(x, ("n", 1)),
     lambda x: x.sum((0, 2), keepdim=True)[0], _t(2, "n", "m")),
    ("collapse_sum_like", lambda x, y: op.collapse_sum_like(x, y), lambda x, y: x.sum(0) + 0 * y,
     [((2, "n"), "any"), (("n",), "any")]),
    ("index_tensor", lambda x, i, j: op.index_tensor(x, [i, j]), lambda x, i, j: x[i, j],
     [(("n", "m", 2), "any"), *_PAIRS_OF_EACH]),
]  # fmt: skip


def _norm(x, axes, g, b, eps=1e-5):
    mean = x.mean(axes, keepdim=True)
    return (x - mean) / torch.sqrt(x.var(axes, correction=0, keepdim=True) + eps) * g + b


def _attention(scale=None, mask=None, window=None):
    def ours(q, k, v, *bias):
        return op.nn.attention(q, k, v, *bias, scale=scale, causal_mask=mask, window_size=window)

    def theirs(q, k, v, *bias):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
        scores = q @ k.transpose(2, 3) * (scale or 1 / math.sqrt(q.shape[3]))
        scores = scores + bias[0] if bias else scores
        at, last = torch.arange(k.shape[2])[None], torch.tensor([[k.shape[2] - 1]])
        if mask:
            offset = k.shape[2] - q.shape[2] if mask == "BottomRight" else 0
            last = torch.arange(q.shape[2])[:, None] + offset
        seen = at <= last
        seen = seen & (at > last - window) if window else seen
        weights = torch.softmax(scores.masked_fill(~seen, -math.inf), -1)
        return (weights.nan_to_num() @ v).transpose(1, 2)

    return ours, theirs


_QKV = [(("b", "s", 4, 8), "any"), (("b", "t", 4, 8), "any"), (("b", "t", 4, 8), "any")]
_GROUPED = [(("b", "s", 4, 8), "any"), (("b", "t", 2, 8), "any"), (("b", "t", 2, 5), "any")]

NN = [
    ("matmul", op.matmul, torch.matmul, _t("n", "k") + _t("k", 4)),
    ("matmul-batch", op.matmul, torch.matmul, _t("b", "n", 5) + _t(5, "m")),
    ("matmul-broadcast", op.matmul, torch.matmul, _t("b", 1, "n", 5) + _t(3, 5, "m")),
    ("matmul-vector", op.matmul, torch.matmul, _t("n", 5) + _t(5)),
    ("matmul-row", op.matmul, torch.matmul, _t(5) + _t("b", 5, "m")),
    ("matmul-vectors", op.matmul, torch.matmul, _t("k") + _t("k")),
    ("softmax-first", lambda x: op.nn.softmax(x, 0), lambda x: torch.softmax(x, 0), _t(*N)),
    ("log_softmax-first", lambda x: op.nn.log_softmax(x, 0),
     lambda x: torch.log_softmax(x, 0), _t(*N)),
    ("layer_norm", lambda x, g, b: op.nn.layer_norm(x, g, b, [-2, -1]),
     lambda x, g, b: functional.layer_norm(x, (3, 4), g, b), _t("n", 3, 4) + _t(3, 4) * 2),
    ("layer_norm-first", lambda x, g, b: op.nn.layer_norm(x, g, b, [2, 0], 1e-3),
     lambda x, g, b: _norm(x, (0, 2), g.T[:, None], b.T[:, None], 1e-3),
     _t("n", 3, 4) + _t(4, "n") * 2),
    ("layer_norm-plain",
     lambda x, g, b: op.nn.layer_norm(x, g, b, [-1], center=False, scale=False),
     lambda x, g, b: functional.layer_norm(x, (4,)) + 0 * (g + b), _t("n", 4) + _t(4) * 2),
    ("group_norm", lambda x, g, b: op.nn.group_norm(x, g, b, 2, 1, [2, 3]),
     lambda x, g, b: functional.group_norm(x, 2, g, b), _t("n", 4, "h", 3) + _t(4) * 2),
    ("instance_norm", lambda x, g, b: op.nn.instance_norm(x, g, b, 1, [2, 3]),
     lambda x, g, b: functional.instance_norm(x, weight=g, bias=b), _t("n", 4, "h", 3) + _t(4) * 2),
    ("rms_norm", lambda x, g: op.nn.rms_norm(x, g, [-1]),
     lambda x, g: functional.rms_norm(x, (4,), g, 1e-5), _t("n", 3, 4) + _t(4)),
    ("batch_norm", lambda x, g, b, m, v: op.nn.batch_norm(x, g, b, m, v, 1)[0],
     lambda x, g, b, m, v: functional.batch_norm(x, None, None, g, b, True) + 0 * (m + v).sum(),
     _t("n", 4, "h") + _t(4) * 3 + [((4,), "positive")]),
    ("batch_norm-moving",
     lambda x, g, b, m, v: op.add(*list(op.nn.batch_norm(x, g, b, m, v, 1))[1:]),
     lambda x, g, b, m, v: 0.9 * (m + v) + 0.1 * (
         x.mean((0, 2)) + x.var((0, 2), correction=0)) + 0 * (g + b),
     _t("n", 4, "h") + _t(4) * 3 + [((4,), "positive")]),
    ("batch_norm-inference",
     lambda x, g, b, m, v: op.nn.batch_norm(x, g, b, m, v, 1, training=False)[0],
     lambda x, g, b, m, v: (x - m[:, None]) / torch.sqrt(v[:, None] + 1e-5) * g[:, None]
     + b[:, None], _t("n", 4, "h") + _t(4) * 3 + [((4,), "positive")]),
    ("attention", *_attention(), _QKV),
    ("attention-bias", *_attention(0.3), [*_QKV, ((1, 4, "s", "t"), "any")]),
    ("attention-grouped", *_attention(), _GROUPED),
    ("attention-causal", *_attention(mask="TopLeft"), _QKV),
    ("attention-window", *_attention(mask="BottomRight", window=3), _QKV),
]  # fmt: skip


def _image(x, layout):
    """Return an image, or weights, of a layout, as PyTorch has it."""
    order = {"N": 0, "O": 0, "C": 1, "I": 1}
    places = sorted(range(len(layout)), key=lambda i: order.get(layout[i], 2))
    return x.permute(places)


WINDOW = [
    ("conv2d", op.nn.conv2d, functional.conv2d, _t("b", 3, "h", "w") + _t(4, 3, 3, 2)),
    ("conv2d-same", lambda x, w: op.nn.conv2d(x, w, padding=1),
     lambda x, w: functional.conv2d(x, w, padding=1), _t("b", 3, "h", "w") + _t(4, 3, 3, 3)),
    ("conv2d-strided", lambda x, w: op.nn.conv2d(x, w, strides=2, padding=[1, 0, 2, 1]),
     lambda x, w: functional.conv2d(functional.pad(x, (0, 1, 1, 2)), w, stride=2),
     _t("b", 3, "h", "w") + _t(4, 3, 3, 3)),
    ("conv2d-grouped", lambda x, w: op.nn.conv2d(x, w, (2, 1), 2, (1, 2), 2),
     lambda x, w: functional.conv2d(x, w, None, (2, 1), 2, (1, 2), 2),
     _t("b", 4, "h", "w") + _t(6, 2, 3, 3)),
    ("conv2d-depthwise", lambda x, w: op.nn.conv2d(x, w, groups=4),
     lambda x, w: functional.conv2d(x, w, groups=4), _t("b", 4, "h", 6) + _t(4, 1, 3, 3)),
    ("conv2d-wide-padding", lambda x, w: op.nn.conv2d(x, w, strides=3, padding=4),
     lambda x, w: functional.conv2d(x, w, stride=3, padding=4), _t("b", 2, "h", "w") + _t(2, 2, 2, 2)),
    ("conv2d-layout",
     lambda x, w: op.nn.conv2d(x, w, padding=1, data_layout="NHWC", kernel_layout="HWIO"),
     lambda x, w: functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1)
     .permute(0, 2, 3, 1), _t("b", "h", "w", 3) + _t(3, 3, 3, 4)),
    ("conv1d", lambda x, w: op.nn.conv1d(x, w, 2, 1),
     lambda x, w: functional.conv1d(x, w, stride=2, padding=1), _t("b", 3, "w") + _t(4, 3, 3)),
    ("conv3d", lambda x, w: op.nn.conv3d(x, w, 2, 1),
     lambda x, w: functional.conv3d(x, w, stride=2, padding=1), _t("b", 2, 5, "h", 6) + _t(3, 2, 3, 3, 3)),
    ("max_pool2d", lambda x: op.nn.max_pool2d(x, 2, 2), lambda x: functional.max_pool2d(x, 2, 2),
     _t("b", 3, "h", "w")),
    ("max_pool2d-ties", lambda x: op.nn.max_pool2d(x, 3, 1, 1),
     lambda x: functional.max_pool2d(x, 3, 1, 1), [(("b", 2, "h", "w"), "coarse")]),
    ("max_pool2d-ceil", lambda x: op.nn.max_pool2d(x, 3, 2, 1, 2, ceil_mode=True),
     lambda x: functional.max_pool2d(x, 3, 2, 1, 2, ceil_mode=True), _t("b", 3, "h", "w")),
    ("max_pool2d-layout", lambda x: op.nn.max_pool2d(x, 2, 2, layout="NHWC"),
     lambda x: functional.max_pool2d(x.permute(0, 3, 1, 2), 2, 2).permute(0, 2, 3, 1),
     _t("b", "h", "w", 3)),
    ("max_pool1d", lambda x: op.nn.max_pool1d(x, 3, 2), lambda x: functional.max_pool1d(x, 3, 2),
     _t("b", 3, "w")),
    ("max_pool3d", lambda x: op.nn.max_pool3d(x, 2, 2), lambda x: functional.max_pool3d(x, 2, 2),
     _t("b", 2, 4, "h", 4)),
    ("avg_pool2d", lambda x: op.nn.avg_pool2d(x, 3, 2, 1),
     lambda x: functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False), _t("b", 3, "h", "w")),
    ("avg_pool2d-padding", lambda x: op.nn.avg_pool2d(x, 3, 2, 1, count_include_pad=True),
     lambda x: functional.avg_pool2d(x, 3, 2, 1), _t("b", 3, "h", "w")),
    ("avg_pool2d-ceil",
     lambda x: op.nn.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=True),
     lambda x: functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True), _t("b", 3, 8, "t")),
    ("avg_pool1d", lambda x: op.nn.avg_pool1d(x, 3, 2), lambda x: functional.avg_pool1d(x, 3, 2),
     _t("b", 3, "w")),
    ("avg_pool3d", lambda x: op.nn.avg_pool3d(x, 2, 2), lambda x: functional.avg_pool3d(x, 2, 2),
     _t("b", 2, 4, "h", 4)),
    ("adaptive_avg_pool2d", lambda x: op.nn.adaptive_avg_pool2d(x, (3, 2)),
     lambda x: functional.adaptive_avg_pool2d(x, (3, 2)), _t("b", 3, "h", "w")),
    ("adaptive_avg_pool1d", lambda x: op.nn.adaptive_avg_pool1d(x, 4),
     lambda x: functional.adaptive_avg_pool1d(x, 4), _t("b", 3, "w")),
    ("adaptive_avg_pool3d", lambda x: op.nn.adaptive_avg_pool3d(x, (1, 2, 3)),
     lambda x: functional.adaptive_avg_pool3d(x, (1, 2, 3)), _t("b", 2, 4, "h", "w")),
]  # fmt: skip

CASES = [*ELEMENTWISE, *REDUCE, *MANIPULATE, *INDEX, *ORDER, *PADDED, *NN, *WINDOW]
