# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that are written with others.

`relax_mlir.op` has them under TVM's names: a call inserts the operators that compose it. Importers
use them, and the parts that they are made of.
"""

from sys import modules as _modules

from .. import op as _op
from .._arguments import explain_namespace as _explain_namespace
from . import basic as basic
from . import grad as grad
from . import image as image
from . import nn as nn
from . import random as random
from . import vision as vision
from .windows import extend as _extend

_extend(_op.nn)
# `op` is below this package, so that composites can use it.
for _module, _prefix in (
    (basic, ""), (nn, "nn."), (grad, "grad."), (image, "image."), (random, "random."),
    (vision, "vision."),
):  # fmt: skip
    _explain_namespace(_module, f"op.{_prefix}")
for _name in basic.__all__:
    setattr(_op, _name, getattr(basic, _name))
for _name in nn.__all__:
    setattr(_op.nn, _name, getattr(nn, _name))
for _name in grad.__all__:
    setattr(_op.grad, _name, getattr(grad, _name))
for _name, _module in {"image": image, "random": random, "vision": vision}.items():
    setattr(_op, _name, _module)
    _modules[f"{_op.__name__}.{_name}"] = _module
