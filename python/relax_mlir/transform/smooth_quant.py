# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SmoothQuant: large channels of activations become smaller, and rows of weights larger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from mlir import ir

from .. import op
from .._arguments import shown
from ..core.expr import const
from ..core.ir_module import IRModule
from ..core.variables import defining_op, unnamed
from .fold_constant import constant_values, is_computed_of_constants
from .pass_context import PassContext
from .python_pass import module_pass
from .quantize_static import has_constant_matrix, named_layers
from .rewriting import dims_of, erase_unused, has_one_use

# Scales are from 2^-63 to 2^63, and weights times scales are less than 2^127.
_LARGEST_SCALE, _LARGEST_WEIGHT = 2.0**63, 2.0**127

# An operand of an operation.
_Operand = tuple[ir.Operation, int]


@module_pass(opt_level=0)
class SmoothQuant:
    """Divide channels of the inputs of layers, so that they are rounded with smaller errors.

    Activations of language models have a few channels that are much larger than all others, and one
    scale of 8 bits for all channels rounds the others to a few codes. A channel `j` of the input
    `x` of a `matmul` by constant weights is divided by ``s[j] = max|x[j]|**alpha /
    max|w[j]|**(1 - alpha)`` here, and the row `j` of the weights is multiplied by it: the program
    computes the same, up to rounding. `QuantizeStatic` comes after it, with ranges of the program
    that this pass returns. The method is that of Xiao et al., SmoothQuant, 2023
    (https://arxiv.org/abs/2211.10438).

    Parameters
    ----------
    maxima : mapping of str to array
        The largest magnitude of each channel of the input of each layer to smooth, by its name, as
        `relax_mlir.quantization.calibrate_channels` returns them.
    name : str
        The function.
    alpha : float
        How much of the difficulty moves to the weights, from 0 to 1. With 1 all channels of the
        input have the largest magnitude 1, with 0 all rows of the weights.
    check : callable, optional
        ``check(layer)`` says of each layer, an `mlir.ir.Operation`, whether to smooth it.

    Raises
    ------
    ValueError
        If there are no maxima, they are negative, no finite numbers or not as many as channels,
        `alpha` is not from 0 to 1, there is no layer of a name, a layer is a convolution, or there
        is no function `name`.

    Notes
    -----
    Layers that read the same value, such as the projections to queries, keys and values, share one
    scale, with the largest weight of a row over all of them. Where nothing else reads the value,
    the division becomes part of what makes it:

    - of `gamma` and `beta` of a `layer_norm` over the last dimension, or the weight of an
      `rms_norm`, that are computed of constants;
    - of the constant that something is multiplied by, also where another constant is added then.

    Otherwise a multiplication by ``1 / s`` is left, which is done when the program runs.

    Channels keep the scale 1 that are always 0, whose row of weights is 0, or whose scale is not
    from 2^-63 to 2^63. Layers stay as they are whose weights have infinities or NaN, and those
    whose input has a last dimension that is not known.

    Examples
    --------
    >>> import numpy as np
    >>> import relax_mlir as relax
    >>> from relax_mlir.transform import SmoothQuant
    >>> x = relax.Var("x", relax.TensorStructInfo(("n", 2), "float32"))
    >>> ones = np.ones(2, "float32")
    >>> bb = relax.BlockBuilder()
    >>> with bb.function("main", [x]):
    ...     norm = relax.op.nn.rms_norm(x, ones)
    ...     y = bb.emit(relax.op.matmul(norm, np.ones((2, 3), "float32")), "hidden")
    ...     _ = bb.emit_func_output(y)
    >>> mod = SmoothQuant({"hidden": [1.0, 64.0]})(bb.get())
    >>> "relax.multiply" in str(mod), "dense<[1.000000e+00, 1.250000e-01]>" in str(mod)
    (False, True)
    """

    def __init__(
        self,
        maxima: Mapping[str, np.ndarray | Sequence[float]],
        name: str = "main",
        *,
        alpha: float = 0.5,
        check: Callable[[ir.Operation], bool] | None = None,
    ) -> None:
        if not isinstance(maxima, Mapping):
            raise TypeError(f"expected maxima by names of layers, but got {shown(maxima)}")
        if not maxima:
            raise ValueError(
                "expected maxima of layers, which relax_mlir.quantization.calibrate_channels "
                "returns, but got none"
            )
        if not 0 <= alpha <= 1:
            raise ValueError(f"expected alpha to be from 0 to 1, but got {alpha}")
        self._maxima = {layer: _checked(layer, given) for layer, given in maxima.items()}
        self._name, self._alpha, self._check = name, alpha, check

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Smooth layers of the function."""
        named = named_layers(mod, self._name, self._maxima)
        for name, found in named.items():
            if found.name != "relax.matmul":
                kind = found.name.removeprefix("relax.")
                raise ValueError(f"expected names of matrix products, but got {name!r}, a {kind}")
        for group in _groups(self._layers(named)):
            group.smooth(self._alpha)
        return mod

    def _layers(self, named: Mapping[str, ir.Operation]) -> Iterator[_Layer]:
        meant = {
            name: found
            for name, found in named.items()
            if has_constant_matrix(found) and (self._check is None or self._check(found))
        }
        weights = constant_values(found.operands[1] for found in meant.values())
        # Of all of them before one of them is changed.
        layers = [
            (name, _Layer(found, weights[found.operands[1]], self._maxima[name]))
            for name, found in meant.items()
        ]
        for name, layer in layers:
            if len(layer.maxima) != len(layer.weight):
                raise ValueError(
                    f"expected {len(layer.weight)} maxima, one for each channel of the input of "
                    f"{name!r}, but got {len(layer.maxima)}"
                )
            if np.isfinite(layer.weight).all() and _channels(layer.data) == len(layer.weight):
                yield layer


def _checked(name: str, given: np.ndarray | Sequence[float]) -> np.ndarray:
    try:
        maxima = np.asarray(given, "float64")
    except (TypeError, ValueError):
        raise TypeError(f"expected numbers as the maxima of {name!r}, but got {given!r}") from None
    if maxima.ndim != 1:
        raise ValueError(
            f"expected a vector as the maxima of {name!r}, but got the shape {maxima.shape}"
        )
    wrong = maxima[~(np.isfinite(maxima) & (maxima >= 0))]
    if len(wrong):
        raise ValueError(
            f"expected maxima of magnitudes, which are finite and not negative, of {name!r}, but "
            f"got {wrong[0]}"
        )
    return maxima


def _channels(value: ir.Value) -> int | None:
    """Return the last dimension of a tensor; None where it is not known."""
    dims = dims_of(value)
    return dims[-1].value if dims else None


@dataclass(frozen=True)
class _Layer:
    """A product by constant weights, and the largest magnitude of each channel of its input."""

    operation: ir.Operation
    weight: np.ndarray
    maxima: np.ndarray

    @property
    def data(self) -> ir.Value:
        """The input."""
        return self.operation.operands[0]

    def set_weight(self, weight: np.ndarray) -> None:
        """Multiply by other weights."""
        _set_constant((self.operation, 1), weight)


@dataclass(frozen=True)
class _Group:
    """Layers that read the same value, which is divided by one scale for all of them."""

    data: ir.Value
    layers: list[_Layer]

    def smooth(self, alpha: float) -> None:
        """Divide the input, and multiply the weights."""
        scale = self._scale(alpha)
        if (scale == 1).all():
            return
        if not self._divide_constants(scale):
            self._multiply(1 / scale)
        for layer in self.layers:
            layer.set_weight(layer.weight * scale[:, None])

    def _scale(self, alpha: float) -> np.ndarray:
        """Return what to divide channels by, of numbers for which the formula has a meaning."""
        data = np.max([layer.maxima for layer in self.layers], 0)
        weights = [np.abs(layer.weight).max(1, initial=0) for layer in self.layers]
        weight = np.max(weights, 0).astype("float64")
        is_used = (data > 0) & (weight > 0)
        scale = np.where(is_used, data, 1) ** alpha / np.where(is_used, weight, 1) ** (1 - alpha)
        fits = (scale >= 1 / _LARGEST_SCALE) & (scale <= _LARGEST_SCALE)
        fits &= weight * scale < _LARGEST_WEIGHT
        return np.where(is_used & fits, scale, 1).astype("float32")

    def _divide_constants(self, scale: np.ndarray) -> bool:
        """Divide the constants that the input is computed with; say whether that is done."""
        readers = {layer.operation for layer in self.layers}
        if any(use.owner.operation not in readers for use in self.data.uses):
            return False
        found = _factors(self.data, len(scale))
        values = constant_values(owner.operands[index] for owner, index in found)
        with np.errstate(over="ignore"):
            divided = [values[owner.operands[index]] / scale for owner, index in found]
        if not found or not all(np.isfinite(value).all() for value in divided):
            return False
        for operand, value in zip(found, divided, strict=True):
            _set_constant(operand, value)
        return True

    def _multiply(self, scale: np.ndarray) -> None:
        products: dict[ir.Block, ir.Value] = {}
        for layer in self.layers:
            found = layer.operation
            with ir.InsertionPoint(found), unnamed(found.location):
                if found.block not in products:
                    products[found.block] = op.multiply(self.data, const(scale))
                found.operands[0] = products[found.block]


def _groups(layers: Iterable[_Layer]) -> list[_Group]:
    groups: dict[ir.Value, _Group] = {}
    for layer in layers:
        groups.setdefault(layer.data, _Group(layer.data, [])).layers.append(layer)
    return list(groups.values())


def _factors(value: ir.Value, channels: int) -> list[_Operand]:
    """Return the constant operands that a value is divided with; none where others are needed."""
    found = defining_op(value)
    if found is None or _channels(value) != channels:
        return []
    if found.name in ("relax.layer_norm", "relax.rms_norm"):
        return _parameters_of_norm(found)
    if found.name not in ("relax.multiply", "relax.add"):
        return []
    for this, other in ((0, 1), (1, 0)):
        if is_computed_of_constants(found.operands[other]):
            if found.name == "relax.multiply":
                return [(found, other)]
            term = found.operands[this]
            factors = _factors(term, channels) if has_one_use(term) else []
            return [*factors, (found, other)] if factors else []
    return []


def _parameters_of_norm(norm: ir.Operation) -> list[_Operand]:
    """Return the parameters of a normalization of channels, which are constants."""
    parameters = list(norm.operands)[1:]
    is_of_channels = all(len(dims_of(value) or ()) == 1 for value in parameters)
    is_scaled = "scale" not in norm.attributes or norm.attributes["scale"].value
    if not (is_of_channels and is_scaled and all(map(is_computed_of_constants, parameters))):
        return []
    return [(norm, 1 + i) for i in range(len(parameters))]


def _set_constant(operand: _Operand, value: np.ndarray) -> None:
    """Put a constant in the place of an operand, and erase what only that was computed of."""
    owner, index = operand
    old = defining_op(owner.operands[index])
    with ir.InsertionPoint(owner), unnamed(owner.location):
        owner.operands[index] = const(value)
    if old is not None:
        erase_unused(old)
