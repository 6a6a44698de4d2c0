# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of StableHLO, as JAX writes them."""

from sys import modules as _modules

from ..._arguments import explain_namespace as _explain_namespace

try:
    import jaxlib.mlir.dialects.stablehlo as _stablehlo  # noqa: F401 (for the message)
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "expected the package jaxlib to be installed, which has the Python bindings of StableHLO: "
        "pip install 'jaxlib>=0.6'"
    ) from error

# These have converters.
from . import calls as calls
from . import control as control
from . import elementwise as elementwise
from . import gather as gather
from . import manipulate as manipulate
from . import order as order
from . import products as products
from . import reduce as reduce
from . import scatter as scatter
from . import slices as slices
from . import special as special
from . import windows as windows
from .importer import from_stablehlo as from_stablehlo
from .registry import operators as operators

_explain_namespace(_modules[__name__], "", ("from_stablehlo",), classes=False)
