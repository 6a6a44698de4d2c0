# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How TVM writes attributes of operators to JSON: some as text, others as nodes of their own.

The text of an integer is also what the number of a node looks like, so that the kind of each
attribute has to be known. It follows from its name, but for a few classes of attributes.
"""

from __future__ import annotations

INT, FLOAT, BOOL, STR, DTYPE, NODE = "int", "float", "bool", "str", "dtype", "node"

_NAMES = {
    INT: """
        activation_bits axis bit_axis bits block_size convolution_algorithm coord_start
        cubic_exclude data_bits deformable_groups depth device_type dst_dev_type feature_stride
        groups hop_length id_index ignore_index k1 k2 kind lhs_axis lhs_begin max_detections
        max_detections_per_class max_displacement multiplier n_fft num_classes num_groups
        num_newaxis pack_axis rhs_axis rhs_begin rpn_min_size rpn_post_nms_top_n rpn_pre_nms_top_n
        sample_ratio score_index shift src_dev_type stride1 stride2 tile_K tile_N tile_size top_k
        weight_bits win_length
        """,
    FLOAT: """
        a_max a_min alpha beta bias cubic_alpha dilation_value eps epsilon extrapolation_value
        iou_threshold mask_value pad_value rate scale_d scale_h scale_w spatial_scale threshold
        """,
    BOOL: """
        align_corners allowzero ceil_mode center clip constrain_body constrain_result
        count_include_pad exclude force_suppress invalid_to_bottom iou_loss is_ascend
        is_lshift_required is_multiply is_rshift_required keep_background keepdims normalized
        onesided return_counts return_indices right scale select_last_index sign sorted sparse_lhs
        sub_diag_right_align super_diag_right_align transpose_a transpose_b unbiased unipolar upper
        """,
    STR: """
        auto_scheduler_rewritten_layout compiler compute_dtype coordinate_transformation_mode
        data_layout dst_layout equation indexing kernel_layout layout method mode name out_layout
        output_format pad_mode padding_mode reduction ret_type rounding rounding_method
        schedule_rule slice_mode src_layout weight_layout
        """,
    DTYPE: "dtype out_dtype pack_dtype pack_type",
    NODE: """
        assert_shape axes batch_axis batch_dims begin block_shape channels const_shape crop_size
        crops debug_func dilation dilations dst_virtual_device end exclusive index_map index_rank
        indices_or_sections inverse is_input k kernel_size lhs_end meta_schedule_original_shape
        metadata newshape num_samples offsets out_shape output_padding output_shape output_size
        pad_width padding paddings pool_size pooled_size ratios repeats reps rhs_end roi scales
        score_threshold seq_axis shape size sizes src_virtual_device start step steps stop stride
        strides target_shape units variances virtual_device window_shape
        """,
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}

# An axis that may be several, or none.
_NODE_AXIS = """
    L2Normalize Reduce ArgReduce Variance ScatterElements Gather Take Stack Repeat Reverse Squeeze
    Scanop
    """
_EXCEPTIONS = {
    **{(f"relay.attrs.{name}Attrs", "axis"): NODE for name in _NODE_AXIS.split()},
    ("relay.attrs.LRNAttrs", "size"): INT,
    ("relay.attrs.CorrelationAttrs", "kernel_size"): INT,
    ("relay.attrs.RegularNonMaximumSuppressionAttrs", "score_threshold"): FLOAT,
}


def kind_of(type_key: str, name: str) -> str | None:
    """Return how an attribute is written; None where that is not known.

    Parameters
    ----------
    type_key : str
        The class of attributes that it is one of.
    name : str

    Examples
    --------
    >>> kind_of("relay.attrs.SoftmaxAttrs", "axis"), kind_of("relay.attrs.ReduceAttrs", "axis")
    ('int', 'node')
    """
    return _EXCEPTIONS.get((type_key, name), _KINDS.get(name))
