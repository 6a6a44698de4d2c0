"""TVM's own tests of passes agree with the passes of this project.

RELAX_MLIR_TVM_SOURCE names a checkout of apache/tvm at v0.25.0. The tests take minutes;
RELAX_MLIR_TRANSFORM_FILES are parts of the names of those to run, by default all.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import suites
import transform_suite

CHECKOUT = os.environ.get("RELAX_MLIR_TVM_SOURCE", "")
NAMES = os.environ.get("RELAX_MLIR_TRANSFORM_FILES", "").split()

# How many tests of a file agree at least.
LEAST = {
    "adjust_matmul_order": 20,
    "alter_op_impl": 5,
    "annotate_tir_op_pattern": 8,
    "attach_attr_layout_free_buffers": 4,
    "attach_global_symbol": 2,
    "bind_params": 4,
    "bind_symbolic_vars": 5,
    "bundle_model_params": 4,
    "canonicalize_bindings": 34,
    "combine_parallel_matmul": 4,
    "convert_dataflow": 13,
    "convert_layout": 32,
    "cse": 18,
    "dead_code_elimination": 13,
    "decompose_ops": 4,
    "expand_matmul_of_sum": 4,
    "expand_tuple_args": 2,
    "fold_constant": 11,
    "fuse_ops": 6,
    "fuse_ops_by_pattern": 20,
    "fuse_tir": 4,
    "fuse_transpose_matmul": 2,
    "gradient": 8,
    "gradient_numeric": 1,
    "gradient_te_register": 5,
    "inline_private_functions": 2,
    "lazy_transform_params": 10,
    "legalize_ops_binary": 30,
    "legalize_ops_create_datatype": 6,
    "legalize_ops_index_linear_algebra": 14,
    "legalize_ops_manipulate": 33,
    "legalize_ops_nn": 44,
    "legalize_ops_qdq": 7,
    "legalize_ops_search_statistical": 22,
    "legalize_ops_unary": 28,
    "lift_transform_params": 22,
    "merge_composite_functions": 9,
    "normalize": 2,
    "realize_vdevice": 3,
    "remove_unused_outputs": 1,
    "remove_unused_parameters": 4,
    "reorder_permute_dims_after_concat": 6,
    "reorder_take_after_matmul": 4,
    "rewrite_dataflow_reshape": 3,
    "split_layout_rewrite_preproc": 3,
    "static_plan_block_memory": 5,
    "to_mixed_precision": 11,
    "topological_sort": 11,
    "update_param_struct_info": 1,
    "update_vdevice": 1,
}

pytestmark = pytest.mark.skipif(
    not CHECKOUT, reason="RELAX_MLIR_TVM_SOURCE does not name a checkout of apache/tvm"
)


@pytest.fixture(scope="module")
def results() -> list[transform_suite.Result]:
    paths = transform_suite.files(Path(CHECKOUT), NAMES)
    assert paths, f"expected the tests of apache/tvm v0.25.0 in {CHECKOUT}"
    return transform_suite.run_files(Path(CHECKOUT), paths)


def test_tests_of_passes_agree(results: list[transform_suite.Result]) -> None:
    print(transform_suite.table(results))
    fewer = {
        name: f"{count[transform_suite.AGREES]} of {LEAST[path]}"
        for name, count in suites.counts(results).items()
        for path in [name.removeprefix("test_transform_").removesuffix(".py")]
        if count[transform_suite.AGREES] < LEAST.get(path, 0)
    }
    assert not fewer


def test_no_test_of_passes_crashes(results: list[transform_suite.Result]) -> None:
    crashes = [one.test for one in results if one.outcome == transform_suite.CRASH]
    assert not crashes
