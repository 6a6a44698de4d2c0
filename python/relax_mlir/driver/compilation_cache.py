# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled modules on disk, found again by what they were compiled from."""

from __future__ import annotations

import functools
import hashlib
import os
import warnings
from pathlib import Path

from mlir import ir

from .. import native
from .._mlir_libs import RUNTIME_LIBRARY
from .._mlir_libs import _relax_mlir as _ext
from ..artefact import Executable, load
from ..transform.options import CompileOptions

#: The environment variable that names the folder.
VARIABLE = "RELAX_MLIR_CACHE"


class CompilationCache:
    """A folder of files that `relax_mlir.Executable.save` wrote, by content of the program.

    Parameters
    ----------
    folder : path
        It is made where it is not there. Any of its files may be deleted at any time.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def key(self, module: ir.Module, options: CompileOptions, target: native.NativeTarget) -> str:
        """Return the name of what a module is compiled to: by content, options and machine.

        Parameters
        ----------
        module : mlir.ir.Module
        options : CompileOptions
        target : native.NativeTarget
            The machine, with nothing left open.

        Returns
        -------
        str
        """
        digest = hashlib.blake2b(digest_size=20)
        for text in (_build(), repr(target), repr(options)):
            digest.update(text.encode() + b"\0")
        digest.update(_ext.digest(module))
        return digest.hexdigest()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.rx"

    def load(self, key: str) -> Executable | None:
        """Return the stored executable, or None if there is none that can be used."""
        path = self._path(key)
        if not path.exists():
            return None
        try:
            return load(path, verify=False)
        except (OSError, ValueError) as error:
            warnings.warn(f"compiled again: {error}", RuntimeWarning, stacklevel=3)
            return None

    def store(self, key: str, ex: Executable) -> None:
        """Store an executable; where that is not possible there is a warning."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            ex.save(self._path(key))
        except OSError as error:
            warnings.warn(f"not stored in {self.folder}: {error}", RuntimeWarning, stacklevel=3)


def from_environment() -> CompilationCache | None:
    """Return the cache that the environment variable names, or None.

    Returns
    -------
    CompilationCache or None
    """
    folder = os.environ.get(VARIABLE)
    return CompilationCache(folder) if folder else None


@functools.cache
def _build() -> str:
    """Return a key that changes when this package or LLVM is another one."""
    package = Path(__file__).parents[1]
    files = [Path(_ext.__file__), Path(RUNTIME_LIBRARY)]
    files += sorted(Path(ir.__file__).with_name("_mlir_libs").glob("*.so*"))
    files += sorted(package.rglob("*.py"))
    stats = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return repr(stats)
