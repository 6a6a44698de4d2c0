# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Relay, the graph IR that TVM had before Relax, as modules."""

from sys import modules as _modules

from ..._arguments import explain_namespace as _explain_namespace
from .ast import RelayError as RelayError
from .converters.registry import operators as operators
from .equality import structurally_equal as structurally_equal
from .importer import from_relay as from_relay
from .normal_form import to_a_normal_form as to_a_normal_form
from .saved.json_nodes import load_json as load_json
from .saved.tensors import load_params as load_params
from .saved.tensors import save_params as save_params
from .text.parser import parse as parse
from .text.parser import parse_expr as parse_expr
from .text.printer import to_text as to_text

_explain_namespace(_modules[__name__], "relay.", ("from_relay",), classes=False)
