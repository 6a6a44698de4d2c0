# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions: what the workers compute together."""

from __future__ import annotations

from typing import Any

import tvm_ffi

from .controller import Controller
from .executor import TensorData
from .references import DRef

# As TVM numbers them.
REDUCE_OPS = {"sum": 0, "prod": 1, "min": 2, "max": 3, "avg": 4}


class Session(Controller):
    """Workers that execute what the controller tells them, all the same and one after the other.

    Calls return at once: the workers execute them in their order. What they raise is raised by the
    next call that waits for them: those that get values, `sync_worker_0`, and the end of a
    ``with`` block. Where one of them fails, dies, or calls another operator than the others, the
    others do not wait for it; the message says what each of them raised. Other calls go on
    afterwards, but for those with a result that failed, and those of a worker that has died.
    Control-C ends what the workers do.

    It is made as `ThreadedSession` or as `ProcessSession`.
    """

    def broadcast(self, src: Any, dst: DRef | None = None, in_group: bool = True) -> DRef:
        """Copy an array to all workers.

        Parameters
        ----------
        src : array
        dst : DRef, optional
            The tensors that are written, by default new ones of the same shape.
        in_group : bool
            Whether it is the first worker of each group, or that of the session, from which the
            others get it. The result is the same.

        Returns
        -------
        DRef
        """
        data = TensorData.of(src)
        to = self.empty(data.shape, data.dtype) if dst is None else dst
        self.broadcast_from_worker0(self._copy_to_first(data, None, in_group), to, in_group)
        return to

    def broadcast_from_worker0(self, src: DRef, dst: DRef, in_group: bool = True) -> DRef:
        """Copy the tensor of the first worker to all workers.

        Parameters
        ----------
        src : DRef
            A tensor on the first worker, of each group with `in_group`.
        dst : DRef
            The tensors that are written, of as many elements.
        in_group : bool

        Returns
        -------
        DRef
            `dst`.
        """
        self._call("broadcast_from_worker0", src, bool(in_group), dst)
        return dst

    def scatter(self, src: Any, dst: DRef | None = None, in_group: bool = True) -> DRef:
        """Give each worker a part of an array.

        Parameters
        ----------
        src : array
            Its first dimension is the number of workers, with `in_group` those of a group.
        dst : DRef, optional
            The tensors that are written, by default new ones of the other dimensions.
        in_group : bool
            Whether the workers of each group get the parts, or those of the session.

        Returns
        -------
        DRef

        Raises
        ------
        ValueError
            If the first dimension is another one.
        """
        data = TensorData.of(src)
        size = self._size(in_group)
        if not data.shape or data.shape[0] != size:
            raise ValueError(
                f"expected an array whose first dimension is {size}, the number of workers, but "
                f"got one of shape {data.shape}"
            )
        to = self.empty(data.shape[1:], data.dtype) if dst is None else dst
        self.scatter_from_worker0(self._copy_to_first(data, None, in_group), to, in_group)
        return to

    def scatter_from_worker0(self, from_array: DRef, to_array: DRef, in_group: bool = True) -> None:
        """Give each worker a part of the tensor of the first worker.

        Parameters
        ----------
        from_array : DRef
            A tensor on the first worker, of each group with `in_group`. Its elements are cut into
            as many parts as there are workers.
        to_array : DRef
            The tensors that are written.
        in_group : bool
        """
        self._call("scatter_from_worker0", from_array, bool(in_group), to_array)

    def gather_to_worker0(self, from_array: DRef, to_array: DRef, in_group: bool = True) -> None:
        """Copy the tensors of all workers, one after the other, to the first worker.

        Parameters
        ----------
        from_array : DRef
        to_array : DRef
            The tensor of the first worker, of each group with `in_group`, that is written.
        in_group : bool
        """
        self._call("gather_to_worker0", from_array, bool(in_group), to_array)

    def allreduce(self, src: DRef, dst: DRef, op: str = "sum", in_group: bool = True) -> DRef:
        """Reduce the tensors of all workers, element by element.

        Parameters
        ----------
        src : DRef
        dst : DRef
            The tensors that are written.
        op : "sum", "prod", "min", "max" or "avg"
        in_group : bool
            Whether over the workers of the group, or over those of the session.

        Returns
        -------
        DRef
            `dst`.

        Raises
        ------
        ValueError
            If there is no such reduction.
        """
        if op not in REDUCE_OPS:
            raise ValueError(f"expected one of {', '.join(REDUCE_OPS)}, but got {op!r}")
        self._call("allreduce", src, tvm_ffi.Shape((REDUCE_OPS[op],)), bool(in_group), dst)
        return dst

    def allgather(self, src: DRef, dst: DRef, in_group: bool = True) -> DRef:
        """Copy the tensors of all workers, one after the other, to each of them.

        Parameters
        ----------
        src : DRef
        dst : DRef
            The tensors that are written.
        in_group : bool
            Whether those of the group, or those of the session.

        Returns
        -------
        DRef
            `dst`.
        """
        self._call("allgather", src, bool(in_group), dst)
        return dst
