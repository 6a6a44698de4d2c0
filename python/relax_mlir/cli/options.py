# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options that several commands have: of compilation, of dimensions, of models."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from ..artefact import Executable
from ..driver.compiler import compile as compile_module
from ..progress import ProgressLike
from ..transform.options import CHOICES, CompileOptions
from .errors import CommandError

_T = TypeVar("_T")

# The largest size of a dimension.
_LARGEST = 2**63 - 1
# So many characters of a text are shown.
_SHOWN = 60

# Options of compilation whose names are those of others here.
_NAMES = {"weights": "weight_format"}

_PROGRESS: Mapping[str, ProgressLike] = {"auto": None, "on": True, "off": False}


def _descriptions() -> dict[str, str]:
    """Return the first sentence about each option of compilation, of its documentation."""
    text = inspect.getdoc(CompileOptions) or ""
    found = re.findall(r"^(\w+(?:, \w+)*) : \w+\n((?:    .*\n)+)", text, re.MULTILINE)
    sentences = {}
    for names, body in found:
        sentence = re.split(r"(?<=\.)\s", " ".join(body.split()))[0]
        for name in names.split(", "):
            sentences[name] = sentence.rstrip(".").replace("`", "").replace("%", "%%")
    return sentences


def _spelling(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def add_compile_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `CompileOptions`, the target, and progress to a command."""
    group = parser.add_argument_group("compilation")
    group.add_argument("--target", help="the machine, such as 'llvm -mcpu=x86-64-v3'; this one")
    group.add_argument(
        "--progress", choices=tuple(_PROGRESS), default="auto", help="whether to show how far it is"
    )
    described = _descriptions()
    for field in dataclasses.fields(CompileOptions):
        name = _NAMES.get(field.name, field.name)
        about: dict[str, Any] = {"dest": name, "default": None, "help": described[field.name]}
        names = [_spelling(name)]
        if field.name in CHOICES:
            choices = CHOICES[field.name]
            about |= {"type": type(choices[0]), "choices": choices}
        elif isinstance(field.default, bool):
            about["action"] = argparse.BooleanOptionalAction
        else:
            kind = type(field.default)
            about |= {"type": kind, "metavar": "N" if kind is int else "TEXT"}
        if field.name == "opt_level":
            names.insert(0, "-O")
        group.add_argument(*names, **about)


def given_options(given: argparse.Namespace) -> dict[str, Any]:
    """Return the options of compilation that the command line states, by name."""
    names = [field.name for field in dataclasses.fields(CompileOptions)]
    found = {name: getattr(given, _NAMES.get(name, name)) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def compile_with(module: Any, given: argparse.Namespace) -> Executable:
    """Compile a module with the options of the command line."""
    options = CompileOptions(**given_options(given))
    return compile_module(
        module, given.target or "llvm", options, progress=_PROGRESS[given.progress]
    )


def check_no_compile_options(given: argparse.Namespace, reason: str) -> None:
    """Raise CommandError where there are options of compilation, which would change nothing."""
    stated = [_spelling(_NAMES.get(name, name)) for name in given_options(given)]
    if given.target is not None:
        stated.append("--target")
    if stated:
        raise CommandError(f"expected no {', '.join(stated)}, as {reason}")


# -- dimensions -----------------------------------------------------------------------------------


def range_of(text: str) -> tuple[str, int | None, int | None]:
    """Return the name of a dimension, and the least and largest size that is given for it.

    Examples
    --------
    >>> range_of("batch=1:64"), range_of("n=4"), range_of("n=:8")
    (('batch', 1, 64), ('n', 4, 4), ('n', None, 8))
    """
    found = re.fullmatch(r"(\w+)=(?:(\d+)|(\d*):(\d*))", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"expected name=4 or name=1:64, but got {text!r}")
    name, size, low, high = found.groups()
    if size is not None:
        return name, _number(size), _number(size)
    least, most = _number(low) if low else None, _number(high) if high else None
    if least is None and most is None:
        raise argparse.ArgumentTypeError(f"expected a least or largest size, but got {text!r}")
    if least is not None and most is not None and least > most:
        raise argparse.ArgumentTypeError(f"expected a range that is not empty, but got {text!r}")
    return name, least, most


def _number(text: str) -> int:
    if len(text.lstrip("0")) > len(str(_LARGEST)) or int(text) > _LARGEST:
        raise argparse.ArgumentTypeError(
            f"expected a size up to {_LARGEST}, but got {shortened(text)}"
        )
    return int(text)


def shortened(text: str) -> str:
    """Return a text that may be long as a message shows it."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


def size_of(text: str) -> tuple[str, int]:
    """Return the name of a dimension and its size: ``n=4``."""
    name, equals, size = text.partition("=")
    if not name or not equals or not size.isdecimal():
        raise argparse.ArgumentTypeError(f"expected name=4, but got {text!r}")
    return name, _number(size)


def shape_of(text: str) -> tuple[str, tuple[int | str, ...]]:
    """Return the name of an input and its dimensions.

    Examples
    --------
    >>> shape_of("x=2,n,4"), shape_of("scalar=")
    (('x', (2, 'n', 4)), ('scalar', ()))
    """
    name, equals, dims = text.rpartition("=")
    parts = [part.strip() for part in dims.split(",")] if dims.strip() else []
    if not name or not equals or not all(re.fullmatch(r"\d+|[A-Za-z_]\w*", one) for one in parts):
        raise argparse.ArgumentTypeError(f"expected input=2,3 or input=batch,3, but got {text!r}")
    return name, tuple(_number(part) if part.isdecimal() else part for part in parts)


def once(pairs: Iterable[tuple[str, _T]], what: str) -> dict[str, _T]:
    """Return options of the form ``name=value`` by name.

    Raises
    ------
    CommandError
        If a name has two values.

    Examples
    --------
    >>> once([("n", 2), ("n", 2), ("m", 3)], "--size")
    {'n': 2, 'm': 3}
    """
    found: dict[str, _T] = {}
    for name, value in pairs:
        if found.setdefault(name, value) != value:
            raise CommandError(f"expected one {what} of '{name}', but got {found[name]}, {value}")
    return found
