"""A stand-in of the package ``tvm`` in which TVM's tests of Relay run.

TVM's Python that makes programs is executed from the checkout; `relay_functions` has what it calls
of C++. What is in neither is a `Lacking`, which raises an error where a test calls it.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import relay_run
from relay_functions import (
    FUNCTIONS,
    Context,
    Pass,
    free_vars,
    gradient,
    of_relax,
    operator,
    passes,
    registered,
)
from relay_makers import Makers
from relay_nodes import Array, Dim, IntImm, LacksError, Object, converted, node
from stand_in import Stub

# Modules that are executed from the checkout.
_TAKEN = re.compile(
    r"tvm\.(ir(\.(adt|attrs|base|expr|function|module|op|tensor_type|type|type_relation))?"
    r"|relay(\.(base|ty|expr|function|adt|scope_builder|loops|prelude|parser|expr_functor"
    r"|type_functor|backend\.interpreter|qnn(\.op(\.(qnn|op))?)?"
    r"|testing(\.(nat|init|layers|mlp|resnet|dcgan|mobilenet|lstm|squeezenet|vgg|densenet|dqn"
    r"|inception_v3|resnet_3d|synthetic|temp_op_attr))?))?"
    r"|relay\.op(\.(op_attrs|tensor|transform|reduce|algorithm|nn|nn\.nn|nn\.utils|image"
    r"|image\.image|vision|vision\.(multibox|nms|rcnn|yolo)|dyn|dyn\.nn|dyn\.image|random"
    r"|random\.kernel|annotation|annotation\.annotation))?"
    r"|topi\.testing(\.\w+)?|topi\.(utils|nn\.(utils|qnn))|testing\.(utils|plugin))"
    r"|tvm\..*\.(_make|_backend|_requantize|_ffi_\w+)"
)


class Lacking(Stub):
    """Something that is not here: a test may name it, but not call it."""

    is_importing = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Lacking(f"{self._name}.{name}")

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if len(args) == 1 and (inspect.isfunction(args[0]) or inspect.isclass(args[0])):
            return args[0]  # as a decorator
        if not Lacking.is_importing:
            raise LacksError(self._name)
        return Lacking(f"{self._name}()")

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (_Base,)


class _Base(Object):
    """What a class of a test has that derives from something that is not here."""

    def __enter__(self) -> _Base:
        return self

    def __exit__(self, *args: object) -> None:
        return None


class _Module(types.ModuleType):
    """A module, whatever is named of it."""

    __path__: list[str] = []  # noqa: RUF012 (as Python's modules have it)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(f"{self.__name__}.{name}")
        return Lacking(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        # A function that has the name of its module.
        return Lacking(self.__name__)(*args, **keywords)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of ``tvm``.

    Parameters
    ----------
    checkout : Path
    """

    def __init__(self, checkout: Path) -> None:
        self._root = checkout / "python"

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return where a module is."""
        if name.split(".")[0] != "tvm":
            return None
        place = self._root.joinpath(*name.split("."))
        if _TAKEN.fullmatch(name):
            for file in (place / "__init__.py", place.with_suffix(".py")):
                if file.exists():
                    return importlib.util.spec_from_file_location(name, file)
        if name in HERE or place.is_dir() or place.with_suffix(".py").exists():
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> Any:
        """Return a module of the stand-in."""
        return _Module(spec.name)

    def exec_module(self, module: Any) -> None:
        """Fill it."""
        module.__dict__.update(HERE.get(module.__name__, dict)())


def _function(name: str, makers: Makers) -> Any:
    """Return a function of C++ by the name that TVM registers it with."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    return (lambda *args: _call(name, makers, args)) if name in makers else Lacking(name)


def _call(name: str, makers: Makers, args: Any) -> Any:
    """Make the call of an operator."""
    from tvm import relay

    made = makers(name, [converted(arg) for arg in args])
    attrs = node(sys.modules["tvm.ir"].Attrs, **{k: converted(v) for k, v in made.attrs.items()})
    return relay.Call(operator(made.name), made.args, attrs)


# -- what the modules have ------------------------------------------------------------------------


def _ffi() -> dict[str, Any]:
    def init_api(prefix: str, module: str = "") -> None:
        def get(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return _function(f"{prefix}.{name}", makers)

        sys.modules[module].__dict__["__getattr__"] = get

    makers = Makers(_FINDER[0]._root.parent)
    return {
        "_init_api": init_api,
        "register_object": _register_object,
        "register_func": _register_func,
        "get_global_func": lambda name, *rest, **options: _function(name, makers),
    }


def _register_object(key: Any = None) -> Any:
    def register(cls: type) -> type:
        if cls.__hash__ is None:
            cls.__hash__ = Object.__hash__  # by identity, also where types are equal
        return cls

    return register(key) if inspect.isclass(key) else register


def _register_func(name: Any, function: Any = None, override: bool = False) -> Any:
    register = registered(name)
    return register(function) if function is not None else register


def _array(array: Any, device: Any = None, **keywords: Any) -> relay_run.NDArray:
    return relay_run.NDArray(np.array(getattr(array, "_array", array)))


def _empty(shape: Any, dtype: str = "float32", *rest: Any) -> relay_run.NDArray:
    return relay_run.NDArray(np.zeros([int(dim) for dim in shape], dtype))


def _ndarray() -> dict[str, Any]:
    others = ("cuda", "gpu", "rocm", "opencl", "cl", "vulkan", "metal", "mtl", "vpi", "hexagon")
    return {
        "NDArray": relay_run.NDArray,
        "Device": relay_run.Device,
        "array": _array,
        "empty": _empty,
        "cpu": lambda *rest: _device("cpu"),
        "device": lambda name, *rest: _device(str(name)),
        **{name: (lambda *args, name=name, **rest: _device(name)) for name in others},
    }


def _device(name: str) -> Any:
    device = relay_run.Device()
    device.exist = name.split()[0] in ("llvm", "cpu")
    return device


class Target:
    """The processor, as TVM names it."""

    def __init__(self, target: Any = "llvm", *args: Any, **keywords: Any) -> None:
        self._text = str(target)
        self.kind = types.SimpleNamespace(name=self._text.split()[0])
        self.attrs: dict[str, Any] = {}

    @staticmethod
    def current(*args: Any) -> Any:
        """Return none: no target is set."""
        return None

    def __str__(self) -> str:
        return self._text

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *args: object) -> None:
        return None


def _scalar(value: Any, dtype: str = "int32", *rest: Any) -> Any:
    return IntImm(value) if "int" in dtype or dtype == "bool" else float(value)


def _var(name: str = "n", dtype: str = "int32", *rest: Any) -> Dim:
    return Dim(name, dtype)


def _dim(*args: Any) -> Dim:
    return Dim()


def _limits(dtype: str) -> Any:
    return np.iinfo(dtype) if "int" in dtype else np.finfo(dtype)


_CONTAINERS = {"Array": Array, "Map": dict, "String": str, "ADT": relay_run.ADT}


def _executors() -> dict[str, Any]:
    executors = importlib.import_module("relay_executors")
    return vars(executors)


HERE: dict[str, Callable[[], dict[str, Any]]] = {
    "tvm": lambda: {
        "TVMError": RuntimeError,
        "register_func": _register_func,
        "runtime": importlib.import_module("tvm.runtime"),
        "nd": importlib.import_module("tvm.runtime.ndarray"),
        "support": types.SimpleNamespace(libinfo=lambda: _Flags()),
        **_ndarray(),
        "IRModule": importlib.import_module("tvm.ir").IRModule,
        "get_global_func": sys.modules["tvm._ffi"].get_global_func,
    },
    "tvm._ffi": _ffi,
    "tvm._ffi.base": lambda: {
        "string_types": (str,),
        "numeric_types": (int, float, np.generic),
        "TVMError": RuntimeError,
    },
    "tvm.error": lambda: {"TVMError": RuntimeError, "DiagnosticError": RuntimeError},
    "tvm.runtime": lambda: {
        "Object": Object,
        "Scriptable": type("Scriptable", (), {}),
        "convert": converted,
        "const": _scalar,
        "enabled": lambda name: name == "llvm",
        **_ndarray(),
    },
    "tvm.runtime.object": lambda: {"Object": Object},
    "tvm.runtime.ndarray": _ndarray,
    "tvm.nd": _ndarray,
    "tvm.runtime.container": lambda: {
        **_CONTAINERS,
        "tuple_object": lambda fields: relay_run.ADT(0, fields),
    },
    "tvm.ir.container": lambda: _CONTAINERS,
    "tvm.ir.transform": lambda: {"Pass": Pass, "Sequential": Pass, "PassContext": Context},
    "tvm.transform": lambda: {"Pass": Pass, "Sequential": Pass, "PassContext": Context},
    "tvm.relay.op.op": lambda: {"get": operator},
    "tvm.relay.transform": lambda: {
        "__getattr__": passes,
        "gradient": gradient,
        "build_config": Context,
    },
    "tvm.relay.qnn.transform": lambda: {"__getattr__": passes},
    "tvm.relax": lambda: {"__getattr__": of_relax},
    "tvm.relay.analysis": lambda: {"free_vars": free_vars},
    "tvm.relay.build_module": _executors,
    "tvm.relay.backend.vm": lambda: {"compile": _executors()["build"]},
    "tvm.contrib.graph_executor": lambda: {
        "GraphModule": _executors()["GraphModule"],
        "create": lambda graph, *rest, **options: _executors()["GraphModule"](graph),
    },
    "tvm.runtime.vm": lambda: {
        "VirtualMachine": importlib.import_module("relay_executors").VirtualMachine
    },
    "tvm.target.codegen": lambda: {"llvm_version_major": lambda *rest: 99},
    "tvm.target": lambda: {"Target": Target},
    "tvm.target.target": lambda: {"Target": Target},
    "tvm.te": lambda: {
        "var": _var,
        "size_var": _var,
        "min_value": lambda dtype: types.SimpleNamespace(value=_limits(dtype).min),
        "max_value": lambda dtype: types.SimpleNamespace(value=_limits(dtype).max),
        "round": lambda value: Dim(),
    },
    "tvm.relay.backend.te_compiler": lambda: {
        "get": lambda: types.SimpleNamespace(clear=lambda: None)
    },
    "tvm.contrib.cudnn": lambda: {"exists": lambda: False},
    "tvm.tir": lambda: {
        "Cast": _dim,
        "indexdiv": _dim,
        "const": _scalar,
        "IntImm": IntImm,
        "FloatImm": float,
        "Any": Dim,
        "Var": Dim,
    },
    "tvm.tir.expr": lambda: {"IntImm": IntImm, "FloatImm": float, "Any": Dim, "Var": Dim},
    "tvm.testing": lambda: {
        "enabled_targets": lambda: [("llvm", relay_run.Device())],
        **{
            name: value
            for name, value in vars(importlib.import_module("tvm.testing.utils")).items()
            if not name.startswith("__")
        },
    },
}


class _Flags(dict):
    def __missing__(self, key: str) -> str:
        return "ON" if key == "USE_LLVM" else "OFF"


_FINDER: list[Finder] = []


def install(checkout: Path) -> None:
    """Have ``import tvm`` find the stand-in, with the Python of a checkout."""
    _FINDER.append(Finder(checkout))
    sys.meta_path.insert(0, _FINDER[0])
