"""The programs of the suite ``vm``: TVMScript that TVM and relax-mlir both read.

Nothing is imported here: the text goes to the peers, which parse it with their own parser.
"""

from __future__ import annotations

CHAIN_LENGTH = 100


def chain() -> str:
    """Return a module of two functions, each a chain of kernels that add one to one element.

    ``static`` takes (1,) float32, ``symbolic`` takes (n,).
    """

    def steps(kernel: str, shape: str) -> str:
        out = f"R.Tensor({shape}, 'float32')"
        return "\n".join(
            f"            x{i + 1} = R.call_tir(cls.{kernel}, (x{i},), {out})"
            for i in range(CHAIN_LENGTH)
        )

    return f"""
@I.ir_module
class Chain:
    @T.prim_func(s_tir=True)
    def add_one(x: T.Buffer((1,), "float32"), y: T.Buffer((1,), "float32")):
        with T.sblock("root"):
            y[0] = x[0] + T.float32(1)

    @T.prim_func(s_tir=True)
    def add_each(vx: T.handle, vy: T.handle):
        n = T.int64()
        x = T.match_buffer(vx, (n,), "float32")
        y = T.match_buffer(vy, (n,), "float32")
        for i in range(n):
            with T.sblock("add"):
                vi = T.axis.spatial(n, i)
                y[vi] = x[vi] + T.float32(1)

    @R.function
    def static(x0: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Chain
        with R.dataflow():
{steps("add_one", "(1,)")}
            R.output(x{CHAIN_LENGTH})
        return x{CHAIN_LENGTH}

    @R.function
    def symbolic(x0: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Chain
        with R.dataflow():
{steps("add_each", "(n,)")}
            R.output(x{CHAIN_LENGTH})
        return x{CHAIN_LENGTH}
"""


def add() -> str:
    """Return a module whose ``main`` adds two matrices of float32 with one kernel."""
    return """
@I.ir_module
class Add:
    @R.function
    def main(
        x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n", "m"), "float32")
    ) -> R.Tensor(("n", "m"), "float32"):
        with R.dataflow():
            z = R.add(x, y)
            R.output(z)
        return z
"""


def transformer(hidden: int = 768, heads: int = 12, inner: int = 3072, bound: int = 0) -> str:
    """Return a transformer layer, pre-norm, on (1, n, hidden) float32; weights are parameters.

    Parameters
    ----------
    hidden, heads, inner : int
        Features of a token, heads of the attention, features inside of the feed-forward part.
    bound : int
        The largest n, declared as ``tir_var_upper_bound``; 0 declares none.
    """
    size = hidden // heads
    weights = {f"w{name}": (hidden, hidden) for name in "qkvo"}
    weights |= {"w1": (hidden, inner), "w2": (inner, hidden)}
    weights |= {f"b{name}": (hidden,) for name in "qkvo2"} | {"b1": (inner,)}
    weights |= dict.fromkeys(("g1", "s1", "g2", "s2"), (hidden,))
    params = ", ".join(f'{k}: R.Tensor({v}, "float32")' for k, v in weights.items())

    lines = []

    def emit(name: str, value: str) -> str:
        lines.append(f"{name} = {value}")
        return name

    def linear(name: str, x: str) -> str:
        return emit(f"l{name}", f"R.add({emit(f'm{name}', f'R.matmul({x}, w{name})')}, b{name})")

    def split_heads(name: str, axes: str) -> str:
        rows = emit(f"r{name}", f"R.reshape(l{name}, R.shape([1, n, {heads}, {size}]))")
        return emit(f"h{name}", f"R.permute_dims({rows}, axes={axes})")

    normed = emit("n1", "R.nn.layer_norm(x, g1, s1, axes=[-1])")
    for name in "qkv":
        linear(name, normed)
    query, value = split_heads("q", "[0, 2, 1, 3]"), split_heads("v", "[0, 2, 1, 3]")
    scores = emit("s", f"R.matmul({query}, {split_heads('k', '[0, 2, 3, 1]')})")
    scaled = emit("sc", f'R.multiply({scores}, R.const({size**-0.5}, "float32"))')
    mixed = emit("mx", f"R.matmul({emit('p', f'R.nn.softmax({scaled}, axis=-1)')}, {value})")
    merged = emit("mt", f"R.permute_dims({mixed}, axes=[0, 2, 1, 3])")
    emit("flat", f"R.reshape({merged}, R.shape([1, n, {hidden}]))")
    attended = emit("x1", f"R.add(x, {linear('o', 'flat')})")
    inside = linear("1", emit("n2", f"R.nn.layer_norm({attended}, g2, s2, axes=[-1])"))
    active = emit("act", f"R.nn.gelu({inside})")
    out = emit("out", f"R.add({attended}, {linear('2', active)})")

    attrs = f'\n        R.func_attr({{"tir_var_upper_bound": {{"n": {bound}}}}})' if bound else ""
    body = "\n".join(f"            {line}" for line in lines)
    return f"""
@I.ir_module
class Transformer:
    @R.function
    def main(
        x: R.Tensor((1, "n", {hidden}), "float32"), {params}
    ) -> R.Tensor((1, "n", {hidden}), "float32"):{attrs}
        n = T.int64()
        with R.dataflow():
{body}
            R.output({out})
        return {out}
"""


def _convolution(name: str, inputs: int, outputs: int, size: int, stride: int, taps: int) -> str:
    out = size // stride
    pad = taps // 2
    padded = size + 2 * pad
    return f"""
    @T.prim_func(s_tir=True)
    def {name}(
        x: T.Buffer((1, {inputs}, {size}, {size}), "float32"),
        w: T.Buffer(({outputs}, {inputs}, {taps}, {taps}), "float32"),
        y: T.Buffer((1, {outputs}, {out}, {out}), "float32"),
    ):
        p = T.sblock_alloc_buffer((1, {inputs}, {padded}, {padded}), "float32")
        for c, i, j in T.grid({inputs}, {padded}, {padded}):
            with T.sblock("pad"):
                vc, vi, vj = T.axis.remap("SSS", [c, i, j])
                p[0, vc, vi, vj] = T.if_then_else(
                    {pad} <= vi and vi < {size + pad} and {pad} <= vj and vj < {size + pad},
                    x[0, vc, vi - {pad}, vj - {pad}],
                    T.float32(0),
                )
        for o, i, j, c, u, v in T.grid({outputs}, {out}, {out}, {inputs}, {taps}, {taps}):
            with T.sblock("conv"):
                vo, vi, vj, vc, vu, vv = T.axis.remap("SSSRRR", [o, i, j, c, u, v])
                with T.init():
                    y[0, vo, vi, vj] = T.float32(0)
                y[0, vo, vi, vj] = (
                    y[0, vo, vi, vj]
                    + p[0, vc, vi * {stride} + vu, vj * {stride} + vv] * w[vo, vc, vu, vv]
                )
"""


def residual(size: int = 56) -> str:
    """Return the four stages of a residual network on (1, 64, size, size) float32.

    Each stage has two blocks of two convolutions; weights are parameters.
    """
    kernels: dict[str, str] = {}
    params, lines = [], []
    state = "x"

    def conv(x: str, inputs: int, outputs: int, side: int, stride: int, taps: int) -> str:
        name = f"conv_{inputs}_{outputs}_{side}_{stride}_{taps}"
        kernels[name] = _convolution(name, inputs, outputs, side, stride, taps)
        weight = f"w{len(params)}"
        params.append(f'{weight}: R.Tensor(({outputs}, {inputs}, {taps}, {taps}), "float32")')
        out = side // stride
        result = f"c{len(params)}"
        shape = f"(1, {outputs}, {out}, {out})"
        lines.append(
            f"{result} = R.call_tir(cls.{name}, ({x}, {weight}), R.Tensor({shape}, 'float32'))"
        )
        return result

    def emit(value: str) -> str:
        name = f"v{len(lines)}"
        lines.append(f"{name} = {value}")
        return name

    channels, side = 64, size
    for stage in range(4):
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            wide = channels * stride
            inner = emit(f"R.nn.relu({conv(state, channels, wide, side, stride, 3)})")
            inner = conv(inner, wide, wide, side // stride, 1, 3)
            shortcut = state if stride == 1 else conv(state, channels, wide, side, 2, 1)
            state = emit(f"R.nn.relu({emit(f'R.add({inner}, {shortcut})')})")
            channels, side = wide, side // stride
    body = "\n".join(f"            {line}" for line in lines)
    functions = "".join(kernels.values())
    return f"""
@I.ir_module
class Residual:
{functions}
    @R.function
    def main(
        x: R.Tensor((1, 64, {size}, {size}), "float32"), {", ".join(params)}
    ) -> R.Tensor((1, {channels}, {side}, {side}), "float32"):
        cls = Residual
        with R.dataflow():
{body}
            R.output({state})
        return {state}
"""
