// RUN: relax-opt %s -transform-interpreter -verify-diagnostics -o %t

// Patterns ask what names, operands and attributes do not tell. Constraints take
// values or types, and operations for their only result.
!x = !relax.tensor<[n, 8], f32>
!w = !relax.tensor<[8, 8], f32>
!b = !relax.tensor<[8], f32>
!h = !relax.tensor<[8, 8], f16>

module attributes {transform.with_named_sequence} {
  func.func private @matmul(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>, %o: tensor<?x8xf32>) -> tensor<?x8xf32> {
    %c = arith.constant 0.0 : f32
    %0 = linalg.fill ins(%c : f32) outs(%o : tensor<?x8xf32>) -> tensor<?x8xf32>
    %1 = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x8xf32>) outs(%0 : tensor<?x8xf32>) -> tensor<?x8xf32>
    return %1 : tensor<?x8xf32>
  }
  relax.func impure @main(%x: !x, %w: !w, %h: !h) -> !x {
    %c = relax.constant dense<2.0> : tensor<8xf32>
    // expected-remark @below {{a product}}
    %0 = relax.call_tir @matmul(%x, %w) : (!x, !w) -> !x
    // expected-remark @below {{a constant is added}}
    // expected-remark @below {{a sum that is used once}}
    %1 = relax.add %0, %c : (!x, !b) -> !x
    // expected-remark @below {{the same on both sides}}
    // expected-remark @below {{a sum that is used once}}
    %2 = relax.add %1, %0 : (!x, !x) -> !x
    // expected-remark @below {{static}}
    // expected-remark @below {{float16}}
    %3 = relax.add %h, %h : (!h, !h) -> !h
    // expected-remark @below {{static}}
    // expected-remark @below {{rank 1}}
    // expected-remark @below {{the same on both sides}}
    // expected-remark @below {{a constant is added}}
    %4 = relax.add %c, %c : (!b, !b) -> !b
    // expected-remark @below {{impure}}
    %5 = relax.call_packed "my.log"(%x) : (!x) -> !relax.object
    relax.return %2 : !x
  }

  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    transform.with_pdl_patterns %root : !transform.any_op {
    ^bb0(%module: !transform.any_op):
      pdl.pattern @product : benefit(1) {
        %operands = pdl.operands
        %types = pdl.types
        %op = pdl.operation "relax.call_tir"(%operands : !pdl.range<value>) -> (%types : !pdl.range<type>)
        %kind = pdl.attribute = "out-elementwise-fusable"
        pdl.apply_native_constraint "relax.has_op_pattern"(%op, %kind : !pdl.operation, !pdl.attribute)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @constant : benefit(1) {
        %lhs = pdl.operand
        %rhs = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.add"(%lhs, %rhs : !pdl.value, !pdl.value) -> (%type : !pdl.type)
        pdl.apply_native_constraint "relax.is_constant"(%rhs : !pdl.value)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @once : benefit(1) {
        %lhs = pdl.operand
        %rhs = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.add"(%lhs, %rhs : !pdl.value, !pdl.value) -> (%type : !pdl.type)
        pdl.apply_native_constraint "relax.is_used_once"(%op : !pdl.operation)
        %rank = pdl.attribute = 2
        pdl.apply_native_constraint "relax.has_rank"(%type, %rank : !pdl.type, !pdl.attribute)
        %dtype = pdl.attribute = f32
        pdl.apply_native_constraint "relax.has_dtype"(%type, %dtype : !pdl.type, !pdl.attribute)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @same : benefit(1) {
        %lhs = pdl.operand
        %rhs = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.add"(%lhs, %rhs : !pdl.value, !pdl.value) -> (%type : !pdl.type)
        pdl.apply_native_constraint "relax.same_struct_info"(%lhs, %rhs : !pdl.value, !pdl.value)
        %dtype = pdl.type : f32
        pdl.apply_native_constraint "relax.has_dtype"(%lhs, %dtype : !pdl.value, !pdl.type)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @static : benefit(1) {
        %lhs = pdl.operand
        %rhs = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.add"(%lhs, %rhs : !pdl.value, !pdl.value) -> (%type : !pdl.type)
        pdl.apply_native_constraint "relax.is_static"(%type : !pdl.type)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @half : benefit(1) {
        %lhs = pdl.operand
        %rhs = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.add"(%lhs, %rhs : !pdl.value, !pdl.value) -> (%type : !pdl.type)
        %dtype = pdl.attribute = f16
        pdl.apply_native_constraint "relax.has_dtype"(%lhs, %dtype : !pdl.value, !pdl.attribute)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @vector : benefit(1) {
        %lhs = pdl.operand
        %rhs = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.add"(%lhs, %rhs : !pdl.value, !pdl.value) -> (%type : !pdl.type)
        %rank = pdl.attribute = 1
        pdl.apply_native_constraint "relax.has_rank"(%lhs, %rank : !pdl.value, !pdl.attribute)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @impure : benefit(1) {
        %operands = pdl.operands
        %types = pdl.types
        %op = pdl.operation "relax.call_packed"(%operands : !pdl.range<value>) -> (%types : !pdl.range<type>)
        pdl.apply_native_constraint "relax.is_pure"(%op : !pdl.operation) {isNegated = true}
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @pure : benefit(1) {
        %operands = pdl.operands
        %types = pdl.types
        %op = pdl.operation "relax.call_packed"(%operands : !pdl.range<value>) -> (%types : !pdl.range<type>)
        pdl.apply_native_constraint "relax.is_pure"(%op : !pdl.operation)
        pdl.rewrite %op with "transform.dialect"
      }
      transform.sequence %module : !transform.any_op failures(propagate) {
      ^bb0(%arg: !transform.any_op):
        %0 = transform.pdl_match @product in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %0, "a product" : !transform.any_op
        %1 = transform.pdl_match @constant in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %1, "a constant is added" : !transform.any_op
        %2 = transform.pdl_match @once in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %2, "a sum that is used once" : !transform.any_op
        %3 = transform.pdl_match @same in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %3, "the same on both sides" : !transform.any_op
        %4 = transform.pdl_match @static in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %4, "static" : !transform.any_op
        %5 = transform.pdl_match @half in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %5, "float16" : !transform.any_op
        %6 = transform.pdl_match @vector in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %6, "rank 1" : !transform.any_op
        %7 = transform.pdl_match @impure in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %7, "impure" : !transform.any_op
        %8 = transform.pdl_match @pure in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %8, "pure" : !transform.any_op
      }
    }
    transform.yield
  }
}
