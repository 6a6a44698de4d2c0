# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""oneDNN: products and convolutions of ``float32``, with a bias, a sum and an activation.

The library is not part of this package. It is opened when it is first needed: the file that the
environment variable ``RELAX_DNNL_LIBRARY`` names, that of an installed package of PyPI such as
``onednn-cpu-gomp``, or the ``libdnnl.so.3`` of the system.
"""

from .codegen import codegen
from .library import is_available, version
from .partition import partition_for_dnnl

__all__ = ["codegen", "is_available", "partition_for_dnnl", "version"]
