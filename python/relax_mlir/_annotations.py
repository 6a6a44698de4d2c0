# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Annotations of parameters: which values fit them, and what they are in words."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar, Union

# What aliases of several types are in words.
_named: list[tuple[frozenset[Any], str]] = []
_WORDS = {
    bool: "True or False",
    int: "an int",
    float: "a number",
    str: "a str",
    bytes: "bytes",
    object: "any object",
    type(None): "None",
}


def name_annotation(alias: Any, words: str) -> None:
    """Say what a union of types is called in messages.

    Parameters
    ----------
    alias : type
        A union.
    words : str
        Such as "a tensor, a number or an array".
    """
    _named.append((frozenset(typing.get_args(alias)), words))
    _named.sort(key=lambda each: -len(each[0]))


def fits(value: Any, annotation: Any) -> bool:
    """Say whether a value may be what an annotation says; True if the annotation says little.

    Examples
    --------
    >>> fits(3, int | None), fits("a", int), fits([1, "a"], list[int]), fits("ab", Iterable[str])
    (True, False, False, False)
    """
    if annotation is Any or isinstance(annotation, (str, TypeVar)):
        return True
    if annotation is None or annotation is type(None):
        return value is None
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in args)
    if origin is Literal:  # the function itself names the choices
        return value in args or isinstance(value, type(args[0]))
    if origin is not None:
        return _fits_generic(value, origin, args)
    return _fits_class(value, annotation)


def _fits_generic(value: Any, origin: Any, args: tuple[Any, ...]) -> bool:
    """Say whether a value is a container, or a function, of a type with parameters."""
    if origin is Callable:
        return callable(value)
    if origin is type:
        return isinstance(value, type)
    if not isinstance(origin, type):
        return True
    if issubclass(origin, Mapping):
        if not hasattr(value, "items"):
            return False
        return all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    if not issubclass(origin, Iterable):
        return isinstance(value, origin)
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        return False
    if _is_record(origin, args):
        return True
    # An iterator can be read once only.
    elements = value if hasattr(value, "__len__") else ()
    return all(fits(each, args[0]) for each in elements)


def _fits_class(value: Any, class_: Any) -> bool:
    if not inspect.isclass(class_):
        return True
    if class_ is bool:
        return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool", "BoolAttr")
    if class_ is int:
        return hasattr(value, "__index__") or _is_number_inside(value)
    if class_ is float:
        return (
            hasattr(value, "__float__") or hasattr(value, "__index__") or _is_number_inside(value)
        )
    try:
        return isinstance(value, class_)
    except TypeError:
        return True


def _is_number_inside(value: Any) -> bool:
    """Say whether something holds a number that operators take: an attribute or a dimension."""
    return isinstance(getattr(value, "value", None), (int, float))


def first_misfit(what: str, value: Any, annotation: Any) -> tuple[str, Any, Any]:
    """Return the part of a value that does not fit an annotation: its name, itself, its annotation.

    Examples
    --------
    >>> first_misfit("sizes", {"n": "a"}, dict[str, int] | None)
    ("sizes['n']", 'a', <class 'int'>)
    >>> first_misfit("sizes", 3, dict[str, int])
    ('sizes', 3, dict[str, int])
    """
    for part, each, wanted in _parts(what, value, annotation):
        if not fits(each, wanted):
            return first_misfit(part, each, wanted)
    return what, value, annotation


def _parts(what: str, value: Any, annotation: Any) -> Iterable[tuple[str, Any, Any]]:
    """Yield the parts of a container with their names and annotations."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        containers = [each for each in args if typing.get_args(each)]
        if len(containers) == 1:
            yield from _parts(what, value, containers[0])
    elif not isinstance(origin, type) or not args:
        return
    elif issubclass(origin, Mapping):
        for key, each in value.items() if isinstance(value, Mapping) else ():
            yield f"a key of {what}", key, args[0]
            yield f"{what}[{key!r}]", each, args[1]
    elif isinstance(value, (list, tuple)) and not _is_record(origin, args):
        yield from ((f"{what}[{n}]", each, args[0]) for n, each in enumerate(value))


def _is_record(origin: Any, args: tuple[Any, ...]) -> bool:
    """Say whether a type is that of tuples of a fixed length."""
    return origin is tuple and args[-1:] != (Ellipsis,)


def describe(annotation: Any) -> str:
    """Return an annotation in words.

    Examples
    --------
    >>> describe(int | list[str] | None), describe(Literal["a", "b"])
    ('an int, a list of str or None', "'a' or 'b'")
    """
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        return _either(_words_of_union(args))
    if origin is Literal:
        return _either([repr(each) for each in args])
    if origin is Callable:
        return "a function"
    if origin is None:
        return _class_in_words(annotation)
    if args and _is_record(origin, args):
        return f"a tuple of {', and '.join(map(describe, args))}"
    of = "" if not args or args[0] is Any else f" of {_plain(args[0])}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"a mapping{of}"
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return f"a {'tuple' if origin is tuple else 'list'}{of}"
    return _class_in_words(origin)


def _words_of_union(args: tuple[Any, ...]) -> list[str]:
    """Return the words of each type; types that have a name together under that name."""
    left, words = list(args), []
    for members, name in _named:
        if members <= set(left):
            words.append(name)
            left = [each for each in left if each not in members]
    return [*words, *(describe(each) for each in left)]


def _class_in_words(class_: Any) -> str:
    known = _WORDS.get(class_)
    if known is not None:
        return known
    if class_ is None:
        return "None"
    if class_ is Any:
        return "any object"
    name = getattr(class_, "__name__", str(class_))
    article = "an" if name[:1] in "AEIOaeio" else "a"
    return {"PathLike": "a path", "Type": "a type, such as TensorStructInfo(...)"}.get(
        name, f"{article} {name}"
    )


def _plain(annotation: Any) -> str:
    """Return what the elements of a container are, without articles."""
    text = describe(annotation)
    return text.removeprefix("an ").removeprefix("a ")


def _either(words: list[str]) -> str:
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} or {words[-1]}"
