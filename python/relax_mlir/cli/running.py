# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``relax-mlir run``: a model on arrays of files, or on random ones."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..runtime import VirtualMachine, set_num_threads
from . import options
from .arguments import RandomInputs, arguments_of, read_arrays
from .compiling import add_model_options, executable_of, load_model
from .errors import CommandError, check_output
from .models import Model
from .signature import Signature, signature_of


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "run",
        help="run a model on arrays of files or random ones",
        description="Compile a model, unless the file is compiled, call it once, and say what "
        "comes out.",
    )
    add_model_options(parser)
    add_input_options(parser)
    parser.add_argument("--threads", type=int, help="threads of kernels")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.npz", help="write the outputs")
    options.add_compile_options(parser)
    parser.set_defaults(run=run)


def add_input_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of arguments."""
    group = parser.add_argument_group("inputs")
    group.add_argument(
        "-i",
        "--inputs",
        nargs="+",
        default=[],
        type=Path,
        metavar="FILE",
        help="arrays: .npz by the names of inputs, .npy in their order",
    )
    group.add_argument("--random", action="store_true", help="make inputs that are not given")
    group.add_argument("--seed", type=int, default=0, help="of random inputs; 0 by default")
    group.add_argument(
        "--size",
        dest="sizes",
        action="append",
        default=[],
        type=options.size_of,
        metavar="NAME=SIZE",
        help="the size of a dynamic dimension of random inputs; 1 by default",
    )
    group.add_argument(
        "--integers",
        type=_integers,
        default=(0, 1),
        metavar="LOW:HIGH",
        help="the range of random integers; 0:1 by default",
    )


def _integers(text: str) -> tuple[int, int]:
    low, colon, high = text.partition(":")
    try:
        least, most = int(low), int(high)
    except ValueError:
        least, most = 1, 0
    if not colon or least > most:
        raise argparse.ArgumentTypeError(f"expected a range such as 0:100, but got {text!r}")
    return least, most


@dataclass(frozen=True)
class Prepared:
    """A function with arguments for it.

    Attributes
    ----------
    model : Model
    machine : VirtualMachine
    signature : Signature
    arguments : list
    """

    model: Model
    machine: VirtualMachine
    signature: Signature
    arguments: list[Any]


def prepare(given: argparse.Namespace, is_random: bool, *, is_profiled: bool = False) -> Prepared:
    """Compile the model of the command line, and read or make its arguments."""
    if given.seed < 0:
        raise CommandError(f"expected a seed of 0 or more, but got {given.seed}")
    model = load_model(given)
    if is_profiled and model.executable is None:
        given.profile = True
    executable = executable_of(model, given)
    signature = signature_of(executable, given.function)
    arrays: dict[str, Any] = dict(model.weights)
    arrays |= _by_parameter(model, signature, read_arrays(given.inputs, list(signature.params)))
    sizes = options.once(given.sizes, "--size")
    random = RandomInputs(given.seed, sizes, given.integers) if is_random else None
    arguments = arguments_of(signature, arrays, random)
    return Prepared(model, VirtualMachine(executable), signature, arguments)


def _by_parameter(model: Model, signature: Signature, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return arrays by the names of parameters; a model may have other names for its inputs."""
    names = dict(zip(model.input_names, signature.params, strict=False))
    return {names.get(name, name): array for name, array in arrays.items()}


def set_threads(threads: int | None) -> None:
    """Set how many threads kernels use, where that is given."""
    if threads is None:
        return
    if threads < 1:
        raise CommandError(f"expected 1 thread or more, but got {threads}")
    set_num_threads(threads)


def leaves_of(result: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the values in a result, which may be tuples, by name."""
    if isinstance(result, (bool, int, float, str)) or hasattr(result, "__dlpack__"):
        yield name, result
    elif isinstance(result, Sequence) or hasattr(result, "__len__"):
        for place, inner in enumerate(result):
            yield from leaves_of(inner, f"{name}.{place}")
    else:
        yield name, result


def outputs_of(result: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the values that a call returned, by the names of outputs."""
    is_tuple = not hasattr(result, "__dlpack__") and not isinstance(result, (int, float, str))
    parts = list(result) if is_tuple and result is not None else [result]
    if len(names) != len(parts):
        names = [f"output_{place}" for place in range(len(parts))]
    pairs = zip(names, parts, strict=True)
    return {key: value for name, part in pairs for key, value in leaves_of(part, name)}


def as_array(name: str, value: Any) -> Any:
    """Return an output as an array of NumPy."""
    try:
        return np.asarray(value.numpy()) if hasattr(value, "numpy") else np.asarray(value)
    except TypeError as error:
        raise CommandError(f"output '{name}': {error}") from error


def _summary(name: str, array: Any) -> str:
    text = f"{name}: {array.dtype.name}[{', '.join(map(str, array.shape))}]"
    if array.dtype.kind not in "biuf" or array.size == 0:
        return text
    numbers = array.astype("float64") if array.dtype.kind == "f" else array
    if array.size == 1:
        return f"{text} = {numbers.item():g}"
    return f"{text} from {numbers.min():g} to {numbers.max():g}, mean {numbers.mean():g}"


def run(given: argparse.Namespace) -> int:
    """Run the command."""
    if given.output is not None and given.output.suffix != ".npz":
        raise CommandError(f"expected an output that ends in .npz, but got {given.output}")
    check_output(given.output)
    set_threads(given.threads)
    prepared = prepare(given, given.random)
    main = prepared.machine[given.function]
    start = time.perf_counter()
    result = main(*prepared.arguments)
    seconds = time.perf_counter() - start
    outputs = outputs_of(result, prepared.model.output_names)
    arrays = {name: as_array(name, value) for name, value in outputs.items()}
    for name, array in arrays.items():
        print(_summary(name, array))
    print(f"{seconds * 1e3:.3f} ms")
    if given.output is not None:
        np.savez(given.output, **arrays)
        print(f"{given.output}: {given.output.stat().st_size:,} bytes")
    return 0
