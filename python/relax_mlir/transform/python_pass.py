# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes that are written in Python: on modules, functions and dataflow blocks."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from mlir import ir

from ..core.ir_module import FreeFunction, IRModule, as_module
from ..core.variables import walk
from ..dialects import relax as _ops
from .base import Pass, register_pass, verify
from .pass_context import PassContext, PassInfo


class PythonPass(Pass):
    """A pass that a function in Python does.

    Parameters
    ----------
    transform : callable
        The function that the pass calls.
    info : PassInfo
    """

    #: The method that a class has which is decorated.
    method: ClassVar[str] = ""

    def __init__(self, transform: Callable[..., Any], info: PassInfo) -> None:
        self._transform = transform
        self.info = info
        self.__doc__ = transform.__doc__

    def run_on_module(self, module: ir.Module, ctx: PassContext) -> ir.Module:
        """Run the function, then check what it leaves."""
        with module.context:
            try:
                module = self.apply(module, ctx)
            except Exception as error:
                if hasattr(error, "add_note"):  # Python 3.11
                    error.add_note(f"in pass {self.info.name}")
                raise
            verify(module, self.info.name)
        return module

    def apply(self, module: ir.Module, ctx: PassContext) -> ir.Module:
        """Run the function on each part of a module that it is for."""
        raise NotImplementedError(f"{type(self).__name__}.apply")


class ModulePass(PythonPass):
    """A pass on modules; see `module_pass`."""

    method = "transform_module"

    def apply(self, module: ir.Module, ctx: PassContext) -> ir.Module:
        """Run the function on the module."""
        result = self._transform(IRModule(module), ctx)
        return module if result is None else as_module(result).module


class FunctionPass(PythonPass):
    """A pass on the Relax functions of a module; see `function_pass`."""

    method = "transform_function"

    def apply(self, module: ir.Module, ctx: PassContext) -> ir.Module:
        """Run the function on each Relax function."""
        mod = IRModule(module)
        for name, function in mod.functions.items():
            if not isinstance(function, _ops.FuncOp):
                continue
            result = self._transform(function, mod, ctx)
            _check_result(result, _ops.FuncOp, "a relax.func")
            if result is not None and result.operation != function.operation:
                mod[name] = result
        return module


class DataflowBlockPass(PythonPass):
    """A pass on the dataflow blocks of a module; see `dataflowblock_pass`."""

    method = "transform_dataflowblock"

    def apply(self, module: ir.Module, ctx: PassContext) -> ir.Module:
        """Run the function on each dataflow block."""
        mod = IRModule(module)
        name = _ops.DataflowOp.OPERATION_NAME
        ops = [op for op in walk(module.operation, post_order=True) if op.name == name]
        for block in [op.opview for op in ops]:
            result = self._transform(block, mod, ctx)
            _check_result(result, ir.OpView, "a relax.dataflow")
            if result is not None and result.operation != block.operation:
                _replace(block.operation, result.operation, self.info.name)
        return module


def _check_result(result: Any, kind: type[ir.OpView], what: str) -> None:
    given = result.opview if isinstance(result, ir.Operation) else result
    if given is not None and not isinstance(given, (kind, FreeFunction)):
        raise TypeError(f"expected {what} or nothing from the function, but got {result!r}")


def _replace(old: ir.Operation, new: ir.Operation, name: str) -> None:
    """Put a dataflow block in the place of another one."""
    if new.name != old.name or len(new.results) != len(old.results):
        raise ValueError(
            f"pass {name}: expected a dataflow block with {len(old.results)} outputs, but got "
            f"{new.name} with {len(new.results)}"
        )
    new.move_before(old)
    for before, after in zip(old.results, new.results, strict=True):
        before.replace_all_uses_with(after)
    old.erase()


# ---------------------------------------------------------------------------------------------
# Decorators
# ---------------------------------------------------------------------------------------------


def _decorate(
    kind: type[PythonPass],
    pass_func: Any,
    opt_level: int,
    name: str | None,
    required: Sequence[str] | None,
) -> Any:
    if isinstance(required, str):
        raise TypeError(f"expected a list of names as required, but got {required!r}")

    def create(target: Any) -> Any:
        own_name: str = getattr(target, "__name__", "")
        info = PassInfo(opt_level, name or own_name, tuple(required or ()))
        if inspect.isclass(target):
            made: Any = _class_pass(kind, target, info)
            register_pass(info.name, made)
            return made
        if not callable(target) or not info.name:
            raise TypeError(f"expected a function or class with a name, but got {target!r}")
        result = kind(target, info)
        register_pass(info.name, lambda: result)
        return result

    return create if pass_func is None else create(pass_func)


def _class_pass(kind: type[PythonPass], target: type, info: PassInfo) -> type[PythonPass]:
    """Return the class of passes that hold an object of the class decorated."""
    if not callable(getattr(target, kind.method, None)):
        raise TypeError(f"expected a method {kind.method} of class {target.__name__}")

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        held = target(*args, **kwargs)
        kind.__init__(self, getattr(held, kind.method), info)
        self._held = held

    def get(self: Any, attribute: str) -> Any:
        if attribute == "_held":  # not made yet
            raise AttributeError(attribute)
        return getattr(self._held, attribute)

    functools.update_wrapper(init, target.__init__)  # type: ignore[misc]
    members = {"__init__": init, "__getattr__": get, "__doc__": target.__doc__}
    return type(target.__name__, (kind,), members | {"__module__": target.__module__})


def module_pass(
    pass_func: Any = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
) -> Any:
    """Make a pass of a function ``(mod, ctx)``, or of a class with ``transform_module(mod, ctx)``.

    Parameters
    ----------
    pass_func : callable or class, optional
        Left out where the decorator has arguments. It gets a module that it may change, as an
        `IRModule`, and a `PassContext`, and returns a module; nothing where it changed the one
        that it got. The context of MLIR is that of the module.
    opt_level : int
        In a `Sequential`, the pass runs from this level of the `PassContext` on.
    name : str, optional
        By default the name of the function or class.
    required : sequence of str, optional
        Names of passes that a `Sequential` runs before.

    Returns
    -------
    ModulePass, or a class of them
        A class becomes a class of passes, with the same arguments.

    Examples
    --------
    >>> from mlir import ir
    >>> @module_pass(opt_level=1)
    ... def mark(mod, ctx):
    ...     mod.operation.attributes["my.marked"] = ir.UnitAttr.get()
    >>> print(mark("module {}"))
    module attributes {my.marked} {
    }
    <BLANKLINE>

    A class has arguments:

    >>> @module_pass
    ... class Mark:
    ...     def __init__(self, name):
    ...         self.name = name
    ...
    ...     def transform_module(self, mod, ctx):
    ...         mod.operation.attributes[self.name] = ir.UnitAttr.get()
    ...         return mod
    >>> "my.checked" in mark(Mark("my.checked")("module {}")).attrs
    True
    """
    return _decorate(ModulePass, pass_func, opt_level, name, required)


def function_pass(
    pass_func: Any = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
) -> Any:
    """Make a pass of a function ``(func, mod, ctx)`` on each Relax function of a module.

    Parameters
    ----------
    pass_func : callable or class, optional
        As of `module_pass`; of a class the method is ``transform_function``. It gets the function
        as a ``relax.FuncOp``, which it may change, and returns a function to put in its place, or
        nothing. Kernels are left out.
    opt_level : int
    name : str, optional
    required : sequence of str, optional
        As of `module_pass`.

    Returns
    -------
    FunctionPass, or a class of them

    Examples
    --------
    >>> seen = []
    >>> @function_pass
    ... def look(func, mod, ctx):
    ...     seen.append(func.sym_name.value)
    >>> _ = look('''
    ... relax.func @main(%x: !relax.object) -> !relax.object {
    ...   relax.return %x : !relax.object
    ... }''')
    >>> seen
    ['main']
    """
    return _decorate(FunctionPass, pass_func, opt_level, name, required)


def dataflowblock_pass(
    pass_func: Any = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] | None = None,
) -> Any:
    """Make a pass of a function ``(block, mod, ctx)`` on each dataflow block of a module.

    Parameters
    ----------
    pass_func : callable or class, optional
        As of `module_pass`; of a class the method is ``transform_dataflowblock``. It gets the
        block as a ``relax.DataflowOp``, which it may change, and returns a block with as many
        outputs to put in its place, or nothing.
    opt_level : int
    name : str, optional
    required : sequence of str, optional
        As of `module_pass`.

    Returns
    -------
    DataflowBlockPass, or a class of them

    Examples
    --------
    >>> @dataflowblock_pass(name="Count")
    ... def count(block, mod, ctx):
    ...     print(len(block.body.blocks[0].operations) - 1, "bindings")
    >>> _ = count('''
    ... relax.func @main() -> !relax.object {
    ...   %0 = relax.dataflow -> !relax.object {
    ...     %1 = relax.null_value
    ...     relax.output %1 : !relax.object
    ...   }
    ...   relax.return %0 : !relax.object
    ... }''')
    1 bindings
    """
    return _decorate(DataflowBlockPass, pass_func, opt_level, name, required)
