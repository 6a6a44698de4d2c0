# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that a program can use, and what they stand for."""

from __future__ import annotations

import builtins
import contextlib
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from relax_runtime.near_misses import did_you_mean

from ...core.expr import GlobalVar

_MISSING = object()


class Environment:
    """Names in nested scopes, innermost first; around them are the names of Python.

    Parameters
    ----------
    *around : mapping of str to value
        The names of Python around the program, innermost first.

    Examples
    --------
    >>> names = Environment({"x": 1})
    >>> with names.scope():
    ...     names.bind("x", 2)
    ...     names["x"]
    2
    >>> names["x"]
    1
    """

    # The functions of Python itself.
    python: Mapping[str, Any] = vars(builtins)

    def __init__(self, *around: Mapping[str, Any]) -> None:
        self._around = [*around, self.python]
        self._scopes: list[dict[str, Any]] = [{}]
        # Names that are gone, with the reason, for messages.
        self._gone: dict[str, str] = {}

    @contextlib.contextmanager
    def scope(self) -> Iterator[dict[str, Any]]:
        """Bind names in the body of the ``with`` statement only."""
        scope: dict[str, Any] = {}
        self._scopes.append(scope)
        try:
            yield scope
        finally:
            self._scopes.pop()

    @contextlib.contextmanager
    def only(self, *around: Mapping[str, Any]) -> Iterator[None]:
        """See other names of Python, and none of the program, in the body of ``with``."""
        saved = self._around, self._scopes
        self._around, self._scopes = [*around, self.python], [{}]
        try:
            yield
        finally:
            self._around, self._scopes = saved

    def bind(self, name: str, value: Any) -> None:
        """Have a name stand for a value, until the scope ends."""
        self._scopes[-1][name] = value
        self._gone.pop(name, None)

    def forget(self, name: str, reason: str) -> None:
        """Say why a name can be used no more."""
        self._gone[name] = reason

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a name."""
        for scope in (*reversed(self._scopes), *self._around):
            # The functions of an interactive Python have its last result, too.
            is_result = name == "_" and scope is self.python
            if name in scope and not is_result:
                return scope[name]
        return default

    def bound(self, name: str) -> Any:
        """Return the value of a name in the program itself, or None."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    def innermost(self) -> Mapping[str, Any]:
        """Return the names of the innermost scope."""
        return self._scopes[-1]

    def __contains__(self, name: str) -> bool:
        return self.get(name, _MISSING) is not _MISSING

    def __getitem__(self, name: str) -> Any:
        """Return the value of a name.

        Raises
        ------
        NameError
            If it stands for nothing. The message says why, or what may be meant.
        """
        value = self.get(name, _MISSING)
        if value is not _MISSING:
            return value
        if name in self._gone:
            raise NameError(f"expected a name that is visible here, but {self._gone[name]}")
        if name == "metadata":
            raise NameError(
                "expected the constants of the program before it, metadata = ..., which are "
                "printed with script(show_meta=True)"
            )
        known = {key for scope in self._scopes for key in scope} | {
            key for scope in self._around[:-1] for key in scope
        }
        raise NameError(
            f"expected a name that is bound, but got '{name}'{did_you_mean(name, known)}"
        )

    def member(self, base: Any, name: str) -> Any:
        """Return the attribute of a value that a program names."""
        return getattr(base, name)

    def flat(self) -> dict[str, Any]:
        """Return all names but those of Python itself."""
        names: dict[str, Any] = {}
        for scope in (*reversed(self._around[:-1]), *self._scopes):
            names.update(scope)
        return names


def captured(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the variables that a Python function uses from the functions around it."""
    cells = function.__closure__ or ()
    names = function.__code__.co_freevars
    values: dict[str, Any] = {}
    for name, cell in zip(names, cells, strict=True):
        with contextlib.suppress(ValueError):  # not bound yet
            values[name] = cell.cell_contents
    return values


def around_function(function: Callable[..., Any], frame: types.FrameType) -> list[dict[str, Any]]:
    """Return the names around a decorated function, innermost first."""
    return [captured(function), dict(frame.f_locals), function.__globals__]


def around_class(cls: type, frame: types.FrameType) -> list[dict[str, Any]]:
    """Return the names around a decorated class, innermost first."""
    variables: dict[str, Any] = {}
    for value in vars(cls).values():
        if isinstance(value, types.FunctionType):
            variables.update(captured(value))
    return [variables, dict(frame.f_locals), frame.f_globals]


class ModuleNames:
    """The value of the class name in its functions: their names as attributes."""

    def __init__(self) -> None:
        self._functions: dict[str, Any] = {}

    def declare(self, name: str, function: Any = None) -> Any:
        """Add a function of the module, or something else that is called."""
        self._functions[name] = GlobalVar(name) if function is None else function
        return self._functions[name]

    def __getattr__(self, name: str) -> Any:
        """Return a function by its name."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> GlobalVar:
        """Return a function whose name is none of Python."""
        if name not in self._functions:
            known = ", ".join(sorted(self._functions)) or "none"
            raise NameError(f"expected a function of the module ({known}), but got '{name}'")
        return self._functions[name]
