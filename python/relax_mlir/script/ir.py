# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The namespace ``I``: modules and what they say of themselves."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .._arguments import missing_name
from ..core.vdevice import DummyGlobalInfo, VDevice
from . import generic, state
from .annotations import as_struct_info
from .generic import metadata, mlir_attr, mlir_type
from .operators import argument
from .parser import entry
from .parser.frames import MetaVar, NextOperation, SequenceFrame

__all__ = [
    "DummyGlobalInfo",
    "Range",
    "annotate",
    "dummy_global_info",
    "ir_module",
    "meta_var",
    "metadata",
    "mlir",
    "mlir_attr",
    "mlir_op",
    "mlir_type",
    "module_attrs",
    "module_get_attrs",
    "module_global_infos",
    "module_set_attr",
    "seq",
    "vdevice",
]

__getattr__ = missing_name(sys.modules[__name__])
ir_module = entry.decorator("I.ir_module", "ir_module", entry.parse_class)


def dummy_global_info() -> DummyGlobalInfo:
    """Return a global info without meaning."""
    return DummyGlobalInfo()


class Range:
    """Integers from a first one to one before the last, as of a mesh of devices."""

    def __init__(self, begin: int, end: int | None = None) -> None:
        self.begin, self.end = (0, begin) if end is None else (begin, end)


def vdevice(
    target: str | Mapping[str, Any] | None = None,
    vdevice_id: int = 0,
    memory_scope: str = "global",
) -> VDevice:
    """Return a virtual device for `module_global_infos`.

    Parameters
    ----------
    target : str or mapping, optional
        The tag or the configuration of a target.
    vdevice_id : int
    memory_scope : str
    """
    if isinstance(target, Mapping):
        import json

        target = json.dumps(dict(target), sort_keys=True)
    return VDevice("" if target is None else str(target), vdevice_id, memory_scope)


def module_attrs(attrs: Mapping[str, Any], allow_overwrite: bool = False) -> None:
    """Set attributes of the module that is being parsed."""
    if not isinstance(attrs, Mapping):
        raise TypeError(f"expected a dict of attributes, but got {attrs!r}")
    for name, value in attrs.items():
        module_set_attr(name, value, allow_overwrite=allow_overwrite)


def module_get_attrs() -> dict[str, Any]:
    """Return the attributes of the module that is being parsed."""
    parser = state.current_or_none()
    return {} if parser is None else parser.attributes()


def module_set_attr(name: str, value: Any, allow_overwrite: bool = False) -> None:
    """Set an attribute of the module that is being parsed.

    Raises
    ------
    ValueError
        If it is there already and may not be overwritten.
    """
    # Python runs the body of the class too, before it is parsed.
    parser = state.current_or_none()
    if parser is None:
        return
    if not allow_overwrite and name in parser.attributes():
        raise ValueError(f"expected a new attribute of the module, but got '{name}' again")
    parser.set_attribute(name, value)


def module_global_infos(infos: Mapping[str, Sequence[Any]]) -> None:
    """List virtual devices of the module that is being parsed, by kind.

    Raises
    ------
    ValueError
        If the module lists some already.
    """
    parser = state.current_or_none()
    if parser is not None:
        parser.set_global_infos(dict(infos))


def meta_var(value: Any) -> Any:
    """Have a name of a program stand for a value of Python, as in ``n = I.meta_var(4)``."""
    return MetaVar(value)


def mlir_op(
    name: str,
    *operands: Any,
    attrs: Mapping[str, Any] | None = None,
    types: Sequence[Any] = (),
) -> Any:
    """Insert an operation of MLIR by its name, such as ``"relax.builtin.kill"``.

    Parameters
    ----------
    name : str
    *operands : value
    attrs : mapping of str to value, optional
        An int becomes an i64, a float an f64; `mlir_attr` gives any other attribute.
    types : sequence of StructInfo or mlir.ir.Type
        The types of the results; `mlir_type` gives those that are no StructInfo.

    Returns
    -------
    mlir.ir.Value, tuple of it or None
    """
    results = [as_struct_info(type_) for type_ in types]
    return generic.mlir_op(name, *map(argument, operands), attrs=attrs, types=results)


def annotate(
    attrs: Mapping[str, Any] | None = None, types: Sequence[Any] | None = None
) -> NextOperation:
    """Say more of the ``if`` or ``with`` statement that comes next than it has words for.

    Parameters
    ----------
    attrs : mapping of str to value, optional
        Attributes of the operation, as of `mlir_op`.
    types : sequence of StructInfo, optional
        The types of its results: of the value of an ``if``, of each output of a dataflow block.
    """
    given = None if types is None else [as_struct_info(type_) for type_ in types]
    return NextOperation({} if attrs is None else dict(attrs), given)


def seq() -> SequenceFrame:
    """Begin a sequence of bindings in a scope of its own, as in ``with I.seq():``.

    Its value is what its last statement binds, whose name is known after it.
    """
    return SequenceFrame()


def mlir(text: str) -> None:
    """Add functions to the module that is being parsed, as text of MLIR.

    Parameters
    ----------
    text : str
        Whole operations. They may call the other functions of the module.
    """
    state.current("I.mlir").add_text(text)
