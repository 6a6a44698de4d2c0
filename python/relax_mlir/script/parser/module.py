# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs: classes with functions and kernels, or one function."""

from __future__ import annotations

import ast
import contextlib
import itertools
import re
import warnings
from collections.abc import Iterator
from typing import Any

from mlir import ir

from ...builder.block_builder import BlockBuilder
from ...core.expr import GlobalVar
from ...core.ir import ObjectStructInfo
from ...core.ir_module import FreeFunction, IRModule
from ...core.sharding import DeviceMesh, set_device_meshes
from ...core.vdevice import DUMMY_GLOBAL_INFO, DummyGlobalInfo, VDevice, set_global_info
from ...core.violations import well_formed
from ...dialects import relax as _ops
from ...tir.attributes import attribute
from ...tir.fit import fit_kernels
from .. import state
from ..calls import func_attr
from ..generic import TextError, mlir_functions
from . import rfc, tir
from .definitions import Decorator, check_option, find_decorator, in_order, is_recursive, uses_of
from .environment import Environment, ModuleNames
from .expressions import Evaluator, constant_of
from .relax import FunctionParser, recursive
from .source import Source


class ModuleParser(Evaluator):
    """Parses one program.

    Parameters
    ----------
    source : Source
    env : Environment
        The names of Python around it.
    """

    def __init__(self, source: Source, env: Environment) -> None:
        super().__init__(source, env)
        self.builder = BlockBuilder()
        self.builder._keeps_names = True
        self.names = ModuleNames()
        self.vdevices: dict[str, VDevice] = {}
        self.meshes: dict[str, list[DeviceMesh]] = {}
        self._warnings: list[tuple[warnings.WarningMessage, int]] = []
        self._caught: list[warnings.WarningMessage] = []
        self._function_parsers: list[FunctionParser] = []
        self._shape_names = 0
        # Functions as text of MLIR, and what the class holds in the order of the program: names of
        # functions, and numbers of texts.
        self._texts: list[str] = []
        self._text_nodes: list[ast.AST] = []
        self._order: list[str | int] = []
        self._text_operations: list[list[ir.Operation]] = []

    # -- entries ------------------------------------------------------------------------------

    def parse_class(self, node: ast.ClassDef, check_well_formed: bool = True) -> IRModule:
        """Return the module that a class stands for."""
        with self._parsing():
            self._class(node)
        module = self._finish(node, check_well_formed)
        module.name = node.name
        return module

    def parse_function(self, node: ast.FunctionDef, check_well_formed: bool = True) -> FreeFunction:
        """Return a function or kernel that stands alone."""
        with self._parsing():
            self._functions([node])
            name = self._name_by_symbol(node.name)
        module = self._finish(node, check_well_formed)
        return FreeFunction(module, name)

    def _name_by_symbol(self, name: str) -> str:
        """Give a function that stands alone the name that its attribute global_symbol states."""
        operation = IRModule(self.builder._module)[name].operation
        if (
            "global_symbol" not in operation.attributes
            or "function_type" not in operation.attributes
        ):
            return name
        new = str(operation.attributes["global_symbol"].value)
        operation.attributes["sym_name"] = ir.StringAttr.get(new)
        return new

    def _parsing(self) -> contextlib.ExitStack:
        stack = contextlib.ExitStack()
        stack.enter_context(state.parsing(self))
        stack.enter_context(self.builder._context)
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        assert caught is not None
        self._caught = caught
        warnings.simplefilter("always")
        return stack

    def note_warnings(self, node: ast.stmt) -> None:
        """Say that what was warned of until now is at a statement."""
        self._warnings += [(warning, node.lineno) for warning in self._caught]
        self._caught.clear()

    def _finish(self, node: Any, check_well_formed: bool) -> IRModule:
        self.note_warnings(node)
        for warning, line in self._warnings:
            warnings.warn_explicit(warning.message, warning.category, self.source.filename, line)
        fit_kernels(self.builder._module)
        if check_well_formed:
            for violation in well_formed(self.builder._module):
                if violation.rule != "WF12":  # other parts may be added
                    raise self.error_at(node, str(violation.location), violation.message)
        try:
            return IRModule(self.builder.get())
        except ir.MLIRError as error:
            raise self._invalid(node, error) from error

    def _invalid(self, node: ast.AST, error: ir.MLIRError) -> Exception:
        for diagnostic in error.error_diagnostics:
            return self.error_at(node, str(diagnostic.location), diagnostic.message)
        return self.error(node, error.message)

    def error_at(self, node: ast.AST, location: str, message: str) -> Exception:
        """Return the error that something is wrong at a location of MLIR, or else at a node."""
        place = re.search(re.escape(f'"{self.source.filename}"') + r":(\d+):(\d+)", location)
        if place is None:
            return self.error(node, message)
        line, column = int(place[1]), int(place[2])
        for found in ast.walk(node):
            if isinstance(found, (ast.expr, ast.stmt)):
                where = self.source.place(found)
                if where[:2] == (line, column):
                    return self.error(found, message)
        return self.source.error_at(line, column, message)

    # -- classes ------------------------------------------------------------------------------

    def _class(self, node: ast.ClassDef) -> None:
        for base in (*node.bases, *(keyword.value for keyword in node.keywords)):
            if not ast.unparse(base).endswith("BasePyModule"):  # that of TVM
                what = ast.unparse(base)
                raise self.error(base, f"expected a class of functions alone, but got {what}")
        with self.env.scope():
            self.env.bind(node.name, self.names)
            functions = []
            for statement in node.body:
                if isinstance(statement, ast.FunctionDef):
                    functions.append(statement)
                    self._order.append(self._rename(statement))
                else:
                    self._statement(statement)
            self._functions(functions)

    def _statement(self, node: ast.stmt) -> None:
        """Write what a class holds besides functions."""
        if isinstance(node, ast.Pass):
            return
        if isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                self.eval(node.value)
            self._text_nodes += [node] * (len(self._texts) - len(self._text_nodes))
            return
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            value = self.eval(node.value)
            with self.at(node.value):
                self._add(name, value)
            return
        raise self.error(node, "expected a decorated function, or a call such as I.module_attrs")

    def _add(self, name: str, value: Any) -> None:
        """Add a function that exists already, or bind a name of Python."""
        if isinstance(value, FreeFunction):
            value = self.add_function(name, value)
        elif callable(value):
            self.names.declare(name, value)
        self.env.bind(name, value)

    def add_text(self, text: str) -> None:
        """Add functions as text of MLIR."""
        self._order.append(len(self._texts))
        self._texts.append(text)

    def _rename(self, node: ast.FunctionDef) -> str:
        """Give a function the name that its decorator says, which need not be one of Python."""
        name = self.decorator(node).options.get("name", node.name)
        if not isinstance(name, str) or not name:
            raise self.error(node, f"expected the name of a function as name, but got {name!r}")
        node.name = name
        return name

    def add_function(self, name: str, function: FreeFunction) -> GlobalVar:
        """Add a function that exists already under a name."""
        IRModule(self.builder._module)[name] = function
        added: GlobalVar = self.names.declare(name)
        return added

    # -- functions ----------------------------------------------------------------------------

    def decorator(self, node: ast.FunctionDef | ast.ClassDef) -> Decorator:
        """Return the decorator of a definition.

        Raises
        ------
        ScriptError
            If there is nothing, or nothing that is known.
        """
        found = find_decorator(node)
        if found is not None:
            kind, target, keywords = found
            text = f"@{ast.unparse(target)}"
            options = {key.arg: self.eval(key.value) for key in keywords if key.arg is not None}
            for key in keywords:
                if key.arg is not None:
                    with self.at(key.value):
                        check_option(kind, text, key.arg, options[key.arg])
            return Decorator(kind, options, text)
        what = f"@{ast.unparse(node.decorator_list[0])}" if node.decorator_list else "nothing"
        raise self.error(
            node.decorator_list[0] if node.decorator_list else node,
            f"expected @R.function or @T.prim_func before '{node.name}', but got {what}",
        )

    def _functions(self, nodes: list[ast.FunctionDef]) -> None:
        decorators = {}
        for node in nodes:
            if node.name in decorators:
                raise self.error(node, f"expected a new name of a function, but got '{node.name}'")
            decorators[node.name] = self.decorator(node)
            if decorators[node.name].name == "pyfunc":
                warnings.warn(
                    f"'{node.name}' is a function of Python, so it is not part of the module; "
                    "programs call packed functions by name",
                    UserWarning,
                    stacklevel=2,
                )
                self.note_warnings(node)
            self.env.bind(node.name, self.names.declare(node.name))
        kernels = {n.name: n for n in nodes if decorators[n.name].name == "prim_func"}
        for node in in_order(kernels):
            tir.parse_prim_func(node, self.source, self.env, self.builder._module)
        relax = {n.name: n for n in nodes if decorators[n.name].name == "function"}
        self._add_texts(relax)
        for node in in_order(relax):
            options = decorators[node.name].options
            self._function(node, options, relax)
        self._restore_order(nodes)

    def _function(
        self, node: ast.FunctionDef, options: dict[str, Any], relax: dict[str, ast.FunctionDef]
    ) -> None:
        if constant_of(node.body[-1]) is Ellipsis:  # it is written elsewhere
            operation = self._declare(node, options)
            self._declared_attributes(node, operation)
            if options.get("private", False):
                operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
            return
        if node.returns is None and is_recursive(node, relax):
            raise self.error(node, recursive(node.name))
        declared = self._declare_others(node, relax)
        parser = FunctionParser(self)
        private = bool(options.get("private", False))
        pure = options.get("pure")
        parser.is_rfc = rfc.is_spelling(node)
        if pure is None:  # which the RFC does not know
            pure = not (parser.is_rfc and rfc.has_effects(node))
        try:
            with self.inside(parser):
                parser.function(node, bool(pure), private)
        finally:
            for operation in declared:
                operation.erase()

    @contextlib.contextmanager
    def inside(self, parser: FunctionParser) -> Iterator[None]:
        """Have a parser be the one of the function that is being read."""
        self._function_parsers.append(parser)
        try:
            yield
        finally:
            self._function_parsers.pop()

    def function_parser(self) -> FunctionParser:
        """Return the parser of the function that is being read.

        Raises
        ------
        ValueError
            If there is none.
        """
        if not self._function_parsers:
            raise ValueError("expected a macro to be called in a Relax function")
        return self._function_parsers[-1]

    def kernel_params(self, name: str) -> list[ir.Type]:
        """Return the types of the parameters of a kernel, or none for anything else."""
        kernel = tir.find_kernel(self.builder._module, name)
        return [] if kernel is None else list(kernel.type.inputs)

    def new_shape_name(self) -> str:
        """Return a name for a shape that the program does not name."""
        self._shape_names += 1
        return f"shape_{self._shape_names}"

    def _declare_others(
        self, node: ast.FunctionDef, nodes: dict[str, ast.FunctionDef]
    ) -> list[ir.Operation]:
        """Declare the functions that this one uses and that are not there yet."""
        there = IRModule(self.builder._module).functions
        declared = []
        for name in uses_of(node, nodes):
            if name in there or name == node.name:
                continue
            declared.append(self._declare(nodes[name], self.decorator(nodes[name]).options))
        return declared

    def _declare(self, node: ast.FunctionDef, options: dict[str, Any]) -> ir.Operation:
        """Write a function without its body."""
        with self.env.scope():
            signature = FunctionParser(self).signature(node)
        result = signature.result or ObjectStructInfo()
        inputs = [param.struct_info for param in signature.params]
        names = [param.name for param in signature.params]
        is_named = names != [f"arg{index}" for index in range(len(names))]
        with self.source.location(node), ir.InsertionPoint(self.builder._module.body):
            operation: ir.Operation = _ops.FuncOp(
                node.name,
                ir.TypeAttr.get(ir.FunctionType.get(inputs, [result])),
                is_pure=None if options.get("pure", True) else False,
                arg_names=names if is_named else None,
            ).operation
        return operation

    def _declared_attributes(self, node: ast.FunctionDef, operation: ir.Operation) -> None:
        """Give a declaration the attributes that its body states."""
        parser = FunctionParser(self)
        for statement in node.body[:-1]:
            call: Any = getattr(statement, "value", None)
            is_known = isinstance(call, ast.Call) and parser.eval(call.func) is func_attr
            if not is_known or len(call.args) != 1 or call.keywords:
                raise self.error(
                    statement, "expected nothing but R.func_attr({...}) and ... in a declaration"
                )
            with parser.at(statement):
                for name, value in dict(parser.eval(call.args[0])).items():
                    if name in operation.attributes:
                        raise ValueError(f"expected another name of an attribute than '{name}'")
                    operation.attributes[name] = attribute(name, value)

    def _add_texts(self, nodes: dict[str, ast.FunctionDef]) -> None:
        """Add the functions that are text of MLIR."""
        if not self._texts:
            return
        declared = [self._declare(node, self.decorator(node).options) for node in nodes.values()]
        try:
            self._text_operations = mlir_functions(self.builder._module, self._texts)
        except TextError as error:
            raise self.error(self._text_nodes[error.index], str(error)) from None
        for operation in declared:
            operation.erase()
        for operation in (op for operations in self._text_operations for op in operations):
            if "sym_name" in operation.attributes:
                self.names.declare(operation.attributes["sym_name"].value)

    def _restore_order(self, nodes: list[ast.FunctionDef]) -> None:
        """Put the functions in the order of the text."""
        functions = IRModule(self.builder._module).functions
        for item in self._order or [node.name for node in nodes]:
            if isinstance(item, int):
                for operation in self._text_operations[item]:
                    _move_last(operation)
            elif item in functions:
                _move_last(functions[item].operation)

    # -- what a module says of itself ---------------------------------------------------------

    def attributes(self) -> dict[str, ir.Attribute]:
        """Return the attributes of the module."""
        return IRModule(self.builder._module).attrs

    def set_attribute(self, name: str, value: Any) -> None:
        """Set an attribute of the module."""
        IRModule(self.builder._module).set_attr(name, attribute(name, value))

    def set_global_infos(self, infos: dict[str, Any]) -> None:
        """List virtual devices and meshes of the module, and infos without content."""
        module = self.builder._module
        if self.vdevices or self.meshes or DUMMY_GLOBAL_INFO in module.operation.attributes:
            raise ValueError("expected I.module_global_infos once in a module")
        dummies: dict[str, int] = {}
        for key, value in infos.items():
            listed = value if isinstance(value, (list, tuple)) else [value]
            for index, info in enumerate(listed):
                if isinstance(info, DummyGlobalInfo):
                    dummies[key] = dummies.get(key, 0) + 1
                    continue
                if isinstance(info, DeviceMesh):
                    self.meshes.setdefault(key, []).append(info)
                    continue
                if not isinstance(info, VDevice):
                    raise TypeError(
                        f"expected I.vdevice(...), R.device_mesh(...) or I.dummy_global_info() in "
                        f"{key!r}, but got {info!r}"
                    )
                name = f"{key}{index}" if len(listed) > 1 or key == "vdevice" else key
                self.vdevices[name] = info
        if self.vdevices:
            set_global_info(module, self.vdevices)
        if self.meshes:
            set_device_meshes(module, self.meshes)
        if dummies:
            module.operation.attributes[DUMMY_GLOBAL_INFO] = attribute("dummies", dummies)

    def add_vdevice(self, device: VDevice) -> str:
        """Add a virtual device, and return its name."""
        name = next(f"vdevice{i}" for i in itertools.count() if f"vdevice{i}" not in self.vdevices)
        self.vdevices[name] = device
        set_global_info(self.builder._module, self.vdevices)
        return name


def _move_last(operation: ir.Operation) -> None:
    last = list(operation.block)[-1].operation
    if last != operation:
        operation.move_after(last)
