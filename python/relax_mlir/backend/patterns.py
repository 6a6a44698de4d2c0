# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns that many libraries have: products, with what may follow them.

Each function returns a pattern, and parts of it by names, for the check of a `FusionPattern`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..dpl import DFPattern, is_op, wildcard
from ..dpl.helpers import bias_and_activation

Annotated = tuple[DFPattern, dict[str, DFPattern]]


def _followed(
    root: DFPattern,
    parts: dict[str, DFPattern],
    with_bias: bool,
    activation: str | None,
    allow_reshape: bool = False,
) -> Annotated:
    """Return a pattern of an operation, then a bias, then an activation."""
    parts = {**parts, "root": root}
    if with_bias:
        parts["bias"] = wildcard()
    return bias_and_activation(root, parts.get("bias"), activation, allow_reshape), parts


def make_fused_bias_activation_pattern(
    op_name: str,
    with_bias: bool = False,
    activation: str | None = None,
    allow_reshape: bool = False,
) -> Annotated:
    """Return the pattern of an operator of two operands, then a bias, then an activation.

    Parameters
    ----------
    op_name : str
        Such as "relax.nn.conv2d".
    with_bias : bool
        Whether a bias is added.
    activation : str, optional
        The name of a unary operator, such as "relax.nn.relu".
    allow_reshape : bool
        Whether the bias is one that is reshaped.

    Returns
    -------
    tuple of DFPattern and dict
        With the parts "lhs", "rhs", "root" and "bias".
    """
    lhs, rhs = wildcard(), wildcard()
    parts: dict[str, DFPattern] = {"lhs": lhs, "rhs": rhs}
    return _followed(is_op(op_name)(lhs, rhs), parts, with_bias, activation, allow_reshape)


def make_conv2d_pattern(with_bias: bool = False, activation: str | None = None) -> Annotated:
    """Return the pattern of a convolution, then a bias, then an activation.

    Parameters
    ----------
    with_bias, activation
        As of `make_fused_bias_activation_pattern`.

    Returns
    -------
    tuple of DFPattern and dict
        With the parts "input", "weight", "root" and "bias".
    """
    source, weight = wildcard(), wildcard()
    parts: dict[str, DFPattern] = {"input": source, "weight": weight}
    return _followed(is_op("relax.nn.conv2d")(source, weight), parts, with_bias, activation)


def make_matmul_pattern(
    with_bias: bool = False,
    activation: str | None = None,
    transposed_rhs: bool = False,
    transposed_lhs: bool = False,
) -> Annotated:
    """Return the pattern of a product of matrices, then a bias, then an activation.

    Parameters
    ----------
    with_bias, activation
        As of `make_fused_bias_activation_pattern`.
    transposed_rhs, transposed_lhs : bool
        Whether the right and the left matrix are such whose dimensions are permuted.

    Returns
    -------
    tuple of DFPattern and dict
        With the parts "lhs", "rhs", "root" and "bias".

    Examples
    --------
    >>> pattern, parts = make_matmul_pattern(with_bias=True, activation="relax.nn.relu")
    >>> pattern, sorted(parts)
    (relax.relu(relax.add(relax.matmul(*, *), *)), ['bias', 'lhs', 'rhs', 'root'])
    """
    lhs, rhs = wildcard(), wildcard()
    parts: dict[str, DFPattern] = {"lhs": lhs, "rhs": rhs}
    permute = is_op("relax.permute_dims")
    left, right = (
        (permute(lhs) if transposed_lhs else lhs),
        (permute(rhs) if transposed_rhs else rhs),
    )
    return _followed(is_op("relax.matmul")(left, right), parts, with_bias, activation)


def make_residual_block_pattern(
    node_output: DFPattern | tuple[DFPattern, Mapping[str, DFPattern]],
    binary_op: str = "relax.add",
    activation: str | None = None,
) -> Annotated:
    """Return the pattern of a value that is combined with another one.

    Parameters
    ----------
    node_output : DFPattern, or tuple of DFPattern and mapping
        The pattern of the value, with the parts of it that have names.
    binary_op : str
        What combines both, in either order.
    activation : str, optional
        What follows.

    Returns
    -------
    tuple of DFPattern and dict
        With the parts of the value, and "residual", the other one.
    """
    output, parts = node_output if isinstance(node_output, tuple) else (node_output, {})
    residual = wildcard()
    combine = is_op(binary_op)
    out: DFPattern = combine(output, residual) | combine(residual, output)
    if activation is not None:
        out = is_op(activation)(out)
    return out, {**parts, "residual": residual}
