# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process of a worker."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection

from ..threads import set_num_threads
from . import communicator
from .executor import Executor


def main(
    pipe: int, worker: int, num_workers: int, num_groups: int, num_threads: int, file: int
) -> None:
    """Execute the instructions that come through a socket, until it is closed.

    Parameters
    ----------
    pipe : int
        The descriptor of the socket.
    worker, num_workers, num_groups, num_threads : int
    file : int
        The descriptor of the memory that workers share.
    """
    # The controller gets the signal as well, and tells what to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(pipe)
    shared = communicator.attach(num_workers, num_groups, file)
    os.close(file)
    set_num_threads(num_threads)
    communicator.become_worker(shared, worker, 0)
    executor = Executor()
    connection.send(None)
    while True:
        try:
            number, action, target, args = connection.recv()
        except EOFError:
            return
        result = executor.execute(number, action, target, args)
        try:
            connection.send(result)
        except BrokenPipeError:
            return
