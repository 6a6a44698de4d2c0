# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of Relay as operators of Relax: a module for each family, and their registry."""

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
from . import vision as vision
