"""TVM's ways to run a program, all of them on our compiler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import relay_run
from relay_nodes import Translation
from relay_tvm import Lacking
from tvm import relay
from tvm.ir import GlobalVar, IRModule
from tvm.relay.backend.interpreter import ConstructorValue, _arg_to_ast
from tvm.relay.backend.interpreter import Executor as _Executor


def _object(constructor: Any, fields: Sequence[Any]) -> Any:
    return relay_run.ADT(constructor.tag, fields)


def _value(constructor: Any, fields: Sequence[Any]) -> Any:
    return ConstructorValue(constructor.tag, list(fields), constructor)


def _tensors(result: Any) -> Iterator[Any]:
    """Yield the tensors of a result, those of tuples inside of it too."""
    if isinstance(result, relay_run.ADT):
        for field in result:
            yield from _tensors(field)
    else:
        yield result


def _has_data(arg: Any) -> bool:
    """Say whether an argument is of a data type."""
    if isinstance(arg, (tuple, list)):
        return any(_has_data(one) for one in arg)
    return isinstance(arg, ConstructorValue)


def run(module: Any, function: Any, args: Sequence[Any], kind: str = "debug") -> Any:
    """Return what a function of a module returns."""
    if any(_has_data(arg) for arg in args):
        # Values of data types are made by the program.
        call = relay.Call(function, [_arg_to_ast(module, arg) for arg in args])
        function, args = relay.Function([], call), []
    return relay_run.evaluate(
        Translation(module), function, args, _object if kind == "vm" else _value, kind == "graph"
    )


class Executor(_Executor):
    """Evaluates expressions."""

    def __init__(self, module: Any, kind: str = "debug") -> None:
        self.mod, self._kind = module, kind

    def evaluate(self, expr: Any = None, binds: Any = None) -> Any:
        """Return a function, or the value of another expression."""
        if not binds or isinstance(expr, relay.Function):
            return super().evaluate(expr, binds)
        given = {var: _arg_to_ast(self.mod, value) for var, value in binds.items()}
        if not all(isinstance(value, relay.Constant) for value in given.values()):
            return super().evaluate(expr, binds)
        return self._make_executor(relay.Function(list(given), expr))(*given.values())

    def _make_executor(self, expr: Any = None) -> Any:
        function = self.mod.get_global_var("main") if expr is None else expr

        def call(*args: Any, **keywords: Any) -> Any:
            is_global = isinstance(function, GlobalVar)
            known = self.mod[function.name_hint] if is_global else function
            return run(self.mod, function, self._convert_args(known, args, keywords), self._kind)

        return call


def _as_module(program: Any) -> Any:
    return program if isinstance(program, IRModule) else IRModule.from_expr(program)


def create_executor(
    kind: str = "debug", mod: Any = None, device: Any = None, target: Any = None, params: Any = None
) -> Any:
    """Return what evaluates expressions."""
    module = IRModule() if mod is None else _as_module(mod)
    if params:
        raise relay_run.LacksError("create_executor with params")
    return Executor(module, kind)


class Built:
    """A program that is built, with parameters that are given."""

    def __init__(self, module: Any, params: Any = None) -> None:
        self.module, self.params = module, dict(params or {})

    def __getitem__(self, name: str) -> Any:
        return lambda *devices, **rest: self

    def __iter__(self) -> Any:
        return iter((self, self, self.params))

    @property
    def graph_json(self) -> Built:
        """Return what older tests make a `GraphModule` of."""
        return self

    def __contains__(self, name: str) -> bool:
        return True  # the names of TVM's kernels, of which there are none

    def __getattr__(self, name: str) -> Any:
        return Lacking(f"relay.build().{name}")

    def get_params(self) -> Any:
        """Return its parameters."""
        return self.params


def build(mod: Any, target: Any = None, *rest: Any, params: Any = None, **options: Any) -> Built:
    """Build a program."""
    return Built(_as_module(mod), params)


class GraphModule:
    """Runs a program with inputs that are set before."""

    def __init__(self, built: Built) -> None:
        self._built, self._given = built, dict(built.params)
        self._results: Any = []

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Set an input by its name or number, or several."""
        names = [param.name_hint for param in self._built.module["main"].params]
        if key is not None:
            self._given[names[key] if isinstance(key, int) else key] = value
        self._given.update(params)

    def run(self, **params: Any) -> None:
        """Run the program."""
        self.set_input(**params)
        module = self._built.module
        args = [self._given[param.name_hint] for param in module["main"].params]
        result = run(module, module.get_global_var("main"), args, "graph")
        self._results = list(_tensors(result))

    def get_output(self, index: int, out: Any = None) -> Any:
        """Return a result."""
        found = self._results[index]
        return found if out is None else found.copyto(out)

    def get_input_index(self, name: str) -> int:
        """Return the number of an input."""
        names = [param.name_hint for param in self._built.module["main"].params]
        return names.index(name) if name in names else -1

    def get_num_outputs(self) -> int:
        """Return how many results there are."""
        return len(self._results)


class VirtualMachine:
    """Calls functions of a program."""

    def __init__(self, built: Built, *devices: Any) -> None:
        self._built = built
        self._args: dict[str, dict[str, Any]] = {}
        self._results: Any = []

    def invoke(self, name: str, *args: Any, **keywords: Any) -> Any:
        """Call a function."""
        module = self._built.module
        if not args and not keywords:
            keywords = self._args.get(name, {})
        function = Executor(module, "vm").evaluate(module.get_global_var(name))
        return function(*args, **keywords)

    def set_input(self, name: str, *args: Any, **keywords: Any) -> None:
        """Set the inputs of a function."""
        names = self._names(name)
        self._args.setdefault(name, {}).update({**dict(zip(names, args, strict=False)), **keywords})

    def set_one_input(self, name: str, *args: Any, **keywords: Any) -> None:
        """Set one input of a function, by its name or number."""
        key, value = args if args else next(iter(keywords.items()))
        key = self._names(name)[key] if isinstance(key, int) else key
        self._args.setdefault(name, {})[key] = value

    def _names(self, name: str) -> list[str]:
        return [param.name_hint for param in self._built.module[name].params]

    def invoke_stateful(self, name: str, *args: Any, **keywords: Any) -> None:
        """Call a function, whose results can be asked for then."""
        result = self.invoke(name, *args, **keywords)
        self._results = result if isinstance(result, relay_run.ADT) else [result]

    def get_outputs(self) -> Any:
        """Return the results."""
        return self._results

    def run(self, *args: Any, **keywords: Any) -> Any:
        """Call ``main``."""
        return self.invoke("main", *args, **keywords)
