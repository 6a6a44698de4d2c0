"""Which operators of Relay have converters."""

import pytest
from relax_mlir.frontend.relay import operators
from relax_mlir.frontend.relay.converters.refused import why_refused
from relax_mlir.frontend.relay.converters.registry import CONVERTERS

# What TVM registers, but for neural networks, images, vision and quantized tensors.
REGISTERED = """
abs acos acosh add adv_index all annotation.bitpack_end annotation.bitpack_start
annotation.cast_hint annotation.checkpoint annotation.compiler_begin annotation.compiler_end
annotation.stop_fusion any arange argmax argmin argsort argwhere asin asinh atan atanh
auto_scheduler_layout_transform bitwise_and bitwise_not bitwise_or bitwise_xor broadcast_to
broadcast_to_like call_lowered cast cast_like ceil clip collapse_sum_like collapse_sum_to
concatenate contrib_reverse_reshape copy cos cosh cumprod cumsum debug device_copy dft divide
dyn.broadcast_to dyn.expand_dims dyn.full dyn.one_hot dyn.ones dyn.reshape dyn.sparse_to_dense
dyn.squeeze dyn.strided_slice dyn.tile dyn.topk dyn.zeros einsum equal erf exp expand_dims
fast_erf fast_exp fast_tanh fixed_point_multiply fixed_point_multiply_per_axis floor
floor_divide floor_mod full full_like gather gather_nd greater greater_equal invert_permutation
isfinite isinf isnan layout_transform left_shift less less_equal log log10 log2 logical_and
logical_not logical_or logical_xor matrix_set_diag max maximum mean memory.alloc_storage
memory.alloc_tensor memory.kill meshgrid meta_schedule_layout_transform min minimum mod multiply
ndarray_size negative not_equal on_device one_hot ones ones_like power prod random.multinomial
random.normal random.threefry_generate random.threefry_split random.uniform reinterpret repeat
reshape reshape_like reverse reverse_sequence right_shift round rsqrt scatter_elements
scatter_nd searchsorted sequence_mask shape_of sigmoid sign sin sinh slice_like sliding_window
sort sparse_fill_empty_rows sparse_reshape sparse_to_dense split sqrt squeeze stack stft
strided_set strided_slice subtract sum take tan tanh tile topk transpose trilu trunc
trunc_divide trunc_mod unique unravel_index variance vm.invoke_tvm_op vm.reshape_tensor
vm.shape_of where zeros zeros_like
"""


@pytest.mark.parametrize("name", REGISTERED.split())
def test_ry06_each_operator_has_a_converter_or_a_reason(name):
    assert (name in operators()) != (why_refused(name) is not None)


def test_ry06_defaults_are_known_attributes():
    assert CONVERTERS["take"].attrs == {"batch_dims": 0, "axis": None, "mode": "clip"}
    assert CONVERTERS["sum"].attrs == {"axis": None, "keepdims": False, "exclude": False}
    assert CONVERTERS["topk"].attrs["k"] == 1
