# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of modules, with the members that those of TVM Relax have.

A function of a module is an operation of MLIR, a ``relax.func``, whose generated class gets the
members of `Function` when this module is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlir import ir

from .._arguments import explain, shown
from .._mlir_libs import _relax_mlir as _ext
from ..dialects.relax import FuncOp
from .ir import FuncStructInfo

# Returns the module `relax_mlir.script.printer`; `relax_mlir.script` sets it.
load_printer: Any = None
# Returns a copy of a function that is part of no program; `relax_mlir.core.ir_module` sets it.
copy_function: Any = None
# Returns a Python value as an attribute; `relax_mlir.tir.attributes` sets it.
make_attribute: Any = None


class Printable:
    """An object that prints itself as TVMScript: a module or a function."""

    def script(self, **options: Any) -> str:
        """Return it as TVMScript, which `relax_mlir.script.from_source` reads.

        Parameters
        ----------
        **options
            As of `relax_mlir.script.printer.script`.
        """
        return load_printer().script(self, **options)

    def show(self, **options: Any) -> None:
        """Print it as TVMScript, with colours where the output shows them.

        Parameters
        ----------
        **options
            As of `relax_mlir.script.printer.show`.
        """
        load_printer().show(self, **options)

    def _repr_html_(self) -> str:
        """Return it as notebooks show it."""
        return str(load_printer().to_html(self))


for _name in ("script", "show"):
    setattr(Printable, _name, explain(getattr(Printable, _name), _name))


class _FunctionType(type):
    """The class of `Function`, to which the operations of functions belong."""

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        if cls is Function:
            raise TypeError(
                "expected a function that BlockBuilder.function writes, or one of a module: "
                "Function is the class of both, and makes none"
            )
        return super().__call__(*args, **keywords)

    def __instancecheck__(cls, value: Any) -> bool:
        is_operation = cls is Function and isinstance(value, FuncOp)
        return is_operation or type.__instancecheck__(cls, value)


class Function(Printable, metaclass=_FunctionType):
    """A Relax function: of a module, where it is a ``relax.func``, or free.

    Examples
    --------
    >>> from relax_mlir import IRModule
    >>> mod = IRModule('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   relax.return %x : !relax.tensor<[n], f32>
    ... }''')
    >>> main = mod["main"]
    >>> isinstance(main, Function), [str(x.struct_info) for x in main.params]
    (True, ['!relax.tensor<[n], f32>'])
    >>> mod["main"] = main.with_attr("num_input", 1)
    >>> print(mod["main"].attrs["num_input"])
    1 : i64
    """

    operation: ir.Operation

    @property
    def params(self) -> list[ir.Value]:
        """The parameters, as values; none of a declaration."""
        blocks = self.operation.regions[0].blocks
        return list(blocks[0].arguments) if len(blocks) else []

    @property
    def struct_info(self) -> FuncStructInfo:
        """The type of the function."""
        type_: FuncStructInfo | None = _ext.function_struct_info(self.operation)
        if type_ is None:
            name = self.operation.attributes["sym_name"].value
            raise ValueError(f"expected a function with StructInfo, but got '{name}'")
        return type_

    @property
    def ret_struct_info(self) -> ir.Type:
        """The type of the result."""
        return self.struct_info.ret

    @property
    def attrs(self) -> dict[str, ir.Attribute]:
        """The attributes of the function."""
        return dict(self.operation.attributes.items())

    def with_attr(self, name: str | Mapping[str, Any], value: Any = None) -> Function:
        """Return a copy with an attribute, or several; this function stays as it is.

        Parameters
        ----------
        name : str, or mapping of str to value
        value : bool, int, float, str, list, dict or mlir.ir.Attribute

        Returns
        -------
        Function
            Part of no module yet: ``mod["main"] = ...`` puts it into one.
        """
        if not isinstance(name, (str, Mapping)):
            raise TypeError(f"expected the name of an attribute, but got {shown(name)}")
        given = {name: value} if isinstance(name, str) else dict(name)
        copy: Function = copy_function(self)
        for key, each in given.items():
            copy.operation.attributes[_attribute_name(key)] = make_attribute(key, each)
        return copy

    def with_attrs(self, attrs: Mapping[str, Any]) -> Function:
        """Return a copy with more attributes, as `with_attr` does."""
        return self.with_attr(attrs)

    def without_attr(self, name: str) -> Function:
        """Return a copy without an attribute; this function stays as it is.

        Parameters
        ----------
        name : str
            One that the function may lack.
        """
        copy: Function = copy_function(self)
        if _attribute_name(name) in copy.operation.attributes:
            del copy.operation.attributes[name]
        return copy


# What makes a function what it is, and no attribute of users.
_OWN = ("function_type", "sym_name")


def _attribute_name(name: Any) -> str:
    if not isinstance(name, str) or not name or name in _OWN:
        raise ValueError(f"expected the name of an attribute, but got {shown(name)}")
    return name


# A generated class has a base of MLIR.
for _class in (Printable, Function):
    for _name, _member in vars(_class).items():
        if callable(_member) or isinstance(_member, property):
            setattr(FuncOp, _name, _member)
