# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A picture of the memory of functions over time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from .memory import MemoryUsage, TensorUsage, estimate_memory_usage, format_bytes

if TYPE_CHECKING:
    from ..core.ir_module import ModuleLike

_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#edc948", "#9c755f")
_LEFT, _TOP, _WIDTH, _HEIGHT, _GAP = 90, 30, 900, 320, 70


def plot_memory_plan(
    mod: ModuleLike, path: str | os.PathLike[str], sizes: Mapping[str, int] | None = None
) -> Path:
    """Write a picture of the memory plan of each function.

    To the right are the steps of the function, upwards the bytes of its storages, one above the
    other. A box is a tensor: where it lies, and from when to when it is needed. Boxes say more
    under the mouse.

    Parameters
    ----------
    mod : IRModule, mlir.ir.Module, str or BlockBuilder
        As of `estimate_memory_usage`.
    path : path
        The file to write, ``.svg`` or ``.html``. It needs nothing but a browser.
    sizes : mapping of str to int, optional
        Values of shape variables. Those with an upper bound have that value otherwise.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ValueError
        If the name of the file ends otherwise, or if a size is not known: the message names the
        variables that have no value.

    Examples
    --------
    >>> import tempfile
    >>> path = plot_memory_plan('''
    ... relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    ...   %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   %1 = relax.exp %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    ...   relax.return %1 : !relax.tensor<[n], f32>
    ... }''', tempfile.gettempdir() + "/plan.svg", {"n": 256})
    >>> path.read_text().startswith("<svg")
    True
    """
    path = Path(path)
    if path.suffix not in (".svg", ".html"):
        raise ValueError(f"expected a file that ends in .svg or .html, but got '{path}'")
    usages = list(estimate_memory_usage(mod, sizes).values())
    for usage in usages:
        _check_known(usage)
    svg = "\n".join(_picture(usages))
    if path.suffix == ".html":
        svg = (
            '<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>Memory plan</title></head>'
            f"<body>\n{svg}\n</body></html>"
        )
    path.write_text(svg + "\n", encoding="utf-8")
    return path


def _check_known(usage: MemoryUsage) -> None:
    unknown = {
        name
        for storage in usage.storages
        if storage.bytes is None
        for name in storage.size.variables
    }
    if unknown:
        raise ValueError(
            f"expected values for the shape variables {', '.join(sorted(unknown))} of function "
            f"'{usage.function}', as sizes={{...}}"
        )


def _picture(usages: list[MemoryUsage]) -> Iterator[str]:
    height = max(len(usages), 1) * (_HEIGHT + _GAP) + _TOP
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 30}" '
        f'height="{height}" font-family="sans-serif" font-size="11">'
    )
    yield '<rect width="100%" height="100%" fill="white"/>'
    for number, usage in enumerate(usages):
        yield f'<g transform="translate({_LEFT},{_TOP + number * (_HEIGHT + _GAP)})">'
        yield from _function(usage)
        yield "</g>"
    yield "</svg>"


def _function(usage: MemoryUsage) -> Iterator[str]:
    """Yield the elements of one function, from the upper left corner of its field."""
    total = usage.planned_bytes or 0
    share = f", {total / usage.unplanned_bytes:.0%} of all" if usage.unplanned_bytes else ""
    title = f"{usage.function}: {format_bytes(total)} for {len(usage.tensors)} tensors{share}"
    yield f'<text y="-10" font-size="14">{escape(title)}</text>'
    yield f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="#888"/>'
    per_byte = _HEIGHT / max(total, 1)
    bases, base = [], 0
    for index, storage in enumerate(usage.storages):
        bases.append(base)
        base += storage.bytes or 0
        top = _HEIGHT - base * per_byte
        kind = "storage" if storage.is_shared else "tensor"
        label = f"{kind} {index}, {format_bytes(storage.bytes or 0)}"
        yield f'<line x2="{_WIDTH}" y1="{top:.2f}" y2="{top:.2f}" stroke="#888"/>'
        yield f'<text x="-6" y="{top + 11:.2f}" text-anchor="end">{escape(label)}</text>'
    per_step = _WIDTH / max(len(usage.steps), 1)
    for number, tensor in enumerate(usage.tensors):
        yield _box(tensor, bases[tensor.storage], per_byte, per_step, number)
    yield f'<text y="{_HEIGHT + 16}">step 0</text>'
    yield (
        f'<text x="{_WIDTH}" y="{_HEIGHT + 16}" text-anchor="end">'
        f"step {max(len(usage.steps) - 1, 0)}</text>"
    )


def _box(tensor: TensorUsage, base: int, per_byte: float, per_step: float, number: int) -> str:
    size = tensor.bytes or 0
    x, width = tensor.begin * per_step, (tensor.end - tensor.begin + 1) * per_step
    y, height = _HEIGHT - (base + tensor.offset + size) * per_byte, max(size * per_byte, 1)
    tip = (
        f"{tensor.name}: {tensor.type}, {format_bytes(size)} at {tensor.offset} of storage "
        f"{tensor.storage}, steps {tensor.begin} to {tensor.end}"
    )
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" '
        f'fill="{_COLOURS[number % len(_COLOURS)]}" fill-opacity="0.7" stroke="white">'
        f"<title>{escape(tip)}</title></rect>"
    )
