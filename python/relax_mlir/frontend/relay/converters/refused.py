# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of Relay that have no converter, and why."""

from __future__ import annotations

_RANDOM = (
    "its numbers are those of TVM's generator, which has no counterpart; make the numbers outside "
    "of the program, and pass them as a parameter"
)
_LOWERED = (
    "it is of a program that TVM has lowered for its own runtime; import the program as it was "
    "before relay.build"
)
_TUNED = (
    "it is of a program that TVM's tuners have rewritten for their kernels; import the program as "
    "it was before relay.build"
)

_TRANSFORMED = (
    "its weights are transformed for a kernel of TVM; import the program as it was before "
    "relay.build"
)
_BITS = "arithmetic on packed bits has no counterpart; TVM's nn.dense and nn.conv2d have"
_SPARSE = "sparse matrices have no counterpart; make them dense, as sparse_to_dense does"
_GRADIENT = "import the forward program, and have transform.Gradient write its gradient"
_CALIBRATED = "it is of a program that is being quantized; import the one that is quantized"
_SUPPRESSION = "this suppression is not translated; vision.non_max_suppression is"
_TORCH = "it calls PyTorch; import the model by relax_mlir.frontend.torch.from_exported_program"

_REFUSED = {
    _RANDOM: """random.multinomial random.normal random.threefry_generate random.threefry_split
        random.uniform""",
    _LOWERED: """call_lowered memory.alloc_storage memory.alloc_tensor memory.kill
        vm.invoke_tvm_op vm.reshape_tensor vm.shape_of""",
    _TUNED: "auto_scheduler_layout_transform meta_schedule_layout_transform",
    _TRANSFORMED: """nn.contrib_conv2d_gemm_weight_transform
        nn.contrib_conv2d_gemm_without_weight_transform
        nn.contrib_conv2d_winograd_nnpack_weight_transform
        nn.contrib_conv2d_winograd_weight_transform
        nn.contrib_conv2d_winograd_without_weight_transform
        nn.contrib_conv3d_winograd_weight_transform
        nn.contrib_conv3d_winograd_without_weight_transform""",
    _BITS: "nn.bitpack nn.bitserial_conv2d nn.bitserial_dense",
    _SPARSE: """nn.internal.sparse_dense_padded nn.sparse_add nn.sparse_conv2d nn.sparse_dense
        nn.sparse_transpose""",
    _GRADIENT: "nn.avg_pool2d_grad nn.conv2d_backward_weight nn.max_pool2d_grad",
    _CALIBRATED: """qnn.simulated_dequantize qnn.simulated_quantize
        relay.op.annotation.simulated_quantize""",
    _SUPPRESSION: "vision.proposal vision.regular_non_max_suppression",
    _TORCH: "torch_op",
}
_REASONS = {name: reason for reason, names in _REFUSED.items() for name in names.split()}


def why_refused(name: str) -> str | None:
    """Return why an operator of Relay has no converter, or None where there is no reason.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> print(why_refused("memory.kill"))
    it is of a program that TVM has lowered for its own runtime; import the program as it was before relay.build
    >>> why_refused("add") is None
    True
    """  # noqa: E501 (what an example prints)
    return _REASONS.get(name)
