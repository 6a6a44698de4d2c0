# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of TVM's operators and of their parameters, in TVM's order.

A program that uses one that the dialect does not have gets an error that says so, and keyword
arguments may have TVM's names. Operators that ODS defines have the names that they have there.
"""

from __future__ import annotations

from ..op._signatures import defined_operators

# Those that the dialect does not have, that are written by hand, or that TVM names otherwise. By
# namespace: lines of operators, a colon, and the parameters that they have in common. A line that
# is indented goes on with the one before. Parameters with * are left out.
_TABLE = {
    "": """
emit_with_sinfo : value ty
assert_op : condition format_args format
call_builtin_with_ctx : func args ty_args
call_dps_packed : func args out_ty
call_inplace_packed : func inplace_indices ty_args
call_pure_packed : func ty_args
call_py_func : func_name args out_ty
call_tir : gvar args out_ty
call_tir_inplace : gvar args inplace_indices out_ty
call_tir_with_grad : gvar args out_ty te_grad_name te_grad_kwargs
hint_on_device : data dst_vdevice memory_scope
invoke_closure invoke_pure_closure : closure args ty_args
make_closure : func args
null_value :
print : format
shape_of shape_to_tensor size tensor_to_shape : expr
to_vdevice : data dst_vdevice
arange : start end step dtype
hamming_window : window_size periodic alpha beta dtype
wrap_param : data dtype
dynamic_strided_slice : x begin end strides
strided_slice : x axes begin end strides assume_inbound
einsum : operands subscripts
linear : data weight bias out_dtype
reshape : x shape
nonzero : x
index_put : data indices values accumulate
layout_transform : x index_map pad_value axis_separators input_axis_separators
slice_scatter : input_tensor src start end step axis
split : x indices_or_sections axis
masked_fill : x mask value
multinomial_from_uniform : prob uniform_sample sample_indices dtype
median : x axis keepdims
unique : x sorted return_index return_inverse return_counts axis
""",
    "builtin": """
alloc_tensor : shape dtype runtime_device_index storage_scope
""",
    "ccl": """
allgather : x num_workers in_group
allreduce : x op_type in_group
broadcast_from_worker0 : x
scatter_from_worker0 : x num_workers axis
""",
    "dist": """
annotate_sharding redistribute : input device_mesh placement
call_tir_local_view : gvar args out_ty
redistribute_replica_to_shard : input num_workers axis
""",
    "grad": """
avg_pool2d_backward max_pool2d_backward : output_grad data pool_size strides padding dilation
  ceil_mode count_include_pad layout out_layout
end_checkpoint no_grad start_checkpoint : input
nll_loss_backward : output_grad predictions targets weights reduction ignore_index
take_backward : output_grad x indices axis
""",
    "image": """
affine_grid : data size align_corners
grid_sample : data grid method layout padding_mode align_corners
resize2d resize3d : data size roi layout method coordinate_transformation_mode rounding_method
  cubic_alpha cubic_exclude extrapolation_value out_dtype
""",
    "inspect": """
tensor_byte_offset tensor_dtype_bits tensor_dtype_code tensor_dtype_lanes tensor_elem_offset
  tensor_ndim : tensor
tensor_shape_i tensor_stride_i : tensor axis
""",
    "memory": """
alloc_storage : size virtual_device_index storage_scope dtype
alloc_tensor : storage offset shape dtype runtime_device_ind
kill_storage : storage
kill_tensor : tensor
ensure_zero_offset : data
view : data shape dtype relative_byte_offset
""",
    "nn": """
attention_bias : query key value bias scale causal_mask window_size
attention_var_len : queries keys values seqstart_q max_seqlen_q seqstart_k max_seqlen_k scale
  causal_mask window_size
batch_flatten gelu gelu_tanh relu relu6 selu silu : data
conv1d_transpose conv2d_transpose conv3d_transpose : data weight strides padding output_padding
  dilation groups data_layout kernel_layout out_layout out_dtype
dropout : data rate
log_softmax softmax : data axis
nll_loss : predictions targets weights reduction ignore_index
""",
    "vision": """
multibox_transform_loc : cls_pred loc_pred anchor clip threshold variances keep_background
  apply_softmax
all_class_non_max_suppression : boxes scores max_output_boxes_per_class iou_threshold
  score_threshold output_format
get_valid_counts : data score_threshold id_index score_index
non_max_suppression : data valid_count indices max_output_size iou_threshold force_suppress top_k
  coord_start score_index id_index return_indices invalid_to_bottom soft_nms_sigma score_threshold
roi_align : data rois pooled_size spatial_scale sample_ratio aligned layout mode
roi_pool : data rois pooled_size spatial_scale layout
""",
    "vm": """
alloc_storage : shape runtime_device_index dtype storage_scope
alloc_tensor : storage offset shape dtype runtime_device_ind
call_tir_dyn : func args
kill_object : obj
""",
}


def _read() -> dict[str, tuple[str, ...]]:
    operators = defined_operators()
    for namespace, text in _TABLE.items():
        prefix = f"{namespace}." if namespace else ""
        for line in text.replace("\n  ", " ").strip().splitlines():
            names, _, params = line.partition(":")
            for name in names.split():
                operators[prefix + name] = tuple(params.split())
    return operators


# By the name after ``R.``, the names of the parameters.
TVM_OPERATORS = _read()
NAMESPACES = tuple(namespace for namespace in _TABLE if namespace)
