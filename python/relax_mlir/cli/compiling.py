# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``relax-mlir compile``: a model to a file that runs."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..artefact import Executable
from ..core.ir_module import IRModule
from ..transform import BindParams
from . import options
from .arguments import read_arrays
from .dimensions import change_dims, shapes_as_ranges
from .errors import CommandError, check_output, check_readable
from .models import SUFFIXES, Model, read

# What a model can be written to, by suffix, without compiling it.
_TEXTS = (".mlir", ".mlirbc", ".py")


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "compile",
        help="compile a model to .so or .rx, or write it as .mlir, .mlirbc or .py",
        description="Compile a model. What comes out goes by the suffix of the output: .so is a "
        "shared library, .rx a file of relax-mlir; .mlir, .mlirbc and .py are the imported program "
        "as text of MLIR, its bytecode, or TVMScript.",
    )
    add_model_options(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file to write")
    parser.add_argument(
        "--self-contained",
        action="store_true",
        help="have the library (.so) hold the runtime",
    )
    parser.add_argument(
        "--runtime",
        type=Path,
        metavar="FOLDER",
        help="link the library (.so) with this runtime, built for the machine of --target",
    )
    parser.add_argument(
        "--save-weights",
        type=Path,
        metavar="FILE.npz",
        help="write the weights that are arguments (--weights inputs, or buffers that change)",
    )
    options.add_compile_options(parser)
    parser.set_defaults(run=run)


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Add the model, and the options of how it is read."""
    parser.add_argument("model", type=Path, help=f"a file: {', '.join(SUFFIXES)}")
    group = parser.add_argument_group("model")
    group.add_argument("--format", choices=tuple(SUFFIXES), help="that of the file")
    group.add_argument("--function", default="main", help="the function, 'main' by default")
    group.add_argument(
        "--dim",
        dest="dims",
        action="append",
        default=[],
        type=options.range_of,
        metavar="NAME=SIZE|LOW:HIGH",
        help="fix a dimension, or bound it: calls with another size are an error",
    )
    group.add_argument(
        "--shape",
        dest="shapes",
        action="append",
        default=[],
        type=options.shape_of,
        metavar="INPUT=DIMS",
        help="the shape of an input, such as x=1,3,224,224; names stay dynamic",
    )
    group.add_argument(
        "--weights",
        choices=("constants", "inputs"),
        default="constants",
        help="whether weights of ONNX and PyTorch are part of the program or arguments of it",
    )
    group.add_argument(
        "--bind-weights",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="have inputs of these names be constants: .npz, or .params of TVM",
    )


def load_model(given: argparse.Namespace) -> Model:
    """Read the model of the command line, with its dimensions and weights."""
    shapes = options.once(given.shapes, "--shape")
    model = read(given.model, given.format, shapes=shapes, weights=given.weights)
    if model.module is None:
        if given.dims or given.bind_weights:
            raise CommandError(
                f"{model.path}: expected no --dim and --bind-weights, as the program is compiled"
            )
        return model
    ranges = list(given.dims)
    if model.format != "onnx":
        ranges += shapes_as_ranges(model.module, given.function, shapes)
    change_dims(model.module, given.function, ranges)
    if given.bind_weights:
        model.module = _bind(model.module, given.function, given.bind_weights)
    return model


def _bind(module: IRModule, function: str, paths: list[Path]) -> IRModule:
    unnamed = [str(path) for path in paths if path.suffix not in (".npz", ".params")]
    if unnamed:
        raise CommandError(
            f"expected weights in a file .npz or .params, but got {', '.join(unnamed)}"
        )
    weights: dict[Any, Any] = {}
    for path in paths:
        weights |= read_arrays([path], ()) if path.suffix == ".npz" else _params_of_tvm(path)
    bind: Any = BindParams(function, weights)
    bound: IRModule = bind(module)
    return bound


def _params_of_tvm(path: Path) -> dict[str, Any]:
    from ..frontend.relay import load_params

    try:
        check_readable(path)
        return load_params(path.read_bytes())
    except (ValueError, NotImplementedError) as error:
        raise CommandError(f"{path}: {error}") from error


def executable_of(model: Model, given: argparse.Namespace) -> Executable:
    """Return the executable of a model, compiled with the options of the command line."""
    if model.executable is not None:
        options.check_no_compile_options(given, f"{model.path} is compiled already")
        return model.executable
    return options.compile_with(model.module, given)


def run(given: argparse.Namespace) -> int:
    """Run the command."""
    output: Path = given.output
    if output.suffix not in (".so", ".rx", *_TEXTS):
        known = ", ".join((".so", ".rx", *_TEXTS))
        raise CommandError(f"expected an output that ends in {known}, but got {output}")
    if given.self_contained and output.suffix != ".so":
        raise CommandError(f"expected an output that ends in .so to be self-contained: {output}")
    if given.runtime and output.suffix != ".so":
        raise CommandError(f"expected an output that ends in .so to link with --runtime: {output}")
    for path in (output, given.save_weights):
        _check_written(path, given.model)
    start = time.monotonic()
    model = load_model(given)
    if given.save_weights and not model.weights:
        raise CommandError(
            "expected --weights inputs with --save-weights: no weight is an argument"
        )
    if given.save_weights:
        np.savez(given.save_weights, **model.weights)
    if output.suffix in _TEXTS:
        options.check_no_compile_options(given, f"{output} is not compiled")
        _write_program(model, output)
    else:
        _write_executable(executable_of(model, given), output, given)
    seconds = time.monotonic() - start
    print(f"{output}: {output.stat().st_size:,} bytes in {seconds:.1f} s")
    return 0


def _check_written(path: Path | None, model: Path) -> None:
    check_output(path)
    if path is not None and path.exists() and model.exists() and path.samefile(model):
        raise CommandError(f"expected an output other than the model itself, but got {path}")


def _write_executable(executable: Executable, output: Path, given: argparse.Namespace) -> None:
    if output.suffix == ".rx":
        executable.save(output)
        return
    executable.export_library(output, self_contained=given.self_contained, runtime=given.runtime)


def _write_program(model: Model, output: Path) -> None:
    if model.module is None:
        raise CommandError(f"{model.path}: expected a program that is not compiled yet")
    if output.suffix == ".mlirbc":
        with output.open("wb") as file:
            model.module.operation.write_bytecode(file)
    elif output.suffix == ".py":
        output.write_text(model.module.script(show_meta=True), encoding="utf-8")
    else:
        output.write_text(str(model.module), encoding="utf-8")
