"""Models in files of ONNX beside onnxruntime, OpenVINO and PyTorch: ``--files a.onnx b.onnx``.

A model has one input, of floats or of tokens, of a known size. Results are compared with those of
onnxruntime. PyTorch runs `a.pt2`, the same model as a file of ``torch.export``, where it exists.
With `--precision bf16`, products are of such floats where a peer has them.
`architectures/export_onnx.py` writes such files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import Way, Worker, WorkerError, choose, interleave

OURS, REFERENCE = "relax_mlir", "onnxruntime"
PEERS = (OURS, REFERENCE, "openvino", "pytorch")
NEEDS: dict[str, tuple[str, ...]] = {}
SHARED: dict[str, str] = {}
#: Of the largest element of a result.
TOLERANCE = {"f32": 1e-3, "bf16": 0.05}
#: The same of quantized models: codes that are neighbors go through all layers that follow.
TOLERANCE_OF_CODES = 0.1

Row = dict[str, Any]


def run(start: Callable[[str, int], Worker], options: Any) -> list[Row]:
    """Return the rows of the table.

    Parameters
    ----------
    start : callable
        From the name of a peer and a number of threads to a worker.
    options : argparse.Namespace
        `files`, `peers`, `rounds` and `threads`: which to run, and how often.
    """
    if not options.files:
        raise SystemExit("run.py: expected --files with models of ONNX")
    peers = choose(PEERS, options.peers)
    return [
        _file(path, threads, peers, start, options)
        for threads in options.threads
        for path in options.files
    ]


def _input(path: Path) -> np.ndarray:
    """Return random numbers for the input of a model."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    weights = {weight.name for weight in graph.initializer}
    inputs = [given for given in graph.input if given.name not in weights]
    sizes = [dim.dim_value for dim in inputs[0].type.tensor_type.shape.dim] if inputs else []
    dtype = inputs[0].type.tensor_type.elem_type if inputs else 0
    if len(inputs) == 1 and 0 not in sizes:
        rng = np.random.default_rng(0)
        if dtype == onnx.TensorProto.FLOAT:
            return rng.standard_normal(sizes, "float32")
        if dtype == onnx.TensorProto.INT64:  # tokens, of a vocabulary of 100 or more
            return rng.integers(1, 100, sizes)
    raise SystemExit(f"{path}: expected one input of float32 or int64, of a known size")


def _operators(path: Path) -> set[str]:
    """Return the operators of a model."""
    import onnx

    return {node.op_type for node in onnx.load(path, load_external_data=False).graph.node}


def _file(
    path: Path, threads: int, peers: list[str], start: Callable[[str, int], Worker], options: Any
) -> Row:
    x = _input(path)
    workers: dict[str, Worker] = {}
    ways: dict[str, Way] = {}
    results: dict[str, np.ndarray] = {}
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "x.npy", x)
        for peer in peers:
            try:
                worker = workers[peer] = start(peer, threads)
                precision = "f32" if peer == REFERENCE else options.precision
                worker.ask("open_file", path=str(path), precision=precision)
                handle = worker.ask("bind_file", path=f"{folder}/x.npy")
                results[peer] = np.ravel(worker.ask("result", handle=handle))
                ways[peer] = Way(worker, handle)
            except WorkerError as error:
                print(f"{path.stem}: {peer} is left out: {error}")
    if REFERENCE in results:
        wanted = results[REFERENCE]
        largest = max(float(np.abs(wanted).max()), np.finfo(np.float32).tiny)  # of some, all are 0
        is_quantized = any("Quant" in name or name.startswith("QL") for name in _operators(path))
        tolerance = TOLERANCE_OF_CODES if is_quantized else TOLERANCE[options.precision]
        for peer in list(ways):
            error = float(np.abs(results[peer] - wanted).max()) / largest
            if error > tolerance:
                print(f"{path.stem}: {peer} differs by {error:.2g}")
                ways.pop(peer)
    timings = interleave(ways, options.rounds)
    for worker in workers.values():
        worker.close()
    title = path.stem if options.precision == "f32" else f"{path.stem}, {options.precision}"
    row: Row = {"title": title, "threads": threads, "unit": "us"}
    row |= {peer: timing.median / 1e3 for peer, timing in timings.items()}
    row |= {"disturbed": sum(timing.disturbed for timing in timings.values())}
    others = [timing.median for peer, timing in timings.items() if peer != OURS]
    if OURS in timings and others:
        row["ratio"] = min(others) / timings[OURS].median
    return row
