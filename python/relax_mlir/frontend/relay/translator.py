# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of Relay as functions of Relax.

Each is written once for the types that it is called with, after those that it calls, so that what
is known of the dimensions of their results is known to it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...builder.block_builder import BlockBuilder
from ...core.expr import GlobalVar
from ...core.expr import Var as RelaxVar
from ...core.ir import FuncStructInfo
from ...core.ir_module import IRModule
from . import ast
from .ast import Function, FuncType, Module, Type
from .bodies import Body, Context, Env, inlined_vars, param_names
from .inference import Inference
from .struct_info import names
from .unification import substituted


class Instance(NamedTuple):
    """A function for given types.

    Parameters
    ----------
    name : str
        That of Relay.
    type_args : tuple of Type
        What its type parameters are.
    """

    name: str
    type_args: tuple[Type, ...] = ()


class Translator:
    """Writes the functions of a module that are needed.

    Parameters
    ----------
    module : Module
        In A-normal form.
    entries : sequence of str
        The functions that can be called from outside. They have no type parameters.
    types : mapping of int to Type or None
        The types of their parameters, by identity, as far as known.
    params : mapping of str to numpy.ndarray
        Parameters of the entries that are constants.
    """

    def __init__(
        self,
        module: Module,
        entries: Sequence[str],
        types: Mapping[int, Type | None],
        params: Mapping[str, np.ndarray],
    ) -> None:
        self._module, self._entries, self._params = module, entries, params
        self._inference = Inference(module, entries, types)
        self._is_pure = not any(
            _has_effect(expr)
            for name in self._inference.functions
            for expr in ast.post_order(module.functions[name])
        )
        self._builder = BlockBuilder()
        self._fresh = names("n")
        self._names: dict[Instance, str] = {}
        self._written: set[Instance] = set()
        self._called: dict[Instance, list[Instance]] = {}

    def run(self) -> IRModule:
        """Return the module of Relax."""
        stack = [(Instance(entry), False) for entry in reversed(self._entries)]
        while stack:
            instance, is_ready = stack.pop()
            if is_ready:
                self._write(instance)
            elif instance not in self._names:
                self._names[instance] = self._unique_name(instance)
                stack.append((instance, True))
                stack.extend((callee, False) for callee in self._callees(instance))
        return self._builder.get()

    # -- instances --------------------------------------------------------------------------------

    def _unique_name(self, instance: Instance) -> str:
        if not instance.type_args:
            return instance.name
        taken = {*self._names.values(), *self._module.functions}
        candidates = (f"{instance.name}_{i}" for i in range(len(taken) + 1))
        return next(name for name in candidates if name not in taken)

    def _types(self, instance: Instance) -> dict[ast.TypeVar, Type]:
        """Return what the type parameters of a function are."""
        type_params = self._module.functions[instance.name].type_params
        return dict(zip(type_params, instance.type_args, strict=True))

    def _instance(self, use: ast.GlobalVar, around: Mapping[ast.TypeVar, Type]) -> Instance:
        args = self._inference.type_args(use)
        return Instance(use.name, tuple(substituted(arg, around) for arg in args))

    def _callees(self, instance: Instance) -> list[Instance]:
        """Return what a function calls, or passes on."""
        if instance not in self._called:
            types = self._types(instance)
            self._called[instance] = [
                self._instance(expr, types)
                for expr in ast.post_order(self._module.functions[instance.name])
                if isinstance(expr, ast.GlobalVar)
            ]
        return self._called[instance]

    def _is_recursive(self, instance: Instance) -> bool:
        """Say whether a function may call itself; then it states its result."""
        seen: set[Instance] = set()
        stack = [*self._callees(instance)]
        while stack:
            callee = stack.pop()
            if callee == instance:
                return True
            if callee not in seen:
                seen.add(callee)
                stack.extend(self._callees(callee))
        return False

    # -- functions --------------------------------------------------------------------------------

    def _write(self, instance: Instance) -> None:
        function = self._module.functions[instance.name]
        is_entry = instance.name in self._entries
        constants = self._params if is_entry else {}
        context = self._context(instance)
        given = [param for param in function.params if param.name not in constants]
        types = [self._inference.type_of(param) for param in given]
        params = [
            RelaxVar(name, context.param_info(type_))
            for name, type_ in zip(param_names(given), types, strict=True)
        ]
        result = None
        if self._is_recursive(instance):
            result = context.result_info(self._inference.result_of(function))
        with self._builder.function(
            self._names[instance],
            params,
            pure=self._is_pure,
            private=not is_entry,
            ret_struct_info=result,
        ):
            env: Env = ChainMap(
                {
                    id(param): constants[param.name]
                    for param in function.params
                    if param.name in constants
                }
            )
            env.update((id(k), v.value) for k, v in zip(given, params, strict=True))
            self._write_body(function, Body(context), env)
        self._written.add(instance)

    def _write_body(self, function: Function, body: Body, env: Env) -> None:
        if not _is_straight(function.body):
            self._builder.emit_func_output(body.block(function.body, env))
            return
        with self._builder.dataflow():
            output = self._builder.emit_output(body.block(function.body, env))
        self._builder.emit_func_output(output)

    def _context(self, instance: Instance) -> Context:
        types = self._types(instance)

        def function(use: ast.GlobalVar) -> GlobalVar:
            return self._callee(self._instance(use, types))

        return Context(
            builder=self._builder,
            types=self._module.types,
            inference=self._inference,
            type_args=types,
            is_pure=self._is_pure,
            fresh=self._fresh,
            function=function,
            inlined=inlined_vars(self._module.functions[instance.name]),
        )

    def _callee(self, instance: Instance) -> GlobalVar:
        """Return a function, which may not be written yet."""
        name = self._names[instance]
        if instance in self._written:
            return GlobalVar(name)
        context = self._context(instance)
        signature: FuncType = self._inference.signature(instance.name)
        params = [context.param_info(param) for param in signature.params]
        result = context.result_info(signature.result)
        return GlobalVar(name, FuncStructInfo(params, result, purity=self._is_pure))


def _is_straight(body: ast.Expr) -> bool:
    """Say whether a body has no branches, functions, and calls of functions."""
    while isinstance(body, ast.Let):
        value = body.value
        if isinstance(value, ast.Call):
            if not isinstance(value.op, ast.OpRef):
                return False
        elif not isinstance(value, ast.Tuple | ast.TupleGetItem | ast.Constant | ast.Var):
            return False
        body = body.body
    return isinstance(body, ast.Var | ast.Constant)


def _has_effect(expr: ast.Expr) -> bool:
    """Say whether an expression may end the program, or depends on what happened before."""
    if isinstance(expr, ast.Match):
        return not expr.complete
    return isinstance(expr, ast.RefCreate | ast.RefRead | ast.RefWrite)
