"""A stand-in of the package ``tvm`` in which TVM's tests of passes run.

Its names are those of `relax_mlir`, where that has them. What is not there is a `Lacking`: a test
may name it, and an error says so where it is called.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import transform_objects as objects
import tvm_ffi
from mlir import ir
from relax_mlir import script
from stand_in import Stub
from transform_equality import assert_structural_equal, structural_equal
from transform_objects import LacksError


class Lacking(Stub):
    """Something that is not here: a test may name it, but not call it."""

    is_importing = True

    def __init__(self, name: str, reason: str = "") -> None:
        super().__init__(name)
        self._reason = reason

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Lacking(f"{self._name}.{name}", self._reason)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if len(args) == 1 and (inspect.isfunction(args[0]) or inspect.isclass(args[0])):
            return args[0]  # as a decorator
        if not Lacking.is_importing:
            raise LacksError(self._reason or self._name)
        return Lacking(f"{self._name}()", self._reason)

    def __enter__(self) -> Any:
        raise LacksError(self._reason or self._name)

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (_base_of(self._name),)


def _base_of(name: str) -> type:
    """Return the base of a class of a test that derives from something that is not here."""

    class Base:
        def __init__(self, *args: Any, **keywords: Any) -> None:
            raise LacksError(name)

    return Base


# Errors of Python that no test expects of a pass.
_MISTAKES = (AttributeError, ImportError, KeyError, LacksError, NameError)


class _AnyError(type):
    """The class of an error of TVM, which any error in words of ours is."""

    def __instancecheck__(cls, value: Any) -> bool:
        return cls.__subclasscheck__(type(value))

    def __subclasscheck__(cls, other: Any) -> bool:
        return issubclass(other, Exception) and not issubclass(other, _MISTAKES)


class TVMError(Exception, metaclass=_AnyError):
    """An error of TVM."""


class _Module(types.ModuleType):
    """A module: names of its own, then those of modules of ours, then modules inside of it."""

    __path__: list[str] = []  # noqa: RUF012 (as Python's modules have it)
    _places: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        reason = ""
        if f"{self.__name__}.{name}" in HERE:
            return importlib.import_module(f"{self.__name__}.{name}")
        for place in self._places:
            try:
                return getattr(place, name)
            except AttributeError as error:
                reason = str(error) if "has no pass" in str(error) else reason
        return Lacking(f"{self.__name__}.{name}", reason)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of ``tvm``, whatever their names."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return where a module is."""
        if name.split(".")[0] != "tvm":
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        """Return a module of the stand-in."""
        return _Module(spec.name)

    def exec_module(self, module: Any) -> None:
        """Fill it."""
        names, places = HERE.get(module.__name__, ({}, ()))
        module.__dict__.update(names)
        module._places = places


# -- targets ---------------------------------------------------------------------------------------


class Target:
    """A target by its text or its mapping."""

    def __init__(self, target: Any = "llvm", host: Any = None) -> None:
        self._target = target

    def __str__(self) -> str:
        return str(self._target)

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *args: object) -> None:
        return None


def _compile(mod: Any, target: Any = "llvm", **keywords: Any) -> Any:
    return relax.compile(mod, **keywords)


def _convert_layout(layouts: Any, callback: Any = None) -> Any:
    if callback is not None:
        raise LacksError("tvm.relax.transform.ConvertLayout with a callback")
    return relax.transform.ConvertLayout(layouts)


def _tir_var(name: str, dtype: str = "int64") -> Any:
    if dtype != "int64":
        raise LacksError(f"tvm.tirx.Var of {dtype}")
    return relax.shape_var(name)


# -- tests ----------------------------------------------------------------------------------------


def _raises(expected: Any, *args: Any, match: Any = None, **keywords: Any) -> Any:
    """Expect an error of a pass, whose class and words are others here."""
    return _RAISES(TVMError, *args, **keywords)


_RAISES = pytest.raises


def _parameter(*values: Any, ids: Any = None, by_dict: Any = None) -> Any:
    """Return a fixture of each of some values."""
    if by_dict is not None:
        ids, values = list(by_dict), tuple(by_dict.values())

    def fixture(request: Any) -> Any:
        return request.param

    return pytest.fixture(params=values, ids=ids)(fixture)


def _fixture(function: Any = None, **keywords: Any) -> Any:
    return pytest.fixture(function) if function else pytest.fixture


def _parametrize_targets(*targets: Any) -> Callable[[Any], Any]:
    return pytest.mark.parametrize("target, dev", [(target, relax.cpu()) for target in targets])


def _requires(*args: Any, **keywords: Any) -> Any:
    mark = pytest.mark.skip("needs what this machine may not have")
    return mark(args[0]) if args and inspect.isfunction(args[0]) else mark


def _no(*args: Any, **keywords: Any) -> bool:
    return False


_ENV = types.SimpleNamespace(has_gpu=_no, has_cuda=_no, has_llvm=lambda: True)

_EQUAL = {"assert_structural_equal": assert_structural_equal, "structural_equal": structural_equal}
_RELAX = {
    "Call": objects.Call,
    "ExprMutator": Lacking("tvm.relax.ExprMutator"),
    "Function": objects.Function,
    "StructInfo": ir.Type,
    "Var": objects.Var,
    "VirtualMachine": lambda executable, *rest, **keywords: relax.VirtualMachine(executable),
    **{name: getattr(script.relax, name) for name in script.relax.__all__ if "call_" in name},
}
_MODULE = {"IRModule": objects.IRModule}
_IR = {**_EQUAL, **_MODULE, "Op": objects.Op, "VDevice": script.ir.vdevice}
_TRANSFORM = {"ConvertLayout": _convert_layout}
_FFI = {
    name: getattr(tvm_ffi, name)
    for name in ("register_global_func", "get_global_func", "register_object")
}

# The names of each module, and the modules of ours that have more of them.
HERE: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "tvm": (
        {
            **_MODULE,
            **_FFI,
            "TVMError": TVMError,
            "DataType": str,
            "compile": _compile,
            "cpu": script.relax.cpu,
            "device": script.relax.device,
        },
        (),
    ),
    "tvm.error": ({"TVMError": TVMError, "InternalError": TVMError}, ()),
    "tvm.ir": (_IR, (relax,)),
    "tvm.ir.base": (_EQUAL, ()),
    "tvm.ir.module": (_MODULE, ()),
    "tvm.ir.transform": ({}, (relax.transform,)),
    "tvm.transform": ({}, (relax.transform,)),
    "tvm.relax": (_RELAX, (relax, relax.op)),
    "tvm.relax.analysis": ({}, (relax.analysis,)),
    "tvm.relax.backend": ({}, (relax.backend,)),
    "tvm.relax.block_builder": ({}, (relax,)),
    "tvm.relax.dpl": ({}, (relax.dpl,)),
    "tvm.relax.dpl.pattern": ({}, (relax.dpl,)),
    "tvm.relax.expr": (_RELAX, (relax,)),
    "tvm.relax.expr_functor": ({}, (relax.expr_functor,)),
    "tvm.relax.op": ({}, (relax.op,)),
    "tvm.relax.struct_info": ({}, (relax,)),
    "tvm.relax.testing": ({}, ()),
    "tvm.relax.training": ({}, (relax.training,)),
    "tvm.relax.training.utils": ({}, (relax.training.utils,)),
    "tvm.relax.transform": (_TRANSFORM, (relax.transform,)),
    "tvm.relax.transform.transform": (_TRANSFORM, (relax.transform,)),
    "tvm.runtime": (
        {"tensor": lambda array, *device: relax.runtime.tensor(array)},
        (relax.runtime, tvm_ffi),
    ),
    "tvm.script": ({"tirx": script.tir, "relax": script.relax, "ir": script.ir}, (script,)),
    "tvm.script.parser": ({"tirx": script.tir, "relax": script.relax, "ir": script.ir}, ()),
    "tvm.target": ({"Target": Target}, ()),
    "tvm.te": ({}, (relax.te,)),
    "tvm.tirx": ({"Var": _tir_var}, (script.tir, relax.tir)),
    "tvm.topi": ({}, (relax.topi,)),
    "tvm.testing": (
        {
            "assert_allclose": np.testing.assert_allclose,
            "env": _ENV,
            "fixture": _fixture,
            "parameter": _parameter,
            "parametrize_targets": _parametrize_targets,
            "requires_cuda": _requires,
            "requires_gpu": _requires,
        },
        (),
    ),
    "tvm.testing.env": (vars(_ENV), ()),
}


def install() -> None:
    """Have ``import tvm`` find the stand-in, for good."""
    sys.meta_path.insert(0, Finder())
    pytest.raises = _raises
    objects.install()
