# ruff: noqa: N803, N805, N806 (the buffers of tensor programs)
"""Analyses of values, functions, kernels and memory."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import IRModule, analysis, op, transform
from relax_mlir.analysis import BaseCheckResult, var_name
from relax_mlir.core.context import current_context
from relax_mlir.dialects import relax as ops
from relax_mlir.script import ir as I  # noqa: N812
from relax_mlir.script import tir as T  # noqa: N812

TWO_BLOCKS = """
relax.func @main(%x: !relax.tensor<[n], f32>, %c: !relax.tensor<[], i1>)
    -> !relax.tensor<[n], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %a = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> loc("a")
    %b = relax.add %a, %x : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>)
      -> !relax.tensor<[n], f32> loc("b")
    relax.output %b : !relax.tensor<[n], f32>
  } loc("out")
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    %t = relax.exp %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> loc("t")
    relax.yield %t : !relax.tensor<[n], f32>
  } else {
    relax.yield %0 : !relax.tensor<[n], f32>
  } loc("branch")
  relax.return %1 : !relax.tensor<[n], f32>
}
"""


@pytest.fixture
def two_blocks() -> IRModule:
    return IRModule(TWO_BLOCKS)


def names(values) -> list[str]:
    return [var_name(value) for value in values]


def body(mod: IRModule, name: str = "main") -> list[ir.OpView]:
    return list(mod[name].body.blocks[0].operations)


# -- both names of TVM ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("struct_info_base_check", "type_base_check"),
        ("struct_info_lca", "type_lca"),
        ("derive_call_ret_struct_info", "derive_call_ret_type"),
        ("tir_vars_in_struct_info", "tir_vars_in_type"),
        ("definable_tir_vars_in_struct_info", "definable_tir_vars_in_type"),
    ],
)
def test_both_names(older: str, newer: str) -> None:
    assert getattr(analysis, older) is getattr(analysis, newer)


def test_all_names_of_tvm_are_there() -> None:
    text = """get_static_type erase_to_well_defined collect_non_negative_expressions
    defined_symbolic_vars free_symbolic_vars bound_vars free_vars all_vars used_vars
    all_global_vars post_order_visit has_reshape_pattern contains_impure_call get_var2val udchain
    name_to_binding remove_all_unused well_formed check_well_formed suggest_layout_transforms
    detect_recursion computable_at_compile_time estimate_memory_usage type_base_check type_lca
    derive_call_ret_type tir_vars_in_type definable_tir_vars_in_type"""
    wanted = text.split()
    assert len(wanted) == 28
    assert all(callable(getattr(analysis, name)) for name in wanted)
    assert set(wanted) <= set(analysis.__all__)


# -- structural information -----------------------------------------------------------------------

Tensor, S, P = relax.TensorStructInfo, relax.ShapeStructInfo, relax.PrimStructInfo
Object, Tup, F = relax.ObjectStructInfo, relax.TupleStructInfo, relax.FuncStructInfo


# The answers of TVM 0.25.
@pytest.mark.parametrize(
    ("base", "derived", "expected"),
    [
        (Object(), Tensor(("n",), "float32"), "PASS"),
        (Tensor(), Object(), "FAIL_L1"),
        (S(), Object(), "FAIL_L1"),
        (P("int64"), Object(), "FAIL_L1"),
        (Tup([]), Object(), "FAIL_L1"),
        (Tensor(), S(), "FAIL_L0"),
        (P("int64"), P("int32"), "FAIL_L0"),
        (P("int64", "n"), P("int64"), "FAIL_L2"),
        (P("int64"), P("int64", "n"), "PASS"),
        (S(ndim=2), S(ndim=3), "FAIL_L0"),
        (S(ndim=2), S(), "FAIL_L1"),
        (S(("n",)), S(ndim=1), "FAIL_L2"),
        (S(("n",)), S(("m",)), "FAIL_L2"),
        (S((1,)), S((2,)), "FAIL_L0"),
        (S(("n",)), S(("n",)), "PASS"),
        (Tensor(dtype="float32"), Tensor(dtype="int32"), "FAIL_L0"),
        (Tensor(dtype="float32"), Tensor(), "FAIL_L1"),
        (Tensor(ndim=2), Tensor(), "FAIL_L1"),
        (Tensor(ndim=2), Tensor(ndim=3), "FAIL_L0"),
        (Tensor(("n", 4)), Tensor(("n", 4), "float32"), "PASS"),
        (Tensor(("n", 4)), Tensor(ndim=2), "FAIL_L2"),
        (Tensor(("n", 4)), Tensor(("m", 4)), "FAIL_L2"),
        (Tensor(("n", 4)), Tensor(("n", 5)), "FAIL_L0"),
        (Tup([Tensor(), S()]), Tup([Tensor()]), "FAIL_L0"),
        (Tup([Tensor(ndim=2)]), Tup([Tensor()]), "FAIL_L1"),
        (Tup([Tensor(("n",))]), Tup([Tensor(("m",))]), "FAIL_L2"),
        (F([Tensor()], Tensor()), F([Tensor()], Tensor(), purity=False), "FAIL_L0"),
        (F([Tensor()], Tensor(), purity=False), F([Tensor()], Tensor()), "PASS"),
    ],
    ids=str,
)
def test_base_check(base: ir.Type, derived: ir.Type, expected: str) -> None:
    assert analysis.struct_info_base_check(base, derived) is BaseCheckResult[expected]


def test_variables_of_types() -> None:
    type_ = Tup([Tensor(("m", "n * 4")), P("int64", "k"), S(("m", "j"))])
    assert [v.name for v in analysis.tir_vars_in_struct_info(type_)] == ["m", "n", "k", "j"]
    definable = analysis.definable_tir_vars_in_struct_info(type_)
    assert [v.name for v in definable] == [v for v in ["m", "k", "j"] if v in names_of(definable)]
    assert {"m", "j"} <= set(names_of(definable))
    assert "n" not in names_of(definable)
    assert analysis.tir_vars_in_struct_info(Tensor(shape_var="s")) == []


def names_of(variables) -> list[str]:
    return [variable.name for variable in variables]


def test_non_negative_expressions() -> None:
    found = analysis.collect_non_negative_expressions(
        F([Tensor(("n", 4)), P("int64", "k")], S(("n - 1", "n")))
    )
    assert [expr.text for expr in found] == ["n", "n - 1"]


def test_erase_to_well_defined_takes_what_tvm_takes() -> None:
    n, m = relax.shape_var("n"), relax.shape_var("m")
    type_ = Tensor((n, m), "float32")
    assert analysis.erase_to_well_defined(type_, {n: n, m: m + 1}) == Tensor((n, m + 1), "float32")
    assert analysis.erase_to_well_defined(type_, shape_var_map={n: n}) == Tensor(
        None, "float32", ndim=2
    )
    assert analysis.erase_to_well_defined(type_) == Tensor(None, "float32", ndim=2)
    shape = Tensor(shape_var="s", dtype="float32")
    assert analysis.erase_to_well_defined(shape, var_map={"s": (2, 3)}) == Tensor((2, 3), "float32")
    with pytest.raises(TypeError, match="expected the name of a variable, but got 3"):
        analysis.erase_to_well_defined(type_, {3: 4})


def test_derive_call_of_an_operation(two_blocks: IRModule) -> None:
    callee = F([Tensor(("k",), "float32")], Tensor(("k * 2",), "float32"))
    exp = body(two_blocks)[0].body.blocks[0].operations[0]
    expected = Tensor(("n * 2",), "float32")
    assert analysis.derive_call_ret_struct_info(callee, exp) == expected
    assert analysis.derive_call_ret_struct_info(callee, exp.result, None) == expected
    with pytest.raises(ValueError, match="argument"):
        analysis.derive_call_ret_struct_info(F([S()], S()), exp)


# -- values ---------------------------------------------------------------------------------------


def test_ad03_variables_of_a_function(two_blocks: IRModule) -> None:
    main = two_blocks["main"]
    bound = analysis.bound_vars(main)
    assert names(bound) == ["x", "c", "a", "b", "out", "t", "branch"]
    assert [var_name(v) for v in bound if analysis.is_dataflow_var(v)] == ["a"]
    assert analysis.free_vars(main) == []
    assert set(analysis.all_vars(main)) == set(bound)
    assert names(analysis.used_vars(main)) == ["x", "a", "b", "c", "out", "t", "branch"]


def test_variables_of_parts(two_blocks: IRModule) -> None:
    dataflow, branch, _ = body(two_blocks)
    assert names(analysis.bound_vars(dataflow)) == ["a", "b", "out"]
    assert names(analysis.free_vars(dataflow)) == ["x"]
    assert names(analysis.free_vars(branch)) == ["c", "out"]
    assert names(analysis.bound_vars(branch)) == ["t"]
    assert names(analysis.all_vars(branch)) == ["c", "out", "t"]
    x = two_blocks["main"].body.blocks[0].arguments[0]
    assert analysis.free_vars(x) == [x] == analysis.all_vars(x)
    assert analysis.bound_vars(x) == []
    assert names(analysis.free_vars(branch.operation.results[0])) == ["c", "out"]
    with pytest.raises(TypeError, match="expected a value, operation, function or module"):
        analysis.free_vars("x")


def test_free_variables_of_closures(tensor) -> None:
    bb = relax.BlockBuilder()
    x, y = tensor(("n",)), tensor(("m",), name="y")
    with bb.function("main", [x]):
        with bb.closure("f", [y]) as f:
            bb.emit_func_output((op.exp(x), y))
        bb.emit_func_output(f)
    module = IRModule(bb.get())
    closure = body(module)[0]
    assert names(analysis.free_vars(closure)) == ["x"]
    assert names_of(analysis.free_symbolic_vars(closure)) == ["n"]
    assert names_of(analysis.defined_symbolic_vars(closure)) == ["m"]
    assert names_of(analysis.defined_symbolic_vars(module["main"])) == ["n", "m"]
    assert analysis.free_symbolic_vars(module["main"]) == []


def test_post_order_visits_each_operation_once(two_blocks: IRModule) -> None:
    seen = []
    analysis.post_order_visit(two_blocks, lambda visited: seen.append(visited.operation.name))
    assert seen[0] == "relax.exp"
    assert seen[-2:] == ["relax.func", "builtin.module"]
    assert seen.index("relax.output") < seen.index("relax.dataflow") < seen.index("relax.if")
    assert len(seen) == 11


def test_bindings(two_blocks: IRModule) -> None:
    main = two_blocks["main"]
    by_name = analysis.name_to_binding(main)
    assert {name: len(found) for name, found in by_name.items()} == {
        "a": 1, "b": 1, "t": 1, "branch": 1
    }  # fmt: skip
    assert isinstance(by_name["b"][0], ops.AddOp)
    computed = analysis.get_var2val(main)
    by_value = {var_name(value): found.operation.name for value, found in computed.items()}
    assert by_value == {
        "a": "relax.exp",
        "b": "relax.add",
        "out": "relax.add",
        "t": "relax.exp",
        "branch": "relax.if",
    }


def test_udchain(two_blocks: IRModule) -> None:
    def chain(part) -> dict[str, list[str]]:
        return {var_name(v): names(users) for v, users in analysis.udchain(part).items()}

    assert chain(body(two_blocks)[0]) == {"x": ["a", "b"], "a": ["b"], "b": []}
    assert chain(two_blocks["main"])["c"] == ["branch"]


def test_symbolic_variables_of_attributes_and_casts() -> None:
    mod = IRModule("""
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.object {
      %0 = relax.shape <[n, 4]>
      %1 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[m], f32>
      %2 = relax.prim_value #relax.expr<m + n>
      relax.return %0 : !relax.shape<[n, 4]>
    }""")
    shape, cast, value, _ = body(mod)
    assert names_of(analysis.free_symbolic_vars(shape)) == ["n"]
    assert names_of(analysis.free_symbolic_vars(value)) == ["m", "n"]
    assert names_of(analysis.defined_symbolic_vars(cast)) == ["m"]
    assert names_of(analysis.defined_symbolic_vars(mod["main"])) == ["n", "m"]


# -- functions ------------------------------------------------------------------------------------

CALLS = """
relax.func @a(%x: !relax.object) -> !relax.object {
  %0 = relax.call @b(%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}
relax.func @b(%x: !relax.object) -> !relax.object {
  %0 = relax.global_var @c : !relax.func<(!relax.object) -> !relax.object, pure>
  relax.return %0 : !relax.func<(!relax.object) -> !relax.object, pure>
}
relax.func @c(%x: !relax.object) -> !relax.object {
  %0 = relax.call @a(%x) : (!relax.object) -> !relax.object
  %1 = relax.call @d(%0) : (!relax.object) -> !relax.object
  relax.return %1 : !relax.object
}
relax.func @d(%x: !relax.object) -> !relax.object {
  %0 = relax.call @d(%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}
relax.func @e(%x: !relax.object) -> !relax.object {
  %0 = relax.call @a(%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}
"""


def test_recursion_comes_in_groups() -> None:
    groups = analysis.detect_recursion(CALLS)
    assert [[var.name for var in group] for group in groups] == [["a", "b", "c"], ["d"]]


def test_recursion_of_a_long_chain() -> None:
    text = "\n".join(
        f"""relax.func @f{i}(%x: !relax.object) -> !relax.object {{
          %0 = relax.call @f{(i + 1) % 1200}(%x) : (!relax.object) -> !relax.object
          relax.return %0 : !relax.object
        }}"""
        for i in range(1200)
    )
    (group,) = analysis.detect_recursion(text)
    assert [var.name for var in group] == [f"f{i}" for i in range(1200)]


def test_global_variables() -> None:
    mod = transform.LegalizeOps()(TWO_BLOCKS)
    assert [var.name for var in analysis.all_global_vars(mod["main"])] == ["exp", "add"]
    assert analysis.all_global_vars(IRModule(TWO_BLOCKS)["main"]) == []


def test_impure_calls(tensor) -> None:
    mod = IRModule("""
    relax.func impure @main(%x: !relax.object) -> !relax.object {
      %f = relax.closure impure (%y: !relax.object) -> !relax.object {
        %0 = relax.call_packed "my.print"(%y) : (!relax.object) -> !relax.object
        relax.return %0 : !relax.object
      }
      %1 = relax.call %f : !relax.func<(!relax.object) -> !relax.object, impure> (%x)
        : (!relax.object) -> !relax.object
      %2 = relax.call @main(%x) : (!relax.object) -> !relax.object
      relax.return %2 : !relax.object
    }""")
    closure, call, own, _ = body(mod)
    value = closure.operation.results[0]
    assert analysis.contains_impure_call(mod["main"])
    assert analysis.contains_impure_call(call)
    assert not analysis.contains_impure_call(call, value)
    assert not analysis.contains_impure_call(own, relax.GlobalVar("main"))
    assert not analysis.contains_impure_call(IRModule(TWO_BLOCKS)["main"])


def test_closure_counts_where_it_is_called() -> None:
    mod = IRModule("""
    relax.func @main(%x: !relax.object) -> !relax.object {
      %f = relax.closure impure (%y: !relax.object) -> !relax.object {
        %0 = relax.call_packed "my.print"(%y) : (!relax.object) -> !relax.object
        relax.return %0 : !relax.object
      }
      relax.return %f : !relax.func<(!relax.object) -> !relax.object, impure>
    }""")
    assert not analysis.contains_impure_call(mod["main"])
    assert analysis.contains_impure_call(body(mod)[0])  # of its own body


def test_what_is_known_at_compile_time() -> None:
    mod = IRModule("""
    relax.func @main(%x: !relax.tensor<[n], f32>, %w: !relax.tensor<[m], f32>)
        -> !relax.object attributes {num_input = 1 : i64} {
      %0 = relax.dataflow -> !relax.tensor<[m], f32> {
        %a = relax.exp %w : (!relax.tensor<[m], f32>) -> !relax.tensor<[m], f32> loc("a")
        %b = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> loc("b")
        relax.output %a : !relax.tensor<[m], f32>
      } loc("out")
      %s = relax.shape <[n]> loc("s")
      %k = relax.shape <[m]> loc("k")
      %d = relax.exp %0 : (!relax.tensor<[m], f32>) -> !relax.tensor<[m], f32> loc("d")
      relax.return %d : !relax.tensor<[m], f32>
    }""")
    assert names(analysis.computable_at_compile_time(mod["main"])) == ["w", "a", "out", "k", "d"]
    assert analysis.computable_at_compile_time(IRModule(TWO_BLOCKS)["main"]) == []
    with pytest.raises(TypeError, match="expected a Relax function"):
        analysis.computable_at_compile_time(mod)


def test_remove_all_unused(two_blocks: IRModule) -> None:
    text = TWO_BLOCKS.replace("%b = ", "%dead = relax.null_value\n%b = ")
    mod = IRModule(text)
    clean = analysis.remove_all_unused(mod["main"])
    assert "null_value" not in str(clean)
    assert "null_value" in str(mod)
    assert "null_value" not in str(analysis.remove_all_unused(mod))
    mod.update_func("main", clean)
    assert "null_value" not in str(mod)
    mod.verify()
    with pytest.raises(TypeError, match="expected a Relax function or a module"):
        analysis.remove_all_unused(body(mod)[0])


def test_well_formed_takes_modules_and_says_yes(two_blocks: IRModule) -> None:
    assert analysis.well_formed(two_blocks) == []
    assert analysis.check_well_formed(two_blocks) is True
    impure = """
    relax.func @main(%x: !relax.object) -> !relax.object {
      %0 = relax.call_packed "my.print"(%x) : (!relax.object) -> !relax.object
      relax.return %0 : !relax.object
    }"""
    assert [found.rule for found in analysis.well_formed(impure)] == ["DR15"]
    assert analysis.well_formed(impure, check_struct_info=False) == []


def test_well_formed_takes_regions_without_ends() -> None:
    """A pass may leave a call whose operand is of a closure that it has emptied."""
    with current_context():
        mod = ir.Module.parse("""
        relax.func @main() -> !relax.object {
          %0 = "relax.closure"() <{arg_names = ["a"]}> ({
          ^bb0(%self: !relax.func<(!relax.object) -> !relax.object, pure>, %a: !relax.object):
            relax.return %a : !relax.object
          }) : () -> !relax.func<(!relax.object) -> !relax.object, pure>
          %1 = relax.null_value
          %2 = relax.call_inplace_packed "f"(%1) inplace [0] : (!relax.object) -> !relax.object
          relax.return %2 : !relax.object
        }""")
        closure, _, call, _ = mod.body.operations[0].regions[0].blocks[0].operations
        (block,) = closure.regions[0].blocks
        block.operations[0].operation.erase()
        call.operation.operands[0] = block.arguments[1]
        messages = [str(found) for found in analysis.well_formed(mod)]
    assert "expected each of its blocks to end with a terminator" in messages[1]
    assert "but a closure does not own what it captures" in messages[2]
    assert "operand 0 is not in scope here" in messages[3]


# -- kernels --------------------------------------------------------------------------------------


def kernels(*operators) -> dict[str, bool]:
    bb = relax.BlockBuilder()
    x = relax.Var("x", Tensor(("n", 4, 6), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(tuple(operator(x) for operator in operators))
    mod = transform.LegalizeOps()(bb)
    return {
        name: analysis.has_reshape_pattern(function)
        for name, function in mod.functions.items()
        if name != "main"
    }


def test_reshape_pattern_of_legalized_operators() -> None:
    assert kernels(
        lambda x: op.reshape(x, ("n", 24)),
        op.flatten,
        lambda x: op.expand_dims(x, 1),
        op.permute_dims,
        op.exp,
        lambda x: op.reshape(x, (-1, 3)),
    ) == {
        "reshape": True,
        "flatten": True,
        "expand_dims": True,
        "permute_dims": False,
        "exp": False,
        "reshape1": True,
    }


LOOPS = """
func.func @kernel(%x: memref<4x?xf32>, %out: memref<?x4xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %out, %c0 : memref<?x4xf32>
  %m = memref.dim %x, %c1 : memref<4x?xf32>
  scf.for %i = %c0 to {upper} step %c1 {{
    scf.for %j = %c0 to %c4 step %c1 {{
      %0 = arith.muli %i, %c4 : index
      %1 = arith.addi %0, %j : index
      %2 = arith.divsi %1, {size} : index
      %3 = arith.remsi %1, {size} : index
      %4 = memref.load %x[{read}] : memref<4x?xf32>
      memref.store %4, %out[%i, %j] : memref<?x4xf32>
    }}
  }}
  return
}}
"""


@pytest.mark.parametrize(
    ("upper", "size", "read", "expected"),
    [
        ("%n", "%m", "%2, %3", True),
        ("%n", "%c4", "%2, %3", False),  # not the size of a row
        ("%n", "%m", "%j, %i", False),  # a transpose
        ("%c1", "%m", "%2, %3", False),  # one row of many
    ],
)
def test_reshape_pattern_of_loops(upper: str, size: str, read: str, expected: bool) -> None:
    mod = IRModule(LOOPS.format(upper=upper, size=size, read=read))
    assert analysis.has_reshape_pattern(mod["kernel"]) is expected


@I.ir_module
class Kernels:
    @T.prim_func
    def reshape(A: T.Buffer((8, 3), "float32"), B: T.Buffer((2, 4, 3), "float32")):
        for i, j, k in T.grid(2, 4, 3):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[(vi * 12 + vj * 3 + vk) // 3, (vi * 12 + vj * 3 + vk) % 3]

    @T.prim_func
    def reshape_wrong(A: T.Buffer((8, 3), "float32"), B: T.Buffer((2, 4, 3), "float32")):
        for i, j, k in T.grid(2, 4, 3):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[(vi * 12 + vj * 3 + vk) // 3, (vi * 12 + vj * 3 + vk + 1) % 3]

    @T.prim_func
    def flatten(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 4))
        B = T.match_buffer(b, (n * 4,))
        for i in range(n * 4):
            with T.block("B"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi // 4, vi % 4]

    @T.prim_func
    def expand_dims(a: T.handle, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m))
        B = T.match_buffer(b, (n, 1, m))
        for i, j, k in T.grid(n, 1, m):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[vi, vk]

    @T.prim_func
    def transpose(A: T.Buffer((8, 3), "float32"), B: T.Buffer((3, 8), "float32")):
        for i, j in T.grid(3, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("reshape", True),
        ("reshape_wrong", False),
        ("flatten", True),
        ("expand_dims", True),
        ("transpose", False),
    ],
)
def test_reshape_pattern_of_tensor_programs(name: str, expected: bool) -> None:
    assert analysis.has_reshape_pattern(Kernels[name]) is expected


GENERIC = """
#read = affine_map<{read}>
#write = affine_map<(i, j) -> (i, j)>
func.func @kernel(%x: {x}, %out: memref<6x4xf32>) {{
  linalg.generic {{indexing_maps = [#read, #write], iterator_types = ["parallel", "parallel"]}}
    ins(%x : {x}) outs(%out : memref<6x4xf32>) {{
  ^bb0(%a: f32, %b: f32):
    {value}
    linalg.yield %v : f32
  }}
  return
}}
"""


@pytest.mark.parametrize(
    ("read", "x", "value", "expected"),
    [
        ("(i, j) -> (i, j)", "memref<6x4xf32>", "%v = arith.addf %a, %a : f32", False),
        ("(i, j) -> (i, j)", "memref<6x4xf32>", "%v = arith.constant 1.0 : f32", False),
    ],
)
def test_reshape_pattern_refuses_arithmetic(read, x, value, expected) -> None:
    mod = IRModule(GENERIC.format(read=read, x=x, value=value))
    assert analysis.has_reshape_pattern(mod["kernel"]) is expected


def test_reshape_pattern_of_what_is_no_kernel(two_blocks: IRModule) -> None:
    with pytest.raises(TypeError, match=r"expected a kernel, a func\.func"):
        analysis.has_reshape_pattern(two_blocks["main"])
    assert not analysis.has_reshape_pattern(IRModule("func.func private @f()")["f"])


def test_layouts_follow_the_output() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", Tensor((1, 8, 4, 4), "float32"))
    y = relax.Var("y", Tensor((8, 1, 1), "float32"))
    with bb.function("main", [x, y]):
        bb.emit_func_output(op.exp(x))
    kernel = transform.LegalizeOps()(bb)
    found = analysis.suggest_layout_transforms(kernel["exp"], [lambda n, c, h, w: (n, h, w, c)])
    ((written, maps),) = found.items()
    assert written.operation.name == "linalg.generic"
    assert {str(map_) for map_ in maps.values()} == {"(d0, d1, d2, d3) -> (d0, d2, d3, d1)"}
    assert len(maps) == 2


MATMUL = """
func.func @matmul(%a: memref<4x8xf32>, %b: memref<8x6xf32>, %c: memref<4x6xf32>) {
  linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                     affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%a, %b : memref<4x8xf32>, memref<8x6xf32>) outs(%c : memref<4x6xf32>) {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.mulf %0, %1 : f32
    %4 = arith.addf %2, %3 : f32
    linalg.yield %4 : f32
  }
  return
}
"""


def test_layouts_of_a_reduction() -> None:
    mod = IRModule(MATMUL)
    found = analysis.suggest_layout_transforms(mod["matmul"], [lambda i, j: (j, i)])
    ((written, maps),) = found.items()
    # The inputs have an index that the output has not: their layouts are left.
    assert [str(map_) for map_ in maps.values()] == ["(d0, d1, d2) -> (d1, d0, d2)"]
    assert list(maps) == [written]
    with pytest.raises(ValueError, match="expected a map for each of 1 outputs, but got 2"):
        analysis.suggest_layout_transforms(mod["matmul"], [lambda i, j: (j, i)] * 2)
    with pytest.raises(ValueError, match="expected a map of 2 dimensions, but got one of 1"):
        analysis.suggest_layout_transforms(mod["matmul"], [lambda i: (i,)])
    with mod.context:
        map_ = ir.AffineMap.get_permutation([1, 0])
    assert analysis.suggest_layout_transforms(mod["matmul"], [map_])


# -- memory ---------------------------------------------------------------------------------------

CHAIN = """
relax.func @main(%x: !relax.tensor<[256, 4], f32>, %y: !relax.tensor<[n], f16>)
    -> !relax.tensor<[256, 4], f32> {
  %0 = relax.exp %x : (!relax.tensor<[256, 4], f32>) -> !relax.tensor<[256, 4], f32>
  %1 = relax.exp %0 : (!relax.tensor<[256, 4], f32>) -> !relax.tensor<[256, 4], f32>
  %2 = relax.add %1, %0 : (!relax.tensor<[256, 4], f32>, !relax.tensor<[256, 4], f32>)
    -> !relax.tensor<[256, 4], f32>
  %3 = relax.exp %2 : (!relax.tensor<[256, 4], f32>) -> !relax.tensor<[256, 4], f32>
  %4 = relax.exp %y : (!relax.tensor<[n], f16>) -> !relax.tensor<[n], f16>
  %5 = relax.call_pure_packed "my.use"(%4) : (!relax.tensor<[n], f16>) -> !relax.object
  relax.return %3 : !relax.tensor<[256, 4], f32>
}
"""


def test_rf10_memory_usage() -> None:
    usage = analysis.estimate_memory_usage(CHAIN)["main"]
    assert (len(usage.tensors), usage.unplanned.text) == (5, "n * 2 + 16384")
    assert usage.unplanned_bytes is None
    known = analysis.estimate_memory_usage(CHAIN, {"n": 100})["main"]
    assert (known.unplanned_bytes, known.peak_bytes) == (4 * 4096 + 200, 3 * 4096)
    assert known.planned_bytes <= known.unplanned_bytes
    text = str(analysis.estimate_memory_usage(CHAIN))
    assert "- Function main:" in text
    assert "5 tensor(s) take n * 2 + 16384 bytes without a plan" in text


def test_rf10_bounds_make_sizes_known() -> None:
    text = """
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        attributes {tir_var_upper_bound = {n = 64 : i64}} {
      %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %1 = relax.exp %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      relax.return %1 : !relax.tensor<[n], f32>
    }"""
    assert analysis.estimate_memory_usage(text)["main"].planned_bytes == 512
    assert analysis.estimate_memory_usage(text, {"n": 2})["main"].unplanned_bytes == 16


def test_rf10_plot_of_the_plan(tmp_path: Path) -> None:
    for name in ("plan.svg", "plan.html"):
        text = analysis.plot_memory_plan(CHAIN, tmp_path / name, {"n": 100}).read_text()
        svg = ElementTree.fromstring(
            text[text.index("<svg") : text.index("</svg>") + len("</svg>")]
        )
        titles = [title.text or "" for title in svg.iter("{http://www.w3.org/2000/svg}title")]
        assert len(titles) == 5
        assert any("tensor<[256, 4], f32>, 4 KiB at" in title for title in titles)


def test_rf10_plot_rejects_sizes_that_are_not_known(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="values for the shape variables n of function 'main'"):
        analysis.plot_memory_plan(CHAIN, tmp_path / "plan.svg")
    with pytest.raises(ValueError, match=r"a file that ends in \.svg or \.html, but got"):
        analysis.plot_memory_plan(CHAIN, tmp_path / "plan.png", {"n": 1})


def test_memory_of_tuples_lives_with_them() -> None:
    text = """
    relax.func @main(%x: !relax.tensor<[256], f32>) -> !relax.tuple<!relax.tensor<[256], f32>,
        !relax.tensor<[256], f32>> {
      %0 = relax.exp %x : (!relax.tensor<[256], f32>) -> !relax.tensor<[256], f32>
      %1 = relax.exp %x : (!relax.tensor<[256], f32>) -> !relax.tensor<[256], f32>
      %2 = relax.tuple %0, %1 : !relax.tensor<[256], f32>, !relax.tensor<[256], f32>
      %3 = relax.exp %x : (!relax.tensor<[256], f32>) -> !relax.tensor<[256], f32>
      %4 = relax.call_pure_packed "my.use"(%3) : (!relax.tensor<[256], f32>) -> !relax.object
      relax.return %2 : !relax.tuple<!relax.tensor<[256], f32>, !relax.tensor<[256], f32>>
    }"""
    usage = analysis.estimate_memory_usage(text)["main"]
    assert (usage.planned_bytes, usage.peak_bytes) == (3072, 3072)


def test_memory_of_lowered_modules() -> None:
    phases = [transform.phase(name) for name in ("normalize", "legalize", "memory")]
    lowered = transform.Sequential(phases)(CHAIN)
    lowered_usage = analysis.estimate_memory_usage(lowered)["main"]
    assert str(lowered_usage) == str(analysis.estimate_memory_usage(CHAIN)["main"])
    with pytest.raises(ValueError, match="expected function 'main' before its shapes are lowered"):
        analysis.estimate_memory_usage(transform.phase("shapes")(lowered))
    assert str(analysis.estimate_memory_usage("func.func private @f()")) == ""
