# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code of other libraries: what makes it, and the packed functions that programs call.

A *codegen* makes callables of functions that have the attribute ``Codegen``. A module with calls of
them keeps in its attribute ``external_mods`` what is needed to make them again in another process;
where a codegen does not say what that is, the callables stay in this process.
"""

from __future__ import annotations

import functools
import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import numpy as np
import tvm_ffi
from mlir import ir
from relax_runtime import external
from relax_runtime.near_misses import did_you_mean

from ._arguments import shown
from .core.constants import bytes_of, elements_attr
from .core.ir_module import IRModule
from .core.variables import walk

#: The attribute of modules with the external functions that they call.
EXTERNAL_MODS = "external_mods"
#: The group of entry points of Python packages that have codegens.
ENTRY_POINTS = "relax_mlir.codegens"

# Before the names of the packed functions that codegens are in TVM, and that they make here.
_PREFIX = "relax.ext."

Codegen = Callable[..., Any]
Functions = Mapping[str, Callable[..., Any]]
Loader = Callable[[bytes], Functions]

_codegens: dict[str, Codegen] = {}
_loaders: dict[str, Loader] = {}


@dataclass(frozen=True)
class ExternalModule:
    """Packed functions that a codegen has made.

    Parameters
    ----------
    functions : mapping of str to callable
        By symbols. A function gets the arguments of the call, then the tensors to fill, as
        ``tvm_ffi.Tensor``.
    state : bytes, optional
        What the loader of the codegen makes the same functions of; see `register_loader`. Without,
        programs that call the functions cannot be saved.

    Examples
    --------
    >>> ExternalModule({"my_double": lambda x, out: None}).state is None
    True
    """

    functions: Functions
    state: bytes | None = None
    codegen: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.functions, Mapping):
            raise TypeError(f"expected functions by their symbols, but got {shown(self.functions)}")
        given: Mapping[Any, Any] = self.functions
        for symbol, function in given.items():
            if not isinstance(symbol, str) or not callable(function):
                raise TypeError(
                    f"expected a symbol and a function, but got {shown(symbol)} and "
                    f"{shown(function)}"
                )
        if self.state is not None and not isinstance(self.state, bytes):
            raise TypeError(f"expected the state as bytes, but got {shown(self.state)}")


# ---------------------------------------------------------------------------------------------
# Codegens by name
# ---------------------------------------------------------------------------------------------


def register_codegen(name: str, codegen: Codegen | None = None, *, override: bool = False) -> Any:
    """Register a codegen.

    Parameters
    ----------
    name : str
        Patterns for it have names such as ``name.matmul``.
    codegen : callable, optional
        ``codegen(functions, options, constant_names)`` returns a list of mappings of symbols to
        callables, or of `ExternalModule`. The symbol of a function is its attribute
        ``global_symbol``. Left out where this is a decorator.
    override : bool
        Whether the name may be taken.

    Raises
    ------
    ValueError
        If the name is taken.

    Examples
    --------
    >>> @register_codegen("nothing")
    ... def nothing(functions, options, constant_names):
    ...     return []
    >>> get_codegen("nothing") is nothing
    True
    """
    _require_name(name)

    def register(function: Codegen) -> Codegen:
        if not callable(function):
            raise TypeError(f"expected a function as codegen '{name}', but got {shown(function)}")
        if name in _codegens and not override:
            raise ValueError(
                f"expected a new name of a codegen, but got {name!r} again: override=True "
                "replaces it"
            )
        _codegens[name] = function
        return function

    return register if codegen is None else register(codegen)


def register_loader(name: str, loader: Loader | None = None) -> Any:
    """Register what makes the functions of a codegen again, in another process.

    Parameters
    ----------
    name : str
        The name of the codegen.
    loader : callable, optional
        ``loader(state)`` returns a mapping of symbols to callables, for the state of an
        `ExternalModule`. Left out where this is a decorator.
    """
    _require_name(name)

    def register(function: Loader) -> Loader:
        if not callable(function):
            raise TypeError(f"expected a function as loader of '{name}', but got {shown(function)}")
        _loaders[name] = function
        return function

    return register if loader is None else register(loader)


def _require_name(name: Any) -> None:
    if not isinstance(name, str) or not name or "." in name:
        raise ValueError(f"expected the name of a codegen, without a dot, but got {shown(name)}")


@functools.cache
def _entry_points() -> dict[str, metadata.EntryPoint]:
    return {point.name: point for point in metadata.entry_points(group=ENTRY_POINTS)}


def codegen_names() -> list[str]:
    """Return the names of the codegens: those registered, and those of installed packages."""
    return sorted({*_codegens, *_entry_points()})


def get_codegen(name: str) -> Codegen:
    """Return a codegen by its name.

    Parameters
    ----------
    name : str
        One that was registered, or that an installed package names in its entry points of the
        group ``relax_mlir.codegens``. Else the function that tvm-ffi has as ``relax.ext.NAME``.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name not in _codegens and name in _entry_points():
        found = _entry_points()[name].load()
        _codegens.setdefault(name, found)
    if name not in _codegens:
        registered: Codegen | None = tvm_ffi.get_global_func(_PREFIX + name, allow_missing=True)
        if registered is not None:
            return registered
        known = ", ".join(codegen_names()) or "none"
        hint = did_you_mean(name, codegen_names())
        raise ValueError(
            f"expected the name of a codegen ({known}), but got {name!r}{hint}; "
            "backend.register_codegen registers one"
        )
    return _codegens[name]


def run_codegen(
    name: str,
    functions: Sequence[Any],
    options: Mapping[str, Any],
    constant_names: Mapping[Any, str],
) -> list[ExternalModule]:
    """Call a codegen, and check what it returns.

    Parameters
    ----------
    name : str
    functions : sequence of Function
    options : mapping
    constant_names : mapping of mlir.ir.Value to str

    Returns
    -------
    list of ExternalModule

    Raises
    ------
    ValueError
        If a function is missing, or there twice.
    TypeError
        If it returns something else.
    """
    made = get_codegen(name)(functions, dict(options), constant_names)
    given = [made] if isinstance(made, (Mapping, ExternalModule)) else made
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"codegen '{name}': expected a list of mappings, but got {shown(made)}")
    modules = [_as_external(name, each) for each in given]
    symbols = [symbol for module in modules for symbol in module.functions]
    wanted = [function.operation.attributes["global_symbol"].value for function in functions]
    missing = [symbol for symbol in wanted if symbol not in symbols]
    if missing:
        raise ValueError(
            f"codegen '{name}': expected functions for {', '.join(wanted)}, but got none for "
            f"{', '.join(missing)}"
        )
    twice = {symbol for symbol in symbols if symbols.count(symbol) > 1}
    if twice:
        raise ValueError(
            f"codegen '{name}': expected one function for each symbol, but got several for "
            f"{', '.join(sorted(twice))}"
        )
    return modules


def _as_external(codegen: str, given: Any) -> ExternalModule:
    if isinstance(given, ExternalModule):
        return ExternalModule(given.functions, given.state, codegen)
    if isinstance(given, Mapping):
        return ExternalModule(given, None, codegen)
    raise TypeError(
        f"codegen '{codegen}': expected a mapping of symbols to functions, or an ExternalModule, "
        f"but got {shown(given)}"
    )


# ---------------------------------------------------------------------------------------------
# In modules
# ---------------------------------------------------------------------------------------------

# Modules without a state, by what stands for them in the attribute: no two processes have the same.
_in_process: dict[str, ExternalModule] = {}


def attach(mod: IRModule, modules: Iterable[ExternalModule]) -> None:
    """Add external functions to those that a module has already.

    Parameters
    ----------
    mod : IRModule
        It is changed.
    modules : iterable of ExternalModule

    Raises
    ------
    ValueError
        If the module has a function of the same symbol already.
    """
    modules = list(modules)
    known = symbols_of(mod)
    for symbol in (symbol for module in modules for symbol in module.functions):
        if symbol in known:
            raise ValueError(
                f"expected another name than '{symbol}', which code of a library has already"
            )
    found = list(mod.attrs.get(EXTERNAL_MODS, ()))
    with mod.context:
        found += map(_attribute_of, modules)
        if found:
            mod.set_attr(EXTERNAL_MODS, ir.ArrayAttr.get(found))


def symbols_of(mod: IRModule) -> set[str]:
    """Return the symbols of the external functions of a module."""
    attrs = mod.attrs.get(EXTERNAL_MODS, ())
    return {symbol.value for attr in attrs for symbol in attr["symbols"]}


def _attribute_of(module: ExternalModule) -> ir.Attribute:
    symbols = [ir.StringAttr.get(symbol) for symbol in module.functions]
    items = {"codegen": ir.StringAttr.get(module.codegen), "symbols": ir.ArrayAttr.get(symbols)}
    if module.state is None:
        key = uuid.uuid4().hex
        _in_process[key] = module
        items["process"] = ir.StringAttr.get(key)
    else:
        items["state"] = elements_attr(np.frombuffer(module.state, np.uint8))
    return ir.DictAttr.get(items)


def external_modules(mod: IRModule) -> list[ExternalModule]:
    """Return the external functions of a module, which are loaded where that is needed.

    Raises
    ------
    ValueError
        If they were made in another process, and cannot be made again.
    """
    return [_module_of(attr) for attr in mod.attrs.get(EXTERNAL_MODS, ())]


def _module_of(attr: Any) -> ExternalModule:
    codegen = attr["codegen"].value
    if "state" in attr:
        return load_module(codegen, bytes_of(attr["state"]))
    known = _in_process.get(attr["process"].value)
    if known is None:
        symbols = [symbol.value for symbol in attr["symbols"]]
        raise ValueError(
            f"expected the functions of codegen '{codegen}' ({', '.join(symbols)}) in the process "
            "that made them: it has no loader, see backend.register_loader"
        )
    return known


def load_module(codegen: str, state: bytes) -> ExternalModule:
    """Make the functions of a codegen again.

    Raises
    ------
    ValueError
        If there is no such codegen, or it has no loader.
    """
    get_codegen(codegen)  # registers the loader, too
    if codegen not in _loaders:
        raise ValueError(
            f"expected a loader of codegen '{codegen}', which backend.register_loader registers"
        )
    return ExternalModule(_loaders[codegen](state), state, codegen)


# ---------------------------------------------------------------------------------------------
# In programs
# ---------------------------------------------------------------------------------------------


class LinkedModules:
    """External functions under names that compiled programs find them by.

    They are registered as long as this object lives.

    Parameters
    ----------
    modules : sequence of ExternalModule

    Attributes
    ----------
    modules : list of ExternalModule
    names : dict of str to str
        The registered name of each symbol.
    """

    def __init__(self, modules: Sequence[ExternalModule]) -> None:
        self.modules = list(modules)
        self.names: dict[str, str] = {}
        functions: dict[str, Callable[..., Any]] = {}
        for module in self.modules:
            suffix = _suffix(module)
            for symbol, function in module.functions.items():
                name = external.name_of(module.codegen, symbol, suffix)
                self.names[symbol] = name
                functions[name] = function
        self._registered = external.Registered(functions)

    @property
    def can_be_saved(self) -> bool:
        """Whether another process can make all of the functions."""
        return all(module.state is not None for module in self.modules)

    def to_text(self) -> str:
        """Return the functions as text, which `from_text` reads.

        Raises
        ------
        ValueError
            If some cannot be saved.
        """
        rows: list[tuple[str, str, bytes]] = []
        for module in self.modules:
            if module.state is None:
                raise ValueError(
                    f"expected codegen '{module.codegen}' to state what its functions are made of, "
                    "but it returned functions of this process alone, which cannot be saved: see "
                    "backend.ExternalModule"
                )
            rows.append((module.codegen, _suffix(module), module.state))
        return external.write(rows)

    @classmethod
    def from_text(cls, text: str) -> LinkedModules:
        """Make and register the functions that `to_text` wrote.

        Raises
        ------
        ValueError
            If the text is damaged, or a codegen is missing.
        """
        return cls([load_module(codegen, state) for codegen, _, state in external.read(text)])


def _suffix(module: ExternalModule) -> str:
    """Return what tells functions with the same symbol apart: by content where that is known."""
    if module.state is not None:
        return hashlib.blake2b(module.state, digest_size=8).hexdigest()
    return f"{id(module):x}"


def link(mod: IRModule) -> LinkedModules | None:
    """Register the external functions of a module, and call them by the names that they have then.

    Parameters
    ----------
    mod : IRModule
        It is changed: the attribute is removed, and ``relax.call_dps_packed`` names the functions.

    Returns
    -------
    LinkedModules or None
        What keeps the functions registered; None where the module calls none.
    """
    modules = external_modules(mod)
    if not modules:
        return None
    linked = LinkedModules(modules)
    for op in _packed_calls(mod):
        name = linked.names.get(op.attributes["callee"].value)
        if name is not None:
            op.attributes["callee"] = ir.StringAttr.get(name, mod.context)
    _remove_attribute(mod)
    return linked


def _packed_calls(mod: IRModule) -> Iterator[ir.Operation]:
    for op in walk(mod.operation):
        if op.name == "relax.call_dps_packed" and "callee" in op.attributes:
            yield op


def _remove_attribute(mod: IRModule) -> None:
    attributes = mod.operation.attributes
    name = "relax.module_attrs"
    kept = {item.name: item.attr for item in attributes[name] if item.name != EXTERNAL_MODS}
    if kept:
        attributes[name] = ir.DictAttr.get(kept, context=mod.context)
    else:
        del attributes[name]
