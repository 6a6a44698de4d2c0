# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes by their names: ours, TVM's, and those that users write."""

from __future__ import annotations

from . import tvm_arguments
from ._passes_gen import PASSES as _GENERATED
from .base import MLIRPass, register_pass

# The passes that have another name in TVM, by the name of TVM.
_TVM_NAMES = {
    "AnnotateTIROpPattern": "AnnotateOpPattern",
    "CallTIRRewrite": "LowerCallTIR",
    "RewriteDataflowReshape": "RewriteReshape",
    "StaticPlanBlockMemory": "PlanMemory",
    "VMShapeLower": "LowerShapes",
}

# The passes of TVM that may be missing here: `transform.__getattr__` says so.
_TVM_TEXT = """
AdjustMatmulOrder AllocateWorkspace AlterOpImpl AnnotateTIROpPattern
AttachAttrLayoutFreeBuffers AttachExternModules AttachGlobalSymbol BindParams BindSymbolicVars
BundleModelParams CallTIRRewrite CanonicalizeBindings CombineParallelMatmul ComputePrimValue
ConvertLayout ConvertToDataflow DataflowUseInplaceCalls DeadCodeElimination
DecomposeOpsForInference DecomposeOpsForTraining EliminateCommonSubexpr ExpandMatmulOfSum
ExpandTupleArguments FastMathTransform FoldBatchnormToConv2D FoldConstant FuseOps
FuseOpsByPattern FuseTIR FuseTransposeMatmul Gradient IPCAllReduceRewrite
InlinePrivateFunctions KillAfterLastUse LambdaLift LazyGetInput LazySetOutput
LazyTransformParams LegalizeOps LiftTransformParams LowerAllocTensor LowerGPUIPCAllocStorage
LowerRuntimeBuiltin MergeCompositeFunctions MetaScheduleApplyDatabase MetaScheduleTuneIRMod
MetaScheduleTuneTIR Normalize NormalizeGlobalVar OptimizeLayoutTransform RealizeVDevice
RemovePurityChecking RemoveRedundantReshape RemoveUnusedOutputs RemoveUnusedParameters
ReorderPermuteDimsAfterConcat ReorderTakeAfterMatmul RewriteCUDAGraph RewriteDataflowReshape
RunCodegen SpecializePrimFuncBasedOnCallSite SplitCallTIRByPattern SplitLayoutRewritePreproc
StaticPlanBlockMemory ToMixedPrecision ToNonDataflow TopologicalSort UpdateParamStructInfo
UpdateParamType UpdateVDevice VMBuiltinLower VMShapeLower
"""
TVM_PASSES = frozenset(_TVM_TEXT.split())

_TUNING = "the compiler chooses the loops of kernels itself, without tuning"
_COLLECTIVE = "collective operators are of workers on processors, which share memory anyway"
_BUILTINS = "R.memory and R.vm are spellings of the same operations, which need no lowering"
# Why there is no pass under a name of TVM, where none is planned.
NOT_HERE = {
    "AllocateWorkspace": "packed functions allocate what they need themselves",
    "AttachExternModules": (
        "functions of other libraries are called by the names under which "
        "tvm_ffi.register_global_func knows them"
    ),
    "ComputePrimValue": "the compiler computes expressions over shape variables itself",
    "IPCAllReduceRewrite": _COLLECTIVE,
    "LowerGPUIPCAllocStorage": _COLLECTIVE,
    "LowerRuntimeBuiltin": _BUILTINS,
    "MetaScheduleApplyDatabase": _TUNING,
    "MetaScheduleTuneIRMod": _TUNING,
    "MetaScheduleTuneTIR": _TUNING,
    "RewriteCUDAGraph": (
        "compile(cuda_graph=True) replays the launches of whole calls, of any sizes"
    ),
    "SpecializePrimFuncBasedOnCallSite": (
        "kernels name no device, and run on that of their tensors"
    ),
    "SplitCallTIRByPattern": (
        "calls of libraries are made of operators, not of the loops of kernels"
    ),
    "VMBuiltinLower": _BUILTINS,
}

# Classes with the arguments of TVM replace those without any.
_OURS: tuple[type[MLIRPass], ...] = tuple(
    getattr(tvm_arguments, cls.__name__, cls) for cls in _GENERATED
)
PASSES: dict[str, type[MLIRPass]] = {cls.__name__: cls for cls in _OURS}
for _tvm_name, _name in _TVM_NAMES.items():
    PASSES[_tvm_name] = PASSES[_name]
    PASSES[_name].tvm_name = _tvm_name
for _cls in _OURS:
    _cls.register()
for _name, _cls in PASSES.items():
    register_pass(_name, _cls)

_BY_ARGUMENT = {cls.argument: cls for cls in _OURS}


def name_of(pipeline: str) -> str:
    """Return the name of a pass in the text of a pipeline: ours, or what MLIR calls it."""
    argument = pipeline.rpartition("(")[2].rstrip(")").partition("{")[0].strip()
    known = _BY_ARGUMENT.get(argument)
    return known.name() if known is not None else argument
