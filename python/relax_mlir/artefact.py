# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled modules, and files of them: saved, loaded, exported as shared libraries.

A file of relax-mlir (``model.rx``) holds functions, constants, bytecode and machine code in
sections with checksums, and is loaded by a process that has this package. A shared library
(``model.so``) holds the same and is loaded by any process that has tvm-ffi. `docs/Deployment.md`
shows both.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import relax_runtime
import tvm_ffi
from relax_runtime._ffi import artefact_function
from relax_runtime.artefact import (
    CACHE_KEY,
    CUDA_GRAPH,
    EXTERNAL,
    FEATURES,
    PROFILED,
    Contents,
    Section,
    is_library,
    load_library,
    path_text,
    read,
    sections,
)

from . import native
from ._arguments import require_str
from ._files import other_kind
from .external import LinkedModules

__all__ = ["Executable", "LinkedCode", "MachineCode", "Section", "load", "sections"]


_save = artefact_function("save")
_to_bytes = artefact_function("to_bytes")
_append = artefact_function("append")
_bind = artefact_function("bind")

# Registrations that a library with a runtime of its own must not make; see Unregistered.cc.
_REGISTRATIONS = (
    "TVMFFIFunctionSetGlobal",
    "TVMFFIFunctionSetGlobalFromMethodInfo",
    "TVMFFITypeRegisterAttr",
    "TVMFFITypeRegisterField",
    "TVMFFITypeRegisterMetadata",
    "TVMFFITypeRegisterMethod",
)


class MachineCode:
    """The machine code of an executable, which may be for another machine.

    Parameters
    ----------
    object_file : native.ObjectFile
    """

    def __init__(self, object_file: native.ObjectFile) -> None:
        self._object_file = object_file

    def object_file(self) -> native.ObjectFile:
        """Return the code as an object file."""
        return self._object_file

    def check_runs(self) -> None:
        """Raise ValueError where this processor lacks what the code uses."""
        _check_target(self._object_file.target, "the compiled module")


class LinkedCode(MachineCode):
    """Machine code that is linked into this process.

    Parameters
    ----------
    object_file : native.ObjectFile

    Attributes
    ----------
    linked : object
        Owns the code in this process.
    """

    def __init__(self, object_file: native.ObjectFile) -> None:
        super().__init__(object_file)
        self.linked = native.load_object(object_file.data)

    def bind(self, handle: tvm_ffi.Object, source: str) -> None:
        """Give a program its code, which then lives as long; errors name the source."""
        addresses = {symbol: self.linked.look_up(symbol) for symbol in self._object_file.symbols}
        _bind(handle, addresses, self.linked, source)


class _LibraryCode(MachineCode):
    """Machine code in a shared library, which stays loaded."""

    def __init__(self, path: str) -> None:
        self._path = path

    def object_file(self) -> native.ObjectFile:
        """Raise: a linked library is no object file any more."""
        raise ValueError(
            f"expected a module that was compiled or loaded from a file of relax-mlir, but "
            f"{self._path} is a shared library, which cannot be saved again: copy the file"
        )

    def check_runs(self) -> None:
        """Do nothing: the library was loaded."""


class Executable(relax_runtime.Executable):
    """A compiled module, for `VirtualMachine`: a program with the machine code that it calls.

    Parameters
    ----------
    handle : tvm_ffi.Object
        The object of the runtime, of type ``relax_mlir.Executable``.
    code : MachineCode, optional
        None where there is none.
    exec_mode : str
        "compiled", "bytecode", or "reference".
    target : native.NativeTarget, optional
        Where there is no code: the machine that it was compiled for, by default this one.

    Examples
    --------
    >>> from relax_mlir import compile
    >>> ex = compile('''
    ... relax.func @main(%n: !relax.prim<i64, n>) -> !relax.shape<[n, 2]> {
    ...   %0 = relax.shape <[n, 2]>
    ...   relax.return %0 : !relax.shape<[n, 2]>
    ... }''', exec_mode="bytecode")
    >>> print(ex.as_text().split(" info ")[0])
    function main(n) registers 1 heap 1
    >>> print(ex.stats().split(": ")[0])
    1 function in bytecode, 0 in machine code
    """

    def __init__(
        self,
        handle: tvm_ffi.Object,
        code: MachineCode | None = None,
        exec_mode: str = "bytecode",
        target: native.NativeTarget | None = None,
        *,
        is_profiled: bool = False,
        cuda_graph: bool = False,
    ) -> None:
        super().__init__(handle, exec_mode, is_profiled=is_profiled, cuda_graph=cuda_graph)
        self.code = code
        self._target = target or native.NativeTarget()
        self._linked: LinkedModules | None = None

    def link(self, linked: LinkedModules | None) -> None:
        """Keep external functions that the program calls as long as the program.

        Parameters
        ----------
        linked : LinkedModules, optional
            None where it calls none.
        """
        self._linked = linked
        if linked is not None:
            self.bind(keep_alive=linked)

    def __reduce__(self) -> Any:
        return load, (self.to_bytes(),), {"reads_only": self.reads_only}

    def make_machine(self) -> tvm_ffi.Object:
        """Return a new machine of the runtime; raise ValueError where the code cannot run."""
        if self.code is not None:
            self.code.check_runs()
        return super().make_machine()

    def _object_file(self) -> native.ObjectFile:
        """Return the code; empty where there is none."""
        if self.code is None:
            return native.ObjectFile(b"", native.NativeTarget("", "", ""))
        return self.code.object_file()

    def _metadata(self, code: native.ObjectFile) -> dict[str, str]:
        needs = native.describe_target(code.target).features if code.data else ()
        return {
            "exec_mode": self.exec_mode,
            "producer": "relax-mlir",
            FEATURES: ",".join(needs),
            **({PROFILED: "yes"} if self.is_profiled else {}),
            **({CUDA_GRAPH: "yes"} if self.cuda_graph else {}),
            **({EXTERNAL: self._linked.to_text()} if self._linked else {}),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the executable to a file, which `relax_mlir.load` reads.

        Parameters
        ----------
        path : path
            The customary suffix is ``.rx``. A file that is there is replaced, as a whole.

        Raises
        ------
        OSError
            If the file cannot be written.
        TypeError
            If a constant cannot be saved.
        ValueError
            If the path has the character NUL, or code of another library cannot be saved: see
            `relax_mlir.backend.ExternalModule`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from relax_mlir import VirtualMachine, compile
        >>> ex = compile('''
        ... relax.func @main(%n: !relax.prim<i64>) -> !relax.prim<i64> {
        ...   relax.return %n : !relax.prim<i64>
        ... }''')
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "model.rx")
        ...     ex.save(path)
        ...     loaded = load(path)
        >>> VirtualMachine(loaded)["main"](3)
        3
        """
        self._write(path, {})

    def _write(self, path: str | os.PathLike[str], more: Mapping[str, str]) -> None:
        """Save the executable with more metadata."""
        code = self._object_file()
        metadata = {**self._metadata(code), **more}
        _save(path_text(path), self.handle, _code_map(code), metadata)

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` writes."""
        code = self._object_file()
        return bytes(_to_bytes(self.handle, _code_map(code), self._metadata(code)))

    def export_library(
        self,
        path: str | os.PathLike[str],
        *,
        self_contained: bool = False,
        options: Sequence[str] = (),
        runtime: str | os.PathLike[str] | None = None,
    ) -> None:
        """Export the executable as a shared library.

        ``tvm_ffi.load_module(path)["main"]`` calls it without this package, and so do programs in C
        and C++. A process loads it for good: what calls return stays valid.

        Parameters
        ----------
        path : path
            Must end in ``.so``.
        self_contained : bool
            Whether the library holds the runtime. Otherwise it needs ``librelax_runtime.so`` beside
            itself or where the loader looks for libraries, as it always does ``libtvm_ffi.so``,
            unless the process has loaded them. Closures do not pass as closures between such a
            library and other runtimes, but as packed functions.
        options : sequence of str
            Further options of the C compiler, which links, such as ``-Wl,-rpath,/opt/lib``.
        runtime : path, optional
            For a library for another machine: the folder of the runtime that is built for it, with
            ``librelax_runtime.so`` or ``librelax_runtime_static.a``, and ``libtvm_ffi.so``.

        Raises
        ------
        OSError
            If the file cannot be written, as where the path is that of a folder or device, or the
            folder lacks a library.
        RuntimeError
            If there is no C compiler, or it fails; the message is its output.
        ValueError
            If the path does not end in ``.so``, or has the character NUL, or the program calls code
            of another library by a codegen of Python.
        """
        path = Path(path_text(path))
        if self._linked is not None:
            codegens = sorted({module.codegen for module in self._linked.modules})
            raise ValueError(
                f"expected a program that runs without Python, but got one that calls the codegen "
                f"'{', '.join(codegens)}': save makes a file that relax_mlir.load reads"
            )
        for option in options:
            require_str("an option of the C compiler", option)
        if path.suffix != ".so":
            raise ValueError(f"expected a path that ends in .so, but got {path}")
        if not isinstance(self_contained, bool):
            raise TypeError(f"expected self_contained to be a bool, but got {self_contained!r}")
        if kind := other_kind(path):
            raise OSError(f"{path}: expected a file to replace, but got {kind}")
        object_file = self._object_file()
        # The table goes with the code.
        target = object_file.target if object_file.data else self._target
        table = native.emit_library_table(object_file.symbols, self.function_names, target)
        if not object_file.data:
            object_file = native.ObjectFile(b"", table.target)
        if not path.absolute().parent.is_dir():
            raise FileNotFoundError(f"{path}: expected the folder {path.parent} to exist")
        with tempfile.TemporaryDirectory(prefix=".relax-", dir=path.absolute().parent) as folder:
            inputs = []
            model = "model.a" if object_file.is_archive else "model.o"
            for name, data in (("table.o", table.data), (model, object_file.data)):
                if data:
                    Path(folder, name).write_bytes(data)
                    inputs.append(str(Path(folder, name)))
            linked = Path(folder, path.name)
            libraries = _runtime_libraries(runtime, self_contained=self_contained)
            _link(inputs, linked, libraries, options, table.target)
            code = _code_map(object_file, with_object=False)
            metadata = self._metadata(object_file)
            if self_contained:  # whose runtime no other one sees
                metadata.pop(PROFILED, None)
            _append(str(linked), self.handle, code, metadata)
            linked.replace(path)


def _code_map(object_file: native.ObjectFile, *, with_object: bool = True) -> dict[str, Any]:
    target = object_file.target
    return {
        "triple": target.triple,
        "cpu": target.cpu,
        "features": target.features,
        "symbols": list(object_file.symbols),
        "object": object_file.data if with_object else b"",
    }


def load(source: str | os.PathLike[str] | bytes, *, verify: bool = True) -> Executable:
    """Load what `Executable.save`, `to_bytes` or `export_library` made.

    The elements of constants are mapped from the file when they are used, so the file must stay as
    it is as long as anything of it is in use; replacing it by another file is fine.

    Parameters
    ----------
    source : path or bytes
        A path that ends in ``.so`` is that of a shared library.
    verify : bool
        Whether to compare the checksums of the elements of constants, which reads all of them. All
        other sections are always compared.

    Returns
    -------
    Executable

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is damaged, of another version, for another machine, or no such file at all. The
        message names the section. If the path has the character NUL.
    """
    if not isinstance(source, bytes) and is_library(source):
        library = load_library(source)
        path = str(Path(source).absolute())
        return Executable(
            library.handle,
            _LibraryCode(path),
            library.exec_mode,
            is_profiled=library.is_profiled,
            cuda_graph=library.cuda_graph,
        )
    return _executable_of(read(source, verify=verify))


def save_entry(executable: Executable, path: str | os.PathLike[str], key: str) -> None:
    """Save an executable as an entry of the compilation cache, for `load_entry`."""
    executable._write(path, {CACHE_KEY: key})


def load_entry(path: str | os.PathLike[str], key: str) -> Executable:
    """Load an entry of the compilation cache.

    Raises
    ------
    OSError, ValueError
        As `load` does, and if the entry was stored for another key.
    """
    contents = read(path, verify=False)
    if contents.cache_key != key:
        raise ValueError(
            f"{contents.name}: expected the entry of its name, but got that of "
            f"{contents.cache_key or 'none'}: was it copied?"
        )
    return _executable_of(contents)


def _executable_of(contents: Contents) -> Executable:
    target = native.NativeTarget(contents.triple, contents.cpu, contents.features)
    object_file = native.ObjectFile(contents.object_file, target, contents.symbols)
    external = LinkedModules.from_text(contents.external) if contents.external else None
    if not object_file.data:
        contents.bind({})  # says what is missing
        executable = Executable(contents.handle, None, contents.exec_mode)
        executable.link(external)
        return executable
    _check_target(target, contents.name)
    try:
        linked = LinkedCode(object_file)
    except ValueError as error:
        raise ValueError(f"{contents.name}: section 'object': {error}") from None
    linked.bind(contents.handle, contents.name)
    executable = Executable(
        contents.handle,
        linked,
        contents.exec_mode,
        is_profiled=contents.is_profiled,
        cuda_graph=contents.cuda_graph,
    )
    executable.link(external)
    return executable


def _check_target(target: native.NativeTarget, source: str) -> None:
    """Raise ValueError where code would use what this processor cannot do."""
    missing = native.describe_target(target).missing
    if missing:
        raise ValueError(
            f"{source}: section 'native': the code is for {target}, and this processor lacks "
            f"{', '.join(missing)}"
        )


def _compiler() -> list[str]:
    """Return the command that links: the environment's CC, or cc."""
    text = os.environ.get("CC", "")
    try:
        given = shlex.split(text)
    except ValueError as error:
        raise ValueError(
            f"expected a command in the variable CC, but got {text!r}: {error}"
        ) from None
    candidates = [given[0]] if given else ["cc", "gcc", "clang"]
    for candidate in candidates:
        if path := shutil.which(candidate):
            return [path, *given[1:]]
    raise RuntimeError(
        f"expected a C compiler to link the library, but there is no {' or '.join(candidates)}: "
        "install one (apt-get install gcc) or set the environment variable CC"
    )


def _runtime_libraries(folder: str | os.PathLike[str] | None, *, self_contained: bool) -> list[str]:
    """Return what links a library with the runtime: this one, or that of a folder."""
    place = Path(relax_runtime.LIBRARY).parent if folder is None else Path(folder)
    wanted = place / f"librelax_runtime{'_static.a' if self_contained else '.so'}"
    ffi = tvm_ffi.libinfo.find_libtvm_ffi() if folder is None else place / "libtvm_ffi.so"
    if missing := [each for each in (wanted, ffi) if not Path(each).is_file()]:
        raise FileNotFoundError(f"{missing[0]}: expected the runtime for the machine of the code")
    if not self_contained:
        # The linker of another machine does not find by itself what the runtime needs.
        return [str(wanted), *([] if folder is None else [str(ffi)])]
    wraps = [f"-Wl,--wrap={name}" for name in _REGISTRATIONS]
    hidden = ["-Wl,--exclude-libs,ALL", "-Wl,-Bsymbolic"]
    return [str(wanted), *wraps, *hidden, str(ffi), "-lstdc++", "-lpthread", "-ldl"]


def _link(
    inputs: Sequence[str],
    output: Path,
    libraries: Sequence[str],
    options: Sequence[str],
    target: native.NativeTarget,
) -> None:
    command = [
        *_compiler(),
        "-shared",
        *("-o", str(output)),
        *inputs,
        *libraries,
        "-lm",
        "-Wl,-z,nodelete",
        "-Wl,-z,noexecstack",
        "-Wl,-rpath,$ORIGIN",
        "-Wl,--no-undefined",
        *options,
    ]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace")
    processor = target.triple.partition("-")[0]
    if "file in wrong format" in result.stderr and processor != platform.machine():
        raise RuntimeError(
            f"the library was not linked: {command[0]} links no code for {processor}: set CC to a "
            f"cross compiler, such as {processor}-linux-gnu-gcc, and runtime to the folder of the "
            "runtime that is built for it"
        )
    if result.returncode == 0 and not output.exists():
        raise RuntimeError(
            f"the library was not linked: {command[0]} wrote no library; is it a C compiler?"
        )
    if result.returncode != 0:
        raise RuntimeError(
            f"the library was not linked: {shlex.join(command)} ended with "
            f"{result.returncode}:\n{result.stderr.strip()}"
        )
