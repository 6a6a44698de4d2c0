# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program that is being parsed, for functions of R and I that a program calls."""

from __future__ import annotations

import ast
import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..core.vdevice import VDevice

if TYPE_CHECKING:
    from .parser.module import ModuleParser

_current: contextvars.ContextVar[ModuleParser | None] = contextvars.ContextVar(
    "relax_mlir_module_parser", default=None
)


@contextlib.contextmanager
def parsing(parser: ModuleParser) -> Iterator[None]:
    """Make a parser the current one in the body of the ``with`` statement."""
    token = _current.set(parser)
    try:
        yield
    finally:
        _current.reset(token)


def current_or_none() -> ModuleParser | None:
    """Return the parser of the program that is being parsed, or None."""
    return _current.get()


def current(what: str) -> ModuleParser:
    """Return the parser of the program that calls `what`.

    Raises
    ------
    ValueError
        If no program is being parsed.
    """
    parser = _current.get()
    if parser is None:
        raise ValueError(f"expected {what} in the text of a program")
    return parser


def vdevice_name(text: str) -> str:
    """Return the name of the virtual device that a program writes as ``"llvm:0"``.

    The text is the target, the position among the devices of that target and, optionally, the
    memory scope; or it is the name itself, with an @ before it where the module need not list it.

    Raises
    ------
    ValueError
        If the module lists no such device.
    """
    if text.startswith("@"):
        return text[1:]
    parser = _current.get()
    devices: dict[str, VDevice] = {} if parser is None else parser.vdevices
    if parser is None or text in devices:
        return text
    kind, _, rest = text.partition(":")
    index, _, scope = rest.partition(":")
    if index and not index.isdigit():
        raise ValueError(f'expected a device such as "llvm:0", but got {text!r}')
    if kind == "vdevice" and int(index or 0) < len(devices):
        return list(devices)[int(index or 0)]
    of_kind = [name for name, device in devices.items() if kind_of_target(device.target) == kind]
    position = int(index or 0)
    if position < len(of_kind):
        name = of_kind[position]
        if not scope or devices[name].mem_scope == scope:
            return name
    known = ", ".join(
        f"{kind_of_target(device.target)}:{device.dev_id}" for device in devices.values()
    )
    raise ValueError(
        f"expected a virtual device that the module lists with I.module_global_infos "
        f"({known or 'none'}), but got {text!r}"
    )


def vdevice_name_of(device: Any) -> str:
    """Return the name of a virtual device that a program gives as an object.

    A device that the module does not list is added to it.

    Raises
    ------
    TypeError
        If it is no virtual device.
    """
    if not isinstance(device, VDevice):
        raise TypeError(f'expected a virtual device such as "llvm:0", but got {device!r}')
    parser = _current.get()
    if parser is None:
        raise ValueError(f"expected {device!r} in the text of a program")
    for name, known in parser.vdevices.items():
        if known == device:
            return name
    return parser.add_vdevice(device)


def kind_of_target(target: str) -> str:
    """Return the first word of a target, or the kind of one in JSON."""
    if target.startswith("{"):
        import json

        return str(json.loads(target).get("kind", ""))
    return target.split()[0] if target else ""


class SpecialForm:
    """Something that is called in a program and reads the syntax tree of its arguments."""

    def __init__(self, name: str, evaluate: Callable[[Any, ast.Call], Any]) -> None:
        self.name = name
        self.evaluate = evaluate

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse a call that is not in the text of a program."""
        raise ValueError(f"expected {self.name} in the text of a Relax function")
