# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Relay, the graph IR that TVM had before Relax, as modules."""

from .equality import structurally_equal as structurally_equal
from .json_nodes import load_json as load_json
from .parser import parse as parse
from .parser import parse_expr as parse_expr
from .printer import to_text as to_text
from .registry import operators as operators
from .tensors import load_params as load_params
from .tensors import save_params as save_params
