# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of the extension `_calls`, src/PythonCalls.c."""

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")

class Function:
    packed: Any
    __name__: str
    __qualname__: str
    __module__: str
    __wrapped__: Callable[..., Any]
    def __init__(
        self,
        packed: Any,
        general: Callable[..., Any],
        retry: Callable[[Exception, tuple[Any, ...]], Callable[[], Any] | None],
        num_params: int,
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def end(milliseconds: int, /) -> None: ...
def forget() -> None: ...
def refuse(type: type, /) -> None: ...  # noqa: A002
def watch(tensor: type, parameter: type, report: Callable[[Any], object]) -> None: ...
def uncollected(cls: type[_T]) -> type[_T]: ...
