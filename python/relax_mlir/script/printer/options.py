# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options for the text of a program."""

from __future__ import annotations

import dataclasses
import difflib
import keyword
from collections.abc import Mapping
from typing import Any

# Names that TVM has for the same, by release.
_ALIASES = {"show_all_ty": "show_all_struct_info"}
_EXTRA = "relax.show_all_struct_info"


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of `script`, which describes them."""

    name: str | None = None
    show_meta: bool | None = None
    ir_prefix: str = "I"
    module_alias: str = "cls"
    verbose_expr: bool = False
    indent_spaces: int = 4
    print_line_numbers: bool = False
    syntax_sugar: bool = True
    show_object_address: bool = False
    show_all_struct_info: bool = True
    extra_config: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("ir_prefix", "module_alias", "name"):
            value: Any = getattr(self, name)
            if not value and name != "ir_prefix":  # may be left out
                continue
            if not is_identifier(value):
                raise ValueError(f"expected a name in Python as {name}, but got {value!r}")
        indent: Any = self.indent_spaces
        if not isinstance(indent, int) or indent < 1:
            raise ValueError(f"expected 1 or more as indent_spaces, but got {indent!r}")


def is_identifier(name: Any) -> bool:
    """Say whether Python takes this as a name."""
    if not isinstance(name, str):
        return False
    return name.isidentifier() and name.isascii() and not keyword.iskeyword(name)


def make_options(given: Mapping[str, Any]) -> Options:
    """Return the options that a caller gives by name.

    Raises
    ------
    TypeError
        If one is not known; the message names one that is alike.
    """
    known = [field.name for field in dataclasses.fields(Options)]
    values: dict[str, Any] = {}
    for name, value in given.items():
        target = _ALIASES.get(name, name)
        if target not in known:
            raise TypeError(_unknown("option", name, [*known, *_ALIASES]))
        if target in values:
            raise TypeError(f"expected only one of the options {target} and {name}")
        values[target] = value
    for key, value in dict(values.get("extra_config") or {}).items():
        if key != _EXTRA:
            raise TypeError(_unknown("key of extra_config", key, [_EXTRA]))
        values["show_all_struct_info"] = value
    return Options(**{name: value for name, value in values.items() if name != "extra_config"})


def _unknown(what: str, name: str, known: list[str]) -> str:
    alike = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {alike[0]}?" if alike else f"there are {', '.join(known)}"
    return f"unknown {what} {name!r} of the printer: {hint}"
