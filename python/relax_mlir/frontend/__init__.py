# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of other frameworks as modules; each importer needs its framework installed."""

from .params import detach_params as detach_params
