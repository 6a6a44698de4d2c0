# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that commands read: what they are, and what is in them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from mlir import ir

from ..artefact import Executable, load
from ..core.context import current_context
from ..core.diagnostics import raise_errors, reason
from ..core.ir_module import IRModule, as_module
from ..script import from_source
from .errors import CommandError, check_readable

#: The suffixes of each format.
SUFFIXES = {
    "onnx": (".onnx",),
    "pt2": (".pt2",),
    "stablehlo": (".stablehlo", ".stablehlo.mlir", ".vhlo"),
    "relay": (".relay", ".rly"),
    "tvmscript": (".py",),
    "mlir": (".mlir", ".mlirbc"),
    "rx": (".rx",),
    "so": (".so",),
}
#: The formats of programs that are compiled already.
COMPILED = ("rx", "so")
_MLIR_BYTECODE = b"ML\xefR"
# How files begin that say what they are.
_MAGIC = {b"\x89RLX\r\n\x1a\n": "rx", b"\x7fELF": "so", b"PK\x03\x04": "pt2"}
_HEAD_BYTES = 1 << 16


@dataclass
class Model:
    """What a file holds.

    Attributes
    ----------
    path : Path
    format : str
        A key of `SUFFIXES`.
    module : IRModule or None
        A program that is still to compile.
    executable : Executable or None
        A program that is compiled.
    input_names, output_names : tuple of str
        As the model calls them; empty where it does not.
    weights : dict of str to numpy.ndarray
        The parameters that are weights, by name, where they are arguments.
    """

    path: Path
    format: str
    module: IRModule | None = None
    executable: Executable | None = None
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    weights: dict[str, Any] = field(default_factory=dict)


def format_of(path: Path) -> str:
    """Return the format of a file, by its content where that says so, else by its suffix.

    Raises
    ------
    OSError
        If it cannot be read.
    CommandError
        If nothing says what it is.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head:
        raise CommandError(f"{path}: expected a model, but the file is empty")
    for magic, found in _MAGIC.items():
        if head.startswith(magic):
            return found
    known = {suffix: name for name, suffixes in SUFFIXES.items() for suffix in suffixes}
    named = known.get("".join(path.suffixes[-2:])) or known.get(path.suffix)
    if head.startswith(_MLIR_BYTECODE) or named == "mlir":
        return "stablehlo" if _is_stablehlo(head) else "mlir"
    if named in _MAGIC.values():
        raise CommandError(f"{path}: expected a file of the format {named}, but it is none")
    if named is None:
        raise CommandError(
            f"{path}: expected a file that ends in {', '.join(known)}, or --format "
            f"({', '.join(SUFFIXES)})"
        )
    return named


def _is_stablehlo(head: bytes) -> bool:
    words = (b"stablehlo.", b"StableHLO", b"vhlo.", b"mhlo.", b"chlo.")
    return any(word in head for word in words) and b"relax." not in head


def read(
    path: Path,
    given_format: str | None = None,
    *,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    weights: str = "constants",
) -> Model:
    """Read a file.

    Parameters
    ----------
    path : Path
    given_format : str, optional
        In place of what the file is by its content and suffix.
    shapes : mapping of str to dimensions, optional
        Shapes of inputs in place of those that a model of ONNX states.
    weights : str
        "constants", or "inputs": weights are parameters after the inputs.

    Returns
    -------
    Model

    Raises
    ------
    CommandError, OSError, ValueError, NotImplementedError, mlir.ir.MLIRError
        If it cannot be read.
    """
    path = Path(path)
    check_readable(path)
    found = format_of(path)
    name = given_format or found
    if weights == "inputs" and name not in ("onnx", "pt2"):
        raise CommandError(
            f"{path}: expected a model of ONNX or PyTorch to take weights as inputs, but the "
            f"format is {name}"
        )
    if shapes and name in COMPILED:
        raise CommandError(f"{path}: expected no --shape, as the program is compiled already")
    return _READERS[name](path, dict(shapes or {}), weights == "inputs")


# -- models ---------------------------------------------------------------------------------------


def _onnx(path: Path, shapes: dict[str, Any], keep_weights: bool) -> Model:
    from ..frontend import onnx

    proto, folder = onnx.model.load(path)
    known = {tensor.name for tensor in proto.graph.initializer}
    module = onnx.importer.import_model(proto, folder, shapes=shapes, keep_params=keep_weights)
    model = Model(path, "onnx", module)
    model.input_names = tuple(one.name for one in proto.graph.input if one.name not in known)
    model.output_names = tuple(one.name for one in proto.graph.output)
    if keep_weights:
        names = _parameter_names(module)[len(model.input_names) :]
        model.weights = dict(zip(names, onnx.read_params(path).values(), strict=True))
    return model


def _pt2(path: Path, shapes: dict[str, Any], keep_weights: bool) -> Model:
    try:
        import torch
    except ImportError as error:
        raise CommandError(
            f"{path}: expected the package torch to be installed, to read a model of PyTorch"
        ) from error
    from ..frontend.torch import from_exported_program

    with _no_pickled_code(), _without_warnings("torch.export"):
        try:
            program = torch.export.load(path)
        except Exception as error:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            is_said = "warnings above" not in reason[0]
            raise CommandError(
                f"{path}: expected what torch.export.save writes, but it cannot be loaded"
                f"{': ' + reason[0] if is_said else ''}"
            ) from error
    module = from_exported_program(
        program, unwrap_unit_return_tuple=True, keep_params_as_input=keep_weights
    )
    model = Model(path, "pt2", module)
    # Buffers that the model changes are arguments in any case.
    tensors = module.params.get("main", [])
    names = _parameter_names(module)
    model.weights = {
        name: tensor.detach().cpu().contiguous().numpy()
        for name, tensor in zip(names[len(names) - len(tensors) :], tensors, strict=True)
    }
    return model


@contextmanager
def _no_pickled_code() -> Iterator[None]:
    """Have PyTorch load tensors alone, and none of the code that a pickle may hold."""
    name = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextmanager
def _without_warnings(name: str) -> Iterator[None]:
    """Have a logger say nothing below errors; it logs a traceback before the error."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _stablehlo(path: Path, shapes: dict[str, Any], keep_weights: bool) -> Model:
    try:
        frontend: Any = import_module("relax_mlir.frontend.stablehlo")
    except ImportError as error:
        raise CommandError(f"{path}: StableHLO cannot be imported: {error}") from error
    return Model(path, "stablehlo", frontend.from_stablehlo(path))


# -- programs -------------------------------------------------------------------------------------


def _relay(path: Path, shapes: dict[str, Any], keep_weights: bool) -> Model:
    frontend: Any = import_module("relax_mlir.frontend.relay")
    return Model(path, "relay", frontend.from_relay(path))


def _tvmscript(path: Path, shapes: dict[str, Any], keep_weights: bool) -> Model:
    text = _text_of(path)
    program = from_source(text, filename=str(path), run_python=False)
    return Model(path, "tvmscript", as_module(program))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: expected text in UTF-8: {error}") from error


def _mlir(path: Path, shapes: dict[str, Any], keep_weights: bool) -> Model:
    context = current_context()
    try:
        with raise_errors(context):
            module = ir.Module.parseFile(str(path), context=context)
    except ir.MLIRError as error:
        if not path.read_bytes().startswith(_MLIR_BYTECODE):
            raise
        raise CommandError(f"{path}: damaged or incomplete bytecode: {reason(error)}") from error
    return Model(path, "mlir", IRModule(module))


def _compiled(name: str) -> Callable[[Path, dict[str, Any], bool], Model]:
    return lambda path, shapes, keep_weights: Model(path, name, executable=load(path))


_READERS: dict[str, Callable[[Path, dict[str, Any], bool], Model]] = {
    "onnx": _onnx,
    "pt2": _pt2,
    "stablehlo": _stablehlo,
    "relay": _relay,
    "tvmscript": _tvmscript,
    "mlir": _mlir,
    "rx": _compiled("rx"),
    "so": _compiled("so"),
}


def _parameter_names(module: IRModule) -> list[str]:
    return [name.value for name in module["main"].operation.attributes["arg_names"]]
