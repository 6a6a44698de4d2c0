# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that all workers have, as the controller refers to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .controller import Controller


class DRef:
    """A value on each of the workers of a session.

    Attributes
    ----------
    session : Session
    """

    def __init__(self, session: Controller, register: int) -> None:
        self.session = session
        self._register = register

    def debug_get_from_remote(self, worker_id: int) -> Any:
        """Return a copy of the value that a worker has.

        Parameters
        ----------
        worker_id : int
            From 0.

        Returns
        -------
        object
            A tensor as `relax_runtime.Tensor`, a number, a string, a shape, or a tuple of these.

        Raises
        ------
        Exception
            What the workers raised before, if they did.
        TypeError
            If it is a value of another kind, such as a function.
        """
        return self.session._fetch(self, worker_id)

    def debug_copy_from(self, worker_id: int, value: Any) -> None:
        """Copy an array into the tensor that a worker has.

        Parameters
        ----------
        worker_id : int
            From 0.
        value : array
            Of the data type of the tensor, and of as many elements.

        Raises
        ------
        Exception
            What the workers raised before, if they did.
        ValueError
            If it does not fit.
        """
        self.session._store(self, worker_id, value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._register}>"

    def __reduce__(self) -> Any:
        raise TypeError("expected a value to store, but got a reference to one on workers")

    def __del__(self) -> None:
        session = getattr(self, "session", None)
        if session is not None:
            session._released.append(self._register)


class DPackedFunc(DRef):
    """A function on each of the workers."""

    def __call__(self, *args: Any) -> DRef:
        """Let the workers call it; see `Session.call_packed`."""
        return self.session.call_packed(self, *args)


class DModule(DRef):
    """A program on each of the workers."""

    def __getitem__(self, name: str) -> DPackedFunc:
        """Return a public function of it.

        Raises
        ------
        KeyError
            If there is none of this name.
        """
        return self.session._function_of(self, name)
