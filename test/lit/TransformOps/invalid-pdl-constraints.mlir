// RUN: relax-opt %s -transform-interpreter -verify-diagnostics -o %t

// A constraint that is given what it does not take does not hold, with an error
// at the first value or operation. Types and
// attributes have no place.
// expected-error @unknown {{expected the constraint 'relax.is_static' to be given a value or type, but got Attribute}}
// expected-error @unknown {{expected the constraint 'relax.has_rank' to be given a value or type, and an integer, but got Type and Attribute}}
// expected-error @unknown {{expected the constraint 'relax.is_pure' to be given an operation, but got Type}}
// expected-error @unknown {{expected the constraint 'relax.is_used_once' to be given a value or an operation with one result, but got Type}}
!x = !relax.tensor<[n], f32>
module attributes {transform.with_named_sequence} {
  // expected-error @below {{expected the constraint 'relax.is_constant' to be given a value or an operation with one result, but got Value and Type}}
  relax.func @main(%x: !x) -> !x {
    // expected-error @below {{expected the constraint 'relax.has_rank' to be given a value or type, and an integer, but got Operation}}
    // expected-error @below {{expected the constraint 'relax.has_dtype' to be given a value or type, and a data type, but got Operation and Attribute}}
    // expected-error @below {{expected the constraint 'relax.same_struct_info' to be given two values or types, but got Operation and Type}}
    // expected-error @below {{expected the constraint 'relax.has_op_pattern' to be given an operation, and the name of a kind of kernel, but got Operation and Attribute}}
    %0 = relax.exp %x : (!x) -> !x
    relax.return %0 : !x
  }

  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    transform.with_pdl_patterns %root : !transform.any_op {
    ^bb0(%module: !transform.any_op):
      pdl.pattern @rank_count : benefit(1) {
        %value = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.exp"(%value : !pdl.value) -> (%type : !pdl.type)
        pdl.apply_native_constraint "relax.has_rank"(%op : !pdl.operation)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @rank_kind : benefit(1) {
        %value = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.exp"(%value : !pdl.value) -> (%type : !pdl.type)
        %a = pdl.attribute = "two"
        pdl.apply_native_constraint "relax.has_rank"(%type, %a : !pdl.type, !pdl.attribute)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @dtype : benefit(1) {
        %value = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.exp"(%value : !pdl.value) -> (%type : !pdl.type)
        %a = pdl.attribute = f32
        pdl.apply_native_constraint "relax.has_dtype"(%op, %a : !pdl.operation, !pdl.attribute)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @pure : benefit(1) {
        %value = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.exp"(%value : !pdl.value) -> (%type : !pdl.type)
        pdl.apply_native_constraint "relax.is_pure"(%type : !pdl.type)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @once : benefit(1) {
        %value = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.exp"(%value : !pdl.value) -> (%type : !pdl.type)
        pdl.apply_native_constraint "relax.is_used_once"(%type : !pdl.type)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @constant : benefit(1) {
        %value = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.exp"(%value : !pdl.value) -> (%type : !pdl.type)
        pdl.apply_native_constraint "relax.is_constant"(%value, %type : !pdl.value, !pdl.type)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @static : benefit(1) {
        %value = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.exp"(%value : !pdl.value) -> (%type : !pdl.type)
        %a = pdl.attribute = 2
        pdl.apply_native_constraint "relax.is_static"(%a : !pdl.attribute)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @same : benefit(1) {
        %value = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.exp"(%value : !pdl.value) -> (%type : !pdl.type)
        pdl.apply_native_constraint "relax.same_struct_info"(%op, %type : !pdl.operation, !pdl.type)
        pdl.rewrite %op with "transform.dialect"
      }
      pdl.pattern @kind : benefit(1) {
        %value = pdl.operand
        %type = pdl.type
        %op = pdl.operation "relax.exp"(%value : !pdl.value) -> (%type : !pdl.type)
        %a = pdl.attribute = "matmul"
        pdl.apply_native_constraint "relax.has_op_pattern"(%op, %a : !pdl.operation, !pdl.attribute)
        pdl.rewrite %op with "transform.dialect"
      }
      transform.sequence %module : !transform.any_op failures(propagate) {
      ^bb0(%arg: !transform.any_op):
        %0 = transform.pdl_match @rank_count in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %0, "never" : !transform.any_op
        %1 = transform.pdl_match @rank_kind in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %1, "never" : !transform.any_op
        %2 = transform.pdl_match @dtype in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %2, "never" : !transform.any_op
        %3 = transform.pdl_match @pure in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %3, "never" : !transform.any_op
        %4 = transform.pdl_match @once in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %4, "never" : !transform.any_op
        %5 = transform.pdl_match @constant in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %5, "never" : !transform.any_op
        %6 = transform.pdl_match @static in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %6, "never" : !transform.any_op
        %7 = transform.pdl_match @same in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %7, "never" : !transform.any_op
        %8 = transform.pdl_match @kind in %arg : (!transform.any_op) -> !transform.any_op
        transform.debug.emit_remark_at %8, "never" : !transform.any_op
      }
    }
    transform.yield
  }
}
