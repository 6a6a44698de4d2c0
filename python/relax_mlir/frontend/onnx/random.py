# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers: of the seed that a node states, or of a key that is an input of the program."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir

from ... import op
from ...composites.random import dropout_mask
from ...composites.tensors import cast, number
from ..values import Value, dtype_of, known_array, shape_of
from .model import dtype_of as dtype_of_onnx
from .registry import Node, converter

_generator = np.random.default_rng()


def set_seed(seed: int) -> None:
    """Have sessions draw the same random numbers from now on as after any call with this seed.

    Parameters
    ----------
    seed : int
        0 or more.
    """
    global _generator
    _generator = np.random.default_rng(seed)


def new_key() -> np.ndarray:
    """Return a key for a run of a model."""
    return np.array(_generator.integers(0, 2**64, dtype="uint64"))


def _key(node: Node) -> ir.Value:
    seed = node.attr("seed", None)
    if seed is None:
        return node.importer.random_key()
    return number(int(np.float32(seed).view("uint32")), "uint64")


def _dtype(node: Node, default: str) -> str:
    stated = node.attr("dtype", 0)
    return dtype_of_onnx(stated) if stated else default


def _form(node: Node, like: Value) -> tuple[Any, str]:
    """Return the shape and data type of what is drawn: stated, or those of an input."""
    if like is None:
        return node.attr("shape"), _dtype(node, "float32")
    return shape_of(like), _dtype(node, dtype_of(like))


@converter("RandomUniform", "RandomUniformLike", raw=None)
def _uniform(node: Node, like: Value = None) -> ir.Value:
    shape, dtype = _form(node, like)
    low, high = node.attr("low", 0.0), node.attr("high", 1.0)
    return op.random.uniform(_key(node), shape, low, high, dtype)


@converter("RandomNormal", "RandomNormalLike", raw=None)
def _normal(node: Node, like: Value = None) -> ir.Value:
    shape, dtype = _form(node, like)
    mean, scale = node.attr("mean", 0.0), node.attr("scale", 1.0)
    return op.random.normal(_key(node), shape, mean, scale, dtype)


@converter("Bernoulli")
def _bernoulli(node: Node, x: ir.Value) -> ir.Value:
    return cast(op.random.bernoulli(_key(node), x), _dtype(node, x.type.dtype))


@converter("Multinomial")
def _multinomial(node: Node, x: ir.Value) -> ir.Value:
    chances = op.nn.softmax(x, -1)  # of their logarithms, less any number
    drawn = op.random.multinomial(_key(node), chances, node.attr("sample_size", 1))
    return cast(drawn, _dtype(node, "int32"))


@converter("Dropout", raw=None)
def _dropout(node: Node, x: Value, ratio: Value = None, training: Value = None) -> Any:
    rate = 0.0
    if training is not None and known_array(training, "a flag of training").item():
        rate = 0.5 if ratio is None else float(known_array(ratio, "a ratio").item())
    if not rate and not node.wants(1):
        return x
    tensor = node.importer.tensor(node.scope, x)
    mask_dtype = "bool" if node.opset >= 10 else tensor.type.dtype
    if not rate:
        return x, op.ones_like(tensor, mask_dtype)
    kept, factor = dropout_mask(_key(node), tensor, rate)
    return op.multiply(tensor, factor), cast(kept, mask_dtype)
