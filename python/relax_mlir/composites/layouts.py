# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of tensors by name: orders of dimensions, some of which may be split into blocks."""

from __future__ import annotations

import re
from typing import Any

from mlir import ir

from .. import op
from .tensors import rank_of, shape_of

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""The letters of spatial dimensions, by their number."""

_DIMENSION = re.compile(r"([A-Z])|(\d+)([a-z])")


def data_letters(count: int) -> str:
    """Return the usual layout of images of some spatial dimensions.

    Examples
    --------
    >>> data_letters(2)
    'NCHW'
    """
    return f"NC{SPATIAL[count]}"


def is_plain(layout: str, letters: str) -> bool:
    """Say whether a layout is an order of dimensions, none of which is split.

    Examples
    --------
    >>> is_plain("NHWC", "NCHW"), is_plain("NCHW16c", "NCHW")
    (True, False)
    """
    return sorted(layout) == sorted(letters)


def has_blocks(*layouts: str | None) -> bool:
    """Say whether a dimension of some layout is split into blocks.

    Examples
    --------
    >>> has_blocks("NHWC", None), has_blocks("NHWC", "NCHW16c")
    (False, True)
    """
    return any(isinstance(one, str) and any(map(str.isdigit, one)) for one in layouts)


def blocks_of(layout: str, letters: str) -> dict[str, int]:
    """Return the sizes of the blocks of a layout, by the letters of the dimensions.

    Raises
    ------
    ValueError
        If it is no layout of these letters.

    Examples
    --------
    >>> blocks_of("NCHW16c", "NCHW")
    {'C': 16}
    """
    return {name.upper(): size for name, size in _dimensions(layout, letters) if size}


def of_layout(x: ir.Value, layout: str) -> ir.Value:
    """Return a tensor that has a dimension for each letter of a layout.

    Raises
    ------
    ValueError
        If it has more or fewer.
    """
    rank = sum(letter.isalpha() for letter in layout)
    if rank_of(x) != rank:
        raise ValueError(f"expected a tensor of the layout {layout}, but got rank {rank_of(x)}")
    return x


def _dimensions(layout: str, letters: str) -> list[tuple[str, int]]:
    """Return the letter of each dimension, and the size of those that are blocks, else 0.

    Raises
    ------
    ValueError
        If it is no layout of these letters.
    """
    parts = [found.groups() for found in _DIMENSION.finditer(layout)]
    text = "".join("".join(one for one in part if one) for part in parts)
    names = [whole or block for whole, _, block in parts]
    plain = [name for name in names if name.isupper()]
    is_known = all(name.upper() in plain for name in names) and len(set(names)) == len(names)
    if text != layout or sorted(plain) != sorted(letters) or not is_known:
        raise ValueError(
            f"expected a layout of the dimensions {letters}, with blocks as in "
            f"'{letters}4{letters[1].lower()}' or without, but got '{layout}'"
        )
    return [(whole or block, int(size or 0)) for whole, size, block in parts]


def unpacked(x: ir.Value, layout: str, letters: str) -> ir.Value:
    """Return a tensor with its dimensions in another order, and without blocks.

    Parameters
    ----------
    x : mlir.ir.Value
    layout : str
        That of `x`, as in ``NHWC`` or ``NCHW16c``.
    letters : str
        The layout of the result.

    Raises
    ------
    ValueError
        If it is no layout of these letters, or of another rank than the tensor.
    """
    if layout == letters:
        return x
    dims = _dimensions(layout, letters)
    sizes = shape_of(x)
    if len(sizes) != len(dims):
        raise ValueError(f"expected a tensor of the layout {layout}, but got rank {len(sizes)}")
    places = {name: i for i, (name, _) in enumerate(dims)}
    order, shape = [], []
    for letter in letters:
        order.append(places[letter])
        shape.append(sizes[places[letter]])
        if letter.lower() in places:
            order.append(places[letter.lower()])
            shape[-1] = shape[-1] * sizes[order[-1]]
    turned = x if order == sorted(order) else op.permute_dims(x, order)
    return turned if len(shape) == len(sizes) else op.reshape(turned, shape)


def packed(x: ir.Value, letters: str, layout: str) -> ir.Value:
    """Return a tensor with its dimensions in another order, some of them in blocks.

    Parameters
    ----------
    x : mlir.ir.Value
    letters : str
        The layout of `x`.
    layout : str
        That of the result.

    Raises
    ------
    ValueError
        If it is no layout of these letters, or a dimension is no multiple of its block.
    """
    if layout == letters:
        return x
    dims = _dimensions(layout, letters)
    blocks = blocks_of(layout, letters)
    shape: list[Any] = []
    places: dict[str, int] = {}
    for letter, size in zip(letters, shape_of(x), strict=True):
        block = blocks.get(letter)
        if block and isinstance(size, int) and size % block:
            raise ValueError(f"expected {letter} as a multiple of {block}, but got {size}")
        places[letter] = len(shape)
        shape.append(size // block if block else size)
        if block:
            places[letter.lower()] = len(shape)
            shape.append(block)
    split = op.reshape(x, shape) if blocks else x
    order = [places[name] for name, _ in dims]
    return split if order == sorted(order) else op.permute_dims(split, order)
