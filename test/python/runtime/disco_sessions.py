# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kinds of sessions, and short ways to give tensors to workers and to read theirs."""

from relax_runtime import disco

KINDS = {"threads": disco.ThreadedSession, "processes": disco.ProcessSession}


def parts_of(session, arrays):
    """Return a reference to a tensor of each worker."""
    reference = session.empty(arrays[0].shape, str(arrays[0].dtype))
    for worker, array in enumerate(arrays):
        reference.debug_copy_from(worker, array)
    return reference


def values_of(session, reference):
    """Return the arrays of the workers."""
    return [reference.debug_get_from_remote(i).numpy() for i in range(session.num_workers)]
