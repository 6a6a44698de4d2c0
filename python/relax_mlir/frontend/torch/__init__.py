# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of PyTorch, as ``torch.export`` sees them."""

from sys import modules as _modules

from ..._arguments import explain_namespace as _explain_namespace

# Each of these modules has converters.
from . import activation as activation
from . import attention as attention
from . import bags as bags
from . import complex_numbers as complex_numbers
from . import create as create
from . import elementwise as elementwise
from . import gradients as gradients
from . import index as index
from . import linalg as linalg
from . import manipulate as manipulate
from . import normalize as normalize
from . import pad as pad
from . import products as products
from . import quantize as quantize
from . import random as random
from . import reduce as reduce
from . import resize as resize
from . import running as running
from . import sample as sample
from . import selection as selection
from . import sort as sort
from . import sparse as sparse
from . import special as special
from . import spectrum as spectrum
from . import vision as vision
from . import windows as windows
from .callable import CompiledModel as CompiledModel
from .callable import compile as compile  # noqa: A004 (as torch.compile)
from .exported_program import from_exported_program as from_exported_program
from .fx import from_fx as from_fx
from .fx import relax_dynamo as relax_dynamo

_explain_namespace(_modules[__name__], "", ("from_exported_program", "from_fx"))
