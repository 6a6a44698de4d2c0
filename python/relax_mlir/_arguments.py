# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors about the arguments of public functions, in the words of this package.

A call with a wrong argument fails somewhere inside: in the bindings of MLIR, in tvm-ffi, or at an
attribute that the object lacks. `explain` wraps a public function, so that such an error names the
function and the argument instead: the annotations say what was expected. Correct calls only pass
through; with ``eager=True`` arguments are checked before, for functions that would keep a wrong one
and fail much later, or never.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from relax_runtime.near_misses import did_you_mean

from ._annotations import describe, first_misfit, fits

# Beginnings of modules whose errors are about what this package gave them.
_OURS = (
    "relax_mlir",
    "relax_runtime",
    "mlir",
    "tvm_ffi",
    "numpy",
    "dataclasses",
    "re",
    "inspect",
    "contextlib",
    "pathlib",
)
# What MLIR's bindings, tvm-ffi and NumPy say of an argument of another type.
_FOREIGN = (
    "incompatible function arguments",
    "bad_cast",
    "Mismatched type on argument",
    "Cannot convert from type",
    "An MLIR function requires a Context",
    "inhomogeneous shape",
    "os.PathLike object",
    "string or bytes-like object",
    "string argument without an encoding",
    "dictionary update sequence",
)
# What messages of this package say.
_SAYS = re.compile(r"\bexpected ")
_LONGEST = 60


def shown(value: Any) -> str:
    """Return a value in the words of a message.

    Examples
    --------
    >>> import numpy as np
    >>> shown("a"), shown(np.zeros((2, 3))), shown(object())
    ("'a'", 'an array of float64, shape (2, 3)', 'an object of type object')
    """
    type_ = type(value)
    if type_.__name__ == "ndarray":
        return f"an array of {value.dtype}, shape {value.shape}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if hasattr(type_, "get_name") and hasattr(value, "type"):
        return f"a value of type {value.type}"
    text = repr(value)
    if len(text) > _LONGEST or " at 0x" in text or "\n" in text:
        return f"an object of type {type_.__name__}"
    return text


def require_str(what: str, value: Any) -> None:
    """Raise a TypeError if a value is no str.

    Examples
    --------
    >>> require_str("name", 3)
    Traceback (most recent call last):
    ...
    TypeError: expected name to be a str, but got 3
    """
    if not isinstance(value, str):
        raise TypeError(f"expected {what} to be a str, but got {shown(value)}")


def explain(function: Callable[..., Any], name: str, eager: bool = False) -> Callable[..., Any]:
    """Return a function that explains errors about its arguments.

    Parameters
    ----------
    function : callable
        A function of Python, with annotations.
    name : str
        Under which users know it, for messages.
    eager : bool
        Whether to compare arguments with the annotations before each call.

    Returns
    -------
    callable

    Examples
    --------
    >>> def repeat(text: str, times: int = 2) -> str:
    ...     return text * times
    >>> explain(repeat, "repeat")("a", "b")
    Traceback (most recent call last):
    ...
    TypeError: repeat: expected times to be an int, but got 'b'
    >>> explain(repeat, "repeat", eager=True)("a", tims=3)
    Traceback (most recent call last):
    ...
    TypeError: repeat: expected the arguments text, times, but got 'tims'; did you mean 'times'?
    """
    # As variables of the closure: the globals become those of the original.
    misfit, explained = _misfit, _explained

    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if eager:
            wrong = misfit(function, name, args, kwargs)
            if wrong is not None:
                raise wrong
        try:
            return function(*args, **kwargs)
        except (TypeError, AttributeError, ValueError, RuntimeError) as error:
            better = explained(function, name, args, kwargs, error)
            if better is None:
                raise
        raise better

    # With the globals of the original, doctest takes it for a function of its module.
    space = inspect.unwrap(function).__globals__
    made = types.FunctionType(call.__code__, space, function.__name__, None, call.__closure__)
    return functools.wraps(function)(made)


def _explained(
    function: Callable[..., Any],
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    error: Exception,
) -> Exception | None:
    """Return a better error than one that a call raised, None if there is none."""
    if not _is_foreign(error):
        return None
    wrong: Exception | None = _misfit(function, name, args, kwargs)
    if wrong is None and any(text in str(error) for text in _FOREIGN):
        wrong = _too_large(function, name, args, kwargs)
    if wrong is None and any(text in str(error) for text in _FOREIGN):
        given = [*map(shown, args[_skipped(function) :])]
        given += [f"{key}={shown(value)}" for key, value in kwargs.items()]
        wrong = TypeError(f"{name}: expected other arguments, but got {', '.join(given)}")
    if wrong is not None:
        wrong.__suppress_context__ = True
    return wrong


def _too_large(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> ValueError | None:
    """Return an error about the first argument that is an integer beyond 64 bits, or None."""
    for key, value in _signature(function).bind(*args, **kwargs).arguments.items():
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            return ValueError(f"{name}: expected {key} to be of 64 bits, but got {value}")
    return None


def _is_foreign(error: Exception) -> bool:
    """Say whether an error is in others' words, and raised by code of this package."""
    text = str(error)
    if not any(each in text for each in _FOREIGN):
        if not isinstance(error, (TypeError, AttributeError)) or _SAYS.search(text):
            return False
        if "did you mean" in text:
            return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] in _OURS


# Kept, as are the annotations: functions that are checked before each call would read them anew.
_signature = functools.cache(inspect.signature)


def _skipped(function: Callable[..., Any]) -> int:
    """Return how many parameters users do not write: `self`."""
    first = next(iter(_signature(function).parameters), "")
    return int(first in ("self", "cls"))


def _misfit(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> TypeError | None:
    """Return an error about the first argument that does not fit its annotation, or None."""
    signature = _signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        return TypeError(f"{name}: {_unbound(function, signature, str(error), args, kwargs)}")
    for key, value in bound.arguments.items():
        parameter = signature.parameters[key]
        annotation = _evaluated(parameter.annotation, function)
        values: Iterable[Any] = (value,)
        if parameter.kind is parameter.VAR_POSITIONAL:
            values = value
        elif parameter.kind is parameter.VAR_KEYWORD:
            values = value.values()
        elif value is parameter.default:
            continue
        for each in values:
            if not fits(each, annotation):
                what, part, wanted = first_misfit(key, each, annotation)
                return TypeError(
                    f"{name}: expected {what} to be {describe(wanted)}, but got {shown(part)}"
                )
    return None


def _unbound(
    function: Callable[..., Any],
    signature: inspect.Signature,
    reason: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> str:
    """Return what is wrong with the number of arguments, or with their names."""
    skipped, parameters = _skipped(function), list(signature.parameters.values())
    known = [parameter.name for parameter in parameters[skipped:]]
    unknown = next((key for key in kwargs if key not in known), None)
    noun = "argument" if len(known) == 1 else "arguments"
    takes = f"the {noun} {', '.join(known)}" if known else "no arguments"
    if unknown is not None:
        return f"expected {takes}, but got {unknown!r}{did_you_mean(unknown, known)}"
    missing = re.fullmatch(r"missing a required (?:keyword-only )?argument: '(\w+)'", reason)
    if missing is not None:
        return f"expected {takes}, but '{missing[1]}' is missing"
    if reason == "too many positional arguments":
        if all(p.kind in (p.VAR_KEYWORD, p.KEYWORD_ONLY) for p in parameters[skipped:]):
            takes = "arguments by name only" if known else takes
        return f"expected {takes}, but got {len(args) - skipped} by position"
    return f"expected {takes}, but {reason}"


def _evaluated(annotation: Any, function: Callable[..., Any]) -> Any:
    """Return what an annotation stands for; Any where that is not known when it runs."""
    if annotation is inspect.Parameter.empty:
        return Any
    return _named_type(annotation, function) if isinstance(annotation, str) else annotation


@functools.cache
def _named_type(annotation: str, function: Callable[..., Any]) -> Any:
    try:
        return eval(annotation, inspect.unwrap(function).__globals__)
    except (NameError, AttributeError, TypeError):  # imported for type checkers only
        return Any


# -- namespaces -----------------------------------------------------------------------------------


def explain_methods(class_: type, name: str, eager: Iterable[str] = ()) -> None:
    """Explain errors of the public methods, and the constructor, of a class.

    Parameters
    ----------
    class_ : type
    name : str
        Under which users know it.
    eager : iterable of str
        The methods whose arguments are checked before each call.
    """
    for key, member in list(vars(class_).items()):
        public = name if key == "__init__" else f"{name}.{key}"
        if key.startswith("_") and key != "__init__":
            continue
        kind: Any = type(member) if isinstance(member, (staticmethod, classmethod)) else None
        plain: Any = member.__func__ if kind else member
        if not _is_python(plain):
            continue
        made = explain(plain, public, key in eager)
        made._explained = True  # type: ignore[attr-defined]
        setattr(class_, key, kind(made) if kind else made)


def explain_namespace(
    module: types.ModuleType, prefix: str, eager: Iterable[str] = (), classes: bool = True
) -> None:
    """Explain errors of the public functions and classes of a module, and names that it lacks.

    Parameters
    ----------
    module : module
        Its functions are replaced, its classes changed in place.
    prefix : str
        Of the names, such as "op."; empty for the package itself.
    eager : iterable of str
        The functions and classes whose arguments are checked before each call.
    classes : bool
        Whether classes are changed at all.
    """
    space = vars(module)
    public = getattr(module, "__all__", None) or [n for n in space if not n.startswith("_")]
    explained: dict[Any, Callable[..., Any]] = {}
    for key in public:
        member: Any = space.get(key)
        owner = str(getattr(member, "__module__", ""))
        if not owner.startswith(("relax_mlir", "relax_runtime")):
            continue
        if _is_python(member):
            # Other names of the same function stay the same.
            if member not in explained:
                explained[member] = explain(member, prefix + key, key in eager)
                explained[member]._explained = True  # type: ignore[attr-defined]
            space[key] = explained[member]
        elif classes and isinstance(member, type) and not issubclass(member, BaseException):
            methods = ("__init__",) if key in eager else ()
            explain_methods(member, prefix + key, methods)
    if "__getattr__" not in space:
        space["__getattr__"] = missing_name(module)


def _is_python(member: Any) -> bool:
    """Say whether something is a function of Python whose errors are not explained yet."""
    if not isinstance(member, types.FunctionType) or hasattr(member, "_explained"):
        return False
    return isinstance(inspect.unwrap(member), types.FunctionType)


def missing_name(module: types.ModuleType) -> Callable[[str], Any]:
    """Return a ``__getattr__`` of a module, which says what name may have been meant.

    Parameters
    ----------
    module : module
    """

    def missing(name: str) -> Any:
        known = (each for each in vars(module) if not each.startswith("_"))
        hint = "" if name.startswith("_") else did_you_mean(name, known, cutoff=0.75)
        around = module.__name__.rpartition(".")[0]
        if not hint and not name.startswith("_") and name in vars(sys.modules.get(around, object)):
            hint = f"; did you mean '{around.rpartition('.')[2]}.{name}'?"
        raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'{hint}")

    return missing
