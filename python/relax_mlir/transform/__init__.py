# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes, from module to module, under the names that TVM has for them.

Each pass of this project is a class here with the options as keyword arguments: `LegalizeOps`,
`DeadCodeElimination` and so on; `passes` lists them. `Sequential` puts passes together,
`module_pass`, `function_pass` and `dataflowblock_pass` make passes of Python, and `PassContext`
says which of them run and who watches them.

Examples
--------
>>> from relax_mlir import transform
>>> "CallTIRRewrite" in transform.passes()
True
>>> mod = transform.Sequential([transform.Normalize(), transform.LegalizeOps()])("module {}")
"""

from __future__ import annotations

import sys
from typing import Any

from relax_runtime.near_misses import did_you_mean as _did_you_mean

from .alter_op_impl import AlterOpImpl
from .base import MLIRPass, Pass, PassError, Sequential
from .bind_params import BindParams
from .bind_symbolic_vars import BindSymbolicVars
from .combine_parallel_matmul import CombineParallelMatmul
from .compress_weights import CompressWeights, WeightFormat
from .conv2d_to_matmul import Conv2DToMatmul
from .convert_layout import ConvertLayout
from .dataflow_blocks import ConvertToDataflow, TopologicalSort
from .decompose_ops import DecomposeOpsForInference, DecomposeOpsForTraining
from .expand_conv1d import ExpandConv1D
from .expand_matmul_of_sum import ExpandMatmulOfSum
from .fast_math import FastMathTransform
from .find import find
from .flatten_conv3d import FlattenConv3D
from .fold_batch_norm import FoldBatchnormToConv2D
from .fold_constant import FoldConstant
from .fold_pad import FoldPad
from .fuse_activations import FuseActivations
from .fuse_lstm_steps import FuseLSTMSteps
from .fuse_ops_by_pattern import FuseOpsByPattern, FusionPattern, PatternCheckContext
from .fuse_transpose_matmul import FuseTransposeMatmul
from .gradient import Gradient
from .inplace_calls import DataflowUseInplaceCalls
from .layout_free_buffers import AttachAttrLayoutFreeBuffers, SplitLayoutRewritePreproc
from .lazy_params import LazyGetInput, LazySetOutput, LazyTransformParams
from .lift_params import LiftTransformParams
from .lower_alloc_tensor import LowerAllocTensor
from .matmul_order import AdjustMatmulOrder
from .merge_composite_functions import MergeCompositeFunctions
from .merge_conv_branches import MergeConvBranches
from .mixed_precision import ToMixedPrecision
from .model_params import BundleModelParams
from .optimize_layout_transform import OptimizeLayoutTransform
from .param_types import UpdateParamStructInfo, UpdateParamType
from .pass_context import ConfigOption, PassContext, PassInfo, register_config_option
from .phases import phase
from .private_functions import ExpandTupleArguments, RemoveUnusedOutputs, RemoveUnusedParameters
from .purity import RemovePurityChecking
from .python_pass import (
    DataflowBlockPass,
    FunctionPass,
    ModulePass,
    dataflowblock_pass,
    function_pass,
    module_pass,
)
from .quantize_dynamic import QuantizeDynamic
from .quantize_static import QuantizeStatic
from .quantized_products import FakeQuantizationToInteger
from .redundant_reshape import RemoveRedundantReshape
from .registry import NOT_HERE as _NOT_HERE
from .registry import PASSES as _PASSES
from .registry import TVM_PASSES as _TVM_PASSES
from .reorder_permute_dims import ReorderPermuteDimsAfterConcat
from .reorder_reshape import ReorderReshapeAfterElementwise
from .reorder_take_after_matmul import ReorderTakeAfterMatmul
from .run_codegen import RunCodegen
from .schedule import ApplySchedule
from .smooth_quant import SmoothQuant
from .split_before_permute_dims import SplitBeforePermuteDims
from .split_dilated_conv2d import SplitDilatedConv2D
from .split_max_pool3d import SplitMaxPool3D
from .symbols import AttachGlobalSymbol, NormalizeGlobalVar
from .transpose_weights import TransposeQuantizedWeights
from .update_vdevice import UpdateVDevice

__all__ = [
    "AdjustMatmulOrder",
    "AlterOpImpl",
    "ApplySchedule",
    "AttachAttrLayoutFreeBuffers",
    "AttachGlobalSymbol",
    "BindParams",
    "BindSymbolicVars",
    "BundleModelParams",
    "CombineParallelMatmul",
    "CompressWeights",
    "ConfigOption",
    "Conv2DToMatmul",
    "ConvertLayout",
    "ConvertToDataflow",
    "DataflowBlockPass",
    "DataflowUseInplaceCalls",
    "DecomposeOpsForInference",
    "DecomposeOpsForTraining",
    "ExpandConv1D",
    "ExpandMatmulOfSum",
    "ExpandTupleArguments",
    "FakeQuantizationToInteger",
    "FastMathTransform",
    "FlattenConv3D",
    "FoldBatchnormToConv2D",
    "FoldConstant",
    "FoldPad",
    "FunctionPass",
    "FuseActivations",
    "FuseLSTMSteps",
    "FuseOpsByPattern",
    "FuseTransposeMatmul",
    "FusionPattern",
    "Gradient",
    "LazyGetInput",
    "LazySetOutput",
    "LazyTransformParams",
    "LiftTransformParams",
    "LowerAllocTensor",
    "MLIRPass",
    "MergeCompositeFunctions",
    "MergeConvBranches",
    "ModulePass",
    "NormalizeGlobalVar",
    "OptimizeLayoutTransform",
    "Pass",
    "PassContext",
    "PassError",
    "PassInfo",
    "PatternCheckContext",
    "QuantizeDynamic",
    "QuantizeStatic",
    "RemovePurityChecking",
    "RemoveRedundantReshape",
    "RemoveUnusedOutputs",
    "RemoveUnusedParameters",
    "ReorderPermuteDimsAfterConcat",
    "ReorderReshapeAfterElementwise",
    "ReorderTakeAfterMatmul",
    "RunCodegen",
    "Sequential",
    "SmoothQuant",
    "SplitBeforePermuteDims",
    "SplitDilatedConv2D",
    "SplitLayoutRewritePreproc",
    "SplitMaxPool3D",
    "ToMixedPrecision",
    "TopologicalSort",
    "TransposeQuantizedWeights",
    "UpdateParamStructInfo",
    "UpdateParamType",
    "UpdateVDevice",
    "WeightFormat",
    "dataflowblock_pass",
    "find",
    "function_pass",
    "module_pass",
    "passes",
    "phase",
    "register_config_option",
]
__all__ += sorted(_PASSES)  # the passes that TableGen declares


def passes() -> dict[str, type[MLIRPass]]:
    """Return the passes of this project by name, where TVM has one under that name."""
    return {cls.name(): cls for cls in _PASSES.values()}


def __getattr__(name: str) -> Any:
    if name in _PASSES:
        return _PASSES[name]
    hint = "" if name.startswith("_") else _did_you_mean(name, __dir__())
    message = f"module 'relax_mlir.transform' has no attribute '{name}'{hint}"
    if name in _TVM_PASSES:
        message = f"relax_mlir has no pass '{name}' yet; transform.passes() lists those it has"
        if name in _NOT_HERE:
            message = f"relax_mlir has no pass '{name}': {_NOT_HERE[name]}"
        # For "from relax_mlir.transform import ..." Python asks whether there is the attribute,
        # and would forget the reason why there is none.
        if sys._getframe(1).f_code.co_name == "_handle_fromlist":
            raise ImportError(message, name=__name__)
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PASSES])
