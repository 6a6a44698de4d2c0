"""Runs programs of TVM's tests, in both modes, and keeps what came of each."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import relax_mlir as relax
from relax_mlir.frontend.relay import RelayError, ast, from_relay, struct_info, to_text
from relax_mlir.frontend.relay.inference import Inference
from relax_mlir.frontend.relay.normal_form import normalized
from relax_mlir.frontend.relay.unification import substituted
from relay_nodes import Array, Dim, Object, Translation

# Outcomes of a program.
AGREED = "agreed"
UNREAD = "ran, and the test does not look at the numbers"
REFUSED = "refused"
ERROR = "error"
WRONG = "wrong numbers"

MODES = ("compiled", "bytecode")
# Numbers of the two modes may be rounded differently.
_CLOSE = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-4}


@dataclasses.dataclass
class Program:
    """One evaluation, with a key that equal programs have."""

    test: str
    key: str
    outcome: str = UNREAD
    message: str = ""


class ModesDifferError(Exception):
    """A program returns different numbers in the two modes."""


class Record:
    """What was evaluated, and whether types that tests compare are those that we infer."""

    def __init__(self) -> None:
        self.test = ""
        self.programs: list[Program] = []
        self.types: list[tuple[str, str, str]] = []
        # Whether types were found to be wrong since: then a test may look at the error.
        self.is_refused = False


RECORD = Record()
_COMPILED: dict[str, list[Any] | Exception] = {}


class NDArray:
    """A tensor of TVM."""

    def __init__(self, array: Any, program: Program | None = None) -> None:
        self._array, self._program = np.asarray(array), program
        self.shape, self.dtype = self._array.shape, self._array.dtype.name

    def numpy(self) -> np.ndarray:
        """Return the numbers, which a test looks at then."""
        if self._program is not None and self._program.outcome == UNREAD:
            self._program.outcome = AGREED
        return self._array

    asnumpy = numpy

    def copyto(self, target: Any) -> Any:
        """Return a copy, or write to another tensor."""
        if isinstance(target, NDArray):
            target._array[...] = self._array
            return target
        return NDArray(self._array.copy(), self._program)

    def copyfrom(self, source: Any) -> NDArray:
        """Take other numbers."""
        self._array = np.asarray(getattr(source, "_array", source)).astype(self.dtype)
        return self

    @property
    def device(self) -> Any:
        """Where it is."""
        return Device()

    ctx = device

    def __getitem__(self, key: Any) -> Any:
        return NDArray(self._array[key])

    def __str__(self) -> str:
        return str(self.numpy())


class Device:
    """The processor."""

    device_type, device_id, exist = 1, 0, True

    def sync(self) -> None:
        """Wait for nothing."""


class ADT(Array):
    """A tuple that a program returns, or a value of a data type as TVM's virtual machine has it."""

    def __new__(cls, tag: int, fields: Sequence[Any]) -> ADT:
        made = tuple.__new__(cls, fields)
        made.tag = tag
        return made


def evaluate(
    translation: Translation,
    function: Any,
    args: Sequence[Any],
    make: Callable[..., Any],
    is_cast: bool = False,
) -> Any:
    """Return what a function of a program returns.

    Parameters
    ----------
    translation : Translation
    function : node
    args : sequence of NDArray, NumPy arrays, numbers, and tuples of them
    make : callable
        Makes values of data types.
    is_cast : bool
        Whether arguments are cast to the data types of the parameters.
    """
    source = getattr(function, "gradient_of", None)
    main = translation.expr(function if source is None else source)
    if isinstance(main, ast.GlobalVar):
        main = translation.function(main.name)
    module = translation.module
    types = [param.type for param in main.params]
    given = [_argument(*pair) for pair in itertools.zip_longest(args, types[: len(args)])]
    for i, (param, value) in enumerate(zip(main.params, given, strict=False)):
        if isinstance(value, np.ndarray) and not isinstance(param.type, ast.TensorType):
            param.type = param.type or ast.TensorType(value.shape, value.dtype.name)
        elif isinstance(value, np.ndarray) and is_cast:
            given[i] = value.astype(param.type.dtype)
    module.functions["main"] = main
    prefix = "" if source is None else "gradient of "
    program = Program(RECORD.test, prefix + _key(module))
    RECORD.programs.append(program)
    RECORD.is_refused = False
    try:
        results = [run(given) for run in _compiled(program.key, module, source is not None)]
        _check_equal(*results)
    except ModesDifferError as error:
        program.outcome, program.message = WRONG, str(error)
        raise
    except NotImplementedError as error:
        program.outcome, program.message = REFUSED, str(error)
        raise
    except RelayError as error:
        program.outcome, program.message = REFUSED, f"RelayError: {error}"
        raise
    except Exception as error:
        is_checked = type(error) in (ValueError, AssertionError)  # by the program, when it runs
        program.outcome = REFUSED if is_checked else ERROR
        program.message = f"{type(error).__name__}: {error}"
        raise
    type_ = _result_type(module) if module.types and source is None else None

    def made(constructor: ast.Constructor, fields: Sequence[Any]) -> Any:
        return make(translation.constructors[id(constructor)], fields)

    return _Reader(module, program, made).value(results[0], type_)


def _key(module: ast.Module) -> str:
    """Return what equal programs have in common; a wrong one, which has no text, has nothing."""
    try:
        digest = hashlib.sha256(to_text(module).encode())
    except RelayError:
        return f"program {len(_COMPILED)}"
    for name in sorted(module.functions):
        for expr in ast.post_order(module.functions[name]):
            if isinstance(expr, ast.Constant):
                digest.update(expr.data.tobytes())
    return digest.hexdigest()


def _runs(module: ast.Module, mode: str) -> Callable[..., Any]:
    """Return what runs a program in a mode."""
    machine = relax.VirtualMachine(relax.compile(from_relay(module), exec_mode=mode))
    return lambda args: _numbers(machine["main"](*args))


def _gradient_runs(module: ast.Module, mode: str) -> Callable[..., Any]:
    """Return what returns the results of a program, and the gradients of their sum."""
    main = module.functions["main"]
    total = ast.Function(main.params, ast.Call(ast.OpRef("sum"), [main.body]))
    summed = from_relay(ast.Module({**module.functions, "main": total}, module.types))
    floats = [is_float(param) for param in main.params]
    names = [param.name for param in main.params if is_float(param)]
    adjoint = relax.transform.Gradient("main", require_grads=names)(summed)
    machine = relax.VirtualMachine(relax.compile(adjoint, exec_mode=mode))
    forward = _runs(module, mode)

    def run(args: Sequence[Any]) -> Any:
        gradients = iter(_numbers(machine["main_adjoint"](*args)[1]))
        pairs = zip(floats, args, strict=True)
        whole = [next(gradients) if one else np.zeros_like(arg) for one, arg in pairs]
        return [forward(args), whole]

    return run


def is_float(param: ast.Var) -> bool:
    """Say whether a parameter has gradients."""
    return isinstance(param.type, ast.TensorType) and "float" in param.type.dtype


def _compiled(key: str, module: ast.Module, is_gradient: bool) -> list[Any]:
    """Return the program as it runs in each mode; equal programs are compiled once."""
    if key not in _COMPILED:
        try:
            run = _gradient_runs if is_gradient else _runs
            _COMPILED[key] = [run(module, mode) for mode in MODES]
        except Exception as error:
            _COMPILED[key] = error
    found = _COMPILED[key]
    if isinstance(found, Exception):
        raise found
    return found


def _argument(arg: Any, type_: Any = None) -> Any:
    """Return an argument; numbers are of the type that the program states, or TVM's default."""
    if isinstance(arg, list) and len(arg) == 1 and isinstance(type_, ast.TensorType):
        return _argument(arg[0], type_)
    if isinstance(arg, (tuple, list)):
        types = getattr(type_, "fields", ())
        return tuple(_argument(*pair) for pair in itertools.zip_longest(arg, types))
    if isinstance(arg, NDArray):
        return arg._array
    if isinstance(arg, (bool, int, float)):
        kinds = {bool: "bool", int: "int32", float: "float32"}
        return np.array(arg, getattr(type_, "dtype", kinds[type(arg)]))
    if isinstance(arg, Object) and hasattr(arg, "data"):
        return arg.data._array
    return np.asarray(arg)


def _numbers(value: Any) -> Any:
    if isinstance(value, relax.runtime.ADT):
        return [np.asarray(value.tag), _numbers(value.fields)]
    if isinstance(value, (tuple, list)) or type(value).__name__ == "Array":
        return [_numbers(one) for one in value]
    return value.numpy()


def _check_equal(one: Any, other: Any) -> None:
    if isinstance(one, list):
        for pair in zip(one, other, strict=True):
            _check_equal(*pair)
        return
    rtol = _CLOSE.get(one.dtype.name, 1e-10)
    equal = one.dtype.kind in "biu" or np.allclose(one, other, rtol, rtol, equal_nan=True)
    if one.dtype != other.dtype or not equal or (one.dtype.kind in "biu" and (one != other).any()):
        raise ModesDifferError(f"the modes differ: {one} and {other}")


def _result_type(module: ast.Module) -> Any:
    normal = normalized(module)
    main = normal.functions["main"]
    types = {id(param): param.type for param in main.params}
    inference = Inference(normal, ["main"], types)
    return inference._functions["main"].result


@dataclasses.dataclass
class _Reader:
    """Makes values of TVM of what a program returns.

    Parameters
    ----------
    module : ast.Module
    program : Program
    make : callable
        Makes a value of a data type.
    """

    module: ast.Module
    program: Program
    make: Callable[[ast.Constructor, Sequence[Any]], Any]

    def value(self, value: Any, type_: Any) -> Any:
        """Return a value of a type; None where it is a tensor, or a tuple of them."""
        while hasattr(type_, "target"):
            type_ = type_.target
        if isinstance(type_, ast.DataType):
            return self._data(int(value[0]), value[1], type_)
        if isinstance(value, list):
            types = getattr(type_, "fields", [None] * len(value))
            return ADT(0, [self.value(*pair) for pair in zip(value, types, strict=True)])
        return NDArray(value, self.program)

    def _data(self, tag: int, fields: Sequence[Any], type_: ast.DataType) -> Any:
        # The constructor is part of what the program returns.
        self.program.outcome = AGREED
        definition = self.module.types[type_.name]
        by = dict(zip(definition.params, type_.args, strict=False))
        constructor = definition.constructors[tag]
        types = [substituted(field, by) for field in constructor.fields]
        parts = [self.value(*pair) for pair in zip(fields, types, strict=True)]
        return self.make(constructor, parts)


# -- types --------------------------------------------------------------------------------------


class _AnyName(str):
    """The name of a data type that is equal to each."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class AnyType(Object):
    """The type of what our importer does not infer the type of."""

    dtype = _AnyName("float32")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return AnyType()

    def __getitem__(self, key: Any) -> Any:
        return AnyType()

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Any:
        return iter(())

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = Object.__hash__


def checked_type(expr: Any) -> Any:
    """Return the type of an expression, as we infer it."""
    try:
        translation = Translation()
        body = translation.expr(expr)
        if isinstance(body, ast.Function):
            return AnyType()
        translation.module.functions["main"] = ast.Function(ast.free_vars(body), body)
        mod = from_relay(translation.module)
        found = mod["main"].function_type.value
        return _type_node(struct_info.type_of(found.results[0]))
    except Exception:
        return AnyType()


def check_types(module: Any) -> None:
    """Raise TVM's error if the types of a program are wrong."""
    translation = Translation(module)
    try:
        main = translation.function("main")
        types = [getattr(param.type, "shape", (ast.ANY,)) for param in main.params]
        if all(isinstance(dim, int) for shape in types for dim in shape):
            from_relay(translation.module)
    except RelayError as error:
        RECORD.is_refused = True
        raise RuntimeError(str(error)) from error
    except Exception:
        return


def _type_node(type_: Any) -> Any:
    import tvm

    if isinstance(type_, ast.TupleType):
        return tvm.ir.TupleType([_type_node(field) for field in type_.fields])
    dims = [Dim() if dim is ast.ANY else dim for dim in type_.shape]
    return tvm.ir.TensorType(dims, type_.dtype)


def compare_types(ours: Any, theirs: Any, one: Any, other: Any) -> None:
    """Keep whether two types are equal, as far as they are known."""
    if isinstance(one, AnyType) or isinstance(other, AnyType):
        return
    RECORD.types.append((RECORD.test, str(ours), str(theirs)))
