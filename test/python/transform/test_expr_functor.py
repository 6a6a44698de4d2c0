"""Visitors and mutators of programs."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import IRModule, op, transform
from relax_mlir.dialects import relax as ops
from relax_mlir.expr_functor import (
    BindingBlock,
    PyExprMutator,
    PyExprVisitor,
    mutator,
    visitor,
)

ALL_KINDS = """
relax.func impure @main(%x: !relax.tensor<[n], f32>, %c: !relax.tensor<[], i1>) -> !relax.object {
  %s = relax.shape <[n]>
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %a = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %b = relax.add %a, %x
      : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %b : !relax.tensor<[n], f32>
  }
  %k = relax.constant dense<1.0> : tensor<2xf32>
  %t = relax.tuple %0, %k : !relax.tensor<[n], f32>, !relax.tensor<[2], f32>
  %i = relax.get_item %t[1] : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[2], f32>>
  %f = relax.extern_func "my.function"
  %w = relax.string "text"
  %d = relax.dtype f32
  %p = relax.prim_value 3 : i64
  %m = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[m], f32>
  %g = relax.global_var @main
    : !relax.func<(!relax.tensor<[n], f32>, !relax.tensor<[], i1>) -> !relax.object, impure>
  %r = relax.call @main(%x, %c)
    : (!relax.tensor<[n], f32>, !relax.tensor<[], i1>) -> !relax.object
  %h = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    %e = relax.tuple %r : !relax.object
    relax.yield %e : !relax.tuple<!relax.object>
  } else {
    relax.yield %r : !relax.object
  }
  %q = relax.closure (%y: !relax.object) -> !relax.object {
    relax.return %y : !relax.object
  }
  relax.return %h : !relax.object
}
"""
EXP = """
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %a = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> loc("a")
    %b = relax.negative %a : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> loc("b")
    relax.output %b : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}
"""


def op_names(function) -> list[str]:
    found = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        found.append(inner.name.removeprefix("relax."))
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


# -- visitors -------------------------------------------------------------------------------------

METHODS = [
    name
    for name in dir(PyExprVisitor)
    if name.startswith("visit_") and name not in ("visit_expr", "visit_span")
]


class Log(PyExprVisitor):
    """Counts the calls of each method."""

    def __init__(self) -> None:
        self.count = dict.fromkeys(METHODS, 0)


def _logged(name: str):
    def method(self, part):
        self.count[name] += 1
        return getattr(PyExprVisitor, name)(self, part)

    return method


for _name in METHODS:
    setattr(Log, _name, _logged(_name))


def test_ad01_visitor_calls_the_method_of_each_kind() -> None:
    log = Log()
    log.visit_expr(IRModule(ALL_KINDS))
    assert log.count == {
        "visit_binding": 16,
        "visit_binding_block": 4,
        "visit_binding_block_": 3,
        "visit_call_": 3,
        "visit_constant_": 1,
        "visit_data_type_imm_": 1,
        "visit_dataflow_block_": 1,
        "visit_dataflow_var_": 1,
        "visit_dataflow_var_def_": 1,
        "visit_expr_fallback_": 1,
        "visit_extern_func_": 1,
        "visit_function_": 2,
        "visit_global_var_": 2,
        "visit_if_": 1,
        "visit_match_cast_": 1,
        "visit_op_": 2,
        "visit_prim_value_": 1,
        "visit_seq_expr_": 4,
        "visit_shape_expr_": 1,
        "visit_string_imm_": 1,
        "visit_tuple_": 2,
        "visit_tuple_getitem_": 1,
        "visit_var_": 14,
        "visit_var_binding_": 16,
        "visit_var_def": 19,
        "visit_var_def_": 18,
    }


def test_ad03_variables_are_told_apart_in_a_few_lines() -> None:
    @visitor
    class CountVarDef(PyExprVisitor):
        def __init__(self):
            self.var = self.dataflow_var = 0

        def visit_var_def_(self, var):
            self.var += 1

        def visit_dataflow_var_def_(self, var):
            self.dataflow_var += 1

    counter = CountVarDef()
    counter.visit_expr(IRModule(EXP))
    # x and the output; what is inside of the block.
    assert (counter.var, counter.dataflow_var) == (2, 1)

    class CountAll(PyExprVisitor):
        count = 0

        def visit_var_def(self, var):
            self.count += 1

    every = CountAll()
    every.visit_expr(IRModule(EXP))
    assert every.count == 3


def test_ad03_output_from_outside_is_a_variable_of_the_block() -> None:
    class CountAll(PyExprVisitor):
        count = 0

        def visit_var_def_(self, var):
            self.count += 1

    every = CountAll()
    every.visit_expr(
        IRModule("""
        relax.func @main(%x: !relax.object) -> !relax.object {
          %0 = relax.dataflow -> !relax.object {
            relax.output %x : !relax.object
          }
          relax.return %0 : !relax.object
        }""")
    )
    assert every.count == 2


def test_visitor_sees_places_and_blocks() -> None:
    class Places(PyExprVisitor):
        def __init__(self):
            self.names = []
            self.blocks = []

        def visit_span(self, span):
            if span.is_a_name():
                self.names.append(span.name_str)

        def visit_binding_block_(self, block):
            assert isinstance(block, BindingBlock)
            self.blocks.append(len(block.bindings))

    places = Places()
    mod = IRModule(EXP)
    places.visit_expr(mod["main"])
    assert places.names == ["a", "b"]
    places.visit_expr(IRModule(ALL_KINDS)["main"])
    assert places.blocks == [1, 12]
    with pytest.raises(TypeError, match="expected a value, an operation or a function"):
        places.visit_expr(3)


def test_decorator_makes_a_visitor_of_any_class() -> None:
    @visitor
    class Calls:
        """Counts."""

        def __init__(self):
            self.count = 0

        def visit_call_(self, call):
            self.count += 1

    calls = Calls()
    calls.visit_expr(IRModule(EXP))
    assert isinstance(calls, PyExprVisitor)
    assert calls.count == 2
    assert Calls.__doc__ == "Counts."
    with pytest.raises(TypeError, match="expected a class"):
        visitor(3)


# -- mutators -------------------------------------------------------------------------------------


def test_mutator_without_methods_changes_nothing() -> None:
    mod = IRModule(ALL_KINDS)
    before = str(mod)
    new = PyExprMutator(mod).visit_expr(mod["main"])
    assert str(mod) == before
    mod.update_func("main", new)
    assert str(mod) == before


def test_ad02_one_binding_becomes_many(load) -> None:
    @mutator
    class ExpBySteps(PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if not isinstance(call, ops.ExpOp):
                return call
            half = self.builder_.emit(op.multiply(call.operation.operands[0], 0.5), "half")
            # Types are derived as operators are built.
            assert half.type == relax.TensorStructInfo(("n",), "float32")
            root = self.builder_.emit(op.exp(half), "root")
            return op.multiply(root, root)

    mod = IRModule(EXP)
    mod["main"] = ExpBySteps(mod).visit_expr(mod["main"])
    mod.verify()
    assert op_names(mod["main"]) == [
        "func", "dataflow", "constant", "multiply", "exp", "multiply", "negative", "output",
        "return",
    ]  # fmt: skip
    assert '"a"' in mod["main"].operation.get_asm(enable_debug_info=True)
    result = load(mod)(np.array([0, 2], "float32"))
    np.testing.assert_allclose(np.from_dlpack(result), -np.exp([0, 2]), rtol=1e-6)


def test_ad02_many_bindings_become_one(load) -> None:
    @mutator
    class Fold(PyExprMutator):
        """-exp(x) becomes x * x."""

        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if isinstance(call, ops.NegativeOp):
                inner = self.lookup_binding(call.operation.operands[0])
                if isinstance(inner, ops.ExpOp):
                    x = inner.operation.operands[0]
                    return op.multiply(x, x)
            return call

    mod = IRModule(EXP)
    mod["main"] = Fold(mod).visit_expr(mod["main"])
    mod = transform.DeadCodeElimination()(mod)
    assert op_names(mod["main"]) == ["func", "dataflow", "multiply", "output", "return"]
    result = load(mod)(np.array([1, 3], "float32"))
    assert np.from_dlpack(result).tolist() == [1, 9]


def test_ad02_types_follow_what_changes() -> None:
    @mutator
    class Half(PyExprMutator):
        """Computes exponentials in another data type."""

        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if isinstance(call, ops.ExpOp):
                return op.astype(call.result, "float16")
            return call

    class Cast(PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if isinstance(call, ops.ExpOp):
                return op.exp(op.astype(call.operation.operands[0], "float16"))
            return call

    mod = IRModule(EXP)
    mod["main"] = Cast(mod).visit_expr(mod["main"])
    mod.verify()
    (result,) = ir.FunctionType(mod["main"].function_type.value).results
    assert result == relax.TensorStructInfo(("n",), "float16")
    dataflow = mod["main"].body.blocks[0].operations[0]
    assert dataflow.operation.results[0].type == result


def test_ad02_types_of_parameters() -> None:
    class Static(PyExprMutator):
        def visit_var_def_(self, var):
            if isinstance(var.owner, ir.Block):
                return self.with_struct_info(var, relax.TensorStructInfo((8,), "float32"))
            return var

    mod = IRModule(EXP)
    mod["main"] = Static(mod).visit_expr(mod["main"])
    mod.verify()
    type_ = ir.FunctionType(mod["main"].function_type.value)
    wanted = relax.TensorStructInfo((8,), "float32")
    assert list(type_.inputs) == [wanted]
    assert list(type_.results) == [wanted]


def test_mutator_rewrites_branches_and_calls() -> None:
    text = """
    relax.func private @f(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
      relax.return %x : !relax.tensor<[n], f32>
    }
    relax.func @main(%x: !relax.tensor<[n], f32>, %c: !relax.tensor<[], i1>) -> !relax.object {
      %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
        %2 = relax.call @f(%0) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        relax.yield %2 : !relax.tensor<[n], f32>
      } else {
        relax.yield %0 : !relax.tensor<[n], f32>
      }
      relax.return %1 : !relax.tensor<[n], f32>
    }"""

    class Twice(PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if isinstance(call, ops.ExpOp):
                x = call.operation.operands[0]
                return op.concat([x, x])
            return call

    mod = IRModule(text)
    mod["main"] = Twice(mod).visit_expr(mod["main"])
    mod.verify()
    branch = mod["main"].body.blocks[0].operations[1]
    assert branch.operation.name == "relax.if"
    assert branch.operation.results[0].type == relax.TensorStructInfo(("n * 2",), "float32")


def test_mutator_remaps_variables() -> None:
    class Skip(PyExprMutator):
        """Whatever uses the exponential uses its operand."""

        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if isinstance(call, ops.ExpOp):
                self.set_var_remap(call.result, call.operation.operands[0])
            return call

    mod = IRModule(EXP)
    mod["main"] = Skip(mod).visit_expr(mod["main"])
    mod = transform.DeadCodeElimination()(mod)
    assert op_names(mod["main"]) == ["func", "dataflow", "negative", "output", "return"]


def test_mutator_in_a_function_pass(load) -> None:
    @mutator
    class NegativeToExp(PyExprMutator):
        def visit_call_(self, call):
            if isinstance(call, ops.NegativeOp):
                return op.exp(self.visit_expr(call.operation.operands[0]))
            return call

    @transform.function_pass(opt_level=0)
    class Rewrite:
        def transform_function(self, func, mod, ctx):
            return NegativeToExp(mod).visit_expr(func)

    mod = transform.Sequential([transform.Normalize(), Rewrite()])(EXP)
    assert op_names(mod["main"]).count("exp") == 2
    np.testing.assert_allclose(np.from_dlpack(load(mod)(np.zeros(1, "float32"))), [np.e], rtol=1e-6)


def test_ad02_mutator_emits_tensor_expressions(load) -> None:
    from relax_mlir import topi

    @mutator
    class Legalize(PyExprMutator):
        def transform(self):
            for name, function in self.builder_.get().functions_items():
                if isinstance(function, ops.FuncOp):
                    self.builder_.update_func(name, self.visit_expr(function))
            return self.builder_.get()

        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if isinstance(call, ops.ExpOp):
                return self.builder_.call_te(topi.exp, call.operation.operands[0])
            return call

    mod = Legalize(IRModule(EXP)).transform()
    assert op_names(mod["main"]) == [
        "func", "dataflow", "call_tir", "negative", "output", "return"
    ]  # fmt: skip
    np.testing.assert_allclose(np.from_dlpack(load(mod)(np.ones(1, "float32"))), [-np.e], rtol=1e-6)


# AD02
def test_mutator_error_leaves_the_module_as_it_is() -> None:
    class Wrong(PyExprMutator):
        def visit_call_(self, call):
            raise KeyError("reason")

    mod = IRModule(EXP)
    before = str(mod)
    wrong = Wrong(mod)
    with pytest.raises(KeyError):
        wrong.visit_expr(mod["main"])
    assert str(mod) == before
    assert str(wrong.builder_.get()) == before

    class Strange(PyExprMutator):
        def visit_call_(self, call):
            return object()

    with pytest.raises(TypeError, match="expected a value of a Relax program"):
        Strange(mod).visit_expr(mod["main"])
    with relax.default_context():
        other = ir.Context()
    with other:
        foreign = IRModule("module {}")
    with pytest.raises(ValueError, match="expected a function of the context"):
        PyExprMutator(foreign).visit_expr(mod["main"])
