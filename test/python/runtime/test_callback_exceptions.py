"""An exception of a Python function that a program calls comes out as it is, in both modes."""

from __future__ import annotations

import contextlib
import copy
import gc
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi

pytestmark = pytest.mark.usefixtures("exec_mode")

CALLBACK = """
relax.func impure @main(%x: !relax.object) -> !relax.object {
  %0 = relax.call_packed "callback_exceptions.call"(%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}"""
# The callback is a value here.
VALUE = """
relax.func impure @main(
    %f: !relax.func<derive = @default_derive>, %x: !relax.object) -> !relax.object {
  %0 = relax.call %f : !relax.func<derive = @default_derive> (%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}"""


class CustomError(Exception):
    def __init__(self, code: int, values: list[int]) -> None:
        super().__init__(code, values)
        self.code = code
        self.values = values


class Quiet(BaseException):
    pass


class WordedError(ValueError):
    def __str__(self) -> str:
        return "some words"


EXCEPTIONS = [
    KeyboardInterrupt(),
    SystemExit(3),
    GeneratorExit(),
    StopIteration([1]),
    CustomError(4, [1, 2]),
    Quiet("a", 2),
    WordedError(1),
    ValueError("text", 5),
    KeyError("key"),
    OSError(2, "no such file", "name"),
    UnicodeDecodeError("utf-8", b"x", 0, 1, "reason"),
    RecursionError("deep"),
    MemoryError(),
    ZeroDivisionError("division"),
]


def load(text: str = CALLBACK) -> Callable[..., Any]:
    return relax.VirtualMachine(relax.compile(text))["main"]


def register(function: Callable[..., Any]) -> None:
    tvm_ffi.register_global_func("callback_exceptions.call", function, override=True)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Leave no program of a test in the global table."""
    yield
    register(lambda x: x)


def throw(error: BaseException) -> NoReturn:
    raise error


@pytest.mark.parametrize("error", EXCEPTIONS, ids=lambda error: type(error).__name__)
def test_the_exception_itself_comes_out(error: BaseException) -> None:
    error = copy.copy(error)  # one that `gc.freeze` has not hidden, after the collection of tests
    register(lambda x: throw(error))
    with pytest.raises(type(error)) as caught:
        load()(1)
    assert caught.value is error
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "throw" and "test_the_exception_itself_comes_out" in names


def test_a_callback_that_is_a_value() -> None:
    error = CustomError(1, [])
    with pytest.raises(CustomError) as caught:
        load(VALUE)(lambda x: throw(error), 1)
    assert caught.value is error


def test_through_nested_programs() -> None:
    """A program calls Python, which calls a program, which calls Python."""
    error, inner, outer = CustomError(1, [2]), load(VALUE), load(VALUE)
    with pytest.raises(CustomError) as caught:
        outer(lambda x: inner(lambda y: throw(error), x), 1)
    assert caught.value is error


def test_the_cause_and_the_context_stay() -> None:
    def fail(x: Any) -> NoReturn:
        try:
            raise KeyError("first")
        except KeyError as first:
            raise CustomError(1, []) from first

    register(fail)
    with pytest.raises(CustomError) as caught:
        load()(1)
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.__cause__.args == (
        "first",
    )


def test_a_callback_may_handle_what_a_program_raises() -> None:
    inner = load(VALUE)

    def recover(x: Any) -> int:
        try:
            inner(lambda y: throw(Quiet()), x)
        except Quiet:
            return 5
        raise AssertionError

    register(recover)
    assert load()(1) == 5


def test_without_a_frame_in_python() -> None:
    """A function written in C that raises has no traceback; its kind is kept where it is known."""
    register(sys.exit)
    with pytest.raises(SystemExit):
        load()(3)


def test_errors_of_a_program_are_as_ever() -> None:
    with pytest.raises(TypeError, match=r"main\(\) takes 1 positional argument but 2"):
        load()(1, 2)


def test_nothing_holds_an_exception_that_was_caught() -> None:
    class Thing:
        pass

    thing = Thing()
    gone = weakref.ref(thing)

    def fail(x: Any, held: Thing = thing) -> NoReturn:
        assert held is not None
        raise CustomError(1, [])

    with contextlib.suppress(CustomError):
        load(VALUE)(fail, np.zeros(3))
    del thing, fail
    gc.collect()
    assert gone() is None


def test_many_exceptions_that_never_arrive() -> None:
    """An exception that C++ drops waits no longer than a few others."""
    from relax_runtime import _exceptions

    for number in range(100):
        try:
            throw(CustomError(number, []))
        except CustomError as error:
            tvm_ffi.convert(error)
    assert len(_exceptions._waiting) <= _exceptions._MOST
