# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tags: what kind of computation a tensor comes from."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from .._arguments import require_str

_F = TypeVar("_F", bound=Callable[..., Any])

_current: contextvars.ContextVar[TagScope | None] = contextvars.ContextVar("tag", default=None)


class TagScope:
    """Gives its tag to the operations that are made inside of it. See `tag_scope`."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self._token: contextvars.Token[TagScope | None] | None = None

    @staticmethod
    def get_current() -> TagScope | None:
        """Return the innermost scope, or None."""
        return _current.get()

    def __enter__(self) -> TagScope:
        if _current.get() is not None:
            raise ValueError("expected no tag_scope inside of another one")
        self._token = _current.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._token is not None:
            _current.reset(self._token)

    def __call__(self, function: _F) -> _F:
        """Return a function whose operations get the tag."""

        @functools.wraps(function)
        def tagged(*args: Any, **kwargs: Any) -> Any:
            with TagScope(self.tag):
                return function(*args, **kwargs)

        return tagged  # type: ignore[return-value]


def tag_scope(tag: str) -> TagScope:
    """Give a tag to the operations that are made inside, as ``with`` or as a decorator.

    Parameters
    ----------
    tag : str

    Examples
    --------
    >>> from relax_mlir import te
    >>> A = te.placeholder((4,), name="A")
    >>> with tag_scope("elemwise"):
    ...     B = te.compute((4,), lambda i: A[i] + 1)
    >>> B.op.tag
    'elemwise'
    """
    require_str("tag", tag)
    return TagScope(tag)


def resolve(tag: str) -> str:
    """Return the tag of an operation, given one or that of the scope."""
    scope = TagScope.get_current()
    if scope is None:
        return tag
    if tag:
        raise ValueError(f"expected no tag inside of tag_scope('{scope.tag}'), but got '{tag}'")
    return scope.tag


# Names of tags that schedules and fusion know.
ELEMWISE = "elemwise"
BROADCAST = "broadcast"
INJECTIVE = "injective"
COMM_REDUCE = "comm_reduce"
COMM_REDUCE_IDX = "comm_reduce_idx"
EXTERN = "extern"
