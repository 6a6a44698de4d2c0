"""Products of few bits beside onnxruntime, OpenVINO and PyTorch, from the same files of ONNX.

A file has one product by a constant matrix, in each form that exporters write. Results are compared
with NumPy in double precision: "exact" peers compute with the rows as they are. At accuracy level 4
onnxruntime rounds them to 8 bits, so does OpenVINO by default where the processor multiplies bytes,
and so do we where asked to; these have columns and a ratio of their own. Floats of 16 bits are
those of an option of `compile`, and of OpenVINO.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import Way, Worker, WorkerError, choose, interleave

OURS, OURS_ROUNDED = "relax_mlir", "relax_mlir-8"
#: Those that round rows to 8 bits.
ROUNDED = (OURS_ROUNDED, "onnxruntime-8", "openvino-8")
PEERS = (OURS, "onnxruntime", "openvino", "pytorch", *ROUNDED)
NEEDS: dict[str, tuple[str, ...]] = {"pytorch": ("torch==2.13.0", "onnx")}
SHARED = {peer: peer.removesuffix("-8") for peer in ROUNDED}
ROWS = (1, 4, 16, 128)
TOLERANCE = dict.fromkeys(ROUNDED, 0.05)

Row = dict[str, Any]
# Of rows that are quantized: a power of two, so that both roundings are exact.
_STEP = 0.03125


@dataclass(frozen=True)
class Form:
    """How a file states a matrix: a name, the bits of its weights, and what makes the model.

    Rows are rounded to 255 multiples of `step`, if there is one. `rounded` are the peers that may
    round them by themselves.
    """

    name: str
    bits: int
    make: Callable[[int, int, int], tuple[Any, np.ndarray]]
    precision: str = "f32"
    step: float = 0
    rounded: tuple[str, ...] = ()


def _model(nodes: list[Any], constants: dict[str, np.ndarray], depth: int, columns: int) -> Any:
    from onnx import TensorProto, helper, numpy_helper

    def info(name: str, size: int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", size])

    weights = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "product", [info("x", depth)], [info("y", columns)], weights)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _weights(depth: int, columns: int, low: int, high: int, group: int) -> Any:
    rng = np.random.default_rng(0)
    codes = rng.integers(low, high + 1, (depth, columns))
    scale = (rng.random((depth // group, columns), "float32") + 0.5) / np.float32(high)
    return codes, scale, codes * np.repeat(scale, group, 0).astype("float64")


def _float(depth: int, columns: int, _: int) -> tuple[Any, np.ndarray]:
    from onnx import helper

    matrix = np.random.default_rng(0).standard_normal((depth, columns), "float32")
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    return _model([node], {"w": matrix}, depth, columns), matrix.astype("float64")


def _four_bits(depth: int, columns: int, level: int) -> tuple[Any, np.ndarray]:
    from onnx import helper

    codes, scale, plain = _weights(depth, columns, -8, 7, 32)
    pairs = (codes.T + 8).astype("uint8").reshape(columns, depth // 32, 16, 2)
    packed = pairs[..., 0] | pairs[..., 1] << 4
    node = helper.make_node(
        "MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=depth, N=columns,
        bits=4, block_size=32, accuracy_level=level,
    )  # fmt: skip
    constants = {"w": packed, "s": np.ascontiguousarray(scale.T).reshape(-1)}
    return _model([node], constants, depth, columns), plain


def _eight_bits(depth: int, columns: int, _: int) -> tuple[Any, np.ndarray]:
    from onnx import helper

    codes, scale, plain = _weights(depth, columns, -127, 127, depth)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["f"], axis=1),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    constants = {"w": codes.astype("int8"), "s": scale[0]}
    return _model(nodes, constants, depth, columns), plain


def _bytes(depth: int, columns: int, _: int) -> tuple[Any, np.ndarray]:
    from onnx import helper

    codes, scale, plain = _weights(depth, columns, -127, 127, depth)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "step", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "step", "zero"], ["r"]),
        helper.make_node("DequantizeLinear", ["w", "s", "none"], ["f"], axis=1),
        helper.make_node("MatMul", ["r", "f"], ["y"]),
    ]
    constants = {
        "w": codes.astype("int8"),
        "s": scale[0],
        "none": np.zeros(columns, "int8"),
        "step": np.array(_STEP, "float32"),
        "zero": np.array(128, "uint8"),
    }
    return _model(nodes, constants, depth, columns), plain


FORMS = (
    Form("float32", 32, _float),
    Form("bfloat16", 16, _float, "bf16"),
    Form("8 bits of both, Q/DQ", 8, _bytes, step=_STEP),
    Form("8 bits, a scale for a column", 8, _eight_bits, rounded=(OURS_ROUNDED, "openvino-8")),
    Form("4 bits, a scale for 32 weights", 4, _four_bits, rounded=ROUNDED),
)


def run(start: Callable[[str, int], Worker], options: Any) -> list[Row]:
    """Return the rows of the table.

    Parameters
    ----------
    start : callable
        From the name of a peer and a number of threads to a worker.
    options : argparse.Namespace
        `peers`, `rounds` and `threads`: which to run, and how often.
    """
    rows: list[Row] = []
    peers = choose(PEERS, options.peers)
    with tempfile.TemporaryDirectory() as folder:
        for threads in options.threads:
            for form in FORMS:
                for depth, columns in ((4096, 4096), (768, 3072)):
                    rows += _form(form, depth, columns, peers, start, threads, folder, options)
    return rows


def _form(
    form: Form, depth: int, columns: int, peers: list[str], start: Callable[[str, int], Worker],
    threads: int, folder: str, options: Any,
) -> list[Row]:  # fmt: skip
    import onnx

    workers: dict[str, Worker] = {}
    for peer in peers:
        level = 4 if peer in ROUNDED else 1
        if level == 4 and peer not in form.rounded:
            continue
        model, matrix = form.make(depth, columns, level)
        path = Path(folder) / f"{level}.onnx"
        onnx.save(model, path)
        try:
            workers[peer] = start(SHARED.get(peer, peer), threads)
            workers[peer].ask(
                "open_file", path=str(path), precision=form.precision, rounds_rows=peer in ROUNDED
            )
        except WorkerError as error:
            print(f"{form.name}: {peer} is left out: {error}")
            workers.pop(peer, None)
    rows = [_rows(form, matrix, count, workers, folder, options) for count in ROWS]
    for worker in workers.values():
        worker.close()
    return [row | {"threads": threads} for row in rows]


def _rows(
    form: Form, matrix: np.ndarray, count: int, workers: dict[str, Worker], folder: str,
    options: Any,
) -> Row:  # fmt: skip
    x = np.random.default_rng(count).standard_normal((count, len(matrix)), "float32")
    path = Path(folder) / "x.npy"
    np.save(path, x)
    if form.step:
        x = np.clip(np.rint(x / form.step), -128, 127) * form.step
    wanted = x @ matrix
    ways: dict[str, Way] = {}
    errors: dict[str, float] = {}
    for peer, worker in workers.items():
        way = Way(worker, worker.ask("bind_file", path=str(path)))
        result = np.reshape(worker.ask("result", handle=way.handle), wanted.shape)
        errors[peer] = float(np.abs(result - wanted).max() / np.abs(wanted).max())
        exact = 0.02 if form.precision == "bf16" or (form.step and peer == "openvino") else 1e-4
        if errors[peer] <= TOLERANCE.get(peer, exact):
            ways[peer] = way
        else:
            print(f"{form.name}, {count} rows: {peer} is wrong by {errors[peer]:.2g}")
    timings = interleave(ways, options.rounds)
    shape = " x ".join(map(str, matrix.shape))
    row: Row = {"title": f"{count} x {shape}, {form.name}", "unit": "us", "errors": errors}
    row |= {peer: timing.median / 1e3 for peer, timing in timings.items()}
    row |= {"disturbed": sum(timing.disturbed for timing in timings.values())}
    rounded = [peer for peer in ROUNDED if peer in timings]
    exact = [peer for peer in timings if peer not in rounded]
    for name, ours, peers in (("ratio", OURS, exact), ("ratio-8", OURS_ROUNDED, rounded)):
        others = [timings[peer].median for peer in peers if peer != ours]
        if ours in timings and others:
            row[name] = min(others) / timings[ours].median
    figures = ", ".join(f"{peer} {row[peer]:.4g}" for peer in timings)
    ratios = [f"{name} {row[name]:.2f}" for name in ("ratio", "ratio-8") if name in row]
    print(f"{row['title']}: {', '.join([figures, *ratios])}", flush=True)
    return row
