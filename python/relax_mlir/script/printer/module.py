# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules, and single functions, as programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from mlir import ir

from ...core.ir_module import MODULE_ATTRS, as_module
from ...core.sharding import DEVICE_MESHES, DeviceMesh
from ...core.vdevice import DUMMY_GLOBAL_INFO, GLOBAL_INFO
from ..state import kind_of_target
from .constants import Constants
from .options import Options, is_identifier
from .relax import FunctionPrinter, NotScriptError
from .tir import NotPrimFuncError, prim_func_lines
from .types import TypePrinter, block_text, entries, quote
from .writer import Writer

_NAMESPACES = {
    "ir": r"\b{ir_prefix}\.",
    "tir": r"\bT\.",
    "relax": r"\bR\.",
}
_LETTERS = {"tir": "T", "relax": "R"}
_STRING = r'("(?:[^"\\]|\\.)*")'
_VDEVICE = rf"#relax\.vdevice<{_STRING}, (\d+)(?:, {_STRING})?>"


class ModulePrinter:
    """Writes a module, or one operation of it.

    Parameters
    ----------
    options : Options
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.writer = Writer(options)
        self.constants = Constants()
        self._types = TypePrinter(options, lambda name: None)
        self._name = options.name or "Module"
        self._device_names: dict[str, str] = {}
        self._device_kinds: dict[int, str] = {}
        self._meshes: dict[str, str] = {}

    def module(self, module: ir.Operation) -> str:
        """Return a module as a program."""
        line = self.writer.line
        line(f"@{self.options.ir_prefix}.ir_module")
        self._name = self.options.name or self._class_name(module)
        line(f"class {self._name}:")
        with self.writer.indented():
            is_empty = self._attributes(module)
            for op in module.regions[0].blocks[0].operations:
                if not is_empty:
                    line()
                self._member(op.operation)
                is_empty = False
            if is_empty:
                line("pass")
        return self._finish()

    def function(self, op: ir.Operation) -> str:
        """Return a single function as a program; as a module if it is text of MLIR."""
        module: Any = op.parent
        if module is not None and GLOBAL_INFO in module.operation.attributes:
            self._devices(module.operation.attributes[GLOBAL_INFO])
        if not self._member(op, may_be_text=False):
            self.writer.line(f"@{self.options.ir_prefix}.ir_module")
            self.writer.line(f"class {self._name}:")
            with self.writer.indented():
                self._text(op)
        return self._finish()

    def _class_name(self, module: ir.Operation) -> str:
        if "sym_name" in module.attributes and is_identifier(module.attributes["sym_name"].value):
            return str(module.attributes["sym_name"].value)
        return "Module"

    # -- attributes ---------------------------------------------------------------------------

    def _attributes(self, module: ir.Operation) -> bool:
        """Write the attributes of a module; return whether there are none."""
        prefix = self.options.ir_prefix
        attributes = dict(entries(module.attributes))
        attributes.update(entries(attributes.pop(MODULE_ATTRS, {})))
        devices = attributes.get(GLOBAL_INFO)
        infos = []
        if devices is not None:
            listed = self._devices(devices)
            if listed is not None:
                infos += listed
                del attributes[GLOBAL_INFO]
        for name, listed in entries(attributes.pop(DEVICE_MESHES, {})):
            meshes = [DeviceMesh.of(mesh) for mesh in listed]
            made = ", ".join(map(self._types.new_mesh, meshes))
            infos.append(f"{quote(name)}: [{made}]")
            for index, mesh in enumerate(meshes):
                self._meshes.setdefault(str(mesh), f"{name}[{index}]")
        for name, count in entries(attributes.pop(DUMMY_GLOBAL_INFO, {})):
            dummies = ", ".join([f"{prefix}.dummy_global_info()"] * count.value)
            infos.append(f"{quote(name)}: [{dummies}]")
        if attributes:
            given = self._types.attributes(attributes.items())
            self.writer.line(f"{prefix}.module_attrs({given})")
        if infos:
            self.writer.line(f"{prefix}.module_global_infos({{{', '.join(infos)}}})")
        return not attributes and not infos

    def _devices(self, devices: ir.Attribute) -> list[str] | None:
        """Return the fields of the statement that lists the virtual devices."""
        made: dict[str, str] = {}
        kinds: dict[str, tuple[str, str]] = {}
        for name, device in entries(devices):
            match = re.fullmatch(_VDEVICE, str(device))
            if match is None:
                return None
            target, scope = (
                ir.StringAttr(ir.Attribute.parse(part or '"global"', device.context)).value
                for part in match.group(1, 3)
            )
            args = [quote(target) if target else "None", match.group(2), quote(scope)]
            made[name] = f"{self.options.ir_prefix}.vdevice({', '.join(args)})"
            kinds[name] = kind_of_target(target), scope
            if re.fullmatch(r"\w+", kinds[name][0]):
                self._device_kinds.setdefault(int(match.group(2)), kinds[name][0])
        self._device_names = {name: name for name in made}
        listed = [f"vdevice{index}" for index in range(len(made))]
        if set(listed) == set(made):  # the names that the parser gives to a list
            self._number([(name, *kinds[name]) for name in listed])
            return [f'"vdevice": [{", ".join(made[name] for name in listed)}]']
        return [f"{quote(name)}: [{text}]" for name, text in made.items()]

    def _number(self, devices: Sequence[tuple[str, str, str]]) -> None:
        """Have devices be written as ``"llvm:1:global"``, by their number of those of a kind."""
        counts: dict[str, int] = {}
        for name, kind, scope in devices:
            if re.fullmatch(r"\w+", kind):
                self._device_names[name] = f"{kind}:{counts.get(kind, 0)}:{scope}"
            counts[kind] = counts.get(kind, 0) + 1

    # -- members ------------------------------------------------------------------------------

    def _member(self, op: ir.Operation, may_be_text: bool = True) -> bool:
        """Write a function; return whether that was possible."""
        if op.name == "func.func" and self._kernel(op):
            return True
        if op.name == "relax.func":
            mark, constants = self.writer.mark(), self.constants.mark()
            printer = FunctionPrinter(
                self.writer, self.constants, self._name, self._device_names, self._device_kinds
            )
            printer.types.meshes = self._meshes
            try:
                printer.print(op)
                return True
            except NotScriptError:
                self.writer.back_to(mark)
                self.constants.back_to(constants)
        if may_be_text:
            self._text(op)
        return may_be_text

    def _kernel(self, op: ir.Operation) -> bool:
        """Write a kernel as ``T.prim_func``; return whether that was possible."""
        try:
            lines = prim_func_lines(op, self.options.indent_spaces, self._name)
        except (NotPrimFuncError, RecursionError):  # an expression may be too deep for Python
            return False
        for line in lines:
            self.writer.line(line)
        return True

    def _text(self, op: ir.Operation) -> None:
        """Write an operation as text of MLIR."""
        text = block_text(op.get_asm(), self.writer.indentation)
        self.writer.line(f"{self.options.ir_prefix}.mlir({text})")

    # -- the whole ----------------------------------------------------------------------------

    def _finish(self) -> str:
        body = self.writer.text()
        metadata = self._metadata()
        parts = [self._imports(f"{metadata}{body}"), "", metadata, body]
        text = "\n".join(part for part in parts if part is not None)
        if self.options.print_line_numbers:
            lines = text.split("\n")
            width = len(str(len(lines)))
            text = "\n".join(f"{n:>{width}} {line}".rstrip() for n, line in enumerate(lines, 1))
        return text

    def _imports(self, body: str) -> str:
        lines = []
        for module, pattern in _NAMESPACES.items():
            if re.search(pattern.format(ir_prefix=self.options.ir_prefix), body):
                letter = _LETTERS.get(module, self.options.ir_prefix)
                lines.append(f"# from relax_mlir.script import {module} as {letter}")
        if re.search(r"^metadata = tvm\.", body, re.MULTILINE):
            lines.append("# from relax_mlir.script import tvm")
        return "\n".join(lines)

    def _metadata(self) -> str | None:
        if not len(self.constants):
            return None
        if self.options.show_meta is False:
            return "# Metadata omitted. Use show_meta=True in script() method to show it.\n"
        text, reader = self.constants.text()
        reader = reader or f"{self.options.ir_prefix}.metadata"
        return f"metadata = {reader}({block_text(text, '')})\n"

    @property
    def metadata_size(self) -> int:
        """The length of the constants as text."""
        return len(self.constants.text()[0]) if len(self.constants) else 0


def operation_of(value: Any) -> ir.Operation:
    """Return the operation that a module or function is.

    Raises
    ------
    TypeError
        If it is neither.
    """
    op: Any = value
    if isinstance(value, str):
        op = as_module(value)
    elif hasattr(value, "get") and not hasattr(value, "operation"):
        op = value.get()
    op = getattr(op, "operation", None)
    if not isinstance(op, ir.Operation):
        raise TypeError(f"expected a module or a function, but got {value!r}")
    return op
