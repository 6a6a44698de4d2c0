# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of ONNX."""

from sys import modules as _modules

from ..._arguments import explain_namespace as _explain_namespace

try:
    import onnx as _onnx  # noqa: F401 (for the message)
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "expected the package onnx to be installed: pip install 'onnx>=1.19'"
    ) from error

# These have converters.
from . import attention as attention
from . import control as control
from . import elementwise as elementwise
from . import index as index
from . import inverse as inverse
from . import manipulate as manipulate
from . import microsoft as microsoft
from . import ngrams as ngrams
from . import nn as nn
from . import patches as patches
from . import qlinear as qlinear
from . import quantize as quantize
from . import random as random
from . import recurrent as recurrent
from . import reduce as reduce
from . import regions as regions
from . import resize as resize
from . import sample as sample
from . import selection as selection
from . import spectrum as spectrum
from . import suppression as suppression
from . import training as training
from . import windows as windows
from .binding import IOBinding as IOBinding
from .binding import OrtValue as OrtValue
from .binding import RunOptions as RunOptions
from .binding import SessionOptions as SessionOptions
from .importer import from_onnx as from_onnx
from .model import read_params as read_params
from .random import set_seed as set_seed
from .session import InferenceSession as InferenceSession

_explain_namespace(_modules[__name__], "", ("from_onnx",))
