# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules as objects that are read and changed function by function, as with TVM's IRModule."""

from __future__ import annotations

import io
import os
import re
import reprlib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

from mlir import ir
from relax_runtime.near_misses import did_you_mean

from .._annotations import name_annotation
from .._arguments import shown
from .._mlir_libs import _relax_mlir as _ext
from . import function
from .context import current_context
from .diagnostics import parse_module, raise_errors
from .dot import to_dot
from .erasing import detach_unchecked
from .expr import GlobalVar
from .function import Function, Printable
from .lifetimes import discard, remember
from .sharding import DEVICE_MESHES
from .vdevice import GLOBAL_INFO

# The attribute with the attributes of a module: MLIR wants a prefix in the names of its own.
MODULE_ATTRS = "relax.module_attrs"
# Constants with more elements are left out of what `print` shows.
LARGE_ELEMENTS = 64
_FILE = re.compile(r"\S+\.(mlir|mlirbc|py|rx|so|onnx|json|txt)")


class IRModule(Printable):
    """A module: functions and kernels by name, and attributes.

    Its functions, their parameters, and values and operations of them keep the module alive. The
    blocks of operations inside of functions do not: hold on to the module as long as you use them.

    Parameters
    ----------
    module : mlir.ir.Module, IRModule, str, mapping of str to function, or None
        A module of MLIR (not copied), its text, or functions by name. By default it is empty.

    Attributes
    ----------
    module : mlir.ir.Module
    name : str
        The name of the class in TVMScript.
    params : dict of str to list
        Weights that an importer has kept beside the module, by the function whose last arguments
        they are; `relax_mlir.frontend.detach_params` returns them.

    Examples
    --------
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   relax.return %x : !relax.tensor<[n], f32>
    ... }''')
    >>> mod.get_global_vars()
    [GlobalVar(name='main')]
    >>> print(mod["main"].function_type.value)
    (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    """

    module: ir.Module

    def __init__(self, module: Any = None) -> None:
        self.name = "Module"
        self.params: dict[str, list[Any]] = {}
        if isinstance(module, str):
            module = parse_module(module, current_context())
        if isinstance(module, IRModule):
            module = module.module
        if isinstance(module, ir.Module):
            _ext.load_dialect(module.context)
            self.module: ir.Module = remember(module)
            return
        if not isinstance(module, (Mapping, type(None))):
            raise TypeError(
                f"expected a module, its text or functions by name, but got {shown(module)}"
            )
        self.module = remember(ir.Module.create(ir.Location.unknown(current_context())))
        functions: Mapping[Any, Any] = module or {}
        for name, func in functions.items():
            self[name] = func

    @property
    def operation(self) -> ir.Operation:
        """The module as an operation."""
        return self.module.operation

    @property
    def body(self) -> ir.Block:
        """The block of the functions."""
        return self.module.body

    @property
    def context(self) -> ir.Context:
        """The context of the module."""
        return self.module.context

    # -- functions ----------------------------------------------------------------------------

    @property
    def functions(self) -> dict[str, ir.OpView]:
        """The functions and kernels by name, in their order."""
        ops = [op for op in self.body.operations if "sym_name" in op.operation.attributes]
        found = {op.operation.attributes["sym_name"].value: op for op in ops}
        if len(found) < len(ops):  # the module is not valid
            return found
        table = ir.SymbolTable(self.operation)
        # Those that the table returns keep the module alive with their blocks.
        return {name: table[name] for name in found}

    def functions_items(self) -> list[tuple[GlobalVar, ir.OpView]]:
        """Return the functions and kernels with their names."""
        return [(GlobalVar(name), op) for name, op in self.functions.items()]

    def get_global_vars(self) -> list[GlobalVar]:
        """Return the names of the functions and kernels, in their order."""
        return [GlobalVar(name) for name in self.functions]

    def get_global_var(self, name: str) -> GlobalVar:
        """Return a function by its name.

        Raises
        ------
        KeyError
            If there is none.
        """
        self[name]
        return GlobalVar(name)

    def __getitem__(self, name: str | GlobalVar) -> Any:
        """Return the operation of a function, such as a ``relax.FuncOp``."""
        functions = self.functions
        key = _name(name)
        if key not in functions:
            known = ", ".join(functions) or "none"
            hint = did_you_mean(str(key), functions)
            raise KeyError(f"expected the name of a function ({known}), but got {key!r}{hint}")
        return functions[key]

    def __setitem__(self, name: str | GlobalVar, func: Any) -> None:
        """Add a function under a name, or replace the one of that name by it.

        The function is copied: it may be one of another module.
        """
        key = _name(name)
        old = self.functions.get(key)
        source = operation_of(func)
        if source.context is not self.context:
            text = source.get_asm(enable_debug_info=True, print_generic_op_form=True)
            with self.context, ir.Location.unknown():
                copy = ir.Operation.parse(text)
            self.body.append(copy)
        else:
            copy = source.clone(ip=ir.InsertionPoint(self.body)).operation
        copy.attributes["sym_name"] = ir.StringAttr.get(key, self.context)
        if old is not None:
            copy.move_before(old.operation)
            self._discard(old)

    def update_func(self, gvar: str | GlobalVar, func: Any) -> None:
        """Replace a function.

        Raises
        ------
        KeyError
            If there is none of that name.
        """
        self[gvar]
        self[gvar] = func

    def update(self, other: Any) -> None:
        """Add the functions of another module, in place of those with the same names."""
        for name, func in as_module(other).functions.items():
            self[name] = func

    def __delitem__(self, name: str | GlobalVar) -> None:
        self._discard(self[name])

    def _discard(self, function: Any) -> None:
        """Remove a function, operations of which may still be in use."""
        discard(self.module, detach_unchecked(function.operation))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, (str, GlobalVar)) and _name(name) in self.functions

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    # -- the module as a whole ----------------------------------------------------------------

    @property
    def attrs(self) -> dict[str, ir.Attribute]:
        """The attributes of the module, without its virtual devices and meshes."""
        attributes = self.operation.attributes
        hidden = (MODULE_ATTRS, GLOBAL_INFO, DEVICE_MESHES)
        found = {name: attributes[name] for name in attributes if name not in hidden}
        if MODULE_ATTRS in attributes:
            found.update({item.name: item.attr for item in attributes[MODULE_ATTRS]})
        return found

    def set_attr(self, name: str, value: ir.Attribute) -> None:
        """Set an attribute of the module.

        Parameters
        ----------
        name : str
            One without the prefix of a dialect, ``relax.`` or the like, is kept in the attribute
            ``relax.module_attrs``: MLIR wants prefixes.
        value : mlir.ir.Attribute

        Examples
        --------
        >>> mod = IRModule()
        >>> mod.set_attr("workers", ir.Attribute.parse("2 : i64", mod.context))
        >>> print(mod.attrs["workers"])
        2 : i64
        """
        if not isinstance(name, str):
            raise TypeError(f"expected the name of an attribute, but got {shown(name)}")
        if not isinstance(value, ir.Attribute):
            raise TypeError(
                f"expected an mlir.ir.Attribute as '{name}', but got {shown(value)}: "
                'ir.Attribute.parse("2 : i64") makes one'
            )
        attributes = self.operation.attributes
        if "." in name or name in ("sym_name", "sym_visibility"):
            attributes[name] = value
            return
        known = attributes.get(MODULE_ATTRS, ())
        attrs = {**{item.name: item.attr for item in known}, name: value}
        attributes[MODULE_ATTRS] = ir.DictAttr.get(attrs, context=self.context)

    def with_attr(self, name: str, value: Any) -> IRModule:
        """Return a copy with an attribute; this module stays as it is.

        Parameters
        ----------
        name : str
        value : bool, int, float, str, list, dict or mlir.ir.Attribute

        Examples
        --------
        >>> mod = IRModule().with_attr("workers", 2)
        >>> print(mod.get_attr("workers"))
        2 : i64
        """
        copy = self.clone()
        copy.set_attr(name, function.make_attribute(name, value))
        return copy

    def without_attr(self, name: str) -> IRModule:
        """Return a copy without an attribute, which the module may lack."""
        copy = self.clone()
        attributes = copy.operation.attributes
        if name in attributes:
            del attributes[name]
        elif name in self.attrs:
            kept = {item.name: item.attr for item in attributes[MODULE_ATTRS] if item.name != name}
            attributes[MODULE_ATTRS] = ir.DictAttr.get(kept, context=copy.context)
        return copy

    def get_attr(self, name: str) -> ir.Attribute | None:
        """Return an attribute of the module, None if it has none of this name."""
        return self.attrs.get(name)

    def clone(self) -> IRModule:
        """Return a copy."""
        return IRModule(_ext.clone_module(self.module))

    def __deepcopy__(self, memo: dict[int, Any]) -> IRModule:
        made = self.clone()
        made.name, made.params = self.name, deepcopy(self.params, memo)
        return made

    __copy__ = clone

    def __reduce__(self) -> Any:
        stored = io.BytesIO()
        self.operation.write_bytecode(stored)
        return _restored, (stored.getvalue(), self.name, self.params)

    def verify(self) -> None:
        """Raise MLIRError if the module is not valid."""
        with raise_errors(self.context):
            self.operation.verify()

    def to_text(self) -> str:
        r"""Return the whole module as text of MLIR, which `IRModule` and ``relax-opt`` read.

        Examples
        --------
        >>> IRModule("module {}").to_text()
        'module {\n}\n'
        """
        return str(self.module)

    def to_dot(self, name: str | GlobalVar | None = None) -> str:
        """Return the graph of a function in the language of Graphviz.

        Parameters
        ----------
        name : str or GlobalVar, optional
            By default "main", or the only function.

        Returns
        -------
        str
            Nodes are parameters and operators, edges are values with their types.

        Raises
        ------
        KeyError
            If there is no function of this name.

        Examples
        --------
        >>> mod = IRModule('''
        ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
        ...   %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        ...   relax.return %0 : !relax.tensor<[n], f32>
        ... }''')
        >>> print(mod.to_dot(), end="")
        digraph "main" {
          node [shape=box, fontname="Helvetica"];
          edge [fontname="Helvetica", fontsize=10];
          n1 [label="x", shape=ellipse];
          n2 [label="exp"];
          output [shape=ellipse];
          n1 -> n2 [label="tensor<[n], f32>"];
          n2 -> output [label="tensor<[n], f32>"];
        }
        """
        functions = [key for key, op in self.functions.items() if op.operation.name == "relax.func"]
        chosen = _name(name) if name is not None else "main"
        if name is None and len(functions) == 1:
            chosen = functions[0]
        return to_dot(self[chosen].operation, chosen)

    def __str__(self) -> str:
        """Return the module as text to read: of large constants only the type."""
        return self.operation.get_asm(large_elements_limit=LARGE_ELEMENTS)

    def __repr__(self) -> str:
        return f"<IRModule {self.name}: {reprlib.repr(list(self.functions))}>"


def _restored(stored: bytes, name: str, params: dict[str, list[Any]]) -> IRModule:
    """Return the module that was pickled."""
    made = IRModule(ir.Module.parse(stored, current_context()))
    made.name, made.params = name, params
    return made


class FreeFunction(Function):
    """A function that is not part of a program yet, in a module of its own.

    Attributes
    ----------
    module : IRModule
    name : str
    op : mlir.ir.OpView
    """

    def __init__(self, module: IRModule, name: str) -> None:
        self.module = module
        self.name = name

    @property
    def op(self) -> Any:
        """The operation."""
        return self.module[self.name]

    @property
    def operation(self) -> ir.Operation:
        """The operation, of the class that all operations have."""
        return self.op.operation

    def __str__(self) -> str:
        """Return the function as text to read: of large constants only the type."""
        return self.operation.get_asm(large_elements_limit=LARGE_ELEMENTS)

    def __repr__(self) -> str:
        return f"<Function {self.name}>"


def _copy(given: Function) -> FreeFunction:
    """Return a copy of a function in a module of its own."""
    name = given.operation.attributes["sym_name"].value
    with given.operation.context:
        return FreeFunction(IRModule({name: given}), name)


function.copy_function = _copy


class ModuleWriter:
    """A writer of a module: a `BlockBuilder`."""

    def get(self) -> IRModule:
        """Return the module."""
        raise NotImplementedError(f"{type(self).__name__}.get")


ModuleLike: TypeAlias = IRModule | FreeFunction | ir.Module | str | ModuleWriter


def _name(name: str | GlobalVar) -> str:
    return name.name if isinstance(name, GlobalVar) else name


name_annotation(ModuleLike, "a module, text of MLIR or a BlockBuilder")


def operation_of(function: Any) -> ir.Operation:
    """Return the operation that a function is.

    Parameters
    ----------
    function : FreeFunction, mlir.ir.Operation or mlir.ir.OpView

    Raises
    ------
    TypeError
        If it is something else.
    """
    found = function.op if isinstance(function, FreeFunction) else function
    if not isinstance(found, (ir.OpView, ir.Operation)):
        raise TypeError(f"expected a function, as an operation of MLIR, but got {shown(function)}")
    return found.operation


def check_no_file(given: Any, expected: str) -> None:
    """Raise a TypeError if the name of a file is given in place of text."""
    if isinstance(given, os.PathLike) or (isinstance(given, str) and _FILE.fullmatch(given)):
        raise TypeError(
            f"expected {expected}, but got the name of a file; to read it: "
            f"Path({str(given)!r}).read_text()"
        )


def as_module(mod: ModuleLike) -> IRModule:
    """Return a module from anything that stands for one.

    Parameters
    ----------
    mod : IRModule, FreeFunction, mlir.ir.Module, str or BlockBuilder
        A function stands for the module that holds it alone; a str is text of MLIR. A module is
        not copied.

    Returns
    -------
    IRModule

    Raises
    ------
    TypeError
        If it is anything else.
    mlir.ir.MLIRError
        If the text does not parse.

    Examples
    --------
    >>> len(as_module("module {}"))
    0
    """
    if isinstance(mod, IRModule):
        return mod
    if isinstance(mod, FreeFunction):
        return mod.module
    check_no_file(mod, "a module, text of MLIR or a BlockBuilder")
    if isinstance(mod, str) and not mod.strip():
        raise ValueError("expected a module, but got an empty text")
    if isinstance(mod, (ir.Module, str)):
        return IRModule(mod)
    if isinstance(mod, ModuleWriter):
        made: Any = mod.get()
        return made if isinstance(made, IRModule) else IRModule(made)
    raise TypeError(f"expected a module, text of MLIR or a BlockBuilder, but got {shown(mod)}")
