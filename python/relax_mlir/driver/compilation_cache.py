# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled modules on disk, found again by what they were compiled from.

Several processes may share a folder: entries appear as a whole, by renaming, and whoever reads an
entry that another process deletes keeps it. As entries hold machine code, a folder or entry that
another user can write is refused, with a warning.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import stat
import tempfile
import time
from pathlib import Path

from mlir import ir
from relax_runtime import LIBRARY

from .. import native
from .._mlir_libs import _relax_mlir as _ext
from .._warnings import warn
from ..artefact import Executable, load_entry, save_entry
from ..transform.options import CompileOptions

#: The environment variable that names the folder.
VARIABLE = "RELAX_MLIR_CACHE"
#: The environment variable with the largest size of the folder, such as ``500M`` or ``10G``.
SIZE_VARIABLE = "RELAX_MLIR_CACHE_SIZE"
#: The largest size in bytes where nothing is said.
DEFAULT_SIZE = 4 << 30

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# What a process that ended while it wrote has left, after so many seconds.
_STALE_SECONDS = 3600.0
_UNFINISHED = ".unfinished"


class CompilationCache:
    """A folder of files that `relax_mlir.Executable.save` wrote, by content of the program.

    Parameters
    ----------
    folder : path
        It is made where it is not there, for this user alone. Any of its files may be deleted at
        any time.
    max_bytes : int
        The largest size of all entries: those that were used least recently are deleted.

    Examples
    --------
    >>> cache = CompilationCache("/nonexistent/cache", max_bytes=1 << 20)
    >>> cache.load("0" * 40) is None
    True
    """

    def __init__(self, folder: str | os.PathLike[str], max_bytes: int = DEFAULT_SIZE) -> None:
        self.folder = Path(folder)
        self.max_bytes = max_bytes

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
        """Return the stored executable, or None if there is none that can be used.

        Parameters
        ----------
        key : str
            What `key` returned.

        Returns
        -------
        Executable or None

        Warns
        -----
        RuntimeWarning
            If there is one that is damaged, that is a copy of another one, or that another user can
            write.
        """
        path = self._path(key)
        try:
            if not path.exists():
                return None
            _check_private(self.folder)
            _check_private(path)
            executable = load_entry(path, key)
        except FileNotFoundError:  # deleted by another process since
            return None
        except (OSError, ValueError) as error:
            warn(f"compiled again: {error}", RuntimeWarning)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # it is the one that was used last
        return executable

    def store(self, key: str, ex: Executable) -> None:
        """Store an executable, and delete what has become too much.

        Parameters
        ----------
        key : str
            What `key` returned.
        ex : Executable

        Warns
        -----
        RuntimeWarning
            If that is not possible, or another user can write to the folder.
        """
        try:
            if self.folder.exists() and not self.folder.is_dir():
                raise NotADirectoryError(f"expected a folder in {VARIABLE}, but got {self.folder}")
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_private(self.folder)
            self._write(self._path(key), ex)
            self.evict()
        except (OSError, ValueError) as error:
            place = "" if str(self.folder) in str(error) else f" in {self.folder}"
            warn(f"not stored{place}: {error}", RuntimeWarning)

    def _write(self, path: Path, ex: Executable) -> None:
        """Write an entry under a name of its own, and give it its name when it is complete."""
        handle, name = tempfile.mkstemp(_UNFINISHED, f"{path.stem}-", self.folder)
        os.close(handle)
        unfinished = Path(name)
        try:
            save_entry(ex, unfinished, path.stem)
            unfinished.chmod(0o600)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)

    def evict(self) -> None:
        """Delete entries, those first that were used least recently, until they fit."""
        entries = []
        for path in self.folder.iterdir():
            with contextlib.suppress(OSError):  # deleted by another process since
                status = path.lstat()
                if path.suffix == ".rx":
                    entries.append((status.st_mtime_ns, status.st_size, path))
                elif _UNFINISHED in path.name:
                    _delete_stale(path, status)
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.max_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size


def _delete_stale(path: Path, status: os.stat_result) -> None:
    if time.time() - status.st_mtime > _STALE_SECONDS:
        path.unlink(missing_ok=True)


def problem_of(path: Path) -> str | None:
    """Return why a folder or file is not safe: who else can write it.

    Parameters
    ----------
    path : Path
        It has to be there.

    Returns
    -------
    str or None
        None where only this user, or root, can write it.
    """
    status = path.stat() if path.is_dir() else path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return f"expected {path} to be a file, but it is a link"
    if status.st_uid not in (os.geteuid(), 0):
        return (
            f"expected {path} to belong to this user, but its owner is {status.st_uid}: "
            f"name another folder in {VARIABLE}"
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return (
            f"expected {path} to be writable by its owner alone, but its mode is "
            f"{stat.filemode(status.st_mode)}: chmod go-w {path}"
        )
    return None


def _check_private(path: Path) -> None:
    if problem := problem_of(path):
        raise ValueError(problem)


def from_environment() -> CompilationCache | None:
    """Return the cache that the environment variables name, or None.

    Returns
    -------
    CompilationCache or None

    Raises
    ------
    ValueError
        If the size in RELAX_MLIR_CACHE_SIZE is none.
    """
    folder = os.environ.get(VARIABLE, "").strip()
    if not folder:
        return None
    size = os.environ.get(SIZE_VARIABLE)
    return CompilationCache(folder, parse_size(size) if size else DEFAULT_SIZE)


def parse_size(text: str) -> int:
    """Return a number of bytes that is written with a unit, of powers of 1024, or without.

    Examples
    --------
    >>> parse_size("500M"), parse_size("1.5 GiB"), parse_size("0")
    (524288000, 1610612736, 0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(
            f"expected {SIZE_VARIABLE} to be a size such as 500M or 10G, but got {text!r}"
        )
    return int(float(found[1]) * _UNITS[found[2].upper()])


@functools.cache
def _build() -> str:
    """Return a key that changes when this package or LLVM is another one."""
    package = Path(__file__).parents[1]
    files = [Path(_ext.__file__), Path(LIBRARY)]
    files += sorted(Path(ir.__file__).with_name("_mlir_libs").glob("*.so*"))
    files += sorted(package.rglob("*.py"))
    stats = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return repr(stats)
