# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of compiled programs: ``model.rx``, and the shared library ``model.so``.

`docs/Deployment.md` describes both. Their machine code is linked here without LLVM, so programs run
where there is no compiler.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import external
from ._ffi import artefact_function
from .executable import Executable

_load_file = artefact_function("load_file")
_load_bytes = artefact_function("load_bytes")
_load_library = artefact_function("load_library")
_bind = artefact_function("bind")
_link = artefact_function("link")
_load_appended = artefact_function("load_appended")
_missing_features = artefact_function("missing_features")
_sections = artefact_function("sections")

# What an .rx file begins with.
_RX = b"\x89RLX\r\n\x1a\n"
_EXEC_MODES = ("compiled", "bytecode")
# The key of the metadata that lists the features of processors that machine code uses.
FEATURES = "features"
# The key that says, with the value "yes", that calls of machine code can be profiled.
PROFILED = "profiled"
# The key that says, with the value "yes", that calls replay launches as CUDA graphs.
CUDA_GRAPH = "cuda_graph"
# The key under which the functions of other libraries are kept that the program calls.
EXTERNAL = "external"
# The key under which the compilation cache stores the name of its entry.
CACHE_KEY = "cache_key"


@dataclass(frozen=True)
class Contents:
    """What a file holds, with its machine code as an object file.

    Attributes
    ----------
    name : str
        What errors call the file.
    handle : tvm_ffi.Object
        The program, whose code is not bound.
    exec_mode : str
    triple, cpu, features : str
        The machine that the code is for, as LLVM describes it.
    symbols : tuple of str
        The symbols that the code defines.
    object_file : bytes
        Empty where there is no code.
    needs : tuple of str, optional
        The features of processors that the code uses; None where the file does not say.
    is_profiled : bool
        Whether calls of functions in machine code can be profiled.
    cuda_graph : bool
        Whether calls replay launches as CUDA graphs.
    cache_key : str
        The name that the compilation cache gave the file; empty for all other files.
    external : str
        What relax_mlir makes functions of other libraries of; empty where the program calls none.
    """

    name: str
    handle: Any
    exec_mode: str
    triple: str
    cpu: str
    features: str
    symbols: tuple[str, ...]
    object_file: bytes
    needs: tuple[str, ...] | None
    is_profiled: bool
    cuda_graph: bool
    cache_key: str
    external: str

    def bind(self, addresses: Mapping[str, int], keep_alive: Any = None) -> None:
        """Give the program its code, whose owner is kept as long as the program.

        Raises
        ------
        ValueError
            If code of a function or a kernel is missing.
        """
        _bind(self.handle, dict(addresses), keep_alive, self.name)


def read(source: str | os.PathLike[str] | bytes, *, verify: bool = True) -> Contents:
    """Read a file, whose code is neither linked nor checked.

    Parameters
    ----------
    source : path or bytes
    verify : bool
        Whether to compare the checksums of the elements of constants.

    Returns
    -------
    Contents

    Raises
    ------
    OSError, ValueError
        As `load` does.
    """
    if isinstance(source, bytes):
        name = "bytes"
        handle, code, metadata = _load_bytes(source, verify)
    else:
        name = path_text(source)
        handle, code, metadata = _load_file(name, verify)
    exec_mode = metadata.get("exec_mode", "")
    if exec_mode not in _EXEC_MODES:
        raise ValueError(
            f"{name}: section 'metadata': expected exec_mode to be compiled or bytecode, "
            f"but got {exec_mode!r}"
        )
    needs = metadata.get(FEATURES)
    return Contents(
        name,
        handle,
        str(exec_mode),
        str(code["triple"]),
        str(code["cpu"]),
        str(code["features"]),
        tuple(map(str, code["symbols"])),
        bytes(code["object"]),
        None if needs is None else tuple(filter(None, str(needs).split(","))),
        _says_yes(metadata, PROFILED),
        _says_yes(metadata, CUDA_GRAPH),
        str(metadata.get(CACHE_KEY, "")),
        str(metadata.get(EXTERNAL, "")),
    )


def _says_yes(metadata: Mapping[str, str], key: str) -> bool:
    return bool(metadata.get(key, "") == "yes")


def path_text(path: str | os.PathLike[str]) -> str:
    """Return a path as text; raise ValueError where it has a NUL, which would end it."""
    text = os.fspath(path)
    if "\0" in text:
        raise ValueError(f"expected a path without the character NUL, but got {text!r}")
    return text


def is_library(path: str | os.PathLike[str]) -> bool:
    """Say whether a path is that of a shared library; raise TypeError where it is no path."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"expected a path, or the bytes of a file, but got {path!r}")
    return os.fspath(path).endswith(".so")


def _head(path: str) -> bytes:
    """Return the first bytes of a file."""
    with Path(path).open("rb") as file:
        return file.read(len(_RX))


def load_library(path: str | os.PathLike[str]) -> Executable:
    """Return the program of a shared library, which stays loaded.

    Raises
    ------
    OSError, ValueError
        As `load` does.
    """
    place = str(Path(path_text(path)).absolute())
    if Path(place).is_file() and _head(place) == _RX:
        raise ValueError(
            f"{place}: expected a library, but this is an .rx file: give it that ending"
        )
    handle = _load_library(place)
    metadata = _load_appended(place, False)[2]
    executable = Executable(
        handle,
        is_profiled=_says_yes(metadata, PROFILED),
        cuda_graph=_says_yes(metadata, CUDA_GRAPH),
    )
    if not any(function.is_bytecode for function in executable.functions):
        executable.exec_mode = "compiled"
    return executable


def _check_processor(contents: Contents) -> None:
    """Raise ValueError where this processor cannot run the code."""
    if (processor := contents.triple.partition("-")[0]) != platform.machine():
        raise ValueError(
            f"{contents.name}: section 'native': the code is for {processor}, but this processor "
            f"is {platform.machine()}"
        )
    if contents.needs is None:
        raise ValueError(
            f"{contents.name}: section 'metadata': expected the features of the processor that the "
            "code needs, which earlier versions did not write: compile the model again, or load "
            "the file with relax_mlir.load"
        )
    if missing := list(map(str, _missing_features(list(contents.needs)))):
        target = " ".join(filter(None, (contents.triple, contents.cpu)))
        raise ValueError(
            f"{contents.name}: section 'native': the code is for {target}, and this processor "
            f"lacks {', '.join(missing)}"
        )


def load(source: str | os.PathLike[str] | bytes, *, verify: bool = True) -> Executable:
    """Load a compiled program.

    The elements of constants are mapped from the file when they are used, so the file must stay as
    it is as long as anything of it is in use; replacing it by another file is fine.

    Parameters
    ----------
    source : path or bytes
        What ``save``, ``to_bytes`` or ``export_library`` of a `relax_mlir.Executable` made. A path
        that ends in ``.so`` is that of a shared library.
    verify : bool
        Whether to compare the checksums of the elements of constants, which reads all of them. All
        other sections are always compared.

    Returns
    -------
    Executable
        For `VirtualMachine`.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is damaged, of another version, for another machine, or no such file at all. The
        message names the section. If the path has the character NUL. If the program calls functions
        of codegens that this package does not have, which `relax_mlir.load` finds.
    """
    if not isinstance(source, bytes) and is_library(source):
        return load_library(source)
    contents = read(source, verify=verify)
    functions = _external_functions(contents)
    if not contents.object_file:
        contents.bind({})  # says what is missing
    else:
        _check_processor(contents)
        _link(contents.handle, contents.object_file, list(contents.symbols), contents.name)
    executable = Executable(
        contents.handle,
        contents.exec_mode,
        is_profiled=contents.is_profiled,
        cuda_graph=contents.cuda_graph,
    )
    if functions is not None:
        executable.bind(keep_alive=functions)
    return executable


def _external_functions(contents: Contents) -> external.Registered | None:
    """Make the functions of other libraries that a program calls."""
    if not contents.external:
        return None
    try:
        return external.link(contents.external)
    except ValueError as error:
        raise ValueError(f"{contents.name}: {error}") from None


@dataclass(frozen=True)
class Section:
    """A section of a file.

    Attributes
    ----------
    name : str
    offset, size : int
        In bytes.
    checksum : int
        CRC-32C of the content.
    """

    name: str
    offset: int
    size: int
    checksum: int


def sections(path: str | os.PathLike[str]) -> tuple[Section, ...]:
    """Return the sections of a file.

    Parameters
    ----------
    path : path

    Returns
    -------
    tuple of Section

    Raises
    ------
    OSError, ValueError
        As `load` does.
    """
    return tuple(Section(*row) for row in _sections(path_text(path)))
