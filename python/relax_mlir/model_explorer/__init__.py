# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An extension for Model Explorer, the viewer of graphs.

``model-explorer --extensions=relax_mlir.model_explorer`` loads `main`, the adapter; `graphs` makes
what it shows, and does not need Model Explorer.
"""

from .graphs import graphs_of

__all__ = ["graphs_of"]
