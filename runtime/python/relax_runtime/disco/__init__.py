# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions of workers, which run one program together: each on its part of the data.

A session has a controller, which is the program that makes it, and workers: threads of the process
(`ThreadedSession`), or processes of the same machine (`ProcessSession`). The controller tells all
workers to do the same; what an operator such as ``relax.ccl.allreduce`` computes, they compute
together. The interface is that of ``tvm.runtime.disco``; `docs/howto/tensor-parallel.md` is the
guide.

Nothing of it is imported with `relax_runtime`, and no thread or process starts before a session is
made.

Examples
--------
>>> import numpy as np
>>> from relax_runtime import disco
>>> with disco.ThreadedSession(num_workers=2) as sess:
...     part = sess.scatter(np.array([[1, 2], [30, 40]], "float32"))
...     total = sess.empty((2,), "float32")
...     _ = sess.allreduce(part, total)
...     total.debug_get_from_remote(1).numpy()
array([31., 42.], dtype=float32)
"""

from .errors import CollectiveError
from .executor import worker_id
from .kinds import ProcessSession, ThreadedSession
from .references import DModule, DPackedFunc, DRef
from .session import Session

__all__ = [
    "CollectiveError",
    "DModule",
    "DPackedFunc",
    "DRef",
    "ProcessSession",
    "Session",
    "ThreadedSession",
    "worker_id",
]
