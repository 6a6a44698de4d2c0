# ruff: noqa: E501 (the lines of MLIR)
"""Well-formedness, normal form and scopes from Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from mlir import ir
from mlir.passmanager import PassManager
from relax_mlir import op
from relax_mlir.analysis import WellFormedError, check_well_formed, well_formed


def rules(mod: ir.Module | str) -> list[str | None]:
    return [violation.rule for violation in well_formed(mod)]


def function(body: str, head: str = "@main(%x: !relax.object) -> !relax.object") -> str:
    return f"relax.func {head} {{\n{body}\nrelax.return %x : !relax.object\n}}"


INVALID = {
    "wf02_two_bindings": function("%0 = relax.null_value\n%0 = relax.null_value"),
    "wf02_no_binding": function("%0 = relax.tuple %y : !relax.object"),
    "wf03_before_its_binding": function(
        "%0 = relax.tuple %1 : !relax.object\n%1 = relax.null_value"
    ),
    "wf04_result": "relax.func @main(%x: !relax.shape<[n]>) -> !relax.shape<[m]> {\n"
    "%0 = relax.match_cast %x : !relax.shape<[n]> -> !relax.shape<[m]>\n"
    "relax.return %0 : !relax.shape<[m]>\n}",
    "wf05_product": function("%0 = relax.match_cast %x : !relax.object -> !relax.shape<[k * 2]>"),
    "wf06_product": function(
        "", "@main(%x: !relax.object, %y: !relax.shape<[n * 2]>) -> !relax.object"
    ),
    "wf07_recursive": function(
        "relax.dataflow {\n%0 = relax.call @main(%x) : (!relax.object) -> !relax.object\nrelax.output\n}"
    ),
    "wf08_recursive": function(
        "%0 = relax.call @main(%x) : (!relax.object) -> !relax.object", "@main(%x: !relax.object)"
    ),
    "wf12_private": function("", "private @main(%x: !relax.object) -> !relax.object"),
    "wf13_symbol": function(
        "", '@main(%x: !relax.object) -> !relax.object attributes {global_symbol = "f"}'
    ),
    "wf14_tensor": function('%0 = relax.call_pure_packed "f"() : () -> !relax.tensor<[k], f32>'),
    "wf15_shape": function('%0 = relax.call_pure_packed "f"() : () -> !relax.shape<[k]>'),
    "wf16_prim": function('%0 = relax.call_pure_packed "f"() : () -> !relax.prim<i64, k>'),
    "wf18_value": function('%0 = relax.prim_value "text"'),
    "wf20_dtype": function("%0 = relax.dtype i3"),
    "wf21_impure": function(
        "", "impure @main(%x: !relax.object) -> !relax.object attributes {relax.force_pure = true}"
    ),
    "wf23_tuple": function(
        '%0 = relax.tuple()\n%1 = relax.call_dps_packed "f"(%0) : (!relax.tuple<>) -> !relax.tensor<[2], f32>'
    ),
    "dr15_impure_call": function('%0 = relax.call_packed "f"() : () -> !relax.object'),
}


# Programs that are accepted because the rule holds, each beside one of INVALID.
VALID = {
    "wf02_one_binding_each": function("%0 = relax.null_value\n%1 = relax.null_value"),
    "wf02_function_that_refers_to_itself": function(
        "%0 = relax.call @main(%x) : (!relax.object) -> !relax.object"
    ),
    "wf14_cast_binds_a_dimension": function(
        "%0 = relax.match_cast %x : !relax.object -> !relax.tensor<[k], f32>\n"
        '%1 = relax.call_pure_packed "f"() : () -> !relax.tensor<[k * 2], f32>'
    ),
    "wf15_cast_binds_an_entry": function(
        "%0 = relax.match_cast %x : !relax.object -> !relax.shape<[k]>\n"
        '%1 = relax.call_pure_packed "f"() : () -> !relax.shape<[k, k + 1]>'
    ),
    "wf16_cast_binds_a_value": function(
        "%0 = relax.match_cast %x : !relax.object -> !relax.prim<i64, k>\n"
        '%1 = relax.call_pure_packed "f"() : () -> !relax.prim<i64, k - 1>'
    ),
    "wf18_numbers_and_expressions": function(
        "%0 = relax.prim_value 3 : i64\n%1 = relax.prim_value 2.5 : f32\n"
        "%2 = relax.prim_value true\n%3 = relax.prim_value #relax.expr<n + 1>",
        "@main(%x: !relax.object, %y: !relax.shape<[n]>) -> !relax.object",
    ),
    "wf20_data_types": function(
        "".join(
            f"%{i} = relax.dtype {dtype}\n"
            for i, dtype in enumerate(
                ["i1", "i8", "ui8", "i64", "ui64", "f16", "bf16", "f32", "f64"]
            )
        )
    ),
}


@pytest.mark.parametrize("name", VALID)
def test_module_that_keeps_the_rule_is_accepted(name: str) -> None:
    assert well_formed(VALID[name]) == []
    ir.Module.parse(VALID[name], relax.default_context())


@pytest.mark.parametrize("name", INVALID)
def test_invalid_module_names_the_rule(name: str) -> None:
    assert rules(INVALID[name]) == [name[:4].upper()]
    with pytest.raises(WellFormedError) as error:
        check_well_formed(INVALID[name])
    assert [each.rule for each in error.value.violations] == [name[:4].upper()]
    assert name[:4].upper() not in str(error.value)


def test_wf_all_violations_at_once() -> None:
    assert rules(
        "\n".join([INVALID["wf05_product"], INVALID["wf12_private"].replace("@main", "@f")])
    ) == ["WF05"]
    both = function(
        "%0 = relax.shape <[k]>\n%1 = relax.tuple %2 : !relax.object\n%2 = relax.null_value",
        '@main(%x: !relax.object, %y: !relax.shape<[n * 2]>) attributes {global_symbol = "f"}',
    )
    assert sorted(map(str, rules(both))) == ["WF03", "WF05", "WF06", "WF13"]


def test_wf_violation_shows_place_and_notes() -> None:
    (violation,) = well_formed(INVALID["wf03_before_its_binding"])
    assert violation.message == "'relax.tuple' op operand 0 is used before it is bound"
    assert ":2:" in str(violation.location)
    ((note, place),) = violation.notes
    assert (note, ":3:" in str(place)) == ("it is bound here", True)
    first, second = str(violation).splitlines()
    assert first.endswith("operand 0 is used before it is bound")
    assert second.endswith(": it is bound here")


def test_wf_valid_module(tensor: Any) -> None:
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x]):
        bb.emit_func_output(op.exp(x))
    assert well_formed(bb.get()) == []
    check_well_formed(bb.get())


def test_invalid_text_is_a_violation_without_a_rule() -> None:
    (violation,) = well_formed("relax.func @main(")
    assert violation.rule is None
    assert violation.location is not None


def test_invalid_wf01_use_outside_of_the_dataflow_block() -> None:
    # No text says this: names do not leave the block.
    module = ir.Module.parse(
        function("relax.dataflow {\n%0 = relax.null_value\nrelax.output\n}"),
        relax.default_context(),
    )
    block = module.body.operations[0].regions[0].blocks[0]
    inner = block.operations[0].regions[0].blocks[0].operations[0].result
    block.operations[1].operation.operands[0] = inner
    (violation,) = well_formed(module)
    assert violation.rule == "WF01"
    assert "is used outside of the dataflow block that binds it" in violation.message
    assert [note for note, _ in violation.notes] == [
        "the dataflow block begins here",
        "it is bound here",
    ]
    block.operations[1].operation.operands[0] = block.arguments[0]
    assert well_formed(module) == []


# -- scopes ---------------------------------------------------------------------------------------


def test_sc05_the_same_name_is_a_new_variable(tensor: Any, load: Any) -> None:
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x]):
        y = bb.emit(op.add(x, x), "y")
        first = y
        y = bb.emit(op.multiply(y, y), "y")
        bb.emit_func_output((first, y))
    assert first != y
    one, two = load(bb)(np.full(1, 3, "float32"))
    assert (np.from_dlpack(one).item(), np.from_dlpack(two).item()) == (6, 36)


def test_sc05_a_branch_shadows_for_itself_only(tensor: Any, load: Any) -> None:
    bb = relax.BlockBuilder()
    c, x = tensor((), "bool", "c"), tensor(("n",))
    with bb.function("main", [c, x]):

        def branch() -> ir.Value:
            inner = bb.emit(op.add(x, x), "x")
            return bb.emit(op.multiply(inner, inner), "x")

        shadowed = bb.if_(c, branch, lambda: x)
        bb.emit_func_output((x, shadowed))
    main = load(bb)
    outer, inner = main(np.array(True), np.full(1, 3, "float32"))
    assert (np.from_dlpack(outer).item(), np.from_dlpack(inner).item()) == (3, 36)


def test_gr19_module_with_several_entries(exec_mode: str) -> None:
    vm = relax.VirtualMachine(
        relax.compile("""
    module attributes {relax.global_info = {cpu0 = #relax.vdevice<"llvm", 0>}} {
      relax.func @main(%x: !relax.prim<i64>) -> !relax.object {
        %0 = relax.call @other(%x) : (!relax.prim<i64>) -> !relax.object
        relax.return %0 : !relax.object
      }
      relax.func @other(%x: !relax.prim<i64>) -> !relax.object attributes {global_symbol = "other"} {
        %0 = relax.call @hidden(%x) : (!relax.prim<i64>) -> !relax.object
        relax.return %0 : !relax.object
      }
      relax.func private @hidden(%x: !relax.prim<i64>) -> !relax.object {
        %0 = relax.tuple %x : !relax.prim<i64>
        relax.return %0 : !relax.tuple<!relax.prim<i64>>
      }
    }""")
    )
    assert list(vm["main"](3)) == list(vm["other"](3)) == [3]


def test_invalid_gr19_hidden_function_is_no_entry(exec_mode: str) -> None:
    vm = relax.VirtualMachine(
        relax.compile("""
    relax.func @main(%x: !relax.object) -> !relax.object {
      relax.return %x : !relax.object
    }
    relax.func private @hidden(%x: !relax.object) -> !relax.object {
      relax.return %x : !relax.object
    }""")
    )
    with pytest.raises(KeyError, match="expected the name of a public function"):
        vm["hidden"]


# -- normal form ----------------------------------------------------------------------------------


def test_nf01_nested_expressions_come_out_flat_in_order(tensor: Any) -> None:
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x]):
        bb.emit_func_output((op.add(op.exp(x), op.multiply(op.sqrt(x), x)), (x, op.tanh(x))))
    module = bb.get()
    body = module.body.operations[0].regions[0].blocks[0].operations
    names = [operation.operation.name.removeprefix("relax.") for operation in body]
    assert names == ["exp", "sqrt", "multiply", "add", "tanh", "tuple", "tuple", "return"]


def normalized(text: str) -> ir.Module:
    module = ir.Module.parse(text, relax.default_context())
    with module.context:
        PassManager.parse("builtin.module(relax.func(relax-normalize))").run(module.operation)
    return module


NESTED = """
relax.func impure @main(%x: !relax.object) -> !relax.object {
  %a = relax.seq -> !relax.object {
    %1 = relax.call_packed "well_formed.record"(%x) : (!relax.object) -> !relax.object
    %b = relax.seq -> !relax.object {
      %2 = relax.call_packed "well_formed.record"(%1) : (!relax.object) -> !relax.object
      relax.yield %2 : !relax.object
    }
    relax.dataflow {
      relax.output
    }
    %3 = relax.call_packed "well_formed.record"(%b) : (!relax.object) -> !relax.object
    relax.yield %3 : !relax.object
  }
  %c = relax.call_packed "well_formed.record"(%a) : (!relax.object) -> !relax.object
  relax.return %c : !relax.object
}
"""


def test_nf02_nf04_effects_keep_their_order(load: Any) -> None:
    seen: list[int] = []

    def record(value: int) -> int:
        seen.append(value)
        return value + 1

    tvm_ffi.register_global_func("well_formed.record", record, override=True)
    assert load(NESTED)(0) == 4
    assert seen == [0, 1, 2, 3]
    text = str(normalized(NESTED))
    assert text.count("call_packed") == 4
    assert "relax.seq" not in text and "relax.dataflow" not in text


def test_nf03_normal_form_is_a_fixed_point() -> None:
    once = str(normalized(NESTED))
    assert str(normalized(once)) == once
    assert well_formed(once) == []


def test_nf05_gr02_kernels_take_the_fields_of_a_tuple(load: Any) -> None:
    main = load("""
    func.func private @add(%x: tensor<?xf32>, %y: tensor<?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
      %0 = linalg.add ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%o : tensor<?xf32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }
    relax.func @main(%t: !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>) -> !relax.tensor<[n], f32> {
      %0 = relax.call_tir @add(%t) : (!relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>) -> !relax.tensor<[n], f32>
      relax.return %0 : !relax.tensor<[n], f32>
    }""")
    x, y = np.array([1, 2], "float32"), np.array([3, 4], "float32")
    assert np.from_dlpack(main((x, y))).tolist() == [4, 6]


def test_invalid_nf05_ordinary_binding_in_a_dataflow_block() -> None:
    text = function("""relax.dataflow {
      %0 = relax.seq -> !relax.object {
        %1 = relax.null_value
        relax.yield %1 : !relax.object
      }
      relax.output
    }""")
    (violation,) = well_formed(text)
    assert violation.rule == "NF05"
    assert violation.message.startswith("'relax.null_value' op is an ordinary binding")
