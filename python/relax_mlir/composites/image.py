# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on images, `relax_mlir.op.image`: resizing and sampling.

Examples
--------
>>> from relax_mlir import BlockBuilder, TensorStructInfo, Var, op
>>> bb = BlockBuilder()
>>> x = Var("x", TensorStructInfo(("n", 3, 32, 32), "float32"))
>>> with bb.function("main", [x]):
...     y = op.image.resize2d(x, (64, 48), method="cubic")
...     _ = bb.emit_func_output(y)
>>> print(y.type)
!relax.tensor<[n, 3, 64, 48], f32>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlir import ir

from ..core.expr import TensorLike, Var, as_tensor
from ..core.ir import Dim, ShapeStructInfo
from .layouts import data_letters, of_layout, packed, unpacked
from .resize import Resampling, resized
from .sampling import affine_coordinates
from .sampling import grid_sample as sample_grid
from .tensors import rank_of, shape_of, size

__all__ = ["affine_grid", "grid_sample", "resize1d", "resize2d", "resize3d"]

_SAMPLINGS = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}


def sizes_of(value: Any, count: int) -> list[int | Dim]:
    """Return the dimensions of images, which are given as a shape, a sequence, or one for all.

    Parameters
    ----------
    value : shape, or sequence of int or Dim, or int or Dim
    count : int
        How many dimensions images have.

    Raises
    ------
    ValueError
        If there are more or fewer.
    """
    value = value.value if isinstance(value, Var) else value
    if isinstance(value, ir.Value) and isinstance(value.type, ShapeStructInfo):
        if value.type.values is None:
            raise NotImplementedError(f"expected a shape that is known, but got {value.type}")
        given = list(value.type.values)
    else:
        given = list(value) if isinstance(value, (list, tuple)) else [value] * count
    dims = [one if isinstance(one, int) else size(Dim(one)) for one in given]
    if len(dims) != count:
        raise ValueError(f"expected a size of {count} dimensions, but got {len(dims)}")
    return dims


def _resize(
    data: TensorLike, sizes: Any, roi: Any, layout: str, how: Resampling, dtype: Any
) -> ir.Value:
    x = as_tensor(data)
    letters = "".join(sorted((one for one in layout if one.isupper()), key="NCDHW".index))
    count = len(letters) - 2
    images = unpacked(of_layout(x, layout), layout, letters)
    region = _region(roi, count) if how.mode == "tf_crop_and_resize" else None
    wanted = None if dtype in (None, "", "void") else str(dtype)
    return packed(resized(images, sizes_of(sizes, count), how, region, wanted), letters, layout)


def _region(roi: Any, count: int) -> list[float]:
    """Return the begins of a part of images, then its ends."""
    given = [float(one) for one in (roi if isinstance(roi, (list, tuple)) else [roi or 0.0])]
    numbers = given * 2 * count if len(given) == 1 else given
    if len(numbers) != 2 * count:
        raise ValueError(f"expected roi of {2 * count} numbers, but got {given}")
    return numbers


def resize1d(
    data: TensorLike,
    size: Any,
    roi: float | Sequence[float] | None = None,
    layout: str = "NCW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round",
    cubic_alpha: float = -0.75,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
) -> ir.Value:
    """Return rows of another length; the arguments are those of `resize2d`."""
    how = Resampling(
        method, coordinate_transformation_mode, rounding_method, cubic_alpha,
        bool(cubic_exclude), extrapolation_value,
    )  # fmt: skip
    return _resize(data, size, roi, layout, how, out_dtype)


def resize2d(
    data: TensorLike,
    size: Any,
    roi: float | Sequence[float] | None = None,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round",
    cubic_alpha: float = -0.75,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
) -> ir.Value:
    """Return images of another size.

    Parameters
    ----------
    data : tensor, number or array
        Images, whose dimensions `layout` names.
    size : shape, or sequence of int or Dim, or int or Dim
        Height and width of the result.
    roi : sequence of float, optional
        Of the mode ``tf_crop_and_resize``: the begins of a part of the image, then its ends, from 0
        to 1.
    layout : str
        The order of dimensions, with channels in blocks or without, as in ``NHWC``, ``NCHW16c``.
    method : str
        ``nearest_neighbor``, ``linear`` or ``cubic``.
    coordinate_transformation_mode : str
        Where an element of the result is in the image: ``half_pixel``, ``align_corners``,
        ``asymmetric``, ``pytorch_half_pixel``, ``tf_half_pixel_for_nn`` or ``tf_crop_and_resize``.
    rounding_method : str
        Which element is the nearest one: ``round``, ``round_prefer_floor``, ``round_prefer_ceil``,
        ``floor`` or ``ceil``; "" for that of the coordinates.
    cubic_alpha : float
        The coefficient of the cubic kernel.
    cubic_exclude : int
        Whether elements beyond the image have no share, not even as copies of those at its ends.
    extrapolation_value : float
        The elements beyond the image, of the mode ``tf_crop_and_resize``.
    out_dtype : str, optional
        By default the data type of `data`; integers are rounded towards zero.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If an argument is none of these.
    """
    how = Resampling(
        method, coordinate_transformation_mode, rounding_method, cubic_alpha,
        bool(cubic_exclude), extrapolation_value,
    )  # fmt: skip
    return _resize(data, size, roi, layout, how, out_dtype)


def resize3d(
    data: TensorLike,
    size: Any,
    roi: float | Sequence[float] | None = None,
    layout: str = "NCDHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.75,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
) -> ir.Value:
    """Return volumes of another size; the arguments are those of `resize2d`."""
    how = Resampling(
        method, coordinate_transformation_mode, rounding_method, cubic_alpha,
        bool(cubic_exclude), extrapolation_value,
    )  # fmt: skip
    return _resize(data, size, roi, layout, how, out_dtype)


def grid_sample(
    data: TensorLike,
    grid: TensorLike,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> ir.Value:
    """Return the elements of images at given points, between elements.

    Parameters
    ----------
    data : tensor, number or array
        Images or volumes, whose dimensions `layout` names.
    grid : tensor, number or array
        The points of each image, from -1 to 1, with the last coordinate of images first: of the
        dimensions batch, those of the result, and coordinate.
    method : str
        ``nearest``, ``bilinear`` or ``bicubic``.
    layout : str
    padding_mode : str
        The elements beyond images: ``zeros``, ``border`` or ``reflection``.
    align_corners : bool
        Whether -1 and 1 are the middles of the elements at the ends, not their edges.

    Returns
    -------
    mlir.ir.Value

    Raises
    ------
    ValueError
        If an argument is none of these.
    """
    if method not in _SAMPLINGS:
        raise ValueError(f"expected method {', '.join(_SAMPLINGS)}, but got '{method}'")
    x = as_tensor(data)
    letters = data_letters(rank_of(x) - 2)
    images = unpacked(of_layout(x, layout), layout, letters)
    points = as_tensor(grid)
    sampled = sample_grid(images, points, _SAMPLINGS[method], padding_mode, bool(align_corners))
    return packed(sampled, letters, layout)


def affine_grid(data: TensorLike, size: Any) -> ir.Value:
    """Return the points of images that are turned, scaled and moved, for `grid_sample`.

    Points at the ends of images are at -1 and 1, as with ``align_corners``.

    Parameters
    ----------
    data : tensor, number or array
        A matrix of 2 rows and 3 columns for each image.
    size : shape, or sequence of int or Dim, or int or Dim
        Height and width of the result.

    Returns
    -------
    mlir.ir.Value
        Of the dimensions batch, coordinate, height and width.

    Raises
    ------
    ValueError
        If there are other dimensions.
    """
    x = as_tensor(data)
    dims = shape_of(x)
    if len(dims) != 3 or dims[1:] != [2, 3]:
        raise ValueError(f"expected matrices of 2 rows and 3 columns, but got {dims}")
    height, width = sizes_of(size, 2)
    return affine_coordinates(x, [height, width])
