# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``relax-mlir bench``: the time of a model, beside onnxruntime where that is installed."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ..runtime import set_num_threads
from . import options
from .compiling import add_model_options
from .errors import CommandError
from .running import Prepared, add_input_options, as_array, outputs_of, prepare


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "bench",
        help="measure a model, beside onnxruntime where it is installed",
        description="Compile a model, unless the file is compiled, and measure calls. Rounds of a "
        "model of ONNX alternate with those of onnxruntime, where it is installed. Inputs that are "
        "not given are random.",
    )
    add_model_options(parser)
    add_input_options(parser)
    group = parser.add_argument_group("measurement")
    group.add_argument("--threads", type=int, nargs="+", default=[1], help="1 by default; several")
    group.add_argument("--warm-up", type=int, default=3, metavar="N", help="calls before; 3")
    group.add_argument("--repeat", type=int, default=20, metavar="N", help="calls measured; 20")
    group.add_argument(
        "--peers",
        choices=("auto", "none", "onnxruntime"),
        default="auto",
        help="what else to measure; by default onnxruntime, for models of ONNX",
    )
    options.add_compile_options(parser)
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class Timing:
    """The milliseconds that calls took, and what the last one returned."""

    milliseconds: list[float]
    outputs: Mapping[str, Any]

    def __str__(self) -> str:
        times = self.milliseconds
        return f"{statistics.median(times):>10.3f} {min(times):>10.3f} {max(times):>10.3f}"


Call = Callable[[], Mapping[str, Any]]


def _ours(prepared: Prepared, function: str) -> Call:
    main = prepared.machine[function]
    names = prepared.model.output_names
    return lambda: outputs_of(main(*prepared.arguments), names)


def _onnxruntime(prepared: Prepared, threads: int) -> Call:
    runtime: Any = import_module("onnxruntime")
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    try:
        session = runtime.InferenceSession(
            str(prepared.model.path), settings, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise CommandError(f"onnxruntime does not take {prepared.model.path}: {error}") from error
    feed = {
        name: np.asarray(argument)
        for name, argument in zip(prepared.model.input_names, prepared.arguments, strict=False)
    }
    names = prepared.model.output_names
    return lambda: dict(zip(names, session.run(None, feed), strict=True))


def _wants_onnxruntime(given: argparse.Namespace, prepared: Prepared) -> bool:
    if given.peers == "none":
        return False
    is_onnx = prepared.model.format == "onnx"
    if given.peers == "auto" and not is_onnx:
        return False
    if not is_onnx:
        raise CommandError(f"{prepared.model.path}: expected a model of ONNX for onnxruntime")
    try:
        import_module("onnxruntime")
    except ImportError as error:
        if given.peers == "auto":
            return False
        raise CommandError("expected the package onnxruntime to be installed") from error
    return True


def measure(calls: Mapping[str, Call], warm_up: int, repeat: int) -> dict[str, Timing]:
    """Measure calls that alternate, so that what disturbs the machine disturbs all of them.

    Parameters
    ----------
    calls : mapping of str to callable
    warm_up, repeat : int
        Calls of each that are not measured, and that are.

    Examples
    --------
    >>> sorted(measure({"a": lambda: {}, "b": lambda: {}}, 1, 3))
    ['a', 'b']
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    outputs: dict[str, Mapping[str, Any]] = {}
    for place in range(warm_up + repeat):
        for name, call in calls.items():
            start = time.perf_counter()
            outputs[name] = call()
            seconds = time.perf_counter() - start
            if place >= warm_up:
                times[name].append(seconds * 1e3)
    return {name: Timing(times[name], outputs[name]) for name in calls}


def _difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> float:
    """Return the largest difference of outputs, in relation to the largest number of each."""
    worst = 0.0
    for name, value in theirs.items():
        expected = np.asarray(value, "float64")
        found = np.asarray(as_array(name, ours[name]), "float64")
        if expected.shape != found.shape:
            raise CommandError(
                f"output '{name}' has the shape {found.shape}, but {expected.shape} in onnxruntime"
            )
        if expected.size:
            scale = max(float(np.abs(expected).max()), 1e-30)
            worst = max(worst, float(np.abs(expected - found).max()) / scale)
    return worst


def run(given: argparse.Namespace) -> int:
    """Run the command."""
    if given.repeat < 1 or given.warm_up < 0 or min(given.threads) < 1:
        raise CommandError("expected --repeat 1, --warm-up 0 and --threads 1, or more")
    prepared = prepare(given, is_random=True)
    with_peer = _wants_onnxruntime(given, prepared)
    print(f"{'':<14} {'threads':>7} {'median ms':>10} {'least':>10} {'most':>10}")
    for threads in given.threads:
        set_num_threads(threads)
        calls = {"relax-mlir": _ours(prepared, given.function)}
        if with_peer:
            calls["onnxruntime"] = _onnxruntime(prepared, threads)
        timings = measure(calls, given.warm_up, given.repeat)
        for name, timing in timings.items():
            print(f"{name:<14} {threads:>7} {timing}")
        if with_peer:
            ours, theirs = timings["relax-mlir"], timings["onnxruntime"]
            ratio = statistics.median(theirs.milliseconds) / statistics.median(ours.milliseconds)
            difference = _difference(ours.outputs, theirs.outputs)
            print(f"{'':<14} {ratio:.2f} times the speed; outputs differ by {difference:.1e}")
    return 0
