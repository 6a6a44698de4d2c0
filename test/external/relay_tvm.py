"""A stand-in of the package ``tvm`` in which TVM's tests of Relay run.

TVM's Python that makes programs is executed from the checkout; here is what it calls of C++. What
is in neither is a `Lacking`, which raises an error where a test calls it.
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
from relax_mlir.frontend.relay import ast, parse, parse_expr, structurally_equal
from relay_makers import Makers
from relay_nodes import Array, Dim, IntImm, LacksError, Object, Translation, converted, node
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


# -- functions of C++ -----------------------------------------------------------------------------

_FUNCTIONS: dict[str, Any] = {}


def _registered(name: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        _FUNCTIONS[name] = function
        return function

    return register


def _function(name: str, makers: Makers) -> Any:
    """Return a function of C++ by the name that TVM registers it with."""
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    return (lambda *args: _call(name, makers, args)) if name in makers else Lacking(name)


def _call(name: str, makers: Makers, args: Any) -> Any:
    """Make the call of an operator."""
    from tvm import relay

    made = makers(name, [converted(arg) for arg in args])
    attrs = node(sys.modules["tvm.ir"].Attrs, **{k: converted(v) for k, v in made.attrs.items()})
    return relay.Call(_op(made.name), made.args, attrs)


@_registered("ir.GetOp")
def _op(name: str) -> Any:
    known = _OPS.get(name)
    if known is None:
        known = _OPS[name] = node(sys.modules["tvm.ir"].Op, name=name)
    return known


_OPS: dict[str, Any] = {}


for _name in ("Get", "Set", "Reset"):
    _registered(f"ir.Op{_name}Attr")(
        lambda *args: None
    )  # strategies of TVM, of which there are none
_registered("ir.OpHasAttr")(lambda *args: False)


@_registered("node.MakeNode")
def _make_node(key: str, *fields: Any) -> Any:
    ir = sys.modules["tvm.ir"]
    cls = ir.DictAttrs if key == "DictAttrs" else ir.Attrs
    return node(cls, **{k: converted(v) for k, v in zip(fields[::2], fields[1::2], strict=True)})


_registered("ir.BaseFunc_Attrs")(lambda function: function.__dict__["attrs"])


@_registered("ir.BaseFuncCopy")
def _copy(function: Any) -> Any:
    return node(type(function), **function.__dict__)


@_registered("ir.BaseFuncWithAttr")
def _with_attr(function: Any, key: str, value: Any) -> Any:
    attrs = node(type(function.attrs), **{**function.attrs.__dict__, key: value})
    return node(type(function), **{**function.__dict__, "attrs": attrs})


_registered("ir.DictAttrsGetDict")(lambda attrs: attrs.__dict__)


@_registered("node.StructuralEqual")
def _equal(one: Any, other: Any, is_asserted: bool = False, map_free_vars: bool = False) -> bool:
    """Compare types, which only counts; and programs."""
    if hasattr(one, "functions"):
        raise LacksError("comparison of modules")
    translation = Translation()
    if isinstance(one, relay_run.AnyType) or isinstance(other, relay_run.AnyType):
        return True
    if isinstance(one, sys.modules["tvm.ir"].Type):
        relay_run.compare_types(translation.type(one), translation.type(other), one, other)
        return True
    return structurally_equal(translation.expr(one), translation.expr(other))


@_registered("relay.ir.Any")
def _any() -> Dim:
    return Dim()


@_registered("relay.ir.IsDynamic")
def _is_dynamic(type_: Any) -> bool:
    return any(isinstance(dim, Dim) for dim in type_.shape)


@_registered("relay.ir.AsText")
@_registered("relay.ir.PrettyPrint")
def _text(expr: Any, *rest: Any) -> str:
    from relax_mlir.frontend.relay import to_text

    return to_text(Translation().expr(expr))


@_registered("relay.ir.Bind")
def _bind(expr: Any, binds: Any) -> Any:
    from tvm import relay

    body = expr.body if isinstance(expr, relay.Function) else expr
    for var, value in binds.items():
        body = relay.Let(var, value, body)
    if body is not expr and isinstance(expr, relay.Function):
        params = [param for param in expr.params if all(param is not var for var in binds)]
        return relay.Function(params, body, expr.ret_type, expr.type_params)
    return body


# -- modules of programs --------------------------------------------------------------------------


def _global(module: Any, name: str) -> Any:
    return next((var for var in module.functions if var.name_hint == name), None)


@_registered("ir.Module_Add")
def _add(module: Any, var: Any, function: Any, update: bool = False) -> None:
    module.functions[_global(module, var.name_hint) or var] = function


@_registered("ir.Module_AddDef")
def _add_type(module: Any, header: Any, data: Any, update: bool = False) -> None:
    module.type_definitions[header] = data
    for index, constructor in enumerate(data.constructors):
        constructor.__dict__["tag"] = 1000 * len(module.type_definitions) + index


@_registered("ir.Module_LookupTag")
def _by_tag(module: Any, tag: int) -> Any:
    types = module.type_definitions.values()
    return next(one for data in types for one in data.constructors if one.tag == tag)


@_registered("ir.Module_LookupDef")
def _type_data(module: Any, header: Any) -> Any:
    return module.type_definitions[header]


@_registered("ir.Module_GetGlobalVar")
def _get_global(module: Any, name: str) -> Any:
    var = _global(module, name)
    if var is None:
        raise ValueError(f"no function @{name}")
    return var


@_registered("ir.Module_GetGlobalTypeVar")
def _get_type(module: Any, name: str) -> Any:
    found = [var for var in module.type_definitions if var.name_hint == name]
    if not found:
        raise ValueError(f"no type {name}")
    return found[0]


@_registered("ir.Module_Lookup_str")
def _lookup(module: Any, name: str) -> Any:
    return module.functions[_get_global(module, name)]


_registered("ir.Module_ContainGlobalVar")(lambda module, name: _global(module, name) is not None)
_registered("ir.Module_GetGlobalTypeVars")(lambda module: list(module.type_definitions))
_registered("ir.Module_GetGlobalVars")(lambda module: list(module.functions))
_registered("ir.Module_Contains")(
    lambda module, var: _global(module, getattr(var, "name_hint", var)) is not None
)
_registered("ir.Module_Lookup")(lambda module, var: _lookup(module, var.name_hint))
_registered("ir.Module_UpdateFunction")(_add)


@_registered("ir.Module_Update")
def _update(module: Any, other: Any) -> None:
    for var, function in other.functions.items():
        _add(module, var, function)
    for header, data in other.type_definitions.items():
        module.type_definitions[header] = data


@_registered("ir.Module_Clone")
def _clone(module: Any) -> Any:
    copy = sys.modules["tvm.ir"].IRModule()
    _update(copy, module)
    return copy


@_registered("ir.Module_FromExpr")
def _from_expr(expr: Any, functions: Any, types_: Any) -> Any:
    from tvm import relay

    module = sys.modules["tvm.ir"].IRModule(functions or None, types_ or None)
    main = expr if isinstance(expr, relay.Function) else relay.Function(free_vars(expr), expr)
    _add(module, _global(module, "main") or sys.modules["tvm.ir"].GlobalVar("main"), main)
    return module


@_registered("ir.Module_ImportFromStd")
def _import_std(module: Any, name: str) -> None:
    path = sys.modules["tvm.relay.base"].__STD_PATH__
    _parse_into(module, Path(path, name).read_text())


@_registered("relay.parser.ParseModuleInContext")
def _parse(name: str, source: str, module: Any, table: Any) -> Any:
    if table:
        raise LacksError("a table of metadata")
    module = _clone(module) if module is not None else sys.modules["tvm.ir"].IRModule()
    _parse_into(module, source)
    return module


def _parse_into(module: Any, source: str) -> None:
    """Add the definitions of a text, which may use those of the module."""
    before = Translation(module).module
    for var, function in module.functions.items():
        if "_program" in function.__dict__:
            before.functions[var.name_hint] = function.__dict__["_program"]
    known = {*before.functions, *before.types}
    program = parse(source, module=before)
    functions = {name: f for name, f in program.functions.items() if name not in known}
    definitions = {name: one for name, one in program.types.items() if name not in known}
    _update(module, _module_node(ast.Module(functions, definitions)))


@_registered("relay.parser.ParseExpr")
def _parse_expr(name: str, source: str) -> Any:
    return _expr_node(parse_expr(source))


class Parsed(Object):
    """An expression that our parser has read."""


def _expr_node(expr: Any) -> Any:
    """Return an expression of a text as a node, of which tests see little."""
    from tvm import relay

    if not isinstance(expr, ast.Function):
        return node(type("Parsed", (Parsed, relay.expr.ExprWithOp), {}), _program=expr)
    params = [
        node(relay.Var, _program=param, name_hint=param.name, type_annotation=None)
        for param in expr.params
    ]
    fields = {"params": params, "body": _expr_node(expr.body), "ret_type": None}
    attrs = node(sys.modules["tvm.ir"].DictAttrs, **expr.attrs)
    return node(relay.Function, _program=expr, type_params=[], attrs=attrs, **fields)


def _module_node(program: ast.Module) -> Any:
    ir = sys.modules["tvm.ir"]
    module = ir.IRModule()
    for name, definition in program.types.items():
        header = ir.GlobalTypeVar(name)
        constructors = [
            node(
                ir.Constructor,
                _program=one,
                name_hint=one.name,
                inputs=one.fields,
                belong_to=header,
            )
            for one in definition.constructors
        ]
        variables = [
            node(ir.TypeVar, _program=var, name_hint=var.name) for var in definition.params
        ]
        _add_type(module, header, ir.TypeData(header, variables, constructors))
    for name, function in program.functions.items():
        _add(module, ir.GlobalVar(name), _expr_node(function))
    return module


# -- analysis and passes --------------------------------------------------------------------------


def _children(one: Any) -> list[Any]:
    fields = one if isinstance(one, tuple) else one.__dict__.values()
    return [field for field in fields if isinstance(field, (Object, tuple))]


def free_vars(expr: Any) -> list[Any]:
    """Return the variables that an expression uses and does not bind."""
    from tvm import relay

    seen: dict[int, Any] = {}
    bound: set[int] = set()
    stack = [expr]
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if isinstance(one, relay.Function):
            bound.update(id(param) for param in one.params)
        if isinstance(one, relay.Let):
            bound.add(id(one.variable))
        if isinstance(one, relay.PatternVar):
            bound.add(id(one.var))
        stack.extend(reversed(_children(one)))
    found = [one for one in seen.values() if isinstance(one, relay.Var)]
    return [one for one in found if id(one) not in bound]


class Pass:
    """A pass, which changes nothing here: our importer takes the program as it was."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        pass

    def __call__(self, module: Any) -> Any:
        return module


class InferType(Pass):
    """Finds programs that are wrong, of those whose parameters have known shapes."""

    def __call__(self, module: Any) -> Any:
        relay_run.check_types(module)
        return module


def _passes(name: str) -> Any:
    """Return a pass; the other names of the module are not here."""
    if name == "InferType":
        return InferType
    if not re.match("[A-Z]", name):
        raise AttributeError(name)
    return Pass


def _gradient(expr: Any, mod: Any = None, mode: str = "higher_order") -> Any:
    """Return a function whose gradient is taken where it is evaluated."""
    return node(type(expr), **{**expr.__dict__, "gradient_of": expr})


def _of_relax(name: str) -> Any:
    """Return a class of Relax, of which nothing is an instance but for calls."""
    if name.startswith("__"):
        raise AttributeError(name)
    return sys.modules["tvm.relay.expr"].Call if name == "Call" else type(name, (), {})


class _Context(contextlib.ExitStack):
    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__()


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
    register = _registered(name)
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
    "tvm.ir.transform": lambda: {"Pass": Pass, "Sequential": Pass, "PassContext": _Context},
    "tvm.transform": lambda: {"Pass": Pass, "Sequential": Pass, "PassContext": _Context},
    "tvm.relay.op.op": lambda: {"get": _op},
    "tvm.relay.transform": lambda: {
        "__getattr__": _passes,
        "gradient": _gradient,
        "build_config": _Context,
    },
    "tvm.relay.qnn.transform": lambda: {"__getattr__": _passes},
    "tvm.relax": lambda: {"__getattr__": _of_relax},
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
