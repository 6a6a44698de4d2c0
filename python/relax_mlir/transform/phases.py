# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The phases of compilation as sequences of passes, each of which instruments see."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from mlir import ir
from mlir.passmanager import PassManager

from .._mlir_libs import _relax_mlir as _ext
from ..core.context import current_context
from .base import MLIRPass, Pass, Sequential
from .combine_parallel_matmul import CombineParallelMatmul
from .compress_weights import CompressWeights
from .conv2d_to_matmul import Conv2DToMatmul
from .convert_layout import ConvertLayout
from .convolution_windows import ConvWindow
from .expand_conv1d import ExpandConv1D
from .flatten_conv3d import FlattenConv3D
from .fold_batch_norm import FoldBatchnormToConv2D
from .fold_constant import FoldConstant, is_computed_of_constants
from .fold_pad import FoldPad
from .fuse_activations import FuseActivations
from .fuse_lstm_steps import FuseLSTMSteps
from .merge_conv_branches import MergeConvBranches
from .mixed_precision import ToMixedPrecision
from .options import CompileOptions
from .quantize_dynamic import QuantizeDynamic
from .quantized_products import FakeQuantizationToInteger
from .registry import PASSES, name_of
from .reorder_reshape import ReorderReshapeAfterElementwise
from .split_before_permute_dims import SplitBeforePermuteDims
from .split_dilated_conv2d import SplitDilatedConv2D
from .split_max_pool3d import SplitMaxPool3D
from .transpose_weights import TransposeQuantizedWeights


def split_pipeline(text: str) -> list[str]:
    """Return the passes of a pipeline, as the text of a pipeline on a module each.

    Parameters
    ----------
    text : str
        A pipeline as MLIR prints it.

    Examples
    --------
    >>> split_pipeline("builtin.module(relax.func(cse,relax-normalize),lower{a=1,2 b={c}})")
    ['relax.func(cse)', 'relax.func(relax-normalize)', 'lower{a=1,2 b={c}}']
    """
    inner = text.strip().removeprefix("builtin.module(").removesuffix(")")
    return [one for element in _elements(inner) for one in _flatten(element)]


def _elements(text: str) -> Iterator[str]:
    """Yield the parts that commas outside of all brackets separate."""
    depth = start = 0
    for place, letter in enumerate(text):
        depth += (letter in "({") - (letter in ")}")
        if letter == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


def _flatten(element: str) -> Iterator[str]:
    head, bracket, rest = element.partition("(")
    if not bracket or "{" in head:
        yield element
        return
    for inner in _elements(rest.removesuffix(")")):
        for one in _flatten(inner):
            yield f"{head}({one})"


def _foldings(options: CompileOptions) -> list[Pass]:
    """Return the passes that remove operators, and compute what depends on constants alone."""
    if not options.fold_constants:
        return []
    simplify: Any = PASSES["SimplifyOps"]
    # Those of the kernels of convolutions.
    layouts = {
        "relax.nn.conv1d": ["NCW", "OIW"],
        "relax.nn.conv2d": ["NCHW", "OIHW"],
        "relax.nn.conv3d": ["NCDHW", "OIDHW"],
    }
    # Devices would copy what is permuted, and the parts of a split, in launches of their own.
    splits = options.fuse and not options.device
    passes: list[Any] = [SplitBeforePermuteDims()] if splits else []
    passes += [simplify(join=False), FoldPad()]
    has_floats = options.precision == "f32" and not options.weights
    if splits and has_floats and not options.dynamic_quantization:
        passes.append(FuseLSTMSteps(options.vector_bits))
    if options.integer_products and _multiplies(options, "int16"):
        is_direct = _multiplies(options, "int8") and options.vector_bits == 512
        passes.append(FakeQuantizationToInteger(has_byte_convolutions=is_direct, worthwhile=True))
    passes += [ConvertLayout(layouts), ExpandConv1D(), FoldBatchnormToConv2D()]
    passes += [MergeConvBranches(), FlattenConv3D()]
    if not options.device:
        passes += [SplitMaxPool3D(), Conv2DToMatmul()]
        if options.winograd:
            passes.append(SplitDilatedConv2D())
    if options.fuse and options.combine_matmuls:
        # It puts constants together, which is left to do then.
        passes.append(CombineParallelMatmul(worthwhile=True))
    passes += [TransposeQuantizedWeights(), FoldConstant(), FuseActivations()]
    return [*passes, ReorderReshapeAfterElementwise()]


def _multiplies(options: CompileOptions, dtype: str) -> bool:
    """Say whether the processor multiplies int8, int16 or bfloat16 faster than float32."""
    if options.device:
        return False
    return dtype in _ext.fast_products(options.vector_bits, options.features)


def _has_kernel_of_halves(operation: ir.Operation, *, are_multiplied: bool) -> bool:
    """Say whether an operation has a kernel of 16 bits that is faster than that of float32.

    `are_multiplied` says whether the processor has instructions for bfloat16.
    """
    if "_pool" in operation.name:
        return are_multiplied and operation.name == "relax.max_pool2d"
    if operation.name != "relax.conv2d":
        return True
    window = ConvWindow.match(operation)
    if window is None or (window.has_winograd and not window.waits_for_weights):
        return False  # with fewer products of float32
    return window.has_narrow_kernel and is_computed_of_constants(operation.operands[1])


def _roundings(options: CompileOptions) -> list[Pass]:
    """Return the passes that give numbers fewer bits, where options say so."""
    passes: list[Any] = [CompressWeights(options.weights)] if options.weights else []
    if options.dynamic_quantization and _multiplies(options, "int8"):
        passes.append(QuantizeDynamic())
        if options.fold_constants:
            passes.append(FoldConstant())
    if options.precision != "f32":
        dtype = {"f16": "float16", "bf16": "bfloat16"}[options.precision]
        # There are kernels of 16 bits for these.
        products = ["relax.matmul"]
        are_multiplied = options.precision == "bf16" and _multiplies(options, "bfloat16")
        if are_multiplied or options.device:
            products.append("relax.attention")
        if are_multiplied:
            products.append("relax.conv2d")
        has_kernel = functools.partial(_has_kernel_of_halves, are_multiplied=are_multiplied)
        passes.append(
            ToMixedPrecision(
                dtype=dtype,
                products=products,
                check=None if options.device else has_kernel,
                everywhere=True,
            )
        )
        if options.fold_constants:
            passes.append(FoldConstant())
    return passes


# The phase whose passes are in Python.
_OPTIMIZE = (
    "optimize",
    "operators that do nothing go; layouts, normalization, parallel products, activations, "
    "constants are folded",
)


def phases() -> list[tuple[str, str]]:
    """Return the phases of compilation in order: name, and what it does.

    The phase `name` is the pipeline ``relax-phase-<name>`` of ``relax-opt``, all but `optimize`,
    whose passes are in Python.

    Examples
    --------
    >>> [name for name, _ in phases()][:3]
    ['normalize', 'optimize', 'legalize']
    """
    normalize, *others = _ext.phases()
    return [normalize, _OPTIMIZE, *others]


def pipeline_of(name: str, options: CompileOptions) -> str | None:
    """Return a phase as the text of a pipeline on a module; None for that of passes in Python."""
    if name == _OPTIMIZE[0]:
        return None
    given = " ".join(f"{option}={value}" for option, value in options.pipeline_options().items())
    return f"builtin.module(relax-phase-{name}{{{given}}})"


def phase(name: str, options: CompileOptions | None = None, **changes: Any) -> Sequential:
    """Return a phase of compilation as a sequence of passes.

    Parameters
    ----------
    name : str
        One of `relax_mlir.phases`.
    options : CompileOptions, optional
        The default ones by default.
    **changes
        Options that differ, such as ``checks="necessary"``.

    Returns
    -------
    Sequential

    Raises
    ------
    ValueError
        If there is no such phase.

    Examples
    --------
    >>> phase("normalize").passes
    (AttachTarget(), Normalize(), CheckWellFormed(), DeriveStructInfo())
    """
    names = [known for known, _ in phases()]
    if name not in names:
        raise ValueError(f"expected a phase, one of {', '.join(names)}, but got {name!r}")
    options = CompileOptions.of(options, changes)
    pipeline = pipeline_of(name, options)
    if pipeline is None:
        return Sequential([*_foldings(options), *_roundings(options)], name=name)
    text = str(PassManager.parse(pipeline, context=current_context()))
    return Sequential([MLIRPass(one, name_of(one)) for one in split_pipeline(text)], name=name)
