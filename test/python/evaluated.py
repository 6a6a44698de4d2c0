"""The tests that run their programs in the reference interpreter, and why others do not."""

from __future__ import annotations

# Their programs are short: they run in the reference interpreter each time.
ALWAYS_EVALUATED = (
    "test_call",
    "test_checks",
    "test_closures",
    "test_kernel_calls",
    "test_operators_elementwise",
    "test_operators_index",
    "test_operators_norm",
    "test_operators_reduction",
    "test_operators_window",
    "test_semantics",
    "test_torch_control",
    "test_torch_selection",
)

_TRUSTED = 'checks="necessary" trusts the caller, and the interpreter checks all'
_ARTEFACT = "about machine code, bytecode or what else is compiled"
_DEVICES = "there is only one device in the interpreter"
_TEXT = "the error is of the same class, and worded in its own way"
_STACK = "about the stack of a thread, which the interpreter does not use"

# By the path of a file, or with the name of a test after it.
NOT_EVALUATED: dict[str, str] = {
    "test_artefact.py": _ARTEFACT,
    "test_checks.py::test_error_mc08_result_at_exit": _TRUSTED,
    "test_checks.py::test_error_mc09_cast_without_variable_checks": _TRUSTED,
    "test_checks.py::test_error_necessary_takes_fields_of_tuples_only": _TRUSTED,
    "test_checks.py::test_mc07_necessary_lets_pass_what_is_not_read": _TRUSTED,
    "test_closures.py::test_se03_chain_of_closures_is_released": _STACK,
    "test_closures.py::test_se03_large_stack_recurses_deeper": _STACK,
    "test_closures.py::test_se03_returned_closure_outlives_the_machine": _ARTEFACT,
    "test_compilation_cache.py": _ARTEFACT,
    "test_exec_mode.py": _ARTEFACT,
    "test_kernel_calls.py::test_se07_kernel_on_booleans": _ARTEFACT,
    "test_kernel_threads.py": _ARTEFACT,
    "test_load.py": _ARTEFACT,
    "test_places.py::test_error_of_onnx_names_the_node": _TEXT,
    "test_prim_func.py::test_error_gr02_threads_that_share_memory": _ARTEFACT,
    "test_prim_func.py::test_gr02_external_functions": _ARTEFACT,
    "test_run_codegen.py::test_rf15_programs_are_saved_where_the_codegen_says_how": _ARTEFACT,
    "test_runtime_memory.py": _ARTEFACT,
    "test_transform.py::test_compile_runs_pass_by_pass_where_somebody_watches": _ARTEFACT,
    "test_vdevice.py": _DEVICES,
    "test_vm.py::test_error_reshape_of_unknown_size": _TEXT,
    "test_wrong_inputs.py::test_error_of_calls": _TEXT,
    "test_vm.py::test_function_keeps_the_code_alive": _ARTEFACT,
}


def why_not_evaluated(item) -> str | None:
    """Return why a test does not run in the reference interpreter, None if it does."""
    path = item.path.name
    for key in (path, f"{path}::{getattr(item, 'originalname', None) or item.name}"):
        if key in NOT_EVALUATED:
            return NOT_EVALUATED[key]
    return None
