# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Relay, the graph IR that TVM had before Relax, as modules."""

# These have converters.
from . import convolution as convolution
from . import correlation as correlation
from . import create as create
from . import elementwise as elementwise
from . import folding as folding
from . import image as image
from . import index as index
from . import manipulate as manipulate
from . import nn as nn
from . import normalize as normalize
from . import order as order
from . import padding as padding
from . import pool as pool
from . import quantized as quantized
from . import quantized_products as quantized_products
from . import reduce as reduce
from . import slices as slices
from . import sparse as sparse
from . import spectrum as spectrum
from . import suppression as suppression
from . import vision as vision
from .ast import RelayError as RelayError
from .equality import structurally_equal as structurally_equal
from .importer import from_relay as from_relay
from .json_nodes import load_json as load_json
from .normal_form import to_a_normal_form as to_a_normal_form
from .parser import parse as parse
from .parser import parse_expr as parse_expr
from .printer import to_text as to_text
from .registry import operators as operators
from .tensors import load_params as load_params
from .tensors import save_params as save_params
